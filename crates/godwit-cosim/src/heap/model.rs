// SPDX-License-Identifier: Apache-2.0
//! The oracle: what each command of the heap must answer, and what each page may be at each time.
//!
//! An allocation has a *state* for each size that it had. A state is *sure* from the answer that began it to the command that
//! ended it, and *possible* from that command's beginning until what it left is known to be taken back. Pages that are
//! written have a *generation*: one that is cut off and grows again has another one, and reads as zero.

use std::collections::{BTreeMap, HashMap};

use godwit::{HeapRefusal, layout};

pub const PAGE: u64 = 4096;
pub const LINE: u64 = 64;
/// Pages of a slot, of a small one, and of the largest allocation.
const SLOT: u64 = 1 << 21;
const SMALL_SLOT: u64 = 1 << 4;
const MOST: u64 = 8 * SLOT;
/// Pages that have one mapping, and log2 of them: granules from here on come in such groups.
const GROUP: u64 = 16;
const GROUP_ORDER: u32 = 4;

pub type Line = [u8; LINE as usize];

/// A command, right or wrong.
#[derive(Debug, Clone, Copy)]
pub enum Command {
    Malloc {
        bytes: u64,
        granule: u32,
        small: bool,
        write: bool,
    },
    Realloc {
        pointer: u64,
        bytes: u64,
    },
    Free {
        pointer: u64,
    },
}

/// A live allocation.
#[derive(Debug, Clone)]
pub struct Allocation {
    pub context: usize,
    pub pointer: u64,
    pub pages: u64,
    pub capacity: u64,
    pub small: bool,
    pub write: bool,
    granule: u32,
    /// Generations, each from a page on.
    spans: Vec<(u64, u64)>,
    /// Something was cut off and may not be taken back yet.
    pub shrunk: bool,
}

impl Allocation {
    /// Pages that may be there: a group stays while one of its pages is live.
    pub fn reach(&self, pages: u64) -> u64 {
        if self.granule >= GROUP_ORDER {
            pages.next_multiple_of(GROUP)
        } else {
            pages
        }
    }
}

/// What an allocation was for a while; times are cycles.
#[derive(Debug, Clone)]
struct State {
    base: u64,
    capacity: u64,
    /// Pages that are there for sure, and that may be there.
    pages: u64,
    reach: u64,
    write: bool,
    spans: Vec<(u64, u64)>,
    /// Possible in these cycles.
    from: u64,
    until: u64,
    /// Sure in these; pages below `kept` from `from` on.
    sure_from: u64,
    sure_until: u64,
    kept: u64,
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

/// All that is known of the heap.
#[derive(Default)]
pub struct Model {
    pub live: BTreeMap<u64, Allocation>,
    /// By context.
    states: HashMap<usize, Vec<State>>,
    /// Freed last: what misguided accesses and commands go for.
    pub freed: Vec<(usize, u64)>,
    /// What a line of a generation may hold; nothing: zero.
    lines: HashMap<(u64, u64), Vec<Line>>,
    generations: u64,
    pub quota: u64,
    slots: u64,
}

impl Model {
    pub fn new(slots: u64, quota: u64) -> Self {
        Self {
            slots,
            quota,
            ..Self::default()
        }
    }

    pub fn of(&self, context: usize) -> impl Iterator<Item = &Allocation> {
        self.live.values().filter(move |a| a.context == context)
    }

    /// Whether an allocation of `pages` pages could be somewhere beside the live ones.
    fn has_room(&self, small: bool, capacity: u64) -> bool {
        let (base, slot) = window(small);
        let bytes = capacity * PAGE;
        (0..self.slots * slot / capacity).any(|place| {
            let first = base + place * bytes;
            !self.overlaps(first, bytes)
        })
    }

    fn overlaps(&self, first: u64, bytes: u64) -> bool {
        let before = self.live.range(..first + bytes).next_back();
        before.is_some_and(|(start, a)| start + a.capacity * PAGE > first)
    }

    /// What a command must answer.
    pub fn expected(&self, context: usize, command: Command) -> Option<HeapRefusal> {
        match command {
            Command::Malloc {
                bytes,
                granule,
                small,
                ..
            } => {
                let most = if small { SMALL_SLOT } else { MOST };
                let largest = if small { GROUP_ORDER } else { 9 };
                if bytes == 0 {
                    Some(HeapRefusal::SizeZero)
                } else if bytes.div_ceil(PAGE) > most {
                    Some(HeapRefusal::TooLarge)
                } else if granule > largest {
                    Some(HeapRefusal::Argument)
                } else if self.of(context).count() as u64 >= self.quota {
                    Some(HeapRefusal::Quota)
                } else {
                    None
                }
            }
            Command::Realloc { bytes: 0, .. } => Some(HeapRefusal::SizeZero),
            Command::Realloc { bytes, .. } if bytes > MOST * PAGE => Some(HeapRefusal::TooLarge),
            Command::Realloc { pointer, bytes } => self.named(context, pointer).or_else(|| {
                let capacity = self.live.get(&pointer).map_or(0, |a| a.capacity);
                (bytes.div_ceil(PAGE) > capacity).then_some(HeapRefusal::TooLarge)
            }),
            Command::Free { pointer } => self.named(context, pointer),
        }
    }

    /// What is wrong with a pointer.
    fn named(&self, context: usize, pointer: u64) -> Option<HeapRefusal> {
        let slot_begins = [false, true].into_iter().any(|small| {
            let (base, slot) = window(small);
            let bytes = slot * PAGE;
            (base..base + self.slots * bytes).contains(&pointer) && (pointer - base) % bytes == 0
        });
        if !slot_begins {
            return Some(HeapRefusal::Foreign);
        }
        match self.live.get(&pointer) {
            None => Some(HeapRefusal::NotLive),
            Some(a) if a.context != context => Some(HeapRefusal::OtherContext),
            Some(_) => None,
        }
    }

    /// Takes down an answer that came between two times.
    pub fn answered(
        &mut self,
        context: usize,
        command: Command,
        answer: Result<u64, HeapRefusal>,
        (begin, end): (u64, u64),
    ) -> Result<(), String> {
        let wanted = self.expected(context, command);
        if let (Err(HeapRefusal::NoSlot), Command::Malloc { bytes, small, .. }, None) =
            (&answer, command, wanted)
        {
            // Slots that are being taken back, and those in stock, are not counted here: only of single slots there are enough.
            let capacity = capacity(small, bytes.div_ceil(PAGE));
            let single = capacity == capacity_of(small);
            return if single && self.has_room(small, capacity) && self.live.len() < 512 {
                Err(format!(
                    "{command:x?} of context {context}: no slot, but there are"
                ))
            } else {
                Ok(())
            };
        }
        if answer.as_ref().err() != wanted.as_ref() {
            return Err(format!(
                "{command:x?} of context {context}: {answer:x?}, expected {wanted:?}"
            ));
        }
        let Ok(given) = answer else {
            return Ok(());
        };
        match command {
            Command::Malloc {
                bytes,
                granule,
                small,
                write,
            } => self.malloc(
                Allocation {
                    context,
                    pointer: given,
                    pages: bytes.div_ceil(PAGE),
                    capacity: capacity(small, bytes.div_ceil(PAGE)),
                    small,
                    write,
                    granule,
                    spans: Vec::new(),
                    shrunk: false,
                },
                (begin, end),
            ),
            Command::Realloc { pointer, bytes } => {
                self.resize(pointer, bytes.div_ceil(PAGE), (begin, end));
                Ok(())
            }
            Command::Free { pointer } => {
                self.end(pointer, begin);
                Ok(())
            }
        }
    }

    fn generation(&mut self) -> u64 {
        self.generations += 1;
        self.generations
    }

    fn malloc(&mut self, mut new: Allocation, times: (u64, u64)) -> Result<(), String> {
        let (base, slot) = window(new.small);
        let bytes = new.capacity * PAGE;
        let inside = (base..base + self.slots * slot * PAGE).contains(&new.pointer);
        if !inside || (new.pointer - base) % bytes != 0 {
            return Err(format!("malloc gave {:#x}, which is no slot", new.pointer));
        }
        if self.overlaps(new.pointer, bytes) {
            return Err(format!(
                "malloc gave {:#x}, which is somebody's",
                new.pointer
            ));
        }
        // Whatever was here was taken back before the slot was given again.
        for state in self.states.values_mut().flatten() {
            let apart = state.base + state.capacity * PAGE <= new.pointer
                || new.pointer + bytes <= state.base;
            if !apart {
                state.until = state.until.min(times.1);
            }
        }
        self.freed.retain(|(_, pointer)| *pointer != new.pointer);
        new.spans.push((0, self.generation()));
        self.begin(&new, 0, times);
        self.live.insert(new.pointer, new);
        Ok(())
    }

    fn begin(&mut self, of: &Allocation, kept: u64, (begin, end): (u64, u64)) {
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
    fn present(&mut self, context: usize, pointer: u64) -> Option<&mut State> {
        let states = self.states.get_mut(&context)?.iter_mut();
        states
            .rev()
            .find(|s| s.base == pointer && s.sure_until == u64::MAX)
    }

    fn resize(&mut self, pointer: u64, pages: u64, (begin, end): (u64, u64)) {
        let fresh = self.generation();
        let Some(mut of) = self.live.remove(&pointer) else {
            return;
        };
        let (before, after) = (of.reach(of.pages), of.reach(pages));
        let kept = of.pages.min(pages);
        let shrinks = pages < of.pages;
        if let Some(state) = self.present(of.context, pointer) {
            state.sure_until = begin;
            if !shrinks {
                state.until = end;
            }
        }
        of.spans.retain(|(first, _)| *first < after);
        if after > before {
            of.spans.push((before, fresh));
        }
        of.shrunk |= shrinks;
        of.pages = pages;
        self.begin(&of, kept, (begin, end));
        self.live.insert(pointer, of);
    }

    fn end(&mut self, pointer: u64, begin: u64) {
        let Some(of) = self.live.remove(&pointer) else {
            return;
        };
        if let Some(state) = self.present(of.context, pointer) {
            state.sure_until = begin;
        }
        self.freed.push((of.context, pointer));
        if self.freed.len() > 16 {
            self.freed.remove(0);
        }
    }

    /// A context's end began.
    pub fn end_context(&mut self, context: usize, begin: u64) {
        let of: Vec<u64> = self.of(context).map(|a| a.pointer).collect();
        for pointer in of {
            self.end(pointer, begin);
        }
    }

    /// All that was freed or cut off is known to be taken back, of one context or of all.
    pub fn settled(&mut self, context: Option<usize>, now: u64) {
        for (number, states) in &mut self.states {
            if context.is_none_or(|one| one == *number) {
                for state in states.iter_mut().filter(|s| s.sure_until != u64::MAX) {
                    state.until = state.until.min(now);
                }
            }
        }
        for of in self.live.values_mut() {
            of.shrunk &= context.is_some_and(|one| one != of.context);
        }
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

/// Where slots begin, and pages of one.
fn window(small: bool) -> (u64, u64) {
    if small {
        (layout::HEAP_WINDOW_SMALL, SMALL_SLOT)
    } else {
        (layout::HEAP_WINDOW_FIRST, SLOT)
    }
}

fn capacity_of(small: bool) -> u64 {
    window(small).1
}

/// Pages that a malloc takes.
fn capacity(small: bool, pages: u64) -> u64 {
    let slot = capacity_of(small);
    slot * pages.div_ceil(slot).next_power_of_two()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONTEXT: usize = 1;

    fn small(bytes: u64) -> Command {
        Command::Malloc {
            bytes,
            granule: 0,
            small: true,
            write: true,
        }
    }

    fn one_page() -> (Model, u64) {
        let mut model = Model::new(1024, 10);
        let pointer = layout::HEAP_WINDOW_SMALL + (3 << 16);
        let done = model.answered(CONTEXT, small(PAGE), Ok(pointer), (10, 20));
        assert_eq!(done, Ok(()));
        (model, pointer)
    }

    fn choice(model: &Model, va: u64, cycles: (u64, u64)) -> (usize, bool) {
        let choice = model.choice(CONTEXT, va, true, cycles);
        (choice.generations.len(), choice.refused)
    }

    #[test]
    fn a_page_is_there_from_its_malloc_to_the_end_of_its_job() {
        let (mut model, pointer) = one_page();
        assert_eq!(choice(&model, pointer, (1, 9)), (0, true));
        assert_eq!(choice(&model, pointer, (5, 12)), (1, true));
        assert_eq!(choice(&model, pointer, (20, 30)), (1, false));
        assert_eq!(choice(&model, pointer + PAGE, (20, 30)), (0, true));
        let freed = model.answered(CONTEXT, Command::Free { pointer }, Ok(0), (40, 50));
        assert_eq!(freed, Ok(()));
        assert_eq!(choice(&model, pointer, (30, 45)), (1, true));
        model.settled(None, 70);
        assert_eq!(choice(&model, pointer, (60, 80)), (1, true));
        assert_eq!(choice(&model, pointer, (71, 80)), (0, true));
    }

    #[test]
    fn pages_that_grow_again_are_new_ones() {
        let (mut model, pointer) = one_page();
        let mut resize = |bytes, cycles| {
            let command = Command::Realloc { pointer, bytes };
            let done = model.answered(CONTEXT, command, Ok(pointer), cycles);
            assert_eq!(done, Ok(()));
            model.settled(None, cycles.1);
            model
                .live_page(CONTEXT, pointer)
                .zip(model.live_page(CONTEXT, pointer + PAGE))
        };
        let first = resize(2 * PAGE, (30, 40)).expect("two pages");
        assert_eq!(resize(PAGE, (50, 60)), None);
        let second = resize(2 * PAGE, (70, 80)).expect("two pages");
        assert_eq!(first.0, second.0);
        assert_ne!(first.1, second.1);
        assert_eq!(choice(&model, pointer, (30, 80)), (1, false));
    }

    #[test]
    fn wrong_answers_are_told() {
        let (mut model, pointer) = one_page();
        for (context, command, answer) in [
            (0, Command::Free { pointer }, Ok(0)),
            (
                CONTEXT,
                Command::Free { pointer },
                Err(HeapRefusal::NotLive),
            ),
            (CONTEXT, small(0), Ok(pointer)),
            (CONTEXT, small(PAGE), Ok(pointer)),
            (CONTEXT, small(PAGE), Ok(pointer + PAGE)),
            (CONTEXT, small(PAGE), Err(HeapRefusal::NoSlot)),
        ] {
            let said = model.answered(context, command, answer, (30, 40));
            assert!(said.is_err(), "{command:x?} in context {context}");
        }
    }

    #[test]
    fn a_write_that_may_have_met_either_generation_leaves_both_ways_open() {
        let mut model = Model::new(1024, 10);
        let (one, other) = ([1; 64], [2; 64]);
        model.wrote(&[1], 0, one);
        model.wrote(&[1, 2], 0, other);
        assert!(model.may_hold(&[1], 0, &one) && model.may_hold(&[1], 0, &other));
        assert!(model.may_hold(&[2], 0, &[0; 64]) && !model.may_hold(&[2], 0, &one));
    }
}
