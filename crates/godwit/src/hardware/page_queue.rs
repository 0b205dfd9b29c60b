// SPDX-License-Identifier: Apache-2.0
//! The page-request queue as the runtime uses it: a ring in host memory, which the hardware fills and the engine empties at the
//! interrupt. Responses are commands of the [`command queue`](super::queue).

use std::sync::Arc;

use godwit_card::{Device, Memory};
use godwit_core::layout;

use crate::hardware::frames::FRAME_BYTES;
use crate::{Error, regs};

/// Records that the ring holds: more than there are places, so that none waits for room.
const RECORDS: u64 = FRAME_BYTES / layout::PAGE_QUEUE_BYTES as u64;
/// Where the ring is on the bus: above all addresses of a process, and the page DMA's ring.
const RING_BUS: u64 = 3 << 53;
/// An interrupt stands for so many records, or comes so many cycles after the first one: enough for those that a kernel asks for
/// in one go to come together, and little beside what the interrupt costs.
const IRQ_RECORDS: u32 = 16;
const IRQ_CYCLES: u32 = 64;

const BASE: u64 = layout::REGISTER_SPACE_MMU_BASE as u64;
const ENABLED: u32 = regs::PAGE_QUEUE_PQCSR_PQEN_MASK | regs::PAGE_QUEUE_PQCSR_PIE_MASK;

/// A page that accesses wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PageRequest {
    pub context: u32,
    /// First address of the page.
    pub va: u64,
    /// Somebody writes it.
    pub write: bool,
    /// What the response names.
    pub group: u32,
}

/// How a page request ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PageEnd {
    /// It is mapped: the accesses go on.
    There,
    /// There is no such page, or it is not allowed: they fail.
    Invalid,
    /// It could not be brought: they fail.
    Failed,
}

impl PageEnd {
    pub fn code(self) -> u64 {
        u64::from(match self {
            Self::There => layout::PAGE_RESPONSE_SUCCESS,
            Self::Invalid => layout::PAGE_RESPONSE_INVALID,
            Self::Failed => layout::PAGE_RESPONSE_FAILURE,
        })
    }
}

/// The page-request queue of a card, turned on.
pub(crate) struct PageQueue {
    ring: Arc<Memory>,
    /// The next record to read.
    head: u64,
}

impl PageQueue {
    /// Turns it on. A page without a response is given up before the card is for want of progress.
    pub fn turn_on(device: &mut dyn Device) -> Result<Self, Error> {
        let watchdog = device.description().config.card.watchdog_cycles;
        let timeout_cycles = u32::try_from(watchdog / 4 * 3).unwrap_or(u32::MAX);
        let ring = Arc::new(Memory::new(FRAME_BYTES)?);
        device.set_host_window(RING_BUS, Some(Arc::clone(&ring)))?;
        let frame = (layout::HOST_APERTURE_BASE + RING_BUS) >> layout::PT_PAGE_SHIFT;
        let size = u64::from(RECORDS.ilog2() - 1) << regs::PAGE_QUEUE_PQB_LOG2SZM1_SHIFT;
        let base = frame << regs::PAGE_QUEUE_PQB_PPN_LO_SHIFT | size;
        for (register, value) in [
            (regs::PAGE_QUEUE_PQB, base as u32),
            (regs::PAGE_QUEUE_PQB + 4, (base >> 32) as u32),
            (regs::PAGE_QUEUE_PQ_SENT, timeout_cycles),
            (regs::PAGE_QUEUE_PQ_UNSENT, timeout_cycles),
            (regs::PAGE_QUEUE_PQ_IRQ_COUNT, IRQ_RECORDS),
            (regs::PAGE_QUEUE_PQ_IRQ_TIME, IRQ_CYCLES),
            (regs::PAGE_QUEUE_PQCSR, ENABLED),
        ] {
            device.reg_write(BASE + register, value)?;
        }
        Ok(Self { ring, head: 0 })
    }

    /// Has no page given up any more for want of a response.
    pub fn wait_for_ever(&self, device: &mut dyn Device) -> Result<(), Error> {
        for register in [regs::PAGE_QUEUE_PQ_SENT, regs::PAGE_QUEUE_PQ_UNSENT] {
            device.reg_write(BASE + register, 0)?;
        }
        Ok(())
    }

    /// Takes the records that are there, and the interrupt with them; none without one.
    pub fn take(&mut self, device: &mut dyn Device) -> Result<Vec<PageRequest>, Error> {
        let status = device.reg_read(BASE + regs::PAGE_QUEUE_PQCSR)?;
        if status & regs::PAGE_QUEUE_PQCSR_PQMF_MASK != 0 {
            return Err(Error::Hang(
                "the page-request queue stands: the hardware could not write a record into its ring in host memory".into(),
            ));
        }
        let up = status & (regs::PAGE_QUEUE_PQCSR_PIP_MASK | regs::PAGE_QUEUE_PQCSR_PQTO_MASK);
        if up == 0 {
            return Ok(Vec::new());
        }
        // In this order a record that comes meanwhile raises the interrupt again.
        device.reg_write(BASE + regs::PAGE_QUEUE_PQCSR, ENABLED | up)?;
        let tail = u64::from(device.reg_read(BASE + regs::PAGE_QUEUE_PQT)?) % RECORDS;
        let mut requests = Vec::new();
        while self.head != tail {
            let at = self.head * u64::from(layout::PAGE_QUEUE_BYTES);
            requests.push(decode(self.ring.read_u64(at)?, self.ring.read_u64(at + 8)?));
            self.head = (self.head + 1) % RECORDS;
        }
        if !requests.is_empty() {
            device.reg_write(BASE + regs::PAGE_QUEUE_PQH, self.head as u32)?;
        }
        Ok(requests)
    }
}

fn decode(who: u64, page: u64) -> PageRequest {
    let group =
        layout::PAGE_REQUEST_PAYLOAD_PLACE_MASK | layout::PAGE_REQUEST_PAYLOAD_GENERATION_MASK;
    PageRequest {
        context: ((who & layout::PAGE_REQUEST_PID_MASK) >> layout::PAGE_REQUEST_PID_SHIFT) as u32,
        va: page & layout::PAGE_REQUEST_PAYLOAD_PAGE_MASK,
        write: page & layout::PAGE_REQUEST_PAYLOAD_W_MASK != 0,
        group: ((page & group) >> layout::PAGE_REQUEST_PAYLOAD_PLACE_SHIFT) as u32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_as_the_hardware_writes_it() {
        let request = decode(1 << 32 | 5 << 12, 0x7_1234_5000 | 3 << 9 | 17 << 3 | 0b111);
        assert_eq!(
            request,
            PageRequest {
                context: 5,
                va: 0x7_1234_5000,
                write: true,
                group: 3 << 6 | 17
            }
        );
    }
}
