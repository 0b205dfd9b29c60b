// SPDX-License-Identifier: Apache-2.0
//! Memory of this process that lies in a card's memory, given to kernels, on a mock card.
#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on says so by failing"
)]

mod mock;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use godwit::{
    Access, AllocOptions, Card, Context, Error, FRAME_BYTES, HostMemory, Mode, RangeEntries,
    ShareOptions,
};
use mock::MockCard;
use rustix::mm::{MapFlags, ProtFlags, mmap, mmap_anonymous, munmap};

const MIB: u64 = 1 << 20;

fn card(entries: u32) -> Card {
    Card::with_device(Box::new(MockCard::new().with_ranges(entries))).unwrap()
}

/// Pieces of a card's memory that this process has mapped in a row, as an allocator's pool is.
struct Mapped {
    at: usize,
    bytes: u64,
    owned: bool,
    gone: Arc<AtomicBool>,
}

// SAFETY: mapped until it is dropped.
unsafe impl HostMemory for Mapped {
    fn as_ptr(&self) -> *mut u8 {
        self.at as *mut u8
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn check(&self) -> Result<(), String> {
        match self.gone.load(Ordering::Relaxed) {
            true => Err("it was freed".into()),
            false => Ok(()),
        }
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        if self.owned {
            // SAFETY: ours, and used no more.
            unsafe { munmap(self.at as *mut _, self.bytes as usize) }.unwrap();
        }
    }
}

/// Some bytes of it, which the other one goes on owning.
fn part(of: &Mapped, offset: usize, bytes: u64) -> Mapped {
    Mapped {
        at: of.at + offset,
        bytes,
        owned: false,
        gone: Arc::default(),
    }
}

/// Maps pieces of `bytes` at these physical addresses.
fn map(card: &Card, bytes: u64, places: &[u64]) -> Mapped {
    let all = bytes as usize * places.len();
    let shared = MapFlags::SHARED | MapFlags::FIXED;
    // SAFETY: a new mapping, filled piece by piece.
    unsafe {
        let nothing = std::ptr::null_mut();
        let at = mmap_anonymous(nothing, all, ProtFlags::empty(), MapFlags::PRIVATE).unwrap();
        for (index, pa) in places.iter().enumerate() {
            let place = at.byte_add(index * bytes as usize);
            let access = ProtFlags::READ | ProtFlags::WRITE;
            let fd = card.memory().fd();
            mmap(place, bytes as usize, access, shared, fd, *pa).unwrap();
        }
        Mapped {
            at: at as usize,
            bytes: all as u64,
            owned: true,
            gone: Arc::default(),
        }
    }
}

fn copy(card: &Card, context: &Context, from: u64, to: u64, bytes: u64) -> Result<u64, Error> {
    let done = card
        .kernel("copy")?
        .context(context)
        .arg("src", from)
        .arg("dst", to)
        .arg("bytes", bytes)
        .arg("tag", 0u32)
        .run()?;
    Ok(done.result("copied").unwrap())
}

fn required() -> ShareOptions {
    ShareOptions::new().entries(RangeEntries::Required)
}

#[test]
fn kernels_work_on_shared_memory_where_it_is() {
    let card = card(4);
    let context = card.context(None).unwrap();
    let frames = card.alloc_frames(4 * MIB, FRAME_BYTES).unwrap();
    let pa = frames.extent().pa;
    let memory = map(&card, MIB, &[pa + 2 * MIB, pa]);
    let at = memory.as_ptr();
    let shared = context.share(memory, required()).unwrap();
    assert_eq!((shared.as_ptr(), shared.len()), (at, 2 * MIB));
    assert_eq!(shared.physical().len(), 2);
    assert_eq!(shared.range_entries().unwrap(), 2);
    let data: Vec<u8> = (0..128).collect();
    shared.write(MIB - 64, &data).unwrap();
    let target = context.alloc(MIB, AllocOptions::new()).unwrap();
    let (from, to) = (shared.address() + MIB - 64, target.address());
    assert_eq!(copy(&card, &context, from, to, 128).unwrap(), 128);
    let mut seen = [0; 128];
    target.read(0, &mut seen).unwrap();
    assert_eq!(seen[..], data);
    // Its frames stay whose they are: only the mapping ends.
    let free = card.memory_free().0;
    shared.free().unwrap();
    assert!(card.memory_free().0 - free < MIB, "more than its tables");
    assert_eq!(context.lookup(at as u64).unwrap(), None);
    assert!(copy(&card, &context, at as u64, target.address(), 6).is_err());
}

#[test]
fn an_entry_that_an_invalidation_ended_is_there_at_the_next_launch() {
    let card = card(2);
    let context = card.context(None).unwrap();
    let frames = card.alloc_frames(MIB, FRAME_BYTES).unwrap();
    let memory = map(&card, MIB, &[frames.extent().pa]);
    let shared = context.share(memory, required()).unwrap();
    let control = godwit::regs::RANGES_ENTRY_CONTROL;
    let valid = || card.reg_read(control).unwrap() & 1;
    assert_eq!(valid(), 1);
    card.invalidate().unwrap();
    assert_eq!(valid(), 0);
    let start = shared.address();
    copy(&card, &context, start, start + MIB / 2, 64).unwrap();
    assert_eq!(valid(), 1);
    // Closing another context invalidates everything, too.
    card.context(None).unwrap().close().unwrap();
    assert_eq!(valid(), 0);
    assert_eq!(shared.range_entries().unwrap(), 1);
    drop(shared);
    assert_eq!(valid(), 0);
}

#[test]
fn more_pieces_than_entries_are_pages_or_an_error_with_numbers() {
    let card = card(2);
    let context = card.context(None).unwrap();
    let frames = card.alloc_frames(16 * MIB, FRAME_BYTES).unwrap();
    let pa = frames.extent().pa;
    let places: Vec<u64> = (0..3).map(|n| pa + n * 4 * MIB).collect();
    let error = context
        .share(map(&card, MIB, &places), required())
        .unwrap_err();
    let words = error.to_string();
    assert!(matches!(error, Error::Busy(_)));
    assert!(words.contains("lies in 3 pieces, and 2 entries"), "{words}");
    assert!(words.contains("range.entries"), "{words}");
    // Nothing of it is left, neither pages nor entries.
    let memory = map(&card, MIB, &places);
    let first = context.share(memory, ShareOptions::new()).unwrap();
    assert_eq!(first.range_entries().unwrap(), 2);
    let second = map(&card, MIB, &[pa + 13 * MIB]);
    let second = context.share(second, ShareOptions::new()).unwrap();
    assert_eq!(second.range_entries().unwrap(), 0);
    let to = second.address();
    let from = first.address() + 2 * MIB;
    first.write(2 * MIB, b"third").unwrap();
    copy(&card, &context, from, to, 5).unwrap();
    let mut seen = [0; 5];
    second.read(0, &mut seen).unwrap();
    assert_eq!(&seen, b"third");
    // What becomes free is for those who wait.
    drop(first);
    assert_eq!(second.range_entries().unwrap(), 1);
    let none = map(&card, MIB, &places[..1]);
    let never = ShareOptions::new().entries(RangeEntries::Never);
    let never = context.share(none, never).unwrap();
    assert_eq!(never.range_entries().unwrap(), 0);
}

#[test]
fn memory_that_the_card_does_not_see_is_refused_with_what_to_do() {
    let card = card(2);
    let context = card.context(None).unwrap();
    let narrow = card.context(Some(Mode::Sv39)).unwrap();
    let frames = card.alloc_frames(MIB, FRAME_BYTES).unwrap();
    let pa = frames.extent().pa;
    let refused = |context: &Context, memory: Mapped, words: &str| {
        let error = context.share(memory, ShareOptions::new()).unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
    };
    let other = Card::with_device(Box::new(MockCard::new())).unwrap();
    let foreign = map(&other, MIB, &[pa]);
    refused(&context, foreign, "is not in this card's memory");
    let whole = map(&card, MIB, &[pa]);
    refused(&context, part(&whole, 100, 4096), "begins inside a page");
    refused(&context, part(&whole, 0, 0), "0 bytes");
    refused(
        &context,
        part(&whole, 0, MIB + 4096),
        "is not in this card's memory",
    );
    refused(
        &narrow,
        map(&card, MIB, &[pa]),
        "addresses end at 0x4000000000",
    );
    let freed = map(&card, MIB, &[pa]);
    freed.gone.store(true, Ordering::Relaxed);
    refused(&context, freed, "it was freed");
    let again = part(&whole, MIB as usize / 2, 4096);
    let shared = context.share(whole, ShareOptions::new()).unwrap();
    refused(&context, again, "shared with this context already");
    drop(shared);
}

#[test]
fn a_block_that_its_owner_lost_is_no_argument() {
    let card = card(2);
    let context = card.context(None).unwrap();
    let frames = card.alloc_frames(MIB, FRAME_BYTES).unwrap();
    let memory = map(&card, MIB, &[frames.extent().pa]);
    let gone = Arc::clone(&memory.gone);
    let shared = context
        .share(memory, ShareOptions::new().access(Access::ReadWrite))
        .unwrap();
    let start = shared.address();
    copy(&card, &context, start, start + 4096, 64).unwrap();
    gone.store(true, Ordering::Relaxed);
    let error = copy(&card, &context, start, start + 4096, 64).unwrap_err();
    assert!(
        error.to_string().contains("was taken away: it was freed"),
        "{error}"
    );
}

#[test]
fn memory_for_a_pool_is_set_aside_once() {
    let card = card(2);
    let before = card.memory_free().0;
    let config = card.cmt_config(8 * MIB + 1).unwrap();
    let len = 8 * MIB + FRAME_BYTES;
    assert!(config.contains(&format!(":{len} backing=fd:")), "{config}");
    assert_eq!(card.memory_free().0, before - len);
    assert_eq!(card.cmt_config(MIB).unwrap(), config);
    let error = card.cmt_config(9 * MIB).unwrap_err().to_string();
    assert!(
        error.contains("set aside for contiguous memory already"),
        "{error}"
    );
    assert!(card.cmt_config(0).is_err());
}
