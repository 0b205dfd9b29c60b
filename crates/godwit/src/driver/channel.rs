// SPDX-License-Identifier: Apache-2.0
//! An open file of the driver: an address space of the card, and what may be asked of it.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;

use godwit_core::layout;
use rustix::io::Errno;
use rustix::ioctl::{Opcode, Setter, Updater, ioctl};

use super::uapi::{
    Advise, Allocation, Cancel, Counters, HeapState, IOC_ADVISE, IOC_CANCEL, IOC_COUNTERS,
    IOC_HEAP, IOC_HEAP_STATE, IOC_INFO, IOC_MIGRATE, IOC_RESIDENCY, IOC_RUN, Info, MIGRATE_TO_HOST,
    Migrate, RUN_FAULT, Register, Residency, Run,
};
use crate::hardware::window::Window;

/// How a launch ended that the driver ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran {
    /// The registers that were to be read.
    pub values: Vec<u32>,
    /// Cause and address of the first access that was refused.
    pub fault: Option<(u32, u64)>,
}

/// What the driver does for one address space; a test has its own.
pub trait Channel: Send + Sync {
    /// What card and context are.
    fn info(&self) -> Result<Info, Errno>;

    /// Writes registers of a kernel's control block, runs it to its end and reads others. Blocks until then.
    fn run(&self, slot: u32, writes: &[(u32, u32)], reads: &[u32]) -> Result<Ran, Errno>;

    /// Ends the launches of this context on a kernel: `ESRCH` when there is none.
    fn cancel(&self, slot: u32) -> Result<(), Errno>;

    /// Moves pages of the process to device memory, or home; how many did.
    fn migrate(&self, address: u64, bytes: u64, home: bool) -> Result<u64, Errno>;

    /// Says where pages of the process are to be when an accelerator asks for them: `uapi::ADVICE_*`. What that comes to.
    fn advise(&self, address: u64, bytes: u64, advice: u32) -> Result<u32, Errno>;

    /// Where pages in a row are, `uapi::PLACE_*`, from that at `start` on: `places` has a byte for each.
    fn residency(&self, start: u64, places: &mut [u8]) -> Result<(), Errno>;

    /// Words of the card's counters, by their offset among the MMU's registers, all as of one cycle.
    fn counters(&self, offsets: &[u32]) -> Result<Vec<u32>, Errno>;

    /// Asks the heap; its status, and a new pointer, are filled in. `NOMEM`: not as many frames as are to be populated.
    fn allocation(&self, call: &mut Allocation) -> Result<(), Errno>;

    /// Has this process see `bytes` of the heap's memory from `offset` of a window on, which is where the card has them.
    fn show(&self, window: &mut Window, offset: u64, bytes: u64) -> Result<(), Errno>;

    /// What a region of the heap's memory is like.
    fn heap_state(&self, region: u32) -> Result<HeapState, Errno>;
}

/// `/dev/godwitN`, opened.
pub struct Node(File);

impl Node {
    pub fn open(path: &str) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.read(true).write(true);
        Ok(Self(options.custom_flags(libc::O_CLOEXEC).open(path)?))
    }

    fn update<const OPCODE: Opcode, T>(&self, argument: &mut T) -> Result<(), Errno> {
        // SAFETY: every opcode of this file is used with the structure that it is made of, and what that points to is there for as
        // long as the call takes.
        unsafe { ioctl(&self.0, Updater::<OPCODE, T>::new(argument)) }
    }
}

impl Channel for Node {
    fn info(&self) -> Result<Info, Errno> {
        let mut info = Info::default();
        self.update::<IOC_INFO, _>(&mut info)?;
        Ok(info)
    }

    fn run(&self, slot: u32, writes: &[(u32, u32)], reads: &[u32]) -> Result<Ran, Errno> {
        let word = |(offset, value): &(u32, u32)| Register {
            offset: *offset,
            value: *value,
        };
        let writes: Vec<Register> = writes.iter().map(word).collect();
        let mut reads: Vec<Register> = reads.iter().map(|offset| word(&(*offset, 0))).collect();
        let mut run = Run {
            slot,
            write_count: writes.len() as u32,
            read_count: reads.len() as u32,
            writes: writes.as_ptr() as u64,
            reads: reads.as_mut_ptr() as u64,
            ..Run::default()
        };
        self.update::<IOC_RUN, _>(&mut run)?;
        Ok(Ran {
            values: reads.iter().map(|read| read.value).collect(),
            fault: (run.end == RUN_FAULT).then_some((run.fault_cause, run.fault_address)),
        })
    }

    fn cancel(&self, slot: u32) -> Result<(), Errno> {
        let cancel = Cancel { slot, reserved: 0 };
        // SAFETY: the opcode is made of this structure.
        unsafe { ioctl(&self.0, Setter::<IOC_CANCEL, _>::new(cancel)) }
    }

    fn migrate(&self, address: u64, bytes: u64, home: bool) -> Result<u64, Errno> {
        let mut what = Migrate {
            addr: address,
            size: bytes,
            flags: if home { MIGRATE_TO_HOST } else { 0 },
            ..Migrate::default()
        };
        self.update::<IOC_MIGRATE, _>(&mut what)?;
        Ok(what.pages)
    }

    fn advise(&self, address: u64, bytes: u64, advice: u32) -> Result<u32, Errno> {
        let mut what = Advise {
            addr: address,
            size: bytes,
            advice,
            served: 0,
        };
        self.update::<IOC_ADVISE, _>(&mut what)?;
        Ok(what.served)
    }

    fn residency(&self, start: u64, places: &mut [u8]) -> Result<(), Errno> {
        let what = Residency {
            addr: start & !((1 << layout::PT_PAGE_SHIFT) - 1),
            size: (places.len() as u64) << layout::PT_PAGE_SHIFT,
            places: places.as_mut_ptr() as u64,
            reserved: 0,
        };
        // SAFETY: the opcode is made of this structure, and what it points to has room.
        unsafe { ioctl(&self.0, Setter::<IOC_RESIDENCY, _>::new(what)) }
    }

    fn counters(&self, offsets: &[u32]) -> Result<Vec<u32>, Errno> {
        let word = |offset: &u32| Register {
            offset: *offset,
            value: 0,
        };
        let mut words: Vec<Register> = offsets.iter().map(word).collect();
        let what = Counters {
            words: words.as_mut_ptr() as u64,
            count: words.len() as u32,
            reserved: 0,
        };
        // SAFETY: as in `residency`.
        unsafe { ioctl(&self.0, Setter::<IOC_COUNTERS, _>::new(what)) }?;
        Ok(words.iter().map(|word| word.value).collect())
    }

    fn allocation(&self, call: &mut Allocation) -> Result<(), Errno> {
        self.update::<IOC_HEAP, _>(call)
    }

    fn show(&self, window: &mut Window, offset: u64, bytes: u64) -> Result<(), Errno> {
        window.fill(offset, self.0.as_fd(), window.address() + offset, bytes)
    }

    fn heap_state(&self, region: u32) -> Result<HeapState, Errno> {
        let mut state = HeapState {
            region,
            ..HeapState::default()
        };
        self.update::<IOC_HEAP_STATE, _>(&mut state)?;
        Ok(state)
    }
}
