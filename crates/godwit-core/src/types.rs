// SPDX-License-Identifier: Apache-2.0
//! Values that page tables speak in.

use std::fmt;

use crate::ffi;
use crate::layout;

/// Translation mode: how many levels, and so how wide a virtual address is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Three levels, 39-bit addresses.
    Sv39,
    /// Four levels, 48-bit addresses.
    Sv48,
    /// Five levels, 57-bit addresses.
    Sv57,
}

impl Mode {
    /// All of them.
    pub const ALL: [Mode; 3] = [Mode::Sv39, Mode::Sv48, Mode::Sv57];

    /// The mode's code in `satp` and in the context register.
    pub const fn code(self) -> u32 {
        match self {
            Mode::Sv39 => layout::MODE_SV39,
            Mode::Sv48 => layout::MODE_SV48,
            Mode::Sv57 => layout::MODE_SV57,
        }
    }

    /// Table levels.
    pub const fn levels(self) -> u32 {
        match self {
            Mode::Sv39 => 3,
            Mode::Sv48 => 4,
            Mode::Sv57 => 5,
        }
    }

    /// Bits of a virtual address; the bits above repeat the top one.
    pub const fn va_bits(self) -> u32 {
        layout::PT_PAGE_SHIFT + layout::PT_LEVEL_BITS * self.levels()
    }
}

/// What a mapping allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Perm {
    /// Reads.
    Read,
    /// Reads and writes.
    ReadWrite,
}

impl Perm {
    pub(crate) const fn bits(self) -> u32 {
        match self {
            Perm::Read => ffi::GW_PT_READ,
            Perm::ReadWrite => ffi::GW_PT_READ | ffi::GW_PT_WRITE,
        }
    }

    pub(crate) const fn from_bits(bits: u32) -> Self {
        if bits & ffi::GW_PT_WRITE != 0 {
            Perm::ReadWrite
        } else {
            Perm::Read
        }
    }
}

/// Size of a page: a power of two of 4 KiB pages.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PageSize(u8);

impl PageSize {
    /// 4 KiB.
    pub const SIZE_4K: Self = Self(0);
    /// 64 KiB: sixteen 4 KiB entries with Svnapot.
    pub const SIZE_64K: Self = Self(layout::NAPOT_ORDER as u8);
    /// 2 MiB.
    pub const SIZE_2M: Self = Self(layout::PT_LEVEL_BITS as u8);
    /// 1 GiB: the largest that hardware tells from larger ones.
    pub const SIZE_1G: Self = Self(2 * layout::PT_LEVEL_BITS as u8);

    /// Those that every card walks, smallest first.
    pub const EVERYWHERE: [Self; 4] = [Self::SIZE_4K, Self::SIZE_64K, Self::SIZE_2M, Self::SIZE_1G];

    /// Of 2^`order` 4 KiB pages; None if no page table has pages that large.
    pub const fn of_order(order: u32) -> Option<Self> {
        if order < ffi::GW_PT_ORDERS as u32 {
            Some(Self(order as u8))
        } else {
            None
        }
    }

    /// Of this many bytes; None if that is no size of a page.
    pub const fn of_bytes(bytes: u64) -> Option<Self> {
        if bytes.is_power_of_two() && bytes >= Self::SIZE_4K.bytes() {
            Self::of_order(bytes.trailing_zeros() - layout::PT_PAGE_SHIFT)
        } else {
            None
        }
    }

    /// log2 of the size in 4 KiB pages, as the hardware counts.
    pub const fn order(self) -> u32 {
        self.0 as u32
    }

    /// The size in bytes.
    pub const fn bytes(self) -> u64 {
        1 << (layout::PT_PAGE_SHIFT + self.order())
    }
}

impl fmt::Display for PageSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Each unit is ten more bits.
        let shift = (layout::PT_PAGE_SHIFT + self.order() - 10) / 10;
        let unit = ["KiB", "MiB", "GiB", "TiB", "PiB"][shift as usize];
        write!(f, "{} {unit}", self.bytes() >> (10 * (shift + 1)))
    }
}

impl fmt::Debug for PageSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Pages of several entries that hardware walks: `walker.napot` of a card.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Napot {
    /// 64 KiB only, as Svnapot has it.
    #[default]
    Svnapot,
    /// Every power of two, at every level.
    Any,
}

impl Napot {
    /// Whether there are pages of this size, up to 1 GiB.
    pub fn has(self, size: PageSize) -> bool {
        match self {
            Self::Svnapot => PageSize::EVERYWHERE.contains(&size),
            Self::Any => size <= PageSize::SIZE_1G,
        }
    }

    /// All sizes there are, smallest first.
    pub fn sizes(self) -> impl DoubleEndedIterator<Item = PageSize> {
        (0..=PageSize::SIZE_1G.order())
            .filter_map(PageSize::of_order)
            .filter(move |size| self.has(*size))
    }

    /// The set of them, as core/ wants it.
    pub(crate) fn orders(self) -> u64 {
        self.sizes().map(|size| 1 << size.order()).sum()
    }
}

/// One page, as a lookup or a walk finds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Mapping {
    /// First virtual address.
    pub va: u64,
    /// First physical address.
    pub pa: u64,
    /// Size of the page.
    pub size: PageSize,
    /// What it allows.
    pub perm: Perm,
}

impl Mapping {
    /// Physical address of a byte of this page.
    pub const fn translate(&self, va: u64) -> u64 {
        self.pa + (va - self.va)
    }

    pub(crate) fn from_raw(raw: &ffi::gw_pt_mapping) -> Self {
        Mapping {
            va: raw.va,
            pa: raw.pa,
            // The table has checked its entries.
            size: PageSize::of_order(raw.order).unwrap_or(PageSize::SIZE_4K),
            perm: Perm::from_bits(raw.perm),
        }
    }
}

/// What hardware and host left in the entries of a page: see [`PageTable::track`](crate::PageTable::track).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PageState {
    /// It was accessed.
    pub accessed: bool,
    /// It was written.
    pub dirty: bool,
    /// It is out of use; once its invalidation is acknowledged the others are final.
    pub frozen: bool,
}

impl PageState {
    pub(crate) const fn from_bits(bits: u32) -> Self {
        Self {
            accessed: bits & ffi::GW_PT_ACCESSED != 0,
            dirty: bits & ffi::GW_PT_DIRTY != 0,
            frozen: bits & ffi::GW_PT_FROZEN != 0,
        }
    }
}

/// What pages count as when they are mapped into a table that [tracks](crate::PageTable::track).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Begins {
    /// Hardware sets A at the first access and D at the first write.
    Untouched,
    /// A is set: hardware writes the entry at the first write only.
    Accessed,
    /// Both are set: hardware never writes the entry.
    Written,
}

impl Begins {
    pub(crate) const fn bits(self) -> u32 {
        match self {
            Self::Untouched => 0,
            Self::Accessed => ffi::GW_PT_ACCESSED,
            Self::Written => ffi::GW_PT_ACCESSED | ffi::GW_PT_DIRTY,
        }
    }
}

/// A virtual range in bytes; both numbers are multiples of 4 KiB.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Range {
    /// First address.
    pub va: u64,
    /// Bytes.
    pub size: u64,
}

impl Range {
    /// Whether this byte lies in the range.
    pub const fn contains(&self, va: u64) -> bool {
        va.wrapping_sub(self.va) < self.size
    }
}

/// Tables and pages that [`PageTable::check`](crate::PageTable::check) counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Stats {
    /// Linked tables, the root included.
    pub tables: u64,
    pages: PagesByOrder,
}

/// One number an order.
type PagesByOrder = [u64; ffi::GW_PT_ORDERS];

impl Stats {
    /// How many pages of this size there are.
    pub const fn pages(&self, size: PageSize) -> u64 {
        self.pages[size.order() as usize]
    }

    pub(crate) const fn from_raw(raw: &ffi::gw_pt_stats) -> Self {
        Stats {
            tables: raw.tables,
            pages: raw.pages,
        }
    }
}

/// What has to be invalidated in the hardware, gathered over any number of calls.
///
/// The ranges cover every page whose translation changed. There are never more than the capacity: then the last one is
/// stretched, so that they may cover more than that, never less.
#[derive(Debug, Clone)]
pub struct Invalidation {
    pub(crate) ranges: Vec<Range>,
    pub(crate) count: usize,
    pub(crate) tables: u64,
    pub(crate) narrowed: bool,
}

impl Invalidation {
    /// An empty one with room for 16 ranges.
    pub fn new() -> Self {
        Self::with_capacity(16)
    }

    /// An empty one with room for `ranges` ranges; with 0 only [`is_needed`](Self::is_needed) and
    /// [`tables`](Self::tables) mean anything.
    pub fn with_capacity(ranges: usize) -> Self {
        Invalidation {
            ranges: vec![Range::default(); ranges],
            count: 0,
            tables: 0,
            narrowed: false,
        }
    }

    /// The ranges so far.
    pub fn ranges(&self) -> &[Range] {
        &self.ranges[..self.count]
    }

    /// Tables that were unlinked: cached upper levels of these ranges must go, too.
    pub const fn tables(&self) -> u64 {
        self.tables
    }

    /// Whether a mapping, a permission or a table was taken away. If not, Godwit's hardware, which decides faults by a
    /// fresh read of the table, needs no invalidation.
    pub const fn is_needed(&self) -> bool {
        self.narrowed
    }

    /// Forgets everything, for use after the invalidation is acknowledged.
    pub fn clear(&mut self) {
        self.count = 0;
        self.tables = 0;
        self.narrowed = false;
    }
}

impl Default for Invalidation {
    fn default() -> Self {
        Self::new()
    }
}
