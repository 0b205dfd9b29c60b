// SPDX-License-Identifier: Apache-2.0
//! Lists of moves on the page DMA: posted at any time, done in their order, with launches going on beside them.
//!
//! While one is under way the clock runs, as for somebody who waits for a launch.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{self, Poll, Waker};

use super::State;
use super::costs::Work;
use super::ticket::Gate;
use crate::Error;
use crate::hardware::dma::{self, Dma, Move};

/// Cycles without a descriptor done after which the page DMA is given up.
const PATIENCE_CYCLES: u64 = 50_000_000;

/// A list of moves that was posted to a card's page DMA ([`Card::transfer`](crate::Card::transfer)). It is done whether or not
/// somebody waits; awaited, it gives what [`Transfer::wait`] gives.
#[must_use = "memory is as it should be only when the list is done"]
pub struct Transfer {
    list: Arc<List>,
}

/// What became of a list.
#[derive(Default)]
pub(crate) struct List {
    fate: Mutex<Fate>,
    gate: Gate,
}

#[derive(Default)]
struct Fate {
    result: Option<Result<(), Error>>,
    waker: Option<Waker>,
}

impl List {
    fn fate(&self) -> MutexGuard<'_, Fate> {
        self.fate.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets what became of it, once.
    fn end(&self, result: Result<(), Error>) {
        let mut fate = self.fate();
        fate.result.get_or_insert(result);
        let waker = fate.waker.take();
        drop(fate);
        self.gate.open();
        waker.into_iter().for_each(Waker::wake);
    }

    fn ended(&self) -> bool {
        self.fate().result.is_some()
    }

    fn take(&self) -> Result<(), Error> {
        self.fate().result.replace(Ok(())).unwrap_or(Ok(()))
    }
}

impl Transfer {
    /// Whether the list has come to its end, one way or the other.
    pub fn ended(&self) -> bool {
        self.list.ended()
    }

    /// Waits until it is done.
    pub fn wait(self) -> Result<(), Error> {
        self.list.gate.pass();
        self.list.take()
    }
}

impl Future for Transfer {
    type Output = Result<(), Error>;

    fn poll(self: Pin<&mut Self>, context: &mut task::Context<'_>) -> Poll<Self::Output> {
        let mut fate = self.list.fate();
        if fate.result.is_none() {
            fate.waker = Some(context.waker().clone());
            return Poll::Pending;
        }
        drop(fate);
        Poll::Ready(self.list.take())
    }
}

/// A card's page DMA and what is posted to it.
pub(crate) struct Transfers {
    dma: Dma,
    /// By the number behind the last descriptor.
    lists: VecDeque<(u64, Arc<List>)>,
}

impl Transfers {
    pub fn new(dma: Dma) -> Self {
        Self {
            dma,
            lists: VecDeque::new(),
        }
    }

    fn end_done(&mut self) {
        while let Some((end, list)) = self.lists.front() {
            if *end > self.dma.done() {
                break;
            }
            list.end(Ok(()));
            self.lists.pop_front();
        }
    }
}

/// How long nothing has been done.
struct Patience {
    done: u64,
    since: u64,
}

impl Patience {
    fn new(now: u64) -> Self {
        Self {
            done: 0,
            since: now,
        }
    }

    /// Whether there is hope at this cycle, with so many descriptors done.
    fn lasts(&mut self, now: u64, done: u64) -> bool {
        if done != self.done {
            *self = Self { done, since: now };
        }
        now - self.since < PATIENCE_CYCLES
    }
}

impl State {
    /// Posts a list.
    pub fn post_moves(&mut self, moves: &[Move]) -> Result<Transfer, Error> {
        let Some(transfers) = &mut self.transfers else {
            return Err(Error::Argument(
                "this card has no page DMA: its configuration has dma.slots = 0".into(),
            ));
        };
        let list = Arc::new(List::default());
        let numbers = transfers.dma.post(self.device.as_mut(), moves)?;
        transfers.lists.push_back((numbers.end, Arc::clone(&list)));
        // An empty one behind nothing.
        transfers.end_done();
        Ok(Transfer { list })
    }

    /// Moves, and lets the clock run until all is done; launches go on meanwhile.
    pub fn move_now(&mut self, moves: &[Move]) -> Result<(), Error> {
        let transfer = self.post_moves(moves)?;
        self.finish(transfer)
    }

    /// The same for a list whose fence somebody polls: nobody needs the interrupt.
    pub fn finish_polled(&mut self, transfer: Transfer) -> Result<(), Error> {
        self.polls = true;
        let finished = self.finish(transfer);
        self.polls = false;
        finished
    }

    /// Lets the clock run until a list is done.
    fn finish(&mut self, transfer: Transfer) -> Result<(), Error> {
        let mut patience = Patience::new(self.cycle()?);
        while !transfer.ended() {
            // An interrupt may say nothing new: its fence was seen with the one before.
            let irq = self.run(PATIENCE_CYCLES, dma::IRQ)?;
            self.serve_transfers(irq)?;
            let done = self.transfers.as_ref().map_or(0, |all| all.dma.done());
            if !patience.lasts(self.cycle()?, done) {
                return Err(Error::Hang(format!(
                    "the page DMA has done nothing for {PATIENCE_CYCLES} cycles"
                )));
            }
        }
        transfer.wait()
    }

    /// Takes what the page DMA's interrupt says.
    pub(super) fn serve_transfers(&mut self, irq: u32) -> Result<(), Error> {
        if irq & dma::IRQ == 0 || self.transfers.is_none() {
            return Ok(());
        }
        if !self.polls {
            self.host_works(Work::Interrupt)?;
        }
        let Some(transfers) = &mut self.transfers else {
            return Ok(());
        };
        let lists = &transfers.lists;
        let end_of = |number| {
            let list = lists.iter().find(|(end, _)| *end > number);
            list.map_or(number + 1, |(end, _)| *end)
        };
        let failure = transfers.dma.serve(self.device.as_mut(), end_of)?;
        if let Some(failure) = failure {
            let at = transfers
                .lists
                .partition_point(|(end, _)| *end <= failure.number);
            if let Some((_, list)) = transfers.lists.get(at) {
                list.end(Err(Error::Transfer(failure.why)));
            }
        }
        transfers.end_done();
        Ok(())
    }

    /// The interrupt to look for.
    pub(super) fn transfer_irq(&self) -> u32 {
        match &self.transfers {
            Some(transfers) if !transfers.lists.is_empty() => dma::IRQ,
            _ => 0,
        }
    }

    /// All that is under way ends like this, and the page DMA touches no memory any more.
    pub(super) fn end_transfers(&mut self, error: impl Fn() -> Error) {
        if let Some(transfers) = &mut self.transfers {
            if transfers.dma.busy() {
                // A card that does not answer is not run any more.
                let _ = transfers.dma.turn_off(self.device.as_mut());
            }
            for (_, list) in transfers.lists.drain(..) {
                list.end(Err(error()));
            }
        }
    }
}
