// SPDX-License-Identifier: Apache-2.0
//! Memory that is mostly read is on card and in the program at once, until somebody writes; on a mock card.
#![allow(
    clippy::unwrap_used,
    clippy::undocumented_unsafe_blocks,
    reason = "a test that cannot go on says so by failing"
)]

mod mock;
mod process;

use std::sync::atomic::{AtomicBool, Ordering};

use godwit::{Advice, Context, Residency};
use process::*;

/// Bytes of a range that card and program have both.
fn on_both(context: &Context, memory: &[u8]) -> u64 {
    let runs = context.residency(memory).unwrap();
    let both = runs
        .iter()
        .filter(|(_, _, place)| *place == Residency::Both);
    both.map(|(_, len, _)| len).sum()
}

#[test]
fn what_both_read_stays_where_both_have_it() {
    let _alone = alone();
    let (card, context) = shared_card();
    let (from, to) = (Mapped::private(40).filled(3), Mapped::private(40));
    context.advise(from.slice(), Advice::ReadMostly);
    copy(&card, &context, &*from.slice(), to.slice(), from.len).unwrap();
    let before = context.migrations().unwrap();
    assert!(is_pattern(from.slice(), 3));
    assert_eq!(on_both(&context, from.slice()), from.len as u64);
    assert_eq!(
        context.migrations().unwrap().since(&before).duplicated,
        from.len as u64
    );
    // The kernel reads it again, and nothing of it moves.
    let before = context.migrations().unwrap();
    copy(&card, &context, &*from.slice(), to.slice(), from.len).unwrap();
    assert_eq!(context.migrations().unwrap().groups, before.groups);
    assert!(is_pattern(to.slice(), 3));
    assert_eq!(on_both(&context, from.slice()), from.len as u64);
}

#[test]
fn the_program_that_writes_has_the_page_alone() {
    let _alone = alone();
    let (card, context) = shared_card();
    let (from, to) = (Mapped::private(20).filled(3), Mapped::private(20));
    context.advise(from.slice(), Advice::ReadMostly);
    for round in 0..3u8 {
        copy(&card, &context, &*from.slice(), to.slice(), from.len).unwrap();
        assert_eq!(
            std::hint::black_box(from.slice())[PAGE],
            pattern(3, PAGE).wrapping_add(round)
        );
        assert!(on_both(&context, from.slice()) > 0);
        from.slice()[PAGE] += 1;
        assert_eq!(on_both(&context, &from.slice()[PAGE..2 * PAGE]), 0);
        assert_eq!(on_device(&context, &from.slice()[PAGE..2 * PAGE]), 0);
        copy(&card, &context, &*from.slice(), to.slice(), from.len).unwrap();
        assert_eq!(to.slice()[PAGE], pattern(3, PAGE).wrapping_add(round + 1));
    }
}

#[test]
fn a_kernel_that_writes_has_the_page_alone() {
    let _alone = alone();
    let (card, context) = shared_card();
    let (here, other) = (Mapped::private(20).filled(3), Mapped::private(20).filled(9));
    context.advise(here.slice(), Advice::ReadMostly);
    copy(&card, &context, &*here.slice(), other.slice(), here.len).unwrap();
    assert!(is_pattern(here.slice(), 3));
    assert_eq!(on_both(&context, here.slice()), here.len as u64);
    other.slice().fill(77);
    copy(&card, &context, &*other.slice(), here.slice(), here.len).unwrap();
    assert!(here.slice().iter().all(|byte| *byte == 77));
    assert_eq!(on_both(&context, here.slice()), 0);
}

#[test]
fn memory_that_changes_under_both_is_the_programs() {
    let _alone = alone();
    for change in 0..5 {
        let (card, context) = shared_card();
        let (from, to) = (Mapped::private(20).filled(3), Mapped::private(20));
        context.advise(from.slice(), Advice::ReadMostly);
        copy(&card, &context, &*from.slice(), to.slice(), from.len).unwrap();
        assert!(is_pattern(from.slice(), 3));
        assert_eq!(on_both(&context, from.slice()), from.len as u64);
        match change {
            0 => context.migrate_to_host(&*from.slice()).unwrap(),
            1 => unsafe { rustix::mm::mlock(from.at.cast(), from.len) }.unwrap(),
            2 => context.advise(from.slice(), Advice::Migrate),
            3 => {
                drop(context);
                drop(card);
                from.slice()[5] ^= 0;
                assert!(is_pattern(from.slice(), 3));
                continue;
            }
            _ => {
                context.discard(from.slice());
                assert!(from.slice().iter().all(|byte| *byte == 0));
                from.slice()[7] = 1;
                copy(&card, &context, &*from.slice(), to.slice(), from.len).unwrap();
                assert_eq!((to.slice()[7], to.slice()[PAGE + 8]), (1, 0));
                continue;
            }
        }
        from.slice()[PAGE + 1] ^= 1;
        copy(&card, &context, &*from.slice(), to.slice(), from.len).unwrap();
        assert_eq!(to.slice()[PAGE + 1], pattern(3, PAGE + 1) ^ 1);
        to.slice()[PAGE + 1] ^= 1;
        assert!(is_pattern(to.slice(), 3));
    }
}

#[test]
fn no_store_is_lost_between_two_that_read() {
    let _alone = alone();
    let (card, context) = shared_card();
    let (from, to) = (Mapped::private(8), Mapped::private(8));
    context.advise(from.slice(), Advice::ReadMostly);
    let stop = AtomicBool::new(false);
    // Every 8 bytes count up, page after page; the copy must never see a page older than the one before it was.
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut rounds = 0u64;
            let words = from.slice().as_mut_ptr().cast::<u64>();
            while !stop.load(Ordering::Relaxed) {
                rounds += 1;
                for page in 0..8 {
                    let word = unsafe { words.add(page * PAGE / 8) };
                    // What was read is what was written last.
                    assert_eq!(unsafe { word.read_volatile() }, rounds - 1);
                    unsafe { word.write_volatile(rounds) };
                }
            }
            rounds
        });
        let mut seen = 0;
        for _ in 0..60 {
            copy(&card, &context, &*from.slice(), to.slice(), from.len).unwrap();
            let words = to.at.cast::<u64>();
            let found = unsafe { words.add(7 * PAGE / 8).read_volatile() };
            assert!(found >= seen);
            seen = found;
        }
        stop.store(true, Ordering::Relaxed);
        let rounds = writer.join().unwrap();
        let word = unsafe { from.at.cast::<u64>().read_volatile() };
        assert_eq!(word, rounds);
    });
}

#[test]
fn hints_never_fail() {
    let _alone = alone();
    let (card, context) = shared_card();
    let file = Mapped::file(4).filled(2);
    for advice in [
        Advice::WillNeed,
        Advice::WillNeedHost,
        Advice::ReadMostly,
        Advice::InPlace,
        Advice::Migrate,
    ] {
        context.advise(file.slice(), advice);
        context.advise(&file.slice()[3..5], advice);
        context.advise(&[0u8; 0][..], advice);
    }
    let locked = Mapped::private(4).filled(2);
    unsafe { rustix::mm::mlock(locked.at.cast(), locked.len) }.unwrap();
    context.discard(locked.slice());
    assert!(is_pattern(locked.slice(), 2));
    drop(context);
    drop(card);
}
