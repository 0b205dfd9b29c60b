// SPDX-License-Identifier: Apache-2.0
//! A contiguous block with an owner.

use std::ffi::c_void;
use std::ptr::NonNull;
use std::slice;

use godwit_core::HostMemory;

use crate::ffi::{self, Extent};
use crate::{CmtError, reason};

/// Limits of a contiguous block; the default asks for nothing but a size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Alignment of the physical address (and of the pointer, up to 1 GiB): a power of two, in bytes.
    pub align: u64,
    /// Lowest physical address.
    pub min: u64,
    /// Highest physical address, such as `0xffff_ffff` for a 32-bit peripheral.
    pub max: u64,
    /// Preferred memory node.
    pub node: Option<u32>,
    /// Whether to fail rather than take another node's memory.
    pub strict: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            align: 1,
            min: 0,
            max: u64::MAX,
            node: None,
            strict: false,
        }
    }
}

/// Physically contiguous memory. Its bytes are whatever was there before.
#[derive(Debug)]
pub struct Block {
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: it owns its memory, and the pool's calls may come from any thread.
unsafe impl Send for Block {}
// SAFETY: shared references only read.
unsafe impl Sync for Block {}

impl Block {
    /// `len` bytes within `limits`.
    pub fn new(len: usize, limits: &Limits) -> Result<Self, CmtError> {
        let raw = ffi::cmt_constraints {
            align: limits.align,
            min: limits.min,
            max: limits.max,
            node: limits.node.unwrap_or(u32::MAX),
            flags: limits.strict.into(),
        };
        // SAFETY: a struct to read.
        let start = unsafe { ffi::gw_cmt_alloc_contiguous(len, &raw const raw) };
        match NonNull::new(start.cast()) {
            Some(start) => Ok(Self { start, len }),
            None => Err(CmtError::Memory(reason())),
        }
    }

    /// Bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Never: a block has at least one byte.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The first byte.
    pub fn as_ptr(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    /// All of it.
    pub fn as_slice(&self) -> &[u8] {
        // SAFETY: ours, mapped, and of this length; memory of the system is initialised.
        unsafe { slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }

    /// All of it, to change.
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: the same, and nobody else has a reference.
        unsafe { slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }

    /// Where it is in physical memory.
    pub fn extent(&self) -> Extent {
        let mut extent = Extent::default();
        // SAFETY: a block in use, room for one.
        unsafe { ffi::gw_cmt_extents(self.start.as_ptr().cast(), &raw mut extent, 1) };
        extent
    }

    /// Makes it `len` bytes long where it is; an error if what follows is in use.
    pub fn grow(&mut self, len: usize) -> Result<(), CmtError> {
        // SAFETY: a block in use.
        if unsafe { ffi::gw_cmt_expand(self.start.as_ptr().cast(), len) } {
            self.len = self.len.max(len);
            Ok(())
        } else {
            Err(CmtError::Memory(reason()))
        }
    }
}

// SAFETY: whole granules of at least a page belong to the block until it is dropped, and stay where they are.
unsafe impl HostMemory for Block {
    fn as_ptr(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    fn bytes(&self) -> u64 {
        self.len as u64
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: ours, and gone afterwards.
        unsafe { ffi::gw_cmt_free(self.start.as_ptr().cast::<c_void>()) };
    }
}
