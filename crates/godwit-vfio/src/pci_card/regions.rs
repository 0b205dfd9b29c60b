// SPDX-License-Identifier: Apache-2.0
//! What a client finds in the regions of a card, and how it reads and writes them.

use godwit_card::CardError;
use godwit_core::layout;
use rustix::io::Errno;

use super::{Answer, CONFIG_REGION, Failure, MSIX_BYTES, PciCard, REGIONS};
use crate::config_space;
use crate::lies::Lies;
use crate::protocol::{Access, Body, flags};

impl PciCard {
    pub(super) fn region_info(&self, index: u32) -> Result<Answer, Failure> {
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

    pub(super) fn read(&mut self, access: Access) -> Result<Vec<u8>, Failure> {
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

    pub(super) fn write(&mut self, access: Access, data: &[u8]) -> Result<(), Failure> {
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
        self.clock.read();
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
        self.clock.touched();
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
