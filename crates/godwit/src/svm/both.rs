// SPDX-License-Identifier: Apache-2.0
//! Pages that card and program have both, to read: memory that the program says is mostly read. The program's copies
//! are write-protected; whoever writes first, kernel or program, has the page alone afterwards.

use rustix::io::Errno;

use super::advice::Serving;
use super::blocks::{Away, Place, Run};
use super::pages::Pages;

impl Pages {
    /// Whether the program said of all of a range that it is mostly read.
    pub fn is_read_mostly(&self, start: u64, len: u64) -> bool {
        self.advised.all(start, len, Serving::ReadMostly)
    }

    /// Whether a kernel of an owner that is brought these pages will be let write them.
    pub fn will_write(&self, owner: super::OwnerId, start: u64, len: u64) -> bool {
        self.writes(owner, start, len) && !self.is_read_mostly(start, len)
    }

    /// Gives the program copies of a page that it reads and of its neighbours, which the card goes on having; false
    /// where that cannot be.
    pub fn show_around(&mut self, page: u64, away: Away) -> bool {
        let can = |away: Away| !away.is_newer() && away.held && !away.in_place;
        if away.shown || !can(away) || !self.is_read_mostly(page, super::PAGE) {
            return false;
        }
        let (start, len) = self.group_around(page);
        let mut shown = false;
        for run in self.blocks.away_runs(start, len, Some(away.owner)) {
            let Place::Away(away) = run.place else {
                continue;
            };
            if can(away) && !away.shown && self.is_read_mostly(run.start, run.len) {
                let done = self.show_run(run, away);
                shown |= (run.start..run.start + done).contains(&page);
            }
        }
        shown
    }

    /// Copies pages from the shadow; returns the bytes that were.
    fn show_run(&mut self, run: Run, away: Away) -> u64 {
        // It was registered for pages that are missing, and is from now on for writes, too.
        if self.uffd.register_guarded(run.start, run.len).is_err() {
            return 0;
        }
        let shown = Place::Away(Away {
            shown: true,
            ..away
        });
        let mut done = 0;
        while done < run.len {
            let (to, from) = (run.start + done, run.shadow + done);
            let progress = self.uffd.copy_guarded(to, from, run.len - done);
            self.blocks.set(to, progress.bytes, shown);
            self.report.duplicated += progress.bytes;
            done += progress.bytes;
            match progress.stopped {
                None => {}
                Some(Errno::AGAIN) => {
                    self.read_events();
                    std::thread::yield_now();
                }
                Some(_) => break,
            }
        }
        done
    }

    /// Takes the program's copies away, before the card writes; false when some stay, because something else holds
    /// them.
    pub fn hide(&mut self, run: Run) -> bool {
        let Place::Away(away) = run.place else {
            return false;
        };
        let alone = Place::Away(Away {
            shown: false,
            ..away
        });
        // The copy takes the place of what it is a copy of: nobody can write in between.
        self.shadow.drop_pages(run.shadow, run.len);
        let mut done = 0;
        while done < run.len {
            let (to, from) = (run.shadow + done, run.start + done);
            let progress = self.shadow.keep(to, from, run.len - done);
            self.blocks.set(from, progress.bytes, alone);
            done += progress.bytes;
            match progress.stopped {
                None => {}
                Some(Errno::AGAIN) => {
                    self.read_events();
                    std::thread::yield_now();
                }
                Some(_) => return false,
            }
        }
        true
    }

    /// What the program had to read only is its own again, at `home`.
    pub fn own_again(&mut self, home: u64, run: &Run) {
        // Moved or unmapped meanwhile, it is not guarded any more.
        let _ = self.uffd.unguard(home, run.len);
        self.shadow.drop_pages(run.shadow, run.len);
    }
}
