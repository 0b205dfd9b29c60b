// SPDX-License-Identifier: Apache-2.0
//! The thread that owns a card. Callers post jobs and wait for them; nobody else touches the device or its page tables, and
//! it touches no memory of the user. One other thread may work in its place while it rests, the one that answers touches of pages that are
//! away ([`Engine::call_from_pager`]): a thread of the program waits for that, and two changes of threads would be most of its wait.
//! It keeps the same rule, as no thread of the program can, whose very stack may be on the card.
//!
//! Jobs run in the order in which they were posted. Between them the clock runs, a slice at a time, as long as somebody
//! waits for a launch: in a wait, a poll, an await, or with a callback. Otherwise it stands, so that what a program on
//! one thread measures is the same in every run, however fast the host is. So it stands, too, while pages are awaited that
//! another thread brings ([`demand`](super::demand)), or decides about ([`lines`](super::lines)). A launch is ended, and the next one of its kernel begun, by this thread.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::{JoinHandle, ThreadId};

use super::State;
use super::ticket::Gate;
use crate::Error;

/// What a job works on; `None` when the card was closed.
type Work<'a> = Box<dyn FnOnce(&mut Option<State>) + Send + 'a>;

/// A job, and who waits for it. It is dropped when it is done, or when it never will be.
struct Job {
    work: Option<Work<'static>>,
    gate: Option<Arc<Gate>>,
}

impl Drop for Job {
    fn drop(&mut self) {
        // What the work borrows is the waiting caller's: it must be gone before the caller goes on.
        drop(self.work.take());
        if let Some(gate) = &self.gate {
            gate.open();
        }
    }
}

#[derive(Default)]
struct Mailbox {
    posted: Mutex<Posted>,
    changed: Condvar,
}

#[derive(Default)]
struct Posted {
    jobs: VecDeque<Job>,
    /// The engine takes no more.
    closed: bool,
    /// Something has changed without a job.
    roused: bool,
}

/// A card, and which thread works on it.
struct Owned {
    state: Mutex<Option<State>>,
    worker: Mutex<Option<ThreadId>>,
}

impl Owned {
    /// Works on the card, of which the caller has the lock.
    fn work(&self, state: &mut Option<State>, work: Work<'_>) {
        self.is_at_work(Some(std::thread::current().id()));
        // A panic is kept for the caller; one of posted work has nobody to tell.
        let _ = catch_unwind(AssertUnwindSafe(|| work(state)));
        self.is_at_work(None);
    }

    fn is_at_work(&self, who: Option<ThreadId>) {
        *self.worker.lock().unwrap_or_else(PoisonError::into_inner) = who;
    }
}

/// Whether the clock is to run.
fn runs(state: &Option<State>) -> bool {
    state.as_ref().is_some_and(|state| {
        state.somebody_waits() && !state.awaits_pages() && !state.awaits_lines()
    })
}

impl Mailbox {
    fn lock(&self) -> MutexGuard<'_, Posted> {
        self.posted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn post(&self, job: Job) {
        let mut posted = self.lock();
        if posted.closed {
            drop(posted);
            return drop(job);
        }
        posted.jobs.push_back(job);
        self.changed.notify_one();
    }

    /// What was posted first. Only who has the card takes it, so that an empty box says that nothing is still to be done.
    fn take(&self) -> Option<Job> {
        self.lock().jobs.pop_front()
    }

    fn is_empty(&self) -> bool {
        self.lock().jobs.is_empty()
    }

    /// Returns when something was posted, or [`Mailbox::rouse`] called.
    fn wait(&self) {
        let mut posted = self.lock();
        while posted.jobs.is_empty() && !std::mem::take(&mut posted.roused) {
            posted = self
                .changed
                .wait(posted)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Has the engine look whether the clock is to run.
    fn rouse(&self) {
        self.lock().roused = true;
        self.changed.notify_one();
    }

    fn close(&self) {
        let mut posted = self.lock();
        posted.closed = true;
        let left = std::mem::take(&mut posted.jobs);
        drop(posted);
        drop(left);
    }
}

/// The engine of one card.
pub(crate) struct Engine {
    mailbox: Arc<Mailbox>,
    card: Arc<Owned>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Engine {
    /// Gives the card to a thread of its own.
    pub fn start(state: State) -> Result<Self, Error> {
        let mailbox = Arc::new(Mailbox::default());
        let card = Arc::new(Owned {
            state: Mutex::new(Some(state)),
            worker: Mutex::default(),
        });
        let (theirs, posted) = (Arc::clone(&card), Arc::clone(&mailbox));
        let thread = std::thread::Builder::new()
            .name("godwit-card".into())
            .spawn(move || run(&theirs, &posted))
            .map_err(|error| Error::Hardware(format!("no thread for the card: {error}")))?;
        Ok(Self {
            mailbox,
            card,
            thread: Mutex::new(Some(thread)),
        })
    }

    /// Works on the card, and waits until that is done. A panic in `work` is the caller's.
    pub fn call<R: Send>(
        &self,
        work: impl FnOnce(&mut Option<State>) -> Result<R, Error> + Send,
    ) -> Result<R, Error> {
        self.have_done(work, |work| {
            let gate = Arc::new(Gate::default());
            // SAFETY: the work lives no longer than what it borrows: this function returns after the gate was opened, which a
            // job does when its work is gone, done or not.
            let work: Work<'static> = unsafe { std::mem::transmute(work) };
            self.mailbox.post(Job {
                work: Some(work),
                gate: Some(Arc::clone(&gate)),
            });
            gate.pass();
        })
    }

    /// The same, on the caller's own thread if the engine rests and nothing is to be done before: for the pager's thread, which has no
    /// memory that is ever on a card, on its stack or behind it.
    pub fn call_from_pager<R: Send>(
        &self,
        work: impl FnOnce(&mut Option<State>) -> Result<R, Error> + Send,
    ) -> Result<R, Error> {
        let Some(mut state) = self.resting() else {
            return self.call(work);
        };
        let done = self.have_done(work, |work| self.card.work(&mut state, work));
        let runs = runs(&state);
        drop(state);
        // What came in the meantime has told the engine so.
        if runs {
            self.mailbox.rouse();
        }
        done
    }

    /// The card, while nobody works on it or has posted a job.
    fn resting(&self) -> Option<MutexGuard<'_, Option<State>>> {
        if self.is_working_thread() {
            return None;
        }
        let state = match self.card.state.try_lock() {
            Ok(state) => state,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        (self.mailbox.is_empty() && !runs(&state)).then_some(state)
    }

    /// Has `work` done by `by`, which may not do it when the card was closed.
    fn have_done<R: Send>(
        &self,
        work: impl FnOnce(&mut Option<State>) -> Result<R, Error> + Send,
        by: impl FnOnce(Work<'_>),
    ) -> Result<R, Error> {
        if self.is_working_thread() {
            return Err(Error::Busy(
                "the card waits for a page handler, which cannot use the card itself".into(),
            ));
        }
        let mut answer = None;
        let place = &mut answer;
        by(Box::new(move |state| {
            let done = catch_unwind(AssertUnwindSafe(|| work(&mut *state)));
            if let (Err(_), Some(state)) = (&done, state.as_mut()) {
                state.break_down(Error::Hang(
                    "internal error in Godwit, please report it".into(),
                ));
            }
            *place = Some(done);
        }));
        match answer {
            Some(Ok(result)) => result,
            Some(Err(panic)) => resume_unwind(panic),
            None => Err(Error::Closed),
        }
    }

    /// Whether the caller is called by who works on the card.
    fn is_working_thread(&self) -> bool {
        let worker = self
            .card
            .worker
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *worker == Some(std::thread::current().id())
    }

    /// Works on the card some time.
    pub fn post(&self, work: impl FnOnce(&mut Option<State>) + Send + 'static) {
        self.mailbox.post(Job {
            work: Some(Box::new(work)),
            gate: None,
        });
    }

    /// Closes the card; all who wait for something get an error. Returns when the device is gone.
    pub fn close(&self) {
        // The answer is that the card is closed, now or before.
        let _ = self.call(|state| {
            if let Some(mut state) = state.take() {
                state.end_all(|| Error::Closed);
            }
            Ok(())
        });
        let thread = self
            .thread
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(thread) = thread {
            // The last handle can be dropped by what the engine's own thread drops.
            if thread.thread().id() != std::thread::current().id() {
                let _ = thread.join();
            }
        }
    }

    /// Leaves everything as it is, in a forked child that has no such thread.
    pub fn forget(&self) {
        if let Ok(mut thread) = self.thread.try_lock() {
            std::mem::forget(thread.take());
        }
        // The parent's card is not to be closed here.
        std::mem::forget(Arc::clone(&self.card));
    }
}

/// The engine's thread: until the card is closed.
fn run(card: &Owned, mailbox: &Mailbox) {
    loop {
        let mut state = card.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(mut job) = mailbox.take() {
            if let Some(work) = job.work.take() {
                card.work(&mut state, work);
            }
            // Who waited for it may go on at once, and find the card resting.
            drop(state);
            continue;
        }
        if state.is_none() {
            break;
        }
        if !runs(&state) {
            drop(state);
            mailbox.wait();
            continue;
        }
        card.work(&mut state, Box::new(advance));
    }
    mailbox.close();
}

/// A slice of the clock.
fn advance(state: &mut Option<State>) {
    let Some(open) = state.as_mut() else { return };
    if catch_unwind(AssertUnwindSafe(|| open.advance())).is_err() {
        open.break_down(Error::Hang(
            "internal error in Godwit while the clock ran, please report it".into(),
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_posted_to_a_closed_mailbox_is_answered() {
        let mailbox = Mailbox::default();
        let gate = Arc::new(Gate::default());
        let job = || Job {
            work: Some(Box::new(|_| panic!("never runs"))),
            gate: Some(Arc::clone(&gate)),
        };
        mailbox.post(job());
        mailbox.close();
        gate.pass();
        mailbox.post(job());
        assert!(mailbox.take().is_none());
    }
}
