// SPDX-License-Identifier: Apache-2.0
//! MSI-X vectors: an event file each, signalled when the card's line rises.
//!
//! A line is a level, a message is an edge. What is sent is one message a rise, as the card itself saw it, so that a line which
//! fell and rose again within one register access sends one, too.

use std::io;
use std::os::fd::OwnedFd;

use godwit_core::layout;
use rustix::io::Errno;

use crate::protocol::flags;

pub(crate) struct Vectors {
    events: Vec<Option<OwnedFd>>,
    /// Messages sent, those without a taker included.
    sent: u64,
}

impl Vectors {
    /// One for the MMU, one for the page DMA, and one a kernel.
    pub fn new(kernels: u32) -> Self {
        let count = layout::PCI_VECTOR_KERNEL0 + kernels;
        Self {
            events: (0..count).map(|_| None).collect(),
            sent: 0,
        }
    }

    /// No vector has a taker until the client names one again: a function that was reset sends nothing before MSI-X is turned on.
    pub fn reset(&mut self) {
        self.events.iter_mut().for_each(|to| *to = None);
    }

    pub fn count(&self) -> u32 {
        self.events.len() as u32
    }

    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// Changes where vectors go, or raises some, as the protocol's SET_IRQS says.
    pub fn set(
        &mut self,
        what: u32,
        start: u32,
        count: u32,
        data: &[u8],
        fds: Vec<OwnedFd>,
    ) -> Result<(), Errno> {
        let end = start.checked_add(count).ok_or(Errno::INVAL)?;
        if end > self.count() || what & flags::SET_ACTION_TRIGGER == 0 {
            return Err(Errno::INVAL);
        }
        let range = start as usize..end as usize;
        match what & !flags::SET_ACTION_TRIGGER {
            flags::SET_DATA_NONE if count == 0 => self.reset(),
            flags::SET_DATA_NONE => range.for_each(|vector| self.send(vector)),
            flags::SET_DATA_BOOL => {
                let wanted = data.get(..count as usize).ok_or(Errno::INVAL)?;
                let raised = range.zip(wanted).filter(|(_, raise)| **raise != 0);
                raised.for_each(|(vector, _)| self.send(vector));
            }
            flags::SET_DATA_EVENTFD if fds.is_empty() => {
                self.events[range].iter_mut().for_each(|to| *to = None);
            }
            flags::SET_DATA_EVENTFD if fds.len() == count as usize => {
                for (to, fd) in self.events[range].iter_mut().zip(fds) {
                    *to = Some(fd);
                }
            }
            _ => return Err(Errno::INVAL),
        }
        Ok(())
    }

    /// Sends what lines that have risen stand for.
    pub fn lines_rose(&mut self, rises: u32) {
        for line in (0..u32::BITS).filter(|line| rises >> line & 1 != 0) {
            let vector = match 1 << line {
                bit if bit == layout::IRQ_MMU => layout::PCI_VECTOR_MMU,
                bit if bit == layout::IRQ_DMA => layout::PCI_VECTOR_DMA,
                _ => layout::PCI_VECTOR_KERNEL0 + line - layout::IRQ_KERNEL0.trailing_zeros(),
            };
            self.send(vector as usize);
        }
    }

    /// A vector without a taker is lost, as a masked one of a device without pending bits is.
    pub fn send(&mut self, vector: usize) {
        let Some(to) = self.events.get_mut(vector) else {
            return;
        };
        self.sent += 1;
        let failed = to.as_ref().map(signal).is_some_and(|sent| sent.is_err());
        if failed {
            *to = None;
        }
    }
}

/// Adds one to an event file; one that is full says already what it should.
fn signal(event: &OwnedFd) -> Result<(), Errno> {
    match rustix::io::write(event, &1u64.to_ne_bytes()) {
        Err(errno) if io::Error::from(errno).kind() != io::ErrorKind::WouldBlock => Err(errno),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::event::{EventfdFlags, eventfd};

    fn event() -> (OwnedFd, OwnedFd) {
        let event = eventfd(0, EventfdFlags::NONBLOCK).unwrap();
        let theirs = event.try_clone().unwrap();
        (event, theirs)
    }

    /// How often it was signalled since the last look.
    fn count(event: &OwnedFd) -> u64 {
        let mut bytes = [0; 8];
        match rustix::io::read(event, &mut bytes) {
            Ok(_) => u64::from_ne_bytes(bytes),
            Err(_) => 0,
        }
    }

    const ASSIGN: u32 = flags::SET_DATA_EVENTFD | flags::SET_ACTION_TRIGGER;
    const RAISE: u32 = flags::SET_DATA_NONE | flags::SET_ACTION_TRIGGER;

    #[test]
    fn each_line_has_its_vector() {
        let mut vectors = Vectors::new(2);
        let (events, theirs): (Vec<_>, Vec<_>) = (0..4).map(|_| event()).unzip();
        vectors.set(ASSIGN, 0, 4, &[], theirs).unwrap();
        let sent = |vectors: &mut Vectors, rises| {
            vectors.lines_rose(rises);
            events.iter().map(count).collect::<Vec<_>>()
        };
        assert_eq!(sent(&mut vectors, 1), [1, 0, 0, 0]);
        assert_eq!(sent(&mut vectors, 1 << 31), [0, 1, 0, 0]);
        assert_eq!(sent(&mut vectors, 0b110), [0, 0, 1, 1]);
        assert_eq!(sent(&mut vectors, 0b1000), [0; 4]);
    }

    #[test]
    fn vectors_are_given_raised_and_taken_away() {
        let mut vectors = Vectors::new(1);
        let (ours, theirs) = event();
        vectors.set(ASSIGN, 1, 1, &[], vec![theirs]).unwrap();
        vectors.set(RAISE, 0, 3, &[], vec![]).unwrap();
        assert_eq!(count(&ours), 1);
        let by_byte = flags::SET_DATA_BOOL | flags::SET_ACTION_TRIGGER;
        vectors.set(by_byte, 0, 3, &[1, 0, 1], vec![]).unwrap();
        assert_eq!(count(&ours), 0);
        vectors.set(RAISE, 0, 0, &[], vec![]).unwrap();
        vectors.lines_rose(1 << 31);
        assert_eq!(count(&ours), 0);
    }

    #[test]
    fn what_does_not_fit_changes_nothing() {
        let mut vectors = Vectors::new(1);
        let (ours, theirs) = event();
        vectors.set(ASSIGN, 0, 1, &[], vec![theirs]).unwrap();
        let refused = [
            vectors.set(ASSIGN, 0, 2, &[], vec![event().1]),
            vectors.set(RAISE, 2, 2, &[], vec![]),
            vectors.set(RAISE, u32::MAX, 2, &[], vec![]),
            vectors.set(flags::SET_DATA_NONE, 0, 1, &[], vec![]),
            vectors.set(
                flags::SET_DATA_BOOL | flags::SET_ACTION_TRIGGER,
                0,
                2,
                &[1],
                vec![],
            ),
        ];
        assert_eq!(refused, [Err(Errno::INVAL); 5]);
        vectors.lines_rose(1);
        assert_eq!(count(&ours), 1);
    }
}
