// SPDX-License-Identifier: Apache-2.0
//! How pages of the program cross to a card and back: in turns, so that the host works on one while the page DMA moves the one before, and
//! kernels that wait go on with the first while others come. The pager's thread is at work all that time, and polls the fences.

use std::collections::VecDeque;

use godwit_core::{Begins, PageSize, Perm};

use crate::Error;
use crate::hardware::dma::{Move, Side};
use crate::hardware::frames::{Extent, FRAME_BYTES};
use crate::state::State;
use crate::state::costs::Work;
use crate::state::steps::Step;
use crate::state::transfers::Transfer;

/// Bytes of a piece of a turn that is awaited: pages of one large entry.
const UNIT: u64 = 16 * FRAME_BYTES;
/// Bytes of the first turn, and of the first piece of a row, for which somebody waits; each turn is twice as large as the one before, up
/// to the most.
const FIRST: u64 = 4 * FRAME_BYTES;
/// See `FIRST`.
const MOST: u64 = 16 * UNIT;
/// Bytes that cross the link: where they are in this process, and in device memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Crossing {
    pub host: u64,
    pub device: Extent,
}

/// Pages that have frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Placed {
    pub va: u64,
    pub device: Extent,
    /// Where their bytes are; without, they are zero.
    pub host: Option<u64>,
    pub writable: bool,
}

impl Placed {
    pub fn crossing(&self) -> Option<Crossing> {
        let device = self.device;
        self.host.map(|host| Crossing { host, device })
    }

    /// Cuts off what is in front of the next multiple of `unit` bytes.
    fn cut(&mut self, unit: u64) -> Self {
        let len = ((self.va + 1).next_multiple_of(unit) - self.va).min(self.device.len);
        let first = Self {
            device: Extent {
                pa: self.device.pa,
                len,
            },
            ..*self
        };
        self.va += len;
        self.device.pa += len;
        self.device.len -= len;
        self.host = self.host.map(|host| host + len);
        first
    }
}

/// What crosses at a time: unit by unit, of each row of pages in turn, for kernels walk through several at once.
fn turns(placed: &[Placed]) -> Vec<Vec<Placed>> {
    let mut turns = vec![Vec::new()];
    let (mut bytes, mut limit) = (0, FIRST);
    let mut add = |placed: Placed| {
        if bytes >= limit {
            turns.push(Vec::new());
            bytes = 0;
            limit = (limit * 2).min(MOST);
        }
        bytes += placed.device.len;
        if let Some(turn) = turns.last_mut() {
            turn.push(placed);
        }
    };
    let follows = |a: &Placed, b: &Placed| a.va + a.device.len == b.va;
    let mut rows: VecDeque<(u64, VecDeque<Placed>)> = placed
        .chunk_by(follows)
        .map(|row| (FIRST, row.iter().copied().collect()))
        .collect();
    while let Some((unit, mut row)) = rows.pop_front() {
        if let Some(next) = row.front_mut() {
            add(next.cut(unit));
            if next.device.len == 0 {
                row.pop_front();
            }
            rows.push_back((UNIT, row));
        }
    }
    turns
}

/// What crosses at a time on the way home. The copy of a turn hides behind the host's work on the next, and the last one's
/// is seen.
fn home_turns(crossings: &[Crossing]) -> Vec<Vec<Crossing>> {
    let mut turns = vec![Vec::new()];
    let mut room = UNIT;
    for Crossing { mut host, device } in crossings.iter().copied() {
        let (mut pa, mut left) = (device.pa, device.len);
        while left > 0 {
            if room == 0 {
                turns.push(Vec::new());
                room = UNIT;
            }
            let len = left.min(room);
            let device = Extent { pa, len };
            if let Some(turn) = turns.last_mut() {
                turn.push(Crossing { host, device });
            }
            (host, pa, left, room) = (host + len, pa + len, left - len, room - len);
        }
    }
    turns
}

/// The way of a context's pages.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Route {
    pub id: usize,
    pub serial: u64,
    pub has_dma: bool,
}

impl Route {
    /// Brings all pages, or none. Those that are awaited are mapped as they come, the others at the end, with the largest pages.
    pub fn bring_all(
        self,
        state: &mut State,
        placed: &[Placed],
        awaited: bool,
    ) -> Result<(), Error> {
        let mut mapped = Vec::new();
        let result = self.bring_turns(state, placed, awaited, &mut mapped);
        let ended = state.none_comes(self.id, self.serial);
        let result = result.and(ended);
        if result.is_err() && !mapped.is_empty() {
            state.unmap_all(self.id, self.serial, &mapped)?;
        }
        result
    }

    fn bring_turns(
        self,
        state: &mut State,
        placed: &[Placed],
        awaited: bool,
        mapped: &mut Vec<(u64, u64)>,
    ) -> Result<(), Error> {
        let turns = turns(placed);
        let mut under_way: Option<(Option<Transfer>, &[Placed])> = None;
        for (index, turn) in turns.iter().enumerate() {
            let bytes: u64 = turn.iter().map(|placed| placed.device.len).sum();
            let work = Work::Leave {
                pages: bytes / FRAME_BYTES,
                first: index == 0,
            };
            state.timed(Step::Leave, |state| state.host_works(work))?;
            if let Some((transfer, before)) = under_way.take() {
                arrive(state, transfer)?;
                if awaited {
                    self.map(state, before, placed, mapped)?;
                }
            }
            let crossings: Vec<Crossing> = turn.iter().filter_map(Placed::crossing).collect();
            under_way = Some((self.send(state, &crossings, true)?, turn));
        }
        if let Some((transfer, last)) = under_way {
            arrive(state, transfer)?;
            self.map(state, if awaited { last } else { placed }, placed, mapped)?;
        }
        Ok(())
    }

    /// Has bytes on their way; without a page DMA they are there when this returns, after the time that the link takes.
    fn send(
        self,
        state: &mut State,
        crossings: &[Crossing],
        to_device: bool,
    ) -> Result<Option<Transfer>, Error> {
        state.pages_cross(crossings.iter().map(|crossing| crossing.device.len).sum());
        if !self.has_dma {
            return state.timed(Step::Link, |state| {
                for Crossing { device, .. } in crossings {
                    state.device.charge_copy(to_device, device.pa, device.len)?;
                }
                Ok(None)
            });
        }
        let moves = crossings.iter().map(|crossing| {
            let host = Side::Host(crossing.host);
            let device = Side::Device(crossing.device.pa);
            let (from, to) = if to_device {
                (host, device)
            } else {
                (device, host)
            };
            let len = crossing.device.len;
            Move::Copy { from, to, len }
        });
        let moves: Vec<Move> = moves.collect();
        state.post_moves(&moves).map(Some)
    }

    /// Maps pages that are there, of all that come.
    fn map(
        self,
        state: &mut State,
        turn: &[Placed],
        all: &[Placed],
        mapped: &mut Vec<(u64, u64)>,
    ) -> Result<(), Error> {
        for placed in turn {
            let perm = if placed.writable {
                Perm::ReadWrite
            } else {
                Perm::Read
            };
            let (va, len) = (placed.va, placed.device.len);
            let table = &mut state.context(self.id, self.serial)?.table;
            // Nobody looks at A here: entries are written for D only.
            let begins = Begins::Accessed;
            table.map_as(va, placed.device.pa, len, perm, PageSize::SIZE_2M, begins)?;
            mapped.push((va, len));
        }
        state.some_came(self.id, self.serial, mapped, |va, write| {
            let comes = |one: &Placed| (one.va..one.va + one.device.len).contains(&va);
            all.iter().any(|one| comes(one) && (one.writable || !write))
        })
    }

    /// Brings bytes home, a turn while the host works on the next.
    pub fn fetch_all(self, state: &mut State, crossings: &[Crossing]) -> Result<(), Error> {
        let mut under_way: Option<Transfer> = None;
        let mut first = true;
        for turn in home_turns(crossings) {
            let bytes: u64 = turn.iter().map(|crossing| crossing.device.len).sum();
            let work = Work::Return {
                pages: bytes / FRAME_BYTES,
                first,
            };
            state.timed(Step::Return, |state| state.host_works(work))?;
            first = false;
            arrive(state, under_way.take())?;
            under_way = self.send(state, &turn, false)?;
        }
        arrive(state, under_way)
    }
}

/// Waits for a turn.
fn arrive(state: &mut State, transfer: Option<Transfer>) -> Result<(), Error> {
    let Some(transfer) = transfer else {
        return Ok(());
    };
    state.timed(Step::Link, |state| state.finish_polled(transfer))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(va: u64, pages: u64) -> Placed {
        Placed {
            va,
            device: Extent {
                pa: va + (1 << 40),
                len: pages * FRAME_BYTES,
            },
            host: Some(va + (1 << 41)),
            writable: true,
        }
    }

    fn bytes(turn: &[Placed]) -> u64 {
        turn.iter().map(|placed| placed.device.len).sum()
    }

    #[test]
    fn turns_cover_everything_once_and_rows_take_turns() {
        let placed = [row(0x7_0000, 100), row(0x100_0000, 70)];
        let turns = turns(&placed);
        assert_eq!(
            turns.iter().map(|turn| bytes(turn)).sum::<u64>(),
            170 * FRAME_BYTES
        );
        // Who waits for the first pages does not wait for a unit.
        assert_eq!(bytes(&turns[0]), FIRST);
        assert!(bytes(&turns[1]) <= 2 * UNIT);
        let all = || turns.iter().flatten();
        for placed in all() {
            assert_eq!(placed.device.pa, placed.va + (1 << 40));
            assert_eq!(placed.host, Some(placed.va + (1 << 41)));
            assert!(placed.device.len <= UNIT);
        }
        // The second row begins before the first has ended.
        let second = all().position(|placed| placed.va == 0x100_0000);
        assert_eq!(second, Some(1));
    }

    #[test]
    fn the_way_home_is_cut_where_a_turn_is_full() {
        let crossing = |at: u64, len: u64| Crossing {
            host: at,
            device: Extent { pa: 2 * at, len },
        };
        let half = UNIT / 2;
        let turns = home_turns(&[crossing(1 << 30, UNIT + half), crossing(1 << 32, UNIT)]);
        assert_eq!(turns.len(), 3);
        assert_eq!(turns[0], [crossing(1 << 30, UNIT)]);
        assert_eq!(turns[1][0].host, (1 << 30) + UNIT);
        assert_eq!(turns[1][0].device.pa, (2 << 30) + UNIT);
        assert_eq!(turns[1][1], crossing(1 << 32, half));
        assert_eq!(turns[2][0].host, (1 << 32) + half);
    }
}
