// SPDX-License-Identifier: Apache-2.0
//! Launches that the driver runs. Its call takes as long as the kernel does, so each kernel has a thread while there is work for it,
//! which runs this process's launches one after the other, in the order in which they came. Launches of other processes come in between.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use godwit_card::{ArgKind, Kernel, LaunchEnd, Stats};
use godwit_core::layout;
use rustix::io::Errno;

use super::channel::{Channel, Ran};
use super::heap;
use crate::fault::FaultRecord;
use crate::state::notifier::Notifier;
use crate::state::ticket::{Callback, Ticket};
use crate::{Completion, Error, Fault};

/// How often the driver is told again that a launch shall end: it may not have reached the driver before.
const TELL_AGAIN: Duration = Duration::from_millis(2);

/// A launch whose arguments were checked.
pub(crate) struct Work {
    pub channel: Arc<dyn Channel>,
    /// The context's number, for messages.
    pub context: u32,
    pub kernel: Kernel,
    /// Words of the control block, each with its offset.
    pub registers: Vec<(u64, u32)>,
    /// Allocations of the heap that it was given.
    pub uses: Vec<u64>,
    /// An end with an error status is an error.
    pub check_status: bool,
}

/// Why launches are ended early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Why {
    /// What was taken away.
    Stopped(&'static str),
    /// The card was closed.
    Closed,
}

impl Why {
    fn error(self, kernel: &str) -> Error {
        match self {
            Self::Stopped(why) => Error::Cancelled {
                kernel: kernel.to_owned(),
                why,
            },
            Self::Closed => Error::Closed,
        }
    }
}

/// The launches of one kernel.
pub(crate) struct Slot {
    /// Of the card, for messages.
    path: String,
    number: u32,
    queue: Mutex<Queue>,
    /// A launch has ended.
    changed: Condvar,
    notifier: Mutex<Notifier>,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<(Work, Arc<Ticket>)>,
    running: Option<Running>,
    /// A thread works.
    busy: bool,
    /// The kernel did not come to rest.
    stuck: bool,
}

struct Running {
    channel: Arc<dyn Channel>,
    ticket: Arc<Ticket>,
    uses: Vec<u64>,
    /// It was told to end.
    why: Option<Why>,
}

impl Slot {
    pub fn new(path: &str, number: u32) -> Arc<Self> {
        Arc::new(Self {
            path: path.to_owned(),
            number,
            queue: Mutex::default(),
            changed: Condvar::new(),
            notifier: Mutex::default(),
        })
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has a launch run after those that came before.
    pub fn submit(self: &Arc<Self>, work: Work, ticket: &Arc<Ticket>) -> Result<(), Error> {
        let mut queue = self.lock();
        if !queue.busy {
            let slot = Arc::clone(self);
            std::thread::Builder::new()
                .name("godwit-launch".into())
                .spawn(move || slot.work())
                .map_err(|error| Error::Hardware(format!("no thread for a launch: {error}")))?;
            queue.busy = true;
        }
        queue.waiting.push_back((work, Arc::clone(ticket)));
        Ok(())
    }

    /// Waits for the end of a launch, at most so long.
    pub fn wait(&self, ticket: &Ticket, time: Option<Duration>) {
        let end = time.and_then(|time| Instant::now().checked_add(time));
        let mut queue = self.lock();
        while !ticket.ended() {
            queue = match end {
                None => self
                    .changed
                    .wait(queue)
                    .unwrap_or_else(PoisonError::into_inner),
                Some(end) => {
                    let left = end.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return;
                    }
                    let waited = self.changed.wait_timeout(queue, left);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }

    /// Ends launches, and returns when they have ended: whether the kernel stands still.
    pub fn cancel(
        &self,
        concerned: impl Fn(&Arc<dyn Channel>, &Arc<Ticket>, &[u64]) -> bool,
        why: Why,
    ) -> bool {
        let mut callbacks = Vec::new();
        let mut queue = self.lock();
        for (work, ticket) in std::mem::take(&mut queue.waiting) {
            if concerned(&work.channel, &ticket, &work.uses) {
                callbacks.extend(ticket.end(Err(why.error(&ticket.kernel))));
            } else {
                queue.waiting.push_back((work, ticket));
            }
        }
        self.changed.notify_all();
        while let Some(running) = queue
            .running
            .as_mut()
            .filter(|running| concerned(&running.channel, &running.ticket, &running.uses))
        {
            running.why.get_or_insert(why);
            // Not there yet, or no longer: it is told again, until its thread says that it has ended. A card that is gone ends it by itself.
            let _ = running.channel.cancel(self.number);
            let waited = self.changed.wait_timeout(queue, TELL_AGAIN);
            queue = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        let still = !queue.stuck;
        drop(queue);
        self.call(callbacks);
        still
    }

    fn call(&self, callbacks: Vec<Callback>) {
        let mut notifier = self.notifier.lock().unwrap_or_else(PoisonError::into_inner);
        for callback in callbacks {
            notifier.call(callback);
        }
    }

    /// The thread: until there is nothing to do.
    fn work(&self) {
        block_signals();
        loop {
            let mut queue = self.lock();
            let Some((work, ticket)) = queue.waiting.pop_front() else {
                queue.busy = false;
                return;
            };
            queue.running = Some(Running {
                channel: Arc::clone(&work.channel),
                ticket: Arc::clone(&ticket),
                uses: work.uses.clone(),
                why: None,
            });
            drop(queue);
            let done = self.run(&work);
            let mut queue = self.lock();
            queue.stuck |= matches!(done, Err(Errno::IO));
            let why = queue.running.take().and_then(|running| running.why);
            let result = match (done, why) {
                (Ok(ran), _) => self.judge(&work, ran),
                (Err(Errno::CANCELED), Some(why)) => Err(why.error(&ticket.kernel)),
                (Err(Errno::NOMEM), _) => {
                    let who = format!("kernel `{}`", ticket.kernel);
                    Err(heap::full(who, work.channel.as_ref(), Some(true)))
                }
                (Err(errno), _) => Err(self.refused(&ticket.kernel, errno)),
            };
            let callbacks = ticket.end(result);
            drop(queue);
            // The last handle of a file ends its context.
            drop(work);
            self.changed.notify_all();
            self.call(callbacks);
        }
    }

    fn run(&self, work: &Work) -> Result<Ran, Errno> {
        let writes: Vec<(u32, u32)> = work
            .registers
            .iter()
            .map(|(offset, value)| (*offset as u32, *value))
            .collect();
        work.channel
            .run(self.number, &writes, &result_words(&work.kernel))
    }

    /// What became of a launch that has come to its end.
    fn judge(&self, work: &Work, ran: Ran) -> Result<Completion, Error> {
        if let Some((cause, address)) = ran.fault {
            return Err(self.fault(work, cause, address));
        }
        let mut values = ran.values.into_iter().map(u64::from);
        let mut results = Vec::new();
        for arg in work.kernel.args.iter().filter(|arg| arg.kind.is_result()) {
            let mut value = values.next().unwrap_or_default();
            if arg.kind == ArgKind::OutU64 {
                value |= values.next().unwrap_or_default() << 32;
            }
            results.push((arg.name.clone(), value));
        }
        let done = Completion {
            cycles: 0,
            time_ps: 0,
            launch_ps: 0,
            start_cycle: 0,
            end_cycle: 0,
            end: LaunchEnd::Interrupt,
            stats: Stats::default(),
            results,
        };
        if work.check_status {
            done.checked(&work.kernel)
        } else {
            Ok(done)
        }
    }

    fn fault(&self, work: &Work, cause: u32, address: u64) -> Error {
        let record = FaultRecord {
            cause,
            port: self.number,
            context: work.context,
            write: matches!(
                cause,
                layout::CAUSE_STORE_PAGE_FAULT | layout::CAUSE_STORE_ACCESS_FAULT
            ),
            id: 0,
            address,
            lost: 0,
        };
        let page = "the process has no memory there that it may use so";
        let name = Some(work.kernel.name.clone());
        Error::Fault(Box::new(Fault::new(record, name, None, Some(page.into()))))
    }

    /// The driver's refusals in words.
    fn refused(&self, kernel: &str, errno: Errno) -> Error {
        let path = &self.path;
        match errno {
            Errno::NODEV => Error::Broken(format!("{path}: the card is gone")),
            Errno::IO => Error::Busy(format!(
                "{path}: kernel `{kernel}` was ended before and has not come to rest: it takes no launches before the driver is \
                 loaded again"
            )),
            Errno::CANCELED | Errno::INTR => Error::Cancelled {
                kernel: kernel.to_owned(),
                why: "another process that has the same open file, or a signal, ended it",
            },
            errno => Error::Hardware(format!(
                "{path}: the driver refused a launch of kernel `{kernel}`: {errno}"
            )),
        }
    }
}

/// Registers of a kernel that hold its results.
fn result_words(kernel: &Kernel) -> Vec<u32> {
    let results = kernel.args.iter().filter(|arg| arg.kind.is_result());
    results
        .flat_map(|arg| {
            let words = if arg.kind == ArgKind::OutU64 { 2 } else { 1 };
            (0..words).map(|word| arg.offset as u32 + 4 * word)
        })
        .collect()
}

/// A signal of the program's would end a launch: they are for its own threads.
fn block_signals() {
    // SAFETY: a set that the first call fills; the mask is this thread's alone.
    unsafe {
        let mut all = std::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_BLOCK, &all, std::ptr::null_mut());
    }
}
