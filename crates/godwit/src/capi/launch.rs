// SPDX-License-Identifier: Apache-2.0
//! Launches.

use std::ffi::{c_char, c_int, c_void};
use std::sync::OnceLock;
use std::time::Duration;

use super::{
    ALLOW_STATUS, BARE, GodwitArg, GodwitCallback, GodwitCompletion, GodwitContext, GodwitResult,
    MAX_RESULTS, NAME_SIZE, OK, RUNNING, borrow, guarded, guarded_status, null, put,
    set_last_error, status_of, string,
};
use crate::{Completion, Error, Launch, LaunchEnd, Waited};

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
        start_cycle: done.start_cycle,
        end_cycle: done.end_cycle,
        polled: c_int::from(done.end == LaunchEnd::Polled),
        stats: done.stats.into(),
        result_count: done.results.len(),
        results,
    })
}

/// A launch as C gives it.
///
/// # Safety
/// The pointers are as `godwit_launch` asks for.
unsafe fn start(
    context: *mut GodwitContext,
    kernel: *const c_char,
    args: *const GodwitArg,
    arg_count: usize,
    flags: u32,
    timeout_cycles: u64,
) -> Result<Launch, Error> {
    // SAFETY: the caller gives a live handle.
    let handle = unsafe { borrow(context, "context") }?;
    let context = &handle.context;
    // SAFETY: ... a terminated string.
    let kernel = unsafe { string(kernel, "kernel") }?;
    let unknown = flags & !(BARE | ALLOW_STATUS);
    if unknown != 0 {
        return Err(Error::Argument(format!(
            "{unknown:#x} is no flag of enum godwit_launch_flags"
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
        launch = launch.arg(name, handle.given.value(context, kernel, name, arg.value));
    }
    if flags & BARE != 0 {
        launch = launch.bare();
    }
    if flags & ALLOW_STATUS != 0 {
        launch = launch.allow_status();
    }
    if timeout_cycles != 0 {
        launch = launch.timeout_cycles(timeout_cycles);
    }
    // SAFETY: memory that was given stays until `godwit_forget`, which the caller does not call before the end.
    unsafe { launch.start_on_memory() }
}

/// What a launch came to, kept so that every wait for it says the same.
struct Outcome {
    status: c_int,
    message: String,
    /// There is one after an end with an error status, too.
    completion: Option<GodwitCompletion>,
}

impl Outcome {
    fn new(result: Result<Completion, Error>) -> Self {
        let (done, error) = match result {
            Ok(done) => (Some(done), None),
            Err(error) => match &error {
                Error::Status { completion, .. } => (Some((**completion).clone()), Some(error)),
                _ => (None, Some(error)),
            },
        };
        let (completion, error) = match done.as_ref().map(convert).transpose() {
            Ok(completion) => (completion, error),
            Err(unfit) => (None, Some(unfit)),
        };
        Self {
            status: error.as_ref().map_or(OK, status_of),
            message: error.map_or_else(String::new, |error| error.to_string()),
            completion,
        }
    }

    /// Tells it.
    ///
    /// # Safety
    /// `completion` is null or valid for a write.
    unsafe fn tell(&self, completion: *mut GodwitCompletion) -> c_int {
        if let (Some(done), false) = (&self.completion, completion.is_null()) {
            // SAFETY: as the caller promises.
            unsafe { completion.write(*done) };
        }
        if self.status != OK {
            set_last_error(self.message.clone());
        }
        self.status
    }
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
    guarded_status(|| {
        // SAFETY: the caller gives what the header asks for.
        let launch = unsafe { start(context, kernel, args, arg_count, flags, timeout_cycles) }?;
        let outcome = Outcome::new(launch.wait());
        // SAFETY: ... and a place for the completion, or NULL.
        Ok(unsafe { outcome.tell(completion) })
    })
}

/// `godwit_job`
pub struct GodwitJob {
    launch: Launch,
    outcome: OnceLock<Outcome>,
}

impl GodwitJob {
    /// Waits, and tells what came of it.
    ///
    /// # Safety
    /// `completion` is null or valid for a write.
    unsafe fn wait(
        &self,
        max_cycles: Option<u64>,
        max_time: Option<Duration>,
        completion: *mut GodwitCompletion,
    ) -> Result<c_int, Error> {
        if self.launch.wait_within(max_cycles, max_time)? == Waited::TimeOver {
            return Ok(RUNNING);
        }
        let outcome = self
            .outcome
            .get_or_init(|| Outcome::new(self.launch.take()));
        // SAFETY: as the caller promises.
        Ok(unsafe { outcome.tell(completion) })
    }
}

/// `godwit_start`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn godwit_start(
    context: *mut GodwitContext,
    kernel: *const c_char,
    args: *const GodwitArg,
    arg_count: usize,
    flags: u32,
    timeout_cycles: u64,
    job: *mut *mut GodwitJob,
) -> c_int {
    guarded(|| {
        if job.is_null() {
            return Err(null("job"));
        }
        // SAFETY: the caller gives what the header asks for.
        let launch = unsafe { start(context, kernel, args, arg_count, flags, timeout_cycles) }?;
        let handle = GodwitJob {
            launch,
            outcome: OnceLock::new(),
        };
        // SAFETY: ... and a place for the handle.
        unsafe { put(job, Box::into_raw(Box::new(handle)), "job") }
    })
}

/// `godwit_wait`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn godwit_wait(
    job: *mut GodwitJob,
    max_cycles: u64,
    completion: *mut GodwitCompletion,
) -> c_int {
    guarded_status(|| {
        let cycles = (max_cycles != 0).then_some(max_cycles);
        // SAFETY: the caller gives a live handle, and a place for the completion, or NULL.
        unsafe { borrow(job, "job")?.wait(cycles, None, completion) }
    })
}

/// `godwit_wait_ns`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn godwit_wait_ns(
    job: *mut GodwitJob,
    max_ns: u64,
    completion: *mut GodwitCompletion,
) -> c_int {
    guarded_status(|| {
        let time = Some(Duration::from_nanos(max_ns));
        // SAFETY: as for `godwit_wait`.
        unsafe { borrow(job, "job")?.wait(None, time, completion) }
    })
}

/// `godwit_is_ended`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn godwit_is_ended(job: *const GodwitJob) -> c_int {
    // SAFETY: the caller gives a live handle or NULL.
    c_int::from(unsafe { job.as_ref() }.is_some_and(|job| job.launch.is_ended()))
}

/// `godwit_on_end`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn godwit_on_end(
    job: *mut GodwitJob,
    callback: GodwitCallback,
    user: *mut c_void,
) -> c_int {
    /// What the caller has called with it.
    struct User(*mut c_void);
    // SAFETY: the header says that the callback comes on another thread.
    unsafe impl Send for User {}

    guarded(|| {
        // SAFETY: the caller gives a live handle.
        let job = unsafe { borrow(job, "job") }?;
        let callback = callback.ok_or_else(|| null("callback"))?;
        let user = User(user);
        job.launch.on_end(move || {
            let User(user) = { user };
            // SAFETY: the caller gives a function that takes what it gave.
            unsafe { callback(user) }
        })
    })
}

/// `godwit_cancel`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn godwit_cancel(job: *mut GodwitJob, stopped: *mut c_int) -> c_int {
    guarded(|| {
        // SAFETY: the caller gives a live handle.
        let still = unsafe { borrow(job, "job") }?.launch.cancel()?;
        if !stopped.is_null() {
            // SAFETY: ... and a place for the answer, or NULL.
            unsafe { stopped.write(c_int::from(still)) };
        }
        Ok(())
    })
}

/// `godwit_release`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn godwit_release(job: *mut GodwitJob) {
    if job.is_null() {
        return;
    }
    guarded(|| {
        // SAFETY: the handle came from `godwit_start` and is used no more.
        drop(unsafe { Box::from_raw(job) });
        Ok(())
    });
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
