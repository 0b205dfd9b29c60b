// SPDX-License-Identifier: Apache-2.0
//! Allocators that keep free memory in bins by size.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use godwit_core::range::Area;

use crate::areas::{PAGE, joined};
use crate::peers::{Contiguous, Runs};

/// Powers of two at multiples of their size, as Linux keeps pages, but without a largest order.
pub struct Buddy {
    free: BTreeMap<u32, BTreeSet<u64>>,
    orders: HashMap<u64, u32>,
}

impl Buddy {
    pub fn new(areas: &[Area]) -> Self {
        let mut buddy = Self {
            free: BTreeMap::new(),
            orders: HashMap::new(),
        };
        for (base, bytes) in joined(areas) {
            let mut at = base / PAGE;
            let end = (base + bytes) / PAGE;
            while at < end {
                let order = at.trailing_zeros().min((end - at).ilog2());
                buddy.free.entry(order).or_default().insert(at);
                at += 1 << order;
            }
        }
        buddy
    }
}

impl Contiguous for Buddy {
    fn alloc(&mut self, bytes: u64) -> Option<u64> {
        let order = bytes.div_ceil(PAGE).next_power_of_two().ilog2();
        let (&from, blocks) = self
            .free
            .range_mut(order..)
            .find(|(_, blocks)| !blocks.is_empty())?;
        let page = blocks.pop_first()?;
        for half in order..from {
            self.free
                .entry(half)
                .or_default()
                .insert(page + (1 << half));
        }
        self.orders.insert(page * PAGE, order);
        Some(page * PAGE)
    }

    fn free(&mut self, address: u64) {
        let mut order = self
            .orders
            .remove(&address)
            .expect("only what was allocated");
        let mut page = address / PAGE;
        while self
            .free
            .get_mut(&order)
            .is_some_and(|blocks| blocks.remove(&(page ^ (1 << order))))
        {
            page &= !(1 << order);
            order += 1;
        }
        self.free.entry(order).or_default().insert(page);
    }
}

/// Two-level segregated fit (Masmano and others, 2004): free runs in bins, 32 a power of two; a request takes from the
/// first bin whose runs are all large enough, which is nearly the best fit.
pub struct Tlsf {
    runs: Runs,
    bins: BTreeMap<u64, BTreeSet<u64>>,
    sizes: HashMap<u64, u64>,
}

const TLSF_STEPS: u64 = 32;

impl Tlsf {
    pub fn new(areas: &[Area]) -> Self {
        let mut tlsf = Self {
            runs: Runs::default(),
            bins: BTreeMap::new(),
            sizes: HashMap::new(),
        };
        for (base, bytes) in joined(areas) {
            tlsf.insert(base, bytes);
        }
        tlsf
    }

    fn bin(pages: u64) -> u64 {
        let power = pages.ilog2();
        let step = if power >= TLSF_STEPS.ilog2() {
            (pages >> (power - TLSF_STEPS.ilog2())) - TLSF_STEPS
        } else {
            (pages << (TLSF_STEPS.ilog2() - power)) - TLSF_STEPS
        };
        u64::from(power) * TLSF_STEPS + step
    }

    fn insert(&mut self, at: u64, bytes: u64) {
        self.runs.0.insert(at, bytes);
        self.bins
            .entry(Self::bin(bytes / PAGE))
            .or_default()
            .insert(at);
    }

    fn remove(&mut self, at: u64) -> u64 {
        let bytes = self.runs.0.remove(&at).unwrap_or(0);
        if let Some(bin) = self.bins.get_mut(&Self::bin(bytes / PAGE)) {
            bin.remove(&at);
        }
        bytes
    }
}

impl Contiguous for Tlsf {
    fn alloc(&mut self, bytes: u64) -> Option<u64> {
        let pages = bytes.div_ceil(PAGE);
        // Rounded up, so that every run of the bin fits.
        let step = 1 << pages.ilog2().saturating_sub(TLSF_STEPS.ilog2());
        let from = Self::bin(pages.div_ceil(step) * step);
        let at = *self.bins.range(from..).find_map(|(_, bin)| bin.first())?;
        let run = self.remove(at);
        if run > pages * PAGE {
            self.insert(at + pages * PAGE, run - pages * PAGE);
        }
        self.sizes.insert(at, pages * PAGE);
        Some(at)
    }

    fn free(&mut self, address: u64) {
        let bytes = self
            .sizes
            .remove(&address)
            .expect("only what was allocated");
        let (mut start, mut end) = (address, address + bytes);
        if let Some((&before, &free)) = self.runs.0.range(..address).next_back()
            && before + free == address
        {
            start = before;
            self.remove(before);
        }
        if self.runs.0.contains_key(&end) {
            end += self.remove(end);
        }
        self.insert(start, end - start);
    }
}
