// SPDX-License-Identifier: Apache-2.0
//! A card made of ordinary code: the registers of the MMU, kernels with control blocks of every kind that HLS has made, and a
//! translator that follows the page tables by the book and keeps what it looked up until it is invalidated, as the hardware
//! does.
#![allow(dead_code, unused_imports, reason = "each test uses its own part")]

mod aperture;
mod kernel;
mod lines;
mod mmu;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use godwit::{
    CardError, Description, Device, LaunchEnd, LaunchTimes, Memory, NapotConfig, Ports, Stats,
    layout, regs,
};

pub use kernel::{
    ADDS, CONTROL, Clears, FAILS, FOREVER, HANGS, IGNORES_ERRORS, MARK, MARK_DEFAULT, Protocol,
    VIOLATES, description,
};
use kernel::{STRIDE, TAG, Unit, end_launch};

pub const MEMORY_BYTES: u64 = 64 << 20;
/// What the runtime keeps of it: the ring of the command queue.
pub const RING_BYTES: u64 = 4096;
pub const CONTEXTS: u32 = 16;

/// What a test may look at while the card is open.
#[derive(Default)]
pub struct Seen {
    /// Waits for what was dropped: fences, and invalidations through the register.
    pub invalidations: u32,
    /// Commands that drop something.
    pub drops: u32,
    pub closed: bool,
}

pub struct MockCard {
    description: Description,
    memory: Arc<Memory>,
    aperture: aperture::Aperture,
    lines: lines::Lines,
    stats: Stats,
    /// By word: a look at them is all that most cycles are.
    registers: Vec<u32>,
    /// What a translator keeps: (context, page, write) to the frame.
    kept: BTreeMap<(u32, u64, bool), u64>,
    units: Vec<Unit>,
    /// Error bits that the queue sets in place of executing a command.
    queue_error: u32,
    pub seen: Arc<Mutex<Seen>>,
}

impl MockCard {
    pub fn new() -> Self {
        Self::with_kernels(&[Protocol::default()])
    }

    /// With kernels `copy`, `copy1`, ... of these kinds.
    pub fn with_kernels(protocols: &[Protocol]) -> Self {
        let mut card = Self {
            description: description(protocols),
            memory: Arc::new(Memory::new(MEMORY_BYTES).unwrap()),
            aperture: aperture::Aperture::default(),
            lines: lines::Lines::default(),
            stats: Stats::default(),
            registers: Vec::new(),
            kept: BTreeMap::new(),
            units: protocols
                .iter()
                .map(|protocol| Unit {
                    protocol: *protocol,
                    ..Unit::default()
                })
                .collect(),
            queue_error: 0,
            seen: Arc::default(),
        };
        let id = regs::ID_MAGIC_VALUE << regs::ID_MAGIC_SHIFT;
        card.put(regs::ID, id | regs::ID_MAJOR_VALUE << regs::ID_MAJOR_SHIFT);
        card.put(regs::SPEC_HASH, layout::SPEC_HASH);
        card
    }

    /// Lets it reach memory of this process.
    pub fn with_aperture(mut self) -> Self {
        self.aperture.there = true;
        self
    }

    /// Has it walk pages of any power of two.
    pub fn with_any_pages(mut self) -> Self {
        self.description.config.walker.napot = NapotConfig::Any;
        self
    }

    /// Has it count which memory of this process it reaches.
    pub fn with_line_counters(mut self) -> Self {
        let config = &mut self.description.config;
        config.page_cache.counters = 16;
        config.host_link.latency_ns = 1000.0;
        config.host_link.bandwidth_gbps = 1.0;
        self
    }

    /// Has the host's work on pages that are copied home take time: once, and for each.
    pub fn with_return_costs(mut self, return_ns: f64, return_page_ns: f64) -> Self {
        let config = &mut self.description.config;
        config.card.clock_mhz = 100.0;
        config.host.return_ns = return_ns;
        config.host.return_page_ns = return_page_ns;
        self
    }

    /// Leaves kernel 0 as somebody did who had it start again and again.
    pub fn with_auto_restart(mut self) -> Self {
        self.units[0].auto_restart = true;
        self.units[0].start = true;
        self
    }

    /// Leaves an interrupt of kernel 0 pending.
    pub fn with_pending_interrupt(mut self) -> Self {
        self.units[0].isr = 1;
        self.put(CONTROL + u64::from(layout::HLS_GIE), 1);
        self
    }

    /// Makes a register read something else than this card's.
    pub fn with_register(mut self, offset: u64, value: u32) -> Self {
        self.put(offset, value);
        self
    }

    /// Makes the queue stop with these bits of `cqcsr` at its next command.
    pub fn with_queue_error(mut self, bits: u32) -> Self {
        self.queue_error = bits;
        self
    }

    /// Gives it a range TLB with so many entries.
    pub fn with_ranges(self, entries: u32) -> Self {
        self.with_register(
            regs::CAPABILITIES,
            entries << regs::CAPABILITIES_RANGES_SHIFT,
        )
    }

    fn get(&self, offset: u64) -> u32 {
        let word = self.registers.get(offset as usize / 4);
        word.copied().unwrap_or(0)
    }

    fn put(&mut self, offset: u64, value: u32) {
        let word = offset as usize / 4;
        if word >= self.registers.len() {
            self.registers.resize(word + 1, 0);
        }
        self.registers[word] = value;
    }

    fn get64(&self, offset: u64) -> u64 {
        u64::from(self.get(offset + 4)) << 32 | u64::from(self.get(offset))
    }

    fn put64(&mut self, offset: u64, value: u64) {
        self.put(offset, value as u32);
        self.put(offset + 4, (value >> 32) as u32);
    }

    /// One cycle of everything.
    fn cycle(&mut self) {
        self.stats.cycles += 1;
        self.stats.time_ps += 10_000;
        for slot in 0..self.units.len() {
            self.kernel_cycle(slot);
            let line = self.line(slot);
            let (now, unit) = (self.stats, &mut self.units[slot]);
            if line && !unit.line_before {
                end_launch(unit, now, LaunchEnd::Interrupt);
            }
            unit.line_before = line;
        }
    }

    fn irq(&self) -> u32 {
        let fault = self.get(regs::IRQ_PENDING) & self.get(regs::IRQ_ENABLE) & 1;
        let mmu = fault | u32::from(self.lines.waits());
        (0..self.units.len()).fold(mmu, |irq, slot| {
            irq | u32::from(self.line(slot)) << (1 + slot)
        })
    }
}

impl Drop for MockCard {
    fn drop(&mut self) {
        self.seen.lock().unwrap().closed = true;
    }
}

impl Device for MockCard {
    fn description(&self) -> &Description {
        &self.description
    }

    fn memory(&self) -> &Arc<Memory> {
        &self.memory
    }

    fn reg_read(&mut self, offset: u64) -> Result<u32, CardError> {
        self.cycle();
        let control = self.unit_of(offset);
        let read = control.and_then(|(slot, register)| self.control_read(slot, register));
        let read = read.or_else(|| self.lines_read(offset));
        Ok(read.unwrap_or_else(|| self.get(offset)))
    }

    fn reg_write(&mut self, offset: u64, value: u32) -> Result<(), CardError> {
        self.cycle();
        if let Some((slot, register)) = self.unit_of(offset) {
            if self.control_write(slot, register, value) {
                return Ok(());
            }
        }
        self.lines_write(offset, value);
        match offset {
            regs::INVALIDATE => {
                self.kept.clear();
                self.end_ranges(|_, _, _| true);
                self.seen.lock().unwrap().invalidations += 1;
            }
            regs::CQT => self.commands(value),
            regs::CQCSR => {
                let status = self.get(offset) & !regs::CQCSR_CQEN_MASK & !value;
                let on = (value & regs::CQCSR_CQEN_MASK) * (1 | regs::CQCSR_CQON_MASK);
                self.put(offset, status | on);
            }
            regs::IRQ_PENDING | regs::FAULT => {
                self.put(offset, self.get(offset) & !value);
            }
            regs::COUNT_CONTROL if value & regs::COUNT_CONTROL_CLEAR_MASK != 0 => {
                for counter in (0x1000..0x4000).step_by(4) {
                    self.put(counter, 0);
                }
                self.put(regs::FAULTS_LOST, 0);
            }
            _ => {
                self.put(offset, value);
            }
        }
        Ok(())
    }

    fn run(&mut self, max_cycles: u64, irq_mask: u32) -> Result<u32, CardError> {
        // A look at the lines is no time in which anything happens.
        let busy = if max_cycles > 1 { self.units.len() } else { 0 };
        for slot in 0..busy {
            let tag = self.get(CONTROL + slot as u64 * STRIDE + TAG);
            if self.units[slot].work.is_none() && !self.units[slot].start {
                continue;
            }
            let name = &self.description.kernels[slot].name;
            match tag {
                HANGS => {
                    return Err(CardError::Hang(
                        "port 0: R channel waits for ready since cycle 7".into(),
                    ));
                }
                VIOLATES => {
                    return Err(CardError::Design(format!(
                        "AXI protocol violation in cycle 7 on memory port {slot} ({name}): a burst of 2"
                    )));
                }
                _ => {}
            }
        }
        for _ in 0..max_cycles {
            if self.irq() & irq_mask != 0 {
                break;
            }
            self.cycle();
        }
        Ok(self.irq())
    }

    fn charge_copy(&mut self, _: bool, _: u64, len: u64) -> Result<(), CardError> {
        self.stats.link_bytes += len;
        self.stats.time_ps += 1000 + len;
        Ok(())
    }

    fn set_host_window(&mut self, _: u64, _: Option<Arc<Memory>>) -> Result<(), CardError> {
        Err(CardError::Invalid("the mock has no aperture".into()))
    }

    unsafe fn open_process_window(&mut self, addr: u64, len: u64) -> Result<(), CardError> {
        self.aperture.open(addr, len)
    }

    fn close_process_window(&mut self, addr: u64) -> Result<(), CardError> {
        self.aperture.close(addr);
        Ok(())
    }

    fn stats(&self) -> Result<Stats, CardError> {
        Ok(self.stats)
    }

    fn launch_times(&self, slot: u32) -> Result<Option<LaunchTimes>, CardError> {
        Ok(self.units[slot as usize].times)
    }

    fn ports(&mut self) -> Option<&mut dyn Ports> {
        None
    }
}
