// SPDX-License-Identifier: Apache-2.0
//! Pages that a kernel was let write and has not written: hardware says so, and they come home without a copy. And what it uses, which stays. On a
//! mock card.
#![allow(
    clippy::unwrap_used,
    clippy::undocumented_unsafe_blocks,
    reason = "a test that cannot go on says so by failing"
)]

mod mock;
mod process;

use godwit::Cause;
use process::*;

#[test]
fn what_a_kernel_has_not_written_comes_home_without_a_copy() {
    let _alone = alone();
    let (card, context) = shared_card();
    let (from, to) = (Mapped::private(64).filled(3), Mapped::private(64).filled(7));
    let before = context.migrations().unwrap();
    copy(&card, &context, &*from.slice(), to.slice(), 5 * PAGE).unwrap();
    assert_eq!(on_device(&context, to.slice()), 64 * PAGE as u64);
    for at in 0..64 * PAGE {
        let salt = if at < 5 * PAGE { 3 } else { 7 };
        assert_eq!(to.slice()[at], pattern(salt, at));
    }
    let moved = context.migrations().unwrap().since(&before);
    let copied = moved.to_host(Cause::Touch);
    // What the card has as one page of 64 KiB was written as a whole: two at most.
    assert!(
        (5 * PAGE as u64..=32 * PAGE as u64).contains(&copied),
        "{copied}"
    );
    let log = context.migration_log().unwrap();
    let there = to.at as u64..to.at as u64 + 64 * PAGE as u64;
    let home = |copied: bool| -> u64 {
        let home = log
            .iter()
            .filter(|one| !one.to_device && one.copied == copied);
        let of = home.filter(|one| there.contains(&one.address));
        of.map(|one| one.bytes).sum()
    };
    assert_eq!(
        (home(true), home(false)),
        (copied, 64 * PAGE as u64 - copied)
    );
    // Neighbours that were only read may have come with it.
    assert!(moved.clean >= home(false), "{moved:?}");
}

#[test]
fn a_page_that_was_read_before_it_may_be_written_is_clean_until_it_is() {
    let _alone = alone();
    let (card, context) = shared_card();
    let (from, to) = (Mapped::private(32).filled(1), Mapped::private(32));
    copy(&card, &context, &*from.slice(), to.slice(), 32 * PAGE).unwrap();
    // What was only read so far may be written now, and one word is.
    copy(&card, &context, &*to.slice(), from.slice(), 64).unwrap();
    let before = context.migrations().unwrap();
    assert!(is_pattern(from.slice(), 1));
    let moved = context.migrations().unwrap().since(&before);
    let copied = moved.to_host(Cause::Touch);
    assert!((1..=16 * PAGE as u64).contains(&copied), "{copied}");
    // The word on its second stay on the card is a new one: what came home had not been forgotten.
    from.slice()[8] ^= 1;
    copy(&card, &context, &*from.slice(), to.slice(), 64).unwrap();
    assert_eq!(to.slice()[8], pattern(1, 8) ^ 1);
}

#[test]
fn memory_that_nobody_wrote_is_as_it_never_was_touched() {
    let _alone = alone();
    let (card, context) = shared_card();
    let (from, to) = (Mapped::private(16).filled(2), Mapped::private(64));
    copy(&card, &context, &*from.slice(), to.slice(), PAGE).unwrap();
    context.migrate_to_host(&*to.slice()).unwrap();
    assert!(is_pattern(&to.slice()[..PAGE], 2));
    assert!(to.slice()[16 * PAGE..].iter().all(|byte| *byte == 0));
    // The card clears such pages again.
    let before = context.migrations().unwrap();
    let other = Mapped::private(64);
    copy(&card, &context, &*from.slice(), other.slice(), PAGE).unwrap();
    context.migrate_to_host(&*other.slice()).unwrap();
    copy(&card, &context, &*from.slice(), other.slice(), PAGE).unwrap();
    let moved = context.migrations().unwrap().since(&before);
    assert!(
        moved.cleared >= (64 + 48) * PAGE as u64,
        "{}",
        moved.cleared
    );
}

/// A bits: what other pages push out is what kernels do not use. What they use is two arrays that share a page of 2 MiB, if they begin at one.
fn what_kernels_use_stays(pages_behind: usize) {
    let (card, context) = shared_card();
    let bytes = 256 * PAGE;
    let both = Mapped::private(1536);
    let first = (512 - both.at as usize / PAGE % 512) % 512 + pages_behind;
    let (from, to) = both.slice()[first * PAGE..][..2 * bytes].split_at_mut(bytes);
    from.copy_from_slice(Mapped::private(256).filled(3).slice());
    copy(&card, &context, &*from, &mut *to, bytes).unwrap();
    // Nearly all of the memory, which nobody uses any more, and what takes turns.
    let unused = Mapped::private(mock::MEMORY_BYTES as usize / PAGE - 2048).filled(5);
    context.migrate_to_device(&*unused.slice()).unwrap();
    let turns: Vec<Mapped> = (0..4).map(|_| Mapped::private(1024).filled(7)).collect();
    let before = context.migrations().unwrap();
    for round in 0..12 {
        for turn in &turns {
            context.migrate_to_device(&*turn.slice()).unwrap();
            for used in [&*from, &*to] {
                let there = on_device(&context, used);
                assert_eq!(there, bytes as u64, "{pages_behind}, round {round}");
            }
            copy(&card, &context, &*from, &mut *to, bytes).unwrap();
        }
    }
    let moved = context.migrations().unwrap().since(&before);
    assert!(moved.evicted > 0 && moved.looks > 0, "{moved:?}");
    // In the end what takes turns is there, in place of what is not used.
    let before = context.migrations().unwrap();
    for turn in &turns {
        context.migrate_to_device(&*turn.slice()).unwrap();
    }
    let moved = context.migrations().unwrap().since(&before);
    assert_eq!(moved.to_device(Cause::User), 0, "{moved:?}");
    assert!(is_pattern(unused.slice(), 5) && is_pattern(to, 3));
    assert!(turns.iter().all(|turn| is_pattern(turn.slice(), 7)));
}

#[test]
fn pages_that_kernels_use_stay_in_a_full_memory() {
    let _alone = alone();
    what_kernels_use_stays(5);
}

/// In a full memory there is no room to cut pages of 2 MiB at first: what was seen of use before that is not lost.
#[test]
fn large_pages_that_kernels_use_stay_in_a_full_memory() {
    let _alone = alone();
    what_kernels_use_stays(0);
}
