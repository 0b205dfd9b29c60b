// SPDX-License-Identifier: Apache-2.0
//! Types of the C ABI. `tests/c_abi.rs` compiles the header and compares the layouts.

use std::ffi::{c_char, c_int};

use crate::{ChannelCounters, PortCounters, Stats, WalkerCounters};

/// `GODWIT_OK`
pub const OK: c_int = 0;
/// `GODWIT_EDEVICE`
pub const EDEVICE: c_int = -1;
/// `GODWIT_ENOMEM`
pub const ENOMEM: c_int = -2;
/// `GODWIT_EFAULT`
pub const EFAULT: c_int = -3;
/// `GODWIT_EHANG`
pub const EHANG: c_int = -4;
/// `GODWIT_EINVAL`
pub const EINVAL: c_int = -5;
/// `GODWIT_EINTERNAL`
pub const EINTERNAL: c_int = -6;

/// `GODWIT_READ_ONLY`
pub const READ_ONLY: u32 = 1;
/// `GODWIT_CONTIGUOUS`
pub const CONTIGUOUS: u32 = 2;
/// `GODWIT_SCATTERED`
pub const SCATTERED: u32 = 4;

/// `GODWIT_BARE`
pub const BARE: u32 = 1;

/// `GODWIT_MAX_RESULTS`
pub const MAX_RESULTS: usize = 16;
/// `GODWIT_NAME_SIZE`
pub const NAME_SIZE: usize = 48;

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

/// `godwit_channel_counters`
#[repr(C)]
#[derive(Clone, Copy, Default)]
#[allow(missing_docs, reason = "the header documents the fields")]
pub struct GodwitChannelCounters {
    pub requests: u64,
    pub hits: u64,
    pub misses: u64,
    pub faults: u64,
    pub stalls: u64,
    pub l2_hits: u64,
    pub range_hits: u64,
    pub walks: u64,
}

impl From<ChannelCounters> for GodwitChannelCounters {
    fn from(counters: ChannelCounters) -> Self {
        Self {
            requests: counters.requests,
            hits: counters.hits,
            misses: counters.misses,
            faults: counters.faults,
            stalls: counters.stalls,
            l2_hits: counters.l2_hits,
            range_hits: counters.range_hits,
            walks: counters.walks,
        }
    }
}

/// `godwit_port_counters`
#[repr(C)]
#[derive(Clone, Copy, Default)]
#[allow(missing_docs, reason = "the header documents the fields")]
pub struct GodwitPortCounters {
    pub read: GodwitChannelCounters,
    pub write: GodwitChannelCounters,
}

impl From<PortCounters> for GodwitPortCounters {
    fn from(counters: PortCounters) -> Self {
        Self {
            read: counters.read.into(),
            write: counters.write.into(),
        }
    }
}

/// `godwit_walker_counters`
#[repr(C)]
#[derive(Clone, Copy, Default)]
#[allow(missing_docs, reason = "the header documents the fields")]
pub struct GodwitWalkerCounters {
    pub walks: u64,
    pub latency_sum: u64,
    pub latency_max: u64,
    pub faults: u64,
    pub merges: u64,
    pub line_hits: u64,
    pub cache_hits: u64,
    pub pte_reads: u64,
    pub prefetches: u64,
    pub prefetches_used: u64,
    pub prefetches_useless: u64,
    pub updates: u64,
}

impl From<WalkerCounters> for GodwitWalkerCounters {
    fn from(counters: WalkerCounters) -> Self {
        Self {
            walks: counters.walks,
            latency_sum: counters.latency_sum,
            latency_max: counters.latency_max,
            faults: counters.faults,
            merges: counters.merges,
            line_hits: counters.line_hits,
            cache_hits: counters.cache_hits,
            pte_reads: counters.pte_reads,
            prefetches: counters.prefetches,
            prefetches_used: counters.prefetches_used,
            prefetches_useless: counters.prefetches_useless,
            updates: counters.updates,
        }
    }
}

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
    pub stats: GodwitStats,
    pub result_count: usize,
    pub results: [GodwitResult; MAX_RESULTS],
}
