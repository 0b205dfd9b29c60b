// SPDX-License-Identifier: Apache-2.0
//! Pages for which kernels and program fight. What comes along with such a page would only be carried to and fro with
//! it, so it moves alone.

use std::collections::BTreeMap;

/// A page that is asked for so soon after a touch took it from the kernel that worked on it is carried to and fro.
const SOON_PS: u64 = 500_000_000;
/// So often in a row, and it thrashes.
const OFTEN: u8 = 3;
/// Pages that are remembered; with more, all are forgotten.
const KEPT: usize = 4096;

#[derive(Clone, Copy)]
struct Fight {
    left_ps: u64,
    times: u8,
}

/// Pages that touches took from kernels at work.
#[derive(Default)]
pub(super) struct Thrash(BTreeMap<u64, Fight>);

impl Thrash {
    /// A touch took the page from a kernel that works on it.
    pub fn left(&mut self, page: u64, now_ps: u64) {
        if self.0.len() == KEPT {
            self.0.clear();
        }
        let fight = self.0.entry(page);
        let fight = fight.or_insert(Fight {
            left_ps: 0,
            times: 0,
        });
        fight.left_ps = now_ps;
    }

    /// A kernel asks for it; whether it thrashes from now on.
    pub fn asked(&mut self, page: u64, now_ps: u64) -> bool {
        let Some(fight) = self.0.get_mut(&page) else {
            return false;
        };
        if now_ps.saturating_sub(fight.left_ps) > SOON_PS {
            self.0.remove(&page);
            return false;
        }
        fight.times = fight.times.saturating_add(1);
        fight.times == OFTEN
    }

    /// Whether the page moves alone.
    pub fn has(&self, page: u64) -> bool {
        self.0.get(&page).is_some_and(|fight| fight.times >= OFTEN)
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
            thrash.left(7, round * 1000);
            assert_eq!(thrash.asked(7, round * 1000 + 10), round == 2);
        }
        assert!(thrash.has(7) && !thrash.has(8));
        thrash.left(7, 5000);
        assert!(!thrash.asked(7, 5000 + 2 * SOON_PS));
        assert!(!thrash.has(7));
        assert!(!thrash.asked(9, 0));
    }
}
