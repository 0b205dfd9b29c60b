// SPDX-License-Identifier: Apache-2.0
//! Why a call of the range allocator failed.

use std::ffi::{CStr, c_int};
use std::fmt;

use crate::range_ffi as ffi;

/// What there was when memory did not suffice, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Why {
    /// All that was free.
    pub free: u64,
    /// The largest free run.
    pub largest: u64,
    /// The largest free run within the limits of the request.
    pub largest_placed: u64,
}

/// Kind of a failure. The words come from core/.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RangeErrorKind {
    /// Areas overlap, wrap around, or hold no granule.
    Areas,
    /// The granule is not a legal power of two.
    Granule,
    /// There is no memory for the bitmaps.
    Storage,
    /// The size is zero or too large to be rounded up.
    Size,
    /// The alignment is not a power of two.
    Alignment,
    /// Fewer bytes are free than asked for.
    OutOfMemory,
    /// Enough bytes are free, but not in one piece.
    Fragmented,
    /// A piece is large enough, but not within the limits.
    Placement,
    /// No piece has an aligned place.
    Unaligned,
    /// The address is in no area.
    Foreign,
    /// No range in use starts at the address.
    NotAStart,
    /// What follows the range is in use.
    Busy,
    /// The bitmaps contradict each other.
    Corrupt,
}

/// A call that failed; nothing has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RangeError {
    pub(crate) status: c_int,
    /// What there was, when memory did not suffice.
    pub why: Option<Why>,
}

impl RangeError {
    /// The kind.
    pub fn kind(&self) -> RangeErrorKind {
        match self.status {
            ffi::GW_RANGE_EAREA => RangeErrorKind::Areas,
            ffi::GW_RANGE_EGRANULE => RangeErrorKind::Granule,
            ffi::GW_RANGE_ESTORAGE => RangeErrorKind::Storage,
            ffi::GW_RANGE_ESIZE => RangeErrorKind::Size,
            ffi::GW_RANGE_EALIGN => RangeErrorKind::Alignment,
            ffi::GW_RANGE_ENOMEM => RangeErrorKind::OutOfMemory,
            ffi::GW_RANGE_EFRAGMENT => RangeErrorKind::Fragmented,
            ffi::GW_RANGE_EPLACE => RangeErrorKind::Placement,
            ffi::GW_RANGE_EUNALIGNED => RangeErrorKind::Unaligned,
            ffi::GW_RANGE_EFOREIGN => RangeErrorKind::Foreign,
            ffi::GW_RANGE_ENOTSTART => RangeErrorKind::NotAStart,
            ffi::GW_RANGE_EBUSY => RangeErrorKind::Busy,
            _ => RangeErrorKind::Corrupt,
        }
    }
}

impl fmt::Display for RangeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.kind() == RangeErrorKind::Storage {
            return f
                .write_str("no memory for the bitmaps of so many granules: take larger granules");
        }
        // SAFETY: always a string that lives as long as the program.
        let reason = unsafe { CStr::from_ptr(ffi::gw_range_reason(self.status)) };
        f.write_str(&reason.to_string_lossy())?;
        match self.why {
            Some(why) => write!(
                f,
                " ({} bytes free, the largest piece has {}, within the limits {})",
                why.free, why.largest, why.largest_placed
            ),
            None => Ok(()),
        }
    }
}

impl std::error::Error for RangeError {}

pub(crate) fn checked(status: c_int, why: Option<Why>) -> Result<(), RangeError> {
    let memory = matches!(
        status,
        ffi::GW_RANGE_ENOMEM
            | ffi::GW_RANGE_EFRAGMENT
            | ffi::GW_RANGE_EPLACE
            | ffi::GW_RANGE_EUNALIGNED
    );
    match status {
        ffi::GW_RANGE_OK => Ok(()),
        _ => Err(RangeError {
            status,
            why: why.filter(|_| memory),
        }),
    }
}
