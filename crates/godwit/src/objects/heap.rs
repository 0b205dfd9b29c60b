// SPDX-License-Identifier: Apache-2.0
//! Memory of the heap in hardware: `malloc`, `realloc`, `free` of a context.

use std::io::Write as _;
use std::os::fd::BorrowedFd;
use std::sync::{Arc, Weak};

use godwit_card::Memory;
use godwit_core::{Mode, layout};
use rustix::io::Errno;

use crate::driver::DriverContext;
use crate::driver::uapi::{HEAP_STATE_HOST, HEAP_STATE_STRICT};
use crate::hardware::frames::FRAME_BYTES;
use crate::hardware::heap::{
    HEAP_HOST, HeapMemory, HeapPage, HeapRegion, Wish, by_room, region_of, room,
};
use crate::hardware::heap_map::HeapMap;
use crate::objects::card::{Card, Shared};
use crate::objects::context::Context;
use crate::svm::shown::{Behind, Shower, Shown};
use crate::{Error, HeapRefusal};

/// Slots whose addresses this process uses otherwise: so many are passed over.
const TAKEN_MAX: usize = 64;
const SLOT_BYTES: u64 = 8 << 30;
const SMALL_BYTES: u64 = 64 << 10;

/// Options of [`Context::malloc`].
#[derive(Debug, Clone, Copy)]
pub struct MallocOptions {
    granule_bytes: u64,
    small: bool,
    memory: usize,
    elsewhere: bool,
}

impl Default for MallocOptions {
    fn default() -> Self {
        Self {
            granule_bytes: FRAME_BYTES,
            small: false,
            memory: 0,
            elsewhere: false,
        }
    }
}

impl MallocOptions {
    /// Frames of 4 KiB, a slot of 8 GiB.
    pub fn new() -> Self {
        Self::default()
    }

    /// Memory comes in pieces of so many bytes, a power of two from 4 KiB to 2 MiB, in one mapping; or in smaller ones, where there is none, and on a card
    /// without `walker.napot = "any"`, whose pieces are of 64 KiB or 4 KiB: the largest that is not larger.
    pub fn granule(mut self, bytes: u64) -> Self {
        self.granule_bytes = bytes;
        self
    }

    /// Frames come from the memory of this number ([`Card::memories`]), which the heap has a part of: `heap_bytes` of the configuration.
    /// The number after the last is memory of this process, over the host link: `heap.host_bytes`.
    pub fn memory(mut self, number: usize) -> Self {
        self.memory = number;
        self.elsewhere = false;
        self
    }

    /// Frames come from the memory of this number, or, when the heap has not as many free there now, from the first of the others where
    /// it has. When none has, it is the first of them that promises more than it has (one that is not strict), else none.
    pub fn prefer_memory(mut self, number: usize) -> Self {
        self.memory = number;
        self.elsewhere = true;
        self
    }

    /// A slot of 64 KiB, which shares its page table with 31 others: for many small things. It grows to 64 KiB.
    pub fn small(mut self) -> Self {
        self.small = true;
        self
    }
}

/// Who knows what is behind a context's pages.
struct Pages {
    card: Weak<Shared>,
    memory: Arc<Memory>,
    host: Option<Arc<Memory>>,
    context: (usize, u64),
}

impl Pages {
    /// The last word before the signal that ends the program: nobody else can tell it why.
    fn say_full(&self, address: u64) {
        if let Some(card) = self.card.upgrade() {
            let why = card.with(|state| {
                let who = format!("SIGBUS: the program's touch of {address:#x}");
                Ok(state.heap_full(who, None))
            });
            if let Ok(why) = why {
                let _ = writeln!(std::io::stderr(), "godwit: {why}");
            }
        }
    }
}

impl Shower for Pages {
    fn show(&self, address: u64, write: bool) -> Behind {
        let (id, serial) = self.context;
        let found = self
            .card
            .upgrade()
            .map(|card| card.with(|state| state.heap_page(id, serial, address, write)));
        match found {
            Some(Ok(HeapPage::Frames(frames))) => Behind::Frames(frames),
            Some(Ok(HeapPage::Zero)) => Behind::Zero,
            Some(Ok(HeapPage::Nothing)) => Behind::Nothing,
            Some(Ok(HeapPage::NoFrame)) => {
                self.say_full(address);
                Behind::Nothing
            }
            // The card is closed, or cannot be used any more.
            Some(Err(_)) | None => Behind::Blank,
        }
    }

    fn file(&self, pa: u64) -> (BorrowedFd<'_>, u64) {
        match &self.host {
            Some(host) if pa >= HEAP_HOST => (host.fd(), pa - HEAP_HOST),
            _ => (self.memory.fd(), pa),
        }
    }

    fn file_bytes(&self) -> u64 {
        self.memory.size()
    }
}

/// What this process sees of a context's heap.
fn show(context: &Context) -> Result<Shown, Error> {
    let shared = &context.card().shared;
    Shown::new(Box::new(Pages {
        card: Arc::downgrade(shared),
        memory: Arc::clone(&shared.memory),
        host: shared.heap_host.clone(),
        context: (context.id() as usize, context.serial()),
    }))
}

/// Addresses that an allocation of so many bytes may ever have.
fn span(bytes: u64, small: bool) -> u64 {
    match small {
        true => SMALL_BYTES,
        false => SLOT_BYTES * bytes.div_ceil(SLOT_BYTES).next_power_of_two(),
    }
}

impl Context {
    /// Memory of `bytes` bytes from the heap in hardware; its first byte, for this process and for kernels alike. It reads as zero, and
    /// frames come page by page, when somebody writes: nothing is mapped before, whatever the size. The pointer is an argument of
    /// kernels ([`Value::Number`](crate::Value)), like an address in any buffer of the context.
    ///
    /// It lives until [`Context::release`], at most as long as the context: then all of it reads as zero.
    pub fn malloc(&self, bytes: u64, options: MallocOptions) -> Result<*mut u8, Error> {
        if self.mode() != Mode::Sv48 && self.card().description().config.heap.slots > 0 {
            return Err(Error::Argument(format!(
                "the heap is in addresses of Sv48, and the context is {:?}",
                self.mode()
            )));
        }
        if !options.granule_bytes.is_power_of_two() || options.granule_bytes < FRAME_BYTES {
            return Err(Error::Heap {
                asked: format!("malloc in granules of {} bytes", options.granule_bytes),
                refusal: HeapRefusal::Argument,
            });
        }
        let wish = Wish {
            granule: (options.granule_bytes / FRAME_BYTES).ilog2().min(15),
            small: options.small,
            memory: options.memory,
            elsewhere: options.elsewhere,
        };
        let span = span(bytes, options.small);
        let mut taken = Vec::new();
        let found = loop {
            let pointer = self.take(bytes, wish)?;
            match self.show(pointer, span, bytes)? {
                Ok(()) => break Ok(pointer),
                // Something of this process is at the slot's addresses, the heap of another card for one.
                Err(Errno::EXIST) if taken.len() < TAKEN_MAX => taken.push(pointer),
                Err(errno) => {
                    taken.push(pointer);
                    break Err(Error::AddressSpace {
                        bytes,
                        limit: layout::HEAP_WINDOW_END,
                        reason: errno.into(),
                    });
                }
            }
        };
        for pointer in taken {
            self.give(pointer)?;
        }
        found.map(|pointer| pointer as *mut u8)
    }

    /// An allocation that this process does not see yet.
    fn take(&self, bytes: u64, wish: Wish) -> Result<u64, Error> {
        let shared = &self.card().shared;
        if let Some(driver) = self.by_driver() {
            shared.check_process()?;
            return self.take_by(driver, bytes, wish);
        }
        let (id, serial) = (self.id() as usize, self.serial());
        shared.with(|state| state.heap_malloc(id, serial, bytes, wish))
    }

    /// The same behind the driver, of one region after the other where another memory will do.
    fn take_by(&self, driver: &DriverContext, bytes: u64, wish: Wish) -> Result<u64, Error> {
        let found = self.card().heap_regions()?;
        let wanted = region_of(found.iter().map(|region| region.memory), wish.memory)?;
        let order = match wish.elsewhere {
            true => by_room(&found, wanted, bytes),
            false => vec![wanted],
        };
        for region in order {
            match driver.malloc(bytes, wish, region) {
                Err(Error::Heap {
                    refusal: HeapRefusal::NoFrame,
                    ..
                }) => {}
                answer => return answer,
            }
        }
        let place = room(&found, wish, self.card().description());
        Err(Error::Heap {
            asked: format!("malloc of {bytes} bytes{place}"),
            refusal: HeapRefusal::NoFrame,
        })
    }

    /// Has this process see it.
    fn show(&self, pointer: u64, span: u64, bytes: u64) -> Result<Result<(), Errno>, Error> {
        match self.by_driver() {
            Some(driver) => driver.show(pointer, span, bytes),
            None => Ok(self.heap_view()?.add(pointer, span, bytes)),
        }
    }

    /// Gives it back.
    fn give(&self, pointer: u64) -> Result<(), Error> {
        let shared = &self.card().shared;
        match (shared.driver(), self.by_driver()) {
            (Some(card), Some(driver)) => {
                shared.check_process()?;
                card.cancel_users(driver, pointer)?;
                driver.free(pointer)
            }
            _ => {
                let (id, serial) = (self.id() as usize, self.serial());
                shared.with(|state| state.heap_free(id, serial, pointer))
            }
        }
    }

    /// Gives an allocation another size; the pointer stays, and so does what is in the smaller one of both. After growing beyond
    /// what it had, the new part reads as zero.
    pub fn realloc(&self, pointer: *mut u8, bytes: u64) -> Result<(), Error> {
        let (id, serial) = (self.id() as usize, self.serial());
        let shared = &self.card().shared;
        if let Some(driver) = self.by_driver() {
            shared.check_process()?;
            return driver.realloc(pointer as u64, bytes);
        }
        let (pointer, view) = (pointer as u64, self.heap_view()?);
        let len = |state: &mut crate::state::State| {
            let context = state.context(id, serial)?;
            Ok(context.buffers.get(&pointer).map(|buffer| buffer.len))
        };
        let before = shared.with(len)?;
        let shown = |bytes| {
            view.resize(pointer, bytes)
                .map_err(|errno| Error::AddressSpace {
                    bytes,
                    limit: layout::HEAP_WINDOW_END,
                    reason: errno.into(),
                })
        };
        // What goes is out of this process's sight before somebody else can get it.
        let shrinks = before.filter(|before| bytes > 0 && bytes < *before);
        if shrinks.is_some() {
            shown(bytes)?;
        }
        let done = shared.with(|state| state.heap_realloc(id, serial, pointer, bytes));
        match (&done, shrinks) {
            (Ok(()), _) => shown(bytes)?,
            (Err(_), Some(before)) => shown(before)?,
            _ => {}
        }
        done
    }

    /// What a kernel allocated by itself in this context becomes an allocation of `bytes` bytes like those of [`Context::malloc`]: this
    /// process may touch it, and [`Context::realloc`] and [`Context::release`] take its pointer. Nothing moves; no kernel may change
    /// it by itself any more. It has `bytes` bytes from then on. Fails with [`Error::Heap`] when nothing of this context is there, and with
    /// [`Error::AddressSpace`] when this process uses these addresses otherwise.
    pub fn adopt(&self, pointer: u64, bytes: u64) -> Result<*mut u8, Error> {
        let (id, serial) = (self.id() as usize, self.serial());
        let shared = &self.card().shared;
        match self.by_driver() {
            Some(driver) => {
                shared.check_process()?;
                driver.adopt(pointer, bytes)?;
            }
            None => shared.with(|state| state.heap_adopt(id, serial, pointer, bytes))?,
        }
        let span = span(bytes, pointer >= layout::HEAP_WINDOW_SMALL);
        let shown = self.show(pointer, span, bytes).and_then(|shown| {
            shown.map_err(|errno| Error::AddressSpace {
                bytes,
                limit: layout::HEAP_WINDOW_END,
                reason: errno.into(),
            })
        });
        // Where it is not shown it is the kernel's as before: the driver knows only what is.
        if shown.is_err() && self.by_driver().is_none() {
            shared.with(|state| state.heap_disown(id, serial, pointer))?;
        }
        shown.map(|()| pointer as *mut u8)
    }

    /// Takes frames for `bytes` bytes at `pointer`, all in one allocation, so that nobody's touch of them waits for one. Fails with
    /// [`Error::HeapFull`] when there are not as many; what was taken until then stays with the allocation.
    pub fn populate(&self, pointer: *mut u8, bytes: u64) -> Result<(), Error> {
        let (id, serial, pointer) = (self.id() as usize, self.serial(), pointer as u64);
        let shared = &self.card().shared;
        let check = |around: Option<(u64, u64)>| {
            let room = around.map_or(0, |(start, len)| (start + len).saturating_sub(pointer));
            if bytes <= room {
                return Ok(());
            }
            Err(Error::Argument(format!(
                "{bytes} bytes at {pointer:#x} are not all in one allocation: {room} are"
            )))
        };
        if let Some(driver) = self.by_driver() {
            shared.check_process()?;
            check(driver.allocation_around(pointer))?;
            return driver.populate(pointer, bytes);
        }
        shared.with(|state| {
            let buffers = &state.context(id, serial)?.buffers;
            let around = buffers.range(..=pointer).next_back();
            check(around.map(|(start, buffer)| (*start, buffer.len)))?;
            state.heap_populate(id, serial, pointer, bytes)
        })?;
        // What was touched before and read as zero.
        shared.look_again();
        Ok(())
    }

    /// Ends an allocation. Kernels that were given it are stopped; nobody may use it any more.
    pub fn release(&self, pointer: *mut u8) -> Result<(), Error> {
        let (id, serial) = (self.id() as usize, self.serial());
        let pointer = pointer as u64;
        if self.by_driver().is_some() {
            return self.give(pointer);
        }
        let shared = &self.card().shared;
        let own = shared.with(|state| {
            let context = state.context(id, serial)?;
            Ok(context.buffers.contains_key(&pointer))
        })?;
        let view = self.heap_view()?;
        if own {
            // Out of this process's sight before somebody else can get it.
            view.remove(pointer);
        }
        self.give(pointer)
    }
}

impl Card {
    /// Bytes of the heap's memory that nobody has: clean, dirty and in stock.
    pub fn heap_free(&self) -> Result<u64, Error> {
        Ok(self.heap_memory()?.free)
    }

    /// What the heap has of each memory.
    pub fn heap_regions(&self) -> Result<Vec<HeapRegion>, Error> {
        let Some(driver) = self.shared.driver() else {
            return self.shared.with(|state| state.heap_regions());
        };
        self.shared.check_process()?;
        let memories = self.description().config.memories();
        let memory_of = |start: u64| {
            let last = memories.iter().rposition(|(_, first, _)| *first <= start);
            last.unwrap_or(0)
        };
        let states = driver.heap_states()?.into_iter();
        let regions = states.map(|state| HeapRegion {
            memory: match state.flags & HEAP_STATE_HOST {
                0 => memory_of(state.start),
                _ => memories.len(),
            },
            start: state.start,
            bytes: state.bytes,
            free: state.free_bytes,
            clean: state.clean_bytes,
            strict: state.flags & HEAP_STATE_STRICT != 0,
        });
        Ok(regions.collect())
    }

    /// What the heap's memory is like, all regions together.
    pub fn heap_memory(&self) -> Result<HeapMemory, Error> {
        if let Some(driver) = self.shared.driver() {
            self.shared.check_process()?;
            return driver.heap_memory();
        }
        self.shared.with(|state| state.heap_memory())
    }
}

impl Context {
    /// What this context has of the heap's memory: its allocations, pages and tables.
    pub fn heap_map(&self) -> Result<HeapMap, Error> {
        let (id, serial) = (self.id() as usize, self.serial());
        self.card().shared.with(|state| state.heap_map(id, serial))
    }

    /// That of this process, started by the first call.
    fn heap_view(&self) -> Result<&Shown, Error> {
        self.start_heap_view(show)
    }
}
