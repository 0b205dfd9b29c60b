// SPDX-License-Identifier: Apache-2.0
//! External ports: AXI masters of a card that are driven from outside, for benches, co-simulation and traces.

use crate::CardError;
use crate::abi::{RawPortDone, RawPortReq};

/// Masters driven from outside, and the record of what reached memory.
pub trait Ports {
    /// Queues every request of `batch`. Requests of a port are offered in order, one a cycle.
    fn submit(&mut self, batch: &PortBatch) -> Result<(), CardError>;

    /// Lets time pass until everything submitted is answered, an interrupt in `irq_mask` is high or `max_cycles` have passed.
    fn drain(&mut self, max_cycles: u64, irq_mask: u32) -> Result<Drained, CardError>;

    /// Takes every answer there is, oldest first, in place of what `answers` held.
    fn poll(&mut self, answers: &mut PortAnswers) -> Result<(), CardError>;

    /// Starts or stops the record of address handshakes on the memory side.
    fn record_events(&mut self, on: bool) -> Result<(), CardError>;

    /// Takes what was recorded.
    fn take_events(&mut self) -> Result<Vec<MemEvent>, CardError>;
}

/// How things stand after [`Ports::drain`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Drained {
    /// The interrupt lines.
    pub irq: u32,
    /// Requests that are not answered.
    pub pending: u64,
}

/// Requests for [`Ports::submit`]. Cleared and filled again it allocates nothing.
#[derive(Default)]
pub struct PortBatch {
    requests: Vec<RawPortReq>,
    /// Write data, back to back in the order of the writes.
    data: Vec<u8>,
    read_bytes: usize,
}

// SAFETY: the pointers in `requests` are null until `raw` returns a view that borrows the batch.
unsafe impl Send for PortBatch {}
// SAFETY: as above; there is no interior mutability.
unsafe impl Sync for PortBatch {}

impl PortBatch {
    /// An empty batch.
    pub fn new() -> Self {
        Self::default()
    }

    /// Removes all requests and keeps the memory.
    pub fn clear(&mut self) {
        self.requests.clear();
        self.data.clear();
        self.read_bytes = 0;
    }

    /// Requests in the batch.
    pub fn len(&self) -> usize {
        self.requests.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }

    /// Adds a read burst of `beats` (1–256) beats of `1 << size` bytes.
    pub fn read(
        &mut self,
        port: u32,
        token: u64,
        id: u8,
        addr: u64,
        beats: usize,
        size: u8,
    ) -> &mut Self {
        let len = beat_count(beats);
        self.read_bytes += beats << size;
        self.push(RawPortReq {
            token,
            addr,
            earliest_cycle: 0,
            data: std::ptr::null(),
            port,
            write: 0,
            id,
            len,
            size,
        })
    }

    /// Adds a write burst of `data`, in beats of `1 << size` bytes.
    ///
    /// # Panics
    /// When `data` is not 1–256 whole beats.
    pub fn write(
        &mut self,
        port: u32,
        token: u64,
        id: u8,
        addr: u64,
        data: &[u8],
        size: u8,
    ) -> &mut Self {
        assert_eq!(data.len() % (1 << size), 0, "write data of whole beats");
        let len = beat_count(data.len() >> size);
        self.data.extend_from_slice(data);
        self.push(RawPortReq {
            token,
            addr,
            earliest_cycle: 0,
            data: std::ptr::null(),
            port,
            write: 1,
            id,
            len,
            size,
        })
    }

    /// Keeps the last request back until `cycle`.
    pub fn not_before(&mut self, cycle: u64) -> &mut Self {
        if let Some(last) = self.requests.last_mut() {
            last.earliest_cycle = cycle;
        }
        self
    }

    fn push(&mut self, request: RawPortReq) -> &mut Self {
        self.requests.push(request);
        self
    }

    /// Bytes the reads will bring.
    pub(crate) fn read_bytes(&self) -> usize {
        self.read_bytes
    }

    /// Calls `f` with the requests as the ABI wants them. `scratch` is kept by the caller to save the allocation.
    pub(crate) fn with_raw<R>(
        &self,
        scratch: &mut Vec<RawPortReq>,
        f: impl FnOnce(&[RawPortReq]) -> R,
    ) -> R {
        scratch.clear();
        let mut offset = 0;
        scratch.extend(self.requests.iter().map(|request| {
            let mut request = *request;
            if request.write != 0 {
                request.data = self.data[offset..].as_ptr().cast();
                offset += (usize::from(request.len) + 1) << request.size;
            }
            request
        }));
        let result = f(scratch);
        scratch.clear();
        result
    }
}

/// AXI's beats - 1.
fn beat_count(beats: usize) -> u8 {
    assert!(
        (1..=256).contains(&beats),
        "a burst has 1 to 256 beats, not {beats}"
    );
    (beats - 1) as u8
}

/// Answers taken by [`Ports::poll`]. Used again it allocates nothing.
#[derive(Default)]
pub struct PortAnswers {
    pub(crate) done: Vec<RawPortDone>,
    pub(crate) data: Vec<u8>,
}

impl PortAnswers {
    /// Room for answers.
    pub fn new() -> Self {
        Self::default()
    }

    /// Answers held.
    pub fn len(&self) -> usize {
        self.done.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.done.is_empty()
    }

    /// The answers, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = PortAnswer<'_>> {
        let mut data = &self.data[..];
        self.done.iter().map(move |done| {
            let (mine, rest) = data.split_at(done.size_bytes as usize);
            data = rest;
            PortAnswer {
                token: done.token,
                offered_cycle: done.offered_cycle,
                accepted_cycle: done.accepted_cycle,
                first_cycle: done.first_cycle,
                done_cycle: done.done_cycle,
                order: done.order,
                resp: done.resp,
                data: mine,
            }
        })
    }
}

/// The answer to one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PortAnswer<'a> {
    /// The request's token.
    pub token: u64,
    /// First cycle with valid high.
    pub offered_cycle: u64,
    /// Cycle of the address handshake.
    pub accepted_cycle: u64,
    /// First data beat, or the write response.
    pub first_cycle: u64,
    /// Last data beat, or the write response.
    pub done_cycle: u64,
    /// How many answers of this port came before.
    pub order: u64,
    /// Worst AXI response of the burst: 0 okay, 2 slave error, 3 decode error.
    pub resp: u32,
    /// Data of a read.
    pub data: &'a [u8],
}

/// An address handshake on the memory side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemEvent {
    /// When.
    pub cycle: u64,
    /// Physical address.
    pub addr: u64,
    /// The port; after the accelerator ports come the command queue's and, last, the walker's.
    pub port: u32,
    /// A write.
    pub write: bool,
    /// AXI ID.
    pub id: u8,
    /// Beats.
    pub beats: u16,
    /// log2 of the bytes a beat.
    pub size: u8,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn write_data_follows_its_request() {
        let mut batch = PortBatch::new();
        batch.read(0, 1, 0, 0x1000, 2, 6);
        batch
            .write(0, 2, 0, 0x2000, &[1; 64], 6)
            .write(1, 3, 5, 0x3000, &[2; 128], 6)
            .not_before(9);
        let mut scratch = Vec::new();
        batch.with_raw(&mut scratch, |raw| {
            assert!(raw[0].data.is_null());
            let [first, second] = [raw[1].data.cast::<u8>(), raw[2].data.cast::<u8>()];
            // SAFETY: both point into the batch's data, of 64 and 128 bytes.
            let (first, second) = unsafe {
                (
                    std::slice::from_raw_parts(first, 64),
                    std::slice::from_raw_parts(second, 128),
                )
            };
            assert!(first.iter().all(|byte| *byte == 1) && second.iter().all(|byte| *byte == 2));
            assert_eq!(
                (raw[2].len, raw[2].id, raw[2].earliest_cycle, raw[2].port),
                (1, 5, 9, 1)
            );
        });
        assert_eq!((batch.len(), batch.read_bytes()), (3, 128));
    }

    #[test]
    fn answers_come_with_their_data() {
        let done = |token, size_bytes| RawPortDone {
            token,
            size_bytes,
            ..Default::default()
        };
        let answers = PortAnswers {
            done: vec![done(1, 2), done(2, 0), done(3, 1)],
            data: vec![7, 8, 9],
        };
        let got: Vec<_> = answers
            .iter()
            .map(|answer| (answer.token, answer.data.to_vec()))
            .collect();
        assert_eq!(got, [(1, vec![7, 8]), (2, vec![]), (3, vec![9])]);
    }

    #[test]
    #[should_panic(expected = "1 to 256 beats, not 257")]
    fn a_burst_longer_than_axi_allows_is_refused() {
        PortBatch::new().read(0, 0, 0, 0, 257, 6);
    }
}
