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
//! Handles may be used from any thread: calls on one card wait for each other, launches of one kernel queue up, those of
//! different kernels run at once. After `fork` the child cannot use the parent's cards. This library never
//! aborts, and prints one line only: before the SIGBUS of a store of the program that found the heap in hardware full.
//!
//! # Floors
//!
//! | module | is | knows of |
//! |---|---|---|
//! | `capi` | the C ABI | all below |
//! | `objects` | what people hold: [`Card`], [`Context`], [`Buffer`], [`Launch`]. Their threads, their memory | `driver`, `state`, `hardware` |
//! | `driver` | a card that Linux's driver has, for which all below but the words of a launch is the driver's work | `state` |
//! | `state` | one card: its contexts and launches, and the engine, the thread that owns both | `hardware` |
//! | `svm` | the pager: memory of the program that moves to cards and back, whatever a card is | |
//! | `hardware` | procedures on registers, queues, control blocks and frames | |
//!
//! [`Error`], [`Fault`] and [`Completion`] are words for all of them. A module uses those below it and never one above, and no two modules
//! use each other; `tests/floors.rs` reads the sources and keeps that. The engine's thread alone calls the
//! [`Device`] and changes page tables, and touches no memory of the user: callers copy, and post what is to be charged.
//! So no lock is held while a kernel runs or while user memory is read.

pub mod capi;
mod completion;
mod driver;
mod error;
mod fault;
mod hardware;
mod objects;
mod refusal;
mod state;
mod svm;

pub use completion::Completion;
pub use error::{Error, ErrorKind};
pub use fault::{Fault, NearBuffer};
pub use hardware::command;
pub use hardware::counters::{
    ChannelCounters, CounterKind, Counters, HeapCounters, L2Counters, PageCounters, PortCounters,
    WalkerCounters,
};
pub use hardware::dma::{Move, Side};
pub use hardware::frames::{Extent, FRAME_BYTES, FrameAllocator, PAGE_BYTES};
pub use hardware::heap::{HeapMemory, HeapRegion};
pub use hardware::heap_map::HeapMap;
pub use objects::alloc::{Access, AllocOptions, Contiguity, PagePolicy, Residence};
pub use objects::buffer::Buffer;
pub use objects::card::Card;
pub use objects::context::{Binding, Context};
pub use objects::heap::MallocOptions;
pub use objects::launch::{Launch, Waited};
pub use objects::launch_builder::LaunchBuilder;
pub use objects::memories::{CardMemory, Frames};
pub use objects::pages::pages_of;
pub use objects::reserve::ReserveOptions;
pub use objects::share::{RangeEntries, ShareOptions};
pub use objects::shared::{Advice, Residency};
pub use objects::value::{HostRange, Plain, Value};
pub use refusal::HeapRefusal;
pub use state::demand::{PageAnswer, PageHandler};
pub use state::transfers::Transfer;
pub use svm::log::Migration;
pub use svm::report::{Cause, Migrations};

pub use godwit_card::{
    Arg, ArgAccess, ArgKind, CardError, CardFile, Description, Device, Kernel, LaunchEnd,
    LaunchTimes, MemEvent, Memory, NapotConfig, OpenOptions, PortAnswer, PortAnswers, PortBatch,
    Ports, SimCard, Stats,
};
pub use godwit_core::{
    HostMemory, Mapping, Mode, Napot, PageSize, Perm, dma_regs, heap_regs, layout, regs, walker,
};

/// The driver's calls, as `driver/uapi/godwit.h` has them.
#[doc(hidden)]
pub mod driver_uapi {
    pub use crate::driver::uapi::*;
}
