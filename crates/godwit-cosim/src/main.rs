// SPDX-License-Identifier: Apache-2.0
//! `godwit-cosim --seed N`: one randomized co-simulation, repeatable by its seed.

use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Instant;

use clap::{Parser, ValueEnum, value_parser};
use godwit_cosim::{CosimError, Mistake, Options, Report, run};
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
    /// Seeds that run at the same time, each on a card and a core of its own
    #[arg(long, default_value_t = 1, value_parser = value_parser!(u64).range(1..=1024))]
    jobs: u64,
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

/// A seed, what came of it, and the seconds that it took.
type Ended = (u64, Result<Report, CosimError>, f64);

/// Runs all seeds, some at the same time; whoever does not want to hear the rest stops listening.
fn run_all(args: &Arc<Args>) -> mpsc::Receiver<Ended> {
    let (ended, ends) = mpsc::channel();
    let next = Arc::new(AtomicU64::new(0));
    for _ in 0..args.jobs.min(args.seeds) {
        let (args, next, ended) = (args.clone(), next.clone(), ended.clone());
        thread::spawn(move || {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                let Some(seed) = args.seed.checked_add(number) else {
                    return;
                };
                if number >= args.seeds {
                    return;
                }
                let start = Instant::now();
                let end = run(&args.options(seed));
                let seconds = start.elapsed().as_secs_f64();
                if ended.send((seed, end, seconds)).is_err() {
                    return;
                }
            }
        });
    }
    ends
}

fn main() -> ExitCode {
    let args = Arc::new(Args::parse());
    let (mut accesses, mut operations, mut ended) = (0, 0, 0);
    for (seed, end, seconds) in run_all(&args) {
        ended += 1;
        let report = match end {
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
        if args.json {
            println!(
                "{}",
                json!({"seed": seed, "device": args.device(), "live": args.live, "heap": args.heap, "in_place": args.in_place, "report": report, "seconds": seconds})
            );
        } else {
            println!("seed {seed}: {report}; {seconds:.1} s");
        }
    }
    if ended < args.seeds {
        eprintln!("error: only {ended} of {} seeds came to an end", args.seeds);
        return ExitCode::FAILURE;
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
