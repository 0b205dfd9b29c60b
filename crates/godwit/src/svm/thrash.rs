// SPDX-License-Identifier: Apache-2.0
//! Pages for which kernels and program fight, or kernels on two cards. What comes along with such a page would only be carried to and
//! fro with it, so it moves alone, and with no other.

use std::collections::BTreeMap;

use super::OwnerId;

/// A page that is asked for so soon after it was taken from the kernel that worked on it is carried to and fro.
const SOON_PS: u64 = 500_000_000;
/// So often in a row, and it thrashes.
const OFTEN: u8 = 3;
/// Pages that are remembered; with more, those are forgotten that were not asked for again, or all.
const KEPT: usize = 4096;

#[derive(Clone, Copy)]
struct Fight {
    left_ps: u64,
    times: u8,
}

/// Pages that touches, or kernels on other cards, took from kernels at work: with whom these are.
#[derive(Default)]
pub(super) struct Thrash(BTreeMap<(u64, OwnerId), Fight>);

impl Thrash {
    /// The page was taken from a kernel of an owner that works on it, at the owner's time.
    pub fn left(&mut self, page: u64, owner: OwnerId, now_ps: u64) {
        if self.0.len() >= KEPT {
            self.0.retain(|_, fight| fight.times > 0);
        }
        if self.0.len() >= KEPT {
            self.0.clear();
        }
        let fight = self.0.entry((page, owner));
        let fight = fight.or_insert(Fight {
            left_ps: 0,
            times: 0,
        });
        fight.left_ps = now_ps;
    }

    /// A kernel of an owner asks for it; whether it thrashes from now on.
    pub fn asked(&mut self, page: u64, owner: OwnerId, now_ps: u64) -> bool {
        let Some(fight) = self.0.get_mut(&(page, owner)) else {
            return false;
        };
        if now_ps.saturating_sub(fight.left_ps) > SOON_PS {
            self.0.remove(&(page, owner));
            return false;
        }
        fight.times = fight.times.saturating_add(1);
        fight.times == OFTEN
    }

    /// Whether the page moves alone.
    pub fn has(&self, page: u64) -> bool {
        let mut fights = self.0.range((page, 0)..=(page, OwnerId::MAX));
        fights.any(|(_, fight)| fight.times >= OFTEN)
    }

    /// An owner is gone.
    pub fn forget(&mut self, owner: OwnerId) {
        self.0.retain(|(_, of), _| *of != owner);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_is_asked_for_again_and_again_moves_alone_until_it_rests() {
        let mut thrash = Thrash::default();
        for round in 0..3 {
            assert!(!thrash.has(7));
            thrash.left(7, 1, round * 1000);
            // The clock of another card says nothing of this one's.
            assert!(!thrash.asked(7, 2, round * 1000));
            assert_eq!(thrash.asked(7, 1, round * 1000 + 10), round == 2);
        }
        assert!(thrash.has(7) && !thrash.has(8));
        thrash.left(7, 1, 5000);
        assert!(!thrash.asked(7, 1, 5000 + 2 * SOON_PS));
        assert!(!thrash.has(7));
        assert!(!thrash.asked(9, 1, 0));
    }

    #[test]
    fn what_was_asked_for_again_is_remembered_longest() {
        let mut thrash = Thrash::default();
        for _ in 0..OFTEN {
            thrash.left(7, 1, 0);
            thrash.asked(7, 1, 0);
        }
        (0..2 * KEPT as u64).for_each(|page| thrash.left(100 + page, 2, 0));
        assert!(thrash.has(7) && thrash.0.len() <= KEPT);
        thrash.forget(1);
        assert!(!thrash.has(7));
    }
}
