// SPDX-License-Identifier: Apache-2.0
//! What the pager wants of those that have pages: an address space on a card.

use crate::Error;

/// Pages that an owner gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Piece {
    /// First address for program and card; pages in a row.
    pub va: u64,
    /// Bytes, whole pages.
    pub len: u64,
    /// Where their bytes are in this process; without, they are zero.
    pub from: Option<u64>,
    /// The card may write them.
    pub writable: bool,
}

/// Pages that an owner loses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Leaving {
    /// First address.
    pub va: u64,
    /// Bytes, whole pages.
    pub len: u64,
    /// Their bytes are fetched; without, they are of no more use.
    pub fetched: bool,
}

/// One that has pages. Called by the pager's thread only; none of it may touch memory of the program other than that of the pieces.
pub(crate) trait Owner: Send {
    /// Takes all these pages, or none.
    fn take(&mut self, pieces: &[Piece]) -> Result<(), Error>;

    /// Lets the card write pages that it has.
    fn allow_writes(&mut self, va: u64, len: u64) -> Result<(), Error>;

    /// Returns when nothing on the card can reach these pages any more. An owner that is gone or broken reaches none.
    fn withdraw(&mut self, leaving: &[Leaving]);

    /// Copies the bytes of pages that it has.
    fn fetch(&self, va: u64, to: &mut [u8]);

    /// Ends its having pages that were withdrawn.
    fn release(&mut self, va: u64, len: u64);

    /// Its own thread, which must never wait for the pager. It lives as long as the owner does.
    fn thread(&self) -> u32;
}
