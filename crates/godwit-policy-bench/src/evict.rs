// SPDX-License-Identifier: Apache-2.0
//! What leaves a full device: as UVM does it, ours, and the least that is possible.

use std::collections::{BTreeMap, BinaryHeap, HashMap, HashSet, VecDeque};

use godwit_core::policy::Evictor;

use crate::trace::Trace;

/// An eviction policy.
pub trait Eviction {
    /// Pages that leave at once so that all of a batch has room, for which `short` are missing.
    fn make_way(&mut self, _: &[u64], _short: usize, _: &mut HashSet<u64>) -> Vec<u64> {
        Vec::new()
    }
    /// Whether pages come with their A bit.
    fn begins_accessed(&self) -> bool {
        false
    }
    /// A page has come.
    fn added(&mut self, page: u64, asked: bool);
    /// Pages that leave to make room for `page`; None: none may. `accessed` are the A bits.
    fn choose(
        &mut self,
        for_prefetch: bool,
        page: u64,
        accessed: &mut HashSet<u64>,
    ) -> Option<Vec<u64>>;
}

/// Room enough.
pub struct Never;

impl Eviction for Never {
    fn added(&mut self, _page: u64, _asked: bool) {}

    fn choose(&mut self, _: bool, _: u64, _: &mut HashSet<u64>) -> Option<Vec<u64>> {
        None
    }
}

/// NVIDIA's UVM, uvm_pmm_gpu.c: 2 MiB root chunks in a list; one goes to its end when pages are allocated in it, not when it is
/// used; the first one is evicted as a whole.
#[derive(Default)]
pub struct UvmLru {
    order: VecDeque<u64>,
    pages: HashMap<u64, Vec<u64>>,
}

impl Eviction for UvmLru {
    fn added(&mut self, page: u64, _asked: bool) {
        let block = page / 512;
        if self.order.back() != Some(&block) {
            self.order.retain(|&other| other != block);
            self.order.push_back(block);
        }
        self.pages.entry(block).or_default().push(page);
    }

    fn choose(
        &mut self,
        _for_prefetch: bool,
        page: u64,
        _accessed: &mut HashSet<u64>,
    ) -> Option<Vec<u64>> {
        let at = self.order.iter().position(|&block| block != page / 512)?;
        let block = self.order.remove(at)?;
        self.pages.remove(&block)
    }
}

/// `core/`: groups of 64 KiB.
pub struct Ours {
    policy: Evictor,
    first: u64,
    pages: HashMap<u32, Vec<u64>>,
}

impl Ours {
    /// For the buffers of `trace` and a device of `capacity` pages.
    pub fn new(trace: &Trace, capacity: u64) -> Ours {
        let first = trace.buffers[0].0 / 16;
        let last = trace
            .buffers
            .iter()
            .map(|&(first, pages)| (first + pages) / 16)
            .max();
        let groups = last.unwrap_or(first) - first + 1;
        Ours {
            policy: Evictor::new(groups as u32, capacity),
            first,
            pages: HashMap::new(),
        }
    }

    fn group(&self, page: u64) -> u32 {
        (page / 16 - self.first) as u32
    }
}

impl Eviction for Ours {
    fn added(&mut self, page: u64, asked: bool) {
        let group = self.group(page);
        assert!(
            self.policy.added(group, 1, asked),
            "page {page:#x} has a group"
        );
        self.pages.entry(group).or_default().push(page);
    }

    fn choose(
        &mut self,
        for_prefetch: bool,
        page: u64,
        accessed: &mut HashSet<u64>,
    ) -> Option<Vec<u64>> {
        let keep = self.group(page);
        let pages = &self.pages;
        let mut bits = |group| any_used(pages.get(&group), accessed);
        let choice = self
            .policy
            .choose(for_prefetch, Some(keep), Some(&mut bits));
        let group = choice?;
        self.policy.removed(group);
        self.pages.remove(&group)
    }
}

/// `core/` as the runtime in user space uses it: room is made for a batch at once, all of which counts as asked for. With A bits or without.
pub struct Batches {
    all: Ours,
    sees: bool,
}

impl Batches {
    /// As [`Ours::new`]; `sees`: there are A bits.
    pub fn new(trace: &Trace, capacity: u64, sees: bool) -> Self {
        let all = Ours::new(trace, capacity);
        Self { all, sees }
    }

    fn next(&mut self, keep: Option<u32>, accessed: &mut HashSet<u64>) -> Option<u32> {
        let pages = &self.all.pages;
        let mut bits = |group| any_used(pages.get(&group), accessed);
        let bits: Option<&mut dyn FnMut(u32) -> bool> =
            if self.sees { Some(&mut bits) } else { None };
        self.all.policy.choose(false, keep, bits)
    }
}

impl Eviction for Batches {
    fn make_way(&mut self, batch: &[u64], short: usize, accessed: &mut HashSet<u64>) -> Vec<u64> {
        if short == 0 {
            return Vec::new();
        }
        let coming: HashSet<u32> = batch.iter().map(|&page| self.all.group(page)).collect();
        self.all.policy.coming(batch.len() as u64);
        let (mut leaving, mut spared) = (Vec::new(), Vec::new());
        while leaving.len() < short {
            let Some(group) = self.next(None, accessed) else {
                break;
            };
            let pages = self.all.policy.removed(group);
            if coming.contains(&group) {
                spared.push((group, pages));
            } else {
                leaving.extend(self.all.pages.remove(&group).into_iter().flatten());
            }
        }
        for (group, pages) in spared {
            self.all.policy.spared(group, pages);
        }
        leaving
    }

    fn begins_accessed(&self) -> bool {
        true
    }

    fn added(&mut self, page: u64, _asked: bool) {
        self.all.added(page, true);
    }

    fn choose(&mut self, _: bool, page: u64, accessed: &mut HashSet<u64>) -> Option<Vec<u64>> {
        let group = self.next(Some(self.all.group(page)), accessed)?;
        self.all.policy.removed(group);
        self.all.pages.remove(&group)
    }
}

fn any_used(pages: Option<&Vec<u64>>, accessed: &mut HashSet<u64>) -> bool {
    let mut used = false;
    for page in pages.into_iter().flatten() {
        used |= accessed.remove(page);
    }
    used
}

/// Pages that must be moved in (Belady 1966, with every page fetched when it is asked for and the one that is used last thrown
/// out), and those of them that it writes back.
pub fn least(trace: &Trace, capacity: u64) -> (u64, u64) {
    let mut next_use = vec![usize::MAX; trace.accesses.len()];
    let mut seen: HashMap<u64, usize> = HashMap::new();
    for (index, &(page, _)) in trace.accesses.iter().enumerate().rev() {
        next_use[index] = seen.insert(page, index).unwrap_or(usize::MAX);
    }
    let mut resident: BTreeMap<u64, (usize, bool)> = BTreeMap::new();
    let mut latest: BinaryHeap<(usize, u64)> = BinaryHeap::new();
    let (mut moved_in, mut moved_out) = (0, 0);
    for (index, &(page, write)) in trace.accesses.iter().enumerate() {
        if let Some(entry) = resident.get_mut(&page) {
            *entry = (next_use[index], entry.1 || write);
        } else {
            moved_in += 1;
            while resident.len() as u64 >= capacity {
                let (at, victim) = latest.pop().expect("a resident page is in the heap");
                // Older entries of a page are no longer true.
                if resident.get(&victim).is_some_and(|&(next, _)| next == at) {
                    let (_, dirty) = resident.remove(&victim).expect("it is there");
                    moved_out += u64::from(dirty);
                }
            }
            resident.insert(page, (next_use[index], write));
        }
        latest.push((next_use[index], page));
    }
    moved_out += resident.values().filter(|&&(_, dirty)| dirty).count() as u64;
    (moved_in, moved_out)
}
