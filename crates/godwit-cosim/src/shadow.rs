// SPDX-License-Identifier: Apache-2.0
//! What memory must hold.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use godwit_card::{CardError, Memory};

const FRAME: u64 = 4096;

/// A copy of every frame that was used. A frame's first use fills it, in both, with words that no other place has.
pub struct Shadow {
    memory: Arc<Memory>,
    frames: HashMap<u64, Box<[u8; FRAME as usize]>>,
}

impl Shadow {
    pub fn new(memory: Arc<Memory>) -> Self {
        Self {
            memory,
            frames: HashMap::new(),
        }
    }

    fn frame(&mut self, pa: u64) -> Result<&mut [u8; FRAME as usize], CardError> {
        let base = pa & !(FRAME - 1);
        match self.frames.entry(base) {
            Entry::Occupied(known) => Ok(known.into_mut()),
            Entry::Vacant(new) => {
                let mut content = Box::new([0; FRAME as usize]);
                for (word, at) in content.chunks_exact_mut(8).zip((base..).step_by(8)) {
                    word.copy_from_slice(&(at ^ 0x5a5a_0000_0000_0000).to_le_bytes());
                }
                self.memory.write(base, &content[..])?;
                Ok(new.insert(content))
            }
        }
    }

    /// What a read of these bytes, all of one frame, must bring.
    pub fn read(&mut self, pa: u64, len: usize) -> Result<Vec<u8>, CardError> {
        let start = (pa % FRAME) as usize;
        Ok(self.frame(pa)?[start..start + len].to_vec())
    }

    /// Takes down a write.
    pub fn write(&mut self, pa: u64, data: &[u8]) -> Result<(), CardError> {
        let start = (pa % FRAME) as usize;
        self.frame(pa)?[start..start + data.len()].copy_from_slice(data);
        Ok(())
    }

    /// First byte of device memory that differs, if any does.
    pub fn difference(&self) -> Result<Option<u64>, CardError> {
        let mut found = [0; FRAME as usize];
        for (base, expected) in &self.frames {
            self.memory.read(*base, &mut found)?;
            if let Some(at) = found.iter().zip(expected.iter()).position(|(a, b)| a != b) {
                return Ok(Some(base + at as u64));
            }
        }
        Ok(None)
    }
}
