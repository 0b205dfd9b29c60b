// SPDX-License-Identifier: Apache-2.0
//! Allocations of the heap in hardware, by context: buffers of kernels like others, which the hardware gives their memory.

use godwit_card::{Device, HeapConfig};
use godwit_core::layout;

use super::heap_watch::HeapWatch;
use super::{BufferState, State};
use crate::hardware::heap::{
    Heap, HeapMemory, HeapPage, HeapRegion, Region, Wish, already_the_programs, kernels_own, room,
};
use crate::hardware::heap_map::HeapMap;
use crate::{Error, HeapRefusal};

impl State {
    /// The heap of the card that has one begins.
    pub fn start_heap(&mut self, regions: Vec<Region>, config: &HeapConfig) -> Result<(), Error> {
        let pool = self.pool.clone();
        let heap = Heap::turn_on(self.device.as_mut(), &pool, regions, config)?;
        self.heap = Some((heap, HeapWatch::default()));
        Ok(())
    }

    /// New memory; its first byte.
    pub fn heap_malloc(
        &mut self,
        id: usize,
        serial: u64,
        bytes: u64,
        wish: Wish,
    ) -> Result<u64, Error> {
        self.context(id, serial)?.allocates = true;
        let (heap, device) = self.heap()?;
        let pointer = match heap.malloc(device, id, bytes, wish)? {
            Ok(pointer) => pointer,
            Err(refusal) => {
                let place = match refusal {
                    HeapRefusal::NoFrame => {
                        let found = heap.regions(device)?;
                        room(&found, wish, device.description())
                    }
                    _ => String::new(),
                };
                return Err(refused(format!("malloc of {bytes} bytes{place}"), refusal));
            }
        };
        let buffers = &mut self.context(id, serial)?.buffers;
        buffers.insert(pointer, allocation(bytes));
        Ok(pointer)
    }

    /// Another size for an allocation.
    pub fn heap_realloc(
        &mut self,
        id: usize,
        serial: u64,
        pointer: u64,
        bytes: u64,
    ) -> Result<(), Error> {
        let context = self.context(id, serial)?;
        let before = context.buffers.get(&pointer).map_or(0, |buffer| buffer.len);
        // Pages that grow again before they are taken back keep what was in them.
        if bytes > before && context.shrunk.remove(&pointer) {
            let (heap, device) = self.heap()?;
            heap.settle(device)?;
        }
        let (heap, device) = self.heap()?;
        heap.realloc(device, id, pointer, bytes)?
            .map_err(|refusal| {
                refused(format!("realloc of {pointer:#x} to {bytes} bytes"), refusal)
            })?;
        let context = self.context(id, serial)?;
        if bytes < before {
            context.shrunk.insert(pointer);
        }
        if let Some(buffer) = context.buffers.get_mut(&pointer) {
            buffer.len = bytes;
        }
        Ok(())
    }

    /// An allocation that a kernel made becomes one of the program's, of `bytes` bytes.
    pub fn heap_adopt(
        &mut self,
        id: usize,
        serial: u64,
        pointer: u64,
        bytes: u64,
    ) -> Result<(), Error> {
        if self.context(id, serial)?.buffers.contains_key(&pointer) {
            return Err(already_the_programs(pointer));
        }
        // The hardware knows whether that is one of the context.
        let (heap, device) = self.heap()?;
        heap.realloc(device, id, pointer, bytes)?
            .map_err(|refusal| refused(kernels_own(pointer, bytes), refusal))?;
        let context = self.context(id, serial)?;
        context.allocates = true;
        // Whoever allocated it may have cut it a moment ago.
        context.shrunk.insert(pointer);
        context.buffers.insert(pointer, allocation(bytes));
        Ok(())
    }

    /// An allocation is a kernel's again.
    pub fn heap_disown(&mut self, id: usize, serial: u64, pointer: u64) -> Result<(), Error> {
        let context = self.context(id, serial)?;
        context.shrunk.remove(&pointer);
        context.buffers.remove(&pointer);
        Ok(())
    }

    /// Ends an allocation; launches that were given it are stopped.
    pub fn heap_free(&mut self, id: usize, serial: u64, pointer: u64) -> Result<(), Error> {
        let buffers = &self.context(id, serial)?.buffers;
        if buffers.contains_key(&pointer) {
            self.cancel_where(|request| {
                request.context == Some(serial) && request.buffers.contains(&pointer)
            })?;
        }
        let (heap, device) = self.heap()?;
        heap.free(device, id, pointer)?
            .map_err(|refusal| refused(format!("free of {pointer:#x}"), refusal))?;
        let context = self.context(id, serial)?;
        context.buffers.remove(&pointer);
        context.shrunk.remove(&pointer);
        Ok(())
    }

    /// A page that this process touches. One that nobody wrote and that is only read costs no frame, unless kernels of the context
    /// are at work, which could write it.
    pub fn heap_page(
        &mut self,
        id: usize,
        serial: u64,
        va: u64,
        write: bool,
    ) -> Result<HeapPage, Error> {
        let root = self.context(id, serial)?.table.root();
        let to_write = write || self.at_work(serial);
        let pool = self.pool.clone();
        let (heap, device) = self.heap()?;
        heap.page(device, &pool, (id, root), va, to_write)
    }

    /// Frames for `bytes` bytes at `start`, all in one allocation.
    pub fn heap_populate(
        &mut self,
        id: usize,
        serial: u64,
        start: u64,
        bytes: u64,
    ) -> Result<(), Error> {
        let mut at = start;
        while at < start + bytes {
            match self.heap_page(id, serial, at, true)? {
                HeapPage::Frames(frames) => at += frames.len - at % frames.len,
                HeapPage::NoFrame => {
                    return Err(self.heap_full(format!("{bytes} bytes at {start:#x}"), None));
                }
                HeapPage::Zero | HeapPage::Nothing => {
                    let asked = format!("frames for {bytes} bytes at {start:#x}");
                    return Err(refused(asked, HeapRefusal::NotLive));
                }
            }
        }
        Ok(())
    }

    /// What a context has of it.
    pub fn heap_map(&mut self, id: usize, serial: u64) -> Result<HeapMap, Error> {
        let pool = self.pool.clone();
        let context = self.context(id, serial)?;
        let mut map = HeapMap::read(&pool, context.table.root());
        let window = layout::HEAP_WINDOW_FIRST..layout::HEAP_WINDOW_END;
        let live = context.buffers.range(window);
        map.allocations = live.map(|(start, buffer)| (*start, buffer.len)).collect();
        Ok(map)
    }

    /// What its memory is like.
    pub fn heap_memory(&mut self) -> Result<HeapMemory, Error> {
        let (heap, device) = self.heap()?;
        heap.memory(device)
    }

    /// The same by memory.
    pub fn heap_regions(&mut self) -> Result<Vec<HeapRegion>, Error> {
        let (heap, device) = self.heap()?;
        heap.regions(device)
    }

    /// Gives back all that a context has; no access of it is under way.
    pub(super) fn end_heap(&mut self, id: usize, serial: u64) -> Result<(), Error> {
        if !self.context(id, serial)?.allocates {
            return Ok(());
        }
        let (heap, device) = self.heap()?;
        heap.end(device, id)
    }

    pub(super) fn heap(&mut self) -> Result<(&Heap, &mut dyn Device), Error> {
        match &self.heap {
            Some((heap, _)) => Ok((heap, self.device.as_mut())),
            None => Err(Error::Hardware(
                "the card has no heap: build one with heap.slots, as in `--set heap.slots=1024`, or with \
                 `overrides=[\"heap.slots=1024\"]` in Python"
                    .into(),
            )),
        }
    }
}

fn allocation(bytes: u64) -> BufferState {
    BufferState {
        len: bytes,
        writable: true,
        contiguous: false,
        owner: None,
        host: None,
    }
}

fn refused(asked: String, refusal: HeapRefusal) -> Error {
    Error::Heap { asked, refusal }
}
