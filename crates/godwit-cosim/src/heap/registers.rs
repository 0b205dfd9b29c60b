// SPDX-License-Identifier: Apache-2.0
//! The heap's registers, as a host uses them.

use std::collections::HashMap;

use godwit::{HeapRefusal, heap_regs as regs, layout};
use godwit_card::{CardError, Device, SimCard};

use super::model::{Command, Given, PAGE};
use super::regions::Place;
use crate::CosimError;

const BASE: u64 = layout::REGISTER_SPACE_HEAP_BASE as u64;
/// Cycles in which a command, or a touch, is answered, however busy the memory is.
const ANSWER_CYCLES: u64 = 500_000;

/// How a touch of the host ended.
#[derive(Debug, PartialEq, Eq)]
pub enum Touched {
    Frame(u64),
    Again,
    Fault,
}

/// Registers that only the host changes, from a base on: a word that they hold is not written again, for a write takes cycles.
#[derive(Default)]
pub struct Kept {
    base: u64,
    words: HashMap<u64, u32>,
}

impl Kept {
    /// Those behind `base`; nothing is known of them.
    pub fn new(base: u64) -> Self {
        Self {
            base,
            words: HashMap::new(),
        }
    }

    /// The heap's.
    pub fn heap() -> Self {
        Self::new(BASE)
    }

    pub fn write(&mut self, card: &mut SimCard, register: u64, word: u32) -> Result<(), CardError> {
        if self.words.insert(register, word) == Some(word) {
            return Ok(());
        }
        card.reg_write(self.base + register, word)
    }

    pub fn write64(
        &mut self,
        card: &mut SimCard,
        register: u64,
        value: u64,
    ) -> Result<(), CardError> {
        self.write(card, register, value as u32)?;
        self.write(card, register + 4, (value >> 32) as u32)
    }
}

pub fn read(card: &mut SimCard, register: u64) -> Result<u32, CardError> {
    card.reg_read(BASE + register)
}

pub fn write(card: &mut SimCard, register: u64, value: u32) -> Result<(), CardError> {
    card.reg_write(BASE + register, value)
}

pub fn write64(card: &mut SimCard, register: u64, value: u64) -> Result<(), CardError> {
    write(card, register, value as u32)?;
    write(card, register + 4, (value >> 32) as u32)
}

pub fn read64(card: &mut SimCard, register: u64) -> Result<u64, CardError> {
    let low = read(card, register)?;
    Ok(u64::from(read(card, register + 4)?) << 32 | u64::from(low))
}

/// Reads until `mask` is 0; an error says what did not come.
fn until_clear(
    card: &mut SimCard,
    register: u64,
    mask: u32,
    what: &str,
) -> Result<Result<u32, String>, CosimError> {
    let since = card.stats()?.cycles;
    loop {
        let found = read(card, register)?;
        if found & mask == 0 {
            return Ok(Ok(found));
        }
        let cycles = card.stats()?.cycles - since;
        if cycles > ANSWER_CYCLES {
            return Ok(Err(format!("no {what} within {cycles} cycles")));
        }
    }
}

/// Hands a region's memory to the heap; it may be full of anything unless it is `clean`.
pub fn start(
    card: &mut SimCard,
    kept: &mut Kept,
    number: usize,
    place: &Place,
) -> Result<(), CardError> {
    for (register, at) in [
        (regs::BASE, place.memory),
        (regs::CLEAN_BITS, place.clean_bits),
        (regs::DIRTY_BITS, place.dirty_bits),
    ] {
        write64(card, register, at / PAGE)?;
    }
    let mut how = ((place.bytes >> 21) as u32) << regs::MEMORY_BLOCKS_SHIFT;
    if place.clean {
        how |= regs::MEMORY_CLEAN_MASK;
    }
    if place.strict {
        how |= regs::MEMORY_STRICT_MASK;
    }
    write(card, regs::MEMORY, how)?;
    kept.write(card, regs::REGION, number as u32)?;
    write(card, regs::START, regs::START_START_MASK)
}

/// What all regions share: the zero frame, and allocations that a context may have.
pub fn set(card: &mut SimCard, zero: u64, quota: u64) -> Result<(), CardError> {
    write64(card, regs::ZERO, zero / PAGE)?;
    write(card, regs::QUOTA, quota as u32)
}

/// A region's frames that nobody has.
pub fn free_frames(card: &mut SimCard, kept: &mut Kept, region: usize) -> Result<u64, CardError> {
    kept.write(card, regs::REGION, region as u32)?;
    Ok(read(card, regs::FREE_FRAMES)?.into())
}

/// The same, and those of them that are clean.
pub fn free(card: &mut SimCard, kept: &mut Kept, region: usize) -> Result<(u64, u64), CardError> {
    let free = free_frames(card, kept, region)?;
    Ok((free, read(card, regs::CLEAN_FRAMES)?.into()))
}

/// Pointer and size of a command, if it has them, and the register that begins it, without a context.
pub fn words(command: Command) -> (Option<u64>, Option<u64>, u32) {
    match command {
        Command::Malloc {
            bytes,
            granule,
            small,
            write: writable,
            region,
        } => {
            let how = granule << regs::COMMAND_GRANULE_SHIFT
                | u32::from(small) << regs::COMMAND_SMALL_SLOT_SHIFT
                | u32::from(writable) << regs::COMMAND_WRITE_SHIFT
                | (region as u32) << regs::COMMAND_REGION_SHIFT;
            (None, Some(bytes), how)
        }
        Command::Realloc { pointer, bytes } => (Some(pointer), Some(bytes), 1),
        Command::Free { pointer } => (Some(pointer), None, 2),
    }
}

/// What a command was told by a status and, if it is a malloc, a pointer.
pub fn told(
    context: usize,
    command: Command,
    (status, result): (u32, u64),
) -> Result<Given, String> {
    let answer = match HeapRefusal::ALL.into_iter().find(|r| r.code() == status) {
        Some(refusal) => Err(refusal),
        None if status != layout::HEAP_OK => return Err(format!("an answer with status {status}")),
        None => Ok(match command {
            Command::Malloc { .. } => result,
            Command::Realloc { pointer, .. } | Command::Free { pointer } => pointer,
        }),
    };
    Ok(Given {
        context,
        command,
        answer,
    })
}

/// One command of the host and its answer.
pub fn command(
    card: &mut SimCard,
    kept: &mut Kept,
    context: usize,
    command: Command,
) -> Result<Result<Given, String>, CosimError> {
    let (pointer, size, how) = words(command);
    if let Some(pointer) = pointer {
        kept.write64(card, regs::POINTER, pointer)?;
    }
    if let Some(size) = size {
        kept.write64(card, regs::SIZE, size)?;
    }
    let word = how | (context as u32) << regs::COMMAND_CONTEXT_ID_SHIFT;
    write(card, regs::COMMAND, word)?;
    let what = "answer to a command";
    let answer = match until_clear(card, regs::ANSWER, regs::ANSWER_BUSY_MASK, what)? {
        Ok(answer) => answer,
        Err(what) => return Ok(Err(what)),
    };
    let status = (answer & regs::ANSWER_STATUS_MASK) >> regs::ANSWER_STATUS_SHIFT;
    let result = match command {
        Command::Malloc { .. } if status == layout::HEAP_OK => read64(card, regs::RESULT)?,
        _ => 0,
    };
    Ok(told(context, command, (status, result)))
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
    let what = "answer to a touch";
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

/// Begins to take all from a context.
pub fn begin_end(card: &mut SimCard, context: usize) -> Result<(), CardError> {
    write(card, regs::END_CONTEXT, context as u32)
}

/// Whether a context's end is under way.
pub fn ends(card: &mut SimCard) -> Result<bool, CardError> {
    Ok(read(card, regs::STATUS)? & regs::STATUS_ENDING_MASK != 0)
}
