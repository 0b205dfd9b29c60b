// SPDX-License-Identifier: Apache-2.0
//! Page tables, contiguous ranges and the policies of page migration, shared by Godwit's runtime and driver.
//!
//! The decisions are in C (`core/`), because a kernel driver takes them, too; this crate compiles them and gives them a
//! safe face: [`PageTable`] over any [`TableMemory`], [`Ranges`](range::Ranges) over any areas, [`policy`] over any pages. [`walker`] is an
//! independent reader of the same tables.
#![deny(missing_docs)]

mod error;
#[allow(non_camel_case_types)]
mod ffi;
mod host;
pub mod policy;
#[allow(non_camel_case_types)]
mod policy_ffi;
pub mod range;
mod range_areas;
mod range_error;
#[allow(non_camel_case_types)]
pub mod range_ffi;
mod table;
mod types;
pub mod walker;

/// Constants shared by hardware and software, generated from `spec/layout.toml`.
pub mod layout {
    include!(concat!(env!("GODWIT_SPEC_RUST"), "/layout.rs"));
}

/// Registers of the heap, generated from `spec/regs/gw_heap.rdl`.
pub mod heap_regs {
    include!(concat!(env!("GODWIT_SPEC_RUST"), "/heap_regs.rs"));
}

/// Registers of the page DMA, generated from `spec/regs/gw_dma.rdl`.
pub mod dma_regs {
    include!(concat!(env!("GODWIT_SPEC_RUST"), "/dma_regs.rs"));
}

/// Registers of the MMU, generated from `spec/regs/gw_mmu.rdl`.
pub mod regs {
    include!(concat!(env!("GODWIT_SPEC_RUST"), "/regs.rs"));
}

pub use error::{Error, ErrorKind};
pub use host::HostMemory;
pub use table::{PageTable, TableMemory};
pub use types::{
    Begins, Invalidation, Mapping, Mode, Napot, PageSize, PageState, Perm, Range, Stats,
};
