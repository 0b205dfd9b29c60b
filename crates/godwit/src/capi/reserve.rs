// SPDX-License-Identifier: Apache-2.0
//! Buffers whose pages come when kernels touch them.

use std::ffi::{CStr, OsStr, c_char, c_int};
use std::os::unix::ffi::OsStrExt;

use super::memory::{GodwitBuffer, GodwitContext};
use super::{READ_ONLY, borrow, guarded, null, put};
use crate::{Access, Error, ReserveOptions};

/// `godwit_reserve`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn godwit_reserve(
    context: *mut GodwitContext,
    size: usize,
    file: *const c_char,
    flags: u32,
    buffer: *mut *mut GodwitBuffer,
) -> c_int {
    guarded(|| {
        // SAFETY: the caller gives a live handle.
        let context = unsafe { borrow(context, "context") }?;
        if buffer.is_null() {
            return Err(null("buffer"));
        }
        if flags & !READ_ONLY != 0 {
            return Err(Error::Argument(format!(
                "{flags:#x}: of enum godwit_alloc_flags a reservation takes GODWIT_READ_ONLY only"
            )));
        }
        let mut options = ReserveOptions::new();
        if flags & READ_ONLY != 0 {
            options = options.access(Access::Read);
        }
        if !file.is_null() {
            // SAFETY: the caller gives a string.
            let path = unsafe { CStr::from_ptr(file) };
            options = options.file(OsStr::from_bytes(path.to_bytes()));
        }
        let handle = GodwitBuffer {
            buffer: context.context.reserve(size as u64, options)?,
        };
        // SAFETY: the caller gives a place for the handle.
        unsafe { put(buffer, Box::into_raw(Box::new(handle)), "buffer") }
    })
}

/// `godwit_bring`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn godwit_bring(
    buffer: *mut GodwitBuffer,
    offset: usize,
    size: usize,
) -> c_int {
    guarded(|| {
        // SAFETY: the caller gives a live handle.
        let handle = unsafe { borrow(buffer, "buffer") }?;
        handle.buffer.bring(offset as u64, size as u64)
    })
}

/// `godwit_resident_pages`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn godwit_resident_pages(
    buffer: *const GodwitBuffer,
    pages: *mut u64,
) -> c_int {
    guarded(|| {
        // SAFETY: the caller gives a live handle.
        let found = unsafe { borrow(buffer, "buffer") }?.buffer.resident_pages();
        // SAFETY: ... and a place for the number.
        unsafe { put(pages, found, "pages") }
    })
}
