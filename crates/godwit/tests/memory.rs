// SPDX-License-Identifier: Apache-2.0
//! Contexts and buffers on a mock card.
#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on says so by failing"
)]

mod mock;

use godwit::{
    Access, AllocOptions, Card, Contiguity, Error, ErrorKind, FRAME_BYTES, Mode, PagePolicy,
    PageSize, Perm, regs,
};
use mock::{CONTEXTS, MEMORY_BYTES, MockCard, RING_BYTES};

const MIB: u64 = 1 << 20;

fn card() -> Card {
    Card::with_device(Box::new(MockCard::new())).unwrap()
}

#[test]
fn host_and_device_see_one_memory_at_one_address() {
    let card = card();
    let context = card.context(None).unwrap();
    let buffer = context.alloc(3 * MIB + 5, AllocOptions::new()).unwrap();
    buffer.write(MIB, b"hello").unwrap();
    // SAFETY: the range is inside the buffer, and nothing else uses it.
    let seen = unsafe { std::slice::from_raw_parts(buffer.as_ptr().add(MIB as usize), 5) };
    assert_eq!(seen, b"hello");
    let mapping = context.lookup(buffer.address() + MIB).unwrap().unwrap();
    let mut bytes = [0; 5];
    card.memory()
        .read(mapping.translate(buffer.address() + MIB), &mut bytes)
        .unwrap();
    assert_eq!(&bytes, b"hello");
}

#[test]
fn copies_over_the_link_take_time_and_cross_pieces() {
    let card = card();
    let context = card.context(None).unwrap();
    let holes: Vec<_> = (0..8)
        .map(|_| context.alloc(FRAME_BYTES, AllocOptions::new()).unwrap())
        .collect();
    let kept: Vec<_> = holes
        .into_iter()
        .enumerate()
        .filter_map(|(i, hole)| (i % 2 == 1).then_some(hole))
        .collect();
    let scattered = AllocOptions::new()
        .pages(PagePolicy::Only(PageSize::SIZE_4K))
        .contiguity(Contiguity::Ignored);
    let buffer = context.alloc(4 * FRAME_BYTES, scattered).unwrap();
    assert_eq!(buffer.physical().len(), 4);
    let data: Vec<u8> = (0..3 * FRAME_BYTES).map(|i| (i % 251) as u8).collect();
    let before = card.stats().unwrap();
    buffer.upload(100, &data).unwrap();
    let mut back = vec![0; data.len()];
    buffer.download(100, &mut back).unwrap();
    let spent = card.stats().unwrap().since(&before);
    assert_eq!(back, data);
    assert_eq!(spent.link_bytes, 2 * data.len() as u64);
    assert!(spent.time_ps > 0);
    let mut direct = vec![0; data.len()];
    buffer.read(100, &mut direct).unwrap();
    assert_eq!(direct, data);
    drop(kept);
}

#[test]
fn each_page_policy_maps_with_its_pages() {
    let card = card();
    let context = card.context(None).unwrap();
    for size in [PageSize::SIZE_4K, PageSize::SIZE_64K, PageSize::SIZE_2M] {
        let options = AllocOptions::new().pages(PagePolicy::Only(size));
        let buffer = context.alloc(2 * size.bytes() + 1, options).unwrap();
        assert_eq!(buffer.mapped_len(), 3 * size.bytes());
        for page in 0..3 {
            let mapping = context
                .lookup(buffer.address() + page * size.bytes())
                .unwrap()
                .unwrap();
            assert_eq!(mapping.size, size);
        }
    }
    let auto = context
        .alloc(2 * MIB + 0x1_0000 + 1, AllocOptions::new())
        .unwrap();
    let sizes = [0, 2 * MIB, 2 * MIB + 0x1_0000]
        .map(|at| context.lookup(auto.address() + at).unwrap().unwrap().size);
    assert_eq!(
        sizes,
        [PageSize::SIZE_2M, PageSize::SIZE_64K, PageSize::SIZE_4K]
    );
}

#[test]
fn a_card_that_walks_any_pages_has_them_all() {
    let card = Card::with_device(Box::new(MockCard::new().with_any_pages())).unwrap();
    let context = card.context(None).unwrap();
    for order in 0..12 {
        let size = PageSize::of_order(order).unwrap();
        let options = AllocOptions::new().pages(PagePolicy::Only(size));
        let buffer = context.alloc(size.bytes() + 1, options).unwrap();
        assert_eq!(buffer.mapped_len(), 2 * size.bytes());
        let last = buffer.address() + 2 * size.bytes() - 1;
        assert_eq!(context.lookup(last).unwrap().unwrap().size, size);
    }
    let auto = context.alloc(MIB + 0x6000, AllocOptions::new()).unwrap();
    let sizes = [0, MIB, MIB + 0x4000].map(|at| {
        context
            .lookup(auto.address() + at)
            .unwrap()
            .unwrap()
            .size
            .bytes()
    });
    assert_eq!(sizes, [MIB, 0x4000, 0x2000]);
}

#[test]
fn pages_that_the_card_does_not_walk_are_refused() {
    let context = card().context(None).unwrap();
    let size = PageSize::of_bytes(32 << 10).unwrap();
    let options = AllocOptions::new().pages(PagePolicy::Only(size));
    let refused = context.alloc(1, options).unwrap_err().to_string();
    assert_eq!(
        refused,
        "the card has no pages of 32 KiB: it walks 4 KiB, 64 KiB, 2 MiB and 1 GiB; a card with walker.napot = \"any\" walks every \
         power of two"
    );
}

#[test]
fn access_is_what_was_asked_for() {
    let context = card().context(None).unwrap();
    let buffer = context
        .alloc(1, AllocOptions::new().access(Access::Read))
        .unwrap();
    assert_eq!(
        context.lookup(buffer.address()).unwrap().unwrap().perm,
        Perm::Read
    );
}

#[test]
fn every_mode_keeps_addresses_in_its_half() {
    let card = card();
    for (mode, bits) in [(Mode::Sv39, 38), (Mode::Sv48, 47)] {
        let context = card.context(Some(mode)).unwrap();
        let buffers: Vec<_> = (0..4)
            .map(|_| context.alloc(3 * MIB, AllocOptions::new()).unwrap())
            .collect();
        assert!(
            buffers
                .iter()
                .all(|buffer| buffer.address() + buffer.mapped_len() <= 1 << bits)
        );
        assert!(
            buffers
                .iter()
                .all(|buffer| context.lookup(buffer.address()).unwrap().is_some())
        );
    }
    let refused = card.context(Some(Mode::Sv57)).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the card walks 4 levels: Sv48 at most, not Sv57"
    );
}

#[test]
fn freed_memory_is_zero_for_the_next_owner() {
    let card = card();
    let context = card.context(None).unwrap();
    let first = context.alloc(MIB, AllocOptions::new()).unwrap();
    first.write(0, &vec![0xff; MIB as usize]).unwrap();
    let place = first.physical().to_vec();
    drop(first);
    let second = context.alloc(MIB, AllocOptions::new()).unwrap();
    assert_eq!(second.physical(), place);
    let mut bytes = vec![1; MIB as usize];
    second.read(0, &mut bytes).unwrap();
    assert!(bytes.iter().all(|byte| *byte == 0));
}

#[test]
fn freeing_invalidates_before_the_frames_are_free() {
    let mock = MockCard::new();
    let seen = mock.seen.clone();
    let card = Card::with_device(Box::new(mock)).unwrap();
    let context = card.context(None).unwrap();
    let buffer = context.alloc(MIB, AllocOptions::new()).unwrap();
    let address = buffer.address();
    let before = seen.lock().unwrap().invalidations;
    buffer.free().unwrap();
    assert_eq!(seen.lock().unwrap().invalidations, before + 1);
    assert_eq!(context.lookup(address).unwrap(), None);
}

#[test]
fn nothing_is_left_when_all_handles_are_gone() {
    let mock = MockCard::new();
    let seen = mock.seen.clone();
    let card = Card::with_device(Box::new(mock)).unwrap();
    let free = MEMORY_BYTES - RING_BYTES;
    assert_eq!(card.memory_free(), (free, free));
    let context = card.context(None).unwrap();
    let buffers: Vec<_> = (1..20)
        .map(|i| context.alloc(i * 77_777, AllocOptions::new()).unwrap())
        .collect();
    assert!(context.table_bytes().unwrap() >= 4 * FRAME_BYTES);
    drop(context);
    drop(buffers);
    assert_eq!(card.memory_free(), (free, free));
    assert!(!seen.lock().unwrap().closed);
    drop(card);
    assert!(seen.lock().unwrap().closed);
}

#[test]
fn memory_that_does_not_suffice_is_named() {
    let card = card();
    let context = card.context(None).unwrap();
    let half = context
        .alloc(MEMORY_BYTES / 2, AllocOptions::new())
        .unwrap();
    let free = card.memory_free();
    let error = context
        .alloc(MEMORY_BYTES, AllocOptions::new())
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutOfMemory);
    let expected = format!(
        "asked for {MEMORY_BYTES} bytes, free are {}, the largest contiguous piece is {}",
        free.0, free.1
    );
    assert!(error.to_string().contains(&expected), "{error}");
    assert_eq!(card.memory_free(), free);
    drop(half);
}

#[test]
fn contexts_run_out_and_come_back() {
    let card = card();
    let contexts: Vec<_> = (0..CONTEXTS).map(|_| card.context(None).unwrap()).collect();
    let error = card.context(None).unwrap_err();
    assert!(
        matches!(error, Error::NoContext { count: CONTEXTS }),
        "{error}"
    );
    drop(contexts);
    card.context(None).unwrap();
}

#[test]
fn a_closed_context_leaves_its_buffers_to_the_host() {
    let card = card();
    let context = card.context(None).unwrap();
    let buffer = context.alloc(MIB, AllocOptions::new()).unwrap();
    buffer.write(0, b"still here").unwrap();
    context.close().unwrap();
    context.close().unwrap();
    let mut bytes = [0; 10];
    buffer.read(0, &mut bytes).unwrap();
    assert_eq!(&bytes, b"still here");
    assert!(matches!(
        context.alloc(1, AllocOptions::new()),
        Err(Error::ContextClosed)
    ));
    // Its frames are not handed out while the buffer lives.
    let other = card
        .context(None)
        .unwrap()
        .alloc(MIB, AllocOptions::new())
        .unwrap();
    assert_ne!(other.physical(), buffer.physical());
    drop((buffer, other));
    drop(context);
    assert_eq!(card.memory_free().0, MEMORY_BYTES - RING_BYTES);
}

#[test]
fn a_closed_card_leaves_its_buffers_to_the_host() {
    let card = card();
    let buffer = card
        .context(None)
        .unwrap()
        .alloc(MIB, AllocOptions::new())
        .unwrap();
    buffer.write(5, b"x").unwrap();
    card.close().unwrap();
    card.close().unwrap();
    let mut byte = [0];
    buffer.read(5, &mut byte).unwrap();
    assert_eq!(&byte, b"x");
    assert!(matches!(buffer.upload(0, b"y"), Err(Error::Closed)));
    assert!(matches!(card.stats(), Err(Error::Closed)));
    assert!(!card.is_open());
}

#[test]
fn mappings_by_hand_are_looked_up() {
    let card = card();
    let context = card.context(None).unwrap();
    let frames = card.alloc_frames(4 * MIB, 2 * MIB).unwrap();
    let va = 0x40_0000_0000;
    context
        .map(
            va,
            frames.extent().pa,
            4 * MIB,
            Perm::ReadWrite,
            PageSize::SIZE_1G,
        )
        .unwrap();
    let mapping = context.lookup(va + 3 * MIB).unwrap().unwrap();
    assert_eq!(
        (mapping.size, mapping.translate(va + 3 * MIB)),
        (PageSize::SIZE_2M, frames.extent().pa + 3 * MIB)
    );
    context.protect(va, FRAME_BYTES, Perm::Read).unwrap();
    assert_eq!(context.lookup(va).unwrap().unwrap().perm, Perm::Read);
    context.unmap(va, 4 * MIB).unwrap();
    assert_eq!(context.lookup(va).unwrap(), None);
    assert!(context.unmap(va, FRAME_BYTES).is_err());
    let error = card.alloc_frames(5, 4096).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Argument);
}

#[test]
fn hardware_of_another_spec_is_refused() {
    let open = |offset, value| {
        Card::with_device(Box::new(MockCard::new().with_register(offset, value))).unwrap_err()
    };
    let spec = open(godwit::regs::SPEC_HASH, 1).to_string();
    assert!(
        spec.contains("another spec (00000001)") && spec.contains("godwit card build"),
        "{spec}"
    );
    let id = open(godwit::regs::ID, 0).to_string();
    assert!(id.contains("no card that this program knows"), "{id}");
}

#[test]
fn taking_away_drops_what_was_there_and_waits() {
    let mock = MockCard::new();
    let seen = mock.seen.clone();
    let card = Card::with_device(Box::new(mock)).unwrap();
    let context = card.context(None).unwrap();
    let frames = card.alloc_frames(16 * FRAME_BYTES, FRAME_BYTES).unwrap();
    let va = 0x4000_1000;
    context
        .map(
            va,
            frames.extent().pa,
            16 * FRAME_BYTES,
            Perm::ReadWrite,
            PageSize::SIZE_4K,
        )
        .unwrap();
    let counts = || {
        let seen = seen.lock().unwrap();
        (seen.drops, seen.invalidations)
    };
    let before = counts();
    // Pages 1 to 7 of a group of eight: three naturally aligned pieces, one wait.
    context.protect(va, 7 * FRAME_BYTES, Perm::Read).unwrap();
    assert_eq!(counts(), (before.0 + 3, before.1 + 1));
    // Giving needs nothing.
    context
        .protect(va, 7 * FRAME_BYTES, Perm::ReadWrite)
        .unwrap();
    assert_eq!(counts(), (before.0 + 3, before.1 + 1));
    context.unmap(va + 7 * FRAME_BYTES, FRAME_BYTES).unwrap();
    assert_eq!(counts(), (before.0 + 4, before.1 + 2));
}

#[test]
fn a_queue_that_stops_ends_the_card_and_says_why() {
    for (bits, words) in [
        (regs::CQCSR_CMD_TO_MASK, "not acknowledged within"),
        (
            regs::CQCSR_CMD_ILL_MASK,
            "command 0, which the hardware calls illegal",
        ),
        (
            regs::CQCSR_CQMF_MASK,
            "command 0: the hardware could not read it",
        ),
    ] {
        let card = Card::with_device(Box::new(MockCard::new().with_queue_error(bits))).unwrap();
        let context = card.context(None).unwrap();
        let frames = card.alloc_frames(FRAME_BYTES, FRAME_BYTES).unwrap();
        context
            .map(
                0x1000,
                frames.extent().pa,
                FRAME_BYTES,
                Perm::Read,
                PageSize::SIZE_4K,
            )
            .unwrap();
        let error = context.unmap(0x1000, FRAME_BYTES).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Hang);
        assert!(error.to_string().contains(words), "{error}");
        assert!(matches!(card.counters(), Err(Error::Broken(_))));
    }
}
