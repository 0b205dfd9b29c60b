// SPDX-License-Identifier: Apache-2.0
//! Memory for page tables that watches every access, and a walk through it.

#![allow(dead_code)] // each test binary uses its own part

use std::cell::RefCell;

use godwit_core::walker::{self, Access, PageFault, Translation};
use godwit_core::{Mapping, Mode, PageTable, Perm, TableMemory};

pub const PAGE: u64 = 4096;
pub const MIB: u64 = 1 << 20;
pub const GIB: u64 = 1 << 30;
const WORDS: usize = 512;

pub type Frame = Box<[u64; WORDS]>;

/// Table frames from physical address 0 on. A panic must not cross C, so misuse is noted and found by `assert_clean`.
#[derive(Debug, Default)]
pub struct TestMemory {
    /// `None`: not allocated.
    pub frames: Vec<Option<Frame>>,
    /// Allocations that still succeed.
    pub budget: usize,
    /// Writes in order, while recording.
    pub log: Option<Vec<(u64, u64)>>,
    misuse: RefCell<Vec<String>>,
}

impl TestMemory {
    pub fn new() -> Self {
        TestMemory {
            budget: usize::MAX,
            ..Self::default()
        }
    }

    pub fn live(&self) -> usize {
        self.frames.iter().flatten().count()
    }

    pub fn assert_clean(&self) {
        assert_eq!(*self.misuse.borrow(), Vec::<String>::new());
    }

    fn note(&self, what: &str, pa: u64) {
        self.misuse.borrow_mut().push(format!("{what} at {pa:#x}"));
    }
}

/// The value of an entry in a set of frames; 0 outside of them.
pub fn word(frames: &[Option<Frame>], pa: u64) -> u64 {
    let frame = frames.get((pa / PAGE) as usize).and_then(Option::as_ref);
    frame.map_or(0, |frame| frame[(pa % PAGE / 8) as usize])
}

impl TableMemory for TestMemory {
    fn read(&self, pa: u64) -> u64 {
        if pa % 8 != 0 || !matches!(self.frames.get((pa / PAGE) as usize), Some(Some(_))) {
            self.note("read outside of the tables", pa);
        }
        word(&self.frames, pa)
    }

    fn write(&mut self, pa: u64, entry: u64) {
        match self.frames.get_mut((pa / PAGE) as usize) {
            Some(Some(frame)) if pa % 8 == 0 => frame[(pa % PAGE / 8) as usize] = entry,
            _ => self.note("write outside of the tables", pa),
        }
        if let Some(log) = &mut self.log {
            log.push((pa, entry));
        }
    }

    fn alloc(&mut self) -> Option<u64> {
        if self.budget == 0 {
            return None;
        }
        self.budget = self.budget.saturating_sub(1);
        let index = self
            .frames
            .iter()
            .position(Option::is_none)
            .unwrap_or(self.frames.len());
        if index == self.frames.len() {
            self.frames.push(None);
        }
        self.frames[index] = Some(Box::new([0; WORDS]));
        Some(index as u64 * PAGE)
    }

    fn free(&mut self, pa: u64) {
        match self.frames.get_mut((pa / PAGE) as usize) {
            Some(frame @ Some(_)) if pa % PAGE == 0 => *frame = None,
            _ => self.note("free of what is not allocated", pa),
        }
        while let Some(None) = self.frames.last() {
            self.frames.pop();
        }
    }
}

pub fn table(mode: Mode) -> PageTable<TestMemory> {
    PageTable::new(TestMemory::new(), mode).unwrap()
}

/// A walk by the specification through the table's memory.
pub fn walk(
    table: &PageTable<TestMemory>,
    va: u64,
    access: Access,
) -> Result<Translation, PageFault> {
    walker::translate(
        table.napot(),
        |pa| table.memory().read(pa),
        table.mode(),
        table.root(),
        va,
        access,
    )
}

/// What the specification's walk and the lookup say about the page of `va`; they must agree.
pub fn translate(table: &PageTable<TestMemory>, va: u64) -> Option<(u64, Perm)> {
    let found = table.lookup(va).ok();
    let load = walk(table, va, Access::Load).ok();
    let store = walk(table, va, Access::Store).ok();
    assert_eq!(
        load.map(|t| (t.pa, t.size)),
        found.map(|m| (m.translate(va), m.size))
    );
    assert_eq!(store, load.filter(|t| t.writable));
    assert_eq!(
        load.map(|t| t.writable),
        found.map(|m| m.perm == Perm::ReadWrite)
    );
    found.map(|m| (m.translate(va), m.perm))
}

/// All mappings of a table.
pub fn pages(table: &PageTable<TestMemory>) -> Vec<Mapping> {
    let mut pages = Vec::new();
    table
        .walk(0, u64::MAX, |page| {
            pages.push(*page);
            true
        })
        .unwrap();
    pages
}
