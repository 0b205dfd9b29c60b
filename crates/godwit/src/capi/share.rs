// SPDX-License-Identifier: Apache-2.0
//! Contiguous memory of the program as a kernel's argument.

use std::ffi::{c_char, c_int, c_void};

use godwit_core::HostMemory;

use super::memory::page_of;
use super::{
    GodwitBuffer, GodwitCard, GodwitContext, GodwitInUse, NO_RANGES, RANGES, READ_ONLY, borrow,
    guarded, null, put,
};
use crate::{Access, Error, RangeEntries, ShareOptions};

/// Memory that C answers for.
struct Owned {
    start: *mut c_void,
    bytes: u64,
    in_use: GodwitInUse,
}

// SAFETY: an address; the callback may be called from any thread, says the header.
unsafe impl Send for Owned {}
// SAFETY: as above.
unsafe impl Sync for Owned {}

// SAFETY: the caller of `godwit_share` promises it, until its callback says otherwise.
unsafe impl HostMemory for Owned {
    fn as_ptr(&self) -> *mut u8 {
        self.start.cast()
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn check(&self) -> Result<(), String> {
        match self.in_use {
            // SAFETY: the caller gives a function of this type; any address may be asked for.
            Some(in_use) if unsafe { in_use(self.start, self.bytes as usize) } == 0 => {
                Err("it is no block in use: it was freed, or is not of this pool".to_owned())
            }
            _ => Ok(()),
        }
    }
}

fn share_options(page_bytes: u64, flags: u32) -> Result<ShareOptions, Error> {
    let unknown = flags & !(READ_ONLY | RANGES | NO_RANGES);
    if unknown != 0 {
        return Err(Error::Argument(format!(
            "{unknown:#x} is no flag of godwit_share"
        )));
    }
    let entries = match (flags & RANGES != 0, flags & NO_RANGES != 0) {
        (true, true) => {
            return Err(Error::Argument(
                "GODWIT_RANGES and GODWIT_NO_RANGES exclude each other".into(),
            ));
        }
        (true, false) => RangeEntries::Required,
        (false, true) => RangeEntries::Never,
        (false, false) => RangeEntries::Preferred,
    };
    let access = if flags & READ_ONLY != 0 {
        Access::Read
    } else {
        Access::ReadWrite
    };
    let options = ShareOptions::new().access(access).entries(entries);
    Ok(match page_of(page_bytes)? {
        Some(page) => options.max_page(page),
        None => options,
    })
}

/// `godwit_cmt_config`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn godwit_cmt_config(
    card: *mut GodwitCard,
    size: u64,
    config: *mut c_char,
    capacity: usize,
) -> c_int {
    guarded(|| {
        // SAFETY: the caller gives a live handle.
        let text = unsafe { borrow(card, "card") }?.card.cmt_config(size)?;
        if config.is_null() {
            return Err(null("config"));
        }
        if text.len() >= capacity {
            return Err(Error::Argument(format!(
                "the configuration has {} bytes with its end, and there is room for {capacity}",
                text.len() + 1
            )));
        }
        // SAFETY: ... and room for `capacity` bytes, which are more than the text has.
        unsafe {
            std::ptr::copy_nonoverlapping(text.as_ptr(), config.cast(), text.len());
            config.add(text.len()).write(0);
        }
        Ok(())
    })
}

/// `godwit_share`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn godwit_share(
    context: *mut GodwitContext,
    memory: *mut c_void,
    size: usize,
    page_bytes: u64,
    flags: u32,
    in_use: GodwitInUse,
    buffer: *mut *mut GodwitBuffer,
) -> c_int {
    guarded(|| {
        // SAFETY: the caller gives a live handle.
        let context = unsafe { borrow(context, "context") }?;
        if memory.is_null() {
            return Err(null("memory"));
        }
        if buffer.is_null() {
            return Err(null("buffer"));
        }
        let owned = Owned {
            start: memory,
            bytes: size as u64,
            in_use,
        };
        let shared = context
            .context
            .share(owned, share_options(page_bytes, flags)?)?;
        let handle = Box::into_raw(Box::new(GodwitBuffer { buffer: shared }));
        // SAFETY: the caller gives a place for the handle.
        unsafe { put(buffer, handle, "buffer") }
    })
}

/// `godwit_range_entries`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn godwit_range_entries(
    buffer: *const GodwitBuffer,
    count: *mut usize,
) -> c_int {
    guarded(|| {
        // SAFETY: the caller gives a live handle.
        let found = unsafe { borrow(buffer, "buffer") }?
            .buffer
            .range_entries()?;
        // SAFETY: ... and a place for the number.
        unsafe { put(count, found, "count") }
    })
}
