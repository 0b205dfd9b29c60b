// SPDX-License-Identifier: Apache-2.0
//! Guest memory that the card reaches: a window of its host aperture a range.
//!
//! Only memory that comes with a file and may be read and written becomes a window: that is a guest's RAM. The rest, such as
//! ROMs and other devices, is known, so that it can be taken away again, and the card's accesses to it get an error.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use godwit_card::{CardError, Device, Memory};
use rustix::io::Errno;

use crate::protocol::{MAX_DMA_MAPS, flags};

/// A range as the client named it.
struct Range {
    size: u64,
    window: Option<Arc<Memory>>,
}

#[derive(Default)]
pub(crate) struct GuestMemory {
    /// By bus address.
    ranges: BTreeMap<u64, Range>,
    /// Taken away, but bursts that began before may still be under way to it.
    retired: Vec<Arc<Memory>>,
    /// The card may be the bus's master: it reaches nothing otherwise.
    master: bool,
}

impl GuestMemory {
    /// Lets the card reach a range.
    pub fn map(
        &mut self,
        device: &mut dyn Device,
        (address, size): (u64, u64),
        access: u32,
        file: Option<(OwnedFd, u64)>,
    ) -> Result<(), Errno> {
        let end = address.checked_add(size).ok_or(Errno::INVAL)?;
        if size == 0 {
            return Err(Errno::INVAL);
        }
        let before = self.ranges.range(..end).next_back();
        if before.is_some_and(|(start, range)| start + range.size > address) {
            return Err(Errno::EXIST);
        }
        if self.ranges.len() + self.retired.len() >= MAX_DMA_MAPS {
            return Err(Errno::NOSPC);
        }
        let both = flags::DMA_READ | flags::DMA_WRITE;
        let window = match file {
            Some((fd, offset)) if access & both == both => Some(open(fd, offset, size)?),
            _ => None,
        };
        if let Some(memory) = &window {
            device
                .set_host_window(address, Some(Arc::clone(memory)))
                .map_err(refused)?;
            if !self.master {
                device.set_host_window(address, None).map_err(refused)?;
            }
        }
        self.ranges.insert(address, Range { size, window });
        Ok(())
    }

    /// Takes away all that lies in a range; returns how many bytes that were.
    pub fn unmap(
        &mut self,
        device: &mut dyn Device,
        (address, size): (u64, u64),
    ) -> Result<u64, Errno> {
        let end = address.checked_add(size).ok_or(Errno::INVAL)?;
        let inside = |start: u64, range: &Range| start >= address && start + range.size <= end;
        let overlapping = self
            .ranges
            .range(..end)
            .filter(|(start, range)| *start + range.size > address);
        let found: Vec<(u64, bool)> = overlapping
            .map(|(start, range)| (*start, inside(*start, range)))
            .collect();
        if found.is_empty() {
            return Err(Errno::NOENT);
        }
        if found.iter().any(|(_, inside)| !inside) {
            return Err(Errno::INVAL);
        }
        found
            .iter()
            .map(|(start, _)| self.remove(device, *start))
            .sum()
    }

    /// Takes away everything; returns how many bytes that were.
    pub fn unmap_all(&mut self, device: &mut dyn Device) -> Result<u64, Errno> {
        let starts: Vec<u64> = self.ranges.keys().copied().collect();
        starts.iter().map(|start| self.remove(device, *start)).sum()
    }

    fn remove(&mut self, device: &mut dyn Device, start: u64) -> Result<u64, Errno> {
        let range = self.ranges.remove(&start).ok_or(Errno::NOENT)?;
        if let Some(memory) = range.window {
            if self.master {
                device.set_host_window(start, None).map_err(refused)?;
            }
            self.retired.push(memory);
        }
        Ok(range.size)
    }

    /// Says whether the card may be the bus's master. Bursts that are under way end as they began.
    pub fn set_master(&mut self, device: &mut dyn Device, master: bool) -> Result<(), Errno> {
        if self.master == master {
            return Ok(());
        }
        for (start, range) in &self.ranges {
            let Some(memory) = &range.window else {
                continue;
            };
            let window = master.then(|| Arc::clone(memory));
            device.set_host_window(*start, window).map_err(refused)?;
        }
        self.master = master;
        Ok(())
    }

    /// Writes what the card itself did not; where no range is, nothing happens.
    pub fn write(&self, address: u64, bytes: &[u8]) {
        let below = self.ranges.range(..=address).next_back();
        if let Some((start, range)) = below
            && let Some(memory) = &range.window
        {
            // What does not fit is refused.
            let _ = memory.write(address - start, bytes);
        }
    }

    /// Another card is there, or the same one after a reset, which reaches nothing yet; what the one before had under way is gone with it.
    pub fn replaced(&mut self) {
        self.master = false;
        self.retired.clear();
    }

    /// Nothing is under way in the card: what was taken away can go.
    pub fn settled(&mut self) {
        self.retired.clear();
    }
}

/// Maps a part of a file that really has it, for touching what it has not would end this process.
fn open(fd: OwnedFd, offset: u64, size: u64) -> Result<Arc<Memory>, Errno> {
    let end = offset.checked_add(size).ok_or(Errno::INVAL)?;
    let file_bytes = u64::try_from(rustix::fs::fstat(&fd)?.st_size).map_err(|_| Errno::INVAL)?;
    if end > file_bytes || offset % 4096 != 0 {
        return Err(Errno::INVAL);
    }
    Memory::map(fd, offset, size).map(Arc::new).map_err(refused)
}

fn refused(error: CardError) -> Errno {
    match error {
        CardError::HostMemory(_) => Errno::NOMEM,
        _ => Errno::INVAL,
    }
}
