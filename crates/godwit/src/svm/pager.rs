// SPDX-License-Identifier: Apache-2.0
//! The pager's thread and what everybody else asks of it. One in a process, made with the first address space that shares.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::event::Timespec;

use super::arena;
use super::log::Migration;
use super::memory::{pages_around, pages_inside};
use super::moves::Going;
use super::owner::{Owner, Questions};
use super::pages::{Pages, Pin, Residence};
use super::pins::{Pinned, Want};
use super::report::{Cause, Migrations};
use super::sentinel::{self, Watch};
use super::stays::Crossed;
use super::uffd::Uffd;
use super::{OwnerId, PinId};
use crate::Error;

/// After a touch another one is likely to come so soon.
const HURRY: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 200_000,
};

/// Work for the pager; false when it has to wait for a launch to end, and is to be asked again.
type Order = Box<dyn FnMut(&mut Pages) -> bool + Send>;

struct Mailbox {
    orders: Mutex<VecDeque<Order>>,
    watch: Arc<Watch>,
    /// Orders wait while this is not 0: the process forks.
    held: AtomicU32,
}

impl Mailbox {
    fn lock(&self) -> MutexGuard<'_, VecDeque<Order>> {
        self.orders.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next(&self) -> Option<Order> {
        if self.held.load(Ordering::Acquire) > 0 {
            return None;
        }
        self.lock().pop_front()
    }
}

/// The pager of this process, as others see it.
pub(crate) struct Pager {
    mailbox: Arc<Mailbox>,
    user_mode_only: bool,
    /// Whose threads answer: those of a process that forks are not in its children.
    process: u32,
}

impl Pager {
    /// Starts one. There is at most one in a process: see [`Pager::of_process`].
    pub(super) fn start() -> Result<Self, Error> {
        let failed = |why: String| Error::Sharing(format!("no pager for shared memory: {why}"));
        let uffd = Arc::new(Uffd::open(true)?);
        arena::keep_apart();
        let watch = Watch::new().map_err(|error| failed(error.to_string()))?;
        let watch = Arc::new(watch);
        let pages = Pages::new(Arc::clone(&uffd), Arc::clone(&watch))?;
        let mailbox = Arc::new(Mailbox {
            orders: Mutex::default(),
            watch: Arc::clone(&watch),
            held: AtomicU32::new(0),
        });
        sentinel::start(&watch, &uffd).map_err(|error| failed(error.to_string()))?;
        let theirs = Arc::clone(&mailbox);
        std::thread::Builder::new()
            .name("godwit-pager".into())
            .spawn(move || run(pages, &theirs))
            .map_err(|error| {
                watch.stop();
                failed(error.to_string())
            })?;
        Ok(Self {
            mailbox,
            user_mode_only: uffd.user_mode_only(),
            process: std::process::id(),
        })
    }

    /// Whether only touches of the program's own code bring pages back: system calls fail on pages that are away.
    pub fn user_mode_only(&self) -> bool {
        self.user_mode_only
    }

    pub(super) fn post(&self, order: Order) {
        self.mailbox.lock().push_back(order);
        self.mailbox.watch.ring();
    }

    /// Whether its thread is in this process, and not only in one that this one was forked from.
    pub fn is_here(&self) -> bool {
        self.process == std::process::id()
    }

    /// Has the pager do something, again after each end of a launch until it answers. In a forked child, where nobody would: an error.
    pub(super) fn call<R: Send + 'static>(
        &self,
        mut work: impl FnMut(&mut Pages) -> Option<R> + Send + 'static,
    ) -> Result<R, Error> {
        if !self.is_here() {
            return Err(Error::WrongProcess {
                owner: self.process,
            });
        }
        let (sender, receiver) = sync_channel(1);
        self.post(Box::new(move |pages| match work(pages) {
            Some(answer) => {
                // A caller that is gone wants nothing any more.
                let _ = sender.send(answer);
                true
            }
            None => false,
        }));
        receiver.recv().map_err(|_| {
            Error::Sharing("internal error in Godwit's pager, please report it".into())
        })
    }

    /// A number for one that has pages.
    pub fn attach(&self, owner: Box<dyn Owner>) -> Result<OwnerId, Error> {
        let mut owner = Some(owner);
        self.call(move |pages| owner.take().map(|owner| pages.attach(owner)))?
    }

    /// Brings home what an owner has, and forgets it.
    pub fn detach(&self, owner: OwnerId) -> Result<(), Error> {
        self.call(move |pages| {
            pages.detach(owner);
            Some(())
        })
    }

    /// Brings memory to its owner, for a launch, and keeps it there until the pin is dropped.
    pub fn pin(self: &Arc<Self>, owner: OwnerId, wants: Vec<Want>) -> Result<Pinned, Error> {
        let id = self.call(move |pages| pages.pin(owner, &wants))??;
        Ok(Pinned::new(self, id))
    }

    /// Ends a pin, dropped or not, and returns when the program's memory is its own again: what the kernel wrote is then seen.
    pub fn settle(&self, id: PinId) -> Result<(), Error> {
        self.call(move |pages| {
            pages.unpin(id);
            let failed = pages.failed.iter().position(|(of, _)| *of == id);
            Some(failed.map_or(Ok(()), |at| Err(pages.failed.swap_remove(at).1)))
        })?
    }

    /// Brings the whole pages of ranges to a card, as far as they can move: all in one go, so that the host works on some while others cross.
    pub fn to_device(&self, owner: OwnerId, wants: Vec<Want>, cause: Cause) -> Result<(), Error> {
        self.call(move |pages| {
            let held = |want: &Want| pages.pinned(want.start, want.len, Some(owner));
            if wants.iter().any(held) {
                return None;
            }
            let going = |want: &Want| {
                let Want { start, len, .. } = *want;
                let going = Going {
                    owner,
                    writable: want.writes || pages.will_write(owner, start, len),
                    kept: want.kept,
                    cause,
                    in_place: false,
                };
                (start, len, going)
            };
            let parts: Vec<_> = wants.iter().map(going).collect();
            Some(pages.bring_free(&parts).map(|_| ()))
        })?
    }

    /// Brings the pages of a range home; when a launch works on them, after its end.
    pub fn to_host(&self, start: u64, len: u64) -> Result<(), Error> {
        let (start, len) = pages_around(start, len);
        self.call(move |pages| {
            if pages.pinned(start, len, None) {
                return None;
            }
            let runs = pages.blocks.away_runs(start, len, None);
            pages.retrieve(&runs, Cause::User);
            Some(())
        })
    }

    /// Has pages brought that kernels wait for, and the questions answered; does not wait for that.
    pub fn ask(&self, owner: OwnerId, questions: Questions) {
        let mut questions = Some(questions);
        self.post(Box::new(move |pages| {
            if let Some(questions) = questions.take() {
                pages.serve(owner, questions);
            }
            true
        }));
    }

    /// Groups of pages crossed the link: on the card with this memory, at so many picoseconds a line, as much of it as is known, in the launch
    /// of a pin if one is named. Does not wait; `seen` is dropped when it is decided about them.
    pub fn crossed(
        &self,
        memory: usize,
        crossed: Vec<Crossed>,
        line_ps: u64,
        of: Option<PinId>,
        seen: impl Send + 'static,
    ) {
        let mut seen = Some(seen);
        self.post(Box::new(move |pages| {
            pages.crossed(memory, &crossed, line_ps, of);
            drop(seen.take());
            true
        }));
    }

    /// Memory is about to be freed: nothing of it is away or watched any more. Its content is lost.
    pub fn forget(&self, start: u64, len: u64) -> Result<(), Error> {
        let Some((start, len)) = pages_inside(start, len) else {
            return Ok(());
        };
        self.call(move |pages| {
            if pages.worked_on(start, len) {
                return None;
            }
            pages.forget(start, len);
            Some(())
        })
    }

    /// Where the pages of a range are.
    pub fn residency(&self, start: u64, len: u64) -> Result<Vec<Residence>, Error> {
        let (start, len) = pages_around(start, len);
        self.call(move |pages| Some(pages.residency(start, len)))
    }

    /// What moved to the memory of an owner and home, one by one, as far as it is remembered.
    pub fn log(&self, owner: OwnerId) -> Result<Vec<Migration>, Error> {
        self.call(move |pages| {
            let memory = pages.owner(owner).map(|owner| owner.memory().id);
            Some(memory.map(|memory| pages.log.of(memory)))
        })?
    }

    /// What moved since the start of the process.
    pub fn migrations(&self) -> Result<Migrations, Error> {
        self.call(|pages| Some(pages.report))
    }

    /// Brings everything home and does nothing else until [`Pager::go_on`].
    pub(super) fn halt(&self) -> Result<(), Error> {
        let mailbox = Arc::clone(&self.mailbox);
        self.call(move |pages| {
            if !pages.pins.is_empty() {
                return None;
            }
            mailbox.held.fetch_add(1, Ordering::AcqRel);
            pages.retreat(None);
            Some(())
        })
    }

    pub(super) fn go_on(&self) {
        self.mailbox.held.fetch_sub(1, Ordering::AcqRel);
        self.mailbox.watch.ring();
    }
}

impl Pages {
    /// Brings home what an owner has, or all.
    fn retreat(&mut self, owner: Option<OwnerId>) {
        for (start, len) in self.blocks.watched() {
            let runs = self.blocks.away_runs(start, len, owner);
            self.retrieve(&runs, Cause::Retreat);
        }
    }

    fn detach(&mut self, owner: OwnerId) {
        let of_owner = |pin: &&Pin| pin.owner == owner;
        let pins: Vec<PinId> = self
            .pins
            .iter()
            .filter(of_owner)
            .map(|pin| pin.id)
            .collect();
        pins.into_iter().for_each(|id| self.unpin(id));
        self.retreat(Some(owner));
        self.prefetchers.remove(&owner);
        self.stays.forget_owner(owner);
        self.thrash.forget(owner);
        if let Some(gone) = self.owners.remove(&owner) {
            self.watch.remove_thread(gone.thread());
            self.forget_groups(owner, gone.memory().id);
            let mut others = self.owners.values();
            let last = others.all(|other| other.memory() != gone.memory());
            if let Some(memory) = gone.to_reach().filter(|_| last) {
                let others = self.owners.values_mut();
                others.for_each(|other| other.reach_no_more(&memory));
            }
        }
        if self.owners.is_empty() {
            for (start, len) in self.blocks.watched() {
                self.unwatch(start, len);
            }
            self.sweep();
        }
    }
}

/// The pager's thread, as long as the process lives.
fn run(mut pages: Pages, mailbox: &Mailbox) {
    pages
        .watch
        .add_thread(rustix::thread::gettid().as_raw_nonzero().get() as u32);
    let mut waiting: Vec<Order> = Vec::new();
    loop {
        // After an error of ours nobody may be left waiting: who touched a page touches it again.
        let turn = AssertUnwindSafe(|| while one_turn(&mut pages, mailbox, &mut waiting) {});
        if catch_unwind(turn).is_err() {
            for (start, len) in pages.blocks.watched() {
                let _ = pages.uffd.wake(start, len);
            }
            continue;
        }
        let hurry = pages.released.then_some(HURRY);
        if !pages.watch.sleep(&pages.uffd, hurry) {
            pages.released = false;
            pages.owners.values_mut().for_each(|owner| owner.rest());
        }
    }
}

/// Does what there is to do; whether there may be more.
fn one_turn(pages: &mut Pages, mailbox: &Mailbox, waiting: &mut Vec<Order>) -> bool {
    let mut more = pages.handle_events();
    if std::mem::take(&mut pages.unpinned) {
        pages.retry_parked();
        for mut order in std::mem::take(waiting) {
            if !order(pages) {
                waiting.push(order);
            }
        }
        more = true;
    }
    if let Some(mut order) = mailbox.next() {
        if !order(pages) {
            waiting.push(order);
        }
        more = true;
    }
    more
}
