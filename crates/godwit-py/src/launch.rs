// SPDX-License-Identifier: Apache-2.0
//! Launches that Ctrl-C can end.

use std::sync::Arc;

use godwit::{Completion, Launch, Stats, Value};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::buffer::Buffer;
use crate::error::{ArgumentError, raise};

/// Cycles between two looks for a signal: a few hundredths of a second of simulation.
pub(crate) const SLICE_CYCLES: u64 = 20_000;

pub(crate) struct Request<'a, 'py> {
    pub kernel: &'a str,
    pub args: &'a Bound<'py, PyDict>,
    pub mode: &'a str,
    pub timeout_cycles: Option<u64>,
}

/// An argument, with its buffer kept alive.
enum Given {
    Buffer(Arc<godwit::Buffer>),
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

/// Runs a kernel to its end.
pub(crate) fn run<'py>(
    py: Python<'py>,
    card: &godwit::Card,
    context: &godwit::Context,
    request: Request<'_, 'py>,
) -> PyResult<Bound<'py, PyDict>> {
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
    let launch = py
        .detach(|| builder.start())
        .map_err(|error| raise(py, error))?;
    completion_dict(py, &wait(py, launch)?)
}

/// Waits in slices; a signal whose handler raises stops the kernel.
fn wait(py: Python<'_>, mut launch: Launch) -> PyResult<Completion> {
    loop {
        let step = py.detach(|| {
            let left = launch.left()?;
            let done = launch.poll(left.map_or(SLICE_CYCLES, |left| left.min(SLICE_CYCLES)))?;
            if done.is_none() && left == Some(0) {
                Err(launch.time_out())
            } else {
                Ok(done)
            }
        });
        if let Some(done) = step.map_err(|error| raise(py, error))? {
            return Ok(done);
        }
        if let Err(signal) = py.check_signals() {
            // Whether it stopped shows in the next launch, which says what to do.
            let _ = py.detach(|| launch.cancel());
            return Err(signal);
        }
    }
}

fn completion_dict<'py>(py: Python<'py>, done: &Completion) -> PyResult<Bound<'py, PyDict>> {
    let results = PyDict::new(py);
    for (name, value) in &done.results {
        results.set_item(name, value)?;
    }
    let dict = PyDict::new(py);
    dict.set_item("cycles", done.cycles)?;
    dict.set_item("time_ps", done.time_ps)?;
    dict.set_item("launch_ps", done.launch_ps)?;
    dict.set_item("results", results)?;
    dict.set_item("stats", stats_dict(py, &done.stats)?)?;
    Ok(dict)
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
