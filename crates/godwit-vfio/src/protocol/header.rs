// SPDX-License-Identifier: Apache-2.0
//! The header of a message.

use rustix::io::Errno;

use super::MAX_MESSAGE_BYTES;

/// Bytes of the header of every message.
pub const HEADER_BYTES: usize = 16;

const TYPE_MASK: u32 = 0xf;
const TYPE_REPLY: u32 = 1;
const NO_REPLY: u32 = 1 << 4;
const ERROR: u32 = 1 << 5;

/// What precedes every message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Chosen by the sender; the answer has the same.
    pub id: u16,
    /// Number of the command.
    pub command: u16,
    /// Bytes of the message, this header included.
    pub size: u32,
    /// Kind of message, whether an answer is wanted, whether it is an error.
    pub flags: u32,
    /// Which error.
    pub error: u32,
}

impl Header {
    /// From bytes.
    pub fn parse(bytes: &[u8; HEADER_BYTES]) -> Self {
        let half = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        let word = |at: usize| u32::from(half(at)) | u32::from(half(at + 2)) << 16;
        Self {
            id: half(0),
            command: half(2),
            size: word(4),
            flags: word(8),
            error: word(12),
        }
    }

    /// As bytes.
    pub fn to_bytes(self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..2].copy_from_slice(&self.id.to_le_bytes());
        bytes[2..4].copy_from_slice(&self.command.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.size.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.flags.to_le_bytes());
        bytes[12..].copy_from_slice(&self.error.to_le_bytes());
        bytes
    }

    /// Bytes that follow; nothing for a size that no message has.
    pub fn body_bytes(&self) -> Option<usize> {
        let body = (self.size as usize).checked_sub(HEADER_BYTES)?;
        (self.size <= MAX_MESSAGE_BYTES).then_some(body)
    }

    /// Whether it answers a message of ours.
    pub fn is_reply(&self) -> bool {
        self.flags & TYPE_MASK == TYPE_REPLY
    }

    /// Whether it waits for an answer.
    pub fn wants_reply(&self) -> bool {
        self.flags & NO_REPLY == 0
    }

    /// That of the answer to this, with `body` bytes or an error.
    pub fn reply(&self, body: Result<usize, Errno>) -> Self {
        let (bytes, flags, error) = match body {
            Ok(bytes) => (bytes, TYPE_REPLY, 0),
            Err(errno) => (0, TYPE_REPLY | ERROR, errno.raw_os_error().unsigned_abs()),
        };
        Self {
            id: self.id,
            command: self.command,
            size: (HEADER_BYTES + bytes) as u32,
            flags,
            error,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::command;

    #[test]
    fn a_header_is_what_its_bytes_say() {
        let header = Header {
            id: 0x1234,
            command: command::REGION_READ,
            size: 32,
            flags: NO_REPLY,
            error: 7,
        };
        assert_eq!(Header::parse(&header.to_bytes()), header);
        assert_eq!(header.body_bytes(), Some(16));
        assert!(!header.wants_reply() && !header.is_reply());
        let failed = header.reply(Err(Errno::INVAL));
        assert!(failed.is_reply());
        assert_eq!((failed.id, failed.size, failed.error), (0x1234, 16, 22));
    }

    #[test]
    fn sizes_that_no_message_has_are_refused() {
        let header = |size| {
            Header::parse(
                &[[0; 4], u32::to_le_bytes(size), [0; 4], [0; 4]]
                    .concat()
                    .try_into()
                    .unwrap(),
            )
        };
        assert_eq!(header(15).body_bytes(), None);
        assert_eq!(header(16).body_bytes(), Some(0));
        assert_eq!(header(MAX_MESSAGE_BYTES + 1).body_bytes(), None);
    }
}
