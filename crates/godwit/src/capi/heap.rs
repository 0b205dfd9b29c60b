// SPDX-License-Identifier: Apache-2.0
//! Memory of the heap in hardware.

use std::ffi::{c_int, c_void};

use super::memory::GodwitContext;
use super::{MEMORY_MASK, PREFERRED, SMALL, borrow, guarded, memory_of, null, put};
use crate::{Error, MallocOptions};

/// `godwit_malloc`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn godwit_malloc(
    context: *mut GodwitContext,
    size: usize,
    granule_bytes: u64,
    flags: u32,
    pointer: *mut *mut c_void,
) -> c_int {
    guarded(|| {
        // SAFETY: the caller gives a live handle.
        let context = unsafe { borrow(context, "context") }?;
        if pointer.is_null() {
            return Err(null("pointer"));
        }
        if flags & !(SMALL | PREFERRED | MEMORY_MASK) != 0 {
            return Err(Error::Argument(format!(
                "{flags:#x}: of enum godwit_alloc_flags a malloc takes GODWIT_SMALL, GODWIT_PREFERRED and GODWIT_MEMORY() only"
            )));
        }
        let mut options = match memory_of(flags) {
            Some(number) if flags & PREFERRED != 0 => MallocOptions::new().prefer_memory(number),
            Some(number) => MallocOptions::new().memory(number),
            None => MallocOptions::new(),
        };
        if granule_bytes != 0 {
            options = options.granule(granule_bytes);
        }
        if flags & SMALL != 0 {
            options = options.small();
        }
        let found = context.context.malloc(size as u64, options)?;
        // SAFETY: the caller gives a place for the pointer.
        unsafe { put(pointer, found.cast(), "pointer") }
    })
}

/// `godwit_adopt`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn godwit_adopt(
    context: *mut GodwitContext,
    address: u64,
    size: usize,
    pointer: *mut *mut c_void,
) -> c_int {
    guarded(|| {
        // SAFETY: the caller gives a live handle.
        let context = unsafe { borrow(context, "context") }?;
        if pointer.is_null() {
            return Err(null("pointer"));
        }
        let found = context.context.adopt(address, size as u64)?;
        // SAFETY: the caller gives a place for the pointer.
        unsafe { put(pointer, found.cast(), "pointer") }
    })
}

/// `godwit_realloc`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn godwit_realloc(
    context: *mut GodwitContext,
    pointer: *mut c_void,
    size: usize,
) -> c_int {
    guarded(|| {
        // SAFETY: the caller gives a live handle.
        let context = unsafe { borrow(context, "context") }?;
        context.context.realloc(pointer.cast(), size as u64)
    })
}

/// `godwit_populate`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn godwit_populate(
    context: *mut GodwitContext,
    pointer: *mut c_void,
    size: usize,
) -> c_int {
    guarded(|| {
        // SAFETY: the caller gives a live handle.
        let context = unsafe { borrow(context, "context") }?;
        context.context.populate(pointer.cast(), size as u64)
    })
}

/// `godwit_release_memory`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn godwit_release_memory(
    context: *mut GodwitContext,
    pointer: *mut c_void,
) -> c_int {
    guarded(|| {
        // SAFETY: the caller gives a live handle.
        let context = unsafe { borrow(context, "context") }?;
        context.context.release(pointer.cast())
    })
}
