// SPDX-License-Identifier: Apache-2.0
//! Memory of the program that moves to cards: plain pointers as arguments.

use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::{Mutex, MutexGuard, PoisonError};

use godwit_card::ArgKind;

use super::{GodwitContext, borrow, guarded, null, put};
use crate::{Advice, Context, Error, HostRange, Residency, Value};

/// `GODWIT_WILL_NEED`.
pub const WILL_NEED: c_int = 0;
/// `GODWIT_WILL_NEED_HOST`.
pub const WILL_NEED_HOST: c_int = 1;
/// `GODWIT_IN_PLACE`.
pub const IN_PLACE: c_int = 2;
/// `GODWIT_MIGRATE`.
pub const MIGRATE: c_int = 3;
/// `GODWIT_READ_MOSTLY`.
pub const READ_MOSTLY: c_int = 4;
/// `GODWIT_AUTO`.
pub const AUTO: c_int = 5;

/// Memory that C said kernels may use, by first address.
#[derive(Default)]
pub(super) struct Given(Mutex<BTreeMap<u64, u64>>);

impl Given {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, u64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, start: u64, bytes: u64) -> Result<(), Error> {
        let mut given = self.lock();
        let before = given.range(..start.saturating_add(bytes)).next_back();
        if let Some((other, len)) = before.filter(|(other, len)| *other + **len > start) {
            return Err(Error::Busy(format!(
                "{bytes} bytes at {start:#x} overlap {len} bytes at {other:#x}, which the context has already: godwit_forget them first"
            )));
        }
        given.insert(start, bytes);
        Ok(())
    }

    /// From an address in memory that was given to that memory's end.
    fn from(&self, address: u64) -> Option<HostRange> {
        let given = self.lock();
        let (start, bytes) = given.range(..=address).next_back()?;
        let rest = (start + bytes)
            .checked_sub(address)
            .filter(|rest| *rest > 0)?;
        // SAFETY: C has promised that it is there, until it says otherwise, and that kernels may write it.
        Some(unsafe { HostRange::new(address, rest, true) }.kept())
    }

    /// The range that C names, for the card: whether its end will be told is known here.
    fn range(&self, memory: *const c_void, size: usize) -> HostRange {
        let range = range(memory, size);
        if self.from(memory as u64).is_some() {
            range.kept()
        } else {
            range
        }
    }

    /// An argument that C gives as a number: memory, where the kernel wants some and it was given.
    pub fn value(
        &self,
        context: &Context,
        kernel: &str,
        name: &str,
        number: u64,
    ) -> Value<'static> {
        let kernels = &context.card().description().kernels;
        let args = kernels.iter().find(|known| known.name == kernel);
        let arg = args.and_then(|kernel| kernel.args.iter().find(|arg| arg.name == name));
        match arg.filter(|arg| arg.kind == ArgKind::Buffer) {
            Some(_) => self
                .from(number)
                .map_or(Value::Number(number), Value::Memory),
            None => Value::Number(number),
        }
    }
}

/// The range that C names.
fn range(memory: *const c_void, size: usize) -> HostRange {
    // SAFETY: as the header asks.
    unsafe { HostRange::new(memory as u64, size as u64, true) }
}

/// `godwit_use`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn godwit_use(
    context: *mut GodwitContext,
    memory: *mut c_void,
    size: usize,
) -> c_int {
    guarded(|| {
        // SAFETY: the caller gives a live handle.
        let context = unsafe { borrow(context, "context") }?;
        let address = memory as u64;
        if size == 0 || address == 0 || address.checked_add(size as u64).is_none() {
            return Err(Error::Argument(format!(
                "{size} bytes at {address:#x} are no memory"
            )));
        }
        context.context.share_process()?;
        context.given.add(address, size as u64)
    })
}

/// `godwit_forget`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn godwit_forget(context: *mut GodwitContext, memory: *mut c_void) -> c_int {
    guarded(|| {
        // SAFETY: the caller gives a live handle.
        let context = unsafe { borrow(context, "context") }?;
        let Some(bytes) = context.given.lock().remove(&(memory as u64)) else {
            return Err(Error::Argument(format!(
                "the context has no memory that begins at {memory:p}: godwit_use gives it some"
            )));
        };
        // SAFETY: the caller has the memory still, and kernels nothing to do with it any more.
        let bytes = unsafe { std::slice::from_raw_parts_mut(memory.cast::<u8>(), bytes as usize) };
        context.context.migrate_to_host(&*bytes)?;
        context.context.forget(bytes)
    })
}

/// `godwit_prefetch`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn godwit_prefetch(
    context: *mut GodwitContext,
    memory: *const c_void,
    size: usize,
) -> c_int {
    guarded(|| {
        // SAFETY: the caller gives a live handle.
        let context = unsafe { borrow(context, "context") }?;
        context.context.prefetch(context.given.range(memory, size));
        Ok(())
    })
}

/// `godwit_migrate_to_host`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn godwit_migrate_to_host(
    context: *mut GodwitContext,
    memory: *const c_void,
    size: usize,
) -> c_int {
    guarded(|| {
        // SAFETY: the caller gives a live handle.
        let context = unsafe { borrow(context, "context") }?;
        context.context.migrate_to_host(range(memory, size))
    })
}

/// `godwit_discard`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn godwit_discard(
    context: *mut GodwitContext,
    memory: *mut c_void,
    size: usize,
) -> c_int {
    guarded(|| {
        // SAFETY: the caller gives a live handle.
        let context = unsafe { borrow(context, "context") }?;
        if memory.is_null() {
            return Err(null("memory"));
        }
        // SAFETY: ... and memory of its own.
        let bytes = unsafe { std::slice::from_raw_parts_mut(memory.cast::<u8>(), size) };
        context.context.discard(bytes);
        Ok(())
    })
}

/// `godwit_migrate_to_device`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn godwit_migrate_to_device(
    context: *mut GodwitContext,
    memory: *const c_void,
    size: usize,
) -> c_int {
    guarded(|| {
        // SAFETY: the caller gives a live handle.
        let context = unsafe { borrow(context, "context") }?;
        let range = context.given.range(memory, size);
        context.context.migrate_to_device(range)
    })
}

/// `godwit_advise`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn godwit_advise(
    context: *mut GodwitContext,
    memory: *const c_void,
    size: usize,
    advice: c_int,
) -> c_int {
    guarded(|| {
        // SAFETY: the caller gives a live handle.
        let context = unsafe { borrow(context, "context") }?;
        let advice = match advice {
            WILL_NEED => Advice::WillNeed,
            WILL_NEED_HOST => Advice::WillNeedHost,
            IN_PLACE => Advice::InPlace,
            MIGRATE => Advice::Migrate,
            READ_MOSTLY => Advice::ReadMostly,
            AUTO => Advice::Auto,
            other => {
                return Err(Error::Argument(format!(
                    "{other} is no advice: see enum godwit_advice"
                )));
            }
        };
        let range = context.given.range(memory, size);
        context.context.advise(range, advice);
        Ok(())
    })
}

/// `godwit_residency`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn godwit_residency(
    context: *mut GodwitContext,
    memory: *const c_void,
    size: usize,
    device_bytes: *mut usize,
) -> c_int {
    guarded(|| {
        // SAFETY: the caller gives a live handle.
        let context = unsafe { borrow(context, "context") }?;
        let runs = context.context.residency(range(memory, size))?;
        let here = |place: &Residency| matches!(place, Residency::Device | Residency::Both);
        let runs = runs.iter().filter(|(_, _, place)| here(place));
        let bytes: u64 = runs.map(|(_, len, _)| len).sum();
        // SAFETY: ... and a place for the number.
        unsafe { put(device_bytes, bytes as usize, "device_bytes") }
    })
}

/// `godwit_migrated`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn godwit_migrated(
    context: *mut GodwitContext,
    name: *const c_char,
    value: *mut u64,
) -> c_int {
    guarded(|| {
        // SAFETY: the caller gives a live handle.
        let context = unsafe { borrow(context, "context") }?;
        if name.is_null() {
            return Err(null("name"));
        }
        // SAFETY: ... and a string.
        let name = unsafe { CStr::from_ptr(name) }.to_string_lossy();
        let counts = context.context.migration_counts()?;
        let Some((_, count)) = counts.iter().find(|(known, _)| *known == name) else {
            let names: Vec<&str> = counts.iter().map(|(name, _)| name.as_str()).collect();
            return Err(Error::Argument(format!(
                "nothing is counted as {name}: there are {}",
                names.join(", ")
            )));
        };
        // SAFETY: ... and a place for the number.
        unsafe { put(value, *count, "value") }
    })
}
