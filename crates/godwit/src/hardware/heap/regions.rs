// SPDX-License-Identifier: Apache-2.0
//! The memories that the heap gives frames from: regions, each begun with its own rule for what is more than its free frames.

use godwit_card::{Description, Device};

use super::{Heap, read, write, write64};
use crate::hardware::frames::{Extent, FRAME_BYTES};
use crate::hardware::table_memory::FramePool;
use crate::{Error, heap_regs as regs};

/// What the heap's memory is counted in.
const BLOCK_BYTES: u64 = 2 << 20;
/// Of a block's bits, of one bitmap.
const BITS_BYTES: u64 = 64;

/// What `malloc` is asked for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wish {
    /// log2 of the 4 KiB pages that come together.
    pub granule: u32,
    /// A slot of 64 KiB.
    pub small: bool,
    /// Number of the memory that frames come from.
    pub memory: usize,
    /// ... or of another one, if that has not as many free, or refuses.
    pub elsewhere: bool,
}

/// What the heap gives of one memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Region {
    /// The memory's number.
    pub memory: usize,
    /// Where it is.
    pub place: Extent,
    /// No allocation is larger than what is free.
    pub strict: bool,
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
    /// An allocation that is larger than what is free is refused.
    pub strict: bool,
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

impl Heap {
    /// From now on registers of memory are about this region; they are about the first when nobody reads them.
    pub(super) fn choose(&self, device: &mut dyn Device, region: usize) -> Result<(), Error> {
        match self.regions.len() {
            1 => Ok(()),
            _ => Ok(write(device, regs::REGION, region as u32)?),
        }
    }

    /// Regions that a wish may be asked of, in that order.
    pub(super) fn regions_for(
        &self,
        device: &mut dyn Device,
        bytes: u64,
        wish: Wish,
    ) -> Result<Vec<usize>, Error> {
        let memories = self.regions.iter().map(|region| region.memory);
        let wanted = region_of(memories, wish.memory)?;
        match wish.elsewhere {
            true => Ok(by_room(&self.regions(device)?, wanted, bytes)),
            false => Ok(vec![wanted]),
        }
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
        for (number, region) in self.regions.iter().enumerate() {
            self.choose(device, number)?;
            // A frame that is taken between the two looks was clean.
            let clean = frames(regs::CLEAN_FRAMES, device)?;
            let free = frames(regs::FREE_FRAMES, device)?;
            found.push(HeapRegion {
                memory: region.memory,
                start: region.place.pa,
                bytes: region.place.len,
                free,
                clean: clean.min(free),
                strict: region.strict,
            });
        }
        self.choose(device, 0)?;
        Ok(found)
    }
}

/// The region in the memory of this number, of regions in `memories`. The first memory's is the first, wherever that is.
pub(crate) fn region_of(
    mut memories: impl Iterator<Item = usize>,
    number: usize,
) -> Result<usize, Error> {
    let found = memories.position(|memory| memory == number);
    found.or((number == 0).then_some(0)).ok_or_else(|| {
        Error::Argument(format!(
            "the heap has no frames in memory {number}: build the card with heap_bytes for it"
        ))
    })
}

/// First the regions that have as many bytes free, and among equals the wanted one. Behind them the others, of which one that is not
/// strict promises more than it has.
pub(crate) fn by_room(found: &[HeapRegion], wanted: usize, bytes: u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..found.len()).collect();
    order.sort_by_key(|number| (found[*number].free < bytes, *number != wanted));
    order
}

/// What a refused wish found, for people, where there are several regions.
pub(crate) fn room(found: &[HeapRegion], wish: Wish, description: &Description) -> String {
    if found.len() == 1 {
        return String::new();
    }
    let memories = description.config.memories();
    let name = |number: usize| {
        let memory = memories.get(number);
        memory.map_or("host", |(memory, ..)| memory.name.as_str())
    };
    let asked = found
        .iter()
        .filter(|region| wish.elsewhere || region.memory == wish.memory)
        .map(|region| format!("{} free in `{}`", region.free, name(region.memory)));
    format!(" ({})", asked.collect::<Vec<_>>().join(", "))
}

/// Begins the region that registers are about, with its bits in memory of `pool`; the first one has the zero frame, too.
pub(super) fn begin(
    device: &mut dyn Device,
    pool: &FramePool,
    region: &Region,
    first: bool,
) -> Result<(), Error> {
    let place = region.place;
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
    if region.strict {
        how |= regs::MEMORY_STRICT_MASK;
    }
    write(device, regs::MEMORY, how)?;
    Ok(write(device, regs::START, regs::START_START_MASK)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_with_room_come_first_and_the_wanted_one_before_its_equals() {
        let region = |memory, free| HeapRegion {
            memory,
            start: 0,
            bytes: 100,
            free,
            clean: free,
            strict: false,
        };
        let found = [region(0, 10), region(1, 30), region(2, 50)];
        assert_eq!(by_room(&found, 1, 5), [1, 0, 2]);
        assert_eq!(by_room(&found, 0, 20), [1, 2, 0]);
        assert_eq!(by_room(&found, 1, 40), [2, 1, 0]);
        assert_eq!(by_room(&found, 1, 60), [1, 0, 2]);
        let memories = || found.iter().map(|region| region.memory);
        assert_eq!(region_of(memories(), 2).unwrap(), 2);
        assert_eq!(region_of([3].into_iter(), 0).unwrap(), 0);
        assert!(region_of(memories(), 3).is_err());
    }
}
