// SPDX-License-Identifier: Apache-2.0
//! A card's memories: where they are, what is free of them, and frames taken by hand.

use crate::Error;
use crate::hardware::frames::{Extent, FRAME_BYTES};
use crate::objects::card::Card;

/// One of a card's memories.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CardMemory {
    /// Its name in the card's configuration.
    pub name: String,
    /// How its accesses are timed.
    pub model: String,
    /// Its first physical address.
    pub first: u64,
    /// Its size.
    pub bytes: u64,
    /// Bytes that are free.
    pub free: u64,
    /// Bytes of the largest free piece.
    pub largest: u64,
}

impl Card {
    /// The card's memories, in the order of their addresses; their numbers are what [`AllocOptions::memory`](crate::AllocOptions::memory)
    /// takes. Behind the driver, which gives frames from any, they are one.
    pub fn memories(&self) -> Vec<CardMemory> {
        let config = &self.description().config;
        if let Some(driver) = self.shared.driver() {
            return vec![CardMemory {
                name: config.memory.name.clone(),
                model: config.memory.model.clone(),
                first: 0,
                bytes: config.card.memory_bytes,
                free: driver.free_bytes(),
                largest: 0,
            }];
        }
        let frames = self.shared.pool.each();
        frames
            .zip(config.memories())
            .map(|(frames, (memory, first, bytes))| CardMemory {
                name: memory.name.clone(),
                model: memory.model.clone(),
                first,
                bytes,
                free: frames.free_bytes(),
                largest: frames.largest(),
            })
            .collect()
    }

    /// Bytes of device memory that are free, and those of the largest contiguous piece, which is 0 on a card behind the driver: it gives
    /// programs none. Of several memories it is the first.
    pub fn memory_free(&self) -> (u64, u64) {
        if let Some(driver) = self.shared.driver() {
            return (driver.free_bytes(), 0);
        }
        let frames = self.shared.pool.lock();
        (frames.free_bytes(), frames.largest())
    }

    /// Takes `bytes` (whole frames) of zeroed device memory in one piece, for mappings that are made by hand.
    pub fn alloc_frames(&self, bytes: u64, align: u64) -> Result<Frames, Error> {
        if bytes == 0 || bytes % FRAME_BYTES != 0 || !align.is_power_of_two() {
            return Err(Error::Argument(format!(
                "frames: {bytes} bytes aligned to {align} are not whole frames aligned to a power of two"
            )));
        }
        if let Some(driver) = self.shared.driver() {
            return Err(driver.not_there());
        }
        let mut frames = self.shared.pool.lock();
        match frames.alloc_contiguous(bytes, align) {
            Some(extent) => Ok(Frames {
                card: self.clone(),
                extent,
            }),
            None => Err(Error::OutOfMemory {
                asked: bytes,
                contiguous: true,
                free: frames.free_bytes(),
                largest: frames.largest(),
            }),
        }
    }
}

/// Device memory in one piece that belongs to no buffer; freed when dropped. Unmap it before that.
#[derive(Debug)]
pub struct Frames {
    card: Card,
    extent: Extent,
}

impl Frames {
    /// Where it is.
    pub fn extent(&self) -> Extent {
        self.extent
    }
}

impl Drop for Frames {
    fn drop(&mut self) {
        if self.card.shared.check_process().is_ok() {
            self.card.shared.pool.free(self.extent);
        }
    }
}
