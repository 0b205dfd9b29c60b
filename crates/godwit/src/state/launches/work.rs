// SPDX-License-Identifier: Apache-2.0
//! What the engine does: the clock by slices, what interrupts say, starts, and ends with their results.

use std::sync::Arc;

use godwit_card::{ArgKind, LaunchEnd, LaunchTimes};

use super::{IRQ_MMU, KernelState, Request, Running, State};
use crate::hardware::control::{Control, Trouble};
use crate::state::costs::Work;
use crate::state::ticket::Ticket;
use crate::{Completion, Error};

/// Cycles between two looks for jobs while the clock runs.
const SLICE_CYCLES: u64 = 4096;

impl State {
    /// Lets the clock run a slice, or up to what happens first. A card that fails is broken down.
    pub fn advance(&mut self) {
        let mut slice = || {
            let now = self.cycle()?;
            let (limit, mask) = self.next_event(now, SLICE_CYCLES);
            let irq = self.tick(limit, mask)?;
            self.service(irq)?;
            self.watch_heap()?;
            self.expire()
        };
        if let Err(error) = slice() {
            self.break_down(error);
        }
    }

    /// Cycles to run, at most `limit`, and the interrupts that end the run.
    pub(super) fn next_event(&self, now: u64, limit: u64) -> (u64, u32) {
        let mut until = now.saturating_add(limit);
        let mut mask = self.transfer_irq();
        for (slot, kernel) in self.kernels.iter().enumerate() {
            let Some(running) = &kernel.running else {
                continue;
            };
            mask |= KernelState::irq(slot) | IRQ_MMU;
            until = until.min(running.deadline().unwrap_or(u64::MAX));
            if kernel.control.line() == 0 {
                until = until.min(running.poll_at);
            }
        }
        let waits = self.waits.iter().filter_map(|wait| wait.until);
        let driven = self.driven.iter().map(|driven| driven.until);
        let until = waits.chain(driven).fold(until, u64::min);
        (until.saturating_sub(now), mask)
    }

    /// Takes what interrupts and passed time say.
    pub(super) fn service(&mut self, irq: u32) -> Result<(), Error> {
        self.serve_transfers(irq)?;
        let at_work = self.any_at_work();
        if irq & IRQ_MMU != 0 && (at_work || self.driven_asks()) {
            // The line stays up for what is not looked for now: each look takes time.
            self.lines_pause()?;
            let faulted = self.collect_faults()?;
            let asked = self.serve_pages()?;
            self.lines_go_on()?;
            if !asked && !faulted {
                self.serve_lines()?;
            }
        }
        for slot in 0..self.kernels.len() {
            let now = self.cycle()?;
            let kernel = &mut self.kernels[slot];
            let Some(running) = &mut kernel.running else {
                continue;
            };
            let deadline = running.deadline();
            let line = kernel.control.line();
            let asked = match line {
                0 => now >= running.poll_at,
                line => irq & line != 0,
            };
            if asked {
                if line != 0 {
                    self.host_works(Work::Interrupt)?;
                }
                let kernel = &mut self.kernels[slot];
                let Some(running) = &mut kernel.running else {
                    continue;
                };
                running.poll_at = now + Control::poll_interval(now - running.started.cycles);
                match kernel.control.done(self.device.as_mut()) {
                    Ok(true) => {
                        self.complete(slot)?;
                        self.start_next(slot)?;
                        continue;
                    }
                    Ok(false) => {}
                    Err(Trouble::Card(error)) => return Err(error.into()),
                    Err(trouble @ Trouble::Block(_)) => {
                        let error = kernel.trouble(trouble);
                        if let Some(running) = kernel.running.take() {
                            self.end(&running.ticket, Err(error));
                        }
                        self.start_next(slot)?;
                        continue;
                    }
                }
            }
            if deadline.is_some_and(|deadline| now >= deadline) {
                self.time_out(slot)?;
                self.start_next(slot)?;
            }
        }
        Ok(())
    }

    /// Tells those whose time has come.
    pub(super) fn expire(&mut self) -> Result<(), Error> {
        let now = self.cycle()?;
        self.waits.retain(|wait| {
            let over = wait.until.is_some_and(|until| until <= now);
            if let (true, Some(gate)) = (over, &wait.gate) {
                gate.open();
            }
            !over
        });
        Ok(())
    }

    /// Sets what became of a launch, and tells everybody.
    pub(super) fn end(&mut self, ticket: &Arc<Ticket>, result: Result<Completion, Error>) {
        for callback in ticket.end(result) {
            self.notifier.call(callback);
        }
        self.waits.retain(|wait| {
            let over = Arc::ptr_eq(&wait.ticket, ticket);
            if let (true, Some(gate)) = (over, &wait.gate) {
                gate.open();
            }
            !over
        });
    }

    /// Starts a launch of an idle kernel. What goes wrong before its start is the result, and its kernel stays idle.
    pub(super) fn start(
        &mut self,
        slot: usize,
        request: Request,
        ticket: Arc<Ticket>,
    ) -> Result<(), Error> {
        let called = self.device.stats()?;
        let kernel = &mut self.kernels[slot];
        let rested = kernel.control.rest(self.device.as_mut());
        rested.map_err(|trouble| kernel.trouble(trouble))?;
        let ports = kernel.kernel.ports().to_vec();
        for port in &ports {
            self.bind(*port, request.binding.0, request.binding.1)?;
        }
        // An older fault must not take the place of one of this launch in the record.
        if self.device.run(0, 0)? & IRQ_MMU != 0 {
            self.collect_faults()?;
        }
        while self.fault_of(&ports).is_some() {}
        // Each launch leaves nothing in the page cache, but others that go on may have looked at the same memory since.
        if self.any_at_work() {
            self.flush_for(&request)?;
            self.lines_of_many();
        } else {
            self.lines_begin(slot, &request)?;
        }
        let kernel = &mut self.kernels[slot];
        let started = kernel
            .control
            .start(self.device.as_mut(), &request.registers);
        started.map_err(|trouble| kernel.trouble(trouble))?;
        let started = self.device.stats()?;
        kernel.running = Some(Running {
            request,
            ticket,
            called,
            started,
            poll_at: started.cycles,
        });
        Ok(())
    }

    /// Starts what waits for a kernel that has come to its end.
    pub(super) fn start_next(&mut self, slot: usize) -> Result<(), Error> {
        while self.kernels[slot].running.is_none() {
            let Some((request, ticket)) = self.kernels[slot].waiting.pop_front() else {
                return Ok(());
            };
            let result = if let Some(why) = &self.broken {
                Err(Error::Broken(why.clone()))
            } else if self.kernels[slot].stuck {
                Err(self.kernels[slot].stuck_error())
            } else {
                self.start(slot, request, Arc::clone(&ticket))
            };
            match result {
                Ok(()) => {}
                Err(error) if error.breaks_the_card() => {
                    self.end(&ticket, Err(Error::Broken(error.to_string())));
                    return Err(error);
                }
                Err(error) => self.end(&ticket, Err(error)),
            }
        }
        Ok(())
    }

    /// Reads the results of a kernel that is done, and ends its launch.
    fn complete(&mut self, slot: usize) -> Result<(), Error> {
        if self.device.run(0, 0)? & IRQ_MMU != 0 {
            self.collect_faults()?;
            self.serve_lines()?;
        }
        let kernel = &mut self.kernels[slot];
        let Some(running) = kernel.running.take() else {
            return Ok(());
        };
        let ports = kernel.kernel.ports().to_vec();
        if self.kernels[slot].control.line() != 0 {
            self.host_works(Work::Wakeup)?;
        }
        self.lines_end(running.request.pin())?;
        // Its interrupt does not say that what it stored is in host memory.
        let flushed = self.flush_for(&running.request);
        let result = match (flushed, self.fault_of(&ports)) {
            (Err(error), _) => Err(error),
            (Ok(()), Some(record)) => Err(Error::Fault(Box::new(self.explain(record)))),
            (Ok(()), None) => self.completion(slot, &running),
        };
        match result {
            Err(error) if error.breaks_the_card() => {
                self.kernels[slot].running = Some(running);
                return Err(error);
            }
            result => self.end(&running.ticket, result),
        }
        Ok(())
    }

    fn completion(&mut self, slot: usize, running: &Running) -> Result<Completion, Error> {
        let ended = self.device.stats()?;
        let seen = self.device.launch_times(slot as u32)?;
        let KernelState {
            kernel, control, ..
        } = &self.kernels[slot];
        let mut results = Vec::new();
        for arg in kernel.args.iter().filter(|arg| arg.kind.is_result()) {
            let mut value = u64::from(control.read(self.device.as_mut(), arg.offset)?);
            if arg.kind == ArgKind::OutU64 {
                let high = control.read(self.device.as_mut(), arg.offset + 4)?;
                value |= u64::from(high) << 32;
            }
            results.push((arg.name.clone(), value));
        }
        let times = seen.unwrap_or_else(|| LaunchTimes {
            start_cycle: running.started.cycles,
            end_cycle: ended.cycles,
            end: LaunchEnd::Polled,
            stats: ended.since(&running.started),
        });
        let launch_ps = self.device.stats()?.time_ps - running.called.time_ps;
        let done = Completion {
            cycles: times.stats.cycles,
            time_ps: times.stats.time_ps,
            launch_ps,
            start_cycle: times.start_cycle,
            end_cycle: times.end_cycle,
            end: times.end,
            stats: times.stats,
            results,
        };
        if running.request.check_status {
            done.checked(kernel)
        } else {
            Ok(done)
        }
    }
}
