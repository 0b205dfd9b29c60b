// SPDX-License-Identifier: Apache-2.0
//! Memory of the pager itself: where pages stay while a card has them, and copies of the program's memory that cannot crash.

use std::os::unix::fs::FileExt;

use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, ProtFlags};

use super::uffd::{Progress, Uffd};
use super::{BLOCK, PAGE};
use crate::Error;

/// Blocks that address space is taken for at a time.
const CHUNK_BLOCKS: u64 = 32;

/// Private anonymous memory, aligned to a block, that a forked child does not get.
struct Area {
    at: u64,
    len: u64,
}

impl Area {
    fn new(len: u64) -> Result<Self, Errno> {
        let whole = (len + BLOCK) as usize;
        // SAFETY: a new mapping at an address of the system's choice; what is cut off is part of it, and nobody knows it yet.
        unsafe {
            let base = rustix::mm::mmap_anonymous(
                std::ptr::null_mut(),
                whole,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE | MapFlags::NORESERVE,
            )? as u64;
            let at = base.next_multiple_of(BLOCK);
            if at > base {
                rustix::mm::munmap(base as *mut _, (at - base) as usize)?;
            }
            let (end, whole_end) = (at + len, base + whole as u64);
            if whole_end > end {
                rustix::mm::munmap(end as *mut _, (whole_end - end) as usize)?;
            }
            let area = Self { at, len };
            rustix::mm::madvise(at as *mut _, len as usize, Advice::LinuxDontFork)?;
            Ok(area)
        }
    }
}

impl Drop for Area {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's. A failure would leak address space.
        let _ = unsafe { rustix::mm::munmap(self.at as *mut _, self.len as usize) };
    }
}

/// Where pages of the program stay while a card has them: a place for every page of a block, at the same offset, so that huge
/// pages move as one.
pub(super) struct Shadow {
    /// Registered for this memory alone: giving pages up here tells nobody.
    uffd: Uffd,
    areas: Vec<Area>,
    free: Vec<u64>,
}

impl Shadow {
    pub fn new() -> Result<Self, Error> {
        Ok(Self {
            uffd: Uffd::open(false)?,
            areas: Vec::new(),
            free: Vec::new(),
        })
    }

    /// Room for a block, without pages. New memory that it needs is `shown`.
    pub fn take(&mut self, shown: impl FnOnce(u64, u64)) -> Result<u64, Errno> {
        if let Some(at) = self.free.pop() {
            return Ok(at);
        }
        let area = Area::new(CHUNK_BLOCKS * BLOCK)?;
        self.uffd.register(area.at, area.len)?;
        let blocks = (1..CHUNK_BLOCKS).rev().map(|block| area.at + block * BLOCK);
        self.free.extend(blocks);
        let first = area.at;
        shown(area.at, area.len);
        self.areas.push(area);
        Ok(first)
    }

    /// All of its memory: addresses and lengths.
    pub fn areas(&self) -> impl Iterator<Item = (u64, u64)> {
        self.areas.iter().map(|area| (area.at, area.len))
    }

    /// Makes missing pages of a place here, to be written.
    pub fn fill(&self, at: u64, len: u64) -> Progress {
        self.uffd.zero(at, len)
    }

    /// Whether an address is one of these. Nobody serves a missing page of them: only what was put there may be read.
    pub fn owns(&self, address: u64) -> bool {
        let has = |area: &Area| (area.at..area.at + area.len).contains(&address);
        self.areas.iter().any(has)
    }

    /// Takes room back, with what is in it.
    pub fn give_back(&mut self, at: u64) {
        self.drop_pages(at, BLOCK);
        self.free.push(at);
    }

    /// Moves the program's pages at `from` here, to where none are.
    ///
    /// Linux 6.18 moves pages that it does not count, when an entry of the page table changes while it looks: they are here, and no more
    /// there, and the next call refuses to put pages over them. As nothing else puts any here, these have moved.
    pub fn keep(&self, to: u64, from: u64, len: u64) -> Progress {
        let progress = self.uffd.relocate(to, from, len);
        let uncounted = progress.bytes == 0
            && progress.stopped == Some(Errno::EXIST)
            && has_content(from) != Some(true);
        if !uncounted {
            return progress;
        }
        Progress {
            bytes: PAGE,
            stopped: (len > PAGE).then_some(Errno::AGAIN),
        }
    }

    /// Gives pages up.
    pub fn drop_pages(&self, at: u64, len: u64) {
        // SAFETY: the range lies in an area of this value, whose pages are read after they were put there only.
        let _ = unsafe { rustix::mm::madvise(at as *mut _, len as usize, Advice::LinuxDontNeed) };
    }
}

/// A block of memory to copy through.
pub(super) struct Scratch(Area);

impl Scratch {
    pub fn new() -> Result<Self, Errno> {
        Area::new(BLOCK).map(Self)
    }

    pub fn address(&self) -> u64 {
        self.0.at
    }

    /// The first `len` bytes.
    pub fn bytes(&mut self, len: usize) -> &mut [u8] {
        assert!(len as u64 <= BLOCK);
        // SAFETY: the area is this value's, mapped and readable, and `&mut self` keeps others out.
        unsafe { std::slice::from_raw_parts_mut(self.0.at as *mut u8, len) }
    }
}

/// Makes the pages of a range this process's alone, so that they can move: those that a fork left shared are copied.
pub(super) fn unshare(start: u64, len: u64) -> Result<(), Errno> {
    // SAFETY: populating writes nothing; what is mapped stays what it is.
    unsafe { rustix::mm::madvise(start as *mut _, len as usize, Advice::LinuxPopulateWrite) }
}

/// Gives up what is in the pages of a range of the program.
pub(crate) fn discard(start: u64, len: u64) -> Result<(), Errno> {
    // SAFETY: the caller's memory stays mapped, and its content is what the caller gives up.
    unsafe { rustix::mm::madvise(start as *mut _, len as usize, Advice::LinuxDontNeed) }
}

/// Whether a page of this process has anything in it, in memory or swapped out. Reading one that has not would put a page there.
/// True where the system does not say.
pub(super) fn was_touched(address: u64) -> bool {
    has_content(address) != Some(false)
}

/// The same; `None` where the system does not say.
fn has_content(address: u64) -> Option<bool> {
    const PRESENT: u64 = 1 << 63;
    const SWAPPED: u64 = 1 << 62;
    const ENTRY: usize = size_of::<u64>();
    let mut entry = [0; ENTRY];
    // Opened anew: after a fork an old one would be of the parent.
    let read = std::fs::File::open("/proc/self/pagemap")
        .and_then(|map| map.read_exact_at(&mut entry, address / PAGE * ENTRY as u64));
    read.is_ok()
        .then(|| u64::from_ne_bytes(entry) & (PRESENT | SWAPPED) != 0)
}

/// Copies memory of this process, which may be gone by now: then false. Not for the pager, which would wait for itself where a page is
/// away: [`Pages::read`](super::pages::Pages::read).
pub(super) fn read_process(from: u64, to: &mut [u8]) -> bool {
    let local = libc::iovec {
        iov_base: to.as_mut_ptr().cast(),
        iov_len: to.len(),
    };
    let remote = libc::iovec {
        iov_base: from as *mut _,
        iov_len: to.len(),
    };
    // SAFETY: `local` is writable memory of this length; the system checks the other side.
    let read = unsafe { libc::process_vm_readv(libc::getpid(), &local, 1, &remote, 1, 0) };
    read == to.len() as isize
}

/// Writes bytes into memory of this process, which may be gone, or not writable, by now: then false.
pub(super) fn write_process(to: u64, from: &[u8]) -> bool {
    let local = libc::iovec {
        iov_base: from.as_ptr().cast_mut().cast(),
        iov_len: from.len(),
    };
    let remote = libc::iovec {
        iov_base: to as *mut _,
        iov_len: from.len(),
    };
    // SAFETY: `local` is readable memory of this length; the system checks the other side.
    let written = unsafe { libc::process_vm_writev(libc::getpid(), &local, 1, &remote, 1, 0) };
    written == from.len() as isize
}

/// The pages that a range of bytes touches: first address and length.
pub(crate) fn pages_around(start: u64, len: u64) -> (u64, u64) {
    let first = start & !(PAGE - 1);
    (first, (start + len).next_multiple_of(PAGE) - first)
}

/// The pages that a range of bytes covers, if there are any.
pub(crate) fn pages_inside(start: u64, len: u64) -> Option<(u64, u64)> {
    let first = start.next_multiple_of(PAGE);
    let end = (start + len) & !(PAGE - 1);
    (first < end).then(|| (first, end - first))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_of_memory_that_is_gone_say_so() {
        let mut page = [7; 64];
        assert!(read_process(page.as_ptr() as u64, &mut [0; 64]));
        assert!(!read_process(0x1000, &mut page));
        assert!(!write_process(0x1000, &page));
        assert!(write_process(page.as_ptr() as u64, &[9; 64]));
        assert_eq!(std::hint::black_box(&page), &[9; 64]);
    }

    #[test]
    fn a_page_that_was_never_touched_is_not_made_by_the_question() {
        let area = Area::new(BLOCK).unwrap();
        assert!(!was_touched(area.at + PAGE));
        assert!(!was_touched(area.at + PAGE));
        // SAFETY: the area is mapped, writable and this test's.
        unsafe { std::ptr::write_volatile((area.at + PAGE) as *mut u8, 1) };
        assert!(was_touched(area.at + PAGE + 5));
        assert!(!was_touched(area.at));
    }

    #[test]
    fn pages_that_moved_without_being_counted_have_moved() {
        let mut shadow = Shadow::new().unwrap();
        let to = shadow.take(|_, _| {}).unwrap();
        let area = Area::new(BLOCK).unwrap();
        let byte = |at: u64| at as *mut u8;
        // SAFETY: the areas are mapped, writable and this test's; what of them is read was put there.
        unsafe {
            for page in 0..4 {
                byte(area.at + page * PAGE).write_volatile(page as u8 + 1);
            }
            // The second and the third, as the system does.
            assert_eq!(
                shadow.uffd.relocate(to + PAGE, area.at + PAGE, 2 * PAGE),
                Progress {
                    bytes: 2 * PAGE,
                    stopped: None
                }
            );
            let mut done = 0;
            while done < 4 * PAGE {
                let progress = shadow.keep(to + done, area.at + done, 4 * PAGE - done);
                assert!(progress.bytes > 0, "{progress:?} after {done:#x}");
                done += progress.bytes;
                assert_eq!(progress.stopped.is_none(), done == 4 * PAGE);
            }
            for page in 0..4 {
                assert_eq!(byte(to + page * PAGE).read_volatile(), page as u8 + 1);
            }
            // What is on both sides has not moved.
            byte(area.at).write_volatile(9);
            let progress = shadow.keep(to, area.at, PAGE);
            assert_eq!((progress.bytes, progress.stopped), (0, Some(Errno::EXIST)));
            assert_eq!(byte(area.at).read_volatile(), 9);
        }
    }

    #[test]
    fn pages_of_a_range() {
        assert_eq!(pages_around(0x1ff0, 0x20), (0x1000, 0x2000));
        assert_eq!(pages_inside(0x1ff0, 0x20), None);
        assert_eq!(pages_inside(0x1ff0, 0x1020), Some((0x2000, 0x1000)));
        assert_eq!(pages_inside(0x2000, 0x1000), Some((0x2000, 0x1000)));
    }
}
