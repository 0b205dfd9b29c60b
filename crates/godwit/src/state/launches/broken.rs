// SPDX-License-Identifier: Apache-2.0
//! When nothing goes on: the card has failed, and every launch ends with that.

use godwit_card::CardError;

use super::{KernelState, State};
use crate::Error;

impl State {
    pub(super) fn end_if_broken(&mut self) {
        if let Some(why) = self.broken.clone() {
            self.end_all(|| Error::Broken(why.clone()));
        }
    }

    /// Ends every launch, and everybody's waiting.
    pub fn end_all(&mut self, error: impl Fn() -> Error) {
        for slot in 0..self.kernels.len() {
            let kernel = &mut self.kernels[slot];
            let running = kernel.running.take().map(|running| running.ticket);
            let waiting = std::mem::take(&mut kernel.waiting);
            let tickets = running
                .into_iter()
                .chain(waiting.into_iter().map(|(_, ticket)| ticket));
            for ticket in tickets.collect::<Vec<_>>() {
                self.end(&ticket, Err(error()));
            }
        }
        for wait in std::mem::take(&mut self.waits) {
            wait.gate.iter().for_each(|gate| gate.open());
        }
        self.end_driven(&error);
        self.end_transfers(error);
    }

    /// The card has failed: every launch ends with that, and so does every later call. The launches of the kernels that the
    /// message names get it as theirs; all that run, when it names none.
    pub fn break_down(&mut self, error: Error) {
        let (design, message) = match error {
            Error::Card(CardError::Design(message)) => (true, message),
            Error::Hang(message) => (false, message),
            other => (false, other.to_string()),
        };
        let running = |kernel: &KernelState| kernel.running.is_some();
        let named = |kernel: &KernelState| running(kernel) && names(&message, &kernel.kernel.name);
        let anybody = self.kernels.iter().any(named);
        let concerned: Vec<bool> = self
            .kernels
            .iter()
            .map(|kernel| running(kernel) && (named(kernel) || !anybody))
            .collect();
        let mut why = None;
        for (slot, _) in concerned.iter().enumerate().filter(|(_, own)| **own) {
            let name = self.kernels[slot].kernel.name.clone();
            let ports = self.kernels[slot].kernel.ports().to_vec();
            let text = if design && anybody {
                format!("kernel `{name}` made the card fail: {message}")
            } else if design {
                message.clone()
            } else {
                // The registers may hang as well: then there is no more to say.
                let fault = self
                    .collect_faults()
                    .ok()
                    .and_then(|_| self.fault_of(&ports));
                match fault.map(|record| self.explain(record)) {
                    Some(fault) => {
                        format!("kernel `{name}` hangs: {message}; before that: {fault}")
                    }
                    None => format!("kernel `{name}` hangs: {message}"),
                }
            };
            why.get_or_insert_with(|| text.clone());
            if let Some(running) = self.kernels[slot].running.take() {
                let error = if design {
                    Error::Card(CardError::Design(text))
                } else {
                    Error::Hang(text)
                };
                self.end(&running.ticket, Err(error));
            }
        }
        let why = why.unwrap_or(message);
        self.end_driven(|| {
            if design {
                Error::Card(CardError::Design(why.clone()))
            } else {
                Error::Hang(why.clone())
            }
        });
        self.end_transfers(|| Error::Broken(why.clone()));
        self.broken = Some(why);
        self.end_if_broken();
    }
}

/// Whether a message of the card is about a kernel: one of its memory ports, or a place inside it.
fn names(message: &str, kernel: &str) -> bool {
    ["({}", "gen_{}"]
        .map(|place| place.replace("{}", kernel))
        .iter()
        .any(|place| {
            message
                .match_indices(place.as_str())
                .any(|(at, _)| message[at + place.len()..].starts_with([')', '.']))
        })
}
