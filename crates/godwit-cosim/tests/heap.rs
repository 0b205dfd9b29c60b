// SPDX-License-Identifier: Apache-2.0
//! Random commands of the heap under random traffic, a short run. `GODWIT_SEED` repeats one seed; without it the seeds are fixed.

mod common;

use std::collections::BTreeSet;

use godwit_cosim::{Options, run};

const BATCHES: u64 = 3;

fn options(number: u64) -> Options {
    on("cosim-heap", number)
}

fn on(card: &str, number: u64) -> Options {
    Options {
        device: format!("sim:{card}"),
        seed: common::first_seed() + number,
        batch: 1024,
        heap: true,
        ..Options::default()
    }
}

#[test]
fn the_heap_keeps_its_rules_under_traffic() {
    let mut answers = BTreeSet::new();
    for (number, stall_percent) in [(0, 20), (1, 0)] {
        let options = Options {
            accesses: BATCHES * 1024,
            stall_percent,
            ..options(number)
        };
        println!("seed {}", options.seed);
        let report = run(&options).unwrap_or_else(|error| panic!("{error}"));
        println!("{report:?}");
        assert!(report.reads > 0 && report.writes > 0 && report.refused() > 0);
        let heap = report.heap.expect("a heap");
        assert!(heap.touches > 0 && heap.ends > BATCHES && heap.choices > 0);
        assert!(heap.by_stream > 0 && heap.first_touches > 0 && heap.requests > 0);
        let of = |name: &str| heap.answers.get(name).copied().unwrap_or(0);
        let commands: u64 = heap.answers.values().sum();
        assert!(
            5 * (of("malloc") + of("free")) > commands,
            "few mallocs and frees"
        );
        answers.extend(heap.answers.into_keys());
    }
    for name in [
        "malloc",
        "realloc",
        "free",
        "SizeZero",
        "TooLarge",
        "Foreign",
        "NotLive",
        "OtherContext",
        "Argument",
        "NoFrame",
        "Busy",
    ] {
        assert!(answers.contains(name), "no {name}: {answers:?}");
    }
}

/// Groups of every order, in memory that is soon in pieces.
#[test]
fn granules_of_any_power_of_two_keep_the_rules() {
    let options = Options {
        accesses: BATCHES * 1024,
        stall_percent: 10,
        ..on("cosim-heap-any", 2)
    };
    println!("seed {}", options.seed);
    let report = run(&options).unwrap_or_else(|error| panic!("{error}"));
    println!("{report:?}");
    let heap = report.heap.expect("a heap");
    assert!(heap.touches > 0 && heap.first_touches > 0 && heap.by_stream > 0);
}

#[test]
fn a_seed_repeats_its_run() {
    common::repeats(&Options {
        accesses: 512,
        ..options(0)
    });
}

#[test]
fn a_card_without_a_heap_is_refused() {
    common::needs_a_card_of_its_own(options(0), "cosim-heap.toml");
}
