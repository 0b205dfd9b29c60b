// SPDX-License-Identifier: Apache-2.0
//! Which pages a card has.

use godwit_card::{Description, NapotConfig};
use godwit_core::{Napot, PageSize};

use super::card::Card;
use crate::Error;

/// The pages that the walker of a card knows.
pub fn pages_of(card: &Description) -> Napot {
    match card.config.walker.napot {
        NapotConfig::Svnapot => Napot::Svnapot,
        NapotConfig::Any => Napot::Any,
    }
}

impl Card {
    /// The pages that its walker knows.
    pub fn pages(&self) -> Napot {
        pages_of(self.description())
    }

    /// Refuses pages that it does not walk.
    pub(crate) fn check_page(&self, page: PageSize) -> Result<(), Error> {
        let pages = self.pages();
        if pages.has(page) {
            return Ok(());
        }
        let known = match pages {
            Napot::Svnapot => {
                "4 KiB, 64 KiB, 2 MiB and 1 GiB; a card with walker.napot = \"any\" walks every power of two"
            }
            Napot::Any => "each power of two from 4 KiB to 1 GiB",
        };
        Err(Error::Argument(format!(
            "the card has no pages of {page}: it walks {known}"
        )))
    }
}
