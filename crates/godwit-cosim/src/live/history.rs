// SPDX-License-Identifier: Apache-2.0
//! What pages were, and when.

use godwit_card::Device;
use godwit_core::{Invalidation, PageSize, Perm};

use super::{Live, Version};
use crate::CosimError;

impl Live {
    /// Writes down what has become of a slot's hot pages by an operation that takes away what `inval` says.
    pub(super) fn note(
        &mut self,
        number: usize,
        slot: usize,
        inval: &Invalidation,
    ) -> Result<(), CosimError> {
        let now = self.card.stats()?.cycles;
        let hot: Vec<u64> = self.spaces[number].slots[slot].hot().collect();
        for va in hot {
            let page = self.lookup(number, va)?;
            let versions = self.versions.entry((number, va)).or_default();
            if versions.last().is_some_and(|last| last.page == page) {
                continue;
            }
            if let Some(last) = versions.last_mut() {
                // A version that only gains something is over at once, any other when the fence is seen.
                let gained = match (last.page, page) {
                    (None, _) => true,
                    (Some((before, Perm::Read)), Some((after, Perm::ReadWrite))) => before == after,
                    _ => false,
                };
                if gained {
                    last.over = now;
                } else {
                    assert!(inval.is_needed(), "{last:x?} to {page:x?}");
                    self.ending.insert((number, va));
                }
            }
            versions.push(Version {
                page,
                written: now,
                over: u64::MAX,
            });
        }
        if inval.tables() > 0 {
            self.unlinked(number, self.spaces[number].slots[slot].va, now);
        }
        Ok(())
    }

    /// A table was unlinked. Until the fence a walk may still go through it, and finds nothing, whatever the table that
    /// stands in its place says.
    fn unlinked(&mut self, number: usize, va: u64, now: u64) {
        let reach = PageSize::SIZE_2M.bytes();
        for (&(space, page), versions) in &mut self.versions {
            if space == number && page / reach == va / reach {
                let nothing = Version {
                    page: None,
                    written: now,
                    over: u64::MAX,
                };
                versions.insert(versions.len() - 1, nothing);
                self.ending.insert((space, page));
            }
        }
    }

    /// A fence was seen to be done: every version but the last is over.
    pub(super) fn over(&mut self, now: u64) {
        for key in self.ending.drain() {
            for version in self
                .versions
                .entry(key)
                .or_default()
                .iter_mut()
                .rev()
                .skip(1)
            {
                version.over = version.over.min(now);
            }
        }
    }
}
