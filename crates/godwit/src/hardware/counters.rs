// SPDX-License-Identifier: Apache-2.0
//! The hardware's own counters, since reset or the last clear: generated from `spec/events.toml`.

use crate::regs;

/// A counter as it is declared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CounterKind {
    /// Its name within its group.
    pub name: &'static str,
    /// What it counts, in one sentence.
    pub doc: &'static str,
}

/// How wide what is read is: a counter of 64 bits, or a register of 32.
pub(crate) enum Width {
    Counter,
    Register,
}

include!(env!("GODWIT_COUNTERS_RS"));
