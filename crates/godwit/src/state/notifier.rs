// SPDX-License-Identifier: Apache-2.0
//! Calls what people want called at the end of a launch: on a thread of its own, made when it is first needed, so that they
//! may use the card there.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Sender, channel};

use super::ticket::Callback;

#[derive(Default)]
pub(crate) struct Notifier {
    thread: Option<Sender<Callback>>,
}

impl Notifier {
    pub fn call(&mut self, callback: Callback) {
        let sender = self.thread.get_or_insert_with(|| {
            let (sender, receiver) = channel::<Callback>();
            let spawned = std::thread::Builder::new()
                .name("godwit-notify".into())
                .spawn(move || {
                    for callback in receiver {
                        // What it does is its owner's business; the next one is called all the same.
                        let _ = catch_unwind(AssertUnwindSafe(callback));
                    }
                });
            // Without a thread the callbacks wait for ever, as the card would: nothing works any more then.
            drop(spawned);
            sender
        });
        let _ = sender.send(callback);
    }
}
