// SPDX-License-Identifier: Apache-2.0
//! What each page was at each time, and what an access may have met there.

use super::{Allocation, LINE, Line, Model, PAGE};

/// What an allocation was for a while; times are cycles.
#[derive(Debug, Clone)]
pub(super) struct State {
    pub(super) base: u64,
    pub(super) capacity: u64,
    /// Pages that are there for sure, and that may be there.
    pub(super) pages: u64,
    pub(super) reach: u64,
    pub(super) write: bool,
    pub(super) spans: Vec<(u64, u64)>,
    /// Possible in these cycles.
    pub(super) from: u64,
    pub(super) until: u64,
    /// Sure in these; pages below `kept` from `from` on.
    pub(super) sure_from: u64,
    pub(super) sure_until: u64,
    pub(super) kept: u64,
}

impl State {
    /// Number of the page in the allocation, if it may be used.
    fn page(&self, va: u64, write: bool) -> Option<u64> {
        let page = va.checked_sub(self.base)? / PAGE;
        (page < self.reach && (!write || self.write)).then_some(page)
    }

    fn generation(&self, page: u64) -> u64 {
        let own = self.spans.iter().rev().find(|(first, _)| *first <= page);
        own.map_or(0, |(_, generation)| *generation)
    }
}

/// What an access may have met.
pub struct Choice {
    /// Generations of the page that it may have used.
    pub generations: Vec<u64>,
    /// It may have been refused.
    pub refused: bool,
}

impl Model {
    pub(super) fn begin(&mut self, of: &Allocation, kept: u64, (begin, end): (u64, u64)) {
        self.states.entry(of.context).or_default().push(State {
            base: of.pointer,
            capacity: of.capacity,
            pages: of.pages,
            reach: of.reach(of.pages),
            write: of.write,
            spans: of.spans.clone(),
            from: begin,
            until: u64::MAX,
            sure_from: end,
            sure_until: u64::MAX,
            kept,
        });
    }

    /// The state that an allocation has now.
    pub(super) fn present(&mut self, context: usize, pointer: u64) -> Option<&mut State> {
        let states = self.states.get_mut(&context)?.iter_mut();
        states
            .rev()
            .find(|s| s.base == pointer && s.sure_until == u64::MAX)
    }

    /// What an access that was under way in these cycles may have met.
    pub fn choice(
        &self,
        context: usize,
        va: u64,
        write: bool,
        (first, last): (u64, u64),
    ) -> Choice {
        let mut generations = Vec::new();
        let mut sure: Vec<(u64, u64)> = Vec::new();
        for state in self.states.get(&context).into_iter().flatten() {
            let Some(page) = state.page(va, write) else {
                continue;
            };
            if state.from <= last && first <= state.until {
                let generation = state.generation(page);
                if !generations.contains(&generation) {
                    generations.push(generation);
                }
            }
            if page < state.pages {
                let from = if page < state.kept {
                    state.from
                } else {
                    state.sure_from
                };
                sure.push((from, state.sure_until));
            }
        }
        sure.sort_unstable();
        let mut at = first;
        for (from, until) in sure {
            if from <= at {
                at = at.max(until);
            }
        }
        Choice {
            generations,
            refused: at < last,
        }
    }

    /// What a line of one of these generations may hold.
    pub fn may_hold(&self, generations: &[u64], va: u64, found: &[u8]) -> bool {
        generations
            .iter()
            .any(|generation| match self.lines.get(&(*generation, va)) {
                None => found.iter().all(|byte| *byte == 0),
                Some(lines) => lines.iter().any(|line| line[..] == *found),
            })
    }

    /// A write was done.
    pub fn wrote(&mut self, generations: &[u64], va: u64, line: Line) {
        if let [generation] = generations {
            self.lines.insert((*generation, va), vec![line]);
            return;
        }
        for generation in generations {
            let held = self.lines.entry((*generation, va));
            held.or_insert_with(|| vec![[0; LINE as usize]]).push(line);
        }
    }

    /// A page of what is live now, as (generation of it, for sure there).
    pub fn live_page(&self, context: usize, va: u64) -> Option<(u64, bool)> {
        let (_, of) = self.live.range(..=va).next_back()?;
        let page = (va - of.pointer) / PAGE;
        if of.context != context || page >= of.reach(of.pages) {
            return None;
        }
        let own = of.spans.iter().rev().find(|(first, _)| *first <= page)?;
        Some((own.1, page < of.pages))
    }

    /// Every line that was written and that a live allocation still has: context, address, what it may hold.
    pub fn written(&self) -> impl Iterator<Item = (usize, u64, &Vec<Line>)> {
        self.lines.iter().filter_map(|((generation, va), lines)| {
            let (_, of) = self.live.range(..=*va).next_back()?;
            let (own, _) = self.live_page(of.context, *va)?;
            (own == *generation).then_some((of.context, *va, lines))
        })
    }

    /// Forgets what no access can meet any more; nothing is under way, and all is settled.
    pub fn forget(&mut self) {
        for states in self.states.values_mut() {
            states.retain(|state| state.sure_until == u64::MAX);
        }
        let mut lines = std::mem::take(&mut self.lines);
        lines.retain(|(generation, va), _| {
            let own = self.live.range(..=*va).next_back();
            own.and_then(|(_, of)| self.live_page(of.context, *va))
                .is_some_and(|(own, _)| own == *generation)
        });
        self.lines = lines;
    }
}
