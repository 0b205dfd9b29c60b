// SPDX-License-Identifier: Apache-2.0
//! An allocation trace on areas of the user's choice.

use std::collections::HashMap;

use godwit_core::range::{Area, RangeError, Ranges, Request, explain_areas};
use pyo3::FromPyObject;

/// Most bytes of bitmaps that a replay takes.
const BITMAPS_MAX: usize = 512 << 20;
/// The largest granule there is.
const GRANULE_MAX: u64 = 1 << 30;

/// A request, or the end of a block.
#[derive(FromPyObject)]
pub(crate) struct Event {
    id: u64,
    /// `None`: the block is freed.
    nbytes: Option<u64>,
    /// 0: a granule.
    align: u64,
    min_address: u64,
    /// 0: no limit.
    max_address: u64,
    node: Option<u32>,
    strict_node: bool,
}

/// What became of a trace.
pub(crate) struct Replayed {
    pub total: u64,
    pub free: u64,
    pub largest: u64,
    /// Most bytes in use at a time.
    pub peak: u64,
    /// (number of the event, id, physical address, bytes)
    pub blocks: Vec<(usize, u64, u64, u64)>,
    /// (number of the event, bytes, reason)
    pub failures: Vec<(usize, u64, String)>,
    /// (physical address, bytes, in use), in the order of addresses.
    pub runs: Vec<(u64, u64, bool)>,
}

/// A granule in which the areas' bitmaps are not too much, in words.
fn too_fine(areas: &[Area], granule: u64, needed: usize) -> String {
    let fits = |granule: &u64| {
        Ranges::metadata_needed(areas, *granule).is_ok_and(|bytes| bytes <= BITMAPS_MAX)
    };
    let larger = std::iter::successors(Some(granule), |granule| granule.checked_mul(2))
        .take_while(|granule| *granule <= GRANULE_MAX)
        .find(fits);
    let total: u128 = areas.iter().map(|area| u128::from(area.bytes)).sum();
    let advice = match larger {
        Some(granule) => format!("a granule of {granule} bytes is enough"),
        None => "smaller areas are needed".to_owned(),
    };
    format!(
        "areas of {total} bytes in granules of {granule} take {needed} bytes of bitmaps, and a replay takes {BITMAPS_MAX} at \
         most: {advice}"
    )
}

/// Areas are (base, bytes, node). The free of what was not served is nothing.
pub(crate) fn replay(
    areas: &[(u64, u64, u32)],
    granule: u64,
    events: &[Event],
) -> Result<Replayed, String> {
    let areas: Vec<_> = areas
        .iter()
        .map(|&(base, bytes, node)| Area { base, bytes, node })
        .collect();
    let explain =
        |error: RangeError| explain_areas(&areas, granule).unwrap_or_else(|| error.to_string());
    let needed = Ranges::metadata_needed(&areas, granule).map_err(explain)?;
    if needed > BITMAPS_MAX {
        return Err(too_fine(&areas, granule, needed));
    }
    let ranges = Ranges::new(&areas, granule).map_err(explain)?;
    // None: asked for, and not served.
    let mut live: HashMap<u64, Option<u64>> = HashMap::new();
    let (mut blocks, mut failures) = (Vec::new(), Vec::new());
    let mut peak = 0;
    let total = ranges.free_bytes();
    for (number, event) in events.iter().enumerate() {
        let Some(bytes) = event.nbytes else {
            match live.remove(&event.id) {
                Some(Some(pa)) => drop(ranges.free(pa).map_err(|error| error.to_string())?),
                Some(None) => {}
                None => {
                    return Err(format!(
                        "event {number}: {} is not allocated, or freed already",
                        event.id
                    ));
                }
            }
            continue;
        };
        if live.contains_key(&event.id) {
            return Err(format!("event {number}: {} is allocated already", event.id));
        }
        let or = |value: u64, instead: u64| if value == 0 { instead } else { value };
        let placed = match ranges.alloc(&Request {
            bytes,
            align: or(event.align, granule),
            min: event.min_address,
            max: or(event.max_address, u64::MAX),
            node: event.node,
            strict: event.strict_node,
        }) {
            Ok(pa) => {
                blocks.push((number, event.id, pa, bytes));
                Some(pa)
            }
            Err(error) => {
                failures.push((number, bytes, error.to_string()));
                None
            }
        };
        live.insert(event.id, placed);
        peak = peak.max(total - ranges.free_bytes());
    }
    let stats = ranges.stats();
    Ok(Replayed {
        total,
        free: stats.free,
        largest: stats.largest,
        peak,
        blocks,
        failures,
        runs: ranges
            .runs()
            .into_iter()
            .map(|run| (run.pa, run.bytes, run.used))
            .collect(),
    })
}
