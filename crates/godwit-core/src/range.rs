// SPDX-License-Identifier: Apache-2.0
//! Contiguous ranges of physical memory from scattered areas: the safe face of `core/include/godwit/range.h`, which says
//! what is promised about placement, exactness and threads.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::cell::UnsafeCell;
use std::ffi::c_void;
use std::ptr::NonNull;

pub use crate::range_areas::explain_areas;
use crate::range_error::checked;
pub use crate::range_error::{RangeError, RangeErrorKind, Why};
use crate::range_ffi as ffi;

/// Memory there is: `bytes` from physical address `base` on, on memory node `node`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Area {
    /// Physical address of the first byte.
    pub base: u64,
    /// Length.
    pub bytes: u64,
    /// Memory node, or whatever areas are preferred by.
    pub node: u32,
}

/// What is asked for; [`Request::new`] asks for nothing but a size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// Length in bytes, rounded up to granules.
    pub bytes: u64,
    /// A power of two, in bytes.
    pub align: u64,
    /// Lowest physical address that may be part of it.
    pub min: u64,
    /// Highest one, such as `0xffff_ffff` for a 32-bit peripheral.
    pub max: u64,
    /// Preferred node.
    pub node: Option<u32>,
    /// Whether to fail rather than take another node's memory.
    pub strict: bool,
}

impl Request {
    /// `bytes` anywhere.
    pub fn new(bytes: u64) -> Self {
        Self {
            bytes,
            align: 1,
            min: 0,
            max: u64::MAX,
            node: None,
            strict: false,
        }
    }

    fn raw(&self) -> ffi::gw_range_request {
        ffi::gw_range_request {
            bytes: self.bytes,
            align: self.align,
            min: self.min,
            max: self.max,
            node: self.node.unwrap_or(ffi::GW_RANGE_ANY_NODE),
            flags: if self.strict {
                ffi::GW_RANGE_STRICT_NODE
            } else {
                0
            },
        }
    }
}

/// A range in use or a free run, as [`Ranges::runs`] lists them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// Whether it is in use.
    pub used: bool,
    /// Physical address of the first byte.
    pub pa: u64,
    /// Length.
    pub bytes: u64,
}

/// A moment's state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RangeStats {
    /// Bytes of all areas, in whole granules.
    pub total: u64,
    /// Free bytes.
    pub free: u64,
    /// The largest free run, bytes.
    pub largest: u64,
    /// Ranges in use.
    pub ranges: u64,
    /// Free runs.
    pub free_runs: u64,
    /// Areas after those that touch were joined.
    pub spans: u64,
}

/// The allocator, with its own storage.
#[derive(Debug)]
pub struct Ranges {
    range: Box<UnsafeCell<ffi::gw_range>>,
    /// Bitmaps; `range` points into them.
    storage: Storage,
}

/// Words that start as zeros, and that nobody touches before they are needed: what a `Vec` would not do when it may fail.
#[derive(Debug)]
struct Storage {
    start: NonNull<u64>,
    layout: Layout,
}

impl Storage {
    /// Areas are the caller's word: more bitmaps than memory is an error and no end of the process.
    fn new(words: usize) -> Result<Self, RangeError> {
        let failed = RangeError {
            status: ffi::GW_RANGE_ESTORAGE,
            why: None,
        };
        let Ok(layout) = Layout::array::<u64>(words.max(1)) else {
            return Err(failed);
        };
        // SAFETY: the layout is of at least a word.
        match NonNull::new(unsafe { alloc_zeroed(layout) }) {
            Some(start) => Ok(Self {
                start: start.cast(),
                layout,
            }),
            None => Err(failed),
        }
    }
}

impl Drop for Storage {
    fn drop(&mut self) {
        // SAFETY: from `new`, with this layout.
        unsafe { dealloc(self.start.as_ptr().cast(), self.layout) };
    }
}

// SAFETY: core/ promises that every call but the initialisation may be made by any number of threads.
unsafe impl Sync for Ranges {}
// SAFETY: nothing in it belongs to a thread.
unsafe impl Send for Ranges {}

/// Waiting threads let others run: in user space the one that holds the lock may need this processor.
pub extern "C" fn relax(looks: u32) {
    if looks % 32 == 0 {
        std::thread::yield_now();
    } else {
        std::hint::spin_loop();
    }
}

/// The areas as core/ takes them, their count, and log2 of the granule.
fn raw_areas(
    areas: &[Area],
    granule: u64,
) -> Result<(Vec<ffi::gw_range_area>, u32, u32), RangeError> {
    let raw: Vec<_> = areas
        .iter()
        .map(|area| ffi::gw_range_area {
            base: area.base,
            bytes: area.bytes,
            node: area.node,
        })
        .collect();
    let count = u32::try_from(raw.len()).map_err(|_| RangeError {
        status: ffi::GW_RANGE_EAREA,
        why: None,
    })?;
    if !granule.is_power_of_two() {
        checked(ffi::GW_RANGE_EGRANULE, None)?;
    }
    Ok((raw, count, granule.trailing_zeros()))
}

fn storage_bytes(raw: &[ffi::gw_range_area], count: u32, shift: u32) -> Result<usize, RangeError> {
    let mut bytes = 0;
    // SAFETY: `raw` has `count` elements.
    let status = unsafe { ffi::gw_range_storage(raw.as_ptr(), count, shift, &raw mut bytes) };
    checked(status, None)?;
    Ok(bytes)
}

impl Ranges {
    /// Bytes of bitmaps that [`Ranges::new`] would take.
    pub fn metadata_needed(areas: &[Area], granule: u64) -> Result<usize, RangeError> {
        let (raw, count, shift) = raw_areas(areas, granule)?;
        storage_bytes(&raw, count, shift)
    }

    /// All memory of `areas` is free. `granule` is a power of two from 16 bytes to 1 GiB.
    pub fn new(areas: &[Area], granule: u64) -> Result<Self, RangeError> {
        let (raw, count, shift) = raw_areas(areas, granule)?;
        let words = storage_bytes(&raw, count, shift)?.div_ceil(8);
        let storage = Storage::new(words)?;
        // SAFETY: a struct of integers and pointers that are not followed before the initialisation below.
        let mut range = Box::new(UnsafeCell::new(unsafe {
            std::mem::zeroed::<ffi::gw_range>()
        }));
        // SAFETY: the storage is zero, as large as asked for, aligned, and lives as long as `range`.
        let status = unsafe {
            ffi::gw_range_init_zeroed(
                range.get(),
                raw.as_ptr(),
                count,
                shift,
                storage.start.as_ptr().cast(),
                storage.layout.size(),
            )
        };
        checked(status, None)?;
        range.get_mut().relax = Some(relax);
        Ok(Self { range, storage })
    }

    /// The C struct, for code in C that shares the allocator.
    pub fn raw(&self) -> *mut ffi::gw_range {
        self.range.get()
    }

    /// Bytes of bitmaps.
    pub fn metadata_bytes(&self) -> usize {
        self.storage.layout.size()
    }

    /// Takes a range; its physical address.
    pub fn alloc(&self, request: &Request) -> Result<u64, RangeError> {
        let (mut pa, mut why) = (0, ffi::gw_range_why::default());
        // SAFETY: initialised; all pointers are to locals.
        let status =
            unsafe { ffi::gw_range_alloc(self.raw(), &request.raw(), &raw mut pa, &raw mut why) };
        checked(
            status,
            Some(Why {
                free: why.free,
                largest: why.largest,
                largest_placed: why.largest_placed,
            }),
        )?;
        Ok(pa)
    }

    /// Gives back the range that starts at `pa`; its length.
    pub fn free(&self, pa: u64) -> Result<u64, RangeError> {
        let mut bytes = 0;
        // SAFETY: initialised.
        let status = unsafe { ffi::gw_range_free(self.raw(), pa, &raw mut bytes) };
        checked(status, None)?;
        Ok(bytes)
    }

    /// Makes the range that starts at `pa` `bytes` long, where it is.
    pub fn resize(&self, pa: u64, bytes: u64) -> Result<(), RangeError> {
        // SAFETY: initialised.
        let status = unsafe { ffi::gw_range_resize(self.raw(), pa, bytes) };
        checked(status, None)
    }

    /// Makes the range that starts at `pa` into ranges of `bytes` each, the last as long as is left.
    pub fn split(&self, pa: u64, bytes: u64) -> Result<(), RangeError> {
        // SAFETY: initialised.
        let status = unsafe { ffi::gw_range_split(self.raw(), pa, bytes) };
        checked(status, None)
    }

    /// The range in use that holds `pa`: its first address and length.
    pub fn find(&self, pa: u64) -> Result<(u64, u64), RangeError> {
        let (mut first, mut bytes) = (0, 0);
        // SAFETY: initialised.
        let status = unsafe { ffi::gw_range_find(self.raw(), pa, &raw mut first, &raw mut bytes) };
        checked(status, None)?;
        Ok((first, bytes))
    }

    /// The largest free run within `[min, max]`, in bytes.
    pub fn largest_free(&self, min: u64, max: u64) -> u64 {
        // SAFETY: initialised.
        unsafe { ffi::gw_range_largest_free(self.raw(), min, max) }
    }

    /// Free bytes.
    pub fn free_bytes(&self) -> u64 {
        // SAFETY: initialised.
        unsafe { ffi::gw_range_free_bytes(self.raw()) }
    }

    /// A moment's state.
    pub fn stats(&self) -> RangeStats {
        let mut raw = ffi::gw_range_stats::default();
        // SAFETY: initialised.
        unsafe { ffi::gw_range_stats(self.raw(), &raw mut raw) };
        RangeStats {
            total: raw.total,
            free: raw.free,
            largest: raw.largest,
            ranges: raw.ranges,
            free_runs: raw.free_runs,
            spans: raw.spans,
        }
    }

    /// Every range in use and every free run, in the order of addresses, at one moment.
    pub fn runs(&self) -> Vec<Run> {
        unsafe extern "C" fn push(ctx: *mut c_void, used: bool, pa: u64, bytes: u64) -> bool {
            // SAFETY: `ctx` is the vector below, and nothing else uses it meanwhile.
            unsafe { (*ctx.cast::<Vec<Run>>()).push(Run { used, pa, bytes }) };
            true
        }
        let mut runs: Vec<Run> = Vec::new();
        // SAFETY: initialised; `push` does not call the allocator.
        unsafe { ffi::gw_range_walk(self.raw(), push, (&raw mut runs).cast()) };
        runs
    }

    /// Whether the bitmaps agree with each other; if not, an address of the contradiction.
    pub fn check(&self) -> Result<(), u64> {
        let mut at = 0;
        // SAFETY: initialised.
        match unsafe { ffi::gw_range_check(self.raw(), &raw mut at) } {
            ffi::GW_RANGE_OK => Ok(()),
            _ => Err(at),
        }
    }
}
