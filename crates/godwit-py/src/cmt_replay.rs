// SPDX-License-Identifier: Apache-2.0
//! An allocation trace on areas of the user's choice.

use std::collections::HashMap;

use godwit_core::range::{Area, Ranges, Request, explain_areas};

/// What became of a trace.
pub(crate) struct Replayed {
    pub total: u64,
    pub free: u64,
    pub largest: u64,
    /// Most bytes in use at a time.
    pub peak: u64,
    pub served: u64,
    /// (number of the event, bytes, reason)
    pub failures: Vec<(usize, u64, String)>,
    /// (physical address, bytes, in use), in the order of addresses.
    pub runs: Vec<(u64, u64, bool)>,
}

/// Areas are (base, bytes, node); events (id, is a free, bytes, alignment, highest address). The free of what was not
/// served is nothing.
pub(crate) fn replay(
    areas: &[(u64, u64, u32)],
    granule: u64,
    events: &[(u64, bool, u64, u64, u64)],
) -> Result<Replayed, String> {
    let areas: Vec<_> = areas
        .iter()
        .map(|&(base, bytes, node)| Area { base, bytes, node })
        .collect();
    let ranges = Ranges::new(&areas, granule)
        .map_err(|error| explain_areas(&areas, granule).unwrap_or_else(|| error.to_string()))?;
    // None: asked for, and not served.
    let mut live: HashMap<u64, Option<u64>> = HashMap::new();
    let mut failures = Vec::new();
    let (mut served, mut peak) = (0, 0);
    let total = ranges.free_bytes();
    for (number, &(id, is_free, bytes, align, max)) in events.iter().enumerate() {
        if is_free {
            match live.remove(&id) {
                Some(Some(pa)) => drop(ranges.free(pa).map_err(|error| error.to_string())?),
                Some(None) => {}
                None => {
                    return Err(format!(
                        "event {number}: {id} is not allocated, or freed already"
                    ));
                }
            }
            continue;
        }
        let request = Request {
            align,
            max,
            ..Request::new(bytes)
        };
        let placed = match ranges.alloc(&request) {
            Ok(pa) => Some(pa),
            Err(error) => {
                failures.push((number, bytes, error.to_string()));
                None
            }
        };
        served += u64::from(placed.is_some());
        if live.insert(id, placed).is_some() {
            return Err(format!("event {number}: {id} is allocated already"));
        }
        peak = peak.max(total - ranges.free_bytes());
    }
    let stats = ranges.stats();
    Ok(Replayed {
        total,
        free: stats.free,
        largest: stats.largest,
        peak,
        served,
        failures,
        runs: ranges
            .runs()
            .into_iter()
            .map(|run| (run.pa, run.bytes, run.used))
            .collect(),
    })
}
