// SPDX-License-Identifier: Apache-2.0
//! The exceptions.

use godwit::{Error, ErrorKind};
use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

create_exception!(
    godwit,
    GodwitError,
    PyException,
    "Base of every error Godwit raises on purpose."
);
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
    "Device memory (or host memory for the card) does not suffice."
);
create_exception!(
    godwit,
    FaultError,
    GodwitError,
    "An access of a kernel was refused by translation. Attributes: address, write, cause, port, kernel."
);
create_exception!(
    godwit,
    HangError,
    GodwitError,
    "The hardware makes no progress; the message says where."
);
create_exception!(
    godwit,
    ArgumentError,
    GodwitError,
    "Wrong arguments, or what was asked for is closed or in use."
);

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("GodwitError", py.get_type::<GodwitError>())?;
    module.add("DeviceError", py.get_type::<DeviceError>())?;
    module.add("OutOfMemory", py.get_type::<OutOfMemory>())?;
    module.add("FaultError", py.get_type::<FaultError>())?;
    module.add("HangError", py.get_type::<HangError>())?;
    module.add("ArgumentError", py.get_type::<ArgumentError>())
}

/// A runtime error as its exception.
pub(crate) fn raise(py: Python<'_>, error: Error) -> PyErr {
    let message = error.to_string();
    match error.kind() {
        ErrorKind::Device => DeviceError::new_err(message),
        ErrorKind::OutOfMemory => OutOfMemory::new_err(message),
        ErrorKind::Hang => HangError::new_err(message),
        ErrorKind::Argument => ArgumentError::new_err(message),
        ErrorKind::Fault => {
            let exception = FaultError::new_err(message);
            match describe_fault(py, &error, &exception) {
                Ok(()) => exception,
                Err(failed) => failed,
            }
        }
    }
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
