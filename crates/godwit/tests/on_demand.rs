// SPDX-License-Identifier: Apache-2.0
//! Plain memory of the process whose pages come while a kernel runs, on the real RTL: with the page DMA (card `tapasco`) and without
//! (`default`).
#![allow(
    clippy::unwrap_used,
    clippy::undocumented_unsafe_blocks,
    reason = "a test that cannot go on says so by failing"
)]

mod mock;
mod process;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use godwit::{Card, Cause, Completion, Context, Error, ErrorKind, Mode, OpenOptions, Value};
use process::{Mapped, PAGE, alone, is_pattern, on_device, pattern};

const CARDS: [&str; 2] = ["sim:default", "sim:tapasco"];

fn open(name: &str) -> (Card, Context) {
    let card = Card::open(name, OpenOptions::new()).unwrap_or_else(|error| panic!("{error}"));
    let context = card.context(Some(Mode::Sv48)).unwrap();
    context.share_process().unwrap();
    (card, context)
}

fn copy<'a>(
    card: &Card,
    context: &Context,
    from: impl Into<Value<'a>>,
    to: impl Into<Value<'a>>,
    bytes: usize,
) -> Result<Completion, Error> {
    card.kernel("memcopy")?
        .context(context)
        .arg("src", from.into())
        .arg("dst", to.into())
        .arg("bytes", bytes)
        .arg("iterations", 1u64)
        .run()
}

/// Gives up memory until no page of it is there: who looks after pages may still answer a touch that was before.
fn give_up(context: &Context, memory: &Mapped) {
    for _ in 0..50 {
        context.discard(memory.slice());
        std::thread::sleep(std::time::Duration::from_millis(20));
        if !memory.was_touched() {
            return;
        }
    }
    panic!("{memory:?} is there again and again");
}

#[test]
fn pages_come_while_the_kernel_runs_and_cycles_repeat() {
    const PAGES: usize = 70;
    let _alone = alone();
    for name in CARDS {
        let mut runs = Vec::new();
        let (from, to) = (Mapped::private(PAGES).filled(3), Mapped::private(PAGES));
        for _ in 0..2 {
            let (card, context) = open(name);
            let before = context.migrations().unwrap();
            let done = copy(&card, &context, &*from.slice(), to.slice(), PAGES * PAGE).unwrap();
            let moved = context.migrations().unwrap().since(&before);
            assert_eq!(moved.to_device(Cause::Launch), 0, "{name}");
            assert!(moved.requests > 0 && moved.batches > 0, "{moved:?}");
            assert!(moved.prefetched > 0, "{name}: {moved:?}");
            assert!(moved.requests < 2 * PAGES as u64, "{name}: {moved:?}");
            assert_eq!(moved.lent, 0, "{name}");
            let went = moved.to_device(Cause::Request) + moved.cleared;
            assert_eq!(went, 2 * (PAGES * PAGE) as u64, "{name}");
            assert_eq!(on_device(&context, to.slice()), (PAGES * PAGE) as u64);
            assert!(is_pattern(to.slice(), 3), "{name}");
            assert!(is_pattern(from.slice(), 3), "{name}");
            to.slice().fill(7);
            give_up(&context, &to);
            runs.push((done.cycles, moved));
        }
        assert_eq!(runs[0].0, runs[1].0, "{name}, {from:?}, {to:?}: {runs:?}");
    }
}

#[test]
fn edges_and_memory_behind_pointers_are_lent() {
    let _alone = alone();
    for name in CARDS {
        let (card, context) = open(name);
        let (from, to) = (Mapped::private(5).filled(3), Mapped::private(5).filled(9));
        let before = context.migrations().unwrap();
        // The kernel is given a bare address to read from, and bytes in the middle of pages to write to.
        let (first, len) = (PAGE + 64, 2 * PAGE);
        let source = Value::Address(from.at as u64 + first as u64);
        copy(
            &card,
            &context,
            source,
            &mut to.slice()[first..first + len],
            len,
        )
        .unwrap();
        let moved = context.migrations().unwrap().since(&before);
        assert_eq!(moved.lent, 5 * PAGE as u64, "{name}: {moved:?}");
        assert_eq!(moved.to_device(Cause::Request), PAGE as u64, "{name}");
        for at in 0..5 * PAGE {
            let seed = if (first..first + len).contains(&at) {
                3
            } else {
                9
            };
            assert_eq!(to.slice()[at], pattern(seed, at), "{name} {at}");
        }
    }
}

#[test]
fn what_is_no_memory_is_a_fault_that_says_so() {
    let _alone = alone();
    let (card, context) = open("sim:default");
    let to = Mapped::private(2);
    let gone = Mapped::lone(2).unmap();
    let result = copy(
        &card,
        &context,
        Value::Address(gone as u64),
        to.slice(),
        2 * PAGE,
    );
    let Err(Error::Fault(fault)) = result else {
        panic!("{result:?}")
    };
    assert!(
        fault.to_string().contains("there is no memory at"),
        "{fault}"
    );
    // The card is as good as before.
    let from = Mapped::private(2).filled(4);
    copy(&card, &context, &*from.slice(), to.slice(), 2 * PAGE).unwrap();
    assert!(is_pattern(to.slice(), 4));
}

/// Threads of the program and a kernel on the same pages at once: all go on, and nothing is lost.
#[test]
fn threads_touch_pages_of_a_running_kernel() {
    const PAGES: usize = 48;
    let _alone = alone();
    for name in CARDS {
        let (card, context) = open(name);
        let (from, to) = (Mapped::private(PAGES).filled(5), Mapped::private(PAGES));
        let shared = Mapped::private(PAGES);
        let before = context.migrations().unwrap();
        let stop = AtomicBool::new(false);
        let counted = std::thread::scope(|scope| {
            let words = unsafe {
                std::slice::from_raw_parts(from.at.cast::<AtomicU64>(), PAGES * PAGE / 8)
            };
            let toucher = scope.spawn(|| {
                let mut seen = 0_u64;
                for page in (0..PAGES).cycle() {
                    // Written with what is there: the page changes hands, its bytes do not. A plain zero would be optimised away.
                    words[page * PAGE / 8].fetch_add(std::hint::black_box(0), Ordering::Relaxed);
                    seen += 1;
                    if stop.load(Ordering::Relaxed) {
                        return seen;
                    }
                    std::thread::sleep(std::time::Duration::from_micros(200));
                }
                seen
            });
            // As often as it takes until a touch finds its page away.
            for round in 0..50 {
                if round >= 3 && context.migrations().unwrap().since(&before).touches > 0 {
                    break;
                }
                copy(
                    &card,
                    &context,
                    &*from.slice(),
                    shared.slice(),
                    PAGES * PAGE,
                )
                .unwrap();
                copy(&card, &context, &*shared.slice(), to.slice(), PAGES * PAGE).unwrap();
            }
            stop.store(true, Ordering::Relaxed);
            toucher.join().unwrap()
        });
        let moved = context.migrations().unwrap().since(&before);
        assert!(counted > 0 && moved.touches > 0, "{name}: {moved:?}");
        assert_eq!(
            moved.waited, 0,
            "{name}: nobody waits for the end of a kernel"
        );
        assert!(is_pattern(to.slice(), 5), "{name}");
        assert!(is_pattern(from.slice(), 5), "{name}");
    }
}

#[test]
fn a_context_that_ends_under_a_kernel_gives_everything_back() {
    let _alone = alone();
    for name in CARDS {
        let (from, to) = (Mapped::private(300).filled(5), Mapped::private(300));
        let (card, context) = open(name);
        let launch = card
            .kernel("memcopy")
            .unwrap()
            .context(&context)
            .arg("src", &*from.slice())
            .arg("dst", to.slice())
            .arg("bytes", 300 * PAGE)
            .arg("iterations", 1000u64);
        let launch = unsafe { launch.start_on_memory() }.unwrap();
        std::thread::sleep(std::time::Duration::from_millis(100));
        card.close().unwrap();
        assert!(launch.wait().is_err());
        assert!(is_pattern(from.slice(), 5), "{name}");
    }
}

#[test]
fn data_larger_than_device_memory_goes_through() {
    const PAGES: usize = 400;
    const ROOM: u64 = 100;
    let _alone = alone();
    for name in CARDS {
        let (card, context) = open(name);
        let (from, to) = (Mapped::private(PAGES).filled(3), Mapped::private(PAGES));
        // All but a little of the memory is somebody else's.
        let page = PAGE as u64;
        let memory = card.description().config.card.memory_bytes;
        let mut taken = Vec::new();
        let mut left = memory;
        while let Some(frames) = largest(&card, &mut left) {
            taken.push(frames);
        }
        // Room for tables and for some pages.
        let mut spare = 0;
        while spare < ROOM * page {
            spare += taken.pop().unwrap().extent().len;
        }
        assert!(spare < PAGES as u64 * page, "{spare} bytes are free");
        let before = context.migrations().unwrap();
        for _ in 0..2 {
            copy(&card, &context, &*from.slice(), to.slice(), PAGES * PAGE).unwrap();
        }
        let moved = context.migrations().unwrap().since(&before);
        assert!(moved.evicted > 0, "{name}: {moved:?}");
        // What was only read leaves without a copy.
        assert!(
            moved.to_host(Cause::Eviction) < moved.evicted,
            "{name}: {moved:?}"
        );
        assert!(is_pattern(to.slice(), 3), "{name}");
        assert!(is_pattern(from.slice(), 3), "{name}");
    }
}

/// Kernels that wait for pages are not lost, however long the host works on these: one piece of work after the other, each shorter than
/// what the watchdog takes for a hang.
#[test]
fn the_watchdog_does_not_bite_while_the_host_works() {
    const PAGES: usize = 256;
    let _alone = alone();
    let options = OpenOptions::from_json(r#"{"watchdog_cycles": 3000}"#).unwrap();
    let card = Card::open("sim:tapasco", options).unwrap_or_else(|error| panic!("{error}"));
    let context = card.context(Some(Mode::Sv48)).unwrap();
    context.share_process().unwrap();
    let (from, to) = (Mapped::private(PAGES).filled(3), Mapped::private(PAGES));
    copy(&card, &context, &*from.slice(), to.slice(), PAGES * PAGE).unwrap();
    assert!(is_pattern(to.slice(), 3));
}

/// A card that is lost with moves under way touches nothing any more, and what was on it or on its way is the program's again.
#[test]
fn a_card_that_fails_while_pages_move_leaves_them_to_the_program() {
    const PAGES: usize = 200;
    let _alone = alone();
    // Less than what the link takes for an answer.
    let options = OpenOptions::from_json(r#"{"watchdog_cycles": 60}"#).unwrap();
    let card = Card::open("sim:tapasco", options).unwrap_or_else(|error| panic!("{error}"));
    let context = card.context(Some(Mode::Sv48)).unwrap();
    context.share_process().unwrap();
    let (from, to) = (Mapped::private(PAGES).filled(3), Mapped::private(PAGES));
    let error = copy(&card, &context, &*from.slice(), to.slice(), PAGES * PAGE).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Hang, "{error}");
    assert!(is_pattern(from.slice(), 3));
    assert!(to.slice().iter().all(|byte| *byte == 0));
}

/// Takes a piece of what is left of the memory: the largest power of two that there is.
fn largest(card: &Card, left: &mut u64) -> Option<godwit::Frames> {
    loop {
        match card.alloc_frames(*left, PAGE as u64) {
            Ok(frames) => return Some(frames),
            Err(_) if *left / 2 >= PAGE as u64 => *left /= 2,
            Err(_) => return None,
        }
    }
}
