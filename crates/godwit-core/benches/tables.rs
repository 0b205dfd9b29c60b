// SPDX-License-Identifier: Apache-2.0
//! Times calls on page tables in host memory: the cost of the decisions, without any link to a card. Native figures of
//! the machine they run on: compare them with each other only.

use std::hint::black_box;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use godwit_core::{Error, Invalidation, Mode, PageSize, PageTable, Perm, TableMemory};

const BYTES: u64 = 1 << 30;
const ROUNDS: u32 = 5;

/// Frames in one vector, from address 0 on; freed ones are zeroed and used again.
#[derive(Default)]
struct Frames {
    words: Vec<u64>,
    free: Vec<u64>,
}

impl TableMemory for Frames {
    fn read(&self, pa: u64) -> u64 {
        self.words[pa as usize / 8]
    }

    fn write(&mut self, pa: u64, entry: u64) {
        self.words[pa as usize / 8] = entry;
    }

    fn alloc(&mut self) -> Option<u64> {
        Some(self.free.pop().unwrap_or_else(|| {
            let pa = self.words.len() as u64 * 8;
            self.words.resize(self.words.len() + 512, 0);
            pa
        }))
    }

    fn free(&mut self, pa: u64) {
        self.words[pa as usize / 8..][..512].fill(0);
        self.free.push(pa);
    }
}

/// Best of the rounds, each the sum of one kind of call.
struct Best {
    map: Duration,
    lookup: Duration,
    protect: Duration,
    unmap: Duration,
}

fn measure(page: PageSize) -> Result<Best, Error> {
    let mut best = Best {
        map: Duration::MAX,
        lookup: Duration::MAX,
        protect: Duration::MAX,
        unmap: Duration::MAX,
    };
    let mut table = PageTable::new(Frames::default(), Mode::Sv48)?;
    for _ in 0..ROUNDS {
        let mut inval = Invalidation::new();
        let start = Instant::now();
        table.map(BYTES, 0, BYTES, Perm::ReadWrite, page)?;
        best.map = best.map.min(start.elapsed());

        let start = Instant::now();
        for va in (BYTES..2 * BYTES).step_by(page.bytes() as usize) {
            black_box(table.lookup(va)?);
        }
        best.lookup = best.lookup.min(start.elapsed());

        let start = Instant::now();
        table.protect(BYTES, BYTES, Perm::Read, &mut inval)?;
        best.protect = best.protect.min(start.elapsed());

        let start = Instant::now();
        table.unmap(BYTES, BYTES, &mut inval)?;
        table.reclaim();
        best.unmap = best.unmap.min(start.elapsed());
    }
    Ok(best)
}

fn main() -> ExitCode {
    println!("1 GiB in one call (lookups one by one), best of {ROUNDS}; ns a page");
    println!(
        "{:>8} {:>8} {:>8} {:>8} {:>8} {:>8}",
        "page", "pages", "map", "lookup", "protect", "unmap"
    );
    for page in PageSize::EVERYWHERE {
        let pages = BYTES / page.bytes();
        let per_page = |time: Duration| time.as_nanos() as f64 / pages as f64;
        match measure(page) {
            Ok(best) => println!(
                "{:>8} {pages:>8} {:>8.1} {:>8.1} {:>8.1} {:>8.1}",
                page.to_string(),
                per_page(best.map),
                per_page(best.lookup),
                per_page(best.protect),
                per_page(best.unmap)
            ),
            Err(error) => {
                eprintln!("{page:?}: {error}");
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}
