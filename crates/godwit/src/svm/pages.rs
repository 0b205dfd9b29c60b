// SPDX-License-Identifier: Apache-2.0
//! The state of the pager's thread.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use godwit_core::policy::{Around, Prefetcher};

use super::advice::Advised;
use super::blocks::{Blocks, Place};
use super::evict::Eviction;
use super::lend::Lend;
use super::log::Log;
use super::memory::{self, Scratch, Shadow, pages_around, read_process};
use super::owner::Owner;
use super::pins::Want;
use super::report::Migrations;
use super::sentinel::Watch;
use super::stays::Stays;
use super::thrash::Thrash;
use super::uffd::{Event, Uffd};
use super::{BLOCK, OwnerId, PinId};
use crate::Error;

/// Everything that the pager knows. Belongs to its thread.
pub(super) struct Pages {
    pub uffd: Arc<Uffd>,
    pub watch: Arc<Watch>,
    pub shadow: Shadow,
    pub scratch: Scratch,
    pub blocks: Blocks,
    pub owners: BTreeMap<OwnerId, Box<dyn Owner>>,
    /// What comes along with pages that are asked for, by owner.
    pub prefetchers: BTreeMap<OwnerId, Prefetcher>,
    /// What has left and may leave, by memory.
    pub evictions: BTreeMap<usize, Eviction>,
    pub next_owner: OwnerId,
    pub lends: BTreeMap<(OwnerId, u64), Lend>,
    pub advised: Advised,
    pub stays: Stays,
    pub pins: Vec<Pin>,
    /// Touches of pinned pages.
    pub parked: Vec<(u64, bool)>,
    /// Pins have gone: parked touches and orders are looked at again.
    pub unpinned: bool,
    /// Owners have given back what they have not cleared yet.
    pub released: bool,
    /// Where pages were put last, all of which moved.
    pub put_last: (u64, u64),
    /// Events read while something else was done.
    pub backlog: VecDeque<Event>,
    pub around: Around,
    pub report: Migrations,
    pub log: Log,
    pub thrash: Thrash,
    /// What went wrong at the end of a launch, for whom asks.
    pub failed: Vec<(PinId, Error)>,
    pub next_pin: PinId,
}

/// What a launch works on.
#[derive(Debug, Clone)]
pub(super) struct Pin {
    pub id: PinId,
    pub owner: OwnerId,
    pub wants: Vec<Want>,
    /// Its pages stay where they are until it has ended.
    pub holds: bool,
}

impl Pin {
    /// Whether it works on a page of the range.
    pub fn overlaps(&self, start: u64, len: u64) -> bool {
        self.wants.iter().any(|want| want.overlaps(start, len))
    }
}

/// Where pages in a row are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Residence {
    /// First address.
    pub start: u64,
    /// Bytes.
    pub len: u64,
    /// Who has them; nobody, when they are at home.
    pub owner: Option<OwnerId>,
    /// They stayed in the host's memory, and the owner uses them there.
    pub in_place: bool,
    /// The program has copies of them.
    pub shown: bool,
}

impl Pages {
    pub fn new(uffd: Arc<Uffd>, watch: Arc<Watch>) -> Result<Self, Error> {
        let no_memory =
            |errno| Error::Sharing(format!("no memory for the pager of shared memory: {errno}"));
        Ok(Self {
            uffd,
            watch,
            shadow: Shadow::new()?,
            scratch: Scratch::new().map_err(no_memory)?,
            blocks: Blocks::default(),
            owners: BTreeMap::new(),
            prefetchers: BTreeMap::new(),
            evictions: BTreeMap::new(),
            next_owner: 0,
            lends: BTreeMap::new(),
            advised: Advised::default(),
            stays: Stays::default(),
            pins: Vec::new(),
            parked: Vec::new(),
            unpinned: false,
            released: false,
            put_last: (0, 0),
            backlog: VecDeque::new(),
            around: Around::default(),
            report: Migrations::default(),
            log: Log::default(),
            thrash: Thrash::default(),
            failed: Vec::new(),
            next_pin: 0,
        })
    }

    /// A number for an owner.
    pub fn attach(&mut self, mut owner: Box<dyn Owner>) -> Result<OwnerId, Error> {
        if !self.watch.add_thread(owner.thread()) {
            return Err(Error::Sharing(
                "too many contexts share the memory of this process: close some".into(),
            ));
        }
        owner.show(self.scratch.address(), BLOCK);
        for (at, len) in self.shadow.areas() {
            owner.show(at, len);
        }
        self.next_owner += 1;
        let id = self.next_owner;
        if let Some(demand) = owner.demand() {
            let prefetcher = Prefetcher::new(demand.request_pages, demand.most_pages);
            self.prefetchers.insert(id, prefetcher);
        }
        self.owners.insert(id, owner);
        Ok(id)
    }

    pub fn owner(&mut self, id: OwnerId) -> Result<&mut Box<dyn Owner>, Error> {
        self.owners.get_mut(&id).ok_or(Error::ContextClosed)
    }

    /// The memory of an owner, and its virtual time; nothing of one that is gone.
    pub fn whose(&self, id: OwnerId) -> (usize, u64) {
        let owner = self.owners.get(&id);
        owner.map_or((0, 0), |owner| (owner.memory().id, owner.now_ps()))
    }

    /// Whether the page of an address may be read by the pager: nobody is asked when it is missing, and it is not made by being read.
    pub fn is_readable(&self, address: u64) -> bool {
        self.blocks.place(address) == Place::Unwatched
            && !self.shadow.owns(address)
            && memory::was_touched(address)
    }

    /// Copies memory of the program, which may be gone by now: then false.
    ///
    /// # Panics
    /// When a page of it is away, or in the shadow: the pager would wait for itself.
    pub fn read(&self, from: u64, to: &mut [u8]) -> bool {
        let (start, len) = pages_around(from, to.len() as u64);
        let away = !self.blocks.away_runs(start, len, None).is_empty();
        assert!(
            !away && !self.shadow.owns(from),
            "the pager reads {from:#x}, which is away"
        );
        read_process(from, to)
    }

    /// Whether a launch holds a page of the range; of another owner only, if one is named.
    pub fn pinned(&self, start: u64, len: u64, except: Option<OwnerId>) -> bool {
        let holds = |pin: &&Pin| pin.holds && Some(pin.owner) != except;
        let mut pins = self.pins.iter().filter(holds);
        pins.any(|pin| pin.overlaps(start, len))
    }

    /// Whether a launch works on a page of the range, holding it or not.
    pub fn worked_on(&self, start: u64, len: u64) -> bool {
        self.pins.iter().any(|pin| pin.overlaps(start, len))
    }

    /// Whether a launch of an owner may write a page of the range.
    pub fn writes(&self, owner: OwnerId, start: u64, len: u64) -> bool {
        let pins = self.pins.iter().filter(|pin| pin.owner == owner);
        let mut wants = pins.flat_map(|pin| &pin.wants);
        wants.any(|want| want.writes && want.overlaps(start, len))
    }

    /// Runs of the range, joined, each with who has it.
    pub fn residency(&self, start: u64, len: u64) -> Vec<Residence> {
        let mut found: Vec<Residence> = Vec::new();
        for run in self.blocks.runs(start, len) {
            let (owner, in_place, shown) = match run.place {
                Place::Away(away) => (Some(away.owner), away.in_place, away.shown),
                _ => (None, false, false),
            };
            let same = |last: &Residence| {
                (last.owner, last.in_place, last.shown) == (owner, in_place, shown)
            };
            match found.last_mut() {
                Some(last) if same(last) => last.len += run.len,
                _ => found.push(Residence {
                    start: run.start,
                    len: run.len,
                    owner,
                    in_place,
                    shown,
                }),
            }
        }
        found
    }

    /// Forgets what nobody needs.
    pub fn sweep(&mut self) {
        for shadow in self.blocks.sweep() {
            self.shadow.give_back(shadow);
        }
        self.watch.set_away(self.blocks.away());
    }
}
