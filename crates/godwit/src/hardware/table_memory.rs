// SPDX-License-Identifier: Apache-2.0
//! Device memory as the page tables see it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use godwit_card::Memory;
use godwit_core::TableMemory;

use crate::hardware::frames::{Extent, FRAME_BYTES, FrameAllocator};

/// The frames of a card, shared by all that allocate: those of its memories, each for itself. Page tables, and all that does not say
/// which, are in the first.
#[derive(Clone)]
pub(crate) struct FramePool {
    memories: Arc<[Mutex<FrameAllocator>]>,
    memory: Arc<Memory>,
    /// Given back, and not cleared yet: whoever looks for frames clears them first.
    later: Arc<Mutex<Vec<Extent>>>,
}

impl FramePool {
    /// Of `parts` of device memory, at least one.
    pub fn new(memory: Arc<Memory>, parts: &[Extent]) -> Self {
        Self {
            memories: parts
                .iter()
                .map(|part| Mutex::new(FrameAllocator::new(*part)))
                .collect(),
            memory,
            later: Arc::default(),
        }
    }

    /// Those of the first memory.
    pub fn lock(&self) -> MutexGuard<'_, FrameAllocator> {
        self.settle();
        lock(&self.memories[0])
    }

    /// Those of each memory.
    pub fn each(&self) -> impl Iterator<Item = MutexGuard<'_, FrameAllocator>> {
        self.settle();
        self.memories.iter().map(lock)
    }

    /// Gives frames back. They read as zero when they are handed out again.
    pub fn free(&self, extent: Extent) {
        self.free_all(&[extent]);
    }

    /// The same for who has no time: they are cleared when somebody looks for frames, or with [`FramePool::settle`].
    pub fn free_later(&self, extent: Extent) {
        lock(&self.later).push(extent);
    }

    /// Clears what was given back without time for it, neighbours in one go.
    pub fn settle(&self) {
        let mut later = lock(&self.later);
        later.sort_unstable_by_key(|extent| extent.pa);
        later
            .chunk_by(|a, b| a.pa + a.len == b.pa)
            .for_each(|extents| self.free_all(extents));
        later.clear();
    }

    /// Clears neighbours and gives them back.
    fn free_all(&self, extents: &[Extent]) {
        let len = extents.iter().map(|extent| extent.len).sum();
        // Only fails outside of memory, where no frame is.
        if self.memory.clear(extents[0].pa, len).is_err() {
            return;
        }
        for extent in extents {
            let mut memories = self.memories.iter().map(lock);
            if let Some(mut frames) = memories.find(|frames| frames.has(extent.pa)) {
                frames.free(*extent);
            }
        }
    }
}

fn lock<T>(what: &Mutex<T>) -> MutexGuard<'_, T> {
    what.lock().unwrap_or_else(PoisonError::into_inner)
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
