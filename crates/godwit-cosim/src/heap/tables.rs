// SPDX-License-Identifier: Apache-2.0
//! What the tables in memory say, which the hardware alone writes below the heap's window: read here entry by entry.

use std::collections::HashMap;

use godwit::layout;
use godwit_card::{CardError, Memory};

use super::HOST_ENTRIES;
use super::model::{Model, PAGE};
use super::regions::Place;

/// Levels of a context's tables.
pub const LEVELS: u32 = 4;

/// Where a walk ends: at a page's frame, or at an entry that is empty.
pub enum Walk {
    Frame(u64),
    Missing { entry: u64, level: u32 },
}

/// What a walker finds at `va`.
pub fn walk(memory: &Memory, root: u64, va: u64) -> Result<Walk, CardError> {
    let mut table = root;
    let mut level = LEVELS - 1;
    loop {
        let entry = table + 8 * (va >> (12 + 9 * level) & 511);
        let found = memory.read_u64(entry)?;
        if found & layout::PTE_V == 0 {
            return Ok(Walk::Missing { entry, level });
        }
        if let Some(order) = leaf_order(found, level) {
            return Ok(Walk::Frame(frame(found, order, va)));
        }
        table = frame(found, 0, 0);
        level -= 1;
    }
}

fn number(entry: u64) -> u64 {
    (entry & layout::PTE_PPN_MASK) >> layout::PTE_PPN_SHIFT
}

/// log2 of the pages that an entry maps; nothing if it points to a table. One of 2^k that say the same has N, and a number that ends in 1
/// and k - 1 zeros.
fn leaf_order(entry: u64, level: u32) -> Option<u32> {
    if level > 0 && entry & (layout::PTE_R | layout::PTE_X) == 0 {
        return None;
    }
    let group = match entry & layout::PTE_N {
        0 => 0,
        _ => number(entry).trailing_zeros() + 1,
    };
    Some(9 * level + group)
}

/// Address of the frame that an entry of 2^order pages gives to the one at `va`.
fn frame(entry: u64, order: u32, va: u64) -> u64 {
    let pages = (1 << order) - 1;
    ((number(entry) & !pages) | ((va / PAGE) & pages)) * PAGE
}

/// Frames in use, by address, and whose they are.
pub struct Used<'a> {
    memory: &'a Memory,
    places: &'a [Place],
    frames: Vec<u64>,
    owners: HashMap<u64, (usize, u64)>,
}

impl<'a> Used<'a> {
    pub fn new(memory: &'a Memory, places: &'a [Place]) -> Self {
        Self {
            memory,
            places,
            frames: vec![0; places.len()],
            owners: HashMap::new(),
        }
    }

    /// How many there are, by region.
    pub fn frames(self) -> Vec<u64> {
        self.frames
    }

    /// Adds a context; each page that is mapped must be a live one, and each frame, and table, somebody's alone.
    pub fn context(
        &mut self,
        number: usize,
        root: u64,
        model: &Model,
    ) -> Result<Result<(), String>, CardError> {
        self.table(number, root, LEVELS - 1, 0, model)
    }

    fn table(
        &mut self,
        context: usize,
        table: u64,
        level: u32,
        base: u64,
        model: &Model,
    ) -> Result<Result<(), String>, CardError> {
        let mut content = vec![0; PAGE as usize];
        self.memory.read(table, &mut content)?;
        let span = PAGE << (9 * level);
        for (va, bytes) in (base..).step_by(span as usize).zip(content.chunks_exact(8)) {
            let mut word = [0; 8];
            word.copy_from_slice(bytes);
            let entry = u64::from_le_bytes(word);
            if level == LEVELS - 1 && va / span < HOST_ENTRIES {
                continue;
            }
            if entry & layout::PTE_V == 0 {
                if entry != 0 {
                    return Ok(Err(format!("the entry of {va:#x} is {entry:#x}")));
                }
                continue;
            }
            // Tables are in the first region, and a page's frame is in the one that its allocation was made in.
            let result = match leaf_order(entry, level) {
                Some(order) => self.pages(context, (va, span), entry, order, model),
                None => {
                    let at = frame(entry, 0, 0);
                    match self.take((context, va), at, Some(0)) {
                        Ok(()) => self.table(context, at, level - 1, va, model)?,
                        refused => refused,
                    }
                }
            };
            if result.is_err() {
                return Ok(result);
            }
        }
        Ok(Ok(()))
    }

    /// Those that an entry maps where it stands: one of a table of level 0, or all of a larger page.
    fn pages(
        &mut self,
        context: usize,
        (base, span): (u64, u64),
        entry: u64,
        order: u32,
        model: &Model,
    ) -> Result<(), String> {
        for va in (base..base + span).step_by(PAGE as usize) {
            let at = frame(entry, order, va);
            self.take((context, va), at, model.region_at(va))?;
            if model.live_page(context, va).is_none() {
                return Err(format!(
                    "page {va:#x} of context {context} has frame {at:#x}, and nothing is allocated there"
                ));
            }
        }
        Ok(())
    }

    fn take(&mut self, of: (usize, u64), at: u64, region: Option<usize>) -> Result<(), String> {
        let (number, va) = of;
        let found = self.places.iter().position(|place| place.holds(at));
        let (Some(found), true) = (found, found == region || region.is_none()) else {
            return Err(format!(
                "{va:#x} of context {number} has {at:#x}, which is of region {found:?} and not of {region:?}"
            ));
        };
        self.frames[found] += 1;
        match self.owners.insert(at, of) {
            None => Ok(()),
            Some(other) => Err(format!(
                "frame {at:#x} is that of {va:#x} in context {number}, and of {:#x} in context {}",
                other.1, other.0
            )),
        }
    }
}

/// Whether memory holds what was written to live allocations; `roots` by context.
pub fn compare(
    memory: &Memory,
    roots: &[u64],
    model: &Model,
) -> Result<Result<(), String>, CardError> {
    let mut found = [0; 64];
    for (context, va, lines) in model.written() {
        let at = match walk(memory, roots[context], va)? {
            Walk::Frame(at) => at + va % PAGE,
            // Nobody wrote it if what it grew over had been taken back.
            Walk::Missing { .. } if lines.iter().any(|line| line.iter().all(|byte| *byte == 0)) => {
                continue;
            }
            Walk::Missing { .. } => {
                return Ok(Err(format!(
                    "{va:#x} of context {context} was written and has no frame"
                )));
            }
        };
        memory.read(at, &mut found)?;
        if !lines.contains(&found) {
            return Ok(Err(format!(
                "{va:#x} of context {context}, in memory at {at:#x}, is not what was written"
            )));
        }
    }
    Ok(Ok(()))
}
