// SPDX-License-Identifier: Apache-2.0
//! `godwit-cmt-bench table2|fragmentation [SEEDS]|latency [ROUNDS]|metadata`: one JSON document on standard output.

mod areas;
mod binned;
mod fragmentation;
mod latency;
mod peers;
mod random;
mod table2;

use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let count = |default: u64| {
        args.get(1)
            .and_then(|arg| arg.parse().ok())
            .unwrap_or(default)
    };
    let result = match args.first().map(String::as_str) {
        Some("table2") => Ok(table2::run()),
        Some("fragmentation") => Ok(fragmentation::run(count(20))),
        Some("latency") => latency::run(count(15)),
        Some("metadata") => Ok(table2::metadata()),
        _ => Err(
            "usage: godwit-cmt-bench table2|fragmentation [SEEDS]|latency [ROUNDS]|metadata".into(),
        ),
    };
    match result {
        Ok(document) => {
            println!("{document}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}
