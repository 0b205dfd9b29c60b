// SPDX-License-Identifier: Apache-2.0
//! Launches.

use std::ffi::{c_char, c_int};

use super::{
    BARE, GodwitArg, GodwitCompletion, GodwitContext, GodwitResult, MAX_RESULTS, NAME_SIZE, borrow,
    guarded, null, put, string,
};
use crate::{Completion, Error, Value};

/// A name as a C string in place.
fn name_field(name: &str) -> Result<[c_char; NAME_SIZE], Error> {
    let mut field = [0; NAME_SIZE];
    // One place stays for the terminator.
    if name.len() >= NAME_SIZE {
        return Err(Error::Hardware(format!(
            "result `{name}` has a name of more than {} bytes",
            NAME_SIZE - 1
        )));
    }
    for (place, byte) in field.iter_mut().zip(name.bytes()) {
        *place = byte as c_char;
    }
    Ok(field)
}

fn convert(done: &Completion) -> Result<GodwitCompletion, Error> {
    if done.results.len() > MAX_RESULTS {
        return Err(Error::Hardware(format!(
            "{} results, C has room for {MAX_RESULTS}",
            done.results.len()
        )));
    }
    let mut results = [GodwitResult {
        name: [0; NAME_SIZE],
        value: 0,
    }; MAX_RESULTS];
    for (place, (name, value)) in results.iter_mut().zip(&done.results) {
        *place = GodwitResult {
            name: name_field(name)?,
            value: *value,
        };
    }
    Ok(GodwitCompletion {
        cycles: done.cycles,
        time_ps: done.time_ps,
        launch_ps: done.launch_ps,
        stats: done.stats.into(),
        result_count: done.results.len(),
        results,
    })
}

/// `godwit_launch`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn godwit_launch(
    context: *mut GodwitContext,
    kernel: *const c_char,
    args: *const GodwitArg,
    arg_count: usize,
    flags: u32,
    timeout_cycles: u64,
    completion: *mut GodwitCompletion,
) -> c_int {
    guarded(|| {
        // SAFETY: the caller gives a live handle.
        let context = &unsafe { borrow(context, "context") }?.context;
        // SAFETY: ... a terminated string.
        let kernel = unsafe { string(kernel, "kernel") }?;
        if flags & !BARE != 0 {
            return Err(Error::Argument(format!(
                "{:#x} is no flag of enum godwit_launch_flags",
                flags & !BARE
            )));
        }
        if args.is_null() && arg_count > 0 {
            return Err(null("args"));
        }
        let mut launch = context.card().kernel(kernel)?.context(context);
        for index in 0..arg_count {
            // SAFETY: ... and `arg_count` arguments, whose names are terminated strings.
            let (arg, name) = unsafe {
                let arg = *args.add(index);
                (arg, string(arg.name, "the name of an argument")?)
            };
            launch = launch.arg(name, Value::Number(arg.value));
        }
        if flags & BARE != 0 {
            launch = launch.bare();
        }
        if timeout_cycles != 0 {
            launch = launch.timeout_cycles(timeout_cycles);
        }
        let done = convert(&launch.run()?)?;
        if !completion.is_null() {
            // SAFETY: the caller gives a place for the completion, or NULL.
            unsafe { completion.write(done) };
        }
        Ok(())
    })
}

/// `godwit_get_result`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn godwit_get_result(
    completion: *const GodwitCompletion,
    name: *const c_char,
    value: *mut u64,
) -> c_int {
    guarded(|| {
        // SAFETY: the caller gives a completion that `godwit_launch` filled.
        let completion = unsafe { borrow(completion, "completion") }?;
        // SAFETY: ... and a terminated string.
        let name = unsafe { string(name, "name") }?;
        let field = name_field(name)?;
        let results = completion.results.iter().take(completion.result_count);
        let found = results.into_iter().find(|result| result.name == field);
        let found =
            found.ok_or_else(|| Error::Argument(format!("the kernel has no result `{name}`")))?;
        // SAFETY: ... and a place for the number.
        unsafe { put(value, found.value, "value") }
    })
}
