// SPDX-License-Identifier: Apache-2.0
//! Plain memory of which the system decides what stays in the host's memory and what moves, on a mock card that counts lines.
#![allow(
    clippy::unwrap_used,
    clippy::undocumented_unsafe_blocks,
    reason = "a test that cannot go on says so by failing"
)]

mod mock;
mod process;

use godwit::{Advice, Card, Cause, Context, Migrations, Residency};
use mock::MockCard;
use process::*;

const BYTES: u64 = PAGE as u64;
/// Pages of a group, and lines of one. On the mock's link a line costs 64 ns at least: what a kernel reads costs as much in place as moving
/// it does after a little more than 1,024 lines, what it writes after 2,048.
const GROUP: usize = 16;

fn card() -> (Card, Context) {
    shared(MockCard::new().with_aperture().with_line_counters())
}

fn launch(card: &Card, context: &Context, from: &Mapped, to: &Mapped, pages: usize) -> Migrations {
    let before = context.migrations().unwrap();
    let (input, output) = (&*from.slice(), to.slice());
    copy(card, context, input, output, pages * PAGE).unwrap();
    context.migrations().unwrap().since(&before)
}

/// Memory that begins with a group, advised.
fn auto(context: &Context, groups: usize) -> (Mapped, usize) {
    let memory = Mapped::private((groups + 1) * GROUP);
    let skip = (memory.at as usize).wrapping_neg() % (GROUP * PAGE);
    context.advise(
        &memory.slice()[skip..skip + groups * GROUP * PAGE],
        Advice::Auto,
    );
    (memory, skip)
}

#[test]
fn what_crosses_the_link_often_moves_and_the_rest_stays() {
    let _alone = alone();
    let (card, context) = card();
    let ((busy, at), (rare, other)) = (auto(&context, 4), auto(&context, 4));
    let to = Mapped::private(4 * GROUP);
    let part = |memory: &Mapped, skip: usize, pages: usize| {
        let before = context.migrations().unwrap();
        let from = &memory.slice()[skip..skip + 4 * GROUP * PAGE];
        copy(&card, &context, from, to.slice(), pages * PAGE).unwrap();
        context.migrations().unwrap().since(&before)
    };
    for byte in busy.slice().iter_mut().chain(rare.slice()) {
        *byte = 7;
    }
    let mut moved = 0;
    for turn in 0..6 {
        let first = part(&busy, at, 4 * GROUP);
        if turn == 0 {
            assert_eq!(first.in_place, 4 * GROUP as u64 * BYTES);
        }
        moved += first.to_device(Cause::Reuse);
        assert_eq!(part(&rare, other, 1).to_device(Cause::Reuse), 0);
    }
    let size = 4 * GROUP * PAGE;
    assert_eq!(moved, size as u64);
    let busy_part = &busy.slice()[at..at + size];
    assert_eq!(
        self::at(&context, busy_part, Residency::Device),
        size as u64
    );
    let rare_part = &rare.slice()[other..other + size];
    assert_eq!(
        self::at(&context, rare_part, Residency::InPlace),
        size as u64
    );
    // The program takes them back, and what was learnt holds: the next launch has it there at once.
    assert!(busy.slice().iter().all(|byte| *byte == 7));
    busy.slice()[at] = 8;
    let again = part(&busy, at, 4 * GROUP);
    assert_eq!(
        (again.to_device(Cause::Launch), again.in_place),
        (size as u64, 0)
    );
    assert_eq!(to.slice()[0], 8);
    // Other advice makes a new begin of it.
    let busy_part = &busy.slice()[at..at + size];
    context.advise(busy_part, Advice::Migrate);
    context.advise(busy_part, Advice::Auto);
    context.migrate_to_host(busy_part).unwrap();
    assert_eq!(part(&busy, at, 1).in_place, size as u64);
}

#[test]
fn a_group_that_is_never_reported_is_counted_when_it_goes_home() {
    let _alone = alone();
    let (card, context) = card();
    let (from, skip) = auto(&context, 1);
    let input = || &from.slice()[skip..skip + GROUP * PAGE];
    from.slice().fill(4);
    let to = Mapped::private(GROUP);
    let launch = || {
        let before = context.migrations().unwrap();
        for _ in 0..2 {
            copy(&card, &context, input(), to.slice(), GROUP * PAGE).unwrap();
        }
        let moved = context.migrations().unwrap().since(&before);
        context.migrate_to_host(input()).unwrap();
        (moved.in_place, moved.to_device(Cause::Reuse))
    };
    // Each byte is read twice: more lines than moving costs, and fewer than are reported.
    assert_eq!(launch(), (GROUP as u64 * BYTES, 0));
    // So it begins on the card now.
    assert_eq!(launch(), (0, 0));
    assert_eq!(to.slice()[GROUP * PAGE - 1], 4);
}

#[test]
fn what_costs_the_kernel_no_time_goes_back_in_place() {
    let _alone = alone();
    let (card, context) = card();
    let (from, skip) = auto(&context, 1);
    let input = || &from.slice()[skip..skip + GROUP * PAGE];
    from.slice().fill(5);
    let to = Mapped::private(GROUP);
    let launch = || {
        let before = context.migrations().unwrap();
        for _ in 0..2 {
            copy(&card, &context, input(), to.slice(), GROUP * PAGE).unwrap();
        }
        context.migrate_to_host(input()).unwrap();
        context.migrations().unwrap().since(&before).in_place
    };
    // By their number its lines cost more than moving, but the mock copies as fast over the link as on the card: that is known when a launch
    // was seen both ways, and holds.
    assert_eq!(launch(), GROUP as u64 * BYTES);
    assert_eq!(launch(), 0);
    for _ in 0..40 {
        assert_eq!(launch(), GROUP as u64 * BYTES);
    }
    assert_eq!(to.slice()[GROUP * PAGE - 1], 5);
}

#[test]
fn what_the_kernel_wrote_in_place_moves_with_the_page() {
    let _alone = alone();
    let (card, context) = card();
    let from = Mapped::private(2 * GROUP);
    let (to, skip) = auto(&context, 2);
    let output = || &mut to.slice()[skip..skip + from.len];
    let before = context.migrations().unwrap();
    for turn in 0..8u8 {
        from.slice().fill(turn + 1);
        copy(&card, &context, &*from.slice(), output(), from.len).unwrap();
    }
    let moved = context.migrations().unwrap().since(&before);
    assert_eq!(moved.to_device(Cause::Reuse), from.len as u64);
    assert_eq!(on_device(&context, output()), from.len as u64);
    assert!(output().iter().all(|byte| *byte == 8));
}

#[test]
fn a_launch_that_needs_the_room_gets_it() {
    let _alone = alone();
    let (card, context) = card();
    let (from, skip) = auto(&context, 16);
    let size = 16 * GROUP * PAGE;
    let input = || &from.slice()[skip..skip + size];
    from.slice().fill(3);
    let sink = Mapped::private(16 * GROUP);
    for _ in 0..6 {
        copy(&card, &context, input(), sink.slice(), size).unwrap();
    }
    assert_eq!(on_device(&context, input()), size as u64);
    context.forget(sink.slice()).unwrap();
    // Nearly all of the memory is wanted by a launch that holds it.
    let held = Mapped::private(mock::MEMORY_BYTES as usize / PAGE - 200);
    let to = Mapped::private(4);
    held.slice()[0] = 9;
    let moved = launch(&card, &context, &held, &to, 4);
    assert_eq!((to.slice()[0], moved.evicted), (9, size as u64));
    assert_eq!(at(&context, input(), Residency::Host), size as u64);
    // It is used in place now, and moving it has twice the price.
    context.forget(held.slice()).unwrap();
    let before = context.migrations().unwrap();
    copy(&card, &context, input(), to.slice(), 4 * PAGE).unwrap();
    let moved = context.migrations().unwrap().since(&before);
    assert_eq!(moved.in_place, size as u64);
    assert_eq!(to.slice()[4 * PAGE - 1], 3);
}

#[test]
fn a_card_that_does_not_count_moves_them() {
    let _alone = alone();
    for mock in [MockCard::new().with_aperture(), MockCard::new()] {
        let (card, context) = shared(mock);
        let (from, to) = (Mapped::private(4).filled(5), Mapped::private(4));
        context.advise(from.slice(), Advice::Auto);
        let moved = launch(&card, &context, &from, &to, 4);
        assert_eq!(
            (moved.in_place, on_device(&context, from.slice())),
            (0, 4 * BYTES)
        );
        assert!(is_pattern(to.slice(), 5));
    }
}
