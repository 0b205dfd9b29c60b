// SPDX-License-Identifier: Apache-2.0
//! `core/include/godwit/range.h` as it is, for those who share one allocator with C code. The safe face is
//! [`crate::range::Ranges`].
#![allow(missing_docs, reason = "the header documents every name")]

use std::ffi::{c_char, c_int, c_void};

pub const GW_RANGE_OK: c_int = 0;
pub const GW_RANGE_EAREA: c_int = -1;
pub const GW_RANGE_EGRANULE: c_int = -2;
pub const GW_RANGE_ESTORAGE: c_int = -3;
pub const GW_RANGE_ESIZE: c_int = -4;
pub const GW_RANGE_EALIGN: c_int = -5;
pub const GW_RANGE_ENOMEM: c_int = -6;
pub const GW_RANGE_EFRAGMENT: c_int = -7;
pub const GW_RANGE_EPLACE: c_int = -8;
pub const GW_RANGE_EUNALIGNED: c_int = -9;
pub const GW_RANGE_EFOREIGN: c_int = -10;
pub const GW_RANGE_ENOTSTART: c_int = -11;
pub const GW_RANGE_EBUSY: c_int = -12;

pub const GW_RANGE_ANY_NODE: u32 = u32::MAX;
pub const GW_RANGE_STRICT_NODE: u32 = 1;
const LEVELS: usize = 5;

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct gw_range_area {
    pub base: u64,
    pub bytes: u64,
    pub node: u32,
}

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct gw_range_request {
    pub bytes: u64,
    pub align: u64,
    pub min: u64,
    pub max: u64,
    pub node: u32,
    pub flags: u32,
}

#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct gw_range_why {
    pub free: u64,
    pub largest: u64,
    pub largest_placed: u64,
}

#[repr(C)]
#[derive(Debug)]
pub struct gw_range_span {
    pub base: u64,
    pub first: u64,
    pub count: u64,
}

#[repr(C)]
#[derive(Debug)]
pub struct gw_range {
    pub lock: u32,
    pub shift: u32,
    pub span_count: u32,
    pub area_count: u32,
    pub levels: u32,
    pub spans: *const gw_range_span,
    pub areas: *const gw_range_area,
    pub used: *mut u64,
    pub start: *mut u64,
    pub end: *mut u64,
    pub full: [*mut u64; LEVELS],
    pub words: [u64; LEVELS + 1],
    pub granules: u64,
    pub total: u64,
    pub free: u64,
    pub relax: Option<extern "C" fn(u32)>,
}

#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct gw_range_stats {
    pub total: u64,
    pub free: u64,
    pub largest: u64,
    pub ranges: u64,
    pub free_runs: u64,
    pub spans: u64,
}

/// The callback of [`gw_range_walk`].
pub type Visit = unsafe extern "C" fn(ctx: *mut c_void, used: bool, pa: u64, bytes: u64) -> bool;

unsafe extern "C" {
    pub fn gw_range_storage(
        areas: *const gw_range_area,
        count: u32,
        shift: u32,
        bytes: *mut usize,
    ) -> c_int;
    pub fn gw_range_init_zeroed(
        r: *mut gw_range,
        areas: *const gw_range_area,
        count: u32,
        shift: u32,
        storage: *mut c_void,
        storage_bytes: usize,
    ) -> c_int;
    pub fn gw_range_alloc(
        r: *mut gw_range,
        request: *const gw_range_request,
        pa: *mut u64,
        why: *mut gw_range_why,
    ) -> c_int;
    pub fn gw_range_free(r: *mut gw_range, pa: u64, bytes: *mut u64) -> c_int;
    pub fn gw_range_resize(r: *mut gw_range, pa: u64, bytes: u64) -> c_int;
    pub fn gw_range_split(r: *mut gw_range, pa: u64, bytes: u64) -> c_int;
    pub fn gw_range_find(r: *mut gw_range, pa: u64, first: *mut u64, bytes: *mut u64) -> c_int;
    pub fn gw_range_largest_free(r: *mut gw_range, min: u64, max: u64) -> u64;
    pub fn gw_range_free_bytes(r: *const gw_range) -> u64;
    pub fn gw_range_stats(r: *mut gw_range, stats: *mut gw_range_stats);
    pub fn gw_range_walk(r: *mut gw_range, visit: Visit, ctx: *mut c_void);
    pub fn gw_range_check(r: *mut gw_range, at: *mut u64) -> c_int;
    pub fn gw_range_freeze(r: *mut gw_range);
    pub fn gw_range_thaw(r: *mut gw_range);
    pub fn gw_range_index(r: *const gw_range, pa: u64, index: *mut u64) -> c_int;
    pub fn gw_range_address(r: *const gw_range, index: u64, pa: *mut u64) -> c_int;
    pub fn gw_range_reason(status: c_int) -> *const c_char;
}
