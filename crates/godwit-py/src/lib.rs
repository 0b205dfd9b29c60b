// SPDX-License-Identifier: Apache-2.0
//! `godwit._native`: the runtime as Python sees it. `python/godwit/api.py` is the face that people use.
//!
//! Calls that may simulate release the GIL, and the thread that owns a card never waits for it, so that they cannot wait for
//! each other.

mod buffer;
mod card;
mod cmt;
mod cmt_replay;
mod context;
mod error;
mod launch;
mod pages;
mod ports;
mod shared;
mod view;

use pyo3::prelude::*;

/// The native part of Godwit.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("SPEC_HASH", godwit::layout::SPEC_HASH)?;
    module.add_class::<card::Card>()?;
    module.add_class::<context::Context>()?;
    module.add_class::<buffer::Buffer>()?;
    module.add_class::<launch::Launch>()?;
    module.add_class::<shared::HostArray>()?;
    module.add_class::<shared::SharedMemory>()?;
    module.add_class::<view::ViewOfSelf>()?;
    cmt::register(module)?;
    error::register(module)
}
