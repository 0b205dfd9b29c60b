// SPDX-License-Identifier: Apache-2.0
//! A trace through a policy: faults, batches, pages moved, and what of it was for nothing.

use std::collections::{BTreeSet, HashMap, HashSet};

use serde_json::{Value, json};

use crate::evict::Eviction;
use crate::peers::{Policy, View};
use crate::trace::Trace;

/// What happened.
#[derive(Default)]
pub struct Counts {
    /// Pages that were asked for while away.
    pub faults: u64,
    /// Times that the host was asked: the faults that a kernel can have under way come together.
    pub batches: u64,
    /// Pages moved to the device.
    pub pages_in: u64,
    /// Pages moved to the device and never used there.
    pub wasted: u64,
    /// Pages moved back because they were written.
    pub pages_out: u64,
    /// Pages that left.
    pub evicted: u64,
}

impl Counts {
    /// As JSON, bytes in place of pages.
    pub fn json(&self, trace: &str, policy: &str) -> Value {
        json!({
            "trace": trace, "policy": policy, "faults": self.faults, "batches": self.batches,
            "bytes_in": self.pages_in * 4096, "wasted": self.wasted * 4096,
            "bytes_out": self.pages_out * 4096, "evicted": self.evicted * 4096,
        })
    }
}

/// A device with room for `capacity` pages.
struct Device {
    resident: HashSet<u64>,
    used: HashSet<u64>,
    prefetched: HashSet<u64>,
    accessed: HashSet<u64>,
    dirty: HashSet<u64>,
    capacity: usize,
    counts: Counts,
}

impl Device {
    fn evict(&mut self, pages: &[u64], policy: &mut dyn Policy) {
        let (mut returned, mut useful) = (0, 0);
        for page in pages {
            if !self.resident.remove(page) {
                continue;
            }
            self.counts.evicted += 1;
            let used = self.used.remove(page);
            self.accessed.remove(page);
            if self.dirty.remove(page) {
                self.counts.pages_out += 1;
            }
            if !used {
                self.counts.wasted += 1;
            }
            if self.prefetched.remove(page) {
                returned += 1;
                useful += u32::from(used);
            }
        }
        policy.returned(returned, useful);
    }

    fn free(&self) -> usize {
        self.capacity.saturating_sub(self.resident.len())
    }

    fn bring(&mut self, page: u64, asked: bool, accessed: bool) {
        self.resident.insert(page);
        if accessed {
            self.accessed.insert(page);
        }
        self.counts.pages_in += 1;
        if !asked {
            self.prefetched.insert(page);
        }
    }
}

/// Runs `trace`. Accesses behind one that faulted go on until `trace.parallel` pages are asked for, or as many accesses are
/// under way; then the host handles the batch.
pub fn run(
    trace: &Trace,
    policy: &mut dyn Policy,
    eviction: &mut dyn Eviction,
    capacity: Option<u64>,
) -> Counts {
    let capacity = capacity.map_or(usize::MAX, |pages| pages as usize);
    let mut device = Device {
        resident: HashSet::new(),
        used: HashSet::new(),
        prefetched: HashSet::new(),
        accessed: HashSet::new(),
        dirty: HashSet::new(),
        capacity,
        counts: Counts::default(),
    };
    let mut waiting: HashMap<u64, bool> = HashMap::new();
    let mut under_way = 0;
    let touch = |device: &mut Device, page: u64, write: bool| {
        device.used.insert(page);
        device.accessed.insert(page);
        if write {
            device.dirty.insert(page);
        }
    };
    for (index, &(page, write)) in trace.accesses.iter().enumerate() {
        if device.resident.contains(&page) {
            touch(&mut device, page, write);
        } else {
            *waiting.entry(page).or_default() |= write;
        }
        under_way += usize::from(!waiting.is_empty());
        let last = index + 1 == trace.accesses.len();
        if waiting.is_empty() || (under_way < trace.parallel && !last) {
            continue;
        }
        serve(&mut device, trace, policy, eviction, &waiting);
        for (page, write) in waiting.drain() {
            // One that was pushed out within its own batch comes back at its next access.
            if device.resident.contains(&page) {
                touch(&mut device, page, write);
            }
        }
        under_way = 0;
    }
    device.counts.wasted += device
        .resident
        .iter()
        .filter(|page| !device.used.contains(page))
        .count() as u64;
    device.counts.pages_out += device.dirty.len() as u64;
    device.counts
}

fn serve(
    device: &mut Device,
    trace: &Trace,
    policy: &mut dyn Policy,
    eviction: &mut dyn Eviction,
    waiting: &HashMap<u64, bool>,
) {
    let faults: BTreeSet<u64> = waiting.keys().copied().collect();
    device.counts.faults += faults.len() as u64;
    device.counts.batches += 1;
    let list: Vec<u64> = faults.iter().copied().collect();
    let planned = policy.plan(
        &list,
        &View {
            trace,
            resident: &device.resident,
            used: &device.used,
            free: (device.capacity < usize::MAX).then(|| device.free()),
        },
    );
    let mut wanted: Vec<u64> = planned
        .into_iter()
        .filter(|page| !device.resident.contains(page))
        .collect();
    // What was asked for comes first, so that prefetches are what is left out.
    wanted.sort_by_key(|page| (!faults.contains(page), *page));
    let short = wanted.len().saturating_sub(device.free());
    let leaving = eviction.make_way(&wanted, short, &mut device.accessed);
    device.evict(&leaving, policy);
    for page in wanted {
        let asked = faults.contains(&page);
        while device.resident.len() >= device.capacity {
            let Some(victims) = eviction.choose(!asked, page, &mut device.accessed) else {
                break;
            };
            device.evict(&victims, policy);
        }
        if device.resident.len() < device.capacity {
            eviction.added(page, asked);
            device.bring(page, asked, eviction.begins_accessed());
        } else if !asked {
            break;
        }
    }
}
