// SPDX-License-Identifier: Apache-2.0
//! What a thread of the program waits when it touches a page that a card has, beside a handler of userfaultfd that knows nothing: the
//! same groups of 64 KiB, brought back by the same `UFFDIO_MOVE`, in turns in one process. The card is ordinary code without a clock, so that what is
//! measured is the pager and not a simulation.
//!
//! Prints a JSON object a row: nanoseconds of a touch, medians. `cargo bench -p godwit --bench touch [-- ROUNDS]`.
#![allow(
    clippy::unwrap_used,
    clippy::undocumented_unsafe_blocks,
    reason = "a measurement that cannot go on says so by ending"
)]

#[path = "../tests/mock/mod.rs"]
mod mock;
#[path = "../tests/process/mod.rs"]
mod process;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use godwit::{Card, Context, HostRange};
use linux_raw_sys::general as sys;
use process::{Mapped, PAGE, shared_card};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, OwnedFd};
use rustix::ioctl::{Updater, ioctl, opcode};
use rustix::mm::UserfaultfdFlags;

const GROUP: usize = 64 << 10;
const GROUPS: usize = 64;
/// Too far apart for touches in a row, of which more would come along.
const STRIDE: usize = 29;

fn order() -> impl Iterator<Item = usize> {
    (0..GROUPS).map(|turn| turn * STRIDE % GROUPS)
}

/// Memory whose groups begin where the pager's do.
fn aligned(pages: usize) -> (Mapped, usize) {
    let memory = Mapped::private(pages + GROUP / PAGE).filled(3);
    let first = (memory.at as usize).next_multiple_of(GROUP);
    (memory, first)
}

/// Touches a word of each group; nanoseconds of each.
fn touch_all(first: usize) -> Vec<u64> {
    let touch = |group| {
        let begin = Instant::now();
        // SAFETY: a word of the caller's memory.
        unsafe { ((first + group * GROUP) as *const u64).read_volatile() };
        begin.elapsed().as_nanos() as u64
    };
    order().map(touch).collect()
}

/// The system's own means, and nothing else.
struct Bare {
    fd: OwnedFd,
    memory: (Mapped, usize),
    shadow: (Mapped, usize),
    device: Vec<u8>,
}

impl Bare {
    fn new() -> Self {
        let flags = UserfaultfdFlags::CLOEXEC | UserfaultfdFlags::NONBLOCK;
        // SAFETY: a new descriptor changes nothing yet.
        let fd = unsafe { rustix::mm::userfaultfd(flags) }.unwrap();
        const API: u32 =
            opcode::read_write::<sys::uffdio_api>(sys::UFFDIO as u8, sys::_UFFDIO_API as u8);
        let mut api = sys::uffdio_api {
            api: sys::UFFD_API.into(),
            features: sys::UFFD_FEATURE_MOVE.into(),
            ioctls: 0,
        };
        // SAFETY: the opcode is made of this structure.
        unsafe { ioctl(&fd, Updater::<API, _>::new(&mut api)) }.unwrap();
        let bare = Self {
            fd,
            memory: aligned(GROUPS * GROUP / PAGE),
            shadow: aligned(GROUPS * GROUP / PAGE),
            device: vec![5; GROUPS * GROUP],
        };
        // What moves into it must be missing there.
        let (at, len) = (bare.shadow.1, GROUPS * GROUP);
        // SAFETY: the memory is this value's.
        unsafe { rustix::mm::madvise(at as *mut _, len, rustix::mm::Advice::LinuxDontNeed) }
            .unwrap();
        for first in [bare.memory.1, bare.shadow.1] {
            bare.register(first);
        }
        bare
    }

    fn register(&self, first: usize) {
        const REGISTER: u32 = opcode::read_write::<sys::uffdio_register>(
            sys::UFFDIO as u8,
            sys::_UFFDIO_REGISTER as u8,
        );
        let mut register = sys::uffdio_register {
            range: sys::uffdio_range {
                start: first as u64,
                len: (GROUPS * GROUP) as u64,
            },
            mode: sys::UFFDIO_REGISTER_MODE_MISSING.into(),
            ioctls: 0,
        };
        // SAFETY: as above.
        unsafe { ioctl(&self.fd, Updater::<REGISTER, _>::new(&mut register)) }.unwrap();
    }

    fn relocate(&self, to: usize, from: usize) {
        const MOVE: u32 =
            opcode::read_write::<sys::uffdio_move>(sys::UFFDIO as u8, sys::_UFFDIO_MOVE as u8);
        let mut done = 0;
        while done < GROUP {
            let mut relocate = sys::uffdio_move {
                dst: (to + done) as u64,
                src: (from + done) as u64,
                len: (GROUP - done) as u64,
                mode: 0,
                move_: 0,
            };
            // SAFETY: as above.
            match unsafe { ioctl(&self.fd, Updater::<MOVE, _>::new(&mut relocate)) } {
                Ok(()) => return,
                // What is busy is tried again, as the pager does.
                Err(_) => done += usize::try_from(relocate.move_).unwrap_or(0),
            }
        }
    }

    /// Answers touches until told to stop; `copies`: with new bytes.
    fn serve(&self, copies: bool, stop: &AtomicBool) {
        let wait = Timespec {
            tv_sec: 0,
            tv_nsec: 10_000_000,
        };
        while !stop.load(Ordering::Relaxed) {
            let mut polled = [PollFd::new(&self.fd, PollFlags::IN)];
            if poll(&mut polled, Some(&wait)).unwrap() == 0 {
                continue;
            }
            let mut message = [0u8; size_of::<sys::uffd_msg>()];
            if rustix::io::read(self.fd.as_fd(), &mut message).is_err() {
                continue;
            }
            // The address is the second word of the union, behind eight bytes of header and the flags.
            let address = u64::from_ne_bytes(message[16..24].try_into().unwrap()) as usize;
            let offset = (address - self.memory.1) & !(GROUP - 1);
            let from = self.shadow.1 + offset;
            if copies {
                // SAFETY: the group is in the shadow.
                let shadow = unsafe { std::slice::from_raw_parts_mut(from as *mut u8, GROUP) };
                shadow.copy_from_slice(&self.device[offset..offset + GROUP]);
            }
            self.relocate(self.memory.1 + offset, from);
        }
    }

    fn round(&self, copies: bool) -> Vec<u64> {
        for group in 0..GROUPS {
            self.relocate(self.shadow.1 + group * GROUP, self.memory.1 + group * GROUP);
        }
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| self.serve(copies, &stop));
            let took = touch_all(self.memory.1);
            stop.store(true, Ordering::Relaxed);
            took
        })
    }
}

/// The same, of pages that a card has; `copies`: it has written them.
fn round((card, context): &(Card, Context), first: usize, copies: bool) -> Vec<u64> {
    let bytes = GROUPS * GROUP;
    // SAFETY: memory that the caller has.
    let range = |writes| unsafe { HostRange::new(first as u64, bytes as u64, writes) };
    context.migrate_to_device(range(true)).unwrap();
    if copies {
        let kernel = card.kernel("copy").unwrap().context(context);
        let kernel = kernel.arg("src", range(false)).arg("dst", range(true));
        let kernel = kernel.arg("bytes", bytes).arg("tag", mock::ADDS);
        kernel.run().unwrap();
    }
    let before = context.migrations().unwrap();
    let took = touch_all(first);
    let touches = context.migrations().unwrap().since(&before).touches;
    assert_eq!(
        touches as usize, GROUPS,
        "each group is touched, and comes alone"
    );
    took
}

fn median(values: &mut [u64]) -> u64 {
    values.sort_unstable();
    values[values.len() / 2]
}

fn main() {
    let given = std::env::args().find_map(|text| text.parse().ok());
    let rounds: usize = given.unwrap_or(50);
    let (bare, card) = (Bare::new(), shared_card());
    let (_memory, first) = aligned(GROUPS * GROUP / PAGE);
    for copies in [false, true] {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for turn in 0..=rounds {
            let (one, other) = (round(&card, first, copies), bare.round(copies));
            // The first is for warming up.
            if turn > 0 {
                ours.extend(one);
                theirs.extend(other);
            }
        }
        println!(
            "{}",
            serde_json::json!({
                "written": copies, "group": GROUP, "touches": ours.len(),
                "ns": median(&mut ours), "bare_ns": median(&mut theirs),
            })
        );
    }
}
