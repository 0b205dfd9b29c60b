// SPDX-License-Identifier: Apache-2.0
//! `Context`.

use std::sync::Arc;

use std::path::PathBuf;

use godwit::{
    Access, AllocOptions, Contiguity, MallocOptions, PagePolicy, PageSize, RangeEntries,
    ReserveOptions, Residence, ShareOptions,
};
use pyo3::prelude::*;

use crate::buffer::Buffer;
use crate::cmt::ContiguousBlock;
use crate::error::{ArgumentError, raise};

/// An address space on a card.
#[pyclass(frozen, module = "godwit._native")]
pub(crate) struct Context {
    pub inner: godwit::Context,
}

fn page_policy(name: &str) -> PyResult<PagePolicy> {
    if name == "auto" {
        return Ok(PagePolicy::Auto);
    }
    let unit = match name.as_bytes().last() {
        Some(b'K') => 10,
        Some(b'M') => 20,
        Some(b'G') => 30,
        _ => 0,
    };
    let count = name
        .get(..name.len().saturating_sub(1))
        .map(str::parse::<u64>);
    match count {
        Some(Ok(count)) if unit != 0 && count < 1 << 30 => PageSize::of_bytes(count << unit),
        _ => None,
    }
    .map(PagePolicy::Only)
    .ok_or_else(|| {
        ArgumentError::new_err(format!(
            "page size `{name}` is not auto or a power of two from 4K to 1G"
        ))
    })
}

fn access_of(name: &str) -> PyResult<Access> {
    match name {
        "r" => Ok(Access::Read),
        "w" | "rw" => Ok(Access::ReadWrite),
        _ => Err(ArgumentError::new_err(format!(
            "access `{name}` is not r, w or rw"
        ))),
    }
}

fn residence_of(name: &str) -> PyResult<Residence> {
    match name {
        "device" => Ok(Residence::Device),
        "host" => Ok(Residence::Host),
        _ => Err(ArgumentError::new_err(format!(
            "place `{name}` is not device or host"
        ))),
    }
}

#[pymethods]
impl Context {
    /// New zeroed memory, place: of the device, or of the host, used in place; memory: the number of the card's, or else another if not
    /// strict. access: r, w or rw (a writable buffer is readable, too). contiguous: None prefers one
    /// piece, True insists on it, False takes the largest pages wherever they are.
    #[pyo3(signature = (nbytes, page_size="auto", access="rw", contiguous=None, place="device", memory=None, strict=true))]
    #[allow(clippy::too_many_arguments, reason = "what Python gives, by name")]
    fn alloc(
        &self,
        py: Python<'_>,
        nbytes: u64,
        page_size: &str,
        access: &str,
        contiguous: Option<bool>,
        place: &str,
        memory: Option<usize>,
        strict: bool,
    ) -> PyResult<Buffer> {
        let access = access_of(access)?;
        let contiguity = match contiguous {
            None => Contiguity::Preferred,
            Some(true) => Contiguity::Required,
            Some(false) => Contiguity::Ignored,
        };
        let mut options = AllocOptions::new()
            .pages(page_policy(page_size)?)
            .access(access)
            .contiguity(contiguity)
            .residence(residence_of(place)?);
        options = match memory {
            Some(number) if strict => options.memory(number),
            Some(number) => options.prefer_memory(number),
            None => options,
        };
        let buffer = py
            .detach(|| self.inner.alloc(nbytes, options))
            .map_err(|error| raise(py, error))?;
        Ok(Buffer::new(buffer))
    }

    /// Addresses whose pages come when kernels touch them, from a file or zeroed. nbytes 0: as many as the file has.
    #[pyo3(signature = (nbytes, file=None, access="rw"))]
    fn reserve(
        &self,
        py: Python<'_>,
        nbytes: u64,
        file: Option<PathBuf>,
        access: &str,
    ) -> PyResult<Buffer> {
        let mut options = ReserveOptions::new().access(access_of(access)?);
        if let Some(path) = file {
            options = options.file(path);
        }
        let buffer = py
            .detach(|| self.inner.reserve(nbytes, options))
            .map_err(|error| raise(py, error))?;
        Ok(Buffer::new(buffer))
    }

    /// Memory of the heap in hardware, its frames from the memory of a number, or else another if not strict: its first address.
    #[pyo3(signature = (nbytes, granule=4096, small=false, memory=None, strict=true))]
    fn malloc(
        &self,
        py: Python<'_>,
        nbytes: u64,
        granule: u64,
        small: bool,
        memory: Option<usize>,
        strict: bool,
    ) -> PyResult<u64> {
        let options = MallocOptions::new().granule(granule);
        let mut options = match memory {
            Some(number) if strict => options.memory(number),
            Some(number) => options.prefer_memory(number),
            None => options,
        };
        if small {
            options = options.small();
        }
        py.detach(|| self.inner.malloc(nbytes, options).map(|first| first as u64))
            .map_err(|error| raise(py, error))
    }

    /// What a kernel allocated by itself, as what malloc gives.
    fn adopt(&self, py: Python<'_>, address: u64, nbytes: u64) -> PyResult<u64> {
        py.detach(|| self.inner.adopt(address, nbytes).map(|first| first as u64))
            .map_err(|error| raise(py, error))
    }

    /// Another size for what malloc gave.
    fn realloc(&self, py: Python<'_>, address: u64, nbytes: u64) -> PyResult<()> {
        py.detach(|| self.inner.realloc(address as *mut u8, nbytes))
            .map_err(|error| raise(py, error))
    }

    /// Takes frames for nbytes of what malloc gave.
    fn populate(&self, py: Python<'_>, address: u64, nbytes: u64) -> PyResult<()> {
        py.detach(|| self.inner.populate(address as *mut u8, nbytes))
            .map_err(|error| raise(py, error))
    }

    /// What the context has of the heap: mappings (address, physical address, bytes), tables (physical address), allocations
    /// (address, bytes).
    #[allow(clippy::type_complexity, reason = "what Python gets: three lists")]
    fn heap_map(
        &self,
        py: Python<'_>,
    ) -> PyResult<(Vec<(u64, u64, u64)>, Vec<u64>, Vec<(u64, u64)>)> {
        py.detach(|| self.inner.heap_map())
            .map(|map| (map.mapped, map.tables, map.allocations))
            .map_err(|error| raise(py, error))
    }

    /// Ends what malloc gave.
    fn release(&self, py: Python<'_>, address: u64) -> PyResult<()> {
        py.detach(|| self.inner.release(address as *mut u8))
            .map_err(|error| raise(py, error))
    }

    /// Gives a block of contiguous memory to kernels where it is. page_size: the largest page; ranges: preferred, required or
    /// never, of entries of the range TLB.
    #[pyo3(signature = (block, page_size="auto", access="rw", ranges="preferred"))]
    fn share(
        &self,
        py: Python<'_>,
        block: &ContiguousBlock,
        page_size: &str,
        access: &str,
        ranges: &str,
    ) -> PyResult<Buffer> {
        let entries = match ranges {
            "preferred" => RangeEntries::Preferred,
            "required" => RangeEntries::Required,
            "never" => RangeEntries::Never,
            _ => {
                return Err(ArgumentError::new_err(format!(
                    "range entries `{ranges}` are not preferred, required or never"
                )));
            }
        };
        let mut options = ShareOptions::new()
            .access(access_of(access)?)
            .entries(entries);
        if let PagePolicy::Only(size) = page_policy(page_size)? {
            options = options.max_page(size);
        }
        let buffer = py
            .detach(|| self.inner.share(Arc::clone(&block.block), options))
            .map_err(|error| raise(py, error))?;
        Ok(Buffer::new(buffer))
    }

    /// Bytes of device memory that its page tables take.
    fn table_bytes(&self, py: Python<'_>) -> PyResult<u64> {
        py.detach(|| self.inner.table_bytes())
            .map_err(|error| raise(py, error))
    }

    /// The page around an address as the page table has it: (va, pa, bytes, writable), or None.
    fn lookup(&self, py: Python<'_>, va: u64) -> PyResult<Option<(u64, u64, u64, bool)>> {
        let mapping = py
            .detach(|| self.inner.lookup(va))
            .map_err(|error| raise(py, error))?;
        Ok(mapping.map(|page| {
            (
                page.va,
                page.pa,
                page.size.bytes(),
                page.perm == godwit::Perm::ReadWrite,
            )
        }))
    }

    /// Its number in the hardware.
    #[getter]
    fn id(&self) -> u32 {
        self.inner.id()
    }

    /// Its translation mode.
    #[getter]
    fn mode(&self) -> String {
        format!("{:?}", self.inner.mode()).to_lowercase()
    }

    /// Ends it: its mappings and tables are gone, its buffers keep their memory for this process.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.inner.close())
            .map_err(|error| raise(py, error))
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
        self.close(py)
    }
}
