// SPDX-License-Identifier: Apache-2.0
//! What comes along with a fault: other drivers' policies, written anew from what they document, and ours.

use std::collections::HashSet;

use godwit_core::policy::{BLOCK_PAGES, Block, FaultPage, Prefetcher};

use crate::trace::Trace;

/// What a policy sees.
pub struct View<'a> {
    /// The kernel, for the limits of its buffers.
    pub trace: &'a Trace,
    /// Pages on the device.
    pub resident: &'a HashSet<u64>,
    /// Pages asked for, or used since they came (A bits).
    pub used: &'a HashSet<u64>,
    /// Pages that can come before others have to leave; None: room enough.
    pub free: Option<usize>,
}

/// A prefetch policy.
pub trait Policy {
    /// Its name.
    fn name(&self) -> &'static str;
    /// Pages to fetch for a batch of faults in ascending order, those among them.
    fn plan(&mut self, faults: &[u64], view: &View<'_>) -> Vec<u64>;
    /// Prefetched pages were evicted; of them were used.
    fn returned(&mut self, _pages: u32, _used: u32) {}
}

fn block_of(page: u64) -> u64 {
    page - page % BLOCK_PAGES
}

/// Nothing but what was asked for.
pub struct Demand;

impl Policy for Demand {
    fn name(&self) -> &'static str {
        "demand only"
    }

    fn plan(&mut self, faults: &[u64], _view: &View<'_>) -> Vec<u64> {
        faults.to_vec()
    }
}

/// NVIDIA's UVM, open-gpu-kernel-modules, uvm_perf_prefetch.c: a tree of counters over a 2 MiB block, with resident pages and
/// the 64 KiB around each fault; a faulted page brings the largest subtree of which more than
/// uvm_perf_prefetch_threshold = 51 % are counted.
pub struct UvmTree;

impl Policy for UvmTree {
    fn name(&self) -> &'static str {
        "UVM's tree"
    }

    fn plan(&mut self, faults: &[u64], view: &View<'_>) -> Vec<u64> {
        let mut wanted = Vec::new();
        let mut rest = faults;
        while let Some(&page) = rest.first() {
            let block = block_of(page);
            let split = rest.partition_point(|&other| other < block + BLOCK_PAGES);
            let (mine, others) = rest.split_at(split);
            rest = others;
            let (first, last) = view.trace.limits(page);
            let inside = |page: u64| (first..=last).contains(&page);
            let counted: Vec<bool> = (block..block + BLOCK_PAGES)
                .map(|page| {
                    let big = page / 16;
                    inside(page)
                        && (view.resident.contains(&page)
                            || mine.iter().any(|&fault| fault / 16 == big))
                })
                .collect();
            let mut fetched = vec![false; BLOCK_PAGES as usize];
            for &fault in mine {
                let at = (fault - block) as usize;
                let mut best = at..at + 1;
                let mut size = 1;
                while size <= BLOCK_PAGES as usize {
                    let start = at / size * size;
                    // Only what the mapping has of it counts, in both numbers.
                    let pages = (start..start + size)
                        .filter(|&i| inside(block + i as u64))
                        .count();
                    let count = counted[start..start + size]
                        .iter()
                        .filter(|&&page| page)
                        .count();
                    if count * 100 > pages * 51 {
                        best = start..start + size;
                    }
                    size *= 2;
                }
                fetched[best].fill(true);
            }
            wanted.extend(
                (block..)
                    .zip(fetched)
                    .filter(|&(page, is)| is && inside(page))
                    .map(|(page, _)| page),
            );
        }
        wanted
    }
}

/// Linux drm_gpusvm as Intel Xe sets it up (drm_gpusvm.c: "the largest aligned chunk that fits within the faulting CPU address
/// space is chosen for the range size"; xe_svm.c: chunks of 2 MiB, 64 KiB, 4 KiB).
pub struct GpusvmChunks;

impl Policy for GpusvmChunks {
    fn name(&self) -> &'static str {
        "drm_gpusvm's chunks"
    }

    fn plan(&mut self, faults: &[u64], view: &View<'_>) -> Vec<u64> {
        let mut wanted = Vec::new();
        for &page in faults {
            let (first, last) = view.trace.limits(page);
            for size in [512, 16, 1] {
                let start = page / size * size;
                if start >= first && start + size - 1 <= last {
                    wanted.extend(start..start + size);
                    break;
                }
            }
        }
        wanted.sort_unstable();
        wanted.dedup();
        wanted
    }
}

/// `core/`: streams, and used pages of the block.
pub struct Ours(Prefetcher);

impl Ours {
    /// For a machine on which a fault takes as long as moving `fault_pages` pages, with `memory` pages on the device.
    pub fn new(fault_pages: u32, memory: u64) -> Ours {
        Ours(Prefetcher::new(fault_pages, (memory / 8).min(4096) as u32))
    }
}

impl Policy for Ours {
    fn name(&self) -> &'static str {
        "Godwit"
    }

    fn plan(&mut self, faults: &[u64], view: &View<'_>) -> Vec<u64> {
        let mut wanted = HashSet::new();
        for &page in faults {
            if wanted.contains(&page) {
                continue;
            }
            let used = |near| view.used.contains(&near) || faults.binary_search(&near).is_ok();
            let block = block_around(page, view.resident, used);
            wanted.extend(self.0.plan(&fault_at(page, view), &block).pages());
        }
        let mut wanted: Vec<_> = wanted.into_iter().collect();
        wanted.sort_unstable();
        wanted
    }

    fn returned(&mut self, pages: u32, used: u32) {
        self.0.returned(pages, used);
    }
}

/// `core/` as the runtime in user space uses it: it knows what was asked for, and takes what comes of streams for used; in a full memory, or
/// one that is going to be full, only these bring others along.
pub struct Runtime {
    name: &'static str,
    policy: Prefetcher,
    memory: usize,
    asked: HashSet<u64>,
}

impl Runtime {
    /// For a machine on which a fault takes as long as moving `fault_pages` pages, with `memory` pages on the device, whose eviction `sees` A bits.
    pub fn new(fault_pages: u32, memory: u64, sees: bool) -> Self {
        Self {
            name: if sees {
                "Godwit, in batches"
            } else {
                "Godwit, no A bits"
            },
            policy: Prefetcher::new(fault_pages, 4096),
            memory: memory as usize,
            asked: HashSet::new(),
        }
    }

    /// Most pages that come along: of a stream, and those near a page, with so much free and so many pages given to the kernel. In a memory that is
    /// going to be full only streams bring others.
    fn most(&self, free: usize, given: usize) -> (usize, usize) {
        let spare = free.saturating_sub(self.memory / 32).min(self.memory / 8);
        let near = if given > self.memory { 1 } else { spare.max(1) };
        (spare.max(self.memory / 64).max(1), near)
    }
}

impl Policy for Runtime {
    fn name(&self) -> &'static str {
        self.name
    }

    fn plan(&mut self, faults: &[u64], view: &View<'_>) -> Vec<u64> {
        let given: u64 = view.trace.buffers.iter().map(|buffer| buffer.1).sum();
        let (stream, near) = self.most(view.free.unwrap_or(usize::MAX), given as usize);
        self.asked.retain(|page| view.resident.contains(page));
        self.asked.extend(faults);
        let mut wanted = HashSet::new();
        let mut streams: Vec<u64> = Vec::new();
        for &page in faults {
            if wanted.contains(&page) {
                continue;
            }
            let block = block_around(page, view.resident, |near| self.asked.contains(&near));
            self.policy.limit(stream.min(4096) as u32, near == 1);
            let plan = self.policy.plan(&fault_at(page, view), &block);
            let mut pages: Vec<u64> = plan.pages().collect();
            pages.sort_unstable_by_key(|other| (other.abs_diff(page), *other));
            pages.truncate(if plan.stream { stream } else { near });
            if plan.stream {
                streams.extend(&pages);
            }
            wanted.extend(pages);
        }
        self.asked.extend(streams);
        let mut wanted: Vec<_> = wanted.into_iter().collect();
        wanted.sort_unstable();
        wanted
    }
}

/// What is known of the block around a page.
fn block_around(page: u64, resident: &HashSet<u64>, used: impl Fn(u64) -> bool) -> Block {
    let mut block = Block::default();
    for near in block_of(page)..block_of(page) + BLOCK_PAGES {
        if used(near) {
            block.set_used(near);
        }
        if resident.contains(&near) {
            block.set_resident(near);
        }
    }
    block
}

fn fault_at(page: u64, view: &View<'_>) -> FaultPage {
    let (first, last) = view.trace.limits(page);
    FaultPage {
        page,
        first,
        last,
        context: 0,
    }
}
