// SPDX-License-Identifier: Apache-2.0
//! The state of the pager's thread.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use super::blocks::{Away, Blocks, Place};
use super::lend::Lend;
use super::memory::{Scratch, Shadow};
use super::owner::Owner;
use super::report::Migrations;
use super::sentinel::Watch;
use super::uffd::{Event, Uffd};
use super::{OwnerId, PinId};
use crate::Error;

/// Everything that the pager knows. Belongs to its thread.
pub(super) struct Pages {
    pub uffd: Arc<Uffd>,
    pub watch: Arc<Watch>,
    pub shadow: Shadow,
    pub scratch: Scratch,
    pub blocks: Blocks,
    pub owners: BTreeMap<OwnerId, Box<dyn Owner>>,
    pub next_owner: OwnerId,
    pub lends: BTreeMap<(OwnerId, u64), Lend>,
    pub pins: Vec<Pin>,
    /// Touches of pinned pages.
    pub parked: Vec<(u64, bool)>,
    /// Pins have gone: parked touches and orders are looked at again.
    pub unpinned: bool,
    /// Events read while something else was done.
    pub backlog: VecDeque<Event>,
    pub around: super::events::Around,
    pub report: Migrations,
    /// What went wrong at the end of a launch, for whom asks.
    pub failed: Vec<(PinId, Error)>,
    pub next_pin: PinId,
}

/// Pages that a launch works on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pin {
    pub id: PinId,
    pub owner: OwnerId,
    pub start: u64,
    pub end: u64,
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
            next_owner: 0,
            lends: BTreeMap::new(),
            pins: Vec::new(),
            parked: Vec::new(),
            unpinned: false,
            backlog: VecDeque::new(),
            around: super::events::Around::default(),
            report: Migrations::default(),
            failed: Vec::new(),
            next_pin: 0,
        })
    }

    /// A number for an owner.
    pub fn attach(&mut self, owner: Box<dyn Owner>) -> Result<OwnerId, Error> {
        if !self.watch.add_thread(owner.thread()) {
            return Err(Error::Sharing(
                "too many contexts share the memory of this process: close some".into(),
            ));
        }
        self.next_owner += 1;
        self.owners.insert(self.next_owner, owner);
        Ok(self.next_owner)
    }

    pub fn owner(&mut self, id: OwnerId) -> Result<&mut Box<dyn Owner>, Error> {
        self.owners.get_mut(&id).ok_or(Error::ContextClosed)
    }

    /// Whether a launch works on a page of the range; of another owner only, if one is named.
    pub fn pinned(&self, start: u64, len: u64, except: Option<OwnerId>) -> bool {
        self.pins
            .iter()
            .any(|pin| pin.start < start + len && start < pin.end && Some(pin.owner) != except)
    }

    /// Runs of the range, joined, each with who has it.
    pub fn residency(&self, start: u64, len: u64) -> Vec<Residence> {
        let mut found: Vec<Residence> = Vec::new();
        for run in self.blocks.runs(start, len) {
            let owner = match run.place {
                Place::Away(Away { owner, .. }) => Some(owner),
                _ => None,
            };
            match found.last_mut() {
                Some(last) if last.owner == owner => last.len += run.len,
                _ => found.push(Residence {
                    start: run.start,
                    len: run.len,
                    owner,
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
