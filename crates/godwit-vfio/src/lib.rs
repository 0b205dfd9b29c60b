// SPDX-License-Identifier: Apache-2.0
//! A simulated card as a PCIe device of a virtual machine.
//!
//! [`serve`] answers one client of the vfio-user protocol, such as QEMU's `vfio-user-pci`, on a Unix socket: the card's registers
//! are BAR 0, its memory is BAR 2 and can be mapped, its interrupts are MSI-X vectors, and it reaches the memory of the guest
//! that the client shares. Between two messages the RTL runs, as long as anything goes on in it.
//!
//! | module | is |
//! |---|---|
//! | [`protocol`] | messages as bytes: requests read, replies written; no socket, no card |
//! | `connection` | a socket that carries them, with file descriptors |
//! | `config_space` | the device as PCI software sees it |
//! | `interrupts` | MSI-X vectors: event files to signal |
//! | `guest_memory` | windows of the card's host aperture into the guest |
//! | `pci_card` | the card behind them: answers requests |
//! | `slot` | where the card is, to pull it out |
//! | `lies` | what a card makes up, for the driver's tests |
//! | `clock` | when the RTL runs |
//! | `server` | the loop around all |
//!
//! Whatever a client sends, it gets an error or is hung up on; nothing here panics or aborts for it.

mod clock;
mod config_space;
mod connection;
mod guest_memory;
mod interrupts;
mod lies;
mod pci_card;
pub mod protocol;
mod server;
mod slot;

pub use lies::Liar;
pub use pci_card::PciCard;
pub use server::{ServeError, Served, serve};
pub use slot::{Slot, Spares};
