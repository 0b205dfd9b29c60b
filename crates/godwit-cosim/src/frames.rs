// SPDX-License-Identifier: Apache-2.0
//! Table frames at the bottom of device memory.

use std::sync::Arc;

use godwit_card::Memory;
use godwit_core::TableMemory;
use std::sync::Mutex;

/// Bytes at the bottom of memory that hold page tables only.
pub const TABLE_REGION: u64 = 64 << 20;

const FRAME: u64 = 4096;

/// Device memory as the page tables see it. Clones share their frames.
#[derive(Clone)]
pub struct Frames {
    memory: Arc<Memory>,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    free: Vec<u64>,
    top: u64,
}

impl Frames {
    pub fn new(memory: Arc<Memory>) -> Self {
        Self {
            memory,
            state: Arc::default(),
        }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl TableMemory for Frames {
    fn read(&self, pa: u64) -> u64 {
        self.memory.read_u64(pa).unwrap_or(0)
    }

    fn write(&mut self, pa: u64, entry: u64) {
        // An address outside memory cannot be written; the structure check at the end of the run would show it.
        let _ = self.memory.write_u64(pa, entry);
    }

    fn write_high(&mut self, pa: u64, high: u32) {
        let _ = self.memory.write_u32(pa + 4, high);
    }

    fn alloc(&mut self) -> Option<u64> {
        let mut state = self.state();
        let pa = state.free.pop().or_else(|| {
            let pa = state.top;
            (pa < TABLE_REGION).then(|| {
                state.top += FRAME;
                pa
            })
        })?;
        self.memory.clear(pa, FRAME).ok()?;
        Some(pa)
    }

    fn free(&mut self, pa: u64) {
        // Rubbish in freed tables: a walker that still reads them must not get away with it.
        for at in (pa..pa + FRAME).step_by(8) {
            self.write(at, 0xdead_beef_dead_beef);
        }
        self.state().free.push(pa);
    }
}
