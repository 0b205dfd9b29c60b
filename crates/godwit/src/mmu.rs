// SPDX-License-Identifier: Apache-2.0
//! The MMU's registers, as procedures.

use godwit_card::{CardError, Device};
use godwit_core::{Mode, layout};

use crate::counters::{ChannelCounters, Counters, L2Counters, PortCounters, WalkerCounters};
use crate::{Error, regs};

/// `id.magic`.
const MAGIC: u32 = 0x4757;
/// `id.major` this runtime was written for.
const MAJOR: u32 = 1;
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

/// Sets a context's root table, or takes it away.
pub(crate) fn set_context(
    device: &mut dyn Device,
    id: usize,
    root: Option<(Mode, u64)>,
) -> Result<(), CardError> {
    let value = root.map_or(0, |(mode, root)| {
        u64::from(mode.code()) << layout::FSC_MODE_SHIFT
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

/// What the fault record holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FaultRecord {
    pub cause: u32,
    pub port: u32,
    pub context: u32,
    pub write: bool,
    pub id: u16,
    pub address: u64,
    /// Faults that found the record occupied, since the counters were cleared.
    pub lost: u32,
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

/// The counters of one channel; `first`: the register of the first.
fn channel_counters(device: &mut dyn Device, first: u64) -> Result<ChannelCounters, CardError> {
    let mut at = |register| {
        read64(
            device,
            first + register - regs::PORT_COUNTERS_PORT_AR_REQUESTS,
        )
    };
    Ok(ChannelCounters {
        requests: at(regs::PORT_COUNTERS_PORT_AR_REQUESTS)?,
        hits: at(regs::PORT_COUNTERS_PORT_AR_HITS)?,
        misses: at(regs::PORT_COUNTERS_PORT_AR_MISSES)?,
        faults: at(regs::PORT_COUNTERS_PORT_AR_FAULTS)?,
        stalls: at(regs::PORT_COUNTERS_PORT_AR_STALLS)?,
        l2_hits: at(regs::PORT_COUNTERS_PORT_AR_L2_HITS)?,
        range_hits: at(regs::PORT_COUNTERS_PORT_AR_RANGE_HITS)?,
        walks: at(regs::PORT_COUNTERS_PORT_AR_WALKS)?,
    })
}

fn read_counters(device: &mut dyn Device, ports: u32) -> Result<Counters, CardError> {
    let ports = (0..u64::from(ports))
        .map(|port| {
            let base = port * regs::PORT_COUNTERS_PORT_STRIDE;
            Ok(PortCounters {
                read: channel_counters(device, base + regs::PORT_COUNTERS_PORT_AR_REQUESTS)?,
                write: channel_counters(device, base + regs::PORT_COUNTERS_PORT_AW_REQUESTS)?,
            })
        })
        .collect::<Result<_, CardError>>()?;
    Ok(Counters {
        ports,
        l2: L2Counters {
            hits: read64(device, regs::L2_COUNTERS_HITS)?,
            range_hits: read64(device, regs::L2_COUNTERS_RANGE_HITS)?,
            misses: read64(device, regs::L2_COUNTERS_MISSES)?,
            fills: read64(device, regs::L2_COUNTERS_FILLS)?,
            merges: read64(device, regs::L2_COUNTERS_MERGES)?,
            evictions: read64(device, regs::L2_COUNTERS_EVICTIONS)?,
            drops: read64(device, regs::L2_COUNTERS_DROPS)?,
            invalidated: read64(device, regs::L2_COUNTERS_INVALIDATED)?,
        },
        walker: WalkerCounters {
            walks: read64(device, regs::WALKER_COUNTERS_WALKS)?,
            latency_sum: read64(device, regs::WALKER_COUNTERS_LATENCY_SUM)?,
            latency_max: read64(device, regs::WALKER_COUNTERS_LATENCY_MAX)?,
            faults: read64(device, regs::WALKER_COUNTERS_FAULTS)?,
            merges: read64(device, regs::WALKER_COUNTERS_MERGES)?,
            line_hits: read64(device, regs::WALKER_COUNTERS_LINE_HITS)?,
            cache_hits: read64(device, regs::WALKER_COUNTERS_CACHE_HITS)?,
            pte_reads: read64(device, regs::WALKER_COUNTERS_PTE_READS)?,
            prefetches: read64(device, regs::WALKER_COUNTERS_PREFETCHES)?,
            prefetches_used: read64(device, regs::WALKER_COUNTERS_PREFETCHES_USED)?,
            prefetches_useless: read64(device, regs::WALKER_COUNTERS_PREFETCHES_USELESS)?,
            updates: read64(device, regs::WALKER_COUNTERS_UPDATES)?,
        },
        faults_lost: read(device, regs::FAULTS_LOST)?,
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

/// Writes a free entry of the range TLB; false if there is none. An invalidation of any of its pages ends it.
pub(crate) fn add_range(device: &mut dyn Device, range: Range) -> Result<bool, CardError> {
    let capabilities = read(device, regs::CAPABILITIES)?;
    let entries =
        (capabilities & regs::CAPABILITIES_RANGES_MASK) >> regs::CAPABILITIES_RANGES_SHIFT;
    for entry in 0..u64::from(entries) {
        let at = entry * regs::RANGES_ENTRY_STRIDE;
        let control = read(device, at + regs::RANGES_ENTRY_CONTROL)?;
        if control & regs::RANGES_ENTRY_CONTROL_VALID_MASK != 0 {
            continue;
        }
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
        write(device, at + regs::RANGES_ENTRY_CONTROL, control)?;
        return Ok(true);
    }
    Ok(false)
}
