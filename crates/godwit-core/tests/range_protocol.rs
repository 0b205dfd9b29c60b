// SPDX-License-Identifier: Apache-2.0
//! The lock-free part of the range allocator (`core/src/range_map.c`), exhaustively: every interleaving of threads that
//! take and give back granules under the shared lock, with words of two bits and both kinds of summary level.
//!
//! Every access of that code to a shared word is sequentially consistent, so that interleavings of single accesses are
//! all there is to see. Loom cannot see C; the C code itself runs under ThreadSanitizer (`make -C core threads`).

use std::collections::HashSet;

const FULL: u8 = 0b11;

/// Two words of granules, a summary word with a bit a word, and above it one bit (its other bit is padding).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Memory {
    used: [u8; 2],
    full: [u8; 2],
}

impl Memory {
    /// The word below bit `index` of summary level `level`.
    fn below(&self, level: usize, index: usize) -> u8 {
        if level == 0 {
            self.used[index]
        } else {
            self.full[level - 1]
        }
    }
}

/// Where a thread is: each step is at most one access to shared memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum At {
    ClaimLoad,
    ClaimSwap { old: u8 },
    FullLook { level: usize, index: usize },
    FullSet { level: usize, index: usize },
    FullAgain { level: usize, index: usize },
    FullUndo { level: usize, index: usize },
    Hold,
    FreeLook { level: usize, index: usize },
    FreeClear { level: usize, index: usize },
    Done,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Thread {
    at: At,
    /// The granule it wants: word and bit.
    word: usize,
    bit: u8,
    holds: bool,
    /// How often it goes round.
    rounds: u8,
}

impl Thread {
    fn new(granule: usize, rounds: u8) -> Self {
        Self {
            at: At::ClaimLoad,
            word: granule / 2,
            bit: 1 << (granule % 2),
            holds: false,
            rounds,
        }
    }

    fn step(&mut self, memory: &mut Memory) {
        self.at = match self.at {
            At::ClaimLoad if memory.used[self.word] & self.bit != 0 => At::Done,
            At::ClaimLoad => At::ClaimSwap {
                old: memory.used[self.word],
            },
            At::ClaimSwap { old } if memory.used[self.word] != old => At::ClaimLoad,
            At::ClaimSwap { old } => {
                memory.used[self.word] = old | self.bit;
                self.holds = true;
                match old | self.bit {
                    FULL => At::FullLook {
                        level: 0,
                        index: self.word,
                    },
                    _ => At::Hold,
                }
            }
            At::FullLook { level, index } if memory.below(level, index) == FULL => {
                At::FullSet { level, index }
            }
            At::FullLook { .. } => At::Hold,
            At::FullSet { level, index } => {
                memory.full[level] |= 1 << index;
                At::FullAgain { level, index }
            }
            At::FullAgain { level, index } if memory.below(level, index) != FULL => {
                At::FullUndo { level, index }
            }
            At::FullAgain { level: 0, .. } => At::FullLook { level: 1, index: 0 },
            At::FullAgain { .. } => At::Hold,
            At::FullUndo { level, index } => {
                memory.full[level] &= !(1 << index);
                match level {
                    0 => At::FullUndo { level: 1, index: 0 },
                    _ => At::Hold,
                }
            }
            At::Hold => {
                memory.used[self.word] &= !self.bit;
                self.holds = false;
                At::FreeLook {
                    level: 0,
                    index: self.word,
                }
            }
            At::FreeLook { level, index } if memory.full[level] & (1 << index) != 0 => {
                At::FreeClear { level, index }
            }
            At::FreeLook { level, .. } => self.freed(level),
            At::FreeClear { level, index } => {
                memory.full[level] &= !(1 << index);
                self.freed(level)
            }
            At::Done => At::Done,
        };
    }

    fn freed(&mut self, level: usize) -> At {
        if level == 0 {
            return At::FreeLook { level: 1, index: 0 };
        }
        self.rounds -= 1;
        if self.rounds == 0 {
            At::Done
        } else {
            At::ClaimLoad
        }
    }

    /// Between the steps of one call.
    fn is_busy(&self) -> bool {
        !matches!(
            self.at,
            At::ClaimLoad | At::ClaimSwap { .. } | At::Hold | At::Done
        )
    }
}

type State = (Memory, Vec<Thread>);

fn check((memory, threads): &State) {
    for (number, thread) in threads.iter().enumerate() {
        let same =
            |other: &Thread| other.holds && other.word == thread.word && other.bit == thread.bit;
        let others = threads
            .iter()
            .enumerate()
            .filter(|(other, _)| *other != number);
        assert!(
            !thread.holds || !others.into_iter().any(|(_, other)| same(other)),
            "two owners: {memory:?} {threads:?}"
        );
    }
    // A summary that hides free memory is seen by nobody but those who are at it: who finds nothing asks again when all
    // of them are done.
    if !threads.iter().any(Thread::is_busy) {
        for (level, index) in [(0, 0), (0, 1), (1, 0)] {
            let says_full = memory.full[level] & (1 << index) != 0;
            assert!(
                !says_full || memory.below(level, index) == FULL,
                "level {level} hides free memory: {memory:?} {threads:?}"
            );
        }
    }
}

/// Visits every state that can be reached; how many there are.
fn explore(used: [u8; 2], threads: Vec<Thread>) -> usize {
    let summary = u8::from(used[0] == FULL) | u8::from(used[1] == FULL) << 1;
    let memory = Memory {
        used,
        // The upper word's second bit is padding and always set.
        full: [summary, 0b10 | u8::from(summary == FULL)],
    };
    let mut seen: HashSet<State> = HashSet::new();
    let mut open = vec![(memory, threads)];
    while let Some(state) = open.pop() {
        if !seen.insert(state.clone()) {
            continue;
        }
        check(&state);
        for number in 0..state.1.len() {
            let (mut memory, mut threads) = state.clone();
            threads[number].step(&mut memory);
            open.push((memory, threads));
        }
    }
    seen.len()
}

#[test]
fn no_granule_has_two_owners_and_no_summary_hides_free_memory_at_rest() {
    // Bits that no thread wants are taken, so that words fill.
    let cases = [
        ([0b00, FULL], vec![Thread::new(0, 2), Thread::new(1, 2)]),
        ([0b10, 0b10], vec![Thread::new(0, 2), Thread::new(2, 2)]),
        (
            [0b00, 0b10],
            vec![Thread::new(0, 1), Thread::new(1, 1), Thread::new(2, 1)],
        ),
        (
            [0b10, FULL],
            vec![Thread::new(0, 2), Thread::new(0, 2), Thread::new(0, 1)],
        ),
    ];
    for (used, threads) in cases {
        let states = explore(used, threads);
        assert!(states > 100, "only {states} states");
    }
}
