// SPDX-License-Identifier: Apache-2.0
//! `Card`.

use godwit::{Binding, Counters, Mode, OpenOptions, PortAnswers};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyType};

use crate::context::Context;
use crate::error::{ArgumentError, raise};
use crate::{launch, pages, ports};

/// (cycle, physical address, port, write, id, beats, log2 of the bytes a beat)
type Event = (u64, u64, u32, bool, u8, u16, u8);

/// A memory's number, and of what the heap has of it the physical address, bytes, free ones, clean ones.
type HeapPart = (usize, u64, u64, u64, u64, bool);

/// An open card.
#[pyclass(frozen, module = "godwit._native")]
pub(crate) struct Card {
    pub inner: godwit::Card,
}

impl Card {
    /// Calls the runtime without the GIL.
    fn call<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&godwit::Card) -> Result<T, godwit::Error> + Send,
    ) -> PyResult<T> {
        py.detach(|| work(&self.inner))
            .map_err(|error| raise(py, error))
    }
}

#[pymethods]
impl Card {
    /// Opens `sim:NAME` or `sim:/path/to/libgw_card.so`; `options_json` as in gw_card.h.
    #[classmethod]
    #[pyo3(signature = (device, options_json=None))]
    fn open(
        _: &Bound<'_, PyType>,
        py: Python<'_>,
        device: &str,
        options_json: Option<&str>,
    ) -> PyResult<Self> {
        let options = match options_json {
            Some(json) => OpenOptions::from_json(json).map_err(|error| raise(py, error.into()))?,
            None => OpenOptions::new(),
        };
        let inner = py
            .detach(|| godwit::Card::open(device, options))
            .map_err(|error| raise(py, error))?;
        Ok(Self { inner })
    }

    /// The card's own description, JSON.
    fn describe(&self) -> &str {
        &self.inner.description().json
    }

    /// Sets device memory aside for the process's contiguous memory; the configuration to open a pool on it.
    fn cmt_config(&self, py: Python<'_>, nbytes: u64) -> PyResult<String> {
        self.call(py, |card| card.cmt_config(nbytes))
    }

    /// A new, empty address space: `sv39`, `sv48`, `sv57`, or the widest the card walks.
    #[pyo3(signature = (mode=None))]
    fn context(&self, py: Python<'_>, mode: Option<&str>) -> PyResult<Context> {
        let mode = match mode {
            None => None,
            Some("sv39") => Some(Mode::Sv39),
            Some("sv48") => Some(Mode::Sv48),
            Some("sv57") => Some(Mode::Sv57),
            Some(other) => {
                return Err(ArgumentError::new_err(format!(
                    "mode `{other}` is not sv39, sv48 or sv57"
                )));
            }
        };
        Ok(Context {
            inner: self.call(py, |card| card.context(mode))?,
        })
    }

    /// Runs a kernel to its end; a dict of cycles, time_ps, launch_ps and results.
    #[pyo3(signature = (kernel, args, context, mode="translate", timeout_cycles=None, check_status=true))]
    #[allow(clippy::too_many_arguments, reason = "Python gives them by name")]
    fn launch<'py>(
        &self,
        py: Python<'py>,
        kernel: &str,
        args: &Bound<'py, PyDict>,
        context: &Context,
        mode: &str,
        timeout_cycles: Option<u64>,
        check_status: bool,
    ) -> PyResult<Bound<'py, PyDict>> {
        let request = launch::Request {
            kernel,
            args,
            mode,
            timeout_cycles,
            check_status,
        };
        launch::run(py, &self.inner, &context.inner, request)
    }

    /// Starts a kernel, or queues the launch behind those of it that came before.
    #[pyo3(signature = (kernel, args, context, mode="translate", timeout_cycles=None, check_status=true))]
    #[allow(clippy::too_many_arguments, reason = "Python gives them by name")]
    fn start<'py>(
        &self,
        py: Python<'py>,
        kernel: &str,
        args: &Bound<'py, PyDict>,
        context: &Context,
        mode: &str,
        timeout_cycles: Option<u64>,
        check_status: bool,
    ) -> PyResult<launch::Launch> {
        let request = launch::Request {
            kernel,
            args,
            mode,
            timeout_cycles,
            check_status,
        };
        launch::Launch::start(py, &self.inner, &context.inner, request)
    }

    /// Totals since the card was opened.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let stats = self.call(py, godwit::Card::stats)?;
        launch::stats_dict(py, &stats)
    }

    /// The hardware's counters by name (`walker.walks`, `port0.read.hits`), all as of one cycle.
    fn counters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let counters = self.call(py, godwit::Card::counters)?;
        let names = Counters::list(self.inner.description().port_count());
        let dict = PyDict::new(py);
        for ((name, _), value) in names.iter().zip(counters.values()) {
            dict.set_item(name, value)?;
        }
        Ok(dict)
    }

    /// What each counter counts, by the names of `counters`.
    fn counter_docs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (name, doc) in Counters::list(self.inner.description().port_count()) {
            dict.set_item(name, doc)?;
        }
        Ok(dict)
    }

    /// Sets the hardware's counters to zero.
    fn clear_counters(&self, py: Python<'_>) -> PyResult<()> {
        self.call(py, godwit::Card::clear_counters)
    }

    /// From now on counts, of events that belong to a context, only those of one.
    #[pyo3(signature = (context=None))]
    fn count_only(&self, py: Python<'_>, context: Option<Py<Context>>) -> PyResult<()> {
        let context = context.map(|context| context.get().inner.clone());
        self.call(py, |card| card.count_only(context.as_ref()))
    }

    /// Reads a register of the card's register space.
    fn reg_read(&self, py: Python<'_>, offset: u64) -> PyResult<u32> {
        self.call(py, |card| card.reg_read(offset))
    }

    /// Writes a register of the card's register space.
    fn reg_write(&self, py: Python<'_>, offset: u64, value: u32) -> PyResult<()> {
        self.call(py, |card| card.reg_write(offset, value))
    }

    /// Lets the clock run until an interrupt of `irq_mask` is high or `max_cycles` have passed; returns the lines.
    #[pyo3(signature = (max_cycles, irq_mask=0))]
    fn run(&self, py: Python<'_>, max_cycles: u64, irq_mask: u32) -> PyResult<u32> {
        let mut left = max_cycles;
        loop {
            let slice = left.min(launch::SLICE_CYCLES);
            let (irq, passed) = self.call(py, |card| {
                let before = card.stats()?.cycles;
                let irq = card.run(slice, irq_mask)?;
                Ok((irq, card.stats()?.cycles - before))
            })?;
            left = left.saturating_sub(passed.max(1));
            if irq & irq_mask != 0 || left == 0 {
                return Ok(irq);
            }
            py.check_signals()?;
        }
    }

    /// Bytes of the heap's memory that nobody has.
    fn heap_free(&self, py: Python<'_>) -> PyResult<u64> {
        self.call(py, godwit::Card::heap_free)
    }

    /// The heap's memory: physical address, bytes, free, clean; whether somebody lacks a frame, and whether something is taken back.
    fn heap_memory(&self, py: Python<'_>) -> PyResult<(u64, u64, u64, u64, bool, bool)> {
        let memory = self.call(py, godwit::Card::heap_memory)?;
        Ok((
            memory.start,
            memory.bytes,
            memory.free,
            memory.clean,
            memory.lacks,
            memory.reclaiming,
        ))
    }

    /// What the heap has of each memory: its number, physical address, bytes, free, clean; whether it is strict.
    fn heap_regions(&self, py: Python<'_>) -> PyResult<Vec<HeapPart>> {
        let regions = self.call(py, godwit::Card::heap_regions)?.into_iter();
        Ok(regions
            .map(|each| {
                let bytes = (each.bytes, each.free, each.clean);
                (
                    each.memory,
                    each.start,
                    bytes.0,
                    bytes.1,
                    bytes.2,
                    each.strict,
                )
            })
            .collect())
    }

    /// Bytes of device memory that are free, and those of the largest contiguous piece.
    fn memory_free(&self) -> (u64, u64) {
        self.inner.memory_free()
    }

    /// The card's memories: name, model, first address, bytes, free bytes, bytes of the largest free piece.
    fn memories(&self) -> Vec<(String, String, u64, u64, u64, u64)> {
        let all = self.inner.memories().into_iter();
        all.map(|each| {
            let place = (each.first, each.bytes, each.free, each.largest);
            (each.name, each.model, place.0, place.1, place.2, place.3)
        })
        .collect()
    }

    /// Drops every cached translation and waits for the acknowledge.
    fn invalidate(&self, py: Python<'_>) -> PyResult<()> {
        self.call(py, godwit::Card::invalidate)
    }

    /// Moves the pages of `data` to the frames at `to`, and those at `back` to the bytes returned, as one list of the card's page
    /// DMA; only that takes time of the card's. Frames are physical addresses.
    #[pyo3(signature = (data, to, back))]
    fn exchange_pages<'py>(
        &self,
        py: Python<'py>,
        data: &[u8],
        to: Vec<u64>,
        back: Vec<u64>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let out = self.call(py, |card| pages::exchange(card, data, &to, &back))?;
        Ok(PyBytes::new(py, &out))
    }

    /// Says what the addresses of a port are: those of `context`, or with mode `bare` physical ones, or `off`.
    #[pyo3(signature = (port, context=None, mode="translate"))]
    fn bind_port(
        &self,
        py: Python<'_>,
        port: u32,
        context: Option<&Context>,
        mode: &str,
    ) -> PyResult<()> {
        let binding = match (mode, context) {
            ("translate", Some(context)) => Binding::Translate(&context.inner),
            ("translate", None) => {
                return Err(ArgumentError::new_err("mode `translate` needs a context"));
            }
            ("bare", _) => Binding::Bare,
            ("off", _) => Binding::Off,
            _ => {
                return Err(ArgumentError::new_err(format!(
                    "mode `{mode}` is not translate, bare or off"
                )));
            }
        };
        self.call(py, |card| card.bind_port(port, binding))
    }

    /// Takes the oldest fault that no launch has reported, in words; None when there is none.
    fn take_fault(&self, py: Python<'_>) -> PyResult<Option<String>> {
        Ok(self
            .call(py, godwit::Card::take_fault)?
            .map(|fault| fault.to_string()))
    }

    /// Queues requests of external ports: a list of tuples (port, token, id, addr, beats, size, data) with data None for
    /// a read, or a dict of arrays `port`, `token`, `id`, `addr`, `beats`, `size`, `write` and the bytes `data`.
    fn port_submit(&self, py: Python<'_>, requests: &Bound<'_, PyAny>) -> PyResult<()> {
        let batch = ports::batch(requests)?;
        self.call(py, |card| card.port_submit(&batch))
    }

    /// Lets time pass until everything submitted is answered, or `max_cycles` have passed.
    fn port_drain(&self, py: Python<'_>, max_cycles: u64) -> PyResult<()> {
        self.call(py, |card| card.port_drain(max_cycles))
    }

    /// Takes all answers, oldest first, as dicts.
    fn port_poll<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let mut answers = PortAnswers::new();
        self.call(py, |card| card.port_poll(&mut answers))?;
        let answers = answers.iter().map(|answer| {
            let dict = PyDict::new(py);
            dict.set_item("token", answer.token)?;
            dict.set_item("offered_cycle", answer.offered_cycle)?;
            dict.set_item("accepted_cycle", answer.accepted_cycle)?;
            dict.set_item("first_cycle", answer.first_cycle)?;
            dict.set_item("done_cycle", answer.done_cycle)?;
            dict.set_item("order", answer.order)?;
            dict.set_item("resp", answer.resp)?;
            dict.set_item("data", PyBytes::new(py, answer.data))?;
            Ok(dict)
        });
        answers.collect()
    }

    /// Starts or stops the record of address handshakes on the memory side.
    fn record_events(&self, py: Python<'_>, on: bool) -> PyResult<()> {
        self.call(py, |card| card.record_events(on))
    }

    /// Takes what was recorded: tuples (cycle, addr, port, write, id, beats, size).
    fn take_events(&self, py: Python<'_>) -> PyResult<Vec<Event>> {
        let events = self.call(py, godwit::Card::take_events)?;
        let tuple = |event: godwit::MemEvent| {
            (
                event.cycle,
                event.addr,
                event.port,
                event.write,
                event.id,
                event.beats,
                event.size,
            )
        };
        Ok(events.into_iter().map(tuple).collect())
    }

    /// Closes the card. Buffers keep their memory for this process; everything else fails from now on.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.call(py, godwit::Card::close)
    }

    /// Whether it was closed.
    #[getter]
    fn closed(&self, py: Python<'_>) -> bool {
        !py.detach(|| self.inner.is_open())
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

    fn __repr__(&self) -> String {
        let description = self.inner.description();
        format!(
            "<godwit._native.Card {} {}>",
            description.name, description.hash
        )
    }
}
