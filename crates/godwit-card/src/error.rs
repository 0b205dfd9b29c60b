// SPDX-License-Identifier: Apache-2.0
//! What can go wrong with a card.

use std::path::PathBuf;

/// A failed operation on a card. The message says what was asked, what was found and what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CardError {
    /// The device name is of no kind that exists.
    #[error(
        "`{name}` is no device: use `sim:NAME` for a built card, `sim:/path/to/libgw_card.so`, or `/dev/godwit0` for one that the driver has"
    )]
    BadName {
        /// The name as given.
        name: String,
    },
    /// No card of that name has been built.
    #[error("card `{name}` is not built: run `godwit card build --config {name}`{}", did_you_mean(.closest, .built))]
    NotBuilt {
        /// The configuration's name.
        name: String,
        /// The built card with the most similar name.
        closest: Option<String>,
        /// Every built card.
        built: Vec<String>,
    },
    /// The pointer file of a built card cannot be used.
    #[error("{}: {problem}; run `godwit card build --config {name} --force`", .path.display())]
    BadPointer {
        /// The configuration's name.
        name: String,
        /// The pointer file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// The shared library cannot be loaded.
    #[error("{} cannot be loaded as a card: {source}; build it again with `godwit card build`", .path.display())]
    Load {
        /// The library.
        path: PathBuf,
        /// The loader's word.
        source: libloading::Error,
    },
    /// The library speaks another version of the card ABI.
    #[error("{} speaks card ABI {found}, this program needs {wanted}: build the card again with `godwit card build`", .path.display())]
    Abi {
        /// The library.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// Ours.
        wanted: u32,
    },
    /// The card was generated from other registers than this program.
    #[error(
        "card `{name}` was built from another spec ({found:08x}) than this program ({wanted:08x}): \
         run `godwit card build --config {name}`, or build this program again"
    )]
    Spec {
        /// The card's name.
        name: String,
        /// Its hash of `spec/`.
        found: u32,
        /// Ours.
        wanted: u32,
    },
    /// The card describes itself in a way that cannot be understood.
    #[error("{} describes itself badly ({problem}): build the card again with `godwit card build`", .path.display())]
    Description {
        /// The library.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// The options given to open are not understood.
    #[error("options of `open`: {0}")]
    Options(String),
    /// The card could not be opened.
    #[error("card `{name}` could not be opened: {message}")]
    Open {
        /// The card's name.
        name: String,
        /// The card's word.
        message: String,
    },
    /// An argument was refused.
    #[error("{0}")]
    Invalid(String),
    /// An RTL assertion failed, or the card broke the AXI protocol; only closing it is left.
    #[error("{0}")]
    Design(String),
    /// The watchdog found no progress.
    #[error("{0}")]
    Hang(String),
    /// A register access was answered with an error.
    #[error("{0}")]
    Bus(String),
    /// A wave or trace file could not be written, or another system call failed.
    #[error("{0}")]
    Io(String),
    /// The host has no memory for the card.
    #[error("{0}")]
    HostMemory(String),
    /// An access outside device memory.
    #[error("device memory {addr:#x} + {len:#x} is outside the card's {size:#x} bytes")]
    OutOfRange {
        /// First byte.
        addr: u64,
        /// Length in bytes.
        len: u64,
        /// Size of device memory in bytes.
        size: u64,
    },
}

fn did_you_mean(closest: &Option<String>, built: &[String]) -> String {
    match closest {
        Some(closest) => format!(" (did you mean the built card `{closest}`?)"),
        None if built.is_empty() => " (no card is built yet)".into(),
        None => format!(" (built: {})", built.join(", ")),
    }
}
