// SPDX-License-Identifier: Apache-2.0
//! Memory in place under random traffic, a short run, and rules broken one at a time. `GODWIT_SEED` repeats one seed; without it the seeds are
//! fixed.

mod common;

use godwit_cosim::{CosimError, Mistake, Options, run};

fn options(number: u64) -> Options {
    Options {
        device: "sim:cosim-cache".to_owned(),
        seed: common::first_seed() + number,
        batch: 2048,
        in_place: true,
        ..Options::default()
    }
}

#[test]
fn no_write_is_lost_and_nothing_stale_is_read_on_either_side() {
    for (number, stall_percent) in [(0, 20), (1, 0)] {
        let options = Options {
            accesses: 8 * 1024,
            stall_percent,
            ..options(number)
        };
        println!("seed {}", options.seed);
        let report = run(&options).unwrap_or_else(|error| panic!("{error}"));
        println!("{report:?}");
        assert!(report.reads > 0 && report.writes > 0 && report.refused() > 0);
        assert!(report.moves > 0);
        let here = report.in_place.expect("a page cache");
        assert!(here.host_reads > 0 && here.host_writes > 0 && here.cleans > 0);
        assert!(here.borrows > 0 && here.discards > 0 && here.ends > 0);
        assert!(here.unplugged > 0 && here.link_errors > 0);
        // Pages left, and most reads hit.
        assert!(here.releases > 0 && here.cache_read_misses * 2 < here.cache_reads);
        assert!(here.fills > 0 && here.writebacks > 0);
    }
}

#[test]
fn each_rule_that_is_broken_is_found() {
    for mistake in [
        Mistake::ReadWithoutClean,
        Mistake::ReadBeforeFence,
        Mistake::WriteWithoutDrop,
        Mistake::DropNextLine,
        Mistake::CopyBeforeFence,
        Mistake::KeepTranslations,
        Mistake::KeepLines,
        Mistake::SkipFlush,
        Mistake::FlushFirst,
        Mistake::KeepContext,
        Mistake::IgnoreLoss,
        Mistake::ForgetByte,
    ] {
        // Not every seed comes to the drop of a line that a port has just read.
        let options = Options {
            accesses: 16 * 1024,
            batch: 1024,
            mistake: Some(mistake),
            seed: 3,
            ..options(0)
        };
        match run(&options) {
            Err(CosimError::Mismatch { what, .. }) => println!("{mistake:?}: {what}"),
            other => panic!("{mistake:?} was not found: {other:?}"),
        }
    }
}

#[test]
fn a_seed_repeats_its_run() {
    common::repeats(&Options {
        accesses: 2048,
        ..options(0)
    });
}

#[test]
fn a_card_without_a_page_cache_is_refused() {
    common::needs_a_card_of_its_own(options(0), "cosim-cache.toml");
}
