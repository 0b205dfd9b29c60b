// SPDX-License-Identifier: Apache-2.0
//! What kernels touch, page by page: one entry for each time a stream of accesses comes to another page.

/// Pages of 4 KiB in a MiB.
pub const MIB: u64 = 256;

/// One access: page and whether it writes.
pub type Access = (u64, bool);

/// Accesses of one kernel.
pub struct Trace {
    /// Its name.
    pub name: &'static str,
    /// In the order of the program.
    pub accesses: Vec<Access>,
    /// Accesses that the kernel has under way at a time; 1: each depends on the one before.
    pub parallel: usize,
    /// First page and pages of each buffer.
    pub buffers: Vec<(u64, u64)>,
}

impl Trace {
    /// First and last page of the buffer that holds `page`.
    pub fn limits(&self, page: u64) -> (u64, u64) {
        let found = self
            .buffers
            .iter()
            .find(|&&(first, pages)| (first..first + pages).contains(&page));
        found.map_or((page, page), |&(first, pages)| (first, first + pages - 1))
    }

    /// Pages touched at all.
    pub fn touched(&self) -> u64 {
        let mut pages: Vec<_> = self.accesses.iter().map(|access| access.0).collect();
        pages.sort_unstable();
        pages.dedup();
        pages.len() as u64
    }
}

/// SplitMix64 (Steele 2014): the same numbers everywhere.
pub struct Random(pub u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `limit`.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}

/// Buffers one behind the other, each at a 2 MiB border and with the same gap, as large allocations lie.
fn lay_out(sizes: &[u64]) -> Vec<(u64, u64)> {
    let mut at = 0x7f00_0000;
    sizes
        .iter()
        .map(|&pages| {
            let buffer = (at, pages);
            at += pages.next_multiple_of(2 * MIB) + 2 * MIB;
            buffer
        })
        .collect()
}

/// A sum over 32 MiB, `passes` times.
pub fn linear(passes: u64) -> Trace {
    let buffers = lay_out(&[32 * MIB]);
    let first = buffers[0].0;
    let once = (0..32 * MIB).map(|page| (first + page, false));
    let accesses = (0..passes).flat_map(|_| once.clone()).collect();
    Trace {
        name: "linear",
        accesses,
        parallel: 16,
        buffers,
    }
}

/// A column of a 64 MiB matrix whose rows take 20 KiB.
pub fn strided() -> Trace {
    let buffers = lay_out(&[64 * MIB]);
    let first = buffers[0].0;
    let accesses = (0..64 * MIB / 5)
        .map(|row| (first + 5 * row, false))
        .collect();
    Trace {
        name: "strided",
        accesses,
        parallel: 16,
        buffers,
    }
}

/// Build from 8 MiB into a table of 16 MiB, probe with 16 MiB, matches out: 8-byte keys, a random slot each eighth.
pub fn hash_join() -> Trace {
    let buffers = lay_out(&[8 * MIB, 16 * MIB, 16 * MIB, 8 * MIB]);
    let [build, table, probe, out] = [0, 1, 2, 3].map(|index: usize| buffers[index].0);
    let mut random = Random(1);
    let mut accesses = Vec::new();
    for page in 0..8 * MIB {
        accesses.push((build + page, false));
        accesses.extend((0..64).map(|_| (table + random.below(16 * MIB), true)));
    }
    for page in 0..16 * MIB {
        accesses.push((probe + page, false));
        accesses.extend((0..64).map(|_| (table + random.below(16 * MIB), false)));
        accesses.push((out + page / 2, true));
    }
    Trace {
        name: "hash join",
        accesses,
        parallel: 16,
        buffers,
    }
}

/// Five points, rows of 16 KiB, 16 MiB in and out, in turns.
pub fn stencil(steps: u64) -> Trace {
    const ROW: u64 = 4;
    const ROWS: u64 = 16 * MIB / ROW;
    let buffers = lay_out(&[16 * MIB, 16 * MIB]);
    let mut accesses = Vec::new();
    for step in 0..steps {
        let (from, to) = match step % 2 {
            0 => (buffers[0].0, buffers[1].0),
            _ => (buffers[1].0, buffers[0].0),
        };
        for row in 0..ROWS {
            for column in 0..ROW {
                for near in row.saturating_sub(1)..(row + 2).min(ROWS) {
                    accesses.push((from + near * ROW + column, false));
                }
                accesses.push((to + row * ROW + column, true));
            }
        }
    }
    Trace {
        name: "stencil",
        accesses,
        parallel: 16,
        buffers,
    }
}

/// A binary search tree of 64-byte nodes, 32 MiB, allocated in the order in which random keys came; 4000 look-ups.
pub fn pointer_chase() -> Trace {
    let nodes = 32 * MIB * 64;
    let buffers = lay_out(&[32 * MIB]);
    let first = buffers[0].0;
    let mut random = Random(2);
    let mut keys: Vec<u64> = (0..nodes).map(|_| random.next()).collect();
    keys.sort_unstable();
    keys.dedup();
    // The shape of the tree of random insertions: the n-th node splits a random gap. Its path is found by inserting.
    let mut order: Vec<u64> = keys.clone();
    for at in (1..order.len()).rev() {
        order.swap(at, random.below(at as u64 + 1) as usize);
    }
    let mut children = vec![[u32::MAX; 2]; order.len()];
    for node in 1..order.len() {
        let mut at = 0;
        loop {
            let side = usize::from(order[node] > order[at]);
            match children[at][side] {
                u32::MAX => break children[at][side] = node as u32,
                next => at = next as usize,
            }
        }
    }
    let mut accesses = Vec::new();
    for _ in 0..4000 {
        let key = keys[random.below(keys.len() as u64) as usize];
        let mut at = 0_usize;
        loop {
            accesses.push((first + at as u64 / 64, false));
            if order[at] == key {
                break;
            }
            at = children[at][usize::from(key > order[at])] as usize;
        }
    }
    Trace {
        name: "pointer chase",
        accesses,
        parallel: 1,
        buffers,
    }
}

/// `count` accesses anywhere in `mib` MiB, a quarter of them writes.
pub fn random(mib: u64, count: u64, name: &'static str) -> Trace {
    let buffers = lay_out(&[mib * MIB]);
    let mut random = Random(3);
    let accesses = (0..count)
        .map(|_| (buffers[0].0 + random.below(mib * MIB), random.below(4) == 0))
        .collect();
    Trace {
        name,
        accesses,
        parallel: 16,
        buffers,
    }
}

/// 32 MiB from end to end and back, `turns` times: what was used last comes first.
pub fn turning(turns: u64) -> Trace {
    let buffers = lay_out(&[32 * MIB]);
    let (first, last) = (buffers[0].0, buffers[0].0 + 32 * MIB - 1);
    let accesses = (0..turns)
        .flat_map(|_| (first..=last).chain((first..=last).rev()))
        .map(|page| (page, false))
        .collect();
    Trace {
        name: "there and back",
        accesses,
        parallel: 16,
        buffers,
    }
}

/// `count` accesses to 32 MiB, four of five of them to one fifth of the pages, which lie anywhere.
pub fn skewed(count: u64) -> Trace {
    let buffers = lay_out(&[32 * MIB]);
    let mut random = Random(4);
    let mut pages: Vec<u64> = (0..32 * MIB).map(|page| buffers[0].0 + page).collect();
    for at in (1..pages.len()).rev() {
        pages.swap(at, random.below(at as u64 + 1) as usize);
    }
    let hot = pages.len() as u64 / 5;
    let accesses = (0..count)
        .map(|_| {
            let limit = if random.below(5) > 0 { hot } else { 32 * MIB };
            (pages[random.below(limit) as usize], false)
        })
        .collect();
    Trace {
        name: "skewed",
        accesses,
        parallel: 16,
        buffers,
    }
}

/// Four parts of 32 MiB one after the other, each walked six times before the next.
pub fn phases() -> Trace {
    let buffers = lay_out(&[32 * MIB]);
    let first = buffers[0].0;
    let part = |part: u64| (0..6).flat_map(move |_| part * 8 * MIB..(part + 1) * 8 * MIB);
    let accesses = (0..4)
        .flat_map(part)
        .map(|page| (first + page, false))
        .collect();
    Trace {
        name: "phases",
        accesses,
        parallel: 16,
        buffers,
    }
}
