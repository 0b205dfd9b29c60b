// SPDX-License-Identifier: Apache-2.0
//! Contexts and cards that are closed, processes that fork and processes that are killed while pages move: nothing hangs, and what is left has the
//! right data. On mock cards.
#![allow(
    clippy::unwrap_used,
    clippy::undocumented_unsafe_blocks,
    reason = "a test that cannot go on says so by failing"
)]

mod mock;
mod process;

use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use godwit::{Advice, Card, Context, Error};
use process::*;

const PAGES: usize = 24;
const ROUNDS: u64 = 12;
/// A process that has not ended, or said something, by then hangs: it takes some. Milliseconds.
const HANGS: i32 = 60_000;

/// Runs `body` in a child, which must end by itself or be killed.
fn fork(body: impl FnOnce() -> bool) -> i32 {
    match unsafe { libc::fork() } {
        0 => {
            let ok = body();
            unsafe { libc::_exit(i32::from(!ok)) }
        }
        pid => {
            assert!(pid > 0);
            pid
        }
    }
}

/// Waits for a child's end; how it ended.
fn ended(pid: i32) -> i32 {
    for _ in 0..HANGS {
        let mut status = 0;
        if unsafe { libc::waitpid(pid, &mut status, libc::WNOHANG) } == pid {
            return status;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    unsafe { libc::kill(pid, libc::SIGKILL) };
    panic!("process {pid} hangs");
}

fn kill(pid: i32) {
    assert_eq!(unsafe { libc::kill(pid, libc::SIGKILL) }, 0);
}

/// A byte from a pipe; none when whoever had its other end is gone.
fn byte(reader: &OwnedFd) -> Option<u8> {
    let mut byte = [0];
    let mut waits = libc::pollfd {
        fd: reader.as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    };
    let heard = unsafe { libc::poll(&raw mut waits, 1, HANGS) };
    assert_eq!(heard, 1, "a process that should say something hangs");
    (rustix::io::read(reader, &mut byte) == Ok(1)).then_some(byte[0])
}

/// Some time, longer from round to round: migrations are interrupted here and there.
fn a_while(round: u64) {
    std::thread::sleep(Duration::from_micros(137 * round));
}

/// Copies to and fro on a card until somebody ends the process, and says after the first time that it does.
fn copy_for_ever(memory: &[Mapped; 2], ready: &OwnedFd) -> bool {
    let (card, context) = shared_card();
    loop {
        for (from, to) in [(0, 1), (1, 0)] {
            let (from, to) = (memory[from].slice(), memory[to].slice());
            copy(&card, &context, &*from, &mut *to, PAGES * PAGE).unwrap();
            to[0] = from[0];
        }
        if rustix::io::write(ready, &[1]).is_err() {
            return false;
        }
    }
}

#[test]
fn a_killed_child_leaves_its_parent_and_its_brother_what_they_have() {
    let _alone = alone();
    let (card, context) = shared_card();
    for round in 0..ROUNDS {
        let memory = [
            Mapped::private(PAGES).filled(round as u8),
            Mapped::private(PAGES).filled(7),
        ];
        context.migrate_to_device(memory[0].slice()).unwrap();
        let (reader, writer) = rustix::pipe::pipe().unwrap();
        let victim = fork(|| copy_for_ever(&memory, &writer));
        assert_eq!(byte(&reader), Some(1), "round {round}");
        // Forked while the first child and this process have pages that are the same, and pages that move.
        context.migrate_to_device(memory[1].slice()).unwrap();
        let brother = fork(|| {
            a_while(round);
            is_pattern(memory[0].slice(), round as u8) && is_pattern(memory[1].slice(), 7)
        });
        copy(
            &card,
            &context,
            &*memory[0].slice(),
            memory[1].slice(),
            PAGES * PAGE,
        )
        .unwrap();
        a_while(round);
        kill(victim);
        assert!(libc::WIFSIGNALED(ended(victim)), "round {round}");
        assert_eq!(ended(brother), 0, "round {round}");
        copy(
            &card,
            &context,
            &*memory[0].slice(),
            memory[1].slice(),
            PAGES * PAGE,
        )
        .unwrap();
        assert!(is_pattern(memory[1].slice(), round as u8), "round {round}");
        assert!(is_pattern(memory[0].slice(), round as u8), "round {round}");
    }
}

#[test]
fn a_killed_parent_leaves_its_child_all_of_the_memory() {
    let _alone = alone();
    for round in 0..ROUNDS {
        let (reader, writer) = rustix::pipe::pipe().unwrap();
        let (result, results) = rustix::pipe::pipe().unwrap();
        let parent = fork(|| {
            let memory = [
                Mapped::private(PAGES).filled(3),
                Mapped::private(PAGES).filled(3),
            ];
            let (card, context) = shared_card();
            copy(
                &card,
                &context,
                &*memory[0].slice(),
                memory[1].slice(),
                PAGES * PAGE,
            )
            .unwrap();
            let (alive, only_parent) = rustix::pipe::pipe().unwrap();
            // The child is of a process whose pages were on a card, and outlives it.
            if unsafe { libc::fork() } == 0 {
                drop(only_parent);
                let gone = byte(&alive).is_none();
                let right = memory.iter().all(|memory| is_pattern(memory.slice(), 3));
                let (card, context) = shared_card();
                let to = Mapped::private(PAGES);
                copy(
                    &card,
                    &context,
                    &*memory[0].slice(),
                    to.slice(),
                    PAGES * PAGE,
                )
                .unwrap();
                let ok = gone && right && is_pattern(to.slice(), 3);
                let _ = rustix::io::write(&results, &[u8::from(ok)]);
                unsafe { libc::_exit(0) };
            }
            copy_for_ever(&memory, &writer)
        });
        drop(results);
        assert_eq!(byte(&reader), Some(1), "round {round}");
        a_while(round);
        kill(parent);
        assert!(libc::WIFSIGNALED(ended(parent)), "round {round}");
        assert_eq!(byte(&result), Some(1), "round {round}");
    }
}

/// Moves pages and increments words of them, while `end` happens; what was counted must be there in the end.
fn while_pages_move(end: impl Fn(u64, &Card, &Context, &Mapped)) {
    let stays = Mapped::private(PAGES).filled(9);
    for round in 0..ROUNDS {
        let (card, context) = shared_card();
        let memory = Mapped::private(PAGES);
        let words =
            unsafe { std::slice::from_raw_parts(memory.at.cast::<AtomicU64>(), PAGES * PAGE / 8) };
        let (moves, stop) = (AtomicU64::new(0), AtomicBool::new(false));
        let counted = std::thread::scope(|scope| {
            let mover = scope.spawn(|| {
                let stop = || stop.load(Ordering::Relaxed);
                // Until the card is gone, or the round.
                while !stop() && context.migrate_to_device(memory.slice()).is_ok() {
                    if context.migrate_to_device(stays.slice()).is_err() {
                        break;
                    }
                    moves.fetch_add(1, Ordering::Relaxed);
                }
            });
            let counter = scope.spawn(|| {
                let mut count = 0u64;
                while !stop.load(Ordering::Relaxed) {
                    for word in words.iter().step_by(61) {
                        word.fetch_add(1, Ordering::Relaxed);
                        count += 1;
                    }
                }
                count
            });
            while moves.load(Ordering::Relaxed) < 3 && !mover.is_finished() {
                std::thread::yield_now();
            }
            a_while(round);
            end(round, &card, &context, &stays);
            stop.store(true, Ordering::Relaxed);
            mover.join().unwrap();
            counter.join().unwrap()
        });
        let sum: u64 = words.iter().map(|word| word.load(Ordering::Relaxed)).sum();
        assert_eq!(sum, counted, "round {round}");
        assert!(is_pattern(stays.slice(), 9), "round {round}");
    }
}

#[test]
fn a_context_that_is_closed_while_its_pages_move_gives_them_back() {
    let _alone = alone();
    while_pages_move(|_, _, context, _| context.close().unwrap());
}

#[test]
fn a_card_that_is_closed_while_its_pages_move_gives_them_back() {
    let _alone = alone();
    while_pages_move(|_, card, _, _| card.close().unwrap());
}

#[test]
fn a_process_that_forks_while_its_pages_move_goes_on_and_so_do_its_children() {
    let _alone = alone();
    while_pages_move(|round, _, _, stays| {
        let children = [0, 1].map(|_| fork(|| is_pattern(stays.slice(), 9)));
        // One of them ends earlier than it would.
        if round % 2 == 0 {
            kill(children[0]);
        }
        let first = ended(children[0]);
        assert!(first == 0 || round % 2 == 0 && libc::WIFSIGNALED(first));
        assert_eq!(ended(children[1]), 0);
    });
}

#[test]
fn a_forked_child_that_asks_its_parents_pager_is_told_that_it_is_not_there() {
    let _alone = alone();
    let (_card, context) = shared_card();
    let memory = Mapped::private(PAGES).filled(5);
    context.migrate_to_device(memory.slice()).unwrap();
    let child = fork(|| {
        let elsewhere = |error: Error| matches!(error, Error::WrongProcess { owner } if owner != std::process::id());
        context.prefetch(memory.slice());
        context.advise(memory.slice(), Advice::InPlace);
        context.discard(memory.slice());
        context
            .migrate_to_device(memory.slice())
            .is_err_and(elsewhere)
            && context
                .migrate_to_host(memory.slice())
                .is_err_and(elsewhere)
            && context.residency(memory.slice()).is_err_and(elsewhere)
            && context.forget(memory.slice()).is_ok()
    });
    assert_eq!(ended(child), 0);
    assert!(is_pattern(memory.slice(), 5));
}
