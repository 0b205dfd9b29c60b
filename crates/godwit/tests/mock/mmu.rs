// SPDX-License-Identifier: Apache-2.0
//! The MMU of the card: the command queue, the range TLB, walks by the book, and the fault record.

use godwit::{Mode, layout, pages_of, regs, walker};

use super::MockCard;

impl MockCard {
    /// Executes the commands up to the tail, as the specification of the queue has them.
    pub(super) fn commands(&mut self, tail: u32) {
        let cqb = self.get64(regs::CQB);
        let (ring, size) = (cqb >> 10 << 12, 2 << (cqb & 31));
        let mut head = self.get(regs::CQH);
        while head != tail {
            if self.queue_error != 0 {
                let status = self.get(regs::CQCSR) | self.queue_error;
                self.put(regs::CQCSR, status);
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
                    let pages = vpn >> ones << ones..=vpn | ((1 << ones) - 1);
                    let first = (context, pages.start() << 12, false);
                    let last = (context, pages.end() << 12, true);
                    let inside = self.kept.range(first..=last);
                    let inside: Vec<_> = inside.map(|(kept, _)| *kept).collect();
                    for kept in inside {
                        self.kept.remove(&kept);
                    }
                    self.end_ranges(|of, base, limit| {
                        of == context && base <= *pages.end() && *pages.start() <= limit
                    });
                }
                2 => {
                    self.seen.lock().unwrap().invalidations += 1;
                    let done = self.get(regs::CQCSR) | regs::CQCSR_FENCE_W_IP_MASK;
                    self.put(regs::CQCSR, done);
                }
                _ => panic!("{what:#x} is no command"),
            }
            self.seen.lock().unwrap().drops += u32::from(what & 0x3ff == 1);
            head = (head + 1) % size;
        }
        self.put(regs::CQH, head);
    }

    /// Ends the entries of the range TLB for which `ends(context, first page, last page)`.
    pub(super) fn end_ranges(&mut self, ends: impl Fn(u32, u64, u64) -> bool) {
        let entries = self.get(regs::CAPABILITIES) >> regs::CAPABILITIES_RANGES_SHIFT & 31;
        for at in (0..u64::from(entries)).map(|entry| entry * regs::RANGES_ENTRY_STRIDE) {
            let control = self.get(at + regs::RANGES_ENTRY_CONTROL);
            let context = control >> regs::RANGES_ENTRY_CONTROL_CONTEXT_ID_SHIFT & 0xff;
            let base = self.get64(at + regs::RANGES_ENTRY_BASE);
            let limit = self.get64(at + regs::RANGES_ENTRY_LIMIT);
            if ends(context, base, limit) {
                self.put(
                    at + regs::RANGES_ENTRY_CONTROL,
                    control & !regs::RANGES_ENTRY_CONTROL_VALID_MASK,
                );
            }
        }
    }

    /// Where an access of a port goes; `None` after a fault was recorded.
    pub(super) fn translate(&mut self, port: u64, va: u64, write: bool) -> Option<u64> {
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
        // With SADE a leaf that lacks nothing else gets A, and D of a write.
        let bits = match (fsc & layout::FSC_SADE_MASK != 0, write) {
            (false, _) => 0,
            (true, false) => layout::PTE_A,
            (true, true) => layout::PTE_A | layout::PTE_D,
        };
        let mut leaf = None;
        let read = |pa| {
            let entry = self.memory.read_u64(pa).unwrap();
            if entry & (layout::PTE_R | layout::PTE_X) == 0 {
                return entry;
            }
            leaf = Some((pa, entry | bits));
            entry | bits
        };
        let pa = walker::translate(pages_of(&self.description), read, mode, root, va, access)
            .map_err(|fault| fault.cause)?
            .pa;
        if let Some((at, entry)) = leaf {
            self.memory.write_u64(at, entry).unwrap();
        }
        self.kept.insert((context, page, write), pa - offset);
        Ok(pa)
    }

    fn record_fault(&mut self, port: u64, cause: u32, context: u32, va: u64, write: bool) {
        if self.get(regs::FAULT) & regs::FAULT_VALID_MASK != 0 {
            self.put(regs::FAULTS_LOST, self.get(regs::FAULTS_LOST) + 1);
            return;
        }
        let write = if write { regs::FAULT_WRITE_MASK } else { 0 };
        let fault = regs::FAULT_VALID_MASK
            | write
            | (port as u32) << regs::FAULT_PORT_SHIFT
            | cause << regs::FAULT_CAUSE_SHIFT
            | context << regs::FAULT_CONTEXT_ID_SHIFT;
        self.put(regs::FAULT, fault);
        self.put64(regs::FAULT_ADDRESS, va);
        self.put(regs::IRQ_PENDING, regs::IRQ_PENDING_FAULT_MASK);
    }
}
