// SPDX-License-Identifier: Apache-2.0
//! Kernels that wait for a frame of a heap that has none.
//!
//! A first touch without a frame is parked, and goes on when one is freed: by another thread of the program, or by a kernel. When
//! nothing is freed for `heap.wait_cycles` cycles the launches that stand still are stopped, so that whoever waits for them hears why.

use super::State;
use crate::Error;
use crate::hardware::counters::Counters;
use crate::hardware::heap::HeapMemory;
use crate::hardware::mmu;

/// Looks in the time that a kernel may wait.
const LOOKS: u64 = 8;

/// What was seen of the heap while kernels were at work.
#[derive(Default)]
pub(super) struct HeapWatch {
    next_look: u64,
    lack: Option<Lack>,
}

/// Somebody waits for a frame.
struct Lack {
    since: u64,
    memory: HeapMemory,
    /// Requests of each port by then.
    requests: Vec<u64>,
}

impl State {
    /// Looks whether kernels wait for frames that nobody frees, and ends their launches.
    pub(super) fn watch_heap(&mut self) -> Result<(), Error> {
        let now = self.device.stats()?.cycles;
        let Some((heap, watch)) = &mut self.heap else {
            return Ok(());
        };
        if now < watch.next_look {
            return Ok(());
        }
        let limit = heap.wait_cycles;
        watch.next_look = now + limit / LOOKS;
        let slots = self.launches_on_heap();
        if slots.is_empty() {
            self.set_lack(None);
            return Ok(());
        }
        let memory = self.heap_memory()?;
        if !memory.lacks || memory.reclaiming {
            self.set_lack(None);
            return Ok(());
        }
        let seen = self
            .heap
            .as_ref()
            .and_then(|(_, watch)| watch.lack.as_ref());
        match seen.filter(|lack| lack.memory == memory) {
            None => {
                self.wake_waiting()?;
                let requests = self.requests()?;
                self.set_lack(Some(Lack {
                    since: now,
                    memory,
                    requests,
                }));
            }
            Some(lack) if now - lack.since >= limit => {
                let (since, before) = (lack.since, lack.requests.clone());
                self.set_lack(None);
                self.give_up(&slots, &before, since)?;
            }
            Some(_) => {}
        }
        Ok(())
    }

    /// What the error says that ends a wait.
    pub fn heap_full(&mut self, who: String, stopped: Option<bool>) -> Error {
        let cycles = self.heap.as_ref().map_or(0, |(heap, _)| heap.wait_cycles);
        let regions = match self.heap_regions() {
            Ok(regions) => regions,
            Err(error) => return error,
        };
        // Of several memories the one that lacks frames is the one with the fewest.
        let fullest = regions.iter().min_by_key(|region| region.free);
        Error::HeapFull {
            who,
            cycles,
            bytes: fullest.map_or(0, |region| region.bytes),
            free: fullest.map_or(0, |region| region.free),
            stopped,
        }
    }

    fn set_lack(&mut self, lack: Option<Lack>) {
        if let Some((_, watch)) = &mut self.heap {
            watch.lack = lack;
        }
    }

    /// What lacked a frame may not be there any more. A context that is written, here one that does not exist, has all who still
    /// wait ask again.
    fn wake_waiting(&mut self) -> Result<(), Error> {
        if let Some(id) = self.contexts.iter().position(Option::is_none) {
            mmu::set_context(self.device.as_mut(), id, None, mmu::Walks::default())?;
        }
        Ok(())
    }

    /// Addresses that each port was given.
    fn requests(&mut self) -> Result<Vec<u64>, Error> {
        let ports = self.ports.len() as u32;
        let Counters { ports, .. } = mmu::counters(self.device.as_mut(), ports)?;
        let of = |port: &crate::PortCounters| port.read.requests + port.write.requests;
        Ok(ports.iter().map(of).collect())
    }

    /// Ends those launches whose ports were given no address since.
    fn give_up(&mut self, slots: &[usize], before: &[u64], since: u64) -> Result<(), Error> {
        let requests = self.requests()?;
        for &slot in slots {
            let stands = |port: &u32| {
                let port = *port as usize;
                before.get(port) == requests.get(port)
            };
            let ports = self.ports_at_work(slot, since);
            if !ports.is_empty() && ports.iter().all(stands) {
                self.stop_for_heap(slot)?;
            }
        }
        Ok(())
    }
}
