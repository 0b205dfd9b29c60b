// SPDX-License-Identifier: Apache-2.0
//! An open card, and what all its handles share.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use godwit_card::{
    Description, Device, MemEvent, Memory, OpenOptions, PortAnswers, PortBatch, Ports, SimCard,
    Stats, closest,
};
use godwit_core::{Mode, layout};

use crate::context::Context;
use crate::counters::Counters;
use crate::frames::{Extent, FRAME_BYTES};
use crate::launch_builder::LaunchBuilder;
use crate::queue::CommandQueue;
use crate::state::State;
use crate::table_memory::FramePool;
use crate::{Error, Fault, mmu};

/// An open card. Clones are handles of the same card.
#[derive(Clone)]
pub struct Card {
    pub(crate) shared: Arc<Shared>,
}

/// What the handles of a card share.
pub(crate) struct Shared {
    state: Mutex<Option<State>>,
    pub description: Description,
    pub memory: Arc<Memory>,
    pub pool: FramePool,
    /// The process that opened the card.
    owner: u32,
}

/// What a port's addresses are.
#[derive(Debug, Clone, Copy)]
pub enum Binding<'a> {
    /// Nothing: every access is answered with an error.
    Off,
    /// Virtual addresses of a context.
    Translate(&'a Context),
    /// Physical addresses.
    Bare,
}

impl Shared {
    /// Works on a card that can be used.
    pub fn with<R>(&self, work: impl FnOnce(&mut State) -> Result<R, Error>) -> Result<R, Error> {
        self.with_any(|state| {
            if let Some(why) = &state.broken {
                return Err(Error::Broken(why.clone()));
            }
            let result = work(state);
            if let Err(Error::Hang(message)) = &result {
                state.broken = Some(message.clone());
            }
            result
        })
    }

    /// Works on a card that is open, even if it hung.
    pub fn with_any<R>(
        &self,
        work: impl FnOnce(&mut State) -> Result<R, Error>,
    ) -> Result<R, Error> {
        if self.owner != std::process::id() {
            return Err(Error::WrongProcess { owner: self.owner });
        }
        work(self.lock().as_mut().ok_or(Error::Closed)?)
    }

    fn lock(&self) -> MutexGuard<'_, Option<State>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        if self.owner != std::process::id() {
            // A forked child shares device memory with its parent, which still uses it: nothing may be freed in it.
            std::mem::forget(self.lock().take());
        }
    }
}

impl Card {
    /// Opens the card `device`: `sim:NAME` for a built one, or `sim:/path/to/libgw_card.so`.
    pub fn open(device: &str, options: OpenOptions) -> Result<Self, Error> {
        Self::with_device(Box::new(SimCard::open(
            device,
            &options.require_spec(layout::SPEC_HASH),
        )?))
    }

    /// Runs on any backend.
    pub fn with_device(mut device: Box<dyn Device>) -> Result<Self, Error> {
        mmu::bring_up(device.as_mut())?;
        let description = device.description().clone();
        let memory = Arc::clone(device.memory());
        let pool = FramePool::new(Arc::clone(&memory));
        let ring = pool.lock().alloc_top().ok_or_else(|| {
            Error::Hardware("device memory does not even hold the command queue".to_owned())
        })?;
        let queue = CommandQueue::turn_on(device.as_mut(), ring)?;
        let state = Mutex::new(Some(State::new(device, queue)));
        let shared = Shared {
            state,
            description,
            memory,
            pool,
            owner: std::process::id(),
        };
        Ok(Self {
            shared: Arc::new(shared),
        })
    }

    /// What the card is.
    pub fn description(&self) -> &Description {
        &self.shared.description
    }

    /// Device memory by physical address, for what no buffer is made for: oracles, loaders, debuggers.
    pub fn memory(&self) -> &Memory {
        &self.shared.memory
    }

    /// A new, empty address space; the widest mode the card walks when none is given.
    pub fn context(&self, mode: Option<Mode>) -> Result<Context, Error> {
        Context::new(self, mode)
    }

    /// Prepares a launch of the kernel `name`.
    pub fn kernel(&self, name: &str) -> Result<LaunchBuilder<'_>, Error> {
        let kernels = &self.description().kernels;
        let kernel = self.description().kernel(name).ok_or_else(|| {
            let names = kernels.iter().map(|kernel| kernel.name.as_str());
            Error::UnknownKernel {
                name: name.to_owned(),
                closest: closest(name, names.clone()).map(str::to_owned),
                kernels: names.map(str::to_owned).collect(),
            }
        })?;
        Ok(LaunchBuilder::new(self, kernel))
    }

    /// What the card has done since it was opened.
    pub fn stats(&self) -> Result<Stats, Error> {
        self.shared.with_any(|state| Ok(state.device.stats()?))
    }

    /// The hardware's counters, all as of one cycle. Reading them takes simulated time, in which they stand still.
    pub fn counters(&self) -> Result<Counters, Error> {
        let ports = self.description().port_count();
        self.shared
            .with(|state| Ok(mmu::counters(state.device.as_mut(), ports)?))
    }

    /// Sets the hardware's counters to zero.
    pub fn clear_counters(&self) -> Result<(), Error> {
        self.shared
            .with(|state| Ok(mmu::clear_counters(state.device.as_mut())?))
    }

    /// From now on counts, of events that belong to a context, only those of `context`; of all contexts with `None`.
    pub fn count_only(&self, context: Option<&Context>) -> Result<(), Error> {
        let id = context.map(Context::id);
        self.shared
            .with(|state| Ok(mmu::count_only(state.device.as_mut(), id)?))
    }

    /// Reads a register of the card's register space.
    pub fn reg_read(&self, offset: u64) -> Result<u32, Error> {
        self.shared.with(|state| Ok(state.device.reg_read(offset)?))
    }

    /// Writes a register of the card's register space. What the runtime keeps in registers must not be changed.
    pub fn reg_write(&self, offset: u64, value: u32) -> Result<(), Error> {
        self.shared
            .with(|state| Ok(state.device.reg_write(offset, value)?))
    }

    /// Lets time pass until an interrupt in `irq_mask` is high or `max_cycles` have passed; returns the lines.
    pub fn run(&self, max_cycles: u64, irq_mask: u32) -> Result<u32, Error> {
        self.shared
            .with(|state| Ok(state.device.run(max_cycles, irq_mask)?))
    }

    /// Drops every cached translation and waits for the acknowledge. The runtime does this by itself whenever it takes a
    /// mapping away.
    pub fn invalidate(&self) -> Result<(), Error> {
        self.shared
            .with(|state| mmu::invalidate(state.device.as_mut()))
    }

    /// Takes the oldest recorded fault that no launch has reported, for external ports.
    pub fn take_fault(&self) -> Result<Option<Fault>, Error> {
        self.shared.with(|state| {
            state.collect_faults()?;
            Ok(state
                .faults
                .pop_front()
                .map(|record| state.explain(record, &self.shared.description)))
        })
    }

    /// Bytes of device memory that are free, and those of the largest contiguous piece.
    pub fn memory_free(&self) -> (u64, u64) {
        let frames = self.shared.pool.lock();
        (frames.free_bytes(), frames.largest())
    }

    /// Takes `bytes` (whole frames) of zeroed device memory in one piece, for mappings that are made by hand.
    pub fn alloc_frames(&self, bytes: u64, align: u64) -> Result<Frames, Error> {
        if bytes == 0 || bytes % FRAME_BYTES != 0 || !align.is_power_of_two() {
            return Err(Error::Argument(format!(
                "frames: {bytes} bytes aligned to {align} are not whole frames aligned to a power of two"
            )));
        }
        let mut frames = self.shared.pool.lock();
        match frames.alloc_contiguous(bytes, align) {
            Some(extent) => Ok(Frames {
                card: self.clone(),
                extent,
            }),
            None => Err(Error::OutOfMemory {
                asked: bytes,
                contiguous: true,
                free: frames.free_bytes(),
                largest: frames.largest(),
            }),
        }
    }

    /// Says what the addresses of `port` are. Launches bind the ports of their kernels themselves.
    pub fn bind_port(&self, port: u32, binding: Binding<'_>) -> Result<(), Error> {
        let ports = self.description().port_count();
        if port >= ports {
            return Err(Error::Argument(format!(
                "port {port} of a card with {ports} ports"
            )));
        }
        self.shared.with(|state| {
            state.require_idle(port, &self.shared.description)?;
            match binding {
                Binding::Off => state.bind(port, layout::PORT_MODE_OFF, 0),
                Binding::Bare => state.bind(port, layout::PORT_MODE_BARE, 0),
                Binding::Translate(context) => {
                    let id = context.check(self, state)?;
                    state.bind(port, layout::PORT_MODE_TRANSLATE, id)
                }
            }
        })
    }

    /// Lets the card reach `memory` at `layout::HOST_APERTURE_BASE + bus_addr` over the host link; `None` ends that.
    pub fn set_host_window(&self, bus_addr: u64, memory: Option<Arc<Memory>>) -> Result<(), Error> {
        self.shared
            .with(|state| Ok(state.device.set_host_window(bus_addr, memory)?))
    }

    /// Queues requests of external ports.
    pub fn port_submit(&self, batch: &PortBatch) -> Result<(), Error> {
        self.with_ports(|ports| ports.submit(batch))
    }

    /// Lets time pass until everything submitted is answered, or `max_cycles` have passed.
    pub fn port_drain(&self, max_cycles: u64) -> Result<(), Error> {
        self.with_ports(|ports| ports.drain(max_cycles))
    }

    /// Takes all answers, oldest first, in place of what `answers` held.
    pub fn port_poll(&self, answers: &mut PortAnswers) -> Result<(), Error> {
        self.with_ports(|ports| ports.poll(answers))
    }

    /// Starts or stops the record of address handshakes on the memory side.
    pub fn record_events(&self, on: bool) -> Result<(), Error> {
        self.with_ports(|ports| ports.record_events(on))
    }

    /// Takes what was recorded.
    pub fn take_events(&self) -> Result<Vec<MemEvent>, Error> {
        self.with_ports(|ports| ports.take_events())
    }

    fn with_ports<R>(
        &self,
        work: impl FnOnce(&mut dyn Ports) -> Result<R, godwit_card::CardError>,
    ) -> Result<R, Error> {
        self.shared.with(|state| match state.device.ports() {
            Some(ports) => Ok(work(ports)?),
            None => Err(Error::Hardware(
                "this device has no ports that can be driven from outside".into(),
            )),
        })
    }

    /// Closes the card for all its handles. Buffers keep their memory for the host until they are dropped; everything
    /// else fails from now on. Closing twice does nothing.
    pub fn close(&self) -> Result<(), Error> {
        if self.shared.owner != std::process::id() {
            return Err(Error::WrongProcess {
                owner: self.shared.owner,
            });
        }
        let state = self.shared.lock().take();
        drop(state);
        Ok(())
    }

    /// Whether it is open.
    pub fn is_open(&self) -> bool {
        self.shared.lock().is_some()
    }
}

impl std::fmt::Debug for Card {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Card")
            .field("name", &self.description().name)
            .finish_non_exhaustive()
    }
}

/// Device memory in one piece that belongs to no buffer; freed when dropped. Unmap it before that.
#[derive(Debug)]
pub struct Frames {
    card: Card,
    extent: Extent,
}

impl Frames {
    /// Where it is.
    pub fn extent(&self) -> Extent {
        self.extent
    }
}

impl Drop for Frames {
    fn drop(&mut self) {
        if self.card.shared.owner == std::process::id() {
            self.card.shared.pool.free(self.extent);
        }
    }
}
