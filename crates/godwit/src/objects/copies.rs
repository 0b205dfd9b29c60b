// SPDX-License-Identifier: Apache-2.0
//! Explicit copies over the host link, between a caller's bytes and device memory.
//!
//! A card with a page DMA moves them by it: bytes are staged in memory that the card may reach, a chunk at a time, by the caller's
//! own thread, and each chunk is one list. What does not fill a line of 64 bytes at the ends of a piece goes through the
//! mapping. The host's part of it takes the time that the configuration says (`[host]`); staging goes on beside the list before, or
//! behind. Without a page DMA the link's time is charged, one transfer a piece, and bytes go through the mapping.

use std::sync::Arc;

use godwit_card::Memory;
use godwit_core::layout;

use crate::Error;
use crate::hardware::dma::{Move, Side};
use crate::hardware::frames::Extent;
use crate::objects::card::Shared;
use crate::state::costs::Work;

/// Most bytes that are staged at a time.
const CHUNK: u64 = 8 << 20;
/// Where they are on the bus: above all addresses of a process, below the ring.
const STAGING_BUS: u64 = 1 << 53;
const LINE: u64 = layout::DMA_LINE_BYTES as u64;

/// The caller's bytes.
pub(crate) enum Bytes<'a> {
    /// To the device.
    In(&'a [u8]),
    /// From it.
    Out(&'a mut [u8]),
}

/// A piece of a chunk: physically contiguous, its bytes at `at` of the caller's and at `staged` of the staging memory.
struct Piece {
    extent: Extent,
    at: u64,
    staged: u64,
}

impl Piece {
    /// Its whole lines: the first byte's offset in it, and bytes.
    fn lines(&self) -> (u64, u64) {
        let first = self.extent.pa.next_multiple_of(LINE);
        let end = self.extent.end() / LINE * LINE;
        (first - self.extent.pa, end.saturating_sub(first))
    }

    fn to_move(&self, to_device: bool) -> Option<Move> {
        let (first, len) = self.lines();
        let device = Side::Device(self.extent.pa + first);
        let host = Side::Host(STAGING_BUS + self.staged + first);
        let (from, to) = if to_device {
            (host, device)
        } else {
            (device, host)
        };
        (len > 0).then_some(Move::Copy { from, to, len })
    }

    /// Offsets and lengths of what is no whole line.
    fn ends(&self) -> [(u64, u64); 2] {
        let (first, len) = self.lines();
        if len == 0 {
            return [(0, self.extent.len), (self.extent.len, 0)];
        }
        let behind = first + len;
        [(0, first), (behind, self.extent.len - behind)]
    }
}

/// Copies between bytes and pieces of device memory, in their order.
pub(crate) fn copy(shared: &Shared, mut bytes: Bytes<'_>, extents: &[Extent]) -> Result<(), Error> {
    let to_device = matches!(bytes, Bytes::In(_));
    if shared.description.config.dma.slots == 0 || !extents.iter().any(has_lines) {
        return charged(shared, bytes, extents);
    }
    let mut staging = shared
        .staging
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    if staging.is_none() {
        let memory = Arc::new(Memory::new(CHUNK)?);
        shared.with(|state| {
            let window = Some(Arc::clone(&memory));
            Ok(state.device.set_host_window(STAGING_BUS, window)?)
        })?;
        *staging = Some(memory);
    }
    let Some(staging) = staging.as_ref() else {
        return Ok(());
    };
    let mut chunks = chunks(extents).into_iter().peekable();
    // What the list before took, beside which a chunk is staged; nothing before the first, or behind the last.
    let mut beside_ps = 0;
    while let Some(chunk) = chunks.next() {
        let bytes_staged = chunk.iter().map(|piece| piece.extent.len).sum();
        let staging_work = |beside_ps| Work::Staging {
            bytes: bytes_staged,
            beside_ps,
        };
        let moves: Vec<Move> = chunk
            .iter()
            .filter_map(|piece| piece.to_move(to_device))
            .collect();
        if let Bytes::In(data) = &bytes {
            for piece in &chunk {
                let data = &data[piece.at as usize..][..piece.extent.len as usize];
                staging.write(piece.staged, data)?;
                for (first, len) in piece.ends() {
                    let end = &data[first as usize..][..len as usize];
                    shared.memory.write(piece.extent.pa + first, end)?;
                }
            }
        }
        let last = chunks.peek().is_none();
        beside_ps = shared.with(|state| {
            if to_device {
                state.host_works(staging_work(beside_ps))?;
            }
            let before = state.device.stats()?.time_ps;
            state.move_now(&moves)?;
            let took = state.device.stats()?.time_ps - before;
            if !to_device {
                state.host_works(staging_work(if last { 0 } else { took }))?;
            }
            if last {
                state.host_works(Work::Wakeup)?;
            }
            Ok(took)
        })?;
        if let Bytes::Out(out) = &mut bytes {
            for piece in &chunk {
                let out = &mut out[piece.at as usize..][..piece.extent.len as usize];
                let (first, len) = piece.lines();
                let lines = &mut out[first as usize..][..len as usize];
                staging.read(piece.staged + first, lines)?;
                for (first, len) in piece.ends() {
                    let end = &mut out[first as usize..][..len as usize];
                    shared.memory.read(piece.extent.pa + first, end)?;
                }
            }
        }
    }
    Ok(())
}

fn has_lines(extent: &Extent) -> bool {
    let piece = Piece {
        extent: *extent,
        at: 0,
        staged: 0,
    };
    piece.lines().1 > 0
}

/// Pieces that fit into the staging memory together, each where its lines are aligned as on the device.
fn chunks(extents: &[Extent]) -> Vec<Vec<Piece>> {
    let mut chunks = vec![Vec::new()];
    let (mut at, mut used) = (0, 0_u64);
    for extent in extents {
        let mut rest = *extent;
        while rest.len > 0 {
            let aligned = used.next_multiple_of(LINE) + rest.pa % LINE;
            let len = rest.len.min(CHUNK.saturating_sub(aligned));
            if len == 0 {
                chunks.push(Vec::new());
                used = 0;
                continue;
            }
            if let Some(chunk) = chunks.last_mut() {
                chunk.push(Piece {
                    extent: Extent { pa: rest.pa, len },
                    at,
                    staged: aligned,
                });
            }
            used = aligned + len;
            at += len;
            rest = Extent {
                pa: rest.pa + len,
                len: rest.len - len,
            };
        }
    }
    chunks
}

/// Without a page DMA.
fn charged(shared: &Shared, bytes: Bytes<'_>, extents: &[Extent]) -> Result<(), Error> {
    let to_device = matches!(bytes, Bytes::In(_));
    let charge = || {
        shared.with(|state| {
            for extent in extents {
                state.device.charge_copy(to_device, extent.pa, extent.len)?;
            }
            Ok(())
        })
    };
    let mut at = 0;
    match bytes {
        Bytes::In(data) => {
            for extent in extents {
                let len = extent.len as usize;
                shared.memory.write(extent.pa, &data[at..at + len])?;
                at += len;
            }
            charge()
        }
        Bytes::Out(out) => {
            charge()?;
            for extent in extents {
                let len = extent.len as usize;
                shared.memory.read(extent.pa, &mut out[at..at + len])?;
                at += len;
            }
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extent(pa: u64, len: u64) -> Extent {
        Extent { pa, len }
    }

    #[test]
    fn chunks_hold_every_byte_once_and_fit() {
        let extents = [
            extent(0x1004, 3),
            extent(0x2000, 3 * CHUNK + 5),
            extent(0x7_0000_0021, 100),
            extent(0x9_0000_0000, CHUNK),
        ];
        let mut next = 0;
        for chunk in chunks(&extents) {
            let mut free = 0;
            for piece in chunk {
                assert_eq!(piece.at, next);
                assert_eq!(piece.staged % LINE, piece.extent.pa % LINE);
                assert!(piece.staged >= free && piece.staged + piece.extent.len <= CHUNK);
                free = piece.staged + piece.extent.len;
                next += piece.extent.len;
            }
        }
        assert_eq!(next, extents.iter().map(|extent| extent.len).sum::<u64>());
    }

    #[test]
    fn lines_and_ends_are_the_whole_piece() {
        for (pa, len) in [(0, 64), (1, 63), (1, 64), (63, 2), (60, 200), (64, 65)] {
            let piece = Piece {
                extent: extent(pa, len),
                at: 0,
                staged: pa % LINE,
            };
            let (first, lines) = piece.lines();
            let [head, tail] = piece.ends();
            assert_eq!(head.1 + lines + tail.1, len, "{pa} {len}");
            if lines > 0 {
                assert_eq!((pa + first) % LINE, 0);
                assert_eq!((head, tail.0), ((0, first), first + lines));
            }
        }
    }
}
