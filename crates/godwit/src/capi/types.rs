// SPDX-License-Identifier: Apache-2.0
//! Types of the C ABI. `tests/c_abi.rs` compiles the header and compares the layouts.

use std::ffi::{c_char, c_int, c_void};

use crate::Stats;

// begin: generated statuses by `python -m godwit.spec pages`
/// `GODWIT_OK`: done.
pub const OK: c_int = 0;
/// `GODWIT_EDEVICE`: a card cannot be opened, or failed while it was used.
pub const EDEVICE: c_int = -1;
/// `GODWIT_ENOMEM`: device memory, or host memory for the card, does not suffice.
pub const ENOMEM: c_int = -2;
/// `GODWIT_EFAULT`: translation refused an access of a kernel: the message has the fault record.
pub const EFAULT: c_int = -3;
/// `GODWIT_EHANG`: no progress, or not done in time: the message says where.
pub const EHANG: c_int = -4;
/// `GODWIT_EINVAL`: wrong arguments, or what was asked for is closed or in use.
pub const EINVAL: c_int = -5;
/// `GODWIT_EINTERNAL`: a bug in Godwit.
pub const EINTERNAL: c_int = -6;
/// `GODWIT_ESTATUS`: a kernel ended and says that it failed.
pub const ESTATUS: c_int = -7;
/// `GODWIT_RUNNING`: of a wait: the time was over first, the launch goes on.
pub const RUNNING: c_int = 1;
// end: generated

/// `GODWIT_READ_ONLY`
pub const READ_ONLY: u32 = 1;
/// `GODWIT_CONTIGUOUS`
pub const CONTIGUOUS: u32 = 2;
/// `GODWIT_SCATTERED`
pub const SCATTERED: u32 = 4;
/// `GODWIT_RANGES`
pub const RANGES: u32 = 8;
/// `GODWIT_NO_RANGES`
pub const NO_RANGES: u32 = 16;

/// `GODWIT_SMALL`
pub const SMALL: u32 = 32;
/// `GODWIT_PREFERRED`
pub const PREFERRED: u32 = 64;
/// `GODWIT_MEMORY`: one more than the number of a memory.
pub const MEMORY_MASK: u32 = 0xff00;
/// See `MEMORY_MASK`.
pub const MEMORY_SHIFT: u32 = 8;

/// The memory that flags name.
pub(super) fn memory_of(flags: u32) -> Option<usize> {
    let named = (flags & MEMORY_MASK) >> MEMORY_SHIFT;
    (named as usize).checked_sub(1)
}

/// `GODWIT_BARE`
pub const BARE: u32 = 1;
/// `GODWIT_ALLOW_STATUS`
pub const ALLOW_STATUS: u32 = 2;

/// `GODWIT_MAX_RESULTS`
pub const MAX_RESULTS: usize = 16;
/// `GODWIT_NAME_SIZE`
pub const NAME_SIZE: usize = 48;

/// `godwit_memory_info`
#[repr(C)]
#[derive(Clone, Copy)]
#[allow(missing_docs, reason = "the header documents the fields")]
pub struct GodwitMemoryInfo {
    pub name: [std::ffi::c_char; NAME_SIZE],
    pub first: u64,
    pub size: u64,
    pub free_bytes: u64,
    pub largest_bytes: u64,
}

/// `godwit_stats`
#[repr(C)]
#[derive(Clone, Copy, Default)]
#[allow(missing_docs, reason = "the header documents the fields")]
pub struct GodwitStats {
    pub cycles: u64,
    pub time_ps: u64,
    pub link_ps: u64,
    pub link_bytes: u64,
    pub reads: u64,
    pub writes: u64,
    pub read_bytes: u64,
    pub write_bytes: u64,
    pub pt_reads: u64,
    pub row_hits: u64,
    pub row_misses: u64,
    pub host_reads: u64,
    pub host_writes: u64,
}

impl From<Stats> for GodwitStats {
    fn from(stats: Stats) -> Self {
        Self {
            cycles: stats.cycles,
            time_ps: stats.time_ps,
            link_ps: stats.link_ps,
            link_bytes: stats.link_bytes,
            reads: stats.reads,
            writes: stats.writes,
            read_bytes: stats.read_bytes,
            write_bytes: stats.write_bytes,
            pt_reads: stats.pt_reads,
            row_hits: stats.row_hits,
            row_misses: stats.row_misses,
            host_reads: stats.host_reads,
            host_writes: stats.host_writes,
        }
    }
}

/// `godwit_callback`
pub type GodwitCallback = Option<unsafe extern "C" fn(*mut c_void)>;

/// `godwit_in_use`
pub type GodwitInUse = Option<unsafe extern "C" fn(*const c_void, usize) -> c_int>;

/// `godwit_arg`
#[repr(C)]
#[derive(Clone, Copy)]
#[allow(missing_docs, reason = "the header documents the fields")]
pub struct GodwitArg {
    pub name: *const c_char,
    pub value: u64,
}

/// `godwit_result`
#[repr(C)]
#[derive(Clone, Copy)]
#[allow(missing_docs, reason = "the header documents the fields")]
pub struct GodwitResult {
    pub name: [c_char; NAME_SIZE],
    pub value: u64,
}

/// `godwit_completion`
#[repr(C)]
#[derive(Clone, Copy)]
#[allow(missing_docs, reason = "the header documents the fields")]
pub struct GodwitCompletion {
    pub cycles: u64,
    pub time_ps: u64,
    pub launch_ps: u64,
    pub start_cycle: u64,
    pub end_cycle: u64,
    pub polled: c_int,
    pub stats: GodwitStats,
    pub result_count: usize,
    pub results: [GodwitResult; MAX_RESULTS],
}
