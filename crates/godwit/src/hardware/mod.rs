// SPDX-License-Identifier: Apache-2.0
//! The lowest floor: what the hardware is and how it is asked. Procedures on a [`Device`](godwit_card::Device) and on frames
//! of its memory; no threads, no locks across calls, nothing known of contexts, launches or handles.

pub mod command;
pub(crate) mod control;
pub(crate) mod counters;
pub(crate) mod dma;
pub(crate) mod frames;
pub(crate) mod heap;
pub(crate) mod heap_map;
pub(crate) mod line_counters;
pub(crate) mod mmu;
pub(crate) mod page_queue;
pub(crate) mod queue;
pub(crate) mod table_memory;
pub(crate) mod visible;
pub(crate) mod window;
