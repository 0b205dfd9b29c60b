// SPDX-License-Identifier: Apache-2.0
//! What is wrong with a list of areas, for people: core/ only says that something is.

use crate::range::Area;

/// The first thing that is wrong with `areas`, and what would be right; `None` if nothing is.
pub fn explain_areas(areas: &[Area], granule: u64) -> Option<String> {
    if areas.is_empty() {
        return Some("no areas: at least one is needed".into());
    }
    for area in areas {
        let name = format!("area {:#x} of {} bytes", area.base, area.bytes);
        if area.bytes == 0 {
            return Some(format!(
                "{name}: expected at least one granule, {granule} bytes"
            ));
        }
        let Some(end) = area.base.checked_add(area.bytes) else {
            return Some(format!("{name}: it ends behind the last address, 2^64 - 1"));
        };
        if area.base.div_ceil(granule) >= end / granule && areas.len() == 1 {
            return Some(format!(
                "{name}: no whole granule of {granule} bytes is in it"
            ));
        }
    }
    let mut sorted: Vec<_> = areas.iter().collect();
    sorted.sort_unstable_by_key(|area| area.base);
    sorted.windows(2).find_map(|pair| {
        let (low, high) = (pair[0], pair[1]);
        let shared = (low.base + low.bytes).saturating_sub(high.base).min(high.bytes);
        (shared > 0).then(|| {
            format!(
                "area {:#x} of {} bytes and area {:#x} of {} bytes overlap by {shared} bytes: every byte belongs to one area",
                low.base, low.bytes, high.base, high.bytes
            )
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn explained(areas: &[(u64, u64)]) -> String {
        let areas: Vec<_> = areas
            .iter()
            .map(|&(base, bytes)| Area {
                base,
                bytes,
                node: 0,
            })
            .collect();
        explain_areas(&areas, 4096).unwrap_or_default()
    }

    #[test]
    fn a_wrong_area_is_named_with_what_is_wrong() {
        assert!(explained(&[]).contains("at least one"));
        assert!(explained(&[(0x1000, 0)]).contains("area 0x1000 of 0 bytes"));
        assert!(explained(&[(u64::MAX - 4095, 8192)]).contains("behind the last address"));
        assert!(explained(&[(4095, 4096)]).contains("no whole granule of 4096 bytes"));
        let overlap = explained(&[(0x3000, 0x1000), (0, 0x3010)]);
        assert!(overlap.contains("area 0x0 of 12304 bytes"), "{overlap}");
        assert!(overlap.contains("overlap by 16 bytes"), "{overlap}");
        assert_eq!(explained(&[(0, 4096), (4096, 4096)]), "");
    }
}
