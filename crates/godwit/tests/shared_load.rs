// SPDX-License-Identifier: Apache-2.0
//! No write is lost: counters that threads and kernels of two cards increment on pages that move all the time, while cards end and new ones
//! come, the process forks, and memory is brought home. `GODWIT_INCREMENTS=100000000` makes it so many increments of the threads.
#![allow(
    clippy::unwrap_used,
    clippy::undocumented_unsafe_blocks,
    reason = "a test that cannot go on says so by failing"
)]

mod mock;
mod process;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use godwit::{Card, Context, HostRange};
use process::*;

const PAGES: usize = 24;
const WORDS: usize = PAGES * PAGE / 8;
/// Pages of a launch.
const PART: usize = 9;
/// At least so many launches, a card that ends in every 8th and a fork in every 16th.
const ROUNDS: usize = 64;
/// At most so many, where the threads bring all of it home before the other card asks.
const MOST_ROUNDS: usize = 2048;

/// Increments by the threads at least.
fn wanted() -> u64 {
    std::env::var("GODWIT_INCREMENTS").map_or(1_000_000, |text| text.parse().unwrap())
}

/// A kernel adds one to every word of some pages, where they are.
fn add((card, context): &(Card, Context), memory: &Mapped, first: usize) {
    let at = memory.at as u64 + (first * PAGE) as u64;
    let range = |writes| unsafe { HostRange::new(at, (PART * PAGE) as u64, writes) };
    let kernel = card.kernel("copy").unwrap().context(context);
    let kernel = kernel.arg("src", range(false)).arg("dst", range(true));
    let kernel = kernel.arg("bytes", PART * PAGE).arg("tag", mock::ADDS);
    assert_eq!(
        kernel.run().unwrap().result("copied"),
        Some((PART * PAGE) as u64)
    );
}

/// A child reads everything and ends.
fn fork_and_read(words: &[AtomicU64]) {
    match unsafe { libc::fork() } {
        0 => {
            let sum = words.iter().fold(0u64, |sum, word| {
                sum.wrapping_add(word.load(Ordering::Relaxed))
            });
            unsafe { libc::_exit(i32::from(sum == 0)) }
        }
        child => {
            let mut status = 1;
            unsafe { libc::waitpid(child, &mut status, 0) };
            assert_eq!(status, 0);
        }
    }
}

#[test]
fn no_increment_of_threads_and_kernels_is_lost() {
    let _alone = alone();
    let mut cards = [shared_card(), shared_card()];
    let memory = Mapped::private(PAGES);
    let words = unsafe { std::slice::from_raw_parts(memory.at.cast::<AtomicU64>(), WORDS) };
    words[0].store(1, Ordering::Relaxed);
    let before = cards[0].1.migrations().unwrap();
    let (by_threads, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    let (mut by_kernels, mut round) = (0u64, 0);
    std::thread::scope(|scope| {
        for stride in [37, 1021] {
            let (by_threads, stop) = (&by_threads, &stop);
            scope.spawn(move || {
                let mut at = 0;
                while !stop.load(Ordering::Relaxed) {
                    for _ in 0..512 {
                        words[at].fetch_add(1, Ordering::Relaxed);
                        at = (at + stride) % WORDS;
                    }
                    by_threads.fetch_add(512, Ordering::Relaxed);
                }
            });
        }
        let none_across = |cards: &[(Card, Context); 2]| {
            let moved = cards[0].1.migrations().unwrap().since(&before);
            moved.across == 0
        };
        while round < ROUNDS
            || by_threads.load(Ordering::Relaxed) < wanted()
            || (round < MOST_ROUNDS && none_across(&cards))
        {
            add(&cards[round % 2], &memory, round * 5 % (PAGES - PART));
            by_kernels += (PART * PAGE / 8) as u64;
            // From what the one has the other takes a part.
            add(&cards[(round + 1) % 2], &memory, round * 5 % (PAGES - PART));
            by_kernels += (PART * PAGE / 8) as u64;
            if round % 8 == 3 {
                let (card, context) = std::mem::replace(&mut cards[round / 8 % 2], shared_card());
                context.migrate_to_device(memory.slice()).unwrap();
                card.close().unwrap();
            }
            if round % 16 == 7 {
                fork_and_read(words);
            }
            if round % 5 == 4 {
                cards[0].1.migrate_to_host(memory.slice()).unwrap();
            }
            round += 1;
        }
        stop.store(true, Ordering::Relaxed);
    });
    let sum: u64 = words.iter().map(|word| word.load(Ordering::Relaxed)).sum();
    let by_threads = by_threads.load(Ordering::Relaxed);
    assert_eq!(sum, 1 + by_threads + by_kernels, "{round} rounds");
    let moved = cards[0].1.migrations().unwrap().since(&before);
    eprintln!(
        "{by_threads} increments by threads and {by_kernels} by kernels; {} bytes went from card to card, {} touches",
        moved.across, moved.touches
    );
    assert!(moved.across > 0 && moved.touches > 0, "{moved:?}");
}
