// SPDX-License-Identifier: Apache-2.0
//! The end of a batch's traffic, which waits for something to be freed whenever the memory is full.

use godwit::{heap_regs, regs};
use godwit_card::{CardError, Device, Ports};
use rand::Rng;
use rand::seq::IndexedRandom;

use super::model::Command;
use super::pace::Phase;
use super::{Found, HeapWorld, registers};
use crate::{CosimError, Random};

/// Cycles in which some access is answered, or waits for a frame.
const HANG_CYCLES: u64 = 1_000_000;
const LOOK_CYCLES: u64 = 50;

impl HeapWorld {
    /// Waits until all that was sent is answered; frees something whenever the heap is full.
    pub(super) fn drain(&mut self, random: &mut Random) -> Found {
        let phase = std::mem::replace(&mut self.pace.phase, Phase::Waits);
        let (mut pending, mut since) = (u64::MAX, self.now()?);
        loop {
            let left = self.card.drain(LOOK_CYCLES, 0)?.pending;
            if left == 0 {
                self.pace.phase = phase;
                return Ok(Ok(()));
            }
            if left != pending {
                (pending, since) = (left, self.now()?);
            }
            let most = random.random_bool(0.5);
            if let Err(what) = self.bring(most, random)? {
                return Ok(Err(what));
            }
            if let Err(what) = self.calls(random)? {
                return Ok(Err(what));
            }
            let status = registers::read(&mut self.card, heap_regs::STATUS)?;
            if status & heap_regs::STATUS_LACKS_MASK != 0
                && (status & heap_regs::STATUS_RECLAIMING_MASK == 0 || random.random_ratio(1, 32))
            {
                if let Some((context, pointer)) = self.victim(random)? {
                    self.counts.full += 1;
                    if let Err(what) = self.command(context, Command::Free { pointer })? {
                        return Ok(Err(what));
                    }
                }
            }
            if self.now()? - since > HANG_CYCLES {
                return Ok(Err(self.standstill(left, status)?));
            }
        }
    }

    /// An allocation that is freed when the memory is full: mostly one that somebody wrote to, of the region that has fewest frames.
    fn victim(&mut self, random: &mut Random) -> Result<Option<(usize, u64)>, CardError> {
        let mut fewest = (u64::MAX, 0);
        for number in 0..self.places.len() {
            let free = registers::free_frames(&mut self.card, &mut self.kept, number)?;
            fewest = fewest.min((free, number));
        }
        let region = random.random_ratio(7, 8).then_some(fewest.1);
        let mut live = self.pace.with_frames(&self.model, region);
        if live.is_empty() {
            let all = self.model.live.values();
            live.extend(all.map(|of| (of.context, of.pointer)));
        }
        Ok(live.choose(random).copied())
    }

    /// What there is to know when nothing goes on.
    fn standstill(&mut self, left: u64, status: u32) -> Result<String, CosimError> {
        let mut free = Vec::new();
        for number in 0..self.places.len() {
            free.push(registers::free(&mut self.card, &mut self.kept, number)?);
        }
        let live = self.model.live.len();
        let head = self.card.reg_read(regs::CQH)?;
        let queue = self.card.reg_read(regs::CQCSR)?;
        Ok(format!(
            "{left} accesses wait, and nothing goes on: the heap's status is {status:#x}, its regions have {free:?} frames free and clean, \
             {live} allocations are live, {:?} ends, contexts are {:?}, {} page requests wait for an answer, the command queue is at {head}, its status {queue:#x}",
            self.ending,
            self.on,
            self.rings.unanswered()
        ))
    }
}
