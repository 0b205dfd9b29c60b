// SPDX-License-Identifier: Apache-2.0
//! The command queue.

use godwit::command::Command;
use godwit::regs;
use godwit_card::{CardError, Device};

use super::{Live, PAGE};
use crate::CosimError;
use crate::frames::TABLE_REGION;

/// The ring, behind the tables.
const RING: u64 = TABLE_REGION;
const RING_COMMANDS: u64 = PAGE / Command::BYTES;
/// Commands that may wait for their fence: those of one operation more always fit into the ring.
pub(super) const MAX_WAITING: u64 = RING_COMMANDS - 2 * 66;

impl Live {
    pub(super) fn turn_queue_on(&mut self) -> Result<(), CardError> {
        let frame = RING / PAGE;
        let base = frame << regs::CQB_PPN_LO_SHIFT | u64::from(RING_COMMANDS.ilog2() - 1);
        self.card.reg_write(regs::CQB, base as u32)?;
        self.card.reg_write(regs::CQB + 4, (base >> 32) as u32)?;
        self.card.reg_write(regs::CQCSR, regs::CQCSR_CQEN_MASK)?;
        while self.card.reg_read(regs::CQCSR)? & regs::CQCSR_CQON_MASK == 0 {}
        Ok(())
    }

    /// Hands commands to the queue.
    pub(super) fn put(&mut self, commands: &[Command]) -> Result<(), CardError> {
        for command in commands {
            self.memory
                .write(RING + self.tail * Command::BYTES, &command.to_le_bytes())?;
            self.tail = (self.tail + 1) % RING_COMMANDS;
        }
        self.waiting += commands.len() as u64;
        self.card.reg_write(regs::CQT, self.tail as u32)
    }

    /// A fence behind all commands so far; waits for it. What they drop is over.
    pub(super) fn fence(&mut self) -> Result<Result<(), String>, CosimError> {
        if self.waiting == 0 {
            return Ok(Ok(()));
        }
        self.put(&[Command::fence()])?;
        loop {
            let status = self.card.reg_read(regs::CQCSR)?;
            let errors = regs::CQCSR_CQMF_MASK | regs::CQCSR_CMD_TO_MASK | regs::CQCSR_CMD_ILL_MASK;
            if status & errors != 0 {
                return Ok(Err(format!(
                    "the command queue stands: cqcsr is {status:#x}"
                )));
            }
            if status & regs::CQCSR_FENCE_W_IP_MASK != 0 {
                break;
            }
        }
        let now = self.card.stats()?.cycles;
        self.card.reg_write(
            regs::CQCSR,
            regs::CQCSR_CQEN_MASK | regs::CQCSR_FENCE_W_IP_MASK,
        )?;
        self.over(now);
        for space in &mut self.spaces {
            space.table.reclaim();
        }
        self.waiting = 0;
        self.counts.1 += 1;
        Ok(Ok(()))
    }
}
