// SPDX-License-Identifier: Apache-2.0
//! When the RTL runs: as long as anything goes on in the card, a slice at a time between messages.

use std::time::Duration;

use godwit_card::{CardError, Device, LaunchEnd, Stats};

/// Cycles of a slice while there is traffic: short, for a message that comes meanwhile waits for its end.
const SLICE_CYCLES: u64 = 128;
/// Cycles of a slice of a kernel that runs without traffic: it computes, or waits for the host.
const QUIET_SLICE_CYCLES: u64 = 1024;
/// How long a message is waited for between two slices of a kernel without traffic: at first, and twice as long after each up to a
/// limit. The host that the kernel waits for may run on the same processor. A slice takes some 5 ms and the longest wait is shorter,
/// so that a kernel which computes has most of its speed.
const QUIET_WAIT: Duration = Duration::from_micros(250);
const QUIET_DOUBLINGS: u32 = 4;

/// What to do until the next slice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pace {
    /// Only look for messages.
    Busy,
    /// Wait a little for one: the first time after traffic, the second, and so on.
    Quiet(u32),
    /// Wait for one: without it nothing will happen.
    Idle,
}

impl Pace {
    /// How long to wait for a message; without a limit when idle.
    pub fn wait(self) -> Option<Duration> {
        match self {
            Self::Busy => Some(Duration::ZERO),
            Self::Quiet(times) => Some(QUIET_WAIT * (1 << times.min(QUIET_DOUBLINGS))),
            Self::Idle => None,
        }
    }
}

#[derive(Default)]
pub(crate) struct Clock {
    /// Cycles since anything was seen to move.
    quiet_cycles: u64,
    /// Accesses so far.
    accesses: u64,
}

impl Clock {
    /// So many cycles without traffic, and nothing is under way: more than any access takes.
    pub const SETTLE_CYCLES: u64 = 8192;

    /// Cycles after a register was read. What a read does to a card is over by then, and drivers read in loops.
    const READ_CYCLES: u64 = 2 * SLICE_CYCLES;

    /// A register was read.
    pub fn read(&mut self) {
        let stands_after = Self::SETTLE_CYCLES - Self::READ_CYCLES;
        self.quiet_cycles = self.quiet_cycles.min(stands_after);
    }

    /// Somebody did something with the card.
    pub fn touched(&mut self) {
        self.quiet_cycles = 0;
    }

    /// Runs a slice, if there is anything to run for; it ends early when a line rises.
    pub fn run(&mut self, device: &mut dyn Device) -> Result<Pace, CardError> {
        let settled = self.quiet_cycles >= Self::SETTLE_CYCLES;
        if settled && !at_work(device)? {
            return Ok(Pace::Idle);
        }
        let cycles = if settled {
            QUIET_SLICE_CYCLES
        } else {
            SLICE_CYCLES
        };
        let lines = device.run(0, 0)?;
        device.run(cycles, !lines)?;
        let accesses = accesses(&device.stats()?);
        if accesses == self.accesses {
            self.quiet_cycles = self.quiet_cycles.saturating_add(cycles);
        } else {
            self.quiet_cycles = 0;
        }
        self.accesses = accesses;
        Ok(match self.quiet_cycles.checked_sub(Self::SETTLE_CYCLES) {
            None => Pace::Busy,
            Some(quiet) => {
                Pace::Quiet(u32::try_from(quiet / QUIET_SLICE_CYCLES).unwrap_or(u32::MAX))
            }
        })
    }
}

fn accesses(stats: &Stats) -> u64 {
    stats.reads + stats.writes + stats.pt_reads + stats.host_reads + stats.host_writes
}

/// Whether a kernel runs.
fn at_work(device: &dyn Device) -> Result<bool, CardError> {
    for slot in 0..device.description().kernels.len() as u32 {
        let times = device.launch_times(slot)?;
        if times.is_some_and(|times| times.end == LaunchEnd::Running) {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_that_does_nothing_is_looked_at_less_and_less_but_always_again() {
        let waits = |times| Pace::Quiet(times).wait().unwrap_or(Duration::MAX);
        assert_eq!(waits(0), QUIET_WAIT);
        assert!((1..=QUIET_DOUBLINGS).all(|times| waits(times) == 2 * waits(times - 1)));
        assert_eq!(waits(u32::MAX), Duration::from_millis(4));
    }
}
