// SPDX-License-Identifier: Apache-2.0
//! Memory of every kind that a process can have, and a card that shares it.
#![allow(dead_code, reason = "each test uses its own part")]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use godwit::{Card, Context, Mode, Value};
use rustix::mm::{MapFlags, MprotectFlags, ProtFlags};

use crate::mock::MockCard;

pub const PAGE: usize = 4096;

/// One test at a time: what moved is counted for the process, and so is what forks.
pub fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

pub fn shared_card() -> (Card, Context) {
    shared(MockCard::new())
}

pub fn shared(mock: MockCard) -> (Card, Context) {
    let card = Card::with_device(Box::new(mock)).unwrap();
    let context = card.context(Some(Mode::Sv48)).unwrap();
    context.share_process().unwrap();
    (card, context)
}

/// Copies on the card.
pub fn copy<'a>(
    card: &Card,
    context: &Context,
    from: impl Into<Value<'a>>,
    to: impl Into<Value<'a>>,
    bytes: usize,
) -> Result<godwit::Completion, godwit::Error> {
    card.kernel("copy")?
        .context(context)
        .arg("src", from.into())
        .arg("dst", to.into())
        .arg("bytes", bytes)
        .arg("tag", 0u32)
        .run()
}

/// A mapping of its own.
#[derive(Debug)]
pub struct Mapped {
    pub at: *mut u8,
    pub len: usize,
}

// SAFETY: plain memory, of whichever thread has the value.
unsafe impl Send for Mapped {}
// SAFETY: as above; tests that share it use atomics.
unsafe impl Sync for Mapped {}

impl Mapped {
    fn with(pages: usize, flags: MapFlags, fd: Option<std::os::fd::BorrowedFd<'_>>) -> Self {
        Self::at(std::ptr::null_mut(), pages, flags, fd)
    }

    fn at(
        at: *mut std::ffi::c_void,
        pages: usize,
        flags: MapFlags,
        fd: Option<std::os::fd::BorrowedFd<'_>>,
    ) -> Self {
        let (len, rights) = (pages * PAGE, ProtFlags::READ | ProtFlags::WRITE);
        // SAFETY: a new mapping, which replaces none: fixed addresses are `lone`'s.
        let at = unsafe {
            match fd {
                Some(fd) => rustix::mm::mmap(at, len, rights, flags, fd, 0),
                None => rustix::mm::mmap_anonymous(at, len, rights, flags),
            }
        };
        Self {
            at: at.unwrap().cast(),
            len,
        }
    }

    pub fn private(pages: usize) -> Self {
        Self::with(pages, MapFlags::PRIVATE, None)
    }

    pub fn shared(pages: usize) -> Self {
        Self::with(pages, MapFlags::SHARED, None)
    }

    pub fn file(pages: usize) -> Self {
        let fd = rustix::fs::memfd_create("test", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
        rustix::fs::ftruncate(&fd, (pages * PAGE) as u64).unwrap();
        use std::os::fd::AsFd;
        Self::with(pages, MapFlags::PRIVATE, Some(fd.as_fd()))
    }

    /// Where the system puts nothing by itself, so that nothing takes its place when it is gone:
    /// other threads of the program, the test harness's, map memory at any time.
    pub fn lone(pages: usize) -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(4 << 30);
        let at = NEXT.fetch_add((pages + 1) * PAGE, Ordering::Relaxed);
        let flags = MapFlags::PRIVATE | MapFlags::FIXED_NOREPLACE;
        Self::at(std::ptr::without_provenance_mut(at), pages, flags, None)
    }

    /// With a different number in every page and position.
    pub fn filled(self, seed: u8) -> Self {
        for (at, byte) in self.slice().iter_mut().enumerate() {
            *byte = pattern(seed, at);
        }
        self
    }

    #[allow(clippy::mut_from_ref, reason = "the memory of a test is the test's")]
    pub fn slice(&self) -> &mut [u8] {
        // SAFETY: mapped as long as `self` lives.
        unsafe { std::slice::from_raw_parts_mut(self.at, self.len) }
    }

    /// Whether Linux has a page of it, or has swapped one out.
    pub fn was_touched(&self) -> bool {
        use std::os::unix::fs::FileExt;
        let mut entries = vec![0; self.len / PAGE * 8];
        let map = std::fs::File::open("/proc/self/pagemap").unwrap();
        map.read_exact_at(&mut entries, (self.at as usize / PAGE * 8) as u64)
            .unwrap();
        // Bits 63 and 62 of each.
        entries.chunks(8).any(|entry| entry[7] & 0xc0 != 0)
    }

    pub fn protect(&self, flags: MprotectFlags) {
        // SAFETY: the mapping is this value's.
        unsafe { rustix::mm::mprotect(self.at.cast(), self.len, flags) }.unwrap();
    }

    /// Ends the mapping, and says where it was.
    pub fn unmap(self) -> usize {
        self.at as usize
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's.
        unsafe { rustix::mm::munmap(self.at.cast(), self.len) }.unwrap();
    }
}

pub fn pattern(seed: u8, at: usize) -> u8 {
    seed.wrapping_add((at / PAGE) as u8).wrapping_mul(31) ^ (at % 251) as u8
}

pub fn is_pattern(bytes: &[u8], seed: u8) -> bool {
    bytes
        .iter()
        .enumerate()
        .all(|(at, byte)| *byte == pattern(seed, at))
}

/// Bytes of a range that are on the card of a context.
pub fn on_device(context: &Context, memory: &[u8]) -> u64 {
    at(context, memory, godwit::Residency::Device)
}

/// Bytes of a range that are at a place.
pub fn at(context: &Context, memory: &[u8], at: godwit::Residency) -> u64 {
    context
        .residency(memory)
        .unwrap()
        .iter()
        .filter(|(_, _, place)| *place == at)
        .map(|(_, len, _)| len)
        .sum()
}
