// SPDX-License-Identifier: Apache-2.0
//! Why a call failed.

use std::ffi::CStr;
use std::fmt;

use crate::ffi;

/// Kind of a failure. The words come from core/, so that the driver says the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The mode is not Sv39, Sv48 or Sv57.
    Mode,
    /// An address or the size is not a multiple of 4 KiB.
    Misaligned,
    /// The size is zero.
    Empty,
    /// The virtual range does not lie within one canonical half of the address space.
    NotCanonical,
    /// The physical range ends above the 56-bit physical address space.
    BeyondPhysical,
    /// The permission is not legal.
    Permission,
    /// The largest page order is not legal.
    Order,
    /// A page of the range is mapped already.
    AlreadyMapped,
    /// A page of the range is not mapped.
    NotMapped,
    /// There is no free frame for a table.
    OutOfFrames,
    /// Pages that are to be one are no neighbours in physical memory, are not aligned there, or have several permissions.
    Apart,
    /// The table holds an entry that these functions do not write.
    Corrupt,
}

impl ErrorKind {
    fn from_status(status: i32) -> Self {
        match status {
            ffi::GW_PT_EMODE => ErrorKind::Mode,
            ffi::GW_PT_EALIGN => ErrorKind::Misaligned,
            ffi::GW_PT_ESIZE => ErrorKind::Empty,
            ffi::GW_PT_ECANON => ErrorKind::NotCanonical,
            ffi::GW_PT_EPHYS => ErrorKind::BeyondPhysical,
            ffi::GW_PT_EPERM => ErrorKind::Permission,
            ffi::GW_PT_EORDER => ErrorKind::Order,
            ffi::GW_PT_EEXIST => ErrorKind::AlreadyMapped,
            ffi::GW_PT_ENOENT => ErrorKind::NotMapped,
            ffi::GW_PT_ENOMEM => ErrorKind::OutOfFrames,
            ffi::GW_PT_EAPART => ErrorKind::Apart,
            _ => ErrorKind::Corrupt,
        }
    }

    fn has_address(self) -> bool {
        matches!(
            self,
            ErrorKind::AlreadyMapped | ErrorKind::NotMapped | ErrorKind::Apart | ErrorKind::Corrupt
        )
    }
}

/// A call that failed. The table is as it was before.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot {operation}: {reason}{}", At(*.at))]
pub struct Error {
    kind: ErrorKind,
    operation: String,
    reason: &'static str,
    at: Option<u64>,
}

impl Error {
    /// What went wrong.
    pub const fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The first page that stood in the way, for [`AlreadyMapped`](ErrorKind::AlreadyMapped),
    /// [`NotMapped`](ErrorKind::NotMapped), [`Apart`](ErrorKind::Apart) and [`Corrupt`](ErrorKind::Corrupt).
    pub const fn at(&self) -> Option<u64> {
        self.at
    }

    pub(crate) fn check(
        status: i32,
        error_va: u64,
        operation: impl FnOnce() -> String,
    ) -> Result<(), Error> {
        if status == ffi::GW_PT_OK {
            return Ok(());
        }
        let kind = ErrorKind::from_status(status);
        // SAFETY: gw_pt_reason returns a static, terminated string for every value.
        let reason = unsafe { CStr::from_ptr(ffi::gw_pt_reason(status)) };
        Err(Error {
            kind,
            operation: operation(),
            reason: reason.to_str().unwrap_or("unknown status"),
            at: kind.has_address().then_some(error_va),
        })
    }
}

struct At(Option<u64>);

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |va| write!(f, " (at {va:#x})"))
    }
}
