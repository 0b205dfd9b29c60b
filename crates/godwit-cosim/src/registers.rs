// SPDX-License-Identifier: Apache-2.0
//! What every kind of run does with the MMU's registers.

use godwit::{layout, regs};
use godwit_card::{CardError, Device, SimCard};
use godwit_core::{PageTable, TableMemory};

/// Gives a port to a context, or turns it off.
pub fn bind(card: &mut SimCard, port: u32, context: Option<usize>) -> Result<(), CardError> {
    let mode = match context {
        Some(_) => layout::PORT_MODE_TRANSLATE,
        None => layout::PORT_MODE_OFF,
    };
    let word = (mode << regs::PORT_BINDING_MODE_SHIFT)
        | ((context.unwrap_or(0) as u32) << regs::PORT_BINDING_CONTEXT_ID_SHIFT);
    let at = regs::PORT_BINDING + regs::PORT_STRIDE * u64::from(port);
    card.reg_write(at, word)
}

/// Writes a context's entry.
pub fn write_context(card: &mut SimCard, number: usize, fsc: u64) -> Result<(), CardError> {
    let at = regs::CONTEXTS_FSC + regs::CONTEXTS_FSC_STRIDE * number as u64;
    card.reg_write(at, fsc as u32)?;
    card.reg_write(at + 4, (fsc >> 32) as u32)
}

/// The entry of a context with this table.
pub fn fsc<M: TableMemory>(table: &PageTable<M>) -> u64 {
    let mode = u64::from(table.mode().code()) << layout::FSC_MODE_SHIFT;
    mode | table.root() >> layout::PT_PAGE_SHIFT
}

/// How many accesses the card refused since the last call.
pub fn fault_count(card: &mut SimCard) -> Result<u64, CardError> {
    let word = card.reg_read(regs::FAULT)?;
    let lost = u64::from(card.reg_read(regs::FAULTS_LOST)?);
    card.reg_write(regs::FAULT, regs::FAULT_VALID_MASK)?;
    card.reg_write(regs::COUNT_CONTROL, regs::COUNT_CONTROL_CLEAR_MASK)?;
    Ok(lost + u64::from(word & regs::FAULT_VALID_MASK != 0))
}

/// Drops whatever the card has cached of tables.
pub fn invalidate_all(card: &mut SimCard) -> Result<(), CardError> {
    card.reg_write(regs::INVALIDATE, regs::INVALIDATE_START_MASK)?;
    while card.reg_read(regs::INVALIDATE)? & regs::INVALIDATE_BUSY_MASK != 0 {}
    Ok(())
}
