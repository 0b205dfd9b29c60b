// SPDX-License-Identifier: Apache-2.0
//! What stands behind an area of physical addresses: mapped once, when the pool is opened.

use std::ffi::c_void;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};

use godwit_core::range::Area;
use rustix::fs::{FileType, MemfdFlags, fstat, ftruncate, memfd_create};
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, mmap_anonymous};

use crate::config::{BackingKind, Config, Populate};
use crate::{CmtError, device};

/// Memory that areas are made of.
pub trait Backing {
    /// Whether it is zero where nobody wrote since it was mapped.
    fn fresh(&self) -> bool {
        true
    }

    /// Maps all of `area`'s memory at `at`, writable, and present if `populate` says so.
    ///
    /// # Safety
    /// `[at, at + area.bytes)` is reserved address space that nothing else uses.
    unsafe fn map(&self, at: *mut c_void, area: &Area, populate: Populate) -> io::Result<()>;
}

impl BackingKind {
    /// Whether a child of fork shares it with its parent.
    pub fn shared(self) -> bool {
        self != BackingKind::Private
    }

    /// The backing of this kind for a pool, and where its areas are: as the configuration says, or the driver.
    pub fn open(self, config: &Config) -> Result<(Box<dyn Backing>, Vec<Area>), CmtError> {
        let backing: Box<dyn Backing> = match self {
            BackingKind::Private => Box::new(Private),
            BackingKind::Memfd => Box::new(Memfd { huge: false }),
            BackingKind::Hugetlb => Box::new(Memfd { huge: true }),
            BackingKind::File(descriptor) => Box::new(File(descriptor)),
            BackingKind::Device => {
                let (file, areas) = device::take(config.total(), config.granule)?;
                return Ok((Box::new(Device(file)), areas));
            }
        };
        Ok((backing, config.areas.clone()))
    }
}

/// Anonymous memory.
struct Private;

/// A memory file an area.
struct Memfd {
    huge: bool,
}

/// An open file, by its descriptor.
struct File(RawFd);

/// The driver's device. What is mapped of it stays when this is closed.
struct Device(std::fs::File);

/// Faults everything in, unless that is left to need.
///
/// # Safety
/// The range is mapped, and its content may change to what first-touched memory holds: zeros.
unsafe fn fault_in(at: *mut c_void, bytes: usize, populate: Populate) -> io::Result<()> {
    if populate == Populate::Need {
        return Ok(());
    }
    // Huge pages are a matter of speed: not having them is no failure.
    // SAFETY: as the caller promises; advice does not change content.
    let _ = unsafe { madvise(at, bytes, Advice::LinuxHugepage) };
    // SAFETY: the same.
    unsafe { madvise(at, bytes, Advice::LinuxPopulateWrite) }?;
    Ok(())
}

impl Backing for Private {
    unsafe fn map(&self, at: *mut c_void, area: &Area, populate: Populate) -> io::Result<()> {
        let bytes = area.bytes as usize;
        // By need, the system counts what is used, as for any other program's memory, and not what might be.
        let flags = match populate {
            Populate::Need => MapFlags::PRIVATE | MapFlags::FIXED | MapFlags::NORESERVE,
            Populate::All => MapFlags::PRIVATE | MapFlags::FIXED,
        };
        // SAFETY: the caller has reserved the range for us.
        unsafe {
            mmap_anonymous(at, bytes, ProtFlags::READ | ProtFlags::WRITE, flags)?;
            fault_in(at, bytes, populate)
        }
    }
}

impl Backing for Memfd {
    unsafe fn map(&self, at: *mut c_void, area: &Area, populate: Populate) -> io::Result<()> {
        let bytes = area.bytes as usize;
        let kind = if self.huge {
            MemfdFlags::HUGETLB | MemfdFlags::HUGE_2MB
        } else {
            MemfdFlags::empty()
        };
        let file = memfd_create("godwit-cmt", kind | MemfdFlags::CLOEXEC)?;
        ftruncate(&file, area.bytes)?;
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: the caller has reserved the range for us.
        unsafe {
            mmap(
                at,
                bytes,
                protection,
                MapFlags::SHARED | MapFlags::FIXED,
                &file,
                0,
            )?;
            fault_in(at, bytes, populate)
        }
    }
}

impl Backing for File {
    fn fresh(&self) -> bool {
        false
    }

    unsafe fn map(&self, at: *mut c_void, area: &Area, populate: Populate) -> io::Result<()> {
        // SAFETY: borrowed for this call; one that is not open is an error of it.
        let file = unsafe { BorrowedFd::borrow_raw(self.0) };
        let found = fstat(file)?;
        let end = area.base + area.bytes;
        // Devices have no size.
        if FileType::from_raw_mode(found.st_mode) == FileType::RegularFile
            && end > found.st_size as u64
        {
            return Err(io::Error::other(format!(
                "it ends at {end:#x}, and descriptor {} is a file of {:#x} bytes",
                self.0, found.st_size
            )));
        }
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        let flags = MapFlags::SHARED | MapFlags::FIXED;
        let bytes = area.bytes as usize;
        // SAFETY: the caller has reserved the range for us.
        unsafe {
            mmap(at, bytes, protection, flags, file, area.base)?;
            fault_in(at, bytes, populate)
        }
    }
}

impl Backing for Device {
    fn fresh(&self) -> bool {
        false
    }

    unsafe fn map(&self, at: *mut c_void, area: &Area, populate: Populate) -> io::Result<()> {
        // SAFETY: as the caller promises.
        unsafe { File(self.0.as_raw_fd()).map(at, area, populate) }
    }
}
