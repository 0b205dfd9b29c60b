// SPDX-License-Identifier: Apache-2.0
//! Device memory with one address for both sides.

use std::sync::Arc;

use godwit_core::HostMemory;

use crate::Error;
use crate::hardware::frames::Extent;
use crate::hardware::window::{Placement, Window};
use crate::objects::alloc::{self, Access, AllocOptions, PagePolicy, Plan, Residence};
use crate::objects::card::Card;
use crate::objects::context::Context;
use crate::objects::copies::{self, Bytes};
use crate::objects::in_place;
use crate::objects::mapping::{DeviceMapping, map_device, want_ranges};
use crate::objects::on_heap;
use crate::state::demand::Demand;

/// Device memory, or memory of the program ([`Residence`]), mapped into a context and into this process at the same address. Freed when dropped: a kernel that
/// still uses it is stopped first, and its memory is zeroed before anyone else gets it.
///
/// The host's accesses through its pointer take no simulated time; [`Buffer::upload`] and [`Buffer::download`] go over
/// the modelled host link.
pub struct Buffer {
    context: Context,
    place: Place,
    plan: Plan,
    /// Bytes asked for.
    len: u64,
    access: Access,
    /// Its mapping is gone and its frames are given back.
    released: bool,
}

/// Where this process sees it.
pub(crate) enum Place {
    /// In a window of its own; the frames are its own, too.
    Own(Window),
    /// In a window of its own, whose pages come when kernels touch them.
    Demand(Arc<Demand>),
    /// In a window of its own of the program's memory, which the card reaches over the link.
    Host(Window),
    /// Where it was before; frames and addresses are somebody else's.
    Shared(Arc<dyn HostMemory>),
    /// At this address of the heap in hardware, on a card behind the driver.
    Heap(u64),
}

impl Buffer {
    /// One whose pages are mapped.
    pub(crate) fn mapped(
        context: &Context,
        place: Place,
        plan: Plan,
        len: u64,
        access: Access,
    ) -> Self {
        Self {
            context: context.clone(),
            place,
            plan,
            len,
            access,
            released: false,
        }
    }

    pub(crate) fn new(context: &Context, bytes: u64, options: AllocOptions) -> Result<Self, Error> {
        if bytes == 0 {
            return Err(Error::Argument("a buffer has at least one byte".into()));
        }
        if context.by_driver().is_some() {
            let (address, plan) = on_heap::alloc(context, bytes, options)?;
            let place = Place::Heap(address);
            return Ok(Self::mapped(context, place, plan, bytes, options.access));
        }
        if let PagePolicy::Only(page) = options.pages {
            context.card().check_page(page)?;
        }
        let shared = &context.card().shared;
        shared.with(|state| context.check(context.card(), state))?;
        if options.residence == Residence::Host {
            if options.memory.is_some() {
                return Err(Error::Argument(
                    "a buffer in memory of the program is in none of the card's memories".into(),
                ));
            }
            let (window, plan) = in_place::open(context, bytes, options)?;
            return Ok(Self::mapped(
                context,
                Place::Host(window),
                plan,
                bytes,
                options.access,
            ));
        }
        let plan = take_frames(context, bytes, options)?;
        // From here on its end gives the frames back.
        let window = map_host(context, &plan).inspect_err(|_| give_back(context, &plan))?;
        let va = window.address();
        let mapped = shared.with(|state| {
            let id = context.check(context.card(), state)?;
            let mapping = DeviceMapping {
                va,
                plan: &plan,
                access: options.access,
                max_page: options.pages.max_page(),
                owner: None,
            };
            map_device(state, (id, context.serial()), mapping)
        });
        match mapped {
            Ok(()) => Ok(Self::mapped(
                context,
                Place::Own(window),
                plan,
                bytes,
                options.access,
            )),
            Err(error) => {
                give_back(context, &plan);
                Err(error)
            }
        }
    }

    /// The context it is mapped into.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// Its first address, for this process and for kernels alike.
    pub fn address(&self) -> u64 {
        self.as_ptr() as u64
    }

    /// Its first byte. Valid until the buffer is dropped; kernels may change what it points to while they run.
    pub fn as_ptr(&self) -> *mut u8 {
        match &self.place {
            Place::Own(window) | Place::Host(window) => window.as_ptr(),
            Place::Demand(demand) => demand.as_ptr(),
            Place::Shared(memory) => memory.as_ptr(),
            Place::Heap(address) => *address as *mut u8,
        }
    }

    /// Bytes that were asked for.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Never: a buffer has at least one byte.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Bytes that are mapped: whole pages.
    pub fn mapped_len(&self) -> u64 {
        self.plan.len
    }

    /// What kernels may do with it.
    pub fn access(&self) -> Access {
        self.access
    }

    /// The physical memory behind it, in the order of its addresses; none of a reservation, whose pages come and stay where they
    /// like.
    pub fn physical(&self) -> &[Extent] {
        &self.plan.extents
    }

    /// Whether that is one piece.
    pub fn is_contiguous(&self) -> bool {
        self.plan.extents.len() == 1
    }

    /// Wants entries of the range TLB for it, one a physical piece: kernels then reach all of it without page-table walks,
    /// whatever its pages. Returns how many it has now; the rest waits for entries that become free, and is served by its
    /// pages until then. An entry that an invalidation ended is written again before the next launch.
    pub fn want_range_entries(&self) -> Result<usize, Error> {
        let va = self.address();
        self.context.card().shared.with(|state| {
            let context = self.context.check(self.context.card(), state)? as u32;
            state.ranges.forget(context, va, self.plan.len);
            want_ranges(state, context, va, &self.plan.extents, self.access);
            state.settle_ranges()?;
            Ok(state.ranges.count(context, va, self.plan.len))
        })
    }

    /// How many entries of the range TLB it has.
    pub fn range_entries(&self) -> Result<usize, Error> {
        self.context.card().shared.with(|state| {
            let context = self.context.check(self.context.card(), state)? as u32;
            state.settle_ranges()?;
            Ok(state.ranges.count(context, self.address(), self.plan.len))
        })
    }

    /// Copies bytes out of it, in no simulated time.
    pub fn read(&self, offset: u64, out: &mut [u8]) -> Result<(), Error> {
        self.check_range(offset, out.len())?;
        self.bring_handled(offset, out.len())?;
        // SAFETY: the range was checked, and a Rust slice does not overlap the window, which nobody has a slice of.
        unsafe {
            std::ptr::copy_nonoverlapping(
                self.as_ptr().add(offset as usize),
                out.as_mut_ptr(),
                out.len(),
            )
        };
        Ok(())
    }

    /// Copies bytes into it, in no simulated time.
    pub fn write(&self, offset: u64, data: &[u8]) -> Result<(), Error> {
        self.check_range(offset, data.len())?;
        self.bring_handled(offset, data.len())?;
        // SAFETY: as in `read`.
        unsafe {
            std::ptr::copy_nonoverlapping(
                data.as_ptr(),
                self.as_ptr().add(offset as usize),
                data.len(),
            )
        };
        Ok(())
    }

    /// Copies bytes into it over the host link, unless it is in the program's memory: by the card's page DMA, or without one as modelled, one transfer for each
    /// physically contiguous piece.
    pub fn upload(&self, offset: u64, data: &[u8]) -> Result<(), Error> {
        self.check_range(offset, data.len())?;
        if self.has_no_extents() {
            return self.write(offset, data);
        }
        let extents = self.extents(offset, data.len());
        copies::copy(&self.context.card().shared, Bytes::In(data), &extents)
    }

    /// Copies bytes out of it over the host link, as [`Buffer::upload`] does.
    pub fn download(&self, offset: u64, out: &mut [u8]) -> Result<(), Error> {
        self.check_range(offset, out.len())?;
        if self.has_no_extents() {
            return self.read(offset, out);
        }
        let extents = self.extents(offset, out.len());
        copies::copy(&self.context.card().shared, Bytes::Out(out), &extents)
    }

    /// Frees it now; what went wrong is only known this way. On an error its memory stays out of use.
    pub fn free(mut self) -> Result<(), Error> {
        self.release()
    }

    /// The physical pieces of `len` bytes from `offset`.
    fn extents(&self, offset: u64, len: usize) -> Vec<Extent> {
        let end = offset + len as u64;
        let mut start = 0;
        let mut extents = Vec::new();
        for extent in &self.plan.extents {
            let (from, to) = (start.max(offset), (start + extent.len).min(end));
            if from < to {
                extents.push(Extent {
                    pa: extent.pa + (from - start),
                    len: to - from,
                });
            }
            start += extent.len;
        }
        extents
    }

    /// Whether this program has no physical memory of it: it is copied by its pointer.
    fn has_no_extents(&self) -> bool {
        matches!(
            self.place,
            Place::Demand(_) | Place::Host(_) | Place::Heap(_)
        )
    }

    /// Whether it is in the program's memory, and kernels reach it there.
    pub fn is_in_place(&self) -> bool {
        matches!(self.place, Place::Host(_))
    }

    pub(crate) fn demand(&self) -> Option<&Arc<Demand>> {
        match &self.place {
            Place::Demand(demand) => Some(demand),
            _ => None,
        }
    }

    fn check_range(&self, offset: u64, len: usize) -> Result<(), Error> {
        match offset.checked_add(len as u64) {
            Some(end) if end <= self.len => Ok(()),
            _ => Err(Error::Argument(format!(
                "{len} bytes at {offset} of a buffer of {} bytes",
                self.len
            ))),
        }
    }

    fn release(&mut self) -> Result<(), Error> {
        if std::mem::replace(&mut self.released, true) {
            return Ok(());
        }
        if let Place::Heap(address) = self.place {
            return on_heap::free(&self.context, address);
        }
        let shared = &self.context.card().shared;
        let (id, serial) = (self.context.id() as usize, self.context.serial());
        shared.with(|state| state.remove_buffer(id, serial, self.address(), self.plan.len))?;
        // Only now can no access reach the frames any more.
        match &self.place {
            Place::Own(_) => give_back(&self.context, &self.plan),
            Place::Demand(demand) => {
                let pool = &self.context.card().shared.pool;
                demand
                    .take_frames()
                    .into_iter()
                    .for_each(|frame| pool.free(frame));
            }
            Place::Host(window) => in_place::end(&self.context, window)?,
            Place::Shared(_) | Place::Heap(_) => {}
        }
        Ok(())
    }
}

impl Context {
    /// Device memory of `bytes` bytes, zeroed, mapped into this context and into this process at the same address. On a card behind the
    /// driver it is of the heap in hardware, if the card has one.
    pub fn alloc(&self, bytes: u64, options: AllocOptions) -> Result<Buffer, Error> {
        Buffer::new(self, bytes, options)
    }
}

fn give_back(context: &Context, plan: &Plan) {
    let pool = &context.card().shared.pool;
    plan.extents.iter().for_each(|extent| pool.free(*extent));
}

fn take_frames(context: &Context, bytes: u64, options: AllocOptions) -> Result<Plan, Error> {
    let pool = &context.card().shared.pool;
    let walked = context.card().pages();
    let wanted = options.memory.unwrap_or(0);
    let mut found = pool
        .each()
        .nth(wanted)
        .and_then(|mut frames| alloc::plan(&mut frames, walked, bytes, options));
    if found.is_none() && options.elsewhere {
        found = pool
            .each()
            .find_map(|mut frames| alloc::plan(&mut frames, walked, bytes, options));
    }
    found.ok_or_else(|| no_room(context.card(), bytes, wanted, options))
}

fn no_room(card: &Card, asked: u64, wanted: usize, options: AllocOptions) -> Error {
    let memories = card.memories();
    let contiguous = options.contiguity == alloc::Contiguity::Required;
    match memories.get(wanted) {
        None => Error::Argument(format!(
            "the card has no memory {wanted}: it has {}",
            memories.len()
        )),
        Some(memory) if memories.len() == 1 || options.elsewhere => Error::OutOfMemory {
            asked,
            contiguous,
            free: memories.iter().map(|memory| memory.free).sum(),
            largest: memories
                .iter()
                .map(|each| each.largest)
                .fold(memory.largest, u64::max),
        },
        Some(memory) => Error::MemoryFull {
            memory: memory.name.clone(),
            asked,
            contiguous,
            free: memory.free,
            largest: memory.largest,
        },
    }
}

/// Address space of this process with the planned frames in it.
fn map_host(context: &Context, plan: &Plan) -> Result<Window, Error> {
    let limit = context.address_limit();
    let failed = |errno: rustix::io::Errno| Error::AddressSpace {
        bytes: plan.len,
        limit,
        reason: errno.into(),
    };
    let place = Placement {
        len: plan.len,
        align: plan.align,
        phase: plan.phase,
        limit,
    };
    let mut window = Window::reserve(place).map_err(failed)?;
    let mut offset = 0;
    for extent in &plan.extents {
        window
            .fill(
                offset,
                context.card().shared.memory.fd(),
                extent.pa,
                extent.len,
            )
            .map_err(failed)?;
        offset += extent.len;
    }
    Ok(window)
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // On an error the frames stay out of use, which is safe; `free` is for those who want to know.
        let _ = self.release();
    }
}

impl std::fmt::Debug for Buffer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Buffer")
            .field("address", &format_args!("{:#x}", self.address()))
            .field("len", &self.len)
            .field("access", &self.access)
            .field("physical", &self.plan.extents)
            .finish_non_exhaustive()
    }
}
