// SPDX-License-Identifier: Apache-2.0
//! The pool in C: `csrc/cmt_internal.h` and the types of `include/cmt.h`, which documents them.
#![allow(non_camel_case_types)]

use std::ffi::{c_char, c_int, c_void};

use godwit_core::range_ffi::gw_range;

/// `cmt_constraints`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct cmt_constraints {
    pub align: u64,
    pub min: u64,
    pub max: u64,
    pub node: u32,
    pub flags: u32,
}

/// `cmt_extent`: a piece of physical memory.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Extent {
    /// Physical address.
    pub pa: u64,
    /// Length.
    pub bytes: u64,
}

/// `cmt_stats`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stats {
    /// Bytes of all areas.
    pub total: u64,
    /// Bytes in no block, in no piece that small blocks are cut from and in no cache.
    pub free: u64,
    /// The largest piece of that.
    pub largest_free: u64,
    /// Bytes of freed blocks that threads keep for the next request.
    pub cached: u64,
    /// Pieces of 64 KiB that small blocks are cut from.
    pub superblocks: u64,
    /// Their bytes.
    pub superblock_bytes: u64,
    /// Bitmaps and tables outside the areas, bytes.
    pub metadata_bytes: u64,
    /// Pointers that were refused.
    pub misuses: u64,
    /// Requests that were refused for lack of memory.
    pub failures: u64,
}

#[repr(C)]
pub struct cmt_open {
    pub range: *mut gw_range,
    pub base: *mut c_void,
    pub bytes: u64,
    pub pa_base: u64,
    pub kinds: *mut c_void,
    pub pages: *mut c_void,
    pub live: *mut c_void,
    pub metadata_bytes: u64,
    pub super_bytes: u64,
    pub cache_bytes: u64,
    pub seen: *mut c_void,
    pub recent: *mut c_void,
    pub decay_ms: u32,
    pub shift: u32,
    pub shared: bool,
    pub populated: bool,
    pub checks: bool,
}

pub type cmt_write_fn =
    unsafe extern "C" fn(ctx: *mut c_void, line: *const c_char, length: usize) -> c_int;
pub type cmt_misuse_fn = unsafe extern "C" fn(pointer: *const c_void, why: *const c_char);

unsafe extern "C" {
    pub fn cmt_pool_open(how: *const cmt_open) -> c_int;
    pub fn gw_cmt_init(config: *const c_char) -> c_int;
    pub fn gw_cmt_malloc(size: usize) -> *mut c_void;
    pub fn gw_cmt_free(block: *mut c_void);
    pub fn gw_cmt_calloc(count: usize, size: usize) -> *mut c_void;
    pub fn cmt_is_malloc() -> bool;
    pub fn gw_cmt_realloc(block: *mut c_void, size: usize) -> *mut c_void;
    pub fn gw_cmt_aligned_alloc(align: usize, size: usize) -> *mut c_void;
    pub fn gw_cmt_usable_size(block: *const c_void) -> usize;
    pub fn gw_cmt_expand(block: *mut c_void, size: usize) -> bool;
    pub fn gw_cmt_alloc_contiguous(size: usize, limits: *const cmt_constraints) -> *mut c_void;
    pub fn gw_cmt_extents(block: *const c_void, extents: *mut Extent, capacity: usize) -> usize;
    pub fn gw_cmt_physical(address: *const c_void) -> u64;
    pub fn gw_cmt_stats(stats: *mut Stats);
    pub fn gw_cmt_dump(write: cmt_write_fn, ctx: *mut c_void) -> c_int;
    pub fn gw_cmt_check() -> c_int;
    pub fn gw_cmt_trim() -> usize;
    pub fn gw_cmt_is_open() -> bool;
    pub fn gw_cmt_owns(address: *const c_void) -> bool;
    pub fn gw_cmt_reason() -> *const c_char;
    pub fn gw_cmt_on_misuse(report: Option<cmt_misuse_fn>) -> Option<cmt_misuse_fn>;
}
