// SPDX-License-Identifier: Apache-2.0
//! The heap in hardware, as procedures on its registers: `malloc`, `realloc` and `free` of a context, a page that the host touches itself,
//! a context's end.
//!
//! The hardware alone writes what page tables say below the heap's window; this side reads it.

use godwit_card::{CardError, Device, HeapConfig};
use godwit_core::{TableMemory, layout};

use crate::hardware::frames::{Extent, FRAME_BYTES};
use crate::hardware::table_memory::FramePool;
use crate::{Error, HeapRefusal, heap_regs as regs};

/// What the heap's memory is counted in.
const BLOCK_BYTES: u64 = 2 << 20;
/// Of a block's bits, of one bitmap.
const BITS_BYTES: u64 = 64;
/// Cycles between two looks at something that takes longer.
const PAUSE_CYCLES: u64 = 200;
/// Cycles after which nothing comes any more: a context's end, with all of 64 GiB in pages of 4 KiB, takes fewer.
const HANG_CYCLES: u64 = 2_000_000_000;
/// Cycles in which it begins, and in which a command is answered, whatever the memory does.
const ANSWER_CYCLES: u64 = 2_000_000;
/// Tables of a walk.
pub(super) const LEVELS: u32 = 4;
/// log2 of the pages of a group that has one mapping.
pub(super) const NAPOT_ORDER: u32 = 4;

const BASE: u64 = layout::REGISTER_SPACE_HEAP_BASE as u64;

/// Where the card finds the memory of the host that the heap gives: above all addresses of programs, which are bus addresses, too.
pub(crate) const HOST_BUS: u64 = 1 << 52;
/// The same as a physical address.
pub(crate) const HEAP_HOST: u64 = layout::HOST_APERTURE_BASE | HOST_BUS;

/// What `malloc` is asked for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wish {
    /// log2 of the 4 KiB pages that come together.
    pub granule: u32,
    /// A slot of 64 KiB.
    pub small: bool,
    /// Number of the memory that frames come from.
    pub memory: usize,
    /// ... or of another one, if that has not as many free.
    pub elsewhere: bool,
}

/// What the heap gives of one memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Region {
    /// The memory's number.
    pub memory: usize,
    /// Where it is.
    pub place: Extent,
}

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

/// What the heap has of one of the card's memories, at one time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeapRegion {
    /// The memory's number ([`Card::memories`](crate::Card::memories)).
    pub memory: usize,
    /// Its physical address.
    pub start: u64,
    /// Bytes of it.
    pub bytes: u64,
    /// ... that nobody has.
    pub free: u64,
    /// ... and that are clean.
    pub clean: u64,
}

/// The heap's memory at one time, all regions together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeapMemory {
    /// Physical address of that in the first memory.
    pub start: u64,
    /// Bytes of it.
    pub bytes: u64,
    /// ... that nobody has.
    pub free: u64,
    /// ... and that are clean.
    pub clean: u64,
    /// Somebody found no frame, and none has come since.
    pub lacks: bool,
    /// What was freed is not all taken back.
    pub reclaiming: bool,
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
            begin(device, pool, region.place, number == 0, config.strict)?;
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

    /// From now on registers of memory are about this region; they are about the first when nobody reads them.
    fn choose(&self, device: &mut dyn Device, region: usize) -> Result<(), Error> {
        match self.regions.len() {
            1 => Ok(()),
            _ => Ok(write(device, regs::REGION, region as u32)?),
        }
    }

    /// The region for a wish.
    fn region_for(&self, device: &mut dyn Device, bytes: u64, wish: Wish) -> Result<usize, Error> {
        let of = |memory| {
            self.regions
                .iter()
                .position(|region| region.memory == memory)
        };
        let Some(wanted) = of(wish.memory) else {
            return Err(Error::Argument(format!(
                "the heap has no frames in memory {}: build the card with heap_bytes for it",
                wish.memory
            )));
        };
        if !wish.elsewhere {
            return Ok(wanted);
        }
        let found = self.regions(device)?;
        let has_room = |number: &usize| found[*number].free >= bytes;
        let others = 0..self.regions.len();
        let first = std::iter::once(wanted).chain(others).find(has_room);
        Ok(first.unwrap_or(wanted))
    }

    /// `bytes` bytes for a context.
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
        let region = self.region_for(device, bytes, wish)?;
        command |= (region as u32) << regs::COMMAND_REGION_SHIFT;
        self.persist(device, |device| {
            write64(device, regs::SIZE, bytes)?;
            self.command(device, MALLOC | command, context)
        })
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

    /// What its memory is like.
    pub fn memory(&self, device: &mut dyn Device) -> Result<HeapMemory, Error> {
        let status = read(device, regs::STATUS)?;
        let regions = self.regions(device)?;
        let sum = |of: fn(&HeapRegion) -> u64| regions.iter().map(of).sum();
        Ok(HeapMemory {
            start: self.regions[0].place.pa,
            bytes: sum(|region| region.bytes),
            free: sum(|region| region.free),
            clean: sum(|region| region.clean),
            lacks: status & regs::STATUS_LACKS_MASK != 0,
            reclaiming: status & regs::STATUS_RECLAIMING_MASK != 0,
        })
    }

    /// The same by memory.
    pub fn regions(&self, device: &mut dyn Device) -> Result<Vec<HeapRegion>, Error> {
        let frames = |register, device: &mut dyn Device| -> Result<u64, Error> {
            Ok(u64::from(read(device, register)?) * FRAME_BYTES)
        };
        let mut found = Vec::new();
        for (number, Region { memory, place }) in self.regions.iter().enumerate() {
            self.choose(device, number)?;
            // A frame that is taken between the two looks was clean.
            let clean = frames(regs::CLEAN_FRAMES, device)?;
            let free = frames(regs::FREE_FRAMES, device)?;
            found.push(HeapRegion {
                memory: *memory,
                start: place.pa,
                bytes: place.len,
                free,
                clean: clean.min(free),
            });
        }
        self.choose(device, 0)?;
        Ok(found)
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
        if level == 0 {
            let order = if found & layout::PTE_N != 0 {
                NAPOT_ORDER
            } else {
                0
            };
            return Walk::Leaf(group(frame, order));
        }
        table = frame * FRAME_BYTES;
    }
    unreachable!("the last level has leaves")
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

/// Begins the region that registers are about, with its bits in memory of `pool`; the first one has the zero frame, too.
fn begin(
    device: &mut dyn Device,
    pool: &FramePool,
    place: Extent,
    first: bool,
    strict: bool,
) -> Result<(), Error> {
    let blocks = place.len / BLOCK_BYTES;
    let bits = (blocks * BITS_BYTES).next_multiple_of(FRAME_BYTES);
    let zero = if first { FRAME_BYTES } else { 0 };
    let frames = pool
        .lock()
        .alloc_contiguous(2 * bits + zero, FRAME_BYTES)
        .ok_or_else(|| {
            Error::Hardware(
                "device memory does not hold what the heap keeps there: build the card with a larger card.memory_bytes"
                    .to_owned(),
            )
        })?;
    for (register, pa) in [
        (regs::BASE, place.pa),
        (regs::CLEAN_BITS, frames.pa),
        (regs::DIRTY_BITS, frames.pa + bits),
    ] {
        write64(device, register, pa / FRAME_BYTES)?;
    }
    if first {
        write64(device, regs::ZERO, (frames.pa + 2 * bits) / FRAME_BYTES)?;
    }
    // Memory of a card that was just opened is zero.
    let mut how = (blocks as u32) << regs::MEMORY_BLOCKS_SHIFT | regs::MEMORY_CLEAN_MASK;
    if strict {
        how |= regs::MEMORY_STRICT_MASK;
    }
    write(device, regs::MEMORY, how)?;
    Ok(write(device, regs::START, regs::START_START_MASK)?)
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
