// SPDX-License-Identifier: Apache-2.0
//! What a line over the link costs a kernel. Not its time by its lines: it works meanwhile, and has some under way while it waits for others.
//! It is what a launch takes longer that uses its pages in place than the same launch with them on the card, by the lines that it has more.

use std::collections::VecDeque;

use super::launches::Request;

/// Launches of which something is known; beyond that what was not seen for longest is forgotten.
const KEPT: usize = 64;
/// Fewest lines that two launches must be apart for their times to say anything.
const APART: u32 = 16;

/// Launches that take the same time, but for where their pages are: kernel, context, and words of its control block, addresses among them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Launch {
    slot: usize,
    context: Option<u64>,
    registers: Vec<(u64, u32)>,
}

impl Launch {
    pub fn of(slot: usize, request: &Request) -> Self {
        Self {
            slot,
            context: request.context,
            registers: request.registers.clone(),
        }
    }
}

/// What one of them took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Took {
    /// Virtual time, but for the host's work on pages.
    pub time_ps: u64,
    /// Lines over the link, in place.
    pub lines: u32,
    /// What the pages that were copied meanwhile cost by their number: part of that is in the time.
    pub copies_ps: u64,
}

impl Took {
    /// Its lines are so many fewer than another's that the two say what one costs.
    fn is_below(&self, other: &Self) -> bool {
        let apart = other.lines.saturating_sub(self.lines);
        apart >= APART && apart >= other.lines / 2
    }
}

#[derive(Debug)]
struct Pace {
    launch: Launch,
    /// With most pages in place, and what a line costs at most by that.
    many: Took,
    most_ps: u64,
    /// With most of them on the card.
    few: Option<Took>,
}

impl Pace {
    fn add(&mut self, took: Took, most_ps: u64) {
        if took.is_below(&self.many) {
            self.few = Some(took);
            return;
        }
        let before = std::mem::replace(&mut self.many, took);
        self.most_ps = most_ps;
        self.few = match before.is_below(&took) {
            true => Some(before),
            false => self.few.filter(|few| few.is_below(&took)),
        };
    }

    /// Copies have their price elsewhere, so that both ways are compared by it: what of it is not in the time of the one is in the lines'
    /// of the other. At least 1, for 0 is what nobody knows. What was not seen both ways has the most that it can be.
    fn line_ps(&self) -> Option<u64> {
        let Some(few) = self.few else {
            return Some(self.most_ps).filter(|most| *most > 0);
        };
        let without = |took: &Took| i128::from(took.time_ps) - i128::from(took.copies_ps);
        let more = without(&self.many) - without(&few);
        let line = more / i128::from(self.many.lines - few.lines).max(1);
        Some(u64::try_from(line).unwrap_or(0).max(1))
    }
}

/// What is known of launches, the latest last.
#[derive(Debug, Default)]
pub(super) struct Paces(VecDeque<Pace>);

impl Paces {
    /// A launch has taken that; by its time and lines alone a line costs so much at most, 0 if it had none. Whether that is the launch with
    /// most pages in place.
    pub fn add(&mut self, launch: &Launch, took: Took, most_ps: u64) -> bool {
        let known = self.0.iter().position(|pace| pace.launch == *launch);
        let pace = match known.and_then(|at| self.0.remove(at)) {
            Some(mut pace) => {
                pace.add(took, most_ps);
                pace
            }
            None => Pace {
                launch: launch.clone(),
                many: took,
                most_ps,
                few: None,
            },
        };
        let with_most = pace.many == took;
        if self.0.len() == KEPT {
            self.0.pop_front();
        }
        self.0.push_back(pace);
        with_most
    }

    /// What a line costs in a launch, if that was seen before.
    pub fn line_ps(&self, launch: &Launch) -> Option<u64> {
        let mut known = self.0.iter();
        known.find(|pace| pace.launch == *launch)?.line_ps()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launch(slot: usize) -> Launch {
        Launch {
            slot,
            context: Some(1),
            registers: vec![(0x10, 7)],
        }
    }

    fn took(time_ps: u64, lines: u32, copies_ps: u64) -> Took {
        Took {
            time_ps,
            lines,
            copies_ps,
        }
    }

    #[test]
    fn a_line_costs_what_the_launch_in_place_takes_longer() {
        let mut paces = Paces::default();
        assert!(paces.add(&launch(0), took(10_000, 100, 0), 100));
        assert_eq!(paces.line_ps(&launch(0)), Some(100));
        // As many lines say nothing new.
        assert!(paces.add(&launch(0), took(11_000, 90, 0), 120));
        assert_eq!(paces.line_ps(&launch(0)), Some(120));
        assert!(!paces.add(&launch(0), took(9_200, 0, 0), 0));
        assert_eq!(paces.line_ps(&launch(0)), Some(1_800 / 90));
        // Of another kernel nothing is known.
        assert_eq!(paces.line_ps(&launch(1)), None);
        // The latest ones count.
        paces.add(&launch(0), took(10_100, 90, 0), 110);
        assert_eq!(paces.line_ps(&launch(0)), Some(10));
    }

    #[test]
    fn copies_count_by_their_price_whatever_they_took() {
        let mut paces = Paces::default();
        // Copies for 3,000 have made the launch on the card longer by 1,000 only.
        paces.add(&launch(0), took(9_000, 0, 3_000), 0);
        assert_eq!(paces.line_ps(&launch(0)), None);
        paces.add(&launch(0), took(10_000, 100, 0), 100);
        assert_eq!(paces.line_ps(&launch(0)), Some(40));
        // To copy is dearer than the lines in any case.
        paces.add(&launch(0), took(14_000, 0, 3_000), 0);
        assert_eq!(paces.line_ps(&launch(0)), Some(1));
    }

    #[test]
    fn launches_that_are_not_seen_any_more_are_forgotten() {
        let mut paces = Paces::default();
        for slot in 0..=KEPT {
            paces.add(&launch(slot), took(10, 100, 0), 1);
        }
        assert_eq!(paces.0.len(), KEPT);
        assert_eq!(paces.line_ps(&launch(0)), None);
        assert!(paces.line_ps(&launch(1)).is_some());
    }
}
