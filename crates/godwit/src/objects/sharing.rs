// SPDX-License-Identifier: Apache-2.0
//! An address space on a card as one that has pages of the program.

use std::sync::Arc;

use crate::Error;
use crate::hardware::page_queue::PageRequest;
use crate::objects::card::Shared;
use crate::objects::card_side::{CardSide, Place};
use crate::state::served::PageServer;
use crate::svm::{Answer, Asked, Asker, OwnerId, Pager, Questions};

/// The program's memory is shared with an address space; ends with it.
pub(crate) struct Sharing {
    pub pager: Arc<Pager>,
    pub owner: OwnerId,
}

impl Sharing {
    /// Shares with the context of this number and serial number.
    pub fn start(shared: &Arc<Shared>, id: usize, serial: u64) -> Result<Self, Error> {
        let thread = shared.with(|state| {
            state.context(id, serial)?;
            Ok(rustix::thread::gettid().as_raw_nonzero().get() as u32)
        })?;
        let pager = Pager::of_process()?;
        let place = Place {
            shared: Arc::downgrade(shared),
            id,
            serial,
        };
        let side = CardSide::new(shared, place.clone(), Arc::clone(&pager), thread);
        let asks = side.asks();
        shared.with(|state| state.track_writes(id, serial))?;
        let owner = pager.attach(Box::new(side))?;
        shared.remember(&pager, owner);
        let sharing = Self { pager, owner };
        if asks {
            let server = Arc::new(Server {
                pager: Arc::clone(&sharing.pager),
                owner,
                place,
            });
            if let Err(error) = shared.with(|state| state.serve_by(id, serial, server)) {
                sharing.end(shared);
                return Err(error);
            }
        }
        Ok(sharing)
    }

    /// Brings everything home.
    pub fn end(&self, shared: &Shared) {
        // Without a pager nothing is away.
        let _ = self.pager.detach(self.owner);
        shared.forget(self.owner);
    }
}

/// Hands pages that kernels ask for to the pager.
struct Server {
    pager: Arc<Pager>,
    owner: OwnerId,
    place: Place,
}

impl PageServer for Server {
    fn serve(&self, requests: Vec<PageRequest>, now_ps: u64) {
        let asked = |request: &PageRequest| Asked {
            va: request.va,
            write: request.write,
            group: request.group,
        };
        let asked = requests.iter().map(asked).collect();
        let asker = Box::new(self.place.clone());
        let questions = Questions::new(asked, now_ps, asker);
        self.pager.ask(self.owner, questions);
    }
}

impl Asker for Place {
    fn answer(&self, answers: Vec<Answer>) {
        let Some(shared) = self.shared.upgrade() else {
            return;
        };
        let (id, serial) = (self.id, self.serial);
        shared.post(move |state| {
            // A broken card is not run any more: what it might still read or write is the program's again.
            let Some(state) = state.as_mut().filter(|state| state.broken.is_none()) else {
                return;
            };
            if let Err(error) = state.answer_pages(id, serial, answers) {
                state.break_down(error);
            }
        });
    }
}
