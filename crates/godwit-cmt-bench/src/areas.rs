// SPDX-License-Identifier: Apache-2.0
//! The paper's memory: 16 areas of 16 MiB.

use godwit_core::range::Area;

pub const PAGE: u64 = 4096;
pub const MIB: u64 = 1 << 20;
pub const AREA: u64 = 16 * MIB;
pub const AREAS: u64 = 16;

/// All areas in a row.
pub fn adjacent() -> Vec<Area> {
    scattered(AREAS)
}

/// Rows of `together` areas, with a hole as large as an area between rows.
pub fn scattered(together: u64) -> Vec<Area> {
    (0..AREAS)
        .map(|i| Area {
            base: (i + i / together) * AREA,
            bytes: AREA,
            node: 0,
        })
        .collect()
}

/// Areas that touch, joined: (base, bytes).
pub fn joined(areas: &[Area]) -> Vec<(u64, u64)> {
    let mut rows: Vec<(u64, u64)> = Vec::new();
    for area in areas {
        match rows.last_mut() {
            Some((base, bytes)) if *base + *bytes == area.base => *bytes += area.bytes,
            _ => rows.push((area.base, area.bytes)),
        }
    }
    rows
}
