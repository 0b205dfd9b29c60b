// SPDX-License-Identifier: Apache-2.0
//! `godwit-cosim --seed N`: one randomized co-simulation, repeatable by its seed.

use std::process::ExitCode;
use std::time::Instant;

use clap::{Parser, ValueEnum, value_parser};
use godwit_cosim::{CosimError, Mistake, Options, run};
use serde_json::json;

/// Random reads and writes through the RTL, checked against the page tables.
#[derive(Parser)]
#[command(
    version,
    after_help = "The card is built by `godwit card build hw/test/cosim/cosim.toml`, sim:cosim-small, \
                  sim:cosim-heap and sim:cosim-cache by the files beside it. Ends with 1 at the first difference, and says how to repeat it."
)]
struct Args {
    /// Card to drive: external ports and no kernels; sim:cosim without it, with --heap sim:cosim-heap, with --in-place sim:cosim-cache
    #[arg(long)]
    device: Option<String>,
    /// First seed; the same seed and options repeat the same cycles
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many seeds to run
    #[arg(long, default_value_t = 1, value_parser = value_parser!(u64).range(1..))]
    seeds: u64,
    /// Accesses a seed
    #[arg(long, default_value_t = 100_000, value_parser = value_parser!(u64).range(1..))]
    accesses: u64,
    /// Accesses between changes of the tables
    #[arg(long, default_value_t = 4096, value_parser = value_parser!(u32).range(1..))]
    batch: u32,
    /// Random back-pressure, percent of the cycles
    #[arg(long, default_value_t = 20, value_parser = value_parser!(u32).range(0..=99))]
    stall_percent: u32,
    /// Memory latency in cycles
    #[arg(long, default_value_t = 20)]
    latency_cycles: u32,
    /// Change tables while traffic runs, with commands in the queue, not between batches
    #[arg(long)]
    live: bool,
    /// malloc, realloc, free and first touches on a card with a heap; nobody maps anything
    #[arg(long, conflicts_with = "live")]
    heap: bool,
    /// Memory of the host in place on a card with a page cache: the host reads, writes, flushes, moves pages, and the link fails
    #[arg(long, conflicts_with_all = ["live", "heap"])]
    in_place: bool,
    /// Break a rule of coherence, or of the oracle: a run should find it
    #[arg(long, requires = "in_place")]
    mistake: Option<Mistake>,
    /// Print a JSON object a seed
    #[arg(long)]
    json: bool,
}

impl Args {
    fn device(&self) -> &str {
        match &self.device {
            Some(device) => device,
            None if self.heap => "sim:cosim-heap",
            None if self.in_place => "sim:cosim-cache",
            None => "sim:cosim",
        }
    }

    fn options(&self, seed: u64) -> Options {
        Options {
            device: self.device().to_owned(),
            seed,
            accesses: self.accesses,
            batch: self.batch as usize,
            stall_percent: self.stall_percent,
            latency_cycles: self.latency_cycles,
            live: self.live,
            heap: self.heap,
            in_place: self.in_place,
            mistake: self.mistake,
        }
    }

    /// The command that runs one seed again.
    fn again(&self, seed: u64) -> String {
        let mode = match (self.live, self.heap, self.in_place) {
            (true, ..) => " --live",
            (_, true, _) => " --heap",
            (.., true) => " --in-place",
            _ => "",
        };
        let mistake = self.mistake.and_then(|mistake| mistake.to_possible_value());
        let mistake = mistake.map_or_else(String::new, |value| {
            format!(" --mistake {}", value.get_name())
        });
        format!(
            "godwit-cosim --device {} --seed {seed} --accesses {} --batch {} --stall-percent {} --latency-cycles {}{mode}{mistake}",
            self.device(),
            self.accesses,
            self.batch,
            self.stall_percent,
            self.latency_cycles
        )
    }
}

fn main() -> ExitCode {
    let args = Args::parse();
    let (mut accesses, mut operations) = (0, 0);
    for seed in args.seed..args.seed.saturating_add(args.seeds) {
        let start = Instant::now();
        let report = match run(&args.options(seed)) {
            Ok(report) => report,
            Err(error) => {
                eprintln!("error: {error}");
                if matches!(error, CosimError::Mismatch { .. }) {
                    eprintln!("again: {}", args.again(seed));
                }
                return ExitCode::FAILURE;
            }
        };
        accesses += report.reads + report.writes + report.refused();
        operations += report.heap.as_ref().map_or(0, |heap| heap.operations());
        operations += report
            .in_place
            .as_ref()
            .map_or(0, |here| here.operations() + report.moves);
        accesses += report.in_place.as_ref().map_or(0, |here| here.link_errors);
        let seconds = start.elapsed().as_secs_f64();
        if args.json {
            println!(
                "{}",
                json!({"seed": seed, "device": args.device(), "live": args.live, "heap": args.heap, "in_place": args.in_place, "report": report, "seconds": seconds})
            );
        } else {
            println!("seed {seed}: {report}; {seconds:.1} s");
        }
    }
    if !args.json {
        if args.heap {
            println!(
                "{accesses} accesses and {operations} operations of the heap, no difference between RTL and its rules"
            );
        } else if args.in_place {
            println!(
                "{accesses} accesses and {operations} operations of the host, no difference between RTL and both memories"
            );
        } else {
            println!("{accesses} accesses, no difference between RTL and tables");
        }
    }
    ExitCode::SUCCESS
}
