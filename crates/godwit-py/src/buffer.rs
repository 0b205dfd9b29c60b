// SPDX-License-Identifier: Apache-2.0
//! `Buffer`, with the buffer protocol: numpy and Arrow see device memory itself.

use std::ffi::c_int;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error::{ArgumentError, raise};

/// Device memory at one address for kernels and this process.
#[pyclass(frozen, module = "godwit._native", weakref)]
pub(crate) struct Buffer {
    /// `None` once freed.
    inner: Mutex<Option<Arc<godwit::Buffer>>>,
    address: u64,
    nbytes: u64,
    /// Views that are alive. Only changed while `inner` is locked, so that freeing and viewing cannot cross.
    exports: AtomicUsize,
}

impl Buffer {
    pub fn new(buffer: godwit::Buffer) -> Self {
        let (address, nbytes) = (buffer.address(), buffer.len());
        Self {
            inner: Mutex::new(Some(Arc::new(buffer))),
            address,
            nbytes,
            exports: AtomicUsize::new(0),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Arc<godwit::Buffer>>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The buffer, kept alive by the caller.
    pub fn get(&self) -> PyResult<Arc<godwit::Buffer>> {
        self.lock().clone().ok_or_else(|| {
            ArgumentError::new_err(format!("the buffer at {:#x} was freed", self.address))
        })
    }
}

#[pymethods]
impl Buffer {
    /// Its first address, for kernels and this process alike.
    #[getter]
    fn address(&self) -> u64 {
        self.address
    }

    /// Bytes that were asked for.
    #[getter]
    fn nbytes(&self) -> u64 {
        self.nbytes
    }

    /// Whether it was freed.
    #[getter]
    fn freed(&self) -> bool {
        self.lock().is_none()
    }

    /// The physical memory behind it: (address, bytes), in the order of its addresses.
    fn physical(&self) -> PyResult<Vec<(u64, u64)>> {
        Ok(self
            .get()?
            .physical()
            .iter()
            .map(|extent| (extent.pa, extent.len))
            .collect())
    }

    /// Brings pages of a reservation before kernels touch them.
    fn bring(&self, py: Python<'_>, offset: u64, nbytes: u64) -> PyResult<()> {
        let buffer = self.get()?;
        py.detach(|| buffer.bring(offset, nbytes))
            .map_err(|error| raise(py, error))
    }

    /// Pages of a reservation that have come; of any other buffer all of them.
    fn resident_pages(&self) -> PyResult<u64> {
        Ok(self.get()?.resident_pages())
    }

    /// Wants an entry of the range TLB for each of its pieces; how many it has now.
    fn want_range_entries(&self, py: Python<'_>) -> PyResult<usize> {
        let buffer = self.get()?;
        py.detach(|| buffer.want_range_entries())
            .map_err(|error| raise(py, error))
    }

    /// How many entries of the range TLB it has.
    fn range_entries(&self, py: Python<'_>) -> PyResult<usize> {
        let buffer = self.get()?;
        py.detach(|| buffer.range_entries())
            .map_err(|error| raise(py, error))
    }

    /// Copies bytes (anything contiguous with the buffer protocol) to `offset`, over the host link.
    #[pyo3(signature = (data, offset=0))]
    fn upload(&self, py: Python<'_>, data: &Bound<'_, PyAny>, offset: u64) -> PyResult<()> {
        let buffer = self.get()?;
        let view = Bytes::new(data)?;
        py.detach(|| buffer.upload(offset, view.as_slice()))
            .map_err(|error| raise(py, error))
    }

    /// Copies `nbytes` from `offset`, over the host link.
    fn download<'py>(
        &self,
        py: Python<'py>,
        offset: u64,
        nbytes: usize,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let buffer = self.get()?;
        if offset
            .checked_add(nbytes as u64)
            .is_none_or(|end| end > self.nbytes)
        {
            let all = self.nbytes;
            return Err(ArgumentError::new_err(format!(
                "{nbytes} bytes at {offset} of a buffer of {all} bytes"
            )));
        }
        PyBytes::new_with(py, nbytes, |out| {
            py.detach(|| buffer.download(offset, out))
                .map_err(|error| raise(py, error))
        })
    }

    /// Frees it. Refused while numpy or Arrow views of it are alive, or a launch uses it. Freeing twice does nothing.
    fn free(&self, py: Python<'_>) -> PyResult<()> {
        let mut guard = self.lock();
        let views = self.exports.load(Ordering::Relaxed);
        if views > 0 {
            return Err(ArgumentError::new_err(format!(
                "the buffer at {:#x} has {views} live views (numpy or Arrow arrays): delete them before it is freed",
                self.address
            )));
        }
        let Some(shared) = guard.take() else {
            return Ok(());
        };
        match Arc::try_unwrap(shared) {
            Ok(buffer) => {
                drop(guard);
                py.detach(|| buffer.free())
                    .map_err(|error| raise(py, error))
            }
            Err(shared) => {
                *guard = Some(shared);
                Err(ArgumentError::new_err(format!(
                    "the buffer at {:#x} is used by a call that runs",
                    self.address
                )))
            }
        }
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(
        &self,
        py: Python<'_>,
        _exception: &Bound<'_, pyo3::types::PyTuple>,
    ) -> PyResult<()> {
        self.free(py)
    }

    fn __len__(&self) -> usize {
        self.nbytes as usize
    }

    fn __repr__(&self) -> String {
        format!(
            "<godwit._native.Buffer {} bytes at {:#x}>",
            self.nbytes, self.address
        )
    }

    /// Fills a view of the memory itself.
    ///
    /// # Safety
    /// Called by the interpreter with a valid view.
    unsafe fn __getbuffer__(
        slf: Bound<'_, Self>,
        view: *mut ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        let buffer = slf.get();
        let guard = buffer.lock();
        let Some(inner) = guard.as_ref() else {
            return Err(PyBufferError::new_err(format!(
                "the buffer at {:#x} was freed",
                buffer.address
            )));
        };
        // SAFETY: the interpreter gives a view to fill; while it is counted, the buffer is not freed.
        unsafe {
            crate::view::fill(view, flags, inner.as_ptr().cast(), inner.len() as usize);
            buffer.exports.fetch_add(1, Ordering::Relaxed);
            drop(guard);
            (*view).obj = slf.into_any().into_ptr();
        }
        Ok(())
    }

    /// Counts a view that is gone.
    ///
    /// # Safety
    /// Called by the interpreter with a view that `__getbuffer__` filled.
    unsafe fn __releasebuffer__(&self, _view: *mut ffi::Py_buffer) {
        let _guard = self.lock();
        self.exports.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The bytes of a Python object, kept in place by its own export count.
pub(crate) struct Bytes {
    view: PyBuffer<u8>,
}

impl Bytes {
    pub fn new(data: &Bound<'_, PyAny>) -> PyResult<Self> {
        let view = PyBuffer::<u8>::get(data).map_err(|error| {
            ArgumentError::new_err(format!(
                "data must be contiguous bytes (numpy: array.view(numpy.uint8)): {error}"
            ))
        })?;
        if !view.is_c_contiguous() {
            return Err(ArgumentError::new_err(
                "data must be contiguous (numpy: numpy.ascontiguousarray)",
            ));
        }
        Ok(Self { view })
    }

    pub fn as_slice(&self) -> &[u8] {
        if self.view.len_bytes() == 0 {
            return &[];
        }
        // SAFETY: the view is contiguous and pinned while it is held. Whoever writes to it from another thread meanwhile
        // gets the bytes mixed, as with every copy of the buffer protocol.
        unsafe { std::slice::from_raw_parts(self.view.buf_ptr().cast(), self.view.len_bytes()) }
    }
}
