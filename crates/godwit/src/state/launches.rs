// SPDX-License-Identifier: Apache-2.0
//! Kernels at work: launches of one kernel queue up in the order in which they came, those of different kernels run at once.
//!
//! The end of a launch is looked for when its interrupt is high, or now and then where there is none
//! ([`crate::hardware::control`]); its times are those that the card took when it happened. When the card breaks, every
//! launch ends with the error; the kernel that it names, with its own.

use std::collections::VecDeque;
use std::sync::Arc;

use godwit_card::{ArgKind, CardError, Description, Kernel, LaunchEnd, LaunchTimes, Stats};
use godwit_core::layout;

use super::State;
use super::costs::Work;
use super::ticket::{Gate, Ticket};
use crate::hardware::control::{Control, REST_MAX_CYCLES, Trouble};
use crate::svm::Pinned;
use crate::{Completion, Error};

/// Cycles between two looks for jobs while the clock runs.
const SLICE_CYCLES: u64 = 4096;
const IRQ_MMU: u32 = layout::IRQ_MMU as u32;

/// A kernel and its launches.
pub(crate) struct KernelState {
    kernel: Kernel,
    control: Control,
    running: Option<Running>,
    waiting: VecDeque<(Request, Arc<Ticket>)>,
    /// It did not stop when it was told to.
    stuck: bool,
}

/// A launch whose arguments were checked.
#[derive(Debug)]
pub(crate) struct Request {
    /// Mode and context of its ports.
    pub binding: (u32, usize),
    /// Words of the control block and their offsets.
    pub registers: Vec<(u64, u32)>,
    /// Context and buffers it was given, by their serial number and first addresses.
    pub context: Option<u64>,
    pub buffers: Vec<u64>,
    pub timeout_cycles: Option<u64>,
    /// An end with an error status is an error.
    pub check_status: bool,
    /// What has to stay until the launch has ended.
    pub keeps: Option<Pinned>,
}

impl Request {
    /// Its addresses are physical: nothing stands between it and any frame.
    fn bare(&self) -> bool {
        self.binding.0 == layout::PORT_MODE_BARE
    }
}

/// A launch that was started.
struct Running {
    request: Request,
    ticket: Arc<Ticket>,
    /// Before the arguments were written.
    called: Stats,
    /// When the start bit was written, as the host saw it.
    started: Stats,
    /// When a kernel without an interrupt is asked next.
    poll_at: u64,
}

impl Running {
    fn deadline(&self) -> Option<u64> {
        let timeout = self.request.timeout_cycles?;
        Some(self.started.cycles.saturating_add(timeout))
    }
}

/// Somebody for whom the clock runs until a launch has ended or a cycle has come.
pub(crate) struct Wait {
    ticket: Arc<Ticket>,
    until: Option<u64>,
    /// Opened then; without one the launch itself tells.
    gate: Option<Arc<Gate>>,
}

/// An end that a kernel was brought to.
const CANCELLED: &str = "it was cancelled";
const TAKEN_AWAY: &str = "a buffer or the context that it used was freed";

impl KernelState {
    pub fn all(description: &Description) -> Vec<Self> {
        let kernels = description.kernels.iter().enumerate();
        kernels
            .map(|(slot, kernel)| Self {
                kernel: kernel.clone(),
                control: Control::new(slot as u32, kernel.interrupt),
                running: None,
                waiting: VecDeque::new(),
                stuck: false,
            })
            .collect()
    }

    fn stuck_error(&self) -> Error {
        Error::Busy(format!(
            "kernel `{}` was cancelled before and has not stopped: open the card again to use it",
            self.kernel.name
        ))
    }

    fn trouble(&self, trouble: Trouble) -> Error {
        match trouble {
            Trouble::Card(error) => error.into(),
            Trouble::Block(problem) => Error::Control {
                kernel: self.kernel.name.clone(),
                problem,
            },
        }
    }

    fn irq(slot: usize) -> u32 {
        (layout::IRQ_KERNEL0 as u32) << slot
    }
}

impl State {
    fn cycle(&self) -> Result<u64, Error> {
        Ok(self.device.stats()?.cycles)
    }

    // ---- What callers ask for

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
        !self.waits.is_empty() || self.transfer_irq() != 0
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
    pub(super) fn cancel_where(
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

    /// Whether a launch of this context runs or waits.
    pub(super) fn at_work(&self, context: u64) -> bool {
        self.kernels.iter().any(|kernel| {
            let running = kernel.running.iter().map(|running| &running.request);
            let waiting = kernel.waiting.iter().map(|(request, _)| request);
            running
                .chain(waiting)
                .any(|request| request.context == Some(context))
        })
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

    // ---- What the engine does

    /// Lets the clock run a slice, or up to what happens first. A card that fails is broken down.
    pub fn advance(&mut self) {
        let mut slice = || {
            let now = self.cycle()?;
            let (limit, mask) = self.next_event(now, SLICE_CYCLES);
            let irq = self.device.run(limit, mask)?;
            self.service(irq)?;
            self.expire()
        };
        if let Err(error) = slice() {
            self.break_down(error);
        }
    }

    /// Cycles to run, at most `limit`, and the interrupts that end the run.
    fn next_event(&self, now: u64, limit: u64) -> (u64, u32) {
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
        let until = waits.fold(until, u64::min);
        (until.saturating_sub(now), mask)
    }

    /// Takes what interrupts and passed time say.
    fn service(&mut self, irq: u32) -> Result<(), Error> {
        self.serve_transfers(irq)?;
        if irq & IRQ_MMU != 0 && self.kernels.iter().any(|kernel| kernel.running.is_some()) {
            self.collect_faults()?;
            self.serve_pages()?;
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
    fn expire(&mut self) -> Result<(), Error> {
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
    fn end(&mut self, ticket: &Arc<Ticket>, result: Result<Completion, Error>) {
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
    fn start(&mut self, slot: usize, request: Request, ticket: Arc<Ticket>) -> Result<(), Error> {
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
    fn start_next(&mut self, slot: usize) -> Result<(), Error> {
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
        }
        let kernel = &mut self.kernels[slot];
        let Some(running) = kernel.running.take() else {
            return Ok(());
        };
        let ports = kernel.kernel.ports().to_vec();
        if self.kernels[slot].control.line() != 0 {
            self.host_works(Work::Wakeup)?;
        }
        let result = match self.fault_of(&ports) {
            Some(record) => Err(Error::Fault(Box::new(self.explain(record)))),
            None => self.completion(slot, &running),
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
        let status = kernel.status().filter(|_| running.request.check_status);
        match status.and_then(|arg| Some((arg, done.result(&arg.name)?))) {
            Some((arg, value)) if value != 0 => Err(Error::Status {
                kernel: kernel.name.clone(),
                value,
                meaning: arg.description.clone(),
                completion: Box::new(done),
            }),
            _ => Ok(done),
        }
    }

    fn time_out(&mut self, slot: usize) -> Result<(), Error> {
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
    fn stop(&mut self, slot: usize, error: impl FnOnce(&Ticket) -> Error) -> Result<bool, Error> {
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
    fn halt(&mut self, slot: usize) -> Result<bool, Error> {
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

    // ---- When nothing goes on

    fn end_if_broken(&mut self) {
        if let Some(why) = self.broken.clone() {
            self.end_all(|| Error::Broken(why.clone()));
        }
    }

    /// Ends every launch, and everybody's waiting.
    pub fn end_all(&mut self, error: impl Fn() -> Error) {
        for slot in 0..self.kernels.len() {
            let kernel = &mut self.kernels[slot];
            let running = kernel.running.take().map(|running| running.ticket);
            let waiting = std::mem::take(&mut kernel.waiting);
            let tickets = running
                .into_iter()
                .chain(waiting.into_iter().map(|(_, ticket)| ticket));
            for ticket in tickets.collect::<Vec<_>>() {
                self.end(&ticket, Err(error()));
            }
        }
        for wait in std::mem::take(&mut self.waits) {
            wait.gate.iter().for_each(|gate| gate.open());
        }
        self.end_transfers(error);
    }

    /// The card has failed: every launch ends with that, and so does every later call. The launches of the kernels that the
    /// message names get it as theirs; all that run, when it names none.
    pub fn break_down(&mut self, error: Error) {
        let (design, message) = match error {
            Error::Card(CardError::Design(message)) => (true, message),
            Error::Hang(message) => (false, message),
            other => (false, other.to_string()),
        };
        let running = |kernel: &KernelState| kernel.running.is_some();
        let named = |kernel: &KernelState| running(kernel) && names(&message, &kernel.kernel.name);
        let anybody = self.kernels.iter().any(named);
        let concerned: Vec<bool> = self
            .kernels
            .iter()
            .map(|kernel| running(kernel) && (named(kernel) || !anybody))
            .collect();
        let mut why = None;
        for (slot, _) in concerned.iter().enumerate().filter(|(_, own)| **own) {
            let name = self.kernels[slot].kernel.name.clone();
            let ports = self.kernels[slot].kernel.ports().to_vec();
            let text = if design && anybody {
                format!("kernel `{name}` made the card fail: {message}")
            } else if design {
                message.clone()
            } else {
                // The registers may hang as well: then there is no more to say.
                let fault = self
                    .collect_faults()
                    .ok()
                    .and_then(|()| self.fault_of(&ports));
                match fault.map(|record| self.explain(record)) {
                    Some(fault) => {
                        format!("kernel `{name}` hangs: {message}; before that: {fault}")
                    }
                    None => format!("kernel `{name}` hangs: {message}"),
                }
            };
            why.get_or_insert_with(|| text.clone());
            if let Some(running) = self.kernels[slot].running.take() {
                let error = if design {
                    Error::Card(CardError::Design(text))
                } else {
                    Error::Hang(text)
                };
                self.end(&running.ticket, Err(error));
            }
        }
        let why = why.unwrap_or(message);
        self.end_transfers(|| Error::Broken(why.clone()));
        self.broken = Some(why);
        self.end_if_broken();
    }
}

/// Whether a message of the card is about a kernel: one of its memory ports, or a place inside it.
fn names(message: &str, kernel: &str) -> bool {
    ["({}", "gen_{}"]
        .map(|place| place.replace("{}", kernel))
        .iter()
        .any(|place| {
            message
                .match_indices(place.as_str())
                .any(|(at, _)| message[at + place.len()..].starts_with([')', '.']))
        })
}

fn cancelled(ticket: &Ticket, why: &'static str) -> Error {
    Error::Cancelled {
        kernel: ticket.kernel.clone(),
        why,
    }
}
