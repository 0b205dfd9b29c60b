// SPDX-License-Identifier: Apache-2.0
//! The middle floor: what is going on on one card. [`State`] is the device with its contexts, ports and kernels, and belongs
//! to the [`engine`]'s thread; `launches.rs` is how kernels come to work and to their end; [`demand`] brings pages when they are
//! touched; a [`ticket`] is what the outside sees of a launch.

pub(crate) mod costs;
pub(crate) mod demand;
pub(crate) mod driven;
pub(crate) mod engine;
mod heap;
mod heap_watch;
mod launches;
pub(crate) mod lines;
pub(crate) mod notifier;
mod paces;
mod ranges;
pub(crate) mod served;
pub(crate) mod steps;
pub(crate) mod ticket;
pub(crate) mod transfers;
pub(crate) mod written;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use godwit_card::{CardError, Description, Device, Kernel};
use godwit_core::{HostMemory, Invalidation, PageTable, Perm, layout};

use crate::NearBuffer;
use crate::fault::FaultRecord;
use crate::hardware::dma::Dma;
use crate::hardware::heap::Heap;
use crate::hardware::mmu;
use crate::hardware::queue::CommandQueue;
use crate::hardware::table_memory::FramePool;
use crate::state::heap_watch::HeapWatch;
use crate::{Error, Fault};

use demand::{DemandState, Demands};
use driven::Driven;
pub(crate) use launches::Request;
use launches::{KernelState, Wait};
use lines::Lines;
use notifier::Notifier;
use ranges::Ranges;
use served::PageServer;
use steps::Steps;
use transfers::Transfers;

/// Most faults that are kept for those who ask.
const FAULTS_KEPT: usize = 256;
/// Ranges in a row of pages whose A was taken, until all between the last ones counts as one, too.
const AGED: usize = 64;

pub(crate) struct State {
    pub device: Box<dyn Device>,
    pub queue: CommandQueue,
    /// The page DMA, if the card has one.
    transfers: Option<Transfers>,
    /// Somebody polls its fence.
    polls: bool,
    /// The heap in hardware, if the card has one, and who waits for its frames.
    heap: Option<(Heap, HeapWatch)>,
    /// Page requests, from the first reservation on.
    demands: Option<Demands>,
    /// Groups of pages in place are counted.
    lines: Option<Lines>,
    /// Host memory is cached.
    has_page_cache: bool,
    /// Frames of device memory.
    pool: FramePool,
    /// By hardware number.
    pub contexts: Vec<Option<ContextState>>,
    ports: Vec<PortState>,
    /// What buffers want of the range TLB.
    pub ranges: Ranges,
    /// By slot.
    kernels: Vec<KernelState>,
    /// For whom the clock runs.
    waits: Vec<Wait>,
    driven: Vec<Driven>,
    notifier: Notifier,
    /// Faults taken from the record, not reported yet.
    faults: VecDeque<FaultRecord>,
    /// Why the card must not be used any more.
    pub broken: Option<String>,
    next_serial: u64,
    /// Where the time of migrations went.
    pub steps: Steps,
    /// For which the host has been at work since it last said that it is there.
    quiet_cycles: u64,
}

pub(crate) struct ContextState {
    pub serial: u64,
    pub table: PageTable<FramePool>,
    /// Live buffers by first address.
    pub buffers: BTreeMap<u64, BufferState>,
    /// Reservations among them, whose pages come when they are touched.
    pub demands: BTreeMap<u64, DemandState>,
    /// The hardware asks for its pages.
    pub asks: bool,
    /// Who brings pages that no reservation has.
    pub server: Option<Arc<dyn PageServer>>,
    /// Pages that it was asked for and that no access has got yet: first address and what the response names.
    pub awaited: Vec<(u64, u32)>,
    /// Those asked for while they were on their way already.
    pub passing: Vec<(u64, u32)>,
    /// Lists of pages that it works on: the clock stands until then, but for what is charged.
    pub serving: usize,
    /// It may have allocations of the heap in hardware.
    pub allocates: bool,
    /// Allocations that were made smaller: what was cut off may not be taken back yet.
    pub shrunk: BTreeSet<u64>,
    /// Pages whose A was taken and that translations in use may still be of: hardware does not set it again for those.
    pub aged: Invalidation,
}

impl ContextState {
    pub fn new(serial: u64, table: PageTable<FramePool>) -> Self {
        Self {
            serial,
            table,
            buffers: BTreeMap::new(),
            demands: BTreeMap::new(),
            asks: false,
            server: None,
            awaited: Vec::new(),
            passing: Vec::new(),
            serving: 0,
            allocates: false,
            shrunk: BTreeSet::new(),
            aged: Invalidation::with_capacity(AGED),
        }
    }
}

pub(crate) struct BufferState {
    pub len: u64,
    pub writable: bool,
    pub contiguous: bool,
    /// Of memory that is not the card's own: every launch asks whether it may still be used.
    pub owner: Option<Arc<dyn HostMemory>>,
    /// Memory of the program, used in place: its physical address and bytes.
    pub host: Option<(u64, u64)>,
}

#[derive(Default)]
pub(crate) struct PortState {
    /// Mode and context as last written; `None` after reset.
    pub binding: Option<(u32, usize)>,
}

impl State {
    pub fn new(
        device: Box<dyn Device>,
        pool: FramePool,
        queue: CommandQueue,
        dma: Option<Dma>,
    ) -> Self {
        let description = device.description();
        let contexts = (0..description.config.contexts.count)
            .map(|_| None)
            .collect();
        let ports = (0..description.port_count())
            .map(|_| PortState::default())
            .collect();
        let kernels = KernelState::all(description);
        let has_page_cache = description.config.page_cache.pages > 0;
        Self {
            device,
            queue,
            transfers: dma.map(Transfers::new),
            polls: false,
            heap: None,
            demands: None,
            lines: None,
            has_page_cache,
            pool,
            contexts,
            ports,
            ranges: Ranges::default(),
            kernels,
            waits: Vec::new(),
            driven: Vec::new(),
            notifier: Notifier::default(),
            faults: VecDeque::new(),
            broken: None,
            next_serial: 0,
            steps: Steps::default(),
            quiet_cycles: 0,
        }
    }

    /// A number that nothing else on this card has.
    pub fn serial(&mut self) -> u64 {
        self.next_serial += 1;
        self.next_serial
    }

    /// The context with this number, if it still is the one with this serial number.
    pub fn context(&mut self, id: usize, serial: u64) -> Result<&mut ContextState, Error> {
        match self.contexts.get_mut(id) {
            Some(Some(context)) if context.serial == serial => Ok(context),
            _ => Err(Error::ContextClosed),
        }
    }

    pub fn bind(&mut self, port: u32, mode: u32, context: usize) -> Result<(), Error> {
        let known = &mut self.ports[port as usize].binding;
        if *known != Some((mode, context)) {
            *known = None;
            mmu::bind_port(self.device.as_mut(), port, mode, context)?;
            self.ports[port as usize].binding = Some((mode, context));
        }
        self.may_allocate(port, mode, context);
        Ok(())
    }

    /// A kernel that allocates by itself may do so in the context of its port from now on.
    fn may_allocate(&mut self, port: u32, mode: u32, context: usize) {
        let of_port = |kernel: &Kernel| kernel.allocates && kernel.ports().contains(&port);
        let translated = mode == layout::PORT_MODE_TRANSLATE;
        if translated && self.device.description().kernels.iter().any(of_port) {
            if let Some(Some(context)) = self.contexts.get_mut(context) {
                context.allocates = true;
            }
        }
    }

    /// A call failed: when the card did, that is the end of everything on it.
    pub fn failed(&mut self, error: &Error) {
        match error {
            Error::Hang(message) => self.break_down(Error::Hang(message.clone())),
            Error::Card(CardError::Design(message)) => {
                self.break_down(CardError::Design(message.clone()).into());
            }
            _ => {}
        }
    }

    /// Takes mappings away and waits until the hardware has forgotten them.
    pub fn unmap(&mut self, id: usize, serial: u64, va: u64, len: u64) -> Result<(), Error> {
        self.unmap_all(id, serial, &[(va, len)])
    }

    /// The same for several ranges, waited for once; translations of pages whose A was taken are dropped with them, or with the next that are, if
    /// nothing could be unmapped. After an error those before the one that failed are unmapped.
    pub fn unmap_all(
        &mut self,
        id: usize,
        serial: u64,
        ranges: &[(u64, u64)],
    ) -> Result<(), Error> {
        let context = self.context(id, serial)?;
        let mut what = std::mem::replace(&mut context.aged, Invalidation::with_capacity(AGED));
        let table = &mut context.table;
        let unmapped = ranges
            .iter()
            .try_for_each(|(va, len)| table.unmap(*va, *len, &mut what));
        if what.is_needed() {
            self.forget(id, &what)?;
        } else {
            self.context(id, serial)?.aged = what;
        }
        self.context(id, serial)?.table.reclaim();
        Ok(unmapped?)
    }

    /// Drops every cached translation and waits for the acknowledge.
    pub fn invalidate(&mut self) -> Result<(), Error> {
        self.ranges.invalidated();
        mmu::invalidate(self.device.as_mut())
    }

    /// Gives the range TLB's entries to those who want them.
    pub fn settle_ranges(&mut self) -> Result<(), Error> {
        Ok(self.ranges.settle(self.device.as_mut())?)
    }

    /// Changes what mappings allow and waits until nothing that was taken away is used.
    pub fn protect(
        &mut self,
        id: usize,
        serial: u64,
        va: u64,
        len: u64,
        perm: Perm,
    ) -> Result<(), Error> {
        let mut what = Invalidation::new();
        let table = &mut self.context(id, serial)?.table;
        table.protect(va, len, perm, &mut what)?;
        self.forget(id, &what)
    }

    /// Lets the hardware drop what was taken away of a context, if it has to, and waits until no access uses it.
    fn forget(&mut self, id: usize, what: &Invalidation) -> Result<(), Error> {
        if what.is_needed() {
            self.ranges.invalidated();
            self.queue.invalidate(self.device.as_mut(), id, what)?;
        }
        Ok(())
    }

    /// Writes what kernels stored in host memory there, and forgets what is cached of it: of these ranges (first physical address,
    /// bytes), or of `None` all of it.
    pub fn flush(&mut self, ranges: Option<&[(u64, u64)]>) -> Result<(), Error> {
        if !self.has_page_cache {
            return Ok(());
        }
        self.queue.flush(self.device.as_mut(), ranges)
    }

    /// The same for what a launch was given.
    fn flush_for(&mut self, request: &Request) -> Result<(), Error> {
        let of_launch = |context: &&ContextState| Some(context.serial) == request.context;
        let in_place = |context: &ContextState| -> Vec<(u64, u64)> {
            let given = |va: &u64| context.buffers.get(va).and_then(|buffer| buffer.host);
            request.buffers.iter().filter_map(given).collect()
        };
        let context = self.contexts.iter().flatten().find(of_launch);
        let ranges = context.map(in_place).unwrap_or_default();
        self.flush(Some(&ranges))
    }

    /// Ends a buffer's life on the device; its frames may be used again afterwards.
    pub fn remove_buffer(
        &mut self,
        id: usize,
        serial: u64,
        va: u64,
        len: u64,
    ) -> Result<(), Error> {
        match self.context(id, serial) {
            // Closing the context has unmapped everything.
            Err(_) => return Ok(()),
            Ok(context) => context.buffers.remove(&va),
        };
        self.ranges.forget(id as u32, va, len);
        self.cancel_where(|request| {
            request.context == Some(serial) && request.buffers.contains(&va)
        })?;
        if self.context(id, serial)?.demands.contains_key(&va) {
            return self.end_demand(id, serial, va);
        }
        self.unmap(id, serial, va, len)
    }

    /// Ends a context: nothing reaches its tables afterwards, and their frames are free.
    pub fn close_context(&mut self, id: usize, serial: u64) -> Result<(), Error> {
        if self.context(id, serial).is_err() {
            return Ok(());
        }
        self.cancel_where(|request| request.context == Some(serial))?;
        for port in 0..self.ports.len() {
            if self.ports[port].binding == Some((layout::PORT_MODE_TRANSLATE, id)) {
                self.bind(port as u32, layout::PORT_MODE_OFF, 0)?;
            }
        }
        self.end_heap(id, serial)?;
        mmu::set_context(self.device.as_mut(), id, None, mmu::Walks::default())?;
        self.invalidate()?;
        self.ranges.forget_context(id as u32);
        self.contexts[id] = None;
        Ok(())
    }

    /// Moves a recorded fault, if there is one, to those kept; whether there was one.
    fn collect_faults(&mut self) -> Result<bool, Error> {
        let fault = mmu::take_fault(self.device.as_mut())?;
        let found = fault.is_some();
        self.faults.extend(fault);
        if self.faults.len() > FAULTS_KEPT {
            self.faults.pop_front();
        }
        Ok(found)
    }

    /// Takes the oldest fault that no launch has reported.
    pub fn take_fault(&mut self) -> Result<Option<Fault>, Error> {
        self.collect_faults()?;
        let record = self.faults.pop_front();
        Ok(record.map(|record| self.explain(record)))
    }

    /// Takes the fault of one of these ports out of those collected.
    fn fault_of(&mut self, ports: &[u32]) -> Option<FaultRecord> {
        let index = self
            .faults
            .iter()
            .position(|fault| ports.contains(&fault.port))?;
        self.faults.remove(index)
    }

    /// A fault in words.
    fn explain(&self, record: FaultRecord) -> Fault {
        let description = self.device.description();
        let buffers = self
            .contexts
            .get(record.context as usize)
            .and_then(Option::as_ref)
            .map(|context| &context.buffers);
        let nearest = buffers.and_then(|buffers| nearest(buffers, record.address));
        let page = self.refusal(record.context, record.address);
        Fault::new(record, kernel_name(description, record.port), nearest, page)
    }
}

/// The kernel on a port, unless it is an external one.
fn kernel_name(description: &Description, port: u32) -> Option<String> {
    description
        .kernels
        .iter()
        .find(|kernel| kernel.ports().contains(&port))
        .map(|kernel| kernel.name.clone())
}

/// The buffer that holds an address, or the one with the smallest distance to it.
fn nearest(buffers: &BTreeMap<u64, BufferState>, address: u64) -> Option<NearBuffer> {
    let before = buffers.range(..=address).next_back();
    let after = buffers.range(address..).next();
    let distance = |(start, state): &(&u64, &BufferState)| {
        start
            .saturating_sub(address)
            .max(address.saturating_sub(*start + (state.len - 1)))
    };
    let (address, state) = before.into_iter().chain(after).min_by_key(distance)?;
    Some(NearBuffer {
        address: *address,
        len: state.len,
        writable: state.writable,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_buffer_is_the_one_around_or_beside() {
        let state = |len| BufferState {
            len,
            writable: true,
            contiguous: true,
            owner: None,
            host: None,
        };
        let buffers = BTreeMap::from([(0x1000, state(0x1000)), (0x8000, state(0x2000))]);
        let near = |address| nearest(&buffers, address).unwrap().address;
        assert_eq!([0, 0x1000, 0x1fff, 0x4fff].map(near), [0x1000; 4]);
        assert_eq!([0x5001, 0x8000, 0x9fff, u64::MAX].map(near), [0x8000; 4]);
        assert_eq!(nearest(&BTreeMap::new(), 5), None);
    }
}
