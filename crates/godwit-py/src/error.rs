// SPDX-License-Identifier: Apache-2.0
//! The exceptions.

use godwit::{Error, ErrorKind};
use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

use crate::launch;

create_exception!(
    godwit,
    GodwitError,
    PyException,
    "Base of every error Godwit raises on purpose."
);
// begin: generated exceptions by `python -m godwit.spec pages`
create_exception!(
    godwit,
    DeviceError,
    GodwitError,
    "A card cannot be opened, or failed while it was used."
);
create_exception!(
    godwit,
    OutOfMemory,
    GodwitError,
    "Device memory, or host memory for the card, does not suffice."
);
create_exception!(
    godwit,
    FaultError,
    GodwitError,
    "Translation refused an access of a kernel: the message has the fault record. Attributes: address, write, cause, port, kernel."
);
create_exception!(
    godwit,
    HangError,
    GodwitError,
    "No progress, or not done in time: the message says where."
);
create_exception!(
    godwit,
    ArgumentError,
    GodwitError,
    "Wrong arguments, or what was asked for is closed or in use."
);
create_exception!(
    godwit,
    StatusError,
    GodwitError,
    "A kernel ended and says that it failed. Attributes: kernel, status, result."
);

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("GodwitError", py.get_type::<GodwitError>())?;
    module.add("DeviceError", py.get_type::<DeviceError>())?;
    module.add("OutOfMemory", py.get_type::<OutOfMemory>())?;
    module.add("FaultError", py.get_type::<FaultError>())?;
    module.add("HangError", py.get_type::<HangError>())?;
    module.add("ArgumentError", py.get_type::<ArgumentError>())?;
    module.add("StatusError", py.get_type::<StatusError>())?;
    Ok(())
}

fn exception(kind: ErrorKind, message: String) -> PyErr {
    match kind {
        ErrorKind::Device => DeviceError::new_err(message),
        ErrorKind::OutOfMemory => OutOfMemory::new_err(message),
        ErrorKind::Fault => FaultError::new_err(message),
        ErrorKind::Hang => HangError::new_err(message),
        ErrorKind::Argument => ArgumentError::new_err(message),
        ErrorKind::Status => StatusError::new_err(message),
    }
}
// end: generated

/// A runtime error as its exception.
pub(crate) fn raise(py: Python<'_>, error: Error) -> PyErr {
    let message = error.to_string();
    let exception = exception(error.kind(), message);
    let described = describe_fault(py, &error, &exception)
        .and_then(|()| describe_status(py, &error, &exception));
    match described {
        Ok(()) => exception,
        Err(failed) => failed,
    }
}

fn describe_status(py: Python<'_>, error: &Error, exception: &PyErr) -> PyResult<()> {
    let Error::Status { kernel, value, .. } = error else {
        return Ok(());
    };
    let exception = exception.value(py);
    exception.setattr("kernel", kernel)?;
    exception.setattr("status", value)?;
    exception.setattr("completion", launch::completion_of(py, error)?)
}

fn describe_fault(py: Python<'_>, error: &Error, exception: &PyErr) -> PyResult<()> {
    let Error::Fault(fault) = error else {
        return Ok(());
    };
    let value = exception.value(py);
    value.setattr("address", fault.address)?;
    value.setattr("write", fault.write)?;
    value.setattr("cause", fault.cause)?;
    value.setattr("port", fault.port)?;
    value.setattr("kernel", fault.kernel.as_deref())
}
