// SPDX-License-Identifier: Apache-2.0
//! What the heap in hardware refuses.

use godwit_core::layout;

/// Why `malloc`, `realloc` or `free` changed nothing. `code` is what the hardware answers: `heap` of `spec/layout.toml`, `GODWIT_HEAP_*` in C.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum HeapRefusal {
    /// An allocation of no bytes.
    #[error("an allocation has at least one byte")]
    SizeZero,
    /// More than a slot, or than its neighbours, can have.
    #[error(
        "that is more than the allocation can have: 64 KiB in a small slot, 64 GiB in others, and on growing no more than the slots \
         that malloc took; allocate it anew"
    )]
    TooLarge,
    /// The granule does not exist.
    #[error(
        "that granule does not exist: it is a power of two from 4 KiB to 2 MiB, in a small slot to 64 KiB"
    )]
    Argument,
    /// All slots are taken.
    #[error(
        "no slot is free, or not as many beside one another: free something, or build the card with larger heap.slots"
    )]
    NoSlot,
    /// The memory is promised to others.
    #[error(
        "the heap's memory has not as many free pages, and is strict: free something, or build the card with a larger \
         heap.memory_bytes (heap_bytes of a further memory) or without heap.strict (heap_strict of that memory)"
    )]
    NoFrame,
    /// The pointer is none that malloc gave.
    #[error("malloc never gave that pointer: an allocation is named by its first byte")]
    Foreign,
    /// Freed before, or never allocated.
    #[error("nothing is allocated there: it was freed before, or never allocated")]
    NotLive,
    /// It is another context's.
    #[error("the allocation is another context's")]
    OtherContext,
    /// The context has enough.
    #[error(
        "the context has as many allocations as it may: free one, or build the card with a larger heap.quota"
    )]
    Quota,
    /// What a shrink left is being taken back.
    #[error("pages behind the allocation's end are being taken back: grow it a little later")]
    Busy,
}

impl HeapRefusal {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::SizeZero,
        Self::TooLarge,
        Self::Argument,
        Self::NoSlot,
        Self::NoFrame,
        Self::Foreign,
        Self::NotLive,
        Self::OtherContext,
        Self::Quota,
        Self::Busy,
    ];

    /// The hardware's answer.
    pub fn code(self) -> u32 {
        match self {
            Self::SizeZero => layout::HEAP_SIZE_ZERO,
            Self::TooLarge => layout::HEAP_TOO_LARGE,
            Self::Argument => layout::HEAP_ARGUMENT,
            Self::NoSlot => layout::HEAP_NO_SLOT,
            Self::NoFrame => layout::HEAP_NO_FRAME,
            Self::Foreign => layout::HEAP_FOREIGN,
            Self::NotLive => layout::HEAP_NOT_LIVE,
            Self::OtherContext => layout::HEAP_OTHER_CONTEXT,
            Self::Quota => layout::HEAP_QUOTA,
            Self::Busy => layout::HEAP_BUSY,
        }
    }

    /// What an answer says; nothing if it is none.
    pub(crate) fn of(code: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|refusal| refusal.code() == code)
    }

    /// Whether memory is what lacks, and not the caller's mistake.
    pub(crate) fn is_lack(self) -> bool {
        matches!(self, Self::NoSlot | Self::NoFrame | Self::Quota)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_answer_but_ok_has_its_sentence() {
        for code in layout::HEAP_SIZE_ZERO..=layout::HEAP_BUSY {
            assert_eq!(HeapRefusal::of(code).map(HeapRefusal::code), Some(code));
        }
        assert_eq!(HeapRefusal::of(layout::HEAP_OK), None);
    }
}
