// SPDX-License-Identifier: Apache-2.0
//! What moved when: for timelines, and for who asks what happened.

use std::collections::VecDeque;

use super::report::Cause;

/// Moves that are remembered.
const KEPT: usize = 1 << 16;

/// Pages in a row that moved together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Migration {
    /// Virtual time of the card by which all that moved at once was there.
    pub time_ps: u64,
    /// To the card, or home.
    pub to_device: bool,
    /// Why.
    pub cause: Cause,
    /// First address.
    pub address: u64,
    /// Bytes of the pages.
    pub bytes: u64,
    /// They crossed the link: pages never touched, not written, or given up do not.
    pub copied: bool,
}

/// The last moves of a process, in their order, each with the [memory](super::DeviceMemory) that it was to or from.
#[derive(Default)]
pub(super) struct Log(VecDeque<(usize, Migration)>);

impl Log {
    pub fn add(&mut self, memory: usize, migration: Migration) {
        if self.0.len() == KEPT {
            self.0.pop_front();
        }
        self.0.push_back((memory, migration));
    }

    /// Those of one memory.
    pub fn of(&self, memory: usize) -> Vec<Migration> {
        let there = self.0.iter().filter(|(of, _)| *of == memory);
        there.map(|(_, migration)| *migration).collect()
    }

    /// Nobody uses a memory any more.
    pub fn forget(&mut self, memory: usize) {
        self.0.retain(|(of, _)| *of != memory);
    }
}
