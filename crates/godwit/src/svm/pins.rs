// SPDX-License-Identifier: Apache-2.0
//! Memory that launches work on: on their card before they begin, or asked for by it, until they have ended.

use std::sync::Arc;

use super::blocks::Place;
use super::lend::Loan;
use super::memory::{pages_around, pages_inside};
use super::moves::Going;
use super::pager::Pager;
use super::pages::{Pages, Pin};
use super::report::Cause;
use super::{OwnerId, PAGE, PinId};
use crate::Error;

/// Memory that a launch works on, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Want {
    pub start: u64,
    pub len: u64,
    /// The kernel may write it.
    pub writes: bool,
    /// Its owner says before it is freed: [`Pager::forget`].
    pub kept: bool,
}

impl Want {
    /// Whether it has bytes in pages of the range.
    pub(super) fn overlaps(&self, start: u64, len: u64) -> bool {
        let (first, bytes) = pages_around(self.start, self.len);
        first < start + len && start < first + bytes
    }
}

/// Memory that is on a card for a launch. Dropped, what was lent comes back and who waits for the memory gets it.
pub(crate) struct Pinned {
    pager: Arc<Pager>,
    id: PinId,
}

impl Pinned {
    /// What has this number, of which a pager knows.
    pub(super) fn new(pager: &Arc<Pager>, id: PinId) -> Self {
        Self {
            pager: Arc::clone(pager),
            id,
        }
    }

    /// Which it is.
    pub fn id(&self) -> PinId {
        self.id
    }

    /// To settle it with, later.
    pub fn ticket(&self) -> (Arc<Pager>, PinId) {
        (Arc::clone(&self.pager), self.id)
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        let id = self.id;
        self.pager.post(Box::new(move |pages| {
            pages.unpin(id);
            true
        }));
    }
}

impl std::fmt::Debug for Pinned {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Pinned").field(&self.id).finish()
    }
}

impl Pages {
    /// Brings memory to a card for a launch, or allows the card to ask for it; `None` while a launch of another owner holds some.
    pub(super) fn pin(&mut self, owner: OwnerId, wants: &[Want]) -> Option<Result<PinId, Error>> {
        let held = |want: &Want| {
            let (start, len) = pages_around(want.start, want.len);
            self.pinned(start, len, Some(owner))
        };
        if wants.iter().any(held) {
            return None;
        }
        for want in wants {
            let (start, len) = pages_around(want.start, want.len);
            self.move_due(owner, start, len);
        }
        self.next_pin += 1;
        let id = self.next_pin;
        let asks = self.prefetchers.contains_key(&owner);
        let mut result = self.give_all(owner, id, wants, asks);
        if matches!(result, Err(Error::OutOfMemory { .. })) && self.stays_go_home(owner) {
            result = self.give_all(owner, id, wants, asks);
        }
        if let Err(error) = result {
            self.unpin(id);
            return Some(Err(error));
        }
        self.pins.push(Pin {
            id,
            owner,
            wants: wants.to_vec(),
            holds: !asks,
        });
        Some(Ok(id))
    }

    fn give_all(
        &mut self,
        owner: OwnerId,
        pin: PinId,
        wants: &[Want],
        asks: bool,
    ) -> Result<(), Error> {
        let mut wants = wants.iter().filter(|want| want.len > 0);
        wants.try_for_each(|want| {
            if asks {
                self.allow(owner, pin, *want)
            } else {
                self.pin_one(owner, pin, *want)
            }
        })
    }

    /// Lets a card write what it has already of memory that a launch writes.
    fn allow(&mut self, owner: OwnerId, pin: PinId, want: Want) -> Result<(), Error> {
        let (start, len) = pages_around(want.start, want.len);
        for run in self.blocks.away_runs(start, len, Some(owner)) {
            if let Place::Away(away) = run.place {
                let writes = want.writes && !self.is_read_mostly(run.start, run.len);
                self.let_write(run, away, writes)?;
            }
        }
        let lent = self.lends.range((owner, start)..(owner, start + len));
        let lent: Vec<u64> = lent.map(|((_, page), _)| *page).collect();
        for page in lent {
            self.lend(page, PAGE, Loan::of(owner, pin, want))?;
        }
        Ok(())
    }

    fn pin_one(&mut self, owner: OwnerId, pin: PinId, want: Want) -> Result<(), Error> {
        let loan = Loan::of(owner, pin, want);
        let (first, len) = pages_around(want.start, want.len);
        let Some((inside, inside_len)) = pages_inside(want.start, want.len) else {
            return self.lend(first, len, loan);
        };
        let going = Going {
            owner,
            writable: want.writes,
            kept: want.kept,
            cause: Cause::Launch,
            in_place: false,
        };
        for (start, len) in self.bring_free(&[(inside, inside_len, going)])? {
            self.lend(start, len, loan)?;
        }
        self.lend(first, inside - first, loan)?;
        let end = inside + inside_len;
        self.lend(end, first + len - end, loan)
    }

    /// Ends a pin, if it has not ended.
    pub(super) fn unpin(&mut self, id: PinId) {
        if let Err(error) = self.take_back(id) {
            self.failed.push((id, error));
        }
        let before = self.pins.len();
        self.pins.retain(|pin| pin.id != id);
        self.unpinned |= self.pins.len() < before;
    }
}
