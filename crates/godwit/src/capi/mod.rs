// SPDX-License-Identifier: Apache-2.0
//! The C ABI of `include/godwit.h`, which documents every function.
//!
//! No panic crosses this boundary, and no error is lost: each call is [`guarded`], which keeps its message for
//! `godwit_last_error`.
#![allow(
    clippy::missing_safety_doc,
    reason = "the header says what callers must keep; pointers are as in any C API"
)]

mod card;
mod heap;
mod launch;
mod memory;
mod process;
mod reserve;
mod share;
mod types;

pub use card::*;
pub use heap::*;
pub use launch::*;
pub use memory::*;
pub use process::*;
pub use share::*;
pub use types::*;

use std::cell::{Cell, RefCell};
use std::ffi::{CStr, CString, c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::{Error, ErrorKind};

/// `GODWIT_ABI`.
pub const ABI: u32 = 2;

thread_local! {
    static LAST_ERROR: RefCell<CString> = RefCell::default();
    /// What the heap in hardware answered, if that was it.
    static LAST_REFUSAL: Cell<u32> = const { Cell::new(0) };
}

fn set_last_error(message: String) {
    // A message with a zero in it ends there.
    let end = message.find('\0').unwrap_or(message.len());
    let message = CString::new(&message[..end]).unwrap_or_default();
    LAST_ERROR.with(|last| *last.borrow_mut() = message);
    LAST_REFUSAL.set(0);
}

/// Keeps an error for whoever asks what it was; its status.
fn failed(error: &Error) -> c_int {
    set_last_error(error.to_string());
    if let Error::Heap { refusal, .. } = error {
        LAST_REFUSAL.set(refusal.code());
    }
    status_of(error)
}

// begin: generated statuses by `python -m godwit.spec pages`
fn status_of(error: &Error) -> c_int {
    match error.kind() {
        ErrorKind::Device => EDEVICE,
        ErrorKind::OutOfMemory => ENOMEM,
        ErrorKind::Fault => EFAULT,
        ErrorKind::Hang => EHANG,
        ErrorKind::Argument => EINVAL,
        ErrorKind::Status => ESTATUS,
    }
}
// end: generated

/// Runs the body of a call.
fn guarded(body: impl FnOnce() -> Result<(), Error>) -> c_int {
    guarded_status(|| {
        Ok(match body() {
            Ok(()) => OK,
            Err(error) => failed(&error),
        })
    })
}

/// The same for a body that knows its status; an error it returns is the call's own.
fn guarded_status(body: impl FnOnce() -> Result<c_int, Error>) -> c_int {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(status)) => status,
        Ok(Err(error)) => failed(&error),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text
                .or_else(|| panic.downcast_ref::<&str>().copied())
                .unwrap_or("no message");
            set_last_error(format!(
                "internal error in Godwit, please report it: {text}"
            ));
            EINTERNAL
        }
    }
}

fn null(what: &str) -> Error {
    Error::Argument(format!("{what} is NULL"))
}

/// Borrows what a handle or an input points to.
///
/// # Safety
/// The pointer is null or valid for `'a`.
unsafe fn borrow<'a, T>(pointer: *const T, what: &str) -> Result<&'a T, Error> {
    // SAFETY: as the caller promises.
    unsafe { pointer.as_ref() }.ok_or_else(|| null(what))
}

/// Writes through an output pointer.
///
/// # Safety
/// The pointer is null or valid for a write.
unsafe fn put<T>(pointer: *mut T, value: T, what: &str) -> Result<(), Error> {
    if pointer.is_null() {
        return Err(null(what));
    }
    // SAFETY: as the caller promises.
    unsafe { pointer.write(value) };
    Ok(())
}

/// Borrows a C string.
///
/// # Safety
/// The pointer is null or a terminated string valid for `'a`.
unsafe fn string<'a>(pointer: *const c_char, what: &str) -> Result<&'a str, Error> {
    if pointer.is_null() {
        return Err(null(what));
    }
    // SAFETY: as the caller promises.
    let text = unsafe { CStr::from_ptr(pointer) };
    text.to_str()
        .map_err(|_| Error::Argument(format!("{what} is not UTF-8")))
}

/// `godwit_abi`
#[unsafe(no_mangle)]
pub extern "C" fn godwit_abi() -> u32 {
    ABI
}

/// `godwit_version`
#[unsafe(no_mangle)]
pub extern "C" fn godwit_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}

/// `godwit_last_error`
#[unsafe(no_mangle)]
pub extern "C" fn godwit_last_error() -> *const c_char {
    LAST_ERROR.with(|last| last.borrow().as_ptr())
}

/// `godwit_last_refusal`
#[unsafe(no_mangle)]
pub extern "C" fn godwit_last_refusal() -> u32 {
    LAST_REFUSAL.get()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::HeapRefusal;

    #[test]
    fn a_refusal_of_the_heap_is_told_until_the_next_error() {
        let refused = || Error::Heap {
            asked: "malloc".to_owned(),
            refusal: HeapRefusal::Quota,
        };
        assert_eq!(guarded(|| Err(refused())), ENOMEM);
        assert_eq!(godwit_last_refusal(), HeapRefusal::Quota.code());
        assert_eq!(guarded(|| Ok(())), OK);
        assert_eq!(godwit_last_refusal(), HeapRefusal::Quota.code());
        assert!(guarded(|| Err(Error::Closed)) < 0);
        assert_eq!(godwit_last_refusal(), 0);
    }

    #[test]
    fn a_panic_becomes_a_status() {
        assert_eq!(guarded(|| panic!("for the {}", "test")), EINTERNAL);
        // SAFETY: never null, and valid until the next failed call.
        let message = unsafe { CStr::from_ptr(godwit_last_error()) };
        assert_eq!(
            message,
            c"internal error in Godwit, please report it: for the test"
        );
    }
}
