// SPDX-License-Identifier: Apache-2.0
//! Allocations of the heap in hardware, by context: buffers of kernels like others, which the hardware gives their memory.

use super::{BufferState, State};
use crate::hardware::frames::Extent;
use crate::hardware::heap::{Heap, HeapPage, Wish};
use crate::{Error, HeapRefusal};

impl State {
    /// The heap of the card that has one begins.
    pub fn start_heap(&mut self, memory: Extent, strict: bool, quota: u32) -> Result<(), Error> {
        let pool = self.pool.clone();
        let heap = Heap::turn_on(self.device.as_mut(), &pool, memory, strict, quota)?;
        self.heap = Some(heap);
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
        let pointer = heap
            .malloc(device, id, bytes, wish)?
            .map_err(|refusal| refused(format!("malloc of {bytes} bytes"), refusal))?;
        let buffer = BufferState {
            len: bytes,
            writable: true,
            contiguous: false,
            owner: None,
            host: None,
        };
        self.context(id, serial)?.buffers.insert(pointer, buffer);
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
        self.context(id, serial)?;
        let (heap, device) = self.heap()?;
        heap.realloc(device, id, pointer, bytes)?
            .map_err(|refusal| {
                refused(format!("realloc of {pointer:#x} to {bytes} bytes"), refusal)
            })?;
        if let Some(buffer) = self.context(id, serial)?.buffers.get_mut(&pointer) {
            buffer.len = bytes;
        }
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
        self.context(id, serial)?.buffers.remove(&pointer);
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

    /// 4 KiB frames that nobody has.
    pub fn heap_free_frames(&mut self) -> Result<u64, Error> {
        let (heap, device) = self.heap()?;
        heap.free_frames(device)
    }

    /// Gives back all that a context has; no access of it is under way.
    pub(super) fn end_heap(&mut self, id: usize, serial: u64) -> Result<(), Error> {
        if !self.context(id, serial)?.allocates {
            return Ok(());
        }
        let (heap, device) = self.heap()?;
        heap.end(device, id)
    }

    fn heap(&mut self) -> Result<(&Heap, &mut dyn godwit_card::Device), Error> {
        match &self.heap {
            Some(heap) => Ok((heap, self.device.as_mut())),
            None => Err(Error::Hardware(
                "the card has no heap: build one with heap.slots, as in `--set heap.slots=1024`"
                    .into(),
            )),
        }
    }
}

fn refused(asked: String, refusal: HeapRefusal) -> Error {
    Error::Heap { asked, refusal }
}
