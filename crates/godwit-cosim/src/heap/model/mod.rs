// SPDX-License-Identifier: Apache-2.0
//! The oracle: what each command of the heap must answer, and what each page may be at each time.
//!
//! An allocation has a *state* for each size that it had. A state is *sure* from the answer that began it to the command that
//! ended it, and *possible* from that command's beginning until what it left is known to be taken back. Pages that are
//! written have a *generation*: one that is cut off and grows again has another one, and reads as zero; or as before, if it grew
//! before what was cut off was taken back.

mod order;
mod pages;
mod rules;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap, HashSet};

use godwit::{HeapRefusal, layout};

use self::pages::State;

pub const PAGE: u64 = 4096;
pub const LINE: u64 = 64;
/// Pages of a slot, of a small one, and of the largest allocation.
const SLOT: u64 = 1 << 21;
const SMALL_SLOT: u64 = 1 << 4;
const MOST: u64 = 8 * SLOT;
/// log2 of the pages of a small slot, and of the largest group that there is.
const SMALL_ORDER: u32 = 4;
const LARGEST_ORDER: u32 = 9;

pub type Line = [u8; LINE as usize];

/// A command, right or wrong.
#[derive(Debug, Clone, Copy)]
pub enum Command {
    Malloc {
        bytes: u64,
        granule: u32,
        small: bool,
        write: bool,
        region: usize,
    },
    Realloc {
        pointer: u64,
        bytes: u64,
    },
    Free {
        pointer: u64,
    },
}

/// A command of a context and its answer: of a malloc the pointer.
#[derive(Debug, Clone, Copy)]
pub struct Given {
    pub context: usize,
    pub command: Command,
    pub answer: Result<u64, HeapRefusal>,
}

/// A memory of the heap.
#[derive(Debug, Clone, Copy)]
pub struct Region {
    /// It refuses what it has no free frames for.
    pub strict: bool,
    /// Free frames while the commands of now are answered: at least, at most.
    pub free: (u64, u64),
}

/// Pages, by their addresses, of a generation that was cut off.
#[derive(Debug, Clone)]
struct Cut {
    first: u64,
    end: u64,
    generation: u64,
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
    /// Where its frames come from.
    pub region: usize,
    /// Pages that may come together: as many as the granule, if the heap has groups of those, else the largest that are fewer.
    group: u64,
    /// Generations, each from a page on.
    spans: Vec<(u64, u64)>,
    /// What was cut off and may not be taken back yet.
    cut: Vec<Cut>,
    /// Something was cut off and may not be taken back yet.
    pub shrunk: bool,
}

impl Allocation {
    fn slots(&self) -> u64 {
        self.capacity / capacity_of(self.small)
    }

    /// Pages that may be there: a group stays while one of its pages is live.
    pub fn reach(&self, pages: u64) -> u64 {
        pages.next_multiple_of(self.group)
    }
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
    /// Those of a context whose end is under way: any of them is freed by now, or not yet.
    ending: HashSet<u64>,
    generations: u64,
    /// Of a generation that grew over what may not be taken back yet: what its pages may hold instead of zero.
    instead: BTreeMap<u64, Vec<Cut>>,
    pub regions: Vec<Region>,
    /// Pages that the host brings: context, first byte, pages, generation.
    host: Vec<(usize, u64, u64, u64)>,
    pub quota: u64,
    slots: u64,
    /// log2 of the pages of groups: a bit each.
    orders: u32,
    /// Slots, large and small ones, that were freed and may be under way to where free ones are.
    pub leaving: [u64; 2],
}

impl Model {
    pub fn new(slots: u64, orders: u32, quota: u64, regions: Vec<Region>) -> Self {
        Self {
            slots,
            orders,
            quota,
            regions,
            ..Self::default()
        }
    }

    pub fn of(&self, context: usize) -> impl Iterator<Item = &Allocation> {
        self.live.values().filter(move |a| a.context == context)
    }

    fn generation(&mut self) -> u64 {
        self.generations += 1;
        self.generations
    }

    /// Pages of the largest groups.
    pub fn largest_group(&self) -> u64 {
        self.group(LARGEST_ORDER)
    }

    /// Pages that come together at most.
    fn group(&self, granule: u32) -> u64 {
        1 << (self.orders & ((2 << granule) - 1)).ilog2()
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
        if after < before {
            let ends = of.spans.iter().skip(1).map(|(first, _)| *first);
            let ends: Vec<u64> = ends.chain([before]).collect();
            let cut = of.spans.iter().zip(ends).map(|(span, end)| Cut {
                first: pointer + span.0.max(after) * PAGE,
                end: pointer + end * PAGE,
                generation: span.1,
            });
            of.cut.extend(cut.filter(|cut| cut.first < cut.end));
        }
        of.spans.retain(|(first, _)| *first < after);
        if after > before {
            of.spans.push((before, fresh));
            if of.shrunk {
                self.instead.insert(fresh, of.cut.clone());
            }
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
        self.leaving[usize::from(of.small)] += of.slots();
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
            self.ending.insert(pointer);
        }
    }

    /// All that was freed or cut off is known to be taken back, of one context or of all.
    pub fn settled(&mut self, context: Option<usize>, now: u64) {
        self.ending.clear();
        if context.is_none() {
            self.leaving = [0; 2];
        }
        for (number, states) in &mut self.states {
            if context.is_none_or(|one| one == *number) {
                for state in states.iter_mut().filter(|s| s.sure_until != u64::MAX) {
                    state.until = state.until.min(now);
                }
            }
        }
        for of in self.live.values_mut() {
            if context.is_none_or(|one| one == of.context) {
                of.shrunk = false;
                of.cut.clear();
            }
        }
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
