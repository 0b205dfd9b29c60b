// SPDX-License-Identifier: Apache-2.0
//! The heap in hardware, as procedures on its registers: `malloc`, `realloc` and `free` of a context, a page that the host touches itself,
//! a context's end.
//!
//! The hardware alone writes what page tables say below the heap's window; this side reads it.

use godwit_card::{CardError, Device, HeapConfig};
use godwit_core::{TableMemory, layout};

mod regions;

pub use self::regions::{HeapMemory, HeapRegion};
pub(crate) use self::regions::{Region, Wish, by_room, region_of, room};
use crate::hardware::frames::{Extent, FRAME_BYTES};
use crate::hardware::table_memory::FramePool;
use crate::{Error, HeapRefusal, heap_regs as regs};

/// Cycles between two looks at something that takes longer.
const PAUSE_CYCLES: u64 = 200;
/// Cycles after which nothing comes any more: a context's end, with all of 64 GiB in pages of 4 KiB, takes fewer.
const HANG_CYCLES: u64 = 2_000_000_000;
/// Cycles in which it begins, and in which a command is answered, whatever the memory does.
const ANSWER_CYCLES: u64 = 2_000_000;
/// Tables of a walk.
pub(super) const LEVELS: u32 = 4;

const BASE: u64 = layout::REGISTER_SPACE_HEAP_BASE as u64;

/// Where the card finds the memory of the host that the heap gives: above all addresses of programs, which are bus addresses, too.
pub(crate) const HOST_BUS: u64 = 1 << 52;
/// The same as a physical address.
pub(crate) const HEAP_HOST: u64 = layout::HOST_APERTURE_BASE | HOST_BUS;

/// A page of the heap, as the host finds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HeapPage {
    /// Physical memory around it, naturally aligned: one page, or a group that has one mapping.
    Frames(Extent),
    /// Nobody has written it.
    Zero,
    /// No live allocation of the context is there.
    Nothing,
    /// No frame came.
    NoFrame,
}

/// Where a walk ended.
enum Walk {
    Leaf(Extent),
    Missing { entry: u64, level: u32 },
}

/// What is asked when an allocation of a kernel is to become one of the program's.
pub(crate) fn kernels_own(pointer: u64, bytes: u64) -> String {
    format!("{bytes} bytes that a kernel allocated at {pointer:#x}")
}

/// It is one.
pub(crate) fn already_the_programs(pointer: u64) -> Error {
    Error::Argument(format!(
        "{pointer:#x} is an allocation of the program already"
    ))
}

/// The heap of a card.
pub(crate) struct Heap {
    /// At least one; tables are in the first.
    regions: Vec<Region>,
    /// Who waits for a frame longer than that is given up.
    pub wait_cycles: u64,
}

impl Heap {
    /// Hands ends of memories, which `pool` does not have, to the hardware.
    pub fn turn_on(
        device: &mut dyn Device,
        pool: &FramePool,
        regions: Vec<Region>,
        config: &HeapConfig,
    ) -> Result<Self, Error> {
        let found = read(device, regs::ID)? >> regs::ID_MAGIC_SHIFT;
        if found != regs::ID_MAGIC_VALUE {
            return Err(Error::Hardware(format!(
                "there is no heap at {BASE:#x}: its identification reads {found:#x}; build the card again"
            )));
        }
        if config.quota > 0 {
            write(device, regs::QUOTA, config.quota)?;
        }
        let several = regions.len() > 1;
        // The first is the last, so that the registers are about it from then on.
        for (number, region) in regions.iter().enumerate().rev() {
            if several {
                write(device, regs::REGION, number as u32)?;
            }
            regions::begin(device, pool, region, number == 0)?;
        }
        let heap = Self {
            regions,
            wait_cycles: 0,
        };
        let since = device.stats()?.cycles;
        for (number, region) in heap.regions.iter().enumerate() {
            // All are there but the tables that are kept at hand.
            let at_hand = if number == 0 { u64::from(LEVELS) } else { 0 };
            let all = region.place.len / FRAME_BYTES - at_hand;
            heap.choose(device, number)?;
            while u64::from(read(device, regs::FREE_FRAMES)?) < all {
                let cycles = device.stats()?.cycles - since;
                if cycles > ANSWER_CYCLES {
                    return Err(Error::Hang(format!(
                        "the heap has not begun within {cycles} cycles"
                    )));
                }
                device.run(PAUSE_CYCLES, 0)?;
            }
        }
        heap.choose(device, 0)?;
        // The card's watchdog must not take a wait for a frame for a hang before it is given up as one.
        let watchdog = device.description().config.card.watchdog_cycles;
        let most = match watchdog {
            0 => u64::MAX,
            watchdog => watchdog / 4 * 3,
        };
        Ok(Self {
            wait_cycles: config.wait_cycles.min(most),
            ..heap
        })
    }

    /// `bytes` bytes for a context. A wish that may be fulfilled elsewhere is asked of one region after the other, until one gives them.
    pub fn malloc(
        &self,
        device: &mut dyn Device,
        context: usize,
        bytes: u64,
        wish: Wish,
    ) -> Result<Result<u64, HeapRefusal>, Error> {
        let mut command = regs::COMMAND_WRITE_MASK | wish.granule << regs::COMMAND_GRANULE_SHIFT;
        if wish.small {
            command |= regs::COMMAND_SMALL_SLOT_MASK;
        }
        let mut answer = Err(HeapRefusal::NoFrame);
        for region in self.regions_for(device, bytes, wish)? {
            let region = (region as u32) << regs::COMMAND_REGION_SHIFT;
            answer = self.persist(device, |device| {
                write64(device, regs::SIZE, bytes)?;
                self.command(device, MALLOC | command | region, context)
            })?;
            if answer != Err(HeapRefusal::NoFrame) {
                break;
            }
        }
        Ok(answer)
    }

    /// Gives an allocation another size.
    pub fn realloc(
        &self,
        device: &mut dyn Device,
        context: usize,
        pointer: u64,
        bytes: u64,
    ) -> Result<Result<u64, HeapRefusal>, Error> {
        self.persist(device, |device| {
            write64(device, regs::POINTER, pointer)?;
            write64(device, regs::SIZE, bytes)?;
            self.command(device, REALLOC, context)
        })
    }

    /// Ends an allocation.
    pub fn free(
        &self,
        device: &mut dyn Device,
        context: usize,
        pointer: u64,
    ) -> Result<Result<u64, HeapRefusal>, Error> {
        write64(device, regs::POINTER, pointer)?;
        self.command(device, FREE, context)
    }

    /// Waits until what was freed, or cut off, is taken back.
    pub fn settle(&self, device: &mut dyn Device) -> Result<(), Error> {
        self.wait(device, regs::STATUS_RECLAIMING_MASK)
    }

    /// Frees whatever a context has, and waits until nothing of it is left in its tables.
    pub fn end(&self, device: &mut dyn Device, context: usize) -> Result<(), Error> {
        write(device, regs::END_CONTEXT, context as u32)?;
        self.wait(device, regs::STATUS_ENDING_MASK)
    }

    /// The page at `va` of the context whose root table is at `root`; to be written: it gets a frame. Nobody frees or shrinks
    /// the allocation meanwhile.
    pub fn page(
        &self,
        device: &mut dyn Device,
        tables: &FramePool,
        (context, root): (usize, u64),
        va: u64,
        to_write: bool,
    ) -> Result<HeapPage, Error> {
        let mut since = device.stats()?.cycles;
        loop {
            let (entry, level) = match walk(tables, root, va) {
                Walk::Leaf(frames) => return Ok(HeapPage::Frames(frames)),
                Walk::Missing { .. } if !to_write => return Ok(HeapPage::Zero),
                Walk::Missing { entry, level } => (entry, level),
            };
            match self.touch(device, context, va, entry, level)? {
                layout::HEAP_TOUCH_FRAME => return Ok(HeapPage::Frames(touched(device)?)),
                layout::HEAP_TOUCH_FAULT => return Ok(HeapPage::Nothing),
                _ if self.memory(device)?.reclaiming => since = device.stats()?.cycles,
                _ if device.stats()?.cycles - since > self.wait_cycles => {
                    return Ok(HeapPage::NoFrame);
                }
                _ => {}
            };
            device.run(PAUSE_CYCLES, 0)?;
        }
    }

    fn touch(
        &self,
        device: &mut dyn Device,
        context: usize,
        va: u64,
        entry: u64,
        level: u32,
    ) -> Result<u32, Error> {
        write64(device, regs::TOUCH_ADDRESS, va)?;
        write64(device, regs::TOUCH_ENTRY, entry)?;
        let how = level << regs::TOUCH_TABLE_LEVEL_SHIFT
            | regs::TOUCH_WRITE_MASK
            | (context as u32) << regs::TOUCH_CONTEXT_ID_SHIFT;
        write(device, regs::TOUCH, how)?;
        let end = ask(device, regs::TOUCHED, regs::TOUCHED_BUSY_MASK)?;
        Ok((end & regs::TOUCHED_HOW_MASK) >> regs::TOUCHED_HOW_SHIFT)
    }

    /// Begins a command and takes its answer.
    fn command(
        &self,
        device: &mut dyn Device,
        command: u32,
        context: usize,
    ) -> Result<Result<u64, HeapRefusal>, Error> {
        let of = (context as u32) << regs::COMMAND_CONTEXT_ID_SHIFT;
        write(device, regs::COMMAND, command | of)?;
        let answer = ask(device, regs::ANSWER, regs::ANSWER_BUSY_MASK)?;
        let status = (answer & regs::ANSWER_STATUS_MASK) >> regs::ANSWER_STATUS_SHIFT;
        match HeapRefusal::of(status) {
            Some(refusal) => Ok(Err(refusal)),
            None => Ok(Ok(read64(device, regs::RESULT)?)),
        }
    }

    /// Once more, when what was freed before has been taken back, if that is what was lacking.
    fn persist(
        &self,
        device: &mut dyn Device,
        mut once: impl FnMut(&mut dyn Device) -> Result<Result<u64, HeapRefusal>, Error>,
    ) -> Result<Result<u64, HeapRefusal>, Error> {
        let lacks = |answer: &Result<u64, HeapRefusal>| {
            matches!(
                answer,
                Err(HeapRefusal::NoSlot | HeapRefusal::NoFrame | HeapRefusal::Busy)
            )
        };
        let first = once(device)?;
        if !lacks(&first) || read(device, regs::STATUS)? & regs::STATUS_RECLAIMING_MASK == 0 {
            // What was lacking may have come between the two looks.
            return if lacks(&first) {
                once(device)
            } else {
                Ok(first)
            };
        }
        self.settle(device)?;
        once(device)
    }

    fn wait(&self, device: &mut dyn Device, mask: u32) -> Result<(), Error> {
        let since = device.stats()?.cycles;
        loop {
            let status = read(device, regs::STATUS)?;
            if status & regs::STATUS_BROKEN_MASK != 0 {
                return Err(Error::Hang(
                    "the heap stopped: memory refused an access of its own, or somebody else wrote into its page tables"
                        .to_owned(),
                ));
            }
            if status & mask == 0 {
                return Ok(());
            }
            let cycles = device.stats()?.cycles - since;
            if cycles > HANG_CYCLES {
                return Err(Error::Hang(format!(
                    "the heap has not taken back what was freed within {cycles} cycles: an access that was translated before \
                     has not ended"
                )));
            }
            device.run(PAUSE_CYCLES, 0)?;
        }
    }
}

const MALLOC: u32 = 0;
const REALLOC: u32 = 1;
const FREE: u32 = 2;

/// What the walker would find.
fn walk(tables: &FramePool, root: u64, va: u64) -> Walk {
    let mut table = root;
    for level in (0..LEVELS).rev() {
        let entry = table + 8 * (va >> (12 + 9 * level) & 511);
        let found = tables.read(entry);
        let frame = (found & layout::PTE_PPN_MASK) >> layout::PTE_PPN_SHIFT;
        if found & layout::PTE_V == 0 {
            return Walk::Missing { entry, level };
        }
        if let Some(order) = leaf_order(found, level) {
            return Walk::Leaf(group(frame, order));
        }
        table = frame * FRAME_BYTES;
    }
    unreachable!("the last level has leaves")
}

/// log2 of the pages that an entry maps; nothing if it points to a table. One of a group of 2^k says N, and its frame's number ends in
/// 1 and k - 1 zeros.
pub(super) fn leaf_order(entry: u64, level: u32) -> Option<u32> {
    if level > 0 && entry & (layout::PTE_R | layout::PTE_X) == 0 {
        return None;
    }
    let frame = (entry & layout::PTE_PPN_MASK) >> layout::PTE_PPN_SHIFT;
    let napot = entry & layout::PTE_N != 0;
    Some(
        9 * level
            + if napot {
                frame.trailing_zeros().min(8) + 1
            } else {
                0
            },
    )
}

/// The frames of a mapping of 2^order pages that has this one.
pub(super) fn group(frame: u64, order: u32) -> Extent {
    Extent {
        pa: (frame >> order << order) * FRAME_BYTES,
        len: FRAME_BYTES << order,
    }
}

fn touched(device: &mut dyn Device) -> Result<Extent, Error> {
    let how = read(device, regs::TOUCHED)?;
    let order = (how & regs::TOUCHED_ORDER_MASK) >> regs::TOUCHED_ORDER_SHIFT;
    Ok(group(read64(device, regs::TOUCHED_FRAME)?, order))
}

/// Reads until what was begun is done: in bounded time, whatever the memory does.
fn ask(device: &mut dyn Device, register: u64, busy: u32) -> Result<u32, Error> {
    let since = device.stats()?.cycles;
    loop {
        let answer = read(device, register)?;
        if answer & busy == 0 {
            return Ok(answer);
        }
        let cycles = device.stats()?.cycles - since;
        if cycles > ANSWER_CYCLES {
            return Err(Error::Hang(format!(
                "the heap has not answered within {cycles} cycles"
            )));
        }
    }
}

fn read(device: &mut dyn Device, register: u64) -> Result<u32, CardError> {
    device.reg_read(BASE + register)
}

fn write(device: &mut dyn Device, register: u64, value: u32) -> Result<(), CardError> {
    device.reg_write(BASE + register, value)
}

fn read64(device: &mut dyn Device, register: u64) -> Result<u64, CardError> {
    let low = read(device, register)?;
    Ok(u64::from(read(device, register + 4)?) << 32 | u64::from(low))
}

fn write64(device: &mut dyn Device, register: u64, value: u64) -> Result<(), CardError> {
    write(device, register, value as u32)?;
    write(device, register + 4, (value >> 32) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_entry_maps_is_said_by_its_frame_and_its_level() {
        let entry = |frame: u64, flags| frame << layout::PTE_PPN_SHIFT | flags | layout::PTE_V;
        let page = layout::PTE_R | layout::PTE_W;
        assert_eq!(leaf_order(entry(0x123, 0), 1), None);
        assert_eq!(leaf_order(entry(0x120, page), 0), Some(0));
        for order in 1..=8 {
            let frame = 0x1200 | 1 << (order - 1);
            let found = leaf_order(entry(frame, page | layout::PTE_N), 0);
            assert_eq!(found, Some(order));
            let group = group(frame | 1, order);
            assert_eq!((group.pa, group.len), (0x120_0000, 4096 << order));
        }
        assert_eq!(leaf_order(entry(0x200, page), 1), Some(9));
        // Whatever it says, it is less than one of the next level.
        assert_eq!(leaf_order(entry(0, page | layout::PTE_N), 0), Some(9));
    }
}
