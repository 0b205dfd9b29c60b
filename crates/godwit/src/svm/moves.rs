// SPDX-License-Identifier: Apache-2.0
//! Pages that move to a card; how they come back is in `home`.

use rustix::io::Errno;

use super::across::{self, Parted};
use super::advice::Serving;
use super::arena;
use super::blocks::{Away, Place, Run};
use super::log::Migration;
use super::memory;
use super::owner::Piece;
use super::pages::Pages;
use super::report::Cause;
use super::{BLOCK, OwnerId, PAGE};
use crate::Error;

/// Another thread changes the address space and waits until that was read; so often it is tried again before pages stay.
const PATIENCE: u32 = 100_000;

/// How pages go to a card.
#[derive(Debug, Clone, Copy)]
pub(super) struct Going {
    pub owner: OwnerId,
    pub writable: bool,
    /// Its owner says before it is freed ([`Pages::forget`]), so that arenas may have it.
    pub kept: bool,
    pub cause: Cause,
    /// They go no further than the shadow.
    pub in_place: bool,
}

/// What became of the pages that were to move.
#[derive(Default)]
pub(super) struct Taken {
    pieces: Vec<Piece>,
    /// Some of them are taken from other cards.
    pub parted: Vec<Parted>,
    /// These cannot.
    stay: Vec<(u64, u64)>,
}

impl Taken {
    /// Adds pages, with where their bytes are. Neighbours are one piece, so that they get neighbouring frames.
    pub fn add(&mut self, at: u64, len: u64, from: Option<u64>, going: Going) {
        let follows = |piece: &Piece| {
            piece.va + piece.len == at
                && (piece.writable, piece.in_place) == (going.writable, going.in_place)
                && match (piece.from, from) {
                    (Some(first), Some(next)) => first + piece.len == next,
                    (None, None) => true,
                    _ => false,
                }
        };
        match self.pieces.last_mut() {
            Some(piece) if follows(piece) => piece.len += len,
            _ => self.pieces.push(Piece {
                va: at,
                len,
                from,
                writable: going.writable,
                in_place: going.in_place,
            }),
        }
    }
}

impl Pages {
    /// Brings the pages of ranges (whole pages) to one card, all at once; returns those that cannot move. On an error all are where they
    /// were, or at home.
    pub fn bring(&mut self, ranges: &[(u64, u64, Going)]) -> Result<Vec<(u64, u64)>, Error> {
        let Some((_, _, first)) = ranges.first().copied() else {
            return Ok(Vec::new());
        };
        self.owner(first.owner)?;
        let mut taken = Taken::default();
        let mut fresh = Vec::new();
        let collected = ranges
            .iter()
            .try_for_each(|range| self.collect(*range, &mut taken, &mut fresh));
        let result = match collected {
            Ok(()) => self.hand_over(&taken, first),
            Err(error) => {
                self.give_back(&taken, first);
                Err(error)
            }
        };
        if result.is_err() || !taken.stay.is_empty() {
            self.unwatch_unmoved(&fresh);
        }
        self.sweep();
        result.map(|()| taken.stay)
    }

    /// Takes the pages of a range from the program, as far as they are not where they are wanted.
    fn collect(
        &mut self,
        (start, len, going): (u64, u64, Going),
        taken: &mut Taken,
        fresh: &mut Vec<(u64, u64)>,
    ) -> Result<(), Error> {
        for run in self.blocks.runs(start, len) {
            match run.place {
                Place::Away(away) if away.owner == going.owner => {
                    if self.let_write(run, away, going.writable)? {
                        continue;
                    }
                }
                Place::Away(away) => {
                    let across = self.take_across(run, away, going, taken);
                    if !across {
                        self.retrieve(&[run], going.cause);
                    }
                    self.note_taken(&run, away.owner, going.cause);
                    if across {
                        continue;
                    }
                }
                Place::Home => {}
                Place::Unwatched => {
                    let read = |from, to: &mut [u8]| self.is_readable(from) && self.read(from, to);
                    let bound = !going.kept && arena::contains(run.start, read);
                    if bound || self.uffd.register(run.start, run.len).is_err() {
                        taken.stay.push((run.start, run.len));
                        continue;
                    }
                    self.blocks.set(run.start, run.len, Place::Home);
                    fresh.push((run.start, run.len));
                }
            }
            // Runs of watched memory end with their block, as shadows do.
            for run in self.blocks.runs(run.start, run.len) {
                for (run, in_place) in self.served(going.owner, run) {
                    self.detach_run(run, Going { in_place, ..going }, taken);
                }
            }
        }
        Ok(())
    }

    /// Lets a card write pages that it has, if they are to be `writable`; false when they had to come home for that.
    pub fn let_write(&mut self, run: Run, away: Away, writable: bool) -> Result<bool, Error> {
        if !writable || away.writable {
            return Ok(true);
        }
        if away.shown && !self.hide(run) {
            let runs = self.blocks.away_runs(run.start, run.len, Some(away.owner));
            self.retrieve(&runs, Cause::Request);
            return Ok(false);
        }
        self.owner(away.owner)?.allow_writes(run.start, run.len)?;
        let writable = Place::Away(Away {
            writable: true,
            shown: false,
            ..away
        });
        self.blocks.set(run.start, run.len, writable);
        Ok(true)
    }

    /// Gives the card what was taken from the program; the program gets it back when the card refuses.
    fn hand_over(&mut self, taken: &Taken, going: Going) -> Result<(), Error> {
        let pieces = &taken.pieces;
        if pieces.is_empty() {
            return Ok(());
        }
        if let Err(error) = self.give(pieces, going) {
            self.give_back(taken, going);
            return Err(error);
        }
        self.arrived(&taken.parted, going);
        self.report.groups += 1;
        let (memory, time_ps) = self.whose(going.owner);
        for piece in pieces {
            let migration = Migration {
                time_ps,
                to_device: true,
                cause: going.cause,
                address: piece.va,
                bytes: piece.len,
                copied: piece.from.is_some() && !piece.in_place,
            };
            self.log.add(memory, migration);
            match piece.from {
                _ if piece.in_place => self.report.in_place += piece.len,
                Some(_) => self.report.went(going.cause, piece.len),
                None => self.report.cleared += piece.len,
            }
        }
        Ok(())
    }

    /// Gives the program what was taken from it, or from other cards.
    fn give_back(&mut self, taken: &Taken, going: Going) {
        self.come_home_instead(&taken.parted, going);
        for piece in &taken.pieces {
            for (va, len) in across::others(&taken.parted, piece.va, piece.len) {
                self.blocks.set(va, len, Place::Home);
                if let Some(shadow) = piece.from {
                    self.restore(va, shadow + (va - piece.va), len);
                }
                // Who touched it meanwhile looks again.
                let _ = self.uffd.wake(va, len);
            }
        }
    }

    /// Memory that was registered for a move, of which nothing moved, is left alone again.
    fn unwatch_unmoved(&mut self, fresh: &[(u64, u64)]) {
        for &(start, len) in fresh {
            if self.blocks.away_runs(start, len, None).is_empty() {
                self.unwatch(start, len);
            }
        }
    }

    /// Ends looking after memory that is at home.
    pub fn unwatch(&mut self, start: u64, len: u64) {
        // It may be gone, or partly: then there is nothing to undo.
        let _ = self.uffd.unregister(start, len);
        let _ = self.uffd.wake(start, len);
        self.blocks.set(start, len, Place::Unwatched);
    }

    /// Ends looking after memory that is about to be freed; what is in it is of no more use.
    pub fn forget(&mut self, start: u64, len: u64) {
        let runs = self.blocks.away_runs(start, len, None);
        self.forsake(&runs);
        for run in self.blocks.runs(start, len) {
            if run.place != Place::Unwatched {
                self.unwatch(run.start, run.len);
            }
        }
        self.advised.set(start, len, Serving::default());
        self.stays.forget(start, len);
        self.sweep();
    }

    /// Takes pages that are at home, of one block, from the program.
    fn detach_run(&mut self, run: Run, going: Going, taken: &mut Taken) {
        let Some(shadow) = self.shadow_of(run.start) else {
            return taken.stay.push((run.start, run.len));
        };
        let end = run.start + run.len;
        let (mut at, mut unshared, mut patience) = (run.start, u64::MAX, PATIENCE);
        let mut step = run.len;
        while at < end {
            let to = shadow + (at - run.start);
            let progress = self.shadow.keep(to, at, step.min(end - at));
            if progress.bytes > 0 {
                self.mark_away(at, progress.bytes, Some(to), going, taken);
                at += progress.bytes;
                step = end - at;
                patience = PATIENCE;
                continue;
            }
            match progress.stopped {
                // Never touched, or gone by now, which an event will tell.
                Some(Errno::NOENT) => {
                    let kept = going.in_place.then_some(to);
                    if going.in_place {
                        self.make_room(to, PAGE);
                    }
                    self.mark_away(at, PAGE, kept, going, taken);
                    at += PAGE;
                    step = end - at;
                }
                Some(Errno::AGAIN) if patience > 0 => {
                    patience -= 1;
                    self.read_events();
                    std::thread::yield_now();
                }
                // Shared with a child, or pinned: a copy of its own helps against the first.
                Some(Errno::BUSY) if unshared != at => {
                    unshared = at;
                    let _ = memory::unshare(at, PAGE);
                }
                // The rest may lie in another mapping.
                Some(Errno::INVAL) if step.min(end - at) > PAGE => step = PAGE,
                _ => {
                    match taken.stay.last_mut() {
                        Some((start, len)) if *start + *len == at => *len += PAGE,
                        _ => taken.stay.push((at, PAGE)),
                    }
                    at += PAGE;
                    // What refuses one page most likely refuses its neighbours, each for itself.
                    step = PAGE;
                }
            }
        }
    }

    fn mark_away(&mut self, at: u64, len: u64, from: Option<u64>, going: Going, taken: &mut Taken) {
        let away = Away {
            owner: going.owner,
            held: from.is_some(),
            writable: going.writable,
            newer: false,
            in_place: going.in_place,
            shown: false,
        };
        self.blocks.set(at, len, Place::Away(away));
        taken.add(at, len, from, going);
    }

    /// Where the page at this address is kept while it is away.
    fn shadow_of(&mut self, address: u64) -> Option<u64> {
        let block = address & !(BLOCK - 1);
        let place = self.blocks.shadow(address)?;
        if *place == 0 {
            let owners = &mut self.owners;
            let shown = |at, len| owners.values_mut().for_each(|owner| owner.show(at, len));
            *place = self.shadow.take(shown).ok()?;
        }
        Some(*place + (address - block))
    }
}
