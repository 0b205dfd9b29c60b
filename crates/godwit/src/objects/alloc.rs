// SPDX-License-Identifier: Apache-2.0
//! How device memory for a buffer is chosen.

use godwit_core::{Napot, PageSize, Perm};

use crate::hardware::frames::{Extent, FRAME_BYTES, FrameAllocator};

/// What kernels may do with a buffer. The host may always do both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Access {
    /// Read it.
    Read,
    /// Read and write it. There is no write-only memory: the page-table format reserves W without R.
    #[default]
    ReadWrite,
}

impl Access {
    pub(crate) fn perm(self) -> Perm {
        match self {
            Self::Read => Perm::Read,
            Self::ReadWrite => Perm::ReadWrite,
        }
    }
}

/// Which pages a buffer is mapped with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PagePolicy {
    /// The largest that the card walks and that fit into it; the size is only rounded up to 4 KiB.
    #[default]
    Auto,
    /// Only pages of this size; the size is rounded up to whole ones.
    Only(PageSize),
}

impl PagePolicy {
    /// Largest page that may be used.
    pub(crate) fn max_page(self) -> PageSize {
        match self {
            Self::Auto => PageSize::SIZE_1G,
            Self::Only(size) => size,
        }
    }

    /// Sizes of the pieces that memory is taken in, largest first, for a card with these pages.
    fn granules(self, len: u64, walked: Napot) -> Vec<u64> {
        match self {
            Self::Auto => (0..=PageSize::SIZE_1G.order())
                .rev()
                .filter_map(PageSize::of_order)
                .filter(|page| walked.has(*page) && page.bytes() <= len)
                .map(PageSize::bytes)
                .collect(),
            Self::Only(size) => vec![size.bytes()],
        }
    }
}

/// Whether the memory behind a buffer is in one piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Contiguity {
    /// In one piece when there is one that large.
    #[default]
    Preferred,
    /// In one piece, or not at all. Launches with physical addresses need it.
    Required,
    /// Not looked for: the largest pages, wherever they are.
    Ignored,
}

/// Which memory a buffer is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Residence {
    /// The card's.
    #[default]
    Device,
    /// The program's, where it stays: kernels reach it over the host link, through the card's page cache if it has one. What the
    /// program wrote before a launch the kernel sees, what the kernel wrote the program sees when the launch has ended.
    Host,
}

/// Options of [`Context::alloc`](crate::Context::alloc).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AllocOptions {
    pub(crate) pages: PagePolicy,
    pub(crate) access: Access,
    pub(crate) contiguity: Contiguity,
    pub(crate) residence: Residence,
    pub(crate) memory: Option<usize>,
    pub(crate) elsewhere: bool,
}

impl AllocOptions {
    /// The largest pages, readable and writable, in one piece when possible.
    pub fn new() -> Self {
        Self::default()
    }

    /// Maps with these pages.
    pub fn pages(mut self, pages: PagePolicy) -> Self {
        self.pages = pages;
        self
    }

    /// Allows kernels this.
    pub fn access(mut self, access: Access) -> Self {
        self.access = access;
        self
    }

    /// Puts it into this memory. In the program's it is in one piece, and `pages` are at most as large as they fit there.
    pub fn residence(mut self, residence: Residence) -> Self {
        self.residence = residence;
        self
    }

    /// Puts it into the memory of this number ([`Card::memories`](crate::Card::memories)), or nowhere. Without it, it is in the first.
    pub fn memory(mut self, number: usize) -> Self {
        self.memory = Some(number);
        self.elsewhere = false;
        self
    }

    /// Puts it into the memory of this number, or, when that has no room, into the first of the others that has.
    pub fn prefer_memory(mut self, number: usize) -> Self {
        self.memory = Some(number);
        self.elsewhere = true;
        self
    }

    /// Wants this contiguity.
    pub fn contiguity(mut self, contiguity: Contiguity) -> Self {
        self.contiguity = contiguity;
        self
    }
}

/// Frames for a buffer, and where its addresses must lie for its pages to be large.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    /// In the order of the virtual addresses.
    pub extents: Vec<Extent>,
    /// Bytes, whole pages.
    pub len: u64,
    /// The virtual address must be `phase` modulo `align`.
    pub align: u64,
    /// See `align`.
    pub phase: u64,
}

/// What an entry of the second-level TLB covers of small pages.
const CLUSTER_BYTES: u64 = 64 << 10;

/// Takes frames for `bytes` (at least 1) on a card with these pages; `None` when there are not enough of the kind asked for.
pub(crate) fn plan(
    frames: &mut FrameAllocator,
    walked: Napot,
    bytes: u64,
    options: AllocOptions,
) -> Option<Plan> {
    let rounding = match options.pages {
        PagePolicy::Auto => FRAME_BYTES,
        PagePolicy::Only(size) => size.bytes(),
    };
    let len = bytes.checked_next_multiple_of(rounding)?;
    let granules = options.pages.granules(len, walked);
    let align = *granules.first()?;
    let one_piece = |frames: &mut FrameAllocator| {
        granules
            .iter()
            .find_map(|granule| frames.alloc_contiguous(len, *granule))
            .map(|extent| vec![extent])
    };
    let extents = match options.contiguity {
        Contiguity::Required => one_piece(frames),
        Contiguity::Preferred => {
            one_piece(frames).or_else(|| frames.alloc_scattered(len, &granules))
        }
        Contiguity::Ignored => frames.alloc_scattered(len, &granules),
    }?;
    // However small its pages: those of a cluster that lie in its memory as in its addresses are one entry of a TLB.
    let align = align.max(CLUSTER_BYTES);
    let phase = extents.first()?.pa % align;
    Some(Plan {
        extents,
        len,
        align,
        phase,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn memory(mib: u64) -> FrameAllocator {
        FrameAllocator::new(Extent {
            pa: 0,
            len: mib * MIB,
        })
    }

    #[test]
    fn a_buffer_is_aligned_to_the_largest_page_in_it() {
        let mut frames = memory(64);
        plan(&mut frames, Napot::Svnapot, 1, AllocOptions::new()).unwrap();
        let large = plan(&mut frames, Napot::Svnapot, 3 * MIB, AllocOptions::new()).unwrap();
        assert_eq!(
            large.extents,
            [Extent {
                pa: 2 * MIB,
                len: 3 * MIB
            }]
        );
        assert_eq!((large.align, large.phase), (2 * MIB, 0));
    }

    #[test]
    fn on_a_card_with_any_pages_the_largest_that_fits_is_of_any_size() {
        let mut frames = memory(64);
        let walked = Napot::Any;
        plan(&mut frames, walked, 1, AllocOptions::new()).unwrap();
        let found = plan(&mut frames, walked, MIB + 1, AllocOptions::new()).unwrap();
        assert_eq!((found.align, found.phase), (MIB, 0));
        assert_eq!(found.extents[0].pa, MIB);
    }

    #[test]
    fn a_page_size_rounds_the_buffer_up() {
        let mut frames = memory(64);
        let only = |size| AllocOptions::new().pages(PagePolicy::Only(size));
        assert_eq!(
            plan(&mut frames, Napot::Svnapot, 1, only(PageSize::SIZE_64K))
                .unwrap()
                .len,
            1 << 16
        );
        assert_eq!(
            plan(
                &mut frames,
                Napot::Svnapot,
                2 * MIB + 1,
                only(PageSize::SIZE_2M)
            )
            .unwrap()
            .len,
            4 * MIB
        );
        assert_eq!(
            plan(&mut frames, Napot::Svnapot, 1, only(PageSize::SIZE_1G)),
            None
        );
    }

    #[test]
    fn without_a_large_enough_piece_several_are_taken() {
        let mut frames = memory(8);
        let hole = frames.alloc_contiguous(3 * MIB, FRAME_BYTES).unwrap();
        let kept = frames.alloc_contiguous(2 * MIB, FRAME_BYTES).unwrap();
        frames.free(hole);
        assert_eq!(
            plan(
                &mut frames,
                Napot::Svnapot,
                4 * MIB,
                AllocOptions::new().contiguity(Contiguity::Required)
            ),
            None
        );
        let scattered = plan(&mut frames, Napot::Svnapot, 4 * MIB, AllocOptions::new()).unwrap();
        assert_eq!(
            scattered.extents,
            [
                Extent {
                    pa: 0,
                    len: 2 * MIB
                },
                Extent {
                    pa: 6 * MIB,
                    len: 2 * MIB
                }
            ]
        );
        assert!(
            scattered
                .extents
                .iter()
                .all(|extent| extent.end() <= kept.pa || extent.pa >= kept.end())
        );
    }

    #[test]
    fn an_unaligned_piece_still_lets_pages_be_large() {
        let mut frames = memory(7);
        frames.alloc_contiguous(MIB / 2, FRAME_BYTES).unwrap();
        let plan = plan(&mut frames, Napot::Svnapot, 6 * MIB, AllocOptions::new()).unwrap();
        assert_eq!(
            plan.extents,
            [Extent {
                pa: MIB / 2,
                len: 6 * MIB
            }]
        );
        assert_eq!((plan.align, plan.phase), (2 * MIB, MIB / 2));
    }

    #[test]
    fn small_pages_lie_in_a_cluster_as_their_frames_do() {
        let mut frames = memory(1);
        frames
            .alloc_contiguous(3 * FRAME_BYTES, FRAME_BYTES)
            .unwrap();
        let options = AllocOptions::new().pages(PagePolicy::Only(PageSize::SIZE_4K));
        let plan = plan(&mut frames, Napot::Svnapot, 10 * FRAME_BYTES, options).unwrap();
        assert_eq!((plan.align, plan.phase), (CLUSTER_BYTES, 3 * FRAME_BYTES));
    }
}
