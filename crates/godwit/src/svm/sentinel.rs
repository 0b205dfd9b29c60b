// SPDX-License-Identifier: Apache-2.0
//! What keeps the pager from waiting for itself.
//!
//! The pager waits for the threads of cards, and so neither they nor it may ever wait for a page. What they use is never in a page
//! that is away, for such pages belong to the program as a whole; but the program can free memory while it is away, and the
//! allocator may give it to one of them next. The sentinel looks whether the pager stands still while an event waits to be
//! read. It then reads it, and gives those threads a fresh page: what is in free memory is of no matter.

use std::collections::VecDeque;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::Errno;

use super::PAGE;
use super::uffd::{Event, Uffd};

/// Between two looks, while pages are away.
const PERIOD: Duration = Duration::from_millis(20);
const THREADS: usize = 1024;
const RESCUED: usize = 1024;

/// What pager and sentinel share. All of it is made before any page moves, and lives as long as the process.
pub(super) struct Watch {
    /// Events that the sentinel read in the pager's place. Whoever reads the descriptor holds this.
    inbox: Mutex<VecDeque<Event>>,
    /// Threads that must not wait.
    threads: Box<[AtomicU32]>,
    /// Slots of them that were ever used: nobody looks at the others.
    used: AtomicUsize,
    /// Pages that were given to them, until the pager knows; 0 is free.
    rescued: Box<[AtomicU64]>,
    /// How many of them there may be.
    noted: AtomicUsize,
    /// Counts what the pager does: while it stands, the pager does.
    beat: AtomicUsize,
    away: Mutex<bool>,
    changed: Condvar,
    stop: AtomicBool,
    zeros: Box<Zeros>,
    /// Wakes the pager.
    bell: OwnedFd,
}

#[repr(align(4096))]
struct Zeros([u8; PAGE as usize]);

impl Watch {
    pub fn new() -> Result<Self, Errno> {
        Ok(Self {
            inbox: Mutex::new(VecDeque::with_capacity(1024)),
            threads: (0..THREADS).map(|_| AtomicU32::new(0)).collect(),
            used: AtomicUsize::new(0),
            rescued: (0..RESCUED).map(|_| AtomicU64::new(0)).collect(),
            noted: AtomicUsize::new(0),
            beat: AtomicUsize::new(0),
            away: Mutex::new(false),
            changed: Condvar::new(),
            stop: AtomicBool::new(false),
            zeros: Box::new(Zeros([0; PAGE as usize])),
            bell: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
        })
    }

    /// Has the pager look what there is to do.
    pub fn ring(&self) {
        // Only full when the pager has not looked for 2^64 rings.
        let _ = rustix::io::write(&self.bell, &1u64.to_ne_bytes());
    }

    /// Waits until there is an event, or the bell rings; false when neither came in this time.
    pub fn sleep(&self, uffd: &Uffd, at_most: Option<Timespec>) -> bool {
        self.alive();
        let mut ready = [
            PollFd::from_borrowed_fd(uffd.as_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(self.bell.as_fd(), PollFlags::IN),
        ];
        // An interrupted wait is looked at as an event.
        if poll(&mut ready, at_most.as_ref()) == Ok(0) {
            return false;
        }
        if !ready[1].revents().is_empty() {
            let mut rings = [0; 8];
            let _ = rustix::io::read(&self.bell, &mut rings);
        }
        true
    }

    /// A page of zeros.
    pub fn zeros(&self) -> u64 {
        self.zeros.0.as_ptr() as u64
    }

    fn inbox(&self) -> MutexGuard<'_, VecDeque<Event>> {
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a thread that must not wait; false when there are too many. A number is given to other threads once its thread has ended, so
    /// [`Watch::remove_thread`] comes before.
    pub fn add_thread(&self, thread: u32) -> bool {
        let added = self.threads.iter().position(|slot| {
            slot.compare_exchange(0, thread, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
        });
        if let Some(at) = added {
            self.used.fetch_max(at + 1, Ordering::Relaxed);
        }
        added.is_some()
    }

    /// Takes back one [`Watch::add_thread`].
    pub fn remove_thread(&self, thread: u32) {
        for slot in &self.threads {
            let removed = slot.compare_exchange(thread, 0, Ordering::Relaxed, Ordering::Relaxed);
            if removed.is_ok() {
                return;
            }
        }
    }

    fn must_not_wait(&self, thread: u32) -> bool {
        let is = |slot: &AtomicU32| slot.load(Ordering::Relaxed) == thread;
        let used = self.used.load(Ordering::Relaxed);
        thread != 0 && self.threads.iter().take(used).any(is)
    }

    /// The next event that is not dealt with here, in the order in which they came.
    pub fn next_event(&self, uffd: &Uffd) -> Option<Event> {
        self.alive();
        let mut inbox = self.inbox();
        inbox.pop_front().or_else(|| self.read(uffd))
    }

    /// Reads an event; who must not wait gets its page at once.
    fn read(&self, uffd: &Uffd) -> Option<Event> {
        loop {
            match uffd.read().ok().flatten()? {
                Event::Touch {
                    address, thread, ..
                } if self.must_not_wait(thread) => self.rescue(uffd, address & !(PAGE - 1)),
                event => return Some(event),
            }
        }
    }

    /// The pager does something.
    pub fn alive(&self) {
        self.beat.fetch_add(1, Ordering::Relaxed);
    }

    /// How many pages are away: without any there is nothing to look after.
    pub fn set_away(&self, pages: u64) {
        let mut away = self.away.lock().unwrap_or_else(PoisonError::into_inner);
        let before = std::mem::replace(&mut *away, pages > 0);
        if *away && !before {
            self.changed.notify_all();
        }
    }

    /// A page that was given to a thread which must not wait.
    pub fn next_rescued(&self) -> Option<u64> {
        if self.noted.load(Ordering::Acquire) == 0 {
            return None;
        }
        let page = self
            .rescued
            .iter()
            .map(|slot| slot.swap(0, Ordering::Acquire))
            .find(|page| *page != 0);
        if page.is_some() {
            self.noted.fetch_sub(1, Ordering::Relaxed);
        }
        page
    }

    /// Gives a thread that must not wait its page.
    fn rescue(&self, uffd: &Uffd, page: u64) {
        // Known before the thread goes on, and the pager with it.
        self.noted.fetch_add(1, Ordering::Release);
        let noted = self.rescued.iter().any(|slot| {
            slot.compare_exchange(0, page, Ordering::Release, Ordering::Relaxed)
                .is_ok()
        });
        if noted {
            let _ = uffd.copy(page, self.zeros(), PAGE);
        } else {
            self.noted.fetch_sub(1, Ordering::Relaxed);
        }
        let _ = uffd.wake(page, PAGE);
    }

    /// Looks after the pager until it ends.
    fn run(&self, uffd: &Uffd) {
        let mut last = self.beat.load(Ordering::Relaxed);
        while !self.stop.load(Ordering::Relaxed) {
            let away = self.away.lock().unwrap_or_else(PoisonError::into_inner);
            if !*away {
                drop(
                    self.changed
                        .wait(away)
                        .unwrap_or_else(PoisonError::into_inner),
                );
                continue;
            }
            drop(away);
            std::thread::sleep(PERIOD);
            let beat = self.beat.load(Ordering::Relaxed);
            if std::mem::replace(&mut last, beat) == beat {
                self.read_for_pager(uffd);
            }
        }
    }

    /// The pager stands: what waits to be read may be what it waits for.
    fn read_for_pager(&self, uffd: &Uffd) {
        let mut ready = [PollFd::from_borrowed_fd(uffd.as_fd(), PollFlags::IN)];
        let now = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        if !matches!(poll(&mut ready, Some(&now)), Ok(1)) {
            return;
        }
        let mut inbox = self.inbox();
        while inbox.len() < inbox.capacity() {
            match self.read(uffd) {
                Some(event) => inbox.push_back(event),
                None => break,
            }
        }
        // It may stand no more, and have seen nothing.
        self.ring();
    }

    /// Ends the sentinel.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
        self.changed.notify_all();
    }
}

/// Starts the sentinel of a pager.
pub(super) fn start(watch: &Arc<Watch>, uffd: &Arc<Uffd>) -> std::io::Result<()> {
    let (watch, uffd) = (Arc::clone(watch), Arc::clone(uffd));
    std::thread::Builder::new()
        .name("godwit-sentinel".into())
        .spawn(move || watch.run(&uffd))
        .map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_counts_as_often_as_it_was_added() {
        let watch = Watch::new().unwrap();
        assert!(watch.add_thread(7) && watch.add_thread(7) && watch.add_thread(8));
        watch.remove_thread(7);
        assert!(watch.must_not_wait(7) && watch.must_not_wait(8));
        watch.remove_thread(7);
        assert!(!watch.must_not_wait(7) && !watch.must_not_wait(0));
        assert!((0..THREADS as u32 - 1).all(|thread| watch.add_thread(100 + thread)));
        assert!(!watch.add_thread(9));
    }
}
