// SPDX-License-Identifier: Apache-2.0
//! What stands behind an area of physical addresses: taken once, when the pool is opened.

use std::ffi::c_void;
use std::io;

use godwit_core::range::Area;
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, mmap_anonymous};

use crate::config::BackingKind;

/// Memory that areas are made of.
pub trait Backing {
    /// Whether a child of fork shares it with its parent.
    fn shared(&self) -> bool;

    /// Maps all of `area`'s memory at `at`, present and writable.
    ///
    /// # Safety
    /// `[at, at + area.bytes)` is reserved address space that nothing else uses.
    unsafe fn map(&self, at: *mut c_void, area: &Area) -> io::Result<()>;
}

impl BackingKind {
    /// The backing of this kind.
    pub fn open(self) -> Box<dyn Backing> {
        match self {
            BackingKind::Private => Box::new(Private),
            BackingKind::Memfd => Box::new(Memfd { huge: false }),
            BackingKind::Hugetlb => Box::new(Memfd { huge: true }),
        }
    }
}

/// Anonymous memory.
struct Private;

/// A memory file an area.
struct Memfd {
    huge: bool,
}

/// Faults everything in.
///
/// # Safety
/// The range is mapped, and its content may change to what first-touched memory holds: zeros.
unsafe fn populate(at: *mut c_void, bytes: usize) -> io::Result<()> {
    // Huge pages are a matter of speed: not having them is no failure.
    // SAFETY: as the caller promises; advice does not change content.
    let _ = unsafe { madvise(at, bytes, Advice::LinuxHugepage) };
    // SAFETY: the same.
    unsafe { madvise(at, bytes, Advice::LinuxPopulateWrite) }?;
    Ok(())
}

impl Backing for Private {
    fn shared(&self) -> bool {
        false
    }

    unsafe fn map(&self, at: *mut c_void, area: &Area) -> io::Result<()> {
        let bytes = area.bytes as usize;
        let flags = MapFlags::PRIVATE | MapFlags::FIXED;
        // SAFETY: the caller has reserved the range for us.
        unsafe {
            mmap_anonymous(at, bytes, ProtFlags::READ | ProtFlags::WRITE, flags)?;
            populate(at, bytes)
        }
    }
}

impl Backing for Memfd {
    fn shared(&self) -> bool {
        true
    }

    unsafe fn map(&self, at: *mut c_void, area: &Area) -> io::Result<()> {
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
            populate(at, bytes)
        }
    }
}
