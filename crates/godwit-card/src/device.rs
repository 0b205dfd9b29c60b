// SPDX-License-Identifier: Apache-2.0
//! What every backend of the runtime can do.

use std::sync::Arc;

use crate::{CardError, Description, Memory, Ports};

/// A card, whatever stands behind it. Calls take `&mut self`: a card does one thing at a time.
///
/// Time only passes inside these calls; [`Stats::time_ps`] is the card's virtual time.
pub trait Device: Send {
    /// What the card is.
    fn description(&self) -> &Description;

    /// Device memory. It may be kept longer than the card is open.
    fn memory(&self) -> &Arc<Memory>;

    /// Reads a register of the card's register space.
    fn reg_read(&mut self, offset: u64) -> Result<u32, CardError>;

    /// Writes a register of the card's register space.
    fn reg_write(&mut self, offset: u64, value: u32) -> Result<(), CardError>;

    /// Lets time pass until an interrupt in `irq_mask` is high or `max_cycles` have passed; returns all interrupt lines
    /// (bit 0: the MMU, bit 1 + k: kernel k, bit 31: the page DMA).
    fn run(&mut self, max_cycles: u64, irq_mask: u32) -> Result<u32, CardError>;

    /// Interrupt lines that rose since the last call: what message-signalled interrupts are sent for. A backend whose lines
    /// are interrupts of this machine already has none.
    fn take_rises(&mut self) -> u32 {
        0
    }

    /// Lets the time of a copy over the host link pass that the caller makes itself, through the mapped memory.
    fn charge_copy(&mut self, to_device: bool, addr: u64, len: u64) -> Result<(), CardError>;

    /// Lets the card reach `memory` at bus address `bus_addr` of the host aperture, in place of what was there; `None`
    /// takes it away.
    fn set_host_window(
        &mut self,
        bus_addr: u64,
        memory: Option<Arc<Memory>>,
    ) -> Result<(), CardError>;

    /// Lets the card reach `len` bytes of this process's memory, from `addr` on, at the bus addresses of the same numbers. Whole
    /// lines of 64 bytes; windows do not overlap.
    ///
    /// # Safety
    /// Until [`Device::close_process_window`], or the card's end, the memory can be read and written by the thread that lets the
    /// card's time pass, and nobody minds what the card writes.
    unsafe fn open_process_window(&mut self, addr: u64, len: u64) -> Result<(), CardError> {
        Err(CardError::Invalid(format!(
            "this card cannot reach memory of this process ({len} bytes at {addr:#x})"
        )))
    }

    /// Ends that for the window that begins at `addr`.
    fn close_process_window(&mut self, addr: u64) -> Result<(), CardError> {
        Err(CardError::Invalid(format!(
            "no window of this process's memory begins at {addr:#x}"
        )))
    }

    /// What the card has done since it was opened.
    fn stats(&self) -> Result<Stats, CardError>;

    /// The latest launch of the kernel in `slot`, as the card itself saw it; `None` when it has seen none.
    fn launch_times(&self, slot: u32) -> Result<Option<LaunchTimes>, CardError>;

    /// Resets the card, as its power-up does: registers are what they were when it was opened, nothing that was under way comes to
    /// an end, and host memory is not reached. [`Device::memory`] stays the same memory, and reads as zeros.
    ///
    /// # Errors
    /// The card cannot be reset, and is as it was.
    fn reset(&mut self) -> Result<(), CardError> {
        let name = &self.description().name;
        Err(CardError::Invalid(format!(
            "card `{name}` cannot be reset: close it and open it again"
        )))
    }

    /// The masters driven from outside; `None` where there cannot be any.
    fn ports(&mut self) -> Option<&mut dyn Ports>;
}

/// What a card has done since it was opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stats {
    /// Clock cycles.
    pub cycles: u64,
    /// Virtual time: cycles, and link time with the clock standing, in picoseconds.
    pub time_ps: u64,
    /// ... of which modelled link time with the clock standing.
    pub link_ps: u64,
    /// Bytes that crossed the host link.
    pub link_bytes: u64,
    /// Read bursts served by device memory, page-table reads not counted.
    pub reads: u64,
    /// Write bursts served by device memory.
    pub writes: u64,
    /// Bytes of these reads.
    pub read_bytes: u64,
    /// Bytes of these writes.
    pub write_bytes: u64,
    /// Bursts from the walker's port.
    pub pt_reads: u64,
    /// Row-buffer hits (memory model `banked` only).
    pub row_hits: u64,
    /// Row-buffer misses (memory model `banked` only).
    pub row_misses: u64,
    /// Reads served through the host aperture.
    pub host_reads: u64,
    /// Writes served through the host aperture.
    pub host_writes: u64,
}

/// A launch's times, taken in the card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaunchTimes {
    /// The write of the start bit was answered.
    pub start_cycle: u64,
    /// The end; now, while it runs.
    pub end_cycle: u64,
    /// What the end is.
    pub end: LaunchEnd,
    /// From start to end: bursts and bytes of reads, writes and host accesses are the kernel's own, the rest is what the
    /// card did, for other kernels too if there were any at work.
    pub stats: Stats,
}

/// What ended a launch, as far as the card saw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LaunchEnd {
    /// Nothing yet.
    Running,
    /// The rise of the kernel's interrupt: the cycle is exact.
    Interrupt,
    /// The host's read of `ap_ctrl` that said done: the kernel was done at some time since the read before it.
    Polled,
}

impl Stats {
    /// What happened between `earlier` and now.
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            cycles: self.cycles - earlier.cycles,
            time_ps: self.time_ps - earlier.time_ps,
            link_ps: self.link_ps - earlier.link_ps,
            link_bytes: self.link_bytes - earlier.link_bytes,
            reads: self.reads - earlier.reads,
            writes: self.writes - earlier.writes,
            read_bytes: self.read_bytes - earlier.read_bytes,
            write_bytes: self.write_bytes - earlier.write_bytes,
            pt_reads: self.pt_reads - earlier.pt_reads,
            row_hits: self.row_hits - earlier.row_hits,
            row_misses: self.row_misses - earlier.row_misses,
            host_reads: self.host_reads - earlier.host_reads,
            host_writes: self.host_writes - earlier.host_writes,
        }
    }
}
