// SPDX-License-Identifier: Apache-2.0
//! Pages between host memory and frames, by the card's page DMA.

use std::sync::Arc;

use godwit::{Error, FRAME_BYTES, Memory, Move, Side};

/// Where they are on the bus meanwhile: above all addresses of a process, below what the runtime has there.
const BUS: u64 = 1 << 52;

/// Moves the pages of `data` to the frames `to`, and those of the frames `back` to what is returned, as one list in which both
/// directions take turns. Only the list takes time of the card's.
pub(crate) fn exchange(
    card: &godwit::Card,
    data: &[u8],
    to: &[u64],
    back: &[u64],
) -> Result<Vec<u8>, Error> {
    let pages = to.len() + back.len();
    if data.len() as u64 != to.len() as u64 * FRAME_BYTES || pages == 0 {
        return Err(Error::Argument(format!(
            "{} bytes for {} pages of {FRAME_BYTES} bytes, and {} back",
            data.len(),
            to.len(),
            back.len()
        )));
    }
    let memory = Arc::new(Memory::new(pages as u64 * FRAME_BYTES).map_err(Error::from)?);
    memory.write(0, data)?;
    let places = |frames: &[u64], first: usize| -> Vec<(Side, Side)> {
        let host = (first as u64..).map(|page| Side::Host(BUS + page * FRAME_BYTES));
        host.zip(frames.iter().map(|frame| Side::Device(*frame)))
            .collect()
    };
    let (ins, outs) = (places(to, 0), places(back, to.len()));
    let copy = |from, to| Move::Copy {
        from,
        to,
        len: FRAME_BYTES,
    };
    let mut moves = Vec::with_capacity(pages);
    for page in 0..ins.len().max(outs.len()) {
        moves.extend(ins.get(page).map(|(host, device)| copy(*host, *device)));
        moves.extend(outs.get(page).map(|(host, device)| copy(*device, *host)));
    }
    card.set_host_window(BUS, Some(Arc::clone(&memory)))?;
    let moved = card.transfer(&moves).and_then(|list| list.wait());
    card.set_host_window(BUS, None)?;
    moved?;
    let mut out = vec![0; back.len() * FRAME_BYTES as usize];
    memory.read(data.len() as u64, &mut out)?;
    Ok(out)
}
