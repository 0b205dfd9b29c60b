// SPDX-License-Identifier: Apache-2.0
//! Fragmentation: the same trace of requests for every allocator. Live bytes stay at a share of memory, sizes are
//! random, blocks die in random order; counted is which requests are served, by size.

use std::collections::HashMap;

use serde_json::{Value, json};

use crate::areas::{AREA, AREAS, MIB, PAGE, adjacent};
use crate::peers::ALL;
use crate::random::Random;

const OCCUPANCIES: [u64; 4] = [50, 70, 80, 90];
const TOTAL: u64 = AREA * AREAS;
const REQUESTS: usize = 4000;
/// Upper ends of the size classes.
const CLASSES: [(&str, u64); 4] = [
    ("to 64 KiB", MIB / 16),
    ("to 512 KiB", MIB / 2),
    ("to 4 MiB", 4 * MIB),
    ("to 16 MiB", 16 * MIB),
];

enum Event {
    Alloc(usize, u64),
    Free(usize),
}

/// Sizes from a page to 16 MiB, every factor of two as likely as the next, in whole pages.
fn size(random: &mut Random) -> u64 {
    let doublings = (16 * MIB / PAGE).ilog2();
    let pages = (random.unit() * f64::from(doublings)).exp2();
    (pages as u64).max(1) * PAGE
}

/// Live bytes grow to `percent` of memory, then every request first makes room for itself by random deaths.
fn trace(percent: u64, seed: u64) -> Vec<Event> {
    let mut random = Random::new(seed * 101 + percent);
    let mut live: Vec<(usize, u64)> = Vec::new();
    let mut bytes = 0;
    let mut events = Vec::new();
    for id in 0..REQUESTS {
        let wanted = size(&mut random);
        while bytes + wanted > TOTAL / 100 * percent {
            let (dead, freed) = live.swap_remove(random.below(live.len() as u64) as usize);
            bytes -= freed;
            events.push(Event::Free(dead));
        }
        bytes += wanted;
        live.push((id, wanted));
        events.push(Event::Alloc(id, wanted));
    }
    events
}

/// A free run that is long enough, by the long way: from the list of live blocks.
fn fits(live: &HashMap<usize, (u64, u64)>, bytes: u64) -> bool {
    let mut blocks: Vec<_> = live.values().copied().collect();
    blocks.sort_unstable();
    let mut at = 0;
    for (start, len) in blocks {
        if start - at >= bytes {
            return true;
        }
        at = start + len;
    }
    TOTAL - at >= bytes
}

/// Served and asked by class, and requests that failed although a free run was long enough.
fn replay(
    events: &[Event],
    allocator: &mut dyn crate::peers::Contiguous,
) -> ([[u64; 2]; CLASSES.len()], u64) {
    let mut counts = [[0; 2]; CLASSES.len()];
    let mut wrong = 0;
    let mut live: HashMap<usize, (u64, u64)> = HashMap::new();
    for event in events {
        match *event {
            Event::Alloc(id, bytes) => {
                let class = CLASSES
                    .iter()
                    .position(|(_, end)| bytes <= *end)
                    .unwrap_or(CLASSES.len() - 1);
                counts[class][1] += 1;
                match allocator.alloc(bytes) {
                    Some(at) => {
                        counts[class][0] += 1;
                        live.insert(id, (at, bytes));
                    }
                    None => wrong += u64::from(fits(&live, bytes)),
                }
            }
            Event::Free(id) => {
                if let Some((at, _)) = live.remove(&id) {
                    allocator.free(at);
                }
            }
        }
    }
    (counts, wrong)
}

pub fn run(seeds: u64) -> Value {
    let areas = adjacent();
    let mut rows = Vec::new();
    for percent in OCCUPANCIES {
        let traces: Vec<_> = (1..=seeds).map(|seed| trace(percent, seed)).collect();
        for (peer, make) in ALL {
            let mut sums = [[0; 2]; CLASSES.len()];
            let mut wrong = 0;
            for events in &traces {
                let (counts, failed) = replay(events, make(&areas).as_mut());
                wrong += failed;
                for (sum, count) in sums.iter_mut().zip(counts) {
                    sum[0] += count[0];
                    sum[1] += count[1];
                }
            }
            for ((class, _), [served, asked]) in CLASSES.iter().zip(sums) {
                rows.push(json!({"occupancy": percent, "peer": peer, "class": class, "served": served, "asked": asked,
                    "failed_although_it_fits": wrong}));
            }
        }
    }
    rows.into()
}
