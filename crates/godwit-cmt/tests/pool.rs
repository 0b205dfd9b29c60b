// SPDX-License-Identifier: Apache-2.0
//! The pool through its Rust face.
#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on says so by failing"
)]

use std::ffi::c_void;
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

use godwit_cmt::{Block, CmtError, Limits, capi, init, stats, trim};

const MIB: usize = 1 << 20;

/// Tests look at the state of the whole pool, so that they run one after the other.
fn pool() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    static OPEN: Once = Once::new();
    let guard = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    // Two areas that touch below 4 GiB, one behind a hole above it.
    OPEN.call_once(|| {
        init("area=0xf0000000:32MiB:0 area=0xf2000000:32MiB:0 area=0x120000000:64MiB:1 cache=8MiB")
            .unwrap();
    });
    guard
}

#[test]
fn blocks_of_every_size_hold_their_content() {
    let _guard = pool();
    let sizes: Vec<usize> = (0..24)
        .flat_map(|bits| [(1 << bits) - 1, 1 << bits, (1 << bits) + 1])
        .collect();
    // SAFETY: every block is written within its size and freed once.
    unsafe {
        let blocks: Vec<*mut u8> = sizes
            .iter()
            .map(|size| capi::cmt_malloc(*size).cast())
            .collect();
        for (number, (block, size)) in blocks.iter().zip(&sizes).enumerate() {
            assert!(!block.is_null(), "{size}");
            assert!(capi::cmt_usable_size(block.cast()) >= *size);
            assert_eq!(*block as usize % 16, 0);
            block.write_bytes(number as u8, *size);
        }
        for (number, (block, size)) in blocks.iter().zip(&sizes).enumerate() {
            assert!(
                (0..*size).all(|at| *block.add(at) == number as u8),
                "{size}"
            );
            capi::cmt_free(block.cast());
        }
    }
    godwit_cmt::check().unwrap();
}

#[test]
fn limits_of_a_peripheral_are_kept_or_the_reason_is_given() {
    let _guard = pool();
    trim();
    let low = Limits {
        max: 0xffff_ffff,
        ..Limits::default()
    };
    let block = Block::new(40 * MIB, &low).unwrap();
    assert!(block.extent().pa + block.extent().bytes <= 1 << 32);
    let CmtError::Memory(reason) = Block::new(40 * MIB, &low).unwrap_err() else {
        panic!("not a lack of memory");
    };
    assert!(reason.contains("within the limits"), "{reason}");

    let other = Limits {
        node: Some(1),
        align: 8 << 20,
        ..Limits::default()
    };
    let block = Block::new(3 * MIB, &other).unwrap();
    assert!(block.extent().pa >= 0x1_2000_0000);
    assert_eq!(block.extent().pa % (8 << 20), 0);
    assert_eq!(block.as_ptr() as usize % (8 << 20), 0);
}

#[test]
fn a_block_crosses_areas_that_touch_but_no_hole() {
    let _guard = pool();
    trim();
    assert!(Block::new(60 * MIB, &Limits::default()).is_ok());
    assert!(Block::new(65 * MIB, &Limits::default()).is_err());
}

#[test]
fn a_block_grows_in_place_until_something_is_behind_it() {
    let _guard = pool();
    trim();
    let limits = Limits {
        node: Some(1),
        ..Limits::default()
    };
    let mut block = Block::new(MIB, &limits).unwrap();
    block.as_mut_slice().fill(9);
    let at = block.as_ptr();
    block.grow(20 * MIB).unwrap();
    assert_eq!(block.as_ptr(), at);
    assert!(block.as_slice()[..MIB].iter().all(|byte| *byte == 9));
    let neighbour = Block::new(MIB, &limits).unwrap();
    assert!(block.grow(21 * MIB).is_err());
    drop(neighbour);
    block.grow(21 * MIB).unwrap();
}

#[test]
fn memory_that_caches_and_small_blocks_held_is_there_when_it_is_needed() {
    let _guard = pool();
    // SAFETY: every block is freed once.
    unsafe {
        let mut blocks: Vec<_> = (0..200_000).map(|_| capi::cmt_malloc(100)).collect();
        blocks.extend((0..40).map(|_| capi::cmt_malloc(200_000)));
        assert!(blocks.iter().all(|block| !block.is_null()));
        blocks.into_iter().for_each(|block| capi::cmt_free(block));
    }
    assert!(stats().superblocks > 0);
    assert!(Block::new(64 * MIB, &Limits::default()).is_ok());
}

#[test]
fn memory_that_small_blocks_have_left_is_left_alone() {
    let _guard = pool();
    const PATTERN: u8 = 0xff;
    // SAFETY: every block is written within its size and freed once.
    unsafe {
        // One thread's page outlives it, another empties it, and takes its memory.
        let small = std::thread::spawn(|| capi::cmt_malloc(100) as usize)
            .join()
            .unwrap();
        capi::cmt_free(capi::cmt_malloc(100));
        trim();
        let blocks = std::thread::spawn(move || {
            capi::cmt_free(small as *mut c_void);
            trim();
            let blocks: Vec<usize> = std::iter::repeat_with(|| capi::cmt_malloc(4 * MIB))
                .take_while(|block| !block.is_null())
                .map(|block| block as usize)
                .collect();
            for block in &blocks {
                (*block as *mut u8).write_bytes(PATTERN, 4 * MIB);
            }
            blocks
        })
        .join()
        .unwrap();
        let (last, others) = blocks.split_last().unwrap();
        capi::cmt_free(*last as *mut c_void);
        capi::cmt_free(capi::cmt_malloc(100));
        for block in others {
            let bytes = std::slice::from_raw_parts(*block as *const u8, 4 * MIB);
            assert!(bytes.iter().all(|byte| *byte == PATTERN));
            capi::cmt_free(*block as *mut c_void);
        }
    }
    trim();
}

#[test]
fn threads_free_what_others_allocated_and_all_of_it_returns() {
    let _guard = pool();
    let (send, receive) = std::sync::mpsc::sync_channel::<usize>(1000);
    // Joined one by one: a scope may end before its threads have, and what a thread keeps goes back when it ends.
    std::thread::scope(|scope| {
        let mut threads: Vec<_> = (0..4)
            .map(|thread| {
                let send = send.clone();
                scope.spawn(move || {
                    for i in 0..100_000usize {
                        // SAFETY: any size is served or refused.
                        let block = unsafe { capi::cmt_malloc(16 + (i * 37 + thread) % 3000) };
                        assert!(!block.is_null());
                        send.send(block as usize).unwrap();
                    }
                })
            })
            .collect();
        drop(send);
        threads.push(scope.spawn(move || {
            for block in receive {
                // SAFETY: a block of the pool, freed once.
                unsafe { capi::cmt_free(block as *mut _) };
            }
        }));
        for thread in threads {
            thread.join().unwrap();
        }
    });
    trim();
    let stats = stats();
    assert_eq!((stats.superblocks, stats.cached), (0, 0));
    assert_eq!(stats.free, stats.total);
    godwit_cmt::check().unwrap();
}

#[test]
fn a_dump_lists_all_memory_once() {
    let _guard = pool();
    let block = Block::new(5 * MIB, &Limits::default()).unwrap();
    let dump = godwit_cmt::dump();
    let mut sum = 0;
    for line in dump.lines() {
        sum += line.split(' ').nth(1).unwrap().parse::<u64>().unwrap();
    }
    assert_eq!(sum, stats().total);
    let line = format!("{:#x} {} used", block.extent().pa, 5 * MIB);
    assert!(dump.contains(&line), "{dump}");
}
