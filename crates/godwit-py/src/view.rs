// SPDX-License-Identifier: Apache-2.0
//! Views by the buffer protocol: of memory, as one dimension of writable bytes; of an object, as its own array.

use std::ffi::{CStr, c_int};
use std::ptr;

use pyo3::ffi;
use pyo3::prelude::*;

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

/// Base of Python classes whose objects are seen by the buffer protocol as the array that their method `to_numpy` gives.
///
/// Python classes can say this themselves (`__buffer__`) from Python 3.12 on only.
#[pyclass(subclass, frozen, module = "godwit._native")]
pub(crate) struct ViewOfSelf;

#[pymethods]
impl ViewOfSelf {
    #[new]
    #[pyo3(signature = (*_args, **_named))]
    fn new(
        _args: &Bound<'_, pyo3::types::PyTuple>,
        _named: Option<&Bound<'_, pyo3::types::PyDict>>,
    ) -> Self {
        Self
    }

    /// Lets the array answer: the view is the array's, so that nothing is left to release here.
    ///
    /// # Safety
    /// Called by the interpreter with a view that it wants filled.
    unsafe fn __getbuffer__(
        slf: Bound<'_, Self>,
        view: *mut ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        let array = slf.call_method0("to_numpy")?;
        // SAFETY: `view` is the caller's to fill, and the array keeps itself alive in it.
        match unsafe { ffi::PyObject_GetBuffer(array.as_ptr(), view, flags) } {
            0 => Ok(()),
            _ => Err(PyErr::fetch(slf.py())),
        }
    }
}
