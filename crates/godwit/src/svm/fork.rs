// SPDX-License-Identifier: Apache-2.0
//! One pager a process, and what becomes of it when the process forks: everything is at home while it does, so that the child has all of
//! the memory, as ordinary memory of its own.

use std::cell::RefCell;
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};

use super::pager::Pager;
use crate::Error;

/// The pager, and the process that it belongs to.
type Current = Option<(u32, Arc<Pager>)>;

static CURRENT: Mutex<Current> = Mutex::new(None);

thread_local! {
    /// Held by the thread that forks.
    static FORKING: RefCell<Option<MutexGuard<'static, Current>>> = const { RefCell::new(None) };
}

fn current() -> MutexGuard<'static, Current> {
    CURRENT.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Pager {
    /// The pager of this process; the first call starts it.
    pub fn of_process() -> Result<Arc<Self>, Error> {
        static HANDLERS: Once = Once::new();

        let mut current = current();
        let process = std::process::id();
        match &*current {
            Some((owner, pager)) if *owner == process => return Ok(Arc::clone(pager)),
            _ => {}
        }
        let pager = Arc::new(Pager::start()?);
        // What a parent had belongs to threads that are not here.
        std::mem::forget(current.replace((process, Arc::clone(&pager))));
        // SAFETY: the handlers are functions of this library, which is never unloaded once it has threads.
        HANDLERS.call_once(|| unsafe {
            libc::pthread_atfork(Some(prepare), Some(parent), Some(child));
        });
        Ok(pager)
    }
}

extern "C" fn prepare() {
    let guard = current();
    if let Some((owner, pager)) = &*guard
        && *owner == std::process::id()
        // Without a pager nothing is away.
        && pager.halt().is_ok()
    {
        FORKING.with(|forking| *forking.borrow_mut() = Some(guard));
    }
}

extern "C" fn parent() {
    let guard = FORKING.with(|forking| forking.borrow_mut().take());
    if let Some((_, pager)) = guard.as_deref().and_then(Option::as_ref) {
        pager.go_on();
    }
}

extern "C" fn child() {
    let guard = FORKING.with(|forking| forking.borrow_mut().take());
    if let Some(mut current) = guard {
        std::mem::forget(current.take());
    }
}
