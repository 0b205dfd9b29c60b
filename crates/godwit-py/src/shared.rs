// SPDX-License-Identifier: Apache-2.0
//! Memory of the process that moves: `HostArray`, and what a context does with it.

use godwit::{Advice, HostRange, Residency};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::context::Context;
use crate::error::{ArgumentError, raise};

/// Memory of this process, with the object whose memory it is.
#[pyclass(frozen, module = "godwit._native")]
pub(crate) struct HostArray {
    address: u64,
    nbytes: u64,
    writable: bool,
    /// `SharedMemory.forget` is called before the memory is freed.
    kept: bool,
    /// Keeps the memory.
    owner: Py<PyAny>,
}

impl HostArray {
    /// What a launch gets of it.
    pub fn range(&self) -> HostRange {
        // SAFETY: who makes a HostArray names its owner, and a launch keeps that until it has ended; arrays of numbers are what it is
        // made of, as the face in Python sees to.
        let range = unsafe { HostRange::new(self.address, self.nbytes, self.writable) };
        if self.kept { range.kept() } else { range }
    }

    /// The object whose memory it is.
    pub fn owner(&self, py: Python<'_>) -> Py<PyAny> {
        self.owner.clone_ref(py)
    }

    #[allow(
        clippy::mut_from_ref,
        reason = "memory of Python, which many may write"
    )]
    fn bytes_mut(&self) -> &mut [u8] {
        // SAFETY: the owner keeps the memory. Others may write it meanwhile; its content is not looked at, only its place.
        unsafe { std::slice::from_raw_parts_mut(self.address as *mut u8, self.nbytes as usize) }
    }
}

#[pymethods]
impl HostArray {
    #[new]
    fn new(
        address: u64,
        nbytes: u64,
        writable: bool,
        kept: bool,
        owner: Py<PyAny>,
    ) -> PyResult<Self> {
        if address == 0 && nbytes != 0 {
            return Err(ArgumentError::new_err("there is no memory at address 0"));
        }
        Ok(Self {
            // An empty array is nowhere.
            address: address.max(1),
            nbytes,
            writable,
            kept,
            owner,
        })
    }
}

/// The memory of this process, shared with a context.
#[pyclass(frozen, module = "godwit._native")]
pub(crate) struct SharedMemory {
    context: godwit::Context,
}

impl SharedMemory {
    fn on_memory<R: Send>(
        &self,
        py: Python<'_>,
        memory: &HostArray,
        work: impl FnOnce(&godwit::Context, HostRange) -> Result<R, godwit::Error> + Send,
    ) -> PyResult<R> {
        let range = memory.range();
        py.detach(|| work(&self.context, range))
            .map_err(|error| raise(py, error))
    }
}

#[pymethods]
impl SharedMemory {
    #[new]
    fn new(py: Python<'_>, context: &Context) -> PyResult<Self> {
        let context = context.inner.clone();
        py.detach(|| context.share_process())
            .map_err(|error| raise(py, error))?;
        Ok(Self { context })
    }

    /// Whether system calls reach pages that are away.
    #[getter]
    fn with_system_calls(&self) -> bool {
        self.context.shares_with_system_calls()
    }

    /// Brings memories to the card, all or none.
    fn migrate_to_device(&self, py: Python<'_>, memory: Vec<Py<HostArray>>) -> PyResult<()> {
        let ranges: Vec<HostRange> = memory.iter().map(|one| one.get().range()).collect();
        py.detach(|| self.context.migrate_all_to_device(&ranges))
            .map_err(|error| raise(py, error))
    }

    /// Brings memory home.
    fn migrate_to_host(&self, py: Python<'_>, memory: &HostArray) -> PyResult<()> {
        self.on_memory(py, memory, godwit::Context::migrate_to_host)
    }

    /// Says what is likely to happen to memory (`will_need`, `will_need_host`), or how its pages serve kernels (`in_place`, `migrate`,
    /// `auto`, `read_mostly`).
    fn advise(&self, py: Python<'_>, memory: &HostArray, advice: &str) -> PyResult<()> {
        let advice = match advice {
            "will_need" => Advice::WillNeed,
            "will_need_host" => Advice::WillNeedHost,
            "in_place" => Advice::InPlace,
            "migrate" => Advice::Migrate,
            "auto" => Advice::Auto,
            "read_mostly" => Advice::ReadMostly,
            _ => {
                return Err(ArgumentError::new_err(format!(
                    "advice `{advice}` is not will_need, will_need_host, in_place, migrate, auto or read_mostly"
                )));
            }
        };
        self.on_memory(py, memory, |context, range| {
            context.advise(range, advice);
            Ok(())
        })
    }

    /// Gives up what is in memory.
    fn discard(&self, py: Python<'_>, memory: &HostArray) -> PyResult<()> {
        if !memory.writable {
            return Err(ArgumentError::new_err(
                "memory that is read-only cannot be discarded",
            ));
        }
        let bytes = memory.bytes_mut();
        py.detach(|| self.context.discard(bytes));
        Ok(())
    }

    /// Memory at these addresses is about to be freed.
    fn forget(&self, py: Python<'_>, address: u64, nbytes: u64) -> PyResult<()> {
        // SAFETY: who calls this has the memory still, and says that nobody else wants what is in it.
        let bytes = unsafe { std::slice::from_raw_parts_mut(address as *mut u8, nbytes as usize) };
        py.detach(|| self.context.forget(bytes))
            .map_err(|error| raise(py, error))
    }

    /// Where the pages of memory are: tuples (address, bytes, `host`, `device`, `both`, `in_place` or `elsewhere`).
    fn residency<'py>(&self, py: Python<'py>, memory: &HostArray) -> PyResult<Bound<'py, PyList>> {
        let runs = self.on_memory(py, memory, godwit::Context::residency)?;
        let named = runs.into_iter().map(|(start, len, place)| {
            let place = match place {
                Residency::Host => "host",
                Residency::Device => "device",
                Residency::InPlace => "in_place",
                Residency::Both => "both",
                Residency::Elsewhere => "elsewhere",
            };
            (start, len, place)
        });
        PyList::new(py, named.collect::<Vec<_>>())
    }

    /// What moved in this process, by cause.
    fn migrations<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let counts = py
            .detach(|| self.context.migration_counts())
            .map_err(|error| raise(py, error))?;
        let dict = PyDict::new(py);
        for (name, value) in counts {
            let Some((group, of)) = name.split_once('.') else {
                dict.set_item(name, value)?;
                continue;
            };
            let inner = match dict.get_item(group)? {
                Some(inner) => inner,
                None => {
                    dict.set_item(group, PyDict::new(py))?;
                    dict.as_any().get_item(group)?
                }
            };
            inner.set_item(of, value)?;
        }
        Ok(dict)
    }

    /// What moved, one by one: tuples (virtual time in ps, to the card, cause, address, bytes, copied).
    fn log<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let log = py
            .detach(|| self.context.migration_log())
            .map_err(|error| raise(py, error))?;
        let tuple = |m: godwit::Migration| {
            let cause = m.cause.name();
            (m.time_ps, m.to_device, cause, m.address, m.bytes, m.copied)
        };
        PyList::new(py, log.into_iter().map(tuple).collect::<Vec<_>>())
    }
}
