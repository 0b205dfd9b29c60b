// SPDX-License-Identifier: Apache-2.0
//! Which pages of a context kernels have used and written: hardware sets A and D in their entries (SADE).

use godwit_core::PageTable;

use super::State;
use super::costs::Work;
use super::steps::Step;
use crate::Error;
use crate::hardware::frames::FRAME_BYTES;
use crate::hardware::mmu::{self, Walks};
use crate::hardware::table_memory::FramePool;

/// Of an entry of a page table.
const ENTRY_BYTES: u64 = 8;

impl State {
    /// Has the hardware say which pages of a context are written, from now on; those mapped before count as written. The hardware ends what
    /// waits in the name of a context that is changed: while kernels work in it, it stays as it is.
    pub fn track_writes(&mut self, id: usize, serial: u64) -> Result<(), Error> {
        if self.context(id, serial)?.table.tracks() || self.at_work(serial) {
            return Ok(());
        }
        let context = self.context(id, serial)?;
        context.table.track();
        let root = (context.table.mode(), context.table.root());
        let walks = Walks {
            asks: context.asks,
            sets_bits: true,
        };
        Ok(mmu::set_context(
            self.device.as_mut(),
            id,
            Some(root),
            walks,
        )?)
    }

    /// As [`State::unmap_all`]; returns the parts of the ranges that the card has not written since they were mapped, where the hardware says so.
    ///
    /// Nothing is written between the look at D and the unmapping, for the card's clock stands: [`run`](godwit_card::Device::run) lets it go. A
    /// write under way has set D before it was let through, and a walk under way finds the entry changed. To freeze pages first, as a host beside a clock
    /// that goes on has to, would end kernels: their accesses to a frozen page are refused, and only what is not mapped is asked for.
    pub fn unmap_and_tell(
        &mut self,
        id: usize,
        serial: u64,
        ranges: &[(u64, u64)],
    ) -> Result<Vec<(u64, u64)>, Error> {
        let table = &self.context(id, serial)?.table;
        let clean = match table.tracks() {
            true => ranges
                .iter()
                .flat_map(|(va, len)| clean_parts(table, *va, *len))
                .collect(),
            false => Vec::new(),
        };
        self.unmap_all(id, serial, ranges).map(|()| clean)
    }

    /// Pages that overlap ranges and were used since the last look: first addresses and bytes. Their A is taken, and set again by accesses after
    /// the next [unmapping](State::unmap_all): until then translations in use may hide them. None where the hardware does not say so.
    ///
    /// The look is charged as one read of the entries over the link, before it is taken; between look and store the card's clock stands, so no D is
    /// lost.
    pub fn take_used(
        &mut self,
        id: usize,
        serial: u64,
        ranges: &[(u64, u64)],
    ) -> Result<Vec<(u64, u64)>, Error> {
        let pages: u64 = ranges.iter().map(|(_, len)| len / FRAME_BYTES).sum();
        let bytes = pages * ENTRY_BYTES;
        self.timed(Step::Return, |state| state.host_works(Work::Look { bytes }))?;
        let context = self.context(id, serial)?;
        let mut used = Vec::new();
        if context.table.tracks() {
            for (va, len) in ranges {
                used.extend(used_pages(&context.table, *va, *len));
                context.table.age(*va, *len, &mut context.aged)?;
            }
        }
        Ok(used)
    }
}

/// Pages that overlap a range and have their A bit.
fn used_pages(table: &PageTable<FramePool>, va: u64, len: u64) -> Vec<(u64, u64)> {
    let (mut at, mut used) = (va, Vec::new());
    while at < va + len {
        let Ok(page) = table.lookup(at) else {
            at += FRAME_BYTES;
            continue;
        };
        if table.state(at).is_ok_and(|state| state.accessed) {
            used.push((page.va, page.size.bytes()));
        }
        at = page.va.saturating_add(page.size.bytes());
    }
    used
}

/// Whether D says of any page in a range that it was written.
pub(crate) fn any_written(table: &PageTable<FramePool>, va: u64, len: u64) -> bool {
    let mut at = va;
    while at < va + len {
        if table.state(at).is_ok_and(|state| state.dirty) {
            return true;
        }
        at = table.lookup(at).map_or(at + FRAME_BYTES, |page| {
            page.va.saturating_add(page.size.bytes())
        });
    }
    false
}

/// Parts of a range that D says were not written.
fn clean_parts(table: &PageTable<FramePool>, va: u64, len: u64) -> Vec<(u64, u64)> {
    let (mut at, end) = (va, va + len);
    let mut clean: Vec<(u64, u64)> = Vec::new();
    while at < end {
        let page = table.lookup(at);
        let next = page.map_or(end, |page| {
            page.va.saturating_add(page.size.bytes()).min(end)
        });
        if table.state(at).is_ok_and(|state| !state.dirty) {
            match clean.last_mut() {
                Some((start, len)) if *start + *len == at => *len = next - *start,
                _ => clean.push((at, next - at)),
            }
        }
        at = next;
    }
    clean
}
