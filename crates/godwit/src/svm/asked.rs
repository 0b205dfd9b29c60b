// SPDX-License-Identifier: Apache-2.0
//! Pages that kernels ask for while they run.
//!
//! A page that memory given to a launch covers wholly moves, with the neighbours that the policies of `core/` name, as far as that
//! memory goes. Any other page is lent to the launches that run: it is behind a pointer, in an arena, or somebody else's in part.

use godwit_core::policy::{Block, Fault, FaultPage, MAX_ORDER, coalesce};

use super::lend::Loan;
use super::memory::pages_inside;
use super::moves::Going;
use super::owner::{Asked, Questions, Refused};
use super::pages::Pages;
use super::report::Cause;
use super::{BLOCK, OwnerId, PAGE, PinId};
use crate::Error;

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

impl Pages {
    /// Brings what kernels of an owner wait for.
    pub fn serve(&mut self, owner: OwnerId, mut questions: Questions) {
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
            let va = fault.page * PAGE;
            if !questions.asked().iter().any(|asked| asked.va == va) {
                // It came along with another.
                continue;
            }
            match self.bring_asked(owner, va, fault.is_write()) {
                Ok(()) => questions.answer(|asked| self.is_there(owner, asked).then_some(Ok(()))),
                Err(error) => questions.answer(|asked| {
                    (asked.va == va).then(|| {
                        Err(Refused {
                            va,
                            why: error.to_string(),
                        })
                    })
                }),
            }
        }
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

    fn bring_asked(&mut self, owner: OwnerId, va: u64, write: bool) -> Result<(), Error> {
        let asked = Asked {
            va,
            write,
            group: 0,
        };
        if self.is_there(owner, &asked) {
            // It came meanwhile.
            return Ok(());
        }
        let Some(given) = self.given(owner, va) else {
            return Err(Error::Argument(
                "no launch that shares the memory of the process works on it".into(),
            ));
        };
        if write && !given.writes {
            return Err(Error::Argument(
                "the kernel says of this argument that it only reads it".into(),
            ));
        }
        if let Some((first, end)) = given.whole {
            let going = Going {
                owner,
                writable: given.writes,
                kept: given.kept,
                cause: Cause::Request,
            };
            for (start, len) in self.plan(owner, va, first, end) {
                let before = self.report.moved();
                let asked = match (start..start + len).contains(&va) {
                    true => PAGE,
                    false => 0,
                };
                let stay = match self.bring_free(start, len, going) {
                    // There is no room for so many: what comes along is a hint.
                    Err(Error::OutOfMemory { .. }) if asked == 0 => continue,
                    Err(Error::OutOfMemory { .. }) if len > PAGE => {
                        self.bring_free(va, PAGE, going)?
                    }
                    stay => stay?,
                };
                let moved = self.report.moved() - before;
                self.report.prefetched += moved.saturating_sub(asked);
                if stay
                    .iter()
                    .any(|(start, len)| (*start..start + len).contains(&va))
                {
                    self.lend(va, PAGE, given.loan(owner))?;
                }
            }
            return Ok(());
        }
        self.lend(va, PAGE, given.loan(owner))
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

    /// What comes for a page: ranges of addresses, the first with the page itself or before it.
    fn plan(&mut self, owner: OwnerId, va: u64, first: u64, end: u64) -> Vec<(u64, u64)> {
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
        let Some(prefetcher) = self.prefetchers.get_mut(&owner) else {
            return vec![(va, PAGE)];
        };
        let mut pages: Vec<u64> = prefetcher.plan(&page, &block).pages().collect();
        pages.sort_unstable();
        let rows = pages.chunk_by(|a, b| *a + 1 == *b);
        let range = |row: &[u64]| (row[0] * PAGE, row.len() as u64 * PAGE);
        rows.map(range).collect()
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
