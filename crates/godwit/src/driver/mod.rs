// SPDX-License-Identifier: Apache-2.0
//! A card behind the Linux driver. It has no registers, page tables and clock for programs: [`Channel`] is all that there is, an
//! open file that is one address space, in which the process's own addresses mean the same memory. `launches` has kernels run,
//! `described` finds out what they are called.

mod channel;
mod described;
mod heap;
mod launches;
pub mod uapi;

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use godwit_card::{Description, OpenOptions};
use godwit_core::layout;
use rustix::io::Errno;

use crate::Error;
use crate::hardware::counters::{Counters, Width};
use crate::state::ticket::Ticket;
use uapi::{INFO_DEMAND, INFO_MIGRATE, Info};

#[cfg(test)]
pub(crate) use channel::Ran;
pub(crate) use channel::{Channel, Node};
#[cfg(test)]
pub(crate) use described::tests as described_tests;
use launches::Slot;
pub(crate) use launches::{Why, Work};

/// Opens a file of the card once more.
type Opener = Box<dyn Fn() -> io::Result<Arc<dyn Channel>> + Send + Sync>;

/// A card that the driver has.
pub(crate) struct DriverCard {
    path: String,
    info: Info,
    opener: Opener,
    /// What the card was asked with; the first context takes it.
    idle: Mutex<Option<Arc<dyn Channel>>>,
    slots: Vec<Arc<Slot>>,
    contexts: Mutex<Option<Vec<Weak<DriverContext>>>>,
}

/// One address space of it.
pub(crate) struct DriverContext {
    path: String,
    pub info: Info,
    channel: Mutex<Option<Arc<dyn Channel>>>,
    /// Of the heap in hardware.
    allocations: Mutex<heap::Allocations>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether a device's name is that of a file of the driver.
pub(crate) fn is_node(device: &str) -> bool {
    device.starts_with("/dev/")
}

impl DriverCard {
    /// Opens `/dev/godwitN`; with it, what the card is.
    pub fn open(path: &str, options: &OpenOptions) -> Result<(Self, Description), Error> {
        let named = path.to_owned();
        Self::over(
            path,
            options,
            Box::new(move || Ok(Arc::new(Node::open(&named)?) as Arc<dyn Channel>)),
        )
    }

    /// The same over other files.
    pub fn over(
        path: &str,
        options: &OpenOptions,
        opener: Opener,
    ) -> Result<(Self, Description), Error> {
        let channel = opener().map_err(|error| cannot_open(path, &error))?;
        let info = ask(path, channel.as_ref())?;
        described::check(path, &info)?;
        let description = described::describe(path, options, &info)?;
        let card = Self {
            path: path.to_owned(),
            info,
            opener,
            idle: Mutex::new(Some(channel)),
            slots: (0..info.kernels)
                .map(|slot| Slot::new(path, slot))
                .collect(),
            contexts: Mutex::new(Some(Vec::new())),
        };
        Ok((card, description))
    }

    /// What was asked of the card is nothing that the driver has for programs.
    pub fn not_there(&self) -> Error {
        Error::Hardware(format!(
            "{}: the driver gives programs launches on memory of their own or of the heap and the card's counters, and nothing else of \
             the card: no buffers, registers, page tables, clock or counts of what moved. Let kernels use the program's memory (Rust: Context::share_process, C: \
             godwit_use), or open a card of the program's own (sim:NAME)",
            self.path
        ))
    }

    /// ... because it is said in cycles.
    pub fn no_clock(&self) -> Error {
        Error::Hardware(format!(
            "{}: the driver does not tell a card's cycles, so no wait or launch can have a limit of them: wait for a time \
             (Rust: Launch::wait_within, C: godwit_wait_ns), and cancel the launch after it",
            self.path
        ))
    }

    /// A new address space.
    pub fn context(&self) -> Result<Arc<DriverContext>, Error> {
        let mut contexts = lock(&self.contexts);
        let contexts = contexts.as_mut().ok_or(Error::Closed)?;
        let channel = match lock(&self.idle).take() {
            Some(channel) => channel,
            None => (self.opener)().map_err(|error| cannot_open(&self.path, &error))?,
        };
        let context = Arc::new(DriverContext {
            path: self.path.clone(),
            info: ask(&self.path, channel.as_ref())?,
            channel: Mutex::new(Some(channel)),
            allocations: Mutex::default(),
        });
        contexts.retain(|context| context.strong_count() > 0);
        contexts.push(Arc::downgrade(&context));
        Ok(context)
    }

    /// Ends a context: its launches first.
    pub fn close_context(&self, context: &DriverContext, why: Why) {
        let Some(channel) = lock(&context.channel).take() else {
            return;
        };
        for slot in &self.slots {
            slot.cancel(|of, _, _| Arc::ptr_eq(of, &channel), why);
        }
        context.end_heap();
    }

    /// Ends the launches of a context that were given an allocation.
    pub fn cancel_users(&self, context: &DriverContext, pointer: u64) -> Result<(), Error> {
        let channel = context.channel()?;
        for slot in &self.slots {
            slot.cancel(
                |of, _, uses| Arc::ptr_eq(of, &channel) && uses.contains(&pointer),
                Why::Stopped("memory that it used was freed"),
            );
        }
        Ok(())
    }

    /// Ends everything on the card that is this process's.
    pub fn close(&self) {
        let contexts = lock(&self.contexts).take();
        for context in contexts.iter().flatten().filter_map(Weak::upgrade) {
            self.close_context(&context, Why::Closed);
        }
        lock(&self.idle).take();
    }

    pub fn is_open(&self) -> bool {
        lock(&self.contexts).is_some()
    }

    /// The files of the card that are open.
    fn channels(&self) -> Vec<Arc<dyn Channel>> {
        let contexts = lock(&self.contexts);
        let contexts = contexts.iter().flatten().filter_map(Weak::upgrade);
        let idle = lock(&self.idle).clone();
        let channels = contexts.filter_map(|context| lock(&context.channel).clone());
        idle.into_iter().chain(channels).collect()
    }

    /// Bytes of device memory that nobody has; as they were when the card was opened if it cannot be asked now.
    pub fn free_bytes(&self) -> u64 {
        let now = self
            .channels()
            .iter()
            .find_map(|channel| channel.info().ok());
        now.unwrap_or(self.info).free_bytes
    }

    /// A file of the card: one that is open, or one more.
    fn any_channel(&self) -> Result<Arc<dyn Channel>, Error> {
        match self.channels().into_iter().next() {
            Some(channel) => Ok(channel),
            None if self.is_open() => {
                (self.opener)().map_err(|error| cannot_open(&self.path, &error))
            }
            None => Err(Error::Closed),
        }
    }

    /// The card's counters, all as of one cycle, of all programs.
    pub fn counters(&self, ports: u32) -> Result<Counters, Error> {
        let channel = self.any_channel()?;
        let words = |width: Width| match width {
            Width::Counter => 2,
            Width::Register => 1,
        };
        let mut offsets = Vec::new();
        Counters::read::<Error>(ports, |width, register| {
            offsets.extend((0..words(width)).map(|word| register as u32 + 4 * word));
            Ok(0)
        })?;
        let values = channel.counters(&offsets).map_err(|errno| match errno {
            Errno::NODEV => Error::Broken(format!("{}: the card is gone", self.path)),
            errno => Error::Hardware(format!(
                "{}: the card's counters were not read: {errno}",
                self.path
            )),
        })?;
        let mut values = values.into_iter().map(u64::from);
        Counters::read(ports, |width, _| {
            let low = values.next().unwrap_or_default();
            let high = (1..words(width))
                .map(|_| values.next().unwrap_or_default())
                .sum::<u64>();
            Ok(high << 32 | low)
        })
    }

    /// Has a launch run after those of its kernel that came before.
    pub fn submit(&self, slot: usize, work: Work, ticket: &Arc<Ticket>) -> Result<(), Error> {
        self.slots[slot].submit(work, ticket)
    }

    /// Waits for the end of a launch, at most so long.
    pub fn wait(&self, slot: usize, ticket: &Ticket, time: Option<Duration>) {
        self.slots[slot].wait(ticket, time);
    }

    /// Ends a launch; whether its kernel stands still.
    pub fn cancel(&self, slot: usize, ticket: &Arc<Ticket>) -> bool {
        self.slots[slot].cancel(
            |_, of, _| Arc::ptr_eq(of, ticket),
            Why::Stopped("it was cancelled"),
        )
    }
}

impl DriverContext {
    /// Where launches go; an error when it was closed.
    pub fn channel(&self) -> Result<Arc<dyn Channel>, Error> {
        lock(&self.channel).clone().ok_or(Error::ContextClosed)
    }

    /// Refuses memory of the process on a card that does not ask for pages.
    pub fn check_demand(&self) -> Result<(), Error> {
        self.channel()?;
        if self.info.flags & INFO_DEMAND != 0 {
            return Ok(());
        }
        Err(Error::Hardware(format!(
            "{}: this card does not ask for pages, and memory is not pinned for it here: build it with page_requests.places, or pin \
             memory with the driver's own call (docs/driver.md)",
            self.path
        )))
    }

    /// Where each page of whole pages is, `uapi::PLACE_*`.
    pub fn places(&self, start: u64, len: u64) -> Result<Vec<u8>, Error> {
        let channel = self.channel()?;
        let mut places = vec![uapi::PLACE_NONE; (len >> layout::PT_PAGE_SHIFT) as usize];
        match channel.residency(start, &mut places) {
            Ok(()) => Ok(places),
            // Nothing but pinned memory is the card's.
            Err(Errno::OPNOTSUPP) => Ok(places),
            Err(Errno::NODEV) => Err(Error::Broken(format!("{}: the card is gone", self.path))),
            Err(errno) => Err(Error::Hardware(format!(
                "{}: where {len} bytes at {start:#x} are was not said: {errno}",
                self.path
            ))),
        }
    }

    /// Whether memory can be anywhere but in the host.
    pub fn migrates(&self) -> bool {
        self.info.flags & INFO_MIGRATE != 0
    }

    /// Says where pages of the process are to be when an accelerator asks for them. A hint, but for a card that is gone: what it comes to
    /// there is not looked at.
    pub fn advise(&self, address: u64, bytes: u64, advice: u32) -> Result<(), Error> {
        let told = self.channel()?.advise(address, bytes, advice);
        told.map(drop).map_err(|errno| match errno {
            Errno::NODEV => Error::Broken(format!("{}: the card is gone", self.path)),
            errno => Error::Hardware(format!(
                "{}: advice on {bytes} bytes at {address:#x} was not taken: {errno}",
                self.path
            )),
        })
    }

    /// Moves pages of the process to device memory, or home, as far as they can move.
    pub fn migrate(&self, address: u64, bytes: u64, home: bool) -> Result<u64, Error> {
        let channel = self.channel()?;
        if home && !self.migrates() {
            return Ok(0);
        }
        channel
            .migrate(address, bytes, home)
            .map_err(|errno| match errno {
                Errno::OPNOTSUPP => Error::Hardware(format!(
                    "{}: memory cannot move to this card: Linux has no device-private memory here, or the card does not ask for pages \
                     (docs/driver.md); kernels use it where it is",
                    self.path
                )),
                Errno::NODEV => Error::Broken(format!("{}: the card is gone", self.path)),
                errno => Error::Hardware(format!(
                    "{}: {bytes} bytes at {address:#x} were not moved: {errno}",
                    self.path
                )),
            })
    }
}

fn cannot_open(path: &str, error: &io::Error) -> Error {
    let what = match Errno::from_io_error(error) {
        Some(Errno::NOENT) => {
            "there is no such card: load the driver (docs/driver.md), or use `sim:NAME`"
        }
        Some(Errno::ACCESS) => {
            "this user may not use it: udev's rules say who may (docs/driver.md)"
        }
        Some(Errno::USERS) => "all contexts of the card are in use: end a program that uses it",
        Some(Errno::NODEV) => "the card is gone",
        _ => "it cannot be opened",
    };
    Error::Hardware(format!("{path}: {what} ({error})"))
}

fn ask(path: &str, channel: &dyn Channel) -> Result<Info, Error> {
    channel.info().map_err(|errno| match errno {
        Errno::NOTTY | Errno::INVAL => Error::Hardware(format!(
            "{path} is no card of Godwit's driver ({errno}): use `sim:NAME` or `/dev/godwit0`"
        )),
        errno => Error::Hardware(format!(
            "{path}: the card cannot be asked what it is: {errno}"
        )),
    })
}
