// SPDX-License-Identifier: Apache-2.0
//! Random accesses, and what each must do.

use std::collections::HashMap;

use godwit::layout;
use godwit_card::PortBatch;
use godwit_core::Perm;
use rand::Rng;
use rand::seq::IndexedRandom;

use crate::world::World;
use crate::{CosimError, Random, Report};

const PAGE: u64 = 4096;
const LINE: u64 = 64;
/// Different pages of one region that are used, so that memory stays small and pages are met again.
const HOT_PAGES: u64 = 48;

/// One access of a batch; its token is its place in the plan.
#[derive(Debug)]
pub struct Access {
    pub port: u32,
    pub write: bool,
    pub id: u8,
    pub va: u64,
    pub beats: u16,
    pub size: u8,
    pub outcome: Outcome,
}

/// What the oracle says.
#[derive(Debug)]
pub enum Outcome {
    /// It reaches memory at `pa`; a read brings `data`.
    Memory {
        pa: u64,
        data: Vec<u8>,
        page_bytes: u64,
    },
    /// It is refused.
    Fault { cause: u32 },
}

/// A batch.
pub struct Plan {
    pub accesses: Vec<Access>,
}

impl Plan {
    /// Adds the batch to the report.
    pub fn count(&self, report: &mut Report) {
        for access in &self.accesses {
            match &access.outcome {
                Outcome::Memory { page_bytes, .. } => {
                    *report.by_page_kib.entry(page_bytes >> 10).or_default() += 1;
                    if access.write {
                        report.writes += 1;
                    } else {
                        report.reads += 1;
                    }
                }
                Outcome::Fault { cause } => {
                    *report.faults.entry(cause.to_string()).or_default() += 1;
                }
            }
        }
    }

    /// How many of the accesses are refused.
    pub fn faults(&self) -> u64 {
        let refused = |access: &&Access| matches!(access.outcome, Outcome::Fault { .. });
        self.accesses.iter().filter(refused).count() as u64
    }
}

/// Who uses a 64-byte line in this batch. Accesses of one batch overlap in time, so a line that is written has one user.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    Read,
    Written,
}

/// Makes a batch of `count` accesses and queues it.
pub fn plan(
    world: &mut World,
    count: usize,
    random: &mut Random,
    requests: &mut PortBatch,
) -> Result<Plan, CosimError> {
    let mut accesses = Vec::with_capacity(count);
    let mut lines = HashMap::new();
    while accesses.len() < count {
        let Some(access) = one(world, random, &mut lines, accesses.len() as u64, requests)? else {
            continue;
        };
        accesses.push(access);
    }
    Ok(Plan { accesses })
}

/// One access, or `None` when its lines are taken.
fn one(
    world: &mut World,
    random: &mut Random,
    lines: &mut HashMap<u64, Use>,
    token: u64,
    requests: &mut PortBatch,
) -> Result<Option<Access>, CosimError> {
    let port = random.random_range(0..world.ports.len());
    let id = random.random_range(0..1u8 << world.id_bits);
    let write = random.random_bool(0.4);
    let size = *[6u8, 6, 6, 5, 3, 2].choose(random).unwrap_or(&6);
    let room = (PAGE >> size).min(16);
    let beats = if random.random_bool(0.5) {
        1
    } else {
        random.random_range(1..=room)
    };
    let bytes = beats << size;
    let crosses = bytes > 1 << size && random.random_ratio(1, 64);
    let offset = if crosses {
        PAGE - (1 << size)
    } else {
        random.random_range(0..=(PAGE - bytes) >> size) << size
    };
    let va = random_page(world, port, random).wrapping_add(offset);
    let outcome = judge(world, port, va, bytes, write, crosses)?;
    if let Outcome::Memory { pa, .. } = outcome {
        let used = (pa & !(LINE - 1)..pa + bytes).step_by(LINE as usize);
        let clash = used.clone().any(|line| match lines.get(&line) {
            None => false,
            Some(Use::Read) => write,
            Some(Use::Written) => true,
        });
        if clash {
            return Ok(None);
        }
        let kind = if write { Use::Written } else { Use::Read };
        lines.extend(used.map(|line| (line, kind)));
    }
    if write {
        let mut data = vec![0; bytes as usize];
        random.fill(&mut data[..]);
        if let Outcome::Memory { pa, .. } = outcome {
            world.shadow.write(pa, &data)?;
        }
        requests.write(port as u32, token, id, va, &data, size);
    } else {
        requests.read(port as u32, token, id, va, beats as usize, size);
    }
    Ok(Some(Access {
        port: port as u32,
        write,
        id,
        va,
        beats: beats as u16,
        size,
        outcome,
    }))
}

/// A page to go to: mostly one of a region, sometimes one beside it, sometimes anywhere.
fn random_page(world: &World, port: usize, random: &mut Random) -> u64 {
    let number = world.ports[port].unwrap_or(0);
    let Some(region) = world.spaces[number].regions.choose(random) else {
        return random.random::<u64>() & !(PAGE - 1);
    };
    let pages = region.bytes / PAGE;
    let page = match random.random_range(0..64) {
        0 => return random.random::<u64>() & !(PAGE - 1),
        1 => pages,
        2 => u64::MAX,
        _ => {
            let hot = random.random_range(0..pages.min(HOT_PAGES));
            hot * (pages / pages.min(HOT_PAGES))
        }
    };
    region.va.wrapping_add(page.wrapping_mul(PAGE))
}

/// The oracle's word on an access.
fn judge(
    world: &mut World,
    port: usize,
    va: u64,
    bytes: u64,
    write: bool,
    crosses: bool,
) -> Result<Outcome, CosimError> {
    let fault = |cause| Ok(Outcome::Fault { cause });
    let page_fault = if write {
        layout::CAUSE_STORE_PAGE_FAULT
    } else {
        layout::CAUSE_LOAD_PAGE_FAULT
    };
    let Some(number) = world.ports[port] else {
        return fault(layout::CAUSE_PORT_OFF);
    };
    if crosses {
        return fault(layout::CAUSE_BURST_CROSSES_PAGE);
    }
    // Beyond the widest mode an address is refused before its context is looked at.
    let top = (va as i64) >> 56;
    if top != 0 && top != -1 {
        return fault(page_fault);
    }
    if !world.spaces[number].on {
        return fault(layout::CAUSE_CONTEXT_OFF);
    }
    let Some(page) = world.spaces[number].lookup(va)? else {
        return fault(page_fault);
    };
    if write && page.perm != Perm::ReadWrite {
        return fault(page_fault);
    }
    let pa = page.translate(va);
    Ok(Outcome::Memory {
        pa,
        data: if write {
            // Reading the frame fills it on its first use.
            world.shadow.read(pa, 0)?
        } else {
            world.shadow.read(pa, bytes as usize)?
        },
        page_bytes: page.size.bytes(),
    })
}
