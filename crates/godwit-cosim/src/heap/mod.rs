// SPDX-License-Identifier: Apache-2.0
//! The heap in hardware under random commands and traffic.
//!
//! The host and a kernel malloc, realloc and free at the same time, rightly and wrongly, in several regions; the host touches and takes
//! contexts away, while ports read and write what is live, what was just freed, what is another context's, what never was, and pages
//! that the host brings when it is asked. Each answer of the heap is held against a second version of its rules ([`model`]); each access against what its page was while it was under way:
//! whether it may, or must, be refused, and that a read brings what was written to this allocation, or zero, and never anything
//! of whoever had the frame before. After each batch the tables in memory must give each live page at most one frame, of its
//! allocation's region, each frame to one page, and none to what was freed; with what the heap says is free, no frame is
//! missing. When memory is full accesses wait until something is freed.

mod calls;
mod change;
mod check;
mod full;
mod host_pages;
mod model;
mod pace;
mod regions;
mod registers;
mod tables;

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use godwit::{heap_regs, layout, regs};
use godwit_card::{
    CardError, Description, Device, Memory, NapotConfig, PortAnswers, PortBatch, Ports, SimCard,
};
use godwit_core::{Mode, PageTable};
use rand::Rng;
use rand::seq::IndexedRandom;

use self::calls::Caller;
use self::host_pages::Rings;
use self::model::{LINE, Model, PAGE};
use self::pace::Pace;
use self::regions::Place;
use self::registers::Kept;
use crate::frames::{Frames, TABLE_REGION};
use crate::registers::{bind, fault_count, fsc, write_context};
use crate::{CosimError, HeapReport, Random, Report};

const CONTEXTS: usize = 4;
/// Accesses that are sent between two commands.
const SENT_TOGETHER: usize = 48;
/// Share of small slots: of what a malloc asks for, and of where traffic goes.
const SMALL: f64 = 0.8;
/// Pages of an allocation that traffic goes to.
const HOT_PAGES: u64 = 8;
/// Allocations of a context where most of the traffic goes.
const BUSY: usize = 2;
/// Groups of accesses in which it goes to the same ones, about.
const KEPT_GROUPS: u32 = 4;
/// Fewer allocations than these at the beginning of a batch are no traffic.
const FEW: usize = 24;
/// Cycles from one command to the next, at most: accesses pile up behind them.
const GAP_CYCLES: u64 = 400;
/// An access is answered before the entries of its page are stored: two commands for a group and one for each of three tables, behind
/// those of other writers.
const STORE_CYCLES: u64 = 2_000;
/// Frames that the heap keeps at hand for tables as long as it has some: those of a walk through `tables::LEVELS` levels, whose root the
/// host made.
const KEPT: u64 = tables::LEVELS as u64 - 1;
/// Batches from one count of all frames to the next: it waits until all is cleared.
const COUNT_BATCHES: u64 = 4;
/// Entries of a root that are the host's; the heap's window is behind them.
const HOST_ENTRIES: u64 = layout::HEAP_WINDOW_FIRST >> (12 + 9 * (tables::LEVELS - 1));
/// The zero frame, behind the bitmaps.
const ZERO: u64 = TABLE_REGION + (29 << 20);
/// Rounds of commands that free whatever they like beside what is left of a context's end when a batch is over, at most: it takes long.
const BESIDE: u32 = 32;
/// Rounds of commands between two groups of accesses, at most: while they are asked what others freed is taken back.
const ROUNDS: u32 = 20;

/// One access of a batch; its token is its place in the plan.
#[derive(Debug)]
struct Access {
    context: usize,
    write: bool,
    va: u64,
    data: Vec<u8>,
}

/// What a step finds: nothing, or a difference.
type Found = Result<Result<(), String>, CosimError>;

/// The card, its contexts, and what is known of the heap.
pub struct HeapWorld {
    card: SimCard,
    memory: Arc<Memory>,
    tables: Vec<PageTable<Frames>>,
    on: [bool; CONTEXTS],
    /// So many of the first are over: nothing is allocated in their name any more.
    over: usize,
    /// The context whose end is under way, and whether it is away then.
    ending: Option<(usize, bool)>,
    ports: Vec<usize>,
    /// The first of them.
    first_port: u32,
    id_bits: u32,
    caller: Caller,
    kernel_context: usize,
    kernel_bound: bool,
    rings: Rings,
    places: Vec<Place>,
    kept: Kept,
    pace: Pace,
    model: Model,
    /// Lines that accesses of this batch use: one may write, or all read.
    lines: HashMap<(usize, u64), bool>,
    batches: u64,
    counts: HeapReport,
}

impl HeapWorld {
    pub fn new(card: SimCard, device: &str, random: &mut Random) -> Result<Self, CosimError> {
        let about = card.description();
        let config = &about.config;
        let parts = parts(about);
        let caller =
            Caller::of(about).filter(|_| config.card.external_ports > 0 && !parts.is_empty());
        let Some(caller) = caller else {
            return Err(CosimError::Unsuitable {
                device: device.to_owned(),
                what: "it needs a heap, external ports and the kernel heap_calls: \
                       `godwit card build hw/test/cosim/cosim-heap.toml` has them"
                    .to_owned(),
            });
        };
        let (ports, id_bits) = (config.card.external_ports as usize, config.axi.id_width);
        let first_port = about.kernels.len() as u32;
        let slots = u64::from(config.heap.slots);
        let orders = orders(config.walker.napot);
        let memory = card.memory().clone();
        let frames = Frames::new(memory.clone());
        let quota = random.random_range(8..=48);
        let places = regions::places(&memory, &parts, random)?;
        let mut world = Self {
            card,
            memory,
            tables: Vec::new(),
            on: [true; CONTEXTS],
            over: 0,
            ending: None,
            ports: vec![0; ports],
            first_port,
            id_bits,
            caller,
            kernel_context: 0,
            kernel_bound: false,
            rings: Rings::default(),
            places,
            kept: Kept::heap(),
            pace: Pace::default(),
            model: Model::default(),
            lines: HashMap::new(),
            batches: 0,
            counts: HeapReport::default(),
        };
        world.turn_queues_on()?;
        let all = 1
            << (registers::read(&mut world.card, heap_regs::CAPABILITIES)?
                >> heap_regs::CAPABILITIES_REGIONS_SHIFT);
        registers::set(&mut world.card, ZERO, quota)?;
        let regions = regions::begin(&mut world.card, &mut world.kept, &world.places, all)?;
        world.model = Model::new(slots, orders, quota, regions);
        for number in 0..CONTEXTS {
            let table = PageTable::new(frames.clone(), Mode::Sv48)?;
            world.tables.push(table);
            world.write_context(number)?;
        }
        Ok(world)
    }

    fn root(&self, number: usize) -> u64 {
        self.tables[number].root()
    }

    fn now(&mut self) -> Result<u64, CardError> {
        Ok(self.card.stats()?.cycles)
    }

    /// Sends `count` accesses with commands between them, and checks everything.
    pub fn batch(&mut self, count: usize, random: &mut Random, report: &mut Report) -> Found {
        for port in 0..self.ports.len() {
            self.ports[port] = random.random_range(0..CONTEXTS);
            bind(
                &mut self.card,
                self.first_port + port as u32,
                Some(self.ports[port]),
            )?;
        }
        self.bind_kernel(random)?;
        self.pace.traffic(random);
        self.lines.clear();
        for number in (0..FEW).map(|i| i % CONTEXTS) {
            if self.model.live.len() < FEW && self.on[number] {
                let command = self.malloc(random)?;
                if let Err(what) = self.command(number, command)? {
                    return Ok(Err(what));
                }
            }
        }
        let mut plan = Vec::new();
        let mut busy = vec![Vec::new(); CONTEXTS];
        while plan.len() < count {
            let mut requests = PortBatch::new();
            self.busy(&mut busy, random);
            let first = plan.len();
            while plan.len() < count.min(first + SENT_TOGETHER) {
                let access = self.access(&busy, plan.len() as u64, random, &mut requests);
                plan.extend(access);
            }
            self.card.submit(&requests)?;
            self.card.run(random.random_range(0..=GAP_CYCLES), 0)?;
            for _ in 0..random.random_range(1..=ROUNDS) {
                if let Err(what) = self.change(random)? {
                    return Ok(Err(what));
                }
            }
            if let Err(what) = self.bring(false, random)? {
                return Ok(Err(what));
            }
        }
        if let Err(what) = self.drain(random)? {
            return Ok(Err(what));
        }
        if let Err(what) = self.see_end(random)? {
            return Ok(Err(what));
        }
        let mut answers = PortAnswers::new();
        self.card.poll(&mut answers)?;
        let refused = match self.accesses(&plan, &answers, report) {
            Ok(refused) => refused,
            Err(what) => return Ok(Err(what)),
        };
        self.add_counters()?;
        let counted = fault_count(&mut self.card)?;
        if counted != refused {
            return Ok(Err(format!(
                "{refused} accesses were refused, the card counted {counted}"
            )));
        }
        self.batches += 1;
        let all = self.batches % COUNT_BATCHES == 0;
        if let Err(what) = self.check_memory(all, random)? {
            return Ok(Err(what));
        }
        if all && let Err(what) = self.edges(random)? {
            return Ok(Err(what));
        }
        self.take_home(random)?;
        Ok(Ok(()))
    }

    /// Adds what the card counted since the last time.
    fn add_counters(&mut self) -> Result<(), CardError> {
        let sums = [
            (regs::HEAP_COUNTERS_TOUCHES, &mut self.counts.first_touches),
            (regs::HEAP_COUNTERS_ZEROS, &mut self.counts.zeros),
            (regs::HEAP_COUNTERS_PARKED, &mut self.counts.parked),
        ];
        for (register, sum) in sums {
            *sum += u64::from(self.card.reg_read(register)?);
        }
        Ok(())
    }

    /// Allocations of each context where most of the next accesses go: some of those where they went, others now and then. Small ones mostly:
    /// what has tables of its own takes long to take back.
    fn busy(&self, busy: &mut [Vec<u64>], random: &mut Random) {
        for (number, busy) in busy.iter_mut().enumerate() {
            busy.retain(|pointer| self.model.live.contains_key(pointer));
            if random.random_ratio(1, KEPT_GROUPS) {
                busy.clear();
            }
            let small = random.random_bool(SMALL);
            let own = self.model.of(number);
            let own: Vec<u64> = own
                .filter(|of| of.small == small)
                .map(|of| of.pointer)
                .collect();
            let more = BUSY.saturating_sub(busy.len());
            busy.extend((0..more).filter_map(|_| own.choose(random).copied()));
        }
    }

    /// One random access, or nothing when its lines are taken.
    fn access(
        &mut self,
        busy: &[Vec<u64>],
        token: u64,
        random: &mut Random,
        requests: &mut PortBatch,
    ) -> Option<Access> {
        let port = random.random_range(0..self.ports.len());
        let context = self.ports[port];
        let id = random.random_range(0..1u8 << self.id_bits);
        let write = random.random_bool(0.4);
        let lines = random.random_range(1..=4);
        let line = random.random_range(0..=PAGE / LINE - lines);
        let va = self.page(context, &busy[context], random) + line * LINE;
        let used: Vec<_> = (0..lines).map(|i| (context, va + i * LINE)).collect();
        if used.iter().any(|line| match self.lines.get(line) {
            None => false,
            Some(written) => write || *written,
        }) {
            return None;
        }
        self.lines
            .extend(used.into_iter().map(|line| (line, write)));
        let mut data = Vec::new();
        if write {
            self.pace.touches(va, &self.model);
            data.resize((lines * LINE) as usize, 0);
            random.fill(&mut data[..]);
            requests.write(self.first_port + port as u32, token, id, va, &data, 6);
        } else {
            requests.read(
                self.first_port + port as u32,
                token,
                id,
                va,
                lines as usize,
                6,
            );
        }
        Some(Access {
            context,
            write,
            va,
            data,
        })
    }

    /// A page to go to: mostly one of a live allocation, sometimes one that is not there, or not this context's.
    fn page(&self, context: usize, busy: &[u64], random: &mut Random) -> u64 {
        let window = layout::HEAP_WINDOW_FIRST..layout::HEAP_WINDOW_END;
        let pointer = match random.random_range(0..32) {
            0 => return random.random_range(window) & !(PAGE - 1),
            1 => self.model.freed.choose(random).map(|(_, pointer)| *pointer),
            2 => {
                let all: Vec<u64> = self.model.live.keys().copied().collect();
                all.choose(random).copied()
            }
            3..6 => return Self::host_page(random),
            6..8 => {
                let own: Vec<u64> = self.model.of(context).map(|a| a.pointer).collect();
                own.choose(random).copied()
            }
            _ => busy.choose(random).copied(),
        };
        let Some(pointer) = pointer else {
            return layout::HEAP_WINDOW_FIRST + (random.random_range(0..64u64) << 33);
        };
        let Some(of) = self.model.live.get(&pointer) else {
            return pointer;
        };
        if random.random_ratio(1, 32) {
            return pointer + (of.pages + random.random_range(0..2)) * PAGE;
        }
        let hot = of.pages.min(HOT_PAGES);
        pointer + random.random_range(0..hot) * (of.pages / hot) * PAGE
    }

    fn write_context(&mut self, number: usize) -> Result<(), CardError> {
        let entry = if self.on[number] {
            fsc(&self.tables[number]) | layout::FSC_EN_PRI_MASK
        } else {
            0
        };
        let begin = self.now()?;
        write_context(&mut self.card, number, entry)?;
        if self.on[number] {
            let end = self.now()?;
            self.host_begins(number, (begin, end));
        }
        Ok(())
    }

    /// What tables and memory say when nothing is under way; all frames are counted if `all`.
    fn check_memory(&mut self, all: bool, random: &mut Random) -> Found {
        let since = self.now()?;
        if let Err(what) = self.settle(random)? {
            return Ok(Err(what));
        }
        let left = (since + STORE_CYCLES).saturating_sub(self.now()?);
        self.card.run(left, 0)?;
        let roots: Vec<u64> = (0..CONTEXTS).map(|number| self.root(number)).collect();
        let mut used = tables::Used::new(&self.memory, &self.places);
        for (number, root) in roots.iter().enumerate() {
            if let Err(what) = used.context(number, *root, &self.model)? {
                return Ok(Err(what));
            }
        }
        let frames = used.frames();
        let sum = frames.iter().sum();
        self.counts.most_frames = self.counts.most_frames.max(sum);
        if let Err(what) = tables::compare(&self.memory, &roots, &self.model)? {
            return Ok(Err(what));
        }
        if let Err(what) = self.compare_host()? {
            return Ok(Err(what));
        }
        self.model.forget();
        if all {
            return self.count(&frames, random);
        }
        Ok(Ok(()))
    }

    /// Ends every context, those behind it at work meanwhile: then all frames are free again. Adds what was done to the report.
    pub fn finish(&mut self, random: &mut Random, report: &mut Report) -> Found {
        for number in 0..CONTEXTS {
            self.over = number + 1;
            self.begin_end(number, false, random)?;
            if let Err(what) = self.see_end(random)? {
                return Ok(Err(what));
            }
        }
        if let Err(what) = self.check_memory(true, random)? {
            return Ok(Err(what));
        }
        let stats = self.card.stats()?;
        report.cycles = stats.cycles;
        report.pte_reads = stats.pt_reads;
        report.heap = Some(std::mem::take(&mut self.counts));
        Ok(Ok(()))
    }
}

/// log2 of the pages of the groups that the heap's frames come in, a bit each: those that the walker knows.
fn orders(napot: NapotConfig) -> u32 {
    match napot {
        NapotConfig::Svnapot => 0x11,
        NapotConfig::Any => 0x3ff,
    }
}

/// Where the heap's memory is on a card: the end of the first memory, and of each further one that gives it some.
fn parts(about: &Description) -> Vec<Range<u64>> {
    let config = &about.config;
    let memories = config.memories().into_iter().enumerate();
    let parts = memories.map(|(number, (memory, first, bytes))| {
        let part = if number == 0 {
            config.heap.memory_bytes
        } else {
            memory.heap_bytes
        };
        first + bytes - part..first + bytes
    });
    parts
        .filter(|part| config.heap.slots > 0 && !part.is_empty())
        .collect()
}
