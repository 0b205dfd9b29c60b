// SPDX-License-Identifier: Apache-2.0
//! The loop: messages as they come, and between them the clock.

use std::os::unix::net::UnixStream;

use godwit_card::CardError;
use rustix::io::Errno;
use serde::Serialize;

use crate::connection::{Connection, Ended, Message};
use crate::pci_card::{Failure, PciCard};
use crate::protocol::Request;

/// Why serving ended other than by the client's leave.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The card is of no use any more; to the client it is gone.
    #[error("the card has stopped, and to the virtual machine it is gone: {0}")]
    Card(#[from] CardError),
    /// The client sent what is no message.
    #[error(
        "the client does not speak vfio-user, or died within a message: {0}; start it and the server again"
    )]
    Protocol(String),
}

/// What was done for a client.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Served {
    /// Messages received.
    pub messages: u64,
    /// Of them, those that were answered with an error.
    pub errors: u64,
    /// Words of registers read or written.
    pub register_accesses: u64,
    /// Of them, those to what is no register, and accesses that are no words.
    pub bus_errors: u64,
    /// MSI-X messages.
    pub interrupts: u64,
    /// Resets of the function.
    pub resets: u64,
    /// Words that were read of the card and were not so, and times that it made something up.
    pub lies: u64,
    /// Cycles that the card ran.
    pub cycles: u64,
}

/// Serves a card until the client hangs up.
///
/// # Errors
/// The card broke down, or the client sends what is no message. An error of a request is only the client's.
pub fn serve(socket: UnixStream, card: &mut PciCard) -> Result<Served, ServeError> {
    let connection = Connection::new(socket);
    let before = card.cycles()?;
    let mut served = Served::default();
    loop {
        let pace = card.run()?;
        match answer_waiting(&connection, card, pace.wait(), &mut served) {
            Ok(()) => {}
            Err(Stop::Card(error)) => return Err(error.into()),
            Err(Stop::Client(Ended::Broken(why))) => return Err(ServeError::Protocol(why)),
            Err(Stop::Client(Ended::Closed)) => {
                served.register_accesses = card.register_accesses;
                served.bus_errors = card.bus_errors;
                served.interrupts = card.messages_sent();
                served.resets = card.resets;
                served.lies = card.lies_told();
                served.cycles = card.cycles()? - before;
                return Ok(served);
            }
        }
    }
}

enum Stop {
    Card(CardError),
    Client(Ended),
}

impl From<Ended> for Stop {
    fn from(ended: Ended) -> Self {
        Self::Client(ended)
    }
}

/// Most messages between two slices of the clock.
const MESSAGES: usize = 64;

/// Answers the messages that are there, after waiting for the first of them.
fn answer_waiting(
    connection: &Connection,
    card: &mut PciCard,
    wait: Option<std::time::Duration>,
    served: &mut Served,
) -> Result<(), Stop> {
    let mut wait = wait;
    for _ in 0..MESSAGES {
        if !connection.readable(wait)? {
            return Ok(());
        }
        wait = Some(std::time::Duration::ZERO);
        let message = connection.receive()?;
        // We ask the client nothing.
        if message.header.is_reply() {
            continue;
        }
        served.messages += 1;
        answer(connection, card, message, served)?;
    }
    Ok(())
}

fn answer(
    connection: &Connection,
    card: &mut PciCard,
    message: Message,
    served: &mut Served,
) -> Result<(), Stop> {
    let Message { header, body, fds } = message;
    let request = Request::parse(header.command, &body).map_err(Failure::from);
    let answer = match request.and_then(|request| card.answer(request, fds)) {
        Ok(answer) => Ok(answer),
        Err(Failure::Request(errno)) => Err(errno),
        Err(Failure::Card(error)) => {
            // The client shall know that this failed, too; that it may have gone is no news.
            let _ = connection.send(header.reply(Err(Errno::IO)), &[], &[]);
            return Err(Stop::Card(error));
        }
    };
    served.errors += u64::from(answer.is_err());
    if !header.wants_reply() {
        return Ok(());
    }
    match answer {
        Ok(answer) => {
            let reply = header.reply(Ok(answer.body.len()));
            let memory = answer.with_memory.then(|| card.memory_fd());
            Ok(connection.send(reply, &answer.body, memory.as_slice())?)
        }
        Err(errno) => Ok(connection.send(header.reply(Err(errno)), &[], &[])?),
    }
}
