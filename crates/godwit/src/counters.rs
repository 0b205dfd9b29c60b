// SPDX-License-Identifier: Apache-2.0
//! The hardware's own counters, since reset or the last clear.

/// Counters of one address channel of a port.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ChannelCounters {
    /// Addresses accepted from the accelerator.
    pub requests: u64,
    /// ... translated by the L1 TLB in the same cycle.
    pub hits: u64,
    /// ... sent on to the next level.
    pub misses: u64,
    /// ... answered with an error.
    pub faults: u64,
    /// Cycles in which an address was offered and not accepted.
    pub stalls: u64,
}

/// Counters of one port.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PortCounters {
    /// Its read-address channel.
    pub read: ChannelCounters,
    /// Its write-address channel.
    pub write: ChannelCounters,
}

/// Counters of the walker.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WalkerCounters {
    /// Requests answered.
    pub walks: u64,
    /// Sum of their latencies in cycles, acceptance to answer, both included.
    pub latency_sum: u64,
    /// The largest of them.
    pub latency_max: u64,
    /// ... answered with a fault.
    pub faults: u64,
    /// Steps that joined a line already being fetched.
    pub merges: u64,
    /// Steps served by a line kept from an earlier fetch.
    pub line_hits: u64,
    /// Requests for which the walk cache skipped at least one level.
    pub cache_hits: u64,
    /// 64-byte lines read from memory.
    pub pte_reads: u64,
}

/// All counters of a card as of one cycle.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counters {
    /// By port number.
    pub ports: Vec<PortCounters>,
    /// The walker's.
    pub walker: WalkerCounters,
    /// Faults that found the fault record occupied.
    pub faults_lost: u32,
}
