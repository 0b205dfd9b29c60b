// SPDX-License-Identifier: Apache-2.0
//! Memory whose pages somebody else gives, shown to this process when it touches them.
//!
//! Each [`Shown`] has a thread, which hears by userfaultfd of the first touch of a page and asks its [`Shower`] what is there: frames
//! of a file, which are then mapped, or nothing yet, which reads as zero and is told again when it is written. Whoever knows that
//! pages of the second kind may have got frames says so ([`Shown::look_again`]).

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::io::Errno;

use super::PAGE;
use super::uffd::{Event, Uffd};
use crate::Error;
use crate::hardware::frames::Extent;
use crate::hardware::window::Window;

/// What is behind a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Behind {
    /// This physical memory around it, naturally aligned.
    Frames(Extent),
    /// Zeros, until it is written.
    Zero,
    /// Nothing: who touches it gets SIGBUS.
    Nothing,
    /// Nothing any more: memory of this process alone, which reads as zero.
    Blank,
}

/// Who knows what is behind pages.
pub(crate) trait Shower: Send + Sync {
    /// What is behind the page at `address`, which is touched, or written. Called by the thread of the [`Shown`].
    fn show(&self, address: u64, write: bool) -> Behind;
    /// The file that a physical address is in, and where.
    fn file(&self, pa: u64) -> (BorrowedFd<'_>, u64);
    /// The end of that of device memory.
    fn file_bytes(&self) -> u64;
}

/// Ranges of addresses of this process.
pub(crate) struct Shown {
    inner: Arc<Inner>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

struct Inner {
    uffd: Uffd,
    stop: OwnedFd,
    ranges: Mutex<Ranges>,
    shower: Box<dyn Shower>,
}

#[derive(Default)]
struct Ranges {
    /// By first address.
    live: BTreeMap<u64, Range>,
    /// Pages that read as zero and may have got frames since.
    zeros: BTreeSet<u64>,
}

struct Range {
    window: Window,
    /// Bytes of it that can be touched, whole pages.
    open: u64,
}

impl Shown {
    /// None yet.
    pub fn new(shower: Box<dyn Shower>) -> Result<Self, Error> {
        let failed =
            |why: String| Error::Sharing(format!("memory of the heap cannot be shown: {why}"));
        let inner = Arc::new(Inner {
            uffd: Uffd::open(false)?,
            stop: eventfd(0, EventfdFlags::CLOEXEC).map_err(|error| failed(error.to_string()))?,
            ranges: Mutex::default(),
            shower,
        });
        let theirs = Arc::clone(&inner);
        let thread = std::thread::Builder::new()
            .name("godwit-heap".into())
            .spawn(move || theirs.serve())
            .map_err(|error| failed(error.to_string()))?;
        Ok(Self {
            inner,
            thread: Mutex::new(Some(thread)),
        })
    }

    /// Takes the addresses from `start` on, `span` bytes, of which the first `bytes` can be touched. Fails with `EXIST` when something
    /// is there.
    pub fn add(&self, start: u64, span: u64, bytes: u64) -> Result<(), Errno> {
        let mut window = Window::at(start, span)?;
        let open = bytes.next_multiple_of(PAGE);
        self.inner.open(&mut window, 0, open)?;
        let range = Range { window, open };
        self.inner.lock().live.insert(start, range);
        Ok(())
    }

    /// Another number of bytes can be touched. What is behind a smaller number is gone for this process when this returns.
    pub fn resize(&self, start: u64, bytes: u64) -> Result<(), Errno> {
        let mut ranges = self.inner.lock();
        let open = bytes.next_multiple_of(PAGE);
        let Some(range) = ranges.live.get_mut(&start) else {
            return Ok(());
        };
        let was = std::mem::replace(&mut range.open, open);
        if open > was {
            return self.inner.open(&mut range.window, was, open - was);
        }
        if open < was {
            range.window.blank(open, was - open, false)?;
            ranges.forget(start + open, start + was);
        }
        Ok(())
    }

    /// Gives the addresses back.
    pub fn remove(&self, start: u64) {
        let mut ranges = self.inner.lock();
        if let Some(range) = ranges.live.remove(&start) {
            ranges.forget(start, start + range.open);
        }
    }

    /// Pages that read as zero may have got frames.
    pub fn look_again(&self) {
        let mut ranges = self.inner.lock();
        let zeros = std::mem::take(&mut ranges.zeros);
        for (start, len) in runs(&zeros) {
            // SAFETY: private pages of ours, which hold zeros: whoever touches one asks again.
            let given_up = unsafe {
                rustix::mm::madvise(
                    start as *mut _,
                    len as usize,
                    rustix::mm::Advice::LinuxDontNeed,
                )
            };
            debug_assert!(given_up.is_ok(), "{start:#x}");
        }
    }

    /// Nothing is behind any page any more: all of it reads as zero, until it is removed, and what was written is lost.
    pub fn end(&self) {
        let mut ranges = self.inner.lock();
        ranges.zeros.clear();
        for range in ranges.live.values_mut() {
            // A window that the system does not let go shows frames that others may get: rather no addresses at all.
            if range.window.blank(0, range.open, true).is_err() {
                let _ = range.window.blank(0, range.open, false);
            }
        }
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        let _ = rustix::io::write(&self.inner.stop, &1u64.to_ne_bytes());
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(thread) = thread.take() {
            let _ = thread.join();
        }
    }
}

impl Ranges {
    fn forget(&mut self, start: u64, end: u64) {
        self.zeros.retain(|page| !(start..end).contains(page));
    }
}

impl Inner {
    fn lock(&self) -> MutexGuard<'_, Ranges> {
        self.ranges.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open(&self, window: &mut Window, offset: u64, len: u64) -> Result<(), Errno> {
        window.blank(offset, len, true)?;
        self.uffd.register_guarded(window.address() + offset, len)
    }

    fn serve(&self) {
        loop {
            let mut ready = [
                PollFd::new(&self.stop, PollFlags::IN),
                PollFd::new(&self.uffd, PollFlags::IN),
            ];
            if poll(&mut ready, None).is_ok() && !ready[0].revents().is_empty() {
                return;
            }
            while let Ok(Some(event)) = self.uffd.read() {
                if let Event::Touch { address, write, .. } = event {
                    self.touch(address / PAGE * PAGE, write);
                }
            }
        }
    }

    fn touch(&self, page: u64, write: bool) {
        let mut ranges = self.lock();
        let Ranges { live, zeros } = &mut *ranges;
        let around = live.range_mut(..=page).next_back();
        if let Some((start, range)) = around.filter(|(start, range)| page - **start < range.open) {
            // Told twice: two threads touched it.
            if write || !zeros.contains(&page) {
                match self.shower.show(page, write) {
                    Behind::Frames(frames) => {
                        self.map(range, page - start, frames);
                        zeros.remove(&page);
                    }
                    Behind::Zero => {
                        static ZEROS: [u8; PAGE as usize] = [0; PAGE as usize];
                        let from = ZEROS.as_ptr() as u64;
                        self.uffd.copy_guarded(page, from, PAGE);
                        zeros.insert(page);
                    }
                    Behind::Blank => {
                        let _ = range.window.blank(page - start, PAGE, true);
                    }
                    // Behind the file's end.
                    Behind::Nothing => self.map(
                        range,
                        page - start,
                        Extent {
                            pa: self.shower.file_bytes().next_multiple_of(PAGE),
                            len: PAGE,
                        },
                    ),
                }
            }
        }
        drop(ranges);
        let _ = self.uffd.wake(page, PAGE);
    }

    /// Maps what of the frames can be touched; all of it has that mapping.
    fn map(&self, range: &mut Range, offset: u64, frames: Extent) {
        let first = offset / frames.len * frames.len;
        let len = frames.len.min(range.open - first);
        let (file, at) = self.shower.file(frames.pa);
        let shown = range.window.fill(first, file, at, len);
        // Without room for another mapping the thread that touches it tries again.
        debug_assert!(shown.is_ok(), "{offset:#x}: {shown:?}");
    }
}

/// Pages, in their order, as ranges.
fn runs(pages: &BTreeSet<u64>) -> Vec<(u64, u64)> {
    let mut found: Vec<(u64, u64)> = Vec::new();
    for &page in pages {
        match found.last_mut() {
            Some((start, len)) if *start + *len == page => *len += PAGE,
            _ => found.push((page, PAGE)),
        }
    }
    found
}
