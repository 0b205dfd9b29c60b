// SPDX-License-Identifier: Apache-2.0
//! A card that answers the requests of a vfio-user client.
//!
//! | region | is | access |
//! |---|---|---|
//! | BAR 0 | the card's register space | words of four bytes, each an access of the card's AXI4-Lite port |
//! | BAR 2 | device memory | any; can be mapped |
//! | BAR 4 | MSI-X table and pending bits | kept for the client, which emulates them |
//! | 7 | configuration space | any |
//!
//! As on a bus, a register that is not there reads as ones, and writing it does nothing.

use std::os::fd::{BorrowedFd, OwnedFd};

use godwit_card::{CardError, Device};
use godwit_core::layout;
use rustix::io::Errno;

use crate::clock::{Clock, Pace};
use crate::config_space::{self, ConfigSpace};
use crate::guest_memory::GuestMemory;
use crate::interrupts::Vectors;
use crate::lies::{Liar, Lies};
use crate::protocol::{Access, Body, Request, flags, version_reply};
use crate::slot::{Slot, Spares};

/// Region of the configuration space; numbers below are BARs, the expansion ROM and (after it) VGA are none.
const CONFIG_REGION: u32 = 7;
const REGIONS: u32 = 9;
/// MSI-X among the kinds of interrupts, and how many kinds there are.
const MSIX_INDEX: u32 = 2;
const INTERRUPT_KINDS: u32 = 5;
const MSIX_BYTES: usize = 4096;
/// The only minor version of the protocol's version 0 that is known.
const MINOR: u16 = 1;

/// A request failed for good, or only this one.
pub(crate) enum Failure {
    Card(CardError),
    Request(Errno),
}

impl From<Errno> for Failure {
    fn from(errno: Errno) -> Self {
        Self::Request(errno)
    }
}

impl From<CardError> for Failure {
    fn from(error: CardError) -> Self {
        Self::Card(error)
    }
}

/// An answer: bytes, and whether device memory's file goes with them.
pub(crate) struct Answer {
    pub body: Vec<u8>,
    pub with_memory: bool,
}

impl From<Body> for Answer {
    fn from(body: Body) -> Self {
        Self {
            body: body.into_bytes(),
            with_memory: false,
        }
    }
}

/// A card behind PCI Express.
pub struct PciCard {
    device: Box<dyn Device>,
    config: ConfigSpace,
    msix: [u8; MSIX_BYTES],
    vectors: Vectors,
    guest: GuestMemory,
    clock: Clock,
    agreed: bool,
    slot: Slot,
    spares: Option<Spares>,
    lies: Option<Lies>,
    register_bytes: u64,
    /// A register was read or written since the card was as its power-up leaves it.
    used: bool,
    /// Of cards that were in the slot before, and before resets.
    cycles_before: u64,
    pub(crate) resets: u64,
    pub(crate) register_accesses: u64,
    pub(crate) bus_errors: u64,
}

impl PciCard {
    /// Of a card.
    ///
    /// # Errors
    /// When its memory is not a power of two, which no BAR can be.
    pub fn new(device: Box<dyn Device>) -> Result<Self, CardError> {
        let kernels = device.description().kernels.len() as u32;
        let used = u64::from(layout::REGISTER_SPACE_KERNEL_BASE)
            + u64::from(kernels) * u64::from(layout::REGISTER_SPACE_KERNEL_STRIDE);
        let register_bytes = used.next_power_of_two();
        let memory_bytes = device.memory().size();
        if !memory_bytes.is_power_of_two() {
            return Err(CardError::Invalid(format!(
                "card `{}` has {memory_bytes:#x} bytes of memory, which cannot be a BAR: choose a power of two for \
                 card.memory_bytes",
                device.description().name
            )));
        }
        let vectors = Vectors::new(kernels);
        let config = ConfigSpace::new(
            vectors.count(),
            register_bytes,
            memory_bytes,
            MSIX_BYTES as u64,
        );
        Ok(Self {
            device,
            config,
            msix: masked(vectors.count()),
            vectors,
            guest: GuestMemory::default(),
            clock: Clock::default(),
            agreed: false,
            slot: Slot::default(),
            spares: None,
            lies: None,
            register_bytes,
            used: false,
            cycles_before: 0,
            resets: 0,
            register_accesses: 0,
            bus_errors: 0,
        })
    }

    /// With cards to be put where it is pulled out. Their memory is not the same, so no client maps it: every access is a message.
    #[must_use]
    pub fn with_spares(mut self, spares: Spares) -> Self {
        self.spares = Some(spares);
        self
    }

    /// One that can lie, and who has it do so. No client maps its memory: every access is a message.
    #[must_use]
    pub fn with_lies(mut self) -> (Self, Liar) {
        let lies = Lies::new();
        let liar = lies.liar();
        self.lies = Some(lies);
        (self, liar)
    }

    /// Where it is pulled out.
    pub fn slot(&self) -> Slot {
        self.slot.clone()
    }

    /// Cycles of all cards that were in the slot.
    pub(crate) fn cycles(&self) -> Result<u64, CardError> {
        Ok(self.cycles_before + self.device.stats()?.cycles)
    }

    /// Whether there is no card in the slot; one that was just put in is powered up.
    fn is_removed(&mut self) -> Result<bool, CardError> {
        if self.slot.has_card() {
            return Ok(false);
        }
        let spares = self.spares.as_mut();
        let Some(spares) = spares.filter(|_| self.slot.has_new_card()) else {
            return Ok(true);
        };
        let fresh = Self::new(spares()?)?;
        self.cycles_before += self.device.stats()?.cycles;
        self.device = fresh.device;
        self.config = fresh.config;
        self.begins_anew();
        self.slot.powered_up();
        Ok(false)
    }

    /// Resets the function, as its software or the client wants it.
    fn reset(&mut self) -> Result<(), Failure> {
        if self.is_removed()? {
            return Err(Errno::NODEV.into());
        }
        if self.used {
            let cycles = self.device.stats()?.cycles;
            self.device.reset()?;
            self.cycles_before += cycles;
        } else {
            // Its registers are as they were: only memory may have been written.
            self.guest.set_master(self.device.as_mut(), false)?;
            let memory = self.device.memory();
            memory.clear(0, memory.size())?;
        }
        self.resets += 1;
        self.config.reset();
        self.vectors.reset();
        self.begins_anew();
        Ok(())
    }

    /// The card has just had power, or a reset, and does nothing by itself.
    fn begins_anew(&mut self) {
        self.msix = masked(self.vectors.count());
        self.clock = Clock::default();
        self.guest.replaced();
        self.used = false;
        if let Some(lies) = &mut self.lies {
            lies.begins_anew();
        }
    }

    /// Begins to lie, if it is to, and makes things up.
    fn make_up(&mut self) -> Result<(), CardError> {
        let Some(lies) = &mut self.lies else {
            return Ok(());
        };
        if lies.are_due() {
            let cut_off = self.guest.set_master(self.device.as_mut(), false);
            cut_off.map_err(|errno| CardError::HostMemory(errno.to_string()))?;
            // What was under way ends first.
            self.device.run(Clock::SETTLE_CYCLES, 0)?;
            lies.begin();
        }
        lies.make_up(&self.guest, &mut self.vectors);
        Ok(())
    }

    pub(crate) fn lies_told(&self) -> u64 {
        self.lies.as_ref().map_or(0, Lies::told)
    }

    /// The file of device memory.
    pub(crate) fn memory_fd(&self) -> BorrowedFd<'_> {
        self.device.memory().fd()
    }

    pub(crate) fn messages_sent(&self) -> u64 {
        self.vectors.sent()
    }

    /// Lets the RTL run for a slice, and sends the interrupts that rose.
    pub(crate) fn run(&mut self) -> Result<Pace, CardError> {
        if self.is_removed()? {
            return Ok(Pace::Idle);
        }
        self.make_up()?;
        let pace = self.clock.run(self.device.as_mut())?;
        self.vectors.lines_rose(self.device.take_rises());
        if pace == Pace::Idle {
            self.guest.settled();
        }
        Ok(pace)
    }

    /// Answers a request that came with these descriptors.
    pub(crate) fn answer(
        &mut self,
        request: Request,
        fds: Vec<OwnedFd>,
    ) -> Result<Answer, Failure> {
        if !self.agreed && !matches!(request, Request::Version { .. }) {
            return Err(Errno::PROTO.into());
        }
        let device = self.device.as_mut();
        match request {
            Request::Version { major, minor } => {
                if major != 0 {
                    return Err(Errno::NOTSUP.into());
                }
                self.agreed = true;
                Ok(Body::new().data(&version_reply(minor.min(MINOR))).into())
            }
            Request::DeviceReset => {
                self.reset()?;
                Ok(Body::new().into())
            }
            Request::DeviceInfo => Ok(Body::new()
                .u32(16)
                .u32(flags::DEVICE_PCI | flags::DEVICE_RESET)
                .u32(REGIONS)
                .u32(INTERRUPT_KINDS)
                .into()),
            Request::RegionInfo { index } => self.region_info(index),
            Request::IrqInfo { index } => {
                let count = match index {
                    MSIX_INDEX => self.vectors.count(),
                    none if none < INTERRUPT_KINDS => 0,
                    _ => return Err(Errno::INVAL.into()),
                };
                let kind = if count > 0 { flags::IRQ_EVENTFD } else { 0 };
                Ok(Body::new().u32(16).u32(kind).u32(index).u32(count).into())
            }
            Request::SetIrqs {
                flags: what,
                index,
                start,
                count,
                data,
            } => match index {
                MSIX_INDEX => Ok(self
                    .vectors
                    .set(what, start, count, &data, fds)
                    .map(|()| Body::new().into())?),
                // Turning off what there is none of is no mistake.
                none if none < INTERRUPT_KINDS && count == 0 => Ok(Body::new().into()),
                _ => Err(Errno::INVAL.into()),
            },
            Request::DmaMap {
                flags: access,
                offset,
                address,
                size,
            } => {
                let file = fds.into_iter().next().map(|fd| (fd, offset));
                self.guest.map(device, (address, size), access, file)?;
                Ok(Body::new().into())
            }
            Request::DmaUnmap {
                flags: what,
                address,
                size,
            } => {
                self.clock.touched();
                let unmapped = if what & flags::UNMAP_ALL != 0 {
                    self.guest.unmap_all(device)?
                } else {
                    self.guest.unmap(device, (address, size))?
                };
                Ok(Body::new()
                    .u32(24)
                    .u32(what)
                    .u64(address)
                    .u64(unmapped)
                    .into())
            }
            Request::RegionRead(access) => {
                let data = self.read(access)?;
                Ok(head(access).data(&data).into())
            }
            Request::RegionWrite(writes) => {
                let mut last = None;
                for (access, data) in writes {
                    self.write(access, &data)?;
                    last = Some(access);
                }
                Ok(last.map_or_else(Body::new, head).into())
            }
        }
    }

    fn region_info(&self, index: u32) -> Result<Answer, Failure> {
        let both = flags::REGION_READ | flags::REGION_WRITE;
        let (kind, size) = match index {
            layout::PCI_BAR_REGISTERS => (both, self.register_bytes),
            layout::PCI_BAR_MEMORY => {
                let map = if self.spares.is_none() && self.lies.is_none() {
                    flags::REGION_MMAP
                } else {
                    0
                };
                (both | map, self.device.memory().size())
            }
            layout::PCI_BAR_MSIX => (both, MSIX_BYTES as u64),
            CONFIG_REGION => (both, config_space::BYTES as u64),
            none if none < REGIONS => (0, 0),
            _ => return Err(Errno::INVAL.into()),
        };
        let body = Body::new().u32(32).u32(kind).u32(index).u32(0);
        Ok(Answer {
            body: body.u64(size).u64(0).into_bytes(),
            with_memory: kind & flags::REGION_MMAP != 0,
        })
    }

    fn read(&mut self, access: Access) -> Result<Vec<u8>, Failure> {
        let Access { offset, count, .. } = access;
        if self.is_removed()? {
            return Ok(vec![0xff; count as usize]);
        }
        match access.region {
            layout::PCI_BAR_REGISTERS => self.read_registers(offset, count),
            layout::PCI_BAR_MEMORY => {
                let mut data = vec![0; count as usize];
                let read = self.device.memory().read(offset, &mut data);
                read.map_err(|_| Errno::INVAL)?;
                if let Some(lies) = &mut self.lies {
                    lies.memory(&mut data);
                }
                Ok(data)
            }
            layout::PCI_BAR_MSIX => {
                let bytes = usize::try_from(offset)
                    .ok()
                    .and_then(|start| self.msix.get(start..start.checked_add(count as usize)?));
                Ok(bytes.ok_or(Errno::INVAL)?.to_vec())
            }
            CONFIG_REGION => Ok(self
                .config
                .read(offset, count)
                .ok_or(Errno::INVAL)?
                .to_vec()),
            _ => Err(Errno::INVAL.into()),
        }
    }

    fn write(&mut self, access: Access, data: &[u8]) -> Result<(), Failure> {
        let offset = access.offset;
        if self.is_removed()? {
            return Ok(());
        }
        match access.region {
            layout::PCI_BAR_REGISTERS => self.write_registers(offset, data),
            layout::PCI_BAR_MEMORY => {
                let written = self.device.memory().write(offset, data);
                Ok(written.map_err(|_| Errno::INVAL)?)
            }
            layout::PCI_BAR_MSIX => {
                let bytes = usize::try_from(offset)
                    .ok()
                    .and_then(|start| self.msix.get_mut(start..start.checked_add(data.len())?));
                bytes.ok_or(Errno::INVAL)?.copy_from_slice(data);
                Ok(())
            }
            CONFIG_REGION => {
                if self.config.write(offset, data).ok_or(Errno::INVAL)? {
                    return self.reset();
                }
                let device = self.device.as_mut();
                let reaches =
                    self.config.is_master() && !self.lies.as_ref().is_some_and(Lies::have_begun);
                Ok(self.guest.set_master(device, reaches)?)
            }
            _ => Err(Errno::INVAL.into()),
        }
    }

    /// The words of an access to registers, if it is made of some.
    fn words(&mut self, offset: u64, bytes: u64) -> Result<bool, Errno> {
        if offset + bytes > self.register_bytes {
            return Err(Errno::INVAL);
        }
        self.clock.touched();
        self.used = true;
        let whole = offset % 4 == 0 && bytes % 4 == 0;
        self.bus_errors += u64::from(!whole);
        Ok(whole)
    }

    fn read_registers(&mut self, offset: u64, count: u32) -> Result<Vec<u8>, Failure> {
        let mut data = vec![0xff; count as usize];
        if !self.words(offset, count.into())? {
            return Ok(data);
        }
        for (at, bytes) in (offset..).step_by(4).zip(data.chunks_exact_mut(4)) {
            self.register_accesses += 1;
            let read = self.device.reg_read(at);
            self.vectors.lines_rose(self.device.take_rises());
            match read {
                Ok(truth) => {
                    let lies = self.lies.as_mut();
                    let value = lies.map_or(truth, |lies| lies.register(at, truth));
                    bytes.copy_from_slice(&value.to_le_bytes());
                }
                Err(CardError::Bus(_)) => self.bus_errors += 1,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(data)
    }

    fn write_registers(&mut self, offset: u64, data: &[u8]) -> Result<(), Failure> {
        if !self.words(offset, data.len() as u64)? {
            return Ok(());
        }
        for (at, bytes) in (offset..).step_by(4).zip(data.chunks_exact(4)) {
            self.register_accesses += 1;
            let value = bytes
                .iter()
                .rev()
                .fold(0, |word, byte| word << 8 | u32::from(*byte));
            if let Some(lies) = &mut self.lies {
                lies.hears(at, value);
            }
            let written = self.device.reg_write(at, value);
            self.vectors.lines_rose(self.device.take_rises());
            match written {
                Ok(()) => {}
                Err(CardError::Bus(_)) => self.bus_errors += 1,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

/// A table of vectors that are all masked, as after power-up.
fn masked(vectors: u32) -> [u8; MSIX_BYTES] {
    let mut table = [0; MSIX_BYTES];
    for entry in table.chunks_exact_mut(16).take(vectors as usize) {
        entry[12] = 1;
    }
    table
}

/// What an answer to a region's access begins with.
fn head(access: Access) -> Body {
    Body::new()
        .u64(access.offset)
        .u32(access.region)
        .u32(access.count)
}
