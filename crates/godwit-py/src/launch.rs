// SPDX-License-Identifier: Apache-2.0
//! Launches as Python waits for them: without the GIL, in pieces, so that Ctrl-C ends the wait.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use godwit::{Completion, Error, HostRange, LaunchEnd, Stats, Value, Waited};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::buffer::Buffer;
use crate::error::{ArgumentError, raise};
use crate::shared::HostArray;

/// Cycles between two looks for a signal: a few hundredths of a second of simulation.
pub(crate) const SLICE_CYCLES: u64 = 20_000;
/// The same where a launch is waited for.
const SIGNAL_PERIOD: Duration = Duration::from_millis(50);

pub(crate) struct Request<'a, 'py> {
    pub kernel: &'a str,
    pub args: &'a Bound<'py, PyDict>,
    pub mode: &'a str,
    pub timeout_cycles: Option<u64>,
    pub check_status: bool,
}

/// An argument, with its buffer kept alive.
enum Given {
    Buffer(Arc<godwit::Buffer>),
    Memory(HostRange, Py<PyAny>),
    Number(u64),
    Null,
}

fn given(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Given> {
    if value.is_none() {
        return Ok(Given::Null);
    }
    if let Ok(buffer) = value.cast::<Buffer>() {
        return Ok(Given::Buffer(buffer.get().get()?));
    }
    if let Ok(memory) = value.cast::<HostArray>() {
        let memory = memory.get();
        return Ok(Given::Memory(memory.range(), memory.owner(value.py())));
    }
    if let Ok(number) = value.extract::<u64>() {
        return Ok(Given::Number(number));
    }
    match value.extract::<i64>() {
        Ok(number) => Ok(Given::Number(number as u64)),
        Err(_) => Err(ArgumentError::new_err(format!(
            "argument `{name}` must be a Buffer, an integer of at most 64 bits or None, not {}",
            value.get_type().name()?
        ))),
    }
}

/// A kernel at work, or waiting behind launches of the same kernel. Its buffers live until it has ended.
#[pyclass(frozen, module = "godwit._native")]
pub(crate) struct Launch {
    inner: godwit::Launch,
    buffers: Mutex<Vec<Arc<godwit::Buffer>>>,
    /// Whose memory it works on; dropped behind the launch.
    memory: Mutex<Vec<Py<PyAny>>>,
}

impl Launch {
    /// Starts or queues it.
    pub fn start(
        py: Python<'_>,
        card: &godwit::Card,
        context: &godwit::Context,
        request: Request<'_, '_>,
    ) -> PyResult<Self> {
        let args = request
            .args
            .iter()
            .map(|(name, value)| {
                let name: String = name.extract()?;
                let value = given(&name, &value)?;
                Ok((name, value))
            })
            .collect::<PyResult<Vec<_>>>()?;
        let mut builder = card
            .kernel(request.kernel)
            .map_err(|error| raise(py, error))?
            .context(context);
        for (name, value) in &args {
            builder = builder.arg(
                name,
                match value {
                    Given::Buffer(buffer) => Value::Buffer(buffer),
                    Given::Memory(range, _) => Value::Memory(*range),
                    Given::Number(number) => Value::Number(*number),
                    Given::Null => Value::Null,
                },
            );
        }
        builder = match request.mode {
            "translate" => builder,
            "bare" => builder.bare(),
            other => {
                return Err(ArgumentError::new_err(format!(
                    "mode `{other}` is not translate or bare"
                )));
            }
        };
        if let Some(cycles) = request.timeout_cycles {
            builder = builder.timeout_cycles(cycles);
        }
        if !request.check_status {
            builder = builder.allow_status();
        }
        // SAFETY: the objects whose memory it is are kept until the result is taken, or the launch is dropped: then it has ended.
        let inner = py
            .detach(|| unsafe { builder.start_on_memory() })
            .map_err(|error| raise(py, error))?;
        let (mut buffers, mut memory) = (Vec::new(), Vec::new());
        for (_, value) in args {
            match value {
                Given::Buffer(buffer) => buffers.push(buffer),
                Given::Memory(_, owner) => memory.push(owner),
                Given::Number(_) | Given::Null => {}
            }
        }
        Ok(Self {
            inner,
            buffers: Mutex::new(buffers),
            memory: Mutex::new(memory),
        })
    }

    /// Waits, without the GIL, until the end or until the time is over; a signal whose handler raises ends the wait.
    fn wait_for(&self, py: Python<'_>, seconds: Option<f64>) -> PyResult<bool> {
        let end = seconds
            .and_then(|seconds| Duration::try_from_secs_f64(seconds.max(0.0)).ok())
            .and_then(|time| Instant::now().checked_add(time));
        loop {
            let left = end.map(|end| end.saturating_duration_since(Instant::now()));
            let piece = left.map_or(SIGNAL_PERIOD, |left| left.min(SIGNAL_PERIOD));
            let waited = py
                .detach(|| self.inner.wait_within(None, Some(piece)))
                .map_err(|error| raise(py, error))?;
            if waited == Waited::Ended {
                return Ok(true);
            }
            py.check_signals()?;
            if left.is_some_and(|left| left.is_zero()) {
                return Ok(false);
            }
        }
    }
}

#[pymethods]
impl Launch {
    /// Whether it has ended; no simulated time passes.
    #[getter]
    fn ended(&self) -> bool {
        self.inner.is_ended()
    }

    /// Waits for the end, for at most so many seconds; whether it came.
    #[pyo3(signature = (seconds=None))]
    fn wait(&self, py: Python<'_>, seconds: Option<f64>) -> PyResult<bool> {
        self.wait_for(py, seconds)
    }

    /// Lets at most so many cycles pass; whether it has ended.
    fn poll(&self, py: Python<'_>, max_cycles: u64) -> PyResult<bool> {
        py.detach(|| self.inner.wait_within(Some(max_cycles), None))
            .map(|waited| waited == Waited::Ended)
            .map_err(|error| raise(py, error))
    }

    /// What came of it, once: a dict of cycles, time_ps, launch_ps, start_cycle, end_cycle, polled, results and stats.
    fn take<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        // Memory comes home, which the pager does.
        let result = py.detach(|| self.inner.take());
        if self.inner.is_ended() {
            self.memory
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .clear();
            let buffers =
                std::mem::take(&mut *self.buffers.lock().unwrap_or_else(PoisonError::into_inner));
            // The last owner unmaps, which waits for the card.
            py.detach(|| drop(buffers));
        }
        completion_dict(py, &result.map_err(|error| raise(py, error))?)
    }

    /// Stops it; whether its kernel stands still.
    fn cancel(&self, py: Python<'_>) -> PyResult<bool> {
        py.detach(|| self.inner.cancel())
            .map_err(|error| raise(py, error))
    }

    /// Has `callback` called without arguments at the end, on a thread of its own; at once when it has ended. The clock runs
    /// until then.
    fn on_end(&self, py: Python<'_>, callback: Py<PyAny>) -> PyResult<()> {
        let call = move || {
            // At the end of the interpreter there is nobody to call.
            Python::try_attach(|py| {
                if let Err(error) = callback.call0(py) {
                    error.write_unraisable(py, None);
                }
                drop(callback);
            });
        };
        py.detach(|| self.inner.on_end(call))
            .map_err(|error| raise(py, error))
    }
}

/// Runs a kernel to its end; a signal whose handler raises stops it.
pub(crate) fn run<'py>(
    py: Python<'py>,
    card: &godwit::Card,
    context: &godwit::Context,
    request: Request<'_, 'py>,
) -> PyResult<Bound<'py, PyDict>> {
    let launch = Launch::start(py, card, context, request)?;
    if let Err(signal) = launch.wait_for(py, None) {
        // Whether it stopped shows in the next launch, which says what to do.
        let _ = py.detach(|| launch.inner.cancel());
        return Err(signal);
    }
    launch.take(py)
}

pub(crate) fn completion_dict<'py>(
    py: Python<'py>,
    done: &Completion,
) -> PyResult<Bound<'py, PyDict>> {
    let results = PyDict::new(py);
    for (name, value) in &done.results {
        results.set_item(name, value)?;
    }
    let dict = PyDict::new(py);
    dict.set_item("cycles", done.cycles)?;
    dict.set_item("time_ps", done.time_ps)?;
    dict.set_item("launch_ps", done.launch_ps)?;
    dict.set_item("start_cycle", done.start_cycle)?;
    dict.set_item("end_cycle", done.end_cycle)?;
    dict.set_item("polled", done.end == LaunchEnd::Polled)?;
    dict.set_item("results", results)?;
    dict.set_item("stats", stats_dict(py, &done.stats)?)?;
    Ok(dict)
}

/// What a failed launch came to all the same, when its kernel ended.
pub(crate) fn completion_of<'py>(
    py: Python<'py>,
    error: &Error,
) -> PyResult<Option<Bound<'py, PyDict>>> {
    match error {
        Error::Status { completion, .. } => completion_dict(py, completion).map(Some),
        _ => Ok(None),
    }
}

pub(crate) fn stats_dict<'py>(py: Python<'py>, stats: &Stats) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("cycles", stats.cycles)?;
    dict.set_item("time_ps", stats.time_ps)?;
    dict.set_item("link_ps", stats.link_ps)?;
    dict.set_item("link_bytes", stats.link_bytes)?;
    dict.set_item("reads", stats.reads)?;
    dict.set_item("writes", stats.writes)?;
    dict.set_item("read_bytes", stats.read_bytes)?;
    dict.set_item("write_bytes", stats.write_bytes)?;
    dict.set_item("pt_reads", stats.pt_reads)?;
    dict.set_item("row_hits", stats.row_hits)?;
    dict.set_item("row_misses", stats.row_misses)?;
    dict.set_item("host_reads", stats.host_reads)?;
    dict.set_item("host_writes", stats.host_writes)?;
    Ok(dict)
}
