// SPDX-License-Identifier: Apache-2.0
//! The safe face of the page tables.

use std::ffi::{c_int, c_void};
use std::mem::ManuallyDrop;
use std::ptr;

use crate::error::Error;
use crate::ffi;
use crate::types::{Begins, Invalidation, Mapping, Mode, Napot, PageSize, PageState, Perm, Stats};

/// Memory that holds page tables: device memory, or in tests a vector.
///
/// Addresses are physical. Implementations must not panic: the calls come through C, where a panic ends the process.
pub trait TableMemory {
    /// Reads the entry at `pa`, a multiple of 8 within a frame that [`alloc`](Self::alloc) gave.
    fn read(&self, pa: u64) -> u64;
    /// Writes it with one 64-bit access; writes become visible to the hardware in the order of the calls.
    fn write(&mut self, pa: u64, entry: u64);
    /// Address of a 4 KiB frame that reads as zero, or `None` if there is none.
    fn alloc(&mut self) -> Option<u64>;
    /// Takes back such a frame. Its content means nothing.
    fn free(&mut self, pa: u64);
    /// Writes bits 63:32 of the entry at `pa` and leaves the others alone. Memory in which hardware sets A and D must do it
    /// with one 32-bit access; this default is for memory that nobody else writes.
    fn write_high(&mut self, pa: u64, high: u32) {
        let low = self.read(pa) & u64::from(u32::MAX);
        self.write(pa, u64::from(high) << 32 | low);
    }
}

/// Page table of one context, in a memory `M`.
///
/// Calls that fail leave the table as it was. Dropping it frees every frame: by then no hardware may use the root.
#[derive(Debug)]
pub struct PageTable<M: TableMemory> {
    raw: ffi::gw_pt,
    mode: Mode,
    napot: Napot,
    memory: M,
}

// SAFETY: `raw` holds plain numbers, a pointer to a static and `ctx`, which is set anew in each call; so a table is as
// free to move between threads as its memory is.
unsafe impl<M: TableMemory + Send> Send for PageTable<M> {}
// SAFETY: shared access copies `raw` and calls only `TableMemory::read` with `&M`.
unsafe impl<M: TableMemory + Sync> Sync for PageTable<M> {}

unsafe extern "C" fn read<M: TableMemory>(ctx: *mut c_void, pa: u64) -> u64 {
    // SAFETY: `ctx` is the `M` behind the reference that the running call of PageTable holds; no other exists now.
    unsafe { &*ctx.cast_const().cast::<M>() }.read(pa)
}

unsafe extern "C" fn write<M: TableMemory>(ctx: *mut c_void, pa: u64, entry: u64) {
    // SAFETY: only calls that take `&mut PageTable` write, and `ctx` comes from their `&mut M`.
    unsafe { &mut *ctx.cast::<M>() }.write(pa, entry);
}

unsafe extern "C" fn alloc<M: TableMemory>(ctx: *mut c_void) -> u64 {
    // SAFETY: as for `write`.
    unsafe { &mut *ctx.cast::<M>() }
        .alloc()
        .unwrap_or(ffi::GW_PT_NO_FRAME)
}

unsafe extern "C" fn free<M: TableMemory>(ctx: *mut c_void, pa: u64) {
    // SAFETY: as for `write`.
    unsafe { &mut *ctx.cast::<M>() }.free(pa);
}

unsafe extern "C" fn write_high<M: TableMemory>(ctx: *mut c_void, pa: u64, high: u32) {
    // SAFETY: as for `write`.
    unsafe { &mut *ctx.cast::<M>() }.write_high(pa, high);
}

unsafe extern "C" fn visit<F: FnMut(&Mapping) -> bool>(
    arg: *mut c_void,
    page: *const ffi::gw_pt_mapping,
) -> c_int {
    // SAFETY: `arg` is the visitor that PageTable::walk borrows, `page` a value that lives through this call.
    let (visitor, page) = unsafe { (&mut *arg.cast::<F>(), &*page) };
    c_int::from(!visitor(&Mapping::from_raw(page)))
}

impl<M: TableMemory> PageTable<M> {
    const OPS: &'static ffi::gw_pt_ops = &ffi::gw_pt_ops {
        read: read::<M>,
        write: write::<M>,
        alloc: alloc::<M>,
        free: free::<M>,
        write_high: write_high::<M>,
    };

    /// An empty table with the pages that every card walks: takes one frame.
    ///
    /// # Errors
    /// [`OutOfFrames`](crate::ErrorKind::OutOfFrames).
    pub fn new(memory: M, mode: Mode) -> Result<Self, Error> {
        Self::with_pages(memory, mode, Napot::Svnapot)
    }

    /// ... with these.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_pages(mut memory: M, mode: Mode, napot: Napot) -> Result<Self, Error> {
        let mut raw = ffi::gw_pt {
            ops: Self::OPS,
            ctx: ptr::null_mut(),
            root: 0,
            tables: 0,
            dead: ffi::gw_pt_frames { head: 0, count: 0 },
            joined: ffi::GW_PT_NO_FRAME,
            error_va: 0,
            orders: 0,
            levels: 0,
            mode: 0,
            tracks: false,
        };
        let ctx = ptr::from_mut(&mut memory).cast();
        // SAFETY: `raw` is written before it is read; `ctx` is valid during the call, and set anew in each later one.
        let status = unsafe {
            ffi::gw_pt_init_orders(&mut raw, Self::OPS, ctx, mode.code(), napot.orders())
        };
        Error::check(status, raw.error_va, || {
            format!("make an {mode:?} page table")
        })?;
        Ok(PageTable {
            raw,
            mode,
            napot,
            memory,
        })
    }

    /// Translation mode.
    pub const fn mode(&self) -> Mode {
        self.mode
    }

    /// The pages that it has.
    pub const fn napot(&self) -> Napot {
        self.napot
    }

    /// Physical address of the root table.
    pub const fn root(&self) -> u64 {
        self.raw.root
    }

    /// The memory below.
    pub const fn memory(&self) -> &M {
        &self.memory
    }

    /// The memory below. Frames of this table must not be written or freed through it.
    pub const fn memory_mut(&mut self) -> &mut M {
        &mut self.memory
    }

    /// Frees every table and gives the memory back. No hardware may use the root any more.
    pub fn into_memory(self) -> M {
        let mut this = ManuallyDrop::new(self);
        this.destroy();
        // SAFETY: `this` is never dropped or used again, so the memory has one owner.
        unsafe { ptr::read(&this.memory) }
    }

    /// Maps a physically contiguous range with the largest pages that `max_page` allows, that are aligned in both
    /// addresses, and that lie within the range. Godwit's hardware needs no invalidation for it.
    ///
    /// # Errors
    /// `AlreadyMapped`, `OutOfFrames`, and for bad arguments `Misaligned`, `Empty`, `NotCanonical`, `BeyondPhysical`.
    pub fn map(
        &mut self,
        va: u64,
        pa: u64,
        size: u64,
        perm: Perm,
        max_page: PageSize,
    ) -> Result<(), Error> {
        self.map_as(va, pa, size, perm, max_page, Begins::Untouched)
    }

    /// [`map`](Self::map) of pages that count as accessed or written from the start, so that hardware need not write their entries for it.
    ///
    /// # Errors
    /// As [`map`](Self::map).
    pub fn map_as(
        &mut self,
        va: u64,
        pa: u64,
        size: u64,
        perm: Perm,
        max_page: PageSize,
        begins: Begins,
    ) -> Result<(), Error> {
        let (pt, perm, order) = (self.raw_mut(), perm.bits(), max_page.order());
        // SAFETY: raw_mut gives a pointer that is valid, with its context, until `self` is used again.
        let status = unsafe { ffi::gw_pt_map_as(pt, va, pa, size, perm, order, begins.bits()) };
        Error::check(status, self.raw.error_va, || {
            format!("map {size:#x} bytes at {va:#x} to {pa:#x}")
        })
    }

    /// Removes the mapping of a range, every page of which must be mapped; larger pages are split as needed. Tables
    /// that fall empty are unlinked at once, and freed by [`reclaim`](Self::reclaim).
    ///
    /// # Errors
    /// `NotMapped`, `OutOfFrames` (for a split), `Misaligned`, `Empty`, `NotCanonical`.
    pub fn unmap(&mut self, va: u64, size: u64, inval: &mut Invalidation) -> Result<(), Error> {
        let status = self.gather(inval, |pt, raw| {
            // SAFETY: gather gives pointers that are valid during this call.
            unsafe { ffi::gw_pt_unmap(pt, va, size, raw) }
        });
        Error::check(status, self.raw.error_va, || {
            format!("unmap {size:#x} bytes at {va:#x}")
        })
    }

    /// Sets the permission of a range, every page of which must be mapped; larger pages are split as needed.
    ///
    /// # Errors
    /// `NotMapped`, `OutOfFrames` (for a split), `Misaligned`, `Empty`, `NotCanonical`.
    pub fn protect(
        &mut self,
        va: u64,
        size: u64,
        perm: Perm,
        inval: &mut Invalidation,
    ) -> Result<(), Error> {
        let status = self.gather(inval, |pt, raw| {
            // SAFETY: gather gives pointers that are valid during this call.
            unsafe { ffi::gw_pt_protect(pt, va, size, perm.bits(), raw) }
        });
        Error::check(status, self.raw.error_va, || {
            format!("protect {size:#x} bytes at {va:#x}")
        })
    }

    /// Makes the pages of an aligned 64 KiB or 2 MiB one page; no translation changes. When a table was unlinked for it, what `inval`
    /// lists is to be invalidated, and [`reclaim`](Self::reclaim) called, before the next one and before anything there changes. Not for
    /// tables that [`track`](Self::track).
    ///
    /// # Errors
    /// `NotMapped`, `Apart`, `AlreadyMapped` (a table waits already), `Misaligned`, `NotCanonical`, `Order`.
    pub fn join(&mut self, va: u64, size: PageSize, inval: &mut Invalidation) -> Result<(), Error> {
        let status = self.gather(inval, |pt, raw| {
            // SAFETY: gather gives pointers that are valid during this call.
            unsafe { ffi::gw_pt_join(pt, va, size.order(), raw) }
        });
        Error::check(status, self.raw.error_va, || {
            format!("make one page of those at {va:#x}")
        })
    }

    /// Hardware sets A and D in this table (the context has SADE): leaves are written without them from now on. Without it they
    /// are written with both, and pages that are mapped already keep both.
    pub fn track(&mut self) {
        // SAFETY: as in `map`.
        unsafe { ffi::gw_pt_track(self.raw_mut()) }
    }

    /// Whether it [tracks](Self::track).
    pub const fn tracks(&self) -> bool {
        self.raw.tracks
    }

    /// Takes the pages that overlap a range out of use, larger ones as a whole. When what `inval` lists is invalidated and
    /// acknowledged, what [`state`](Self::state) says of them is final, and `unmap`, `protect` or [`thaw`](Self::thaw) lose no
    /// dirty bit. Only for tables that [`track`](Self::track).
    ///
    /// # Errors
    /// `NotMapped`, `Misaligned`, `Empty`, `NotCanonical`.
    pub fn freeze(&mut self, va: u64, size: u64, inval: &mut Invalidation) -> Result<(), Error> {
        let status = self.gather(inval, |pt, raw| {
            // SAFETY: gather gives pointers that are valid during this call.
            unsafe { ffi::gw_pt_freeze(pt, va, size, raw) }
        });
        Error::check(status, self.raw.error_va, || {
            format!("freeze {size:#x} bytes at {va:#x}")
        })
    }

    /// Gives frozen pages that overlap a range back, with the A and D they have or, with `clear`, without. Needs no
    /// invalidation.
    ///
    /// # Errors
    /// As [`freeze`](Self::freeze).
    pub fn thaw(&mut self, va: u64, size: u64, clear: bool) -> Result<(), Error> {
        let pt = self.raw_mut();
        // SAFETY: as in `map`.
        let status = unsafe { ffi::gw_pt_thaw(pt, va, size, clear) };
        Error::check(status, self.raw.error_va, || {
            format!("thaw {size:#x} bytes at {va:#x}")
        })
    }

    /// Takes the A bits of pages that overlap a range, of larger ones as a whole; D stays. Hardware must not set bits meanwhile. `inval` gets
    /// the pages that had A; nothing is taken away, so it may wait for the next invalidation: until then an access by a cached translation
    /// does not set A again. Only for tables that [`track`](Self::track).
    ///
    /// # Errors
    /// As [`freeze`](Self::freeze).
    pub fn age(&mut self, va: u64, size: u64, inval: &mut Invalidation) -> Result<(), Error> {
        let status = self.gather(inval, |pt, raw| {
            // SAFETY: gather gives pointers that are valid during this call.
            unsafe { ffi::gw_pt_age(pt, va, size, raw) }
        });
        Error::check(status, self.raw.error_va, || {
            format!("age {size:#x} bytes at {va:#x}")
        })
    }

    /// What the entries of the page around an address say of it; nothing in a table that does not [`track`](Self::track).
    ///
    /// # Errors
    /// As [`lookup`](Self::lookup).
    pub fn state(&self, va: u64) -> Result<PageState, Error> {
        Ok(PageState::from_bits(self.find(va)?.state))
    }

    /// Frees the tables that unmapping and joining unlinked, and returns how many these were. To be called when the invalidation of
    /// everything unmapped and joined so far is acknowledged.
    pub fn reclaim(&mut self) -> u64 {
        // SAFETY: as in `map`.
        unsafe { ffi::gw_pt_reclaim(self.raw_mut()) }
    }

    /// The page around an address (any byte of it).
    ///
    /// # Errors
    /// `NotMapped`, `NotCanonical`, `Corrupt`.
    pub fn lookup(&self, va: u64) -> Result<Mapping, Error> {
        Ok(Mapping::from_raw(&self.find(va)?))
    }

    fn find(&self, va: u64) -> Result<ffi::gw_pt_mapping, Error> {
        let mut raw = self.raw_shared();
        let mut page = ffi::gw_pt_mapping::default();
        // SAFETY: `raw` and its context are valid during the call, which only reads memory.
        let status = unsafe { ffi::gw_pt_lookup(&mut raw, va, &mut page) };
        Error::check(status, raw.error_va, || format!("look up {va:#x}"))?;
        Ok(page)
    }

    /// Visits the pages that overlap `[first, last]`, in rising order of their addresses, until the visitor returns
    /// false. `0` and `u64::MAX` visit everything.
    ///
    /// # Errors
    /// `Corrupt`.
    pub fn walk<F: FnMut(&Mapping) -> bool>(
        &self,
        first: u64,
        last: u64,
        mut visitor: F,
    ) -> Result<(), Error> {
        let mut raw = self.raw_shared();
        let arg = ptr::from_mut(&mut visitor).cast();
        // SAFETY: as in `lookup`; `visit::<F>` matches what `arg` points to, which outlives the call.
        let status = unsafe { ffi::gw_pt_walk(&mut raw, first, last, visit::<F>, arg) };
        // A positive value says that the visitor has had enough.
        Error::check(status.min(0), raw.error_va, || {
            "walk the page table".to_owned()
        })
    }

    /// Validates the whole structure and counts what is in it.
    ///
    /// # Errors
    /// `Corrupt`.
    pub fn check(&self) -> Result<Stats, Error> {
        let mut raw = self.raw_shared();
        let mut stats = ffi::gw_pt_stats {
            tables: 0,
            pages: [0; ffi::GW_PT_ORDERS],
        };
        // SAFETY: as in `lookup`.
        let status = unsafe { ffi::gw_pt_check(&mut raw, &mut stats) };
        Error::check(status, raw.error_va, || "trust the page table".to_owned())?;
        Ok(Stats::from_raw(&stats))
    }

    /// Bytes of table frames: linked ones and those that wait for [`reclaim`](Self::reclaim).
    pub fn table_bytes(&self) -> u64 {
        // SAFETY: reads plain numbers only.
        unsafe { ffi::gw_pt_table_bytes(&self.raw) }
    }

    /// Tables that are unlinked and wait for [`reclaim`](Self::reclaim).
    pub const fn unlinked_tables(&self) -> u64 {
        self.raw.dead.count + (self.raw.joined != ffi::GW_PT_NO_FRAME) as u64
    }

    /// For calls that change something. The pointer is valid until `self` is used again.
    fn raw_mut(&mut self) -> *mut ffi::gw_pt {
        self.raw.ctx = ptr::from_mut(&mut self.memory).cast();
        &mut self.raw
    }

    /// For calls that only read: a copy, so that `&self` is enough.
    fn raw_shared(&self) -> ffi::gw_pt {
        ffi::gw_pt {
            ctx: ptr::from_ref(&self.memory).cast_mut().cast(),
            ..self.raw
        }
    }

    fn gather(
        &mut self,
        inval: &mut Invalidation,
        call: impl FnOnce(*mut ffi::gw_pt, *mut ffi::gw_pt_inval) -> c_int,
    ) -> c_int {
        let mut raw = ffi::gw_pt_inval {
            ranges: inval.ranges.as_mut_ptr(),
            capacity: inval.ranges.len(),
            count: inval.count,
            tables: inval.tables,
            narrowed: inval.narrowed,
        };
        let status = call(self.raw_mut(), &mut raw);
        inval.count = raw.count;
        inval.tables = raw.tables;
        inval.narrowed = raw.narrowed;
        status
    }

    fn destroy(&mut self) {
        // SAFETY: as in `map`. Called once: from drop, or from into_memory, which prevents the drop.
        unsafe { ffi::gw_pt_destroy(self.raw_mut()) }
    }
}

impl<M: TableMemory> Drop for PageTable<M> {
    fn drop(&mut self) {
        self.destroy();
    }
}
