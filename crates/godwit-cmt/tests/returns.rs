// SPDX-License-Identifier: Apache-2.0
//! When everything is freed, all memory is one piece again, whatever was allocated and freed before.
#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on says so by failing"
)]

use std::ffi::c_void;
use std::sync::{Arc, Barrier, Mutex, PoisonError};

use godwit_cmt::{Block, Limits, Stats, capi, init, stats, trim};
use proptest::prelude::*;

const MIB: usize = 1 << 20;

/// Runs `body` alone with the pool, on a thread that ends before the next one begins; it gets what the pool was like when
/// it was new. Two pieces, the smaller one first.
fn alone<T: Send>(body: impl FnOnce(Stats) -> T + Send) -> T {
    static START: Mutex<Option<Stats>> = Mutex::new(None);
    let mut start = START.lock().unwrap_or_else(PoisonError::into_inner);
    let new = *start.get_or_insert_with(|| {
        // `returns_some.rs` has this module in it.
        let check = if module_path!() == "returns" {
            "all"
        } else {
            "some"
        };
        let areas = "area=0x40001000:15MiB area=0x80000000:16MiB area=0x81000000:16MiB";
        init(&format!("{areas} check={check}")).unwrap();
        stats()
    });
    // Not only the scope's end: that does not wait for what a thread does when it ends.
    std::thread::scope(|scope| scope.spawn(|| body(new)).join())
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

#[derive(Debug, Clone)]
enum Step {
    Malloc(usize),
    Zeroed(usize),
    Aligned(u32, usize),
    Contiguous(usize),
    Free(usize),
    Resize(usize, usize),
    Expand(usize, usize),
    Trim,
}

fn sizes() -> impl Strategy<Value = usize> {
    prop_oneof![
        8 => 0usize..2000,
        4 => 1usize..40_000,
        2 => 30_000usize..600_000,
        1 => 1usize..12 * MIB,
    ]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => sizes().prop_map(Step::Malloc),
        1 => sizes().prop_map(Step::Zeroed),
        1 => (0u32..18, sizes()).prop_map(|(shift, size)| Step::Aligned(shift, size)),
        1 => sizes().prop_map(|size| Step::Contiguous(size + 1)),
        4 => any::<usize>().prop_map(Step::Free),
        1 => (any::<usize>(), sizes()).prop_map(|(which, size)| Step::Resize(which, size + 1)),
        1 => (any::<usize>(), sizes()).prop_map(|(which, size)| Step::Expand(which, size)),
        1 => Just(Step::Trim),
    ];
    prop::collection::vec(step, 1..300)
}

/// Does the steps; what is still in use afterwards.
fn run(steps: &[Step]) -> Vec<usize> {
    let mut held: Vec<usize> = Vec::new();
    // SAFETY: every block is freed once, and written within its size.
    unsafe {
        for step in steps {
            let which = |number: usize, held: &Vec<usize>| number.checked_rem(held.len());
            let made = match step {
                Step::Malloc(size) => capi::cmt_malloc(*size),
                Step::Zeroed(size) => {
                    let block = capi::cmt_calloc(1, *size).cast::<u8>();
                    if !block.is_null() {
                        let bytes = std::slice::from_raw_parts_mut(block, *size);
                        assert!(bytes.iter().all(|byte| *byte == 0), "{size}");
                        bytes.fill(1);
                    }
                    block.cast()
                }
                Step::Aligned(shift, size) => capi::cmt_aligned_alloc(1 << shift, *size),
                Step::Contiguous(size) => {
                    capi::cmt_alloc_contiguous(*size, std::ptr::null()).cast::<c_void>()
                }
                Step::Free(number) => {
                    if let Some(at) = which(*number, &held) {
                        capi::cmt_free(held.swap_remove(at) as *mut c_void);
                    }
                    continue;
                }
                Step::Resize(number, size) => {
                    if let Some(at) = which(*number, &held) {
                        let block = capi::cmt_realloc(held[at] as *mut c_void, *size);
                        if !block.is_null() {
                            held[at] = block as usize;
                        }
                    }
                    continue;
                }
                Step::Expand(number, size) => {
                    if let Some(at) = which(*number, &held) {
                        capi::cmt_expand(held[at] as *mut c_void, *size);
                    }
                    continue;
                }
                Step::Trim => {
                    trim();
                    continue;
                }
            };
            if !made.is_null() {
                let usable = capi::cmt_usable_size(made);
                made.cast::<u8>().write_bytes(0xa5, usable.min(100_000));
                held.push(made as usize);
            }
        }
    }
    held
}

fn free(blocks: Vec<usize>) {
    for block in blocks {
        // SAFETY: in use, freed once.
        unsafe { capi::cmt_free(block as *mut c_void) };
    }
}

fn everything_returns(
    start: Stats,
    here: &[Step],
    there: Vec<Step>,
    cross: bool,
) -> Result<(), TestCaseError> {
    let mine = run(here);
    // Another thread, which frees its own blocks before it ends, or leaves them to this one.
    let theirs = std::thread::spawn(move || {
        let held = run(&there);
        if cross {
            free(mine);
            held
        } else {
            free(held);
            mine
        }
    })
    .join()
    .unwrap();
    free(theirs);
    // Without a word to the pool: the request itself finds what caches and heaps hold.
    let largest = Block::new(start.largest_free as usize, &Limits::default());
    prop_assert!(largest.is_ok(), "{:?}", stats());
    drop(largest);
    trim();
    let now = stats();
    prop_assert_eq!(now.largest_free, start.largest_free);
    prop_assert_eq!((now.free, now.cached, now.superblocks), (start.total, 0, 0));
    prop_assert_eq!(now.misuses, start.misuses);
    godwit_cmt::check().unwrap();
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_empty_pool_is_one_piece_again(here in steps(), there in steps(), cross in any::<bool>()) {
        alone(|start| everything_returns(start, &here, there, cross))?;
    }
}

/// A thread that lives on but makes no call keeps a page of each size that it used; with its next call they return.
#[test]
fn what_a_living_thread_holds_returns_with_its_next_call() {
    alone(|start| {
        let barrier = Arc::new(Barrier::new(2));
        let other = barrier.clone();
        let thread = std::thread::spawn(move || {
            for size in [16, 100, 1000, 5000, 20_000] {
                // SAFETY: freed at once.
                unsafe { capi::cmt_free(capi::cmt_malloc(size)) };
            }
            other.wait();
            other.wait();
            // SAFETY: of a size that it had none of, so that it is no short path; freed at once.
            unsafe { capi::cmt_free(capi::cmt_malloc(24)) };
            other.wait();
            other.wait();
        });
        barrier.wait();
        trim();
        let idle = stats();
        assert!(idle.superblock_bytes <= 5 * (512 << 10), "{idle:?}");
        assert!(idle.superblock_bytes > 64 << 10, "{idle:?}");
        barrier.wait();
        barrier.wait();
        trim();
        // A page of the size that it asked for last.
        assert!(stats().superblock_bytes <= 64 << 10, "{:?}", stats());
        barrier.wait();
        thread.join().unwrap();
        trim();
        assert_eq!(stats().largest_free, start.largest_free);
    });
}

/// A thread that only frees what others allocated, asked in between for what it keeps.
#[test]
fn a_thread_that_only_frees_loses_nothing() {
    alone(|start| {
        let (send, receive) = std::sync::mpsc::channel::<Vec<usize>>();
        let barrier = Arc::new(Barrier::new(2));
        let other = barrier.clone();
        let thread = std::thread::spawn(move || {
            for blocks in receive {
                free(blocks);
                other.wait();
            }
        });
        let hand_over = |count: usize| {
            // SAFETY: freed once, by the other thread.
            let blocks = (0..count).map(|_| unsafe { capi::cmt_malloc(100) as usize });
            send.send(blocks.collect()).unwrap();
            barrier.wait();
        };
        hand_over(20_000);
        trim();
        hand_over(20_000);
        trim();
        drop(send);
        thread.join().unwrap();
        trim();
        assert_eq!(stats().largest_free, start.largest_free);
        assert_eq!(stats().misuses, start.misuses);
    });
}

/// The whole pool is used by blocks of one size, and then by one block.
#[test]
fn small_blocks_get_all_of_memory_and_give_all_of_it_back() {
    alone(|start| {
        for size in [16usize, 100, 1024, 9000, 30_000] {
            let mut blocks = Vec::new();
            loop {
                // SAFETY: any size is served or refused.
                let block = unsafe { capi::cmt_malloc(size) };
                if block.is_null() {
                    break;
                }
                blocks.push(block as usize);
            }
            let now = stats();
            assert!(now.free < 64 << 10, "{size}: {now:?}");
            assert!(
                blocks.len() * size > now.total as usize * 3 / 4,
                "{size}: {} blocks",
                blocks.len()
            );
            free(blocks);
            assert!(Block::new(start.largest_free as usize, &Limits::default()).is_ok());
        }
    });
}
