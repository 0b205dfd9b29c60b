// SPDX-License-Identifier: Apache-2.0
//! The MMU's command queue as the runtime uses it.
//!
//! The ring is one frame of device memory, 256 commands, taken from the top when the card is opened: the host writes it,
//! the hardware reads it with the latency of its own memory. Every call writes its commands, ends them with a fence and
//! waits for it, so the ring is empty between calls. A fence that waits longer than [`TIMEOUT_CYCLES`] stops the queue
//! and with it the card: an access that was translated before does not end.

use godwit_card::{CardError, Device};
use godwit_core::{Invalidation, layout};

use crate::hardware::command::{Command, drop_ranges, flush_ranges};
use crate::hardware::frames::FRAME_BYTES;
use crate::{Error, regs};

/// Cycles that an access translated before an invalidation may take to its end.
const TIMEOUT_CYCLES: u32 = 10_000_000;
/// Commands that the ring holds.
const COMMANDS: u64 = FRAME_BYTES / Command::BYTES;

const BASE: u64 = layout::REGISTER_SPACE_MMU_BASE as u64;
const ENABLED: u32 = regs::CQCSR_CQEN_MASK;

/// The command queue of a card, turned on.
pub(crate) struct CommandQueue {
    /// Physical address of the ring.
    ring: u64,
    /// Where the next command goes.
    tail: u64,
}

impl CommandQueue {
    /// Turns the queue on, with its ring in the frame at `ring`.
    pub fn turn_on(device: &mut dyn Device, ring: u64) -> Result<Self, Error> {
        let frame = ring >> layout::PT_PAGE_SHIFT;
        let size = u64::from(COMMANDS.ilog2() - 1) << regs::CQB_LOG2SZM1_SHIFT;
        let base = frame << regs::CQB_PPN_LO_SHIFT | size;
        write(device, regs::CQB, base as u32)?;
        write(device, regs::CQB + 4, (base >> 32) as u32)?;
        write(device, regs::CQT, 0)?;
        write(device, regs::CQ_TIMEOUT, TIMEOUT_CYCLES)?;
        write(device, regs::CQCSR, ENABLED)?;
        // The hardware only has to see that nothing of an earlier use is under way.
        for _ in 0..1000 {
            let status = read(device, regs::CQCSR)?;
            if status & regs::CQCSR_CQON_MASK != 0 && status & regs::CQCSR_BUSY_MASK == 0 {
                return Ok(Self { ring, tail: 0 });
            }
        }
        Err(Error::Hardware(
            "the command queue does not turn on: this is no card that this program knows"
                .to_owned(),
        ))
    }

    /// Drops what `what` names of a context, and waits until no access uses it any more.
    pub fn invalidate(
        &mut self,
        device: &mut dyn Device,
        context: usize,
        what: &Invalidation,
    ) -> Result<(), Error> {
        let ranges = what.ranges().iter().map(|range| (range.va, range.size));
        let mut commands = drop_ranges(context as u32, ranges);
        commands.push(Command::fence());
        self.execute(device, &commands)
    }

    /// Waits until every access that is under way has ended.
    pub fn drain(&mut self, device: &mut dyn Device) -> Result<(), Error> {
        self.execute(device, &[Command::drain()])
    }

    /// Waits for what was dropped before, then writes back and drops what the page cache has of these ranges (first physical address,
    /// bytes), or of `None` all that it has. Only for a card with one.
    pub fn flush(
        &mut self,
        device: &mut dyn Device,
        ranges: Option<&[(u64, u64)]>,
    ) -> Result<(), Error> {
        let mut commands = match ranges {
            Some([]) => return Ok(()),
            Some(ranges) => flush_ranges(ranges),
            None => vec![Command::flush_everything()],
        };
        commands.push(Command::fence());
        self.execute(device, &commands)
    }

    /// Ends page requests, and returns when the hardware knows it; fewer than the ring holds.
    pub fn respond(&mut self, device: &mut dyn Device, commands: &[Command]) -> Result<(), Error> {
        self.put(device, commands)?;
        while u64::from(read(device, regs::CQH)?) != self.tail {
            if let Some(what) = failure(read(device, regs::CQCSR)?) {
                return Err(stopped(device, what)?);
            }
        }
        Ok(())
    }

    /// Writes commands behind those that were done.
    fn put(&mut self, device: &mut dyn Device, commands: &[Command]) -> Result<(), Error> {
        debug_assert!((commands.len() as u64) < COMMANDS);
        for command in commands {
            let at = self.ring + self.tail * Command::BYTES;
            device.memory().write(at, &command.to_le_bytes())?;
            self.tail = (self.tail + 1) % COMMANDS;
        }
        Ok(write(device, regs::CQT, self.tail as u32)?)
    }

    /// Executes commands, the last of which is a fence; fewer than the ring holds.
    fn execute(&mut self, device: &mut dyn Device, commands: &[Command]) -> Result<(), Error> {
        self.put(device, commands)?;
        loop {
            let status = read(device, regs::CQCSR)?;
            if let Some(what) = failure(status) {
                return Err(stopped(device, what)?);
            }
            if status & regs::CQCSR_FENCE_W_IP_MASK != 0 {
                return Ok(write(
                    device,
                    regs::CQCSR,
                    ENABLED | regs::CQCSR_FENCE_W_IP_MASK,
                )?);
            }
        }
    }
}

/// Why a queue with this status stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Failure {
    Timeout,
    Illegal,
    Memory,
}

fn failure(status: u32) -> Option<Failure> {
    [
        (regs::CQCSR_CMD_TO_MASK, Failure::Timeout),
        (regs::CQCSR_CMD_ILL_MASK, Failure::Illegal),
        (regs::CQCSR_CQMF_MASK, Failure::Memory),
    ]
    .into_iter()
    .find_map(|(bit, failure)| (status & bit != 0).then_some(failure))
}

/// The error for a queue that stands. The card is of no use afterwards: what was to be dropped may still be cached.
fn stopped(device: &mut dyn Device, what: Failure) -> Result<Error, CardError> {
    let head = read(device, regs::CQH)?;
    Ok(Error::Hang(match what {
        Failure::Timeout => format!(
            "an invalidation was not acknowledged within {TIMEOUT_CYCLES} cycles: an access that was translated before \
             has not ended"
        ),
        Failure::Illegal => format!(
            "the command queue stands at command {head}, which the hardware calls illegal: its ring in device memory \
             was overwritten, or a context is used that the card does not have"
        ),
        Failure::Memory => format!(
            "the command queue stands at command {head}: the hardware could not read it, or not write what it asks for, \
             such as what a kernel stored in host memory"
        ),
    }))
}

fn read(device: &mut dyn Device, register: u64) -> Result<u32, CardError> {
    device.reg_read(BASE + register)
}

fn write(device: &mut dyn Device, register: u64, value: u32) -> Result<(), CardError> {
    device.reg_write(BASE + register, value)
}
