// SPDX-License-Identifier: Apache-2.0
//! Plain memory of the process that several cards use: its pages go from one to the other, on mock cards and on the real RTL.
#![allow(
    clippy::unwrap_used,
    clippy::undocumented_unsafe_blocks,
    reason = "a test that cannot go on says so by failing"
)]

mod mock;
mod process;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use godwit::{Card, Cause, Context, Error, Migrations, Mode, OpenOptions, Residency};
use process::*;

fn moved(context: &Context, work: impl FnOnce()) -> Migrations {
    let before = context.migrations().unwrap();
    work();
    context.migrations().unwrap().since(&before)
}

fn to_host(moved: &Migrations) -> u64 {
    Cause::ALL.iter().map(|cause| moved.to_host(*cause)).sum()
}

#[test]
fn what_one_card_wrote_goes_to_the_other_and_not_over_the_program() {
    let _alone = alone();
    let (first, here) = shared_card();
    let (second, there) = shared_card();
    // What the program has of `middle` is old when the first card has written it.
    let (from, middle, to) = (
        Mapped::private(40).filled(4),
        Mapped::private(40).filled(9),
        Mapped::private(40),
    );
    copy(&first, &here, &*from.slice(), middle.slice(), from.len).unwrap();
    let crossing = moved(&here, || {
        copy(&second, &there, &*middle.slice(), to.slice(), from.len).unwrap();
    });
    assert_eq!(crossing.across, middle.len as u64, "{crossing:?}");
    assert_eq!(crossing.to_device(Cause::Launch), middle.len as u64);
    assert_eq!(to_host(&crossing), 0, "{crossing:?}");
    assert_eq!(on_device(&there, middle.slice()), middle.len as u64);
    assert_eq!(
        at(&here, middle.slice(), Residency::Elsewhere),
        middle.len as u64
    );
    // The second card only read it, and has what the first wrote: that must be copied home.
    let home = moved(&here, || assert!(is_pattern(middle.slice(), 4)));
    // What was touched comes with what is around it.
    assert!(home.to_host(Cause::Touch) >= middle.len as u64, "{home:?}");
    assert!(is_pattern(to.slice(), 4) && is_pattern(from.slice(), 4));
}

#[test]
fn what_the_other_card_only_read_or_nobody_touched_is_not_read_from_it() {
    let _alone = alone();
    let (first, here) = shared_card();
    let (second, there) = shared_card();
    let (from, to) = (Mapped::private(8).filled(4), Mapped::private(8));
    let (blank, other) = (Mapped::private(8), Mapped::private(8));
    copy(&first, &here, &*from.slice(), to.slice(), from.len).unwrap();
    copy(&first, &here, &*blank.slice(), to.slice(), from.len).unwrap();
    let crossing = moved(&here, || {
        copy(&second, &there, &*from.slice(), other.slice(), from.len).unwrap();
        copy(&second, &there, &*blank.slice(), to.slice(), from.len).unwrap();
    });
    // Only what the first card wrote is: `to`.
    assert_eq!(crossing.across, to.len as u64, "{crossing:?}");
    assert_eq!(to_host(&crossing), 0, "{crossing:?}");
    assert!(is_pattern(other.slice(), 4) && is_pattern(from.slice(), 4));
    assert!(to.slice().iter().all(|byte| *byte == 0));
    assert!(blank.slice().iter().all(|byte| *byte == 0));
}

#[test]
fn program_and_two_cards_in_turns_see_what_the_others_wrote() {
    const PAGES: usize = 20;
    let _alone = alone();
    let cards = [shared_card(), shared_card()];
    let memory: Vec<Mapped> = (0..3).map(|_| Mapped::private(PAGES)).collect();
    for turn in 0..24usize {
        let [a, b, c] = [0, 1, 2].map(|at| memory[(turn + at) % 3].slice());
        a.iter_mut()
            .for_each(|byte| *byte = byte.wrapping_add(turn as u8));
        // A page in the middle is the program's again before the second card comes.
        let (card, context) = &cards[turn % 2];
        copy(card, context, &*a, &mut *b, PAGES * PAGE).unwrap();
        b[7 * PAGE + 5] ^= 0x55;
        let (card, context) = &cards[(turn + 1) % 2];
        copy(card, context, &*b, &mut *c, PAGES * PAGE).unwrap();
        for at in 0..PAGES * PAGE {
            let changed = if at == 7 * PAGE + 5 { 0x55 } else { 0 };
            assert_eq!(c[at], a[at] ^ changed, "turn {turn}, {at:#x}");
        }
    }
}

#[test]
fn pages_that_do_not_fit_on_the_second_card_come_home_whole() {
    let _alone = alone();
    let (first, here) = shared_card();
    let (second, there) = shared_card();
    let (from, middle, to) = (
        Mapped::private(64).filled(4),
        Mapped::private(64).filled(9),
        Mapped::private(64),
    );
    // Pages that the card wrote, pages that it only read, and between them pages that are in the program.
    copy(&first, &here, &*from.slice(), middle.slice(), from.len).unwrap();
    middle.slice()[20 * PAGE..30 * PAGE].fill(7);
    from.slice()[40 * PAGE] = 1;
    let room = 32 * PAGE as u64;
    let mut all = Vec::new();
    loop {
        let (free, largest) = second.memory_free();
        if free <= room {
            break;
        }
        all.push(
            second
                .alloc_frames(largest.min(free - room), PAGE as u64)
                .unwrap(),
        );
    }
    let result = copy(&second, &there, &*middle.slice(), to.slice(), from.len);
    assert!(
        matches!(result, Err(Error::OutOfMemory { .. })),
        "{result:?}"
    );
    let result = copy(&second, &there, &*from.slice(), to.slice(), from.len);
    assert!(
        matches!(result, Err(Error::OutOfMemory { .. })),
        "{result:?}"
    );
    for at in 0..64 * PAGE {
        let page = at / PAGE;
        let expected = if (20..30).contains(&page) {
            7
        } else {
            pattern(4, at)
        };
        assert_eq!(middle.slice()[at], expected, "{at:#x}");
        let expected = if at == 40 * PAGE { 1 } else { pattern(4, at) };
        assert_eq!(from.slice()[at], expected, "{at:#x}");
    }
    // Room again: nothing was left behind.
    drop(all);
    copy(&second, &there, &*middle.slice(), to.slice(), from.len).unwrap();
    assert!(to.slice() == middle.slice());
}

#[test]
fn a_card_that_ends_leaves_the_others_what_they_took_from_it() {
    let _alone = alone();
    let (second, there) = shared_card();
    for round in 0..3 {
        let (first, here) = shared_card();
        let (from, middle, to) = (
            Mapped::private(9).filled(round),
            Mapped::private(9),
            Mapped::private(9),
        );
        copy(&first, &here, &*from.slice(), middle.slice(), from.len).unwrap();
        there
            .migrate_to_device(&middle.slice()[..5 * PAGE])
            .unwrap();
        first.close().unwrap();
        assert_eq!(on_device(&there, middle.slice()), 5 * PAGE as u64);
        copy(&second, &there, &*middle.slice(), to.slice(), from.len).unwrap();
        assert!(is_pattern(to.slice(), round) && is_pattern(middle.slice(), round));
    }
}

#[test]
fn no_store_of_a_running_thread_is_lost_between_two_cards() {
    const PAGES: usize = 16;
    let _alone = alone();
    let cards = [shared_card(), shared_card()];
    let memory = Mapped::private(PAGES);
    let words = unsafe { std::slice::from_raw_parts(memory.at.cast::<AtomicU64>(), PAGES * 512) };
    let stop = AtomicBool::new(false);
    let (counts, crossed) = std::thread::scope(|scope| {
        let count = |thread: usize| {
            let stop = &stop;
            move || {
                let mut count = 0u64;
                while !stop.load(Ordering::Relaxed) {
                    for word in words[thread..].iter().step_by(2 * 37) {
                        word.store(word.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
                        count += 1;
                    }
                }
                count
            }
        };
        let threads = [0, 1].map(|thread| scope.spawn(count(thread)));
        let before = cards[0].1.migrations().unwrap();
        for round in 0..300 {
            let first = round % 7;
            let range = &memory.slice()[first * PAGE..(first + 9) * PAGE];
            cards[round % 2].1.migrate_to_device(range).unwrap();
        }
        let crossed = cards[0].1.migrations().unwrap().since(&before);
        stop.store(true, Ordering::Relaxed);
        let counts = threads.map(|thread| thread.join().unwrap());
        (counts, crossed)
    });
    let sum: u64 = words.iter().map(|word| word.load(Ordering::Relaxed)).sum();
    assert_eq!(sum, counts.iter().sum::<u64>());
    assert!(crossed.groups > 300, "{crossed:?}");
}

fn open(name: &str) -> (Card, Context) {
    let card = Card::open(name, OpenOptions::new()).unwrap_or_else(|error| panic!("{error}"));
    let context = card.context(Some(Mode::Sv48)).unwrap();
    context.share_process().unwrap();
    (card, context)
}

fn memcopy((card, context): &(Card, Context), from: &[u8], to: &mut [u8]) {
    let kernel = card.kernel("memcopy").unwrap().context(context);
    let args = kernel.arg("src", from).arg("dst", &mut *to);
    let all = args.arg("bytes", from.len()).arg("iterations", 1u64);
    all.run().unwrap();
}

/// Virtual time of a card.
fn now(card: &(Card, Context)) -> u64 {
    card.0.stats().unwrap().time_ps
}

#[test]
fn simulated_cards_take_pages_from_each_other_while_kernels_run() {
    const PAGES: usize = 48;
    let _alone = alone();
    // With the page DMA and without, both ways.
    for names in [
        ["sim:tapasco", "sim:tapasco"],
        ["sim:default", "sim:tapasco"],
        ["sim:tapasco", "sim:default"],
    ] {
        let cards = names.map(open);
        let (from, to) = (Mapped::private(PAGES).filled(3), Mapped::private(PAGES));
        let middle = Mapped::private(PAGES).filled(8);
        let mut took = Vec::new();
        for directly in [true, false] {
            let turn = from.slice()[0];
            memcopy(&cards[0], from.slice(), middle.slice());
            let (first, second) = (now(&cards[0]), now(&cards[1]));
            let crossing = moved(&cards[0].1, || {
                if !directly {
                    cards[0].1.migrate_to_host(middle.slice()).unwrap();
                }
                let home = now(&cards[0]) - first;
                memcopy(&cards[1], middle.slice(), to.slice());
                took.push(now(&cards[1]) - second + if directly { 0 } else { home });
            });
            let bytes = if directly { middle.len as u64 } else { 0 };
            assert_eq!(crossing.across, bytes, "{names:?}: {crossing:?}");
            // The card that gives them is not free meanwhile.
            assert!(now(&cards[0]) > first, "{names:?}");
            assert!(to.slice() == from.slice(), "{names:?}");
            assert!(middle.slice() == from.slice(), "{names:?}");
            from.slice().iter_mut().for_each(|byte| *byte ^= 0x33);
            assert_ne!(turn, from.slice()[0]);
        }
        // Home first and then to the other card is longer: the link of the one, and then that of the other.
        assert!(took[0] < took[1], "{names:?}: {took:?} ps");
        eprintln!("{names:?}: {took:?} ps");
    }
}
