// SPDX-License-Identifier: Apache-2.0
//! Messages of the vfio-user protocol (version 0, little endian), as far as a device needs them.
//!
//! The structures and numbers are those of Linux's `vfio.h` where the protocol has them from there. A request that cannot be
//! read is an [`Errno`], which is what the client gets as its answer.

mod header;

use rustix::io::Errno;
use serde::Deserialize;
use serde_json::json;

pub use header::{HEADER_BYTES, Header};

/// Most bytes of data in one message, as told to the client.
pub const MAX_DATA_BYTES: u32 = 1 << 20;
/// Most bytes of a message: its data, and the largest structure before it.
pub const MAX_MESSAGE_BYTES: u32 = MAX_DATA_BYTES + 4096;
/// Most file descriptors in one message, as told to the client.
pub const MAX_FDS: usize = 16;
/// Most ranges of guest memory, as told to the client.
pub const MAX_DMA_MAPS: usize = 1024;

/// Numbers of the commands.
pub mod command {
    #![allow(missing_docs, reason = "the names are the protocol's")]
    pub const VERSION: u16 = 1;
    pub const DMA_MAP: u16 = 2;
    pub const DMA_UNMAP: u16 = 3;
    pub const DEVICE_GET_INFO: u16 = 4;
    pub const DEVICE_GET_REGION_INFO: u16 = 5;
    pub const DEVICE_GET_IRQ_INFO: u16 = 7;
    pub const DEVICE_SET_IRQS: u16 = 8;
    pub const REGION_READ: u16 = 9;
    pub const REGION_WRITE: u16 = 10;
    pub const DEVICE_RESET: u16 = 13;
    pub const REGION_WRITE_MULTI: u16 = 15;
}

/// Flags of requests and answers.
pub mod flags {
    #![allow(missing_docs, reason = "the names are those of vfio.h")]
    pub const DMA_READ: u32 = 1;
    pub const DMA_WRITE: u32 = 2;
    pub const UNMAP_ALL: u32 = 2;
    pub const DEVICE_RESET: u32 = 1;
    pub const DEVICE_PCI: u32 = 2;
    pub const REGION_READ: u32 = 1;
    pub const REGION_WRITE: u32 = 2;
    pub const REGION_MMAP: u32 = 4;
    pub const IRQ_EVENTFD: u32 = 1;
    pub const SET_DATA_NONE: u32 = 1;
    pub const SET_DATA_BOOL: u32 = 2;
    pub const SET_DATA_EVENTFD: u32 = 4;
    pub const SET_ACTION_TRIGGER: u32 = 32;
}

/// What a client asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    /// To agree on a version: it speaks `major`.`minor` and takes `max_fds` descriptors with a message.
    Version {
        /// Versions of one major number understand each other.
        major: u16,
        /// The smaller of both sides is spoken.
        minor: u16,
    },
    /// To reach `size` bytes at bus address `address`, which are in a file from `offset` on if one came with the message.
    DmaMap {
        /// `flags::DMA_READ`, `flags::DMA_WRITE`.
        flags: u32,
        /// In the file.
        offset: u64,
        /// On the bus.
        address: u64,
        /// In bytes.
        size: u64,
    },
    /// To reach nothing in the range any more.
    DmaUnmap {
        /// `flags::UNMAP_ALL`: the range does not matter.
        flags: u32,
        /// On the bus.
        address: u64,
        /// In bytes.
        size: u64,
    },
    /// To reset the device.
    DeviceReset,
    /// How many regions and interrupts there are.
    DeviceInfo,
    /// What a region is.
    RegionInfo {
        /// Its number.
        index: u32,
    },
    /// What an interrupt is.
    IrqInfo {
        /// Its number.
        index: u32,
    },
    /// Where interrupts go, or one to be raised now.
    SetIrqs {
        /// `flags::SET_*`.
        flags: u32,
        /// Number of the interrupt.
        index: u32,
        /// First vector,
        start: u32,
        /// and how many.
        count: u32,
        /// A byte a vector, with `flags::SET_DATA_BOOL`.
        data: Vec<u8>,
    },
    /// Bytes of a region.
    RegionRead(Access),
    /// To change them; several at a time, in order.
    RegionWrite(Vec<(Access, Vec<u8>)>),
}

/// A place in a region.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
    /// Number of the region.
    pub region: u32,
    /// First byte.
    pub offset: u64,
    /// Bytes.
    pub count: u32,
}

#[derive(Deserialize)]
struct VersionData {
    #[serde(default)]
    #[allow(dead_code, reason = "it only has to be an object")]
    capabilities: serde_json::Map<String, serde_json::Value>,
}

/// Reads fields one after the other.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn take(&mut self, bytes: usize) -> Result<&'a [u8], Errno> {
        let (field, rest) = self.0.split_at_checked(bytes).ok_or(Errno::INVAL)?;
        self.0 = rest;
        Ok(field)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Errno> {
        self.take(N)?.try_into().map_err(|_| Errno::INVAL)
    }

    fn u16(&mut self) -> Result<u16, Errno> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    fn u32(&mut self) -> Result<u32, Errno> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    fn u64(&mut self) -> Result<u64, Errno> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    fn access(&mut self) -> Result<Access, Errno> {
        let access = Access {
            offset: self.u64()?,
            region: self.u32()?,
            count: self.u32()?,
        };
        let in_bounds = access.count <= MAX_DATA_BYTES
            && access.offset.checked_add(u64::from(access.count)).is_some();
        in_bounds.then_some(access).ok_or(Errno::INVAL)
    }
}

impl Request {
    /// From the body of a message.
    pub fn parse(number: u16, body: &[u8]) -> Result<Self, Errno> {
        let mut fields = Fields(body);
        match number {
            command::VERSION => {
                let (major, minor) = (fields.u16()?, fields.u16()?);
                let text = fields.0.split(|byte| *byte == 0).next().unwrap_or_default();
                if !text.is_empty() {
                    serde_json::from_slice::<VersionData>(text).map_err(|_| Errno::INVAL)?;
                }
                Ok(Self::Version { major, minor })
            }
            command::DMA_MAP => {
                fields.u32()?;
                Ok(Self::DmaMap {
                    flags: fields.u32()?,
                    offset: fields.u64()?,
                    address: fields.u64()?,
                    size: fields.u64()?,
                })
            }
            command::DMA_UNMAP => {
                fields.u32()?;
                Ok(Self::DmaUnmap {
                    flags: fields.u32()?,
                    address: fields.u64()?,
                    size: fields.u64()?,
                })
            }
            command::DEVICE_GET_INFO => Ok(Self::DeviceInfo),
            // Who says more has something else in mind, and this cannot be undone.
            command::DEVICE_RESET if !body.is_empty() => Err(Errno::INVAL),
            command::DEVICE_RESET => Ok(Self::DeviceReset),
            command::DEVICE_GET_REGION_INFO | command::DEVICE_GET_IRQ_INFO => {
                fields.take(8)?;
                let index = fields.u32()?;
                Ok(if number == command::DEVICE_GET_IRQ_INFO {
                    Self::IrqInfo { index }
                } else {
                    Self::RegionInfo { index }
                })
            }
            command::DEVICE_SET_IRQS => {
                fields.u32()?;
                Ok(Self::SetIrqs {
                    flags: fields.u32()?,
                    index: fields.u32()?,
                    start: fields.u32()?,
                    count: fields.u32()?,
                    data: fields.0.to_vec(),
                })
            }
            command::REGION_READ => Ok(Self::RegionRead(fields.access()?)),
            command::REGION_WRITE => {
                let access = fields.access()?;
                let data = fields.take(access.count as usize)?.to_vec();
                Ok(Self::RegionWrite(vec![(access, data)]))
            }
            command::REGION_WRITE_MULTI => {
                let count = fields.u64()?;
                let mut writes = Vec::new();
                for _ in 0..count {
                    let access = fields.access()?;
                    let data = fields.take(8)?;
                    let data = data.get(..access.count as usize).ok_or(Errno::INVAL)?;
                    writes.push((access, data.to_vec()));
                }
                Ok(Self::RegionWrite(writes))
            }
            _ => Err(Errno::NOTSUP),
        }
    }
}

/// Bytes of an answer, field after field.
#[derive(Default)]
pub struct Body(Vec<u8>);

impl Body {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// One more field.
    pub fn u16(mut self, value: u16) -> Self {
        self.0.extend(value.to_le_bytes());
        self
    }

    /// One more field.
    pub fn u32(mut self, value: u32) -> Self {
        self.0.extend(value.to_le_bytes());
        self
    }

    /// One more field.
    pub fn u64(mut self, value: u64) -> Self {
        self.0.extend(value.to_le_bytes());
        self
    }

    /// What follows the fields.
    pub fn data(mut self, data: &[u8]) -> Self {
        self.0.extend(data);
        self
    }

    /// All of it.
    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}

/// The answer to [`Request::Version`].
pub fn version_reply(minor: u16) -> Vec<u8> {
    let capabilities = json!({"capabilities": {
        "max_msg_fds": MAX_FDS,
        "max_data_xfer_size": MAX_DATA_BYTES,
        "max_dma_maps": MAX_DMA_MAPS,
        "pgsizes": 4096,
        "write_multiple": true,
    }});
    Body::new()
        .u16(0)
        .u16(minor)
        .data(capabilities.to_string().as_bytes())
        .data(&[0])
        .into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_bring_as_many_bytes_as_they_say() {
        let access = |count: u32| Body::new().u64(8).u32(0).u32(count);
        let short = access(4).data(&[1, 2, 3]).into_bytes();
        assert_eq!(
            Request::parse(command::REGION_WRITE, &short),
            Err(Errno::INVAL)
        );
        let multi = Body::new()
            .u64(1)
            .data(&access(9).u64(1).into_bytes())
            .into_bytes();
        assert_eq!(
            Request::parse(command::REGION_WRITE_MULTI, &multi),
            Err(Errno::INVAL)
        );
        let multi = Body::new()
            .u64(1)
            .data(&access(2).u64(0x0201).into_bytes())
            .into_bytes();
        let place = Access {
            region: 0,
            offset: 8,
            count: 2,
        };
        assert_eq!(
            Request::parse(command::REGION_WRITE_MULTI, &multi),
            Ok(Request::RegionWrite(vec![(place, vec![1, 2])]))
        );
    }

    #[test]
    fn a_version_says_what_it_can_in_json() {
        let body = |text: &[u8]| Body::new().u16(0).u16(1).data(text).into_bytes();
        let parse = |text: &[u8]| Request::parse(command::VERSION, &body(text));
        assert_eq!(parse(b""), Ok(Request::Version { major: 0, minor: 1 }));
        assert!(parse(b"{\"capabilities\":{\"max_msg_fds\":8}}\0").is_ok());
        assert_eq!(parse(b"nonsense\0"), Err(Errno::INVAL));
        let ours = version_reply(1);
        assert!(Request::parse(command::VERSION, &ours).is_ok());
    }
}
