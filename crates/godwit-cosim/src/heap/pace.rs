// SPDX-License-Identifier: Apache-2.0
//! How much the commands leave the heap to take back, which takes it longer than to answer them; and what goes on while it takes back, clears,
//! or ends a context, and the ports are quiet: more commands, of which none leaves it much, or the wait would have no end. An allocation
//! that no access can have touched has neither frames nor tables.

use std::collections::HashSet;

use godwit::{heap_regs, layout};
use godwit_card::{CardError, Device};
use rand::Rng;

use super::change::GROWTH;
use super::model::{Allocation, Command, Given, Model, PAGE};
use super::{BESIDE, CONTEXTS, Found, HeapWorld, registers};
use crate::Random;

/// Cycles in which all that was freed is taken back and cleared.
pub const SETTLE_CYCLES: u64 = 5_000_000;
/// Cycles of a wait behind which nothing more is freed.
const FREES_CYCLES: u64 = 1_000_000;
/// Cycles that it takes to take back what a free or a shrink left, about: of what nobody touched, and of what has frames, with tables of its
/// own or in a small slot; and a context's end beside those of what it had.
const UNTOUCHED_CYCLES: u64 = 70;
const TABLES_CYCLES: u64 = 4_000;
const SMALL_CYCLES: u64 = 200;
const END_CYCLES: u64 = 25_000;
/// What it may owe while the ports are busy, at most, and while they are quiet.
const MOST_OWED: u64 = 60_000;
const QUIET_OWED: u64 = 800;
/// Cycles from one look to the next where no context is left to ask in the name of.
const PAUSE_CYCLES: u64 = 100;

/// What is left to take back, and what may be freed.
#[derive(Default)]
pub struct Pace {
    /// Cycles that it takes, about, from `at` on; commands free nothing while there are more than `most`.
    owed: u64,
    at: u64,
    most: u64,
    /// A context ends, which waits until nothing else is to be taken back: nothing more is freed beside it.
    pub held: bool,
    /// Allocations that somebody wrote to; while the ports are quiet these are all.
    touched: HashSet<u64>,
    /// Where writes go since the ports were quiet: to what is there when they arrive.
    writes: Vec<u64>,
    /// Since when the ports are quiet.
    quiet: Option<u64>,
}

impl Pace {
    /// The ports are busy from now on.
    pub fn traffic(&mut self, random: &mut Random) {
        if self.quiet.take().is_some() {
            self.writes.clear();
        }
        self.held = false;
        self.most = random.random_range(QUIET_OWED..=MOST_OWED);
    }

    /// Nothing more is freed at random: whoever waits for a frame gets one when all is taken back, or there is none.
    pub fn hold(&mut self) {
        self.most = 0;
    }

    /// Whether a command may leave something to take back.
    fn may_leave(&self, pointer: u64) -> bool {
        let touched = self.touched.contains(&pointer);
        let Some(since) = self.quiet else {
            let share = 1 + u64::from(touched);
            return !self.held && self.owed * share < self.most;
        };
        let early = self.at - since < FREES_CYCLES;
        early && self.owed < QUIET_OWED && !touched
    }

    /// Somebody writes to an address.
    pub fn touches(&mut self, va: u64, model: &Model) {
        self.writes.push(va);
        self.touched.extend(model.allocation_at(va));
    }

    /// The ports are quiet from now on, until the next traffic.
    fn quiet(&mut self, now: u64, model: &Model) {
        self.quiet = Some(now);
        let found = self.writes.iter().filter_map(|va| model.allocation_at(*va));
        self.touched.extend(found);
        self.touched
            .retain(|pointer| model.live.contains_key(pointer));
    }

    /// What an allocation had is to be taken back.
    fn owes(&mut self, pointer: u64) {
        self.owed += match self.touched.contains(&pointer) {
            false => UNTOUCHED_CYCLES,
            true if pointer >= layout::HEAP_WINDOW_SMALL => SMALL_CYCLES,
            true => TABLES_CYCLES,
        };
    }

    /// So are these, of a context that ends.
    pub fn owes_all(&mut self, pointers: impl Iterator<Item = u64>) {
        self.owed += END_CYCLES;
        pointers.for_each(|pointer| self.owes(pointer));
    }
}

impl HeapWorld {
    /// A round of commands that leave little to take back.
    pub(super) fn beside(&mut self, random: &mut Random) -> Found {
        if self.over == CONTEXTS {
            self.card.run(PAUSE_CYCLES, 0)?;
            return Ok(Ok(()));
        }
        let now = self.now()?;
        if self.pace.quiet.is_none() {
            self.pace.quiet(now, &self.model);
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
                // Under traffic a write may still be on its way to whatever is there.
                if self.pace.quiet.is_some() {
                    self.pace.touched.remove(&pointer);
                }
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
        if let Command::Realloc { bytes, .. } = command
            && (bytes == 0 || bytes.div_ceil(PAGE) >= of.pages)
        {
            return command;
        }
        if self.pace.may_leave(pointer) {
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
        self.pace.traffic(random);
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
                None => self.beside(random)?,
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
