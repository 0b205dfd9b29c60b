// SPDX-License-Identifier: Apache-2.0
//! Many launches: threads, queues, futures, callbacks, and what happens to all of them when the card breaks.
#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on says so by failing"
)]

mod mock;

use std::future::Future;
use std::pin::pin;
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier};
use std::task::{Context as Task, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

use godwit::{AllocOptions, Buffer, Card, Context, Error, LaunchBuilder, Waited};
use mock::{FOREVER, HANGS, MockCard, Protocol, VIOLATES};

const BYTES: u64 = 6400;
const EXACT: u64 = BYTES / 64 + 1;
/// For what must happen at once: a test that would hang fails instead.
const SOON: Duration = Duration::from_secs(60);

fn card(kernels: usize) -> (Card, Context) {
    let card = MockCard::with_kernels(&vec![Protocol::default(); kernels]);
    let card = Card::with_device(Box::new(card)).unwrap();
    let context = card.context(None).unwrap();
    (card, context)
}

struct Pair(Buffer, Buffer);

impl Pair {
    fn new(context: &Context) -> Self {
        let alloc = || context.alloc(BYTES, AllocOptions::new()).unwrap();
        Self(alloc(), alloc())
    }

    fn copy<'a>(&'a self, card: &'a Card, kernel: &str, tag: u32) -> LaunchBuilder<'a> {
        let copy = card.kernel(kernel).unwrap();
        copy.arg("src", &self.0)
            .arg("dst", &self.1)
            .arg("bytes", BYTES)
            .arg("tag", tag)
    }

    fn holds(&self, value: u8) -> bool {
        let mut out = vec![0; BYTES as usize];
        self.1.read(0, &mut out).unwrap();
        out.iter().all(|byte| *byte == value)
    }
}

#[test]
fn launches_of_one_kernel_from_many_threads_all_come_to_their_end() {
    let (card, context) = card(1);
    let barrier = Barrier::new(8);
    thread::scope(|scope| {
        for thread in 0..8u8 {
            let (card, context, barrier) = (&card, &context, &barrier);
            scope.spawn(move || {
                let pair = Pair::new(context);
                barrier.wait();
                for round in 0..5 {
                    let value = thread * 16 + round;
                    pair.0.upload(0, &vec![value; BYTES as usize]).unwrap();
                    let done = pair.copy(card, "copy", 0).run().unwrap();
                    assert_eq!(done.cycles, EXACT);
                    assert!(pair.holds(value));
                }
            });
        }
    });
}

#[test]
fn launches_of_a_busy_kernel_run_in_the_order_in_which_they_came() {
    let (card, context) = card(1);
    let pairs: Vec<Pair> = (0..6).map(|_| Pair::new(&context)).collect();
    let launches: Vec<_> = pairs
        .iter()
        .map(|pair| pair.copy(&card, "copy", 0).start().unwrap())
        .collect();
    // The last one is waited for first.
    let mut ends: Vec<_> = launches
        .into_iter()
        .rev()
        .map(|launch| launch.wait().unwrap())
        .collect();
    ends.reverse();
    for (before, after) in ends.iter().zip(&ends[1..]) {
        assert!(before.end_cycle < after.start_cycle);
        assert_eq!(after.cycles, EXACT);
    }
}

#[test]
fn kernels_beside_each_other_have_their_own_times() {
    let (card, context) = card(4);
    let pairs: Vec<Pair> = (0..4).map(|_| Pair::new(&context)).collect();
    let names = ["copy", "copy1", "copy2", "copy3"];
    let launches: Vec<_> = names
        .iter()
        .zip(&pairs)
        .map(|(name, pair)| pair.copy(&card, name, 0).start().unwrap())
        .collect();
    let ends: Vec<_> = launches
        .into_iter()
        .map(|launch| launch.wait().unwrap())
        .collect();
    assert!(ends.iter().all(|done| done.cycles == EXACT), "{ends:?}");
    assert!(
        ends[3].start_cycle < ends[0].end_cycle,
        "they ran one after the other"
    );
}

#[test]
fn the_clock_stands_while_nobody_waits() {
    let (card, context) = card(1);
    let pair = Pair::new(&context);
    let launch = pair.copy(&card, "copy", FOREVER).start().unwrap();
    let before = card.stats().unwrap().cycles;
    thread::sleep(Duration::from_millis(20));
    assert_eq!(card.stats().unwrap().cycles, before);
    assert_eq!(
        launch.wait_within(Some(1000), None).unwrap(),
        Waited::TimeOver
    );
    assert_eq!(card.stats().unwrap().cycles, before + 1000);
    // For some time of the host, and no longer.
    let waited = launch.wait_within(None, Some(Duration::from_millis(20)));
    assert_eq!(waited.unwrap(), Waited::TimeOver);
    let after = card.stats().unwrap().cycles;
    assert!(after > before + 1000);
    thread::sleep(Duration::from_millis(20));
    assert_eq!(card.stats().unwrap().cycles, after);
}

#[test]
fn what_is_cancelled_ends_for_all_who_wait_for_it() {
    let (card, context) = card(1);
    let pair = Pair::new(&context);
    let launch = pair.copy(&card, "copy", FOREVER).start().unwrap();
    let queued = pair.copy(&card, "copy", 0).start().unwrap();
    let never = pair.copy(&card, "copy", 0).start().unwrap();
    thread::scope(|scope| {
        let waiter = scope.spawn(|| launch.wait_within(None, Some(SOON)).unwrap());
        assert_eq!(
            launch.wait_within(Some(5000), None).unwrap(),
            Waited::TimeOver
        );
        assert!(never.cancel().unwrap());
        assert!(launch.cancel().unwrap());
        assert_eq!(waiter.join().unwrap(), Waited::Ended);
    });
    for gone in [launch, never] {
        let error = gone.take().unwrap_err();
        assert_eq!(
            error.to_string(),
            "kernel `copy` was stopped: it was cancelled"
        );
    }
    assert_eq!(queued.wait().unwrap().cycles, EXACT);
}

#[test]
fn a_timeout_counts_from_the_start_and_lets_the_next_one_run() {
    let (card, context) = card(1);
    let pair = Pair::new(&context);
    let first = pair.copy(&card, "copy", FOREVER).timeout_cycles(5000);
    let first = first.start().unwrap();
    let second = pair.copy(&card, "copy", 0).timeout_cycles(EXACT + 1);
    let second = second.start().unwrap();
    assert_eq!(second.wait().unwrap().cycles, EXACT);
    assert!(matches!(
        first.wait(),
        Err(Error::Timeout { stopped: true, .. })
    ));
}

#[test]
fn a_callback_comes_once_and_may_use_the_card() {
    let (card, context) = card(1);
    let pair = Arc::new(Pair::new(&context));
    let (sender, receiver) = channel();
    let launch = pair.copy(&card, "copy", 0).start().unwrap();
    {
        let (card, pair, sender) = (card.clone(), Arc::clone(&pair), sender.clone());
        launch
            .on_end(move || {
                let again = pair.copy(&card, "copy", 0).run().unwrap();
                sender.send(again.cycles).unwrap();
            })
            .unwrap();
    }
    // Nobody waits but the callback.
    assert_eq!(receiver.recv_timeout(SOON).unwrap(), EXACT);
    launch.on_end(move || sender.send(0).unwrap()).unwrap();
    assert_eq!(receiver.recv_timeout(SOON).unwrap(), 0);
    assert_eq!(launch.wait().unwrap().cycles, EXACT);
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn block_on<F: Future>(future: F) -> F::Output {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Task::from_waker(&waker)) {
            return output;
        }
        thread::park_timeout(SOON);
    }
}

#[test]
fn a_launch_is_a_future() {
    let (card, context) = card(2);
    let pairs = [Pair::new(&context), Pair::new(&context)];
    let both = async {
        let first = pairs[0].copy(&card, "copy", 0).start()?;
        let second = pairs[1].copy(&card, "copy1", 0).start()?;
        Ok::<_, Error>((first.await?.cycles, second.await?.cycles))
    };
    assert_eq!(block_on(both).unwrap(), (EXACT, EXACT));
}

/// What those get who wait for four kernels, on each of which one runs and one waits, when the running one of the first kernel
/// does its evil; and what a later call gets.
fn when_it_breaks(tag: u32) -> (Vec<String>, String) {
    let (card, context) = card(4);
    let pairs: Vec<Pair> = (0..8).map(|_| Pair::new(&context)).collect();
    let names = ["copy", "copy1", "copy2", "copy3"];
    let launches: Vec<_> = (0..8)
        .map(|at| {
            let tag = if at == 0 { tag } else { FOREVER };
            pairs[at].copy(&card, names[at % 4], tag).start().unwrap()
        })
        .collect();
    let texts = thread::scope(|scope| {
        let waiters: Vec<_> = launches
            .into_iter()
            .map(|launch| {
                scope.spawn(move || {
                    let waited = launch.wait_within(None, Some(SOON)).unwrap();
                    assert_eq!(waited, Waited::Ended, "{} hangs", launch.kernel());
                    launch.take().unwrap_err().to_string()
                })
            })
            .collect();
        waiters
            .into_iter()
            .map(|waiter| waiter.join().unwrap())
            .collect()
    });
    let later = pairs[0].copy(&card, "copy1", 0).run().unwrap_err();
    (texts, later.to_string())
}

#[test]
fn a_violation_is_its_kernel_s_and_everybody_hears_of_it() {
    let (texts, later) = when_it_breaks(VIOLATES);
    let own = "kernel `copy` made the card fail: AXI protocol violation in cycle 7 on memory port 0 (copy): a burst of 2";
    assert_eq!(texts[0], own);
    let others = format!("the card cannot be used any more: {own}; open it again");
    assert!(texts[1..].iter().all(|text| *text == others), "{texts:?}");
    assert_eq!(later, others);
}

#[test]
fn a_hang_ends_everybody_s_waiting() {
    let (texts, later) = when_it_breaks(HANGS);
    let own = "hangs: port 0: R channel waits for ready since cycle 7";
    // The message names no kernel: it is said of all that run.
    for (at, text) in texts.iter().enumerate() {
        assert!(text.contains(own), "{text}");
        assert_eq!(
            text.starts_with("the card cannot be used any more"),
            at >= 4,
            "{text}"
        );
    }
    assert!(later.contains(own), "{later}");
}

#[test]
fn closing_the_card_ends_everybody_s_waiting() {
    let (card, context) = card(1);
    let pair = Pair::new(&context);
    let launches = [(); 3].map(|()| pair.copy(&card, "copy", FOREVER).start().unwrap());
    thread::scope(|scope| {
        let waiters = launches.map(|launch| {
            scope.spawn(move || {
                assert_eq!(launch.wait_within(None, Some(SOON)).unwrap(), Waited::Ended);
                launch.take().unwrap_err()
            })
        });
        thread::sleep(Duration::from_millis(10));
        card.close().unwrap();
        for waiter in waiters {
            assert!(matches!(waiter.join().unwrap(), Error::Closed));
        }
    });
    assert!(!card.is_open());
}
