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
    /// Of its misses, those answered by the L2 TLB.
    pub l2_hits: u64,
    /// ... by the range TLB.
    pub range_hits: u64,
    /// ... by the walker.
    pub walks: u64,
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
    /// Page-table lines read from memory.
    pub pte_reads: u64,
    /// ... of which no walk had asked for yet.
    pub prefetches: u64,
    /// Prefetched lines that a walk used.
    pub prefetches_used: u64,
    /// Prefetched lines that were replaced before that.
    pub prefetches_useless: u64,
    /// Page-table entries in which hardware set A, or A and D.
    pub updates: u64,
}

/// Counters of the second level of translation: L2 TLB and range TLB.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct L2Counters {
    /// Lookups answered by the L2 TLB.
    pub hits: u64,
    /// ... by the range TLB.
    pub range_hits: u64,
    /// ... by neither, and sent on to the walker. A card without both counts none of the three.
    pub misses: u64,
    /// Entries of the L2 TLB written for answers of the walker.
    pub fills: u64,
    /// Answers whose pages joined an entry that was there.
    pub merges: u64,
    /// Valid entries that gave way to others.
    pub evictions: u64,
    /// Cycles in which an answer was not kept: the queue was full, or an invalidation came first.
    pub drops: u64,
    /// Entries cleared by invalidations.
    pub invalidated: u64,
}

/// All counters of a card as of one cycle.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counters {
    /// By port number.
    pub ports: Vec<PortCounters>,
    /// Those of the second level.
    pub l2: L2Counters,
    /// The walker's.
    pub walker: WalkerCounters,
    /// Faults that found the fault record occupied.
    pub faults_lost: u32,
}
