// SPDX-License-Identifier: Apache-2.0
//! Randomized co-simulation of the translation path.
//!
//! A card whose ports are all driven from here gets random reads and writes from several contexts at once; the page
//! tables of `core/` say what each of them must do, and a copy of memory says what it must bring. Every answer is
//! checked for data, response and order, every address that reaches memory against the oracle's, every fault against
//! the fault record and the counters. Between batches tables change (map, protect, unmap), ports change their context,
//! and only what must be invalidated is. With [`Options::live`] tables change while traffic runs ([`live`]), with [`Options::heap`] the
//! hardware writes them ([`heap`]), and with [`Options::in_place`] pages are in host memory behind a page cache ([`in_place`]).
//!
//! A run is a function of its [`Options`]: the same seed gives the same cycles.

mod check;
mod check_live;
mod frames;
mod heap;
mod in_place;
mod live;
mod queue;
mod registers;
mod shadow;
mod traffic;
mod world;

use std::collections::BTreeMap;
use std::fmt;

use godwit_card::{CardError, OpenOptions, PortAnswers, PortBatch, SimCard};
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::Serialize;
use serde_json::json;

use crate::heap::HeapWorld;
use crate::in_place::InPlace;
pub use crate::in_place::Mistake;
use crate::live::Live;
use crate::world::World;

/// The generator: fast, and the same on every machine.
pub(crate) type Random = Xoshiro256PlusPlus;

/// What to run.
#[derive(Debug, Clone)]
pub struct Options {
    /// Card with external ports only, as `sim:NAME`.
    pub device: String,
    /// Everything random comes from it.
    pub seed: u64,
    /// Reads and writes to send.
    pub accesses: u64,
    /// Of these, how many at a time; tables change between batches.
    pub batch: usize,
    /// Random back-pressure on every memory channel and port, in percent of the cycles.
    pub stall_percent: u32,
    /// Memory latency in cycles, page tables included.
    pub latency_cycles: u32,
    /// Tables change while traffic runs, not between batches.
    pub live: bool,
    /// Commands of the heap and first touches instead of tables that the host writes.
    pub heap: bool,
    /// Memory of the host in place, behind a page cache.
    pub in_place: bool,
    /// With `in_place`: a rule that is broken, which a run should find.
    pub mistake: Option<Mistake>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            device: "sim:cosim".to_owned(),
            seed: 1,
            accesses: 100_000,
            batch: 4096,
            stall_percent: 20,
            latency_cycles: 20,
            live: false,
            heap: false,
            in_place: false,
            mistake: None,
        }
    }
}

impl Options {
    fn mismatch(&self, batch: u64, what: String) -> CosimError {
        CosimError::Mismatch {
            seed: self.seed,
            batch,
            what,
        }
    }
}

/// What a run did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Reads answered with data.
    pub reads: u64,
    /// Writes done.
    pub writes: u64,
    /// Accesses refused, by the cause the oracle gave.
    pub faults: BTreeMap<String, u64>,
    /// Invalidations waited for.
    pub invalidations: u64,
    /// Changes of tables under traffic.
    pub changes: u64,
    /// Pages that moved to another frame under traffic.
    pub moves: u64,
    /// Accesses that could see more than one version of their page.
    pub choices: u64,
    /// Accesses that used a version of their page that was taken away later in their batch.
    pub old: u64,
    /// Clock cycles.
    pub cycles: u64,
    /// Reads of page-table lines.
    pub pte_reads: u64,
    /// Accesses by the size of the page they went to, in KiB.
    pub by_page_kib: BTreeMap<u64, u64>,
    /// What the heap did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub heap: Option<HeapReport>,
    /// What the page cache and the host did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_place: Option<InPlaceReport>,
}

/// What a run with memory in place did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct InPlaceReport {
    /// Times that the host read lines behind a clean.
    pub host_reads: u64,
    /// Times that it wrote lines of its own and dropped them.
    pub host_writes: u64,
    /// Times that everything was cleaned under traffic.
    pub cleans: u64,
    /// Pages that the host took, wrote and gave back.
    pub borrows: u64,
    /// Pages that were dropped without a clean.
    pub discards: u64,
    /// Contexts taken away.
    pub ends: u64,
    /// Times that the link failed for a page.
    pub unplugged: u64,
    /// Accesses that met that.
    pub link_errors: u64,
    /// Bursts of dirty lines that were lost so, as the card counted them.
    pub lost: u64,
    /// Beats read from the cache, those that waited for their line, lines over the link each way, pages that left.
    pub cache_reads: u64,
    /// See `cache_reads`.
    pub cache_read_misses: u64,
    /// See `cache_reads`.
    pub fills: u64,
    /// See `cache_reads`.
    pub writebacks: u64,
    /// See `cache_reads`.
    pub releases: u64,
    /// Pages that were read ahead of who reads in order, and of these those that an access met.
    pub aheads: u64,
    /// See `aheads`.
    pub aheads_used: u64,
}

impl InPlaceReport {
    /// What the host did, moves of pages not counted.
    #[must_use]
    pub fn operations(&self) -> u64 {
        self.host_reads
            + self.host_writes
            + self.cleans
            + self.borrows
            + self.discards
            + self.ends
            + self.unplugged
    }
}

/// What a run with a heap did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct HeapReport {
    /// Commands by what they were answered: `malloc`, `realloc`, `free`, or the refusal's name.
    pub answers: BTreeMap<String, u64>,
    /// Of these, those that a kernel gave by its streams.
    pub by_stream: u64,
    /// First touches of the host.
    pub touches: u64,
    /// First touches of accesses that got a frame; that read zero; that waited.
    pub first_touches: u64,
    /// See `first_touches`.
    pub zeros: u64,
    /// See `first_touches`.
    pub parked: u64,
    /// Page requests answered by the host.
    pub requests: u64,
    /// Contexts taken away.
    pub ends: u64,
    /// Times that nothing went on for lack of a frame, until something was freed.
    pub full: u64,
    /// Accesses that came while their page came or went.
    pub choices: u64,
    /// Most frames in use at the end of a batch, tables included.
    pub most_frames: u64,
}

impl HeapReport {
    /// Commands, first touches of the host and of accesses, page requests and ends of contexts.
    #[must_use]
    pub fn operations(&self) -> u64 {
        let commands: u64 = self.answers.values().sum();
        commands + self.touches + self.first_touches + self.zeros + self.requests + self.ends
    }
}

impl Report {
    /// Accesses that were refused, whatever the cause.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.faults.values().sum()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} reads, {} writes, {} refused as they should be; {} invalidations",
            self.reads,
            self.writes,
            self.refused(),
            self.invalidations
        )?;
        if self.changes > 0 {
            write!(
                f,
                ", {} changes under traffic, {} pages moved",
                self.changes, self.moves
            )?;
        }
        if let Some(heap) = &self.heap {
            write!(
                f,
                ", {} operations of the heap, {} contexts ended, {} times full",
                heap.operations(),
                heap.ends,
                heap.full
            )?;
        }
        if let Some(here) = &self.in_place {
            write!(
                f,
                ", {} operations of the host in place, {} lines read from it and {} written, {} contexts ended, {} errors of the link",
                here.operations(),
                here.fills,
                here.writebacks,
                here.ends,
                here.link_errors
            )?;
            if here.aheads > 0 {
                write!(
                    f,
                    ", {} pages read ahead, {} of them met",
                    here.aheads, here.aheads_used
                )?;
            }
        }
        write!(
            f,
            "; {} cycles, {} page-table reads",
            self.cycles, self.pte_reads
        )
    }
}

/// Why a run stopped.
#[derive(Debug, thiserror::Error)]
pub enum CosimError {
    /// The card itself failed: it hung, or could not be opened.
    #[error(transparent)]
    Card(#[from] CardError),
    /// A page-table operation failed that should not have.
    #[error(transparent)]
    Tables(#[from] godwit_core::Error),
    /// The RTL and the oracle disagree.
    #[error("seed {seed}, batch {batch}: {what}")]
    Mismatch {
        /// The run's seed.
        seed: u64,
        /// Which batch, from 0.
        batch: u64,
        /// Who said what.
        what: String,
    },
    /// The card is not one this can drive.
    #[error("card `{device}`: {what}")]
    Unsuitable {
        /// The card.
        device: String,
        /// What is missing and what to do.
        what: String,
    },
}

/// Runs one co-simulation to its end or to the first difference.
///
/// # Errors
/// See [`CosimError`].
pub fn run(options: &Options) -> Result<Report, CosimError> {
    let open = OpenOptions::new()
        .set(
            "memory",
            json!({
                "model": "fixed",
                "latency_cycles": options.latency_cycles,
                "page_table_latency_cycles": options.latency_cycles,
                "requests_per_cycle": 4.0,
            }),
        )
        .set(
            "stall",
            json!({"seed": options.seed, "percent": options.stall_percent}),
        );
    let card = SimCard::open(&options.device, &open)?;
    let mut random = Random::seed_from_u64(options.seed);
    if options.heap {
        return run_heap(options, card, &mut random);
    }
    if options.in_place {
        return run_in_place(options, card, &mut random);
    }
    if options.live {
        return run_live(options, card, &mut random);
    }
    let mut world = World::new(card, &options.device, &mut random)?;
    let mut report = Report::default();
    let mut requests = PortBatch::new();
    let mut answers = PortAnswers::new();
    let mut left = options.accesses;
    let mut number = 0;
    while left > 0 {
        let size = left.min(options.batch as u64);
        let mismatch = |what: String| options.mismatch(number, what);
        world.change(&mut random)?;
        requests.clear();
        let plan = traffic::plan(&mut world, size as usize, &mut random, &mut requests)?;
        let events = world.drive(&requests, &mut answers)?;
        check::answers(&plan, &answers).map_err(mismatch)?;
        check::addresses(&plan, &events, world.port_count()).map_err(mismatch)?;
        check::bits(&plan, &world)?.map_err(mismatch)?;
        check::faults(&plan, &mut world)?.map_err(mismatch)?;
        plan.count(&mut report);
        left -= size;
        number += 1;
    }
    world
        .finish(&mut report)?
        .map_err(|what| options.mismatch(number, what))?;
    Ok(report)
}

/// All accesses, a batch at a time; returns how many batches.
fn batches(
    options: &Options,
    mut batch: impl FnMut(usize) -> Result<Result<(), String>, CosimError>,
) -> Result<u64, CosimError> {
    let (mut left, mut number) = (options.accesses, 0);
    while left > 0 {
        let size = left.min(options.batch as u64);
        batch(size as usize)?.map_err(|what| options.mismatch(number, what))?;
        left -= size;
        number += 1;
    }
    Ok(number)
}

/// The same for tables that change while traffic runs.
fn run_live(options: &Options, card: SimCard, random: &mut Random) -> Result<Report, CosimError> {
    let mut live = Live::new(card, random)?;
    let mut report = Report::default();
    batches(options, |size| live.batch(size, random, &mut report))?;
    live.finish(&mut report)?;
    Ok(report)
}

/// The same for a card with a heap, whose tables the hardware writes.
fn run_heap(options: &Options, card: SimCard, random: &mut Random) -> Result<Report, CosimError> {
    let mut world = HeapWorld::new(card, &options.device, random)?;
    let mut report = Report::default();
    let batch = batches(options, |size| world.batch(size, random, &mut report))?;
    world
        .finish(random, &mut report)?
        .map_err(|what| options.mismatch(batch, what))?;
    Ok(report)
}

/// The same for a card with a page cache.
fn run_in_place(
    options: &Options,
    card: SimCard,
    random: &mut Random,
) -> Result<Report, CosimError> {
    let mut world = InPlace::new(card, &options.device, options.mistake, random)?;
    let mut report = Report::default();
    batches(options, |size| world.batch(size, random, &mut report))?;
    world.finish(&mut report)?;
    Ok(report)
}
