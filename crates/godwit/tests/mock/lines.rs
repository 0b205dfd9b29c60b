// SPDX-License-Identifier: Apache-2.0
//! Access counters: lines of host memory by group of 64 KiB, reported at a threshold.

use std::collections::{BTreeMap, VecDeque};

use godwit::{layout, regs};

use super::MockCard;

const BASE: u64 = layout::REGISTER_SPACE_MMU_BASE as u64;
const LINE: u64 = 64;

#[derive(Default)]
pub(super) struct Lines {
    groups: BTreeMap<u64, (u32, bool)>,
    reports: VecDeque<(u64, u32)>,
    all: u32,
    /// Of the group that was cleared last.
    cleared: u32,
}

impl Lines {
    /// Bytes of host memory cross the link.
    pub fn cross(&mut self, pa: u64, bytes: u64, threshold: u32) {
        let Some(at) = pa.checked_sub(layout::HOST_APERTURE_BASE) else {
            return;
        };
        let group = (layout::HOST_APERTURE_BASE | at) >> layout::ACCESS_GROUP_SHIFT;
        let lines = bytes.div_ceil(LINE) as u32;
        self.all += lines;
        let (count, reported) = self.groups.entry(group).or_default();
        *count += lines;
        if threshold > 0 && *count >= threshold && !*reported {
            *reported = true;
            self.reports.push_back((group, *count));
        }
    }

    pub fn waits(&self) -> bool {
        !self.reports.is_empty()
    }
}

impl MockCard {
    pub(super) fn lines_read(&self, offset: u64) -> Option<u32> {
        let oldest = self.lines.reports.front().copied();
        let valid = regs::ACCESS_COUNTERS_REPORT_GROUP_VALID_MASK;
        let group = oldest.map_or(0, |(group, _)| group | valid);
        match offset.checked_sub(BASE)? {
            regs::ACCESS_COUNTERS_STATUS => Some(self.lines.reports.len() as u32),
            regs::ACCESS_COUNTERS_REPORT_GROUP => Some(group as u32),
            at if at == regs::ACCESS_COUNTERS_REPORT_GROUP + 4 => Some((group >> 32) as u32),
            regs::ACCESS_COUNTERS_REPORT_LINES => oldest.map(|(_, lines)| lines),
            regs::ACCESS_COUNTERS_CLEARED_LINES => Some(self.lines.cleared),
            regs::CACHE_COUNTERS_FILLS => Some(self.lines.all),
            _ => None,
        }
    }

    /// What a write does beside being kept.
    pub(super) fn lines_write(&mut self, offset: u64, value: u32) {
        match offset.checked_sub(BASE) {
            Some(regs::ACCESS_COUNTERS_TAKE) => {
                self.lines.reports.pop_front();
            }
            Some(at) if at == regs::ACCESS_COUNTERS_CLEAR_GROUP + 4 => {
                let low = self.get(BASE + regs::ACCESS_COUNTERS_CLEAR_GROUP);
                let group = u64::from(value) << 32 | u64::from(low);
                self.lines.cleared = self.lines.groups.remove(&group).unwrap_or_default().0;
            }
            _ => {}
        }
    }
}
