// SPDX-License-Identifier: Apache-2.0
//! What the pager sees of an address space on a card: pages come to its device memory, are shown in place, and leave.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError, Weak};

use godwit_card::{Config, Memory};
use godwit_core::{ErrorKind, Perm};

use crate::Error;
use crate::hardware::frames::{Extent, FRAME_BYTES};
use crate::objects::card::Shared;
use crate::objects::crossing::{Crossing, Placed, Route};
use crate::objects::room::Room;
use crate::objects::{peers, staying};
use crate::state::State;
use crate::state::costs::Work;
use crate::state::steps::Step;
use crate::state::written::any_written;
use crate::svm::{
    Crossed, Demand, DeviceMemory, GROUP, Leaving, Left, Owner, PageCosts, Pager, Piece, apart,
    bytes_outside,
};

/// Most pages that come with one: the largest plan of `core/`.
const MOST_PAGES: u32 = 4096;
/// Frames kept for page tables: taking pages away must not fail for want of a table.
const SPARE: u64 = 8 * FRAME_BYTES;

/// A context of a card that may be closed.
#[derive(Clone)]
pub(super) struct Place {
    pub(super) shared: Weak<Shared>,
    pub(super) id: usize,
    pub(super) serial: u64,
}

/// What the pager sees of it.
pub(super) struct CardSide {
    /// Closed, or dropped, it cannot reach anything any more; its memory stays.
    place: Place,
    memory: Arc<Memory>,
    room: Room,
    spare: Option<Extent>,
    thread: u32,
    demand: Option<Demand>,
    has_dma: bool,
    /// It was shown the pager's memory.
    reaches_host: bool,
    pager: Arc<Pager>,
    /// What pages cost, where the card can count lines.
    costs: Option<PageCosts>,
    /// It does.
    counts: bool,
    /// Groups of 64 KiB that were used as parts of larger pages, whose A is taken already.
    used: BTreeSet<u64>,
    /// The card's virtual time when it was used last.
    now_ps: Cell<u64>,
}

impl CardSide {
    /// Of the context at `place`; the card's thread is `thread`.
    pub fn new(shared: &Shared, place: Place, pager: Arc<Pager>, thread: u32) -> Self {
        let config = &shared.description.config;
        Self {
            place,
            memory: Arc::clone(&shared.memory),
            spare: shared.pool.lock().alloc_contiguous(SPARE, FRAME_BYTES),
            room: Room::new(shared.pool.clone()),
            thread,
            demand: demand(config),
            has_dma: config.dma.slots > 0,
            reaches_host: false,
            pager,
            costs: staying::costs(config),
            counts: false,
            used: BTreeSet::new(),
            now_ps: Cell::new(0),
        }
    }

    /// Whether the card asks for pages.
    pub fn asks(&self) -> bool {
        self.demand.is_some()
    }

    fn route(&self) -> Route {
        Route {
            id: self.place.id,
            serial: self.place.serial,
            has_dma: self.has_dma,
        }
    }

    fn with<R: Send>(
        &self,
        work: impl FnOnce(&mut State) -> Result<R, Error> + Send,
    ) -> Result<R, Error> {
        let shared = self.place.shared.upgrade().ok_or(Error::Closed)?;
        let mut now_ps = None;
        let result = shared.with_from_pager(|state| {
            let result = work(state);
            now_ps = state.device.stats().ok().map(|stats| stats.time_ps);
            result
        });
        if let Some(now_ps) = now_ps {
            self.now_ps.set(now_ps);
        }
        result
    }

    /// Copies bytes across without the card.
    fn copy(&self, crossings: &[Crossing], to_device: bool) -> Result<(), Error> {
        for Crossing { host, device } in crossings {
            let len = device.len as usize;
            // SAFETY: the pager says that these bytes are there, in memory of its own or that nothing on another card reaches any more, and
            // does nothing with them during this call.
            unsafe {
                if to_device {
                    let bytes = std::slice::from_raw_parts(*host as *const u8, len);
                    self.memory.write(device.pa, bytes)?;
                } else {
                    let bytes = std::slice::from_raw_parts_mut(*host as *mut u8, len);
                    self.memory.read(device.pa, bytes)?;
                }
            }
        }
        Ok(())
    }

    /// Where bytes of pages that it has cross to.
    fn crossings(&self, pages: &[Leaving]) -> Vec<Crossing> {
        let mut crossings = Vec::new();
        for page in pages {
            let Some(to) = page.to else { continue };
            for (at, device) in self.room.pieces(page.va, page.len) {
                let host = to + (at - page.va);
                crossings.push(Crossing { host, device });
            }
        }
        crossings
    }

    /// Has what kernels wrote in place where it belongs, and forgotten by the card; the host's work on pages that they have written, which are
    /// not `clean`, is charged as for pages that are copied home. Others cost nothing, as if they had moved.
    fn settle_in_place(
        &self,
        leaving: &[Leaving],
        clean: &[(u64, u64)],
        counted: bool,
    ) -> Vec<Crossed> {
        let places = self
            .room
            .places(leaving.iter().map(|page| (page.va, page.len)));
        if places.is_empty() {
            return Vec::new();
        }
        let written = leaving.iter().filter(|page| page.written);
        let bytes: u64 = written.map(|page| bytes_outside(page, clean)).sum();
        let settled = self.with(|state| {
            let crossed = staying::settle(state, &places, counted)?;
            if bytes > 0 {
                state.host_works(Work::Return {
                    pages: bytes / FRAME_BYTES,
                    first: true,
                })?;
            }
            Ok(crossed)
        });
        // Closed or broken, the card has no more of it than is there.
        settled.unwrap_or_default()
    }

    /// Brings pages that have room; on an error they have none any more.
    fn bring_placed(&mut self, placed: Vec<Placed>, awaited: bool) -> Result<(), Error> {
        let copied = if self.has_dma {
            Ok(())
        } else {
            let crossings: Vec<Crossing> = placed.iter().filter_map(Placed::crossing).collect();
            self.copy(&crossings, true)
        };
        let route = self.route();
        let mapped =
            copied.and_then(|()| self.with(|state| route.bring_all(state, &placed, awaited)));
        if let Err(error) = mapped {
            self.room
                .free_all(placed.iter().map(|placed| placed.device));
            return Err(match error {
                // Of a table: room helps as it does for pages.
                Error::PageTable(error) if error.kind() == ErrorKind::OutOfFrames => {
                    self.room.out_of_memory(FRAME_BYTES)
                }
                error => error,
            });
        }
        self.room.add(placed);
        Ok(())
    }

    /// Ends the mapping of pages: nothing on the card reaches them when this returns. Returns ranges that it has not written, as far as it can
    /// tell.
    fn unmap(&mut self, leaving: &[Leaving]) -> Vec<(u64, u64)> {
        let ranges: Vec<(u64, u64)> = leaving.iter().map(|piece| (piece.va, piece.len)).collect();
        let (id, serial) = (self.place.id, self.place.serial);
        let unmap = || {
            self.with(|state| {
                state.timed(Step::Unmap, |state| {
                    state.unmap_and_tell(id, serial, &ranges)
                })
            })
        };
        let unmapped = unmap();
        if let Err(Error::PageTable(_)) = unmapped {
            // There was no frame for a table that a split needs.
            if let Some(spare) = self.spare.take() {
                self.room.pool.free(spare);
            }
            for (va, len) in &ranges {
                // Those before the one that failed are gone; closed or broken, the card reaches nothing any more.
                let _ = self.with(|state| state.unmap(id, serial, *va, *len));
            }
            self.spare = self.room.pool.lock().alloc_contiguous(SPARE, FRAME_BYTES);
        }
        // Of a card that is closed or broken nobody knows what it wrote.
        unmapped.unwrap_or_default()
    }

    /// The card's virtual time; of one that is closed or broken when it was used last.
    fn clock(&self) -> u64 {
        let _ = self.with(|_| Ok(()));
        self.now_ps.get()
    }
}

impl Owner for CardSide {
    fn show(&mut self, at: u64, len: u64) {
        let Some(shared) = self.place.shared.upgrade() else {
            return;
        };
        let mut known = shared
            .pager_memory
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if known.contains(&at) {
            self.reaches_host = true;
            return;
        }
        // SAFETY: that memory stays as long as the process, and what the card moves or uses there is not missing.
        let shown = shared.with(|state| Ok(unsafe { state.device.open_process_window(at, len) }?));
        // A broken card moves nothing.
        self.reaches_host = shown.is_ok();
        if shown.is_ok() {
            known.insert(at);
        }
    }

    fn take(&mut self, pieces: &[Piece], awaited: bool) -> Result<(), Error> {
        let placed = self.room.place_all(pieces)?;
        self.bring_placed(placed, awaited)
    }

    fn count_lines(&mut self) -> Option<PageCosts> {
        let costs = self.costs?;
        if !self.counts {
            let watcher = staying::Watcher::new(&self.pager, &self.place.shared, self.memory().id);
            let watched = self.with(|state| state.watch_lines(Arc::new(watcher)));
            self.counts = watched.is_ok();
        }
        self.counts.then_some(costs)
    }

    fn measure_lines(&mut self) {
        // Closed or broken, nobody waits for a line.
        let _ = self.with(State::measure_lines);
    }

    fn take_over(&mut self, pieces: &[Piece]) -> Result<bool, Error> {
        let placed = match self.room.place_all(pieces) {
            Err(Error::OutOfMemory { .. }) => return Ok(false),
            placed => placed?,
        };
        let ranges: Vec<(u64, u64)> = pieces.iter().map(|piece| (piece.va, piece.len)).collect();
        let places = self.room.places(ranges.iter().copied());
        let (id, serial) = (self.place.id, self.place.serial);
        let left = self.with(|state| {
            state.timed(Step::Unmap, |state| {
                state.unmap_all(id, serial, &ranges)?;
                staying::settle(state, &places, false).map(drop)
            })
        });
        if let Err(error) = left {
            self.room
                .free_all(placed.iter().map(|placed| placed.device));
            return Err(error);
        }
        for (va, len) in ranges {
            self.room.remove(va, len);
        }
        self.bring_placed(placed, true).map(|()| true)
    }

    fn has_written(&self, va: u64, len: u64) -> bool {
        let (id, serial) = (self.place.id, self.place.serial);
        let written =
            self.with(|state| Ok(any_written(&state.context(id, serial)?.table, va, len)));
        written.unwrap_or(true)
    }

    fn tells_use(&self) -> bool {
        let (id, serial) = (self.place.id, self.place.serial);
        let tells = self.with(|state| Ok(state.context(id, serial)?.table.tracks()));
        tells.unwrap_or(false)
    }

    fn take_used(&mut self, group: u64, ranges: &[(u64, u64)]) -> bool {
        let (id, serial) = (self.place.id, self.place.serial);
        // Of a card that is closed or broken no page is used any more.
        let pages = self.with(|state| state.take_used(id, serial, ranges));
        let pages = pages.unwrap_or_default();
        for (va, len) in pages.iter().filter(|(_, len)| *len > GROUP) {
            self.used.extend((*va..va + len).step_by(GROUP as usize));
        }
        self.used.remove(&group) || !pages.is_empty()
    }

    fn allow_writes(&mut self, va: u64, len: u64) -> Result<(), Error> {
        let (id, serial) = (self.place.id, self.place.serial);
        self.with(|state| state.protect(id, serial, va, len, Perm::ReadWrite))
    }

    fn withdraw(&mut self, leaving: &[Leaving], counted: bool) -> Left {
        if leaving.is_empty() {
            return Left::default();
        }
        let clean = self.unmap(leaving);
        let crossed = self.settle_in_place(leaving, &clean, counted);
        let (copied, clean) = apart(leaving, &clean);
        self.fetch(&copied);
        Left { clean, crossed }
    }

    fn part(&mut self, leaving: &Leaving) -> u64 {
        let begin = self.clock();
        self.unmap(std::slice::from_ref(leaving));
        let work = Work::Return {
            pages: leaving.len / FRAME_BYTES,
            first: true,
        };
        // Closed or broken, nothing of it takes time.
        let _ = self.with(|state| state.timed(Step::Return, |state| state.host_works(work)));
        self.clock() - begin
    }

    fn lies(&self, va: u64, len: u64) -> Vec<(u64, u64, u64)> {
        let base = self.memory.address();
        let pieces = self.room.pieces(va, len).into_iter();
        pieces.map(|(va, at)| (va, at.len, base + at.pa)).collect()
    }

    fn sent(&mut self, va: u64, len: u64) {
        let read = self.room.pieces(va, len).into_iter().map(|(_, at)| at);
        let _ = self.with(|state| peers::send(state, read));
    }

    fn waits(&mut self, ps: u64) {
        // A card that cannot wait will not take the pages either, and says so.
        let _ = self.with(|state| {
            state.timed(Step::Unmap, |state| {
                state.host_works(Work::Elsewhere { ps })
            })
        });
    }

    fn to_reach(&self) -> Option<Arc<Memory>> {
        Some(Arc::clone(&self.memory))
    }

    fn reach(&mut self, memory: &Arc<Memory>) -> bool {
        if Arc::ptr_eq(memory, &self.memory) {
            return false;
        }
        // Without a page DMA this process copies.
        let shared = self.place.shared.upgrade();
        shared.is_some_and(|shared| !self.has_dma || peers::reach(&shared, memory))
    }

    fn reach_no_more(&mut self, memory: &Arc<Memory>) {
        if let Some(shared) = self.place.shared.upgrade() {
            peers::end(&shared, memory.address());
        }
    }

    fn fetch(&self, pages: &[Leaving]) {
        let crossings = self.crossings(pages);
        if crossings.is_empty() {
            return;
        }
        let route = self.route();
        let crossed = self.with(|state| route.fetch_all(state, &crossings));
        // What the page DMA has not brought, closed or broken as the card is, is still in its memory.
        if !self.has_dma || crossed.is_err() {
            // Frames are inside device memory.
            let _ = self.copy(&crossings, false);
        }
    }

    fn release(&mut self, va: u64, len: u64) {
        let gone = self.used.range(va..va + len).copied();
        for group in gone.collect::<Vec<u64>>() {
            self.used.remove(&group);
        }
        let frames = self.room.remove(va, len);
        self.room.free_all_later(frames.into_iter());
    }

    fn rest(&mut self) {
        self.room.pool.settle();
    }

    fn thread(&self) -> u32 {
        self.thread
    }

    fn now_ps(&self) -> u64 {
        self.now_ps.get()
    }

    fn memory(&self) -> DeviceMemory {
        DeviceMemory {
            id: Arc::as_ptr(&self.memory) as usize,
            bytes: self.memory.size(),
        }
    }

    fn free_bytes(&self) -> u64 {
        self.room.pool.lock().free_bytes()
    }

    fn reaches_host(&self) -> bool {
        self.reaches_host
    }

    fn demand(&self) -> Option<Demand> {
        self.demand
    }
}

impl Drop for CardSide {
    fn drop(&mut self) {
        if let Some(spare) = self.spare.take() {
            self.room.pool.free(spare);
        }
    }
}

/// Whether and how a card asks for pages.
fn demand(config: &Config) -> Option<Demand> {
    if config.page_requests.places == 0 {
        return None;
    }
    let host = config.host;
    let request_ns =
        host.interrupt_ns + host.wakeup_ns + host.leave_ns + config.host_link.latency_ns;
    let page_ns = FRAME_BYTES as f64 / config.host_link.payload_gbps() + host.leave_page_ns;
    Some(Demand {
        request_pages: (request_ns / page_ns).max(1.0) as u32,
        // The kernel goes on with the first ones while the others come.
        most_pages: MOST_PAGES,
    })
}
