// SPDX-License-Identifier: Apache-2.0
//! The MMU's registers, as procedures.

use godwit_card::{CardError, Device};
use godwit_core::{Mode, layout};

use crate::fault::FaultRecord;
use crate::hardware::counters::{Counters, Width};
use crate::{Error, regs};

/// `id.magic`.
const MAGIC: u32 = regs::ID_MAGIC_VALUE;
/// `id.major` this runtime was generated for.
const MAJOR: u32 = regs::ID_MAJOR_VALUE;
/// An invalidation ends with the accesses in flight; one that takes longer than this hangs.
const INVALIDATE_MAX_CYCLES: u64 = 10_000_000;

const BASE: u64 = layout::REGISTER_SPACE_MMU_BASE as u64;

fn read(device: &mut dyn Device, register: u64) -> Result<u32, CardError> {
    device.reg_read(BASE + register)
}

fn write(device: &mut dyn Device, register: u64, value: u32) -> Result<(), CardError> {
    device.reg_write(BASE + register, value)
}

/// The two halves of a 64-bit register that does not change meanwhile.
fn read64(device: &mut dyn Device, register: u64) -> Result<u64, CardError> {
    let low = read(device, register)?;
    let high = read(device, register + 4)?;
    Ok(u64::from(high) << 32 | u64::from(low))
}

/// Both halves of a 64-bit register, the lower first.
fn write64(device: &mut dyn Device, register: u64, value: u64) -> Result<(), CardError> {
    write(device, register, value as u32)?;
    write(device, register + 4, (value >> 32) as u32)
}

/// Checks that the hardware is the one this program was generated for, and lets faults raise the interrupt line.
pub(crate) fn bring_up(device: &mut dyn Device) -> Result<(), Error> {
    let id = read(device, regs::ID)?;
    let magic = (id & regs::ID_MAGIC_MASK) >> regs::ID_MAGIC_SHIFT;
    let major = (id & regs::ID_MAJOR_MASK) >> regs::ID_MAJOR_SHIFT;
    if (magic, major) != (MAGIC, MAJOR) {
        return Err(Error::Hardware(format!(
            "the identification register reads {id:#010x}, not {MAGIC:#06x} with major version {MAJOR}: this is no card \
             that this program knows"
        )));
    }
    let found = read(device, regs::SPEC_HASH)?;
    if found != layout::SPEC_HASH {
        let name = device.description().name.clone();
        return Err(CardError::Spec {
            name,
            found,
            wanted: layout::SPEC_HASH,
        }
        .into());
    }
    Ok(write(
        device,
        regs::IRQ_ENABLE,
        regs::IRQ_ENABLE_FAULT_MASK,
    )?)
}

/// How the hardware uses a context's tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Walks {
    /// The host is asked for pages that are not there.
    pub asks: bool,
    /// Leaves get their A and D bits by hardware (SADE).
    pub sets_bits: bool,
}

/// Sets a context's root table, or takes it away.
pub(crate) fn set_context(
    device: &mut dyn Device,
    id: usize,
    root: Option<(Mode, u64)>,
    walks: Walks,
) -> Result<(), CardError> {
    let value = root.map_or(0, |(mode, root)| {
        u64::from(mode.code()) << layout::FSC_MODE_SHIFT
            | u64::from(walks.asks) << layout::FSC_EN_PRI_SHIFT
            | u64::from(walks.sets_bits) << layout::FSC_SADE_SHIFT
            | (root >> layout::PT_PAGE_SHIFT) << layout::FSC_PPN_SHIFT
    });
    let register = regs::CONTEXTS_FSC + id as u64 * regs::CONTEXTS_FSC_STRIDE;
    // The hardware takes both halves with the write of the upper one.
    write(device, register, value as u32)?;
    write(device, register + 4, (value >> 32) as u32)
}

/// Binds a port; `mode` is one of `layout::PORT_MODE_*`.
pub(crate) fn bind_port(
    device: &mut dyn Device,
    port: u32,
    mode: u32,
    context: usize,
) -> Result<(), CardError> {
    let register = regs::PORT_BINDING + u64::from(port) * regs::PORT_STRIDE;
    let context = (context as u32) << regs::PORT_BINDING_CONTEXT_ID_SHIFT;
    write(
        device,
        register,
        mode << regs::PORT_BINDING_MODE_SHIFT | context,
    )
}

/// Drops everything cached and waits until no access uses what was looked up before.
pub(crate) fn invalidate(device: &mut dyn Device) -> Result<(), Error> {
    let start = device.stats()?.cycles;
    write(device, regs::INVALIDATE, regs::INVALIDATE_START_MASK)?;
    while read(device, regs::INVALIDATE)? & regs::INVALIDATE_BUSY_MASK != 0 {
        let cycles = device.stats()?.cycles - start;
        if cycles > INVALIDATE_MAX_CYCLES {
            return Err(Error::Hang(format!(
                "an invalidation was not acknowledged within {cycles} cycles: an access that was translated before has \
                 not ended"
            )));
        }
    }
    Ok(())
}

/// Takes the fault record, if there is one, and makes room for the next.
pub(crate) fn take_fault(device: &mut dyn Device) -> Result<Option<FaultRecord>, CardError> {
    let fault = read(device, regs::FAULT)?;
    if fault & regs::FAULT_VALID_MASK == 0 {
        return Ok(None);
    }
    let record = FaultRecord {
        cause: (fault & regs::FAULT_CAUSE_MASK) >> regs::FAULT_CAUSE_SHIFT,
        port: (fault & regs::FAULT_PORT_MASK) >> regs::FAULT_PORT_SHIFT,
        context: (fault & regs::FAULT_CONTEXT_ID_MASK) >> regs::FAULT_CONTEXT_ID_SHIFT,
        write: fault & regs::FAULT_WRITE_MASK != 0,
        id: (read(device, regs::FAULT_ID)? & regs::FAULT_ID_ID_MASK) as u16,
        address: read64(device, regs::FAULT_ADDRESS)?,
        lost: read(device, regs::FAULTS_LOST)?,
    };
    // In this order a fault that comes between the two raises the interrupt again.
    write(device, regs::IRQ_PENDING, regs::IRQ_PENDING_FAULT_MASK)?;
    write(device, regs::FAULT, regs::FAULT_VALID_MASK)?;
    Ok(Some(record))
}

/// All counters as of one cycle: they stand still while they are read.
pub(crate) fn counters(device: &mut dyn Device, ports: u32) -> Result<Counters, CardError> {
    let control = read(device, regs::COUNT_CONTROL)?;
    write(
        device,
        regs::COUNT_CONTROL,
        control | regs::COUNT_CONTROL_INHIBIT_MASK,
    )?;
    let counters = read_counters(device, ports);
    write(device, regs::COUNT_CONTROL, control)?;
    counters
}

fn read_counters(device: &mut dyn Device, ports: u32) -> Result<Counters, CardError> {
    Counters::read(ports, |width, register| match width {
        Width::Counter => read64(device, register),
        Width::Register => Ok(u64::from(read(device, register)?)),
    })
}

/// Sets every counter to zero.
pub(crate) fn clear_counters(device: &mut dyn Device) -> Result<(), CardError> {
    let control = read(device, regs::COUNT_CONTROL)?;
    write(
        device,
        regs::COUNT_CONTROL,
        control | regs::COUNT_CONTROL_CLEAR_MASK,
    )
}

/// Counts, of events that belong to a context, only those of `context`; all with none.
pub(crate) fn count_only(device: &mut dyn Device, context: Option<u32>) -> Result<(), CardError> {
    let control = context.map_or(0, |context| {
        regs::COUNT_CONTROL_FILTER_MASK | context << regs::COUNT_CONTROL_CONTEXT_ID_SHIFT
    });
    write(device, regs::COUNT_CONTROL, control)
}

/// Pages of a context whose frames lie in a row, for an entry of the range TLB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Range {
    pub context: u32,
    pub va: u64,
    pub pa: u64,
    /// Bytes, whole pages.
    pub len: u64,
    pub writable: bool,
}

const PAGE_SHIFT: u32 = 12;

/// Whether each entry of the range TLB is in use.
pub(crate) fn range_entries(device: &mut dyn Device) -> Result<Vec<bool>, CardError> {
    let capabilities = read(device, regs::CAPABILITIES)?;
    let entries =
        (capabilities & regs::CAPABILITIES_RANGES_MASK) >> regs::CAPABILITIES_RANGES_SHIFT;
    (0..u64::from(entries))
        .map(|entry| {
            let at = entry * regs::RANGES_ENTRY_STRIDE + regs::RANGES_ENTRY_CONTROL;
            Ok(read(device, at)? & regs::RANGES_ENTRY_CONTROL_VALID_MASK != 0)
        })
        .collect()
}

/// Writes an entry of the range TLB that is free. An invalidation of any of its pages ends it.
pub(crate) fn set_range(
    device: &mut dyn Device,
    entry: u32,
    range: Range,
) -> Result<(), CardError> {
    let at = u64::from(entry) * regs::RANGES_ENTRY_STRIDE;
    let base = range.va >> PAGE_SHIFT;
    let limit = (range.va + range.len - 1) >> PAGE_SHIFT;
    // Modulo 2^44: the register has no more bits.
    let offset = (range.pa >> PAGE_SHIFT).wrapping_sub(base);
    write64(device, at + regs::RANGES_ENTRY_BASE, base)?;
    write64(device, at + regs::RANGES_ENTRY_LIMIT, limit)?;
    write64(device, at + regs::RANGES_ENTRY_OFFSET, offset)?;
    let mut control = regs::RANGES_ENTRY_CONTROL_VALID_MASK
        | regs::RANGES_ENTRY_CONTROL_READ_MASK
        | range.context << regs::RANGES_ENTRY_CONTROL_CONTEXT_ID_SHIFT;
    if range.writable {
        control |= regs::RANGES_ENTRY_CONTROL_WRITE_MASK;
    }
    write(device, at + regs::RANGES_ENTRY_CONTROL, control)
}
