// SPDX-License-Identifier: Apache-2.0
//! Pages that kernels ask for while they run.
//!
//! A page that memory given to a launch covers wholly moves, with the neighbours that the policies of `core/` name, as far as that
//! memory goes. Any other page is lent to the launches that run: it is behind a pointer, in an arena, or somebody else's in part.

use std::collections::BTreeMap;

use godwit_core::policy::{Block, Fault, FaultPage, MAX_ORDER, Prefetcher, coalesce};

use super::lend::Loan;
use super::memory::pages_inside;
use super::moves::Going;
use super::owner::{Asked, Questions, Refused};
use super::pages::Pages;
use super::report::Cause;
use super::{BLOCK, OwnerId, PAGE, PinId};
use crate::Error;

/// What comes with a page takes no more than such a share of the room that there is for pages,
const SHARE: u64 = 8;
/// and such a share when others have to leave for it: what passes through a full memory takes room from what is kept.
const FULL_SHARE: u64 = 64;
/// Streams that are expected to go on after those that were asked for.
const MOST_EXPECTED: usize = 7;
/// With no more than such a share of the room free, memory is full: whole groups leave, more than comes.
const SLACK: u64 = 32;

/// Memory of launches around a page that was asked for.
#[derive(Debug, Clone, Copy)]
struct Given {
    /// A launch that works on it.
    pin: PinId,
    /// Whole pages of it, if the page is one of them: first address and end.
    whole: Option<(u64, u64)>,
    /// Its bytes.
    start: u64,
    end: u64,
    writes: bool,
    kept: bool,
}

/// A page that was asked for and can move, with what comes along.
struct Movable {
    va: u64,
    given: Given,
    /// Addresses and lengths; the page is in one of them.
    ranges: Vec<(u64, u64)>,
    /// They are the next of a stream.
    stream: bool,
}

/// Most pages that come with one, itself among them.
struct Along {
    /// Of a stream.
    stream: usize,
    /// Those near it.
    near: usize,
}

/// What is done for the pages of a batch.
#[derive(Default)]
struct Work {
    moves: Vec<Movable>,
    lends: Vec<(u64, Loan)>,
    refused: BTreeMap<u64, String>,
}

impl Pages {
    /// Brings what kernels of an owner wait for.
    pub fn serve(&mut self, owner: OwnerId, questions: Questions) {
        let mut faults: Vec<Fault> = questions
            .asked()
            .iter()
            .map(|asked| Fault::new(owner, asked.va / PAGE, asked.group, asked.write))
            .collect();
        let (_, stats) = coalesce(&mut faults, MAX_ORDER);
        self.report.requests += faults.len() as u64;
        self.report.duplicate_requests += u64::from(stats.duplicates);
        self.report.batches += 1;
        for fault in &faults {
            self.blocks.note_asked(fault.page * PAGE);
        }
        for fault in faults.iter().filter(|fault| !fault.is_repeat()) {
            let page = fault.page * PAGE;
            let thrashes = self.thrash.asked(page, owner, questions.now_ps);
            self.report.thrashing += u64::from(thrashes);
        }
        let mut work = Work::default();
        let since = self.prefetchers.get(&owner).map_or(0, Prefetcher::time);
        for fault in faults.iter().filter(|fault| !fault.is_repeat()) {
            let page = fault.page * PAGE;
            self.sort_out(owner, page, fault.is_write(), u64::MAX, &mut work);
        }
        let asked = work.moves.len();
        self.expect(owner, since, &mut work);
        let done = self
            .bring_asked(owner, &mut work, asked)
            .and_then(|()| self.lend_all(&work.lends));
        let failure = done.err().map(|error| error.to_string());
        // What was lent or refused must not count as used when other memory is there later.
        for page in faults.iter().map(|fault| fault.page * PAGE) {
            if self.blocks.away_at(page).is_none() {
                self.blocks.forget_asked(page);
            }
        }
        questions.answer(|asked| {
            if self.is_there(owner, asked) {
                return Ok(());
            }
            match work.refused.get(&asked.va).or(failure.as_ref()) {
                Some(why) => Err(Refused {
                    va: asked.va,
                    why: why.clone(),
                }),
                // It was here, and had to make room for another of the batch: whoever looks for it now asks again.
                None => Ok(()),
            }
        });
    }

    /// Whether whoever asked can go on.
    fn is_there(&self, owner: OwnerId, asked: &Asked) -> bool {
        let lend = self.lends.get(&(owner, asked.va));
        let lent = lend.is_some_and(|lend| lend.writable() || !asked.write);
        lent || self
            .blocks
            .away_at(asked.va)
            .is_some_and(|away| away.owner == owner && (away.writable || !asked.write))
    }

    /// Says what is to be done for a page, with which so many pages come at most.
    fn sort_out(&mut self, owner: OwnerId, va: u64, write: bool, most: u64, work: &mut Work) {
        let asked = Asked {
            va,
            write,
            group: 0,
        };
        let comes = |other: &Movable| {
            let mut ranges = other.ranges.iter();
            (other.given.writes || !write) && ranges.any(|(at, len)| (*at..at + len).contains(&va))
        };
        // It came meanwhile, or comes along with another.
        if self.is_there(owner, &asked) || work.moves.iter().any(comes) {
            return;
        }
        let refusal = match self.given(owner, va) {
            None => "no launch that shares the memory of the process works on it",
            Some(given) if write && !given.writes => {
                "the kernel says of this argument that it only reads it"
            }
            Some(given) => {
                match given.whole {
                    Some((first, end)) => {
                        // Who reads what is mostly read leaves it readable for the program.
                        let writes = given.writes && (write || !self.is_read_mostly(va, PAGE));
                        let given = Given { writes, ..given };
                        let (ranges, stream) = self.plan(owner, va, (first, end), most);
                        work.moves.push(Movable {
                            va,
                            given,
                            ranges,
                            stream,
                        });
                    }
                    None => work.lends.push((va, given.loan(owner))),
                }
                return;
            }
        };
        work.refused.insert(va, refusal.to_owned());
    }

    /// What kernels will ask for next, having asked for what it went with before: the other arrays that they walk through. As far as there
    /// is room beside all that comes: others must not leave for what nobody has asked for yet.
    fn expect(&mut self, owner: OwnerId, since: u32, work: &mut Work) {
        for _ in 0..MOST_EXPECTED {
            let left = self.spare_pages(owner).saturating_sub(work.pages());
            if left <= 1 {
                return;
            }
            let Some(prefetcher) = self.prefetchers.get_mut(&owner) else {
                return;
            };
            let Some(page) = prefetcher.expect(owner, since) else {
                return;
            };
            let va = page * PAGE;
            let moves = self.blocks.away_at(va).is_none()
                && self
                    .given(owner, va)
                    .is_some_and(|given| given.whole.is_some());
            if !moves {
                return;
            }
            self.sort_out(owner, va, false, left, work);
        }
    }

    /// Brings pages that can move, with what comes along as far as there is room; those that cannot are to be lent. The first `wanted` were
    /// asked for.
    fn bring_asked(&mut self, owner: OwnerId, work: &mut Work, wanted: usize) -> Result<(), Error> {
        let before = self.report.moved();
        let stay = match self.bring_planned(owner, work, true) {
            Err(Error::OutOfMemory { .. }) => self.bring_planned(owner, work, false)?,
            stay => stay?,
        };
        let mut asked = 0;
        for Movable { va, given, .. } in &work.moves[..wanted] {
            let stays = stay
                .iter()
                .any(|(start, len)| (*start..start + len).contains(va));
            if stays {
                work.lends.push((*va, given.loan(owner)));
            } else {
                asked += PAGE;
            }
        }
        self.report.prefetched += (self.report.moved() - before).saturating_sub(asked);
        self.note_streams(owner, &work.moves);
        Ok(())
    }

    /// Kernels will use what came of streams, and do not ask for it: where it ends the stream is to be known again.
    fn note_streams(&mut self, owner: OwnerId, moves: &[Movable]) {
        for (start, len) in moves
            .iter()
            .filter(|movable| movable.stream)
            .flat_map(|movable| &movable.ranges)
        {
            for run in self.blocks.away_runs(*start, *len, Some(owner)) {
                (run.start..run.start + run.len)
                    .step_by(PAGE as usize)
                    .for_each(|page| self.blocks.note_asked(page));
            }
        }
    }

    fn bring_planned(
        &mut self,
        owner: OwnerId,
        work: &Work,
        along: bool,
    ) -> Result<Vec<(u64, u64)>, Error> {
        let (mut ranges, mut stay) = (Vec::new(), Vec::new());
        for Movable {
            va,
            given,
            ranges: planned,
            ..
        } in &work.moves
        {
            let going = Going {
                owner,
                writable: given.writes,
                kept: given.kept,
                cause: Cause::Request,
                in_place: false,
            };
            let alone = [(*va, PAGE)];
            for (start, len) in if along { &planned[..] } else { &alone[..] } {
                let (free, lent) = self.free_of_lends(owner, *start, *len);
                ranges.extend(free.into_iter().map(|(at, len)| (at, len, going)));
                stay.extend(lent);
            }
        }
        stay.extend(self.bring(&ranges)?);
        Ok(stay)
    }

    /// What launches were given around a page; of one that none was given, all of it is lent to one that runs.
    fn given(&self, owner: OwnerId, va: u64) -> Option<Given> {
        let mut found: Option<Given> = None;
        for pin in self.pins.iter().filter(|pin| pin.owner == owner) {
            for want in pin.wants.iter().filter(|want| want.overlaps(va, PAGE)) {
                let whole = pages_inside(want.start, want.len)
                    .map(|(first, len)| (first, first + len))
                    .filter(|(first, end)| (*first..*end).contains(&va));
                let this = Given {
                    pin: pin.id,
                    whole,
                    start: want.start,
                    end: want.start + want.len,
                    writes: want.writes,
                    kept: want.kept,
                };
                found = Some(match found {
                    None => this,
                    Some(other) if other.whole.is_some() || whole.is_none() => Given {
                        writes: other.writes || this.writes,
                        start: other.start.min(this.start),
                        end: other.end.max(this.end),
                        ..other
                    },
                    Some(other) => Given {
                        writes: other.writes || this.writes,
                        ..this
                    },
                });
            }
        }
        found.or_else(|| {
            let pin = self.pins.iter().find(|pin| pin.owner == owner)?;
            Some(Given {
                pin: pin.id,
                whole: None,
                start: va,
                end: va + PAGE,
                writes: true,
                kept: false,
            })
        })
    }

    /// What comes for a page of memory from a first address to an end, so many pages at most: ranges of addresses, the first with the page
    /// itself or before it; and whether they are the next of a stream.
    fn plan(
        &mut self,
        owner: OwnerId,
        va: u64,
        (first, end): (u64, u64),
        most: u64,
    ) -> (Vec<(u64, u64)>, bool) {
        let alone = (vec![(va, PAGE)], false);
        if self.thrash.has(va) {
            self.report.throttled += 1;
            return alone;
        }
        let page = FaultPage {
            page: va / PAGE,
            first: first / PAGE,
            last: end / PAGE - 1,
            context: owner,
        };
        let mut block = Block::default();
        let at = va & !(BLOCK - 1);
        for run in self.blocks.away_runs(at, BLOCK, Some(owner)) {
            (run.start..run.start + run.len)
                .step_by(PAGE as usize)
                .for_each(|page| block.set_resident(page / PAGE));
        }
        for page in self.blocks.asked_in(at) {
            block.set_used(page / PAGE);
        }
        let most = self.most_along(owner).at_most(most);
        let Some(prefetcher) = self.prefetchers.get_mut(&owner) else {
            return alone;
        };
        prefetcher.limit(most.stream as u32, most.near == 1);
        let plan = prefetcher.plan(&page, &block);
        let most = if plan.stream { most.stream } else { most.near };
        let mut pages: Vec<u64> = plan.pages().collect();
        pages.retain(|other| *other == page.page || !self.thrash.has(*other * PAGE));
        // The rest of the memory may be somebody else's: what comes at once must not push all else out.
        pages.sort_unstable_by_key(|other| (other.abs_diff(page.page), *other));
        pages.truncate(most);
        pages.sort_unstable();
        let rows = pages.chunk_by(|a, b| *a + 1 == *b);
        let range = |row: &[u64]| (row[0] * PAGE, row.len() as u64 * PAGE);
        (rows.map(range).collect(), plan.stream)
    }

    /// How much may come with a page. In a full memory what is near it is no more likely to be used than what would leave for it; and in one that
    /// is going to be full, for launches were given more than there is room for, it would be there in place of what is asked for next.
    fn most_along(&mut self, owner: OwnerId) -> Along {
        let room = self.room(owner) / PAGE;
        let spare = self.spare_pages(owner).min(room / SHARE);
        let near = match self.given_pages(owner) > room {
            true => 1,
            false => spare.max(1),
        };
        Along {
            stream: spare.max(room / FULL_SHARE).max(1) as usize,
            near: near as usize,
        }
    }

    /// Pages of all that launches of an owner work on; what several were given counts for each.
    fn given_pages(&self, owner: OwnerId) -> u64 {
        let pins = self.pins.iter().filter(|pin| pin.owner == owner);
        let wants = pins.flat_map(|pin| &pin.wants);
        wants.map(|want| want.len.div_ceil(PAGE)).sum()
    }

    /// Pages that can come before memory is full.
    fn spare_pages(&mut self, owner: OwnerId) -> u64 {
        let room = self.room(owner) / PAGE;
        let of = self.owners.get(&owner);
        let free = of.map_or(0, |of| of.free_bytes() / PAGE);
        free.saturating_sub(room / SLACK)
    }
}

impl Along {
    fn at_most(self, pages: u64) -> Self {
        let least = |most: usize| most.min(usize::try_from(pages).unwrap_or(usize::MAX));
        Self {
            stream: least(self.stream),
            near: least(self.near),
        }
    }
}

impl Work {
    /// Pages that are to come.
    fn pages(&self) -> u64 {
        let ranges = self.moves.iter().flat_map(|movable| &movable.ranges);
        ranges.map(|(_, len)| len / PAGE).sum()
    }
}

impl Given {
    fn loan(&self, owner: OwnerId) -> Loan {
        Loan {
            pin: self.pin,
            owner,
            start: self.start,
            end: self.end,
            writes: self.writes,
        }
    }
}
