// SPDX-License-Identifier: Apache-2.0
//! `core/include/godwit/pt.h` as it is. The safe face is [`crate::PageTable`].

use std::ffi::{c_char, c_int, c_void};

pub const GW_PT_OK: c_int = 0;
pub const GW_PT_EMODE: c_int = -1;
pub const GW_PT_EALIGN: c_int = -2;
pub const GW_PT_ESIZE: c_int = -3;
pub const GW_PT_ECANON: c_int = -4;
pub const GW_PT_EPHYS: c_int = -5;
pub const GW_PT_EPERM: c_int = -6;
pub const GW_PT_EORDER: c_int = -7;
pub const GW_PT_EEXIST: c_int = -8;
pub const GW_PT_ENOENT: c_int = -9;
pub const GW_PT_ENOMEM: c_int = -10;
pub const GW_PT_EAPART: c_int = -12;

pub const GW_PT_READ: u32 = 1;
pub const GW_PT_WRITE: u32 = 2;
pub const GW_PT_ACCESSED: u32 = 1;
pub const GW_PT_DIRTY: u32 = 2;
pub const GW_PT_FROZEN: u32 = 4;
pub const GW_PT_NO_FRAME: u64 = u64::MAX;
pub const GW_PT_ORDERS: usize = 45;

#[repr(C)]
pub struct gw_pt_ops {
    pub read: unsafe extern "C" fn(*mut c_void, u64) -> u64,
    pub write: unsafe extern "C" fn(*mut c_void, u64, u64),
    pub alloc: unsafe extern "C" fn(*mut c_void) -> u64,
    pub free: unsafe extern "C" fn(*mut c_void, u64),
    pub write_high: unsafe extern "C" fn(*mut c_void, u64, u32),
}

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct gw_pt_frames {
    pub head: u64,
    pub count: u64,
}

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct gw_pt {
    pub ops: *const gw_pt_ops,
    pub ctx: *mut c_void,
    pub root: u64,
    pub tables: u64,
    pub dead: gw_pt_frames,
    pub joined: u64,
    pub error_va: u64,
    pub orders: u64,
    pub levels: u32,
    pub mode: u32,
    pub tracks: bool,
}

#[repr(C)]
pub struct gw_pt_inval {
    pub ranges: *mut crate::Range,
    pub capacity: usize,
    pub count: usize,
    pub tables: u64,
    pub narrowed: bool,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct gw_pt_mapping {
    pub va: u64,
    pub pa: u64,
    pub order: u32,
    pub perm: u32,
    pub state: u32,
}

#[repr(C)]
pub struct gw_pt_stats {
    pub tables: u64,
    pub pages: [u64; GW_PT_ORDERS],
}

pub type gw_pt_visit_fn = unsafe extern "C" fn(*mut c_void, *const gw_pt_mapping) -> c_int;

unsafe extern "C" {
    pub fn gw_pt_init_orders(
        pt: *mut gw_pt,
        ops: *const gw_pt_ops,
        ctx: *mut c_void,
        mode: u32,
        orders: u64,
    ) -> c_int;
    pub fn gw_pt_destroy(pt: *mut gw_pt);
    pub fn gw_pt_map_as(
        pt: *mut gw_pt,
        va: u64,
        pa: u64,
        size: u64,
        perm: u32,
        max_order: u32,
        state: u32,
    ) -> c_int;
    pub fn gw_pt_unmap(pt: *mut gw_pt, va: u64, size: u64, inval: *mut gw_pt_inval) -> c_int;
    pub fn gw_pt_protect(
        pt: *mut gw_pt,
        va: u64,
        size: u64,
        perm: u32,
        inval: *mut gw_pt_inval,
    ) -> c_int;
    pub fn gw_pt_join(pt: *mut gw_pt, va: u64, order: u32, inval: *mut gw_pt_inval) -> c_int;
    pub fn gw_pt_track(pt: *mut gw_pt);
    pub fn gw_pt_freeze(pt: *mut gw_pt, va: u64, size: u64, inval: *mut gw_pt_inval) -> c_int;
    pub fn gw_pt_thaw(pt: *mut gw_pt, va: u64, size: u64, clear: bool) -> c_int;
    pub fn gw_pt_age(pt: *mut gw_pt, va: u64, size: u64, inval: *mut gw_pt_inval) -> c_int;
    pub fn gw_pt_reclaim(pt: *mut gw_pt) -> u64;
    pub fn gw_pt_lookup(pt: *mut gw_pt, va: u64, out: *mut gw_pt_mapping) -> c_int;
    pub fn gw_pt_walk(
        pt: *mut gw_pt,
        first: u64,
        last: u64,
        visit: gw_pt_visit_fn,
        arg: *mut c_void,
    ) -> c_int;
    pub fn gw_pt_check(pt: *mut gw_pt, stats: *mut gw_pt_stats) -> c_int;
    pub fn gw_pt_table_bytes(pt: *const gw_pt) -> u64;
    pub fn gw_pt_reason(status: c_int) -> *const c_char;
}
