// SPDX-License-Identifier: Apache-2.0
//! A card made of ordinary code: the registers of the MMU, one kernel, and a translator that follows the page tables by
//! the book and keeps what it looked up until it is invalidated, as the hardware does.
#![allow(dead_code, reason = "each test uses its own part")]

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use godwit::{CardError, Description, Device, Memory, Mode, Ports, Stats, layout, regs, walker};

pub const MEMORY_BYTES: u64 = 64 << 20;
/// What the runtime keeps of it: the ring of the command queue.
pub const RING_BYTES: u64 = 4096;
pub const CONTEXTS: u32 = 16;
/// Bytes that the kernel copies a cycle.
const STEP: u64 = 64;
const CONTROL: u64 = layout::REGISTER_SPACE_KERNEL_BASE as u64;

/// `tag` values that make the kernel misbehave.
pub const FOREVER: u32 = 1;
pub const IGNORES_ERRORS: u32 = 2;
pub const HANGS: u32 = 3;

const SRC: u64 = 0x10;
const DST: u64 = 0x1c;
const BYTES: u64 = 0x28;
const TAG: u64 = 0x34;
const COPIED: u64 = 0x3c;
const STATUS: u64 = 0x48;

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
    stats: Stats,
    registers: HashMap<u64, u32>,
    /// What a translator keeps: (context, page, write) to the frame.
    kept: HashMap<(u32, u64, bool), u64>,
    /// Bytes left to copy and copied; `None` while idle.
    work: Option<(u64, u64)>,
    /// Error bits that the queue sets in place of executing a command.
    queue_error: u32,
    pub seen: Arc<Mutex<Seen>>,
}

pub fn description() -> Description {
    let json = format!(
        r#"{{"name": "mock", "hash": "0", "spec_hash": 0, "waves": false,
            "config": {{"card": {{"clock_mhz": 100, "memory_bytes": {MEMORY_BYTES}, "external_ports": 1}},
                       "axi": {{"id_width": 4, "data_width": 512}}, "walker": {{"levels": 4}},
                       "contexts": {{"count": {CONTEXTS}}}}},
            "kernels": [{{"name": "copy", "port": 0, "args": [
                {{"name": "src", "kind": "buffer", "access": "r", "offset": {SRC}}},
                {{"name": "dst", "kind": "buffer", "access": "w", "offset": {DST}}},
                {{"name": "bytes", "kind": "u64", "offset": {BYTES}}},
                {{"name": "tag", "kind": "u32", "offset": {TAG}}},
                {{"name": "copied", "kind": "out_u64", "offset": {COPIED}}},
                {{"name": "status", "kind": "out_u32", "offset": {STATUS}}}]}}]}}"#
    );
    Description::parse(&json).unwrap()
}

impl MockCard {
    pub fn new() -> Self {
        let mut registers = HashMap::new();
        registers.insert(regs::ID, 0x4757_0100);
        registers.insert(regs::SPEC_HASH, layout::SPEC_HASH);
        Self {
            description: description(),
            memory: Arc::new(Memory::new(MEMORY_BYTES).unwrap()),
            stats: Stats::default(),
            registers,
            kept: HashMap::new(),
            work: None,
            queue_error: 0,
            seen: Arc::default(),
        }
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
                1 if what & 1 << 32 == 0 => self.kept.clear(),
                1 if what & 1 << 10 == 0 => self.kept.retain(|kept, _| kept.0 != context),
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

    /// Where an access of port 0 goes; `None` after a fault was recorded.
    fn translate(&mut self, va: u64, write: bool) -> Option<u64> {
        let binding = self.get(regs::PORT_BINDING);
        let context = binding >> regs::PORT_BINDING_CONTEXT_ID_SHIFT;
        let counter = if write {
            regs::PORT_COUNTERS_PORT_AW_REQUESTS
        } else {
            regs::PORT_COUNTERS_PORT_AR_REQUESTS
        };
        self.put64(counter, self.get64(counter) + 1);
        let result = match binding & regs::PORT_BINDING_MODE_MASK {
            layout::PORT_MODE_BARE => Ok(va),
            layout::PORT_MODE_TRANSLATE => self.walk(context, va, write),
            _ => Err(layout::CAUSE_PORT_OFF),
        };
        result
            .map_err(|cause| self.record_fault(cause, context, va, write))
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

    fn record_fault(&mut self, cause: u32, context: u32, va: u64, write: bool) {
        if self.get(regs::FAULT) & regs::FAULT_VALID_MASK != 0 {
            self.registers
                .insert(regs::FAULTS_LOST, self.get(regs::FAULTS_LOST) + 1);
            return;
        }
        let write = if write { regs::FAULT_WRITE_MASK } else { 0 };
        let fault = regs::FAULT_VALID_MASK
            | write
            | cause << regs::FAULT_CAUSE_SHIFT
            | context << regs::FAULT_CONTEXT_ID_SHIFT;
        self.registers.insert(regs::FAULT, fault);
        self.put64(regs::FAULT_ADDRESS, va);
        self.registers
            .insert(regs::IRQ_PENDING, regs::IRQ_PENDING_FAULT_MASK);
    }

    /// One cycle of the kernel.
    fn cycle(&mut self) {
        self.stats.cycles += 1;
        self.stats.time_ps += 10_000;
        let Some((left, copied)) = self.work else {
            return;
        };
        let tag = self.get(CONTROL + TAG);
        if left == 0 && tag != FOREVER && tag != IGNORES_ERRORS {
            return self.finish(copied, 0);
        }
        let size = left.min(STEP);
        let (src, dst) = (
            self.get64(CONTROL + SRC) + copied,
            self.get64(CONTROL + DST) + copied,
        );
        let from = self.translate(src, false);
        let to = self.translate(dst, true);
        match (from, to) {
            (Some(from), Some(to)) => {
                let mut data = vec![0; size as usize];
                self.memory.read(from, &mut data).unwrap();
                self.memory.write(to, &data).unwrap();
                self.work = Some((left - size, copied + size));
            }
            _ if tag == IGNORES_ERRORS => {}
            _ => self.finish(copied, 1),
        }
    }

    fn finish(&mut self, copied: u64, status: u32) {
        self.work = None;
        self.put64(CONTROL + COPIED, copied);
        self.registers.insert(CONTROL + STATUS, status);
        self.registers
            .insert(CONTROL + u64::from(layout::HLS_ISR), 1);
    }

    fn irq(&self) -> u32 {
        let hls = |register: u32| self.get(CONTROL + u64::from(register)) & 1;
        let kernel = hls(layout::HLS_GIE) & hls(layout::HLS_IER) & hls(layout::HLS_ISR);
        let mmu = self.get(regs::IRQ_PENDING) & self.get(regs::IRQ_ENABLE) & 1;
        kernel << 1 | mmu
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
        Ok(self.get(offset))
    }

    fn reg_write(&mut self, offset: u64, value: u32) -> Result<(), CardError> {
        self.cycle();
        let isr = CONTROL + u64::from(layout::HLS_ISR);
        match offset {
            regs::INVALIDATE => {
                self.kept.clear();
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
            CONTROL if value & 1 != 0 => self.work = Some((self.get64(CONTROL + BYTES), 0)),
            _ if offset == isr => {
                self.registers.insert(offset, self.get(offset) ^ value);
            }
            _ => {
                self.registers.insert(offset, value);
            }
        }
        Ok(())
    }

    fn run(&mut self, max_cycles: u64, irq_mask: u32) -> Result<u32, CardError> {
        if self.work.is_some() && self.get(CONTROL + TAG) == HANGS {
            return Err(CardError::Hang(
                "port 0: R channel waits for ready since cycle 7".into(),
            ));
        }
        for _ in 0..max_cycles {
            if self.irq() & irq_mask != 0 {
                break;
            }
            self.cycle();
        }
        Ok(self.irq())
    }

    fn upload(&mut self, device_addr: u64, data: &[u8]) -> Result<(), CardError> {
        self.stats.link_bytes += data.len() as u64;
        self.stats.time_ps += 1000 + data.len() as u64;
        self.memory.write(device_addr, data)
    }

    fn download(&mut self, device_addr: u64, data: &mut [u8]) -> Result<(), CardError> {
        self.stats.link_bytes += data.len() as u64;
        self.stats.time_ps += 1000 + data.len() as u64;
        self.memory.read(device_addr, data)
    }

    fn set_host_window(&mut self, _: u64, _: Option<Arc<Memory>>) -> Result<(), CardError> {
        Err(CardError::Invalid("the mock has no aperture".into()))
    }

    fn stats(&self) -> Result<Stats, CardError> {
        Ok(self.stats)
    }

    fn ports(&mut self) -> Option<&mut dyn Ports> {
        None
    }
}
