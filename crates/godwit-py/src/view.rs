// SPDX-License-Identifier: Apache-2.0
//! Views of memory by the buffer protocol: one dimension of writable bytes.

use std::ffi::{CStr, c_int};
use std::ptr;

use pyo3::ffi;

/// Format of a view's elements: bytes.
const FORMAT: &CStr = c"B";

/// Fills all of `view` but its owner, `obj`, which the caller sets and which keeps the memory.
///
/// # Safety
/// `view` is one that the interpreter wants filled; `bytes` bytes at `at` are there as long as its owner is.
pub(crate) unsafe fn fill(view: *mut ffi::Py_buffer, flags: c_int, at: *mut u8, bytes: usize) {
    // SAFETY: as the caller promises. The shape is the field `len` and lives as long as the view: one dimension of bytes
    // has as many elements as bytes.
    unsafe {
        (*view).buf = at.cast();
        (*view).len = bytes as ffi::Py_ssize_t;
        (*view).readonly = 0;
        (*view).itemsize = 1;
        (*view).format = if flags & ffi::PyBUF_FORMAT == ffi::PyBUF_FORMAT {
            FORMAT.as_ptr().cast_mut()
        } else {
            ptr::null_mut()
        };
        (*view).ndim = 1;
        (*view).shape = if flags & ffi::PyBUF_ND == ffi::PyBUF_ND {
            &raw mut (*view).len
        } else {
            ptr::null_mut()
        };
        (*view).strides = if flags & ffi::PyBUF_STRIDES == ffi::PyBUF_STRIDES {
            &raw mut (*view).itemsize
        } else {
            ptr::null_mut()
        };
        (*view).suboffsets = ptr::null_mut();
        (*view).internal = ptr::null_mut();
    }
}
