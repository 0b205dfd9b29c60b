// SPDX-License-Identifier: Apache-2.0
//! `LD_PRELOAD=libgodwit_cmt_preload.so PROGRAM`: the program's memory is contiguous memory, as `$GODWIT_CMT` says.
//!
//! The C library's and the C++ library's names for the pool's calls; `csrc/preload.c` has what the pool does not.
#![allow(missing_docs, clippy::missing_safety_doc, reason = "malloc(3)")]

use std::ffi::{c_int, c_void};

use godwit_cmt as _;

const EINVAL: c_int = 22;
const ENOMEM: c_int = 12;
const PAGE: usize = 4096;

unsafe extern "C" {
    // Keeps the C part in the library: the pool refers to it only weakly.
    fn cmt_boot_malloc(align: usize, size: usize) -> *mut c_void;
    fn cmt_boot_trim(keep: usize) -> c_int;
    fn __errno_location() -> *mut c_int;
    fn gw_cmt_malloc(size: usize) -> *mut c_void;
    fn gw_cmt_free(block: *mut c_void);
    fn gw_cmt_calloc(count: usize, size: usize) -> *mut c_void;
    fn gw_cmt_realloc(block: *mut c_void, size: usize) -> *mut c_void;
    fn gw_cmt_aligned_alloc(align: usize, size: usize) -> *mut c_void;
    fn gw_cmt_usable_size(block: *const c_void) -> usize;
}

unsafe extern "C-unwind" {
    fn gw_cmt_new(size: usize) -> *mut c_void;
}

/// See [`cmt_boot_malloc`].
#[used]
static BOOT: unsafe extern "C" fn(usize, usize) -> *mut c_void = cmt_boot_malloc;

macro_rules! export {
    ($($name:ident = $inner:ident($($argument:ident: $kind:ty),*) $(-> $result:ty)?;)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $kind),*) $(-> $result)? {
            // SAFETY: the same function under the C library's name.
            unsafe { $inner($($argument),*) }
        }
    )*};
}

export! {
    malloc = gw_cmt_malloc(size: usize) -> *mut c_void;
    free = gw_cmt_free(block: *mut c_void);
    cfree = gw_cmt_free(block: *mut c_void);
    calloc = gw_cmt_calloc(count: usize, size: usize) -> *mut c_void;
    realloc = gw_cmt_realloc(block: *mut c_void, size: usize) -> *mut c_void;
    aligned_alloc = gw_cmt_aligned_alloc(align: usize, size: usize) -> *mut c_void;
    memalign = gw_cmt_aligned_alloc(align: usize, size: usize) -> *mut c_void;
    _ZdlPv = gw_cmt_free(block: *mut c_void);
    _ZdaPv = gw_cmt_free(block: *mut c_void);
    malloc_trim = cmt_boot_trim(keep: usize) -> c_int;
    malloc_usable_size = gw_cmt_usable_size(block: *const c_void) -> usize;
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn posix_memalign(out: *mut *mut c_void, align: usize, size: usize) -> c_int {
    if !align.is_power_of_two() || align < size_of::<*mut c_void>() {
        return EINVAL;
    }
    // SAFETY: `out` is where the caller wants the pointer.
    unsafe {
        let block = gw_cmt_aligned_alloc(align, size);
        if block.is_null() {
            return ENOMEM;
        }
        *out = block;
    }
    0
}

fn no_memory() -> *mut c_void {
    // SAFETY: this thread's errno.
    unsafe { *__errno_location() = ENOMEM };
    std::ptr::null_mut()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn valloc(size: usize) -> *mut c_void {
    // SAFETY: any size is served or refused.
    unsafe { gw_cmt_aligned_alloc(PAGE, size) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pvalloc(size: usize) -> *mut c_void {
    match size.checked_next_multiple_of(PAGE) {
        // SAFETY: any size is served or refused.
        Some(bytes) => unsafe { gw_cmt_aligned_alloc(PAGE, bytes) },
        None => no_memory(),
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn reallocarray(
    block: *mut c_void,
    count: usize,
    size: usize,
) -> *mut c_void {
    match count.checked_mul(size) {
        // SAFETY: as the caller promises for `block`.
        Some(bytes) => unsafe { gw_cmt_realloc(block, bytes) },
        None => no_memory(),
    }
}

/// C++ `operator new`.
macro_rules! export_new {
    ($($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name(size: usize) -> *mut c_void {
            // SAFETY: any size is served, or ends in the C++ library.
            unsafe { gw_cmt_new(size) }
        }
    )*};
}

export_new! { _Znwm _Znam }

/// Sized `operator delete`.
macro_rules! export_delete {
    ($($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(block: *mut c_void, _size: usize) {
            // SAFETY: the same function under the C++ library's name.
            unsafe { gw_cmt_free(block) }
        }
    )*};
}

export_delete! { _ZdlPvm _ZdaPvm }
