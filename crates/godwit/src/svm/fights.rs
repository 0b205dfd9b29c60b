// SPDX-License-Identifier: Apache-2.0
//! Kernels on two cards that ask for the same pages, without cards: owners that count what they are given, and clocks that a test sets.
#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on says so by failing"
)]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use godwit_card::Memory;
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};

use super::owner::{Answer, Asked, Asker, Leaving, Left, Owner, PageCosts, Piece, Questions};
use super::pages::{Pages, Pin};
use super::pins::Want;
use super::sentinel::Watch;
use super::uffd::Uffd;
use super::{Demand, DeviceMemory, OwnerId, PAGE};
use crate::Error;

const PAGES: u64 = 64;

/// One that has pages, and its clock.
struct Card {
    memory: Arc<Memory>,
    clock: Arc<AtomicU64>,
}

impl Owner for Card {
    fn show(&mut self, _: u64, _: u64) {}
    fn take(&mut self, _: &[Piece], _: bool) -> Result<(), Error> {
        Ok(())
    }
    fn allow_writes(&mut self, _: u64, _: u64) -> Result<(), Error> {
        Ok(())
    }
    fn withdraw(&mut self, _: &[Leaving], _: bool) -> Left {
        Left::default()
    }
    fn fetch(&self, _: &[Leaving]) {}
    fn part(&mut self, _: &Leaving) -> u64 {
        0
    }
    fn lies(&self, va: u64, len: u64) -> Vec<(u64, u64, u64)> {
        vec![(va, len, self.memory.address())]
    }
    fn sent(&mut self, _: u64, _: u64) {}
    fn waits(&mut self, _: u64) {}
    fn to_reach(&self) -> Option<Arc<Memory>> {
        Some(Arc::clone(&self.memory))
    }
    fn reach(&mut self, _: &Arc<Memory>) -> bool {
        true
    }
    fn reach_no_more(&mut self, _: &Arc<Memory>) {}
    fn release(&mut self, _: u64, _: u64) {}
    fn count_lines(&mut self) -> Option<PageCosts> {
        None
    }
    fn measure_lines(&mut self) {}
    fn take_over(&mut self, _: &[Piece]) -> Result<bool, Error> {
        Ok(false)
    }
    fn has_written(&self, _: u64, _: u64) -> bool {
        true
    }
    fn thread(&self) -> u32 {
        rustix::thread::gettid().as_raw_nonzero().get() as u32
    }
    fn now_ps(&self) -> u64 {
        self.clock.load(Ordering::Relaxed)
    }
    fn memory(&self) -> DeviceMemory {
        DeviceMemory {
            id: Arc::as_ptr(&self.memory) as usize,
            bytes: self.memory.size(),
        }
    }
    fn free_bytes(&self) -> u64 {
        self.memory.size()
    }
    fn reaches_host(&self) -> bool {
        false
    }
    fn demand(&self) -> Option<Demand> {
        Some(Demand {
            request_pages: 16,
            most_pages: PAGES as u32,
        })
    }
}

struct Nobody;

impl Asker for Nobody {
    fn answer(&self, answers: Vec<Answer>) {
        assert!(answers.iter().all(|(_, answer)| answer.is_ok()));
    }
}

/// Two cards whose kernels work on the same pages.
struct Two {
    pages: Pages,
    at: u64,
    cards: [(OwnerId, Arc<AtomicU64>); 2],
}

impl Two {
    fn new() -> Self {
        let uffd = Arc::new(Uffd::open(true).unwrap());
        let watch = Arc::new(Watch::new().unwrap());
        let mut pages = Pages::new(uffd, watch).unwrap();
        let (len, rights) = (PAGES * PAGE, ProtFlags::READ | ProtFlags::WRITE);
        // SAFETY: a new mapping at an address of the system's choice; it stays as long as the process.
        let at = unsafe {
            mmap_anonymous(
                std::ptr::null_mut(),
                2 * len as usize,
                rights,
                MapFlags::PRIVATE,
            )
        };
        let at = (at.unwrap() as u64).next_multiple_of(PAGES * PAGE);
        // The second clock is far from the first.
        let cards = [0, 1 << 60].map(|ps| {
            let clock = Arc::new(AtomicU64::new(ps));
            let card = Card {
                memory: Arc::new(Memory::new(1 << 20).unwrap()),
                clock: Arc::clone(&clock),
            };
            let owner = pages.attach(Box::new(card)).unwrap();
            pages.pins.push(Pin {
                id: owner.into(),
                owner,
                wants: vec![Want {
                    start: at,
                    len,
                    writes: true,
                    kept: true,
                }],
                holds: false,
            });
            (owner, clock)
        });
        Self { pages, at, cards }
    }

    /// The kernel of a card asks for a page, so long after it did last; how many pages the card has then.
    fn ask(&mut self, card: usize, page: u64, later_ps: u64) -> u64 {
        let (owner, clock) = &self.cards[card];
        let now_ps = clock.fetch_add(later_ps, Ordering::Relaxed) + later_ps;
        let asked = Asked {
            va: self.at + page * PAGE,
            write: true,
            group: 0,
        };
        let questions = Questions::new(vec![asked], now_ps, Box::new(Nobody));
        self.pages.serve(*owner, questions);
        let runs = self
            .pages
            .blocks
            .away_runs(self.at, PAGES * PAGE, Some(*owner));
        assert!(
            runs.iter()
                .any(|run| run.start <= asked.va && asked.va < run.start + run.len)
        );
        runs.iter().map(|run| run.len).sum::<u64>() / PAGE
    }
}

const SOON: u64 = 50_000_000;
const LATER: u64 = 5_000_000_000;

#[test]
fn pages_that_two_cards_take_from_each_other_go_alone_until_they_rest() {
    let mut two = Two::new();
    // Neighbours come along, and are carried to and fro.
    for turn in 0..6 {
        assert!(two.ask(turn % 2, 5, SOON) >= 16, "turn {turn}");
    }
    assert_eq!(two.pages.report.thrashing, 0);
    // Each has been robbed of it three times and asked again soon.
    let before = two.pages.report;
    for turn in 6..20 {
        two.ask(turn % 2, 5, SOON);
    }
    let since = two.pages.report.since(&before);
    assert_eq!(since.thrashing, 2, "{since:?}");
    assert!(since.throttled >= 12, "{since:?}");
    assert!(since.across <= (2 * 16 + 12) * PAGE, "{since:?}");
    // Asked for after a rest it brings its neighbours again.
    two.ask(0, 5, LATER);
    two.ask(1, 5, LATER);
    assert!(two.ask(0, 5, LATER) >= 16);
}

#[test]
fn two_cards_that_want_neighbours_end_up_with_one_each() {
    let mut two = Two::new();
    for _ in 0..6 {
        two.ask(0, 3, SOON);
        two.ask(1, 4, SOON);
    }
    let before = two.pages.report;
    // Nothing takes the page of the one along for the other any more.
    let held = |two: &Two, card: usize, page| {
        let away = two.pages.blocks.away_at(two.at + page * PAGE);
        away.is_some_and(|away| away.owner == two.cards[card].0)
    };
    assert!(held(&two, 0, 3) && held(&two, 1, 4));
    two.ask(0, 3, SOON);
    two.ask(1, 4, SOON);
    assert!(held(&two, 0, 3) && held(&two, 1, 4));
    assert_eq!(two.pages.report.since(&before).across, 0);
}

#[test]
fn a_page_comes_alone_when_launches_were_given_more_than_there_is_room_for() {
    let mut two = Two::new();
    let owner = two.cards[0].0;
    // It has 256 pages, of which `PAGES` are given already.
    let given = |pages: u64| Pin {
        id: owner.into(),
        owner,
        wants: vec![Want {
            start: two.at + PAGES * PAGE,
            len: pages * PAGE,
            writes: false,
            kept: true,
        }],
        holds: false,
    };
    let (too_much, enough) = (given(257 - PAGES), given(256 - PAGES));
    two.pages.pins.push(too_much);
    assert_eq!(two.ask(0, 5, SOON), 1);
    // The other card has room.
    assert!(two.ask(1, 37, SOON) >= 16);
    two.pages.pins.pop();
    two.pages.pins.push(enough);
    assert!(two.ask(0, 60, SOON) > 4);
}
