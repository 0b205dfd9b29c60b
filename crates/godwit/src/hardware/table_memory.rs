// SPDX-License-Identifier: Apache-2.0
//! Device memory as the page tables see it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use godwit_card::Memory;
use godwit_core::TableMemory;

use crate::hardware::frames::{Extent, FRAME_BYTES, FrameAllocator};

/// The frames of a card, shared by all that allocate.
#[derive(Clone)]
pub(crate) struct FramePool {
    frames: Arc<Mutex<FrameAllocator>>,
    memory: Arc<Memory>,
}

impl FramePool {
    /// Of the first `bytes` bytes of memory.
    pub fn new(memory: Arc<Memory>, bytes: u64) -> Self {
        Self {
            frames: Arc::new(Mutex::new(FrameAllocator::new(bytes))),
            memory,
        }
    }

    pub fn lock(&self) -> MutexGuard<'_, FrameAllocator> {
        self.frames.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives frames back. They read as zero when they are handed out again.
    pub fn free(&self, extent: Extent) {
        // Only fails outside of memory, where no frame is.
        if self.memory.clear(extent.pa, extent.len).is_ok() {
            self.lock().free(extent);
        }
    }
}

impl TableMemory for FramePool {
    // Frames of tables are inside device memory; should one not be, an invalid entry is what does no harm.
    fn read(&self, pa: u64) -> u64 {
        self.memory.read_u64(pa).unwrap_or(0)
    }

    fn write(&mut self, pa: u64, entry: u64) {
        let written = self.memory.write_u64(pa, entry);
        debug_assert!(written.is_ok(), "table entry at {pa:#x}");
    }

    fn write_high(&mut self, pa: u64, high: u32) {
        let written = self.memory.write_u32(pa + 4, high);
        debug_assert!(written.is_ok(), "upper half of the table entry at {pa:#x}");
    }

    fn alloc(&mut self) -> Option<u64> {
        self.lock().alloc_top()
    }

    fn free(&mut self, pa: u64) {
        // Tables come and go: to write zeros takes a tenth of the time of giving a page back to the host.
        let cleared = self.memory.write(pa, &[0; FRAME_BYTES as usize]);
        if cleared.is_ok() {
            let len = FRAME_BYTES;
            self.lock().free(Extent { pa, len });
        }
    }
}
