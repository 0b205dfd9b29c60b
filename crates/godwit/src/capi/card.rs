// SPDX-License-Identifier: Apache-2.0
//! Cards.

use std::ffi::{CString, c_char, c_int};

use super::{
    GodwitContext, GodwitPortCounters, GodwitStats, GodwitWalkerCounters, borrow, guarded, put,
    string,
};
use crate::{Card, Error, OpenOptions};

/// `godwit_card`
pub struct GodwitCard {
    pub(super) card: Card,
    /// For `godwit_describe`.
    description: CString,
}

/// `godwit_open`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn godwit_open(
    device: *const c_char,
    options: *const c_char,
    card: *mut *mut GodwitCard,
) -> c_int {
    guarded(|| {
        // SAFETY: the caller gives terminated strings.
        let device = unsafe { string(device, "device") }?;
        let options = if options.is_null() {
            OpenOptions::new()
        } else {
            // SAFETY: as above.
            OpenOptions::from_json(unsafe { string(options, "options") }?)?
        };
        if card.is_null() {
            return Err(super::null("card"));
        }
        let opened = Card::open(device, options)?;
        let description = CString::new(opened.description().json.as_str());
        let description = description.map_err(|error| Error::Hardware(error.to_string()))?;
        let handle = Box::into_raw(Box::new(GodwitCard {
            card: opened,
            description,
        }));
        // SAFETY: the caller gives a place for the handle.
        unsafe { put(card, handle, "card") }
    })
}

/// `godwit_close`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn godwit_close(card: *mut GodwitCard) {
    if card.is_null() {
        return;
    }
    guarded(|| {
        // SAFETY: the handle came from `godwit_open` and is used no more.
        let handle = unsafe { Box::from_raw(card) };
        handle.card.close()
    });
}

/// `godwit_describe`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn godwit_describe(card: *const GodwitCard) -> *const c_char {
    // SAFETY: the caller gives a live handle or NULL.
    unsafe { card.as_ref() }.map_or(std::ptr::null(), |card| card.description.as_ptr())
}

/// `godwit_get_stats`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn godwit_get_stats(
    card: *const GodwitCard,
    stats: *mut GodwitStats,
) -> c_int {
    guarded(|| {
        // SAFETY: the caller gives a live handle.
        let found = unsafe { borrow(card, "card") }?.card.stats()?;
        // SAFETY: ... and a place for the numbers.
        unsafe { put(stats, found.into(), "stats") }
    })
}

/// `godwit_get_counters`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn godwit_get_counters(
    card: *mut GodwitCard,
    ports: *mut GodwitPortCounters,
    capacity: usize,
    count: *mut usize,
    walker: *mut GodwitWalkerCounters,
) -> c_int {
    guarded(|| {
        // SAFETY: the caller gives a live handle.
        let counters = unsafe { borrow(card, "card") }?.card.counters()?;
        if !ports.is_null() {
            for (index, port) in counters.ports.iter().take(capacity).enumerate() {
                // SAFETY: `ports` has room for `capacity` entries.
                unsafe { ports.add(index).write((*port).into()) };
            }
        }
        if !count.is_null() {
            // SAFETY: the caller gives a place for the number, or NULL.
            unsafe { count.write(counters.ports.len()) };
        }
        if !walker.is_null() {
            // SAFETY: as for `count`.
            unsafe { walker.write(counters.walker.into()) };
        }
        Ok(())
    })
}

/// `godwit_clear_counters`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn godwit_clear_counters(card: *mut GodwitCard) -> c_int {
    // SAFETY: the caller gives a live handle.
    guarded(|| unsafe { borrow(card, "card") }?.card.clear_counters())
}

/// `godwit_count_only`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn godwit_count_only(
    card: *mut GodwitCard,
    context: *const GodwitContext,
) -> c_int {
    guarded(|| {
        // SAFETY: the caller gives live handles, or no context.
        let (card, context) = unsafe { (borrow(card, "card")?, context.as_ref()) };
        card.card.count_only(context.map(|handle| &handle.context))
    })
}

/// `godwit_memory_free`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn godwit_memory_free(
    card: *const GodwitCard,
    free_bytes: *mut u64,
    largest_bytes: *mut u64,
) -> c_int {
    guarded(|| {
        // SAFETY: the caller gives a live handle.
        let (free, largest) = unsafe { borrow(card, "card") }?.card.memory_free();
        for (place, value) in [(free_bytes, free), (largest_bytes, largest)] {
            if !place.is_null() {
                // SAFETY: the caller gives a place for the number, or NULL.
                unsafe { place.write(value) };
            }
        }
        Ok(())
    })
}
