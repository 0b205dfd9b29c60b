// SPDX-License-Identifier: Apache-2.0
//! Memory of the host in place, behind a page cache.
//!
//! Pages of several contexts are in host memory or in the card's, and move between them, while ports read and write them and the host does
//! what the contract of coherence lets it do: it reads behind a clean and its fence, it writes lines of its own and drops them, it
//! takes pages away, copies them, ends contexts, and lets the link fail. The oracle holds the bytes of both memories: of every byte
//! all writes with two times, when it may be seen first and when it must be seen ([`history`]). So whatever a port or the host
//! finds is what was written last, or one of those that were under way; nothing is lost, nothing comes back. What no page is in
//! must stay as it is.

mod access;
mod check;
mod history;
mod host;
mod mistake;
mod pages;
mod take;

use godwit::regs;
use godwit_card::{Device, PortAnswers, PortBatch, Ports, SimCard};
use godwit_core::{Mode, PageTable};
use rand::Rng;
use rand::seq::IndexedRandom;

use self::access::Access;
use self::history::{LINE, Look};
pub use self::mistake::Mistake;
use self::pages::{Frames, LINES, Map, PAGE, Page};
use crate::frames;
use crate::queue::Queue;
use crate::registers::{bind, fault_count, fsc, write_context};
use crate::{CosimError, InPlaceReport, Random, Report};

const CONTEXTS: usize = 3;
/// Pages of one context alone, and of each two of them.
const OWN_PAGES: usize = 8;
const SHARED_PAGES: usize = 2;
/// Frames of either memory: more than pages, so that one that was left is not taken again at once.
const FRAMES: usize = 40;
/// Pages of a context where most of a batch happens; together they are often more than the cache holds.
const BUSY: usize = 2;
/// Lines that the host writes of a mapped page, at most.
const HOST_LINES: usize = 16;
/// Accesses for each thing that the host does.
const ACCESSES_A_CHANGE: usize = 48;
const DRAIN_CYCLES: u64 = 50_000_000;

/// What a step finds: nothing, or a difference.
type Found = Result<Result<(), String>, CosimError>;

/// What the host has found in a page.
struct Finding {
    page: usize,
    at: usize,
    bytes: Vec<u8>,
    look: Look,
    after: &'static str,
}

/// The page whose window is away, and what of it was said to be lost.
#[derive(Clone, Copy)]
struct Unplugged {
    page: usize,
    reported: bool,
    lost_before: u32,
}

/// The card, its contexts, and what is known of every byte.
pub struct InPlace {
    card: SimCard,
    queue: Queue,
    frames: Frames,
    tables: Vec<PageTable<frames::Frames>>,
    pages: Vec<Page>,
    /// Pages of each context with the place among their maps; and those where most of a batch happens.
    of: Vec<Vec<(usize, usize)>>,
    busy: Vec<Vec<(usize, usize)>>,
    /// Of each port, if the cache reads ahead: the page of its context and the line of it where it goes on reading in order.
    walks: Vec<(usize, usize)>,
    ports: usize,
    id_bits: u32,
    /// What the host has found, held against what the ports have written when all is answered.
    findings: Vec<Finding>,
    unplugged: Option<Unplugged>,
    /// Order of writes of the host.
    order: u64,
    batch_cycles: u64,
    mistake: Option<Mistake>,
    fences: u64,
    changes: u64,
    moves: u64,
    counts: InPlaceReport,
}

impl InPlace {
    pub fn new(
        mut card: SimCard,
        device: &str,
        mistake: Option<Mistake>,
        random: &mut Random,
    ) -> Result<Self, CosimError> {
        let config = &card.description().config;
        let (ports, id_bits) = (config.card.external_ports as usize, config.axi.id_width);
        if ports == 0 || config.page_cache.pages == 0 || !card.description().kernels.is_empty() {
            return Err(CosimError::Unsuitable {
                device: device.to_owned(),
                what: "it needs a page cache, external ports and no kernels: \
                       `godwit card build hw/test/cosim/cosim-cache.toml` has them"
                    .to_owned(),
            });
        }
        let walks = if config.page_cache.ahead > 0 {
            vec![(0, 0); ports]
        } else {
            Vec::new()
        };
        let table_frames = frames::Frames::new(card.memory().clone());
        let queue = Queue::new(&mut card)?;
        let frames = Frames::new(&mut card, FRAMES, random)?;
        let mut world = Self {
            card,
            queue,
            frames,
            tables: Vec::new(),
            pages: Vec::new(),
            of: vec![Vec::new(); CONTEXTS],
            busy: vec![Vec::new(); CONTEXTS],
            walks,
            ports,
            id_bits,
            findings: Vec::new(),
            unplugged: None,
            order: 0,
            batch_cycles: 1000,
            mistake,
            fences: 0,
            changes: 0,
            moves: 0,
            counts: InPlaceReport::default(),
        };
        for number in 0..CONTEXTS {
            let table = PageTable::new(table_frames.clone(), Mode::Sv39)?;
            write_context(&mut world.card, number, fsc(&table))?;
            world.tables.push(table);
            for _ in 0..OWN_PAGES {
                world.page(&[number], random)?;
            }
        }
        for number in 0..CONTEXTS {
            for _ in 0..SHARED_PAGES {
                world.page(&[number, (number + 1) % CONTEXTS], random)?;
            }
        }
        for port in 0..ports {
            bind(&mut world.card, port as u32, Some(port % CONTEXTS))?;
        }
        Ok(world)
    }

    /// One page more, in some memory, with something in it.
    fn page(&mut self, spaces: &[usize], random: &mut Random) -> Result<(), CosimError> {
        let number = self.pages.len();
        let Some(frame) = self.frames.take(random.random_ratio(2, 3), random) else {
            unreachable!("either memory has more frames than there are pages");
        };
        let mut maps = Vec::new();
        for space in spaces {
            // Neighbours in each context, a table's entries apart from those of another.
            let va = ((1 + *space as u64) << 30) + self.of[*space].len() as u64 * PAGE;
            self.of[*space].push((number, maps.len()));
            maps.push(Map::new(*space, va));
        }
        self.pages.push(Page::new(frame, maps));
        self.fill(number, random)?;
        self.map(number, random)
    }

    fn now(&self) -> Result<u64, CosimError> {
        Ok(self.card.stats()?.cycles)
    }

    /// Sends a batch, lets the host do this and that while it runs, and checks everything.
    pub fn batch(&mut self, count: usize, random: &mut Random, report: &mut Report) -> Found {
        for space in 0..CONTEXTS {
            let of = &self.of[space];
            self.busy[space] = (0..BUSY)
                .filter_map(|_| of.choose(random).copied())
                .collect();
        }
        for page in &mut self.pages {
            let first = random.random_range(0..LINES - HOST_LINES);
            page.host_lines = first..first + random.random_range(0..=HOST_LINES);
        }
        let mut requests = PortBatch::new();
        let plan: Vec<Access> = (0..count)
            .map(|token| self.access(token as u64, random, &mut requests))
            .collect();
        self.card.submit(&requests)?;
        let begin = self.now()?;
        let changes = (count / ACCESSES_A_CHANGE).max(1) as u64;
        for _ in 0..changes {
            // Spread over as many cycles as the batch before has taken.
            let gap = 2 * self.batch_cycles / changes;
            self.card.run(random.random_range(0..=gap), 0)?;
            self.changes += 1;
            if let Err(what) = self.change(random)? {
                return Ok(Err(what));
            }
        }
        if let Err(what) = self.plug(random)? {
            return Ok(Err(what));
        }
        self.card.drain(DRAIN_CYCLES, 0)?;
        self.batch_cycles = self.now()? - begin;
        let mut answers = PortAnswers::new();
        self.card.poll(&mut answers)?;
        let refused = match self.accesses(&plan, &answers, report) {
            Ok(refused) => refused,
            Err(what) => return Ok(Err(what)),
        };
        if let Err(what) = self.findings() {
            return Ok(Err(what));
        }
        self.add_counters()?;
        let counted = fault_count(&mut self.card)?;
        if !refused.contains(&counted) {
            return Ok(Err(format!(
                "{refused:?} accesses were refused by their tables, the card counted {counted}"
            )));
        }
        if let Err(what) = self.compare_memory()? {
            return Ok(Err(what));
        }
        for number in 0..self.pages.len() {
            if !self.pages[number].mapped {
                self.map(number, random)?;
            }
        }
        Ok(Ok(()))
    }

    /// Everything is cleaned: then both memories hold what was written, and nothing else.
    fn compare_memory(&mut self) -> Found {
        let since = self.now()?;
        if let Err(what) = self.clean_everything(false)? {
            return Ok(Err(what));
        }
        let look = Look {
            port: false,
            since,
            until: since,
        };
        for number in 0..self.pages.len() {
            let content = self.frames.page(self.pages[number].frame)?;
            let page = &mut self.pages[number];
            for (index, (line, found)) in page
                .lines
                .iter_mut()
                .zip(content.chunks_exact(LINE))
                .enumerate()
            {
                if let Err(byte) = line.check(0, found, look) {
                    return Ok(Err(format!(
                        "when all was cleaned, {:?} of page {number} held {:#04x} at {:#x}; written was {}",
                        page.frame,
                        found[byte],
                        index * LINE + byte,
                        line.of_byte(byte)
                    )));
                }
                if !line.untouched() {
                    line.set(found);
                }
            }
            page.unplugged.clear();
            for map in &mut page.maps {
                map.versions.drain(..map.versions.len() - 1);
            }
        }
        if let Some((frame, at)) = self.frames.written()? {
            return Ok(Err(format!(
                "{frame:?}, in which no page is, was written to at {at:#x}"
            )));
        }
        Ok(Ok(()))
    }

    /// Adds what the cache counted since the last time.
    fn add_counters(&mut self) -> Result<(), CosimError> {
        let sums = [
            (regs::CACHE_COUNTERS_READS, &mut self.counts.cache_reads),
            (
                regs::CACHE_COUNTERS_READ_MISSES,
                &mut self.counts.cache_read_misses,
            ),
            (regs::CACHE_COUNTERS_FILLS, &mut self.counts.fills),
            (regs::CACHE_COUNTERS_WRITEBACKS, &mut self.counts.writebacks),
            (regs::CACHE_COUNTERS_RELEASES, &mut self.counts.releases),
            (regs::CACHE_COUNTERS_LOST, &mut self.counts.lost),
            (regs::CACHE_COUNTERS_AHEADS, &mut self.counts.aheads),
            (
                regs::CACHE_COUNTERS_AHEADS_USED,
                &mut self.counts.aheads_used,
            ),
        ];
        for (register, sum) in sums {
            *sum += u64::from(self.card.reg_read(register)?);
        }
        Ok(())
    }

    /// Adds what was done to the report, and checks the tables' structure.
    pub fn finish(&mut self, report: &mut Report) -> Result<(), CosimError> {
        for table in &self.tables {
            table.check()?;
        }
        let stats = self.card.stats()?;
        report.cycles = stats.cycles;
        report.pte_reads = stats.pt_reads;
        (report.changes, report.invalidations) = (self.changes, self.fences);
        report.moves = self.moves;
        report.in_place = Some(std::mem::take(&mut self.counts));
        Ok(())
    }
}
