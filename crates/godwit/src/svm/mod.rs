// SPDX-License-Identifier: Apache-2.0
//! Memory of the program that moves to cards and back: the pager.
//!
//! One thread a process, the *pager*, knows where every shared page is ([`blocks`]) and is the only one that moves any. It hears by
//! userfaultfd ([`uffd`]) who touches a page that is away and what becomes of the address space ([`events`]), and takes
//! orders from everybody else ([`pager`]). What a card does is behind [`Owner`]: this floor knows no card.
//!
//! - **A page moves when all of it is the caller's**: it lies wholly in the memory that was given. The page itself changes its place
//!   (`UFFDIO_MOVE`) into the [`memory::Shadow`], from where the card gets its copy: no store can be lost in between, and a page that
//!   the card did not write comes home without a copy.
//! - **What cannot move is lent** ([`lend`]): pages that the memory covers in part only, and arenas of `malloc` ([`arena`]), where the
//!   allocator's or the runtime's own data may lie; mappings of files, shared memory, huge pages of hugetlbfs, pinned pages. A launch gets a copy, and what it
//!   changed is merged in at its end.
//! - **Cards that ask for pages** ([`asked`]) get them while kernels run, with neighbours that the policies of `core/` name; who touches one
//!   takes it back, and the kernel asks again. On others **a launch holds its pages** until it has ended: who touches one meanwhile
//!   waits.
//! - **What is used in place** ([`advice`]) leaves the program in the same way and goes no further than the shadow, where the card reaches it; which pages, the program says, or what was
//!   [seen](stays) of them.
//! - **What another card has** goes from one to the other ([`across`]), where the one reaches the memory of the other.
//! - **A card whose memory is full** gives pages back that `core/` chooses ([`evict`]).
//! - The pager and the threads of cards never wait for a page: what they touch is given to them at once by the [`sentinel`].

mod across;
mod advice;
mod arena;
mod asked;
mod blocks;
mod both;
mod clean;
mod events;
mod evict;
#[cfg(test)]
mod fights;
mod fork;
mod home;
mod lend;
pub(crate) mod log;
pub(crate) mod memory;
mod moves;
mod owner;
mod pager;
mod pages;
mod pins;
pub(crate) mod report;
mod sentinel;
pub(crate) mod shown;
mod stays;
mod thrash;
mod uffd;

pub(crate) use advice::Serving;
pub(crate) use clean::{apart, bytes_outside};
pub(crate) use evict::GROUP;
pub(crate) use owner::{
    Answer, Asked, Asker, Demand, DeviceMemory, Leaving, Left, Owner, PageCosts, Piece, Questions,
    Refused,
};
pub(crate) use pager::Pager;
pub(crate) use pages::Residence;
pub(crate) use pins::{Pinned, Want};
pub(crate) use stays::Crossed;

/// Bytes of a page.
pub(crate) const PAGE: u64 = 4096;
/// Bytes of a block, what huge pages have and page states are kept by.
pub(crate) const BLOCK: u64 = 2 << 20;

/// Number of an owner; never given twice.
pub(crate) type OwnerId = u32;
/// Number of a pin; never given twice.
pub(crate) type PinId = u64;
