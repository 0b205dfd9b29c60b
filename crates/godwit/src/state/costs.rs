// SPDX-License-Identifier: Apache-2.0
//! Virtual time of what the host itself does: `[host]` of the card's configuration. The clock runs on meanwhile, and so does all that
//! works on the card.

use super::State;
use crate::Error;
use crate::hardware::frames::FRAME_BYTES;

/// What the host does.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Work {
    /// An interrupt's way to its handler.
    Interrupt,
    /// The handler's way to who waits.
    Wakeup,
    /// So many pages are brought, the content of `crossed` of them over the link.
    Pages { pages: u64, crossed: u64 },
    /// So many bytes go to the driver's memory, or from it, as far as that takes longer than so many picoseconds.
    Staging { bytes: u64, beside_ps: u64 },
}

impl State {
    /// Lets the time of this work pass.
    pub fn host_works(&mut self, work: Work) -> Result<(), Error> {
        let config = &self.device.description().config;
        let ns = match work {
            Work::Interrupt => config.host.interrupt_ns,
            Work::Wakeup => config.host.wakeup_ns,
            Work::Pages { pages, crossed } => {
                let link = config.host_link;
                let over = match crossed {
                    0 => 0.0,
                    _ => link.latency_ns + (crossed * FRAME_BYTES) as f64 / link.bandwidth_gbps,
                };
                pages as f64 * config.host.page_ns + over
            }
            Work::Staging { bytes, beside_ps } => match config.host.staging_gbps {
                0.0 => 0.0,
                gbps => (bytes as f64 / gbps - beside_ps as f64 / 1000.0).max(0.0),
            },
        };
        let cycles = (ns * config.card.clock_mhz / 1000.0).round() as u64;
        if cycles > 0 {
            self.device.run(cycles, 0)?;
        }
        Ok(())
    }
}
