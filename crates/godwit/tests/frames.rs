// SPDX-License-Identifier: Apache-2.0
//! The frame allocator against a bitmap, in random sequences.
//!
//! GODWIT_SEED repeats a run, GODWIT_CASES sets how many sequences there are.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use std::time::{SystemTime, UNIX_EPOCH};

use godwit::{Extent, FRAME_BYTES, FrameAllocator, PAGE_BYTES};
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

const SIZE: u64 = 8 << 20;

#[derive(Debug, Clone)]
enum Step {
    Contiguous { frames: u64, align: u64 },
    Scattered { frames: u64, first: usize },
    Top,
    Free(Index),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let contiguous = (1..300u64, 0..10u32).prop_map(|(frames, order)| Step::Contiguous {
        frames,
        align: 1 << order,
    });
    let scattered =
        (1..400u64, 1..4usize).prop_map(|(frames, first)| Step::Scattered { frames, first });
    let step = prop_oneof![
        1 => contiguous,
        1 => scattered,
        1 => Just(Step::Top),
        2 => any::<Index>().prop_map(Step::Free),
    ];
    prop::collection::vec(step, 1..100)
}

/// The allocator, what it must agree with, and who owns what.
struct Bench {
    frames: FrameAllocator,
    used: Vec<bool>,
    owned: Vec<Extent>,
}

impl Bench {
    fn new() -> Self {
        let used = vec![false; (SIZE / FRAME_BYTES) as usize];
        Self {
            frames: FrameAllocator::new(Extent { pa: 0, len: SIZE }),
            used,
            owned: Vec::new(),
        }
    }

    fn free_frames(&self) -> u64 {
        self.used.iter().filter(|used| !**used).count() as u64
    }

    fn bits(&mut self, range: Extent) -> &mut [bool] {
        &mut self.used[(range.pa / FRAME_BYTES) as usize..(range.end() / FRAME_BYTES) as usize]
    }

    /// Whether the bitmap has `count` free frames in one piece at a multiple of `align`.
    fn fits(&self, count: u64, align: u64) -> bool {
        (0..self.used.len()).step_by(align as usize).any(|start| {
            let piece = self.used.get(start..start + count as usize);
            piece.is_some_and(|piece| piece.iter().all(|used| !used))
        })
    }

    fn contiguous(&mut self, count: u64, align: u64) -> Vec<Extent> {
        let got = self
            .frames
            .alloc_contiguous(count * FRAME_BYTES, align * FRAME_BYTES);
        match got {
            None => assert!(
                !self.fits(count, align),
                "{count} frames at {align} are there"
            ),
            Some(got) => assert_eq!(
                (got.len, got.pa % (align * FRAME_BYTES)),
                (count * FRAME_BYTES, 0)
            ),
        }
        got.into_iter().collect()
    }

    fn scattered(&mut self, count: u64, granules: &[u64]) -> Vec<Extent> {
        let got = self.frames.alloc_scattered(count * FRAME_BYTES, granules);
        assert_eq!(got.is_some(), self.free_frames() >= count);
        let got = got.unwrap_or_default();
        let total: u64 = got.iter().map(|piece| piece.len).sum();
        assert!(got.is_empty() || total == count * FRAME_BYTES);
        got
    }

    fn step(&mut self, step: &Step) {
        let got = match step {
            Step::Contiguous { frames, align } => self.contiguous(*frames, *align),
            Step::Scattered { frames, first } => self.scattered(*frames, &PAGE_BYTES[*first..]),
            Step::Top => {
                let top = self.frames.alloc_top();
                assert_eq!(top.is_some(), self.free_frames() > 0);
                top.map(|pa| Extent {
                    pa,
                    len: FRAME_BYTES,
                })
                .into_iter()
                .collect()
            }
            Step::Free(_) if self.owned.is_empty() => Vec::new(),
            Step::Free(index) => {
                let range = self.owned.swap_remove(index.index(self.owned.len()));
                self.frames.free(range);
                self.bits(range).fill(false);
                Vec::new()
            }
        };
        for range in got {
            let bits = self.bits(range);
            assert!(
                bits.iter().all(|used| !used),
                "a frame of {range:?} has two owners"
            );
            bits.fill(true);
            self.owned.push(range);
        }
        assert_eq!(self.frames.free_bytes(), self.free_frames() * FRAME_BYTES);
        let largest = self
            .used
            .split(|used| *used)
            .map(<[bool]>::len)
            .max()
            .unwrap_or(0) as u64;
        assert_eq!(self.frames.largest(), largest * FRAME_BYTES);
    }
}

#[test]
fn no_frame_has_two_owners_and_none_is_lost() {
    let number = |name| {
        std::env::var(name)
            .ok()
            .map(|text| text.parse::<u64>().expect("a number"))
    };
    let now = || {
        SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap()
            .as_nanos() as u64
            % 1_000_000_007
    };
    let (seed, cases) = (
        number("GODWIT_SEED").unwrap_or_else(now),
        number("GODWIT_CASES").unwrap_or(200),
    );
    println!("GODWIT_SEED={seed} GODWIT_CASES={cases} repeats this run");
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let config = Config {
        cases: cases as u32,
        failure_persistence: None,
        ..Config::default()
    };
    let mut runner =
        TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes));
    let result = runner.run(&steps(), |steps| {
        let mut bench = Bench::new();
        steps.iter().for_each(|step| bench.step(step));
        Ok(())
    });
    if let Err(failure) = result {
        panic!("GODWIT_SEED={seed} GODWIT_CASES={cases} repeats this failure\n{failure}");
    }
}
