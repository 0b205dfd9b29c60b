// SPDX-License-Identifier: Apache-2.0
//! The access counters behind the page cache: lines over the link by group of 64 KiB of host memory. A group is reported when it reaches a
//! threshold, once until it is cleared.

use godwit_card::{CardError, Device};
use godwit_core::layout;

use crate::regs;

/// log2 of a group's bytes.
const SHIFT: u32 = layout::ACCESS_GROUP_SHIFT;
/// Bytes of a group.
pub(crate) const GROUP_BYTES: u64 = 1 << SHIFT;
const BASE: u64 = layout::REGISTER_SPACE_MMU_BASE as u64;

/// A group that has reached the threshold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LineReport {
    /// Its first physical address.
    pub pa: u64,
    /// Lines that crossed the link since it was cleared, both ways.
    pub lines: u32,
}

/// Has groups reported that reach so many lines, by interrupt.
pub(crate) fn turn_on(device: &mut dyn Device, threshold: u32) -> Result<(), CardError> {
    set_threshold(device, threshold)?;
    let on =
        regs::ACCESS_COUNTERS_CONTROL_ENABLE_MASK | regs::ACCESS_COUNTERS_CONTROL_IRQ_ENABLE_MASK;
    device.reg_write(BASE + regs::ACCESS_COUNTERS_CONTROL, on)
}

/// From now on so many make a report.
pub(crate) fn set_threshold(device: &mut dyn Device, lines: u32) -> Result<(), CardError> {
    let lines = lines.clamp(1, regs::ACCESS_COUNTERS_THRESHOLD_LINES_MASK);
    device.reg_write(BASE + regs::ACCESS_COUNTERS_THRESHOLD, lines)
}

/// Reports that wait.
pub(crate) fn waiting(device: &mut dyn Device) -> Result<u32, CardError> {
    let status = device.reg_read(BASE + regs::ACCESS_COUNTERS_STATUS)?;
    Ok(status & regs::ACCESS_COUNTERS_STATUS_REPORTS_MASK)
}

/// Takes the oldest report, if there is one, and has the group counted from zero.
pub(crate) fn take(device: &mut dyn Device) -> Result<Option<LineReport>, CardError> {
    let valid = (regs::ACCESS_COUNTERS_REPORT_GROUP_VALID_MASK >> 32) as u32;
    let high = device.reg_read(BASE + regs::ACCESS_COUNTERS_REPORT_GROUP + 4)?;
    if high & valid == 0 {
        return Ok(None);
    }
    let low = device.reg_read(BASE + regs::ACCESS_COUNTERS_REPORT_GROUP)?;
    let group = u64::from(high & !valid) << 32 | u64::from(low);
    device.reg_write(BASE + regs::ACCESS_COUNTERS_TAKE, 1)?;
    end(device, group << SHIFT).map(Some)
}

/// As [`clear`]; returns what was counted until then.
pub(crate) fn end(device: &mut dyn Device, pa: u64) -> Result<LineReport, CardError> {
    clear(device, pa)?;
    let counts = device.reg_read(BASE + regs::ACCESS_COUNTERS_CLEARED_LINES)?;
    let fills = counts & regs::ACCESS_COUNTERS_CLEARED_LINES_FILLS_MASK;
    let written = counts >> regs::ACCESS_COUNTERS_CLEARED_LINES_WRITEBACKS_SHIFT;
    Ok(LineReport {
        pa,
        lines: fills + written,
    })
}

/// Has the group of a physical address counted from zero.
pub(crate) fn clear(device: &mut dyn Device, pa: u64) -> Result<(), CardError> {
    let group = pa >> SHIFT;
    device.reg_write(BASE + regs::ACCESS_COUNTERS_CLEAR_GROUP, group as u32)?;
    device.reg_write(
        BASE + regs::ACCESS_COUNTERS_CLEAR_GROUP + 4,
        (group >> 32) as u32,
    )
}

/// Lines that the page cache has moved over the link, both ways, modulo 2^32.
pub(crate) fn lines(device: &mut dyn Device) -> Result<u32, CardError> {
    let fills = device.reg_read(BASE + regs::CACHE_COUNTERS_FILLS)?;
    Ok(fills.wrapping_add(device.reg_read(BASE + regs::CACHE_COUNTERS_WRITEBACKS)?))
}
