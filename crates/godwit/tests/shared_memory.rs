// SPDX-License-Identifier: Apache-2.0
//! Plain memory of the process as a kernel's argument: pages go to the card and come back, on a mock card.
#![allow(
    clippy::unwrap_used,
    clippy::undocumented_unsafe_blocks,
    reason = "a test that cannot go on says so by failing"
)]

mod mock;
mod process;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use godwit::{Cause, Error, HostRange, Residency, Value};
use mock::MockCard;
use process::*;

#[test]
fn plain_memory_is_an_argument_and_its_pages_move() {
    let _alone = alone();
    let (card, context) = shared_card();
    let from = Mapped::private(40).filled(3);
    let to = Mapped::private(40);
    let before = context.migrations().unwrap();
    copy(&card, &context, &*from.slice(), to.slice(), 40 * PAGE).unwrap();
    assert_eq!(on_device(&context, from.slice()), 40 * PAGE as u64);
    assert_eq!(on_device(&context, to.slice()), 40 * PAGE as u64);
    assert!(is_pattern(to.slice(), 3));
    assert_eq!(on_device(&context, to.slice()), 0);
    assert!(is_pattern(from.slice(), 3));
    let moved = context.migrations().unwrap().since(&before);
    assert_eq!(moved.to_device(Cause::Launch), 40 * PAGE as u64);
    // The output was never touched, the input only read.
    assert_eq!(moved.cleared, 40 * PAGE as u64);
    assert_eq!(moved.clean, 40 * PAGE as u64);
    assert_eq!(moved.to_host(Cause::Touch), 40 * PAGE as u64);
}

#[test]
fn a_second_launch_moves_nothing() {
    let _alone = alone();
    let (card, context) = shared_card();
    let (from, to) = (Mapped::private(8).filled(1), Mapped::private(8));
    copy(&card, &context, &*from.slice(), to.slice(), 8 * PAGE).unwrap();
    let before = context.migrations().unwrap();
    copy(&card, &context, &*from.slice(), to.slice(), 8 * PAGE).unwrap();
    assert_eq!(context.migrations().unwrap(), before);
    // What was only read so far is written now.
    copy(&card, &context, &*to.slice(), from.slice(), 100).unwrap();
    assert_eq!(context.migrations().unwrap(), before);
    assert!(is_pattern(from.slice(), 1));
}

#[test]
fn no_store_of_a_running_thread_is_lost() {
    const WORDS: usize = 16 * 512;
    let _alone = alone();
    let (_card, context) = shared_card();
    let memory = Mapped::private(16);
    let words = unsafe { std::slice::from_raw_parts(memory.at.cast::<AtomicU64>(), WORDS) };
    let stop = AtomicBool::new(false);
    let counts: Vec<u64> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..2)
            .map(|thread| {
                let stop = &stop;
                scope.spawn(move || {
                    let mut count = 0;
                    while !stop.load(Ordering::Relaxed) {
                        for word in words[thread..].iter().step_by(2 * 37) {
                            // A plain increment, as a program has it: lost if the page is copied behind its back.
                            word.store(word.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
                            count += 1;
                        }
                    }
                    count
                })
            })
            .collect();
        for round in 0..300 {
            let first = round % 7;
            let range = &memory.slice()[first * PAGE..(first + 9) * PAGE];
            context.migrate_to_device(range).unwrap();
            if round % 3 == 0 {
                context.migrate_to_host(range).unwrap();
            }
        }
        stop.store(true, Ordering::Relaxed);
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });
    let sum: u64 = words.iter().map(|word| word.load(Ordering::Relaxed)).sum();
    assert_eq!(sum, counts.iter().sum::<u64>());
}

#[test]
fn kernels_and_threads_in_turns_see_what_the_others_wrote() {
    let _alone = alone();
    let (card, context) = shared_card();
    let (left, right) = (Mapped::private(6), Mapped::private(6));
    for turn in 0..20u8 {
        left.slice().iter_mut().for_each(|byte| *byte += 1);
        copy(&card, &context, &*left.slice(), right.slice(), 6 * PAGE).unwrap();
        let other = std::thread::scope(|scope| {
            let sum = scope.spawn(|| right.slice().iter().all(|byte| *byte == 2 * turn + 1));
            sum.join().unwrap()
        });
        assert!(other, "turn {turn}");
        right.slice().iter_mut().for_each(|byte| *byte += 1);
        copy(&card, &context, &*right.slice(), left.slice(), 6 * PAGE).unwrap();
    }
    assert!(left.slice().iter().all(|byte| *byte == 40));
}

#[test]
fn who_touches_what_a_kernel_works_on_waits_for_its_end() {
    let _alone = alone();
    let (card, context) = shared_card();
    let (from, to) = (Mapped::private(64).filled(4), Mapped::private(64));
    let range = |memory: &Mapped, writable| unsafe {
        Value::Memory(HostRange::new(
            memory.at as u64,
            memory.len as u64,
            writable,
        ))
    };
    let builder = card
        .kernel("copy")
        .unwrap()
        .context(&context)
        .arg("src", range(&from, false))
        .arg("dst", range(&to, true))
        .arg("bytes", from.len)
        .arg("tag", 0u32);
    let launch = unsafe { builder.start_on_memory() }.unwrap();
    // Nobody waits for the launch, and it ends all the same.
    assert_eq!(to.slice()[from.len - 1], pattern(4, from.len - 1));
    assert!(launch.is_ended());
    assert!(is_pattern(to.slice(), 4));
    launch.take().unwrap();
}

#[test]
fn a_launch_that_nothing_keeps_memory_for_is_refused() {
    let _alone = alone();
    let (card, context) = shared_card();
    let memory = Mapped::private(1);
    let builder = card.kernel("copy").unwrap().context(&context);
    let builder = builder.arg("src", &*memory.slice()).arg("dst", Value::Null);
    let error = builder.arg("bytes", 0u64).arg("tag", 0u32).start();
    let Err(Error::Argument(text)) = error else {
        panic!("started");
    };
    assert!(text.contains("start_on_memory"), "{text}");
}

#[test]
fn bad_memory_is_refused_with_words() {
    let _alone = alone();
    let (card, context) = shared_card();
    let gone = Mapped::lone(3).unmap();
    let bad = |address: u64, writable| unsafe {
        let from = Value::Memory(HostRange::new(address, 3 * PAGE as u64, writable));
        let to = Value::Memory(HostRange::new(address, 3 * PAGE as u64, writable));
        copy(&card, &context, from, to, 1).unwrap_err().to_string()
    };
    assert!(bad(gone as u64, true).contains("there is no memory"));
    assert!(bad(gone as u64, false).contains("read-only"));
    assert!(bad(1 << 47, true).contains("wider mode"));
    assert!(bad(0, true).contains("no memory"));
    let plain = card.context(None).unwrap();
    let memory = Mapped::private(1);
    let error = copy(&card, &plain, &*memory.slice(), memory.slice(), 1).unwrap_err();
    assert!(error.to_string().contains("does not share"), "{error}");
}

#[test]
fn memory_nobody_touched_has_no_page_from_being_looked_at() {
    // The same place, in memory that a kernel is the first to write.
    const PIECE: usize = 64 << 20;
    let _alone = alone();
    let (card, context) = shared_card();
    let room = Mapped::private(2 * PIECE / PAGE);
    let boundary = (room.at as usize + PAGE).next_multiple_of(PIECE) - room.at as usize;
    let (from, to) = (
        Mapped::private(40).filled(4),
        &mut room.slice()[boundary..boundary + 40 * PAGE],
    );
    let before = context.migrations().unwrap();
    copy(&card, &context, &*from.slice(), &mut *to, from.len).unwrap();
    let moved = context.migrations().unwrap().since(&before);
    assert_eq!(
        moved.to_device(godwit::Cause::Launch),
        from.len as u64,
        "{moved:?}"
    );
    assert!(is_pattern(to, 4));
}

#[test]
fn several_memories_go_together_or_none_does() {
    let _alone = alone();
    let (_card, context) = shared_card();
    let (a, b) = (Mapped::private(20).filled(1), Mapped::private(3).filled(2));
    let before = context.migrations().unwrap();
    context
        .migrate_all_to_device(&[(&*a.slice()).into(), (&*b.slice()).into()])
        .unwrap();
    let moved = context.migrations().unwrap().since(&before);
    assert_eq!(moved.groups, 1);
    assert_eq!(moved.to_device(godwit::Cause::User), 23 * PAGE as u64);
    assert!(is_pattern(a.slice(), 1) && is_pattern(b.slice(), 2));
    // The second does not fit beside the first.
    let large = Mapped::private(mock::MEMORY_BYTES as usize / PAGE).filled(3);
    let both = [(&*a.slice()).into(), (&*large.slice()).into()];
    let full = context.migrate_all_to_device(&both);
    assert!(
        matches!(full, Err(godwit::Error::OutOfMemory { .. })),
        "{full:?}"
    );
    assert_eq!(on_device(&context, a.slice()), 0);
    assert!(is_pattern(a.slice(), 1) && is_pattern(large.slice(), 3));
    context.migrate_all_to_device(&[]).unwrap();
}

#[test]
fn residency_says_where_pages_are() {
    let _alone = alone();
    let (card, context) = shared_card();
    let memory = Mapped::private(6).filled(1);
    let place = |context: &godwit::Context| context.residency(memory.slice()).unwrap();
    assert_eq!(place(&context).len(), 1);
    context
        .migrate_to_device(&memory.slice()[PAGE..3 * PAGE])
        .unwrap();
    let at = memory.at as u64;
    let page = PAGE as u64;
    assert_eq!(
        place(&context),
        [
            (at, page, Residency::Host),
            (at + page, 2 * page, Residency::Device),
            (at + 3 * page, 3 * page, Residency::Host)
        ]
    );
    let other = card.context(None).unwrap();
    other.share_process().unwrap();
    assert_eq!(place(&other)[1].2, Residency::Elsewhere);
}

#[test]
fn pages_go_from_card_to_card() {
    let _alone = alone();
    let (first, here) = shared_card();
    let (second, there) = shared_card();
    let (a, b, c) = (
        Mapped::private(5).filled(4),
        Mapped::private(5),
        Mapped::private(5),
    );
    copy(&first, &here, &*a.slice(), b.slice(), a.len).unwrap();
    copy(&second, &there, &*b.slice(), c.slice(), a.len).unwrap();
    assert_eq!(on_device(&here, b.slice()), 0);
    assert_eq!(on_device(&there, b.slice()), b.len as u64);
    assert!(is_pattern(c.slice(), 4) && is_pattern(b.slice(), 4));
}

#[test]
fn the_end_of_a_context_or_card_brings_everything_home() {
    let _alone = alone();
    for close in [true, false] {
        let (card, context) = shared_card();
        let (from, to) = (Mapped::private(5).filled(4), Mapped::private(5));
        copy(&card, &context, &*from.slice(), to.slice(), from.len).unwrap();
        if close {
            card.close().unwrap();
        } else {
            drop(context);
        }
        assert!(is_pattern(to.slice(), 4) && is_pattern(from.slice(), 4));
    }
}

#[test]
fn a_context_that_ends_twice_leaves_others_alone() {
    let _alone = alone();
    let (first, old) = shared_card();
    first.close().unwrap();
    let (card, context) = shared_card();
    let (from, to) = (Mapped::private(5).filled(4), Mapped::private(5));
    drop(old);
    copy(&card, &context, &*from.slice(), to.slice(), from.len).unwrap();
    assert!(is_pattern(to.slice(), 4));
}

#[test]
fn memory_of_an_arena_moves_if_it_is_kept_until_it_is_home() {
    let _alone = alone();
    let (card, context) = shared_card();
    for round in 0..20 {
        let mut from: Vec<u8> = (0..40_000).map(|at| pattern(round, at)).collect();
        let mut to = vec![0u8; 40_000];
        let kept = |memory: &[u8], writable| unsafe {
            HostRange::new(memory.as_ptr() as u64, memory.len() as u64, writable).kept()
        };
        copy(&card, &context, kept(&from, false), kept(&to, true), 40_000).unwrap();
        assert!(on_device(&context, &to) >= 8 * PAGE as u64);
        assert!(is_pattern(&to[..20_000], round));
        context.forget(&mut from[..]).unwrap();
        context.forget(&mut to[..]).unwrap();
        assert_eq!(on_device(&context, &from), 0);
    }
}

#[test]
fn a_card_that_broke_gives_its_pages_back() {
    let _alone = alone();
    let (card, context) = shared_card();
    let (from, to) = (Mapped::private(5).filled(4), Mapped::private(5));
    copy(&card, &context, &*from.slice(), to.slice(), from.len).unwrap();
    let hangs = card
        .kernel("copy")
        .unwrap()
        .context(&context)
        .arg("src", &*from.slice())
        .arg("dst", to.slice())
        .arg("bytes", from.len)
        .arg("tag", mock::HANGS)
        .run();
    assert!(matches!(hangs, Err(Error::Hang(_))));
    assert!(is_pattern(to.slice(), 4) && is_pattern(from.slice(), 4));
}

#[test]
fn touches_in_a_row_bring_growing_groups() {
    let _alone = alone();
    let (_card, context) = shared_card();
    // Two blocks of 2 MiB, wherever they begin.
    let memory = Mapped::private(1536).filled(1);
    let skip = (memory.at as usize).next_multiple_of(512 * PAGE) - memory.at as usize;
    let blocks = &memory.slice()[skip..skip + 1024 * PAGE];
    context.migrate_to_device(blocks).unwrap();
    let before = context.migrations().unwrap();
    assert_eq!(blocks.iter().step_by(PAGE).count(), 1024);
    let sum: u64 = blocks
        .iter()
        .step_by(PAGE)
        .map(|byte| u64::from(*byte))
        .sum();
    assert!(sum > 0);
    let moved = context.migrations().unwrap().since(&before);
    // 16, 16 (a group of 32 begins at its half), 32, 64, 128, 256; then a block.
    assert_eq!((moved.touches, moved.groups), (7, 7));
}

#[test]
fn a_large_page_is_mapped_for_a_whole_block() {
    let _alone = alone();
    let (_card, context) = shared_card();
    let memory = Mapped::private(1536).filled(1);
    let skip = (memory.at as usize).next_multiple_of(512 * PAGE) - memory.at as usize;
    let from_half = &memory.slice()[skip - skip.min(48 * PAGE)..skip + 512 * PAGE];
    context.migrate_to_device(from_half).unwrap();
    let block = context.lookup((memory.at as usize + skip) as u64).unwrap();
    assert_eq!(block.unwrap().size, godwit::PageSize::SIZE_2M);
}

#[test]
fn a_card_with_other_kernels_at_work_waits_for_nobody() {
    let _alone = alone();
    let (card, context) = shared(MockCard::with_kernels(&[Default::default(); 2]));
    let memory: Vec<_> = (0..2)
        .map(|_| (Mapped::private(32).filled(3), Mapped::private(32)))
        .collect();
    std::thread::scope(|scope| {
        for (slot, (from, to)) in memory.iter().enumerate() {
            let (card, context) = (&card, &context);
            scope.spawn(move || {
                let name = ["copy", "copy1"][slot];
                for _ in 0..5 {
                    card.kernel(name)
                        .unwrap()
                        .context(context)
                        .arg("src", &*from.slice())
                        .arg("dst", to.slice())
                        .arg("bytes", from.len)
                        .arg("tag", 0u32)
                        .run()
                        .unwrap();
                    assert!(is_pattern(to.slice(), 3));
                    to.slice().fill(0);
                }
            });
        }
    });
}
