// SPDX-License-Identifier: Apache-2.0
//! Replays an allocation trace on areas of the user's choice.

use std::collections::HashMap;

use godwit_core::range::{Area, Ranges, Request};
use serde_json::{Value, json};

use crate::areas::PAGE;

fn number(value: &Value, key: &str) -> Result<u64, String> {
    value[key]
        .as_u64()
        .ok_or_else(|| format!("'{key}' is not a number in {value}"))
}

fn read(path: &str) -> Result<Vec<Value>, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    match serde_json::from_str(&text).map_err(|error| format!("{path}: {error}"))? {
        Value::Array(items) => Ok(items),
        _ => Err(format!("{path}: not an array")),
    }
}

/// `areas` is an array of `{"base", "bytes"[, "node"]}`, `trace` one of `{"id", "alloc": BYTES[, "align", "max"]}` and
/// `{"free": ID}`; `granule` in bytes.
pub fn run(granule: &str, areas: &str, trace: &str) -> Result<Value, String> {
    let granule = granule.parse().unwrap_or(PAGE);
    let mut list = Vec::new();
    for area in read(areas)? {
        list.push(Area {
            base: number(&area, "base")?,
            bytes: number(&area, "bytes")?,
            node: area["node"].as_u64().unwrap_or(0) as u32,
        });
    }
    let ranges = Ranges::new(&list, granule).map_err(|error| format!("{areas}: {error}"))?;
    let mut live: HashMap<String, u64> = HashMap::new();
    let mut failures = Vec::new();
    let (mut served, mut peak) = (0, 0);
    for (line, event) in read(trace)?.into_iter().enumerate() {
        if event["free"].is_null() {
            let request = Request {
                align: event["align"].as_u64().unwrap_or(1),
                max: event["max"].as_u64().unwrap_or(u64::MAX),
                ..Request::new(number(&event, "alloc")?)
            };
            match ranges.alloc(&request) {
                Ok(pa) => {
                    served += 1;
                    live.insert(event["id"].to_string(), pa);
                }
                Err(error) => failures.push(
                    json!({"event": line, "bytes": request.bytes, "reason": error.to_string()}),
                ),
            }
        } else if let Some(pa) = live.remove(&event["free"].to_string()) {
            ranges
                .free(pa)
                .map_err(|error| format!("event {line}: {error}"))?;
        }
        let stats = ranges.stats();
        peak = peak.max(stats.total - stats.free);
    }
    let stats = ranges.stats();
    let runs: Vec<_> = ranges
        .runs()
        .iter()
        .map(|run| json!([run.pa, run.bytes, run.used]))
        .collect();
    Ok(
        json!({"total": stats.total, "free": stats.free, "largest": stats.largest, "peak": peak, "served": served,
        "metadata": ranges.metadata_bytes(),
        "failures": failures, "runs": runs}),
    )
}
