// SPDX-License-Identifier: Apache-2.0
//! Random operations on slots.

use godwit::command::{Command, drop_ranges};
use godwit_card::CardError;
use godwit_core::{ErrorKind, Invalidation, PageSize, Perm};
use rand::Rng;
use rand::seq::IndexedRandom;

use super::{CONTEXTS, FIRST_FRAME, Live, PAGE, Slot};
use crate::{CosimError, Random};

impl Live {
    /// One random operation on a random slot, and the commands for what it took away.
    pub(super) fn change(&mut self, random: &mut Random) -> Result<Result<(), String>, CosimError> {
        let number = random.random_range(0..CONTEXTS);
        let slot = self.spaces[number].pick(random);
        let mut inval = Invalidation::new();
        let (va, bytes) = {
            let slot = &self.spaces[number].slots[slot];
            (slot.va, slot.size.bytes())
        };
        match random.random_range(0..10) {
            8.. => {
                let page = self.hot_page(number, slot, random);
                self.counts.0 += 1;
                return self.migrate(number, slot, page);
            }
            0..3 => {
                self.clear(number, va, bytes, &mut inval)?;
                self.map(number, slot, random)?;
            }
            3 => self.clear(number, va, bytes, &mut inval)?,
            4 => {
                let page = self.hot_page(number, slot, random);
                self.clear(number, page, PAGE, &mut inval)?;
            }
            5 => {
                if self.lookup(number, va)?.is_none() {
                    self.clear(number, va, bytes, &mut inval)?;
                    self.map(number, slot, random)?;
                }
            }
            _ => {
                let page = self.hot_page(number, slot, random);
                let perm = if random.random_bool(0.5) {
                    Perm::Read
                } else {
                    Perm::ReadWrite
                };
                if self.lookup(number, page)?.is_some() {
                    self.spaces[number]
                        .table
                        .protect(page, PAGE, perm, &mut inval)?;
                }
            }
        }
        self.counts.0 += 1;
        self.note(number, slot, &inval)?;
        self.drop_translations(number, &inval, random)?;
        Ok(Ok(()))
    }

    /// The commands for what an operation took away.
    fn drop_translations(
        &mut self,
        number: usize,
        inval: &Invalidation,
        random: &mut Random,
    ) -> Result<(), CosimError> {
        if inval.is_needed() {
            let commands = match random.random_range(0..12) {
                0 => vec![Command::drop_everything()],
                1 => vec![Command::drop_context(number as u32)],
                _ => drop_ranges(number as u32, inval.ranges().iter().map(|r| (r.va, r.size))),
            };
            self.put(&commands)?;
        }
        Ok(())
    }

    /// Moves a page that is mapped to another frame, as one that goes to another memory: unmapped, its translations gone, copied, mapped
    /// where it is now. What was written before must have come along, and nothing may be written to where it was.
    fn migrate(
        &mut self,
        number: usize,
        slot: usize,
        page: u64,
    ) -> Result<Result<(), String>, CosimError> {
        let Some((from, perm)) = self.lookup(number, page)? else {
            return Ok(Ok(()));
        };
        let mut inval = Invalidation::new();
        self.clear(number, page, PAGE, &mut inval)?;
        self.note(number, slot, &inval)?;
        let ranges = inval.ranges().iter().map(|range| (range.va, range.size));
        self.put(&drop_ranges(number as u32, ranges))?;
        if let Err(what) = self.fence()? {
            return Ok(Err(what));
        }
        let to = self.room(PAGE);
        let mut content = vec![0; PAGE as usize];
        self.memory.read(from, &mut content)?;
        self.memory.write(to, &content)?;
        for at in (0..PAGE).step_by(64) {
            // Not of pages beside the hot ones, which nobody looks at.
            if let Some(line) = self.lines.get(&(from + at)) {
                self.lines.insert(to + at, *line);
            }
        }
        self.moves.push((from, to));
        let table = &mut self.spaces[number].table;
        table.map(page, to, PAGE, perm, PageSize::SIZE_4K)?;
        self.note(number, slot, &Invalidation::new())?;
        Ok(Ok(()))
    }

    pub(super) fn hot_page(&self, number: usize, slot: usize, random: &mut Random) -> u64 {
        let pages: Vec<u64> = self.spaces[number].slots[slot].hot().collect();
        *pages
            .choose(random)
            .unwrap_or(&self.spaces[number].slots[slot].va)
    }

    /// The 4 KiB page at `va` as the C tables have it.
    pub(super) fn lookup(&self, number: usize, va: u64) -> Result<Option<(u64, Perm)>, CosimError> {
        match self.spaces[number].table.lookup(va) {
            Ok(page) => Ok(Some((page.translate(va), page.perm))),
            Err(error) if error.kind() == ErrorKind::NotMapped => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Unmaps what is mapped of a range.
    pub(super) fn clear(
        &mut self,
        number: usize,
        va: u64,
        bytes: u64,
        inval: &mut Invalidation,
    ) -> Result<(), CosimError> {
        let table = &mut self.spaces[number].table;
        let mut at = va;
        while at - va < bytes {
            let left = bytes - (at - va);
            let step = match table.lookup(at) {
                Ok(page) => {
                    let step = (page.va + page.size.bytes() - at).min(left);
                    table.unmap(at, step, inval)?;
                    step
                }
                Err(error) if error.kind() == ErrorKind::NotMapped => PAGE,
                Err(error) => return Err(error.into()),
            };
            at += step;
        }
        Ok(())
    }

    /// Maps a slot that is empty to memory that nothing uses, with pages up to a random size.
    pub(super) fn map(
        &mut self,
        number: usize,
        slot: usize,
        random: &mut Random,
    ) -> Result<(), CosimError> {
        let Slot { va, size } = self.spaces[number].slots[slot];
        let pa = self.room(size.bytes());
        let table = &self.spaces[number].table;
        let sizes: Vec<PageSize> = table
            .napot()
            .sizes()
            .filter(|page| *page <= PageSize::SIZE_2M)
            .collect();
        let limit = *sizes.choose(random).unwrap_or(&size);
        let perm = if random.random_ratio(3, 4) {
            Perm::ReadWrite
        } else {
            Perm::Read
        };
        let hot: Vec<u64> = self.spaces[number].slots[slot].hot().collect();
        for page in hot {
            self.fill(pa + (page - va))?;
        }
        Ok(self.spaces[number]
            .table
            .map(va, pa, size.bytes(), perm, limit)?)
    }

    /// Physical memory that nothing uses, naturally aligned. Round and round; it is so much that what comes again is long forgotten.
    fn room(&mut self, bytes: u64) -> u64 {
        let mut pa = self.next_frame.next_multiple_of(bytes);
        if pa + bytes > self.memory_bytes {
            pa = FIRST_FRAME;
        }
        self.next_frame = pa + bytes;
        pa
    }

    /// Gives every line of a physical page a content that no other has.
    pub(super) fn fill(&mut self, pa: u64) -> Result<(), CardError> {
        let mut content = vec![0; PAGE as usize];
        for (word, at) in content.chunks_exact_mut(8).zip((pa..).step_by(8)) {
            word.copy_from_slice(&(at ^ 0x5a5a_0000_0000_0000).to_le_bytes());
        }
        for (line, at) in content.chunks_exact(64).zip((pa..).step_by(64)) {
            let mut bytes = [0; 64];
            bytes.copy_from_slice(line);
            self.lines.insert(at, bytes);
        }
        self.memory.write(pa, &content)
    }
}
