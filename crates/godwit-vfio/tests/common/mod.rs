// SPDX-License-Identifier: Apache-2.0
//! A client of the protocol, written from the specification and not from the server's own structures.
#![allow(dead_code, reason = "each test uses its own part")]

pub mod mock;

use std::io::{IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::thread::JoinHandle;
use std::time::Duration;

use godwit_card::Device;
use godwit_vfio::{PciCard, ServeError, Served, Slot, serve};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

/// Longest wait of a test for anything.
const PATIENCE: Duration = Duration::from_secs(120);

/// Words of a request, in little endian.
pub fn bytes(fields: &[(u64, usize)]) -> Vec<u8> {
    let fields = fields.iter();
    fields
        .flat_map(|(value, size)| value.to_le_bytes()[..*size].to_vec())
        .collect()
}

pub fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

pub fn double(bytes: &[u8], at: usize) -> u64 {
    u64::from(word(bytes, at)) | u64::from(word(bytes, at + 4)) << 32
}

/// What a server answered: its body, or the number of an error.
pub type Answer = Result<Vec<u8>, u32>;

pub struct Client {
    socket: UnixStream,
    next_id: u16,
    /// That came with the latest answer.
    pub fds: Vec<OwnedFd>,
}

/// A server in a thread of its own.
pub struct Server(JoinHandle<Result<Served, ServeError>>, pub Slot);

impl Server {
    /// How serving ended, after the client has hung up.
    pub fn end(self) -> Result<Served, ServeError> {
        self.0.join().unwrap()
    }
}

/// Serves a card to a client that has said nothing yet.
pub fn start(device: impl Device + 'static) -> (Client, Server) {
    start_card(PciCard::new(Box::new(device)).unwrap())
}

fn start_card(mut card: PciCard) -> (Client, Server) {
    let (theirs, ours) = UnixStream::pair().unwrap();
    ours.set_read_timeout(Some(PATIENCE)).unwrap();
    let slot = card.slot();
    let server = std::thread::spawn(move || serve(theirs, &mut card));
    let client = Client {
        socket: ours,
        next_id: 1,
        fds: Vec::new(),
    };
    (client, Server(server, slot))
}

/// The same, after both have agreed on a version.
pub fn connect(device: impl Device + 'static) -> (Client, Server) {
    let (mut client, server) = start(device);
    client.agree().unwrap();
    (client, server)
}

/// Serves one card after the other in one slot.
pub fn connect_spares<D: Device + 'static>(make: fn() -> D) -> (Client, Server) {
    let card = PciCard::new(Box::new(make())).unwrap();
    let (mut client, server) = start_card(card.with_spares(Box::new(move || Ok(Box::new(make())))));
    client.agree().unwrap();
    (client, server)
}

impl Client {
    pub fn agree(&mut self) -> Answer {
        let body = [
            bytes(&[(0, 2), (1, 2)]),
            b"{\"capabilities\":{}}\0".to_vec(),
        ];
        self.ask(1, &body.concat(), &[])
    }

    /// Sends bytes as they are.
    pub fn send_raw(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.socket.write_all(bytes)
    }

    /// Sends a message with flags of its own; its number.
    pub fn send(&mut self, command: u16, flags: u32, body: &[u8], fds: &[BorrowedFd<'_>]) -> u16 {
        let id = self.next_id;
        self.next_id = self.next_id.wrapping_add(1);
        let header = bytes(&[
            (id.into(), 2),
            (command.into(), 2),
            (16 + body.len() as u64, 4),
            (flags.into(), 4),
            (0, 4),
        ]);
        let message = [&header, body].concat();
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(16))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        assert!(fds.is_empty() || control.push(SendAncillaryMessage::ScmRights(fds)));
        let parts = [IoSlice::new(&message)];
        let sent = sendmsg(&self.socket, &parts, &mut control, SendFlags::NOSIGNAL).unwrap();
        self.socket.write_all(&message[sent..]).unwrap();
        id
    }

    /// The next answer, and to which message; what came with it is in `fds`.
    pub fn receive(&mut self) -> (u16, Answer) {
        let mut header = [0; 16];
        self.fds.clear();
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(16))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let mut parts = [IoSliceMut::new(&mut header)];
        let received = recvmsg(&self.socket, &mut parts, &mut control, RecvFlags::WAITALL).unwrap();
        assert_eq!(received.bytes, 16, "the server hung up");
        for message in control.drain() {
            if let RecvAncillaryMessage::ScmRights(brought) = message {
                self.fds.extend(brought);
            }
        }
        let mut body = vec![0; word(&header, 4) as usize - 16];
        self.socket.read_exact(&mut body).unwrap();
        assert_eq!(word(&header, 8) & 0xf, 1, "an answer is a reply");
        let failed = word(&header, 8) & 1 << 5 != 0;
        let answer = if failed {
            Err(word(&header, 12))
        } else {
            Ok(body)
        };
        (u16::from_le_bytes([header[0], header[1]]), answer)
    }

    /// A request and its answer.
    pub fn ask(&mut self, command: u16, body: &[u8], fds: &[BorrowedFd<'_>]) -> Answer {
        let sent = self.send(command, 0, body, fds);
        let (id, answer) = self.receive();
        assert_eq!(id, sent);
        answer
    }

    /// Flags and size of a region.
    pub fn region(&mut self, index: u32) -> Result<(u32, u64), u32> {
        let request = bytes(&[(32, 4), (0, 4), (index.into(), 4), (0, 4), (0, 8), (0, 8)]);
        let answer = self.ask(5, &request, &[])?;
        Ok((word(&answer, 4), double(&answer, 16)))
    }

    pub fn read(&mut self, region: u32, offset: u64, count: u32) -> Answer {
        let request = bytes(&[(offset, 8), (region.into(), 4), (count.into(), 4)]);
        let answer = self.ask(9, &request, &[])?;
        assert_eq!(answer[..16], request);
        Ok(answer[16..].to_vec())
    }

    pub fn write(&mut self, region: u32, offset: u64, data: &[u8]) -> Result<(), u32> {
        let mut request = bytes(&[(offset, 8), (region.into(), 4), (data.len() as u64, 4)]);
        request.extend(data);
        self.ask(10, &request, &[]).map(|_| ())
    }

    pub fn reg(&mut self, offset: u64) -> u32 {
        word(&self.read(0, offset, 4).unwrap(), 0)
    }

    pub fn set_reg(&mut self, offset: u64, value: u32) {
        self.write(0, offset, &value.to_le_bytes()).unwrap();
    }

    pub fn set_reg64(&mut self, offset: u64, value: u64) {
        self.set_reg(offset, value as u32);
        self.set_reg(offset + 4, (value >> 32) as u32);
    }

    /// Resets the function as the client does.
    pub fn reset(&mut self) -> Result<(), u32> {
        self.ask(13, &[], &[]).map(|_| ())
    }

    /// Resets the function as its software does: Initiate Function Level Reset, in the control register of PCI Express.
    pub fn function_level_reset(&mut self) -> Result<(), u32> {
        self.write(7, 0x58, &[0x10, 0xa8])
    }

    /// Lets the card be the bus's master, or not.
    pub fn set_master(&mut self, master: bool) {
        let command = if master { 0x06 } else { 0x02 };
        self.write(7, 4, &[command, 0]).unwrap();
    }

    /// Shares memory: flags 3 allow reads and writes.
    pub fn map(
        &mut self,
        flags: u32,
        (offset, address, size): (u64, u64, u64),
        file: Option<BorrowedFd<'_>>,
    ) -> Answer {
        let request = bytes(&[
            (32, 4),
            (flags.into(), 4),
            (offset, 8),
            (address, 8),
            (size, 8),
        ]);
        self.ask(2, &request, file.as_slice())
    }

    pub fn unmap(&mut self, flags: u32, address: u64, size: u64) -> Result<u64, u32> {
        let request = bytes(&[(24, 4), (flags.into(), 4), (address, 8), (size, 8)]);
        Ok(double(&self.ask(3, &request, &[])?, 16))
    }

    /// Takes the interrupts of an MSI-X vector.
    pub fn vector(&mut self, vector: u32) -> OwnedFd {
        let event = eventfd(0, EventfdFlags::empty()).unwrap();
        let request = bytes(&[(20, 4), (4 | 32, 4), (2, 4), (vector.into(), 4), (1, 4)]);
        self.ask(8, &request, &[event.as_fd()]).unwrap();
        event
    }
}

/// Waits for an event file, and how often it was signalled.
pub fn wait(event: &OwnedFd) -> u64 {
    let limit = Timespec {
        tv_sec: PATIENCE.as_secs() as i64,
        tv_nsec: 0,
    };
    let mut fds = [PollFd::new(event, PollFlags::IN)];
    assert_eq!(
        poll(&mut fds, Some(&limit)).unwrap(),
        1,
        "no interrupt came"
    );
    let mut count = [0; 8];
    rustix::io::read(event, &mut count).unwrap();
    u64::from_ne_bytes(count)
}
