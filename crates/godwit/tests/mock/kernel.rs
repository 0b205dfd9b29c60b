// SPDX-License-Identifier: Apache-2.0
//! Kernels of the card: control blocks of every kind that HLS has made, and a copy of memory as their work.

use godwit::{Description, Device, LaunchEnd, LaunchTimes, Stats, layout, regs};

use super::{CONTEXTS, MEMORY_BYTES, MockCard};

/// Bytes that the kernel copies a cycle.
const STEP: u64 = 64;
pub const CONTROL: u64 = layout::REGISTER_SPACE_KERNEL_BASE as u64;
pub(super) const STRIDE: u64 = layout::REGISTER_SPACE_KERNEL_STRIDE as u64;

/// `tag` values that make the kernel misbehave.
pub const FOREVER: u32 = 1;
pub const IGNORES_ERRORS: u32 = 2;
pub const HANGS: u32 = 3;
/// Ends with a status.
pub const FAILS: u32 = 4;
/// Breaks the AXI protocol.
pub const VIOLATES: u32 = 5;
/// Not that, but other work: every word of 64 bits is copied with one added.
pub const ADDS: u32 = 6;

const SRC: u64 = 0x10;
const DST: u64 = 0x1c;
const BYTES: u64 = 0x28;
pub(super) const TAG: u64 = 0x34;
const COPIED: u64 = 0x3c;
const STATUS: u64 = 0x48;
/// An argument with a default, which does nothing.
pub const MARK: u64 = 0x50;
pub const MARK_DEFAULT: u64 = 0x1_0000_0007;

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
pub(super) struct Unit {
    pub(super) protocol: Protocol,
    pub(super) start: bool,
    pub(super) auto_restart: bool,
    pub(super) done: bool,
    pub(super) isr: u32,
    /// Bytes left to copy and copied; `None` while idle.
    pub(super) work: Option<(u64, u64)>,
    pub(super) times: Option<LaunchTimes>,
    pub(super) line_before: bool,
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
    pub(super) fn kernel_cycle(&mut self, slot: usize) {
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
                let threshold = self.get(regs::ACCESS_COUNTERS_THRESHOLD);
                for pa in [from, to] {
                    self.lines.cross(pa, size, threshold);
                }
                let mut data = vec![0; size as usize];
                self.aperture.read(&self.memory, from, &mut data);
                if tag == ADDS {
                    for word in data.chunks_exact_mut(8) {
                        let sum = u64::from_le_bytes(word.try_into().unwrap()).wrapping_add(1);
                        word.copy_from_slice(&sum.to_le_bytes());
                    }
                }
                self.aperture.write(&self.memory, to, &data);
                self.units[slot].work = Some((left - size, copied + size));
            }
            _ if tag == IGNORES_ERRORS => {}
            _ => self.finish(slot, copied, 1),
        }
    }

    fn finish(&mut self, slot: usize, copied: u64, status: u32) {
        let base = CONTROL + slot as u64 * STRIDE;
        self.put64(base + COPIED, copied);
        self.put(base + STATUS, status);
        let enabled = self.get(base + u64::from(layout::HLS_IER)) & 1;
        let unit = &mut self.units[slot];
        unit.work = None;
        unit.start = unit.auto_restart;
        unit.done = true;
        unit.isr |= enabled;
    }

    pub(super) fn line(&self, slot: usize) -> bool {
        let gie = self.get(CONTROL + slot as u64 * STRIDE + u64::from(layout::HLS_GIE));
        let unit = &self.units[slot];
        !unit.protocol.polled && gie & 1 != 0 && unit.isr != 0
    }

    /// The kernel that a register belongs to, and the register's offset there.
    pub(super) fn unit_of(&self, offset: u64) -> Option<(usize, u32)> {
        let slot = (offset.checked_sub(CONTROL)? / STRIDE) as usize;
        (slot < self.units.len()).then_some((slot, (offset % STRIDE) as u32))
    }

    pub(super) fn control_read(&mut self, slot: usize, register: u32) -> Option<u32> {
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
    pub(super) fn control_write(&mut self, slot: usize, register: u32, value: u32) -> bool {
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
pub(super) fn end_launch(unit: &mut Unit, now: Stats, end: LaunchEnd) {
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
