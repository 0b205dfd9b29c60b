// SPDX-License-Identifier: Apache-2.0
//! What callers ask for: starts and queued launches, waiting, ends that they bring about, the clock.

use std::sync::Arc;

use super::stop::cancelled;
use super::{KernelState, Request, State, Wait};
use crate::Error;
use crate::state::ticket::{Gate, Ticket};

/// An end that a kernel was brought to.
const CANCELLED: &str = "it was cancelled";
const TAKEN_AWAY: &str = "a buffer or the context that it used was freed";

impl State {
    /// Starts a launch, or queues it behind those of its kernel that came before.
    pub fn submit(
        &mut self,
        slot: usize,
        request: Request,
        ticket: &Arc<Ticket>,
    ) -> Result<(), Error> {
        if self.kernels[slot].running.is_some() {
            // It may have ended with nobody waiting.
            let irq = self.device.run(0, 0)?;
            self.service(irq)?;
        }
        if self.kernels[slot].stuck {
            return Err(self.kernels[slot].stuck_error());
        }
        if self.kernels[slot].running.is_some() {
            let waiting = &mut self.kernels[slot].waiting;
            waiting.push_back((request, Arc::clone(ticket)));
            return Ok(());
        }
        self.start(slot, request, Arc::clone(ticket))
    }

    /// Has the clock run for somebody until a launch has ended, at most for so many cycles.
    pub fn wait_for(
        &mut self,
        ticket: Arc<Ticket>,
        max_cycles: Option<u64>,
        gate: Option<Arc<Gate>>,
    ) -> Result<(), Error> {
        let until = match max_cycles {
            Some(cycles) => Some(self.cycle()?.saturating_add(cycles)),
            None => None,
        };
        // The broken card has ended it, or does now.
        if ticket.ended() {
            gate.iter().for_each(|gate| gate.open());
        } else {
            self.waits.push(Wait {
                ticket,
                until,
                gate,
            });
        }
        Ok(())
    }

    /// Somebody does not wait any longer.
    pub fn wait_no_more(&mut self, gate: &Arc<Gate>) {
        self.waits
            .retain(|wait| !wait.gate.as_ref().is_some_and(|of| Arc::ptr_eq(of, gate)));
    }

    pub fn somebody_waits(&self) -> bool {
        !self.waits.is_empty() || !self.driven.is_empty() || self.transfer_irq() != 0
    }

    /// Ends a launch; returns whether its kernel stands still.
    pub fn cancel_launch(&mut self, slot: usize, ticket: &Arc<Ticket>) -> Result<bool, Error> {
        let kernel = &mut self.kernels[slot];
        let of = |other: &Arc<Ticket>| Arc::ptr_eq(other, ticket);
        if let Some(at) = kernel.waiting.iter().position(|(_, waiting)| of(waiting)) {
            kernel.waiting.remove(at);
            self.end(ticket, Err(cancelled(ticket, CANCELLED)));
        } else if kernel
            .running
            .as_ref()
            .is_some_and(|running| of(&running.ticket))
        {
            let stopped = self.stop(slot, |ticket| cancelled(ticket, CANCELLED))?;
            self.start_next(slot)?;
            return Ok(stopped);
        }
        Ok(!self.kernels[slot].stuck)
    }

    /// Stops the launches that a caller is about to take something away from. Fails when one goes on and could still
    /// reach it.
    pub(in crate::state) fn cancel_where(
        &mut self,
        concerned: impl Fn(&Request) -> bool,
    ) -> Result<(), Error> {
        for slot in 0..self.kernels.len() {
            let waiting = std::mem::take(&mut self.kernels[slot].waiting);
            for (request, ticket) in waiting {
                if concerned(&request) {
                    self.end(&ticket, Err(cancelled(&ticket, TAKEN_AWAY)));
                } else {
                    self.kernels[slot].waiting.push_back((request, ticket));
                }
            }
            let running = self.kernels[slot].running.as_ref();
            if running.is_some_and(|running| concerned(&running.request)) {
                self.stop(slot, |ticket| cancelled(ticket, TAKEN_AWAY))?;
                self.start_next(slot)?;
            }
        }
        match &self.broken {
            Some(why) => Err(Error::Broken(why.clone())),
            None => Ok(()),
        }
    }

    /// Whether any kernel runs.
    pub(in crate::state) fn any_at_work(&self) -> bool {
        self.kernels.iter().any(|kernel| kernel.running.is_some())
    }

    /// The only launch at work, and its kernel's slot.
    pub(in crate::state) fn alone_at_work(&self) -> Option<(usize, &Request)> {
        let mut at_work = self
            .kernels
            .iter()
            .enumerate()
            .filter_map(|(slot, kernel)| {
                let running = kernel.running.as_ref()?;
                Some((slot, &running.request))
            });
        at_work.next().filter(|_| at_work.next().is_none())
    }

    /// Whether a launch of this context runs or waits.
    pub(in crate::state) fn at_work(&self, context: u64) -> bool {
        self.kernels.iter().any(|kernel| {
            let running = kernel.running.iter().map(|running| &running.request);
            let waiting = kernel.waiting.iter().map(|(request, _)| request);
            running
                .chain(waiting)
                .any(|request| request.context == Some(context))
        })
    }

    /// Kernels at work in a context that may have allocations of the heap in hardware: their slots.
    pub(in crate::state) fn launches_on_heap(&self) -> Vec<usize> {
        let allocates = |serial: u64| {
            let mut contexts = self.contexts.iter().flatten();
            contexts.any(|context| context.serial == serial && context.allocates)
        };
        let of = |kernel: &KernelState| {
            let running = kernel.running.as_ref();
            running
                .and_then(|running| running.request.context)
                .is_some_and(allocates)
        };
        (0..self.kernels.len())
            .filter(|slot| of(&self.kernels[*slot]))
            .collect()
    }

    /// The ports of a kernel whose launch began before a cycle; none if it did not.
    pub(in crate::state) fn ports_at_work(&self, slot: usize, since: u64) -> &[u32] {
        let kernel = &self.kernels[slot];
        match &kernel.running {
            Some(running) if running.started.cycles <= since => kernel.kernel.ports(),
            _ => &[],
        }
    }

    /// Stops a kernel that waits for a frame of the heap.
    pub(in crate::state) fn stop_for_heap(&mut self, slot: usize) -> Result<(), Error> {
        let Some(running) = self.kernels[slot].running.as_ref() else {
            return Ok(());
        };
        let ticket = Arc::clone(&running.ticket);
        let stopped = self.halt(slot)?;
        let error = self.heap_full(format!("kernel `{}`", ticket.kernel), Some(stopped));
        self.end(&ticket, Err(error));
        self.end_if_broken();
        self.start_next(slot)
    }

    /// Fails while a kernel works behind `port`.
    pub fn require_idle(&self, port: u32) -> Result<(), Error> {
        let of_port = |kernel: &&KernelState| kernel.kernel.ports().contains(&port);
        match self.kernels.iter().find(of_port) {
            Some(kernel) if kernel.stuck => Err(kernel.stuck_error()),
            Some(kernel) if kernel.running.is_some() => Err(Error::Busy(format!(
                "kernel `{}` is running: wait for it or cancel it",
                kernel.kernel.name
            ))),
            _ => Ok(()),
        }
    }

    /// A register was written, or read, by hand: what a kernel's control block holds is not known any more.
    pub fn touched(&mut self, offset: u64) {
        for kernel in &mut self.kernels {
            if kernel.control.owns(offset) {
                kernel.control.doubt();
            }
        }
    }

    /// Lets time pass until an interrupt of `irq_mask` is high or `max_cycles` have passed; launches go on meanwhile.
    pub fn run(&mut self, max_cycles: u64, irq_mask: u32) -> Result<u32, Error> {
        let end = self.cycle()?.saturating_add(max_cycles);
        loop {
            let now = self.cycle()?;
            let (limit, mask) = self.next_event(now, end.saturating_sub(now));
            let irq = self.device.run(limit, irq_mask | mask)?;
            let now = self.cycle()?;
            if irq & irq_mask != 0 || now >= end {
                return Ok(irq);
            }
            self.service(irq)?;
            self.expire()?;
        }
    }
}
