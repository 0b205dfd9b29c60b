// SPDX-License-Identifier: Apache-2.0
//! The driver's calls as `driver/uapi/godwit.h` has them; `tests/driver_uapi.rs` compiles that header and compares.

use rustix::ioctl::{Opcode, opcode};

/// `GODWIT_ABI` of the driver.
pub const ABI: u32 = 7;

/// `GODWIT_INFO_DEMAND`.
pub const INFO_DEMAND: u32 = 1;
/// `GODWIT_INFO_MIGRATE`.
pub const INFO_MIGRATE: u32 = 2;
/// `GODWIT_INFO_HEAP`.
pub const INFO_HEAP: u32 = 4;
/// `GODWIT_INFO_LINES`.
pub const INFO_LINES: u32 = 8;
/// `GODWIT_RUN_FAULT`.
pub const RUN_FAULT: u32 = 1;
/// `GODWIT_RUN_REGISTERS`.
pub const RUN_REGISTERS: usize = 256;
/// `GODWIT_MIGRATE_TO_HOST`.
pub const MIGRATE_TO_HOST: u32 = 1;
/// `GODWIT_ADVICE_NONE`.
pub const ADVICE_NONE: u32 = 0;
/// `GODWIT_ADVICE_MOVE`.
pub const ADVICE_MOVE: u32 = 1;
/// `GODWIT_ADVICE_IN_PLACE`.
pub const ADVICE_IN_PLACE: u32 = 2;
/// `GODWIT_ADVICE_AUTO`.
pub const ADVICE_AUTO: u32 = 3;
/// `GODWIT_ADVICE_READ_MOSTLY`.
pub const ADVICE_READ_MOSTLY: u32 = 4;

/// `GODWIT_PLACE_NONE`.
pub const PLACE_NONE: u8 = 0;
/// `GODWIT_PLACE_HOST`.
pub const PLACE_HOST: u8 = 1;
/// `GODWIT_PLACE_CARD`.
pub const PLACE_CARD: u8 = 2;
/// `GODWIT_PLACE_SHOWN`.
pub const PLACE_SHOWN: u8 = 0x80;

/// `GODWIT_ALLOCATION_MALLOC`.
pub const ALLOCATION_MALLOC: u32 = 0;
/// `GODWIT_ALLOCATION_REALLOC`.
pub const ALLOCATION_REALLOC: u32 = 1;
/// `GODWIT_ALLOCATION_FREE`.
pub const ALLOCATION_FREE: u32 = 2;
/// `GODWIT_ALLOCATION_POPULATE`.
pub const ALLOCATION_POPULATE: u32 = 3;
/// `GODWIT_ALLOCATION_SMALL`.
pub const ALLOCATION_SMALL: u32 = 1;
/// `GODWIT_HEAP_STATE_LACKS`.
pub const HEAP_STATE_LACKS: u32 = 1;
/// `GODWIT_HEAP_STATE_RECLAIMING`.
pub const HEAP_STATE_RECLAIMING: u32 = 2;
/// `GODWIT_HEAP_STATE_STRICT`.
pub const HEAP_STATE_STRICT: u32 = 4;
/// `GODWIT_HEAP_STATE_HOST`.
pub const HEAP_STATE_HOST: u32 = 8;

/// First letter of the calls.
const GROUP: u8 = b'g';

/// `struct godwit_info`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "the header documents the fields")]
pub struct Info {
    pub abi: u32,
    pub spec_hash: u32,
    pub kernels: u32,
    pub contexts: u32,
    pub context: u32,
    pub va_bits: u32,
    pub flags: u32,
    pub reserved: u32,
    pub memory_bytes: u64,
    pub free_bytes: u64,
}

/// `struct godwit_register`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "the header documents the fields")]
pub struct Register {
    pub offset: u32,
    pub value: u32,
}

/// `struct godwit_run`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "the header documents the fields")]
pub struct Run {
    pub slot: u32,
    pub write_count: u32,
    pub read_count: u32,
    pub timeout_ms: u32,
    pub writes: u64,
    pub reads: u64,
    pub end: u32,
    pub fault_cause: u32,
    pub fault_address: u64,
}

/// `struct godwit_migrate`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "the header documents the fields")]
pub struct Migrate {
    pub addr: u64,
    pub size: u64,
    pub flags: u32,
    pub reserved: u32,
    pub pages: u64,
}

/// `struct godwit_advise`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "the header documents the fields")]
pub struct Advise {
    pub addr: u64,
    pub size: u64,
    pub advice: u32,
    pub served: u32,
}

/// `struct godwit_cancel`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "the header documents the fields")]
pub struct Cancel {
    pub slot: u32,
    pub reserved: u32,
}

/// `struct godwit_residency`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "the header documents the fields")]
pub struct Residency {
    pub addr: u64,
    pub size: u64,
    pub places: u64,
    pub reserved: u64,
}

/// `struct godwit_counters`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "the header documents the fields")]
pub struct Counters {
    pub words: u64,
    pub count: u32,
    pub reserved: u32,
}

/// `struct godwit_allocation`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "the header documents the fields")]
pub struct Allocation {
    pub op: u32,
    pub flags: u32,
    pub granule: u32,
    pub status: u32,
    pub pointer: u64,
    pub size: u64,
    pub region: u32,
    pub reserved: u32,
}

/// `struct godwit_heap_state`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "the header documents the fields")]
pub struct HeapState {
    pub start: u64,
    pub bytes: u64,
    pub free_bytes: u64,
    pub clean_bytes: u64,
    pub flags: u32,
    pub region: u32,
    pub regions: u32,
    pub reserved: u32,
}

/// `GODWIT_IOC_INFO`.
pub const IOC_INFO: Opcode = opcode::read::<Info>(GROUP, 0x40);
/// `GODWIT_IOC_RUN`.
pub const IOC_RUN: Opcode = opcode::read_write::<Run>(GROUP, 0x43);
/// `GODWIT_IOC_MIGRATE`.
pub const IOC_MIGRATE: Opcode = opcode::read_write::<Migrate>(GROUP, 0x44);
/// `GODWIT_IOC_CANCEL`.
pub const IOC_CANCEL: Opcode = opcode::write::<Cancel>(GROUP, 0x45);
/// `GODWIT_IOC_RESIDENCY`.
pub const IOC_RESIDENCY: Opcode = opcode::write::<Residency>(GROUP, 0x46);
/// `GODWIT_IOC_COUNTERS`.
pub const IOC_COUNTERS: Opcode = opcode::write::<Counters>(GROUP, 0x47);
/// `GODWIT_IOC_HEAP`.
pub const IOC_HEAP: Opcode = opcode::read_write::<Allocation>(GROUP, 0x48);
/// `GODWIT_IOC_HEAP_STATE`.
pub const IOC_HEAP_STATE: Opcode = opcode::read_write::<HeapState>(GROUP, 0x49);
/// `GODWIT_IOC_ADVISE`.
pub const IOC_ADVISE: Opcode = opcode::read_write::<Advise>(GROUP, 0x4a);
