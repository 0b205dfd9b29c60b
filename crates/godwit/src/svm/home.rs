// SPDX-License-Identifier: Apache-2.0
//! Pages that come home, or whose content nobody wants any more.

use rustix::io::Errno;

use super::blocks::{Away, Place, Run};
use super::clean::split;
use super::log::Migration;
use super::owner::{Leaving, Left};
use super::pages::Pages;
use super::report::Cause;
use super::{OwnerId, PAGE};

impl Pages {
    /// Brings runs that are away home.
    pub fn retrieve(&mut self, runs: &[Run], cause: Cause) {
        self.retrieve_to(runs, 0, cause);
    }

    /// The same, to addresses that are so much higher by now.
    pub fn retrieve_to(&mut self, runs: &[Run], shift: u64, cause: Cause) {
        for runs in runs.chunk_by(|a, b| owner_of(a) == owner_of(b)) {
            let Some(owner) = runs.first().and_then(owner_of) else {
                continue;
            };
            self.report.groups += 1;
            self.retrieve_from(owner, runs, shift, cause);
        }
        self.sweep();
    }

    fn retrieve_from(&mut self, owner: OwnerId, runs: &[Run], shift: u64, cause: Cause) {
        let mut leaving = Vec::new();
        for run in runs {
            let to = match run.place {
                // What the card wrote there is there.
                Place::Away(away) if away.in_place => None,
                Place::Away(away) if away.is_newer() => {
                    if !away.held {
                        self.make_room(run.shadow, run.len);
                    }
                    Some(run.shadow)
                }
                _ => None,
            };
            // Another card wrote what is newer.
            let unless_clean = matches!(run.place, Place::Away(away) if !away.newer);
            let written = matches!(run.place, Place::Away(away) if away.in_place && away.writable);
            leaving.push(Leaving {
                va: run.start,
                len: run.len,
                to,
                written,
                unless_clean,
            });
        }
        let counted = runs.iter().any(|run| self.wants_lines(owner, run));
        let left = match self.owner(owner) {
            Ok(owner) => owner.withdraw(&leaving, counted),
            Err(_) => Left::default(),
        };
        self.have_crossed(&left.crossed);
        for run in runs {
            for (start, len, is_clean) in split(run.start, run.len, &left.clean) {
                self.comes_home(run.part(start, len), is_clean, shift, cause);
            }
        }
    }

    /// Pages that nothing on their card reaches any more, whose bytes are in the shadow, are the program's again.
    pub(super) fn is_home(&mut self, run: Run, shift: u64, cause: Cause) {
        let Place::Away(away) = run.place else {
            return;
        };
        self.log_home(&run, away, cause, away.is_newer() && !away.in_place);
        self.blocks.set(run.start, run.len, Place::Home);
        self.note_left(away.owner, run.start, run.len);
        self.stay_ends(away.owner, run.start, run.len, away.writable, cause);
        // First of all, for a thread may wait for them. What the card was not to write and was never touched still is not.
        let home = run.start.wrapping_add(shift);
        if away.shown {
            self.own_again(home, &run);
        } else if away.held || away.is_newer() {
            self.restore(home, run.shadow, run.len);
        }
        if let Ok(owner) = self.owner(away.owner) {
            owner.release(run.start, run.len);
            self.released = true;
        }
    }

    pub(super) fn log_home(&mut self, run: &Run, away: Away, cause: Cause, copied: bool) {
        let (memory, time_ps) = self.whose(away.owner);
        let migration = Migration {
            time_ps,
            to_device: false,
            cause,
            address: run.start,
            bytes: run.len,
            copied,
        };
        self.log.add(memory, migration);
    }

    /// Makes pages in the shadow for bytes of pages that were never touched.
    pub(super) fn make_room(&mut self, shadow: u64, len: u64) {
        let mut done = 0;
        while done < len {
            let progress = self.shadow.fill(shadow + done, len - done);
            done += progress.bytes;
            match progress.stopped {
                None => {}
                Some(Errno::AGAIN) => std::thread::yield_now(),
                // There is one already.
                Some(_) if progress.bytes == 0 => done += PAGE,
                Some(_) => {}
            }
        }
    }

    /// Gives the program the pages back that the shadow has.
    pub fn restore(&mut self, start: u64, shadow: u64, len: u64) {
        if !self.put(start, shadow, len) {
            // What was copied, or not wanted, is still there.
            self.shadow.drop_pages(shadow, len);
        }
    }

    /// Puts pages at `from` into the program: the pages themselves, or copies where that is refused. What is there already is newer,
    /// and stays; where no memory is any more, nothing is put. Whether all of them moved.
    fn put(&mut self, start: u64, from: u64, len: u64) -> bool {
        let (mut done, mut moved) = (0, 0);
        let (mut step, mut moving) = (len, true);
        while done < len {
            let (to, source, bytes) = (start + done, from + done, step.min(len - done));
            let progress = if moving {
                self.uffd.relocate(to, source, bytes)
            } else {
                self.uffd.copy(to, source, bytes)
            };
            done += progress.bytes;
            if moving {
                moved += progress.bytes;
            }
            if progress.bytes > 0 {
                step = len - done;
                moving = true;
                continue;
            }
            match progress.stopped {
                Some(Errno::AGAIN) => {
                    self.read_events();
                    std::thread::yield_now();
                }
                Some(Errno::EXIST) => {
                    done += PAGE;
                    step = len - done;
                }
                _ if bytes > PAGE => step = PAGE,
                // Not writable any more, locked meanwhile: copies can be put there.
                _ if moving => moving = false,
                _ => {
                    done += PAGE;
                    moving = true;
                }
            }
        }
        if moved == len {
            self.put_last = (start, len);
        }
        moved == len
    }

    /// Pages whose content nobody wants any more: they are home, and never touched.
    pub fn forsake(&mut self, runs: &[Run]) {
        for run in runs {
            let Place::Away(away) = run.place else {
                continue;
            };
            if let Ok(owner) = self.owner(away.owner) {
                let leaving = Leaving {
                    va: run.start,
                    len: run.len,
                    to: None,
                    written: false,
                    unless_clean: false,
                };
                owner.withdraw(&[leaving], false);
                owner.release(run.start, run.len);
            }
            self.log_home(run, away, Cause::User, false);
            if away.held {
                self.shadow.drop_pages(run.shadow, run.len);
            }
            self.blocks.set(run.start, run.len, Place::Home);
            self.note_left(away.owner, run.start, run.len);
            self.stay_ends(away.owner, run.start, run.len, false, Cause::User);
        }
        self.sweep();
    }
}

fn owner_of(run: &Run) -> Option<OwnerId> {
    match run.place {
        Place::Away(away) => Some(away.owner),
        _ => None,
    }
}
