// SPDX-License-Identifier: Apache-2.0
//! A kernel's control block: the HLS convention, as its generations have it, without knowing which one stands there.
//!
//! | what differs | how it is met |
//! |---|---|
//! | interrupt status is cleared by reading (2020 and later), by toggling (before), by writing ones | it is read; only bits that are still up when it is read again are written |
//! | `ap_ctrl_chain` holds done until `ap_continue`, `ap_ctrl_hs` has no such bit | `ap_continue` is written after every launch, before the status is cleared, which done would set again |
//! | auto-restart was left on | every write of `ap_ctrl` turns it off, and the kernel is waited for before it is started |
//! | the kernel has no interrupt | `ap_ctrl` is read, less and less often the longer it takes |
//! | done is cleared by reading, or is a level | it is read once a launch at most, and after a reset until it is down |
//!
//! A launch is complete when *its* done was seen. So before the first start, and after everything that leaves a doubt, the
//! block is brought to rest: idle, done down, status zero, line low; what cannot be brought down is an error. After that
//! only a launch can raise the line, and the status then says whether done did.

use godwit_card::{CardError, Device};
use godwit_core::layout;

const AP_CTRL: u64 = layout::HLS_AP_CTRL as u64;
const GIE: u64 = layout::HLS_GIE as u64;
const IER: u64 = layout::HLS_IER as u64;
const ISR: u64 = layout::HLS_ISR as u64;
const START: u32 = layout::HLS_CTRL_START as u32;
const DONE: u32 = layout::HLS_CTRL_DONE as u32;
const IDLE: u32 = layout::HLS_CTRL_IDLE as u32;
const CONTINUE: u32 = layout::HLS_CTRL_CONTINUE as u32;
const AUTO_RESTART: u32 = layout::HLS_CTRL_AUTO_RESTART as u32;
const IRQ_DONE: u32 = layout::HLS_IRQ_DONE as u32;
const IRQ_BITS: u32 = IRQ_DONE | layout::HLS_IRQ_READY as u32;

/// Cycles that a kernel gets to come to rest: one that is at work though nobody launched it, or that was cancelled.
pub(crate) const REST_MAX_CYCLES: u64 = 200_000;
/// Cycles for which a line may be up after its status was cleared: HLS has a register there.
const LINE_CYCLES: u64 = 8;
/// How often clearing is tried.
const CLEAR_ROUNDS: u32 = 3;
/// Fewest cycles between two reads of `ap_ctrl` of a kernel without interrupt; the longer it runs the more.
const POLL_CYCLES: u64 = 16;
const POLL_SHARE: u64 = 16;

/// Why a launch cannot be made or ended: the card failed, or the control block does what none does.
#[derive(Debug)]
pub(crate) enum Trouble {
    Card(CardError),
    Block(String),
}

impl From<CardError> for Trouble {
    fn from(error: CardError) -> Self {
        Self::Card(error)
    }
}

/// The control block of the kernel in a slot.
pub(crate) struct Control {
    base: u64,
    /// Its interrupt line; none when it is polled.
    line: u32,
    /// The latest launch is known to have ended, and nothing has touched the block since.
    at_rest: bool,
}

impl Control {
    pub fn new(slot: u32, interrupt: bool) -> Self {
        let base = u64::from(layout::REGISTER_SPACE_KERNEL_BASE)
            + u64::from(slot) * u64::from(layout::REGISTER_SPACE_KERNEL_STRIDE);
        let line = if interrupt {
            (layout::IRQ_KERNEL0 as u32) << slot
        } else {
            0
        };
        Self {
            base,
            line,
            at_rest: false,
        }
    }

    /// The interrupt line to wait for; 0 when there is none.
    pub fn line(&self) -> u32 {
        self.line
    }

    /// Whether an offset in the card's register space is one of this block.
    pub fn owns(&self, offset: u64) -> bool {
        (self.base..self.base + u64::from(layout::REGISTER_SPACE_KERNEL_STRIDE)).contains(&offset)
    }

    /// Somebody else may have changed it: the next start looks.
    pub fn doubt(&mut self) {
        self.at_rest = false;
    }

    /// Writes arguments and the start bit of a block at rest.
    pub fn start(
        &mut self,
        device: &mut dyn Device,
        registers: &[(u64, u32)],
    ) -> Result<(), Trouble> {
        for (offset, value) in registers {
            device.reg_write(self.base + offset, *value)?;
        }
        self.at_rest = false;
        Ok(device.reg_write(self.base + AP_CTRL, START)?)
    }

    /// Whether the launch is done, asked when its line is up or nothing else tells. A line that something else raised is
    /// lowered.
    pub fn done(&mut self, device: &mut dyn Device) -> Result<bool, Trouble> {
        if device.run(0, 0)? & self.line == 0 {
            let control = device.reg_read(self.base + AP_CTRL)?;
            if control & DONE == 0 {
                return Ok(false);
            }
            device.reg_write(self.base + AP_CTRL, CONTINUE)?;
            if self.line != 0 {
                self.lower(device)?;
            }
            self.at_rest = true;
            return Ok(true);
        }
        // Without done there is nothing that it would continue.
        device.reg_write(self.base + AP_CTRL, CONTINUE)?;
        let status = device.reg_read(self.base + ISR)?;
        let done = status & IRQ_DONE != 0 || device.reg_read(self.base + AP_CTRL)? & DONE != 0;
        self.lower(device)?;
        self.at_rest = done;
        Ok(done)
    }

    /// A word of the block.
    pub fn read(&self, device: &mut dyn Device, offset: u64) -> Result<u32, CardError> {
        device.reg_read(self.base + offset)
    }

    /// Cycles from now on after which a kernel that has run for `elapsed` cycles is asked again.
    pub fn poll_interval(elapsed: u64) -> u64 {
        (elapsed / POLL_SHARE).max(POLL_CYCLES)
    }

    /// Brings the block to where only a start can raise done or the line. What the kernel still does for a former user comes to
    /// its end meanwhile.
    pub fn rest(&mut self, device: &mut dyn Device) -> Result<(), Trouble> {
        if self.at_rest && self.line != 0 && device.run(0, 0)? & self.line == 0 {
            return Ok(());
        }
        self.wait_idle(device)?;
        if self.line != 0 {
            device.reg_write(self.base + GIE, 1)?;
            device.reg_write(self.base + IER, IRQ_DONE)?;
            self.clear_status(device)?;
            self.lower(device)?;
        }
        self.at_rest = true;
        Ok(())
    }

    /// Waits until the kernel is idle with done down and auto-restart off.
    fn wait_idle(&self, device: &mut dyn Device) -> Result<(), Trouble> {
        let begin = device.stats()?.cycles;
        let mut continued = 0;
        loop {
            let control = device.reg_read(self.base + AP_CTRL)?;
            if control & (AUTO_RESTART | DONE) != 0 {
                // Turns auto-restart off, and lets a chained kernel go on that holds its done.
                device.reg_write(self.base + AP_CTRL, CONTINUE)?;
                continued += 1;
            } else if control & START == 0 && control & IDLE != 0 {
                return Ok(());
            }
            let waited = device.stats()?.cycles - begin;
            if control & IDLE != 0 && control & DONE != 0 && continued > CLEAR_ROUNDS {
                return Err(Trouble::Block(format!(
                    "ap_ctrl reads {control:#x} before the start: done is up, and reading it and writing ap_continue do not \
                     take it down, so that nobody could tell when the launch is done"
                )));
            }
            if waited > REST_MAX_CYCLES {
                return Err(Trouble::Block(format!(
                    "ap_ctrl reads {control:#x} before the start, and has not become idle in {waited} cycles: it is at work \
                     though nobody launched it{}",
                    if control & AUTO_RESTART != 0 {
                        ", with an auto-restart that cannot be turned off"
                    } else {
                        ""
                    }
                )));
            }
            device.run(Self::poll_interval(waited), 0)?;
        }
    }

    /// Brings the interrupt status to zero.
    fn clear_status(&self, device: &mut dyn Device) -> Result<(), Trouble> {
        for _ in 0..CLEAR_ROUNDS {
            if device.reg_read(self.base + ISR)? & IRQ_BITS == 0 {
                return Ok(());
            }
            self.toggle_what_is_up(device)?;
        }
        match device.reg_read(self.base + ISR)? & IRQ_BITS {
            0 => Ok(()),
            status => Err(Trouble::Block(format!(
                "its interrupt status reads {status:#x} while nothing runs, and neither reading nor writing it takes that \
                 down, so that nobody could tell when a launch is done"
            ))),
        }
    }

    /// Writes the status bits that a read did not clear.
    fn toggle_what_is_up(&self, device: &mut dyn Device) -> Result<(), CardError> {
        match device.reg_read(self.base + ISR)? & IRQ_BITS {
            0 => Ok(()),
            status => device.reg_write(self.base + ISR, status),
        }
    }

    /// Brings the line down whose status was read.
    fn lower(&self, device: &mut dyn Device) -> Result<(), Trouble> {
        for round in 0..=CLEAR_ROUNDS {
            if device.run(0, 0)? & self.line == 0 || self.falls(device)? {
                return Ok(());
            }
            if round < CLEAR_ROUNDS {
                self.toggle_what_is_up(device)?;
            }
        }
        Err(Trouble::Block(
            "its interrupt is up and stays up whatever is written to its status register, so that nobody could tell when a \
             launch is done"
                .into(),
        ))
    }

    /// Whether the line falls in the cycles that a cleared status takes to reach it.
    fn falls(&self, device: &mut dyn Device) -> Result<bool, CardError> {
        for _ in 0..LINE_CYCLES {
            if device.run(1, 0)? & self.line == 0 {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
