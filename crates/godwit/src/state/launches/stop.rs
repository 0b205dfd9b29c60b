// SPDX-License-Identifier: Apache-2.0
//! Launches that are ended before their kernel is done.

use std::sync::Arc;

use godwit_core::layout;

use super::State;
use crate::Error;
use crate::hardware::control::{Control, REST_MAX_CYCLES, Trouble};
use crate::state::ticket::Ticket;

impl State {
    pub(super) fn time_out(&mut self, slot: usize) -> Result<(), Error> {
        let Some(running) = self.kernels[slot].running.as_ref() else {
            return Ok(());
        };
        let ticket = Arc::clone(&running.ticket);
        let cycles = running.request.timeout_cycles.unwrap_or_default();
        let stopped = self.halt(slot)?;
        let kernel = ticket.kernel.clone();
        self.end(
            &ticket,
            Err(Error::Timeout {
                kernel,
                cycles,
                stopped,
            }),
        );
        self.end_if_broken();
        Ok(())
    }

    /// Stops the launch of a kernel, which ends with `error`; returns whether the kernel stopped.
    pub(super) fn stop(
        &mut self,
        slot: usize,
        error: impl FnOnce(&Ticket) -> Error,
    ) -> Result<bool, Error> {
        let Some(running) = self.kernels[slot].running.as_ref() else {
            return Ok(true);
        };
        let ticket = Arc::clone(&running.ticket);
        let stopped = self.halt(slot)?;
        let error = error(&ticket);
        self.end(&ticket, Err(error));
        self.end_if_broken();
        Ok(stopped)
    }

    /// Stops a kernel; returns whether it stopped. Its launch has no end yet.
    ///
    /// With its ports off every access is refused, so that the kernel comes to its end, and what was translated before has
    /// ended when that is waited for. A port with physical addresses cannot be changed while bursts are under
    /// way: there the kernel only gets some time, and when it goes on nothing on the card is safe from it.
    pub(super) fn halt(&mut self, slot: usize) -> Result<bool, Error> {
        let kernel = &mut self.kernels[slot];
        let bare = kernel
            .running
            .as_ref()
            .is_some_and(|running| running.request.bare());
        // Until the end is known.
        kernel.stuck = true;
        let ports = kernel.kernel.ports().to_vec();
        if !bare {
            for port in &ports {
                self.bind(*port, layout::PORT_MODE_OFF, 0)?;
            }
            self.queue.drain(self.device.as_mut())?;
        }
        let stopped = self.run_to_done(slot)?;
        // Nobody flushes for it later.
        self.flush(None)?;
        let kernel = &mut self.kernels[slot];
        kernel.running = None;
        kernel.stuck = !stopped;
        self.collect_faults()?;
        while self.fault_of(&ports).is_some() {}
        if bare && !stopped {
            let name = &self.kernels[slot].kernel.name;
            self.broken = Some(format!(
                "kernel `{name}` was launched with physical addresses and did not stop when it was told to"
            ));
        }
        Ok(stopped)
    }

    /// Waits some time until a kernel is done.
    fn run_to_done(&mut self, slot: usize) -> Result<bool, Error> {
        let begin = self.cycle()?;
        loop {
            let passed = self.cycle()? - begin;
            let left = REST_MAX_CYCLES.saturating_sub(passed);
            let kernel = &mut self.kernels[slot];
            let line = kernel.control.line();
            let limit = match line {
                0 => left.min(Control::poll_interval(passed)),
                _ => left,
            };
            let irq = self.device.run(limit, line)?;
            if line == 0 || irq & line != 0 {
                match kernel.control.done(self.device.as_mut()) {
                    Ok(true) => return Ok(true),
                    Ok(false) => {}
                    Err(Trouble::Block(_)) => return Ok(false),
                    Err(Trouble::Card(error)) => return Err(error.into()),
                }
            }
            if left == 0 {
                return Ok(false);
            }
        }
    }
}

pub(super) fn cancelled(ticket: &Ticket, why: &'static str) -> Error {
    Error::Cancelled {
        kernel: ticket.kernel.clone(),
        why,
    }
}
