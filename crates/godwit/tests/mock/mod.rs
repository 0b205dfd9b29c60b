// SPDX-License-Identifier: Apache-2.0
//! A card made of ordinary code: the registers of the MMU, kernels with control blocks of every kind that HLS has made, and a
//! translator that follows the page tables by the book and keeps what it looked up until it is invalidated, as the hardware
//! does.
#![allow(dead_code, reason = "each test uses its own part")]

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use godwit::{
    CardError, Description, Device, LaunchEnd, LaunchTimes, Memory, Mode, Ports, Stats, layout,
    regs, walker,
};

pub const MEMORY_BYTES: u64 = 64 << 20;
/// What the runtime keeps of it: the ring of the command queue.
pub const RING_BYTES: u64 = 4096;
pub const CONTEXTS: u32 = 16;
/// Bytes that the kernel copies a cycle.
const STEP: u64 = 64;
pub const CONTROL: u64 = layout::REGISTER_SPACE_KERNEL_BASE as u64;
const STRIDE: u64 = layout::REGISTER_SPACE_KERNEL_STRIDE as u64;

/// `tag` values that make the kernel misbehave.
pub const FOREVER: u32 = 1;
pub const IGNORES_ERRORS: u32 = 2;
pub const HANGS: u32 = 3;
/// Ends with a status.
pub const FAILS: u32 = 4;
/// Breaks the AXI protocol.
pub const VIOLATES: u32 = 5;

const SRC: u64 = 0x10;
const DST: u64 = 0x1c;
const BYTES: u64 = 0x28;
const TAG: u64 = 0x34;
const COPIED: u64 = 0x3c;
const STATUS: u64 = 0x48;
/// An argument with a default, which does nothing.
pub const MARK: u64 = 0x50;
pub const MARK_DEFAULT: u64 = 0x1_0000_0007;

/// What a test may look at while the card is open.
#[derive(Default)]
pub struct Seen {
    /// Waits for what was dropped: fences, and invalidations through the register.
    pub invalidations: u32,
    /// Commands that drop something.
    pub drops: u32,
    pub closed: bool,
}

/// How interrupt status is cleared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Clears {
    OnRead,
    #[default]
    Toggle,
    WriteOne,
    /// Not at all.
    Never,
}

/// What kind of control block a kernel has.
#[derive(Debug, Clone, Copy, Default)]
pub struct Protocol {
    pub clears: Clears,
    /// `ap_ctrl_chain`: done is held until `ap_continue`.
    pub chain: bool,
    pub polled: bool,
    /// Done never falls again.
    pub done_sticks: bool,
}

/// A kernel: its control block and its work.
#[derive(Default)]
struct Unit {
    protocol: Protocol,
    start: bool,
    auto_restart: bool,
    done: bool,
    isr: u32,
    /// Bytes left to copy and copied; `None` while idle.
    work: Option<(u64, u64)>,
    times: Option<LaunchTimes>,
    line_before: bool,
}

pub struct MockCard {
    description: Description,
    memory: Arc<Memory>,
    stats: Stats,
    registers: HashMap<u64, u32>,
    /// What a translator keeps: (context, page, write) to the frame.
    kept: HashMap<(u32, u64, bool), u64>,
    units: Vec<Unit>,
    /// Error bits that the queue sets in place of executing a command.
    queue_error: u32,
    pub seen: Arc<Mutex<Seen>>,
}

pub fn description(protocols: &[Protocol]) -> Description {
    let kernels: Vec<String> = protocols
        .iter()
        .enumerate()
        .map(|(slot, protocol)| {
            let name = if slot == 0 {
                "copy".to_owned()
            } else {
                format!("copy{slot}")
            };
            format!(
                r#"{{"name": "{name}", "port": {slot}, "interrupt": {}, "args": [
                {{"name": "src", "kind": "buffer", "access": "r", "offset": {SRC}}},
                {{"name": "dst", "kind": "buffer", "access": "w", "offset": {DST}}},
                {{"name": "bytes", "kind": "u64", "offset": {BYTES}}},
                {{"name": "tag", "kind": "u32", "offset": {TAG}}},
                {{"name": "copied", "kind": "out_u64", "offset": {COPIED}}},
                {{"name": "mark", "kind": "u64", "offset": {MARK}, "default": {MARK_DEFAULT}}},
                {{"name": "status", "kind": "out_u32", "offset": {STATUS}, "status": true,
                  "description": "0 done, 1 refused, 7 asked for"}}]}}"#,
                !protocol.polled
            )
        })
        .collect();
    let kernels = kernels.join(", ");
    let json = format!(
        r#"{{"name": "mock", "hash": "0", "spec_hash": 0, "waves": false,
            "config": {{"card": {{"clock_mhz": 100, "memory_bytes": {MEMORY_BYTES}, "external_ports": 1}},
                       "axi": {{"id_width": 4, "data_width": 512}}, "walker": {{"levels": 4}},
                       "contexts": {{"count": {CONTEXTS}}}}},
            "kernels": [{kernels}]}}"#
    );
    Description::parse(&json).unwrap()
}

impl MockCard {
    pub fn new() -> Self {
        Self::with_kernels(&[Protocol::default()])
    }

    /// With kernels `copy`, `copy1`, ... of these kinds.
    pub fn with_kernels(protocols: &[Protocol]) -> Self {
        let mut registers = HashMap::new();
        registers.insert(
            regs::ID,
            regs::ID_MAGIC_VALUE << regs::ID_MAGIC_SHIFT
                | regs::ID_MAJOR_VALUE << regs::ID_MAJOR_SHIFT,
        );
        registers.insert(regs::SPEC_HASH, layout::SPEC_HASH);
        Self {
            description: description(protocols),
            memory: Arc::new(Memory::new(MEMORY_BYTES).unwrap()),
            stats: Stats::default(),
            registers,
            kept: HashMap::new(),
            units: protocols
                .iter()
                .map(|protocol| Unit {
                    protocol: *protocol,
                    ..Unit::default()
                })
                .collect(),
            queue_error: 0,
            seen: Arc::default(),
        }
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
        self.registers
            .insert(CONTROL + u64::from(layout::HLS_GIE), 1);
        self
    }

    /// Makes a register read something else than this card's.
    pub fn with_register(mut self, offset: u64, value: u32) -> Self {
        self.registers.insert(offset, value);
        self
    }

    /// Makes the queue stop with these bits of `cqcsr` at its next command.
    pub fn with_queue_error(mut self, bits: u32) -> Self {
        self.queue_error = bits;
        self
    }

    /// Executes the commands up to the tail, as the specification of the queue has them.
    fn commands(&mut self, tail: u32) {
        let cqb = self.get64(regs::CQB);
        let (ring, size) = (cqb >> 10 << 12, 2 << (cqb & 31));
        let mut head = self.get(regs::CQH);
        while head != tail {
            if self.queue_error != 0 {
                let status = self.get(regs::CQCSR) | self.queue_error;
                self.registers.insert(regs::CQCSR, status);
                break;
            }
            let word = |at| {
                self.memory
                    .read_u64(ring + u64::from(head) * 16 + at)
                    .unwrap()
            };
            let (what, place) = (word(0), word(8));
            let context = (what >> 12 & 0xf_ffff) as u32;
            match what & 0x3ff {
                1 if what & 1 << 32 == 0 => {
                    self.kept.clear();
                    self.end_ranges(|_, _, _| true);
                }
                1 if what & 1 << 10 == 0 => {
                    self.kept.retain(|kept, _| kept.0 != context);
                    self.end_ranges(|of, _, _| of == context);
                }
                1 => {
                    let vpn = place >> 10;
                    let ones = if place & 1 << 9 == 0 {
                        0
                    } else {
                        vpn.trailing_ones() + 1
                    };
                    let inside = |page: u64| page >> 12 >> ones == vpn >> ones;
                    self.kept
                        .retain(|kept, _| kept.0 != context || !inside(kept.1));
                    let pages = vpn >> ones << ones..=vpn | ((1 << ones) - 1);
                    self.end_ranges(|of, base, limit| {
                        of == context && base <= *pages.end() && *pages.start() <= limit
                    });
                }
                2 => {
                    self.seen.lock().unwrap().invalidations += 1;
                    let done = self.get(regs::CQCSR) | regs::CQCSR_FENCE_W_IP_MASK;
                    self.registers.insert(regs::CQCSR, done);
                }
                _ => panic!("{what:#x} is no command"),
            }
            self.seen.lock().unwrap().drops += u32::from(what & 0x3ff == 1);
            head = (head + 1) % size;
        }
        self.registers.insert(regs::CQH, head);
    }

    /// Gives it a range TLB with so many entries.
    pub fn with_ranges(self, entries: u32) -> Self {
        self.with_register(
            regs::CAPABILITIES,
            entries << regs::CAPABILITIES_RANGES_SHIFT,
        )
    }

    /// Ends the entries of the range TLB for which `ends(context, first page, last page)`.
    fn end_ranges(&mut self, ends: impl Fn(u32, u64, u64) -> bool) {
        let entries = self.get(regs::CAPABILITIES) >> regs::CAPABILITIES_RANGES_SHIFT & 31;
        for at in (0..u64::from(entries)).map(|entry| entry * regs::RANGES_ENTRY_STRIDE) {
            let control = self.get(at + regs::RANGES_ENTRY_CONTROL);
            let context = control >> regs::RANGES_ENTRY_CONTROL_CONTEXT_ID_SHIFT & 0xff;
            let base = self.get64(at + regs::RANGES_ENTRY_BASE);
            let limit = self.get64(at + regs::RANGES_ENTRY_LIMIT);
            if ends(context, base, limit) {
                self.registers.insert(
                    at + regs::RANGES_ENTRY_CONTROL,
                    control & !regs::RANGES_ENTRY_CONTROL_VALID_MASK,
                );
            }
        }
    }

    fn get(&self, offset: u64) -> u32 {
        self.registers.get(&offset).copied().unwrap_or(0)
    }

    fn get64(&self, offset: u64) -> u64 {
        u64::from(self.get(offset + 4)) << 32 | u64::from(self.get(offset))
    }

    fn put64(&mut self, offset: u64, value: u64) {
        self.registers.insert(offset, value as u32);
        self.registers.insert(offset + 4, (value >> 32) as u32);
    }

    /// Where an access of a port goes; `None` after a fault was recorded.
    fn translate(&mut self, port: u64, va: u64, write: bool) -> Option<u64> {
        let binding = self.get(regs::PORT_BINDING + port * regs::PORT_STRIDE);
        let context = binding >> regs::PORT_BINDING_CONTEXT_ID_SHIFT;
        let counter = if write {
            regs::PORT_COUNTERS_PORT_AW_REQUESTS
        } else {
            regs::PORT_COUNTERS_PORT_AR_REQUESTS
        } + port * regs::PORT_COUNTERS_PORT_STRIDE;
        self.put64(counter, self.get64(counter) + 1);
        let result = match binding & regs::PORT_BINDING_MODE_MASK {
            layout::PORT_MODE_BARE => Ok(va),
            layout::PORT_MODE_TRANSLATE => self.walk(context, va, write),
            _ => Err(layout::CAUSE_PORT_OFF),
        };
        result
            .map_err(|cause| self.record_fault(port, cause, context, va, write))
            .ok()
    }

    fn walk(&mut self, context: u32, va: u64, write: bool) -> Result<u64, u32> {
        let (page, offset) = (va & !0xfff, va & 0xfff);
        if let Some(frame) = self.kept.get(&(context, page, write)) {
            return Ok(frame + offset);
        }
        let fsc = self.get64(regs::CONTEXTS_FSC + u64::from(context) * regs::CONTEXTS_FSC_STRIDE);
        let mode = (fsc >> layout::FSC_MODE_SHIFT) as u32;
        let mode = Mode::ALL
            .into_iter()
            .find(|known| known.code() == mode)
            .ok_or(layout::CAUSE_CONTEXT_OFF)?;
        let root = (fsc & layout::FSC_PPN_MASK) << 12;
        let access = if write {
            walker::Access::Store
        } else {
            walker::Access::Load
        };
        let read = |pa| self.memory.read_u64(pa).unwrap();
        let pa = walker::translate(read, mode, root, va, access)
            .map_err(|fault| fault.cause)?
            .pa;
        self.kept.insert((context, page, write), pa - offset);
        Ok(pa)
    }

    fn record_fault(&mut self, port: u64, cause: u32, context: u32, va: u64, write: bool) {
        if self.get(regs::FAULT) & regs::FAULT_VALID_MASK != 0 {
            self.registers
                .insert(regs::FAULTS_LOST, self.get(regs::FAULTS_LOST) + 1);
            return;
        }
        let write = if write { regs::FAULT_WRITE_MASK } else { 0 };
        let fault = regs::FAULT_VALID_MASK
            | write
            | (port as u32) << regs::FAULT_PORT_SHIFT
            | cause << regs::FAULT_CAUSE_SHIFT
            | context << regs::FAULT_CONTEXT_ID_SHIFT;
        self.registers.insert(regs::FAULT, fault);
        self.put64(regs::FAULT_ADDRESS, va);
        self.registers
            .insert(regs::IRQ_PENDING, regs::IRQ_PENDING_FAULT_MASK);
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

    fn kernel_cycle(&mut self, slot: usize) {
        let base = CONTROL + slot as u64 * STRIDE;
        let enabled = self.get(base + u64::from(layout::HLS_IER)) & 1;
        let unit = &mut self.units[slot];
        if unit.protocol.chain && unit.done {
            // What holds done holds the kernel, and sets the status again and again.
            unit.isr |= enabled;
            if unit.auto_restart {
                unit.done = false;
            }
            return;
        }
        if unit.work.is_none() && unit.start {
            let bytes = self.get64(base + BYTES);
            self.units[slot].work = Some((bytes, 0));
        }
        let Some((left, copied)) = self.units[slot].work else {
            return;
        };
        let tag = self.get(base + TAG);
        if tag == FAILS {
            return self.finish(slot, copied, 7);
        }
        if left == 0 && tag != FOREVER && tag != IGNORES_ERRORS {
            return self.finish(slot, copied, 0);
        }
        let (src, dst) = (
            self.get64(base + SRC) + copied,
            self.get64(base + DST) + copied,
        );
        // No burst crosses a page.
        let in_page = |address: u64| 4096 - address % 4096;
        let size = left.min(STEP).min(in_page(src)).min(in_page(dst));
        let from = self.translate(slot as u64, src, false);
        let to = self.translate(slot as u64, dst, true);
        match (from, to) {
            (Some(from), Some(to)) => {
                let mut data = vec![0; size as usize];
                self.memory.read(from, &mut data).unwrap();
                self.memory.write(to, &data).unwrap();
                self.units[slot].work = Some((left - size, copied + size));
            }
            _ if tag == IGNORES_ERRORS => {}
            _ => self.finish(slot, copied, 1),
        }
    }

    fn finish(&mut self, slot: usize, copied: u64, status: u32) {
        let base = CONTROL + slot as u64 * STRIDE;
        self.put64(base + COPIED, copied);
        self.registers.insert(base + STATUS, status);
        let enabled = self.get(base + u64::from(layout::HLS_IER)) & 1;
        let unit = &mut self.units[slot];
        unit.work = None;
        unit.start = unit.auto_restart;
        unit.done = true;
        unit.isr |= enabled;
    }

    fn line(&self, slot: usize) -> bool {
        let gie = self.get(CONTROL + slot as u64 * STRIDE + u64::from(layout::HLS_GIE));
        let unit = &self.units[slot];
        !unit.protocol.polled && gie & 1 != 0 && unit.isr != 0
    }

    fn irq(&self) -> u32 {
        let mmu = self.get(regs::IRQ_PENDING) & self.get(regs::IRQ_ENABLE) & 1;
        (0..self.units.len()).fold(mmu, |irq, slot| {
            irq | u32::from(self.line(slot)) << (1 + slot)
        })
    }

    /// The kernel that a register belongs to, and the register's offset there.
    fn unit_of(&self, offset: u64) -> Option<(usize, u32)> {
        let slot = (offset.checked_sub(CONTROL)? / STRIDE) as usize;
        (slot < self.units.len()).then_some((slot, (offset % STRIDE) as u32))
    }

    fn control_read(&mut self, slot: usize, register: u32) -> Option<u32> {
        let (now, unit) = (self.stats, &mut self.units[slot]);
        match register {
            layout::HLS_AP_CTRL => {
                let idle = unit.work.is_none() && !unit.start;
                let value = u32::from(unit.start)
                    | u32::from(unit.done) << 1
                    | u32::from(idle) << 2
                    | u32::from(unit.auto_restart) << 7;
                if unit.done {
                    end_launch(unit, now, LaunchEnd::Polled);
                }
                if !unit.protocol.chain && !unit.protocol.done_sticks {
                    unit.done = false;
                }
                Some(value)
            }
            layout::HLS_ISR => {
                let value = unit.isr;
                if unit.protocol.clears == Clears::OnRead {
                    unit.isr = 0;
                }
                Some(value)
            }
            _ => None,
        }
    }

    /// Whether it was a register of the control block.
    fn control_write(&mut self, slot: usize, register: u32, value: u32) -> bool {
        let (now, unit) = (self.stats, &mut self.units[slot]);
        match register {
            layout::HLS_AP_CTRL => {
                if value & 1 != 0 {
                    unit.start = true;
                    unit.times = Some(LaunchTimes {
                        start_cycle: now.cycles,
                        end_cycle: 0,
                        end: LaunchEnd::Running,
                        stats: now,
                    });
                }
                if unit.protocol.chain && value & 0x10 != 0 && !unit.protocol.done_sticks {
                    unit.done = false;
                }
                unit.auto_restart = value & 0x80 != 0;
            }
            layout::HLS_ISR => match unit.protocol.clears {
                Clears::Toggle => unit.isr ^= value & 1,
                Clears::WriteOne => unit.isr &= !value,
                Clears::OnRead | Clears::Never => {}
            },
            _ => return false,
        }
        true
    }
}

/// The first end that is seen of a launch.
fn end_launch(unit: &mut Unit, now: Stats, end: LaunchEnd) {
    if let Some(times) = unit
        .times
        .as_mut()
        .filter(|times| times.end == LaunchEnd::Running)
    {
        times.end = end;
        times.end_cycle = now.cycles;
        times.stats = now.since(&times.stats);
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
        Ok(read.unwrap_or_else(|| self.get(offset)))
    }

    fn reg_write(&mut self, offset: u64, value: u32) -> Result<(), CardError> {
        self.cycle();
        if let Some((slot, register)) = self.unit_of(offset) {
            if self.control_write(slot, register, value) {
                return Ok(());
            }
        }
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
                self.registers.insert(offset, status | on);
            }
            regs::IRQ_PENDING | regs::FAULT => {
                self.registers.insert(offset, self.get(offset) & !value);
            }
            regs::COUNT_CONTROL if value & regs::COUNT_CONTROL_CLEAR_MASK != 0 => {
                self.registers
                    .retain(|register, _| !(0x1000..0x4000).contains(register));
                self.registers.insert(regs::FAULTS_LOST, 0);
            }
            _ => {
                self.registers.insert(offset, value);
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
