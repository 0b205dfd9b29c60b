// SPDX-License-Identifier: Apache-2.0
//! Memory of the heap in hardware on the real RTL: the card of `heap.toml`, whose heap is soon full.
//!
//! GODWIT_SEED repeats a run of the random test.
#![allow(
    clippy::unwrap_used,
    clippy::undocumented_unsafe_blocks,
    reason = "a test that cannot go on says so by failing"
)]

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use godwit::{
    Card, Completion, Context, Error, ErrorKind, HeapRefusal, MallocOptions, OpenOptions, Value,
};

const PAGE: usize = 4096;
const HEAP: u64 = 8 << 20;
/// What stays at hand when everything was given back: tables for a walk, and those that slots share.
const KEPT: u64 = 8 * PAGE as u64;

fn open() -> (Card, Context) {
    let card =
        Card::open("sim:heap-test", OpenOptions::new()).unwrap_or_else(|error| panic!("{error}"));
    let context = card.context(None).unwrap();
    (card, context)
}

/// Memory of a context's heap, released at the end.
struct Block<'a> {
    context: &'a Context,
    at: *mut u8,
    bytes: usize,
}

impl<'a> Block<'a> {
    fn new(context: &'a Context, bytes: usize) -> Self {
        Self::with(context, bytes, MallocOptions::new()).unwrap()
    }

    fn with(context: &'a Context, bytes: usize, options: MallocOptions) -> Result<Self, Error> {
        let at = context.malloc(bytes as u64, options)?;
        Ok(Self { context, at, bytes })
    }

    fn resize(&mut self, bytes: usize) -> Result<(), Error> {
        self.context.realloc(self.at, bytes as u64)?;
        self.bytes = bytes;
        Ok(())
    }

    fn bytes(&self) -> &[u8] {
        unsafe { std::slice::from_raw_parts(self.at, self.bytes) }
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        unsafe { std::slice::from_raw_parts_mut(self.at, self.bytes) }
    }

    fn pointer(&self) -> Value<'static> {
        Value::Number(self.at as u64)
    }
}

impl Drop for Block<'_> {
    fn drop(&mut self) {
        self.context.release(self.at).unwrap();
    }
}

fn copy(
    context: &Context,
    from: Value<'_>,
    to: Value<'_>,
    bytes: usize,
) -> Result<Completion, Error> {
    context
        .card()
        .kernel("memcopy")?
        .context(context)
        .arg("src", from)
        .arg("dst", to)
        .arg("bytes", bytes)
        .arg("iterations", 1u64)
        .run()
}

fn refusal(error: Error) -> HeapRefusal {
    match error {
        Error::Heap { refusal, .. } => refusal,
        other => panic!("{other}"),
    }
}

#[test]
fn both_sides_see_the_same_and_it_grows_where_it_is() {
    let (card, context) = open();
    let free = card.heap_free().unwrap();
    let mut from = Block::new(&context, 3 * PAGE);
    let mut to = Block::new(&context, 8 << 30);
    assert!(to.bytes()[..10 * PAGE].iter().all(|byte| *byte == 0));
    assert!(card.heap_free().unwrap() + KEPT >= free, "nobody wrote");
    from.bytes_mut().fill(7);
    copy(&context, from.pointer(), to.pointer(), 3 * PAGE).unwrap();
    assert!(to.bytes()[..3 * PAGE].iter().all(|byte| *byte == 7));
    assert_eq!(to.bytes()[3 * PAGE], 0);
    let at = from.at;
    from.resize(5 * PAGE).unwrap();
    assert_eq!(from.at, at);
    assert!(from.bytes()[..3 * PAGE].iter().all(|byte| *byte == 7));
    assert!(from.bytes()[3 * PAGE..].iter().all(|byte| *byte == 0));
    to.bytes_mut()[100] = 9;
    copy(&context, to.pointer(), from.pointer(), 5 * PAGE).unwrap();
    assert_eq!((from.bytes()[100], from.bytes()[99]), (9, 7));
    assert!(from.bytes()[3 * PAGE..].iter().all(|byte| *byte == 0));
}

#[test]
fn what_is_refused_has_its_code_and_changes_nothing() {
    let (card, context) = open();
    let other = card.context(None).unwrap();
    let mut mine = Block::with(&context, PAGE, MallocOptions::new().small()).unwrap();
    let theirs = Block::new(&other, PAGE);
    mine.bytes_mut().fill(3);
    let malloc = |bytes, options| refusal(context.malloc(bytes, options).unwrap_err());
    assert_eq!(malloc(0, MallocOptions::new()), HeapRefusal::SizeZero);
    assert_eq!(malloc(1 << 40, MallocOptions::new()), HeapRefusal::TooLarge);
    let odd = MallocOptions::new().granule(5000);
    assert_eq!(malloc(1, odd), HeapRefusal::Argument);
    let huge = MallocOptions::new().granule(4 << 20);
    assert_eq!(malloc(1, huge), HeapRefusal::Argument);
    let large = mine.resize(17 * PAGE).unwrap_err();
    assert_eq!(refusal(large), HeapRefusal::TooLarge);
    let inside = context.release(mine.at.wrapping_add(PAGE)).unwrap_err();
    assert_eq!(refusal(inside), HeapRefusal::Foreign);
    let foreign = context.release(theirs.at).unwrap_err();
    assert_eq!(refusal(foreign), HeapRefusal::OtherContext);
    let at = context.malloc(1, MallocOptions::new()).unwrap();
    context.release(at).unwrap();
    let twice = refusal(context.release(at).unwrap_err());
    assert_eq!(twice, HeapRefusal::NotLive);
    let error = context.populate(mine.at, 2 * PAGE as u64).unwrap_err();
    assert!(
        error.to_string().contains("not all in one allocation"),
        "{error}"
    );
    assert!(mine.bytes().iter().all(|byte| *byte == 3));
}

/// The hardware takes back what a shrink cut off later, and leaves what grew again before that.
#[test]
fn what_was_cut_off_is_gone_when_it_grows_again_at_once() {
    let (_card, context) = open();
    let mut block = Block::new(&context, 8 * PAGE);
    let mut busy = Block::new(&context, 600 * PAGE);
    block.bytes_mut().fill(7);
    busy.bytes_mut().fill(8);
    // Taking this back goes first.
    drop(busy);
    block.resize(PAGE).unwrap();
    block.resize(8 * PAGE).unwrap();
    assert!(block.bytes()[..PAGE].iter().all(|byte| *byte == 7));
    assert!(block.bytes()[PAGE..].iter().all(|byte| *byte == 0));
}

/// Threads that allocate, write, grow, shrink, look and free, in contexts of their own and in one that they share, while kernels run.
#[test]
fn threads_use_the_heap_while_kernels_run() {
    const ROUNDS: u64 = 40;
    let seed: u64 = std::env::var("GODWIT_SEED").map_or(1, |text| text.parse().unwrap());
    println!("GODWIT_SEED={seed} repeats this run");
    let (card, shared) = open();
    let free = card.heap_free().unwrap();
    let done = AtomicBool::new(false);
    let launches = AtomicU64::new(0);
    thread::scope(|scope| {
        let workers: Vec<_> = (0..4u64)
            .map(|number| {
                let (card, shared) = (&card, &shared);
                scope.spawn(move || {
                    let own = card.context(None).unwrap();
                    let context = if number % 2 == 0 { shared } else { &own };
                    work(context, seed ^ number << 32, ROUNDS, number as u8);
                })
            })
            .collect();
        scope.spawn(|| {
            let (mut from, to) = (Block::new(&shared, 1 << 20), Block::new(&shared, 1 << 20));
            while !done.load(Ordering::Relaxed) {
                let value = launches.fetch_add(1, Ordering::Relaxed) as u8;
                from.bytes_mut()[..20 * PAGE].fill(value);
                copy(&shared, from.pointer(), to.pointer(), 20 * PAGE).unwrap();
                assert!(to.bytes()[..20 * PAGE].iter().all(|byte| *byte == value));
            }
        });
        for worker in workers {
            let ended = worker.join();
            done.store(true, Ordering::Relaxed);
            ended.unwrap();
        }
    });
    assert!(launches.load(Ordering::Relaxed) > 1);
    shared.close().unwrap();
    card.run(300_000, 0).unwrap();
    assert!(card.heap_free().unwrap() + KEPT >= free, "all came back");
}

fn work(context: &Context, seed: u64, rounds: u64, number: u8) {
    let mut dice = seed | 1;
    let mut below = |limit: u64| {
        dice ^= dice << 13;
        dice ^= dice >> 7;
        dice ^= dice << 17;
        dice % limit
    };
    let mut blocks: Vec<Filled<'_>> = Vec::new();
    for round in 0..rounds {
        match below(4) {
            0 | 1 if blocks.len() < 6 => {
                let pages = 1 + below(12) as usize;
                let (options, group) = match below(3) {
                    0 => (MallocOptions::new().small(), 1),
                    1 => (MallocOptions::new().granule(64 << 10), 16),
                    _ => (MallocOptions::new(), 1),
                };
                let block = Block::with(context, pages * PAGE, options).unwrap();
                let value = number << 6 | round as u8 & 63;
                blocks.push(Filled {
                    block,
                    value,
                    group,
                    written: 0,
                });
                blocks.last_mut().unwrap().check_and_fill(pages);
            }
            2 if !blocks.is_empty() => {
                let at = below(blocks.len() as u64) as usize;
                let pages = 1 + below(16) as usize;
                blocks[at].block.resize(pages * PAGE).unwrap();
                blocks[at].check_and_fill(pages);
            }
            _ if !blocks.is_empty() => {
                let mut last = blocks.swap_remove(below(blocks.len() as u64) as usize);
                let pages = last.block.bytes / PAGE;
                last.check_and_fill(pages);
            }
            _ => {}
        }
    }
}

/// A block that one thread writes full.
struct Filled<'a> {
    block: Block<'a>,
    value: u8,
    /// Pages that come, and go, together.
    group: usize,
    /// Pages that may hold the value.
    written: usize,
}

impl Filled<'_> {
    /// Its pages hold what was written, and zeros where that was cut off, or nobody wrote.
    fn check_and_fill(&mut self, pages: usize) {
        let kept = pages.min(self.written) * PAGE;
        let (old, new) = self.block.bytes().split_at(kept);
        assert!(old.iter().all(|byte| *byte == self.value));
        assert!(new.iter().all(|byte| *byte == 0), "it was somebody's");
        self.block.bytes_mut().fill(self.value);
        // What a shrink leaves of a group is still there when it grows again.
        let left = self.written.min(pages.next_multiple_of(self.group));
        self.written = left.max(pages);
    }
}

#[test]
fn a_kernel_that_finds_the_heap_full_is_stopped_and_says_why() {
    let (card, context) = open();
    let free = card.heap_free().unwrap();
    let bytes = 2 * HEAP as usize;
    let (from, to) = (Block::new(&context, bytes), Block::new(&context, bytes));
    let error = copy(&context, from.pointer(), to.pointer(), bytes).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutOfMemory);
    let text = error.to_string();
    for part in [
        "kernel `memcopy` got no frame of the heap within 60000 cycles",
        "of its 8388608 bytes 0 are free",
        "heap.memory_bytes",
        "the kernel was stopped, the card can be used",
    ] {
        assert!(text.contains(part), "{text}");
    }
    drop((from, to));
    card.run(500_000, 0).unwrap();
    let now = card.heap_free().unwrap();
    assert!(now + KEPT >= free, "{now} of {free}");
    let (mut from, to) = (Block::new(&context, PAGE), Block::new(&context, PAGE));
    from.bytes_mut().fill(5);
    copy(&context, from.pointer(), to.pointer(), PAGE).unwrap();
    assert!(to.bytes().iter().all(|byte| *byte == 5));
}

#[test]
fn a_kernel_that_waits_for_a_frame_goes_on_when_one_is_freed() {
    let (card, context) = open();
    let mut hoard = Block::new(&context, HEAP as usize);
    let most = card.heap_free().unwrap() - 64 * PAGE as u64;
    context.populate(hoard.at, most).unwrap();
    hoard.bytes_mut()[0] = 1;
    let (mut from, to) = (Block::new(&context, PAGE), Block::new(&context, 1 << 20));
    from.bytes_mut().fill(4);
    let launch = card
        .kernel("memcopy")
        .unwrap()
        .context(&context)
        .arg("src", to.pointer())
        .arg("dst", Value::Number(to.at as u64 + 4 * PAGE as u64))
        .arg("bytes", 100 * PAGE)
        .arg("iterations", 1u64)
        .start()
        .unwrap();
    let waited = launch.wait_within(Some(20_000), Some(Duration::from_secs(60)));
    assert_eq!(waited.unwrap(), godwit::Waited::TimeOver);
    assert_eq!(card.heap_free().unwrap(), 0, "it waits for a frame");
    hoard.resize(PAGE).unwrap();
    launch.wait().unwrap();
    assert_eq!(hoard.bytes()[0], 1);
}

#[test]
fn frames_that_are_taken_ahead_are_there_or_refused() {
    let (card, context) = open();
    let free = card.heap_free().unwrap();
    let mut block = Block::new(&context, 2 * HEAP as usize);
    assert_eq!(block.bytes()[0], 0);
    context.populate(block.at, 1 << 20).unwrap();
    let taken = free - card.heap_free().unwrap();
    assert!((1 << 20..=(1 << 20) + KEPT).contains(&taken), "{taken}");
    block.bytes_mut()[..1 << 20].fill(6);
    assert_eq!(free - card.heap_free().unwrap(), taken, "they were there");
    let error = context.populate(block.at, 2 * HEAP).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutOfMemory);
    assert!(matches!(error, Error::HeapFull { free: 0, .. }), "{error}");
    assert!(block.bytes()[..1 << 20].iter().all(|byte| *byte == 6));
}
