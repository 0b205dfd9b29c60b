// SPDX-License-Identifier: Apache-2.0
//! Pages that cannot move: launches get copies, and what they change is merged in at their end, byte by byte.

use rustix::io::Errno;

use super::blocks::Place;
use super::memory::{pages_inside, write_process};
use super::moves::Going;
use super::owner::{Leaving, Piece};
use super::pages::Pages;
use super::pins::Want;
use super::{BLOCK, OwnerId, PAGE, PinId};
use crate::Error;

/// Start and length of each.
type Ranges = Vec<(u64, u64)>;

/// A page that launches have a copy of.
pub(super) struct Lend {
    /// What it was when it was copied, or merged last: what differs from it was written by the card.
    twin: Box<[u8]>,
    writable: bool,
    users: Vec<User>,
}

impl Lend {
    pub fn writable(&self) -> bool {
        self.writable
    }
}

/// A launch, and which bytes of the page it works on.
#[derive(Debug, Clone, Copy)]
struct User {
    pin: PinId,
    start: u64,
    end: u64,
    writes: bool,
}

/// Bytes that a launch gets.
#[derive(Debug, Clone, Copy)]
pub(super) struct Loan {
    pub pin: PinId,
    pub owner: OwnerId,
    pub start: u64,
    pub end: u64,
    pub writes: bool,
}

impl Loan {
    /// What a launch wants.
    pub fn of(owner: OwnerId, pin: PinId, want: Want) -> Self {
        Self {
            pin,
            owner,
            start: want.start,
            end: want.start + want.len,
            writes: want.writes,
        }
    }

    fn user(&self, page: u64) -> User {
        User {
            pin: self.pin,
            start: self.start.max(page),
            end: self.end.min(page + PAGE),
            writes: self.writes,
        }
    }
}

impl Pages {
    /// Lends the pages that overlap [start, start + len), of which the launch works on the bytes of the loan.
    pub fn lend(&mut self, start: u64, len: u64, loan: Loan) -> Result<(), Error> {
        let pages = (start..start + len).step_by(PAGE as usize);
        let all: Vec<(u64, Loan)> = pages.map(|page| (page, loan)).collect();
        self.lend_all(&all)
    }

    /// Lends pages, of one owner, at once.
    pub fn lend_all(&mut self, pages: &[(u64, Loan)]) -> Result<(), Error> {
        for some in pages.chunks((BLOCK / PAGE) as usize) {
            let mut copies = Vec::new();
            for (page, loan) in some {
                if copies.iter().any(|(of, _, _)| of == page) || self.is_given(*page, *loan)? {
                    continue;
                }
                copies.push((*page, *loan, self.copy_of(*page)?));
            }
            self.lend_copies(copies)?;
        }
        Ok(())
    }

    /// Adds a launch to those that have a page already, if there are any.
    fn is_given(&mut self, page: u64, loan: Loan) -> Result<bool, Error> {
        if let Place::Away(away) = self.blocks.place(page) {
            let runs = self.blocks.away_runs(page, PAGE, None);
            if away.owner == loan.owner {
                // It is there already: all of it was given before.
                for run in runs {
                    self.let_write(run, away, loan.writes)?;
                }
                return Ok(true);
            }
            self.retrieve(&runs, super::report::Cause::Launch);
        }
        let Some(lend) = self.lends.get_mut(&(loan.owner, page)) else {
            return Ok(false);
        };
        lend.users.push(loan.user(page));
        if loan.writes && !std::mem::replace(&mut lend.writable, true) {
            self.owner(loan.owner)?.allow_writes(page, PAGE)?;
        }
        Ok(true)
    }

    fn lend_copies(&mut self, copies: Vec<(u64, Loan, Box<[u8]>)>) -> Result<(), Error> {
        let Some(owner) = copies.first().map(|(_, loan, _)| loan.owner) else {
            return Ok(());
        };
        let base = self.scratch.address();
        let scratch = self.scratch.bytes(copies.len() * PAGE as usize);
        let mut pieces = Vec::new();
        for (index, ((page, loan, twin), place)) in copies
            .iter()
            .zip(scratch.chunks_mut(PAGE as usize))
            .enumerate()
        {
            place.copy_from_slice(twin);
            pieces.push(Piece {
                va: *page,
                len: PAGE,
                from: Some(base + index as u64 * PAGE),
                writable: loan.writes,
                in_place: false,
            });
        }
        self.owner(owner)?.take(&pieces, true)?;
        for (page, loan, twin) in copies {
            self.report.lent += PAGE;
            let lend = Lend {
                twin,
                writable: loan.writes,
                users: vec![loan.user(page)],
            };
            self.lends.insert((owner, page), lend);
        }
        Ok(())
    }

    /// Brings the whole pages of ranges to a card, all or none. Those that stay are returned: they cannot move, or are lent already.
    pub fn bring_free(&mut self, parts: &[(u64, u64, Going)]) -> Result<Ranges, Error> {
        let (mut ranges, mut stay) = (Vec::new(), Vec::new());
        for (start, len, going) in parts {
            let Some((start, len)) = pages_inside(*start, *len) else {
                continue;
            };
            let (free, lent) = self.free_of_lends(going.owner, start, len);
            ranges.extend(free.into_iter().map(|(at, len)| (at, len, *going)));
            stay.extend(lent);
        }
        stay.extend(self.bring(&ranges)?);
        Ok(stay)
    }

    /// The parts of a range of whole pages that are not lent to an owner, and those that are.
    pub fn free_of_lends(&self, owner: OwnerId, start: u64, len: u64) -> (Ranges, Ranges) {
        let (mut at, end) = (start, start + len);
        let (mut free, mut lent) = (Vec::new(), Vec::new());
        let pages = self.lends.range((owner, at)..(owner, end));
        for page in pages.map(|((_, page), _)| *page) {
            if at < page {
                free.push((at, page - at));
            }
            lent.push((page, PAGE));
            at = page + PAGE;
        }
        if at < end {
            free.push((at, end - at));
        }
        (free, lent)
    }

    /// What is in a page of the program.
    fn copy_of(&mut self, page: u64) -> Result<Box<[u8]>, Error> {
        if self.blocks.place(page) == Place::Home {
            // Read while it is missing it would wait for this thread.
            while self.uffd.zero(page, PAGE).stopped == Some(Errno::AGAIN) {
                self.read_events();
                std::thread::yield_now();
            }
        }
        let mut copy = vec![0; PAGE as usize].into_boxed_slice();
        if self.read(page, &mut copy) {
            return Ok(copy);
        }
        Err(Error::Argument(format!(
            "there is no memory at {page:#x} that this process can read: is the pointer right, and is its length given in bytes?"
        )))
    }

    /// Takes back what was lent to a launch. The error is of the first byte that could not be merged.
    pub fn take_back(&mut self, pin: PinId) -> Result<(), Error> {
        let of_pin = |lend: &Lend| lend.users.iter().any(|user| user.pin == pin);
        let keys: Vec<_> = self
            .lends
            .iter()
            .filter(|(_, lend)| of_pin(lend))
            .map(|(key, _)| *key)
            .collect();
        let mut result = Ok(());
        for of_owner in keys.chunk_by(|a, b| a.0 == b.0) {
            for some in of_owner.chunks((BLOCK / PAGE) as usize) {
                self.copy_back(pin, some);
                for (index, key) in some.iter().enumerate() {
                    let merged = self.merge(*key, pin, index * PAGE as usize);
                    result = result.and(merged);
                }
            }
        }
        result
    }

    /// Copies what was lent, of one owner, into the scratch memory, page by page; what no other launch uses is withdrawn, at once, for the
    /// card waits once for what it has under way.
    fn copy_back(&mut self, pin: PinId, keys: &[(OwnerId, u64)]) {
        let (mut leaving, mut staying) = (Vec::new(), Vec::new());
        for (index, key) in keys.iter().enumerate() {
            let Some(lend) = self.lends.get(key) else {
                continue;
            };
            let to = self.scratch.address() + index as u64 * PAGE;
            let page = Leaving {
                va: key.1,
                len: PAGE,
                to: lend.writable.then_some(to),
                written: false,
                unless_clean: false,
            };
            if lend.users.iter().all(|user| user.pin == pin) {
                leaving.push(page);
            } else {
                staying.push(page);
            }
        }
        if let Some(owner) = keys.first().and_then(|key| self.owners.get_mut(&key.0)) {
            owner.fetch(&staying);
            owner.withdraw(&leaving, false);
        }
    }

    /// Writes into the program what the card changed of a page in the bytes of a launch, which has ended.
    /// Its bytes are at `at` of the scratch memory.
    fn merge(&mut self, key: (OwnerId, u64), pin: PinId, at: usize) -> Result<(), Error> {
        let (owner, page) = key;
        let Some(mut lend) = self.lends.remove(&key) else {
            return Ok(());
        };
        let (mine, others): (Vec<User>, Vec<User>) =
            lend.users.iter().partition(|user| user.pin == pin);
        let mut result = Ok(());
        if mine.iter().any(|user| user.writes) && self.owners.contains_key(&owner) {
            let now = &self.scratch.bytes(at + PAGE as usize)[at..];
            for user in mine.iter().filter(|user| user.writes) {
                let bytes = (user.start - page) as usize..(user.end - page) as usize;
                for (at, len) in changes(&lend.twin, now, bytes) {
                    let changed = &now[at..at + len];
                    lend.twin[at..at + len].copy_from_slice(changed);
                    if write_process(page + at as u64, changed) {
                        self.report.merged += len as u64;
                    } else if result.is_ok() {
                        result = Err(Error::Argument(format!(
                            "a kernel wrote {len} bytes at {:#x}, where this process cannot write: give it memory that is \
                             writable",
                            page + at as u64
                        )));
                    }
                }
            }
        }
        if others.is_empty() {
            if let Ok(owner) = self.owner(owner) {
                owner.release(page, PAGE);
            }
        } else {
            lend.users = others;
            self.lends.insert(key, lend);
        }
        result
    }
}

/// Where `now` differs from `before`, within `bytes`: positions and lengths.
fn changes(before: &[u8], now: &[u8], bytes: std::ops::Range<usize>) -> Vec<(usize, usize)> {
    let mut found: Vec<(usize, usize)> = Vec::new();
    for at in bytes.filter(|at| before[*at] != now[*at]) {
        match found.last_mut() {
            Some((start, len)) if *start + *len == at => *len += 1,
            _ => found.push((at, 1)),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_bytes_that_changed_are_written() {
        let before = [1, 2, 3, 4, 5, 6];
        assert_eq!(
            changes(&before, &[1, 9, 9, 4, 9, 9], 0..6),
            [(1, 2), (4, 2)]
        );
        assert_eq!(
            changes(&before, &[1, 9, 9, 4, 9, 9], 2..5),
            [(2, 1), (4, 1)]
        );
        assert!(changes(&before, &before, 0..6).is_empty());
    }
}
