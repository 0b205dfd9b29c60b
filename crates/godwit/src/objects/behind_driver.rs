// SPDX-License-Identifier: Apache-2.0
//! Cards behind the driver as people hold them, over a driver of the tests' own: what works, in which order, and what is refused.

use std::sync::atomic::Ordering;
use std::time::Duration;

use godwit_card::OpenOptions;

use crate::driver::uapi::{
    ADVICE_AUTO, ADVICE_IN_PLACE, ADVICE_MOVE, ADVICE_READ_MOSTLY, INFO_MIGRATE,
};
use crate::objects::driver_of_tests::{FAILS, FAULTS, FOR_EVER, GONE, open, until_running};
use crate::{
    Advice, Card, Context, Error, ErrorKind, HostRange, Launch, Residency, Value, Waited, regs,
};

fn start(context: &Context, values: &[u64], count: u64) -> Launch {
    let launch = context.card().kernel("add").unwrap().context(context);
    let launch = launch.arg("values", values).arg("count", count);
    // SAFETY: the tests' driver touches no memory.
    unsafe { launch.start_on_memory() }.unwrap()
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
fn advice_is_the_drivers_to_follow() {
    let (card, machine) = open(INFO_MIGRATE);
    let context = card.context(None).unwrap();
    let pages = vec![0u8; 4096];
    let at = pages.as_ptr() as u64;
    for advice in [
        Advice::InPlace,
        Advice::Migrate,
        Advice::Auto,
        Advice::ReadMostly,
    ] {
        context.advise(&pages[..], advice);
    }
    let told = [
        ADVICE_IN_PLACE,
        ADVICE_MOVE,
        ADVICE_AUTO,
        ADVICE_READ_MOSTLY,
    ];
    assert_eq!(
        *machine.advised.lock().unwrap(),
        told.map(|advice| (at, 4096, advice))
    );
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
