// SPDX-License-Identifier: Apache-2.0
//! Opening the pool: reserves the window, maps every area into it, and hands all of it to the C side.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::io;
use std::ptr;

use godwit_core::range::{Area, Ranges, explain_areas};
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};

use crate::config::{Check, Config, FIRST_DEFAULT, Populate};
use crate::{BackingKind, CmtError, ffi};

/// Environment variable with the configuration of a pool that opens by itself.
pub const VARIABLE: &str = "GODWIT_CMT";

const HUGE_PAGE: u64 = 2 << 20;
const PAGE: u64 = 4 << 10;

/// Virtual and physical addresses agree below this, so that an aligned physical address is an aligned pointer.
const WINDOW_ALIGN: u64 = 1 << 30;
/// A pointer of mimalloc's map of pages stands for so many bytes.
const SLICE: u64 = 64 << 10;
/// A byte of bits of small blocks in use stands for so many bytes.
const LIVE: u64 = 8 * 16;
/// From the lowest to the highest area; address space only.
const WINDOW_MAX: u64 = 1 << 45;

/// Where a device's memory is seen: behind the buffers of a card, which begin at 16 GiB, and below 2^38.
const LOW_START: u64 = 64 << 30;
const LOW_END: u64 = 1 << 38;

const EINVAL: c_int = 22;
const ENOMEM: c_int = 12;

/// The areas' addresses [low, end), low aligned to the window's alignment.
fn window(areas: &[Area]) -> Result<(u64, u64), CmtError> {
    let low = areas.iter().map(|area| area.base).min();
    let end = areas
        .iter()
        .map(|area| area.base.checked_add(area.bytes))
        .max();
    match (low, end) {
        (Some(low), Some(Some(end))) if end - low / WINDOW_ALIGN * WINDOW_ALIGN <= WINDOW_MAX => {
            Ok((low / WINDOW_ALIGN * WINDOW_ALIGN, end))
        }
        _ => Err(CmtError::Config(format!(
            "areas lie more than {} TiB apart",
            WINDOW_MAX >> 40
        ))),
    }
}

/// `bytes` of inaccessible address space there; `None` if something is there.
fn reserve_at(at: u64, bytes: u64) -> io::Result<Option<*mut c_void>> {
    let flags = MapFlags::PRIVATE | MapFlags::NORESERVE | MapFlags::FIXED_NOREPLACE;
    let wanted = at as *mut c_void;
    // SAFETY: nothing that is mapped is replaced.
    match unsafe { mmap_anonymous(wanted, bytes as usize, ProtFlags::empty(), flags) } {
        Ok(got) if got == wanted => Ok(Some(got)),
        // A system older than 4.17 takes the address for a hint.
        Ok(other) => {
            // SAFETY: just mapped, and used by nobody.
            unsafe { munmap(other, bytes as usize) }?;
            Ok(None)
        }
        Err(_) => Ok(None),
    }
}

/// Inaccessible address space, aligned to `WINDOW_ALIGN`.
fn reserve(bytes: u64) -> io::Result<*mut c_void> {
    // Below this library, where the system would put it: as a rule there is room, and one call is enough.
    let below = (reserve as *const () as u64 / WINDOW_ALIGN * WINDOW_ALIGN).saturating_sub(bytes);
    if below >= LOW_END
        && let Some(base) = reserve_at(below, bytes)?
    {
        return Ok(base);
    }
    let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
    let all = (bytes + WINDOW_ALIGN) as usize;
    // SAFETY: anonymous memory at an address of the system's choice.
    let start = unsafe { mmap_anonymous(ptr::null_mut(), all, ProtFlags::empty(), flags) }?;
    let before = start.align_offset(WINDOW_ALIGN as usize);
    let base = start.wrapping_byte_add(before);
    let after = all - before - bytes as usize;
    // SAFETY: the two ends of what was just mapped, which nothing uses.
    unsafe {
        if before > 0 {
            munmap(start, before)?;
        }
        if after > 0 {
            munmap(base.wrapping_byte_add(bytes as usize), after)?;
        }
    }
    Ok(base)
}

/// The same at addresses that a device with three levels of page tables reaches: the lowest that are free, so that a program
/// gets the same ones in every run. Anywhere when there is no room.
fn reserve_low(bytes: u64) -> io::Result<*mut c_void> {
    for at in (LOW_START..LOW_END.saturating_sub(bytes)).step_by(WINDOW_ALIGN as usize) {
        if let Some(base) = reserve_at(at, bytes)? {
            return Ok(base);
        }
    }
    reserve(bytes)
}

/// Zeros; what stands for holes between areas is never touched.
fn table(bytes: usize) -> io::Result<*mut c_void> {
    let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
    // SAFETY: anonymous memory at an address of the system's choice.
    Ok(unsafe {
        mmap_anonymous(
            ptr::null_mut(),
            bytes,
            ProtFlags::READ | ProtFlags::WRITE,
            flags,
        )
    }?)
}

/// How many huge pages the areas need, how many there are, and what to do.
fn huge_pages_missing(bytes: u64) -> String {
    let count = |name: &str| -> u64 {
        let path = format!("/sys/kernel/mm/hugepages/hugepages-2048kB/{name}");
        let text = std::fs::read_to_string(path).unwrap_or_default();
        text.trim().parse().unwrap_or(0)
    };
    let (asked, free, all) = (
        bytes / HUGE_PAGE,
        count("free_hugepages"),
        count("nr_hugepages"),
    );
    format!(
        " ({asked} huge pages of 2 MiB asked for, {free} free of {all}; `sysctl -w vm.nr_hugepages={}` reserves enough)",
        all + asked.saturating_sub(free)
    )
}

fn open(config: &Config) -> Result<(), CmtError> {
    // SAFETY: it looks at how the library was linked.
    let is_malloc = unsafe { ffi::cmt_is_malloc() };
    if config.backing.shared() && is_malloc {
        return Err(CmtError::Config(
            "backing: all memory of a program would be shared with the children that it forks, and change under both; use backing=private".into(),
        ));
    }
    let (backing, areas) = config.backing.open(config)?;
    let ranges = Ranges::new(&areas, config.granule).map_err(|error| {
        let words = explain_areas(&areas, config.granule);
        CmtError::Config(words.unwrap_or_else(|| error.to_string()))
    })?;
    let (low, end) = window(&areas)?;
    let window_bytes = (end - low).next_multiple_of(config.granule);
    // Whole pieces of mimalloc's map of pages, 512 MiB each: none is of anybody else's memory.
    let reserved_bytes = window_bytes.next_multiple_of(WINDOW_ALIGN);
    let memory = |what: &str, error: io::Error| CmtError::Memory(format!("{what}: {error}"));
    let reserved = match config.backing {
        BackingKind::File(_) | BackingKind::Device => reserve_low(reserved_bytes),
        _ => reserve(reserved_bytes),
    };
    let base = reserved.map_err(|error| memory("no address space for the areas", error))?;
    for area in &areas {
        let at = base.wrapping_byte_add((area.base - low) as usize);
        // SAFETY: within the window that was just reserved; the range allocator has refused areas that overlap.
        if let Err(error) = unsafe { backing.map(at, area, config.populate()) } {
            // SAFETY: nothing uses the window yet.
            let _ = unsafe { munmap(base, reserved_bytes as usize) };
            let hint = match config.backing {
                BackingKind::Hugetlb => huge_pages_missing(config.total()),
                _ => String::new(),
            };
            return Err(memory(
                &format!("no memory for area {:#x}:{}{hint}", area.base, area.bytes),
                error,
            ));
        }
    }
    let no_table = |error| memory("no memory for the table of blocks", error);
    let pointer = size_of::<*mut c_void>() as u64;
    let kinds_bytes = (window_bytes / config.granule).next_multiple_of(PAGE) as usize;
    let pages_bytes = (reserved_bytes / SLICE * pointer) as usize;
    let seen_bytes = (reserved_bytes / SLICE / 8) as usize;
    let slices = (reserved_bytes / SLICE) as usize;
    let kinds = table(kinds_bytes + pages_bytes + seen_bytes + slices).map_err(no_table)?;
    let pages = kinds.wrapping_byte_add(kinds_bytes);
    let seen = pages.wrapping_byte_add(pages_bytes);
    let checks = config.check(is_malloc) == Check::All;
    let live = match checks {
        true => table((reserved_bytes / LIVE) as usize).map_err(no_table)?,
        false => ptr::null_mut(),
    };
    if !backing.fresh() {
        // SAFETY: the table was just mapped with this length. All of it was handed out before, by whoever filled it.
        unsafe { ptr::write_bytes(seen.cast::<u8>(), 0xff, seen_bytes) };
    }
    let total = config.total();
    let live_bytes = if checks { total / LIVE } else { 0 };
    let touched = total / config.granule + total / SLICE * pointer + live_bytes;
    // The pool lives as long as the process.
    let ranges: &'static Ranges = Box::leak(Box::new(ranges));
    let how = ffi::cmt_open {
        range: ranges.raw(),
        base,
        bytes: window_bytes,
        pa_base: low,
        kinds,
        pages,
        live,
        metadata_bytes: ranges.metadata_bytes() as u64 + touched,
        super_bytes: config.piece_bytes(),
        cache_bytes: config.cache_bytes(),
        seen,
        recent: seen.wrapping_byte_add(seen_bytes),
        decay_ms: config.decay_ms(),
        shift: config.granule.trailing_zeros(),
        shared: config.backing.shared(),
        populated: config.populate() == Populate::All,
        checks,
    };
    // SAFETY: called once (the C side sees to that) with memory that stays.
    match unsafe { ffi::cmt_pool_open(&raw const how) } {
        0 => Ok(()),
        _ => Err(CmtError::Memory("no memory for the fork handlers".into())),
    }
}

fn open_text(text: Option<&str>) -> Result<(), CmtError> {
    let variable = std::env::var(VARIABLE).unwrap_or_default();
    open(&Config::parse(text.unwrap_or(&variable))?)
}

/// Called by the C side: how many bytes a library in malloc's place may serve before it opens the pool. None if the pool is
/// to be there from the start, or cannot be used, which is told at once then.
///
/// # Safety
/// `config` is a string.
#[unsafe(no_mangle)]
unsafe extern "C" fn cmt_open_waits(config: *const c_char) -> u64 {
    // SAFETY: as the caller promises.
    let text = unsafe { CStr::from_ptr(config) }.to_bytes();
    if text.is_empty() {
        return FIRST_DEFAULT;
    }
    match Config::parse(&String::from_utf8_lossy(text)) {
        Ok(config)
            if config.populate() == Populate::Need
                && config.backing == BackingKind::Private
                && window(&config.areas).is_ok()
                && explain_areas(&config.areas, config.granule).is_none() =>
        {
            config.first
        }
        _ => 0,
    }
}

/// Called by the C side, once at a time, when the pool is to be opened.
///
/// # Safety
/// `config` is NULL or a string, `reason` has room for `reason_bytes` bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn cmt_open_default(
    config: *const c_char,
    reason: *mut c_char,
    reason_bytes: usize,
) -> c_int {
    // SAFETY: as the caller promises.
    let text = (!config.is_null()).then(|| unsafe { CStr::from_ptr(config) }.to_string_lossy());
    let Err(error) = open_text(text.as_deref()) else {
        return 0;
    };
    let (CmtError::Config(words) | CmtError::Memory(words)) = &error;
    let length = words.len().min(reason_bytes.saturating_sub(1));
    // SAFETY: no more than there is room for.
    unsafe {
        ptr::copy_nonoverlapping(words.as_ptr(), reason.cast(), length);
        *reason.add(length) = 0;
    }
    match error {
        CmtError::Config(_) => EINVAL,
        _ => ENOMEM,
    }
}
