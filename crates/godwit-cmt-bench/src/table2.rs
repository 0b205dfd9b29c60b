// SPDX-License-Identifier: Apache-2.0
//! Table 2: which requests each allocator serves, each row from empty memory, and what comes after.

use godwit_core::range::{Area, Ranges};
use serde_json::{Value, json};

use crate::areas::{MIB, PAGE, adjacent, joined, scattered};
use crate::peers::{ALL, Make};

const ROWS: [(&str, u64, u64); 6] = [
    ("1 MiB", MIB, 1),
    ("8 MiB", 8 * MIB, 1),
    ("100 MiB", 100 * MIB, 1),
    ("20 MiB x 8", 20 * MIB, 8),
    ("20 MiB x 9", 20 * MIB, 9),
    ("20 MiB x 12", 20 * MIB, 12),
];

fn served(make: Make, areas: &[Area], bytes: u64, times: u64) -> u64 {
    let mut allocator = make(areas);
    (0..times)
        .filter(|_| allocator.alloc(bytes).is_some())
        .count() as u64
}

/// What page-exact arithmetic allows.
fn possible(areas: &[Area], bytes: u64) -> u64 {
    joined(areas).iter().map(|(_, row)| row / bytes).sum()
}

pub fn run() -> Value {
    let mut rows = Vec::new();
    for (layout, areas) in [("adjacent", adjacent()), ("holes", scattered(4))] {
        for (name, bytes, times) in ROWS {
            let mut row = json!({"layout": layout, "row": name, "asked": times, "possible": possible(&areas, bytes).min(times)});
            for (peer, make) in ALL {
                row[peer] = served(make, &areas, bytes, times).into();
            }
            row["2 MiB pages"] = u64::from(bytes <= 2 * MIB).into();
            rows.push(row);
        }
        // As long as it goes, in the largest size first, then what is left page by page.
        for (peer, make) in ALL {
            let mut allocator = make(&areas);
            let mut used = 0;
            for bytes in [20 * MIB, MIB, PAGE] {
                while allocator.alloc(bytes).is_some() {
                    used += bytes;
                }
            }
            let total: u64 = areas.iter().map(|area| area.bytes).sum();
            rows.push(json!({"layout": layout, "row": "share of memory in use at the first page that fails",
                "peer": peer, "share": used as f64 / total as f64}));
        }
    }
    rows.into()
}

/// Bytes of the range allocator's bitmaps for a GiB in pages.
pub fn metadata() -> Value {
    let area = Area {
        base: 0,
        bytes: 1 << 30,
        node: 0,
    };
    let ranges = Ranges::new(&[area], PAGE).expect("the area is legal");
    json!({"bytes": ranges.metadata_bytes()})
}
