// SPDX-License-Identifier: Apache-2.0
//! Pages of the program that stay in the host's memory, where kernels reach them over the link.

use godwit_core::layout;

use crate::Error;
use crate::hardware::frames::{Extent, FRAME_BYTES};
use crate::state::State;
use crate::state::costs::Work;
use crate::svm::Piece;

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

/// What kernels that reach these ranges no longer wrote there is there when this returns, and the card has forgotten it. The host's work
/// is charged as for pages that come home.
pub(crate) fn settle(state: &mut State, ranges: &[(u64, u64)]) -> Result<(), Error> {
    let bytes: u64 = ranges.iter().map(|(_, len)| len).sum();
    state.flush(Some(ranges))?;
    state.host_works(Work::Return {
        pages: bytes / FRAME_BYTES,
        first: true,
    })
}
