// SPDX-License-Identifier: Apache-2.0
//! Entries of the range TLB that buffers want. Invalidations end entries, also those of others; so wishes are kept, and what
//! was lost is written again before the next launch.

use godwit_card::{CardError, Device};

use crate::hardware::mmu::{self, Range};

#[derive(Default)]
pub(crate) struct Ranges {
    /// In the order in which they came, each with the entry it has.
    wishes: Vec<(Range, Option<u32>)>,
    /// Entries may have been lost, or become free.
    stale: bool,
}

impl Ranges {
    /// Something was invalidated.
    pub fn invalidated(&mut self) {
        self.stale = true;
    }

    /// From now on these pages should have an entry.
    pub fn want(&mut self, range: Range) {
        self.wishes.push((range, None));
        self.stale = true;
    }

    /// Nothing within these addresses is wanted any more; their invalidation ends the entries.
    pub fn forget(&mut self, context: u32, va: u64, len: u64) {
        self.wishes
            .retain(|(range, _)| range.context != context || range.va < va || range.va - va >= len);
        self.stale = true;
    }

    /// The context is gone.
    pub fn forget_context(&mut self, context: u32) {
        self.wishes.retain(|(range, _)| range.context != context);
        self.stale = true;
    }

    /// How many entries these addresses have.
    pub fn count(&self, context: u32, va: u64, len: u64) -> usize {
        let within =
            |range: &Range| range.context == context && range.va >= va && range.va - va < len;
        self.wishes
            .iter()
            .filter(|(range, entry)| entry.is_some() && within(range))
            .count()
    }

    /// Gives entries to wishes that have none, as far as there are any.
    pub fn settle(&mut self, device: &mut dyn Device) -> Result<(), CardError> {
        if !self.stale || self.wishes.is_empty() {
            return Ok(());
        }
        let mut valid = mmu::range_entries(device)?;
        for (_, entry) in &mut self.wishes {
            if entry.is_some_and(|entry| !valid[entry as usize]) {
                *entry = None;
            }
        }
        for (range, entry) in self.wishes.iter_mut().filter(|wish| wish.1.is_none()) {
            let Some(free) = valid.iter().position(|valid| !valid) else {
                break;
            };
            mmu::set_range(device, free as u32, *range)?;
            valid[free] = true;
            *entry = Some(free as u32);
        }
        self.stale = false;
        Ok(())
    }
}
