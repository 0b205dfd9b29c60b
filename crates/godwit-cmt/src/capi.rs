// SPDX-License-Identifier: Apache-2.0
//! The names of `include/cmt.h`, which documents every function.
#![allow(
    clippy::missing_safety_doc,
    reason = "the header says what callers must keep; pointers are as in any C API"
)]
#![allow(missing_docs, reason = "the header documents every name")]

use std::ffi::{c_char, c_int, c_void};

use crate::ffi::{self, Extent, Stats, cmt_constraints, cmt_misuse_fn, cmt_write_fn};

macro_rules! export {
    ($($name:ident = $inner:ident($($argument:ident: $kind:ty),*) $(-> $result:ty)?;)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $kind),*) $(-> $result)? {
            // SAFETY: the same function under its public name.
            unsafe { ffi::$inner($($argument),*) }
        }
    )*};
}

export! {
    cmt_init = gw_cmt_init(config: *const c_char) -> c_int;
    cmt_malloc = gw_cmt_malloc(size: usize) -> *mut c_void;
    cmt_free = gw_cmt_free(block: *mut c_void);
    cmt_calloc = gw_cmt_calloc(count: usize, size: usize) -> *mut c_void;
    cmt_realloc = gw_cmt_realloc(block: *mut c_void, size: usize) -> *mut c_void;
    cmt_aligned_alloc = gw_cmt_aligned_alloc(align: usize, size: usize) -> *mut c_void;
    cmt_usable_size = gw_cmt_usable_size(block: *const c_void) -> usize;
    cmt_expand = gw_cmt_expand(block: *mut c_void, size: usize) -> bool;
    cmt_alloc_contiguous = gw_cmt_alloc_contiguous(size: usize, limits: *const cmt_constraints) -> *mut c_void;
    cmt_extents = gw_cmt_extents(block: *const c_void, extents: *mut Extent, capacity: usize) -> usize;
    cmt_physical = gw_cmt_physical(address: *const c_void) -> u64;
    cmt_stats = gw_cmt_stats(stats: *mut Stats);
    cmt_dump = gw_cmt_dump(write: cmt_write_fn, ctx: *mut c_void) -> c_int;
    cmt_check = gw_cmt_check() -> c_int;
    cmt_trim = gw_cmt_trim() -> usize;
    cmt_reason = gw_cmt_reason() -> *const c_char;
    cmt_on_misuse = gw_cmt_on_misuse(report: Option<cmt_misuse_fn>) -> Option<cmt_misuse_fn>;
}
