// SPDX-License-Identifier: Apache-2.0
//! Godwit's runtime: an accelerator works on the pointers of the program that started it.
//!
//! | object | is | ends |
//! |---|---|---|
//! | [`Card`] | an open device; a handle, cheap to clone | with [`Card::close`] or its last handle |
//! | [`Context`] | one address space on it: a page table in device memory | with its last handle; its buffers hold one |
//! | [`Buffer`] | device memory, mapped into a context and into this process **at the same address** | when dropped |
//! | [`Launch`] | a kernel at work | when it is done; dropped before that it is cancelled |
//!
//! ```no_run
//! # fn main() -> Result<(), godwit::Error> {
//! use godwit::{AllocOptions, Card, OpenOptions};
//!
//! let card = Card::open("sim:default", OpenOptions::new())?;
//! let context = card.context(None)?;
//! let values = context.alloc(4 * 1000, AllocOptions::new())?;
//! values.upload(0, &[0; 4000])?;
//! let done = card
//!     .kernel("array_sum")?
//!     .arg("values", &values)
//!     .arg("count", 1000u64)
//!     .arg("dtype", 0u32)
//!     .run()?;
//! println!("{:?} in {} cycles", done.result("sum"), done.cycles);
//! # Ok(())
//! # }
//! ```
//!
//! Handles may be used from any thread; a card does one thing at a time, so calls wait for each other. After `fork` the
//! child cannot use the parent's cards. This library never prints and never aborts.

mod alloc;
mod buffer;
pub mod capi;
mod card;
pub mod command;
mod context;
mod counters;
mod error;
mod fault;
mod frames;
mod launch;
mod launch_builder;
mod mmu;
mod queue;
mod state;
mod table_memory;
mod value;
mod window;

pub use alloc::{Access, AllocOptions, Contiguity, PagePolicy};
pub use buffer::Buffer;
pub use card::{Binding, Card, Frames};
pub use context::Context;
pub use counters::{ChannelCounters, Counters, L2Counters, PortCounters, WalkerCounters};
pub use error::{Error, ErrorKind};
pub use fault::{Fault, NearBuffer};
pub use frames::{Extent, FRAME_BYTES, FrameAllocator, PAGE_BYTES};
pub use launch::{Completion, Launch};
pub use launch_builder::LaunchBuilder;
pub use value::Value;

pub use godwit_card::{
    Arg, ArgAccess, ArgKind, CardError, CardFile, Description, Device, Kernel, MemEvent, Memory,
    OpenOptions, PortAnswer, PortAnswers, PortBatch, Ports, SimCard, Stats,
};
pub use godwit_core::{Mapping, Mode, PageSize, Perm, layout, walker};

/// Registers of the MMU, generated from `spec/regs/gw_mmu.rdl`.
pub mod regs {
    include!(env!("GODWIT_REGS_RS"));
}
