// SPDX-License-Identifier: Apache-2.0
//! Cards: what the runtime drives.
//!
//! [`Device`] is what every backend can do: registers, time, memory, copies over the host link. [`SimCard`] is the
//! in-process backend: a verilated card in a shared library behind the C ABI of `card/sim/gw_card.h`, found by its name
//! in the card cache ([`CardFile::find`]). A card that has masters driven from outside offers them as [`Ports`].
//!
//! Nothing here prints or aborts, and every error says what to do next.

mod abi;
mod description;
mod device;
mod error;
mod find;
mod memory;
mod options;
mod ports;
mod sim;

pub use description::{
    Arg, ArgAccess, ArgKind, Config, Description, HeapConfig, HostConfig, HostLinkConfig, Kernel,
    LinkModel, NapotConfig, PageRequestsConfig,
};
pub use device::{Device, LaunchEnd, LaunchTimes, Stats};
pub use error::CardError;
pub use find::{CardFile, cache_dir, closest};
pub use memory::Memory;
pub use options::OpenOptions;
pub use ports::{Drained, MemEvent, PortAnswer, PortAnswers, PortBatch, Ports};
pub use sim::SimCard;

/// Version of the C ABI this crate speaks (`GW_CARD_ABI`).
pub const CARD_ABI: u32 = abi::ABI;
