// SPDX-License-Identifier: Apache-2.0
//! What of the heap's memory a context has, as its page tables say: the hardware writes them, this side reads them.

use godwit_core::{TableMemory, layout};

use super::heap::{LEVELS, group, leaf_order};
use crate::hardware::frames::{Extent, FRAME_BYTES};
use crate::hardware::table_memory::FramePool;

/// Frames of a context's heap.
#[derive(Debug, Clone, Default)]
pub struct HeapMap {
    /// Mappings by first address: a page, or a group that has one mapping; physical address and bytes.
    pub mapped: Vec<(u64, u64, u64)>,
    /// Physical addresses of the tables below the root, 4 KiB each.
    pub tables: Vec<u64>,
    /// Live allocations of this program's: first address and bytes asked for.
    pub allocations: Vec<(u64, u64)>,
}

impl HeapMap {
    /// All that the heap's window has. Entries change meanwhile if kernels are at work: then some pages may be missing.
    pub(crate) fn read(tables: &FramePool, root: u64) -> Self {
        let mut map = Self::default();
        map.table(tables, root, LEVELS - 1, 0);
        map
    }

    fn table(&mut self, tables: &FramePool, table: u64, level: u32, base: u64) {
        let span = FRAME_BYTES << (9 * level);
        let window = layout::HEAP_WINDOW_FIRST..layout::HEAP_WINDOW_END;
        for index in 0..512 {
            let va = base + index * span;
            if level == LEVELS - 1 && !window.contains(&va) {
                continue;
            }
            let entry = tables.read(table + 8 * index);
            if entry & layout::PTE_V == 0 {
                continue;
            }
            let frame = (entry & layout::PTE_PPN_MASK) >> layout::PTE_PPN_SHIFT;
            let Some(order) = leaf_order(entry, level) else {
                self.tables.push(frame * FRAME_BYTES);
                self.table(tables, frame * FRAME_BYTES, level - 1, va);
                continue;
            };
            let Extent { pa, len } = group(frame, order);
            if va % len == 0 {
                self.mapped.push((va, pa, len));
            }
        }
    }
}
