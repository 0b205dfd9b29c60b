// SPDX-License-Identifier: Apache-2.0
//! What a line of 64 bytes was, and what whoever looks at it may find.
//!
//! A write is two times: from the first on its bytes may be seen, and whatever begins behind the second sees them, or what
//! was written over them. So a byte that is looked at from `since` to `until` is of a write that had begun by `until` and that
//! nothing followed which was over before `since`.

/// The host, beside the numbers of the ports.
pub const HOST: u32 = u32::MAX;
pub const LINE: usize = 64;

/// Bytes of a line that were written at once: a beat of a port, or what the host wrote.
#[derive(Debug, Clone)]
pub struct Write {
    pub writer: u32,
    /// Writes of one writer are done in this order.
    pub order: u64,
    pub begin: u64,
    pub end: u64,
    /// When a port had seen it: it may have been done long before it was answered.
    seen: u64,
    /// It was answered with an error of the link: it may be there, or not.
    pub perhaps: bool,
    /// A bit a byte.
    pub strobe: u64,
    pub data: [u8; LINE],
}

impl Write {
    pub fn new(writer: u32, order: u64, (begin, end): (u64, u64), at: usize, bytes: &[u8]) -> Self {
        let mut data = [0; LINE];
        data[at..at + bytes.len()].copy_from_slice(bytes);
        Self {
            writer,
            order,
            begin,
            end,
            seen: end,
            perhaps: false,
            strobe: u64::MAX >> (LINE - bytes.len()) << at,
            data,
        }
    }

    /// Whether `later` is certainly written over it.
    fn before(&self, later: &Self) -> bool {
        self.end < later.begin || (self.writer == later.writer && self.order < later.order)
    }
}

/// Who looks at a line, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// A port: what one has seen every later look of a port sees, wherever the line is.
    pub port: bool,
    pub since: u64,
    pub until: u64,
}

/// All writes of a line that a look may still find.
#[derive(Debug, Clone)]
pub struct Line {
    writes: Vec<Write>,
}

impl Line {
    /// A line that always was so.
    pub fn new(data: &[u8]) -> Self {
        let mut line = Self { writes: Vec::new() };
        line.set(data);
        line
    }

    /// Forgets all but this content.
    pub fn set(&mut self, data: &[u8]) {
        self.writes.clear();
        self.writes.push(Write::new(HOST, 0, (0, 0), 0, data));
    }

    pub fn add(&mut self, write: Write) {
        self.writes.push(write);
    }

    /// Whether it is as [`Line::set`] left it.
    pub fn untouched(&self) -> bool {
        self.writes.len() == 1
    }

    /// Whether a look may find these bytes from byte `at` on; otherwise the first that it cannot.
    pub fn check(&mut self, at: usize, found: &[u8], look: Look) -> Result<(), usize> {
        for (byte, value) in (at..).zip(found) {
            let mut candidates = self.candidates(byte, *value, look);
            let Some(first) = candidates.next() else {
                return Err(byte);
            };
            if candidates.next().is_none() && look.port {
                drop(candidates);
                let write = &mut self.writes[first];
                write.seen = write.seen.min(look.until);
            }
        }
        Ok(())
    }

    /// Writes that a byte of this value may be of.
    fn candidates(&self, byte: usize, value: u8, look: Look) -> impl Iterator<Item = usize> {
        let covers = move |write: &Write| write.strobe >> byte & 1 != 0;
        let over = move |write: &Write| {
            let end = if look.port { write.seen } else { write.end };
            end < look.since && !write.perhaps
        };
        let possible = move |write: &Write| {
            covers(write) && write.data[byte] == value && write.begin <= look.until
        };
        let gone = move |write: &Write| {
            let mut later = self.writes.iter().filter(|later| covers(later));
            later.any(|later| over(later) && write.before(later))
        };
        let numbered = self.writes.iter().enumerate();
        numbered
            .filter(move |(_, write)| possible(write) && !gone(write))
            .map(|(number, _)| number)
    }

    /// What was written to a byte, for a message.
    pub fn of_byte(&self, byte: usize) -> String {
        let of = self
            .writes
            .iter()
            .filter(|write| write.strobe >> byte & 1 != 0);
        let words = of.map(|write| {
            let writer = match write.writer {
                HOST => "host".to_owned(),
                port => format!("port {port}"),
            };
            let perhaps = if write.perhaps { " perhaps" } else { "" };
            format!(
                "{:#04x} by {writer} in {}..={}{perhaps}",
                write.data[byte], write.begin, write.end
            )
        });
        words.collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(since: u64, until: u64) -> Look {
        Look {
            port: true,
            since,
            until,
        }
    }

    fn line() -> Line {
        let mut line = Line::new(&[1; LINE]);
        line.add(Write::new(0, 1, (10, 20), 0, &[2; 4]));
        line
    }

    #[test]
    fn under_way_a_write_may_be_seen_or_not_and_then_it_is() {
        assert_eq!(line().check(0, &[2; 4], look(0, 9)), Err(0));
        for value in [1, 2] {
            assert_eq!(line().check(0, &[value; 4], look(15, 16)), Ok(()));
        }
        assert_eq!(line().check(0, &[1; 4], look(21, 30)), Err(0));
        assert_eq!(line().check(4, &[1; 4], look(21, 30)), Ok(()));
        assert_eq!(line().check(2, &[2; 4], look(21, 30)), Err(4));
    }

    #[test]
    fn what_was_seen_once_is_seen_by_all_that_begin_later() {
        let mut line = line();
        assert_eq!(line.check(0, &[2], look(11, 12)), Ok(()));
        assert_eq!(line.check(0, &[1], look(13, 14)), Err(0));
        let host = Look {
            port: false,
            ..look(13, 14)
        };
        assert_eq!(line.check(0, &[1], host), Ok(()));
    }

    #[test]
    fn a_writers_own_order_counts_and_an_error_decides_nothing() {
        let mut own = line();
        own.add(Write::new(0, 2, (11, 22), 0, &[3]));
        own.add(Write::new(1, 0, (11, 22), 1, &[4]));
        assert_eq!(own.check(0, &[2], look(23, 24)), Err(0));
        for value in [2, 4] {
            assert_eq!(own.check(1, &[value], look(23, 24)), Ok(()));
        }
        let mut perhaps = line();
        perhaps.add(Write {
            perhaps: true,
            ..Write::new(0, 2, (11, 22), 0, &[3])
        });
        for value in [2, 3] {
            assert_eq!(perhaps.check(0, &[value], look(23, 24)), Ok(()));
        }
    }
}
