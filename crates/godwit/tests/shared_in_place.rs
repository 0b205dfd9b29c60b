// SPDX-License-Identifier: Apache-2.0
//! Plain memory of the process that kernels use where it is, on a mock card.
#![allow(
    clippy::unwrap_used,
    clippy::undocumented_unsafe_blocks,
    reason = "a test that cannot go on says so by failing"
)]

mod mock;
mod process;

use godwit::{Advice, Card, Cause, Context, Error, Migrations, Residency};
use mock::MockCard;
use process::*;

const BYTES: u64 = PAGE as u64;

fn card() -> (Card, Context) {
    shared(MockCard::new().with_aperture())
}

/// What a launch moved; nothing may have been copied.
fn copied_in_place(card: &Card, context: &Context, from: &Mapped, to: &Mapped) -> Migrations {
    let before = context.migrations().unwrap();
    copy(card, context, &*from.slice(), to.slice(), from.len).unwrap();
    let moved = context.migrations().unwrap().since(&before);
    let crossed = |cause| moved.to_device(cause) + moved.to_host(cause);
    assert_eq!(Cause::ALL.map(crossed), [0; 8], "{moved:?}");
    moved
}

#[test]
fn what_stays_in_place_is_used_there_and_comes_home_at_a_touch() {
    let _alone = alone();
    let (card, context) = card();
    let (from, to) = (Mapped::private(40).filled(3), Mapped::private(40));
    for memory in [&from, &to] {
        context.advise(memory.slice(), Advice::InPlace);
    }
    let moved = copied_in_place(&card, &context, &from, &to);
    // The output was never touched before.
    assert_eq!((moved.in_place, moved.cleared), (80 * BYTES, 0));
    for memory in [&from, &to] {
        let there = at(&context, memory.slice(), Residency::InPlace);
        assert_eq!(there, 40 * BYTES);
    }
    assert!(is_pattern(to.slice(), 3));
    assert_eq!(at(&context, to.slice(), Residency::Host), 40 * BYTES);
    // What the program writes between two launches is seen by the second.
    for byte in from.slice().iter_mut() {
        *byte ^= 0xff;
    }
    copied_in_place(&card, &context, &from, &to);
    assert!(to.slice().iter().zip(from.slice()).all(|(a, b)| a == b));
}

#[test]
fn only_pages_that_the_kernel_might_write_cost_work_on_their_way_home() {
    let _alone = alone();
    let mock = MockCard::new().with_aperture();
    let (card, context) = shared(mock.with_return_costs(3_000.0, 500.0));
    let (from, to) = (Mapped::private(40).filled(3), Mapped::private(40));
    for memory in [&from, &to] {
        context.advise(memory.slice(), Advice::InPlace);
    }
    copied_in_place(&card, &context, &from, &to);
    let cycles_home = |memory: &Mapped| {
        let before = card.stats().unwrap().cycles;
        context.migrate_to_host(memory.slice()).unwrap();
        assert_eq!(at(&context, memory.slice(), Residency::InPlace), 0);
        card.stats().unwrap().cycles - before
    };
    // Unmapping and its fence take some register accesses either way; the host's work is 10 ns a cycle.
    let (read, written) = (cycles_home(&from), cycles_home(&to));
    let work = (3_000 + 40 * 500) / 10;
    assert!(read < work / 4, "{read} of {work} cycles");
    assert!(
        (work..work + work / 4).contains(&written),
        "{written}, {work}"
    );
    assert!(is_pattern(to.slice(), 3) && is_pattern(from.slice(), 3));
}

#[test]
fn parts_of_one_array_are_served_as_they_were_advised() {
    let _alone = alone();
    let (card, context) = card();
    let (from, to) = (Mapped::private(600).filled(3), Mapped::private(600));
    let middle = 100 * PAGE..550 * PAGE;
    let advise = |advice| context.advise(&from.slice()[middle.clone()], advice);
    advise(Advice::InPlace);
    copy(&card, &context, &*from.slice(), to.slice(), from.len).unwrap();
    let place = |place| at(&context, from.slice(), place);
    assert_eq!(place(Residency::InPlace), 450 * BYTES);
    assert_eq!(place(Residency::Device), 150 * BYTES);
    // Taken back: it comes home, and the next launch has it moved.
    advise(Advice::Migrate);
    assert_eq!(place(Residency::Host), 450 * BYTES);
    copy(&card, &context, &*from.slice(), to.slice(), from.len).unwrap();
    assert_eq!(place(Residency::Device), 600 * BYTES);
    // And the other way, with what the card wrote.
    context.advise(to.slice(), Advice::InPlace);
    assert_eq!(at(&context, to.slice(), Residency::Host), 600 * BYTES);
    assert!(is_pattern(to.slice(), 3));
}

#[test]
fn what_is_in_place_takes_no_room_on_the_card() {
    let _alone = alone();
    let (card, context) = card();
    let pages = mock::MEMORY_BYTES as usize / PAGE + 100;
    let (from, to) = (Mapped::private(pages), Mapped::private(pages));
    from.slice()[from.len - 1] = 7;
    context.advise(from.slice(), Advice::InPlace);
    let launch = || copy(&card, &context, &*from.slice(), to.slice(), from.len);
    let result = launch();
    assert!(matches!(result, Err(Error::OutOfMemory { .. })));
    context.advise(to.slice(), Advice::InPlace);
    launch().unwrap();
    assert_eq!(to.slice()[to.len - 1], 7);
}

#[test]
fn edges_are_lent_beside_what_stays_in_place() {
    let _alone = alone();
    let (card, context) = card();
    let (from, to) = (Mapped::private(8).filled(5), Mapped::private(8).filled(9));
    let range = 100..7 * PAGE + 100;
    for memory in [&from, &to] {
        let part = &memory.slice()[range.clone()];
        context.advise(part, Advice::InPlace);
    }
    let before = context.migrations().unwrap();
    let (input, output) = (&from.slice()[range.clone()], &mut to.slice()[range.clone()]);
    copy(&card, &context, input, output, 7 * PAGE).unwrap();
    let moved = context.migrations().unwrap().since(&before);
    assert_eq!((moved.lent, moved.in_place), (4 * BYTES, 12 * BYTES));
    for at in 0..8 * PAGE {
        let seed = if range.contains(&at) { 5 } else { 9 };
        assert_eq!(to.slice()[at], pattern(seed, at), "{at}");
    }
}

#[test]
fn what_becomes_of_the_memory_becomes_of_it_in_place_too() {
    let _alone = alone();
    let (card, context) = card();
    let (from, to) = (Mapped::private(6).filled(5), Mapped::private(6).filled(9));
    let again = || {
        for memory in [&from, &to] {
            context.advise(memory.slice(), Advice::InPlace);
        }
        copied_in_place(&card, &context, &from, &to);
    };
    again();
    // Given up.
    context.discard(from.slice());
    assert!(from.slice().iter().all(|byte| *byte == 0));
    assert!(is_pattern(to.slice(), 5));
    again();
    assert!(to.slice().iter().all(|byte| *byte == 0));
    // A system call looks for it.
    from.slice().fill(8);
    again();
    context.migrate_to_host(to.slice()).unwrap();
    let mut read = [0; 8];
    let (pipe, end) = rustix::pipe::pipe().unwrap();
    rustix::io::write(&end, &to.slice()[..8]).unwrap();
    rustix::io::read(&pipe, &mut read).unwrap();
    assert_eq!(read, [8; 8]);
    // Another card takes it, and the first one goes.
    again();
    let (other, there) = shared_card();
    copy(&other, &there, &*to.slice(), from.slice(), from.len).unwrap();
    // That one cannot reach it where it is.
    assert_eq!(on_device(&there, from.slice()), 6 * BYTES);
    card.close().unwrap();
    assert!(from.slice().iter().all(|byte| *byte == 8));
}

#[test]
fn a_card_without_reach_moves_what_was_to_stay() {
    let _alone = alone();
    let (card, context) = shared_card();
    let (from, to) = (Mapped::private(4).filled(5), Mapped::private(4));
    context.advise(from.slice(), Advice::InPlace);
    copy(&card, &context, &*from.slice(), to.slice(), from.len).unwrap();
    assert_eq!(on_device(&context, from.slice()), 4 * BYTES);
    assert!(is_pattern(to.slice(), 5));
}

#[test]
fn a_context_that_ends_gives_back_what_it_used_in_place() {
    let _alone = alone();
    let (from, to) = (Mapped::private(6).filled(5), Mapped::private(6));
    {
        let (card, context) = card();
        context.advise(to.slice(), Advice::InPlace);
        copy(&card, &context, &*from.slice(), to.slice(), from.len).unwrap();
    }
    assert!(is_pattern(to.slice(), 5));
}
