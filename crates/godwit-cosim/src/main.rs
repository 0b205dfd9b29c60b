// SPDX-License-Identifier: Apache-2.0
//! `godwit-cosim --seed N`: one randomized co-simulation, repeatable by its seed.

use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use godwit_cosim::{Options, run};

/// Random reads and writes through the RTL, checked against the page tables.
#[derive(Parser)]
#[command(version)]
struct Args {
    /// Card to drive: external ports and no kernels
    #[arg(long, default_value = "sim:cosim")]
    device: String,
    /// First seed; the same seed repeats the same cycles
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many seeds to run
    #[arg(long, default_value_t = 1)]
    seeds: u64,
    /// Accesses a seed
    #[arg(long, default_value_t = 100_000)]
    accesses: u64,
    /// Accesses between changes of the tables
    #[arg(long, default_value_t = 4096)]
    batch: usize,
    /// Random back-pressure, percent of the cycles
    #[arg(long, default_value_t = 20)]
    stall_percent: u32,
    /// Memory latency in cycles
    #[arg(long, default_value_t = 20)]
    latency_cycles: u32,
    /// Change tables while traffic runs, with commands in the queue, not between batches
    #[arg(long)]
    live: bool,
}

fn main() -> ExitCode {
    let args = Args::parse();
    for seed in args.seed..args.seed + args.seeds {
        let start = Instant::now();
        let options = Options {
            device: args.device.clone(),
            seed,
            accesses: args.accesses,
            batch: args.batch,
            stall_percent: args.stall_percent,
            latency_cycles: args.latency_cycles,
            live: args.live,
        };
        match run(&options) {
            Ok(report) => println!(
                "seed {seed}: {report:?} in {:.1} s",
                start.elapsed().as_secs_f64()
            ),
            Err(error) => {
                eprintln!("error: {error}");
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}
