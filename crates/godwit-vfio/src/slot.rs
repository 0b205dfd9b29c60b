// SPDX-License-Identifier: Apache-2.0
//! Where a card is: it can be pulled out, and another one put in.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use godwit_card::{CardError, Device};

/// What is in a slot.
const CARD: u8 = 0;
const NOTHING: u8 = 1;
/// A card that has not been powered up yet.
const NEW_CARD: u8 = 2;

/// The slot of a card: pulls it out and puts another one in, from any thread.
#[derive(Clone, Default)]
pub struct Slot(Arc<AtomicU8>);

impl Slot {
    /// From now on the card does nothing, and whatever is read of it reads as ones. Device memory that a client has mapped stays
    /// what it was.
    pub fn remove(&self) {
        self.0.store(NOTHING, Ordering::Relaxed);
    }

    /// Puts a spare card where one was pulled out; without spares, or where there is a card, nothing happens.
    pub fn insert(&self) {
        self.change(NOTHING, NEW_CARD);
    }

    pub(crate) fn has_card(&self) -> bool {
        self.0.load(Ordering::Relaxed) == CARD
    }

    pub(crate) fn has_new_card(&self) -> bool {
        self.0.load(Ordering::Relaxed) == NEW_CARD
    }

    /// The new card has power; it may be out again by now.
    pub(crate) fn powered_up(&self) {
        self.change(NEW_CARD, CARD);
    }

    fn change(&self, from: u8, to: u8) {
        let _ = self
            .0
            .compare_exchange(from, to, Ordering::Relaxed, Ordering::Relaxed);
    }
}

/// Makes cards of the same kind as the first.
pub type Spares = Box<dyn FnMut() -> Result<Box<dyn Device>, CardError> + Send>;
