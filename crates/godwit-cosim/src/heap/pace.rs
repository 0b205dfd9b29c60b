// SPDX-License-Identifier: Apache-2.0
//! How much the commands leave the heap to take back, which takes it longer than to answer them; and what goes on while it takes back, clears,
//! or ends a context, and the ports are quiet: more commands, of which none leaves it much, or the wait would have no end. An allocation
//! that no access can have touched has neither frames nor tables.

use std::collections::HashSet;

use godwit::{heap_regs, layout};
use godwit_card::{CardError, Device};
use rand::Rng;
use rand::seq::IteratorRandom;

use super::change::GROWTH;
use super::model::{Allocation, Command, Given, Model, PAGE};
use super::{BESIDE, CONTEXTS, Found, HeapWorld, registers};
use crate::Random;

/// Cycles in which all that was freed is taken back and cleared.
pub const SETTLE_CYCLES: u64 = 5_000_000;
/// Cycles of a wait behind which nothing more is freed, and little is asked.
const FREES_CYCLES: u64 = 40_000;
/// Cycles from one free, or shrink, to the next, on average and while something waits for the end of all of them: half of the time is left for that.
const SPARE_CYCLES: u64 = 350;
/// Cycles from one that has tables of its own to the next under traffic: most of the time is left for others.
const NEXT_TABLES_CYCLES: u64 = 25_000;
/// How much earlier several of them may come.
const BURST_CYCLES: u64 = 600;
/// Cycles that it takes to take back what a free or a shrink left, about: of what nobody touched, and of what has frames, with tables of its
/// own or in a small slot; and a context's end beside those of what it had.
const UNTOUCHED_CYCLES: u64 = 150;
const TABLES_CYCLES: u64 = 4_000;
const SMALL_CYCLES: u64 = 500;
const END_CYCLES: u64 = 25_000;
/// What it may owe while the ports are busy: a batch's bound is between these.
const MOST_OWED: u64 = 40_000;
const LEAST_OWED: u64 = 800;
/// Cycles from one round to the next in a wait: behind them there is time for a free again.
const REST_CYCLES: u64 = 150;
/// Cycles from one look to the next where no context is left to ask in the name of.
const PAUSE_CYCLES: u64 = 100;

/// What commands may leave to take back.
#[derive(Default, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// As much as a batch's bound says.
    #[default]
    Traffic,
    /// Something waits until nothing is to be taken back: a context's end, an access for a frame, the host. Only what has no frames is freed, and
    /// half of the time is left for the rest.
    Waits,
}

/// What is left to take back, and what may be freed.
#[derive(Default)]
pub struct Pace {
    /// Cycles that it takes, about, from `at` on; commands free nothing while there are more than `most`.
    owed: u64,
    at: u64,
    most: u64,
    pub phase: Phase,
    /// From when on one more may be freed while something waits; and one more that has tables, while nothing does.
    next: u64,
    next_tables: u64,
    /// Allocations that somebody wrote to; while the ports are quiet these are all.
    touched: HashSet<u64>,
    /// Where writes go since the ports were quiet: to what is there when they arrive.
    writes: Vec<u64>,
    quiet: bool,
    /// Since when the host waits.
    since: u64,
}

impl Pace {
    /// The ports are busy from now on.
    pub fn traffic(&mut self, random: &mut Random) {
        if std::mem::take(&mut self.quiet) {
            self.writes.clear();
        }
        self.phase = Phase::Traffic;
        self.most = random.random_range(LEAST_OWED..=MOST_OWED);
    }

    /// One of these that may be freed.
    pub fn victim(&self, own: &[(u64, u64, u64)], random: &mut Random) -> Option<u64> {
        let all = own.iter().map(|of| of.0);
        all.filter(|at| self.may_leave(*at, BURST_CYCLES))
            .choose(random)
    }

    /// Those of live allocations that somebody wrote to, of one region or of all.
    pub fn with_frames(&self, model: &Model, region: Option<usize>) -> Vec<(usize, u64)> {
        let live = model.live.values();
        let here = live.filter(|of| region.is_none_or(|only| of.region == only));
        let touched = here.filter(|of| self.touched.contains(&of.pointer));
        touched.map(|of| (of.context, of.pointer)).collect()
    }

    /// Whether a command may leave something of an allocation to take back; while something waits so much earlier than there is time for it.
    fn may_leave(&self, pointer: u64, early: u64) -> bool {
        let cycles = self.cycles(pointer);
        if self.phase == Phase::Waits {
            let spare = !self.late() && self.next <= self.at + early;
            return spare && cycles == UNTOUCHED_CYCLES;
        }
        self.owed < self.most && (cycles < TABLES_CYCLES || self.next_tables <= self.at)
    }

    /// The host begins to wait.
    pub fn wait(&mut self, now: u64) {
        self.phase = Phase::Waits;
        self.since = now;
    }

    /// It waits for long by now, and there is no traffic.
    fn late(&self) -> bool {
        self.quiet && self.at.saturating_sub(self.since) > FREES_CYCLES
    }

    /// Cycles that it takes to take an allocation back, about.
    fn cycles(&self, pointer: u64) -> u64 {
        match self.touched.contains(&pointer) {
            false => UNTOUCHED_CYCLES,
            true if pointer >= layout::HEAP_WINDOW_SMALL => SMALL_CYCLES,
            true => TABLES_CYCLES,
        }
    }

    /// Somebody writes to an address.
    pub fn touches(&mut self, va: u64, model: &Model) {
        self.writes.push(va);
        self.touched.extend(model.allocation_at(va));
    }

    /// The ports are quiet from now on, until the next traffic.
    fn quiet(&mut self, model: &Model) {
        self.quiet = true;
        let found = self.writes.iter().filter_map(|va| model.allocation_at(*va));
        self.touched.extend(found);
        self.touched
            .retain(|pointer| model.live.contains_key(pointer));
    }

    /// What an allocation had is to be taken back.
    fn owes(&mut self, pointer: u64) {
        let cycles = self.cycles(pointer);
        self.owed += cycles;
        if self.phase != Phase::Traffic {
            self.next = self.next.max(self.at) + SPARE_CYCLES;
        } else if cycles == TABLES_CYCLES {
            self.next_tables = self.next_tables.max(self.at) + NEXT_TABLES_CYCLES;
        }
    }

    /// So are these, of a context that ends.
    pub fn owes_all(&mut self, pointers: impl Iterator<Item = u64>) {
        self.owed += END_CYCLES;
        self.owed += pointers.map(|pointer| self.cycles(pointer)).sum::<u64>();
    }
}

impl HeapWorld {
    /// A round of commands that leave little to take back.
    pub(super) fn beside(&mut self, random: &mut Random) -> Found {
        if self.over == CONTEXTS {
            self.card.run(PAUSE_CYCLES, 0)?;
            return Ok(Ok(()));
        }
        if !self.pace.quiet {
            self.pace.quiet(&self.model);
        }
        self.pass()?;
        self.card.run(REST_CYCLES, 0)?;
        if self.pace.late() && random.random_ratio(3, 4) {
            return Ok(Ok(()));
        }
        self.calls(random)
    }

    /// How much of what was owed is taken back by now, about.
    pub(super) fn pass(&mut self) -> Result<(), CardError> {
        let now = self.now()?;
        let pace = &mut self.pace;
        pace.owed = pace.owed.saturating_sub(now - pace.at);
        pace.at = now;
        Ok(())
    }

    /// Remembers what a command that was done left to take back, and what it gave.
    pub(super) fn keep_pace(&mut self, given: &Given) {
        let Ok(pointer) = given.answer else {
            return;
        };
        match given.command {
            Command::Malloc { .. } => {
                // A write that is still on its way to it is thought of when the ports are quiet.
                self.pace.touched.remove(&pointer);
            }
            Command::Realloc { bytes, .. } => {
                let shrinks = |of: &Allocation| bytes.div_ceil(PAGE) < of.pages;
                if self.model.live.get(&pointer).is_some_and(shrinks) {
                    self.pace.owes(pointer);
                }
            }
            Command::Free { .. } => self.pace.owes(pointer),
        }
    }

    /// A command, or one that leaves nothing to take back instead of one that leaves too much. Others resize what is `named`.
    pub(super) fn allowed(
        &self,
        context: usize,
        command: Command,
        named: &HashSet<u64>,
        random: &mut Random,
    ) -> Command {
        let (Command::Free { pointer } | Command::Realloc { pointer, .. }) = command else {
            return command;
        };
        let own = |of: &&Allocation| of.context == context;
        let Some(of) = self.model.live.get(&pointer).filter(own) else {
            return command;
        };
        let early = match command {
            Command::Realloc { bytes, .. } if bytes == 0 || bytes.div_ceil(PAGE) >= of.pages => {
                return command;
            }
            // Frees come first.
            Command::Realloc { .. } => 0,
            _ => BURST_CYCLES,
        };
        if self.pace.may_leave(pointer, early) {
            return command;
        }
        if named.contains(&pointer) {
            let pointer = pointer + PAGE;
            return Command::Free { pointer };
        }
        let pages = random.random_range(of.pages..=of.capacity.min(of.pages + GROWTH));
        let bytes = pages * PAGE;
        Command::Realloc { pointer, bytes }
    }

    /// Waits until what was freed, or cut off, is taken back.
    pub(super) fn settle(&mut self, random: &mut Random) -> Found {
        let since = self.now()?;
        self.pace.wait(since);
        loop {
            let status = registers::read(&mut self.card, heap_regs::STATUS)?;
            if status & heap_regs::STATUS_BROKEN_MASK != 0 {
                return Ok(Err(format!("the heap stopped: its status is {status:#x}")));
            }
            let now = self.now()?;
            if status & heap_regs::STATUS_RECLAIMING_MASK == 0 {
                self.model.settled(None, now);
                return Ok(Ok(()));
            }
            if now - since > SETTLE_CYCLES {
                return Ok(Err(format!(
                    "no end of reclaiming within {} cycles",
                    now - since
                )));
            }
            if let Err(what) = self.beside(random)? {
                return Ok(Err(what));
            }
        }
    }

    /// Waits for a context's end, for a while with commands beside it that free whatever they like.
    pub(super) fn see_end(&mut self, random: &mut Random) -> Found {
        let since = self.now()?;
        self.pace.since = since;
        let mut rounds = random.random_range(0..=BESIDE);
        loop {
            if let Err(what) = self.look_for_end()? {
                return Ok(Err(what));
            }
            if self.ending.is_none() {
                return Ok(Ok(()));
            }
            if self.now()? - since > SETTLE_CYCLES {
                return Ok(Err(format!(
                    "{:?}: no end of a context within {SETTLE_CYCLES} cycles",
                    self.ending
                )));
            }
            let done = match rounds.checked_sub(1) {
                Some(left) => {
                    rounds = left;
                    self.calls(random)?
                }
                None => {
                    self.pace.phase = Phase::Waits;
                    self.beside(random)?
                }
            };
            if done.is_err() {
                return Ok(done);
            }
        }
    }

    /// Now and then: whether all that was freed is taken back, so that all slots but those of live allocations are free.
    pub(super) fn look_for_slots(&mut self, random: &mut Random) -> Result<(), CardError> {
        let waits = self.pace.owed >= self.pace.most / 2;
        if self.ending.is_none() && random.random_ratio(1, if waits { 4 } else { 16 }) {
            let status = registers::read(&mut self.card, heap_regs::STATUS)?;
            if status & heap_regs::STATUS_RECLAIMING_MASK == 0 {
                self.model.leaving = [0; 2];
                self.pace.owed = 0;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LARGE: u64 = layout::HEAP_WINDOW_FIRST;
    const SMALL: u64 = layout::HEAP_WINDOW_SMALL;

    fn touched(phase: Phase) -> Pace {
        Pace {
            most: MOST_OWED,
            phase,
            touched: HashSet::from([LARGE, SMALL]),
            ..Pace::default()
        }
    }

    #[test]
    fn while_something_waits_only_what_nobody_touched_is_freed_and_with_time_between() {
        let mut pace = touched(Phase::Waits);
        assert!(!pace.may_leave(LARGE, BURST_CYCLES) && !pace.may_leave(SMALL, BURST_CYCLES));
        let other = SMALL + PAGE;
        let mut freed = 0;
        while pace.may_leave(other, BURST_CYCLES) {
            pace.owes(other);
            freed += 1;
        }
        assert_eq!(freed, 1 + BURST_CYCLES / SPARE_CYCLES);
        assert!(!pace.may_leave(other, 0));
        pace.at = freed * SPARE_CYCLES;
        assert!(pace.may_leave(other, 0));
    }

    #[test]
    fn under_traffic_what_has_tables_of_its_own_leaves_most_of_the_time_to_others() {
        let mut pace = touched(Phase::Traffic);
        assert!(pace.may_leave(LARGE, 0));
        pace.owes(LARGE);
        assert!(!pace.may_leave(LARGE, 0) && pace.may_leave(SMALL, 0));
        pace.at = NEXT_TABLES_CYCLES;
        assert!(pace.may_leave(LARGE, 0));
        while pace.may_leave(SMALL, 0) {
            pace.owes(SMALL);
        }
        assert!((MOST_OWED..MOST_OWED + SMALL_CYCLES).contains(&pace.owed));
    }
}
