// SPDX-License-Identifier: Apache-2.0
//! Random commands, touches of the host, and ends of contexts.

use godwit::layout;
use rand::Rng;
use rand::seq::IndexedRandom;

use super::model::{Command, PAGE};
use super::registers::{self, Touched};
use super::tables::{Walk, walk};
use super::{CONTEXTS, Found, HeapWorld};
use crate::{CosimError, Random};

/// The largest allocation: eight slots of 8 GiB.
const MOST: u64 = 64 << 30;

impl HeapWorld {
    /// One random operation.
    pub(super) fn change(&mut self, random: &mut Random) -> Found {
        let context = random.random_range(0..CONTEXTS);
        if !self.on[context] && random.random_bool(0.5) {
            self.on[context] = true;
            self.write_context(context)?;
        }
        let own: Vec<(u64, u64, u64)> = self
            .model
            .of(context)
            .map(|a| (a.pointer, a.pages, a.capacity))
            .collect();
        let one = own.choose(random).copied();
        match (random.random_range(0..64), one) {
            (0, _) => self.take_away(context, random),
            (1..8, _) => {
                let command = self.any_command(random);
                self.command(context, command)
            }
            (8..14, _) => self.touch(context, random),
            (14..26, Some((pointer, pages, capacity))) => {
                let pages = if random.random_bool(0.6) {
                    (pages + random.random_range(1..=40)).min(capacity)
                } else {
                    random.random_range(1..=pages)
                };
                let bytes = pages * PAGE - random.random_range(0..PAGE);
                self.command(context, Command::Realloc { pointer, bytes })
            }
            (26..37, Some((pointer, ..))) => self.command(context, Command::Free { pointer }),
            // Nobody allocates in the name of a context that is away.
            _ if !self.on[context] => Ok(Ok(())),
            _ => self.malloc(context, random),
        }
    }

    /// A right malloc.
    pub(super) fn malloc(&mut self, context: usize, random: &mut Random) -> Found {
        self.command(context, malloc(random))
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
            },
        }
    }

    /// Gives a command, and holds its answer against the rules.
    pub(super) fn command(&mut self, context: usize, command: Command) -> Found {
        if let Command::Malloc { .. } = command
            && !self.on[context]
        {
            return Ok(Ok(()));
        }
        // What was cut off is taken back before the allocation grows again, as the runtime does.
        if let Command::Realloc { pointer, bytes } = command
            && let Some(of) = self.model.live.get(&pointer)
            && of.shrunk
            && bytes.div_ceil(PAGE) > of.pages
            && let Err(what) = self.settle()?
        {
            return Ok(Err(what));
        }
        let begin = self.now()?;
        let answer = match registers::command(&mut self.card, context, command)? {
            Ok(answer) => answer,
            Err(what) => return Ok(Err(format!("{command:x?}: {what}"))),
        };
        let end = self.now()?;
        let name = match (&answer, command) {
            (Err(refusal), _) => format!("{refusal:?}"),
            (Ok(_), Command::Malloc { .. }) => "malloc".to_owned(),
            (Ok(_), Command::Realloc { .. }) => "realloc".to_owned(),
            (Ok(_), Command::Free { .. }) => "free".to_owned(),
        };
        *self.counts.answers.entry(name).or_default() += 1;
        Ok(self.model.answered(context, command, answer, (begin, end)))
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
        let there = matches!(self.model.live_page(context, va), Some((_, true))) && allowed;
        let end = match registers::touch(&mut self.card, context, va, (entry, level))? {
            Ok(end) => end,
            Err(what) => return Ok(Err(format!("a touch of {va:#x}: {what}"))),
        };
        self.counts.touches += 1;
        let right = match end {
            Touched::Frame(_) => there,
            Touched::Fault => !there,
            Touched::Again => true,
        };
        Ok(if right {
            Ok(())
        } else {
            Err(format!(
                "a touch of {va:#x} in context {context} ended with {end:x?}, live and to be written: {there}"
            ))
        })
    }

    /// A context's end; half of the time it is away then, for a while.
    fn take_away(&mut self, context: usize, random: &mut Random) -> Found {
        if let Err(what) = self.end(context)? {
            return Ok(Err(what));
        }
        if random.random_bool(0.5) {
            self.on[context] = false;
            self.write_context(context)?;
            self.invalidate()?;
        }
        Ok(Ok(()))
    }

    /// Takes all from a context, and looks whether its tables are empty.
    pub(super) fn end(&mut self, context: usize) -> Found {
        let begin = self.now()?;
        self.model.end_context(context, begin);
        if let Err(what) = registers::end(&mut self.card, context)? {
            return Ok(Err(format!("context {context}: {what}")));
        }
        let now = self.now()?;
        self.model.settled(Some(context), now);
        self.counts.ends += 1;
        for index in 0..512 {
            let entry = self.memory.read_u64(self.root(context) + 8 * index)?;
            if entry & layout::PTE_V != 0 {
                return Ok(Err(format!(
                    "context {context} ended, and entry {index} of its root is {entry:#x}"
                )));
            }
        }
        Ok(Ok(()))
    }

    fn invalidate(&mut self) -> Result<(), CosimError> {
        crate::invalidate_all(&mut self.card).map_err(CosimError::from)
    }
}

/// A malloc that asks for what there can be.
fn malloc(random: &mut Random) -> Command {
    let small = random.random_bool(0.3);
    let pages = match random.random_range(0..12) {
        _ if small => random.random_range(1..=16),
        0 => random.random_range(1..=MOST / PAGE),
        1 => random.random_range(512..1024),
        _ => random.random_range(1..=80),
    };
    let granules: &[u32] = if small {
        &[0, 0, 2, 4]
    } else {
        &[0, 0, 1, 3, 4, 4, 5, 9, 9]
    };
    Command::Malloc {
        bytes: pages * PAGE - random.random_range(0..PAGE),
        granule: *granules.choose(random).unwrap_or(&0),
        small,
        write: random.random_ratio(7, 8),
    }
}
