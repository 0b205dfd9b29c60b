// SPDX-License-Identifier: Apache-2.0
//! What moved, and why.

/// Why pages moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Cause {
    /// A kernel was about to be launched on them.
    Launch,
    /// A kernel asked for one of them while it ran.
    Request,
    /// A thread of the program touched one of them.
    Touch,
    /// The program asked for it.
    User,
    /// The program said that it will be used.
    Prefetch,
    /// The memory of the card was full.
    Eviction,
    /// It was used in place, and its lines had crossed the link as often as makes moving worth it.
    Reuse,
    /// The process forks, or the card or context that has them ends.
    Retreat,
}

impl Cause {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Launch,
        Self::Request,
        Self::Touch,
        Self::User,
        Self::Prefetch,
        Self::Eviction,
        Self::Reuse,
        Self::Retreat,
    ];

    /// Its name, as reports have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Launch => "launch",
            Self::Request => "request",
            Self::Touch => "touch",
            Self::User => "user",
            Self::Prefetch => "prefetch",
            Self::Eviction => "eviction",
            Self::Reuse => "reuse",
            Self::Retreat => "retreat",
        }
    }
}

/// What the pager of this process did since its start. Bytes are those of pages unless said otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Migrations {
    to_device: [u64; Cause::ALL.len()],
    to_host: [u64; Cause::ALL.len()],
    /// Bytes of pages never touched before, which the card got cleared: nothing was copied.
    pub cleared: u64,
    /// Bytes of pages that came home without a copy: the card had not written them.
    pub clean: u64,
    /// Bytes of pages that cards were given in place, in the host's memory: nothing was copied.
    pub in_place: u64,
    /// Bytes of pages that card and program had both, to read, after a touch.
    pub duplicated: u64,
    /// ... of what was copied to cards: bytes that came from another card's memory, and were not in the program in between.
    pub across: u64,
    /// Bytes of pages that were lent to launches, because they cannot move.
    pub lent: u64,
    /// Single bytes that kernels had changed in pages that were lent.
    pub merged: u64,
    /// Pages that kernels asked for while they ran.
    pub requests: u64,
    /// ... of which another request had brought the page, in the same batch.
    pub duplicate_requests: u64,
    /// Requests were served at once, so often.
    pub batches: u64,
    /// Bytes of pages that came along with those.
    pub prefetched: u64,
    /// Bytes of pages that left a card to make room, copied or not.
    pub evicted: u64,
    /// Groups of 64 KiB whose A bits were looked at for that.
    pub looks: u64,
    /// Touches of pages that were away.
    pub touches: u64,
    /// ... of which another touch had brought the page already.
    pub duplicates: u64,
    /// Touches that waited for a kernel to end.
    pub waited: u64,
    /// Pages that a kernel and the program took from each other again and again.
    pub thrashing: u64,
    /// Such a page moved alone, so often.
    pub throttled: u64,
    /// Groups of pages that were brought to a card or home at once.
    pub groups: u64,
}

impl Migrations {
    /// Bytes copied to cards for this cause.
    pub fn to_device(&self, cause: Cause) -> u64 {
        self.to_device[cause as usize]
    }

    /// Bytes copied home for this cause.
    pub fn to_host(&self, cause: Cause) -> u64 {
        self.to_host[cause as usize]
    }

    /// Everything that is counted, by name: `to_device.request`, `prefetched`, ...
    pub fn counts(&self) -> Vec<(String, u64)> {
        let mut counts = Vec::new();
        for (way, by_cause) in [("to_device", self.to_device), ("to_host", self.to_host)] {
            let named = Cause::ALL.map(Cause::name).into_iter().zip(by_cause);
            counts.extend(named.map(|(cause, bytes)| (format!("{way}.{cause}"), bytes)));
        }
        let others = [
            ("cleared", self.cleared),
            ("clean", self.clean),
            ("in_place", self.in_place),
            ("duplicated", self.duplicated),
            ("across", self.across),
            ("lent", self.lent),
            ("merged", self.merged),
            ("requests", self.requests),
            ("duplicate_requests", self.duplicate_requests),
            ("batches", self.batches),
            ("prefetched", self.prefetched),
            ("evicted", self.evicted),
            ("looks", self.looks),
            ("touches", self.touches),
            ("duplicates", self.duplicates),
            ("waited", self.waited),
            ("thrashing", self.thrashing),
            ("throttled", self.throttled),
            ("groups", self.groups),
        ];
        counts.extend(others.map(|(name, count)| (name.to_owned(), count)));
        counts
    }

    /// Bytes of pages that went to cards, copied or cleared.
    pub(super) fn moved(&self) -> u64 {
        self.to_device.iter().sum::<u64>() + self.cleared
    }

    pub(super) fn went(&mut self, cause: Cause, bytes: u64) {
        self.to_device[cause as usize] += bytes;
    }

    pub(super) fn came(&mut self, cause: Cause, bytes: u64) {
        self.to_host[cause as usize] += bytes;
    }

    /// What happened between `earlier` and now.
    pub fn since(&self, earlier: &Self) -> Self {
        let mut since = *self;
        for cause in Cause::ALL {
            since.to_device[cause as usize] -= earlier.to_device[cause as usize];
            since.to_host[cause as usize] -= earlier.to_host[cause as usize];
        }
        since.cleared -= earlier.cleared;
        since.clean -= earlier.clean;
        since.in_place -= earlier.in_place;
        since.duplicated -= earlier.duplicated;
        since.across -= earlier.across;
        since.lent -= earlier.lent;
        since.merged -= earlier.merged;
        since.requests -= earlier.requests;
        since.duplicate_requests -= earlier.duplicate_requests;
        since.batches -= earlier.batches;
        since.prefetched -= earlier.prefetched;
        since.evicted -= earlier.evicted;
        since.looks -= earlier.looks;
        since.touches -= earlier.touches;
        since.duplicates -= earlier.duplicates;
        since.waited -= earlier.waited;
        since.thrashing -= earlier.thrashing;
        since.throttled -= earlier.throttled;
        since.groups -= earlier.groups;
        since
    }
}
