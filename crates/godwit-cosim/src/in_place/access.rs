// SPDX-License-Identifier: Apache-2.0
//! Random accesses of the ports.

use godwit_card::PortBatch;
use rand::Rng;
use rand::seq::IndexedRandom;

use super::history::LINE;
use super::pages::{LINES, PAGE};
use super::{CONTEXTS, InPlace};
use crate::Random;

/// Lines of a page where half of the accesses go: those behind the host's.
const HOT_LINES: usize = 6;

/// One access of a batch; its token is its place in the plan.
#[derive(Debug)]
pub struct Access {
    pub port: u32,
    pub write: bool,
    pub id: u8,
    /// The page, and the place among its maps.
    pub page: usize,
    pub map: usize,
    /// First byte in the page, beats, and log2 of a beat's bytes.
    pub at: usize,
    pub beats: usize,
    pub size: u8,
    pub data: Vec<u8>,
}

impl InPlace {
    /// One random access: whole lines and parts of them, one beat or several, reads of everything, writes of what the host does not write.
    pub(super) fn access(
        &mut self,
        token: u64,
        random: &mut Random,
        requests: &mut PortBatch,
    ) -> Access {
        let port = random.random_range(0..self.ports);
        let space = port % CONTEXTS;
        if !self.walks.is_empty() && random.random_ratio(1, 2) {
            return self.step(port, token, random, requests);
        }
        let from = if random.random_ratio(5, 6) {
            &self.busy[space]
        } else {
            &self.of[space]
        };
        let (page, map) = *from.choose(random).unwrap_or(&self.of[space][0]);
        let id = random.random_range(0..1u8 << self.id_bits);
        let size = *[6u8, 6, 6, 5, 3, 2, 0].choose(random).unwrap_or(&6);
        let beats = if random.random_bool(0.5) {
            1
        } else {
            random.random_range(1..=16)
        };
        let bytes = beats << size;
        let host = &self.pages[page].host_lines;
        let line = match random.random_range(0..6) {
            0 if !host.is_empty() => random.random_range(host.clone()),
            1..=3 => (host.end + random.random_range(0..HOT_LINES)) % LINES,
            _ => random.random_range(0..LINES),
        };
        let beat = random.random_range(0..LINE >> size);
        let at = (line * LINE + (beat << size)).min(PAGE as usize - bytes);
        let lines = at / LINE..(at + bytes).div_ceil(LINE);
        let mine = lines.end <= host.start || host.end <= lines.start;
        let write = random.random_bool(0.45) && mine;
        let va = self.pages[page].maps[map].va + at as u64;
        let mut data = Vec::new();
        if write {
            data.resize(bytes, 0);
            random.fill(&mut data[..]);
            requests.write(port as u32, token, id, va, &data, size);
        } else {
            requests.read(port as u32, token, id, va, beats, size);
        }
        Access {
            port: port as u32,
            write,
            id,
            page,
            map,
            at,
            beats,
            size,
            data,
        }
    }

    /// The next lines of a walk through the pages of a port's context, in their order: what a cache that reads ahead waits for.
    fn step(
        &mut self,
        port: usize,
        token: u64,
        random: &mut Random,
        requests: &mut PortBatch,
    ) -> Access {
        let of = &self.of[port % CONTEXTS];
        let (index, line) = self.walks[port];
        let (page, map) = of[index];
        let beats = random.random_range(8..=16).min(LINES - line);
        // Now and then somewhere else.
        self.walks[port] = if random.random_ratio(1, 64) {
            (random.random_range(0..of.len()), 0)
        } else if line + beats < LINES {
            (index, line + beats)
        } else {
            ((index + 1) % of.len(), 0)
        };
        let (at, id, size) = (line * LINE, 0, 6);
        let va = self.pages[page].maps[map].va + at as u64;
        requests.read(port as u32, token, id, va, beats, size);
        Access {
            port: port as u32,
            write: false,
            id,
            page,
            map,
            at,
            beats,
            size,
            data: Vec::new(),
        }
    }
}
