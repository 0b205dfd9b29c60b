// SPDX-License-Identifier: Apache-2.0
//! Device memory with one address for both sides.

use crate::alloc::{self, AllocOptions, Plan};
use crate::context::Context;
use crate::frames::Extent;
use crate::state::BufferState;
use crate::window::{Placement, Window};
use crate::{Access, Error, mmu};

/// Device memory, mapped into a context and into this process at the same address. Freed when dropped: a kernel that
/// still uses it is stopped first, and its memory is zeroed before anyone else gets it.
///
/// The host's accesses through its pointer take no simulated time; [`Buffer::upload`] and [`Buffer::download`] go over
/// the modelled host link.
pub struct Buffer {
    context: Context,
    window: Window,
    plan: Plan,
    /// Bytes asked for.
    len: u64,
    access: Access,
    /// Its mapping is gone and its frames are given back.
    released: bool,
}

impl Buffer {
    pub(crate) fn new(context: &Context, bytes: u64, options: AllocOptions) -> Result<Self, Error> {
        if bytes == 0 {
            return Err(Error::Argument("a buffer has at least one byte".into()));
        }
        let shared = &context.card().shared;
        shared.with(|state| {
            let id = context.check(context.card(), state)?;
            let plan = take_frames(context, bytes, options)?;
            let give_back = |plan: &Plan| {
                plan.extents
                    .iter()
                    .for_each(|extent| shared.pool.free(*extent))
            };
            let window = match map_host(context, &plan) {
                Ok(window) => window,
                Err(error) => {
                    give_back(&plan);
                    return Err(error);
                }
            };
            let va = window.address();
            let mut mapped = 0;
            for extent in &plan.extents {
                let context = state.context(id, context.serial())?;
                let (perm, page) = (options.access.perm(), options.pages.max_page());
                if let Err(error) =
                    context
                        .table
                        .map(va + mapped, extent.pa, extent.len, perm, page)
                {
                    if mapped > 0 {
                        let serial = context.serial;
                        state.unmap(id, serial, va, mapped)?;
                    }
                    give_back(&plan);
                    return Err(error.into());
                }
                mapped += extent.len;
            }
            let writable = options.access == Access::ReadWrite;
            let entry = BufferState {
                len: plan.len,
                writable,
                contiguous: plan.extents.len() == 1,
            };
            state
                .context(id, context.serial())?
                .buffers
                .insert(va, entry);
            Ok(Self {
                context: context.clone(),
                window,
                plan,
                len: bytes,
                access: options.access,
                released: false,
            })
        })
    }

    /// The context it is mapped into.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// Its first address, for this process and for kernels alike.
    pub fn address(&self) -> u64 {
        self.window.address()
    }

    /// Its first byte. Valid until the buffer is dropped; kernels may change what it points to while they run.
    pub fn as_ptr(&self) -> *mut u8 {
        self.window.as_ptr()
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

    /// The physical memory behind it, in the order of its addresses.
    pub fn physical(&self) -> &[Extent] {
        &self.plan.extents
    }

    /// Whether that is one piece.
    pub fn is_contiguous(&self) -> bool {
        self.plan.extents.len() == 1
    }

    /// Gives it an entry of the range TLB: kernels then reach all of it without page-table walks, whatever its pages. Says
    /// whether the card had one free. It is best done after other buffers were freed and contexts made: an invalidation of
    /// any of its pages, or of everything, ends the entry. It must be physically contiguous.
    pub fn add_range_entry(&self) -> Result<bool, Error> {
        let [extent] = self.plan.extents[..] else {
            return Err(Error::Argument(format!(
                "a range entry is for one piece of memory; this buffer lies in {}: allocate it contiguously",
                self.plan.extents.len()
            )));
        };
        self.context.card().shared.with(|state| {
            let range = mmu::Range {
                context: self.context.check(self.context.card(), state)? as u32,
                va: self.address(),
                pa: extent.pa,
                len: extent.len,
                writable: self.access == Access::ReadWrite,
            };
            Ok(mmu::add_range(state.device.as_mut(), range)?)
        })
    }

    /// Copies bytes out of it, in no simulated time.
    pub fn read(&self, offset: u64, out: &mut [u8]) -> Result<(), Error> {
        self.check_range(offset, out.len())?;
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

    /// Copies bytes into it over the host link; each physically contiguous piece is one transfer.
    pub fn upload(&self, offset: u64, data: &[u8]) -> Result<(), Error> {
        self.check_range(offset, data.len())?;
        self.context.card().shared.with(|state| {
            for (pa, part) in self.pieces(offset, data.len()) {
                state.device.upload(pa, &data[part])?;
            }
            Ok(())
        })
    }

    /// Copies bytes out of it over the host link; each physically contiguous piece is one transfer.
    pub fn download(&self, offset: u64, out: &mut [u8]) -> Result<(), Error> {
        self.check_range(offset, out.len())?;
        self.context.card().shared.with(|state| {
            for (pa, part) in self.pieces(offset, out.len()) {
                state.device.download(pa, &mut out[part])?;
            }
            Ok(())
        })
    }

    /// Frees it now; what went wrong is only known this way. On an error its memory stays out of use.
    pub fn free(mut self) -> Result<(), Error> {
        self.release()
    }

    /// The physical pieces of `len` bytes from `offset`, each with its part of the host's data.
    fn pieces(
        &self,
        offset: u64,
        len: usize,
    ) -> impl Iterator<Item = (u64, std::ops::Range<usize>)> {
        let end = offset + len as u64;
        let mut start = 0;
        self.plan.extents.iter().filter_map(move |extent| {
            let (first, last) = (start, start + extent.len);
            start = last;
            let (from, to) = (first.max(offset), last.min(end));
            (from < to).then(|| {
                (
                    extent.pa + (from - first),
                    (from - offset) as usize..(to - offset) as usize,
                )
            })
        })
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
        let shared = &self.context.card().shared;
        let (id, serial) = (self.context.id() as usize, self.context.serial());
        shared
            .with(|state| state.remove_buffer(id, serial, self.window.address(), self.plan.len))?;
        // Only now can no access reach the frames any more.
        self.plan
            .extents
            .iter()
            .for_each(|extent| shared.pool.free(*extent));
        Ok(())
    }
}

fn take_frames(context: &Context, bytes: u64, options: AllocOptions) -> Result<Plan, Error> {
    let mut frames = context.card().shared.pool.lock();
    alloc::plan(&mut frames, bytes, options).ok_or_else(|| Error::OutOfMemory {
        asked: bytes,
        contiguous: options.contiguity == alloc::Contiguity::Required,
        free: frames.free_bytes(),
        largest: frames.largest(),
    })
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
