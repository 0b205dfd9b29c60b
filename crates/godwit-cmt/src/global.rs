// SPDX-License-Identifier: Apache-2.0
//! The pool as an allocator of Rust.

use std::alloc::{GlobalAlloc, Layout, System};

use crate::ffi;

/// From here on blocks are large ones (`CMT_LARGE_SHIFT`), which start at a granule.
const LARGE_MIN: usize = 64 << 10;
/// The smallest granule that a pool may have.
const GRANULE_MIN: usize = 4096;

/// Every collection of a program in contiguous memory, from [`init`](crate::init) on. What is allocated before, opening
/// the pool included, comes from the system's allocator and goes back there.
///
/// ```
/// #[global_allocator]
/// static MEMORY: godwit_cmt::Cmt = godwit_cmt::Cmt;
///
/// # fn main() -> Result<(), godwit_cmt::CmtError> {
/// let before = vec![1u8; 1000];
/// godwit_cmt::init("size=64MiB")?;
/// let after = vec![1u8; 1000];
/// assert!(godwit_cmt::physical(before.as_ptr()).is_none());
/// assert!(godwit_cmt::physical(after.as_ptr()).is_some());
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct Cmt;

// SAFETY: blocks are of the size and alignment asked for, stay until they are given back, and go back to where they came
// from.
unsafe impl GlobalAlloc for Cmt {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: any size and alignment is served or refused; for the system's as the caller promises.
        unsafe {
            if ffi::gw_cmt_is_open() {
                ffi::gw_cmt_aligned_alloc(layout.align(), layout.size()).cast()
            } else {
                System.alloc(layout)
            }
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        unsafe {
            if !ffi::gw_cmt_is_open() {
                return System.alloc_zeroed(layout);
            }
            // It does not write what nobody has used yet.
            let aligned = if layout.size() < LARGE_MIN {
                16
            } else {
                GRANULE_MIN
            };
            if layout.align() <= aligned {
                return ffi::gw_cmt_calloc(1, layout.size()).cast();
            }
            let block = self.alloc(layout);
            if !block.is_null() {
                block.write_bytes(0, layout.size());
            }
            block
        }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: a block of this allocator, which knows its own by their address.
        unsafe {
            if ffi::gw_cmt_owns(block.cast()) {
                ffi::gw_cmt_free(block.cast());
            } else {
                System.dealloc(block, layout);
            }
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: a block of this allocator; blocks that cmt_realloc moves are aligned to 16 bytes. The layout's
        // alignment is a legal one.
        unsafe {
            if layout.align() <= 16 && ffi::gw_cmt_owns(block.cast()) {
                return ffi::gw_cmt_realloc(block.cast(), size).cast();
            }
            let moved = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
            if !moved.is_null() {
                block.copy_to_nonoverlapping(moved, layout.size().min(size));
                self.dealloc(block, layout);
            }
            moved
        }
    }
}
