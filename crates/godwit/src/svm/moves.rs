// SPDX-License-Identifier: Apache-2.0
//! Pages that move: to a card, and home.

use rustix::io::Errno;

use super::across::{self, Parted};
use super::advice::Serving;
use super::arena;
use super::blocks::{Away, Place, Run};
use super::clean::split;
use super::log::Migration;
use super::memory;
use super::owner::{Leaving, Left, Piece};
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

    /// Brings runs that are away home.
    pub fn retrieve(&mut self, runs: &[Run], cause: Cause) {
        self.retrieve_to(runs, 0, cause);
    }

    /// The same, to addresses that are so much higher by now.
    pub fn retrieve_to(&mut self, runs: &[Run], shift: u64, cause: Cause) {
        for runs in runs.chunk_by(|a, b| owner_of(a) == owner_of(b)) {
            let Some(owner) = runs.first().and_then(owner_of) else {
                continue;
            };
            self.report.groups += 1;
            self.retrieve_from(owner, runs, shift, cause);
        }
        self.sweep();
    }

    fn retrieve_from(&mut self, owner: OwnerId, runs: &[Run], shift: u64, cause: Cause) {
        let mut leaving = Vec::new();
        for run in runs {
            let to = match run.place {
                // What the card wrote there is there.
                Place::Away(away) if away.in_place => None,
                Place::Away(away) if away.is_newer() => {
                    if !away.held {
                        self.make_room(run.shadow, run.len);
                    }
                    Some(run.shadow)
                }
                _ => None,
            };
            // Another card wrote what is newer.
            let unless_clean = matches!(run.place, Place::Away(away) if !away.newer);
            let written = matches!(run.place, Place::Away(away) if away.in_place && away.writable);
            leaving.push(Leaving {
                va: run.start,
                len: run.len,
                to,
                written,
                unless_clean,
            });
        }
        let counted = runs.iter().any(|run| self.wants_lines(owner, run));
        let left = match self.owner(owner) {
            Ok(owner) => owner.withdraw(&leaving, counted),
            Err(_) => Left::default(),
        };
        self.have_crossed(&left.crossed);
        for run in runs {
            for (start, len, is_clean) in split(run.start, run.len, &left.clean) {
                self.comes_home(run.part(start, len), is_clean, shift, cause);
            }
        }
    }

    /// Pages that nothing on their card reaches any more, whose bytes are in the shadow, are the program's again.
    pub(super) fn is_home(&mut self, run: Run, shift: u64, cause: Cause) {
        let Place::Away(away) = run.place else {
            return;
        };
        self.log_home(&run, away, cause, away.is_newer() && !away.in_place);
        self.blocks.set(run.start, run.len, Place::Home);
        self.note_left(away.owner, run.start, run.len);
        self.stay_ends(away.owner, run.start, run.len, away.writable, cause);
        // First of all, for a thread may wait for them. What the card was not to write and was never touched still is not.
        let home = run.start.wrapping_add(shift);
        if away.shown {
            self.own_again(home, &run);
        } else if away.held || away.is_newer() {
            self.restore(home, run.shadow, run.len);
        }
        if let Ok(owner) = self.owner(away.owner) {
            owner.release(run.start, run.len);
        }
    }

    pub(super) fn log_home(&mut self, run: &Run, away: Away, cause: Cause, copied: bool) {
        let (memory, time_ps) = self.whose(away.owner);
        let migration = Migration {
            time_ps,
            to_device: false,
            cause,
            address: run.start,
            bytes: run.len,
            copied,
        };
        self.log.add(memory, migration);
    }

    /// Makes pages in the shadow for bytes of pages that were never touched.
    pub(super) fn make_room(&mut self, shadow: u64, len: u64) {
        let mut done = 0;
        while done < len {
            let progress = self.shadow.fill(shadow + done, len - done);
            done += progress.bytes;
            match progress.stopped {
                None => {}
                Some(Errno::AGAIN) => std::thread::yield_now(),
                // There is one already.
                Some(_) if progress.bytes == 0 => done += PAGE,
                Some(_) => {}
            }
        }
    }

    /// Gives the program the pages back that the shadow has.
    fn restore(&mut self, start: u64, shadow: u64, len: u64) {
        if !self.put(start, shadow, len) {
            // What was copied, or not wanted, is still there.
            self.shadow.drop_pages(shadow, len);
        }
    }

    /// Puts pages at `from` into the program: the pages themselves, or copies where that is refused. What is there already is newer,
    /// and stays; where no memory is any more, nothing is put. Whether all of them moved.
    fn put(&mut self, start: u64, from: u64, len: u64) -> bool {
        let (mut done, mut moved) = (0, 0);
        let (mut step, mut moving) = (len, true);
        while done < len {
            let (to, source, bytes) = (start + done, from + done, step.min(len - done));
            let progress = if moving {
                self.uffd.relocate(to, source, bytes)
            } else {
                self.uffd.copy(to, source, bytes)
            };
            done += progress.bytes;
            if moving {
                moved += progress.bytes;
            }
            if progress.bytes > 0 {
                step = len - done;
                moving = true;
                continue;
            }
            match progress.stopped {
                Some(Errno::AGAIN) => {
                    self.read_events();
                    std::thread::yield_now();
                }
                Some(Errno::EXIST) => {
                    done += PAGE;
                    step = len - done;
                }
                _ if bytes > PAGE => step = PAGE,
                // Not writable any more, locked meanwhile: copies can be put there.
                _ if moving => moving = false,
                _ => {
                    done += PAGE;
                    moving = true;
                }
            }
        }
        moved == len
    }

    /// Pages whose content nobody wants any more: they are home, and never touched.
    pub fn forsake(&mut self, runs: &[Run]) {
        for run in runs {
            let Place::Away(away) = run.place else {
                continue;
            };
            if let Ok(owner) = self.owner(away.owner) {
                let leaving = Leaving {
                    va: run.start,
                    len: run.len,
                    to: None,
                    written: false,
                    unless_clean: false,
                };
                owner.withdraw(&[leaving], false);
                owner.release(run.start, run.len);
            }
            self.log_home(run, away, Cause::User, false);
            if away.held {
                self.shadow.drop_pages(run.shadow, run.len);
            }
            self.blocks.set(run.start, run.len, Place::Home);
            self.note_left(away.owner, run.start, run.len);
            self.stay_ends(away.owner, run.start, run.len, false, Cause::User);
        }
        self.sweep();
    }
}

fn owner_of(run: &Run) -> Option<OwnerId> {
    match run.place {
        Place::Away(away) => Some(away.owner),
        _ => None,
    }
}
