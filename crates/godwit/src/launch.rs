// SPDX-License-Identifier: Apache-2.0
//! Kernels at work.

use godwit_card::{ArgKind, Device, Kernel, Stats};
use godwit_core::layout;

use crate::Error;
use crate::card::Card;
use crate::state::{Running, State};

/// Cycles a cancelled kernel gets to come to its end with every access refused.
const STOP_MAX_CYCLES: u64 = 200_000;
/// Cycles between two looks at the clock while waiting.
const SLICE_CYCLES: u64 = 1 << 20;

/// What a kernel has done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completion {
    /// Cycles from the start to the interrupt.
    pub cycles: u64,
    /// Virtual time of these cycles, in picoseconds.
    pub time_ps: u64,
    /// Virtual time of the whole launch: arguments written, kernel run, results read.
    pub launch_ps: u64,
    /// What the card did from the start to the interrupt.
    pub stats: Stats,
    /// Result registers, in the kernel's order.
    pub results: Vec<(String, u64)>,
}

impl Completion {
    /// The result register `name`.
    pub fn result(&self, name: &str) -> Option<u64> {
        self.results
            .iter()
            .find(|(result, _)| result == name)
            .map(|(_, value)| *value)
    }
}

/// A kernel that was started. Dropped before it is done, it is cancelled.
#[must_use = "a launch that is dropped is cancelled"]
pub struct Launch {
    card: Card,
    kernel: Kernel,
    serial: u64,
    timeout_cycles: Option<u64>,
    /// Before the arguments were written.
    called: Stats,
    /// When the kernel was started.
    started: Stats,
    finished: bool,
}

/// First register of the kernel on `port`.
fn control_block(port: u32) -> u64 {
    u64::from(layout::REGISTER_SPACE_KERNEL_BASE)
        + u64::from(port) * u64::from(layout::REGISTER_SPACE_KERNEL_STRIDE)
}

fn irq_of(port: u32) -> u32 {
    (layout::IRQ_KERNEL0 as u32) << port
}

/// Writes arguments and start bit.
fn start(state: &mut State, port: u32, registers: &[(u64, u32)]) -> Result<(), Error> {
    let base = control_block(port);
    let kernel = &mut state.ports[port as usize];
    if !kernel.interrupts {
        kernel.interrupts = true;
        state
            .device
            .reg_write(base + u64::from(layout::HLS_GIE), 1)?;
        state.device.reg_write(
            base + u64::from(layout::HLS_IER),
            layout::HLS_IRQ_DONE as u32,
        )?;
    }
    for (offset, value) in registers {
        state.device.reg_write(base + offset, *value)?;
    }
    state.device.reg_write(
        base + u64::from(layout::HLS_AP_CTRL),
        layout::HLS_CTRL_START as u32,
    )?;
    Ok(())
}

/// Lets time pass until the kernel on `port` is done; then its interrupt is acknowledged.
fn step(
    device: &mut dyn Device,
    port: u32,
    max_cycles: u64,
) -> Result<Option<(Stats, u32)>, Error> {
    let irq = device.run(max_cycles, irq_of(port))?;
    if irq & irq_of(port) == 0 {
        return Ok(None);
    }
    let stats = device.stats()?;
    device.reg_write(
        control_block(port) + u64::from(layout::HLS_ISR),
        layout::HLS_IRQ_DONE as u32,
    )?;
    Ok(Some((stats, irq)))
}

/// Stops the launch on `port`; returns whether the kernel stopped.
///
/// With its port off every access is refused, so that the kernel comes to its end, and what was translated before has
/// ended when that is waited for. A port with physical addresses cannot be changed while bursts are under
/// way: there the kernel only gets some time, and when it goes on nothing on the card is safe from it.
pub(crate) fn cancel(state: &mut State, port: u32, kernel: &str) -> Result<bool, Error> {
    let bare = state.ports[port as usize]
        .running
        .take()
        .is_some_and(|running| running.bare);
    // Until the end is known.
    state.ports[port as usize].stuck = true;
    if !bare {
        state.bind(port, layout::PORT_MODE_OFF, 0)?;
        state.queue.drain(state.device.as_mut())?;
    }
    let stopped = step(state.device.as_mut(), port, STOP_MAX_CYCLES)?.is_some();
    state.ports[port as usize].stuck = !stopped;
    state.collect_faults()?;
    while state.fault_of(port).is_some() {}
    if bare && !stopped {
        state.broken = Some(format!(
            "kernel `{kernel}` was launched with physical addresses and did not stop when it was told to"
        ));
    }
    Ok(stopped)
}

impl Launch {
    /// Starts a kernel behind a port that is idle: `binding` is the port's mode and context, `registers` are words of the
    /// control block and their offsets.
    pub(crate) fn start(
        card: &Card,
        kernel: &Kernel,
        state: &mut State,
        binding: (u32, usize),
        registers: &[(u64, u32)],
        running: Running,
        timeout_cycles: Option<u64>,
    ) -> Result<Self, Error> {
        let port = kernel.port;
        let called = state.device.stats()?;
        state.bind(port, binding.0, binding.1)?;
        // An older fault must not take the place of one of this launch in the record.
        if state.device.run(0, 0)? & layout::IRQ_MMU as u32 != 0 {
            state.collect_faults()?;
        }
        while state.fault_of(port).is_some() {}
        start(state, port, registers)?;
        let started = state.device.stats()?;
        let serial = running.serial;
        state.ports[port as usize].running = Some(running);
        let (card, kernel) = (card.clone(), kernel.clone());
        Ok(Self {
            card,
            kernel,
            serial,
            timeout_cycles,
            called,
            started,
            finished: false,
        })
    }

    /// Lets at most `max_cycles` pass; `None` while the kernel is not done.
    pub fn poll(&mut self, max_cycles: u64) -> Result<Option<Completion>, Error> {
        let port = self.kernel.port;
        let card = self.card.clone();
        let result = card.shared.with(|state| {
            self.require_running(state)?;
            let done = step(state.device.as_mut(), port, max_cycles);
            let Some((stats, irq)) = done.map_err(|error| self.with_fault(state, error))? else {
                return Ok(None);
            };
            state.ports[port as usize].running = None;
            if irq & layout::IRQ_MMU as u32 != 0 {
                state.collect_faults()?;
            }
            if let Some(record) = state.fault_of(port) {
                return Err(Error::Fault(Box::new(
                    state.explain(record, &card.shared.description),
                )));
            }
            self.complete(state, stats).map(Some)
        });
        self.finished = !matches!(result, Ok(None));
        result
    }

    /// Waits until the kernel is done.
    pub fn wait(mut self) -> Result<Completion, Error> {
        loop {
            let slice = self
                .left()?
                .map_or(SLICE_CYCLES, |left| left.min(SLICE_CYCLES));
            match self.poll(slice)? {
                Some(done) => return Ok(done),
                None if slice == 0 => return Err(self.time_out()),
                None => {}
            }
        }
    }

    /// Cycles until the timeout, if there is one.
    pub fn left(&self) -> Result<Option<u64>, Error> {
        let Some(timeout) = self.timeout_cycles else {
            return Ok(None);
        };
        let cycles = self.card.stats()?.cycles - self.started.cycles;
        Ok(Some(timeout.saturating_sub(cycles)))
    }

    /// Stops the kernel because its time is over; the error to return.
    pub fn time_out(&mut self) -> Error {
        let cycles = self.timeout_cycles.unwrap_or_default();
        match self.cancel() {
            Ok(stopped) => Error::Timeout {
                kernel: self.kernel.name.clone(),
                cycles,
                stopped,
            },
            Err(error) => error,
        }
    }

    /// Stops the kernel; returns whether it did stop. If it did not, it cannot be launched any more.
    pub fn cancel(&mut self) -> Result<bool, Error> {
        if std::mem::replace(&mut self.finished, true) {
            return Ok(true);
        }
        self.card
            .shared
            .with(|state| match self.require_running(state) {
                Ok(()) => cancel(state, self.kernel.port, &self.kernel.name),
                Err(_) => Ok(!state.ports[self.kernel.port as usize].stuck),
            })
    }

    fn require_running(&self, state: &State) -> Result<(), Error> {
        match &state.ports[self.kernel.port as usize].running {
            Some(running) if running.serial == self.serial => Ok(()),
            _ => Err(Error::Cancelled {
                kernel: self.kernel.name.clone(),
                why: "a buffer or the context that it used was freed",
            }),
        }
    }

    /// A hang with the fault that probably led to it.
    fn with_fault(&self, state: &mut State, error: Error) -> Error {
        let Error::Hang(message) = error else {
            return error;
        };
        let kernel = &self.kernel.name;
        // The registers may hang as well: then there is no more to say.
        let fault = state
            .collect_faults()
            .ok()
            .and_then(|()| state.fault_of(self.kernel.port));
        Error::Hang(match fault {
            Some(record) => {
                let fault = state.explain(record, &self.card.shared.description);
                format!("kernel `{kernel}` hangs: {message}; before that: {fault}")
            }
            None => format!("kernel `{kernel}` hangs: {message}"),
        })
    }

    /// Reads the results.
    fn complete(&self, state: &mut State, ended: Stats) -> Result<Completion, Error> {
        let base = control_block(self.kernel.port);
        let mut results = Vec::new();
        for arg in self.kernel.args.iter().filter(|arg| arg.kind.is_result()) {
            let mut value = u64::from(state.device.reg_read(base + arg.offset)?);
            if arg.kind == ArgKind::OutU64 {
                value |= u64::from(state.device.reg_read(base + arg.offset + 4)?) << 32;
            }
            results.push((arg.name.clone(), value));
        }
        let stats = ended.since(&self.started);
        let launch_ps = state.device.stats()?.time_ps - self.called.time_ps;
        Ok(Completion {
            cycles: stats.cycles,
            time_ps: stats.time_ps,
            launch_ps,
            stats,
            results,
        })
    }
}

impl Drop for Launch {
    fn drop(&mut self) {
        // What cannot be stopped is marked, and reported by the next launch.
        let _ = self.cancel();
    }
}
