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
        region: 0,
    }
}

fn model() -> Model {
    let free = |free| Region {
        strict: true,
        free: (free, free),
    };
    Model::new(1024, 0x11, 10, vec![free(100), free(0)])
}

/// Takes down an answer, if the rules allow it.
fn say(
    model: &mut Model,
    context: usize,
    command: Command,
    answer: Result<u64, HeapRefusal>,
    times: (u64, u64),
) -> Result<(), String> {
    let given = Given {
        context,
        command,
        answer,
    };
    model.explain(&[vec![given]], times)
}

fn one_page() -> (Model, u64) {
    let mut model = model();
    let pointer = layout::HEAP_WINDOW_SMALL + (3 << 16);
    let done = say(&mut model, CONTEXT, small(PAGE), Ok(pointer), (10, 20));
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
    let freed = say(
        &mut model,
        CONTEXT,
        Command::Free { pointer },
        Ok(0),
        (40, 50),
    );
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
        let done = say(&mut model, CONTEXT, command, Ok(pointer), cycles);
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
        let said = say(&mut model, context, command, answer, (30, 40));
        assert!(said.is_err(), "{command:x?} in context {context}");
    }
}

#[test]
fn a_write_that_may_have_met_either_generation_leaves_both_ways_open() {
    let mut model = model();
    let (one, other) = ([1; 64], [2; 64]);
    model.wrote(&[1], 0, one);
    model.wrote(&[1, 2], 0, other);
    assert!(model.may_hold(&[1], 0, &one) && model.may_hold(&[1], 0, &other));
    assert!(model.may_hold(&[2], 0, &[0; 64]) && !model.may_hold(&[2], 0, &one));
}

#[test]
fn a_page_that_grows_before_it_was_taken_back_is_zero_or_as_before() {
    let (mut model, pointer) = one_page();
    let (va, line) = (pointer + PAGE, [7; 64]);
    let resize = |model: &mut Model, pages, cycles| {
        let command = Command::Realloc {
            pointer,
            bytes: pages * PAGE,
        };
        assert_eq!(say(model, CONTEXT, command, Ok(pointer), cycles), Ok(()));
    };
    resize(&mut model, 2, (30, 40));
    let first = model.live_page(CONTEXT, va).expect("two pages").0;
    model.wrote(&[first], va, line);
    resize(&mut model, 1, (50, 60));
    let busy = Command::Realloc {
        pointer,
        bytes: 2 * PAGE,
    };
    let refused = say(&mut model, CONTEXT, busy, Err(HeapRefusal::Busy), (61, 62));
    assert_eq!(refused, Ok(()));
    resize(&mut model, 2, (70, 80));
    let second = model.live_page(CONTEXT, va).expect("two pages").0;
    assert!(model.may_hold(&[second], va, &line) && model.may_hold(&[second], va, &[0; 64]));
    model.settled(None, 90);
    model.forget();
    assert!(model.may_hold(&[second], va, &line) && model.may_hold(&[second], va, &[0; 64]));
    assert!(!model.may_hold(&[second], va, &[1; 64]));
    let again = say(
        &mut model,
        CONTEXT,
        Command::Realloc {
            pointer,
            bytes: 3 * PAGE,
        },
        Err(HeapRefusal::Busy),
        (100, 110),
    );
    assert!(again.is_err());
}

#[test]
fn commands_of_two_are_explained_by_some_order() {
    let (mut model, pointer) = one_page();
    let given = |command, answer| Given {
        context: CONTEXT,
        command,
        answer,
    };
    let free = Command::Free { pointer };
    let grow = Command::Realloc {
        pointer,
        bytes: 2 * PAGE,
    };
    let lost = [
        vec![given(free, Ok(pointer)), given(grow, Ok(pointer))],
        vec![given(free, Err(HeapRefusal::NotLive))],
    ];
    assert!(model.explain(&lost, (30, 40)).is_err());
    let found = [
        vec![
            given(free, Ok(pointer)),
            given(grow, Err(HeapRefusal::NotLive)),
        ],
        vec![given(grow, Ok(pointer))],
    ];
    assert_eq!(model.explain(&found, (30, 40)), Ok(()));
    assert!(model.live.is_empty());
}

#[test]
fn a_strict_region_gives_what_is_free() {
    let mut model = model();
    let malloc = |pages, region| Command::Malloc {
        bytes: pages * PAGE,
        granule: 0,
        small: false,
        write: true,
        region,
    };
    let no_frame = Some(HeapRefusal::NoFrame);
    assert_eq!(model.expected(&[], 0, malloc(100, 0)), [None]);
    assert_eq!(model.expected(&[], 0, malloc(101, 0)), [no_frame]);
    assert_eq!(model.expected(&[], 0, malloc(1, 1)), [no_frame]);
    let argument = Some(HeapRefusal::Argument);
    assert_eq!(model.expected(&[], 0, malloc(1, 2)), [argument]);
    model.regions[0].free = (90, 110);
    assert_eq!(model.expected(&[], 0, malloc(101, 0)), [None, no_frame]);
    model.regions[0].strict = false;
    assert_eq!(model.expected(&[], 0, malloc(1000, 0)), [None]);
}

#[test]
fn what_a_granule_reaches_ends_with_its_largest_group() {
    for (orders, granule, reach) in [
        (0x11, 0, 5),
        (0x11, 3, 5),
        (0x11, 9, 16),
        (0x3ff, 1, 6),
        (0x3ff, 3, 8),
        (0x3ff, 9, 512),
    ] {
        let model = Model::new(1024, orders, 10, Vec::new());
        let group = model.group(granule);
        assert_eq!(
            5_u64.next_multiple_of(group),
            reach,
            "{orders:#x}, {granule}"
        );
    }
    assert_eq!(Model::new(1024, 0x11, 10, Vec::new()).largest_group(), 16);
}
