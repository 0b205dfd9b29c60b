// SPDX-License-Identifier: Apache-2.0
//! `godwit-policy-bench [quick]`: one JSON document on standard output: prefetch policies on traces, and eviction policies with less
//! memory than the data take. `quick`: two traces and one size of memory.

mod evict;
mod peers;
mod simulate;
mod trace;

use serde_json::{Value, json};

use peers::Policy;
use trace::Trace;

/// What a fault is worth in pages: as in UVM's driver, as on the paper's card, as behind a fast link.
const WORTH: [u32; 3] = [16, 2, 128];

fn prefetch(quick: bool) -> Vec<Value> {
    let mut traces = vec![trace::linear(1), trace::strided()];
    if !quick {
        traces.extend([
            trace::hash_join(),
            trace::stencil(2),
            trace::pointer_chase(),
            trace::random(256, 2000, "random"),
        ]);
    }
    let mut rows = Vec::new();
    for trace in &traces {
        let mut policies: Vec<(u32, Box<dyn Policy>)> = vec![
            (0, Box::new(peers::Demand)),
            (0, Box::new(peers::UvmTree)),
            (0, Box::new(peers::GpusvmChunks)),
        ];
        for worth in WORTH {
            policies.push((worth, Box::new(peers::Ours::new(worth, u64::MAX))));
        }
        for (worth, mut policy) in policies {
            let counts = simulate::run(trace, policy.as_mut(), &mut evict::Never, None);
            let mut row = counts.json(trace.name, policy.name());
            row["worth"] = json!(worth);
            row["touched"] = json!(trace.touched() * 4096);
            rows.push(row);
        }
    }
    rows
}

fn oversubscribed(trace: &Trace, factor: f64) -> Vec<Value> {
    let capacity = (trace.touched() as f64 / factor) as u64;
    let (moved_in, moved_out) = evict::least(trace, capacity);
    let mut rows = Vec::new();
    let mut add = |policy: &mut dyn Policy, eviction: &mut dyn evict::Eviction| {
        let counts = simulate::run(trace, policy, eviction, Some(capacity));
        let mut row = counts.json(trace.name, policy.name());
        row["factor"] = json!(factor);
        row["least_in"] = json!(moved_in * 4096);
        row["least_out"] = json!(moved_out * 4096);
        rows.push(row);
    };
    add(&mut peers::UvmTree, &mut evict::UvmLru::default());
    add(&mut peers::Demand, &mut evict::UvmLru::default());
    add(
        &mut peers::Ours::new(16, capacity),
        &mut evict::Ours::new(trace, capacity),
    );
    for sees in [true, false] {
        add(
            &mut peers::Runtime::new(16, capacity, sees),
            &mut evict::Batches::new(trace, capacity, sees),
        );
    }
    rows
}

fn main() {
    let quick = std::env::args().nth(1).is_some_and(|arg| arg == "quick");
    let factors: &[f64] = if quick { &[1.5] } else { &[1.1, 1.5, 2.0] };
    let mut oversubscription = Vec::new();
    for &factor in factors {
        let mut traces = vec![trace::linear(4)];
        if !quick {
            traces.extend([
                trace::random(32, 40_000, "random"),
                trace::stencil(6),
                trace::turning(3),
                trace::skewed(60_000),
                trace::phases(),
            ]);
        }
        for trace in traces {
            oversubscription.extend(oversubscribed(&trace, factor));
        }
    }
    println!(
        "{}",
        json!({ "prefetch": prefetch(quick), "oversubscription": oversubscription })
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Faults one by one, as the growth of UVM's tree is described: 64 KiB, 64, 128, 256, 512 KiB and 1 MiB in each 2 MiB.
    #[test]
    fn peers_do_what_they_document() {
        let mut trace = trace::linear(1);
        trace.parallel = 1;
        let batches = |policy: &mut dyn Policy| {
            let counts = simulate::run(&trace, policy, &mut evict::Never, None);
            assert_eq!((counts.pages_in, counts.wasted), (8192, 0));
            counts.batches
        };
        assert_eq!(batches(&mut peers::Demand), 8192);
        assert_eq!(batches(&mut peers::UvmTree), 6 * 16);
        assert_eq!(batches(&mut peers::GpusvmChunks), 16);
        assert!(batches(&mut peers::Ours::new(16, u64::MAX)) <= 7);
    }

    #[test]
    fn least_is_what_belady_moves_and_nobody_moves_less() {
        let trace = trace::linear(4);
        let capacity = 8192 * 2 / 3;
        // Each round after the first moves what did not fit.
        let (moved_in, moved_out) = evict::least(&trace, capacity);
        assert!(
            (8192 + 3 * (8192 - capacity)..8192 + 3 * (8192 - capacity) + 8).contains(&moved_in)
        );
        assert_eq!(moved_out, 0);
        let lru = simulate::run(
            &trace,
            &mut peers::UvmTree,
            &mut evict::UvmLru::default(),
            Some(capacity),
        );
        assert_eq!(lru.pages_in, 4 * 8192);
        let ours = simulate::run(
            &trace,
            &mut peers::Ours::new(16, capacity),
            &mut evict::Ours::new(&trace, capacity),
            Some(capacity),
        );
        assert!((moved_in..moved_in * 21 / 20).contains(&ours.pages_in));
    }

    /// Pages of a trace that come when room is made for whole batches.
    fn in_batches(trace: &Trace, capacity: u64, sees: bool) -> u64 {
        let counts = simulate::run(
            trace,
            &mut peers::Runtime::new(2, capacity, sees),
            &mut evict::Batches::new(trace, capacity, sees),
            Some(capacity),
        );
        counts.pages_in
    }

    /// Room is made for whole batches, and nobody knows what is used: a loop keeps most of its pages, and pages used in no order come singly.
    #[test]
    fn without_a_bits_a_loop_keeps_its_pages_and_random_ones_come_alone() {
        for factor in [1.1, 1.5, 2.0] {
            let trace = trace::linear(4);
            let capacity = (8192.0 / factor) as u64;
            let (least, _) = evict::least(&trace, capacity);
            assert!(
                in_batches(&trace, capacity, false) < least * 5 / 4,
                "{factor}"
            );
            let trace = trace::random(32, 20_000, "random");
            let capacity = (trace.touched() as f64 / factor) as u64;
            let singly = simulate::run(
                &trace,
                &mut peers::Demand,
                &mut evict::UvmLru::default(),
                Some(capacity),
            );
            assert!(
                in_batches(&trace, capacity, false) < singly.pages_in * 3 / 2,
                "{factor}"
            );
        }
    }

    /// With A bits loops move at most an eighth more than the least, also those that come back to a page before they are through with it.
    #[test]
    fn with_a_bits_loops_move_little_more_than_the_least() {
        for factor in [1.1, 1.5, 2.0] {
            for trace in [trace::linear(4), trace::stencil(6)] {
                let capacity = (trace.touched() as f64 / factor) as u64;
                let (least, _) = evict::least(&trace, capacity);
                let came = in_batches(&trace, capacity, true);
                assert!(
                    came <= least * 9 / 8,
                    "{} {factor}: {came} of {least}",
                    trace.name
                );
                assert!(came <= in_batches(&trace, capacity, false));
            }
        }
    }
}
