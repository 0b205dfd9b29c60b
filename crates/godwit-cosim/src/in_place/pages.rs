// SPDX-License-Identifier: Apache-2.0
//! Pages, the frames that they are in, and what translations of them were, and when.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use godwit::layout;
use godwit_card::{CardError, Device, Memory, SimCard};
use godwit_core::Perm;
use rand::Rng;

use super::history::{HOST, LINE, Line, Write};
use crate::Random;
use crate::frames::TABLE_REGION;

pub const PAGE: u64 = 4096;
pub const LINES: usize = PAGE as usize / LINE;
/// Where the frames of device memory begin.
const FIRST_FRAME: u64 = 2 * TABLE_REGION;

/// A physical page, of the host's memory or the card's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Frame {
    Host(usize),
    Device(usize),
}

impl Frame {
    pub fn is_host(self) -> bool {
        matches!(self, Self::Host(_))
    }

    /// Its physical address.
    pub fn pa(self) -> u64 {
        match self {
            Self::Host(number) => layout::HOST_APERTURE_BASE + number as u64 * PAGE,
            Self::Device(number) => FIRST_FRAME + number as u64 * PAGE,
        }
    }
}

/// Both memories. Each host page is a window of its own, so that one can be taken away.
pub struct Frames {
    host: Vec<Arc<Memory>>,
    device: Arc<Memory>,
    /// What is in frames that no page is in: nobody may read or write there.
    unused: HashMap<Frame, Vec<u8>>,
    free: Vec<Frame>,
}

impl Frames {
    pub fn new(card: &mut SimCard, count: usize, random: &mut Random) -> Result<Self, CardError> {
        let mut frames = Self {
            host: Vec::new(),
            device: card.memory().clone(),
            unused: HashMap::new(),
            free: Vec::new(),
        };
        for number in 0..count {
            frames.host.push(Arc::new(Memory::new(PAGE)?));
            frames.plug(card, number)?;
            for frame in [Frame::Host(number), Frame::Device(number)] {
                frames.release(frame, random)?;
            }
        }
        Ok(frames)
    }

    /// Lets the card reach a host page.
    pub fn plug(&self, card: &mut SimCard, number: usize) -> Result<(), CardError> {
        card.set_host_window(number as u64 * PAGE, Some(self.host[number].clone()))
    }

    /// Ends that: the link answers with an error.
    pub fn unplug(card: &mut SimCard, number: usize) -> Result<(), CardError> {
        card.set_host_window(number as u64 * PAGE, None)
    }

    fn at(&self, frame: Frame) -> (&Memory, u64) {
        match frame {
            Frame::Host(number) => (self.host[number].as_ref(), 0),
            Frame::Device(_) => (self.device.as_ref(), frame.pa()),
        }
    }

    pub fn read(&self, frame: Frame, range: Range<usize>) -> Result<Vec<u8>, CardError> {
        let (memory, base) = self.at(frame);
        let mut bytes = vec![0; range.len()];
        memory.read(base + range.start as u64, &mut bytes)?;
        Ok(bytes)
    }

    pub fn page(&self, frame: Frame) -> Result<Vec<u8>, CardError> {
        self.read(frame, 0..PAGE as usize)
    }

    pub fn write(&self, frame: Frame, at: usize, bytes: &[u8]) -> Result<(), CardError> {
        let (memory, base) = self.at(frame);
        memory.write(base + at as u64, bytes)
    }

    /// A frame that no page is in.
    pub fn take(&mut self, host: bool, random: &mut Random) -> Option<Frame> {
        let of: Vec<usize> = (0..self.free.len())
            .filter(|i| self.free[*i].is_host() == host)
            .collect();
        let frame = self
            .free
            .swap_remove(*of.get(random.random_range(0..of.len().max(1)))?);
        self.unused.remove(&frame);
        Some(frame)
    }

    /// No page is in it any more: the host writes something into it that nobody may see.
    pub fn release(&mut self, frame: Frame, random: &mut Random) -> Result<(), CardError> {
        let mut noise = vec![0; PAGE as usize];
        random.fill(&mut noise[..]);
        self.write(frame, 0, &noise)?;
        self.unused.insert(frame, noise);
        self.free.push(frame);
        Ok(())
    }

    /// An unused frame that somebody has written to.
    pub fn written(&self) -> Result<Option<(Frame, usize)>, CardError> {
        for frame in &self.free {
            let found = self.page(*frame)?;
            let expected = &self.unused[frame];
            let mut pairs = found.iter().zip(expected);
            if let Some(at) = pairs.position(|(a, b)| a != b) {
                return Ok(Some((*frame, at)));
            }
        }
        Ok(None)
    }
}

/// What a translation was for a while.
#[derive(Debug, Clone, Copy)]
pub struct Version {
    /// `None`: not mapped.
    pub perm: Option<Perm>,
    /// First cycle it can be seen in.
    pub written: u64,
    /// Last cycle in which an access that uses it can be under way.
    pub over: u64,
}

/// Where a page is mapped, in one context.
pub struct Map {
    pub space: usize,
    pub va: u64,
    pub versions: Vec<Version>,
}

impl Map {
    pub fn new(space: usize, va: u64) -> Self {
        Self {
            space,
            va,
            versions: vec![Version {
                perm: None,
                written: 0,
                over: u64::MAX,
            }],
        }
    }

    /// From now on it is this, too; what it was is over at once when something is only gained.
    pub fn note(&mut self, perm: Option<Perm>, now: u64) {
        let gained = perm.is_some();
        if let Some(last) = self.versions.last_mut().filter(|_| gained) {
            last.over = now;
        }
        self.versions.push(Version {
            perm,
            written: now,
            over: u64::MAX,
        });
    }

    /// A fence was seen: all versions but the last are over.
    pub fn over(&mut self, now: u64) {
        for version in self.versions.iter_mut().rev().skip(1) {
            version.over = version.over.min(now);
        }
    }
}

/// A page of one context, or of two.
pub struct Page {
    pub frame: Frame,
    pub mapped: bool,
    pub maps: Vec<Map>,
    pub lines: Vec<Line>,
    /// Lines that the host writes in this batch while the page is mapped, and no port does.
    pub host_lines: Range<usize>,
    /// When the latest command was given that cleaned a line: what was answered before is in host memory.
    pub cleaned: Vec<u64>,
    /// When the link had no window there.
    pub unplugged: Vec<Range<u64>>,
}

impl Page {
    pub fn new(frame: Frame, maps: Vec<Map>) -> Self {
        Self {
            frame,
            mapped: false,
            maps,
            lines: vec![Line::new(&[0; LINE]); LINES],
            host_lines: 0..0,
            cleaned: vec![0; LINES],
            unplugged: Vec::new(),
        }
    }

    /// A write of one beat, or of the host, from byte `at` on, in pieces of lines.
    pub fn wrote(&mut self, write: &WriteOf, at: usize, bytes: &[u8]) {
        let (mut at, mut left) = (at, bytes);
        while !left.is_empty() {
            let (piece, rest) = left.split_at(left.len().min(LINE - at % LINE));
            let mut part = Write::new(write.writer, write.order, write.times, at % LINE, piece);
            part.perhaps = write.perhaps;
            self.lines[at / LINE].add(part);
            (at, left) = (at + piece.len(), rest);
        }
    }
}

/// A write without its bytes.
#[derive(Debug, Clone, Copy)]
pub struct WriteOf {
    pub writer: u32,
    pub order: u64,
    pub times: (u64, u64),
    pub perhaps: bool,
}

impl WriteOf {
    /// The host's.
    pub fn host(order: u64, times: (u64, u64)) -> Self {
        Self {
            writer: HOST,
            order,
            times,
            perhaps: false,
        }
    }
}
