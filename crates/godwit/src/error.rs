// SPDX-License-Identifier: Apache-2.0
//! What can go wrong.

use godwit_card::CardError;

use crate::{Completion, Fault, HeapRefusal};

/// A failed call. The message says what was asked, what was found and what to do; nothing was changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The card cannot be opened, or failed.
    #[error(transparent)]
    Card(CardError),
    /// The hardware is not what this program was built for.
    #[error("{0}")]
    Hardware(String),
    /// The card hung or was left in an unknown state before.
    #[error("the card cannot be used any more: {0}; open it again")]
    Broken(String),
    /// The page DMA could not do what it was asked for.
    #[error("the page DMA stopped at {0}")]
    Transfer(String),
    /// The card was closed.
    #[error("the card is closed")]
    Closed,
    /// The card belongs to another process.
    #[error(
        "the card was opened by process {owner}, and cards do not survive a fork: open it in this process"
    )]
    WrongProcess {
        /// Who opened it.
        owner: u32,
    },
    /// The context was closed.
    #[error("the context is closed")]
    ContextClosed,
    /// There is no free context.
    #[error(
        "all {count} contexts of the card are in use: close one, or build the card with a larger contexts.count"
    )]
    NoContext {
        /// How many there are.
        count: u32,
    },
    /// Device memory does not suffice.
    #[error(
        "out of device memory: asked for {asked} bytes{}, free are {free}, the largest contiguous piece is {largest}; \
         free buffers, or build the card with a larger card.memory_bytes",
        if *contiguous { " in one piece" } else { "" }
    )]
    OutOfMemory {
        /// Bytes asked for, whole pages.
        asked: u64,
        /// Whether they had to be contiguous.
        contiguous: bool,
        /// Bytes free.
        free: u64,
        /// Bytes of the largest contiguous piece.
        largest: u64,
    },
    /// One of the card's memories does not suffice, and the buffer was wanted there and nowhere else.
    #[error(
        "memory `{memory}` is full: asked for {asked} bytes{}, free are {free}, the largest contiguous piece is {largest}; free buffers \
         there, or let it be in another memory",
        if *contiguous { " in one piece" } else { "" }
    )]
    MemoryFull {
        /// Its name.
        memory: String,
        /// Bytes asked for.
        asked: u64,
        /// Whether they had to be contiguous.
        contiguous: bool,
        /// Bytes free there.
        free: u64,
        /// Bytes of the largest contiguous piece there.
        largest: u64,
    },
    /// The system does not let this process share its memory.
    #[error("{0}")]
    Sharing(String),
    /// This process has no room for a buffer's addresses.
    #[error("no {bytes} bytes of address space below {limit:#x} for a buffer: {reason}")]
    AddressSpace {
        /// Bytes asked for.
        bytes: u64,
        /// End of the context's address space.
        limit: u64,
        /// The system's word.
        reason: std::io::Error,
    },
    /// The heap in hardware refused a `malloc`, `realloc` or `free`.
    #[error("{asked}: {refusal}")]
    Heap {
        /// What it was asked.
        asked: String,
        /// Why not.
        refusal: HeapRefusal,
    },
    /// Somebody needed a frame of the heap, and none came.
    #[error(
        "{who} got no frame of the heap{}, in which nothing was freed: of its {bytes} bytes {free} are free; \
         free something, or build the card with a larger heap.memory_bytes, or with heap.strict, which refuses what does not fit{}",
        if *cycles > 0 { format!(" within {cycles} cycles") } else { String::new() },
        match stopped {
            Some(true) => " (the kernel was stopped, the card can be used)",
            Some(false) => " (the kernel does not stop: open the card again to use it)",
            None => "",
        }
    )]
    HeapFull {
        /// The kernel, or the memory that was touched.
        who: String,
        /// How long it waited; 0 behind the driver, which tells no cycles.
        cycles: u64,
        /// Of the heap's memory.
        bytes: u64,
        /// ... that nobody has.
        free: u64,
        /// Whether the kernel stopped, if it was one.
        stopped: Option<bool>,
    },
    /// A page table could not be changed.
    #[error(transparent)]
    PageTable(#[from] godwit_core::Error),
    /// The card has no such kernel.
    #[error("the card has no kernel `{name}`{}", did_you_mean(closest, kernels))]
    UnknownKernel {
        /// The name asked for.
        name: String,
        /// The most similar one.
        closest: Option<String>,
        /// All of them.
        kernels: Vec<String>,
    },
    /// An argument is missing, unknown, of the wrong kind or out of range.
    #[error("{0}")]
    Argument(String),
    /// What was asked for is in use.
    #[error("{0}")]
    Busy(String),
    /// A launch ended early because something it needs was taken away.
    #[error("kernel `{kernel}` was stopped: {why}")]
    Cancelled {
        /// The kernel.
        kernel: String,
        /// What was taken away.
        why: &'static str,
    },
    /// A kernel's control block does what none of the HLS convention does.
    #[error("kernel `{kernel}`: {problem}; docs/kernels.md says what a control block must do")]
    Control {
        /// The kernel.
        kernel: String,
        /// What was found.
        problem: String,
    },
    /// A kernel ended and says that it failed.
    #[error("kernel `{kernel}` ended with status {value}{}", if meaning.is_empty() {
        String::new()
    } else {
        format!(" ({meaning})")
    })]
    Status {
        /// The kernel.
        kernel: String,
        /// Its status result, not 0.
        value: u64,
        /// What its manifest says of the status.
        meaning: String,
        /// What it did all the same.
        completion: Box<Completion>,
    },
    /// Translation refused an access.
    #[error("{0}")]
    Fault(Box<Fault>),
    /// The hardware makes no progress.
    #[error("{0}")]
    Hang(String),
    /// A kernel was not done in time, and was stopped.
    #[error("kernel `{kernel}` was not done after {cycles} cycles; {}", if *stopped {
        "it was stopped, the card can be used"
    } else {
        "it does not stop, open the card again to use it"
    })]
    Timeout {
        /// The kernel.
        kernel: String,
        /// How long it had.
        cycles: u64,
        /// Whether it stopped.
        stopped: bool,
    },
}

// begin: generated kinds by `python -m godwit.spec pages`
/// Families of errors, as C and Python know them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// A card cannot be opened, or failed while it was used.
    Device,
    /// Device memory, or host memory for the card, does not suffice.
    OutOfMemory,
    /// Translation refused an access of a kernel: the message has the fault record.
    Fault,
    /// No progress, or not done in time: the message says where.
    Hang,
    /// Wrong arguments, or what was asked for is closed or in use.
    Argument,
    /// A kernel ended and says that it failed.
    Status,
}
// end: generated

impl Error {
    /// The family it belongs to.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Card(CardError::Hang(_)) | Self::Hang(_) | Self::Timeout { .. } => {
                ErrorKind::Hang
            }
            Self::Card(CardError::HostMemory(_))
            | Self::OutOfMemory { .. }
            | Self::MemoryFull { .. }
            | Self::AddressSpace { .. }
            | Self::HeapFull { .. } => ErrorKind::OutOfMemory,
            Self::Heap { refusal, .. } if refusal.is_lack() => ErrorKind::OutOfMemory,
            Self::PageTable(error) if error.kind() == godwit_core::ErrorKind::OutOfFrames => {
                ErrorKind::OutOfMemory
            }
            Self::Fault(_) => ErrorKind::Fault,
            Self::Status { .. } => ErrorKind::Status,
            Self::Card(
                CardError::Invalid(_) | CardError::OutOfRange { .. } | CardError::Options(_),
            )
            | Self::UnknownKernel { .. }
            | Self::Argument(_)
            | Self::Busy(_)
            | Self::Cancelled { .. }
            | Self::ContextClosed
            | Self::Heap { .. }
            | Self::PageTable(_) => ErrorKind::Argument,
            Self::Card(_)
            | Self::Hardware(_)
            | Self::Transfer(_)
            | Self::Sharing(_)
            | Self::Broken(_)
            | Self::Closed
            | Self::WrongProcess { .. }
            | Self::Control { .. }
            | Self::NoContext { .. } => ErrorKind::Device,
        }
    }

    /// Nothing works on the card afterwards.
    pub(crate) fn breaks_the_card(&self) -> bool {
        matches!(self, Self::Hang(_) | Self::Card(CardError::Design(_)))
    }
}

impl From<CardError> for Error {
    fn from(error: CardError) -> Self {
        match error {
            CardError::Hang(message) => Self::Hang(message),
            other => Self::Card(other),
        }
    }
}

fn did_you_mean(closest: &Option<String>, kernels: &[String]) -> String {
    match closest {
        Some(closest) => format!(" (did you mean `{closest}`?)"),
        None if kernels.is_empty() => ": it was built without kernels".into(),
        None => format!(": it has {}", kernels.join(", ")),
    }
}
