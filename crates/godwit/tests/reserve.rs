// SPDX-License-Identifier: Apache-2.0
//! Pages that come when kernels touch them, on the real RTL. Needs the card `default`.
#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on says so by failing"
)]

use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use godwit::{
    Access, AllocOptions, Buffer, Card, Context, Error, FRAME_BYTES, OpenOptions, PageAnswer,
    PageHandler, ReserveOptions,
};

const PAGES: u64 = 40;
const BYTES: u64 = PAGES * FRAME_BYTES - 100;

/// One at a time: addresses, and so cycles, are the same in every run only if nobody else takes some.
static ALONE: Mutex<()> = Mutex::new(());

fn open() -> (Card, Context, MutexGuard<'static, ()>) {
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let card =
        Card::open("sim:default", OpenOptions::new()).unwrap_or_else(|error| panic!("{error}"));
    let context = card.context(None).unwrap();
    (card, context, alone)
}

/// A file with a pattern, gone with its handle's process.
fn file(name: &str, bytes: u64) -> (std::path::PathBuf, Vec<u8>) {
    let data: Vec<u8> = (0..bytes).map(|i| (i * 7 + i / 4096) as u8).collect();
    let path = std::env::temp_dir().join(format!("godwit-reserve-{}-{name}", std::process::id()));
    std::fs::File::create(&path)
        .unwrap()
        .write_all(&data)
        .unwrap();
    (path, data)
}

fn copy(card: &Card, from: &Buffer, to: &Buffer, bytes: u64) -> Result<u64, Error> {
    let launch = card.kernel("memcopy")?.arg("src", from).arg("dst", to);
    let done = launch.arg("bytes", bytes).arg("iterations", 1u64).run()?;
    Ok(done.cycles)
}

fn contents(buffer: &Buffer) -> Vec<u8> {
    let mut bytes = vec![0; buffer.len() as usize];
    buffer.read(0, &mut bytes).unwrap();
    bytes
}

#[test]
fn a_file_is_copied_page_by_page() {
    let (path, data) = file("copied", BYTES);
    let mut cycles = Vec::new();
    for _ in 0..2 {
        let (card, context, _alone) = open();
        let source = context
            .reserve(0, ReserveOptions::new().file(&path).access(Access::Read))
            .unwrap();
        let target = context.reserve(BYTES, ReserveOptions::new()).unwrap();
        assert_eq!(
            (
                source.len(),
                source.resident_pages(),
                target.resident_pages()
            ),
            (BYTES, 0, 0)
        );
        assert_eq!(contents(&source), data);
        card.clear_counters().unwrap();
        cycles.push(copy(&card, &source, &target, BYTES).unwrap());
        assert_eq!(contents(&target), data);
        let counters = card.counters().unwrap().page;
        // Once each, and answered.
        assert_eq!(
            (counters.requests, counters.resolved, counters.refused),
            (2 * PAGES, 2 * PAGES, 0)
        );
        assert_eq!(
            (source.resident_pages(), target.resident_pages()),
            (PAGES, PAGES)
        );
        // What has come stays: a second copy asks for nothing, and takes a fraction.
        let again = copy(&card, &source, &target, BYTES).unwrap();
        assert_eq!(card.counters().unwrap().page.requests, 2 * PAGES);
        assert!(again * 4 < cycles[0], "{again} of {cycles:?}");
        let free = card.memory_free().0;
        drop((source, target));
        assert!(card.memory_free().0 >= free + 2 * PAGES * FRAME_BYTES);
    }
    assert_eq!(cycles[0], cycles[1], "the same in every run");
    std::fs::remove_file(path).unwrap();
}

#[test]
fn what_the_host_wrote_before_a_page_came_is_there() {
    let (card, context, _alone) = open();
    let source = context
        .reserve(4 * FRAME_BYTES, ReserveOptions::new())
        .unwrap();
    let target = context.alloc(4 * FRAME_BYTES, AllocOptions::new()).unwrap();
    source.write(FRAME_BYTES + 5, b"written").unwrap();
    source.bring(2 * FRAME_BYTES, 1).unwrap();
    assert_eq!(source.resident_pages(), 1);
    source.write(2 * FRAME_BYTES, b"after").unwrap();
    copy(&card, &source, &target, source.len()).unwrap();
    assert_eq!(source.resident_pages(), 4);
    let seen = contents(&target);
    assert_eq!(&seen[FRAME_BYTES as usize + 5..][..7], b"written");
    assert_eq!(&seen[2 * FRAME_BYTES as usize..][..5], b"after");
    assert_eq!(seen.iter().filter(|byte| **byte != 0).count(), 12);
}

struct Numbered(AtomicU64);

impl PageHandler for Numbered {
    fn fill(&self, offset: u64, page: &mut [u8]) -> PageAnswer {
        self.0.fetch_add(1, Ordering::Relaxed);
        match offset / FRAME_BYTES {
            6 => PageAnswer::Refused("page 6 is not for sale".into()),
            7 => PageAnswer::Unanswered,
            number => {
                page.fill(number as u8 + 1);
                PageAnswer::Filled
            }
        }
    }
}

#[test]
fn a_handler_fills_refuses_or_says_nothing() {
    let (card, context, _alone) = open();
    let handler = Arc::new(Numbered(AtomicU64::new(0)));
    let options = ReserveOptions::new().handler(handler.clone());
    let source = context.reserve(8 * FRAME_BYTES, options).unwrap();
    let target = context.alloc(8 * FRAME_BYTES, AllocOptions::new()).unwrap();
    copy(&card, &source, &target, 6 * FRAME_BYTES).unwrap();
    let seen = contents(&target);
    for page in 0..6 {
        assert!(
            seen[page * 4096..][..4096]
                .iter()
                .all(|byte| *byte == page as u8 + 1)
        );
    }
    assert_eq!(handler.0.load(Ordering::Relaxed), 6);
    // Refused: the error names the address and the reason; the card goes on.
    let error = copy(&card, &source, &target, 7 * FRAME_BYTES).unwrap_err();
    let Error::Fault(fault) = &error else {
        panic!("{error}")
    };
    assert_eq!(fault.address & !4095, source.address() + 6 * FRAME_BYTES);
    assert!(
        error.to_string().contains("page 6 is not for sale"),
        "{error}"
    );
    copy(&card, &source, &target, 6 * FRAME_BYTES).unwrap();
    // Never answered: given up by the hardware, an error and no hang.
    let last = card.kernel("memcopy").unwrap();
    let last = last
        .arg("src", source.address() + 7 * FRAME_BYTES)
        .context(&context);
    let error = last
        .arg("dst", &target)
        .arg("bytes", 64u64)
        .arg("iterations", 1u64)
        .run()
        .unwrap_err();
    assert!(matches!(&error, Error::Fault(_)), "{error}");
    assert!(error.to_string().contains("it was not answered"), "{error}");
    assert_eq!(card.counters().unwrap().page.timeouts, 1);
    copy(&card, &source, &target, 6 * FRAME_BYTES).unwrap();
}

#[test]
fn what_is_no_reservation_s_is_refused() {
    let (card, context, _alone) = open();
    let source = context
        .reserve(2 * FRAME_BYTES, ReserveOptions::new())
        .unwrap();
    let target = context
        .reserve(2 * FRAME_BYTES, ReserveOptions::new().access(Access::Read))
        .unwrap();
    // The kernel writes it: refused by the runtime, and by the host if it is not told so.
    assert!(matches!(
        copy(&card, &source, &target, 64),
        Err(Error::Argument(_))
    ));
    let run = |to: u64, bytes: u64| {
        let launch = card.kernel("memcopy").unwrap().arg("src", &source);
        let launch = launch
            .arg("dst", godwit::Value::Address(to))
            .arg("bytes", bytes);
        launch.arg("iterations", 1u64).run()
    };
    let error = run(target.address(), 64).unwrap_err();
    assert!(
        error.to_string().contains("the reservation is read-only"),
        "{error}"
    );
    let error = run(1 << 36, 64).unwrap_err();
    assert!(
        error.to_string().contains("it is of no reservation"),
        "{error}"
    );
    assert!(
        error.to_string().contains(&format!("{:#x}", 1u64 << 36)),
        "{error}"
    );
}

#[test]
fn a_context_ends_while_its_kernel_waits() {
    let (card, context, _alone) = open();
    struct Never;
    impl PageHandler for Never {
        fn fill(&self, _: u64, _: &mut [u8]) -> PageAnswer {
            PageAnswer::Unanswered
        }
    }
    let options = ReserveOptions::new().handler(Arc::new(Never));
    let source = context.reserve(4 * FRAME_BYTES, options).unwrap();
    let target = context.alloc(4 * FRAME_BYTES, AllocOptions::new()).unwrap();
    let launch = card
        .kernel("memcopy")
        .unwrap()
        .arg("src", &source)
        .arg("dst", &target);
    let launch = launch
        .arg("bytes", source.len())
        .arg("iterations", 1u64)
        .start()
        .unwrap();
    card.run(5_000, 0).unwrap();
    assert!(card.counters().unwrap().page.requests > 0);
    context.close().unwrap();
    assert!(matches!(launch.wait(), Err(Error::Cancelled { .. })));
    // The card goes on, also under the same number.
    let next = card.context(None).unwrap();
    assert_eq!(next.id(), context.id());
    let source = next.reserve(FRAME_BYTES, ReserveOptions::new()).unwrap();
    let target = next.reserve(FRAME_BYTES, ReserveOptions::new()).unwrap();
    copy(&card, &source, &target, FRAME_BYTES).unwrap();
}

#[test]
fn a_handler_cannot_use_the_card() {
    struct Asks(Card);
    impl PageHandler for Asks {
        fn fill(&self, _: u64, _: &mut [u8]) -> PageAnswer {
            PageAnswer::Refused(self.0.stats().unwrap_err().to_string())
        }
    }
    let (card, context, _alone) = open();
    let options = ReserveOptions::new().handler(Arc::new(Asks(card.clone())));
    let source = context.reserve(FRAME_BYTES, options).unwrap();
    let target = context.alloc(FRAME_BYTES, AllocOptions::new()).unwrap();
    let error = copy(&card, &source, &target, 64).unwrap_err();
    assert!(error.to_string().contains("cannot use the card"), "{error}");
}
