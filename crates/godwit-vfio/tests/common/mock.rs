// SPDX-License-Identifier: Apache-2.0
//! A card of few registers: any word below 64 KiB can be read and written; a write to `RAISE` raises lines, one to `COPY` copies
//! the first 64 bytes of the window there to device address 0, and one to `STREAM` has it count in the first word of the window there, as
//! long as it runs.

use std::collections::HashMap;
use std::sync::Arc;

use godwit_card::{CardError, Description, Device, LaunchTimes, Memory, Ports, Stats};

pub const MEMORY_BYTES: u64 = 1 << 20;
pub const RAISE: u64 = 0x100;
pub const COPY: u64 = 0x104;
pub const STREAM: u64 = 0x10c;
/// Nothing stands from here on.
pub const END: u64 = 0x1_0000;
/// A write here is the end of the card.
pub const BREAK: u64 = 0x108;

pub struct MockCard {
    description: Description,
    memory: Arc<Memory>,
    registers: HashMap<u64, u32>,
    windows: HashMap<u64, Arc<Memory>>,
    rises: u32,
    cycles: u64,
    stream: Option<Arc<Memory>>,
    writes: u64,
    resets: bool,
}

impl MockCard {
    pub fn new() -> Self {
        let json = format!(
            r#"{{"name": "mock", "hash": "0", "spec_hash": 0,
                "config": {{"card": {{"clock_mhz": 100, "memory_bytes": {MEMORY_BYTES}}},
                           "axi": {{"id_width": 4, "data_width": 512}}, "walker": {{"levels": 4}},
                           "contexts": {{"count": 16}}}},
                "kernels": [{{"name": "one", "port": 0}}, {{"name": "two", "port": 1}}]}}"#
        );
        Self {
            description: Description::parse(&json).unwrap(),
            memory: Arc::new(Memory::new(MEMORY_BYTES).unwrap()),
            registers: HashMap::new(),
            windows: HashMap::new(),
            rises: 0,
            cycles: 0,
            stream: None,
            writes: 0,
            resets: true,
        }
    }

    /// One that cannot be reset.
    pub fn stuck() -> Self {
        Self {
            resets: false,
            ..Self::new()
        }
    }
}

impl Device for MockCard {
    fn description(&self) -> &Description {
        &self.description
    }

    fn memory(&self) -> &Arc<Memory> {
        &self.memory
    }

    fn reg_read(&mut self, offset: u64) -> Result<u32, CardError> {
        if offset >= END {
            return Err(CardError::Bus("there is no such register".into()));
        }
        Ok(self.registers.get(&offset).copied().unwrap_or(0))
    }

    fn reg_write(&mut self, offset: u64, value: u32) -> Result<(), CardError> {
        match offset {
            END.. => return Err(CardError::Bus("there is no such register".into())),
            RAISE => self.rises |= value,
            STREAM => self.stream = self.windows.get(&u64::from(value)).cloned(),
            BREAK => return Err(CardError::Design("it broke".into())),
            COPY => {
                let mut line = [0; 64];
                if let Some(window) = self.windows.get(&u64::from(value)) {
                    window.read(0, &mut line)?;
                    window.write(64, &line)?;
                }
                self.memory.write(0, &line)?;
            }
            _ => {}
        }
        self.registers.insert(offset, value);
        Ok(())
    }

    fn run(&mut self, max_cycles: u64, _irq_mask: u32) -> Result<u32, CardError> {
        self.cycles += max_cycles;
        if let Some(window) = &self.stream {
            self.writes += 1;
            window.write_u64(0, self.writes)?;
        }
        Ok(0)
    }

    fn reset(&mut self) -> Result<(), CardError> {
        if !self.resets {
            return Err(CardError::Io("it cannot be opened again".into()));
        }
        self.memory.clear(0, MEMORY_BYTES)?;
        let memory = Arc::clone(&self.memory);
        *self = Self {
            memory,
            ..Self::new()
        };
        Ok(())
    }

    fn take_rises(&mut self) -> u32 {
        std::mem::take(&mut self.rises)
    }

    fn charge_copy(&mut self, _: bool, _: u64, _: u64) -> Result<(), CardError> {
        Ok(())
    }

    fn set_host_window(
        &mut self,
        bus_addr: u64,
        memory: Option<Arc<Memory>>,
    ) -> Result<(), CardError> {
        match memory {
            Some(memory) if memory.size() % 64 == 0 => self.windows.insert(bus_addr, memory),
            Some(_) => return Err(CardError::Invalid("no whole lines".into())),
            None => self.windows.remove(&bus_addr),
        };
        Ok(())
    }

    fn stats(&self) -> Result<Stats, CardError> {
        Ok(Stats {
            cycles: self.cycles,
            host_writes: self.writes,
            ..Stats::default()
        })
    }

    fn launch_times(&self, _: u32) -> Result<Option<LaunchTimes>, CardError> {
        Ok(None)
    }

    fn ports(&mut self) -> Option<&mut dyn Ports> {
        None
    }
}
