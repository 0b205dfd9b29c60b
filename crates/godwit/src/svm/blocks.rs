// SPDX-License-Identifier: Apache-2.0
//! Where every page is that was ever shared.

use std::collections::BTreeMap;

use super::{BLOCK, OwnerId, PAGE};

const PAGES: usize = (BLOCK / PAGE) as usize;

/// Where a page is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Place {
    /// Nobody looks after it: the program's memory like any other.
    #[default]
    Unwatched,
    /// In the program, or not there because it was never touched; registered.
    Home,
    /// On a card.
    Away(Away),
}

/// A page on a card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Away {
    pub owner: OwnerId,
    /// The program's page is kept in the shadow; it was never touched otherwise, and reads as zero.
    pub held: bool,
    /// The card may have written it.
    pub writable: bool,
    /// Another card, which it comes from, may have written it: what the shadow has is older.
    pub newer: bool,
    /// The card uses it in the shadow.
    pub in_place: bool,
    /// The program has a copy, which it may read; the first write of either side ends that.
    pub shown: bool,
}

impl Away {
    /// Whether what the card has may be newer than what the shadow has.
    pub fn is_newer(&self) -> bool {
        self.writable || self.newer
    }
}

/// Pages in a row, within one block, of which the same is true.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Run {
    pub start: u64,
    pub len: u64,
    pub place: Place,
    /// Where the shadow has them; 0 when the block has none.
    pub shadow: u64,
}

impl Run {
    /// A part of it.
    pub fn part(self, start: u64, len: u64) -> Self {
        let shadow = match self.shadow {
            0 => 0,
            shadow => shadow + (start - self.start),
        };
        Self {
            start,
            len,
            shadow,
            ..self
        }
    }
}

struct Block {
    shadow: u64,
    away: usize,
    /// Pages that a kernel asked for, a bit a page, until they are home again.
    asked: [u64; PAGES / 64],
    places: [Place; PAGES],
}

impl Block {
    const NEW: Self = Self {
        shadow: 0,
        away: 0,
        asked: [0; PAGES / 64],
        places: [Place::Unwatched; PAGES],
    };
}

/// All blocks of 2 MiB of which a page is watched.
#[derive(Default)]
pub(super) struct Blocks {
    blocks: BTreeMap<u64, Block>,
    away: u64,
}

fn split(address: u64) -> (u64, usize) {
    (address & !(BLOCK - 1), (address % BLOCK / PAGE) as usize)
}

impl Blocks {
    pub fn place(&self, address: u64) -> Place {
        let (block, page) = split(address);
        self.blocks
            .get(&block)
            .map_or(Place::Unwatched, |block| block.places[page])
    }

    /// Pages that are on cards.
    pub fn away(&self) -> u64 {
        self.away
    }

    /// Says where pages are from now on.
    pub fn set(&mut self, start: u64, len: u64, place: Place) {
        for at in (start..start + len).step_by(PAGE as usize) {
            let (block, page) = split(at);
            let block = self.blocks.entry(block).or_insert(Block::NEW);
            let is_away = |place: Place| usize::from(matches!(place, Place::Away(_)));
            let (before, after) = (is_away(block.places[page]), is_away(place));
            block.away = block.away + after - before;
            self.away = self.away + after as u64 - before as u64;
            if before > after {
                block.asked[page / 64] &= !(1 << (page % 64));
            }
            block.places[page] = place;
        }
    }

    /// A kernel asks for a page.
    pub fn note_asked(&mut self, address: u64) {
        let (block, page) = split(address);
        let block = self.blocks.entry(block).or_insert(Block::NEW);
        block.asked[page / 64] |= 1 << (page % 64);
    }

    /// A page that was asked for has not come.
    pub fn forget_asked(&mut self, address: u64) {
        let (block, page) = split(address);
        if let Some(block) = self.blocks.get_mut(&block) {
            block.asked[page / 64] &= !(1 << (page % 64));
        }
    }

    /// Pages of a block that kernels asked for.
    pub fn asked_in(&self, block: u64) -> Vec<u64> {
        let bits = self.blocks.get(&block).map(|block| block.asked);
        let is = |page: &usize| bits.is_some_and(|bits| bits[page / 64] >> (page % 64) & 1 == 1);
        let address = |page| block + page as u64 * PAGE;
        (0..PAGES).filter(is).map(address).collect()
    }

    /// Who has the page, when it is away.
    pub fn away_at(&self, address: u64) -> Option<Away> {
        match self.place(address) {
            Place::Away(away) => Some(away),
            _ => None,
        }
    }

    /// Where the shadow of a block is; the block has been seen by [`Blocks::set`].
    pub fn shadow(&mut self, address: u64) -> Option<&mut u64> {
        self.blocks
            .get_mut(&split(address).0)
            .map(|block| &mut block.shadow)
    }

    /// The page whose place in the shadow this is.
    pub fn of_shadow(&self, at: u64) -> Option<u64> {
        let has = |block: &&Block| block.shadow != 0 && block.shadow == at & !(BLOCK - 1);
        let mut blocks = self.blocks.iter();
        let (start, _) = blocks.find(|(_, block)| has(block))?;
        Some(start + at % BLOCK)
    }

    /// The run that begins at `address`, up to `end` or the end of its block.
    fn run_at(&self, address: u64, end: u64) -> Run {
        let (start, page) = split(address);
        let limit = end.min(start + BLOCK);
        let Some(block) = self.blocks.get(&start) else {
            return Run {
                start: address,
                len: limit - address,
                place: Place::Unwatched,
                shadow: 0,
            };
        };
        let place = block.places[page];
        let pages = block.places[page..]
            .iter()
            .take(((limit - address) / PAGE) as usize)
            .take_while(|other| **other == place)
            .count();
        Run {
            start: address,
            len: pages as u64 * PAGE,
            place,
            shadow: match block.shadow {
                0 => 0,
                shadow => shadow + page as u64 * PAGE,
            },
        }
    }

    /// All runs of a range of whole pages, in the order of their addresses.
    pub fn runs(&self, start: u64, len: u64) -> Vec<Run> {
        let (mut at, end) = (start, start + len);
        let mut runs = Vec::new();
        while at < end {
            // Nothing is known of most of a large range: one step over it.
            let next = self.blocks.range(at & !(BLOCK - 1)..).next();
            let known = next.map_or(end, |(block, _)| (*block).clamp(at, end));
            if known > at {
                runs.push(Run {
                    start: at,
                    len: known - at,
                    place: Place::Unwatched,
                    shadow: 0,
                });
                at = known;
                continue;
            }
            let run = self.run_at(at, end);
            at += run.len;
            runs.push(run);
        }
        runs
    }

    /// Runs that are on cards, of all or of one.
    pub fn away_runs(&self, start: u64, len: u64, owner: Option<OwnerId>) -> Vec<Run> {
        let mut runs = self.runs(start, len);
        runs.retain(|run| match run.place {
            Place::Away(away) => owner.is_none_or(|owner| owner == away.owner),
            _ => false,
        });
        runs
    }

    /// Ranges that are watched.
    pub fn watched(&self) -> Vec<(u64, u64)> {
        let mut ranges: Vec<(u64, u64)> = Vec::new();
        for start in self.blocks.keys() {
            for run in self.runs(*start, BLOCK) {
                if run.place == Place::Unwatched {
                    continue;
                }
                match ranges.last_mut() {
                    Some((at, len)) if *at + *len == run.start => *len += run.len,
                    _ => ranges.push((run.start, run.len)),
                }
            }
        }
        ranges
    }

    /// Forgets blocks of which nothing is watched; the shadows that they had.
    pub fn sweep(&mut self) -> Vec<u64> {
        let mut shadows = Vec::new();
        self.blocks.retain(|_, block| {
            let keep = block.places.iter().any(|place| *place != Place::Unwatched);
            if block.shadow != 0 && block.away == 0 {
                shadows.push(std::mem::take(&mut block.shadow));
            }
            keep
        });
        shadows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AWAY: Place = Place::Away(Away {
        owner: 3,
        held: true,
        writable: false,
        newer: false,
        in_place: false,
        shown: false,
    });

    #[test]
    fn runs_cover_a_range_and_end_with_blocks() {
        let mut blocks = Blocks::default();
        blocks.set(BLOCK - PAGE, 3 * PAGE, AWAY);
        blocks.set(BLOCK + PAGE, PAGE, Place::Home);
        let runs = blocks.runs(0, 4 * BLOCK);
        let mut at = 0;
        for run in &runs {
            assert_eq!(run.start, at);
            at += run.len;
        }
        assert_eq!(at, 4 * BLOCK);
        let away: Vec<_> = blocks
            .away_runs(0, 4 * BLOCK, Some(3))
            .iter()
            .map(|run| (run.start, run.len))
            .collect();
        assert_eq!(away, [(BLOCK - PAGE, PAGE), (BLOCK, PAGE)]);
        assert!(blocks.away_runs(0, 4 * BLOCK, Some(2)).is_empty());
        assert_eq!(blocks.away(), 2);
        assert_eq!(blocks.watched(), [(BLOCK - PAGE, 3 * PAGE)]);
        assert_eq!(blocks.place(BLOCK + PAGE + 5), Place::Home);
    }

    #[test]
    fn what_was_asked_for_is_known_until_it_is_home_or_did_not_come() {
        let mut blocks = Blocks::default();
        for page in [1, 2, 3] {
            blocks.note_asked(page * PAGE);
        }
        blocks.set(PAGE, 2 * PAGE, AWAY);
        assert_eq!(blocks.asked_in(0), [PAGE, 2 * PAGE, 3 * PAGE]);
        blocks.forget_asked(3 * PAGE);
        blocks.set(PAGE, PAGE, Place::Home);
        assert_eq!(blocks.asked_in(0), [2 * PAGE]);
    }

    #[test]
    fn what_is_not_watched_is_forgotten_with_its_shadow() {
        let mut blocks = Blocks::default();
        blocks.set(0, PAGE, AWAY);
        *blocks.shadow(0).unwrap() = 0x40_0000;
        assert!(blocks.sweep().is_empty());
        blocks.set(0, PAGE, Place::Home);
        assert_eq!(blocks.sweep(), [0x40_0000]);
        assert_eq!(blocks.watched(), [(0, PAGE)]);
        blocks.set(0, PAGE, Place::Unwatched);
        assert!(blocks.sweep().is_empty());
        assert!(blocks.watched().is_empty());
    }
}
