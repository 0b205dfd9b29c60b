// SPDX-License-Identifier: Apache-2.0
//! A socket that carries messages with file descriptors.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

use crate::protocol::{HEADER_BYTES, Header, MAX_FDS};

/// A message as it came.
pub(crate) struct Message {
    pub header: Header,
    pub body: Vec<u8>,
    pub fds: Vec<OwnedFd>,
}

/// Why there are no more messages.
#[derive(Debug)]
pub(crate) enum Ended {
    /// The client hung up between two messages.
    Closed,
    /// It hung up within one, or sent what is none: where the next would begin is not known.
    Broken(String),
}

impl From<Errno> for Ended {
    fn from(errno: Errno) -> Self {
        match errno {
            Errno::CONNRESET | Errno::PIPE => Self::Closed,
            other => Self::Broken(format!("the socket: {other}")),
        }
    }
}

pub(crate) struct Connection(UnixStream);

impl Connection {
    pub fn new(socket: UnixStream) -> Self {
        Self(socket)
    }

    /// Whether something can be received, or becomes so within `wait`; forever without a limit.
    pub fn readable(&self, wait: Option<Duration>) -> Result<bool, Ended> {
        let limit = wait.map(|wait| Timespec {
            tv_sec: wait.as_secs() as i64,
            tv_nsec: i64::from(wait.subsec_nanos()),
        });
        let mut fds = [PollFd::new(&self.0, PollFlags::IN)];
        match poll(&mut fds, limit.as_ref()) {
            Ok(ready) => Ok(ready > 0),
            Err(Errno::INTR) => Ok(false),
            Err(errno) => Err(errno.into()),
        }
    }

    /// The next message; waits for all of it.
    pub fn receive(&self) -> Result<Message, Ended> {
        let mut fds = Vec::new();
        let mut bytes = [0; HEADER_BYTES];
        if self.fill(&mut bytes, &mut fds)? == 0 {
            return Err(Ended::Closed);
        }
        let header = Header::parse(&bytes);
        let Some(length) = header.body_bytes() else {
            return Err(Ended::Broken(format!(
                "a message says that it has {} bytes",
                header.size
            )));
        };
        let mut body = vec![0; length];
        if length > 0 && self.fill(&mut body, &mut fds)? == 0 {
            return Err(Ended::Broken("the client hung up within a message".into()));
        }
        Ok(Message { header, body, fds })
    }

    /// Fills `bytes`; 0 when the client has hung up before the first of them.
    fn fill(&self, bytes: &mut [u8], fds: &mut Vec<OwnedFd>) -> Result<usize, Ended> {
        let mut filled = 0;
        while filled < bytes.len() {
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FDS))];
            let mut control = RecvAncillaryBuffer::new(&mut space);
            let mut places = [IoSliceMut::new(&mut bytes[filled..])];
            let received = recvmsg(&self.0, &mut places, &mut control, RecvFlags::CMSG_CLOEXEC);
            let received = match received {
                Err(Errno::INTR) => continue,
                other => other?,
            };
            for message in control.drain() {
                if let RecvAncillaryMessage::ScmRights(brought) = message {
                    fds.extend(brought);
                }
            }
            match (received.bytes, filled) {
                (0, 0) => return Ok(0),
                (0, _) => return Err(Ended::Broken("the client hung up within a message".into())),
                (more, _) => filled += more,
            }
        }
        Ok(filled)
    }

    /// Sends a message, and descriptors with its first byte.
    pub fn send(&self, header: Header, body: &[u8], fds: &[BorrowedFd<'_>]) -> Result<(), Ended> {
        let message = [&header.to_bytes(), body].concat();
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FDS))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !fds.is_empty() && !control.push(SendAncillaryMessage::ScmRights(fds)) {
            return Err(Ended::Broken(format!("{} descriptors to send", fds.len())));
        }
        let mut sent = 0;
        while sent < message.len() {
            let part = [IoSlice::new(&message[sent..])];
            match sendmsg(&self.0, &part, &mut control, SendFlags::NOSIGNAL) {
                Err(Errno::INTR) => continue,
                other => sent += other?,
            }
            control = SendAncillaryBuffer::default();
        }
        Ok(())
    }
}
