// SPDX-License-Identifier: Apache-2.0
//! Pages that the host brings when they are asked for: records of page requests, answered late and in any order.

use godwit::command::Command;
use godwit::{layout, regs};
use godwit_card::{CardError, Device};
use godwit_core::{Invalidation, PageSize, Perm};
use rand::Rng;
use rand::seq::SliceRandom;

use super::model::PAGE;
use super::tables::{Walk, walk};
use super::{CONTEXTS, Found, HeapWorld};
use crate::frames::TABLE_REGION;
use crate::{CosimError, Random};

/// Where they are in each context, and how many; those behind them are asked for and refused.
pub const BASE: u64 = 0x12_3456_0000;
const PAGES: u64 = 48;
pub const REFUSED: u64 = 4;
/// Their frames, by context; the rings of commands and of page requests.
const FRAMES: u64 = TABLE_REGION + (32 << 20);
const COMMANDS: u64 = TABLE_REGION + (30 << 20);
const RECORDS: u64 = TABLE_REGION + (31 << 20);
const COMMAND_COUNT: u64 = PAGE / Command::BYTES;
const RECORD_BYTES: u64 = layout::PAGE_QUEUE_BYTES as u64;
const RECORD_COUNT: u64 = PAGE / RECORD_BYTES;

/// Heads and tails of the rings.
#[derive(Default)]
pub struct Rings {
    command_tail: u64,
    /// Commands since the queue was seen empty.
    commands: u64,
    record_head: u64,
    /// Records that are not answered yet.
    waiting: Vec<(u64, u64)>,
}

impl Rings {
    /// Page requests that were read and not answered.
    pub fn unanswered(&self) -> usize {
        self.waiting.len()
    }
}

impl HeapWorld {
    /// Turns both queues on.
    pub(super) fn turn_queues_on(&mut self) -> Result<(), CardError> {
        let base = |at: u64, count: u64| ((at / PAGE) << 10) | u64::from(count.ilog2() - 1);
        let commands = base(COMMANDS, COMMAND_COUNT);
        let records = base(RECORDS, RECORD_COUNT);
        for (register, value) in [
            (regs::CQB, commands as u32),
            (regs::CQB + 4, (commands >> 32) as u32),
            (regs::CQCSR, regs::CQCSR_CQEN_MASK),
            (regs::PAGE_QUEUE_PQB, records as u32),
            (regs::PAGE_QUEUE_PQB + 4, (records >> 32) as u32),
            (regs::PAGE_QUEUE_PQCSR, regs::PAGE_QUEUE_PQCSR_PQEN_MASK),
        ] {
            self.card.reg_write(register, value)?;
        }
        while self.card.reg_read(regs::CQCSR)? & regs::CQCSR_CQON_MASK == 0 {}
        let busy = regs::PAGE_QUEUE_PQCSR_BUSY_MASK;
        while self.card.reg_read(regs::PAGE_QUEUE_PQCSR)? & busy != 0 {}
        Ok(())
    }

    /// A page to go to, one that is refused now and then.
    pub(super) fn host_page(random: &mut Random) -> u64 {
        BASE + random.random_range(0..PAGES + REFUSED) * PAGE
    }

    pub(super) fn host_begins(&mut self, context: usize, times: (u64, u64)) {
        self.model.host_begins(context, BASE, PAGES, times);
    }

    pub(super) fn host_ends(&mut self, context: usize, times: (u64, u64)) {
        self.model.host_ends(context, BASE, times);
    }

    fn put(&mut self, command: Command) -> Result<(), CardError> {
        let rings = &mut self.rings;
        let at = COMMANDS + rings.command_tail * Command::BYTES;
        rings.command_tail = (rings.command_tail + 1) % COMMAND_COUNT;
        rings.commands += 1;
        let (tail, full) = (rings.command_tail, rings.commands >= COMMAND_COUNT / 2);
        self.memory.write(at, &command.to_le_bytes())?;
        self.card.reg_write(regs::CQT, tail as u32)?;
        if full {
            while u64::from(self.card.reg_read(regs::CQH)?) != tail {}
            self.rings.commands = 0;
        }
        Ok(())
    }

    /// Takes the records that there are, and answers those that wait: most of them, in any order.
    pub(super) fn bring(&mut self, most: bool, random: &mut Random) -> Found {
        let tail = u64::from(self.card.reg_read(regs::PAGE_QUEUE_PQT)?) % RECORD_COUNT;
        let some = self.rings.record_head != tail;
        while self.rings.record_head != tail {
            let at = RECORDS + self.rings.record_head * RECORD_BYTES;
            let record = (self.memory.read_u64(at)?, self.memory.read_u64(at + 8)?);
            self.rings.waiting.push(record);
            self.rings.record_head = (self.rings.record_head + 1) % RECORD_COUNT;
        }
        if some {
            self.card.reg_write(regs::PAGE_QUEUE_PQH, tail as u32)?;
        }
        self.rings.waiting.shuffle(random);
        let all = self.rings.waiting.len();
        let now = if most {
            all
        } else {
            random.random_range(0..=all)
        };
        for (who, page) in self.rings.waiting.split_off(all - now) {
            if let Err(what) = self.answer(who, page)? {
                return Ok(Err(what));
            }
        }
        Ok(Ok(()))
    }

    fn answer(&mut self, who: u64, page: u64) -> Found {
        let context =
            ((who & layout::PAGE_REQUEST_PID_MASK) >> layout::PAGE_REQUEST_PID_SHIFT) as usize;
        let va = page & layout::PAGE_REQUEST_PAYLOAD_PAGE_MASK;
        let group =
            layout::PAGE_REQUEST_PAYLOAD_PLACE_MASK | layout::PAGE_REQUEST_PAYLOAD_GENERATION_MASK;
        let group = ((page & group) >> layout::PAGE_REQUEST_PAYLOAD_PLACE_SHIFT) as u32;
        if context >= CONTEXTS || !(BASE..BASE + (PAGES + REFUSED) * PAGE).contains(&va) {
            return Ok(Err(format!(
                "page {va:#x} of context {context} was asked for, which nobody uses"
            )));
        }
        self.counts.requests += 1;
        let code = if va < BASE + PAGES * PAGE {
            if let Walk::Missing { .. } = walk(&self.memory, self.root(context), va)? {
                let frame = frame(context, va);
                self.tables[context].map(va, frame, PAGE, Perm::ReadWrite, PageSize::SIZE_4K)?;
            }
            layout::PAGE_RESPONSE_SUCCESS
        } else {
            layout::PAGE_RESPONSE_INVALID
        };
        self.put(Command::respond(context as u32, group, code.into()))?;
        Ok(Ok(()))
    }

    /// Takes most of the pages away again, when nothing is under way.
    pub(super) fn take_home(&mut self, random: &mut Random) -> Result<(), CosimError> {
        for context in 0..CONTEXTS {
            let mut dropped = Invalidation::default();
            for va in (0..PAGES).map(|page| BASE + page * PAGE) {
                if random.random_bool(0.8)
                    && let Walk::Frame(_) = walk(&self.memory, self.root(context), va)?
                {
                    self.tables[context].unmap(va, PAGE, &mut dropped)?;
                }
            }
        }
        crate::registers::invalidate_all(&mut self.card)?;
        for table in &mut self.tables {
            table.reclaim();
        }
        Ok(())
    }

    /// Whether their frames hold what was written.
    pub(super) fn compare_host(&self) -> Found {
        let mut found = [0; 64];
        for (context, va, lines) in self.model.host_written() {
            let at = frame(context, va) + va % PAGE;
            self.memory.read(at, &mut found)?;
            if !lines.contains(&found) {
                return Ok(Err(format!(
                    "{va:#x} of context {context}, which the host brought, is not what was written"
                )));
            }
        }
        Ok(Ok(()))
    }
}

fn frame(context: usize, va: u64) -> u64 {
    FRAMES + (context as u64 * PAGES + (va - BASE) / PAGE) * PAGE
}
