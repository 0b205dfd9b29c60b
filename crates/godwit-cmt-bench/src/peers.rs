// SPDX-License-Identifier: Apache-2.0
//! Allocators of contiguous memory to compare with. Only their decisions count here, not their speed.

use std::collections::{BTreeMap, HashMap};

use godwit_core::range::{Area, Ranges, Request};

use crate::areas::PAGE;
use crate::binned::{Buddy, Tlsf};

/// What a study asks of an allocator.
pub trait Contiguous {
    /// The address of `bytes` in one piece.
    fn alloc(&mut self, bytes: u64) -> Option<u64>;
    /// Gives back what `alloc` gave.
    fn free(&mut self, address: u64);
}

/// An allocator for areas.
pub type Make = fn(&[Area]) -> Box<dyn Contiguous>;

/// Every allocator by name, ours first.
pub const ALL: [(&str, Make); 4] = [
    ("Godwit", |areas| Box::new(Ours::new(areas))),
    ("first fit per area", |areas| Box::new(PerArea::new(areas))),
    ("buddy", |areas| Box::new(Buddy::new(areas))),
    ("TLSF", |areas| Box::new(Tlsf::new(areas))),
];

/// core/'s range allocator.
struct Ours(Ranges);

impl Ours {
    fn new(areas: &[Area]) -> Self {
        Self(Ranges::new(areas, PAGE).expect("the studies' areas are legal"))
    }
}

impl Contiguous for Ours {
    fn alloc(&mut self, bytes: u64) -> Option<u64> {
        self.0.alloc(&Request::new(bytes)).ok()
    }

    fn free(&mut self, address: u64) {
        self.0.free(address).expect("only what was allocated");
    }
}

/// Free runs by address, merged with their neighbours.
#[derive(Default)]
pub struct Runs(pub BTreeMap<u64, u64>);

impl Runs {
    fn first_fit(&self, bytes: u64) -> Option<u64> {
        self.0
            .iter()
            .find(|(_, free)| **free >= bytes)
            .map(|(at, _)| *at)
    }

    fn take(&mut self, address: u64, bytes: u64) {
        let free = self.0.remove(&address).unwrap_or(0);
        if free > bytes {
            self.0.insert(address + bytes, free - bytes);
        }
    }

    /// Returns the merged run.
    fn give(&mut self, address: u64, bytes: u64) -> (u64, u64) {
        let (mut start, mut end) = (address, address + bytes);
        if let Some((&before, &free)) = self.0.range(..address).next_back()
            && before + free == address
        {
            start = before;
            self.0.remove(&before);
        }
        if let Some(free) = self.0.remove(&end) {
            end += free;
        }
        self.0.insert(start, end - start);
        (start, end - start)
    }
}

/// The paper's baseline (§3.2): first fit in each area by itself; what is larger than an area takes neighbouring areas that
/// are wholly free, from the last one down, and gives back what is too much of the area taken last, at its beginning.
struct PerArea {
    areas: Vec<(Area, Runs)>,
    sizes: HashMap<u64, u64>,
}

impl PerArea {
    fn new(areas: &[Area]) -> Self {
        let fresh = |area: &Area| (*area, Runs(BTreeMap::from([(area.base, area.bytes)])));
        Self {
            areas: areas.iter().map(fresh).collect(),
            sizes: HashMap::new(),
        }
    }

    fn is_free(&self, index: usize) -> bool {
        let (area, runs) = &self.areas[index];
        runs.0.get(&area.base) == Some(&area.bytes)
    }

    /// The first of enough free neighbours that end with area `last`.
    fn row(&self, last: usize, bytes: u64) -> Option<usize> {
        let mut first = last;
        let mut found = 0;
        loop {
            if !self.is_free(first) {
                return None;
            }
            found += self.areas[first].0.bytes;
            if found >= bytes {
                return Some(first);
            }
            let before = first.checked_sub(1)?;
            let neighbour = &self.areas[before].0;
            if neighbour.base + neighbour.bytes != self.areas[first].0.base {
                return None;
            }
            first = before;
        }
    }
}

impl Contiguous for PerArea {
    fn alloc(&mut self, bytes: u64) -> Option<u64> {
        for (_, runs) in &mut self.areas {
            if let Some(at) = runs.first_fit(bytes) {
                runs.take(at, bytes);
                self.sizes.insert(at, bytes);
                return Some(at);
            }
        }
        if self.areas.iter().any(|(area, _)| area.bytes >= bytes) {
            return None;
        }
        let (first, last) = (0..self.areas.len())
            .rev()
            .find_map(|last| Some((self.row(last, bytes)?, last)))?;
        let mut missing = bytes;
        for (area, runs) in self.areas[first..=last].iter_mut().rev() {
            let part = missing.min(area.bytes);
            missing -= part;
            runs.0.remove(&area.base);
            if part < area.bytes {
                runs.0.insert(area.base, area.bytes - part);
            }
        }
        let (end, _) = &self.areas[last];
        let at = end.base + end.bytes - bytes;
        self.sizes.insert(at, bytes);
        Some(at)
    }

    fn free(&mut self, address: u64) {
        let bytes = self
            .sizes
            .remove(&address)
            .expect("only what was allocated");
        for (area, runs) in &mut self.areas {
            let start = address.max(area.base);
            let end = (address + bytes).min(area.base + area.bytes);
            if start < end {
                runs.give(start, end - start);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::areas::{MIB, adjacent, joined, scattered};
    use crate::random::Random;

    /// Of three areas of 16 MiB, 20 MiB take the last whole and the end of the one before.
    #[test]
    fn the_baseline_takes_the_last_areas_and_gives_back_a_beginning() {
        let areas: Vec<Area> = adjacent().into_iter().take(3).collect();
        let base = areas[0].base;
        let mut baseline = PerArea::new(&areas);
        assert_eq!(baseline.alloc(20 * MIB), Some(base + 28 * MIB));
        assert_eq!(baseline.alloc(20 * MIB), None);
        assert_eq!(baseline.alloc(16 * MIB), Some(base));
        assert_eq!(baseline.alloc(12 * MIB), Some(base + 16 * MIB));
        assert_eq!(baseline.alloc(PAGE), None);
    }

    /// Each peer is an allocator: blocks are within areas, apart from each other, and all memory comes back.
    #[test]
    fn blocks_are_in_memory_and_apart_and_all_of_it_comes_back() {
        for areas in [adjacent(), scattered(4)] {
            for (name, make) in ALL {
                let mut peer = make(&areas);
                let mut random = Random::new(3);
                let mut live: BTreeMap<u64, u64> = BTreeMap::new();
                for _ in 0..2000 {
                    if random.below(2) == 0 && !live.is_empty() {
                        let at = *live
                            .keys()
                            .nth(random.below(live.len() as u64) as usize)
                            .unwrap();
                        live.remove(&at);
                        peer.free(at);
                    } else {
                        let bytes = (1 + random.below(2000)) * PAGE;
                        let Some(at) = peer.alloc(bytes) else {
                            continue;
                        };
                        let row = joined(&areas)
                            .into_iter()
                            .find(|(base, all)| *base <= at && at < base + all);
                        let (base, all) = row.unwrap();
                        assert!(at + bytes <= base + all, "{name}");
                        let before = live
                            .range(..=at)
                            .next_back()
                            .map_or(0, |(at, bytes)| at + bytes);
                        let after = live.range(at..).next().map_or(u64::MAX, |(at, _)| *at);
                        assert!(before <= at && at + bytes <= after, "{name}");
                        live.insert(at, bytes);
                    }
                }
                for at in live.into_keys() {
                    peer.free(at);
                }
                assert!(peer.alloc(64 * MIB).is_some(), "{name}");
            }
        }
    }
}
