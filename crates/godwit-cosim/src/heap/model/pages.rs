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

    /// What a line of a generation may hold.
    fn held(&self, generation: u64, va: u64) -> Vec<Line> {
        if let Some(lines) = self.lines.get(&(generation, va)) {
            return lines.clone();
        }
        let mut lines = vec![[0; LINE as usize]];
        if let Some(instead) = self.instead.get(&generation) {
            let before = instead.iter().filter(|c| (c.first..c.end).contains(&va));
            lines.extend(before.flat_map(|cut| self.held(cut.generation, va)));
        }
        lines
    }

    /// What a line of one of these generations may hold.
    pub fn may_hold(&self, generations: &[u64], va: u64, found: &[u8]) -> bool {
        let mut held = generations.iter().flat_map(|own| self.held(*own, va));
        held.any(|line| line[..] == *found)
    }

    /// A write was done.
    pub fn wrote(&mut self, generations: &[u64], va: u64, line: Line) {
        for generation in generations {
            let mut lines = match generations {
                [_] => Vec::new(),
                _ => self.held(*generation, va),
            };
            lines.push(line);
            self.lines.insert((*generation, va), lines);
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

    /// Pointer of the live allocation at an address.
    pub fn allocation_at(&self, va: u64) -> Option<u64> {
        let (pointer, of) = self.live.range(..=va).next_back()?;
        (va < pointer + of.capacity * PAGE).then_some(*pointer)
    }

    /// Region of the live allocation at an address.
    pub fn region_at(&self, va: u64) -> Option<usize> {
        let (_, of) = self.live.range(..=va).next_back()?;
        Some(of.region)
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
        // What grew over something that was cut off holds from now on what it may have held of that.
        let seeds: Vec<_> = self
            .instead
            .values()
            .flatten()
            .map(|cut| cut.generation)
            .collect();
        let mut old: Vec<(u64, u64)> = self.lines.keys().copied().collect();
        old.retain(|(generation, _)| seeds.contains(generation));
        old.sort_unstable();
        for (_, va) in old {
            if let Some((_, of)) = self.live.range(..=va).next_back()
                && let Some((own, _)) = self.live_page(of.context, va)
                && self.instead.contains_key(&own)
            {
                let held = self.held(own, va);
                self.lines.insert((own, va), held);
            }
        }
        self.instead.clear();
        for states in self.states.values_mut() {
            states.retain(|state| state.sure_until == u64::MAX);
        }
        let mut lines = std::mem::take(&mut self.lines);
        lines.retain(|(generation, va), _| {
            let own = self.live.range(..=*va).next_back();
            own.and_then(|(_, of)| self.live_page(of.context, *va))
                .is_some_and(|(own, _)| own == *generation)
                || self.host.iter().any(|area| area.3 == *generation)
        });
        self.lines = lines;
    }

    /// An area whose pages the host brings whenever they are asked for, from now on.
    pub fn host_begins(&mut self, context: usize, base: u64, pages: u64, times: (u64, u64)) {
        let known = self.host.iter().find(|area| area.0 == context);
        let generation = match known.copied() {
            Some(area) => area.3,
            None => {
                let generation = self.generation();
                self.host.push((context, base, pages, generation));
                generation
            }
        };
        self.states.entry(context).or_default().push(State {
            base,
            capacity: pages,
            pages,
            reach: pages,
            write: true,
            spans: vec![(0, generation)],
            from: times.0,
            until: u64::MAX,
            sure_from: times.1,
            sure_until: u64::MAX,
            kept: 0,
        });
    }

    /// It ends with its context: between these times.
    pub fn host_ends(&mut self, context: usize, base: u64, times: (u64, u64)) {
        if let Some(state) = self.present(context, base) {
            state.sure_until = times.0;
            state.until = times.1;
        }
    }

    /// Lines of pages that the host brought: address of context, and what it may hold.
    pub fn host_written(&self) -> impl Iterator<Item = (usize, u64, &Vec<Line>)> {
        self.lines.iter().filter_map(|((generation, va), lines)| {
            let area = self.host.iter().find(|area| area.3 == *generation)?;
            Some((area.0, *va, lines))
        })
    }
}
