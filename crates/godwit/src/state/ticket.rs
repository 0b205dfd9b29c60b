// SPDX-License-Identifier: Apache-2.0
//! A launch as those who wait for it see it: what became of it, and the bell that says so.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::{Duration, Instant};

use crate::{Completion, Error};

/// What is called when a launch has ended; not on the engine's thread.
pub(crate) type Callback = Box<dyn FnOnce() + Send>;

/// One launch. The engine ends it; everybody else asks.
pub(crate) struct Ticket {
    /// Its kernel.
    pub kernel: String,
    fate: Mutex<Fate>,
}

#[derive(Default)]
struct Fate {
    ended: bool,
    /// Until it is taken.
    result: Option<Result<Completion, Error>>,
    callbacks: Vec<Callback>,
    waker: Option<Waker>,
}

impl Ticket {
    pub fn new(kernel: &str) -> Self {
        Self {
            kernel: kernel.to_owned(),
            fate: Mutex::default(),
        }
    }

    fn fate(&self) -> MutexGuard<'_, Fate> {
        self.fate.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn ended(&self) -> bool {
        self.fate().ended
    }

    /// Sets what became of it, once; returns what is to be called.
    pub fn end(&self, result: Result<Completion, Error>) -> Vec<Callback> {
        let mut fate = self.fate();
        if std::mem::replace(&mut fate.ended, true) {
            return Vec::new();
        }
        fate.result = Some(result);
        let waker = fate.waker.take();
        let wake = waker.map(|waker| Box::new(move || waker.wake()) as Callback);
        fate.callbacks.drain(..).chain(wake).collect()
    }

    /// Takes what became of it: `None` before its end.
    pub fn take(&self) -> Option<Result<Completion, Error>> {
        let mut fate = self.fate();
        fate.ended.then(|| {
            fate.result.take().unwrap_or_else(|| {
                Err(Error::Argument(format!(
                    "the result of this launch of kernel `{}` was taken before",
                    self.kernel
                )))
            })
        })
    }

    /// Has it called at the end; gives it back when that was before.
    pub fn call_at_end(&self, callback: Callback) -> Option<Callback> {
        let mut fate = self.fate();
        if fate.ended {
            return Some(callback);
        }
        fate.callbacks.push(callback);
        None
    }

    /// Wakes a task at the end, the latest that asked; false when that was before.
    pub fn wake_at_end(&self, waker: &Waker) -> bool {
        let mut fate = self.fate();
        if !fate.ended {
            fate.waker = Some(waker.clone());
        }
        !fate.ended
    }
}

/// Opened once, by another thread.
#[derive(Default)]
pub(crate) struct Gate {
    open: Mutex<bool>,
    changed: Condvar,
}

impl Gate {
    fn lock(&self) -> MutexGuard<'_, bool> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn open(&self) {
        *self.lock() = true;
        self.changed.notify_all();
    }

    pub fn pass(&self) {
        let mut open = self.lock();
        while !*open {
            open = self
                .changed
                .wait(open)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// The same for at most this long; whether it is open.
    pub fn pass_within(&self, time: Duration) -> bool {
        let end = Instant::now().checked_add(time);
        let mut open = self.lock();
        while !*open {
            let Some(end) = end else {
                drop(open);
                self.pass();
                return true;
            };
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            open = self
                .changed
                .wait_timeout(open, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
        true
    }
}
