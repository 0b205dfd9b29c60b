// SPDX-License-Identifier: Apache-2.0
//! Where the pages are that an address space on a card has of the program: frames of the card's memory, or places in the host's.

use std::collections::BTreeMap;

use godwit_core::PageSize;

use crate::Error;
use crate::hardware::frames::{Extent, FRAME_BYTES, PAGE_BYTES};
use crate::hardware::table_memory::FramePool;
use crate::objects::crossing::Placed;
use crate::objects::staying;
use crate::svm::Piece;

/// Largest page that the program's memory is mapped with: no larger one moves as a whole.
const LARGEST: u64 = PageSize::SIZE_2M.bytes();
/// Frames of pages, and where others come from.
pub(crate) struct Room {
    pub pool: FramePool,
    /// Of the pages that are there, by first address.
    frames: BTreeMap<u64, Extent>,
}

impl Room {
    /// None are there.
    pub fn new(pool: FramePool) -> Self {
        Self {
            pool,
            frames: BTreeMap::new(),
        }
    }

    /// Pages are there now.
    pub fn add(&mut self, placed: Vec<Placed>) {
        let frames = placed.into_iter().map(|placed| (placed.va, placed.device));
        self.frames.extend(frames);
    }

    /// Where pages of ranges are that it uses in place.
    pub fn places(&self, ranges: impl Iterator<Item = (u64, u64)>) -> Vec<(u64, u64)> {
        let pieces = ranges.flat_map(|(va, len)| self.pieces(va, len));
        staying::ranges(pieces.map(|(_, extent)| extent))
    }

    /// Room for all these pages, or for none.
    pub fn place_all(&self, pieces: &[Piece]) -> Result<Vec<Placed>, Error> {
        let mut placed: Vec<Placed> = Vec::new();
        for piece in pieces {
            match self.frames_for(piece) {
                Ok(frames) => {
                    placed.extend(frames.into_iter().map(|(va, device)| {
                        Placed {
                            va,
                            device,
                            host: piece
                                .from
                                .filter(|_| !piece.in_place)
                                .map(|from| from + (va - piece.va)),
                            writable: piece.writable,
                        }
                    }));
                }
                Err(error) => {
                    self.free_all(placed.iter().map(|placed| placed.device));
                    return Err(error);
                }
            }
        }
        Ok(placed)
    }

    /// Frames for a piece: neighbours together and aligned as their pages are, so that large pages map them.
    fn frames_for(&self, piece: &Piece) -> Result<Vec<(u64, Extent)>, Error> {
        if let Some(place) = staying::of_piece(piece) {
            return Ok(vec![(piece.va, place)]);
        }
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
                placed
                    .into_iter()
                    .for_each(|(_, extent)| frames.free(extent));
                drop(frames);
                return Err(self.out_of_memory(piece.len));
            };
            for extent in extents {
                placed.push((va, extent));
                va += extent.len;
            }
        }
        Ok(placed)
    }

    pub fn out_of_memory(&self, asked: u64) -> Error {
        let frames = self.pool.lock();
        Error::OutOfMemory {
            asked,
            contiguous: false,
            free: frames.free_bytes(),
            largest: frames.largest(),
        }
    }

    /// Frames of the pages from `va` on, up to `len` bytes, each with its first address.
    pub fn pieces(&self, va: u64, len: u64) -> Vec<(u64, Extent)> {
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

    /// Gives back frames of its memory.
    pub fn free_all(&self, extents: impl Iterator<Item = Extent>) {
        extents
            .filter(|extent| !staying::is_host(extent))
            .for_each(|extent| self.pool.free(extent));
    }

    /// The same while a thread of the program waits.
    pub fn free_all_later(&self, extents: impl Iterator<Item = Extent>) {
        extents
            .filter(|extent| !staying::is_host(extent))
            .for_each(|extent| self.pool.free_later(extent));
    }

    /// Takes frames out of the list.
    pub fn remove(&mut self, va: u64, len: u64) -> Vec<Extent> {
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
