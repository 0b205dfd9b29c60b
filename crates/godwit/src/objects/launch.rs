// SPDX-License-Identifier: Apache-2.0
//! Kernels at work, and what it is to wait for them.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use crate::driver::{DriverCard, Work};
use crate::objects::card::Card;
use crate::state::ticket::{Gate, Ticket};
use crate::state::{Request, State};
use crate::svm::{Pager, PinId, Pinned};
use crate::{Completion, Error};

/// A kernel that was started, or waits behind launches of the same kernel. Dropped before it is done, it is cancelled.
///
/// The card's clock runs while somebody waits for a launch: in [`Launch::wait`], [`Launch::poll`] or
/// [`Launch::wait_within`], as a future that was polled, or with [`Launch::on_end`]. In between it stands, so that a program on
/// one thread measures the same in every run.
#[must_use = "a launch that is dropped is cancelled"]
pub struct Launch {
    card: Card,
    slot: usize,
    ticket: Arc<Ticket>,
    /// The clock runs for it as a future.
    awaited: bool,
    /// The program's memory that it works on; until it is known to be back.
    pinned: Mutex<Option<(Arc<Pager>, PinId)>>,
}

/// What a wait of limited length found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waited {
    /// The launch has ended: its result can be taken.
    Ended,
    /// The time was over first; the launch goes on.
    TimeOver,
}

impl Launch {
    /// Starts or queues a launch; `request` makes it from the state of the card.
    pub(crate) fn start(
        card: &Card,
        slot: usize,
        kernel: &str,
        pinned: Option<Pinned>,
        request: impl FnOnce(&mut State) -> Result<Request, Error> + Send,
    ) -> Result<Self, Error> {
        let ticket = Arc::new(Ticket::new(kernel));
        let pin = pinned.as_ref().map(Pinned::ticket);
        card.shared.with(|state| {
            let mut request = request(state)?;
            request.keeps = pinned;
            state.submit(slot, request, &ticket)
        })?;
        let launch = Self {
            card: card.clone(),
            slot,
            ticket,
            awaited: false,
            pinned: Mutex::new(pin),
        };
        if launch.pin().is_some() {
            // Who touches its memory waits for its end, which must come without anybody waiting for the launch.
            launch.keep_running();
        }
        Ok(launch)
    }

    /// The same for a card that the driver has.
    pub(crate) fn start_by_driver(
        card: &Card,
        driver: &DriverCard,
        slot: usize,
        work: Work,
    ) -> Result<Self, Error> {
        let ticket = Arc::new(Ticket::new(&work.kernel.name));
        driver.submit(slot, work, &ticket)?;
        Ok(Self {
            card: card.clone(),
            slot,
            ticket,
            awaited: false,
            pinned: Mutex::new(None),
        })
    }

    fn pin(&self) -> MutexGuard<'_, Option<(Arc<Pager>, PinId)>> {
        self.pinned.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the program's memory is the program's again: what the kernel wrote is seen then.
    fn settle(&self) -> Result<(), Error> {
        match self.pin().take() {
            Some((pager, pin)) => pager.settle(pin),
            None => Ok(()),
        }
    }

    /// Its kernel.
    pub fn kernel(&self) -> &str {
        &self.ticket.kernel
    }

    /// Whether it has ended; no time passes.
    pub fn is_ended(&self) -> bool {
        self.ticket.ended()
    }

    /// Waits until the kernel is done.
    pub fn wait(self) -> Result<Completion, Error> {
        self.wait_within(None, None)?;
        self.take()
    }

    /// Lets at most `max_cycles` pass; `None` while the kernel is not done. The result is given once.
    pub fn poll(&self, max_cycles: u64) -> Result<Option<Completion>, Error> {
        match self.wait_within(Some(max_cycles), None)? {
            Waited::Ended => self.take().map(Some),
            Waited::TimeOver => Ok(None),
        }
    }

    /// Waits for the end, for at most so many cycles of the card and so much time of the host. The launch goes on when that is
    /// over.
    pub fn wait_within(
        &self,
        max_cycles: Option<u64>,
        max_time: Option<Duration>,
    ) -> Result<Waited, Error> {
        let shared = &self.card.shared;
        shared.check_process()?;
        if let Some(driver) = shared.driver() {
            if max_cycles.is_some() && !self.ticket.ended() {
                return Err(driver.no_clock());
            }
            driver.wait(self.slot, &self.ticket, max_time);
        } else if !self.ticket.ended() {
            let gate = Arc::new(Gate::default());
            let (ticket, theirs) = (Arc::clone(&self.ticket), Arc::clone(&gate));
            let waits =
                shared.with_any(move |state| state.wait_for(ticket, max_cycles, Some(theirs)));
            match waits {
                // Closing the card has ended it.
                Err(Error::Closed) => {}
                waits => waits?,
            }
            match max_time {
                _ if self.ticket.ended() => {}
                None => gate.pass(),
                Some(time) => {
                    if !gate.pass_within(time) {
                        let _ = shared.with_any(|state| {
                            state.wait_no_more(&gate);
                            Ok(())
                        });
                    }
                }
            }
        }
        Ok(if self.ticket.ended() {
            Waited::Ended
        } else {
            Waited::TimeOver
        })
    }

    /// The result of a launch that has ended, given once.
    pub fn take(&self) -> Result<Completion, Error> {
        let Some(result) = self.ticket.take() else {
            return Err(Error::Busy(format!(
                "kernel `{}` is running: wait for it or cancel it",
                self.ticket.kernel
            )));
        };
        self.settle().and(result)
    }

    /// Has `callback` called at the end, on a thread that is made for that, where the card may be used; here and now when the
    /// launch has ended. The clock runs until then.
    pub fn on_end(&self, callback: impl FnOnce() + Send + 'static) -> Result<(), Error> {
        self.card.shared.check_process()?;
        match self.ticket.call_at_end(Box::new(callback)) {
            Some(callback) => callback(),
            None => self.keep_running(),
        }
        Ok(())
    }

    /// Has the clock run until the end, without waiting for it.
    fn keep_running(&self) {
        let ticket = Arc::clone(&self.ticket);
        // The driver's launches go on by themselves.
        self.card.shared.post(move |state| {
            // A card without a cycle counter is broken, and says so to everybody.
            if let Some(state) = state {
                let _ = state.wait_for(ticket, None, None);
            }
        });
    }

    /// Ends the launch: a running kernel is stopped, one that waits is not started. Returns whether the kernel stands still;
    /// if it does not, it cannot be launched any more. A launch that has ended is left as it is.
    pub fn cancel(&self) -> Result<bool, Error> {
        if self.ticket.ended() {
            return Ok(true);
        }
        let shared = &self.card.shared;
        if let Some(driver) = shared.driver() {
            shared.check_process()?;
            return Ok(driver.cancel(self.slot, &self.ticket));
        }
        shared.with(|state| state.cancel_launch(self.slot, &self.ticket))
    }
}

impl Future for Launch {
    type Output = Result<Completion, Error>;

    fn poll(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Self::Output> {
        if !self.ticket.wake_at_end(task.waker()) {
            return Poll::Ready(self.take());
        }
        if !std::mem::replace(&mut self.awaited, true) {
            if let Err(error) = self.card.shared.check_process() {
                return Poll::Ready(Err(error));
            }
            self.keep_running();
        }
        Poll::Pending
    }
}

impl Drop for Launch {
    fn drop(&mut self) {
        // What cannot be stopped is marked, and reported by the next launch.
        let _ = self.cancel();
        if self.card.shared.check_process().is_ok() {
            let _ = self.settle();
        }
    }
}
