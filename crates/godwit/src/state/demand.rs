// SPDX-License-Identifier: Apache-2.0
//! Pages that come when kernels touch them. The hardware asks for a page of a reservation; a frame takes its content, at the
//! same address for both sides, and whoever waited goes on. Whatever else is asked for is refused, and ends as a fault.
//!
//! What a driver would take for it is charged to the card's clock, which runs meanwhile ([`costs`](super::costs)): the interrupt and
//! the thread that works on it once, each page, and the link for what is not zero. So cycles repeat, however fast this program is.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use godwit_core::{Begins, PageSize, Perm, layout};
use rustix::io::Errno;

use super::costs::Work;
use super::steps::Step;
use super::{BufferState, State};
use crate::Error;
use crate::hardware::command::Command;
use crate::hardware::frames::{Extent, FRAME_BYTES};
use crate::hardware::mmu::{self, Walks};
use crate::hardware::page_queue::{PageEnd, PageQueue, PageRequest};
use crate::hardware::window::Window;

/// Requests that are answered together: the first does not wait for the last of many.
const BATCH: usize = 16;
/// Refusals that are kept for the faults that they become.
const REFUSALS_KEPT: usize = 64;

/// What a handler says of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PageAnswer {
    /// It is filled: whoever waits for it goes on.
    Filled,
    /// There is no such page, and why: whoever waits for it gets an error that says so.
    Refused(String),
    /// Nothing. The hardware gives it up after a time, with an error for whoever waits.
    Unanswered,
}

/// Fills pages of a reservation when kernels touch them first.
pub trait PageHandler: Send + Sync {
    /// Fills the page at `offset` of the reservation, which is zero. Called by the thread that runs the card: the card cannot be
    /// used here, calls of it fail.
    fn fill(&self, offset: u64, page: &mut [u8]) -> PageAnswer;
}

/// Where the content of a page comes from.
pub(crate) enum Source {
    /// It is in the window.
    Window {
        /// ... so many bytes of it from a file: they cross the link.
        file_bytes: u64,
    },
    Handler(Arc<dyn PageHandler>),
}

/// Addresses of a reservation, and what is behind them. Its frames are given back by whoever holds it last.
pub(crate) struct Demand {
    memory: Mutex<DemandMemory>,
    source: Source,
    address: u64,
    pub(super) len: u64,
}

struct DemandMemory {
    window: Window,
    /// Of the pages that came, by their addresses.
    frames: BTreeMap<u64, u64>,
}

impl Demand {
    pub fn new(window: Window, source: Source, len: u64) -> Self {
        Self {
            address: window.address(),
            memory: Mutex::new(DemandMemory {
                window,
                frames: BTreeMap::new(),
            }),
            source,
            len,
        }
    }

    fn memory(&self) -> MutexGuard<'_, DemandMemory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn as_ptr(&self) -> *mut u8 {
        self.memory().window.as_ptr()
    }

    /// Pages that have come.
    pub fn pages(&self) -> u64 {
        self.memory().frames.len() as u64
    }

    /// Its content is a handler's: before a page came this process sees zeros there.
    pub fn is_handled(&self) -> bool {
        matches!(self.source, Source::Handler(_))
    }

    /// Takes the frames, for them to be given back: nothing of the card reaches them any more.
    pub fn take_frames(&self) -> Vec<Extent> {
        let frames = std::mem::take(&mut self.memory().frames);
        let extent = |pa| Extent {
            pa,
            len: FRAME_BYTES,
        };
        frames.into_values().map(extent).collect()
    }
}

/// A reservation of a context.
pub(crate) struct DemandState {
    pub(super) demand: Arc<Demand>,
    perm: Perm,
}

/// Page requests of a card.
pub(crate) struct Demands {
    pub(super) queue: PageQueue,
    /// Pages that were refused, and why.
    refusals: Vec<(u32, u64, String)>,
    /// The hardware gives up none.
    pub(super) patient: bool,
}

impl Demands {
    fn new(queue: PageQueue) -> Self {
        Self {
            queue,
            refusals: Vec::new(),
            patient: false,
        }
    }

    pub(super) fn refused(&mut self, context: u32, va: u64, why: String) {
        if self.refusals.len() == REFUSALS_KEPT {
            self.refusals.remove(0);
        }
        self.refusals.push((context, va, why));
    }
}

impl State {
    /// Reserves addresses of a context, whose pages come when they are touched.
    pub fn reserve(
        &mut self,
        id: usize,
        serial: u64,
        demand: &Arc<Demand>,
        perm: Perm,
    ) -> Result<(), Error> {
        self.ask_for_pages(id, serial)?;
        let state = DemandState {
            demand: Arc::clone(demand),
            perm,
        };
        let context = self.context(id, serial)?;
        context.demands.insert(demand.address, state);
        let buffer = BufferState {
            len: demand.len,
            writable: perm == Perm::ReadWrite,
            contiguous: false,
            owner: None,
            host: None,
        };
        context.buffers.insert(demand.address, buffer);
        Ok(())
    }

    /// Has a context ask for pages. The hardware ends what waits in the name of a context that is written, so none may be at work.
    pub(super) fn ask_for_pages(&mut self, id: usize, serial: u64) -> Result<(), Error> {
        if self.context(id, serial)?.asks {
            return Ok(());
        }
        if self.at_work(serial) {
            return Err(Error::Busy(
                "the first reservation of a context changes it, and so does sharing memory with it: wait for its kernels, or do it \
                 before they are launched"
                    .into(),
            ));
        }
        if self.demands.is_none() {
            let queue = PageQueue::turn_on(self.device.as_mut())?;
            self.demands = Some(Demands::new(queue));
        }
        let table = &self.context(id, serial)?.table;
        let root = (table.mode(), table.root());
        let walks = Walks {
            asks: true,
            sets_bits: table.tracks(),
        };
        mmu::set_context(self.device.as_mut(), id, Some(root), walks)?;
        self.context(id, serial)?.asks = true;
        Ok(())
    }

    /// Ends a reservation that no kernel uses: its mappings are gone.
    pub(super) fn end_demand(&mut self, id: usize, serial: u64, va: u64) -> Result<(), Error> {
        let Some(demand) = self.context(id, serial)?.demands.remove(&va) else {
            return Ok(());
        };
        let ranges = runs(demand.demand.memory().frames.keys().copied());
        self.unmap_all(id, serial, &ranges)
    }

    /// Brings pages of a reservation before they are touched, in no simulated time.
    pub fn bring(
        &mut self,
        id: usize,
        serial: u64,
        pages: std::ops::Range<u64>,
    ) -> Result<(), Error> {
        for va in pages.step_by(FRAME_BYTES as usize) {
            let request = PageRequest {
                context: id as u32,
                va,
                write: false,
                group: 0,
            };
            self.context(id, serial)?;
            if let Err(Refusal { why, .. }) = self.bring_page(&request) {
                return Err(Error::Argument(format!(
                    "the page at {va:#x} does not come: {why}"
                )));
            }
        }
        Ok(())
    }

    /// Answers the page requests that are there; whether there were any.
    pub(super) fn serve_pages(&mut self) -> Result<bool, Error> {
        let Some(mut demands) = self.demands.take() else {
            return Ok(false);
        };
        let served = self.serve(&mut demands);
        self.demands = Some(demands);
        served
    }

    fn serve(&mut self, demands: &mut Demands) -> Result<bool, Error> {
        let requests = demands.queue.take(self.device.as_mut())?;
        if !requests.is_empty() {
            self.timed(Step::Request, |state| {
                state.host_works(Work::Interrupt)?;
                state.host_works(Work::Wakeup)
            })?;
        }
        let some = !requests.is_empty();
        let own = self.hand_on(requests)?;
        self.serve_own(demands, &own)?;
        Ok(some)
    }

    /// The same between two turns of pages that are on their way to a context: `coming` says of a page, and whether it is to be written, that it is
    /// one of them, or just came. Whoever serves pages is at work, so that no interrupt is waited for.
    pub(super) fn serve_between(
        &mut self,
        id: usize,
        coming: impl Fn(u64, bool) -> bool,
    ) -> Result<(), Error> {
        let Some(mut demands) = self.demands.take() else {
            return Ok(());
        };
        let served = demands
            .queue
            .take(self.device.as_mut())
            .and_then(|requests| {
                let comes = |request: &PageRequest| {
                    request.context as usize == id && coming(request.va, request.write)
                };
                let (passing, others): (Vec<_>, Vec<_>) = requests.into_iter().partition(comes);
                self.note_passing(id, &passing);
                let own = self.hand_on(others)?;
                self.serve_own(&mut demands, &own)
            });
        self.demands = Some(demands);
        served
    }

    fn serve_own(&mut self, demands: &mut Demands, requests: &[PageRequest]) -> Result<(), Error> {
        for batch in requests.chunks(BATCH) {
            let (mut answers, mut crossed) = (Vec::new(), 0);
            for request in batch {
                let end = match self.bring_page(request) {
                    Ok(link) => {
                        crossed += u64::from(link);
                        Some(PageEnd::There)
                    }
                    Err(refusal) => {
                        demands.refused(request.context, request.va, refusal.why);
                        refusal.end.or(demands.patient.then_some(PageEnd::Failed))
                    }
                };
                answers.extend(
                    end.map(|end| Command::respond(request.context, request.group, end.code())),
                );
            }
            self.host_works(Work::Pages {
                pages: batch.len() as u64,
                crossed,
            })?;
            self.queue.respond(self.device.as_mut(), &answers)?;
        }
        Ok(())
    }

    /// Maps the page that was asked for; returns whether its content crossed the link.
    fn bring_page(&mut self, request: &PageRequest) -> Result<bool, Refusal> {
        let va = request.va;
        let pool = self.pool.clone();
        let memory = Arc::clone(self.device.memory());
        let context = self.contexts.get_mut(request.context as usize);
        let Some(Some(context)) = context else {
            return Err(Refusal::invalid("its context has ended"));
        };
        let found = context.demands.range_mut(..=va).next_back();
        let Some((start, state)) = found.filter(|(start, state)| va - **start < state.demand.len)
        else {
            return Err(Refusal::invalid("it is of no reservation"));
        };
        if request.write && state.perm == Perm::Read {
            return Err(Refusal::invalid("the reservation is read-only"));
        }
        let mut place = state.demand.memory();
        // Asked for again, to be written.
        if place.frames.contains_key(&va) {
            return Ok(false);
        }
        let offset = va - start;
        let frame = pool.lock().alloc_contiguous(FRAME_BYTES, FRAME_BYTES);
        let Some(frame) = frame else {
            return Err(Refusal::failed("device memory is full"));
        };
        let source = &state.demand.source;
        let filled = fill(source, &place.window, offset, frame.pa, &memory).and_then(|crossed| {
            let table = &mut context.table;
            let mapped = table.map_as(
                va,
                frame.pa,
                FRAME_BYTES,
                state.perm,
                PageSize::SIZE_4K,
                Begins::Written,
            );
            mapped.map_err(|error| Refusal::failed(&error.to_string()))?;
            Ok(crossed)
        });
        if filled.is_err() {
            pool.free(frame);
            return filled;
        }
        place.frames.insert(va, frame.pa);
        // From now on this process sees the frame. Should the system refuse, it sees what was there, and only the card the rest.
        let shown = place
            .window
            .fill(offset, memory.fd(), frame.pa, FRAME_BYTES);
        shown.map_err(|errno| {
            Refusal::failed(&format!("it cannot be shown to this process: {errno}"))
        })?;
        filled
    }

    /// Why the page of an address was refused, if it was.
    pub(super) fn refusal(&self, context: u32, address: u64) -> Option<String> {
        let page = address & !u64::from(layout::PT_PAGE_SIZE - 1);
        let refusals = self.demands.iter().flat_map(|demands| &demands.refusals);
        let mut found = refusals.filter(|(of, va, _)| (*of, *va) == (context, page));
        found.next_back().map(|(_, _, why)| why.clone())
    }
}

/// A page that does not come.
struct Refusal {
    why: String,
    /// What the hardware is told; nothing, for it to find out.
    end: Option<PageEnd>,
}

impl Refusal {
    fn invalid(why: &str) -> Self {
        Self {
            why: why.to_owned(),
            end: Some(PageEnd::Invalid),
        }
    }

    fn failed(why: &str) -> Self {
        Self {
            why: why.to_owned(),
            end: Some(PageEnd::Failed),
        }
    }
}

/// Gives the frame at `pa` the content of the page at `offset`; returns whether that crossed the link.
fn fill(
    source: &Source,
    window: &Window,
    offset: u64,
    pa: u64,
    memory: &godwit_card::Memory,
) -> Result<bool, Refusal> {
    let failed = |errno: Errno| Refusal::failed(&format!("its content cannot be read: {errno}"));
    match source {
        Source::Window { file_bytes } => {
            window.store(offset, memory.fd(), pa).map_err(failed)?;
            Ok(offset < *file_bytes)
        }
        Source::Handler(handler) => {
            let mut page = vec![0; FRAME_BYTES as usize];
            match handler.fill(offset, &mut page) {
                PageAnswer::Filled => {}
                PageAnswer::Refused(why) => return Err(Refusal::invalid(&why)),
                PageAnswer::Unanswered => {
                    return Err(Refusal {
                        why: "it was not answered".into(),
                        end: None,
                    });
                }
            }
            let written = memory.write(pa, &page);
            written.map_err(|error| Refusal::failed(&error.to_string()))?;
            Ok(true)
        }
    }
}

/// Pages, in their order, as ranges.
fn runs(pages: impl Iterator<Item = u64>) -> Vec<(u64, u64)> {
    let mut found: Vec<(u64, u64)> = Vec::new();
    for page in pages {
        match found.last_mut() {
            Some((start, len)) if *start + *len == page => *len += FRAME_BYTES,
            _ => found.push((page, FRAME_BYTES)),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_in_a_row_are_one_range() {
        let pages = [0x1000, 0x2000, 0x4000, 0x8000, 0x9000, 0xa000];
        assert_eq!(
            runs(pages.into_iter()),
            [(0x1000, 0x2000), (0x4000, 0x1000), (0x8000, 0x3000)]
        );
    }
}
