// SPDX-License-Identifier: Apache-2.0
//! An open card, and what all its handles share.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use godwit_card::{
    Description, Device, MemEvent, Memory, OpenOptions, PortAnswers, PortBatch, Ports, SimCard,
    Stats,
};
use godwit_core::layout;

use crate::driver::{self, DriverCard};
use crate::hardware::counters::Counters;
use crate::hardware::dma::{Dma, Move};
use crate::hardware::frames::Extent;
use crate::hardware::heap::{HEAP_HOST, HOST_BUS, Region};
use crate::hardware::mmu;
use crate::hardware::queue::CommandQueue;
use crate::hardware::table_memory::FramePool;

use crate::state::State;
use crate::state::driven::Drain;
use crate::state::engine::Engine;
use crate::state::transfers::Transfer;
use crate::svm::shown::Shown;
use crate::svm::{OwnerId, Pager};
use crate::{Error, Fault};

/// An open card. Clones are handles of the same card.
#[derive(Clone)]
pub struct Card {
    pub(crate) shared: Arc<Shared>,
}

/// What the handles of a card share.
pub(crate) struct Shared {
    pub backend: Backend,
    pub description: Description,
    pub memory: Arc<Memory>,
    /// What the heap gives of this process's memory.
    pub heap_host: Option<Arc<Memory>>,
    pub pool: FramePool,
    /// Where bytes of explicit copies wait for the page DMA.
    pub staging: Mutex<Option<Arc<Memory>>>,
    /// What the process's contiguous memory is made of.
    pub reserve: Mutex<Option<Extent>>,
    /// Contexts with which the program's memory is shared.
    sharing: Mutex<Vec<(Arc<Pager>, OwnerId)>>,
    /// Memory of the pager that the page DMA reaches, by first address.
    pub pager_memory: Mutex<BTreeSet<u64>>,
    /// Memory of other cards that it reaches, by address in this process.
    pub peers: Mutex<BTreeSet<u64>>,
    /// Contexts with memory of the heap in hardware.
    heaps: Mutex<Vec<Weak<Shown>>>,
    /// The process that opened the card.
    owner: u32,
}

/// Who works on the card.
pub(crate) enum Backend {
    /// A thread of this process.
    Engine(Engine),
    /// Linux: there is no [`State`] here.
    Driver(DriverCard),
}

impl Shared {
    /// The driver, if the card is behind it.
    pub fn driver(&self) -> Option<&DriverCard> {
        match &self.backend {
            Backend::Engine(_) => None,
            Backend::Driver(driver) => Some(driver),
        }
    }

    /// Works on the card some time, if it is this process's.
    pub fn post(&self, work: impl FnOnce(&mut Option<State>) + Send + 'static) {
        if let Backend::Engine(engine) = &self.backend {
            engine.post(work);
        }
    }

    /// Works on a card that can be used.
    pub fn with<R: Send>(
        &self,
        work: impl FnOnce(&mut State) -> Result<R, Error> + Send,
    ) -> Result<R, Error> {
        self.with_any(|state| usable(state, work))
    }

    /// The same, for the pager's thread alone, which does it itself when the card's thread rests.
    pub fn with_from_pager<R: Send>(
        &self,
        work: impl FnOnce(&mut State) -> Result<R, Error> + Send,
    ) -> Result<R, Error> {
        let engine = self.engine()?;
        engine.call_from_pager(|state| usable(state.as_mut().ok_or(Error::Closed)?, work))
    }

    /// Works on a card that is open, even if it hung.
    pub fn with_any<R: Send>(
        &self,
        work: impl FnOnce(&mut State) -> Result<R, Error> + Send,
    ) -> Result<R, Error> {
        let engine = self.engine()?;
        engine.call(|state| work(state.as_mut().ok_or(Error::Closed)?))
    }

    /// Who works on the card, if that is this process's.
    fn engine(&self) -> Result<&Engine, Error> {
        self.check_process()?;
        match &self.backend {
            Backend::Engine(engine) => Ok(engine),
            Backend::Driver(driver) if driver.is_open() => Err(driver.not_there()),
            Backend::Driver(_) => Err(Error::Closed),
        }
    }

    pub fn check_process(&self) -> Result<(), Error> {
        if self.owner != std::process::id() {
            return Err(Error::WrongProcess { owner: self.owner });
        }
        Ok(())
    }

    fn sharing(&self) -> MutexGuard<'_, Vec<(Arc<Pager>, OwnerId)>> {
        self.sharing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The program's memory is shared with a context.
    pub fn remember(&self, pager: &Arc<Pager>, owner: OwnerId) {
        self.sharing().push((Arc::clone(pager), owner));
    }

    /// This process sees memory of a context's heap.
    pub fn remember_heap(&self, view: &Arc<Shown>) {
        let mut heaps = self.heaps.lock().unwrap_or_else(PoisonError::into_inner);
        heaps.retain(|view| view.strong_count() > 0);
        heaps.push(Arc::downgrade(view));
    }

    /// Kernels, or masters outside, may have written pages of heaps that this process saw as untouched.
    pub fn look_again(&self) {
        let heaps = self.heaps.lock().unwrap_or_else(PoisonError::into_inner);
        let views: Vec<_> = heaps.iter().filter_map(Weak::upgrade).collect();
        drop(heaps);
        views.iter().for_each(|view| view.look_again());
    }

    /// It is not any more.
    pub fn forget(&self, owner: OwnerId) {
        self.sharing().retain(|(_, of)| *of != owner);
    }
}

/// Works on a card that can be used.
fn usable<R>(
    state: &mut State,
    work: impl FnOnce(&mut State) -> Result<R, Error>,
) -> Result<R, Error> {
    if let Some(why) = &state.broken {
        return Err(Error::Broken(why.clone()));
    }
    let result = work(state);
    if let Err(error) = &result {
        state.failed(error);
    }
    result
}

impl Drop for Shared {
    fn drop(&mut self) {
        let own = self.check_process().is_ok();
        match &self.backend {
            Backend::Engine(engine) if own => engine.close(),
            // A forked child has no engine, and shares device memory with its parent, which still uses it.
            Backend::Engine(engine) => engine.forget(),
            Backend::Driver(driver) if own => driver.close(),
            // What it has is a copy of open files, which end with it.
            Backend::Driver(_) => {}
        }
    }
}

impl Card {
    /// Opens the card `device`: `sim:NAME` for a built one, `sim:/path/to/libgw_card.so`, or `/dev/godwit0` for one that the driver has,
    /// whose kernels run on memory of the program ([`Context::share_process`](crate::Context::share_process)). What the driver does not
    /// give - buffers, registers, counters, page tables, the clock - is an error that says so. Its kernels are described in
    /// `/etc/godwit/godwit0.json`, the file that `GODWIT_DESCRIPTION` names, or that of the option `description`.
    pub fn open(device: &str, options: OpenOptions) -> Result<Self, Error> {
        if driver::is_node(device) {
            let (driver, description) = DriverCard::open(device, &options)?;
            return Self::with_driver(driver, description);
        }
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
        let mut parts = memories_of(&description);
        let heap = description.config.heap.clone();
        let mut regions = match heap.slots {
            0 => Vec::new(),
            _ => cut_heap(&description, &mut parts),
        };
        let heap_host = match heap.host_bytes {
            0 => None,
            bytes => {
                let host = Arc::new(Memory::new(bytes)?);
                device.set_host_window(HOST_BUS, Some(Arc::clone(&host)))?;
                let place = Extent {
                    pa: HEAP_HOST,
                    len: bytes,
                };
                regions.push(Region {
                    memory: parts.len(),
                    place,
                    strict: heap.strict || heap.host_strict,
                });
                Some(host)
            }
        };
        let pool = FramePool::new(Arc::clone(&memory), &parts);
        let ring = pool.lock().alloc_top().ok_or_else(|| {
            Error::Hardware("device memory does not even hold the command queue".to_owned())
        })?;
        let queue = CommandQueue::turn_on(device.as_mut(), ring)?;
        let dma = match description.config.dma.slots {
            0 => None,
            _ => Some(Dma::turn_on(device.as_mut())?),
        };
        let mut state = State::new(device, pool.clone(), queue, dma);
        if !regions.is_empty() {
            state.start_heap(regions, &heap)?;
        }
        let backend = Backend::Engine(Engine::start(state)?);
        Ok(Self::over(backend, description, (memory, heap_host), pool))
    }

    /// One that the driver has.
    pub(crate) fn with_driver(driver: DriverCard, description: Description) -> Result<Self, Error> {
        let memory = Arc::new(Memory::new(0)?);
        let pool = FramePool::new(Arc::clone(&memory), &[Extent { pa: 0, len: 0 }]);
        let backend = Backend::Driver(driver);
        Ok(Self::over(backend, description, (memory, None), pool))
    }

    fn over(
        backend: Backend,
        description: Description,
        (memory, heap_host): (Arc<Memory>, Option<Arc<Memory>>),
        pool: FramePool,
    ) -> Self {
        let shared = Shared {
            backend,
            description,
            memory,
            heap_host,
            pool,
            staging: Mutex::new(None),
            reserve: Mutex::new(None),
            sharing: Mutex::default(),
            pager_memory: Mutex::default(),
            peers: Mutex::default(),
            heaps: Mutex::default(),
            owner: std::process::id(),
        };
        Self {
            shared: Arc::new(shared),
        }
    }

    /// What the card is.
    pub fn description(&self) -> &Description {
        &self.shared.description
    }

    /// Device memory by physical address, for what no buffer is made for: oracles, loaders, debuggers. None of it on a card behind the
    /// driver.
    pub fn memory(&self) -> &Memory {
        &self.shared.memory
    }

    /// What the card has done since it was opened.
    pub fn stats(&self) -> Result<Stats, Error> {
        self.shared.with_any(|state| Ok(state.device.stats()?))
    }

    /// The hardware's counters, all as of one cycle. Reading them takes simulated time, in which they stand still. Behind the driver they
    /// count for all programs that use the card.
    pub fn counters(&self) -> Result<Counters, Error> {
        let ports = self.description().port_count();
        if let Some(driver) = self.shared.driver() {
            self.shared.check_process()?;
            return driver.counters(ports);
        }
        self.shared
            .with(|state| Ok(mmu::counters(state.device.as_mut(), ports)?))
    }

    /// Sets the hardware's counters to zero.
    pub fn clear_counters(&self) -> Result<(), Error> {
        self.shared
            .with(|state| Ok(mmu::clear_counters(state.device.as_mut())?))
    }

    /// Reads a register of the card's register space.
    pub fn reg_read(&self, offset: u64) -> Result<u32, Error> {
        self.shared.with(|state| {
            state.touched(offset);
            Ok(state.device.reg_read(offset)?)
        })
    }

    /// Writes a register of the card's register space. What the runtime keeps in registers must not be changed.
    pub fn reg_write(&self, offset: u64, value: u32) -> Result<(), Error> {
        self.shared.with(|state| {
            state.touched(offset);
            Ok(state.device.reg_write(offset, value)?)
        })
    }

    /// Lets time pass until an interrupt in `irq_mask` is high or `max_cycles` have passed; returns the lines.
    pub fn run(&self, max_cycles: u64, irq_mask: u32) -> Result<u32, Error> {
        let irq = self.shared.with(|state| state.run(max_cycles, irq_mask));
        self.shared.look_again();
        irq
    }

    /// Drops every cached translation and waits for the acknowledge. The runtime does this by itself whenever it takes a
    /// mapping away.
    pub fn invalidate(&self) -> Result<(), Error> {
        self.shared.with(State::invalidate)
    }

    /// Takes the oldest recorded fault that no launch has reported, for external ports.
    pub fn take_fault(&self) -> Result<Option<Fault>, Error> {
        self.shared.with(State::take_fault)
    }

    /// Lets the card reach `memory` at `layout::HOST_APERTURE_BASE + bus_addr` over the host link; `None` ends that.
    pub fn set_host_window(&self, bus_addr: u64, memory: Option<Arc<Memory>>) -> Result<(), Error> {
        self.shared
            .with(|state| Ok(state.device.set_host_window(bus_addr, memory)?))
    }

    /// Posts a list to the card's page DMA: moves between device memory and host memory that the card may reach
    /// ([`Card::set_host_window`]), in any order and side by side. Lists are done one after the other's end at the earliest; the clock
    /// runs until they are. What is moved to device memory is not looked at: use frames of your own ([`Card::alloc_frames`]).
    pub fn transfer(&self, moves: &[Move]) -> Result<Transfer, Error> {
        self.shared.with(|state| state.post_moves(moves))
    }

    /// Lets the card reach `len` bytes of this process from `addr` on, at the bus addresses of the same numbers
    /// ([`Side::Host`](crate::Side::Host)); whole lines of 64 bytes.
    ///
    /// # Safety
    /// Until [`Card::close_host`], or the card's end, that memory is there, reading and writing it needs nothing of this process (no
    /// fault that it serves itself), and nobody minds what the card writes to it.
    pub unsafe fn open_host(&self, addr: u64, len: u64) -> Result<(), Error> {
        self.shared.with(|state| {
            // SAFETY: as the caller says.
            Ok(unsafe { state.device.open_process_window(addr, len) }?)
        })
    }

    /// Ends that for what was opened at `addr`; nothing may be under way there.
    pub fn close_host(&self, addr: u64) -> Result<(), Error> {
        self.shared
            .with(|state| Ok(state.device.close_process_window(addr)?))
    }

    /// Queues requests of external ports.
    pub fn port_submit(&self, batch: &PortBatch) -> Result<(), Error> {
        self.with_ports(|ports| ports.submit(batch))
    }

    /// Lets time pass until everything submitted is answered, or `max_cycles` have passed. Launches go on meanwhile, and pages that
    /// these ports ask for are brought.
    pub fn port_drain(&self, max_cycles: u64) -> Result<(), Error> {
        self.with_ports(|_| Ok(()))?;
        let drain = Arc::new(Drain::default());
        let theirs = Arc::clone(&drain);
        self.shared
            .with(move |state| state.drain_ports(max_cycles, theirs))?;
        let done = drain.wait();
        self.shared.look_again();
        done
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

    fn with_ports<R: Send>(
        &self,
        work: impl FnOnce(&mut dyn Ports) -> Result<R, godwit_card::CardError> + Send,
    ) -> Result<R, Error> {
        let done = self.shared.with(|state| match state.device.ports() {
            Some(ports) => Ok(work(ports)?),
            None => Err(Error::Hardware(
                "this device has no ports that can be driven from outside".into(),
            )),
        });
        self.shared.look_again();
        done
    }

    /// Closes the card for all its handles. Buffers keep their memory for the host until they are dropped; everything
    /// else fails from now on, and whoever waits for a launch gets [`Error::Closed`]. Closing twice does nothing.
    pub fn close(&self) -> Result<(), Error> {
        self.shared.check_process()?;
        // What it has of the program's memory comes home.
        let sharing = std::mem::take(&mut *self.shared.sharing());
        for (pager, owner) in sharing {
            let _ = pager.detach(owner);
        }
        match &self.shared.backend {
            Backend::Engine(engine) => engine.close(),
            Backend::Driver(driver) => driver.close(),
        }
        Ok(())
    }

    /// Whether it is open.
    pub fn is_open(&self) -> bool {
        match self.shared.driver() {
            Some(driver) => self.shared.check_process().is_ok() && driver.is_open(),
            None => self.shared.with_any(|_| Ok(())).is_ok(),
        }
    }
}

impl std::fmt::Debug for Card {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Card")
            .field("name", &self.description().name)
            .finish_non_exhaustive()
    }
}

/// Where the memories are.
fn memories_of(description: &Description) -> Vec<Extent> {
    let memories = description.config.memories();
    let place = memories.into_iter().map(|(_, pa, len)| Extent { pa, len });
    place.collect()
}

/// Takes the heap's memory from the end of each of the memories that it is in.
fn cut_heap(description: &Description, parts: &mut [Extent]) -> Vec<Region> {
    let config = &description.config;
    let mut regions = Vec::new();
    for (memory, (part, (of, ..))) in parts.iter_mut().zip(config.memories()).enumerate() {
        let bytes = match memory {
            0 => config.heap.memory_bytes,
            _ => of.heap_bytes,
        };
        if bytes > 0 {
            part.len = part.len.saturating_sub(bytes);
            let place = Extent {
                pa: part.end(),
                len: bytes,
            };
            regions.push(Region {
                memory,
                place,
                strict: config.heap.strict || of.heap_strict,
            });
        }
    }
    regions
}
