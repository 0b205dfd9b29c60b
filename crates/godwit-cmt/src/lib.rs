// SPDX-License-Identifier: Apache-2.0
//! Contiguous memory: every block is one piece of physical memory, taken from areas that may be scattered.
//!
//! | layer | where |
//! |---|---|
//! | contiguous ranges from areas with holes, exact first fit | `core/` |
//! | backing: memory that the areas are made of, mapped once | [`Backing`] |
//! | buffer pool: heaps for small blocks, caches for large ones | `csrc/`, mimalloc |
//! | faces: `cmt.h`, `cmt.hpp`, [`Cmt`] for `#[global_allocator]`, [`Block`] | `include/`, here |
//!
//! A process has one pool. It is opened by [`init`], or by the first call, as `$GODWIT_CMT` says ([`Config`]).
//!
//! ```
//! use godwit_cmt::{Block, Limits};
//!
//! # fn main() -> Result<(), godwit_cmt::CmtError> {
//! let mut block = Block::new(3 << 20, &Limits::default())?;
//! block.as_mut_slice().fill(7);
//! println!("{} bytes at physical {:#x}", block.len(), block.extent().pa);
//! # Ok(())
//! # }
//! ```

mod backing;
mod block;
pub mod capi;
mod config;
mod device;
mod ffi;
mod global;
mod open;

pub use backing::Backing;
pub use block::{Block, Limits};
pub use config::{BackingKind, Check, Config, Populate};
pub use ffi::{Extent, Stats};
pub use global::Cmt;
pub use godwit_core::range::Area;
pub use open::VARIABLE;

// The C side calls it.
use libmimalloc_sys as _;

use std::ffi::{CStr, CString, c_char, c_int, c_void};

/// Why a call failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CmtError {
    /// The configuration is not usable.
    #[error("contiguous memory: {0}")]
    Config(String),
    /// Memory does not suffice; says what was asked for and what there is.
    #[error("contiguous memory: {0}")]
    Memory(String),
}

/// Why the calling thread's last call failed.
pub(crate) fn reason() -> String {
    // SAFETY: a string of this thread, which nobody changes before the next call.
    unsafe { CStr::from_ptr(ffi::gw_cmt_reason()) }
        .to_string_lossy()
        .into_owned()
}

/// Opens the pool as `config` (see [`Config`]) says. An error if it is open already.
pub fn init(config: &str) -> Result<(), CmtError> {
    let text = CString::new(config).map_err(|_| CmtError::Config("a zero byte".into()))?;
    // SAFETY: a string.
    match unsafe { ffi::gw_cmt_init(text.as_ptr()) } {
        0 => Ok(()),
        _ => Err(CmtError::Config(reason())),
    }
}

/// The physical address behind an address of the pool.
pub fn physical<T>(address: *const T) -> Option<u64> {
    // SAFETY: any address may be asked for.
    unsafe { ffi::gw_cmt_owns(address.cast()).then(|| ffi::gw_cmt_physical(address.cast())) }
}

/// A moment's state.
pub fn stats() -> Stats {
    let mut stats = Stats::default();
    // SAFETY: a struct to fill.
    unsafe { ffi::gw_cmt_stats(&raw mut stats) };
    stats
}

/// Gives back what caches and small blocks hold unused; the bytes.
pub fn trim() -> usize {
    // SAFETY: any thread may call it.
    unsafe { ffi::gw_cmt_trim() }
}

/// Whether all bookkeeping agrees.
pub fn check() -> Result<(), CmtError> {
    // SAFETY: any thread may call it.
    match unsafe { ffi::gw_cmt_check() } {
        0 => Ok(()),
        _ => Err(CmtError::Memory(reason())),
    }
}

/// Every piece of memory in the order of addresses, a line each: `PA BYTES free|used|cached|superblock`.
pub fn dump() -> String {
    unsafe extern "C" fn push(ctx: *mut c_void, line: *const c_char, length: usize) -> c_int {
        // SAFETY: `ctx` is the vector below; the line has this length.
        unsafe {
            let line = std::slice::from_raw_parts(line.cast::<u8>(), length);
            (*ctx.cast::<Vec<u8>>()).extend_from_slice(line);
        }
        0
    }
    let mut text: Vec<u8> = Vec::new();
    // SAFETY: as `push` expects.
    unsafe { ffi::gw_cmt_dump(push, (&raw mut text).cast()) };
    String::from_utf8_lossy(&text).into_owned()
}
