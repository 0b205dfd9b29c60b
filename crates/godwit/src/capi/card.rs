// SPDX-License-Identifier: Apache-2.0
//! Cards.

use std::ffi::{CString, c_char, c_int};

use godwit_card::closest;

use super::{
    GodwitContext, GodwitMemoryInfo, GodwitStats, NAME_SIZE, borrow, guarded, put, string,
};
use crate::{Card, Counters, Error, OpenOptions};

/// `godwit_card`
pub struct GodwitCard {
    pub(super) card: Card,
    /// For `godwit_describe`.
    description: CString,
    /// Names of the counters and what they count.
    counters: Vec<(CString, CString)>,
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
        let counters = Counters::list(opened.description().port_count())
            .into_iter()
            .map(|(name, doc)| Ok((CString::new(name)?, CString::new(doc)?)))
            .collect::<Result<_, std::ffi::NulError>>();
        let counters = counters.map_err(|error| Error::Hardware(error.to_string()))?;
        let handle = Box::into_raw(Box::new(GodwitCard {
            card: opened,
            description,
            counters,
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

/// `godwit_counter_count`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn godwit_counter_count(card: *const GodwitCard) -> usize {
    // SAFETY: the caller gives a live handle or NULL.
    unsafe { card.as_ref() }.map_or(0, |card| card.counters.len())
}

/// `godwit_counter_name`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn godwit_counter_name(
    card: *const GodwitCard,
    index: usize,
) -> *const c_char {
    // SAFETY: as above.
    let counter = unsafe { card.as_ref() }.and_then(|card| card.counters.get(index));
    counter.map_or(std::ptr::null(), |(name, _)| name.as_ptr())
}

/// `godwit_counter_doc`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn godwit_counter_doc(
    card: *const GodwitCard,
    index: usize,
) -> *const c_char {
    // SAFETY: as above.
    let counter = unsafe { card.as_ref() }.and_then(|card| card.counters.get(index));
    counter.map_or(std::ptr::null(), |(_, doc)| doc.as_ptr())
}

/// `godwit_get_counters`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn godwit_get_counters(
    card: *mut GodwitCard,
    values: *mut u64,
    capacity: usize,
    count: *mut usize,
) -> c_int {
    guarded(|| {
        if values.is_null() && capacity != 0 {
            return Err(super::null("values"));
        }
        // SAFETY: the caller gives a live handle.
        let found = unsafe { borrow(card, "card") }?.card.counters()?.values();
        for (index, value) in found.iter().take(capacity).enumerate() {
            // SAFETY: `values` has room for `capacity` numbers.
            unsafe { values.add(index).write(*value) };
        }
        if !count.is_null() {
            // SAFETY: the caller gives a place for the number, or NULL.
            unsafe { count.write(found.len()) };
        }
        Ok(())
    })
}

/// `godwit_get_counter`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn godwit_get_counter(
    card: *mut GodwitCard,
    name: *const c_char,
    value: *mut u64,
) -> c_int {
    guarded(|| {
        // SAFETY: the caller gives a live handle and a terminated string.
        let (card, name) = unsafe { (borrow(card, "card")?, string(name, "name")?) };
        let names = card.counters.iter().map(|(known, _)| known.to_bytes());
        let Some(index) = names.clone().position(|known| known == name.as_bytes()) else {
            let known: Vec<_> = names.map(String::from_utf8_lossy).collect();
            let hint = closest(name, known.iter().map(AsRef::as_ref));
            let hint = hint.map_or(String::new(), |near| format!(" (did you mean `{near}`?)"));
            return Err(Error::Argument(format!(
                "the card has no counter `{name}`{hint}: godwit_counter_name() has all {}",
                card.counters.len()
            )));
        };
        let found = card.card.counters()?.values()[index];
        // SAFETY: ... and a place for the number.
        unsafe { put(value, found, "value") }
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

/// `godwit_memory_count`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn godwit_memory_count(card: *const GodwitCard) -> usize {
    // SAFETY: the caller gives a live handle, or NULL.
    unsafe { card.as_ref() }.map_or(0, |card| card.card.memories().len())
}

/// `godwit_get_memory_info`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn godwit_get_memory_info(
    card: *const GodwitCard,
    number: usize,
    info: *mut GodwitMemoryInfo,
) -> c_int {
    guarded(|| {
        // SAFETY: the caller gives a live handle.
        let memories = unsafe { borrow(card, "card") }?.card.memories();
        let Some(memory) = memories.get(number) else {
            return Err(Error::Argument(format!(
                "the card has no memory {number}: it has {}",
                memories.len()
            )));
        };
        let mut name = [0; NAME_SIZE];
        // The last byte stays 0.
        for (to, from) in name[..NAME_SIZE - 1].iter_mut().zip(memory.name.bytes()) {
            *to = from as c_char;
        }
        let found = GodwitMemoryInfo {
            name,
            first: memory.first,
            size: memory.bytes,
            free_bytes: memory.free,
            largest_bytes: memory.largest,
        };
        // SAFETY: the caller gives a place for it.
        unsafe { put(info, found, "info") }
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
