// SPDX-License-Identifier: Apache-2.0
//! Pages of the program that stay in the host's memory, where kernels reach them over the link.

use std::sync::{Arc, Weak};

use godwit_card::Config;
use godwit_core::layout;

use crate::Error;
use crate::hardware::frames::Extent;
use crate::hardware::line_counters::LineReport;
use crate::objects::card::Shared;
use crate::state::State;
use crate::state::lines::{LineWatcher, page_costs};
use crate::svm::{Crossed, PageCosts, Pager, Piece, PinId};

/// Where a piece is for the card, when it is used where its bytes are.
pub(crate) fn of_piece(piece: &Piece) -> Option<Extent> {
    let from = piece.from.filter(|_| piece.in_place)?;
    let (pa, len) = (layout::HOST_APERTURE_BASE | from, piece.len);
    Some(Extent { pa, len })
}

/// Whether it is the host's memory.
pub(crate) fn is_host(extent: &Extent) -> bool {
    extent.pa >= layout::HOST_APERTURE_BASE
}

/// Those of the host's memory, in order, neighbours together: physical addresses and bytes.
pub(crate) fn ranges(extents: impl Iterator<Item = Extent>) -> Vec<(u64, u64)> {
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    for Extent { pa, len } in extents.filter(is_host) {
        match ranges.last_mut() {
            Some((at, bytes)) if *at + *bytes == pa => *bytes += len,
            _ => ranges.push((pa, len)),
        }
    }
    ranges
}

/// What kernels that reach these ranges no longer wrote there is there when this returns, and the card has forgotten it. Returns the lines that
/// crossed the link and that nobody heard of, if they are to be `counted`.
pub(crate) fn settle(
    state: &mut State,
    ranges: &[(u64, u64)],
    counted: bool,
) -> Result<Vec<Crossed>, Error> {
    state.flush(Some(ranges))?;
    let reports = state.clear_lines(ranges, counted)?;
    Ok(reports.iter().map(crossed).collect())
}

fn crossed(report: &LineReport) -> Crossed {
    Crossed {
        at: report.pa & !layout::HOST_APERTURE_BASE,
        lines: report.lines,
    }
}

/// What pages cost on a card that can count which of them cross the link.
pub(crate) fn costs(config: &Config) -> Option<PageCosts> {
    (config.page_cache.counters > 0).then(|| page_costs(config))
}

/// Tells the pager which groups of its memory cross the link.
pub(crate) struct Watcher {
    pager: Arc<Pager>,
    shared: Weak<Shared>,
    memory: usize,
}

impl Watcher {
    pub fn new(pager: &Arc<Pager>, shared: &Weak<Shared>, memory: usize) -> Self {
        Self {
            pager: Arc::clone(pager),
            shared: Weak::clone(shared),
            memory,
        }
    }
}

impl LineWatcher for Watcher {
    fn crossed(&self, reports: Vec<LineReport>, line_ps: u64, of: Option<PinId>) {
        let crossed = reports.iter().map(crossed).collect();
        let seen = Seen(Weak::clone(&self.shared));
        self.pager.crossed(self.memory, crossed, line_ps, of, seen);
    }
}

/// Dropped, the card's clock runs on.
struct Seen(Weak<Shared>);

impl Drop for Seen {
    fn drop(&mut self) {
        let Some(shared) = self.0.upgrade() else {
            return;
        };
        shared.post(|state| {
            if let Some(state) = state {
                state.lines_seen();
            }
        });
    }
}
