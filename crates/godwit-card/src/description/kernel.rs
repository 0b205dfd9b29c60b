// SPDX-License-Identifier: Apache-2.0
//! Kernels in a card's description, and their arguments.

use serde::Deserialize;

/// A kernel of the card.
#[derive(Debug, Clone, Deserialize)]
pub struct Kernel {
    /// Its name.
    pub name: String,
    /// Number of its first port.
    pub port: u32,
    /// All of its ports; empty when it has only `port`.
    #[serde(default)]
    pub ports: Vec<u32>,
    /// It has an interrupt; without one it is asked whether it is done.
    #[serde(default = "yes")]
    pub interrupt: bool,
    /// It has streams to the heap, and allocates by itself.
    #[serde(default)]
    pub allocates: bool,
    /// Its arguments.
    #[serde(default)]
    pub args: Vec<Arg>,
}

fn yes() -> bool {
    true
}

impl Kernel {
    /// Numbers of its ports.
    pub fn ports(&self) -> &[u32] {
        match self.ports.as_slice() {
            [] => std::slice::from_ref(&self.port),
            ports => ports,
        }
    }

    /// The result by which it says how it ended: 0 is well.
    pub fn status(&self) -> Option<&Arg> {
        self.args.iter().find(|arg| arg.status)
    }
}

/// An argument of a kernel.
#[derive(Debug, Clone, Deserialize)]
pub struct Arg {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: ArgKind,
    /// What the kernel does with a buffer.
    #[serde(default)]
    pub access: Option<ArgAccess>,
    /// Offset of its register in the kernel's control block.
    pub offset: u64,
    /// It says how a launch ended: 0 is well.
    #[serde(default)]
    pub status: bool,
    /// What a launch gives when it is not told.
    #[serde(default)]
    pub default: Option<u64>,
    /// What it is, in the words of the kernel's manifest.
    #[serde(default)]
    pub description: String,
}

/// Kind of an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArgKind {
    /// A pointer, 64 bits.
    Buffer,
    /// A number of 32 bits.
    U32,
    /// A number of 64 bits.
    U64,
    /// A result register of 32 bits.
    OutU32,
    /// A result register of 64 bits.
    OutU64,
}

impl ArgKind {
    /// Whether the kernel writes it and the host reads it.
    pub fn is_result(self) -> bool {
        matches!(self, Self::OutU32 | Self::OutU64)
    }

    /// Its name as in the kernel's description.
    pub fn name(self) -> &'static str {
        match self {
            Self::Buffer => "buffer",
            Self::U32 => "u32",
            Self::U64 => "u64",
            Self::OutU32 => "out_u32",
            Self::OutU64 => "out_u64",
        }
    }
}

/// What a kernel does with a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum ArgAccess {
    /// Reads it.
    #[serde(rename = "r")]
    Read,
    /// Writes it.
    #[serde(rename = "w")]
    Write,
    /// Both.
    #[serde(rename = "rw")]
    ReadWrite,
}

impl ArgAccess {
    /// Whether the kernel writes the buffer.
    pub fn writes(self) -> bool {
        self != Self::Read
    }
}
