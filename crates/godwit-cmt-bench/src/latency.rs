// SPDX-License-Identifier: Apache-2.0
//! Fig. 6: processor time of T requests of 20 MiB and giving them back, for each step from the paper's baseline to the
//! whole. What the steps do per request:
//!
//! | step | finds the place | memory |
//! |---|---|---|
//! | baseline | first fit per area, neighbours from the last down | new pages from the system, cleared, mapped |
//! | + global bitmap | range allocator | the same |
//! | + pre-allocation | range allocator | pages taken at start; mapped |
//! | + buffer pool | `cmt_malloc` | taken and mapped at start |

use std::ffi::c_void;
use std::ptr;

use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use rustix::mm::{MapFlags, ProtFlags, mmap, mmap_anonymous, munmap};
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};

use crate::areas::{AREA, AREAS, MIB, adjacent};
use crate::peers::{ALL, Contiguous};

const REQUEST: usize = 20 << 20;
const TIMES: [usize; 5] = [8, 9, 10, 11, 12];
const STEPS: [&str; 4] = [
    "baseline",
    "+ global bitmap",
    "+ pre-allocation",
    "+ buffer pool",
];

fn cpu_ns() -> u64 {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

type Failure = Box<dyn std::error::Error>;

/// How a request's memory becomes usable.
enum Memory {
    Fresh,
    Mapped(std::os::fd::OwnedFd),
}

impl Memory {
    fn map(&self, at: u64) -> rustix::io::Result<*mut c_void> {
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: memory at an address of the system's choice.
        unsafe {
            match self {
                Memory::Fresh => mmap_anonymous(
                    ptr::null_mut(),
                    REQUEST,
                    protection,
                    MapFlags::PRIVATE | MapFlags::POPULATE,
                ),
                Memory::Mapped(file) => mmap(
                    ptr::null_mut(),
                    REQUEST,
                    protection,
                    MapFlags::SHARED | MapFlags::POPULATE,
                    file,
                    at,
                ),
            }
        }
    }
}

/// Nanoseconds of `times` requests, and how many were served.
fn system(
    allocator: &mut dyn Contiguous,
    memory: &Memory,
    times: usize,
) -> Result<(u64, usize), Failure> {
    let mut held = Vec::with_capacity(times);
    let before = cpu_ns();
    for _ in 0..times {
        if let Some(at) = allocator.alloc(REQUEST as u64) {
            held.push((at, memory.map(at)?));
        }
    }
    let served = held.len();
    for (at, start) in held {
        // SAFETY: what was mapped above, used by nobody.
        unsafe { munmap(start, REQUEST) }?;
        allocator.free(at);
    }
    Ok((cpu_ns() - before, served))
}

fn pool(times: usize) -> (u64, usize) {
    use godwit_cmt::capi::{cmt_free, cmt_malloc};
    let mut held = Vec::with_capacity(times);
    let before = cpu_ns();
    for _ in 0..times {
        // SAFETY: any size is served or refused.
        let block = unsafe { cmt_malloc(REQUEST) };
        if !block.is_null() {
            held.push(block);
        }
    }
    let served = held.len();
    for block in held {
        // SAFETY: a block of the pool.
        unsafe { cmt_free(block) };
    }
    (cpu_ns() - before, served)
}

/// All memory of the areas, present.
fn taken() -> Result<Memory, Failure> {
    let file = memfd_create("godwit-cmt-bench", MemfdFlags::CLOEXEC)?;
    let bytes = AREA * AREAS;
    ftruncate(&file, bytes)?;
    // SAFETY: memory at an address of the system's choice, unmapped at once; the file keeps its pages.
    unsafe {
        let flags = MapFlags::SHARED | MapFlags::POPULATE;
        let start = mmap(
            ptr::null_mut(),
            bytes as usize,
            ProtFlags::READ | ProtFlags::WRITE,
            flags,
            &file,
            0,
        )?;
        munmap(start, bytes as usize)?;
    }
    Ok(Memory::Mapped(file))
}

fn median(mut values: Vec<u64>) -> u64 {
    values.sort_unstable();
    values[values.len() / 2]
}

fn measure(rounds: u64) -> Result<Value, Failure> {
    godwit_cmt::init(&format!("area=0x100000000:{}MiB", AREA * AREAS / MIB))?;
    let ours = ALL[0].1;
    let baseline = ALL[1].1;
    let areas = adjacent();
    let (fresh, mapped) = (Memory::Fresh, taken()?);
    let mut rows = Vec::new();
    for times in TIMES {
        let mut spent: [Vec<u64>; STEPS.len()] = Default::default();
        let mut served = [0; STEPS.len()];
        // Interleaved, so that whatever else the machine does meets all steps alike.
        for _ in 0..rounds.max(1) {
            let results = [
                system(baseline(&areas).as_mut(), &fresh, times)?,
                system(ours(&areas).as_mut(), &fresh, times)?,
                system(ours(&areas).as_mut(), &mapped, times)?,
                pool(times),
            ];
            for (step, (ns, count)) in results.into_iter().enumerate() {
                spent[step].push(ns);
                served[step] = count;
            }
        }
        for (step, name) in STEPS.iter().enumerate() {
            let ns = median(std::mem::take(&mut spent[step]));
            rows.push(json!({"times": times, "step": name, "ns": ns, "served": served[step]}));
        }
    }
    Ok(rows.into())
}

pub fn run(rounds: u64) -> Result<Value, String> {
    measure(rounds).map_err(|error| error.to_string())
}
