// SPDX-License-Identifier: Apache-2.0
//! Memory of which the system decides whether it stays in the host's memory or moves, group by group of 64 KiB: `core/` decides, by the lines
//! that crossed the link. What was learnt of a group holds over launches, until its memory is freed or other advice is given.

use std::collections::BTreeMap;

use godwit_core::policy::{Stay, StayCosts, StayPlace};

use super::blocks::{Away, Place, Run};
use super::evict::{GROUP, groups};
use super::log::Migration;
use super::moves::Going;
use super::owner::{PageCosts, Piece};
use super::pages::{Pages, Pin};
use super::report::Cause;
use super::{OwnerId, PinId};

/// Groups that move together before a launch: with too little room for all of them, some move.
const TOGETHER: usize = 32;

/// A group that a card used in place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Crossed {
    /// Where it is in the pager's memory.
    pub at: u64,
    /// Lines that crossed the link, both ways.
    pub lines: u32,
}

#[derive(Debug, Clone, Copy, Default)]
struct Group {
    stay: Stay,
    /// The card has written some of it, this time.
    written: bool,
    /// What a line cost in the launch that used it last; 0: not known, as that of others.
    line_ps: u64,
    /// Since its lines were counted a launch was measured that had it on the card.
    compared: bool,
}

/// What is known of groups.
#[derive(Default)]
pub(super) struct Stays {
    groups: BTreeMap<(OwnerId, u64), Group>,
    /// What pages cost for an owner.
    costs: BTreeMap<OwnerId, PageCosts>,
    /// What a line costs, by memory, in launches that are not known better.
    line_ps: BTreeMap<usize, u64>,
}

impl Stays {
    /// Nothing is known of a range any more.
    pub fn forget(&mut self, start: u64, len: u64) {
        if self.groups.is_empty() {
            return;
        }
        let overlaps = |at: u64| at < start + len && start < at + GROUP;
        self.groups.retain(|(_, at), _| !overlaps(*at));
    }

    /// An owner is gone.
    pub fn forget_owner(&mut self, owner: OwnerId) {
        self.groups.retain(|(of, _), _| *of != owner);
        self.costs.remove(&owner);
    }

    /// What a line cost in a launch.
    fn note_cost(&mut self, pin: &Pin, line_ps: u64) {
        for want in &pin.wants {
            let first = want.start & !(GROUP - 1);
            let range = (pin.owner, first)..(pin.owner, want.start + want.len);
            for (_, known) in self.groups.range_mut(range) {
                known.line_ps = line_ps;
            }
        }
    }

    fn group_costs(
        &self,
        owner: OwnerId,
        memory: usize,
        of: &Group,
        written: bool,
    ) -> Option<StayCosts> {
        let line_ps = match of.line_ps {
            0 => self.line_ps.get(&memory).copied().unwrap_or(0),
            known => known,
        };
        Some(self.costs.get(&owner)?.group(line_ps, written))
    }
}

impl Pages {
    /// Whether pages of a group that is at home, or in part where it was, go in place for an owner. Where nothing is counted they move.
    pub fn stay_begins(&mut self, owner: OwnerId, group: u64) -> bool {
        let counting = self.owners.get_mut(&owner).and_then(|of| of.count_lines());
        let Some(costs) = counting else {
            return false;
        };
        self.stays.costs.insert(owner, costs);
        let known = self.stays.groups.entry((owner, group)).or_default();
        if known.stay.place() == StayPlace::Home {
            known.stay.begin();
            known.written = false;
        }
        let (place, counted) = (known.stay.place(), known.stay.wants_lines());
        // What a line costs is known when the same launch was seen both ways.
        let compares = place == StayPlace::Device && !known.compared;
        known.compared = compares || (known.compared && !counted);
        let measured = counted || compares;
        if let Some(owner) = self.owners.get_mut(&owner).filter(|_| measured) {
            owner.measure_lines();
        }
        place == StayPlace::InPlace
    }

    /// Pages of an owner came home, which had written them or not.
    pub fn stay_ends(&mut self, owner: OwnerId, start: u64, len: u64, written: bool, cause: Cause) {
        let (memory, _) = self.whose(owner);
        for group in groups(start, len) {
            if let Some(known) = self.stays.groups.get_mut(&(owner, group)) {
                known.written |= written;
            }
            if !self.blocks.away_runs(group, GROUP, Some(owner)).is_empty() {
                continue;
            }
            let Some(known) = self.stays.groups.get(&(owner, group)).copied() else {
                continue;
            };
            let Some(costs) = self.stays.group_costs(owner, memory, &known, known.written) else {
                continue;
            };
            if let Some(known) = self.stays.groups.get_mut(&(owner, group)) {
                let salt = (group / GROUP) as u32;
                known.stay.end(&costs, cause == Cause::Eviction, salt);
            }
        }
    }

    /// Groups crossed the link of the card with this memory; those of them that are due move, where kernels that use them wait for pages.
    pub fn crossed(&mut self, memory: usize, crossed: &[Crossed], line_ps: u64, of: Option<PinId>) {
        let pin = self.pins.iter().find(|pin| Some(pin.id) == of);
        match pin {
            _ if line_ps == 0 => {}
            Some(pin) => self.stays.note_cost(pin, line_ps),
            None => drop(self.stays.line_ps.insert(memory, line_ps)),
        }
        let mut due: BTreeMap<OwnerId, Vec<u64>> = BTreeMap::new();
        for (owner, group) in self.have_crossed(crossed) {
            let asks = self.prefetchers.contains_key(&owner);
            if asks && self.is_due(owner, group) && self.worked_on(group, GROUP) {
                due.entry(owner).or_default().push(group);
            }
        }
        for (owner, mut groups) in due {
            groups.sort_unstable();
            groups.dedup();
            self.move_over(owner, &groups);
        }
    }

    /// Notes what crossed the link; returns whose groups that were.
    pub fn have_crossed(&mut self, crossed: &[Crossed]) -> Vec<(OwnerId, u64)> {
        let mut noted = Vec::new();
        for Crossed { at, lines } in crossed {
            let Some(group) = self.blocks.of_shadow(*at) else {
                continue;
            };
            let Some((_, away)) = self.in_place_of(group, None).first().copied() else {
                continue;
            };
            let key = (away.owner, group);
            if let Some(known) = self.stays.groups.get_mut(&key) {
                known.stay.crossed(*lines);
                noted.push(key);
            }
        }
        noted
    }

    /// Whether the lines of a group that is about to go home are to be known.
    pub fn wants_lines(&self, owner: OwnerId, run: &Run) -> bool {
        let first = run.start & !(GROUP - 1);
        let range = (owner, first)..(owner, run.start + run.len);
        let mut known = self.stays.groups.range(range);
        known.any(|(_, known)| known.stay.wants_lines())
    }

    /// Moves groups of a range that are due, before a launch.
    pub fn move_due(&mut self, owner: OwnerId, start: u64, len: u64) {
        let first = start & !(GROUP - 1);
        let range = (owner, first)..(owner, start + len);
        let keys: Vec<u64> = self
            .stays
            .groups
            .range(range)
            .map(|((_, at), _)| *at)
            .collect();
        let mut due = keys;
        due.retain(|group| self.is_due(owner, *group));
        for some in due.chunks(TOGETHER) {
            self.move_over(owner, some);
        }
    }

    /// A launch needs memory of a card that holds its pages: those that were brought there without being told to go home, and are used in
    /// place next. Whether there were any.
    pub fn stays_go_home(&mut self, owner: OwnerId) -> bool {
        let there = |known: &Group| known.stay.place() == StayPlace::Device;
        let of_owner = self.stays.groups.range((owner, 0)..(owner + 1, 0));
        let groups: Vec<u64> = of_owner
            .filter(|(_, known)| there(known))
            .map(|((_, at), _)| *at)
            .collect();
        let mut runs: Vec<Run> = Vec::new();
        for group in groups {
            if !self.pinned(group, GROUP, None) {
                runs.extend(self.blocks.away_runs(group, GROUP, Some(owner)));
            }
        }
        self.report.evicted += runs.iter().map(|run| run.len).sum::<u64>();
        self.retrieve(&runs, Cause::Eviction);
        !runs.is_empty()
    }

    fn is_due(&self, owner: OwnerId, group: u64) -> bool {
        let (memory, _) = self.whose(owner);
        let Some(known) = self.stays.groups.get(&(owner, group)) else {
            return false;
        };
        let due = |written| {
            let costs = self.stays.group_costs(owner, memory, known, written);
            costs.is_some_and(|costs| known.stay.due(&costs))
        };
        // To look at D costs something, too: only where it decides.
        due(true) || (due(false) && !known.written && !self.group_written(owner, group))
    }

    fn group_written(&self, owner: OwnerId, group: u64) -> bool {
        let of = self.owners.get(&owner);
        of.is_none_or(|of| of.has_written(group, GROUP))
    }

    /// Runs of a group that are used in place.
    fn in_place_of(&self, group: u64, owner: Option<OwnerId>) -> Vec<(Run, Away)> {
        let runs = self.blocks.away_runs(group, GROUP, owner).into_iter();
        runs.filter_map(|run| match run.place {
            Place::Away(away) if away.in_place => Some((run, away)),
            _ => None,
        })
        .collect()
    }

    /// Has groups that an owner uses in place move to its memory, where there is room.
    fn move_over(&mut self, owner: OwnerId, groups: &[u64]) {
        let of = |group: &u64| self.in_place_of(*group, Some(owner));
        let runs: Vec<(Run, Away)> = groups.iter().flat_map(of).collect();
        if runs.is_empty() {
            return;
        }
        let pieces = pieces_of(&runs);
        let Ok(taken) = self.owner(owner).and_then(|owner| owner.take_over(&pieces)) else {
            // A kernel that still wants them asks for them again.
            let runs: Vec<Run> = runs.into_iter().map(|(run, _)| run).collect();
            return self.retrieve(&runs, Cause::Retreat);
        };
        for group in groups {
            if let Some(known) = self.stays.groups.get_mut(&(owner, *group)) {
                if taken {
                    known.stay.moved();
                } else {
                    known.stay.refused();
                }
            }
        }
        if !taken {
            return;
        }
        for (run, away) in &runs {
            let there = Place::Away(Away {
                in_place: false,
                ..*away
            });
            self.blocks.set(run.start, run.len, there);
        }
        let going = Going {
            owner,
            writable: false,
            kept: false,
            cause: Cause::Reuse,
            in_place: false,
        };
        self.note_given(&pieces, going);
        self.report.groups += 1;
        let (memory, time_ps) = self.whose(owner);
        for piece in &pieces {
            self.report.went(Cause::Reuse, piece.len);
            let migration = Migration {
                time_ps,
                to_device: true,
                cause: Cause::Reuse,
                address: piece.va,
                bytes: piece.len,
                copied: true,
            };
            self.log.add(memory, migration);
        }
    }
}

/// Runs as pieces that stay where they are in the shadow, neighbours together.
fn pieces_of(runs: &[(Run, Away)]) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    for (run, away) in runs {
        let next = Piece {
            va: run.start,
            len: run.len,
            from: Some(run.shadow),
            writable: away.writable,
            in_place: false,
        };
        let follows = |last: &Piece| {
            let place = last.from.map(|from| from + last.len);
            (last.va + last.len, place, last.writable) == (next.va, next.from, next.writable)
        };
        match pieces.last_mut().filter(|last| follows(last)) {
            Some(last) => last.len += next.len,
            None => pieces.push(next),
        }
    }
    pieces
}
