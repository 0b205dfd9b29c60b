// SPDX-License-Identifier: Apache-2.0
//! Room on a card whose memory is full: which pages go home is decided by `core/`, by groups of 64 KiB; here they have numbers.

use std::collections::{BTreeMap, BTreeSet};

use godwit_core::policy::{AccessBits, Evictor};

use super::blocks::{Blocks, Place, Run};
use super::moves::Going;
use super::owner::Piece;
use super::pages::Pages;
use super::report::Cause;
use super::{OwnerId, PAGE};
use crate::Error;

/// Bytes of a group.
pub(crate) const GROUP: u64 = 16 * PAGE;
/// Groups that are remembered, for each one that the memory holds: those that are away, too.
const REMEMBERED: u64 = 4;

/// A group: whose, and its first address.
type Key = (OwnerId, u64);

/// Pages that an evictor is told of.
fn pages_in(bytes: u64) -> u64 {
    (bytes / PAGE).clamp(1, (1 << 31) - 1)
}

/// Groups of one memory.
pub(super) struct Eviction {
    evictor: Evictor,
    numbers: BTreeMap<Key, u32>,
    /// By number.
    keys: Vec<Key>,
    most: usize,
    /// The next number to be given again, when all are taken.
    again: usize,
}

impl Eviction {
    /// For a memory of so many bytes.
    pub fn new(bytes: u64) -> Self {
        let groups = (bytes / GROUP).max(1) * REMEMBERED;
        let groups = u32::try_from(groups).unwrap_or(u32::MAX / 2);
        Self {
            evictor: Evictor::new(groups, pages_in(bytes)),
            numbers: BTreeMap::new(),
            keys: Vec::new(),
            most: groups as usize,
            again: 0,
        }
    }

    fn number(&mut self, key: Key) -> u32 {
        if let Some(number) = self.numbers.get(&key) {
            return *number;
        }
        let number = if self.keys.len() < self.most {
            self.keys.push(key);
            self.keys.len() - 1
        } else {
            // What has this number leaves the count, not the card: it is found again when it comes the next time.
            let number = self.again;
            self.again = (self.again + 1) % self.most;
            self.evictor.removed(number as u32);
            self.numbers.remove(&self.keys[number]);
            self.keys[number] = key;
            number
        };
        self.numbers.insert(key, number as u32);
        number as u32
    }

    fn added(&mut self, key: Key, pages: u64, asked: bool) {
        let number = self.number(key);
        self.evictor.added(number, pages as u32, asked);
    }

    /// So many pages of a group are left.
    fn left(&mut self, key: Key, pages: u64) {
        if let Some(number) = self.numbers.get(&key).copied()
            && self.evictor.removed(number) > 0
            && pages > 0
        {
            self.evictor.added(number, pages as u32, true);
        }
    }

    /// An owner is gone.
    fn forget(&mut self, owner: OwnerId) {
        let of_owner = self.numbers.range((owner, 0)..(owner + 1, 0));
        let numbers: Vec<u32> = of_owner.map(|(_, number)| *number).collect();
        for number in numbers {
            self.evictor.removed(number);
        }
    }
}

/// Groups that overlap a range.
pub(super) fn groups(start: u64, len: u64) -> impl Iterator<Item = u64> {
    (start & !(GROUP - 1)..start + len).step_by(GROUP as usize)
}

/// What of a group takes room in an owner's memory.
fn on_card(blocks: &Blocks, group: u64, owner: OwnerId) -> Vec<Run> {
    let mut runs = blocks.away_runs(group, GROUP, Some(owner));
    runs.retain(|run| matches!(run.place, Place::Away(away) if !away.in_place));
    runs
}

impl Pages {
    /// Gives an owner pages; what has to leave for them goes home.
    pub(super) fn give(&mut self, pieces: &[Piece], going: Going) -> Result<(), Error> {
        let awaited = going.cause == Cause::Request;
        loop {
            let free = match self.owner(going.owner)?.take(pieces, awaited) {
                Err(Error::OutOfMemory { free, .. }) => free,
                Err(error) => return Err(error),
                Ok(()) => {
                    self.note_given(pieces, going);
                    return Ok(());
                }
            };
            let wanted: u64 = pieces.iter().map(|piece| piece.len).sum();
            // Memory of a launch that is not asked for must all stay.
            if going.cause == Cause::Launch
                || !self.make_way(pieces, going, wanted.saturating_sub(free))
            {
                return self.owner(going.owner)?.take(pieces, awaited);
            }
        }
    }

    pub(super) fn note_given(&mut self, pieces: &[Piece], going: Going) {
        let there: Vec<&Piece> = pieces.iter().filter(|piece| !piece.in_place).collect();
        // They are not counted yet, and not free any more.
        let room = self.room(going.owner) + there.iter().map(|piece| piece.len).sum::<u64>();
        let Some(eviction) = self.eviction(going.owner) else {
            return;
        };
        eviction.evictor.resize(pages_in(room));
        for piece in there {
            let end = piece.va + piece.len;
            for group in groups(piece.va, piece.len) {
                let pages = (end.min(group + GROUP) - piece.va.max(group)) / PAGE;
                eviction.added((going.owner, group), pages, going.cause != Cause::Prefetch);
            }
        }
    }

    /// Pages of a run have left their owner.
    pub(super) fn note_left(&mut self, owner: OwnerId, start: u64, len: u64) {
        for group in groups(start, len) {
            let runs = on_card(&self.blocks, group, owner);
            let left = runs.iter().map(|run| run.len).sum::<u64>() / PAGE;
            if let Some(eviction) = self.eviction(owner) {
                eviction.left((owner, group), left);
            }
        }
    }

    /// The group of an owner's memory that is to leave next: its number, whose it is, and its pages there.
    fn choose(&mut self, owner: OwnerId, for_prefetch: bool) -> Option<(u32, Key, u32)> {
        let memory = self.owners.get(&owner)?.memory().id;
        // Bits of some of the groups would say that all others are idle.
        let mut those = self.owners.values().filter(|of| of.memory().id == memory);
        let sees = those.all(|of| of.tells_use());
        let Eviction { evictor, keys, .. } = self.evictions.get_mut(&memory)?;
        let (owners, blocks, report) = (&mut self.owners, &self.blocks, &mut self.report);
        let mut used = |number: u32| {
            let (owner, group) = keys[number as usize];
            let runs = on_card(blocks, group, owner);
            let ranges: Vec<(u64, u64)> = runs.iter().map(|run| (run.start, run.len)).collect();
            report.looks += 1;
            let owner = owners.get_mut(&owner);
            owner.is_some_and(|owner| owner.take_used(group, &ranges))
        };
        let bits: Option<AccessBits<'_>> = if sees { Some(&mut used) } else { None };
        let number = evictor.choose(for_prefetch, None, bits)?;
        let pages = evictor.removed(number);
        Some((number, keys[number as usize], pages))
    }

    /// An owner is gone, with the memory if it was the last that had pages there.
    pub(super) fn forget_groups(&mut self, owner: OwnerId, memory: usize) {
        if let Some(eviction) = self.evictions.get_mut(&memory) {
            eviction.forget(owner);
        }
        if !self
            .owners
            .values()
            .any(|other| other.memory().id == memory)
        {
            self.evictions.remove(&memory);
            self.log.forget(memory);
        }
    }

    fn eviction(&mut self, owner: OwnerId) -> Option<&mut Eviction> {
        let memory = self.owners.get(&owner)?.memory();
        let eviction = self.evictions.entry(memory.id);
        Some(eviction.or_insert_with(|| Eviction::new(memory.bytes)))
    }

    /// Bytes that pages of an owner can have: what is free, and what may leave. Buffers and page tables have the rest.
    pub(super) fn room(&mut self, owner: OwnerId) -> u64 {
        let free = self
            .owners
            .get(&owner)
            .map_or(0, |owner| owner.free_bytes());
        let held = self
            .eviction(owner)
            .map_or(0, |all| all.evictor.pages() * PAGE);
        free + held
    }

    /// Brings home what `core/` chooses, of `wanted` bytes at least or of one group; false when nothing is left to choose.
    fn make_way(&mut self, pieces: &[Piece], going: Going, wanted: u64) -> bool {
        let all = self.eviction(going.owner);
        if all.is_none_or(|all| all.evictor.pages() * PAGE < wanted) {
            return false;
        }
        let coming: BTreeSet<Key> = pieces
            .iter()
            .flat_map(|piece| groups(piece.va, piece.len))
            .map(|group| (going.owner, group))
            .collect();
        let batch = pieces.iter().filter(|piece| !piece.in_place);
        let batch: u64 = batch.map(|piece| piece.len / PAGE).sum();
        if let Some(eviction) = self.eviction(going.owner) {
            eviction.evictor.coming(batch);
        }
        let (mut leaving, mut aside) = (Vec::new(), Vec::new());
        let mut found = 0;
        while found < wanted.max(1) {
            let for_prefetch = going.cause == Cause::Prefetch;
            let Some((number, key, pages)) = self.choose(going.owner, for_prefetch) else {
                break;
            };
            let held = self.pinned(key.1, GROUP, None);
            if held || coming.contains(&key) {
                aside.push((number, pages));
                continue;
            }
            let runs = on_card(&self.blocks, key.1, key.0);
            found += runs.iter().map(|run| run.len).sum::<u64>();
            leaving.extend(runs);
        }
        if let Some(eviction) = self.eviction(going.owner) {
            for (number, pages) in aside {
                eviction.evictor.spared(number, pages);
            }
        }
        leaving.sort_unstable_by_key(|run: &Run| run.start);
        self.report.evicted += found;
        self.retrieve(&leaving, Cause::Eviction);
        found > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_given_again_when_all_are_taken() {
        let mut eviction = Eviction::new(2 * GROUP);
        for group in 0..20 {
            eviction.added((1, group * GROUP), 16, true);
        }
        assert_eq!(eviction.keys.len(), 8);
        assert_eq!(eviction.numbers.len(), 8);
        for (key, number) in &eviction.numbers {
            assert_eq!(eviction.keys[*number as usize], *key);
        }
        eviction.forget(1);
        assert_eq!(eviction.evictor.pages(), 0);
    }

    #[test]
    fn a_group_that_has_left_in_part_is_counted_again() {
        let mut eviction = Eviction::new(64 * GROUP);
        eviction.added((1, 0), 16, true);
        eviction.left((1, 0), 5);
        assert_eq!(eviction.evictor.pages(), 5);
        eviction.left((1, 0), 0);
        eviction.left((2, 0), 3);
        assert_eq!(eviction.evictor.pages(), 0);
    }

    #[test]
    fn groups_of_a_range() {
        let starts: Vec<u64> = groups(GROUP - PAGE, 2 * PAGE).collect();
        assert_eq!(starts, [0, GROUP]);
        assert_eq!(groups(GROUP, GROUP).count(), 1);
    }
}
