// SPDX-License-Identifier: Apache-2.0
//! The card, the contexts on it, and what changes between batches.

use godwit::pages_of;
use godwit::regs;
use godwit_card::{CardError, Device, MemEvent, PortAnswers, PortBatch, Ports, SimCard};
use godwit_core::{Error, ErrorKind, Invalidation, Mapping, Mode, PageSize, PageTable, Perm};
use rand::Rng;
use rand::seq::IndexedRandom;

use crate::frames::{Frames, TABLE_REGION};
use crate::shadow::Shadow;
use crate::{CosimError, Random, Report, registers};

const PAGE: u64 = 4096;
const REGIONS: usize = 12;
const CONTEXTS: usize = 4;
/// Bound on one batch: no access takes long, so a card that is still busy then will never be done.
const BATCH_CYCLES: u64 = 50_000_000;

/// A virtual range that was mapped once; parts of it may have been unmapped since.
#[derive(Clone, Copy)]
pub struct Region {
    pub va: u64,
    pub bytes: u64,
}

/// One context.
pub struct Space {
    pub table: PageTable<Frames>,
    pub regions: Vec<Region>,
    /// Whether the hardware knows its table.
    pub on: bool,
    /// Hardware sets A and D.
    pub tracks: bool,
}

impl Space {
    /// The oracle: the page around an address, if it is mapped.
    pub fn lookup(&self, va: u64) -> Result<Option<Mapping>, Error> {
        match self.table.lookup(va) {
            Ok(page) => Ok(Some(page)),
            Err(error)
                if matches!(error.kind(), ErrorKind::NotMapped | ErrorKind::NotCanonical) =>
            {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}

/// Everything that the traffic of a batch depends on.
pub struct World {
    card: SimCard,
    pub shadow: Shadow,
    pub spaces: Vec<Space>,
    /// Context of each external port; `None` is a port that is off.
    pub ports: Vec<Option<usize>>,
    pub id_bits: u32,
    memory_bytes: u64,
    invalidations: u64,
}

impl World {
    pub fn new(card: SimCard, device: &str, random: &mut Random) -> Result<Self, CosimError> {
        let about = card.description();
        let unsuitable = |what: &str| CosimError::Unsuitable {
            device: device.to_owned(),
            what: what.to_owned(),
        };
        if !about.kernels.is_empty() || about.config.card.external_ports == 0 {
            return Err(unsuitable(
                "it needs external ports and no kernels: build hw/test/cosim/cosim.toml with `godwit card build`",
            ));
        }
        let ports = about.config.card.external_ports as usize;
        let walker = &about.config.walker;
        let (levels, napot) = (walker.levels, pages_of(about));
        let id_bits = about.config.axi.id_width;
        let memory = card.memory().clone();
        if memory.size() < 2 << 30 {
            return Err(unsuitable("it needs 2 GiB of memory or more"));
        }
        let frames = Frames::new(memory.clone());
        let modes: Vec<Mode> = Mode::ALL
            .into_iter()
            .filter(|mode| mode.levels() <= levels)
            .collect();
        let mut world = Self {
            memory_bytes: memory.size(),
            shadow: Shadow::new(memory),
            spaces: Vec::new(),
            ports: vec![None; ports],
            id_bits,
            card,
            invalidations: 0,
        };
        for number in 0..CONTEXTS {
            let mut table =
                PageTable::with_pages(frames.clone(), modes[number % modes.len()], napot)?;
            let tracks = number % 2 == 1;
            if tracks {
                table.track();
            }
            world.spaces.push(Space {
                table,
                regions: Vec::new(),
                on: true,
                tracks,
            });
            world.write_context(number)?;
            for _ in 0..REGIONS {
                world.map(number, random)?;
            }
        }
        for port in 0..ports {
            world.bind(port, Some(port % CONTEXTS))?;
        }
        Ok(world)
    }

    pub fn port_count(&self) -> usize {
        self.ports.len()
    }

    /// A few random changes to tables and ports; no traffic is under way.
    pub fn change(&mut self, random: &mut Random) -> Result<(), CosimError> {
        for _ in 0..random.random_range(0..6) {
            let number = random.random_range(0..CONTEXTS);
            match random.random_range(0..10) {
                0..4 => self.map(number, random)?,
                4..7 => self.shrink(number, random, |table, va, bytes, inval, _| {
                    table.unmap(va, bytes, inval)
                })?,
                7..9 => self.shrink(number, random, |table, va, bytes, inval, random| {
                    let perm = *[Perm::Read, Perm::ReadWrite]
                        .choose(random)
                        .unwrap_or(&Perm::Read);
                    table.protect(va, bytes, perm, inval)
                })?,
                _ => {
                    self.spaces[number].on = false;
                    self.write_context(number)?;
                    self.invalidate()?;
                }
            }
        }
        // What is off stays so for a batch or two only, so that most accesses are translated.
        for number in 0..CONTEXTS {
            if !self.spaces[number].on && random.random_bool(0.5) {
                self.spaces[number].on = true;
                self.write_context(number)?;
            }
        }
        for port in 0..self.ports.len() {
            if self.ports[port].is_none() || random.random_ratio(1, 8) {
                let context = random.random_range(0..=2 * CONTEXTS);
                let off = context == 2 * CONTEXTS;
                self.bind(port, (!off).then_some(context % CONTEXTS))?;
            }
        }
        Ok(())
    }

    /// Maps one more region of random shape: single pages at odd places, runs of 64 KiB, 2 MiB and 1 GiB pages, and of others that the
    /// card has.
    fn map(&mut self, number: usize, random: &mut Random) -> Result<(), CosimError> {
        let sizes: Vec<PageSize> = self.spaces[number].table.napot().sizes().collect();
        let any = |random: &mut Random| sizes.choose(random).copied().unwrap_or(PageSize::SIZE_4K);
        let (order, count) = match random.random_range(0..16) {
            0..6 => (PageSize::SIZE_4K, random.random_range(1..40)),
            6..9 => (PageSize::SIZE_64K, random.random_range(1..5)),
            9..11 => (any(random), 1),
            11..15 => (PageSize::SIZE_2M, random.random_range(1..3)),
            _ => (PageSize::SIZE_1G, 1),
        };
        let bytes = order.bytes() * count;
        let places = (self.memory_bytes - bytes) / order.bytes();
        let first = TABLE_REGION.div_ceil(order.bytes());
        let pa = random.random_range(first..=places) * order.bytes();
        let limit = any(random);
        let perm = if random.random_ratio(2, 3) {
            Perm::ReadWrite
        } else {
            Perm::Read
        };
        let space = &mut self.spaces[number];
        // 1 GiB of 4 KiB pages is 2 MiB of tables: allowed, but not for every region.
        let limit = if bytes >= PageSize::SIZE_1G.bytes() / 4 {
            order
        } else {
            limit
        };
        let va = random_va(space.table.mode(), order, bytes, random);
        match space.table.map(va, pa, bytes, perm, limit) {
            Ok(()) => {
                if space.regions.len() >= 2 * REGIONS {
                    let old = random.random_range(0..space.regions.len());
                    space.regions.swap_remove(old);
                }
                space.regions.push(Region { va, bytes });
                Ok(())
            }
            Err(error) if error.kind() == ErrorKind::AlreadyMapped => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Takes something away from a random part of a region; invalidates only if the tables say that it is needed.
    fn shrink(
        &mut self,
        number: usize,
        random: &mut Random,
        act: impl Fn(
            &mut PageTable<Frames>,
            u64,
            u64,
            &mut Invalidation,
            &mut Random,
        ) -> Result<(), Error>,
    ) -> Result<(), CosimError> {
        let space = &mut self.spaces[number];
        let Some(region) = space.regions.choose(random).copied() else {
            return Ok(());
        };
        let pages = region.bytes / PAGE;
        let first = random.random_range(0..pages);
        let count = random.random_range(1..=(pages - first).min(64));
        let va = region.va.wrapping_add(first * PAGE);
        if self.spaces[number].tracks && !self.freeze(number, va, count * PAGE, random)? {
            return Ok(());
        }
        let space = &mut self.spaces[number];
        let mut inval = Invalidation::new();
        match act(&mut space.table, va, count * PAGE, &mut inval, random) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::NotMapped => return Ok(()),
            Err(error) => return Err(error.into()),
        }
        if inval.is_needed() {
            self.invalidate()?;
        }
        self.spaces[number].table.reclaim();
        Ok(())
    }

    /// The host's protocol for entries whose A and D matter: out of use, invalidated, and then what they say is final. Returns
    /// whether the range is still to be changed: it may not be mapped, or is only given back.
    fn freeze(
        &mut self,
        number: usize,
        va: u64,
        bytes: u64,
        random: &mut Random,
    ) -> Result<bool, CosimError> {
        let mut inval = Invalidation::new();
        match self.spaces[number].table.freeze(va, bytes, &mut inval) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::NotMapped => return Ok(false),
            Err(error) => return Err(error.into()),
        }
        self.invalidate()?;
        let change = random.random_bool(0.6);
        if !change {
            let clear = random.random_bool(0.7);
            self.spaces[number].table.thaw(va, bytes, clear)?;
        }
        Ok(change)
    }

    /// Runs a batch until every access is answered.
    pub fn drive(
        &mut self,
        requests: &PortBatch,
        answers: &mut PortAnswers,
    ) -> Result<Vec<MemEvent>, CardError> {
        self.card.record_events(true)?;
        self.card.submit(requests)?;
        self.card.drain(BATCH_CYCLES, 0)?;
        self.card.poll(answers)?;
        self.card.take_events()
    }

    /// The fault record and how many faults there were since the last call.
    pub fn take_faults(&mut self) -> Result<(FaultRecord, u64), CardError> {
        let word = self.card.reg_read(regs::FAULT)?;
        let id = self.card.reg_read(regs::FAULT_ID)?;
        let low = self.card.reg_read(regs::FAULT_ADDRESS)?;
        let high = self.card.reg_read(regs::FAULT_ADDRESS + 4)?;
        let lost = self.card.reg_read(regs::FAULTS_LOST)?;
        let valid = word & regs::FAULT_VALID_MASK != 0;
        let record = FaultRecord {
            cause: (word & regs::FAULT_CAUSE_MASK) >> regs::FAULT_CAUSE_SHIFT,
            write: word & regs::FAULT_WRITE_MASK != 0,
            port: (word & regs::FAULT_PORT_MASK) >> regs::FAULT_PORT_SHIFT,
            id: id & regs::FAULT_ID_ID_MASK,
            va: (u64::from(high) << 32) | u64::from(low),
        };
        self.card.reg_write(regs::FAULT, regs::FAULT_VALID_MASK)?;
        self.card
            .reg_write(regs::COUNT_CONTROL, regs::COUNT_CONTROL_CLEAR_MASK)?;
        Ok((record, u64::from(lost) + u64::from(valid)))
    }

    /// Compares memory and checks the tables at the end of a run.
    pub fn finish(&mut self, report: &mut Report) -> Result<Result<(), String>, CosimError> {
        for space in &self.spaces {
            space.table.check()?;
        }
        let stats = self.card.stats()?;
        report.cycles = stats.cycles;
        report.pte_reads = stats.pt_reads;
        report.invalidations = self.invalidations;
        Ok(match self.shadow.difference()? {
            None => Ok(()),
            Some(at) => Err(format!("device memory at {at:#x} is not what was written")),
        })
    }

    fn bind(&mut self, port: usize, context: Option<usize>) -> Result<(), CardError> {
        self.ports[port] = context;
        registers::bind(&mut self.card, port as u32, context)
    }

    fn write_context(&mut self, number: usize) -> Result<(), CardError> {
        let space = &self.spaces[number];
        let fsc = if space.on {
            registers::fsc(&space.table)
                | (u64::from(space.tracks) << regs::CONTEXTS_FSC_SADE_SHIFT)
        } else {
            0
        };
        registers::write_context(&mut self.card, number, fsc)
    }

    fn invalidate(&mut self) -> Result<(), CardError> {
        self.invalidations += 1;
        registers::invalidate_all(&mut self.card)
    }
}

/// The fault record register.
#[derive(Debug, PartialEq, Eq)]
pub struct FaultRecord {
    pub cause: u32,
    pub write: bool,
    pub port: u32,
    pub id: u32,
    pub va: u64,
}

/// A random aligned address in one of the two canonical halves.
fn random_va(mode: Mode, order: PageSize, bytes: u64, random: &mut Random) -> u64 {
    let half = 1u64 << (mode.va_bits() - 1);
    let offset = random.random_range(0..=(half - bytes) / order.bytes()) * order.bytes();
    if random.random_bool(0.5) {
        offset
    } else {
        half.wrapping_neg().wrapping_add(offset)
    }
}
