// SPDX-License-Identifier: Apache-2.0
//! The heap's registers, as a host uses them.

use godwit::{HeapRefusal, heap_regs as regs, layout};
use godwit_card::{CardError, Device, SimCard};

use super::model::{Command, PAGE};
use crate::CosimError;

const BASE: u64 = layout::REGISTER_SPACE_HEAP_BASE as u64;
/// Cycles in which a command, or a touch, is answered, however busy the memory is.
const ANSWER_CYCLES: u64 = 500_000;
/// Cycles in which all that was freed is taken back and cleared.
pub const SETTLE_CYCLES: u64 = 5_000_000;
const PAUSE_CYCLES: u64 = 100;

/// Where the heap's memory is, in bytes.
#[derive(Clone, Copy)]
pub struct Place {
    pub memory: u64,
    pub bytes: u64,
    pub clean_bits: u64,
    pub dirty_bits: u64,
    pub zero: u64,
}

/// How a touch of the host ended.
#[derive(Debug, PartialEq, Eq)]
pub enum Touched {
    Frame(u64),
    Again,
    Fault,
}

pub fn read(card: &mut SimCard, register: u64) -> Result<u32, CardError> {
    card.reg_read(BASE + register)
}

fn write(card: &mut SimCard, register: u64, value: u32) -> Result<(), CardError> {
    card.reg_write(BASE + register, value)
}

fn write64(card: &mut SimCard, register: u64, value: u64) -> Result<(), CardError> {
    write(card, register, value as u32)?;
    write(card, register + 4, (value >> 32) as u32)
}

fn read64(card: &mut SimCard, register: u64) -> Result<u64, CardError> {
    let low = read(card, register)?;
    Ok(u64::from(read(card, register + 4)?) << 32 | u64::from(low))
}

/// Reads until `mask` is 0; an error says what did not come.
fn until_clear(
    card: &mut SimCard,
    register: u64,
    mask: u32,
    (what, limit, pause): (&str, u64, u64),
) -> Result<Result<u32, String>, CosimError> {
    let since = card.stats()?.cycles;
    loop {
        let found = read(card, register)?;
        if found & mask == 0 {
            return Ok(Ok(found));
        }
        let cycles = card.stats()?.cycles - since;
        if cycles > limit {
            return Ok(Err(format!("no {what} within {cycles} cycles")));
        }
        if pause > 0 {
            card.run(pause, 0)?;
        }
    }
}

/// Hands the memory to the heap; it may be full of anything unless it is `clean`.
pub fn start(card: &mut SimCard, place: Place, clean: bool, quota: u64) -> Result<(), CosimError> {
    for (register, at) in [
        (regs::BASE, place.memory),
        (regs::CLEAN_BITS, place.clean_bits),
        (regs::DIRTY_BITS, place.dirty_bits),
        (regs::ZERO, place.zero),
    ] {
        write64(card, register, at / PAGE)?;
    }
    let mut how = ((place.bytes >> 21) as u32) << regs::MEMORY_BLOCKS_SHIFT;
    if clean {
        how |= regs::MEMORY_CLEAN_MASK;
    }
    write(card, regs::MEMORY, how)?;
    write(card, regs::QUOTA, quota as u32)?;
    Ok(write(card, regs::START, regs::START_START_MASK)?)
}

/// One command and its answer.
pub fn command(
    card: &mut SimCard,
    context: usize,
    command: Command,
) -> Result<Result<Result<u64, HeapRefusal>, String>, CosimError> {
    let mut word = (context as u32) << regs::COMMAND_CONTEXT_ID_SHIFT;
    match command {
        Command::Malloc {
            bytes,
            granule,
            small,
            write: writable,
        } => {
            write64(card, regs::SIZE, bytes)?;
            word |= granule << regs::COMMAND_GRANULE_SHIFT;
            word |= u32::from(small) << regs::COMMAND_SMALL_SLOT_SHIFT;
            word |= u32::from(writable) << regs::COMMAND_WRITE_SHIFT;
        }
        Command::Realloc { pointer, bytes } => {
            write64(card, regs::POINTER, pointer)?;
            write64(card, regs::SIZE, bytes)?;
            word |= 1;
        }
        Command::Free { pointer } => {
            write64(card, regs::POINTER, pointer)?;
            word |= 2;
        }
    }
    write(card, regs::COMMAND, word)?;
    let what = ("answer to a command", ANSWER_CYCLES, 0);
    let answer = match until_clear(card, regs::ANSWER, regs::ANSWER_BUSY_MASK, what)? {
        Ok(answer) => answer,
        Err(what) => return Ok(Err(what)),
    };
    let status = (answer & regs::ANSWER_STATUS_MASK) >> regs::ANSWER_STATUS_SHIFT;
    if status != layout::HEAP_OK {
        let refusal = HeapRefusal::ALL.into_iter().find(|r| r.code() == status);
        return Ok(match refusal {
            Some(refusal) => Ok(Err(refusal)),
            None => Err(format!("an answer with status {status}")),
        });
    }
    let given = match command {
        Command::Malloc { .. } => read64(card, regs::RESULT)?,
        Command::Realloc { pointer, .. } | Command::Free { pointer } => pointer,
    };
    Ok(Ok(Ok(given)))
}

/// A write of the host to a page, whose walk ended at `entry`.
pub fn touch(
    card: &mut SimCard,
    context: usize,
    va: u64,
    (entry, level): (u64, u32),
) -> Result<Result<Touched, String>, CosimError> {
    write64(card, regs::TOUCH_ADDRESS, va)?;
    write64(card, regs::TOUCH_ENTRY, entry)?;
    let how = level << regs::TOUCH_TABLE_LEVEL_SHIFT
        | regs::TOUCH_WRITE_MASK
        | (context as u32) << regs::TOUCH_CONTEXT_ID_SHIFT;
    write(card, regs::TOUCH, how)?;
    let what = ("answer to a touch", ANSWER_CYCLES, 0);
    let found = match until_clear(card, regs::TOUCHED, regs::TOUCHED_BUSY_MASK, what)? {
        Ok(found) => found,
        Err(what) => return Ok(Err(what)),
    };
    Ok(
        match (found & regs::TOUCHED_HOW_MASK) >> regs::TOUCHED_HOW_SHIFT {
            layout::HEAP_TOUCH_FRAME => Ok(Touched::Frame(read64(card, regs::TOUCHED_FRAME)?)),
            layout::HEAP_TOUCH_AGAIN => Ok(Touched::Again),
            layout::HEAP_TOUCH_FAULT => Ok(Touched::Fault),
            other => Err(format!("a touch to write ended with {other}")),
        },
    )
}

/// Waits until what was freed, or cut off, is taken back.
pub fn settle(card: &mut SimCard) -> Result<Result<u32, String>, CosimError> {
    let what = ("end of reclaiming", SETTLE_CYCLES, PAUSE_CYCLES);
    until_clear(card, regs::STATUS, regs::STATUS_RECLAIMING_MASK, what)
}

/// Takes all from a context.
pub fn end(card: &mut SimCard, context: usize) -> Result<Result<u32, String>, CosimError> {
    write(card, regs::END_CONTEXT, context as u32)?;
    let what = ("end of a context", SETTLE_CYCLES, PAUSE_CYCLES);
    until_clear(card, regs::STATUS, regs::STATUS_ENDING_MASK, what)
}
