// SPDX-License-Identifier: Apache-2.0
//! An address space on a card as one that has pages of the program.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use godwit_card::Memory;
use godwit_core::{PageSize, Perm};

use crate::Error;
use crate::hardware::frames::{Extent, FRAME_BYTES, PAGE_BYTES};
use crate::hardware::table_memory::FramePool;
use crate::objects::card::Shared;
use crate::state::State;
use crate::svm::{Leaving, Owner, OwnerId, Pager, Piece};

/// Largest page that the program's memory is mapped with: no larger one moves as a whole.
const LARGEST: u64 = PageSize::Size2M.bytes();
/// Frames kept for page tables: taking pages away must not fail for want of a table.
const SPARE: u64 = 8 * FRAME_BYTES;

/// The program's memory is shared with an address space; ends with it.
pub(crate) struct Sharing {
    pub pager: Arc<Pager>,
    pub owner: OwnerId,
}

impl Sharing {
    /// Shares with the context of this number and serial number.
    pub fn start(shared: &Arc<Shared>, id: usize, serial: u64) -> Result<Self, Error> {
        let thread = shared.with(|state| {
            state.context(id, serial)?;
            Ok(rustix::thread::gettid().as_raw_nonzero().get() as u32)
        })?;
        let pager = Pager::of_process()?;
        let side = CardSide {
            shared: Arc::downgrade(shared),
            memory: Arc::clone(&shared.memory),
            spare: shared.pool.lock().alloc_contiguous(SPARE, FRAME_BYTES),
            pool: shared.pool.clone(),
            id,
            serial,
            thread,
            frames: BTreeMap::new(),
        };
        let owner = pager.attach(Box::new(side))?;
        shared.remember(&pager, owner);
        Ok(Self { pager, owner })
    }

    /// Brings everything home.
    pub fn end(&self, shared: &Shared) {
        // Without a pager nothing is away.
        let _ = self.pager.detach(self.owner);
        shared.forget(self.owner);
    }
}

/// What the pager sees of it.
struct CardSide {
    /// Closed, or dropped, it cannot reach anything any more; its memory stays.
    shared: Weak<Shared>,
    memory: Arc<Memory>,
    pool: FramePool,
    spare: Option<Extent>,
    id: usize,
    serial: u64,
    thread: u32,
    /// Frames of the pages that it has, by first address.
    frames: BTreeMap<u64, Extent>,
}

impl CardSide {
    fn with<R: Send>(
        &self,
        work: impl FnOnce(&mut State) -> Result<R, Error> + Send,
    ) -> Result<R, Error> {
        self.shared.upgrade().ok_or(Error::Closed)?.with(work)
    }

    /// Frames for a piece: neighbours together and aligned as their pages are, so that large pages map them.
    fn place(&self, piece: &Piece) -> Result<Vec<(u64, Extent)>, Error> {
        let mut placed = Vec::new();
        let (mut va, end) = (piece.va, piece.va + piece.len);
        let mut frames = self.pool.lock();
        while va < end {
            // The largest page that may begin here, and all that follow it up to the next boundary of a larger one.
            let page = PAGE_BYTES
                .into_iter()
                .filter(|page| *page <= LARGEST)
                .find(|page| va % page == 0 && end - va >= *page)
                .unwrap_or(FRAME_BYTES);
            let boundary = PAGE_BYTES
                .into_iter()
                .rev()
                .find(|larger| *larger > page && *larger <= LARGEST)
                .map_or(u64::MAX, |larger| (va + 1).next_multiple_of(larger));
            let len = (end - va).min(boundary - va) / page * page;
            let granules: Vec<u64> = PAGE_BYTES
                .into_iter()
                .filter(|size| *size <= page)
                .collect();
            let Some(extents) = frames.alloc_scattered(len, &granules) else {
                let error = Error::OutOfMemory {
                    asked: piece.len,
                    contiguous: false,
                    free: frames.free_bytes(),
                    largest: frames.largest(),
                };
                placed
                    .into_iter()
                    .for_each(|(_, extent)| frames.free(extent));
                return Err(error);
            };
            for extent in extents {
                placed.push((va, extent));
                va += extent.len;
            }
        }
        Ok(placed)
    }

    /// Frames of the pages from `va` on, up to `len` bytes, each with its first address.
    fn pieces(&self, va: u64, len: u64) -> Vec<(u64, Extent)> {
        let end = va + len;
        let first = self
            .frames
            .range(..=va)
            .next_back()
            .map_or(va, |(at, _)| *at);
        self.frames
            .range(first..end)
            .filter_map(|(&at, &extent)| {
                let (from, to) = (at.max(va), (at + extent.len).min(end));
                (from < to).then(|| {
                    let pa = extent.pa + (from - at);
                    (from, Extent { pa, len: to - from })
                })
            })
            .collect()
    }

    /// Takes frames out of the list.
    fn remove(&mut self, va: u64, len: u64) -> Vec<Extent> {
        let pieces = self.pieces(va, len);
        for (from, piece) in &pieces {
            let Some((&at, &extent)) = self.frames.range(..=*from).next_back() else {
                continue;
            };
            self.frames.remove(&at);
            if at < *from {
                let before = from - at;
                self.frames.insert(
                    at,
                    Extent {
                        len: before,
                        ..extent
                    },
                );
            }
            if piece.end() < extent.end() {
                let rest = Extent {
                    pa: piece.end(),
                    len: extent.end() - piece.end(),
                };
                self.frames.insert(from + piece.len, rest);
            }
        }
        pieces.into_iter().map(|(_, extent)| extent).collect()
    }
}

impl Owner for CardSide {
    fn take(&mut self, pieces: &[Piece]) -> Result<(), Error> {
        let mut placed: Vec<(Piece, u64, Extent)> = Vec::new();
        let give_back = |pool: &FramePool, placed: &[(Piece, u64, Extent)]| {
            placed.iter().for_each(|(_, _, extent)| pool.free(*extent));
        };
        for piece in pieces {
            match self.place(piece) {
                Ok(frames) => {
                    placed.extend(frames.into_iter().map(|(va, extent)| (*piece, va, extent)));
                }
                Err(error) => {
                    give_back(&self.pool, &placed);
                    return Err(error);
                }
            }
        }
        for (piece, va, extent) in &placed {
            if let Some(from) = piece.from {
                // SAFETY: the pager says that the piece's bytes are there, and changes nothing of them during this call.
                let bytes = unsafe {
                    std::slice::from_raw_parts(
                        (from + (va - piece.va)) as *const u8,
                        extent.len as usize,
                    )
                };
                if let Err(error) = self.memory.write(extent.pa, bytes) {
                    give_back(&self.pool, &placed);
                    return Err(error.into());
                }
            }
        }
        let (id, serial) = (self.id, self.serial);
        let mapped = self.with(|state| map_all(state, (id, serial), &placed));
        if let Err(error) = mapped {
            give_back(&self.pool, &placed);
            return Err(error);
        }
        self.frames
            .extend(placed.into_iter().map(|(_, va, extent)| (va, extent)));
        Ok(())
    }

    fn allow_writes(&mut self, va: u64, len: u64) -> Result<(), Error> {
        let (id, serial) = (self.id, self.serial);
        self.with(|state| state.protect(id, serial, va, len, Perm::ReadWrite))
    }

    fn withdraw(&mut self, leaving: &[Leaving]) {
        let ranges: Vec<(u64, u64)> = leaving.iter().map(|piece| (piece.va, piece.len)).collect();
        let (id, serial) = (self.id, self.serial);
        let unmap = || self.with(|state| state.unmap_all(id, serial, &ranges));
        if let Err(Error::PageTable(_)) = unmap() {
            // There was no frame for a table that a split needs.
            if let Some(spare) = self.spare.take() {
                self.pool.free(spare);
            }
            for (va, len) in &ranges {
                // Those before the one that failed are gone; closed or broken, the card reaches nothing any more.
                let _ = self.with(|state| state.unmap(id, serial, *va, *len));
            }
            self.spare = self.pool.lock().alloc_contiguous(SPARE, FRAME_BYTES);
        }
        let fetched: Vec<Extent> = leaving
            .iter()
            .filter(|piece| piece.fetched)
            .flat_map(|piece| self.pieces(piece.va, piece.len))
            .map(|(_, extent)| extent)
            .collect();
        let _ = self.with(|state| {
            for extent in fetched {
                state.device.charge_copy(false, extent.pa, extent.len)?;
            }
            Ok(())
        });
    }

    fn fetch(&self, va: u64, to: &mut [u8]) {
        for (at, extent) in self.pieces(va, to.len() as u64) {
            let from = (at - va) as usize;
            // Frames are inside device memory.
            let _ = self
                .memory
                .read(extent.pa, &mut to[from..from + extent.len as usize]);
        }
    }

    fn release(&mut self, va: u64, len: u64) {
        for extent in self.remove(va, len) {
            self.pool.free(extent);
        }
    }

    fn thread(&self) -> u32 {
        self.thread
    }
}

impl Drop for CardSide {
    fn drop(&mut self) {
        if let Some(spare) = self.spare.take() {
            self.pool.free(spare);
        }
    }
}

/// Maps all, or none, and lets the time of the copies pass.
fn map_all(
    state: &mut State,
    (id, serial): (usize, u64),
    placed: &[(Piece, u64, Extent)],
) -> Result<(), Error> {
    for (index, (piece, va, extent)) in placed.iter().enumerate() {
        if piece.from.is_some() {
            state.device.charge_copy(true, extent.pa, extent.len)?;
        }
        let perm = if piece.writable {
            Perm::ReadWrite
        } else {
            Perm::Read
        };
        let table = &mut state.context(id, serial)?.table;
        if let Err(error) = table.map(*va, extent.pa, extent.len, perm, PageSize::Size2M) {
            let ranges: Vec<_> = placed[..index]
                .iter()
                .map(|(_, va, extent)| (*va, extent.len))
                .collect();
            state.unmap_all(id, serial, &ranges)?;
            return Err(error.into());
        }
    }
    Ok(())
}
