// SPDX-License-Identifier: Apache-2.0
//! `core/include/godwit/{fault,prefetch,around,evict,stay}.h` as they are. The safe face is [`crate::policy`].
#![allow(missing_docs, reason = "the headers document every name")]

use std::ffi::c_void;

pub const GW_FAULT_WRITE: u32 = 1;
pub const GW_FAULT_REPEAT: u32 = 2;
pub const GW_STAY_HOME: u8 = 0;
pub const GW_STAY_IN_PLACE: u8 = 1;
pub const GW_EVICT_NONE: u32 = u32::MAX;
const WORDS: usize = 8;
const STREAMS: usize = 16;
const WALKS: usize = 8;

#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct gw_fault {
    pub page: u64,
    pub context: u32,
    pub tag: u32,
    pub flags: u32,
}

#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct gw_fault_group {
    pub page: u64,
    pub context: u32,
    pub order: u32,
    pub first: u32,
    pub count: u32,
    pub flags: u32,
}

#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct gw_fault_stats {
    pub groups: u32,
    pub pages: u32,
    pub duplicates: u32,
    pub answers: u32,
}

#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct gw_prefetch_stream {
    last: u64,
    next: u64,
    stride: i64,
    context: u32,
    window: u32,
    repeats: u32,
    age: u32,
    then: u32,
    credit: u32,
}

#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct gw_prefetch {
    streams: [gw_prefetch_stream; STREAMS],
    fault_pages: u32,
    max_window: u32,
    first_window: u32,
    clock: u32,
    newest: u32,
    guessed: bool,
    returned: u32,
    used: u32,
}

#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct gw_prefetch_fault {
    pub page: u64,
    pub first: u64,
    pub last: u64,
    pub context: u32,
}

#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct gw_prefetch_block {
    pub used: [u64; WORDS],
    pub resident: [u64; WORDS],
}

#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct gw_prefetch_plan {
    pub page: u64,
    pub stride: i64,
    pub count: u32,
    pub stream: bool,
}

#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct gw_evict_node {
    next: u32,
    previous: u32,
    stamp: u32,
    pages: u16,
    queue: u8,
    flags: u8,
}

#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct gw_evict_list {
    oldest: u32,
    newest: u32,
    pages: u64,
}

#[repr(C)]
#[derive(Debug)]
pub struct gw_evict {
    nodes: *mut gw_evict_node,
    count: u32,
    now: u32,
    capacity: u64,
    passing_pages: u64,
    batch: u64,
    lists: [gw_evict_list; 4],
    returned: u32,
    share: u32,
    calm: u32,
}

impl Default for gw_evict {
    fn default() -> Self {
        gw_evict {
            nodes: std::ptr::null_mut(),
            count: 0,
            now: 0,
            capacity: 0,
            passing_pages: 0,
            batch: 0,
            lists: [gw_evict_list::default(); 4],
            returned: 0,
            share: 0,
            calm: 0,
        }
    }
}

#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct gw_around_walk {
    owner: u64,
    next: u64,
    pages: u32,
}

#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct gw_around {
    walk: [gw_around_walk; WALKS],
}

#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct gw_stay {
    pub lines: u32,
    known: u32,
    pub place: u8,
    flags: u8,
    shift: u8,
    wait: u8,
    looks: u8,
}

#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct gw_stay_costs {
    pub line: u64,
    pub begin: u64,
    pub r#move: u64,
}

/// The callback of [`gw_evict_choose`].
pub type Accessed = unsafe extern "C" fn(ctx: *mut c_void, group: u32) -> bool;

unsafe extern "C" {
    pub fn gw_fault_coalesce(
        faults: *mut gw_fault,
        count: u32,
        max_order: u32,
        groups: *mut gw_fault_group,
        stats: *mut gw_fault_stats,
    ) -> u32;
    pub fn gw_prefetch_init(p: *mut gw_prefetch, fault_pages: u32, max_window: u32);
    pub fn gw_prefetch_limit(p: *mut gw_prefetch, max_window: u32, full: bool);
    pub fn gw_prefetch_plan(
        p: *mut gw_prefetch,
        fault: *const gw_prefetch_fault,
        block: *const gw_prefetch_block,
        plan: *mut gw_prefetch_plan,
    );
    pub fn gw_prefetch_time(p: *const gw_prefetch) -> u32;
    pub fn gw_prefetch_expect(
        p: *mut gw_prefetch,
        context: u32,
        since: u32,
        page: *mut u64,
    ) -> bool;
    pub fn gw_prefetch_returned(p: *mut gw_prefetch, pages: u32, used: u32);
    pub fn gw_around_touched(
        a: *mut gw_around,
        owner: u64,
        page: u64,
        fewest: u32,
        most: u32,
        first: *mut u64,
    ) -> u32;
    pub fn gw_evict_init(e: *mut gw_evict, nodes: *mut gw_evict_node, count: u32, capacity: u64);
    pub fn gw_evict_coming(e: *mut gw_evict, pages: u64);
    pub fn gw_evict_added(e: *mut gw_evict, group: u32, pages: u32, asked: bool) -> bool;
    pub fn gw_evict_removed(e: *mut gw_evict, group: u32) -> u32;
    pub fn gw_evict_spared(e: *mut gw_evict, group: u32, pages: u32) -> bool;
    pub fn gw_evict_choose(
        e: *mut gw_evict,
        for_prefetch: bool,
        keep: u32,
        accessed: Option<Accessed>,
        ctx: *mut c_void,
    ) -> u32;
    pub fn gw_evict_resize(e: *mut gw_evict, capacity: u64);
    pub fn gw_evict_pages(e: *const gw_evict) -> u64;
    pub fn gw_stay_begin(s: *mut gw_stay);
    pub fn gw_stay_crossed(s: *mut gw_stay, lines: u32);
    pub fn gw_stay_due(s: *const gw_stay, costs: *const gw_stay_costs) -> bool;
    pub fn gw_stay_moved(s: *mut gw_stay);
    pub fn gw_stay_refused(s: *mut gw_stay);
    pub fn gw_stay_wants_lines(s: *const gw_stay) -> bool;
    pub fn gw_stay_end(s: *mut gw_stay, costs: *const gw_stay_costs, evicted: bool, salt: u32);
}
