// SPDX-License-Identifier: Apache-2.0
//! What each command of the heap must answer.

use godwit::HeapRefusal;

use super::{
    Allocation, Command, GROUP_ORDER, MOST, Model, PAGE, SMALL_SLOT, capacity, capacity_of, window,
};

impl Model {
    /// Whether an allocation of `pages` pages could be somewhere beside the live ones.
    fn has_room(&self, small: bool, capacity: u64) -> bool {
        let (base, slot) = window(small);
        let bytes = capacity * PAGE;
        (0..self.slots * slot / capacity).any(|place| {
            let first = base + place * bytes;
            !self.overlaps(first, bytes)
        })
    }

    pub(super) fn overlaps(&self, first: u64, bytes: u64) -> bool {
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
}
