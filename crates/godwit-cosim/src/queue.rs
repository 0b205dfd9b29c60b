// SPDX-License-Identifier: Apache-2.0
//! The command queue, its ring behind the tables.

use godwit::command::Command;
use godwit::regs;
use godwit_card::{CardError, Device, SimCard};

use crate::frames::TABLE_REGION;

const PAGE: u64 = 4096;
const RING: u64 = TABLE_REGION;
const RING_COMMANDS: u64 = PAGE / Command::BYTES;
/// Commands that may wait for their fence: those of one operation more always fit into the ring.
pub const MAX_WAITING: u64 = RING_COMMANDS - 2 * 66;
const ERRORS: u32 = regs::CQCSR_CQMF_MASK | regs::CQCSR_CMD_TO_MASK | regs::CQCSR_CMD_ILL_MASK;

/// The host's side of the queue.
pub struct Queue {
    tail: u64,
    /// Commands without a fence behind them.
    waiting: u64,
}

impl Queue {
    /// Turns the card's queue on.
    pub fn new(card: &mut SimCard) -> Result<Self, CardError> {
        let frame = RING / PAGE;
        let base = frame << regs::CQB_PPN_LO_SHIFT | u64::from(RING_COMMANDS.ilog2() - 1);
        card.reg_write(regs::CQB, base as u32)?;
        card.reg_write(regs::CQB + 4, (base >> 32) as u32)?;
        card.reg_write(regs::CQCSR, regs::CQCSR_CQEN_MASK)?;
        while card.reg_read(regs::CQCSR)? & regs::CQCSR_CQON_MASK == 0 {}
        Ok(Self {
            tail: 0,
            waiting: 0,
        })
    }

    /// Commands without a fence behind them.
    pub fn waiting(&self) -> u64 {
        self.waiting
    }

    /// Hands commands to the queue.
    pub fn put(&mut self, card: &mut SimCard, commands: &[Command]) -> Result<(), CardError> {
        for command in commands {
            let at = RING + self.tail * Command::BYTES;
            card.memory().write(at, &command.to_le_bytes())?;
            self.tail = (self.tail + 1) % RING_COMMANDS;
        }
        self.waiting += commands.len() as u64;
        card.reg_write(regs::CQT, self.tail as u32)
    }

    /// A fence behind all commands so far; waits for it. The cycle in which it was seen, or the errors that the queue stands with.
    pub fn fence(&mut self, card: &mut SimCard) -> Result<Result<u64, u32>, CardError> {
        self.put(card, &[Command::fence()])?;
        self.see(card)
    }

    /// Clears what the queue stood with, so that it reads that command again; waits as [`Queue::fence`] does.
    pub fn go_on(
        &mut self,
        card: &mut SimCard,
        errors: u32,
    ) -> Result<Result<u64, u32>, CardError> {
        card.reg_write(regs::CQCSR, regs::CQCSR_CQEN_MASK | errors)?;
        self.see(card)
    }

    fn see(&mut self, card: &mut SimCard) -> Result<Result<u64, u32>, CardError> {
        loop {
            let status = card.reg_read(regs::CQCSR)?;
            if status & ERRORS != 0 {
                return Ok(Err(status & ERRORS));
            }
            if status & regs::CQCSR_FENCE_W_IP_MASK != 0 {
                break;
            }
        }
        let now = card.stats()?.cycles;
        let seen = regs::CQCSR_CQEN_MASK | regs::CQCSR_FENCE_W_IP_MASK;
        card.reg_write(regs::CQCSR, seen)?;
        self.waiting = 0;
        Ok(Ok(now))
    }
}
