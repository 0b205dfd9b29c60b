// SPDX-License-Identifier: Apache-2.0
//! Requests of external ports out of tuples or arrays.

use godwit::PortBatch;
use pyo3::buffer::{Element, PyBuffer};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::buffer::Bytes;
use crate::error::ArgumentError;

/// Longest burst AXI has, in beats.
const MAX_BEATS: usize = 256;
/// log2 of the widest beat AXI has, in bytes.
const MAX_SIZE: u8 = 7;

type Tuple<'py> = (u32, u64, u8, u64, usize, u8, Option<Bound<'py, PyAny>>);

pub(crate) fn batch(requests: &Bound<'_, PyAny>) -> PyResult<PortBatch> {
    match requests.cast::<PyDict>() {
        Ok(arrays) => from_arrays(arrays),
        Err(_) => from_tuples(requests),
    }
}

fn check_shape(beats: usize, size: u8) -> PyResult<()> {
    if (1..=MAX_BEATS).contains(&beats) && size <= MAX_SIZE {
        return Ok(());
    }
    Err(ArgumentError::new_err(format!(
        "a burst has 1 to {MAX_BEATS} beats of 2^0 to 2^{MAX_SIZE} bytes, not {beats} of 2^{size}"
    )))
}

fn from_tuples(requests: &Bound<'_, PyAny>) -> PyResult<PortBatch> {
    let mut batch = PortBatch::new();
    for request in requests.try_iter()? {
        let (port, token, id, addr, beats, size, data): Tuple<'_> = request?.extract()?;
        check_shape(beats, size)?;
        match data {
            None => batch.read(port, token, id, addr, beats, size),
            Some(data) => {
                let data = Bytes::new(&data)?;
                check_data(data.as_slice().len(), beats << size)?;
                batch.write(port, token, id, addr, data.as_slice(), size)
            }
        };
    }
    Ok(batch)
}

fn check_data(found: usize, wanted: usize) -> PyResult<()> {
    if found == wanted {
        return Ok(());
    }
    Err(ArgumentError::new_err(format!(
        "write data of {found} bytes for bursts of {wanted} bytes"
    )))
}

/// One array of a dict, copied out.
fn column<T: Element + Copy>(arrays: &Bound<'_, PyDict>, name: &str) -> PyResult<Vec<T>> {
    let array = arrays.get_item(name)?.ok_or_else(|| {
        ArgumentError::new_err(format!("requests: the array `{name}` is missing"))
    })?;
    let bits = 8 * size_of::<T>();
    let view = PyBuffer::<T>::get(&array).map_err(|error| {
        ArgumentError::new_err(format!(
            "requests: `{name}` must be an array of unsigned {bits}-bit numbers: {error}"
        ))
    })?;
    view.to_vec(arrays.py())
}

fn from_arrays(arrays: &Bound<'_, PyDict>) -> PyResult<PortBatch> {
    let ports = column::<u32>(arrays, "port")?;
    let tokens = column::<u64>(arrays, "token")?;
    let ids = column::<u8>(arrays, "id")?;
    let addrs = column::<u64>(arrays, "addr")?;
    let beats = column::<u16>(arrays, "beats")?;
    let sizes = column::<u8>(arrays, "size")?;
    let writes = column::<u8>(arrays, "write")?;
    let count = ports.len();
    let lengths = [
        tokens.len(),
        ids.len(),
        addrs.len(),
        beats.len(),
        sizes.len(),
        writes.len(),
    ];
    if lengths.iter().any(|length| *length != count) {
        return Err(ArgumentError::new_err(
            "requests: the arrays have different lengths",
        ));
    }
    let given = arrays
        .get_item("data")?
        .map(|data| Bytes::new(&data))
        .transpose()?;
    let mut data = given.as_ref().map_or(&[][..], Bytes::as_slice);
    let mut batch = PortBatch::new();
    for index in 0..count {
        let (port, token, id, addr) = (ports[index], tokens[index], ids[index], addrs[index]);
        let (beats, size) = (usize::from(beats[index]), sizes[index]);
        check_shape(beats, size)?;
        if writes[index] == 0 {
            batch.read(port, token, id, addr, beats, size);
            continue;
        }
        let Some((mine, rest)) = data.split_at_checked(beats << size) else {
            return Err(ArgumentError::new_err(
                "requests: `data` ends before the last write",
            ));
        };
        data = rest;
        batch.write(port, token, id, addr, mine, size);
    }
    check_data(data.len(), 0)?;
    Ok(batch)
}
