// SPDX-License-Identifier: Apache-2.0
//! The memories that the heap gives frames from: where they are, and what is known of their free frames.

use std::ops::Range;

use godwit_card::{Memory, SimCard};
use rand::Rng;

use super::model::{Command, PAGE, Region};
use super::pace::SETTLE_CYCLES;
use super::registers::{self, Kept};
use super::{Found, HeapWorld, KEPT};
use crate::frames::TABLE_REGION;
use crate::{CosimError, Random};

/// Groups that may come and go between two looks at how many frames are free, while anything is under way.
const MOVING: u64 = 8;
/// Bytes of a bitmap's place.
const BITS: u64 = 1 << 20;

/// A region's memory.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    pub memory: u64,
    pub bytes: u64,
    pub clean_bits: u64,
    pub dirty_bits: u64,
    pub clean: bool,
    pub strict: bool,
}

impl Place {
    pub fn frames(&self) -> u64 {
        self.bytes / PAGE
    }

    pub fn holds(&self, at: u64) -> bool {
        (self.memory..self.memory + self.bytes).contains(&at)
    }
}

/// The regions of a card, from the first byte and the size of each; the memory of most is full of noise.
pub fn places(
    memory: &Memory,
    parts: &[Range<u64>],
    random: &mut Random,
) -> Result<Vec<Place>, CosimError> {
    let mut places = Vec::new();
    for (number, part) in parts.iter().enumerate() {
        let bits = TABLE_REGION + 2 * BITS * number as u64;
        let place = Place {
            memory: part.start,
            bytes: part.end - part.start,
            clean_bits: bits,
            dirty_bits: bits + BITS,
            clean: random.random_bool(0.3),
            strict: random.random_bool(if number == 0 { 0.3 } else { 0.6 }),
        };
        if !place.clean {
            let mut noise = vec![0; place.bytes as usize];
            random.fill(&mut noise[..]);
            memory.write(place.memory, &noise)?;
        }
        places.push(place);
    }
    Ok(places)
}

/// Begins all of them; what the rules say of each, and of those of the card that have no memory.
pub fn begin(
    card: &mut SimCard,
    kept: &mut Kept,
    places: &[Place],
    all: usize,
) -> Result<Vec<Region>, CosimError> {
    for (number, place) in places.iter().enumerate() {
        registers::start(card, kept, number, place)?;
    }
    let free = (0, 0);
    let strict = |number: usize| places.get(number).is_none_or(|place| place.strict);
    let regions = (0..all).map(|number| Region {
        strict: strict(number),
        free,
    });
    Ok(regions.collect())
}

impl HeapWorld {
    /// The strict regions that commands are about: those of mallocs, and of what reallocs name. What a malloc among them gives, and a
    /// realloc behind it names, is of a region that the malloc names.
    pub(super) fn strict_of<'a>(&self, commands: impl Iterator<Item = &'a Command>) -> Vec<usize> {
        let mut regions: Vec<usize> = commands
            .filter_map(|command| match command {
                Command::Malloc { region, .. } => Some(*region),
                Command::Realloc { pointer, .. } => Some(self.model.live.get(pointer)?.region),
                Command::Free { .. } => None,
            })
            .filter(|number| self.places.get(*number).is_some_and(|place| place.strict))
            .collect();
        regions.sort_unstable();
        regions.dedup();
        regions
    }

    /// Looks how many frames of strict regions are free: before commands, or behind them.
    pub(super) fn look(&mut self, strict: &[usize], before: bool) -> Result<(), CosimError> {
        for number in strict {
            let free = registers::free_frames(&mut self.card, &mut self.kept, *number)?;
            let moving = MOVING * self.model.largest_group();
            let (least, most) = (free.saturating_sub(moving), free + moving);
            let known = &mut self.model.regions[*number].free;
            *known = if before {
                (least, most)
            } else {
                (known.0.min(least), known.1.max(most))
            };
        }
        Ok(())
    }

    /// A region for so many pages: the one that is preferred, or another one if too little of it is free.
    pub(super) fn preferred(&mut self, region: usize, pages: u64) -> Result<usize, CosimError> {
        if registers::free_frames(&mut self.card, &mut self.kept, region)? >= pages {
            return Ok(region);
        }
        let mut best = (0, region);
        for number in 0..self.places.len() {
            best = best.max((
                registers::free_frames(&mut self.card, &mut self.kept, number)?,
                number,
            ));
        }
        Ok(best.1)
    }

    /// Every frame is in use, free, or one of those kept for tables; none is dirty in the end, nor in the hand of who clears it.
    /// `used`: by region, of pages that stay as they are until the next access.
    pub(super) fn count(&mut self, used: &[u64], random: &mut Random) -> Found {
        let since = self.now()?;
        for (number, used) in used.iter().copied().enumerate() {
            let there = self.places[number].frames();
            loop {
                let (found, free) = self.count_one(number, used)?;
                if found.is_ok() {
                    break;
                }
                if free + used > there || self.now()? - since > SETTLE_CYCLES {
                    return Ok(found);
                }
                if let Err(what) = self.beside(random)? {
                    return Ok(Err(what));
                }
            }
        }
        // Nothing is under way from here on, so what is free now is so exactly.
        if let Err(what) = self.settle(random)? {
            return Ok(Err(what));
        }
        for (number, used) in used.iter().copied().enumerate() {
            let (found, free) = self.count_one(number, used)?;
            if found.is_err() {
                return Ok(found);
            }
            self.model.regions[number].free = (free, free);
        }
        Ok(Ok(()))
    }

    /// Whether a region has all its frames, and all that are free are clean; and how many are free.
    fn count_one(
        &mut self,
        number: usize,
        used: u64,
    ) -> Result<(Result<(), String>, u64), CosimError> {
        let there = self.places[number].frames();
        let kept_here = if number == 0 { KEPT } else { 0 };
        let (free, clean) = registers::free(&mut self.card, &mut self.kept, number)?;
        let kept = there.checked_sub(used + free);
        // Of a full memory those for tables may have been wanted, too.
        let enough = kept == Some(kept_here) || (free == 0 && kept < Some(kept_here));
        let found = if kept.is_some() && clean == free && enough {
            Ok(())
        } else {
            Err(format!(
                "region {number}: of {there} frames {used} are in use, {free} free and {clean} of these clean; nobody's should be \
                 the {kept_here} that are kept for tables"
            ))
        };
        Ok((found, free))
    }

    /// Asks a strict region for exactly what is free, and for a page more, while nothing else is under way.
    pub(super) fn edges(&mut self, random: &mut Random) -> Found {
        let context = random.random_range(0..super::CONTEXTS);
        if !self.on[context] {
            return Ok(Ok(()));
        }
        for region in 0..self.model.regions.len() {
            let known = self.model.regions[region];
            if !known.strict {
                continue;
            }
            let malloc = |pages: u64| Command::Malloc {
                bytes: pages * PAGE,
                granule: 0,
                small: false,
                write: true,
                region,
            };
            if let Err(what) = self.exactly(context, malloc(known.free.0 + 1))? {
                return Ok(Err(what));
            }
            if known.free.0 == 0 {
                continue;
            }
            let given = match self.exactly(context, malloc(known.free.0))? {
                Ok(given) => given,
                Err(what) => return Ok(Err(what)),
            };
            let Ok(pointer) = given.answer else {
                continue;
            };
            for pages in [2 * known.free.0 + 1, 2 * known.free.0, 1] {
                let bytes = pages * PAGE;
                if let Err(what) = self.exactly(context, Command::Realloc { pointer, bytes })? {
                    return Ok(Err(what));
                }
            }
        }
        Ok(Ok(()))
    }
}
