// SPDX-License-Identifier: Apache-2.0
//! What the host does while ports are at work.

use godwit::regs;
use godwit_card::Device;
use rand::Rng;
use rand::seq::IndexedRandom;

use super::history::{LINE, Look};
use super::pages::{Frame, Frames, LINES, PAGE};
use super::take::maintain;
use super::{Finding, Found, InPlace, Mistake, Unplugged};
use crate::Random;
use crate::registers::{fsc, write_context};

/// Lines that a clean may reach beyond those that are looked at.
const BEYOND: usize = 200;
/// Cycles that a context is away, at most.
const AWAY_CYCLES: u64 = 2000;

impl InPlace {
    /// One random thing.
    pub(super) fn change(&mut self, random: &mut Random) -> Found {
        match random.random_range(0..24) {
            0..5 => self.read(random),
            5..10 => self.write(random),
            10 => {
                self.counts.cleans += 1;
                self.clean_everything(random.random_bool(0.5))
            }
            11..16 => self.migrate(random),
            16..19 => self.borrow(random),
            19 => self.discard(random),
            20 => self.end(random),
            21..23 => match self.unplugged {
                None => self.unplug(random),
                Some(_) => self.plug(random),
            },
            _ => {
                let waiting = (0..self.pages.len()).find(|number| !self.pages[*number].mapped);
                if let Some(number) = waiting {
                    self.map(number, random)?;
                }
                Ok(Ok(()))
            }
        }
    }

    /// A mapped page, mostly a busy one, of host memory if asked for.
    fn pick(&self, host: bool, random: &mut Random) -> Option<usize> {
        let fits = |number: &usize| {
            let page = &self.pages[*number];
            page.mapped && !self.is_away(*number) && (page.frame.is_host() || !host)
        };
        let busy = self.busy.iter().flatten().map(|(page, _)| *page);
        let list: Vec<usize> = if random.random_ratio(3, 4) {
            busy.filter(fits).collect()
        } else {
            (0..self.pages.len()).filter(fits).collect()
        };
        list.choose(random).copied()
    }

    /// The host reads some lines in place, behind a clean and its fence.
    fn read(&mut self, random: &mut Random) -> Found {
        let Some(number) = self.pick(true, random) else {
            return Ok(Ok(()));
        };
        let frame = self.pages[number].frame;
        let first = random.random_range(0..LINES);
        let count = random.random_range(1..=LINES - first);
        let bytes = first * LINE..(first + count) * LINE;
        let beyond = if random.random_ratio(1, 4) {
            random.random_range(0..BEYOND)
        } else {
            0
        };
        let drop = random.random_ratio(1, 3);
        let since = self.now()?;
        if self.mistake != Some(Mistake::ReadWithoutClean) {
            let pa = frame.pa() + bytes.start as u64;
            let commands = maintain(pa, count + beyond, true, drop);
            self.queue.put(&mut self.card, &commands)?;
        }
        let early = self.frames.read(frame, bytes.clone())?;
        let until = match self.fence()? {
            Ok(now) => now,
            Err(what) => return Ok(Err(what)),
        };
        self.cleaned(number, first..first + count, since);
        let found = match self.mistake {
            Some(Mistake::ReadBeforeFence) => early,
            _ => self.frames.read(frame, bytes.clone())?,
        };
        self.findings.push(Finding {
            page: number,
            at: bytes.start,
            bytes: found,
            look: Look {
                port: false,
                since,
                until,
            },
            after: "behind a clean and its fence",
        });
        self.counts.host_reads += 1;
        Ok(Ok(()))
    }

    /// The host writes some of its own lines in place, and drops what the card has of them.
    fn write(&mut self, random: &mut Random) -> Found {
        let Some(number) = self.pick(true, random) else {
            return Ok(Ok(()));
        };
        let page = &self.pages[number];
        let frame = page.frame;
        let host = page.host_lines.start * LINE..page.host_lines.end * LINE;
        if host.is_empty() {
            return Ok(Ok(()));
        }
        let at = random.random_range(host.clone());
        let mut bytes = vec![0; random.random_range(1..=host.end - at)];
        random.fill(&mut bytes[..]);
        let begin = self.now()?;
        self.frames.write(frame, at, &bytes)?;
        let lines = at / LINE..(at + bytes.len()).div_ceil(LINE);
        if self.mistake != Some(Mistake::WriteWithoutDrop) {
            let wrong = self.mistake == Some(Mistake::DropNextLine);
            let clean = !wrong && random.random_bool(0.3);
            let count = lines.len() + usize::from(wrong);
            let pa = frame.pa() + (lines.start * LINE) as u64;
            let commands = maintain(pa, count, clean, true);
            self.queue.put(&mut self.card, &commands)?;
        }
        let end = match self.fence()? {
            Ok(now) => now,
            Err(what) => return Ok(Err(what)),
        };
        self.note(number, at, &bytes, (begin, end));
        self.counts.host_writes += 1;
        Ok(Ok(()))
    }

    /// Pages go to another frame, mostly of the other memory, with what is in them.
    fn migrate(&mut self, random: &mut Random) -> Found {
        let mut pages: Vec<usize> = (0..random.random_range(1..=3))
            .filter_map(|_| self.pick(false, random))
            .collect();
        pages.sort_unstable();
        pages.dedup();
        let mut early = Vec::new();
        for number in &pages {
            early.push(self.frames.page(self.pages[*number].frame)?);
        }
        let now = match self.take(&pages, true, None, random)? {
            Ok(now) => now,
            Err(what) => return Ok(Err(what)),
        };
        for (number, early) in pages.into_iter().zip(early) {
            self.look(number, now, false, "taking a page to the other memory,")?;
            let from = self.pages[number].frame;
            let host = from.is_host() == random.random_ratio(1, 4);
            let Some(to) = self.frames.take(host, random) else {
                self.map(number, random)?;
                continue;
            };
            let content = match self.mistake {
                Some(Mistake::CopyBeforeFence) => early,
                _ => self.frames.page(from)?,
            };
            self.frames.write(to, 0, &content)?;
            self.frames.release(from, random)?;
            self.pages[number].frame = to;
            self.map(number, random)?;
            self.moves += 1;
        }
        Ok(Ok(()))
    }

    /// The host takes a page away, reads it, writes some of it, and gives it back now or later.
    fn borrow(&mut self, random: &mut Random) -> Found {
        let Some(number) = self.pick(false, random) else {
            return Ok(Ok(()));
        };
        let now = match self.take(&[number], true, None, random)? {
            Ok(now) => now,
            Err(what) => return Ok(Err(what)),
        };
        self.look(number, now, false, "taking a page away,")?;
        let at = random.random_range(0..PAGE as usize);
        let mut bytes = vec![0; random.random_range(1..=PAGE as usize - at)];
        random.fill(&mut bytes[..]);
        self.frames.write(self.pages[number].frame, at, &bytes)?;
        self.note(number, at, &bytes, (now, now));
        self.counts.borrows += 1;
        if random.random_ratio(3, 4) {
            self.map(number, random)?;
        }
        Ok(Ok(()))
    }

    /// A page's lines are dropped and not cleaned: what was written since the latest clean may be lost, and does not come back.
    fn discard(&mut self, random: &mut Random) -> Found {
        let Some(number) = self.pick(true, random) else {
            return Ok(Ok(()));
        };
        let now = match self.take(&[number], false, None, random)? {
            Ok(now) => now,
            Err(what) => return Ok(Err(what)),
        };
        self.look(number, now, true, "dropping a page without a clean,")?;
        self.counts.discards += 1;
        self.map(number, random)?;
        Ok(Ok(()))
    }

    /// A context is taken away with all its pages; another process gets it, with pages of other frames.
    fn end(&mut self, random: &mut Random) -> Found {
        let number = random.random_range(0..self.of.len());
        if let Some(away) = self.unplugged
            && self.of[number].iter().any(|(page, _)| *page == away.page)
            && let Err(what) = self.plug(random)?
        {
            return Ok(Err(what));
        }
        let of = self.of[number].iter().map(|(page, _)| *page);
        let pages: Vec<usize> = of.filter(|page| self.pages[*page].mapped).collect();
        let now = match self.take(&pages, true, Some(number), random)? {
            Ok(now) => now,
            Err(what) => return Ok(Err(what)),
        };
        for page in &pages {
            self.look(*page, now, false, "behind a context's end,")?;
            let frame = self.pages[*page].frame;
            if let Some(other) = self.frames.take(frame.is_host(), random) {
                self.frames.release(frame, random)?;
                self.pages[*page].frame = other;
            }
            self.fill(*page, random)?;
        }
        self.card.run(random.random_range(0..=AWAY_CYCLES), 0)?;
        write_context(&mut self.card, number, fsc(&self.tables[number]))?;
        for page in pages {
            self.map(page, random)?;
        }
        self.counts.ends += 1;
        Ok(Ok(()))
    }

    /// The link fails for one page.
    fn unplug(&mut self, random: &mut Random) -> Found {
        let Some(page) = self.pick(true, random) else {
            return Ok(Ok(()));
        };
        let Frame::Host(number) = self.pages[page].frame else {
            return Ok(Ok(()));
        };
        let lost_before = self.card.reg_read(regs::CACHE_COUNTERS_LOST)?;
        let now = self.now()?;
        Frames::unplug(&mut self.card, number)?;
        self.pages[page].unplugged.push(now..u64::MAX);
        self.unplugged = Some(Unplugged {
            page,
            reported: false,
            lost_before,
        });
        self.counts.unplugged += 1;
        Ok(Ok(()))
    }

    /// The page that the link fails for is taken away, and the link made whole. What was lost was said.
    pub(super) fn plug(&mut self, random: &mut Random) -> Found {
        let Some(Unplugged { page, .. }) = self.unplugged else {
            return Ok(Ok(()));
        };
        let now = match self.take(&[page], true, None, random)? {
            Ok(now) => now,
            Err(what) => return Ok(Err(what)),
        };
        let Some(away) = self.unplugged.take() else {
            unreachable!("nothing else makes it whole");
        };
        let lost = self.card.reg_read(regs::CACHE_COUNTERS_LOST)? != away.lost_before;
        if lost != away.reported {
            return Ok(Err(format!(
                "lines of page {page} were lost: {lost}; an acknowledge said so: {}",
                away.reported
            )));
        }
        let known = lost && self.mistake != Some(Mistake::IgnoreLoss);
        self.look(page, now, known, "where the link had failed,")?;
        if let Frame::Host(number) = self.pages[page].frame {
            self.frames.plug(&mut self.card, number)?;
        }
        if let Some(away) = self.pages[page].unplugged.last_mut() {
            away.end = now;
        }
        self.map(page, random).map(Ok)
    }
}
