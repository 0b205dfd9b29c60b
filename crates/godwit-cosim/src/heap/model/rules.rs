// SPDX-License-Identifier: Apache-2.0
//! What each command of the heap must answer.

use godwit::HeapRefusal;

use super::{
    Allocation, Command, Given, LARGEST_ORDER, MOST, Model, PAGE, SMALL_ORDER, SMALL_SLOT,
    capacity, capacity_of, window,
};

/// Slots that commands which are asked at once may take.
const SLOTS_OF_NOW: u64 = 128;

/// How a command may be answered: nothing is success.
pub type Verdict = Option<HeapRefusal>;

/// What commands before this one made of an allocation.
struct Seen {
    context: usize,
    pages: u64,
    capacity: u64,
    region: usize,
    shrunk: bool,
}

impl Model {
    /// Whether there is a slot of a class for sure.
    fn has_slot(&self, small: bool) -> bool {
        let own = self.live.values().filter(|of| of.small == small);
        let taken: u64 = own.map(Allocation::slots).sum();
        taken + self.leaving[usize::from(small)] + SLOTS_OF_NOW <= self.slots
    }

    pub(super) fn overlaps(&self, first: u64, bytes: u64) -> bool {
        let before = self.live.range(..first + bytes).next_back();
        before.is_some_and(|(start, a)| start + a.capacity * PAGE > first)
    }

    /// What a command may answer behind `earlier` ones that are answered and not taken down yet.
    pub fn expected(&self, earlier: &[&Given], context: usize, command: Command) -> Vec<Verdict> {
        match command {
            Command::Malloc {
                bytes,
                granule,
                small,
                region,
                ..
            } => {
                let most = if small { SMALL_SLOT } else { MOST };
                let largest = if small { SMALL_ORDER } else { LARGEST_ORDER };
                let pages = bytes.div_ceil(PAGE);
                if bytes == 0 {
                    vec![Some(HeapRefusal::SizeZero)]
                } else if pages > most {
                    vec![Some(HeapRefusal::TooLarge)]
                } else if granule > largest || region >= self.regions.len() {
                    vec![Some(HeapRefusal::Argument)]
                } else if self.count(earlier, context) >= self.quota {
                    vec![Some(HeapRefusal::Quota)]
                } else {
                    self.has_frames(region, pages)
                }
            }
            Command::Realloc { bytes: 0, .. } => vec![Some(HeapRefusal::SizeZero)],
            Command::Realloc { bytes, .. } if bytes > MOST * PAGE => {
                vec![Some(HeapRefusal::TooLarge)]
            }
            Command::Realloc { pointer, bytes } => match self.named(earlier, context, pointer) {
                Err(refusal) => self.wrong(pointer, refusal),
                Ok(of) => {
                    let pages = bytes.div_ceil(PAGE);
                    if pages > of.capacity {
                        return vec![Some(HeapRefusal::TooLarge)];
                    }
                    let mut verdicts = self.has_frames(of.region, pages.saturating_sub(of.pages));
                    // Whether what was cut off is being taken back just now is not known from here.
                    if pages > of.pages && of.shrunk {
                        verdicts.push(Some(HeapRefusal::Busy));
                    }
                    verdicts
                }
            },
            Command::Free { pointer } => match self.named(earlier, context, pointer) {
                Err(refusal) => self.wrong(pointer, refusal),
                Ok(_) => vec![None],
            },
        }
    }

    /// What is said of a wrong pointer, which may be one of a context that ends just now.
    fn wrong(&self, pointer: u64, refusal: HeapRefusal) -> Vec<Verdict> {
        let mut verdicts = vec![Some(refusal)];
        if refusal == HeapRefusal::NotLive && self.ending.contains(&pointer) {
            verdicts.push(Some(HeapRefusal::OtherContext));
        }
        verdicts
    }

    /// What a strict region says to so many pages more.
    fn has_frames(&self, region: usize, pages: u64) -> Vec<Verdict> {
        let region = &self.regions[region];
        if !region.strict || pages <= region.free.0 {
            vec![None]
        } else if pages > region.free.1 {
            vec![Some(HeapRefusal::NoFrame)]
        } else {
            vec![None, Some(HeapRefusal::NoFrame)]
        }
    }

    /// Allocations of a context.
    fn count(&self, earlier: &[&Given], context: usize) -> u64 {
        let done = earlier
            .iter()
            .filter(|given| given.context == context && given.answer.is_ok());
        let change: i64 = done
            .map(|given| match given.command {
                Command::Malloc { .. } => 1,
                Command::Realloc { .. } => 0,
                Command::Free { .. } => -1,
            })
            .sum();
        (self.of(context).count() as u64).saturating_add_signed(change)
    }

    /// The allocation at a pointer, or what is wrong with it.
    fn named(&self, earlier: &[&Given], context: usize, at: u64) -> Result<Seen, HeapRefusal> {
        let slot_begins = [false, true].into_iter().any(|small| {
            let (base, slot) = window(small);
            let bytes = slot * PAGE;
            (base..base + self.slots * bytes).contains(&at) && (at - base) % bytes == 0
        });
        if !slot_begins {
            return Err(HeapRefusal::Foreign);
        }
        let mut seen = self.live.get(&at).map(|a| Seen {
            context: a.context,
            pages: a.pages,
            capacity: a.capacity,
            region: a.region,
            shrunk: a.shrunk,
        });
        for given in earlier {
            let Ok(result) = given.answer else {
                continue;
            };
            match given.command {
                Command::Malloc {
                    bytes,
                    small,
                    region,
                    ..
                } if result == at => {
                    let pages = bytes.div_ceil(PAGE);
                    seen = Some(Seen {
                        context: given.context,
                        pages,
                        capacity: capacity(small, pages),
                        region,
                        shrunk: false,
                    });
                }
                Command::Realloc { pointer, bytes } if pointer == at => {
                    if let Some(seen) = &mut seen {
                        seen.shrunk |= bytes.div_ceil(PAGE) < seen.pages;
                        seen.pages = bytes.div_ceil(PAGE);
                    }
                }
                Command::Free { pointer } if pointer == at => seen = None,
                _ => {}
            }
        }
        match seen {
            None => Err(HeapRefusal::NotLive),
            Some(of) if of.context != context => Err(HeapRefusal::OtherContext),
            Some(of) => Ok(of),
        }
    }

    /// Whether the heap may say this behind `earlier` ones.
    pub fn allows(&self, earlier: &[&Given], given: &Given) -> bool {
        let verdicts = self.expected(earlier, given.context, given.command);
        if let (Err(HeapRefusal::NoSlot), Command::Malloc { bytes, small, .. }) =
            (given.answer, given.command)
        {
            // How free slots lie, and which of them are in stock, is not known here: only whether there is a single one.
            let single = capacity(small, bytes.div_ceil(PAGE)) == capacity_of(small);
            let enough = single && self.has_slot(small);
            return verdicts.contains(&None) && !enough;
        }
        verdicts.contains(&given.answer.err())
    }

    /// Takes down an answer that [`allows`](Self::allows) and that came between two times.
    pub fn answered(&mut self, given: &Given, times: (u64, u64)) -> Result<(), String> {
        let Ok(result) = given.answer else {
            return Ok(());
        };
        match given.command {
            Command::Malloc {
                bytes,
                granule,
                small,
                write,
                region,
            } => {
                let pages = bytes.div_ceil(PAGE);
                self.malloc(
                    Allocation {
                        context: given.context,
                        pointer: result,
                        pages,
                        capacity: capacity(small, pages),
                        small,
                        write,
                        region,
                        group: self.group(granule),
                        spans: Vec::new(),
                        cut: Vec::new(),
                        shrunk: false,
                    },
                    times,
                )?;
            }
            Command::Realloc { pointer, bytes } => {
                self.resize(pointer, bytes.div_ceil(PAGE), times);
            }
            Command::Free { pointer } => self.end(pointer, times.0),
        }
        Ok(())
    }
}
