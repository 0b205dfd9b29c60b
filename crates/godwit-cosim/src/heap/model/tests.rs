// SPDX-License-Identifier: Apache-2.0
use godwit::HeapRefusal;

use super::*;

const CONTEXT: usize = 1;

fn small(bytes: u64) -> Command {
    Command::Malloc {
        bytes,
        granule: 0,
        small: true,
        write: true,
    }
}

fn one_page() -> (Model, u64) {
    let mut model = Model::new(1024, 10);
    let pointer = layout::HEAP_WINDOW_SMALL + (3 << 16);
    let done = model.answered(CONTEXT, small(PAGE), Ok(pointer), (10, 20));
    assert_eq!(done, Ok(()));
    (model, pointer)
}

fn choice(model: &Model, va: u64, cycles: (u64, u64)) -> (usize, bool) {
    let choice = model.choice(CONTEXT, va, true, cycles);
    (choice.generations.len(), choice.refused)
}

#[test]
fn a_page_is_there_from_its_malloc_to_the_end_of_its_job() {
    let (mut model, pointer) = one_page();
    assert_eq!(choice(&model, pointer, (1, 9)), (0, true));
    assert_eq!(choice(&model, pointer, (5, 12)), (1, true));
    assert_eq!(choice(&model, pointer, (20, 30)), (1, false));
    assert_eq!(choice(&model, pointer + PAGE, (20, 30)), (0, true));
    let freed = model.answered(CONTEXT, Command::Free { pointer }, Ok(0), (40, 50));
    assert_eq!(freed, Ok(()));
    assert_eq!(choice(&model, pointer, (30, 45)), (1, true));
    model.settled(None, 70);
    assert_eq!(choice(&model, pointer, (60, 80)), (1, true));
    assert_eq!(choice(&model, pointer, (71, 80)), (0, true));
}

#[test]
fn pages_that_grow_again_are_new_ones() {
    let (mut model, pointer) = one_page();
    let mut resize = |bytes, cycles| {
        let command = Command::Realloc { pointer, bytes };
        let done = model.answered(CONTEXT, command, Ok(pointer), cycles);
        assert_eq!(done, Ok(()));
        model.settled(None, cycles.1);
        model
            .live_page(CONTEXT, pointer)
            .zip(model.live_page(CONTEXT, pointer + PAGE))
    };
    let first = resize(2 * PAGE, (30, 40)).expect("two pages");
    assert_eq!(resize(PAGE, (50, 60)), None);
    let second = resize(2 * PAGE, (70, 80)).expect("two pages");
    assert_eq!(first.0, second.0);
    assert_ne!(first.1, second.1);
    assert_eq!(choice(&model, pointer, (30, 80)), (1, false));
}

#[test]
fn wrong_answers_are_told() {
    let (mut model, pointer) = one_page();
    for (context, command, answer) in [
        (0, Command::Free { pointer }, Ok(0)),
        (
            CONTEXT,
            Command::Free { pointer },
            Err(HeapRefusal::NotLive),
        ),
        (CONTEXT, small(0), Ok(pointer)),
        (CONTEXT, small(PAGE), Ok(pointer)),
        (CONTEXT, small(PAGE), Ok(pointer + PAGE)),
        (CONTEXT, small(PAGE), Err(HeapRefusal::NoSlot)),
    ] {
        let said = model.answered(context, command, answer, (30, 40));
        assert!(said.is_err(), "{command:x?} in context {context}");
    }
}

#[test]
fn a_write_that_may_have_met_either_generation_leaves_both_ways_open() {
    let mut model = Model::new(1024, 10);
    let (one, other) = ([1; 64], [2; 64]);
    model.wrote(&[1], 0, one);
    model.wrote(&[1, 2], 0, other);
    assert!(model.may_hold(&[1], 0, &one) && model.may_hold(&[1], 0, &other));
    assert!(model.may_hold(&[2], 0, &[0; 64]) && !model.may_hold(&[2], 0, &one));
}
