// SPDX-License-Identifier: Apache-2.0
//! What the system tells: touches of pages that are away, and changes of the address space under them.

use rustix::io::Errno;

use super::advice::Serving;
use super::blocks::{Place, Run};
use super::pages::Pages;
use super::report::Cause;
use super::uffd::Event;
use super::{BLOCK, PAGE};

/// Log2 of the pages that come home with a touched one at least, and at most.
const FEWEST: u32 = 4;
const MOST: u32 = (BLOCK / PAGE).ilog2();

impl Pages {
    /// Reads what there is, to be handled when nothing else is under way.
    pub fn read_events(&mut self) {
        while let Some(event) = self.watch.next_event(&self.uffd) {
            self.backlog.push_back(event);
        }
    }

    /// Handles everything there is; whether there was something.
    pub fn handle_events(&mut self) -> bool {
        self.read_events();
        let some = !self.backlog.is_empty();
        while let Some(event) = self.backlog.pop_front() {
            match event {
                Event::Touch { address, write, .. } => self.touched(address & !(PAGE - 1), write),
                Event::Remove { start, end } => self.given_up(start, end),
                Event::Unmap { start, end } => {
                    self.given_up(start, end);
                    self.advised.set(start, end - start, Serving::default());
                    self.stays.forget(start, end - start);
                    self.blocks.set(start, end - start, Place::Unwatched);
                    self.sweep();
                }
                Event::Remap { from, to, len } => self.remapped(from, to, len),
            }
            self.take_rescued();
            self.read_events();
        }
        self.take_rescued();
        some
    }

    /// First address and length of what comes home with a touched page; within its block.
    pub(super) fn group_around(&mut self, page: u64) -> (u64, u64) {
        let (first, count) = self.around.touched(0, page / PAGE, FEWEST, MOST);
        (first * PAGE, u64::from(count) * PAGE)
    }

    /// A thread waits for a page.
    fn touched(&mut self, page: u64, write: bool) {
        match self.blocks.place(page) {
            Place::Away(away) if !write && self.show_around(page, away) => return,
            Place::Away(_) if self.pinned(page, PAGE, None) => {
                self.report.waited += 1;
                self.parked.push((page, write));
                return;
            }
            Place::Away(away) => {
                self.report.touches += 1;
                let (start, len) = if self.thrash.has(page) {
                    self.report.throttled += 1;
                    (page, PAGE)
                } else {
                    self.group_around(page)
                };
                let mut runs = self.blocks.away_runs(start, len, None);
                // Neighbours that both may read stay where they are.
                runs.retain(|run| {
                    let free = !self.pinned(run.start, run.len, None);
                    free && (run.contains(page) || !self.is_read_mostly(run.start, run.len))
                });
                if !runs.iter().any(|run| run.contains(page)) {
                    // A pin ends inside the run.
                    runs = self.blocks.away_runs(page, PAGE, None);
                }
                let fought = self.worked_on(page, PAGE);
                self.put_last = (0, 0);
                self.retrieve(&runs, Cause::Touch);
                if fought {
                    let (_, now_ps) = self.whose(away.owner);
                    self.thrash.left(page, away.owner, now_ps);
                }
                // All of them are there, and whoever waited was woken.
                let (start, len) = self.put_last;
                if page.wrapping_sub(start) < len {
                    return;
                }
            }
            Place::Home | Place::Unwatched => self.report.duplicates += 1,
        }
        // It may be one that was never touched.
        self.fill(page, write);
    }

    /// Gives a missing page what a page that was never touched reads as.
    fn fill(&mut self, page: u64, write: bool) {
        loop {
            let progress = if write {
                let zeros = self.watch.zeros();
                self.uffd.copy(page, zeros, PAGE)
            } else {
                self.uffd.zero(page, PAGE)
            };
            match progress.stopped {
                Some(Errno::AGAIN) => {
                    self.read_events();
                    std::thread::yield_now();
                }
                _ => break,
            }
        }
        // It was there, or it is not watched any more: the thread looks itself.
        let _ = self.uffd.wake(page, PAGE);
    }

    /// Touches of pages that were pinned.
    pub fn retry_parked(&mut self) {
        for (page, write) in std::mem::take(&mut self.parked) {
            self.touched(page, write);
        }
    }

    /// Content was given up, by the program itself.
    fn given_up(&mut self, start: u64, end: u64) {
        let runs = self.blocks.away_runs(start, end - start, None);
        self.forsake(&runs);
        // Whoever waited for it gets a fresh page, or the error of memory that is gone.
        let (gone, parked) = std::mem::take(&mut self.parked)
            .into_iter()
            .partition(|(page, _)| (start..end).contains(page));
        self.parked = parked;
        for (page, write) in gone {
            self.fill(page, write);
        }
    }

    /// A mapping has moved; what of it is away comes home, to where it is now.
    fn remapped(&mut self, from: u64, to: u64, len: u64) {
        let runs = self.blocks.away_runs(from, len, None);
        self.retrieve_to(&runs, to.wrapping_sub(from), Cause::Touch);
        self.blocks.set(from, len, Place::Unwatched);
        self.advised.set(from, len, Serving::default());
        self.stays.forget(from, len);
        self.unwatch(to, len);
        self.sweep();
    }

    /// Pages that a thread which must not wait has touched: they were free memory.
    fn take_rescued(&mut self) {
        while let Some(page) = self.watch.next_rescued() {
            let runs = self.blocks.away_runs(page, PAGE, None);
            self.forsake(&runs);
        }
    }
}

impl Run {
    fn contains(&self, page: u64) -> bool {
        (self.start..self.start + self.len).contains(&page)
    }
}
