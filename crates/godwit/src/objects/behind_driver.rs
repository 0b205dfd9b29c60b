// SPDX-License-Identifier: Apache-2.0
//! Cards behind the driver as people hold them, over a driver of the tests' own: what works, in which order, and what is refused.

use std::io::Write;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use godwit_card::OpenOptions;
use rustix::io::Errno;

use crate::driver::uapi::{
    Allocation, HeapState, INFO_MIGRATE, Info, PLACE_CARD, PLACE_HOST, PLACE_NONE, PLACE_SHOWN,
};
use crate::driver::{Channel, DriverCard, Ran, described_tests};
use crate::hardware::window::Window;
use crate::objects::behind_driver_heap::Heap;
use crate::{Card, Context, Error, ErrorKind, HostRange, Launch, Residency, Value, Waited, regs};

/// Counts for which the kernel does something else than to add.
pub(super) const FOR_EVER: u64 = 1000;
const FAILS: u64 = 1001;
const FAULTS: u64 = 1002;
const GONE: u64 = 1003;

/// What all open files of the tests' driver share.
#[derive(Default)]
pub(super) struct Machine {
    opened: AtomicU32,
    /// Counts of launches, as they came; and the file whose launches shall end.
    log: Mutex<(Vec<u64>, Option<u32>)>,
    changed: Condvar,
    /// Moves: address, bytes, home.
    moves: Mutex<Vec<(u64, u64, bool)>>,
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

    fn heap_state(&self) -> Result<HeapState, Errno> {
        Ok(self.machine.heap.lock().unwrap().state())
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

fn start(context: &Context, values: &[u64], count: u64) -> Launch {
    let launch = context.card().kernel("add").unwrap().context(context);
    let launch = launch.arg("values", values).arg("count", count);
    // SAFETY: the tests' driver touches no memory.
    unsafe { launch.start_on_memory() }.unwrap()
}

pub(super) fn until_running(machine: &Machine) {
    let mut log = machine.log.lock().unwrap();
    while log.0.is_empty() {
        log = machine.changed.wait(log).unwrap();
    }
}

#[test]
fn a_kernel_gets_pointers_numbers_and_defaults_and_its_results_are_read() {
    let (card, machine) = open(0);
    let context = card.context(None).unwrap();
    context.share_process().unwrap();
    let values = [1u64, 2, 3];
    let done = start(&context, &values, 5).wait().unwrap();
    assert_eq!(done.result("sum"), Some((1 << 32) | 15));
    assert_eq!((done.cycles, done.result("status")), (0, Some(0)));
    // The first context took the file that the card was asked with.
    assert_eq!(
        (context.id(), machine.opened.load(Ordering::Relaxed)),
        (0, 1)
    );
    assert_eq!(card.context(None).unwrap().id(), 1);
    assert_eq!(card.memory_free(), (4096, 0));
}

#[test]
fn launches_of_a_kernel_come_in_their_order() {
    let (card, machine) = open(0);
    let contexts = [card.context(None).unwrap(), card.context(None).unwrap()];
    let values = [0u64];
    let launches: Vec<_> = (0..50)
        .map(|count| start(&contexts[count % 2], &values, count as u64))
        .collect();
    for (count, launch) in launches.into_iter().enumerate() {
        let sum = launch.wait().unwrap().result("sum").unwrap();
        assert_eq!(sum, (1 << 32) | (3 * count as u64));
    }
    let log = machine.log.lock().unwrap();
    assert_eq!(log.0, (0..50).collect::<Vec<_>>());
}

#[test]
fn ends_with_a_status_a_fault_and_without_a_card_say_so() {
    let (card, _) = open(0);
    let context = card.context(None).unwrap();
    let values = [0u64; 4];
    let failed = start(&context, &values, FAILS).wait().unwrap_err();
    assert!(
        matches!(&failed, Error::Status { value: 2, completion, .. } if completion.result("sum") == Some(7)),
        "{failed}"
    );
    let fault = start(&context, &values, FAULTS).wait().unwrap_err();
    assert_eq!(fault.kind(), ErrorKind::Fault);
    let text = fault.to_string();
    let address = format!("write to {:p} refused", values.as_ptr());
    assert!(
        text.contains(&address) && text.contains("no memory there"),
        "{text}"
    );
    let gone = start(&context, &values, GONE).wait().unwrap_err();
    assert!(matches!(gone, Error::Broken(_)), "{gone}");
}

#[test]
fn a_launch_that_runs_and_one_that_waits_are_cancelled() {
    let (card, machine) = open(0);
    let (one, other) = (card.context(None).unwrap(), card.context(None).unwrap());
    let values = [0u64];
    let runs = start(&one, &values, FOR_EVER);
    until_running(&machine);
    let (waits, after) = (start(&other, &values, 4), start(&one, &values, 6));
    let time = Some(Duration::from_millis(5));
    assert_eq!(runs.wait_within(None, time).unwrap(), Waited::TimeOver);
    assert!(waits.cancel().unwrap());
    let error = waits.wait().unwrap_err();
    assert!(matches!(error, Error::Cancelled { .. }), "{error}");
    assert!(!runs.is_ended());
    assert!(runs.cancel().unwrap());
    let error = runs.wait().unwrap_err();
    assert!(matches!(error, Error::Cancelled { .. }), "{error}");
    assert_eq!(after.wait().unwrap().result("sum"), Some((1 << 32) | 18));
}

#[test]
fn closing_a_context_ends_its_launches_and_closing_the_card_all() {
    let (card, machine) = open(0);
    let (one, other) = (card.context(None).unwrap(), card.context(None).unwrap());
    let values = [0u64];
    let runs = start(&one, &values, FOR_EVER);
    until_running(&machine);
    let waits = start(&other, &values, 3);
    one.close().unwrap();
    let error = runs.wait().unwrap_err();
    assert!(matches!(error, Error::Cancelled { why, .. } if why.contains("context")));
    assert!(waits.wait().is_ok());
    assert!(matches!(one.share_process(), Err(Error::ContextClosed)));

    machine.log.lock().unwrap().0.clear();
    let runs = start(&other, &values, FOR_EVER);
    until_running(&machine);
    card.close().unwrap();
    assert!(matches!(runs.wait(), Err(Error::Closed)));
    assert!(!card.is_open());
    assert!(matches!(card.context(None), Err(Error::Closed)));
    assert!(matches!(card.stats(), Err(Error::Closed)));
}

#[test]
fn a_callback_may_launch_and_wait() {
    let (card, machine) = open(0);
    let context = card.context(None).unwrap();
    let values = [0u64];
    let first = start(&context, &values, FOR_EVER);
    until_running(&machine);
    let (sender, receiver) = std::sync::mpsc::channel();
    let again = context.clone();
    first
        .on_end(move || {
            let sum = start(&again, &[0], 2).wait().unwrap().result("sum");
            sender.send(sum).unwrap();
        })
        .unwrap();
    first.cancel().unwrap();
    assert_eq!(receiver.recv().unwrap(), Some((1 << 32) | 6));
}

#[test]
fn pages_move_where_the_driver_can_and_hints_never_fail() {
    let (card, machine) = open(INFO_MIGRATE);
    let context = card.context(None).unwrap();
    let page = std::alloc::Layout::from_size_align(4 * 4096, 4096).unwrap();
    // SAFETY: a layout of some bytes.
    let at = unsafe { std::alloc::alloc_zeroed(page) } as u64;
    // SAFETY: that memory, which is freed last.
    let part = unsafe { HostRange::new(at + 8, 3 * 4096, true) };
    context.migrate_to_device(part).unwrap();
    context.migrate_to_host(part).unwrap();
    // Whole pages go; all that are touched come home.
    assert_eq!(
        *machine.moves.lock().unwrap(),
        [(at + 4096, 2 * 4096, false), (at + 8, 3 * 4096, true)]
    );

    let (card, machine) = open(0);
    let context = card.context(None).unwrap();
    context.prefetch(part);
    context.migrate_to_host(part).unwrap();
    assert_eq!(machine.moves.lock().unwrap().len(), 1);
    // SAFETY: as it was allocated.
    unsafe { std::alloc::dealloc(at as *mut u8, page) };
}

#[test]
fn places_of_pages_are_runs_of_those_that_are_alike() {
    let (card, _) = open(0);
    let context = card.context(None).unwrap();
    let pages = vec![0u8; 9 * 4096];
    let start = (pages.as_ptr() as u64).next_multiple_of(4 * 4096);
    // SAFETY: nothing is done there.
    let memory = |at, bytes| unsafe { HostRange::new(at, bytes, true) };
    let runs = context.residency(memory(start + 8, 4 * 4096)).unwrap();
    let expected = [
        (start, 2 * 4096, Residency::Host),
        (start + 2 * 4096, 4096, Residency::InPlace),
        (start + 3 * 4096, 4096, Residency::Device),
        (start + 4 * 4096, 4096, Residency::Host),
    ];
    assert_eq!(runs, expected);
    context.close().unwrap();
    let closed = context.residency(memory(start, 4096));
    assert!(matches!(closed, Err(Error::ContextClosed)));
}

#[test]
fn counters_are_read_where_they_are() {
    let (card, machine) = open(0);
    let counters = card.counters().unwrap();
    assert_eq!(counters.faults_lost, regs::FAULTS_LOST);
    let first = regs::WALKER_COUNTERS_WALKS;
    assert_eq!(counters.walker.walks, (first + 4) << 32 | first);
    // By a file that is open anyway; by one of its own when there is none.
    assert_eq!(machine.opened.load(Ordering::Relaxed), 1);
    card.context(None).unwrap().close().unwrap();
    assert_eq!(card.counters().unwrap(), counters);
    assert_eq!(machine.opened.load(Ordering::Relaxed), 2);
    card.close().unwrap();
    assert!(matches!(card.counters(), Err(Error::Closed)));
}

#[test]
fn what_the_driver_does_not_give_is_said() {
    let (card, _) = open(0);
    let context = card.context(None).unwrap();
    let refused = [
        card.stats().map(drop),
        card.reg_read(0).map(drop),
        card.run(1, 0).map(drop),
        card.alloc_frames(4096, 4096).map(drop),
        context.table_bytes().map(drop),
        context.migration_counts().map(drop),
    ];
    for result in refused {
        let error = result.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Device);
        assert!(
            error
                .to_string()
                .starts_with("/dev/godwit7: the driver gives"),
            "{error}"
        );
    }
    let values = [0u64];
    let prepared = || {
        let launch = card.kernel("add").unwrap().context(&context);
        launch.arg("values", &values[..]).arg("count", 1u64)
    };
    let cycles = prepared().timeout_cycles(5).run().unwrap_err().to_string();
    assert!(cycles.contains("does not tell a card's cycles"), "{cycles}");
    assert!(prepared().bare().run().is_err());
    let number = card.kernel("add").unwrap().context(&context);
    let number = number.arg("values", Value::Number(8)).arg("count", 1u64);
    let error = number.run().unwrap_err().to_string();
    assert!(error.contains("0x8 is in no memory"), "{error}");
    let nowhere = card.kernel("add").unwrap().arg("values", Value::Null);
    let error = nowhere.arg("count", 1u64).run().unwrap_err().to_string();
    assert!(error.contains("in which context"), "{error}");
    let mode = card.context(Some(godwit_core::Mode::Sv39));
    assert_eq!(mode.unwrap_err().kind(), ErrorKind::Argument);
}

#[test]
fn a_device_that_is_not_there_says_what_to_do() {
    let error = Card::open("/dev/godwit-none", OpenOptions::new()).unwrap_err();
    assert!(error.to_string().contains("load the driver"), "{error}");
    let error = Card::open("/dev/null", OpenOptions::new()).unwrap_err();
    assert!(
        error.to_string().contains("no card of Godwit's driver"),
        "{error}"
    );
}
