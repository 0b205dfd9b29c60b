// SPDX-License-Identifier: Apache-2.0
//! Random sequences of calls against a plain model: a map of 4 KiB pages.
//!
//! GODWIT_SEED repeats a run, GODWIT_CASES sets how many sequences there are.

#![allow(clippy::unwrap_used)] // a panic is how a test fails

#[path = "../common/mod.rs"]
mod common;
mod ops;

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::time::{SystemTime, UNIX_EPOCH};

use common::{Frame, PAGE, TestMemory, translate, word};
use godwit_core::walker::{self, Access};
use godwit_core::{ErrorKind, Invalidation, Mode, Napot, PageSize, PageTable, Perm, layout};
use ops::{Op, op};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

/// Virtual page number (of the 64-bit address) to physical page and permission.
type Model = BTreeMap<u64, (u64, Perm)>;

/// Most random ranges are half mapped: take from each what makes the call succeed, three times out of four.
fn clip(model: &Model, va: u64, size: u64, mapped: bool, keep: bool) -> (u64, u64) {
    let first = va / PAGE;
    let pages = size / PAGE;
    let fits = |vpn: &u64| model.contains_key(vpn) == mapped;
    if keep {
        return (va, size);
    }
    let Some(start) = (first..first + pages).find(fits) else {
        return (va, size);
    };
    let end = (start..first + pages)
        .find(|vpn| !fits(vpn))
        .unwrap_or(first + pages);
    (start * PAGE, (end - start) * PAGE)
}

struct Bench {
    table: PageTable<TestMemory>,
    model: Model,
    dice: u64,
}

impl Bench {
    fn roll(&mut self, n: u64) -> u64 {
        // xorshift64*: only chooses what to look at.
        self.dice ^= self.dice >> 12;
        self.dice ^= self.dice << 25;
        self.dice ^= self.dice >> 27;
        self.dice.wrapping_mul(0x2545_f491_4f6c_dd1d) % n
    }

    fn step(&mut self, op: &Op) {
        let keep = self.roll(4) == 0;
        match *op {
            Op::Map {
                va,
                pa,
                size,
                perm,
                max_page,
            } => {
                let (start, len) = clip(&self.model, va, size, false, keep);
                let pa = pa + start.wrapping_sub(va);
                let blocked = pages(start, len).find(|vpn| self.model.contains_key(vpn));
                let expected = blocked.map(|vpn| (ErrorKind::AlreadyMapped, vpn));
                let mut after = self.model.clone();
                let delta = (pa / PAGE).wrapping_sub(start / PAGE);
                after.extend(pages(start, len).map(|vpn| (vpn, (vpn.wrapping_add(delta), perm))));
                let call = |t: &mut PageTable<TestMemory>, _: &mut Invalidation| {
                    t.map(start, pa, len, perm, max_page)
                };
                if self.run(start, len, after, expected, call) {
                    self.assert_page_choice(start, pa, len, max_page);
                }
            }
            Op::Unmap { va, size } => {
                let (start, len) = clip(&self.model, va, size, true, keep);
                let expected = self.first_unmapped(start, len);
                let mut after = self.model.clone();
                after.retain(|vpn, _| !pages(start, len).contains(vpn));
                self.run(start, len, after, expected, |t, inval| {
                    t.unmap(start, len, inval)
                });
            }
            Op::Protect { va, size, perm } => {
                let (start, len) = clip(&self.model, va, size, true, keep);
                let expected = self.first_unmapped(start, len);
                let mut after = self.model.clone();
                after
                    .range_mut(pages(start, len))
                    .for_each(|(_, page)| page.1 = perm);
                self.run(start, len, after, expected, |t, inval| {
                    t.protect(start, len, perm, inval)
                });
            }
            Op::Join { va, size } => self.join(va, size),
            Op::Reclaim => {
                let waiting = self.table.unlinked_tables();
                assert_eq!(self.table.reclaim(), waiting);
                assert_eq!(self.table.unlinked_tables(), 0);
            }
        }
        self.assert_structure();
    }

    /// Half of the time pages are first mapped that can be one; as a caller does, what was unlinked goes before and after.
    fn join(&mut self, va: u64, size: PageSize) {
        if self.roll(2) == 0 {
            let empty = !pages(va, size.bytes()).any(|vpn| self.model.contains_key(&vpn));
            let half = size.bytes() / 2;
            for part in [va, va + half].into_iter().filter(|_| empty) {
                self.step(&Op::Map {
                    va: part,
                    pa: (1 << 40) + (part - va),
                    size: half,
                    perm: Perm::ReadWrite,
                    max_page: PageSize::SIZE_64K,
                });
            }
        }
        self.table.reclaim();
        let all: Vec<_> = pages(va, size.bytes())
            .map(|vpn| self.model.get(&vpn).copied())
            .collect();
        let apart = |i: usize, (ppn, perm): (u64, Perm)| match all[0] {
            Some(first) => (ppn, perm) != (first.0 + i as u64, first.1),
            None => true,
        };
        let wrong = all.iter().enumerate().find_map(|(i, page)| match *page {
            None => Some((ErrorKind::NotMapped, i)),
            Some(page) if apart(i, page) => Some((ErrorKind::Apart, i)),
            Some(_) => None,
        });
        let misplaced = all[0].is_some_and(|(ppn, _)| ppn * PAGE % size.bytes() != 0);
        let expected = wrong
            .or(misplaced.then_some((ErrorKind::Apart, 0)))
            .map(|(kind, i)| (kind, va / PAGE + i as u64));
        let call =
            |t: &mut PageTable<TestMemory>, inval: &mut Invalidation| t.join(va, size, inval);
        if self.run(va, size.bytes(), self.model.clone(), expected, call) {
            assert!(self.table.lookup(va).unwrap().size >= size);
        }
        self.assert_structure();
        self.table.reclaim();
    }

    fn first_unmapped(&self, va: u64, size: u64) -> Option<(ErrorKind, u64)> {
        let hole = pages(va, size).find(|vpn| !self.model.contains_key(vpn));
        hole.map(|vpn| (ErrorKind::NotMapped, vpn))
    }

    /// Makes one call; returns whether it was to succeed. `after` is the model that success leads to.
    fn run(
        &mut self,
        va: u64,
        size: u64,
        after: Model,
        expected: Option<(ErrorKind, u64)>,
        call: impl Fn(&mut PageTable<TestMemory>, &mut Invalidation) -> Result<(), godwit_core::Error>,
    ) -> bool {
        let before = self.table.memory().frames.clone();
        let unlinked = self.table.unlinked_tables();
        let mut inval = Invalidation::with_capacity(1 + self.roll(4) as usize);

        // Every allocation fails once: nothing may change. The first budget that suffices makes the call.
        for budget in 0.. {
            self.table.memory_mut().budget = budget;
            self.table.memory_mut().log = Some(Vec::new());
            let result = call(&mut self.table, &mut inval);
            if result.is_ok() {
                assert_eq!(expected, None);
                break;
            }
            let err = result.unwrap_err();
            assert_eq!(
                self.table.memory().frames,
                before,
                "a failed call changed memory: {err}"
            );
            assert_eq!(self.table.unlinked_tables(), unlinked);
            assert!(inval.ranges().is_empty() && inval.tables() == 0 && !inval.is_needed());
            if err.kind() != ErrorKind::OutOfFrames {
                let at = err.at().map(|va| va / PAGE);
                assert_eq!(Some((err.kind(), at.unwrap_or(0))), expected);
                return false;
            }
            assert_eq!(
                expected, None,
                "frames were taken for a call that cannot succeed"
            );
        }
        let log = self.table.memory_mut().log.take().unwrap();
        let old = std::mem::replace(&mut self.model, after);
        assert_complete_before_linked(&before, &log);

        assert_eq!(inval.tables(), self.table.unlinked_tables() - unlinked);
        let mut narrowed = false;
        for vpn in pages(va, size) {
            let (was, is) = (old.get(&vpn), self.model.get(&vpn));
            let lost = was.is_some_and(|was| {
                is.is_none_or(|is| was.1 == Perm::ReadWrite && is.1 == Perm::Read)
            });
            narrowed |= lost;
            if was.is_some() && was != is {
                let covered = inval
                    .ranges()
                    .iter()
                    .any(|range| range.contains(vpn * PAGE));
                assert!(covered, "{:#x} is not in {:x?}", vpn * PAGE, inval.ranges());
            }
        }
        assert_eq!(inval.is_needed(), narrowed || inval.tables() > 0);
        self.assert_concurrent_walks(before, &log, &old, va, size);
        true
    }

    /// Replays the writes one by one: after each, and when it comes between the reads of a walk, a walker sees each page
    /// as it was before the call or as it is after it. This holds for every page that a found leaf covers.
    fn assert_concurrent_walks(
        &mut self,
        before: Vec<Option<Frame>>,
        log: &[(u64, u64)],
        old: &Model,
        va: u64,
        size: u64,
    ) {
        let mut history: BTreeMap<u64, Vec<(usize, u64)>> = BTreeMap::new();
        for (time, &(pa, value)) in log.iter().enumerate() {
            history.entry(pa).or_default().push((time + 1, value));
        }
        // A new frame is only reachable once it is linked, and starts as zero.
        let read_at = |pa: u64, time: usize| {
            let writes = history.get(&pa).map_or(&[][..], Vec::as_slice);
            let last = writes.partition_point(|&(at, _)| at <= time);
            if last == 0 {
                word(&before, pa)
            } else {
                writes[last - 1].1
            }
        };
        let (mode, root) = (self.table.mode(), self.table.root());
        let last = va.wrapping_add(size - PAGE);
        for round in 0..200 {
            let probe = match self.roll(6) {
                0 => va,
                1 => last,
                2 => canonical(mode, va.wrapping_sub(PAGE)),
                3 => canonical(mode, last.wrapping_add(PAGE)),
                _ => va + self.roll(size / PAGE) * PAGE,
            };
            let start = if round == 0 {
                0
            } else {
                self.roll(log.len() as u64 + 1) as usize
            };
            let mut time = start;
            let mut steps = Vec::new();
            for _ in 0..5 {
                steps.push(time);
                let left = (log.len() - time) as u64;
                time += if self.roll(2) == 0 {
                    0
                } else {
                    self.roll(left + 1) as usize
                };
            }
            let mut step = 0;
            let read = |pa| {
                step += 1;
                read_at(pa, steps[step - 1])
            };
            match walker::translate(self.table.napot(), read, mode, root, probe, Access::Load) {
                Err(_) => {
                    let vpn = probe / PAGE;
                    assert!(
                        !(old.contains_key(&vpn) && self.model.contains_key(&vpn)),
                        "{probe:#x} was lost"
                    );
                }
                Ok(found) => {
                    let first = probe & !(found.size.bytes() - 1);
                    let end = first + (found.size.bytes() - PAGE);
                    let any = first + self.roll(found.size.bytes() / PAGE) * PAGE;
                    for page in [probe, first, end, any] {
                        let ppn = found.pa.wrapping_sub(probe).wrapping_add(page) / PAGE;
                        let perm = if found.writable {
                            Perm::ReadWrite
                        } else {
                            Perm::Read
                        };
                        let seen = Some(&(ppn, perm));
                        let vpn = page / PAGE;
                        assert!(
                            seen == old.get(&vpn) || seen == self.model.get(&vpn),
                            "{page:#x} is seen as {seen:x?}, neither {:x?} nor {:x?}",
                            old.get(&vpn),
                            self.model.get(&vpn)
                        );
                    }
                }
            }
        }
    }

    /// The rule for page sizes, in the words of the contract: at each address the largest that fits.
    fn assert_page_choice(&self, va: u64, pa: u64, size: u64, max_page: PageSize) {
        let mut at = 0;
        while at < size {
            let fits = |page: &PageSize| {
                *page <= max_page
                    && (va.wrapping_add(at) | (pa + at)) % page.bytes() == 0
                    && size - at >= page.bytes()
            };
            let best = self.table.napot().sizes().rev().find(fits).unwrap();
            let found = self.table.lookup(va.wrapping_add(at)).unwrap();
            assert_eq!((found.va, found.size), (va.wrapping_add(at), best));
            at += best.bytes();
        }
    }

    /// Structure, accounting, and every page of the model; the walk finds nothing else.
    fn assert_structure(&mut self) {
        let table = &self.table;
        let stats = table.check().unwrap();
        let linked_and_unlinked = stats.tables + table.unlinked_tables();
        assert_eq!(table.memory().live() as u64, linked_and_unlinked);
        assert_eq!(table.table_bytes(), linked_and_unlinked * PAGE);

        let mut walked = Model::new();
        let mut last = None;
        table
            .walk(0, u64::MAX, |page| {
                assert!(last < Some(page.va), "pages come in rising order");
                last = Some(page.va);
                for offset in 0..page.size.bytes() / PAGE {
                    walked.insert(
                        page.va / PAGE + offset,
                        (page.pa / PAGE + offset, page.perm),
                    );
                }
                true
            })
            .unwrap();
        assert!(walked == self.model, "walk and model differ");
        let mapped: Vec<u64> = self.model.keys().copied().collect();
        for _ in 0..64.min(mapped.len()) {
            let vpn = mapped[self.roll(mapped.len() as u64) as usize];
            for vpn in [vpn.wrapping_sub(1), vpn, vpn + 1] {
                let va = canonical(self.table.mode(), vpn.wrapping_mul(PAGE));
                let expected = self
                    .model
                    .get(&(va / PAGE))
                    .map(|&(ppn, perm)| (ppn * PAGE, perm));
                assert_eq!(translate(&self.table, va), expected);
            }
        }
        self.table.memory().assert_clean();
    }

    /// Unmaps run by run until nothing is left; then only the root is.
    fn tear_down(mut self) {
        while let Some((&vpn, _)) = self.model.first_key_value() {
            let pages = (vpn..)
                .take_while(|vpn| self.model.contains_key(vpn))
                .count() as u64;
            let pages = 1 + self.roll(pages);
            self.step(&Op::Unmap {
                va: vpn * PAGE,
                size: pages * PAGE,
            });
        }
        self.table.reclaim();
        assert_eq!(self.table.memory().live(), 1);
        let memory = self.table.into_memory();
        memory.assert_clean();
        assert_eq!(memory.live(), 0);
    }
}

/// A frame that was not in use before the call is written to before it is linked, and never after.
fn assert_complete_before_linked(before: &[Option<Frame>], log: &[(u64, u64)]) {
    let used = |frame: u64| matches!(before.get(frame as usize), Some(Some(_)));
    let mut linked = BTreeSet::new();
    for &(pa, value) in log {
        assert!(
            !linked.contains(&(pa / PAGE)),
            "table {:#x} was written after it was linked",
            pa & !(PAGE - 1)
        );
        let is_link = value & (layout::PTE_V | layout::PTE_R) == layout::PTE_V;
        let frame = (value & layout::PTE_PPN_MASK) >> layout::PTE_PPN_SHIFT;
        if is_link && !used(frame) {
            linked.insert(frame);
        }
    }
}

fn pages(va: u64, size: u64) -> std::ops::Range<u64> {
    va / PAGE..va / PAGE + size / PAGE
}

/// Wraps an address that left the address space at an end to the other end.
fn canonical(mode: Mode, va: u64) -> u64 {
    let unused = 64 - mode.va_bits();
    ((va << unused) as i64 >> unused) as u64
}

fn seed() -> u64 {
    match env::var("GODWIT_SEED") {
        Ok(text) => text.parse().expect("GODWIT_SEED is a number"),
        Err(_) => {
            SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .unwrap()
                .as_nanos() as u64
                % 1_000_000_007
        }
    }
}

fn random_sequences(mode: Mode) {
    let cases =
        env::var("GODWIT_CASES").map_or(24, |text| text.parse().expect("GODWIT_CASES is a number"));
    let seed = seed();
    println!("GODWIT_SEED={seed} GODWIT_CASES={cases} repeats this run");
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let config = Config {
        cases,
        failure_persistence: None,
        max_shrink_iters: 400,
        ..Config::default()
    };
    let mut runner =
        TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes));
    let sequences = (proptest::collection::vec(op(mode), 1..40), 1..u64::MAX);
    let result = runner.run(&sequences, |(ops, dice)| {
        let napot = if dice % 2 == 0 {
            Napot::Svnapot
        } else {
            Napot::Any
        };
        let table = PageTable::with_pages(TestMemory::new(), mode, napot).unwrap();
        let mut bench = Bench {
            table,
            model: Model::new(),
            dice,
        };
        ops.iter().for_each(|op| bench.step(op));
        bench.tear_down();
        Ok(())
    });
    if let Err(failure) = result {
        panic!("GODWIT_SEED={seed} GODWIT_CASES={cases} repeats this failure\n{failure}");
    }
}

#[test]
fn sv39_agrees_with_a_plain_model() {
    random_sequences(Mode::Sv39);
}

#[test]
fn sv48_agrees_with_a_plain_model() {
    random_sequences(Mode::Sv48);
}

#[test]
fn sv57_agrees_with_a_plain_model() {
    random_sequences(Mode::Sv57);
}
