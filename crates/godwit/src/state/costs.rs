// SPDX-License-Identifier: Apache-2.0
//! Virtual time of what the host itself does: `[host]` of the card's configuration. The clock runs on meanwhile, and so does all that
//! works on the card.

use godwit_core::layout;

use super::State;
use crate::Error;
use crate::hardware::frames::FRAME_BYTES;
use crate::regs;

/// A register that may be read at any time.
const LIFE: u64 = layout::REGISTER_SPACE_MMU_BASE as u64 + regs::ID;

/// What the host does.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Work {
    /// An interrupt's way to its handler.
    Interrupt,
    /// The handler's way to who waits.
    Wakeup,
    /// So many pages are brought, the content of `crossed` of them over the link.
    Pages { pages: u64, crossed: u64 },
    /// So many pages of the program go to the card, without the copy; the first of a group.
    Leave { pages: u64, first: bool },
    /// So many come home, without the copy; the first of a group.
    Return { pages: u64, first: bool },
    /// Entries of a page table are read, so many bytes in a row.
    Look { bytes: u64 },
    /// Somebody else's, on another card.
    Elsewhere { ps: u64 },
    /// So many bytes go to the driver's memory, or from it, as far as that takes longer than so many picoseconds.
    Staging { bytes: u64, beside_ps: u64 },
}

impl State {
    /// Lets the time of this work pass.
    pub fn host_works(&mut self, work: Work) -> Result<(), Error> {
        let config = &self.device.description().config;
        let group = |first: bool, ns: f64| if first { ns } else { 0.0 };
        let ns = match work {
            Work::Interrupt => config.host.interrupt_ns,
            Work::Wakeup => config.host.wakeup_ns,
            Work::Pages { pages, crossed } => {
                let link = config.host_link;
                let over = match crossed {
                    0 => 0.0,
                    _ => link.latency_ns + (crossed * FRAME_BYTES) as f64 / link.payload_gbps(),
                };
                pages as f64 * config.host.page_ns + over
            }
            Work::Leave { pages, first } => {
                group(first, config.host.leave_ns) + pages as f64 * config.host.leave_page_ns
            }
            Work::Return { pages, first } => {
                group(first, config.host.return_ns) + pages as f64 * config.host.return_page_ns
            }
            Work::Look { bytes } => {
                let link = config.host_link;
                link.latency_ns + bytes as f64 / link.payload_gbps()
            }
            Work::Elsewhere { ps } => ps as f64 / 1000.0,
            Work::Staging { bytes, beside_ps } => match config.host.staging_gbps {
                0.0 => 0.0,
                gbps => (bytes as f64 / gbps - beside_ps as f64 / 1000.0).max(0.0),
            },
        };
        let cycles = (ns * config.card.clock_mhz / 1000.0).round() as u64;
        // The host is at work, and the card's watchdog must not take accesses that wait for it for lost, whatever one piece of work after the other
        // takes.
        let quiet = match config.card.watchdog_cycles {
            0 => u64::MAX,
            limit => (limit / 2).max(1),
        };
        let end = self.device.stats()?.cycles.saturating_add(cycles);
        loop {
            let left = end.saturating_sub(self.device.stats()?.cycles);
            if left == 0 {
                return Ok(());
            }
            if self.quiet_cycles >= quiet {
                self.device.reg_read(LIFE)?;
                self.quiet_cycles = 0;
                continue;
            }
            let now = left.min(quiet - self.quiet_cycles);
            self.device.run(now, 0)?;
            self.quiet_cycles += now;
        }
    }
}
