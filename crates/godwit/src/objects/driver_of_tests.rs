// SPDX-License-Identifier: Apache-2.0
//! A driver of the tests' own, with a kernel that adds, memory that is said to move, and a heap that has no memory.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex};

use godwit_card::OpenOptions;
use godwit_core::layout;
use rustix::io::Errno;

use crate::Card;
use crate::driver::uapi::{
    ALLOCATION_FREE, ALLOCATION_MALLOC, ALLOCATION_POPULATE, ALLOCATION_REALLOC, ALLOCATION_SMALL,
    Allocation, HEAP_STATE_HOST, HEAP_STATE_LACKS, HEAP_STATE_STRICT, HeapState, Info, PLACE_CARD,
    PLACE_HOST, PLACE_NONE, PLACE_SHOWN,
};
use crate::driver::{Channel, DriverCard, Ran, described_tests};
use crate::hardware::window::Window;

/// Counts for which the kernel does something else than to add.
pub(super) const FOR_EVER: u64 = 1000;
pub(super) const FAILS: u64 = 1001;
pub(super) const FAULTS: u64 = 1002;
pub(super) const GONE: u64 = 1003;

/// What all open files of the tests' driver share.
#[derive(Default)]
pub(super) struct Machine {
    pub opened: AtomicU32,
    /// Counts of launches, as they came; and the file whose launches shall end.
    pub log: Mutex<(Vec<u64>, Option<u32>)>,
    changed: Condvar,
    /// Moves: address, bytes, home.
    pub moves: Mutex<Vec<(u64, u64, bool)>>,
    pub advised: Mutex<Vec<(u64, u64, u32)>>,
    pub heap: Mutex<Heap>,
    flags: u32,
}

struct File {
    number: u32,
    machine: Arc<Machine>,
}

impl Channel for File {
    fn info(&self) -> Result<Info, Errno> {
        let info = described_tests::info();
        Ok(Info {
            context: self.number,
            flags: info.flags | self.machine.flags,
            ..info
        })
    }

    fn run(&self, slot: u32, writes: &[(u32, u32)], reads: &[u32]) -> Result<Ran, Errno> {
        assert_eq!(slot, 0);
        assert_eq!(reads, [48, 52, 60]);
        let word = |offset| writes.iter().find(|(at, _)| *at == offset).unwrap().1;
        let long = |offset| u64::from(word(offset)) | (u64::from(word(offset + 4)) << 32);
        let (values, count) = (long(16), long(28));
        let mut log = self.machine.log.lock().unwrap();
        log.0.push(count);
        self.machine.changed.notify_all();
        match count {
            FOR_EVER => {
                while log.1.take_if(|of| *of == self.number).is_none() {
                    log = self.machine.changed.wait(log).unwrap();
                }
                Err(Errno::CANCELED)
            }
            GONE => Err(Errno::NODEV),
            FAULTS => Ok(Ran {
                values: vec![0, 0, 1],
                fault: Some((15, values)),
            }),
            FAILS => Ok(Ran {
                values: vec![7, 0, 2],
                fault: None,
            }),
            count => Ok(Ran {
                values: vec![count as u32 * word(40), 1, 0],
                fault: None,
            }),
        }
    }

    fn cancel(&self, _: u32) -> Result<(), Errno> {
        self.machine.log.lock().unwrap().1 = Some(self.number);
        self.machine.changed.notify_all();
        Ok(())
    }

    fn migrate(&self, address: u64, bytes: u64, home: bool) -> Result<u64, Errno> {
        let mut moves = self.machine.moves.lock().unwrap();
        moves.push((address, bytes, home));
        Ok(bytes / 4096)
    }

    fn advise(&self, address: u64, bytes: u64, advice: u32) -> Result<u32, Errno> {
        let mut advised = self.machine.advised.lock().unwrap();
        advised.push((address, bytes, advice));
        Ok(advice)
    }

    fn residency(&self, start: u64, places: &mut [u8]) -> Result<(), Errno> {
        // A page of each kind, and again.
        let kinds = [PLACE_NONE, PLACE_HOST, PLACE_HOST | PLACE_SHOWN, PLACE_CARD];
        let first = start / 4096;
        for (page, place) in (first..).zip(places) {
            *place = kinds[page as usize % kinds.len()];
        }
        Ok(())
    }

    fn counters(&self, offsets: &[u32]) -> Result<Vec<u32>, Errno> {
        // Each word is its place.
        Ok(offsets.to_vec())
    }

    fn allocation(&self, call: &mut Allocation) -> Result<(), Errno> {
        self.machine.heap.lock().unwrap().answer(self.number, call)
    }

    fn show(&self, window: &mut Window, offset: u64, bytes: u64) -> Result<(), Errno> {
        window.blank(offset, bytes, true)
    }

    fn heap_state(&self, region: u32) -> Result<HeapState, Errno> {
        let heap = self.machine.heap.lock().unwrap();
        heap.state(region).ok_or(Errno::INVAL)
    }
}

/// A card on a driver with these flags besides.
pub(super) fn open(flags: u32) -> (Card, Arc<Machine>) {
    let machine = Arc::new(Machine {
        flags,
        ..Machine::default()
    });
    let theirs = Arc::clone(&machine);
    let place = std::env::temp_dir().join(format!(
        "godwit-driver-{}-{:?}.json",
        std::process::id(),
        std::thread::current().id()
    ));
    let mut file = std::fs::File::create(&place).unwrap();
    file.write_all(described_tests::json().as_bytes()).unwrap();
    let options = OpenOptions::new().set("description", place.to_str().unwrap());
    let opener = move || {
        let number = theirs.opened.fetch_add(1, Ordering::Relaxed);
        let machine = Arc::clone(&theirs);
        Ok(Arc::new(File { number, machine }) as Arc<dyn Channel>)
    };
    let opened = DriverCard::over("/dev/godwit7", &options, Box::new(opener));
    std::fs::remove_file(place).unwrap();
    let (driver, description) = opened.unwrap();
    (Card::with_driver(driver, description).unwrap(), machine)
}

pub(super) fn until_running(machine: &Machine) {
    let mut log = machine.log.lock().unwrap();
    while log.0.is_empty() {
        log = machine.changed.wait(log).unwrap();
    }
}

/// Of a region of the heap's memory.
pub(super) const HEAP_BYTES: u64 = 1 << 20;
/// The second one is strict, and in the card's second memory; the third is memory of the host.
pub(super) const REGIONS: u32 = 3;

/// That of the tests' driver.
#[derive(Default)]
pub(super) struct Heap {
    /// Allocations by first address: file, bytes and region.
    pub live: BTreeMap<u64, (u32, u64, u32)>,
}

impl Heap {
    /// Does what a file asks for.
    pub fn answer(&mut self, file: u32, call: &mut Allocation) -> Result<(), Errno> {
        let live = self.live.get(&call.pointer).copied();
        call.status = match (call.op, live) {
            (ALLOCATION_MALLOC | ALLOCATION_REALLOC, _) if call.size == 0 => layout::HEAP_SIZE_ZERO,
            (ALLOCATION_MALLOC, _) if call.region >= REGIONS => return Err(Errno::INVAL),
            (ALLOCATION_MALLOC, _) if call.region == 1 && call.size > HEAP_BYTES => {
                layout::HEAP_NO_FRAME
            }
            (ALLOCATION_MALLOC, _) => {
                let (first, step) = match call.flags & ALLOCATION_SMALL {
                    0 => (layout::HEAP_WINDOW_FIRST, 8 << 30),
                    _ => (layout::HEAP_WINDOW_SMALL, 1 << 16),
                };
                let mut slots = (0..).map(|slot| first + slot * step);
                call.pointer = slots.find(|at| !self.live.contains_key(at)).unwrap();
                let allocation = (file, call.size, call.region);
                self.live.insert(call.pointer, allocation);
                layout::HEAP_OK
            }
            // Where something is populated is checked before.
            (ALLOCATION_POPULATE, _) if call.size > HEAP_BYTES => return Err(Errno::NOMEM),
            (ALLOCATION_POPULATE, _) => layout::HEAP_OK,
            (_, None) => layout::HEAP_NOT_LIVE,
            (_, Some((of, ..))) if of != file => layout::HEAP_OTHER_CONTEXT,
            (ALLOCATION_REALLOC, _) if call.size > 8 << 30 => layout::HEAP_TOO_LARGE,
            (ALLOCATION_REALLOC, Some((.., region))) => {
                self.live.insert(call.pointer, (file, call.size, region));
                layout::HEAP_OK
            }
            (ALLOCATION_FREE, _) => {
                self.live.remove(&call.pointer);
                layout::HEAP_OK
            }
            _ => return Err(Errno::INVAL),
        };
        Ok(())
    }

    /// What a region is like.
    pub fn state(&self, region: u32) -> Option<HeapState> {
        let taken = self.live.values().filter(|(.., of)| *of == region).count() as u64;
        let strict = region == 1;
        (region < REGIONS).then_some(HeapState {
            start: 1 << 15 << region,
            bytes: HEAP_BYTES,
            free_bytes: HEAP_BYTES - 4096 * taken,
            clean_bytes: 4096,
            flags: HEAP_STATE_LACKS
                | if strict { HEAP_STATE_STRICT } else { 0 }
                | if region == 2 { HEAP_STATE_HOST } else { 0 },
            region,
            regions: REGIONS,
            reserved: 0,
        })
    }
}
