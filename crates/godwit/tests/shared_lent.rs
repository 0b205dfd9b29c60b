// SPDX-License-Identifier: Apache-2.0
//! What of plain memory does not move with its neighbours, and is lent to the card where it is.
#![allow(
    clippy::unwrap_used,
    clippy::undocumented_unsafe_blocks,
    reason = "a test that cannot go on says so by failing"
)]

mod mock;
mod process;

use godwit::{Cause, Error};
use process::*;

#[test]
fn memory_between_other_data_is_lent_and_its_neighbours_are_left_alone() {
    let _alone = alone();
    let (card, context) = shared_card();
    let (from, to) = (Mapped::private(2).filled(5), Mapped::private(2).filled(9));
    // Both straddle two pages.
    let (first, last) = (PAGE - 300, PAGE + 300);
    let input = from.slice()[first..last].to_vec();
    let done = copy(
        &card,
        &context,
        &from.slice()[first..last],
        &mut to.slice()[first..last],
        600,
    );
    assert_eq!(done.unwrap().result("copied"), Some(600));
    assert_eq!(on_device(&context, to.slice()), 0);
    assert_eq!(to.slice()[first..last], input);
    for at in (0..first).chain(last..2 * PAGE) {
        assert_eq!(to.slice()[at], pattern(9, at));
    }
}

#[test]
fn whole_pages_move_and_the_edges_are_lent() {
    let _alone = alone();
    let (card, context) = shared_card();
    let (from, to) = (Mapped::private(8).filled(5), Mapped::private(8).filled(9));
    let before = context.migrations().unwrap();
    let range = 100..7 * PAGE + 100;
    let (input, output) = (&from.slice()[range.clone()], &mut to.slice()[range.clone()]);
    copy(&card, &context, input, output, 7 * PAGE).unwrap();
    let moved = context.migrations().unwrap().since(&before);
    assert_eq!(moved.lent, 4 * PAGE as u64);
    assert_eq!(moved.to_device(Cause::Launch), 12 * PAGE as u64);
    for at in 0..8 * PAGE {
        let seed = if range.contains(&at) { 5 } else { 9 };
        assert_eq!(to.slice()[at], pattern(seed, at), "{at}");
    }
}

#[test]
fn what_is_private_to_a_file_or_shared_is_lent() {
    let _alone = alone();
    let (card, context) = shared_card();
    for make in [Mapped::file, Mapped::shared] {
        let (from, to) = (make(4).filled(2), make(4).filled(7));
        let before = context.migrations().unwrap();
        copy(&card, &context, &*from.slice(), to.slice(), 4 * PAGE).unwrap();
        let moved = context.migrations().unwrap().since(&before);
        assert_eq!(moved.lent, 8 * PAGE as u64);
        assert!(is_pattern(to.slice(), 2));
        context.migrate_to_device(from.slice()).unwrap();
        assert_eq!(on_device(&context, from.slice()), 0);
    }
}

#[test]
fn locked_memory_is_lent() {
    let _alone = alone();
    let (card, context) = shared_card();
    let (from, to) = (Mapped::private(4).filled(2), Mapped::private(4));
    unsafe { rustix::mm::mlock(from.at.cast(), from.len) }.unwrap();
    copy(&card, &context, &*from.slice(), to.slice(), 4 * PAGE).unwrap();
    assert_eq!(on_device(&context, from.slice()), 0);
    assert!(is_pattern(to.slice(), 2));
}

#[test]
fn pages_that_a_pipe_refers_to_are_lent() {
    let _alone = alone();
    let (card, context) = shared_card();
    let (from, to) = (Mapped::private(4).filled(2), Mapped::private(4));
    let (reader, writer) = rustix::pipe::pipe().unwrap();
    let vector = libc::iovec {
        iov_base: from.at.cast(),
        iov_len: PAGE,
    };
    use std::os::fd::AsRawFd;
    let spliced = unsafe { libc::vmsplice(writer.as_raw_fd(), &vector, 1, 0) };
    assert_eq!(spliced, PAGE as isize);
    copy(&card, &context, &*from.slice(), to.slice(), 4 * PAGE).unwrap();
    assert!(is_pattern(to.slice(), 2));
    assert!(is_pattern(from.slice(), 2));
    let mut bytes = vec![0; PAGE];
    assert_eq!(rustix::io::read(&reader, &mut bytes).unwrap(), PAGE);
    assert!(is_pattern(&bytes, 2));
}

#[test]
fn memory_that_does_not_fit_stays_where_it_is() {
    let _alone = alone();
    let (card, context) = shared_card();
    let pages = (mock::MEMORY_BYTES as usize / PAGE) * 3 / 5;
    let (from, to) = (
        Mapped::private(pages).filled(6),
        Mapped::private(pages).filled(8),
    );
    let (free, _) = card.memory_free();
    let error = copy(&card, &context, &*from.slice(), to.slice(), PAGE).unwrap_err();
    assert!(matches!(error, Error::OutOfMemory { .. }), "{error}");
    assert!(is_pattern(from.slice(), 6) && is_pattern(to.slice(), 8));
    context.prefetch(from.slice());
    drop((from, to));
    context.migrate_to_host(&[0u8; 8][..]).unwrap();
    // Tables may stay until their context ends.
    drop(context);
    assert!(card.memory_free().0 >= free);
}

#[test]
fn memory_across_a_boundary_of_arenas_is_not_read_while_it_is_away() {
    // Where an arena of a thread would have its header lies memory of ours, which has left before a later part is looked at.
    const PIECE: usize = 64 << 20;
    let _alone = alone();
    let (card, context) = shared_card();
    let room = Mapped::private(2 * PIECE / PAGE);
    let boundary = (room.at as usize + PAGE).next_multiple_of(PIECE) - room.at as usize;
    let memory = &mut room.slice()[boundary - 16 * PAGE..boundary + 1040 * PAGE];
    for (at, byte) in memory.iter_mut().enumerate() {
        *byte = pattern(5, at);
    }
    // One block beyond the boundary is known, so that the rest is looked at in pieces.
    let known = 16 * PAGE + 512 * PAGE;
    context
        .migrate_to_device(&memory[known + 5 * PAGE..][..PAGE])
        .unwrap();
    context.migrate_to_device(&*memory).unwrap();
    assert_eq!(on_device(&context, memory), memory.len() as u64);
    assert!(is_pattern(memory, 5));
    drop(card);
}
