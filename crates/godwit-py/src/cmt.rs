// SPDX-License-Identifier: Apache-2.0
//! Contiguous memory: `godwit.cmt`. A block is a buffer that numpy sees itself; it goes back when its last view does.

use std::ffi::c_int;
use std::sync::Arc;

use godwit_cmt::{Block, CmtError, Limits};
use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::cmt_replay::Event;
use crate::error::{ArgumentError, OutOfMemory};

fn raise(error: CmtError) -> PyErr {
    match error {
        CmtError::Config(_) => ArgumentError::new_err(error.to_string()),
        CmtError::Memory(_) => OutOfMemory::new_err(error.to_string()),
    }
}

/// One piece of physical memory.
#[pyclass(frozen, module = "godwit._native", weakref)]
pub(crate) struct ContiguousBlock {
    /// A card that it is shared with holds it, too.
    pub block: Arc<Block>,
}

#[pymethods]
impl ContiguousBlock {
    #[new]
    #[pyo3(signature = (nbytes, align=1, min=0, max=u64::MAX, node=None, strict=false))]
    fn new(
        nbytes: usize,
        align: u64,
        min: u64,
        max: u64,
        node: Option<u32>,
        strict: bool,
    ) -> PyResult<Self> {
        let limits = Limits {
            align,
            min,
            max,
            node,
            strict,
        };
        Block::new(nbytes, &limits)
            .map(|block| Self {
                block: Arc::new(block),
            })
            .map_err(raise)
    }

    /// Address of the first byte in this process.
    #[getter]
    fn address(&self) -> usize {
        self.block.as_ptr() as usize
    }

    /// Bytes.
    #[getter]
    fn nbytes(&self) -> usize {
        self.block.len()
    }

    /// (physical address, bytes) of every extent: one.
    fn extents(&self) -> Vec<(u64, u64)> {
        let extent = self.block.extent();
        vec![(extent.pa, extent.bytes)]
    }

    fn __len__(&self) -> usize {
        self.block.len()
    }

    fn __repr__(&self) -> String {
        let (bytes, pa) = (self.block.len(), self.block.extent().pa);
        format!("<godwit._native.ContiguousBlock {bytes} bytes at physical {pa:#x}>")
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
        if view.is_null() {
            return Err(PyBufferError::new_err("no view to fill"));
        }
        let block = &slf.get().block;
        // SAFETY: the interpreter gives a view to fill; it holds the block.
        unsafe {
            crate::view::fill(view, flags, block.as_ptr(), block.len());
            (*view).obj = slf.into_any().into_ptr();
        }
        Ok(())
    }
}

/// Opens the pool as the configuration says, or `$GODWIT_CMT`.
#[pyfunction]
#[pyo3(signature = (config=None))]
fn cmt_init(py: Python<'_>, config: Option<String>) -> PyResult<()> {
    let config = config.unwrap_or_else(|| std::env::var(godwit_cmt::VARIABLE).unwrap_or_default());
    py.detach(|| godwit_cmt::init(&config)).map_err(raise)
}

/// A moment's state, in bytes.
#[pyfunction]
fn cmt_stats(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let stats = py.detach(godwit_cmt::stats);
    let fields = PyDict::new(py);
    for (name, value) in [
        ("total", stats.total),
        ("free", stats.free),
        ("largest_free", stats.largest_free),
        ("cached", stats.cached),
        ("superblocks", stats.superblocks),
        ("superblock_bytes", stats.superblock_bytes),
        ("metadata_bytes", stats.metadata_bytes),
        ("misuses", stats.misuses),
        ("failures", stats.failures),
    ] {
        fields.set_item(name, value)?;
    }
    Ok(fields)
}

/// A line a piece of memory: `PA BYTES KIND`.
#[pyfunction]
fn cmt_dump(py: Python<'_>) -> String {
    py.detach(godwit_cmt::dump)
}

/// Gives back what caches and empty superblocks hold; the bytes.
#[pyfunction]
fn cmt_trim(py: Python<'_>) -> usize {
    py.detach(godwit_cmt::trim)
}

/// Raises if bookkeeping does not agree.
#[pyfunction]
fn cmt_check(py: Python<'_>) -> PyResult<()> {
    py.detach(godwit_cmt::check).map_err(raise)
}

/// Replays a trace on areas; see `godwit.cmt.simulate`.
#[pyfunction]
fn cmt_simulate(
    py: Python<'_>,
    areas: Vec<(u64, u64, u32)>,
    granule: u64,
    events: Vec<Event>,
) -> PyResult<Bound<'_, PyDict>> {
    let found = py
        .detach(|| crate::cmt_replay::replay(&areas, granule, &events))
        .map_err(ArgumentError::new_err)?;
    let result = PyDict::new(py);
    result.set_item("total", found.total)?;
    result.set_item("free", found.free)?;
    result.set_item("largest", found.largest)?;
    result.set_item("peak", found.peak)?;
    result.set_item("blocks", found.blocks)?;
    result.set_item("failures", found.failures)?;
    result.set_item("runs", found.runs)?;
    Ok(result)
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<ContiguousBlock>()?;
    module.add_function(wrap_pyfunction!(cmt_init, module)?)?;
    module.add_function(wrap_pyfunction!(cmt_stats, module)?)?;
    module.add_function(wrap_pyfunction!(cmt_dump, module)?)?;
    module.add_function(wrap_pyfunction!(cmt_trim, module)?)?;
    module.add_function(wrap_pyfunction!(cmt_check, module)?)?;
    module.add_function(wrap_pyfunction!(cmt_simulate, module)?)
}
