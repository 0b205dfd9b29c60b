// SPDX-License-Identifier: Apache-2.0
//! How pages serve kernels: they move to the card, or they stay in the host's memory and are used in place.
//!
//! In place a page leaves the program as one that moves does, so that whoever touches it takes it back first; it stays in the shadow, and
//! the card's addresses lead there. So nothing is copied, either way.

use std::collections::BTreeMap;

use super::OwnerId;
use super::blocks::{Place, Run};
use super::evict::{GROUP, groups};
use super::memory::pages_inside;
use super::pager::Pager;
use super::pages::Pages;
use super::report::Cause;
use crate::Error;

/// How pages serve kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Serving {
    /// They move to the card.
    #[default]
    Move,
    /// They stay in the host's memory.
    InPlace,
    /// As was seen of each group of 64 KiB: see [`stays`](super::stays).
    Auto,
    /// They move to the card, and the program gets copies when it reads them: see [`both`](super::both).
    ReadMostly,
}

/// What was said of ranges of whole pages; all others move.
#[derive(Default)]
pub(super) struct Advised {
    /// By first address: end, and what was said. No two overlap.
    ranges: BTreeMap<u64, (u64, Serving)>,
}

impl Advised {
    /// Says it of a range, in place of what was said before.
    pub fn set(&mut self, start: u64, len: u64, serving: Serving) {
        let end = start + len;
        let overlaps: Vec<u64> = self
            .ranges
            .range(..end)
            .rev()
            .take_while(|(_, (until, _))| *until > start)
            .map(|(at, _)| *at)
            .collect();
        for at in overlaps {
            let Some((until, before)) = self.ranges.remove(&at) else {
                continue;
            };
            if at < start {
                self.ranges.insert(at, (start, before));
            }
            if until > end {
                self.ranges.insert(end, (until, before));
            }
        }
        if serving != Serving::default() && len > 0 {
            self.ranges.insert(start, (end, serving));
        }
    }

    /// Whether this was said of all of a range.
    pub fn all(&self, start: u64, len: u64, serving: Serving) -> bool {
        let mut parts = self.parts(start, len).into_iter();
        !self.ranges.is_empty() && parts.all(|(_, _, said)| said == serving)
    }

    /// Parts of a range, in order, each with what holds there.
    pub(super) fn parts(&self, start: u64, len: u64) -> Vec<(u64, u64, Serving)> {
        let end = start + len;
        let before = self.ranges.range(..=start).next_back();
        let first = before.map_or(start, |(at, _)| *at);
        let (mut at, mut parts) = (start, Vec::new());
        for (from, (until, serving)) in self.ranges.range(first..end) {
            let (from, until) = ((*from).max(start), (*until).min(end));
            if at < from {
                parts.push((at, from - at, Serving::default()));
            }
            if from < until {
                parts.push((from, until - from, *serving));
                at = until;
            }
        }
        if at < end {
            parts.push((at, end - at, Serving::default()));
        }
        parts
    }
}

impl Pages {
    /// Parts of a run that is at home, and whether each is used in place by an owner.
    pub fn served(&mut self, owner: OwnerId, run: Run) -> Vec<(Run, bool)> {
        let reaches = self.owners.get(&owner).is_some_and(|of| of.reaches_host());
        let mut found: Vec<(u64, u64, bool)> = Vec::new();
        for (start, len, serving) in self.advised.parts(run.start, run.len) {
            if serving != Serving::Auto {
                found.push((start, len, reaches && serving == Serving::InPlace));
                continue;
            }
            for group in groups(start, len) {
                let (from, end) = (group.max(start), (group + GROUP).min(start + len));
                let in_place = reaches && self.stay_begins(owner, group);
                match found.last_mut() {
                    Some((at, bytes, same)) if *same == in_place && *at + *bytes == from => {
                        *bytes += end - from;
                    }
                    _ => found.push((from, end - from, in_place)),
                }
            }
        }
        let part = |(start, len, in_place)| (run.part(start, len), in_place);
        found.into_iter().map(part).collect()
    }

    /// Says how pages serve kernels; those that serve otherwise come home, for the next kernel.
    fn advise(&mut self, start: u64, len: u64, serving: Serving) {
        // What was learnt holds.
        if serving == Serving::Auto && self.advised.all(start, len, serving) {
            return;
        }
        self.advised.set(start, len, serving);
        self.stays.forget(start, len);
        let mut runs = self.blocks.away_runs(start, len, None);
        let otherwise = |run: &Run| match run.place {
            // From now on it is decided about the pages where they are.
            Place::Away(away) if serving == Serving::Auto => away.in_place,
            Place::Away(away) => away.in_place != (serving == Serving::InPlace),
            _ => false,
        };
        runs.retain(otherwise);
        self.retrieve(&runs, Cause::User);
    }
}

impl Pager {
    /// Says how the whole pages of a range serve kernels; when a launch holds some, after its end.
    pub fn advise(&self, start: u64, len: u64, serving: Serving) -> Result<(), Error> {
        let Some((start, len)) = pages_inside(start, len) else {
            return Ok(());
        };
        self.call(move |pages| {
            if pages.pinned(start, len, None) {
                return None;
            }
            pages.advise(start, len, serving);
            Some(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Serving::{InPlace, Move};

    #[test]
    fn the_last_word_on_a_page_holds() {
        let mut advised = Advised::default();
        advised.set(10, 20, InPlace);
        advised.set(40, 10, InPlace);
        advised.set(15, 5, Move);
        let all = [
            (0, 10, Move),
            (10, 5, InPlace),
            (15, 5, Move),
            (20, 10, InPlace),
            (30, 10, Move),
            (40, 10, InPlace),
            (50, 10, Move),
        ];
        assert_eq!(advised.parts(0, 60), all);
        assert_eq!(advised.parts(12, 2), [(12, 2, InPlace)]);
        assert_eq!(advised.parts(28, 4), [(28, 2, InPlace), (30, 2, Move)]);
        advised.set(0, 60, Move);
        assert_eq!(advised.parts(5, 50), [(5, 50, Move)]);
        assert!(advised.ranges.is_empty());
    }
}
