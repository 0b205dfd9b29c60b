// SPDX-License-Identifier: Apache-2.0
//! Memory of other cards in this process, from which a card takes pages: its page DMA reads it over its link at the addresses that it has
//! in the process.

use std::sync::{Arc, PoisonError};

use godwit_card::Memory;

use crate::Error;
use crate::hardware::frames::Extent;
use crate::objects::card::Shared;
use crate::state::State;
use crate::state::steps::Step;

/// Lets a card reach the memory of another, until [`end`] or its own end; false where it cannot.
pub(crate) fn reach(shared: &Shared, memory: &Arc<Memory>) -> bool {
    let at = memory.address();
    let mut known = shared.peers.lock().unwrap_or_else(PoisonError::into_inner);
    if known.contains(&at) {
        return true;
    }
    let opened = shared.with(|state| {
        let window = Some(Arc::clone(memory));
        Ok(state.device.set_host_window(at, window)?)
    });
    if opened.is_ok() {
        known.insert(at);
    }
    opened.is_ok()
}

/// Ends that for the memory at an address.
pub(crate) fn end(shared: &Shared, at: u64) {
    let mut known = shared.peers.lock().unwrap_or_else(PoisonError::into_inner);
    if known.remove(&at) {
        // Closed or broken, the card reaches nothing any more.
        let _ = shared.with_any(|state| Ok(state.device.set_host_window(at, None)?));
    }
}

/// Lets the time pass in which another card reads memory of this one over its link.
pub(crate) fn send(state: &mut State, read: impl Iterator<Item = Extent>) -> Result<(), Error> {
    state.timed(Step::Link, |state| {
        for Extent { pa, len } in read {
            state.device.charge_copy(false, pa, len)?;
        }
        Ok(())
    })
}
