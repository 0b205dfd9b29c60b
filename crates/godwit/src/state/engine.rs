// SPDX-License-Identifier: Apache-2.0
//! The thread that owns a card. Callers post jobs and wait for them; nobody else touches the device or its page tables, and
//! it touches no memory of the user.
//!
//! Jobs run in the order in which they were posted. Between them the clock runs, a slice at a time, as long as somebody
//! waits for a launch: in a wait, a poll, an await, or with a callback. Otherwise it stands, so that what a program on
//! one thread measures is the same in every run, however fast the host is. So it stands, too, while pages are awaited that
//! another thread brings ([`demand`](super::demand)), or decides about ([`lines`](super::lines)). A launch is ended, and the next one of its kernel begun, by this thread.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

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

    /// All that was posted; waits for some when `wait`.
    fn take(&self, wait: bool) -> VecDeque<Job> {
        let mut posted = self.lock();
        while wait && posted.jobs.is_empty() {
            posted = self
                .changed
                .wait(posted)
                .unwrap_or_else(PoisonError::into_inner);
        }
        std::mem::take(&mut posted.jobs)
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
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Engine {
    /// Gives the card to a thread of its own.
    pub fn start(state: State) -> Result<Self, Error> {
        let mailbox = Arc::new(Mailbox::default());
        let theirs = Arc::clone(&mailbox);
        let thread = std::thread::Builder::new()
            .name("godwit-card".into())
            .spawn(move || run(state, &theirs))
            .map_err(|error| Error::Hardware(format!("no thread for the card: {error}")))?;
        Ok(Self {
            mailbox,
            thread: Mutex::new(Some(thread)),
        })
    }

    /// Works on the card, and waits until that is done. A panic in `work` is the caller's.
    pub fn call<R: Send>(
        &self,
        work: impl FnOnce(&mut Option<State>) -> Result<R, Error> + Send,
    ) -> Result<R, Error> {
        if self.is_own_thread() {
            return Err(Error::Busy(
                "the card waits for a page handler, which cannot use the card itself".into(),
            ));
        }
        let mut answer = None;
        let place = &mut answer;
        let gate = Arc::new(Gate::default());
        let work: Work<'_> = Box::new(move |state| {
            let done = catch_unwind(AssertUnwindSafe(|| work(&mut *state)));
            if let (Err(_), Some(state)) = (&done, state.as_mut()) {
                state.break_down(Error::Hang(
                    "internal error in Godwit, please report it".into(),
                ));
            }
            *place = Some(done);
        });
        // SAFETY: the work lives no longer than what it borrows: this function returns after the gate was opened, which a
        // job does when its work is gone, done or not.
        let work: Work<'static> = unsafe { std::mem::transmute(work) };
        self.mailbox.post(Job {
            work: Some(work),
            gate: Some(Arc::clone(&gate)),
        });
        gate.pass();
        match answer {
            Some(Ok(result)) => result,
            Some(Err(panic)) => resume_unwind(panic),
            None => Err(Error::Closed),
        }
    }

    /// Whether the caller is called by the engine.
    fn is_own_thread(&self) -> bool {
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        let own = thread.as_ref().map(|thread| thread.thread().id());
        own == Some(std::thread::current().id())
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
    }
}

/// The engine's thread: until the card is closed.
fn run(state: State, mailbox: &Mailbox) {
    let mut state = Some(state);
    loop {
        let runs = |state: &State| {
            state.somebody_waits() && !state.awaits_pages() && !state.awaits_lines()
        };
        let busy = state.as_ref().is_some_and(runs);
        for mut job in mailbox.take(!busy) {
            if let Some(work) = job.work.take() {
                // A panic is kept for the caller; one of posted work has nobody to tell.
                let _ = catch_unwind(AssertUnwindSafe(|| work(&mut state)));
            }
        }
        let Some(open) = state.as_mut() else { break };
        if runs(open) && catch_unwind(AssertUnwindSafe(|| open.advance())).is_err() {
            open.break_down(Error::Hang(
                "internal error in Godwit while the clock ran, please report it".into(),
            ));
        }
    }
    mailbox.close();
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
        assert!(mailbox.take(false).is_empty());
    }
}
