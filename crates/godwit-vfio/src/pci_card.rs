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

mod regions;

use std::os::fd::{BorrowedFd, OwnedFd};

use godwit_card::{CardError, Device};
use godwit_core::layout;
use rustix::io::Errno;

use crate::clock::{Clock, Pace};
use crate::config_space::ConfigSpace;
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
