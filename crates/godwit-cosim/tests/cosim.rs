// SPDX-License-Identifier: Apache-2.0
//! A million random accesses through the RTL, all tests together. `GODWIT_SEED` repeats one seed; without it the seeds are fixed.

mod common;

use common::first_seed;
use godwit_cosim::{Options, Report, run};

/// Of the two large tests, so that both run side by side; the others do a quarter of a million.
const ACCESSES: u64 = 410_000;

fn check(report: &Report) {
    assert!(report.reads > 0 && report.writes > 0, "{report:?}");
    for page_kib in [4, 64, 2048, 1 << 20] {
        assert!(
            report.by_page_kib.contains_key(&page_kib),
            "no page of {page_kib} KiB: {report:?}"
        );
    }
    for cause in ["13", "15", "256", "258", "2048"] {
        assert!(
            report.faults.contains_key(cause),
            "no fault with cause {cause}: {report:?}"
        );
    }
    assert!(report.invalidations > 0, "{report:?}");
}

fn large(number: u64, stall_percent: u32, latency_cycles: u32) {
    let seed = first_seed() + number;
    println!("seed {seed}");
    let report = run(&Options {
        seed,
        accesses: ACCESSES,
        stall_percent,
        latency_cycles,
        ..Options::default()
    })
    .unwrap_or_else(|error| panic!("{error}"));
    println!("{report:?}");
    check(&report);
}

#[test]
fn random_accesses_do_what_the_tables_say_with_full_queues() {
    large(0, 30, 20);
}

#[test]
fn random_accesses_do_what_the_tables_say_at_full_speed() {
    large(1, 0, 50);
}

#[test]
fn a_seed_repeats_its_run() {
    common::repeats(&Options {
        seed: first_seed(),
        accesses: 4096,
        ..Options::default()
    });
}

#[test]
fn the_smallest_queues_lose_nothing() {
    let report = run(&Options {
        device: "sim:cosim-small".to_owned(),
        seed: first_seed(),
        accesses: 65_536,
        ..Options::default()
    })
    .unwrap_or_else(|error| panic!("{error}"));
    println!("{report:?}");
    assert!(report.reads > 0 && report.writes > 0);
}

#[test]
fn tables_change_under_traffic() {
    for (number, device, stall_percent) in [
        (0, "sim:cosim", 20),
        (1, "sim:cosim", 0),
        (2, "sim:cosim-small", 20),
    ] {
        let seed = first_seed() + number;
        println!("{device}, seed {seed}");
        let report = run(&Options {
            device: device.to_owned(),
            seed,
            accesses: 60_000,
            batch: 2048,
            stall_percent,
            live: true,
            ..Options::default()
        })
        .unwrap_or_else(|error| panic!("{error}"));
        println!("{report:?}");
        // All of it happened: overlaps with a choice, translations that were on their way out, refusals.
        assert!(report.reads > 0 && report.writes > 0, "{report:?}");
        assert!(report.changes > 0 && report.invalidations > 0, "{report:?}");
        assert!(report.moves > 0, "{report:?}");
        assert!(report.choices > 0 && report.old > 0, "{report:?}");
        assert!(!report.faults.is_empty(), "{report:?}");
    }
}

fn command(arguments: &[&str]) -> std::process::Output {
    std::process::Command::new(env!("CARGO_BIN_EXE_godwit-cosim"))
        .args(arguments)
        .output()
        .expect("the command runs")
}

#[test]
fn the_command_prints_what_a_seed_did() {
    let done = command(&[
        "--accesses",
        "3000",
        "--seed",
        "5",
        "--seeds",
        "2",
        "--live",
        "--json",
    ]);
    assert!(done.status.success(), "{done:?}");
    let printed = String::from_utf8(done.stdout).expect("text");
    let reports: Vec<serde_json::Value> = printed
        .lines()
        .map(|line| serde_json::from_str(line).expect("an object a line"))
        .collect();
    let seeds: Vec<_> = reports
        .iter()
        .map(|report| report["seed"].as_u64())
        .collect();
    assert_eq!(seeds, [Some(5), Some(6)]);
    assert!(
        reports
            .iter()
            .all(|report| report["report"]["changes"].as_u64() > Some(0))
    );
}

#[test]
fn the_command_refuses_what_it_cannot_run() {
    for (arguments, said) in [
        (["--batch", "0"], "0 is not in 1.."),
        (["--stall-percent", "100"], "100 is not in 0..=99"),
        (["--device", "sim:none"], "godwit card build"),
    ] {
        let done = command(&arguments);
        let message = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(
            !done.status.success() && message.contains(said),
            "{message}"
        );
        assert!(done.stdout.is_empty());
    }
}
