// SPDX-License-Identifier: Apache-2.0
//! Taking pages away from the card, and what the cache is told.

use godwit::command::{Command, drop_ranges, flush_ranges};
use godwit::{layout, regs};
use godwit_core::{Invalidation, PageSize, Perm};
use rand::Rng;

use super::history::{LINE, Look};
use super::pages::{LINES, PAGE, Page, WriteOf};
use super::{CONTEXTS, Finding, Found, InPlace, Mistake};
use crate::registers::write_context;
use crate::{CosimError, Random};

/// The cycle in which something was seen, or a difference.
pub(super) type Seen = Result<Result<u64, String>, CosimError>;

/// A command for lines of the page cache from a physical address on.
pub(super) fn maintain(pa: u64, lines: usize, clean: bool, drop: bool) -> Vec<Command> {
    let commands = flush_ranges(&[(pa, (lines * LINE) as u64)]);
    commands.into_iter().map(|c| only(c, clean, drop)).collect()
}

/// Of a flush, which cleans and drops, what is asked for.
fn only(flush: Command, clean: bool, drop: bool) -> Command {
    let Command([mut head, place]) = flush;
    for (mask, wanted) in [
        (layout::CACHE_RANGE_CLEAN_MASK, clean),
        (layout::CACHE_RANGE_DROP_MASK, drop),
    ] {
        head &= if wanted { u64::MAX } else { !mask };
    }
    Command([head, place])
}

impl InPlace {
    /// A fence behind all commands. While a window is away, lines that are lost may stop the queue.
    pub(super) fn fence(&mut self) -> Seen {
        let mut seen = self.queue.fence(&mut self.card)?;
        loop {
            match (seen, &mut self.unplugged) {
                (Ok(now), _) => {
                    self.fences += 1;
                    return Ok(Ok(now));
                }
                (Err(errors), Some(away)) if errors == regs::CQCSR_CQMF_MASK => {
                    away.reported = true;
                    seen = self.queue.go_on(&mut self.card, errors)?;
                }
                (Err(errors), _) => {
                    return Ok(Err(format!(
                        "the command queue stands: cqcsr has {errors:#x}"
                    )));
                }
            }
        }
    }

    /// Cleans, and may drop, all that the cache has.
    pub(super) fn clean_everything(&mut self, drop: bool) -> Found {
        let since = self.now()?;
        let command = only(Command::flush_everything(), true, drop);
        self.queue.put(&mut self.card, &[command])?;
        if let Err(what) = self.fence()? {
            return Ok(Err(what));
        }
        for number in 0..self.pages.len() {
            self.cleaned(number, 0..LINES, since);
        }
        Ok(Ok(()))
    }

    /// What was answered before `since` is in host memory, if the link takes it.
    pub(super) fn cleaned(&mut self, page: usize, lines: std::ops::Range<usize>, since: u64) {
        if !self.is_away(page) {
            self.pages[page].cleaned[lines].fill(since);
        }
    }

    /// Whether its window is away.
    pub(super) fn is_away(&self, page: usize) -> bool {
        self.unplugged.is_some_and(|away| away.page == page)
    }

    /// Takes mapped pages away from all contexts: their translations go, then their lines, and when the fence is seen nobody reaches them.
    /// With `clean` all that was written there is in memory then. Of a context that ends the entry goes instead.
    pub(super) fn take(
        &mut self,
        pages: &[usize],
        clean: bool,
        ends: Option<usize>,
        random: &mut Random,
    ) -> Seen {
        let now = self.now()?;
        let mut gone: Vec<Invalidation> = (0..CONTEXTS).map(|_| Invalidation::new()).collect();
        let of = |page: &Page| -> Vec<(usize, u64)> {
            page.maps.iter().map(|map| (map.space, map.va)).collect()
        };
        for number in pages {
            let page = &mut self.pages[*number];
            page.mapped = false;
            for map in &mut page.maps {
                map.note(None, now);
            }
            for (space, va) in of(page) {
                if ends != Some(space) {
                    self.tables[space].unmap(va, PAGE, &mut gone[space])?;
                }
            }
        }
        let keeps = |mistake| self.mistake == Some(mistake);
        let mut commands = Vec::new();
        if !keeps(Mistake::KeepTranslations) {
            for (space, gone) in gone.iter().enumerate() {
                let ranges = gone.ranges().iter().map(|range| (range.va, range.size));
                commands.extend(drop_ranges(space as u32, ranges));
            }
        }
        let mut flush = Vec::new();
        for number in pages {
            let frame = self.pages[*number].frame;
            if frame.is_host() && !keeps(Mistake::SkipFlush) {
                let cut = random.random_range(0..LINES);
                let drop = !keeps(Mistake::KeepLines);
                if cut > 0 {
                    flush.extend(maintain(frame.pa(), cut, clean, drop));
                }
                let rest = frame.pa() + (cut * LINE) as u64;
                flush.extend(maintain(rest, LINES - cut, clean, drop));
            }
        }
        let (first, then) = if keeps(Mistake::FlushFirst) {
            (flush, commands)
        } else {
            (commands, flush)
        };
        let commands = [first, then].concat();
        if let Some(number) = ends.filter(|_| !keeps(Mistake::KeepContext)) {
            write_context(&mut self.card, number, 0)?;
        }
        self.queue.put(&mut self.card, &commands)?;
        let now = match self.fence()? {
            Ok(now) => now,
            Err(what) => return Ok(Err(what)),
        };
        for number in pages {
            let page = &mut self.pages[*number];
            for map in &mut page.maps {
                map.over(now);
            }
            for (space, va) in of(page) {
                if ends == Some(space) {
                    self.tables[space].unmap(va, PAGE, &mut gone[space])?;
                }
            }
        }
        for table in &mut self.tables {
            table.reclaim();
        }
        Ok(Ok(now))
    }

    /// The host looks at a page that was taken away, when the fence was seen. If lines were lost, each is as it was at its latest clean or newer,
    /// and is that from now on.
    pub(super) fn look(
        &mut self,
        number: usize,
        now: u64,
        lost: bool,
        after: &'static str,
    ) -> Result<(), CosimError> {
        let bytes = self.frames.page(self.pages[number].frame)?;
        for (line, found) in bytes.chunks_exact(LINE).enumerate() {
            let since = if lost {
                self.pages[number].cleaned[line]
            } else {
                // What the host writes there next, in the same cycle, is not to be found yet.
                now
            };
            self.findings.push(Finding {
                page: number,
                at: line * LINE,
                bytes: found.to_vec(),
                look: Look {
                    port: false,
                    since,
                    until: now,
                },
                after,
            });
        }
        if lost {
            self.note(number, 0, &bytes, (now, now));
        }
        self.pages[number].cleaned.fill(now);
        Ok(())
    }

    /// A write of the host.
    pub(super) fn note(&mut self, number: usize, at: usize, bytes: &[u8], times: (u64, u64)) {
        self.order += 1;
        self.pages[number].wrote(&WriteOf::host(self.order, times), at, bytes);
    }

    /// The host writes all of a page that is mapped nowhere.
    pub(super) fn fill(&mut self, number: usize, random: &mut Random) -> Result<(), CosimError> {
        let mut bytes = vec![0; PAGE as usize];
        random.fill(&mut bytes[..]);
        self.frames.write(self.pages[number].frame, 0, &bytes)?;
        let now = self.now()?;
        self.note(number, 0, &bytes, (now, now));
        self.pages[number].cleaned.fill(now);
        Ok(())
    }

    /// Maps a page that is mapped nowhere.
    pub(super) fn map(&mut self, number: usize, random: &mut Random) -> Result<(), CosimError> {
        let now = self.now()?;
        let page = &mut self.pages[number];
        page.mapped = true;
        for map in &mut page.maps {
            let perm = if random.random_ratio(7, 8) {
                Perm::ReadWrite
            } else {
                Perm::Read
            };
            let table = &mut self.tables[map.space];
            table.map(map.va, page.frame.pa(), PAGE, perm, PageSize::SIZE_4K)?;
            map.note(Some(perm), now);
        }
        Ok(())
    }
}
