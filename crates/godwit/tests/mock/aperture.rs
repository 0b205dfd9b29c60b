// SPDX-License-Identifier: Apache-2.0
//! Memory of this process as the card reaches it: at its addresses, in the host aperture.

use godwit::{CardError, Memory, layout};

/// Windows that were opened.
#[derive(Default)]
pub(super) struct Aperture {
    /// The card has one at all.
    pub there: bool,
    windows: Vec<(u64, u64)>,
}

impl Aperture {
    pub fn open(&mut self, addr: u64, len: u64) -> Result<(), CardError> {
        if !self.there {
            return Err(CardError::Invalid("the mock has no aperture".into()));
        }
        self.windows.push((addr, len));
        Ok(())
    }

    pub fn close(&mut self, addr: u64) {
        self.windows.retain(|window| window.0 != addr);
    }

    /// The host's address, when it is one of a window; no access reaches anything else of the host.
    fn host(&self, pa: u64, len: usize) -> Option<*mut u8> {
        let addr = pa.checked_sub(layout::HOST_APERTURE_BASE)?;
        let inside =
            |(start, bytes): &(u64, u64)| *start <= addr && addr + len as u64 <= start + bytes;
        assert!(self.windows.iter().any(inside), "{pa:#x} is in no window");
        Some(addr as *mut u8)
    }

    pub fn read(&self, memory: &Memory, pa: u64, data: &mut [u8]) {
        match self.host(pa, data.len()) {
            // SAFETY: who opened the window says that it is memory.
            Some(from) => unsafe { from.copy_to(data.as_mut_ptr(), data.len()) },
            None => memory.read(pa, data).unwrap(),
        }
    }

    pub fn write(&self, memory: &Memory, pa: u64, data: &[u8]) {
        match self.host(pa, data.len()) {
            // SAFETY: as above.
            Some(to) => unsafe { to.copy_from(data.as_ptr(), data.len()) },
            None => memory.write(pa, data).unwrap(),
        }
    }
}
