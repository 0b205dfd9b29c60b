// SPDX-License-Identifier: Apache-2.0
//! Memory of this process that lies in the card's memory, such as a block of contiguous memory, given to kernels where it is.

use std::sync::Arc;

use godwit_core::{HostMemory, PageSize};

use crate::Error;
use crate::hardware::frames::{Extent, FRAME_BYTES};
use crate::hardware::visible;
use crate::objects::alloc::{Access, Plan};
use crate::objects::buffer::{Buffer, Place};
use crate::objects::card::Card;
use crate::objects::context::Context;
use crate::objects::mapping::{self, DeviceMapping};
use crate::state::State;

/// What shared memory gets of the range TLB. Its pages are mapped in any case: what has no entry is served by them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RangeEntries {
    /// An entry a physical piece, as long as there are any.
    #[default]
    Preferred,
    /// An entry a physical piece, or the memory is not shared.
    Required,
    /// None.
    Never,
}

/// Options of [`Context::share`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShareOptions {
    access: Access,
    max_page: PageSize,
    entries: RangeEntries,
}

impl Default for ShareOptions {
    fn default() -> Self {
        Self {
            access: Access::default(),
            max_page: PageSize::SIZE_1G,
            entries: RangeEntries::default(),
        }
    }
}

impl ShareOptions {
    /// Readable and writable, the largest pages, entries of the range TLB as far as there are any.
    pub fn new() -> Self {
        Self::default()
    }

    /// Allows kernels this.
    pub fn access(mut self, access: Access) -> Self {
        self.access = access;
        self
    }

    /// Maps with no larger pages.
    pub fn max_page(mut self, page: PageSize) -> Self {
        self.max_page = page;
        self
    }

    /// Wants these entries of the range TLB.
    pub fn entries(mut self, entries: RangeEntries) -> Self {
        self.entries = entries;
        self
    }
}

impl Card {
    /// Sets `bytes` of device memory aside for contiguous memory (`godwit-cmt`), for as long as the card is open, and returns
    /// the configuration with which a pool opens on it: `godwit_cmt::init`, `cmt_init`, `GODWIT_CMT`. Asked again it returns
    /// the same, as long as that is enough.
    pub fn cmt_config(&self, bytes: u64) -> Result<String, Error> {
        use std::os::fd::AsRawFd;

        let bytes = match bytes.checked_next_multiple_of(FRAME_BYTES) {
            Some(bytes) if bytes > 0 => bytes,
            _ => {
                return Err(Error::Argument(format!(
                    "contiguous memory of {bytes} bytes cannot be set aside"
                )));
            }
        };
        self.shared.check_process()?;
        let mut reserve = self
            .shared
            .reserve
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let extent = match *reserve {
            Some(extent) => extent,
            None => self.set_aside(bytes)?,
        };
        *reserve = Some(extent);
        if extent.len < bytes {
            return Err(Error::Busy(format!(
                "{} bytes are set aside for contiguous memory already, not {bytes}: a process has one pool, so ask for all of \
                 it at first",
                extent.len
            )));
        }
        Ok(format!(
            "area={:#x}:{} backing=fd:{}",
            extent.pa,
            extent.len,
            self.memory().fd().as_raw_fd()
        ))
    }
}

impl Card {
    /// Frames in one piece that nobody gives back, aligned as much as costs nothing: pages and answers of the range TLB are as
    /// large as their alignment allows.
    fn set_aside(&self, bytes: u64) -> Result<Extent, Error> {
        let mut frames = self.shared.pool.lock();
        let align = 1 << bytes.ilog2().min(30);
        frames
            .alloc_contiguous(bytes, align)
            .or_else(|| frames.alloc_contiguous(bytes, FRAME_BYTES))
            .ok_or_else(|| Error::OutOfMemory {
                asked: bytes,
                contiguous: true,
                free: frames.free_bytes(),
                largest: frames.largest(),
            })
    }
}

impl Context {
    /// Gives `memory`, which must lie in the card's memory, to kernels at the addresses that it has in this process: a pool of
    /// [`Card::cmt_config`] has such blocks. Its owner is kept until the buffer is dropped.
    pub fn share(
        &self,
        memory: impl HostMemory + 'static,
        options: ShareOptions,
    ) -> Result<Buffer, Error> {
        self.card().check_page(options.max_page)?;
        let memory: Arc<dyn HostMemory> = Arc::new(memory);
        memory
            .check()
            .map_err(|why| Error::Argument(format!("memory cannot be shared: {why}")))?;
        let plan = self.locate(memory.as_ref())?;
        let va = memory.as_ptr() as u64;
        self.card().shared.with(|state| {
            let id = self.check(self.card(), state)?;
            self.refuse_overlap(state, va, plan.len)?;
            let mapping = DeviceMapping {
                va,
                plan: &plan,
                access: options.access,
                max_page: options.max_page,
                owner: Some(Arc::clone(&memory)),
            };
            mapping::map_device(state, (id, self.serial()), mapping)?;
            let entries = self.give_entries(state, id as u32, va, &plan, options);
            if entries.is_err() {
                state.remove_buffer(id, self.serial(), va, plan.len)?;
            }
            entries
        })?;
        let bytes = memory.bytes();
        let place = Place::Shared(memory);
        Ok(Buffer::mapped(self, place, plan, bytes, options.access))
    }

    /// Where the memory is in the card's.
    fn locate(&self, memory: &dyn HostMemory) -> Result<Plan, Error> {
        let (va, bytes) = (memory.as_ptr() as u64, memory.bytes());
        let len = bytes.checked_next_multiple_of(FRAME_BYTES);
        let end = len.and_then(|len| va.checked_add(len));
        let (Some(len), Some(end)) = (len.filter(|len| *len > 0), end) else {
            return Err(Error::Argument(format!(
                "{bytes} bytes at {va:#x} cannot be shared"
            )));
        };
        if va % FRAME_BYTES != 0 {
            return Err(Error::Argument(format!(
                "memory at {va:#x} cannot be shared: it begins inside a page of {FRAME_BYTES} bytes, which it shares with \
                 other memory; allocate it with cmt_alloc_contiguous (Rust: Block, Python: cmt.empty)"
            )));
        }
        if end > self.address_limit() {
            return Err(Error::Argument(format!(
                "memory at {va:#x} cannot be shared: the context's addresses end at {:#x}; take a wider mode, or a card that \
                 walks more levels",
                self.address_limit()
            )));
        }
        let extents = visible::locate(self.card().memory(), va, len).map_err(|at| {
            Error::Argument(format!(
                "memory at {va:#x} cannot be shared: {at:#x} is not in this card's memory; open the pool there first \
                 (C: cmt_init with godwit_cmt_config, Rust: Card::cmt_config, Python: godwit.cmt.init(card.cmt_config(...)))"
            ))
        })?;
        Ok(Plan {
            extents,
            len,
            align: FRAME_BYTES,
            phase: 0,
        })
    }

    fn refuse_overlap(&self, state: &mut State, va: u64, len: u64) -> Result<(), Error> {
        let buffers = &state.context(self.id() as usize, self.serial())?.buffers;
        let last = buffers.range(..va + len).next_back();
        match last.filter(|(start, buffer)| **start + buffer.len > va) {
            Some((start, _)) => Err(Error::Busy(format!(
                "memory at {va:#x} is shared with this context already, by the buffer at {start:#x}"
            ))),
            None => Ok(()),
        }
    }

    fn give_entries(
        &self,
        state: &mut State,
        context: u32,
        va: u64,
        plan: &Plan,
        options: ShareOptions,
    ) -> Result<(), Error> {
        if options.entries == RangeEntries::Never {
            return Ok(());
        }
        let pieces = plan.extents.len();
        mapping::want_ranges(state, context, va, &plan.extents, options.access);
        state.settle_ranges()?;
        let given = state.ranges.count(context, va, plan.len);
        if options.entries == RangeEntries::Required && given < pieces {
            return Err(Error::Busy(format!(
                "memory at {va:#x} lies in {pieces} pieces, and {given} entries of the range TLB are free: free other shared \
                 memory, build the card with a larger range.entries, or let its pages serve the rest (RangeEntries::Preferred, \
                 C: without GODWIT_RANGES)"
            )));
        }
        Ok(())
    }
}
