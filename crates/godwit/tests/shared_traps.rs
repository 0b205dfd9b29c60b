// SPDX-License-Identifier: Apache-2.0
//! What a process does under the feet of whoever moves its pages, on a mock card.
#![allow(
    clippy::unwrap_used,
    clippy::undocumented_unsafe_blocks,
    reason = "a test that cannot go on says so by failing"
)]

mod mock;
mod process;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use godwit::{
    Card, CardError, Cause, Description, Device, LaunchTimes, Memory, Mode, Ports, Stats,
};
use mock::MockCard;
use process::*;
use rustix::mm::{Advice, MprotectFlags, MremapFlags};

/// Runs `body` in a child; whether it found what it should.
fn child(body: impl FnOnce() -> bool) -> bool {
    match unsafe { libc::fork() } {
        0 => {
            let ok = body();
            unsafe { libc::_exit(i32::from(!ok)) }
        }
        pid => {
            let mut status = 0;
            assert_eq!(unsafe { libc::waitpid(pid, &mut status, 0) }, pid);
            libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0
        }
    }
}

#[test]
fn a_forked_child_has_all_of_the_memory() {
    let _alone = alone();
    let (card, context) = shared_card();
    let (from, to) = (Mapped::private(20).filled(3), Mapped::private(20));
    copy(&card, &context, &*from.slice(), to.slice(), from.len).unwrap();
    assert!(child(
        || is_pattern(to.slice(), 3) && is_pattern(from.slice(), 3)
    ));
    // And the parent goes on, also while a child shares its pages.
    let (reader, writer) = rustix::pipe::pipe().unwrap();
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        let mut byte = [0];
        let _ = rustix::io::read(&reader, &mut byte);
        let ok = is_pattern(to.slice(), 3);
        unsafe { libc::_exit(i32::from(!ok)) };
    }
    context.migrate_to_device(to.slice()).unwrap();
    assert_eq!(on_device(&context, to.slice()), to.len as u64);
    to.slice().fill(1);
    rustix::io::write(&writer, &[1]).unwrap();
    let mut status = 0;
    unsafe { libc::waitpid(pid, &mut status, 0) };
    assert_eq!(status, 0);
    copy(&card, &context, &*from.slice(), to.slice(), from.len).unwrap();
    assert!(is_pattern(to.slice(), 3));
}

#[test]
fn a_fork_waits_for_kernels_and_a_child_can_share_with_a_card_of_its_own() {
    let _alone = alone();
    let (card, context) = shared_card();
    let (from, to) = (Mapped::private(20).filled(3), Mapped::private(20));
    let builder = card.kernel("copy").unwrap().context(&context);
    let builder = builder.arg("src", &*from.slice()).arg("dst", to.slice());
    let builder = builder.arg("bytes", from.len).arg("tag", 0u32);
    let launch = unsafe { builder.start_on_memory() }.unwrap();
    let ok = child(|| {
        let Ok(card) = Card::with_device(Box::new(MockCard::new())) else {
            return false;
        };
        let context = card.context(Some(Mode::Sv48)).unwrap();
        context.share_process().is_ok()
            && is_pattern(to.slice(), 3)
            && copy(&card, &context, &*to.slice(), from.slice(), 5000).is_ok()
            && is_pattern(from.slice(), 3)
    });
    assert!(ok);
    launch.wait().unwrap();
}

#[test]
fn a_mapping_that_ends_while_it_is_away_is_given_up() {
    let _alone = alone();
    let (card, context) = shared_card();
    let (free, _) = card.memory_free();
    let memory = Mapped::lone(64).filled(1);
    context.migrate_to_device(memory.slice()).unwrap();
    assert!(card.memory_free().0 <= free - 64 * PAGE as u64);
    let at = memory.unmap();
    // Another mapping there has nothing of it.
    let again = unsafe {
        rustix::mm::mmap_anonymous(
            at as *mut _,
            64 * PAGE,
            rustix::mm::ProtFlags::READ | rustix::mm::ProtFlags::WRITE,
            rustix::mm::MapFlags::PRIVATE | rustix::mm::MapFlags::FIXED_NOREPLACE,
        )
    };
    let again = Mapped {
        at: again.unwrap().cast(),
        len: 64 * PAGE,
    };
    assert!(again.slice().iter().all(|byte| *byte == 0));
    assert_eq!(on_device(&context, again.slice()), 0);
    context.migrate_to_device(again.slice()).unwrap();
    again.slice()[5] = 7;
    assert_eq!(again.slice()[..8], [0, 0, 0, 0, 0, 7, 0, 0]);
}

#[test]
fn a_part_that_ends_leaves_the_rest() {
    let _alone = alone();
    let (_card, context) = shared_card();
    let memory = Mapped::private(30).filled(1);
    context.migrate_to_device(memory.slice()).unwrap();
    let middle = unsafe { memory.at.add(10 * PAGE) };
    unsafe { rustix::mm::munmap(middle.cast(), 10 * PAGE) }.unwrap();
    assert_eq!(on_device(&context, memory.slice()), 20 * PAGE as u64);
    assert!(is_pattern(&memory.slice()[..10 * PAGE], 1));
    assert!((20 * PAGE..30 * PAGE).all(|at| memory.slice()[at] == pattern(1, at)));
}

#[test]
fn a_mapping_that_moves_takes_its_content_along() {
    let _alone = alone();
    let (_card, context) = shared_card();
    let memory = Mapped::private(40).filled(5);
    context.migrate_to_device(memory.slice()).unwrap();
    let target = Mapped::private(200);
    let moved = unsafe {
        rustix::mm::mremap_fixed(
            memory.at.cast(),
            40 * PAGE,
            40 * PAGE,
            MremapFlags::MAYMOVE,
            target.at.cast(),
        )
    };
    let moved = Mapped {
        at: moved.unwrap().cast(),
        len: 40 * PAGE,
    };
    std::mem::forget(memory);
    assert!(is_pattern(moved.slice(), 5));
    context.migrate_to_device(moved.slice()).unwrap();
    assert_eq!(on_device(&context, moved.slice()), moved.len as u64);
    assert!(is_pattern(moved.slice(), 5));
    std::mem::forget(moved);
}

#[test]
fn content_that_is_given_up_while_it_is_away_reads_as_zero() {
    let _alone = alone();
    let (card, context) = shared_card();
    let memory = Mapped::private(20).filled(1);
    context.migrate_to_device(memory.slice()).unwrap();
    let (free, _) = card.memory_free();
    unsafe { rustix::mm::madvise(memory.at.cast(), 10 * PAGE, Advice::LinuxDontNeed) }.unwrap();
    assert!(memory.slice()[..10 * PAGE].iter().all(|byte| *byte == 0));
    assert!((10 * PAGE..20 * PAGE).all(|at| memory.slice()[at] == pattern(1, at)));
    assert!(card.memory_free().0 >= free + 10 * PAGE as u64);
}

#[test]
fn discarded_memory_is_not_copied_anywhere() {
    let _alone = alone();
    let (card, context) = shared_card();
    let (from, to) = (Mapped::private(20).filled(1), Mapped::private(20).filled(2));
    context.migrate_to_device(from.slice()).unwrap();
    let before = context.migrations().unwrap();
    context.discard(to.slice());
    copy(&card, &context, &*from.slice(), to.slice(), from.len).unwrap();
    context.discard(from.slice());
    assert_eq!(from.slice()[7], 0);
    let moved = context.migrations().unwrap().since(&before);
    assert_eq!(moved.to_device(Cause::Launch), 0);
    assert_eq!((moved.cleared, moved.clean), (20 * PAGE as u64, 0));
    assert!(is_pattern(to.slice(), 1));
}

#[test]
fn memory_that_is_freed_and_allocated_again_is_usable() {
    let _alone = alone();
    let (card, context) = shared_card();
    for round in 0..20usize {
        // Below and above the size from which the allocator takes mappings of their own.
        for bytes in [40_000, 1 << 20] {
            let from: Vec<u8> = (0..bytes).map(|at| pattern(round as u8, at)).collect();
            let mut to = vec![0u8; bytes];
            copy(&card, &context, &*from, &mut *to, bytes).unwrap();
            assert!(is_pattern(&to, round as u8));
            context.migrate_to_device(&from[..]).unwrap();
            // Freed while it is away.
            drop((from, to));
        }
    }
}

#[test]
fn a_vector_that_grows_while_it_is_away_keeps_its_content() {
    let _alone = alone();
    let (_card, context) = shared_card();
    let mut memory: Vec<u8> = (0..8 << 20).map(|at| pattern(9, at)).collect();
    context.migrate_to_device(&memory[..]).unwrap();
    memory.reserve_exact(64 << 20);
    assert!(is_pattern(&memory, 9));
}

#[test]
fn protection_that_changes_while_it_is_away_stays_as_it_is_then() {
    let _alone = alone();
    let (_card, context) = shared_card();
    let memory = Mapped::private(20).filled(1);
    context.migrate_to_device(memory.slice()).unwrap();
    let middle = Mapped {
        at: unsafe { memory.at.add(5 * PAGE) },
        len: 5 * PAGE,
    };
    middle.protect(MprotectFlags::READ);
    assert!(is_pattern(memory.slice(), 1));
    middle.protect(MprotectFlags::READ | MprotectFlags::WRITE);
    std::mem::forget(middle);
    memory.slice()[5 * PAGE] = 1;
    context.migrate_to_device(memory.slice()).unwrap();
    assert_eq!(memory.slice()[5 * PAGE], 1);
}

#[test]
fn memory_that_is_locked_while_it_is_away_comes_home() {
    let _alone = alone();
    let (_card, context) = shared_card();
    let memory = Mapped::private(20).filled(1);
    context.migrate_to_device(memory.slice()).unwrap();
    if !context.shares_with_system_calls() {
        // One more system call that cannot bring pages home.
        return;
    }
    unsafe { rustix::mm::mlock(memory.at.cast(), memory.len) }.unwrap();
    assert_eq!(on_device(&context, memory.slice()), 0);
    assert!(is_pattern(memory.slice(), 1));
}

#[test]
fn system_calls_reach_memory_that_is_away() {
    let _alone = alone();
    let (_card, context) = shared_card();
    if !context.shares_with_system_calls() {
        return;
    }
    let memory = Mapped::private(4).filled(1);
    let (reader, writer) = rustix::pipe::pipe().unwrap();
    context.migrate_to_device(memory.slice()).unwrap();
    assert_eq!(
        rustix::io::write(&writer, memory.slice()).unwrap(),
        memory.len
    );
    memory.slice().fill(0);
    context.migrate_to_device(memory.slice()).unwrap();
    assert_eq!(
        rustix::io::read(&reader, memory.slice()).unwrap(),
        memory.len
    );
    assert!(is_pattern(memory.slice(), 1));
}

#[test]
fn the_stack_of_a_waiting_thread_is_memory_like_any_other() {
    let _alone = alone();
    let (card, context) = shared_card();
    let from = [7u8; 20_000];
    let mut to = [0u8; 20_000];
    copy(&card, &context, &from[..], &mut to[..], from.len()).unwrap();
    assert!(from == to);
}

#[test]
fn pages_come_back_to_many_threads_at_once() {
    let _alone = alone();
    let (_card, context) = shared_card();
    let memory = Mapped::private(256).filled(1);
    for _ in 0..10 {
        context.migrate_to_device(memory.slice()).unwrap();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| assert!(is_pattern(memory.slice(), 1)));
            }
        });
    }
}

/// A card whose own thread touches memory.
struct Touches {
    card: MockCard,
    /// Read once, when it is not 0.
    at: Arc<AtomicUsize>,
}

impl Device for Touches {
    fn description(&self) -> &Description {
        self.card.description()
    }
    fn memory(&self) -> &Arc<Memory> {
        self.card.memory()
    }
    fn reg_read(&mut self, offset: u64) -> Result<u32, CardError> {
        self.card.reg_read(offset)
    }
    fn reg_write(&mut self, offset: u64, value: u32) -> Result<(), CardError> {
        self.card.reg_write(offset, value)
    }
    fn run(&mut self, max_cycles: u64, irq_mask: u32) -> Result<u32, CardError> {
        self.card.run(max_cycles, irq_mask)
    }
    fn charge_copy(&mut self, to_device: bool, addr: u64, len: u64) -> Result<(), CardError> {
        self.card.charge_copy(to_device, addr, len)
    }
    fn set_host_window(&mut self, at: u64, memory: Option<Arc<Memory>>) -> Result<(), CardError> {
        self.card.set_host_window(at, memory)
    }
    fn stats(&self) -> Result<Stats, CardError> {
        let at = self.at.swap(0, Ordering::SeqCst);
        if at != 0 {
            unsafe { (at as *mut u8).write_volatile(9) };
        }
        self.card.stats()
    }
    fn launch_times(&self, slot: u32) -> Result<Option<LaunchTimes>, CardError> {
        self.card.launch_times(slot)
    }
    fn ports(&mut self) -> Option<&mut dyn Ports> {
        None
    }
}

#[test]
fn the_thread_of_a_card_never_waits_for_a_page() {
    let _alone = alone();
    let at = Arc::new(AtomicUsize::new(0));
    let device = Touches {
        card: MockCard::new(),
        at: Arc::clone(&at),
    };
    let card = Card::with_device(Box::new(device)).unwrap();
    let context = card.context(Some(Mode::Sv48)).unwrap();
    context.share_process().unwrap();
    let memory = Mapped::private(40).filled(1);
    context.migrate_to_device(memory.slice()).unwrap();
    // As if the page had been freed and allocated again by the card: it gets a fresh one, while the pager waits for it.
    at.store(memory.at as usize + 3 * PAGE, Ordering::SeqCst);
    let wait = std::thread::spawn({
        let card = card.clone();
        move || card.stats().unwrap()
    });
    assert_eq!(memory.slice()[20 * PAGE], pattern(1, 20 * PAGE));
    wait.join().unwrap();
    assert_eq!(memory.slice()[3 * PAGE..][..2], [9, 0]);
    assert!(is_pattern(&memory.slice()[..3 * PAGE], 1));
    assert_eq!(memory.slice()[4 * PAGE], pattern(1, 4 * PAGE));
}
