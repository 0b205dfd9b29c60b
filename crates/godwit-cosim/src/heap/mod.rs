// SPDX-License-Identifier: Apache-2.0
//! The heap in hardware under random commands and traffic.
//!
//! The host mallocs, reallocs, frees and touches, rightly and wrongly, and takes contexts away, while ports read and write what is
//! live, what was just freed, what is another context's, and what never was. Nobody maps anything. Each answer of the heap
//! is held against a second version of its rules ([`model`]); each access against what its page was while it was under way:
//! whether it may, or must, be refused, and that a read brings what was written to this allocation, or zero, and never anything
//! of whoever had the frame before. After each batch the tables in memory must give each live page at most one frame, each
//! frame to one page, and none to what was freed; with what the heap says is free, no frame is missing. When memory is
//! full accesses wait until something is freed.

mod change;
mod check;
mod model;
mod registers;
mod tables;

use std::collections::HashMap;
use std::sync::Arc;

use godwit::{heap_regs, layout, regs};
use godwit_card::{CardError, Device, Memory, PortAnswers, PortBatch, Ports, SimCard};
use godwit_core::{Mode, PageTable};
use rand::Rng;
use rand::seq::IndexedRandom;

use self::model::{LINE, Model, PAGE};
use self::registers::{Place, SETTLE_CYCLES};
use crate::frames::{Frames, TABLE_REGION};
use crate::{CosimError, HeapReport, Random, Report, fault_count};

const CONTEXTS: usize = 4;
/// Accesses that are sent between two commands.
const SENT_TOGETHER: usize = 48;
/// Pages of an allocation that traffic goes to.
const HOT_PAGES: u64 = 8;
/// Allocations of a context where most of the traffic goes.
const BUSY: usize = 3;
/// Fewer allocations than these at the beginning of a batch are no traffic.
const FEW: usize = 24;
/// Cycles from one command to the next, at most: accesses pile up behind them.
const GAP_CYCLES: u64 = 400;
/// Cycles in which some access is answered, or waits for a frame.
const HANG_CYCLES: u64 = 1_000_000;
const LOOK_CYCLES: u64 = 2_000;
/// An access is answered before the entries of its page are stored: two commands for a group and one for each of three tables, behind
/// those of other writers.
const STORE_CYCLES: u64 = 2_000;
/// Frames that the heap keeps at hand for tables as long as it has some: those of a walk through `tables::LEVELS` levels, whose root the
/// host made.
const KEPT: u64 = tables::LEVELS as u64 - 1;
/// Batches from one count of all frames to the next: it waits until all is cleared.
const COUNT_BATCHES: u64 = 4;

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
    ports: Vec<usize>,
    id_bits: u32,
    place: Place,
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
        if !about.kernels.is_empty() || config.card.external_ports == 0 || config.heap.slots == 0 {
            return Err(CosimError::Unsuitable {
                device: device.to_owned(),
                what: "it needs a heap, external ports and no kernels: build hw/test/cosim/cosim-heap.toml with `godwit card build`"
                    .to_owned(),
            });
        }
        let (ports, id_bits) = (config.card.external_ports as usize, config.axi.id_width);
        let (slots, bytes) = (u64::from(config.heap.slots), config.heap.memory_bytes);
        let memory = card.memory().clone();
        let place = Place {
            memory: memory.size() - bytes,
            bytes,
            clean_bits: TABLE_REGION,
            dirty_bits: TABLE_REGION + (1 << 20),
            zero: TABLE_REGION + (2 << 20),
        };
        let frames = Frames::new(memory.clone());
        let quota = random.random_range(8..=48);
        let mut world = Self {
            card,
            memory,
            tables: Vec::new(),
            on: [true; CONTEXTS],
            ports: vec![0; ports],
            id_bits,
            place,
            model: Model::new(slots, quota),
            lines: HashMap::new(),
            batches: 0,
            counts: HeapReport::default(),
        };
        for number in 0..CONTEXTS {
            let table = PageTable::new(frames.clone(), Mode::Sv48)?;
            world.tables.push(table);
            world.write_context(number)?;
        }
        let clean = random.random_bool(0.3);
        if !clean {
            let mut noise = vec![0; bytes as usize];
            random.fill(&mut noise[..]);
            world.memory.write(place.memory, &noise)?;
        }
        registers::start(&mut world.card, place, clean, quota)?;
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
            self.bind(port, random.random_range(0..CONTEXTS))?;
        }
        self.lines.clear();
        for number in (0..FEW).map(|i| i % CONTEXTS) {
            if self.model.live.len() < FEW
                && let Err(what) = self.malloc(number, random)?
            {
                return Ok(Err(what));
            }
        }
        let mut plan = Vec::new();
        while plan.len() < count {
            let mut requests = PortBatch::new();
            let busy = self.busy(random);
            let first = plan.len();
            while plan.len() < count.min(first + SENT_TOGETHER) {
                let access = self.access(&busy, plan.len() as u64, random, &mut requests);
                plan.extend(access);
            }
            self.card.submit(&requests)?;
            self.card.run(random.random_range(0..=GAP_CYCLES), 0)?;
            if let Err(what) = self.change(random)? {
                return Ok(Err(what));
            }
        }
        if let Err(what) = self.drain(random)? {
            return Ok(Err(what));
        }
        let mut answers = PortAnswers::new();
        self.card.poll(&mut answers)?;
        let refused = match self.accesses(&plan, &answers, report) {
            Ok(refused) => refused,
            Err(what) => return Ok(Err(what)),
        };
        let counted = fault_count(&mut self.card)?;
        if counted != refused {
            return Ok(Err(format!(
                "{refused} accesses were refused, the card counted {counted}"
            )));
        }
        self.batches += 1;
        let all = self.batches % COUNT_BATCHES == 0;
        self.check_memory(all)
    }

    /// Waits until all that was sent is answered; frees something whenever the heap is full.
    fn drain(&mut self, random: &mut Random) -> Found {
        let (mut pending, mut since) = (u64::MAX, self.now()?);
        loop {
            let left = self.card.drain(LOOK_CYCLES, 0)?.pending;
            if left == 0 {
                return Ok(Ok(()));
            }
            if left != pending {
                (pending, since) = (left, self.now()?);
            }
            let status = registers::read(&mut self.card, heap_regs::STATUS)?;
            if status & heap_regs::STATUS_LACKS_MASK != 0
                && status & heap_regs::STATUS_RECLAIMING_MASK == 0
            {
                let live: Vec<_> = self.model.live.values().collect();
                let victim = live.choose(random).map(|a| (a.context, a.pointer));
                if let Some((context, pointer)) = victim {
                    self.counts.full += 1;
                    if let Err(what) = self.command(context, model::Command::Free { pointer })? {
                        return Ok(Err(what));
                    }
                }
            }
            if self.now()? - since > HANG_CYCLES {
                return Ok(Err(format!("{left} accesses wait, and nothing goes on")));
            }
        }
    }

    /// Allocations of each context where most of the next accesses go: the last one, and any.
    fn busy(&self, random: &mut Random) -> Vec<Vec<u64>> {
        (0..CONTEXTS)
            .map(|number| {
                let own: Vec<u64> = self.model.of(number).map(|a| a.pointer).collect();
                (0..BUSY)
                    .filter_map(|_| own.choose(random).copied())
                    .collect()
            })
            .collect()
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
            data.resize((lines * LINE) as usize, 0);
            random.fill(&mut data[..]);
            requests.write(port as u32, token, id, va, &data, 6);
        } else {
            requests.read(port as u32, token, id, va, lines as usize, 6);
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
            3..8 => {
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

    fn bind(&mut self, port: usize, context: usize) -> Result<(), CardError> {
        self.ports[port] = context;
        let word = (layout::PORT_MODE_TRANSLATE << regs::PORT_BINDING_MODE_SHIFT)
            | ((context as u32) << regs::PORT_BINDING_CONTEXT_ID_SHIFT);
        let at = regs::PORT_BINDING + regs::PORT_STRIDE * port as u64;
        self.card.reg_write(at, word)
    }

    fn write_context(&mut self, number: usize) -> Result<(), CardError> {
        let mode = u64::from(Mode::Sv48.code()) << regs::CONTEXTS_FSC_MODE_SHIFT;
        let fsc = if self.on[number] {
            mode | (self.root(number) / PAGE)
        } else {
            0
        };
        let at = regs::CONTEXTS_FSC + regs::CONTEXTS_FSC_STRIDE * number as u64;
        self.card.reg_write(at, fsc as u32)?;
        self.card.reg_write(at + 4, (fsc >> 32) as u32)
    }

    /// What tables and memory say when nothing is under way; all frames are counted if `all`.
    fn check_memory(&mut self, all: bool) -> Found {
        if let Err(what) = self.settle()? {
            return Ok(Err(what));
        }
        self.card.run(STORE_CYCLES, 0)?;
        let roots: Vec<u64> = (0..CONTEXTS).map(|number| self.root(number)).collect();
        let mut used = tables::Used::new(&self.memory, self.place);
        for (number, root) in roots.iter().enumerate() {
            if let Err(what) = used.context(number, *root, &self.model)? {
                return Ok(Err(what));
            }
        }
        let frames = used.frames();
        self.counts.most_frames = self.counts.most_frames.max(frames);
        if let Err(what) = tables::compare(&self.memory, &roots, &self.model)? {
            return Ok(Err(what));
        }
        self.model.forget();
        if all {
            return self.count(frames);
        }
        Ok(Ok(()))
    }

    /// Every frame is in use, free, or one of those kept for tables; none is dirty in the end, nor in the hand of who clears it.
    fn count(&mut self, used: u64) -> Found {
        let since = self.now()?;
        let there = self.place.bytes / PAGE;
        loop {
            let free = u64::from(registers::read(&mut self.card, heap_regs::FREE_FRAMES)?);
            let clean = u64::from(registers::read(&mut self.card, heap_regs::CLEAN_FRAMES)?);
            if free + used > there {
                return Ok(Err(format!(
                    "{free} frames are free and {used} in use, of {there}"
                )));
            }
            let kept = there - used - free;
            // Of a full memory those for tables may have been wanted, too.
            let enough = kept == KEPT || (free == 0 && kept < KEPT);
            if clean == free && enough {
                return Ok(Ok(()));
            }
            if self.now()? - since > SETTLE_CYCLES {
                return Ok(Err(format!(
                    "of {there} frames {used} are in use, {free} free and {clean} of these clean: {kept} are nobody's, and {KEPT} \
                     are kept for tables"
                )));
            }
            self.card.run(LOOK_CYCLES, 0)?;
        }
    }

    /// Waits until what was freed is taken back.
    fn settle(&mut self) -> Found {
        if let Err(what) = registers::settle(&mut self.card)? {
            return Ok(Err(what));
        }
        let now = self.now()?;
        self.model.settled(None, now);
        let status = registers::read(&mut self.card, heap_regs::STATUS)?;
        if status & heap_regs::STATUS_BROKEN_MASK != 0 {
            return Ok(Err(format!("the heap stopped: its status is {status:#x}")));
        }
        Ok(Ok(()))
    }

    /// Ends every context: then all frames are free again. Adds what was done to the report.
    pub fn finish(&mut self, report: &mut Report) -> Found {
        for number in 0..CONTEXTS {
            if let Err(what) = self.end(number)? {
                return Ok(Err(what));
            }
        }
        if let Err(what) = self.check_memory(true)? {
            return Ok(Err(what));
        }
        let stats = self.card.stats()?;
        report.cycles = stats.cycles;
        report.pte_reads = stats.pt_reads;
        report.heap = Some(std::mem::take(&mut self.counts));
        Ok(Ok(()))
    }
}
