// SPDX-License-Identifier: Apache-2.0
//! Pages that go from one card to another: the bytes leave the memory of the one for that of the other, and are never in the program's.
//!
//! The card that has the pages stops using them, and keeps their bytes until the other has them. What it was not to write comes
//! from the shadow, where the program's page is. Where one card does not reach the memory of the other, pages go over the program.

use super::advice::Serving;
use super::blocks::{Away, Place, Run};
use super::moves::{Going, Taken};
use super::owner::Leaving;
use super::pages::Pages;
use super::report::Cause;
use super::{OwnerId, PAGE};

/// Pages whose former owner has ended using them, and still has their bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Parted {
    pub run: Run,
    pub away: Away,
}

impl Pages {
    /// Takes pages that another card has for one that reaches them there; false when they have to come home first.
    pub(super) fn take_across(
        &mut self,
        run: Run,
        away: Away,
        going: Going,
        taken: &mut Taken,
    ) -> bool {
        if away.in_place || away.shown || !self.can_cross(away.owner, going.owner) {
            return false;
        }
        // What is used in place, now or when it pays, goes over the shadow.
        let moves = |serving| matches!(serving, Serving::Move | Serving::ReadMostly);
        let advised = self.advised.parts(run.start, run.len);
        if advised.iter().any(|(_, _, serving)| !moves(*serving)) {
            return false;
        }
        let leaving = Leaving {
            va: run.start,
            len: run.len,
            to: None,
            written: false,
            unless_clean: false,
        };
        let Ok(owner) = self.owner(away.owner) else {
            return false;
        };
        let took_ps = owner.part(&leaving);
        let places = if away.is_newer() {
            owner.lies(run.start, run.len)
        } else {
            vec![(run.start, run.len, run.shadow)]
        };
        if let Ok(owner) = self.owner(going.owner) {
            owner.waits(took_ps);
        }
        let now = Away {
            owner: going.owner,
            writable: going.writable,
            newer: away.is_newer(),
            ..away
        };
        self.blocks.set(run.start, run.len, Place::Away(now));
        for (va, len, at) in places {
            let from = (away.is_newer() || away.held).then_some(at);
            taken.add(va, len, from, going);
        }
        taken.parted.push(Parted { run, away });
        true
    }

    /// Whether the memory of one owner is another one, which the other reaches.
    fn can_cross(&mut self, from: OwnerId, to: OwnerId) -> bool {
        let Some(memory) = self.owners.get(&from).and_then(|owner| owner.to_reach()) else {
            return false;
        };
        self.owners
            .get_mut(&to)
            .is_some_and(|owner| owner.reach(&memory))
    }

    /// Pages were taken from an owner: if kernels of it work on them, and another card's kernel asked for some, that is a fight. Unlike what
    /// comes home with a touch, those that came along are a part of it: nobody on the other card may ever ask for them.
    pub(super) fn note_taken(&mut self, run: &Run, from: OwnerId, cause: Cause) {
        if cause != Cause::Request {
            return;
        }
        let (_, now_ps) = self.whose(from);
        for page in (run.start..run.start + run.len).step_by(PAGE as usize) {
            let mut pins = self.pins.iter().filter(|pin| pin.owner == from);
            if pins.any(|pin| pin.overlaps(page, PAGE)) {
                self.thrash.left(page, from, now_ps);
            }
        }
    }

    /// Pages have arrived: their former owners end having them.
    pub(super) fn arrived(&mut self, parted: &[Parted], going: Going) {
        for Parted { run, away } in parted {
            if away.is_newer() {
                self.report.across += run.len;
            }
            self.log_home(run, *away, going.cause, away.is_newer());
            if let Ok(owner) = self.owner(away.owner) {
                if away.is_newer() {
                    owner.sent(run.start, run.len);
                }
                owner.release(run.start, run.len);
            }
            self.note_left(away.owner, run.start, run.len);
        }
    }

    /// Pages could not be taken: they come home from their former owners.
    pub(super) fn come_home_instead(&mut self, parted: &[Parted], going: Going) {
        for Parted { run, away } in parted {
            if away.is_newer() {
                if !away.held {
                    self.make_room(run.shadow, run.len);
                }
                self.report.came(going.cause, run.len);
                let page = Leaving {
                    va: run.start,
                    len: run.len,
                    to: Some(run.shadow),
                    written: false,
                    unless_clean: false,
                };
                if let Ok(owner) = self.owner(away.owner) {
                    owner.fetch(&[page]);
                }
            }
            let run = Run {
                place: Place::Away(*away),
                ..*run
            };
            self.is_home(run, 0, going.cause);
            let _ = self.uffd.wake(run.start, run.len);
        }
    }
}

/// Parts of a range that are not among those pages.
pub(super) fn others(parted: &[Parted], start: u64, len: u64) -> Vec<(u64, u64)> {
    let (mut at, end) = (start, start + len);
    let mut runs: Vec<(u64, u64)> = parted
        .iter()
        .map(|Parted { run, .. }| (run.start, run.start + run.len))
        .filter(|(from, to)| *from < end && start < *to)
        .collect();
    runs.sort_unstable();
    let mut found = Vec::new();
    for (from, to) in runs {
        if at < from {
            found.push((at, from - at));
        }
        at = to;
    }
    if at < end {
        found.push((at, end - at));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_of_other_cards_is_found() {
        let away = Away {
            owner: 1,
            held: true,
            writable: false,
            newer: false,
            in_place: false,
            shown: false,
        };
        let parted = |start, len| {
            let place = Place::Away(away);
            let run = Run {
                start,
                len,
                place,
                shadow: 0,
            };
            Parted { run, away }
        };
        let all = [parted(40, 10), parted(10, 10)];
        assert_eq!(others(&all, 0, 60), [(0, 10), (20, 20), (50, 10)]);
        assert_eq!(others(&all, 15, 30), [(20, 20)]);
        assert_eq!(others(&all, 10, 10), []);
        assert_eq!(others(&all, 55, 5), [(55, 5)]);
    }
}
