// SPDX-License-Identifier: Apache-2.0
//! Random commands, touches of the host, and ends of contexts.

use std::collections::HashSet;

use godwit::layout;
use godwit_card::Device;
use rand::Rng;
use rand::seq::IndexedRandom;

use super::model::{Command, PAGE};
use super::pace::Phase;
use super::registers::{self, Touched};
use super::tables::{Walk, walk};
use super::{CONTEXTS, Found, HOST_ENTRIES, HeapWorld, SMALL, STORE_CYCLES};
use crate::{CosimError, Random};

/// The largest allocation: eight slots of 8 GiB.
const MOST: u64 = 64 << 30;

/// Pages that a realloc adds, at most.
pub const GROWTH: u64 = 40;
/// Rounds of commands from one end of a context to the next, if none is under way.
const ROUNDS_TO_END: u32 = 768;

impl HeapWorld {
    /// One random operation.
    pub(super) fn change(&mut self, random: &mut Random) -> Found {
        if let Err(what) = self.look_for_end()? {
            return Ok(Err(what));
        }
        self.look_for_slots(random)?;
        match random.random_range(0..ROUNDS_TO_END) {
            0 if self.ending.is_none() => {
                let context = random.random_range(0..CONTEXTS);
                self.take_away(context, random)?;
                Ok(Ok(()))
            }
            1..64 => {
                let context = random.random_range(0..CONTEXTS);
                self.touch(context, random)
            }
            _ => self.calls(random),
        }
    }

    /// Whether a context is there; one that is away may come back.
    pub(super) fn back(&mut self, context: usize, random: &mut Random) -> Result<bool, CosimError> {
        if !self.on[context] && random.random_bool(0.3) {
            self.on[context] = true;
            self.write_context(context)?;
        }
        Ok(self.on[context])
    }

    /// Adds `count` commands of a context, or one more; none of them resizes what is `named`: in which order two do is not seen.
    pub(super) fn some(
        &mut self,
        context: usize,
        mut count: usize,
        named: &mut HashSet<u64>,
        random: &mut Random,
        commands: &mut Vec<Command>,
    ) -> Result<(), CosimError> {
        let mut own: Vec<(u64, u64, u64)> = self
            .model
            .of(context)
            .map(|a| (a.pointer, a.pages, a.capacity))
            .collect();
        let many = own.len() as u64 >= self.model.quota;
        own.retain(|(pointer, ..)| !named.contains(pointer));
        while commands.len() < count {
            let one = own.choose(random).copied();
            let kind = random.random_range(0..56);
            match (kind, one) {
                (0..7, _) => match self.any_command(random) {
                    Command::Realloc { pointer, .. } if named.contains(&pointer) => {
                        commands.push(Command::Free { pointer });
                    }
                    command => commands.push(command),
                },
                (7..17, Some((pointer, pages, capacity))) => {
                    let more = (pages + random.random_range(1..=GROWTH)).min(capacity);
                    let fewer = random.random_range(1..=pages);
                    // What was cut off is still to be taken back, or is just now, when it grows again.
                    let sizes = match random.random_range(0..5) {
                        0 | 1 => vec![more],
                        2 => vec![fewer],
                        _ => vec![fewer, more],
                    };
                    for pages in sizes {
                        let bytes = pages * PAGE - random.random_range(0..PAGE);
                        commands.push(Command::Realloc { pointer, bytes });
                    }
                }
                // One that has all that it may have is told so now and then.
                (17..54, Some((pointer, ..))) if many || kind < 32 => {
                    match self.pace.victim(&own, random) {
                        // Freed twice now and then.
                        Some(pointer) => {
                            commands.push(Command::Free { pointer });
                            if random.random_ratio(15, 16) {
                                own.retain(|of| of.0 != pointer);
                            }
                        }
                        // Nothing may be freed, and there is little to ask for beside it.
                        None if many && commands.len() + 1 < count && random.random() => count -= 1,
                        None if many => commands.push(Command::Free { pointer }),
                        None => commands.push(self.malloc(random)?),
                    }
                }
                _ => commands.push(self.malloc(random)?),
            }
        }
        commands.truncate(count.max(2));
        for command in commands.iter_mut() {
            *command = self.allowed(context, *command, named, random);
        }
        named.extend(commands.iter().filter_map(|command| match command {
            Command::Realloc { pointer, .. } => Some(*pointer),
            _ => None,
        }));
        Ok(())
    }

    /// A command with whatever arguments.
    fn any_command(&self, random: &mut Random) -> Command {
        let live: Vec<u64> = self.model.live.keys().copied().collect();
        let pointer = match random.random_range(0..4) {
            0 => live.choose(random).copied(),
            1 => live.choose(random).map(|at| at + PAGE),
            2 => self.model.freed.choose(random).map(|(_, at)| *at),
            _ => None,
        };
        let pointer =
            pointer.unwrap_or_else(|| random.random::<u64>() >> random.random_range(0..40));
        let sizes = [0, 1, 65 << 10, 8 << 30, MOST, MOST + 1, u64::MAX];
        let bytes = *sizes.choose(random).unwrap_or(&0);
        match random.random_range(0..3) {
            0 => Command::Free { pointer },
            1 => Command::Realloc { pointer, bytes },
            _ => Command::Malloc {
                bytes,
                granule: random.random_range(0..16),
                small: random.random_bool(0.5),
                write: true,
                region: random.random_range(0..8),
            },
        }
    }

    /// A malloc that asks for what there can be, of a region by name or by preference.
    pub(super) fn malloc(&mut self, random: &mut Random) -> Result<Command, CosimError> {
        let small = random.random_bool(SMALL);
        let pages = match random.random_range(0..12) {
            _ if small => random.random_range(1..=16),
            0 => random.random_range(1..=MOST / PAGE),
            1 => random.random_range(512..1024),
            _ => random.random_range(1..=80),
        };
        let granules: &[u32] = if small {
            &[0, 0, 1, 2, 3, 4]
        } else {
            &[0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
        };
        let mut region = random.random_range(0..self.places.len());
        if random.random_bool(0.2) {
            region = self.preferred(region, pages)?;
        }
        Ok(Command::Malloc {
            bytes: pages * PAGE - random.random_range(0..PAGE),
            granule: *granules.choose(random).unwrap_or(&0),
            small,
            write: random.random_ratio(7, 8),
            region,
        })
    }

    /// The host writes to a page: of a live allocation mostly.
    fn touch(&mut self, context: usize, random: &mut Random) -> Found {
        let own: Vec<_> = self.model.of(context).filter(|a| !a.shrunk).collect();
        let Some(of) = own.choose(random) else {
            return Ok(Ok(()));
        };
        let (allowed, page) = (of.write, random.random_range(0..=of.pages));
        let va = of.pointer + page.min(of.capacity - 1) * PAGE;
        let Walk::Missing { entry, level } = walk(&self.memory, self.root(context), va)? else {
            return Ok(Ok(()));
        };
        let place = self.places[of.region];
        self.pace.touches(va, &self.model);
        // Behind the last page, in the group around it: who asks while that is being stored is given it, too.
        let (there, behind) = match self.model.live_page(context, va) {
            Some((_, sure)) => (allowed && sure, allowed && !sure),
            None => (false, false),
        };
        let end = match registers::touch(&mut self.card, context, va, (entry, level))? {
            Ok(end) => end,
            Err(what) => return Ok(Err(format!("a touch of {va:#x}: {what}"))),
        };
        self.counts.touches += 1;
        let right = match end {
            Touched::Frame(frame) if behind => self.is_stored(context, va, frame * PAGE)?,
            Touched::Frame(frame) => there && place.holds(frame * PAGE),
            Touched::Fault => !there,
            Touched::Again => true,
        };
        Ok(if right {
            Ok(())
        } else {
            Err(format!(
                "a touch of {va:#x} in context {context} ended with {end:x?}, live and to be written: {there}, {place:x?}"
            ))
        })
    }

    /// Whether a page's entry says before long that it has this frame, by address: it is then part of a group.
    fn is_stored(&mut self, context: usize, va: u64, frame: u64) -> Result<bool, CosimError> {
        for _ in 0..STORE_CYCLES {
            if let Walk::Frame(found) = walk(&self.memory, self.root(context), va)? {
                return Ok(found == frame);
            }
            self.card.run(1, 0)?;
        }
        Ok(false)
    }

    /// A context's end begins; half of the time it is away then, for a while.
    fn take_away(&mut self, context: usize, random: &mut Random) -> Result<(), CosimError> {
        let away = random.random_bool(0.5);
        self.begin_end(context, away, random)
    }

    /// Begins to take all from a context. It takes ten thousands of cycles, in which others' commands go on, and accesses, its own among
    /// them, and another end, which is not taken.
    pub(super) fn begin_end(
        &mut self,
        context: usize,
        away: bool,
        random: &mut Random,
    ) -> Result<(), CosimError> {
        let begin = self.now()?;
        let all = self.model.of(context).map(|of| of.pointer);
        self.pace.owes_all(all);
        if random.random_bool(0.75) {
            self.pace.phase = Phase::Waits;
        }
        self.model.end_context(context, begin);
        registers::begin_end(&mut self.card, context)?;
        if random.random_bool(0.3) {
            registers::begin_end(&mut self.card, random.random_range(0..CONTEXTS))?;
        }
        self.ending = Some((context, away));
        Ok(())
    }

    /// If a context's end is over by now: whether its tables are empty.
    pub(super) fn look_for_end(&mut self) -> Found {
        let Some((context, away)) = self.ending else {
            return Ok(Ok(()));
        };
        if registers::ends(&mut self.card)? {
            return Ok(Ok(()));
        }
        self.ending = None;
        self.pace.phase = Phase::Traffic;
        let now = self.now()?;
        self.model.settled(Some(context), now);
        self.counts.ends += 1;
        for index in HOST_ENTRIES..512 {
            let entry = self.memory.read_u64(self.root(context) + 8 * index)?;
            if entry & layout::PTE_V != 0 {
                return Ok(Err(format!(
                    "context {context} ended, and entry {index} of its root is {entry:#x}"
                )));
            }
        }
        if self.on[context] && away {
            let begin = self.now()?;
            self.on[context] = false;
            self.write_context(context)?;
            crate::registers::invalidate_all(&mut self.card)?;
            let end = self.now()?;
            self.host_ends(context, (begin, end));
        }
        Ok(Ok(()))
    }
}
