// SPDX-License-Identifier: Apache-2.0
//! The heap in hardware of a card behind the driver: allocations of a context, each of which this process sees where the card has it.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use rustix::io::Errno;

use super::channel::Channel;
use super::uapi::{
    ALLOCATION_FREE, ALLOCATION_MALLOC, ALLOCATION_POPULATE, ALLOCATION_REALLOC, ALLOCATION_SMALL,
    Allocation, HEAP_STATE_LACKS, HEAP_STATE_RECLAIMING, HeapState,
};
use super::{DriverCard, DriverContext, lock};
use crate::hardware::frames::FRAME_BYTES;
use crate::hardware::heap::{HeapMemory, Wish, already_the_programs, kernels_own};
use crate::hardware::window::Window;
use crate::{Error, HeapRefusal};

/// Live allocations, by first address.
pub(super) type Allocations = BTreeMap<u64, Shown>;

/// What this process sees of one.
pub(super) struct Shown {
    window: Window,
    bytes: u64,
}

impl Shown {
    /// Bytes that can be touched.
    fn open(&self) -> u64 {
        self.bytes.next_multiple_of(FRAME_BYTES)
    }
}

impl DriverContext {
    /// Memory of `bytes` bytes, its frames from this region; its first byte. This process does not see it yet.
    pub fn malloc(&self, bytes: u64, wish: Wish, region: usize) -> Result<u64, Error> {
        let call = Allocation {
            op: ALLOCATION_MALLOC,
            flags: if wish.small { ALLOCATION_SMALL } else { 0 },
            granule: wish.granule,
            size: bytes,
            region: region as u32,
            ..Allocation::default()
        };
        let done = self.allocation(call, || format!("malloc of {bytes} bytes"))?;
        Ok(done.pointer)
    }

    /// Shows it to this process, where it may come to have `span` bytes. `EXIST`: something is there.
    pub fn show(&self, pointer: u64, span: u64, bytes: u64) -> Result<Result<(), Errno>, Error> {
        let channel = self.channel()?;
        let mut allocations = lock(&self.allocations);
        let shown = Window::at(pointer, span).and_then(|mut window| {
            let shown = bytes.next_multiple_of(FRAME_BYTES);
            channel.show(&mut window, 0, shown)?;
            allocations.insert(pointer, Shown { window, bytes });
            Ok(())
        });
        Ok(shown)
    }

    /// An allocation that a kernel made becomes one of `bytes` bytes that this process may be shown.
    pub fn adopt(&self, pointer: u64, bytes: u64) -> Result<(), Error> {
        if lock(&self.allocations).contains_key(&pointer) {
            return Err(already_the_programs(pointer));
        }
        self.resize(pointer, bytes, || kernels_own(pointer, bytes))
    }

    /// The hardware knows whether an allocation of this context is there.
    fn resize(&self, pointer: u64, bytes: u64, asked: impl Fn() -> String) -> Result<(), Error> {
        let call = Allocation {
            op: ALLOCATION_REALLOC,
            pointer,
            size: bytes,
            ..Allocation::default()
        };
        self.allocation(call, asked).map(drop)
    }

    /// Gives an allocation another size.
    pub fn realloc(&self, pointer: u64, bytes: u64) -> Result<(), Error> {
        // The driver hides what goes, so that nobody who touches it meanwhile sees what is somebody else's.
        self.resize(pointer, bytes, || {
            format!("realloc of {pointer:#x} to {bytes} bytes")
        })?;
        let channel = self.channel()?;
        let mut allocations = lock(&self.allocations);
        let Some(shown) = allocations.get_mut(&pointer) else {
            return Ok(());
        };
        let was = shown.open();
        shown.bytes = bytes;
        let open = shown.open();
        let done = match open.cmp(&was) {
            Ordering::Greater => channel.show(&mut shown.window, was, open - was),
            Ordering::Less => shown.window.blank(open, was - open, false),
            Ordering::Equal => Ok(()),
        };
        done.map_err(|errno| {
            Error::Hardware(format!(
                "{}: {bytes} bytes at {pointer:#x} are allocated, and this process does not see all of them: {errno}",
                self.path
            ))
        })
    }

    /// Ends an allocation. Nobody uses it any more.
    pub fn free(&self, pointer: u64) -> Result<(), Error> {
        let call = Allocation {
            op: ALLOCATION_FREE,
            pointer,
            ..Allocation::default()
        };
        // Whoever gets the same slot next finds its addresses free.
        let mut allocations = lock(&self.allocations);
        self.allocation(call, || format!("free of {pointer:#x}"))?;
        allocations.remove(&pointer);
        Ok(())
    }

    /// Takes frames for memory that is all in one allocation.
    pub fn populate(&self, pointer: u64, bytes: u64) -> Result<(), Error> {
        let call = Allocation {
            op: ALLOCATION_POPULATE,
            pointer,
            size: bytes,
            ..Allocation::default()
        };
        let asked = || format!("frames for {bytes} bytes at {pointer:#x}");
        self.allocation(call, asked).map(drop)
    }

    /// The allocation that an address is in: its first byte, and how many bytes it has.
    pub fn allocation_around(&self, address: u64) -> Option<(u64, u64)> {
        let allocations = lock(&self.allocations);
        let (start, shown) = allocations.range(..=address).next_back()?;
        (address - start < shown.bytes).then_some((*start, shown.bytes))
    }

    /// The context has ended: what this process saw of its heap reads as zero.
    pub(super) fn end_heap(&self) {
        for shown in lock(&self.allocations).values_mut() {
            // A window that the system does not let go keeps the context: rather no addresses at all.
            if shown.window.blank(0, shown.open(), true).is_err() {
                let _ = shown.window.blank(0, shown.open(), false);
            }
        }
    }

    fn allocation(
        &self,
        mut call: Allocation,
        asked: impl Fn() -> String,
    ) -> Result<Allocation, Error> {
        let channel = self.channel()?;
        channel.allocation(&mut call).map_err(|errno| match errno {
            Errno::NOMEM => full(asked(), channel.as_ref(), None),
            errno => refused(&self.path, &asked(), errno),
        })?;
        match HeapRefusal::of(call.status) {
            Some(refusal) => Err(Error::Heap {
                asked: asked(),
                refusal,
            }),
            None => Ok(call),
        }
    }
}

impl DriverCard {
    /// What each region of the heap's memory is like, the one with page tables first.
    pub fn heap_states(&self) -> Result<Vec<HeapState>, Error> {
        let channel = self.any_channel()?;
        states(channel.as_ref()).map_err(|errno| {
            let asked = "the state of the heap's memory";
            refused(&self.path, asked, errno)
        })
    }

    /// What the heap's memory is like, all regions together.
    pub fn heap_memory(&self) -> Result<HeapMemory, Error> {
        let states = self.heap_states()?;
        let sum = |of: fn(&HeapState) -> u64| states.iter().map(of).sum();
        let any = |flag| states.iter().any(|state| state.flags & flag != 0);
        Ok(HeapMemory {
            start: states[0].start,
            bytes: sum(|state| state.bytes),
            free: sum(|state| state.free_bytes),
            clean: sum(|state| state.clean_bytes),
            lacks: any(HEAP_STATE_LACKS),
            reclaiming: any(HEAP_STATE_RECLAIMING),
        })
    }
}

/// What all regions are like.
fn states(channel: &dyn Channel) -> Result<Vec<HeapState>, Errno> {
    let first = channel.heap_state(0)?;
    let further = (1..first.regions).map(|region| channel.heap_state(region));
    std::iter::once(Ok(first)).chain(further).collect()
}

/// Nobody freed what was needed. Of several regions the one that lacks frames is the one with the fewest.
pub(super) fn full(who: String, channel: &dyn Channel, stopped: Option<bool>) -> Error {
    let states = states(channel).unwrap_or_default();
    let fullest = states.into_iter().min_by_key(|state| state.free_bytes);
    let HeapState {
        bytes, free_bytes, ..
    } = fullest.unwrap_or_default();
    Error::HeapFull {
        who,
        cycles: 0,
        bytes,
        free: free_bytes,
        stopped,
    }
}

fn refused(path: &str, asked: &str, errno: Errno) -> Error {
    match errno {
        Errno::NODEV => Error::Broken(format!("{path}: the card is gone")),
        Errno::OPNOTSUPP => Error::Hardware(format!(
            "{path}: the card has no heap: build one with heap.slots, as in `--set heap.slots=1024`"
        )),
        Errno::IO => Error::Hardware(format!(
            "{path}: {asked}: the heap does not answer any more, and gives no memory until the card is reset"
        )),
        errno => Error::Hardware(format!("{path}: {asked}: the driver refused it: {errno}")),
    }
}
