// SPDX-License-Identifier: Apache-2.0
//! Page tables that change while traffic runs.
//!
//! Contexts have slots of every page size. Traffic goes to a few 4 KiB pages of each ("hot" ones) while slots are mapped,
//! moved, protected and unmapped, in whole or in part, and commands for what was taken away go into the queue. Pages move from
//! frame to frame with what is in them, as in a migration. For every
//! hot page its versions are kept, as the C tables had them, with two times: when a version was written, and when it was
//! over, that is when the fence behind the commands that drop it was seen to be done (at once for a version that only
//! gave something, which needs no command). An access may do what any version says that was written before the access
//! ended and was not over before it was accepted; and one that uses a version has ended before that version is over.

mod change;
mod commands;
mod history;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use godwit::pages_of;
use godwit_card::{CardError, Device, MemEvent, Memory, PortAnswers, PortBatch, Ports, SimCard};
use godwit_core::{Invalidation, PageSize, PageTable, Perm};
use rand::Rng;
use rand::seq::IndexedRandom;

use crate::check_live;
use crate::frames::{Frames, TABLE_REGION};
use crate::queue::{MAX_WAITING, Queue};
use crate::registers::{bind, fault_count, fsc, write_context};
use crate::{CosimError, Random, Report};

const PAGE: u64 = 4096;
const CONTEXTS: usize = 3;
/// Where the slots' memory begins, a multiple of the largest page used.
const FIRST_FRAME: u64 = 2 * TABLE_REGION;
/// Slots of one context: pages of 4 KiB side by side, then 64 KiB, then 2 MiB.
const SLOTS: [(PageSize, u64); 3] = [
    (PageSize::SIZE_4K, 24),
    (PageSize::SIZE_64K, 6),
    (PageSize::SIZE_2M, 2),
];
/// Traffic goes to so many pages of a slot.
const HOT_PAGES: u64 = 4;
/// Slots of a context where most of a batch happens.
const BUSY_SLOTS: usize = 2;
const DRAIN_CYCLES: u64 = 50_000_000;

/// What a page was for a while.
#[derive(Debug, Clone, Copy)]
pub struct Version {
    /// Physical page and what it allows; `None`: not mapped.
    pub page: Option<(u64, Perm)>,
    /// First cycle it can be seen in.
    pub written: u64,
    /// Last cycle in which an access that uses it can be under way.
    pub over: u64,
}

/// A naturally aligned virtual range with memory of its own while it is mapped.
struct Slot {
    va: u64,
    size: PageSize,
}

impl Slot {
    /// The pages that traffic goes to.
    fn hot(&self) -> impl Iterator<Item = u64> + use<> {
        let (va, pages) = (self.va, self.size.bytes() / PAGE);
        let step = (pages / HOT_PAGES).max(1);
        (0..pages.min(HOT_PAGES)).map(move |i| va + (i * step + i % step) * PAGE)
    }
}

struct Space {
    table: PageTable<Frames>,
    slots: Vec<Slot>,
    /// Where most of a batch happens, so that what is cached is met again, also while it is taken away.
    busy: [usize; BUSY_SLOTS],
}

impl Space {
    /// A slot for an access or a change.
    fn pick(&self, random: &mut Random) -> usize {
        if random.random_ratio(4, 5) {
            self.busy[random.random_range(0..BUSY_SLOTS)]
        } else {
            random.random_range(0..self.slots.len())
        }
    }
}

/// One access of a batch; its token is its place in the plan.
#[derive(Debug)]
pub struct Access {
    pub port: u32,
    pub space: usize,
    pub write: bool,
    pub id: u8,
    pub va: u64,
    pub beats: u16,
    pub data: Vec<u8>,
}

/// The card, its contexts, and what is known of every page.
pub struct Live {
    card: SimCard,
    memory: Arc<Memory>,
    spaces: Vec<Space>,
    ports: usize,
    id_bits: u32,
    /// By context and virtual page.
    pub versions: HashMap<(usize, u64), Vec<Version>>,
    /// Content of every 64-byte line that was written.
    pub lines: HashMap<u64, [u8; 64]>,
    /// Pages that went from one frame to another in this batch, in order.
    moves: Vec<(u64, u64)>,
    /// Lines written in this batch.
    pub written: HashSet<u64>,
    next_frame: u64,
    /// How long the last batch took.
    batch_cycles: u64,
    memory_bytes: u64,
    queue: Queue,
    /// Pages with versions that these commands end.
    ending: HashSet<(usize, u64)>,
    /// Tables changed, fences seen.
    counts: (u64, u64),
    /// Pages moved.
    moved: u64,
}

impl Live {
    pub fn new(mut card: SimCard, random: &mut Random) -> Result<Self, CosimError> {
        let config = &card.description().config;
        let (ports, id_bits) = (config.card.external_ports as usize, config.axi.id_width);
        let napot = pages_of(card.description());
        let memory = card.memory().clone();
        let queue = Queue::new(&mut card)?;
        let mut live = Self {
            memory_bytes: memory.size(),
            spaces: Vec::new(),
            ports,
            id_bits,
            versions: HashMap::new(),
            lines: HashMap::new(),
            moves: Vec::new(),
            written: HashSet::new(),
            next_frame: FIRST_FRAME,
            batch_cycles: 1000,
            queue,
            ending: HashSet::new(),
            counts: (0, 0),
            moved: 0,
            card,
            memory,
        };
        let frames = Frames::new(live.memory.clone());
        for number in 0..CONTEXTS {
            let table = PageTable::with_pages(frames.clone(), godwit_core::Mode::Sv39, napot)?;
            let mut va = random.random_range(1..64u64) << 30;
            if number == 0 {
                // The upper half of the address space.
                va = va.wrapping_sub(1 << 38);
            }
            let mut slots = Vec::new();
            for (size, count) in SLOTS {
                va = va.next_multiple_of(size.bytes());
                slots.extend((0..count).map(|i| Slot {
                    va: va + i * size.bytes(),
                    size,
                }));
                va += count * size.bytes();
            }
            live.spaces.push(Space {
                table,
                slots,
                busy: [0; BUSY_SLOTS],
            });
            let entry = fsc(&live.spaces[number].table);
            write_context(&mut live.card, number, entry)?;
            for slot in 0..live.spaces[number].slots.len() {
                live.map(number, slot, random)?;
                live.note(number, slot, &Invalidation::new())?;
            }
        }
        for port in 0..ports {
            bind(&mut live.card, port as u32, Some(port % CONTEXTS))?;
        }
        Ok(live)
    }

    /// Sends a batch, changes tables while it runs, and checks everything.
    pub fn batch(
        &mut self,
        count: usize,
        random: &mut Random,
        report: &mut Report,
    ) -> Result<Result<(), String>, CosimError> {
        for space in &mut self.spaces {
            let slots = space.slots.len();
            space.busy = [(); BUSY_SLOTS].map(|()| random.random_range(0..slots));
        }
        let mut requests = PortBatch::new();
        let plan: Vec<Access> = (0..count)
            .map(|token| self.access(token as u64, random, &mut requests))
            .collect();
        self.card.record_events(true)?;
        self.card.submit(&requests)?;
        let begin = self.card.stats()?.cycles;
        let changes = (count / 48).max(1) as u64;
        for _ in 0..changes {
            // Spread over as many cycles as the batch before has taken.
            let gap = 2 * self.batch_cycles / changes;
            self.card.run(random.random_range(0..=gap), 0)?;
            if let Err(what) = self.change(random)? {
                return Ok(Err(what));
            }
            if self.queue.waiting() > MAX_WAITING || random.random_bool(0.6) {
                if let Err(what) = self.fence()? {
                    return Ok(Err(what));
                }
            }
        }
        if let Err(what) = self.fence()? {
            return Ok(Err(what));
        }
        self.card.drain(DRAIN_CYCLES, 0)?;
        self.batch_cycles = self.card.stats()?.cycles - begin;
        let mut answers = PortAnswers::new();
        self.card.poll(&mut answers)?;
        let events: Vec<MemEvent> = self.card.take_events()?;
        let faults = match check_live::accesses(self, &plan, &answers, &events, self.ports, report)
        {
            Ok(faults) => faults,
            Err(what) => return Ok(Err(what)),
        };
        self.carry();
        if let Err(what) = self.compare_memory()? {
            return Ok(Err(what));
        }
        self.check_faults(faults)
    }

    /// One random access to a hot page: reads of its lower half, writes of lines of the upper half that only this port
    /// writes.
    fn access(&self, token: u64, random: &mut Random, requests: &mut PortBatch) -> Access {
        let port = random.random_range(0..self.ports);
        let space = port % CONTEXTS;
        let id = random.random_range(0..1u8 << self.id_bits);
        let here = &self.spaces[space];
        let slot = &here.slots[here.pick(random)];
        let pages: Vec<u64> = slot.hot().collect();
        let page = *pages.choose(random).unwrap_or(&slot.va);
        let write = random.random_bool(0.4);
        let mut access = Access {
            port: port as u32,
            space,
            write,
            id,
            va: page,
            beats: 1,
            data: Vec::new(),
        };
        if write {
            let line = 32 + random.random_range(0..32 / self.ports as u64) * self.ports as u64;
            access.va += (line + port as u64) * 64;
            access.data = vec![0; 64];
            random.fill(&mut access.data[..]);
            requests.write(access.port, token, id, access.va, &access.data, 6);
        } else {
            access.beats = random.random_range(1..=8);
            access.va += random.random_range(0..=32 - u64::from(access.beats)) * 64;
            requests.read(access.port, token, id, access.va, access.beats.into(), 6);
        }
        access
    }

    /// What was written before a page moved is where the page is now, if it was not written there again.
    fn carry(&mut self) {
        let written = std::mem::take(&mut self.written);
        self.moved += self.moves.len() as u64;
        for (from, to) in std::mem::take(&mut self.moves) {
            for at in (0..PAGE).step_by(64) {
                if written.contains(&(to + at)) {
                    continue;
                }
                if let Some(line) = self.lines.get(&(from + at)).copied() {
                    self.lines.insert(to + at, line);
                }
            }
        }
    }

    /// Memory holds what was written; then only the present version of each page matters.
    fn compare_memory(&mut self) -> Result<Result<(), String>, CardError> {
        let mut found = [0; 64];
        for (&at, line) in &self.lines {
            self.memory.read(at, &mut found)?;
            if found != *line {
                return Ok(Err(format!(
                    "device memory at {at:#x} is not what was written"
                )));
            }
        }
        let used: HashSet<u64> = self
            .versions
            .values()
            .filter_map(|versions| versions.last()?.page)
            .map(|(pa, _)| pa)
            .collect();
        self.lines
            .retain(|at, _| used.contains(&(at / PAGE * PAGE)));
        for versions in self.versions.values_mut() {
            versions.drain(..versions.len() - 1);
        }
        Ok(Ok(()))
    }

    /// The card counted as many faults as there were error responses.
    fn check_faults(&mut self, expected: u64) -> Result<Result<(), String>, CosimError> {
        let counted = fault_count(&mut self.card)?;
        if counted != expected {
            return Ok(Err(format!(
                "{expected} accesses were refused, the card counted {counted}"
            )));
        }
        Ok(Ok(()))
    }

    /// Adds what was done to the report, and checks the tables' structure.
    pub fn finish(&mut self, report: &mut Report) -> Result<(), CosimError> {
        for space in &self.spaces {
            space.table.check()?;
        }
        let stats = self.card.stats()?;
        report.cycles = stats.cycles;
        report.pte_reads = stats.pt_reads;
        (report.changes, report.invalidations) = self.counts;
        report.moves = self.moved;
        report.by_page_kib = self.page_sizes()?;
        Ok(())
    }

    /// Hot pages by the size of the page they are in, at the end.
    fn page_sizes(&self) -> Result<BTreeMap<u64, u64>, CosimError> {
        let mut sizes = BTreeMap::new();
        for (number, va) in self.versions.keys() {
            if let Ok(page) = self.spaces[*number].table.lookup(*va) {
                *sizes.entry(page.size.bytes() >> 10).or_default() += 1;
            }
        }
        Ok(sizes)
    }
}
