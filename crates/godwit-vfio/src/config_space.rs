// SPDX-License-Identifier: Apache-2.0
//! The device as PCI software sees it: a PCI Express endpoint with 64-bit memory, MSI-X and no INTx.

use godwit_core::layout;

/// Bytes of the configuration space of PCI Express.
pub(crate) const BYTES: usize = 4096;
/// Vectors that an MSI-X table may have.
const MAX_VECTORS: u32 = 2048;

const COMMAND: usize = 0x04;
const STATUS: usize = 0x06;
const CLASS: usize = 0x08;
const CACHE_LINE: usize = 0x0c;
const BARS: usize = 0x10;
const SUBSYSTEM: usize = 0x2c;
const CAPABILITIES: usize = 0x34;
const INTERRUPT_LINE: usize = 0x3c;
const MSIX: usize = 0x40;
const EXPRESS: usize = 0x50;

/// Memory, bus master, SERR and no INTx may be chosen.
const COMMAND_BITS: u16 = 0x0506;
const COMMAND_MASTER: u8 = 0x04;
const HAS_CAPABILITIES: u16 = 0x10;
/// A memory BAR of 64 bits, prefetchable.
const BAR_64_PREFETCHABLE: u32 = 0xc;
const MSIX_ID: u8 = 0x11;
const MSIX_CONTROL_BITS: u16 = 0xc000;
/// The pending bits stand here in the BAR of the table.
pub(crate) const MSIX_PENDING: u32 = 0x800;
const EXPRESS_ID: u8 = 0x10;
/// Version 2, endpoint.
const EXPRESS_ENDPOINT: u16 = 0x0002;
/// Errors are reported by role, which version 2 asks for.
const EXPRESS_DEVICE: u32 = 1 << 15 | EXPRESS_DEVICE_RESETS;
/// The function can be reset by itself (Function Level Reset).
const EXPRESS_DEVICE_RESETS: u32 = 1 << 28;
const EXPRESS_CONTROL: usize = EXPRESS + 8;
const EXPRESS_CONTROL_BITS: u16 = 0x7fff;
/// After power-up: relaxed ordering, no snoop, reads of up to 512 bytes.
const EXPRESS_CONTROL_FIRST: u16 = 0x2810;
/// Largest payload: the link's, which a reset of the function leaves alone.
const EXPRESS_CONTROL_PAYLOAD: u16 = 0x00e0;
/// Resets the function when it is written as one, and reads as zero; in the upper byte.
const EXPRESS_CONTROL_RESET: u8 = 0x80;
/// 8 GT/s, 8 lanes: what is modelled is the configuration's `[host_link]`, and what negotiates here is nobody.
const EXPRESS_LINK: u16 = 0x83;

/// Configuration space: bytes, what they were at first, and which of their bits software may change.
pub(crate) struct ConfigSpace {
    bytes: [u8; BYTES],
    first: [u8; BYTES],
    writable: [u8; BYTES],
}

impl ConfigSpace {
    /// Of a card with so many vectors, at least one, and BARs of these sizes (powers of two).
    pub fn new(vectors: u32, register_bytes: u64, memory_bytes: u64, msix_bytes: u64) -> Self {
        let mut space = Self {
            bytes: [0; BYTES],
            first: [0; BYTES],
            writable: [0; BYTES],
        };
        space.put16(0x00, layout::PCI_VENDOR as u16);
        space.put16(0x02, layout::PCI_DEVICE as u16);
        space.allow16(COMMAND, COMMAND_BITS);
        space.put16(STATUS, HAS_CAPABILITIES);
        space.put32(CLASS, layout::PCI_CLASS << 8);
        space.writable[CACHE_LINE] = 0xff;
        space.bar(layout::PCI_BAR_REGISTERS, register_bytes, 0);
        space.bar(layout::PCI_BAR_MEMORY, memory_bytes, BAR_64_PREFETCHABLE);
        space.bar(layout::PCI_BAR_MSIX, msix_bytes, 0);
        space.put16(SUBSYSTEM, layout::PCI_VENDOR as u16);
        space.put16(SUBSYSTEM + 2, layout::PCI_DEVICE as u16);
        space.bytes[CAPABILITIES] = MSIX as u8;
        space.writable[INTERRUPT_LINE] = 0xff;

        space.bytes[MSIX] = MSIX_ID;
        space.bytes[MSIX + 1] = EXPRESS as u8;
        space.put16(MSIX + 2, (vectors.clamp(1, MAX_VECTORS) - 1) as u16);
        space.allow16(MSIX + 2, MSIX_CONTROL_BITS);
        space.put32(MSIX + 4, layout::PCI_BAR_MSIX);
        space.put32(MSIX + 8, MSIX_PENDING | layout::PCI_BAR_MSIX);

        space.bytes[EXPRESS] = EXPRESS_ID;
        space.put16(EXPRESS + 2, EXPRESS_ENDPOINT);
        space.put32(EXPRESS + 4, EXPRESS_DEVICE);
        space.put16(EXPRESS_CONTROL, EXPRESS_CONTROL_FIRST);
        space.allow16(EXPRESS_CONTROL, EXPRESS_CONTROL_BITS);
        space.put32(EXPRESS + 0xc, EXPRESS_LINK.into());
        space.put16(EXPRESS + 0x12, EXPRESS_LINK);
        space.first = space.bytes;
        space
    }

    /// All is as it was at first, but for what is the link's.
    pub fn reset(&mut self) {
        let control = self.get16(EXPRESS_CONTROL) & EXPRESS_CONTROL_PAYLOAD;
        self.bytes = self.first;
        self.put16(
            EXPRESS_CONTROL,
            EXPRESS_CONTROL_FIRST & !EXPRESS_CONTROL_PAYLOAD | control,
        );
    }

    fn get16(&self, at: usize) -> u16 {
        u16::from_le_bytes([self.bytes[at], self.bytes[at + 1]])
    }

    fn put16(&mut self, at: usize, value: u16) {
        self.bytes[at..at + 2].copy_from_slice(&value.to_le_bytes());
    }

    fn put32(&mut self, at: usize, value: u32) {
        self.bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
    }

    fn allow16(&mut self, at: usize, bits: u16) {
        self.writable[at..at + 2].copy_from_slice(&bits.to_le_bytes());
    }

    /// A BAR: the bits of its size cannot be written, which is how software learns it.
    fn bar(&mut self, index: u32, bytes: u64, kind: u32) {
        let at = BARS + 4 * index as usize;
        self.put32(at, kind);
        let bits = !(bytes - 1);
        let words = if kind & BAR_64_PREFETCHABLE == 0 {
            4
        } else {
            8
        };
        self.writable[at..at + words].copy_from_slice(&bits.to_le_bytes()[..words]);
    }

    /// Software lets the device read and write the bus's memory.
    pub fn is_master(&self) -> bool {
        self.bytes[COMMAND] & COMMAND_MASTER != 0
    }

    /// Bytes from `offset` on; nothing when they are not all there.
    pub fn read(&self, offset: u64, count: u32) -> Option<&[u8]> {
        let start = usize::try_from(offset).ok()?;
        self.bytes.get(start..start.checked_add(count as usize)?)
    }

    /// Changes what may be changed of the bytes from `offset` on, and says whether they ask for a reset of the function; nothing when they
    /// are not all there.
    pub fn write(&mut self, offset: u64, data: &[u8]) -> Option<bool> {
        let start = usize::try_from(offset).ok()?;
        let range = start..start.checked_add(data.len())?;
        let bytes = self.bytes.get_mut(range.clone())?;
        for ((byte, new), mask) in bytes.iter_mut().zip(data).zip(&self.writable[range]) {
            *byte = *byte & !mask | new & mask;
        }
        let control = (EXPRESS_CONTROL + 1).checked_sub(start);
        let control = control.and_then(|at| data.get(at));
        Some(control.is_some_and(|byte| byte & EXPRESS_CONTROL_RESET != 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(space: &ConfigSpace, at: u64) -> u32 {
        u32::from_le_bytes(space.read(at, 4).unwrap().try_into().unwrap())
    }

    fn space() -> ConfigSpace {
        ConfigSpace::new(5, 1 << 21, 1 << 32, 4096)
    }

    #[test]
    fn software_learns_the_size_of_each_bar() {
        let mut space = space();
        for at in (0x10..0x28).step_by(4) {
            space.write(at, &[0xff; 4]).unwrap();
        }
        let found: Vec<u32> = (0x10..0x28).step_by(4).map(|at| word(&space, at)).collect();
        assert_eq!(found, [0xffe0_0000, 0, 0xc, 0xffff_ffff, 0xffff_f000, 0]);
    }

    #[test]
    fn what_a_device_is_cannot_be_written() {
        let mut space = space();
        let before = word(&space, 0);
        space.write(0, &[0xff; 64]).unwrap();
        assert_eq!(word(&space, 0), before);
        assert_eq!(word(&space, 0x04), 0x0010_0506);
        assert_eq!(word(&space, 0x3c), 0xff);
    }

    #[test]
    fn the_list_of_capabilities_ends() {
        let space = space();
        let (mut at, mut found) = (0x34, Vec::new());
        while let next @ 1.. = space.read(at, 1).unwrap()[0] {
            found.push(space.read(next.into(), 1).unwrap()[0]);
            at = u64::from(next) + 1;
        }
        assert_eq!(found, [MSIX_ID, EXPRESS_ID]);
        assert_eq!(word(&space, 0x40) >> 16, 4);
    }

    #[test]
    fn one_bit_asks_for_a_reset_however_it_is_written() {
        let mut space = space();
        assert_eq!(word(&space, 0x54), 0x1000_8000);
        for (at, data, asks) in [
            (0x58, &[0x10, 0xa8][..], true),
            (0x59, &[0x80], true),
            (0x58, &[0x10, 0x80, 0, 0], true),
            (0x54, &[0xff; 8], true),
            (0x58, &[0xff], false),
            (0x58, &[0xff, 0x7f], false),
            (0x5a, &[0xff; 2], false),
            (0x50, &[0xff; 8], false),
        ] {
            assert_eq!(space.write(at, data), Some(asks), "{at:#x} {data:x?}");
            assert_eq!(word(&space, 0x58) & 0x8000, 0);
        }
    }

    #[test]
    fn a_reset_leaves_what_is_the_link_s() {
        let mut space = space();
        assert_eq!(word(&space, 0x58), 0x2810);
        space.write(0, &[0xff; BYTES]).unwrap();
        space.reset();
        assert_eq!(word(&space, 0x58), 0x28f0);
        space.write(0x58, &[0x10, 0x28]).unwrap();
        let first = ConfigSpace::new(5, 1 << 21, 1 << 32, 4096);
        assert!(space.bytes == first.bytes);
    }

    #[test]
    fn nothing_is_beyond_the_end() {
        let mut space = space();
        assert!(space.read(4096, 1).is_none() && space.read(u64::MAX, 4).is_none());
        assert!(space.write(4093, &[0; 4]).is_none());
        assert!(space.read(4092, 4).is_some());
    }
}
