// SPDX-License-Identifier: Apache-2.0
//! The page DMA as the runtime uses it.
//!
//! Descriptors go through a ring in host memory, a memory of its own that the card sees at [`RING_BUS`]; the number of descriptors
//! done is the fence number, which the card writes behind the ring. Lists are numbered through: a list is the descriptors from
//! one number to another, whether they are in the ring or still wait for room in it. The last one of a list and every
//! [`STRIDE`]th give a fence and an interrupt.
//!
//! The card reaches memory of this process at bus addresses that are the process's own, range by range as they were opened: what a
//! program's IOMMU would do. Everything else is an error of the descriptor that names it.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use godwit_card::{CardError, Device, Memory};
use godwit_core::layout;

use crate::hardware::frames::FRAME_BYTES;
use crate::{Error, dma_regs as regs};

/// Where the ring is on the bus: above all addresses of a process.
const RING_BUS: u64 = 1 << 54;
/// Descriptors that it holds.
const ENTRIES: u64 = 1024;
const RING_BYTES: u64 = ENTRIES * BYTES;
/// The fence number is behind it.
const FENCE: u64 = RING_BYTES;
/// At most so many descriptors come without a fence, so that a list that is longer than the ring goes on before it is empty.
const STRIDE: u64 = ENTRIES / 4;
const BYTES: u64 = layout::DMA_BYTES as u64;
const LINE: u64 = layout::DMA_LINE_BYTES as u64;
/// Lines of the longest descriptor, in whole pages.
const MOST_LINES: u64 = (layout::DMA_CONTROL_LINES_MASK >> layout::DMA_CONTROL_LINES_SHIFT)
    / (FRAME_BYTES / LINE)
    * (FRAME_BYTES / LINE);

const BASE: u64 = layout::REGISTER_SPACE_DMA_BASE as u64;
const ON: u32 = regs::CSR_ENABLE_MASK | regs::CSR_IE_MASK;
/// Looks at the status register before it is said that the card does not do what it should.
const LOOKS: u32 = 100_000;

/// The interrupt line.
pub(crate) const IRQ: u32 = layout::IRQ_DMA as u32;

/// A place that the page DMA reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Device memory, by physical address.
    Device(u64),
    /// Memory of this process, by address.
    Host(u64),
}

impl Side {
    fn address(self) -> u64 {
        match self {
            Self::Device(at) => at,
            Self::Host(at) => layout::HOST_APERTURE_BASE + at,
        }
    }

    fn beyond(self, bytes: u64) -> Self {
        match self {
            Self::Device(at) => Self::Device(at + bytes),
            Self::Host(at) => Self::Host(at + bytes),
        }
    }
}

impl std::fmt::Display for Side {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Device(at) => write!(f, "device address {at:#x}"),
            Self::Host(at) => write!(f, "host address {at:#x}"),
        }
    }
}

/// What the page DMA is to do. Addresses and lengths are multiples of 64 bytes; no two moves of a list may touch the same place
/// unless both only read it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Move {
    /// Copies bytes.
    Copy {
        /// From here,
        from: Side,
        /// to there,
        to: Side,
        /// so many.
        len: u64,
    },
    /// Copies the lines of a page whose bit is set.
    Lines {
        /// From this page,
        from: Side,
        /// to that one.
        to: Side,
        /// Bit i: bytes 64 i to 64 i + 63.
        mask: u64,
    },
    /// Fills with zeros.
    Clear {
        /// From here on,
        to: Side,
        /// so many bytes.
        len: u64,
    },
}

impl std::fmt::Display for Move {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Copy { from, to, len } => {
                write!(f, "the copy of {len} bytes from {from} to {to}")
            }
            Self::Lines { from, to, mask } => {
                let lines = mask.count_ones();
                write!(f, "the copy of {lines} lines from {from} to {to}")
            }
            Self::Clear { to, len } => write!(f, "the clearing of {len} bytes from {to} on"),
        }
    }
}

impl Move {
    /// Fails on what no descriptor can say.
    fn check(&self) -> Result<(), Error> {
        let (places, len) = match *self {
            Self::Copy { from, to, len } => (vec![from, to], len),
            Self::Lines { from, to, .. } => (vec![from, to], FRAME_BYTES),
            Self::Clear { to, len } => (vec![to], len),
        };
        let unit = match self {
            Self::Lines { .. } => FRAME_BYTES,
            _ => LINE,
        };
        let whole = |side: Side| side.address() % unit == 0;
        if len > 0 && len % unit == 0 && places.into_iter().all(whole) {
            return Ok(());
        }
        Err(Error::Argument(format!(
            "{self}: the page DMA moves one or more whole pieces of {unit} bytes"
        )))
    }

    /// The parts that are a descriptor each.
    fn parts(self) -> impl Iterator<Item = Self> {
        let most = MOST_LINES * LINE;
        let total = match self {
            Self::Copy { len, .. } | Self::Clear { len, .. } => len,
            Self::Lines { .. } => FRAME_BYTES,
        };
        (0..total.div_ceil(most)).map(move |part| {
            let at = part * most;
            let len = most.min(total - at);
            match self {
                Self::Copy { from, to, .. } => Self::Copy {
                    from: from.beyond(at),
                    to: to.beyond(at),
                    len,
                },
                Self::Clear { to, .. } => Self::Clear {
                    to: to.beyond(at),
                    len,
                },
                lines @ Self::Lines { .. } => lines,
            }
        })
    }

    /// The descriptor without its fence.
    fn words(self) -> [u64; 4] {
        let lines = |len: u64| (len / LINE) << layout::DMA_CONTROL_LINES_SHIFT;
        match self {
            Self::Copy { from, to, len } => [
                u64::from(layout::DMA_COPY) | lines(len),
                from.address(),
                to.address(),
                0,
            ],
            Self::Lines { from, to, mask } => [
                u64::from(layout::DMA_COPY) | lines(FRAME_BYTES) | layout::DMA_CONTROL_MASKED_MASK,
                from.address(),
                to.address(),
                mask,
            ],
            Self::Clear { to, len } => [
                u64::from(layout::DMA_CLEAR) | lines(len),
                0,
                to.address(),
                0,
            ],
        }
    }
}

/// A descriptor that is not known to be done.
struct Posted {
    /// Nothing, when its list has failed.
    what: Option<Move>,
    last: bool,
}

/// What stopped the page DMA.
#[derive(Debug)]
pub(crate) struct Failure {
    /// Number of the descriptor.
    pub number: u64,
    pub why: String,
}

/// The page DMA of a card, turned on.
pub(crate) struct Dma {
    memory: Arc<Memory>,
    /// Descriptors done, put into the ring: numbers.
    done: u64,
    put: u64,
    /// From `done` on.
    posted: VecDeque<Posted>,
}

impl Dma {
    /// Turns it on, with a ring of its own.
    pub fn turn_on(device: &mut dyn Device) -> Result<Self, Error> {
        let id = read(device, regs::ID)?;
        if id >> regs::ID_MAGIC_SHIFT != regs::ID_MAGIC_VALUE {
            return Err(Error::Hardware(format!(
                "the page DMA's identification reads {id:#x}: this is no card that this program knows"
            )));
        }
        let memory = Arc::new(Memory::new(RING_BYTES + FRAME_BYTES)?);
        device.set_host_window(RING_BUS, Some(Arc::clone(&memory)))?;
        let ring = layout::HOST_APERTURE_BASE + RING_BUS;
        let base = ring >> layout::PT_PAGE_SHIFT << regs::BASE_PPN_LO_SHIFT
            | u64::from(ENTRIES.ilog2() - 1);
        let fence = (ring + FENCE) | regs::FENCE_ADDR_WRITE_MASK;
        for (register, value) in [(regs::BASE, base), (regs::FENCE_ADDR, fence)] {
            write(device, register, value as u32)?;
            write(device, register + 4, (value >> 32) as u32)?;
        }
        let dma = Self {
            memory,
            done: 0,
            put: 0,
            posted: VecDeque::new(),
        };
        dma.start(device)?;
        Ok(dma)
    }

    /// Whether anything is under way.
    pub fn busy(&self) -> bool {
        !self.posted.is_empty()
    }

    /// All numbers below this one are done.
    pub fn done(&self) -> u64 {
        self.done
    }

    /// Posts a list behind those before; its numbers.
    pub fn post(&mut self, device: &mut dyn Device, moves: &[Move]) -> Result<Range<u64>, Error> {
        moves.iter().try_for_each(Move::check)?;
        let first = self.done + self.posted.len() as u64;
        let parts = moves.iter().copied().flat_map(Move::parts);
        self.posted.extend(parts.map(|what| Posted {
            what: Some(what),
            last: false,
        }));
        let end = self.done + self.posted.len() as u64;
        if end > first {
            if let Some(posted) = self.posted.back_mut() {
                posted.last = true;
            }
        }
        self.fill(device)?;
        Ok(first..end)
    }

    /// Takes what an interrupt says: `done` afterwards is, and the first failure if there was one. That list goes no further; those
    /// behind it do.
    pub fn serve(
        &mut self,
        device: &mut dyn Device,
        lists: impl Fn(u64) -> u64,
    ) -> Result<Option<Failure>, Error> {
        // First: what comes from here on raises the line again.
        write(device, regs::CSR, ON | regs::CSR_IP_MASK)?;
        let before = self.done;
        let fence = self.memory.read_u64(FENCE)? as u32;
        let ahead = fence.wrapping_sub(self.done as u32);
        if u64::from(ahead) <= self.put - self.done {
            self.advance(self.done + u64::from(ahead));
        }
        let failure = if self.busy() {
            let status = read(device, regs::CSR)?;
            match status & regs::CSR_STOPPED_MASK {
                0 => None,
                _ => Some(self.stopped(device, status, lists)?),
            }
        } else {
            None
        };
        if self.done > before || failure.is_some() {
            self.fill(device)?;
        }
        Ok(failure)
    }

    fn advance(&mut self, done: u64) {
        self.posted.drain(..(done - self.done) as usize);
        self.done = done;
    }

    /// It stands: the list concerned is left out, and it goes on behind that. `end_of` says where a number's list ends.
    fn stopped(
        &mut self,
        device: &mut dyn Device,
        status: u32,
        end_of: impl Fn(u64) -> u64,
    ) -> Result<Failure, Error> {
        let cause = (status & regs::CSR_CAUSE_MASK) >> regs::CSR_CAUSE_SHIFT;
        let head = u64::from(read(device, regs::HEAD)?);
        let number = self.done + (head.wrapping_sub(self.done) & (ENTRIES - 1));
        let at = (number - self.done) as usize;
        let what = self.posted.get(at).and_then(|posted| posted.what);
        let what = what.map_or_else(|| "a descriptor".to_owned(), |what| what.to_string());
        self.turn_off(device)?;
        let end = end_of(number);
        for posted in self.posted.range_mut(at..(end - self.done) as usize) {
            posted.what = None;
        }
        self.advance(end.min(self.put));
        // What waits for room keeps its numbers.
        self.start(device)?;
        Ok(Failure {
            number,
            why: format!("{what}: {}", reason(cause)),
        })
    }

    /// Turns it off; when this returns, it neither reads nor writes any more.
    pub fn turn_off(&self, device: &mut dyn Device) -> Result<(), Error> {
        write(device, regs::CSR, regs::CSR_IP_MASK)?;
        for _ in 0..LOOKS {
            if read(device, regs::CSR)? & regs::CSR_ON_MASK == 0 {
                return Ok(());
            }
        }
        Err(Error::Hang("the page DMA does not turn off".into()))
    }

    /// Enables it where it stands.
    fn start(&self, device: &mut dyn Device) -> Result<(), CardError> {
        write(device, regs::FIRST, (self.done % ENTRIES) as u32)?;
        write(device, regs::TAIL, (self.put % ENTRIES) as u32)?;
        write(device, regs::CSR, ON)
    }

    /// Puts into the ring what there is room for.
    fn fill(&mut self, device: &mut dyn Device) -> Result<(), Error> {
        let before = self.put;
        while self.put - self.done < ENTRIES - 1 {
            let Some(posted) = self.posted.get((self.put - self.done) as usize) else {
                break;
            };
            let mut words = match posted.what {
                Some(what) => what.words(),
                None => [u64::from(layout::DMA_NONE), 0, 0, 0],
            };
            let number = self.put + 1;
            if posted.last || number % STRIDE == 0 {
                words[0] |= layout::DMA_CONTROL_FENCE_MASK
                    | layout::DMA_CONTROL_IRQ_MASK
                    | (number & 0xffff_ffff) << layout::DMA_CONTROL_VALUE_SHIFT;
            }
            let at = self.put % ENTRIES * BYTES;
            for (word, at) in words.into_iter().zip((at..).step_by(8)) {
                self.memory.write_u64(at, word)?;
            }
            self.put += 1;
        }
        if self.put > before {
            write(device, regs::TAIL, (self.put % ENTRIES) as u32)?;
        }
        Ok(())
    }
}

/// A cause in words.
fn reason(cause: u32) -> String {
    match cause {
        layout::DMA_CAUSE_FETCH => "its descriptor could not be read".into(),
        layout::DMA_CAUSE_ILLEGAL => "the hardware calls its descriptor illegal".into(),
        layout::DMA_CAUSE_READ => {
            "reading the source failed: no memory is there, or none that the card may reach".into()
        }
        layout::DMA_CAUSE_WRITE => {
            "writing the destination failed: no memory is there, or none that the card may reach"
                .into()
        }
        layout::DMA_CAUSE_FENCE => "its fence number could not be written".into(),
        layout::DMA_CAUSE_ABORTED => "it was aborted".into(),
        other => format!("the page DMA stopped with cause {other}"),
    }
}

fn read(device: &mut dyn Device, register: u64) -> Result<u32, CardError> {
    device.reg_read(BASE + register)
}

fn write(device: &mut dyn Device, register: u64, value: u32) -> Result<(), CardError> {
    device.reg_write(BASE + register, value)
}
