// SPDX-License-Identifier: Apache-2.0
//! Memory that host and card share: a memfd and this process's mapping of it.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use rustix::fs::{FallocateFlags, MemfdFlags};
use rustix::mm::{MapFlags, ProtFlags};

use crate::CardError;

/// A memfd of device memory (the offset is the device physical address), mapped into this process.
///
/// The simulated hardware and this process see the same bytes, as with a device behind a coherent bus: whoever reads
/// what a running kernel writes may see it half done.
pub struct Memory {
    fd: OwnedFd,
    base: NonNull<u8>,
    size: u64,
}

// SAFETY: the mapping is plain shared memory owned by this value; it has no thread affinity.
unsafe impl Send for Memory {}
// SAFETY: all access through `&self` is by bytewise copies; sharing it with the hardware has the same meaning.
unsafe impl Sync for Memory {}

impl Memory {
    /// New zeroed memory of `size` bytes; of none, for a card that has none for programs.
    pub fn new(size: u64) -> Result<Self, CardError> {
        let failed =
            |error| CardError::HostMemory(format!("{size} bytes of memory for a card: {error}"));
        let fd = rustix::fs::memfd_create("godwit", MemfdFlags::CLOEXEC).map_err(failed)?;
        rustix::fs::ftruncate(&fd, size).map_err(failed)?;
        Self::map(fd, 0, size)
    }

    /// Maps `size` bytes of the file `fd` from `offset` on (a multiple of the page size), such as a guest's memory. The file must
    /// not shrink: what touches a page that it has lost ends with SIGBUS.
    pub fn map(fd: OwnedFd, offset: u64, size: u64) -> Result<Self, CardError> {
        let failed = |why: String| {
            CardError::HostMemory(format!(
                "{size} bytes at {offset:#x} of a memory file cannot be mapped: {why}"
            ))
        };
        let length = usize::try_from(size).map_err(|error| failed(error.to_string()))?;
        if length == 0 {
            let base = NonNull::dangling();
            return Ok(Self { fd, base, size });
        }
        // SAFETY: a new mapping at an address the kernel chooses touches no other memory.
        let base = unsafe {
            rustix::mm::mmap(
                std::ptr::null_mut(),
                length,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED | MapFlags::NORESERVE,
                &fd,
                offset,
            )
        }
        .map_err(|error| failed(error.to_string()))?;
        let base = NonNull::new(base.cast()).ok_or_else(|| failed("mapped at address 0".into()))?;
        Ok(Self { fd, base, size })
    }

    /// Puts this memory where another mapping of the same size is: who uses that finds this memory there.
    ///
    /// # Safety
    /// `[base, base + size)` is a mapping that nobody has references into, and whoever unmaps it does so as if nothing had happened.
    pub(crate) unsafe fn map_over(&self, base: NonNull<u8>) -> Result<(), CardError> {
        if self.size == 0 {
            return Ok(());
        }
        // SAFETY: replaces the mapping that the caller vouches for, and no other memory.
        let mapped = unsafe {
            rustix::mm::mmap(
                base.as_ptr().cast(),
                self.size as usize,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED | MapFlags::NORESERVE | MapFlags::FIXED,
                &self.fd,
                0,
            )
        };
        mapped.map(|_| ()).map_err(|error| {
            CardError::HostMemory(format!(
                "{} bytes of a card's memory cannot be mapped again: {error}",
                self.size
            ))
        })
    }

    /// Size in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The memfd, to map parts of it elsewhere.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Where it is mapped in this process.
    pub fn address(&self) -> u64 {
        self.base.as_ptr() as u64
    }

    /// Where it is mapped.
    pub(crate) fn host_ptr(&self) -> *mut u8 {
        self.base.as_ptr()
    }

    /// Where `[addr, addr + len)` is mapped.
    fn at(&self, addr: u64, len: usize) -> Result<*mut u8, CardError> {
        let end = addr.checked_add(len as u64);
        if end.is_none_or(|end| end > self.size) {
            return Err(CardError::OutOfRange {
                addr,
                len: len as u64,
                size: self.size,
            });
        }
        // SAFETY: the offset was just checked to be inside the mapping.
        Ok(unsafe { self.base.as_ptr().add(addr as usize) })
    }

    /// Copies device memory into `out`.
    pub fn read(&self, addr: u64, out: &mut [u8]) -> Result<(), CardError> {
        let from = self.at(addr, out.len())?;
        // SAFETY: `from` has `out.len()` mapped bytes, and a Rust slice never overlaps the private mapping.
        unsafe { std::ptr::copy_nonoverlapping(from, out.as_mut_ptr(), out.len()) };
        Ok(())
    }

    /// Copies `data` into device memory.
    pub fn write(&self, addr: u64, data: &[u8]) -> Result<(), CardError> {
        let to = self.at(addr, data.len())?;
        // SAFETY: `to` has `data.len()` mapped bytes, and a Rust slice never overlaps the private mapping.
        unsafe { std::ptr::copy_nonoverlapping(data.as_ptr(), to, data.len()) };
        Ok(())
    }

    /// Reads one aligned 64-bit word, with a single access.
    pub fn read_u64(&self, addr: u64) -> Result<u64, CardError> {
        Ok(u64::from_le(self.word(addr)?.load(Ordering::Acquire)))
    }

    /// Writes one aligned 64-bit word, with a single access after all that was written before.
    pub fn write_u64(&self, addr: u64, value: u64) -> Result<(), CardError> {
        self.word(addr)?.store(value.to_le(), Ordering::Release);
        Ok(())
    }

    /// Writes one aligned 32-bit word, with a single access after all that was written before.
    pub fn write_u32(&self, addr: u64, value: u32) -> Result<(), CardError> {
        let at = self.at(addr, 4)?;
        if addr % 4 != 0 {
            return Err(CardError::Invalid(format!(
                "a 32-bit word at {addr:#x}, which is no multiple of 4"
            )));
        }
        // SAFETY: the word is mapped as long as `self` lives, and aligned because mappings are.
        unsafe { AtomicU32::from_ptr(at.cast()) }.store(value.to_le(), Ordering::Release);
        Ok(())
    }

    fn word(&self, addr: u64) -> Result<&AtomicU64, CardError> {
        let at = self.at(addr, 8)?;
        if addr % 8 != 0 {
            return Err(CardError::Invalid(format!(
                "a 64-bit word at {addr:#x}, which is no multiple of 8"
            )));
        }
        // SAFETY: the word is mapped as long as `self` lives, and aligned because mappings are.
        Ok(unsafe { AtomicU64::from_ptr(at.cast()) })
    }

    /// Makes `[addr, addr + len)` read as zero and gives its pages back to the host.
    pub fn clear(&self, addr: u64, len: u64) -> Result<(), CardError> {
        let length = usize::try_from(len).unwrap_or(usize::MAX);
        let start = self.at(addr, length)?;
        let punch = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        if len > 0 && rustix::fs::fallocate(&self.fd, punch, addr, len).is_err() {
            // SAFETY: `start` has `length` mapped bytes.
            unsafe { std::ptr::write_bytes(start, 0, length) };
        }
        Ok(())
    }
}

impl std::fmt::Debug for Memory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Memory")
            .field("size", &self.size)
            .finish_non_exhaustive()
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        if self.size == 0 {
            return;
        }
        // SAFETY: the mapping is ours, has this length, and no reference into it outlives a method call. A failure
        // would leak address space, which a drop cannot report.
        let _ = unsafe { rustix::mm::munmap(self.base.as_ptr().cast(), self.size as usize) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_until_cleared() {
        let memory = Memory::new(1 << 16).unwrap();
        memory.write(4090, &[7; 12]).unwrap();
        let mut out = [0; 12];
        memory.read(4090, &mut out).unwrap();
        assert_eq!(out, [7; 12]);
        memory.clear(4096, 4096).unwrap();
        memory.read(4090, &mut out).unwrap();
        assert_eq!(out, [7, 7, 7, 7, 7, 7, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn memory_is_put_where_another_is_mapped() {
        let (ours, theirs) = (Memory::new(1 << 16).unwrap(), Memory::new(1 << 16).unwrap());
        theirs.write(5, &[9]).unwrap();
        // SAFETY: `theirs` is a mapping of this size, of which there is no reference.
        unsafe { ours.map_over(theirs.base) }.unwrap();
        ours.write(8000, &[7; 3]).unwrap();
        let mut out = [1; 4];
        theirs.read(8000, &mut out).unwrap();
        assert_eq!(out, [7, 7, 7, 0]);
        theirs.read(5, &mut out[..1]).unwrap();
        assert_eq!(out[0], 0);
        drop(theirs);
        ours.read(8000, &mut out).unwrap();
        assert_eq!(out, [7, 7, 7, 0]);
    }

    #[test]
    fn accesses_outside_are_refused() {
        let memory = Memory::new(4096).unwrap();
        for (addr, len) in [(4096, 1), (4090, 7), (u64::MAX, 1)] {
            let error = memory.read(addr, &mut vec![0; len]).unwrap_err();
            assert!(matches!(error, CardError::OutOfRange { .. }), "{error}");
        }
        assert!(memory.clear(0, 4097).is_err());
        assert!(memory.write_u64(4096, 1).is_err());
    }
}
