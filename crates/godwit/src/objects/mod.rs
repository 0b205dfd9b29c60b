// SPDX-License-Identifier: Apache-2.0
//! The upper floor: the objects people hold. Each is a handle on the engine below; user memory is touched here only, by the
//! caller's own thread.

pub(crate) mod alloc;
pub(crate) mod buffer;
pub(crate) mod card;
mod card_side;
pub(crate) mod context;
pub(crate) mod copies;
pub(crate) mod crossing;
pub(crate) mod heap;
pub(crate) mod in_place;
pub(crate) mod launch;
pub(crate) mod launch_builder;
pub(crate) mod mapping;
pub(crate) mod memories;
mod on_heap;
pub(crate) mod pages;
pub(crate) mod peers;
pub(crate) mod reserve;
pub(crate) mod room;
pub(crate) mod share;
pub(crate) mod shared;
pub(crate) mod sharing;
pub(crate) mod staying;
pub(crate) mod value;

#[cfg(test)]
mod behind_driver;
#[cfg(test)]
mod behind_driver_heap;
#[cfg(test)]
mod driver_of_tests;
