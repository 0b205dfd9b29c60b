// SPDX-License-Identifier: Apache-2.0
//! Contexts and buffers.

use std::ffi::{c_int, c_void};

use godwit_core::{Mode, PageSize};

use super::process::Given;
use super::{
    CONTIGUOUS, GodwitCard, MEMORY_MASK, PREFERRED, READ_ONLY, SCATTERED, borrow, guarded,
    memory_of, null, put,
};
use crate::{Access, AllocOptions, Buffer, Context, Contiguity, Error, PagePolicy};

/// `godwit_context`
pub struct GodwitContext {
    pub(super) context: Context,
    /// Memory of the program that its kernels may use.
    pub(super) given: Given,
}

/// `godwit_buffer`
pub struct GodwitBuffer {
    pub(super) buffer: Buffer,
}

/// `godwit_context_create`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn godwit_context_create(
    card: *mut GodwitCard,
    mode: c_int,
    context: *mut *mut GodwitContext,
) -> c_int {
    guarded(|| {
        // SAFETY: the caller gives a live handle.
        let card = unsafe { borrow(card, "card") }?;
        let mode = match mode {
            0 => None,
            39 => Some(Mode::Sv39),
            48 => Some(Mode::Sv48),
            57 => Some(Mode::Sv57),
            other => {
                return Err(Error::Argument(format!(
                    "{other} is no mode of enum godwit_mode"
                )));
            }
        };
        if context.is_null() {
            return Err(null("context"));
        }
        let handle = GodwitContext {
            context: card.card.context(mode)?,
            given: Given::default(),
        };
        // SAFETY: the caller gives a place for the handle.
        unsafe { put(context, Box::into_raw(Box::new(handle)), "context") }
    })
}

/// `godwit_context_destroy`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn godwit_context_destroy(context: *mut GodwitContext) {
    if context.is_null() {
        return;
    }
    guarded(|| {
        // SAFETY: the handle came from `godwit_context_create` and is used no more.
        let handle = unsafe { Box::from_raw(context) };
        handle.context.close()
    });
}

/// `godwit_context_table_bytes`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn godwit_context_table_bytes(
    context: *const GodwitContext,
    bytes: *mut u64,
) -> c_int {
    guarded(|| {
        // SAFETY: the caller gives a live handle.
        let found = unsafe { borrow(context, "context") }?
            .context
            .table_bytes()?;
        // SAFETY: ... and a place for the number.
        unsafe { put(bytes, found, "bytes") }
    })
}

/// The page of this many bytes; None for 0, which is the largest that fits. Whether the card walks it is the card's answer.
pub(super) fn page_of(page_bytes: u64) -> Result<Option<PageSize>, Error> {
    match PageSize::of_bytes(page_bytes) {
        _ if page_bytes == 0 => Ok(None),
        Some(size) => Ok(Some(size)),
        None => Err(Error::Argument(format!(
            "{page_bytes} is no page size: give 0, or a power of two from 4096"
        ))),
    }
}

fn alloc_options(page_bytes: u64, flags: u32) -> Result<AllocOptions, Error> {
    let unknown = flags & !(READ_ONLY | CONTIGUOUS | SCATTERED | PREFERRED | MEMORY_MASK);
    if unknown != 0 {
        return Err(Error::Argument(format!(
            "{unknown:#x} is no flag of enum godwit_alloc_flags"
        )));
    }
    let pages = page_of(page_bytes)?.map_or(PagePolicy::Auto, PagePolicy::Only);
    let access = if flags & READ_ONLY != 0 {
        Access::Read
    } else {
        Access::ReadWrite
    };
    let contiguity = match (flags & CONTIGUOUS != 0, flags & SCATTERED != 0) {
        (true, true) => {
            return Err(Error::Argument(
                "GODWIT_CONTIGUOUS and GODWIT_SCATTERED exclude each other".into(),
            ));
        }
        (true, false) => Contiguity::Required,
        (false, true) => Contiguity::Ignored,
        (false, false) => Contiguity::Preferred,
    };
    let options = match memory_of(flags) {
        Some(number) if flags & PREFERRED != 0 => AllocOptions::new().prefer_memory(number),
        Some(number) => AllocOptions::new().memory(number),
        None => AllocOptions::new(),
    };
    Ok(options.pages(pages).access(access).contiguity(contiguity))
}

/// `godwit_alloc`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn godwit_alloc(
    context: *mut GodwitContext,
    size: usize,
    page_bytes: u64,
    flags: u32,
    buffer: *mut *mut GodwitBuffer,
) -> c_int {
    guarded(|| {
        // SAFETY: the caller gives a live handle.
        let context = unsafe { borrow(context, "context") }?;
        if buffer.is_null() {
            return Err(null("buffer"));
        }
        let options = alloc_options(page_bytes, flags)?;
        let handle = GodwitBuffer {
            buffer: context.context.alloc(size as u64, options)?,
        };
        // SAFETY: the caller gives a place for the handle.
        unsafe { put(buffer, Box::into_raw(Box::new(handle)), "buffer") }
    })
}

/// `godwit_free`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn godwit_free(buffer: *mut GodwitBuffer) -> c_int {
    guarded(|| {
        if buffer.is_null() {
            return Ok(());
        }
        // SAFETY: the handle came from `godwit_alloc` and is used no more.
        let handle = unsafe { Box::from_raw(buffer) };
        match handle.buffer.free() {
            // The card is gone, and the buffer's device memory with it.
            Err(Error::Closed) => Ok(()),
            result => result,
        }
    })
}

/// `godwit_data`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn godwit_data(buffer: *const GodwitBuffer) -> *mut c_void {
    // SAFETY: the caller gives a live handle or NULL.
    unsafe { buffer.as_ref() }.map_or(std::ptr::null_mut(), |handle| handle.buffer.as_ptr().cast())
}

/// `godwit_size`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn godwit_size(buffer: *const GodwitBuffer) -> usize {
    // SAFETY: the caller gives a live handle or NULL.
    unsafe { buffer.as_ref() }.map_or(0, |handle| handle.buffer.len() as usize)
}

/// `godwit_upload`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn godwit_upload(
    buffer: *mut GodwitBuffer,
    offset: usize,
    data: *const c_void,
    size: usize,
) -> c_int {
    guarded(|| {
        // SAFETY: the caller gives a live handle.
        let handle = unsafe { borrow(buffer, "buffer") }?;
        if size == 0 {
            return Ok(());
        }
        // SAFETY: ... and `size` bytes of data.
        unsafe { borrow(data.cast::<u8>(), "data") }?;
        // SAFETY: as above.
        let data = unsafe { std::slice::from_raw_parts(data.cast(), size) };
        handle.buffer.upload(offset as u64, data)
    })
}

/// `godwit_download`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn godwit_download(
    buffer: *const GodwitBuffer,
    offset: usize,
    data: *mut c_void,
    size: usize,
) -> c_int {
    guarded(|| {
        // SAFETY: the caller gives a live handle.
        let handle = unsafe { borrow(buffer, "buffer") }?;
        if size == 0 {
            return Ok(());
        }
        if data.is_null() {
            return Err(null("data"));
        }
        // SAFETY: the caller gives room for `size` bytes, which hold something: C has no other memory.
        let data = unsafe { std::slice::from_raw_parts_mut(data.cast(), size) };
        handle.buffer.download(offset as u64, data)
    })
}
