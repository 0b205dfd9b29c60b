// SPDX-License-Identifier: Apache-2.0
//! What a launch gives.

use godwit_card::{Kernel, LaunchEnd, Stats};

use crate::{Error, HeapRefusal};

/// Of a kernel that allocates by itself: its status when the heap refused it something is this and the heap's answer.
const REFUSED_BY_HEAP: u64 = 16;

/// What a kernel has done. A card behind the driver tells results only: cycles, times and statistics are 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completion {
    /// Cycles from the start to the end, taken in the card.
    pub cycles: u64,
    /// Virtual time of these cycles, in picoseconds.
    pub time_ps: u64,
    /// Virtual time of the whole launch: arguments written, kernel run, results read. Not the time it waited for others.
    pub launch_ps: u64,
    /// Cycle of the card in which it was started.
    pub start_cycle: u64,
    /// Cycle of the card in which it ended.
    pub end_cycle: u64,
    /// How the end was seen: a kernel without an interrupt is asked, so that its end lies up to one asking earlier.
    pub end: LaunchEnd,
    /// From the start to the end: bursts and bytes of reads, writes and host accesses are the kernel's own; the rest is
    /// what the card did, for kernels beside this one too.
    pub stats: Stats,
    /// Result registers, in the kernel's order.
    pub results: Vec<(String, u64)>,
}

impl Completion {
    /// The end itself, or the error that the kernel's status says it is.
    pub(crate) fn checked(self, kernel: &Kernel) -> Result<Self, Error> {
        let status = kernel.status();
        match status.and_then(|arg| Some((arg, self.result(&arg.name)?))) {
            Some((arg, value)) if value != 0 => Err(Error::Status {
                kernel: kernel.name.clone(),
                value,
                meaning: refusal(kernel, value).map_or_else(
                    || arg.description.clone(),
                    |refusal| format!("the heap refused it memory: {refusal}"),
                ),
                completion: Box::new(self),
            }),
            _ => Ok(self),
        }
    }

    /// The result register `name`.
    pub fn result(&self, name: &str) -> Option<u64> {
        self.results
            .iter()
            .find(|(result, _)| result == name)
            .map(|(_, value)| *value)
    }
}

/// What the heap refused a kernel, if its status says so.
fn refusal(kernel: &Kernel, status: u64) -> Option<HeapRefusal> {
    let code = kernel
        .allocates
        .then(|| status.checked_sub(REFUSED_BY_HEAP))?;
    HeapRefusal::of(u32::try_from(code?).ok()?)
}
