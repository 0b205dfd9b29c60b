// SPDX-License-Identifier: Apache-2.0
//! Who owns which frame of device memory.
//!
//! An address-ordered map of free ranges: allocation takes the lowest range that fits, freeing merges with both
//! neighbours, and page tables are taken from the other end so that they never split what buffers could use in one
//! piece. A range has one owner: freeing what is free is a bug of this crate and panics.

use std::collections::BTreeMap;

/// Size of the smallest page and of a frame, in bytes.
pub const FRAME_BYTES: u64 = 4096;

/// Page sizes of the architecture, largest first.
pub const PAGE_BYTES: [u64; 4] = [1 << 30, 1 << 21, 1 << 16, FRAME_BYTES];

/// A physically contiguous range of device memory, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Extent {
    /// First physical address.
    pub pa: u64,
    /// Length.
    pub len: u64,
}

impl Extent {
    /// First address after it.
    pub fn end(&self) -> u64 {
        self.pa + self.len
    }
}

/// The free frames of one memory.
#[derive(Debug, Clone)]
pub struct FrameAllocator {
    all: Extent,
    /// Free ranges by first address; no two touch.
    free: BTreeMap<u64, u64>,
    free_bytes: u64,
}

impl FrameAllocator {
    /// All of `memory` is free, which begins with a frame; what is left of the last one is not used.
    pub fn new(memory: Extent) -> Self {
        let len = memory.len / FRAME_BYTES * FRAME_BYTES;
        let all = Extent { len, ..memory };
        let free = (len > 0).then_some((all.pa, len)).into_iter().collect();
        Self {
            all,
            free,
            free_bytes: len,
        }
    }

    /// Whether the frame at `pa` is one of its.
    pub fn has(&self, pa: u64) -> bool {
        (self.all.pa..self.all.end()).contains(&pa)
    }

    /// Free bytes.
    pub fn free_bytes(&self) -> u64 {
        self.free_bytes
    }

    /// Bytes of the largest free range.
    pub fn largest(&self) -> u64 {
        self.free.values().copied().max().unwrap_or(0)
    }

    /// Takes `len` bytes in one piece at a multiple of `align` (a power of two), the lowest there is.
    pub fn alloc_contiguous(&mut self, len: u64, align: u64) -> Option<Extent> {
        debug_assert!(len > 0 && len % FRAME_BYTES == 0 && align.is_power_of_two());
        let found = self.free.iter().find_map(|(&start, &free)| {
            let pa = start.checked_next_multiple_of(align)?;
            (pa.checked_add(len)? <= start + free).then_some(Extent { pa, len })
        })?;
        self.take(found);
        Some(found)
    }

    /// Takes `len` bytes from wherever they are: all that fit into aligned pieces of the first size in `granules`, the
    /// rest in pieces of the next, and so on. The last granule must divide `len`. All or nothing.
    ///
    /// Pieces come in this order, so that at a virtual address aligned to the first granule each is aligned to its own.
    pub fn alloc_scattered(&mut self, len: u64, granules: &[u64]) -> Option<Vec<Extent>> {
        let mut pieces: Vec<Extent> = Vec::new();
        let mut missing = len;
        for &granule in granules {
            let mut from = 0;
            while missing >= granule {
                let Some(piece) = self.next_aligned(from, granule, missing / granule * granule)
                else {
                    break;
                };
                self.take(piece);
                missing -= piece.len;
                from = piece.end();
                match pieces.last_mut() {
                    Some(last) if last.end() == piece.pa => last.len += piece.len,
                    _ => pieces.push(piece),
                }
            }
        }
        if missing > 0 {
            pieces.into_iter().for_each(|piece| self.free(piece));
            return None;
        }
        Some(pieces)
    }

    /// The lowest free range at or after `from` that holds whole granules; at most `limit` bytes of it.
    fn next_aligned(&self, from: u64, granule: u64, limit: u64) -> Option<Extent> {
        self.free.range(from..).find_map(|(&start, &free)| {
            let pa = start.checked_next_multiple_of(granule)?;
            let len = (start + free).checked_sub(pa)? / granule * granule;
            (len > 0).then_some(Extent {
                pa,
                len: len.min(limit),
            })
        })
    }

    /// Takes the highest free frame.
    pub fn alloc_top(&mut self) -> Option<u64> {
        let (&start, &len) = self.free.last_key_value()?;
        let pa = start + len - FRAME_BYTES;
        self.take(Extent {
            pa,
            len: FRAME_BYTES,
        });
        Some(pa)
    }

    /// Removes `taken`, which lies within one free range.
    fn take(&mut self, taken: Extent) {
        let around = self
            .free
            .range(..=taken.pa)
            .next_back()
            .map(|(&start, &len)| Extent { pa: start, len });
        let around = around.filter(|around| around.end() >= taken.end());
        let around = around.unwrap_or_else(|| panic!("{taken:?} is not free"));
        self.free.remove(&around.pa);
        if around.pa < taken.pa {
            self.free.insert(around.pa, taken.pa - around.pa);
        }
        if taken.end() < around.end() {
            self.free.insert(taken.end(), around.end() - taken.end());
        }
        self.free_bytes -= taken.len;
    }

    /// Gives a range back.
    ///
    /// # Panics
    /// When part of it is free already.
    pub fn free(&mut self, range: Extent) {
        let mut merged = range;
        if let Some((&start, &len)) = self.free.range(..=range.pa).next_back() {
            assert!(start + len <= range.pa, "{range:?} is freed twice");
            if start + len == range.pa {
                merged = Extent {
                    pa: start,
                    len: len + range.len,
                };
            }
        }
        if let Some((&start, &len)) = self.free.range(range.pa + 1..).next() {
            assert!(start >= range.end(), "{range:?} is freed twice");
            if start == range.end() {
                self.free.remove(&start);
                merged.len += len;
            }
        }
        self.free.insert(merged.pa, merged.len);
        self.free_bytes += range.len;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: u64 = 8 << 20;
    const ALL: Extent = Extent { pa: 0, len: SIZE };

    #[test]
    fn the_lowest_range_that_fits_is_taken() {
        let mut frames = FrameAllocator::new(ALL);
        let first = frames.alloc_contiguous(4096, 4096).unwrap();
        let aligned = frames.alloc_contiguous(1 << 21, 1 << 21).unwrap();
        let between = frames.alloc_contiguous(8192, 4096).unwrap();
        assert_eq!((first.pa, aligned.pa, between.pa), (0, 1 << 21, 4096));
    }

    #[test]
    fn a_memory_that_begins_elsewhere_gives_its_own_frames() {
        let mut frames = FrameAllocator::new(Extent {
            pa: SIZE,
            len: SIZE,
        });
        assert_eq!(frames.alloc_contiguous(4096, 1 << 21).unwrap().pa, SIZE);
        assert_eq!(frames.alloc_top(), Some(2 * SIZE - 4096));
        assert!(frames.has(SIZE) && frames.has(2 * SIZE - 4096));
        assert!(!frames.has(SIZE - 4096) && !frames.has(2 * SIZE));
    }

    #[test]
    fn tables_come_from_the_top() {
        let mut frames = FrameAllocator::new(ALL);
        assert_eq!(frames.alloc_top(), Some(SIZE - 4096));
        assert_eq!(frames.alloc_top(), Some(SIZE - 8192));
        assert_eq!(frames.largest(), SIZE - 8192);
    }

    #[test]
    fn scattered_memory_is_taken_in_the_largest_pieces() {
        let mut frames = FrameAllocator::new(ALL);
        let holes: Vec<_> = (0..4)
            .map(|_| frames.alloc_contiguous(2 << 20, 2 << 20).unwrap())
            .collect();
        frames.free(holes[0]);
        frames.free(holes[2]);
        assert_eq!(frames.alloc_contiguous(3 << 20, 4096), None);
        let pieces = frames.alloc_scattered(3 << 20, &PAGE_BYTES).unwrap();
        assert_eq!(
            pieces,
            [
                Extent {
                    pa: 0,
                    len: 2 << 20
                },
                Extent {
                    pa: 4 << 20,
                    len: 1 << 20
                }
            ]
        );
    }

    #[test]
    fn a_request_that_cannot_be_met_takes_nothing() {
        let mut frames = FrameAllocator::new(Extent {
            pa: 0,
            len: 1 << 20,
        });
        assert_eq!(frames.alloc_scattered(2 << 20, &PAGE_BYTES), None);
        assert_eq!((frames.free_bytes(), frames.largest()), (1 << 20, 1 << 20));
    }

    #[test]
    #[should_panic(expected = "freed twice")]
    fn a_double_free_is_caught() {
        let mut frames = FrameAllocator::new(ALL);
        let range = frames.alloc_contiguous(8192, 4096).unwrap();
        frames.free(Extent {
            pa: range.pa,
            len: 4096,
        });
        frames.free(range);
    }
}
