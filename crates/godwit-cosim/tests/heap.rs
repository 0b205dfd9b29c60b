// SPDX-License-Identifier: Apache-2.0
//! Random commands of the heap under random traffic, a short run. `GODWIT_SEED` repeats one seed; without it the seeds are fixed.

use std::collections::BTreeSet;

use godwit_cosim::{CosimError, Options, run};

fn options(number: u64) -> Options {
    let first = match std::env::var("GODWIT_SEED") {
        Ok(seed) => seed.parse().expect("GODWIT_SEED is a number"),
        Err(_) => 1,
    };
    Options {
        device: "sim:cosim-heap".to_owned(),
        seed: first + number,
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
            accesses: 3 * 1024,
            stall_percent,
            ..options(number)
        };
        println!("seed {}", options.seed);
        let report = run(&options).unwrap_or_else(|error| panic!("{error}"));
        println!("{report:?}");
        assert!(report.reads > 0 && report.writes > 0 && report.refused() > 0);
        let heap = report.heap.expect("a heap");
        assert!(heap.touches > 0 && heap.ends > 4 && heap.choices > 0);
        assert!(heap.by_stream > 0 && heap.first_touches > 0 && heap.requests > 0);
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

#[test]
fn a_seed_repeats_its_run() {
    let options = Options {
        accesses: 512,
        ..options(0)
    };
    let [first, second] = [(); 2].map(|()| run(&options).unwrap_or_else(|error| panic!("{error}")));
    assert_eq!(first, second);
}

#[test]
fn a_card_without_a_heap_is_refused() {
    let options = Options {
        device: "sim:cosim".to_owned(),
        ..options(0)
    };
    let error = run(&options).expect_err("it has none");
    assert!(matches!(error, CosimError::Unsuitable { .. }));
    assert!(error.to_string().contains("cosim-heap.toml"), "{error}");
}
