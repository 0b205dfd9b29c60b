// SPDX-License-Identifier: Apache-2.0
//! Ports that are driven from outside, while somebody waits for their answers: the clock runs as it does for launches, so pages that
//! they ask for are brought and what else goes on goes on.

use std::sync::{Arc, Mutex, PoisonError};

use super::State;
use super::launches::IRQ_MMU;
use super::ticket::Gate;
use crate::Error;

/// Who waits for the answers of driven ports.
#[derive(Default)]
pub(crate) struct Drain {
    gate: Gate,
    error: Mutex<Option<Error>>,
}

impl Drain {
    /// Waits until all is answered, the time is over, or the card has failed.
    pub fn wait(&self) -> Result<(), Error> {
        self.gate.pass();
        let mut error = self.error.lock().unwrap_or_else(PoisonError::into_inner);
        error.take().map_or(Ok(()), Err)
    }

    fn end(&self, error: Option<Error>) {
        *self.error.lock().unwrap_or_else(PoisonError::into_inner) = error;
        self.gate.open();
    }
}

/// A wait, and the cycle at which its time is over.
pub(super) struct Driven {
    pub until: u64,
    drain: Arc<Drain>,
}

impl State {
    /// Has the clock run until everything that driven ports were given is answered, at most for so many cycles.
    pub fn drain_ports(&mut self, max_cycles: u64, drain: Arc<Drain>) -> Result<(), Error> {
        let until = self.cycle()?.saturating_add(max_cycles);
        self.driven.push(Driven { until, drain });
        Ok(())
    }

    /// Lets the clock run, no further than to the last answer when somebody waits for that; the interrupt lines afterwards.
    pub(super) fn tick(&mut self, limit: u64, mask: u32) -> Result<u32, Error> {
        if self.driven.is_empty() {
            return Ok(self.device.run(limit, mask)?);
        }
        let mask = mask | if self.asks() { IRQ_MMU } else { 0 };
        let Some(ports) = self.device.ports() else {
            return Err(Error::Hardware(
                "this device has no ports that can be driven from outside".into(),
            ));
        };
        let drained = ports.drain(limit, mask)?;
        let now = self.cycle()?;
        self.driven.retain(|driven| {
            let over = drained.pending == 0 || driven.until <= now;
            if over {
                driven.drain.end(None);
            }
            !over
        });
        Ok(drained.irq)
    }

    /// Whether pages may be asked for by a port without a launch.
    pub(super) fn driven_asks(&self) -> bool {
        !self.driven.is_empty() && self.asks()
    }

    fn asks(&self) -> bool {
        self.contexts.iter().flatten().any(|context| context.asks)
    }

    /// Everybody's waiting ends like this.
    pub(super) fn end_driven(&mut self, error: impl Fn() -> Error) {
        for driven in self.driven.drain(..) {
            driven.drain.end(Some(error()));
        }
    }
}
