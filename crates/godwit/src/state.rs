// SPDX-License-Identifier: Apache-2.0
//! What is going on on a card: the device, its contexts, its ports. Guarded by one lock.

use std::collections::{BTreeMap, VecDeque};

use godwit_card::{Description, Device};
use godwit_core::{Invalidation, PageTable, Perm, layout};

use crate::fault::NearBuffer;
use crate::launch;
use crate::mmu::{self, FaultRecord};
use crate::queue::CommandQueue;
use crate::table_memory::FramePool;
use crate::{Error, Fault};

pub(crate) struct State {
    pub device: Box<dyn Device>,
    pub queue: CommandQueue,
    /// By hardware number.
    pub contexts: Vec<Option<ContextState>>,
    pub ports: Vec<PortState>,
    /// Faults taken from the record, not reported yet.
    pub faults: VecDeque<FaultRecord>,
    /// Why the card must not be used any more.
    pub broken: Option<String>,
    next_serial: u64,
}

pub(crate) struct ContextState {
    pub serial: u64,
    pub table: PageTable<FramePool>,
    /// Live buffers by first address.
    pub buffers: BTreeMap<u64, BufferState>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct BufferState {
    pub len: u64,
    pub writable: bool,
    pub contiguous: bool,
}

#[derive(Default)]
pub(crate) struct PortState {
    /// Mode and context as last written; `None` after reset.
    pub binding: Option<(u32, usize)>,
    /// The kernel's interrupts are enabled.
    pub interrupts: bool,
    pub running: Option<Running>,
    /// The kernel did not stop when it was told to.
    pub stuck: bool,
}

/// A launch that is not done.
pub(crate) struct Running {
    pub serial: u64,
    /// Its addresses are physical: nothing stands between it and any frame.
    pub bare: bool,
    /// Context and buffers it was given, by their serial number and first addresses.
    pub context: Option<u64>,
    pub buffers: Vec<u64>,
}

impl State {
    pub fn new(device: Box<dyn Device>, queue: CommandQueue) -> Self {
        let description = device.description();
        let contexts = (0..description.config.contexts.count)
            .map(|_| None)
            .collect();
        let ports = (0..description.port_count())
            .map(|_| PortState::default())
            .collect();
        Self {
            device,
            queue,
            contexts,
            ports,
            faults: VecDeque::new(),
            broken: None,
            next_serial: 0,
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
        Ok(())
    }

    /// Fails while a kernel works behind `port`.
    pub fn require_idle(&self, port: u32, description: &Description) -> Result<(), Error> {
        let kernel = || kernel_name(description, port).unwrap_or_default();
        let state = &self.ports[port as usize];
        if state.stuck {
            return Err(Error::Busy(format!(
                "kernel `{}` was cancelled before and has not stopped: open the card again to use it",
                kernel()
            )));
        }
        if state.running.is_some() {
            return Err(Error::Busy(format!(
                "kernel `{}` is running: wait for it or cancel it",
                kernel()
            )));
        }
        Ok(())
    }

    /// Takes mappings away and waits until the hardware has forgotten them.
    pub fn unmap(&mut self, id: usize, serial: u64, va: u64, len: u64) -> Result<(), Error> {
        let mut what = Invalidation::new();
        self.context(id, serial)?.table.unmap(va, len, &mut what)?;
        self.forget(id, &what)?;
        self.context(id, serial)?.table.reclaim();
        Ok(())
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
            self.queue.invalidate(self.device.as_mut(), id, what)?;
        }
        Ok(())
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
        self.cancel_where(|running| {
            running.context == Some(serial) && running.buffers.contains(&va)
        })?;
        self.unmap(id, serial, va, len)
    }

    /// Ends a context: nothing reaches its tables afterwards, and their frames are free.
    pub fn close_context(&mut self, id: usize, serial: u64) -> Result<(), Error> {
        if self.context(id, serial).is_err() {
            return Ok(());
        }
        self.cancel_where(|running| running.context == Some(serial))?;
        for port in 0..self.ports.len() {
            if self.ports[port].binding == Some((layout::PORT_MODE_TRANSLATE, id)) {
                self.bind(port as u32, layout::PORT_MODE_OFF, 0)?;
            }
        }
        mmu::set_context(self.device.as_mut(), id, None)?;
        mmu::invalidate(self.device.as_mut())?;
        self.contexts[id] = None;
        Ok(())
    }

    /// Stops the launches that a caller is about to take something away from. Fails when one goes on and could still
    /// reach it.
    fn cancel_where(&mut self, concerned: impl Fn(&Running) -> bool) -> Result<(), Error> {
        for port in 0..self.ports.len() {
            if self.ports[port].running.as_ref().is_some_and(&concerned) {
                let kernel =
                    kernel_name(self.device.description(), port as u32).unwrap_or_default();
                launch::cancel(self, port as u32, &kernel)?;
            }
        }
        match &self.broken {
            Some(why) => Err(Error::Broken(why.clone())),
            None => Ok(()),
        }
    }

    /// Moves a recorded fault, if there is one, to `faults`.
    pub fn collect_faults(&mut self) -> Result<(), Error> {
        self.faults.extend(mmu::take_fault(self.device.as_mut())?);
        Ok(())
    }

    /// Takes the fault of `port` out of those collected.
    pub fn fault_of(&mut self, port: u32) -> Option<FaultRecord> {
        let index = self.faults.iter().position(|fault| fault.port == port)?;
        self.faults.remove(index)
    }

    /// A fault in words.
    pub fn explain(&self, record: FaultRecord, description: &Description) -> Fault {
        let buffers = self
            .contexts
            .get(record.context as usize)
            .and_then(Option::as_ref)
            .map(|context| &context.buffers);
        let nearest = buffers.and_then(|buffers| nearest(buffers, record.address));
        Fault::new(record, kernel_name(description, record.port), nearest)
    }
}

/// The kernel on a port, unless it is an external one.
fn kernel_name(description: &Description, port: u32) -> Option<String> {
    description
        .kernels
        .iter()
        .find(|kernel| kernel.port == port)
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
        };
        let buffers = BTreeMap::from([(0x1000, state(0x1000)), (0x8000, state(0x2000))]);
        let near = |address| nearest(&buffers, address).unwrap().address;
        assert_eq!([0, 0x1000, 0x1fff, 0x4fff].map(near), [0x1000; 4]);
        assert_eq!([0x5001, 0x8000, 0x9fff, u64::MAX].map(near), [0x8000; 4]);
        assert_eq!(nearest(&BTreeMap::new(), 5), None);
    }
}
