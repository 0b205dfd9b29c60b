// SPDX-License-Identifier: Apache-2.0
//! The page DMA from the runtime, on the real RTL. Needs the card `tapasco`; a missing one fails with the command that builds it.
#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on says so by failing"
)]

use std::future::Future;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use godwit::{AllocOptions, Card, Error, ErrorKind, Memory, Move, OpenOptions, Side};

const PAGE: u64 = 4096;
const HOST: u64 = 1 << 32;

/// The card on a link and a memory of a line a cycle, so that a test takes few of them.
fn open() -> Card {
    let fast = r#"{"host_link": {"bandwidth_gbps": 12.8, "to_host_gbps": 12.8}, "memory": {"model": "fixed"}}"#;
    let options = OpenOptions::from_json(fast).unwrap();
    Card::open("sim:tapasco", options).unwrap_or_else(|error| panic!("{error}"))
}

/// Bytes that differ from page to page.
fn bytes(len: u64, seed: u64) -> Vec<u8> {
    let mut state = seed | 1;
    (0..len)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state as u8
        })
        .collect()
}

/// A card with host memory at HOST, and as much device memory at the address returned.
fn with_host(len: u64) -> (Card, Arc<Memory>, godwit::Frames) {
    let card = open();
    let host = Arc::new(Memory::new(len).unwrap());
    card.set_host_window(HOST, Some(Arc::clone(&host))).unwrap();
    let frames = card.alloc_frames(len, PAGE).unwrap();
    (card, host, frames)
}

fn read(memory: &Memory, addr: u64, len: u64) -> Vec<u8> {
    let mut out = vec![0; len as usize];
    memory.read(addr, &mut out).unwrap();
    out
}

#[test]
fn lists_of_pages_move_both_ways_at_the_links_speed() {
    // More pages than the ring has room for.
    const PAGES: u64 = 1100;
    let (card, host, frames) = with_host(PAGES * PAGE);
    let device = frames.extent().pa;
    let data = bytes(PAGES * PAGE, 3);
    host.write(0, &data).unwrap();
    // Scattered: every page goes to another place.
    let place = |page: u64| page * 611 % PAGES * PAGE;
    let moves: Vec<Move> = (0..PAGES)
        .map(|page| Move::Copy {
            from: Side::Host(HOST + page * PAGE),
            to: Side::Device(device + place(page)),
            len: PAGE,
        })
        .collect();
    let before = card.stats().unwrap();
    card.transfer(&moves).unwrap().wait().unwrap();
    let took = card.stats().unwrap().since(&before);
    let seconds = took.cycles as f64 / 200e6;
    let rate = (PAGES * PAGE) as f64 / seconds / 12.8e9;
    assert!(rate >= 0.95, "{:.1} % of the link", 100.0 * rate);
    for page in 0..PAGES {
        let at = (page * PAGE) as usize;
        assert_eq!(
            read(card.memory(), device + place(page), PAGE),
            &data[at..at + PAGE as usize]
        );
    }
    // Back, in device order.
    host.clear(0, PAGES * PAGE).unwrap();
    let all = [Move::Copy {
        from: Side::Device(device),
        to: Side::Host(HOST),
        len: PAGES * PAGE,
    }];
    card.transfer(&all).unwrap().wait().unwrap();
    assert_eq!(
        read(&host, 0, PAGES * PAGE),
        read(card.memory(), device, PAGES * PAGE)
    );
}

#[test]
fn dirty_lines_and_clears() {
    let (card, host, frames) = with_host(4 * PAGE);
    let device = frames.extent().pa;
    card.memory().write(device, &bytes(4 * PAGE, 5)).unwrap();
    host.write(0, &[0xee; 4 * PAGE as usize]).unwrap();
    let moves = [
        Move::Lines {
            from: Side::Device(device),
            to: Side::Host(HOST + PAGE),
            mask: 1 << 63 | 0b10,
        },
        Move::Clear {
            to: Side::Device(device + 2 * PAGE),
            len: PAGE,
        },
        Move::Clear {
            to: Side::Host(HOST + 2 * PAGE + 64),
            len: 128,
        },
    ];
    card.transfer(&moves).unwrap().wait().unwrap();
    for line in 0..64 {
        let found = read(&host, PAGE + line * 64, 64);
        if line == 1 || line == 63 {
            assert_eq!(found, read(card.memory(), device + line * 64, 64));
        } else {
            assert_eq!(found, [0xee; 64]);
        }
    }
    assert_eq!(read(card.memory(), device + 2 * PAGE, PAGE), [0; 4096]);
    assert_eq!(read(&host, 2 * PAGE, 64), [0xee; 64]);
    assert_eq!(read(&host, 2 * PAGE + 64, 128), [0; 128]);
    assert_eq!(read(&host, 2 * PAGE + 192, 64), [0xee; 64]);
}

#[test]
fn a_list_that_fails_says_where_and_others_are_done() {
    let (card, host, frames) = with_host(2000 * PAGE);
    let device = frames.extent().pa;
    host.write(0, &bytes(2000 * PAGE, 7)).unwrap();
    let page = |page: u64| Move::Copy {
        from: Side::Host(HOST + page * PAGE),
        to: Side::Device(device + page * PAGE),
        len: PAGE,
    };
    let nowhere = Move::Copy {
        from: Side::Host(HOST + (1 << 30)),
        to: Side::Device(device),
        len: PAGE,
    };
    let before = card.transfer(&[page(0), page(1)]).unwrap();
    // Its bad one in the middle, its end beyond the ring.
    let mut moves: Vec<Move> = (2..1500).map(page).collect();
    moves.insert(300, nowhere);
    let bad = card.transfer(&moves).unwrap();
    let after = card.transfer(&[page(1500), page(1501)]).unwrap();
    let empty = card.transfer(&[]).unwrap();
    before.wait().unwrap();
    let error = bad.wait().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Device);
    let text = error.to_string();
    assert!(
        text.contains("the copy of 4096 bytes from host address 0x140000000")
            && text.contains("reading the source failed"),
        "{text}"
    );
    after.wait().unwrap();
    empty.wait().unwrap();
    for done in [0, 1, 2, 301, 1500, 1501] {
        assert_eq!(
            read(card.memory(), device + done * PAGE, PAGE),
            read(&host, done * PAGE, PAGE),
            "page {done}"
        );
    }
    // And again.
    card.transfer(&[page(1600)]).unwrap().wait().unwrap();
}

/// A fence number is in memory some cycles before its interrupt comes, so a look between the two leaves an interrupt that says nothing
/// new. Whoever waits next finds it.
#[test]
fn an_interrupt_that_says_nothing_new_is_no_hang() {
    // So often a descriptor gives a fence that is not its list's last.
    const STRIDE: u64 = 256;
    let (card, host, frames) = with_host(64 * PAGE);
    host.write(0, &bytes(64 * PAGE, 5)).unwrap();
    let context = card.context(None).unwrap();
    let data = bytes(16 * PAGE, 7);
    let buffer = context.alloc(16 * PAGE, AllocOptions::new()).unwrap();
    let device = frames.extent().pa;
    let lines = |count: u64| Move::Copy {
        from: Side::Host(HOST),
        to: Side::Device(device),
        len: 64 * count,
    };
    buffer.upload(0, &[1; 64]).unwrap();
    buffer.upload(0, &[2; 64]).unwrap();
    for turn in 0..40 {
        // The last but one gives a fence as the last does, and all distances between the two have their turn.
        let mut list = vec![lines(1); STRIDE as usize - 2];
        list.push(lines(1 + 24 * turn));
        card.transfer(&list).unwrap().wait().unwrap();
        buffer.upload(0, &data).unwrap();
    }
}

#[test]
fn what_no_descriptor_can_say_is_refused() {
    let (card, _host, frames) = with_host(PAGE);
    let device = Side::Device(frames.extent().pa);
    for wrong in [
        Move::Copy {
            from: Side::Host(HOST + 8),
            to: device,
            len: 64,
        },
        Move::Copy {
            from: Side::Host(HOST),
            to: device,
            len: 65,
        },
        Move::Clear { to: device, len: 0 },
        Move::Lines {
            from: Side::Host(HOST + 64),
            to: device,
            mask: 1,
        },
    ] {
        let Err(error) = card.transfer(&[wrong]) else {
            panic!("{wrong} was taken");
        };
        assert!(matches!(error, Error::Argument(_)), "{error}");
    }
}

#[test]
fn memory_of_this_process_by_its_own_addresses() {
    let (card, _host, frames) = with_host(8 * PAGE);
    let mut mine = vec![0_u8; 9 * PAGE as usize];
    let start = mine.as_mut_ptr() as u64;
    let first = start.next_multiple_of(PAGE);
    let data = bytes(8 * PAGE, 9);
    mine[(first - start) as usize..][..data.len()].copy_from_slice(&data);
    // SAFETY: the vector lives on, and is not touched while a list is under way.
    unsafe { card.open_host(first, 8 * PAGE).unwrap() };
    let copy = |from, to| Move::Copy {
        from,
        to,
        len: 4 * PAGE,
    };
    let device = frames.extent().pa;
    card.transfer(&[copy(Side::Host(first), Side::Device(device))])
        .unwrap()
        .wait()
        .unwrap();
    let half = &data[..4 * PAGE as usize];
    assert_eq!(read(card.memory(), device, 4 * PAGE), half);
    card.transfer(&[copy(Side::Device(device), Side::Host(first + 4 * PAGE))])
        .unwrap()
        .wait()
        .unwrap();
    card.close_host(first).unwrap();
    assert_eq!(
        &mine[(first - start + 4 * PAGE) as usize..][..4 * PAGE as usize],
        half
    );
    let gone = card
        .transfer(&[copy(Side::Host(first), Side::Device(device))])
        .unwrap();
    assert!(gone.wait().is_err());
    assert!(card.close_host(first).is_err());
}

#[test]
fn explicit_copies_go_through_it() {
    let card = open();
    let context = card.context(None).unwrap();
    let buffer = context.alloc(9 << 20, AllocOptions::new()).unwrap();
    for (offset, len) in [(0, 9 << 20), (3, 200), (61, 70_001), (100, 8)] {
        let data = bytes(len, offset + len);
        let before = card.stats().unwrap();
        buffer.upload(offset, &data).unwrap();
        let went = card.stats().unwrap().since(&before);
        if len > 128 {
            assert!(
                went.link_ps == 0 && went.link_bytes >= len - 126,
                "{went:?}"
            );
        }
        let mut out = vec![0; len as usize];
        buffer.download(offset, &mut out).unwrap();
        assert_eq!(out, data, "{offset} {len}");
    }
    // The same cycles every time.
    let cycles: Vec<u64> = (0..2)
        .map(|_| {
            let before = card.stats().unwrap().cycles;
            buffer.upload(0, &bytes(1 << 20, 1)).unwrap();
            card.stats().unwrap().cycles - before
        })
        .collect();
    assert!(
        cycles[0].abs_diff(cycles[1]) * 100 < cycles[0],
        "{cycles:?}"
    );
}

#[test]
fn a_kernel_works_while_pages_move_and_a_list_can_be_awaited() {
    let (card, host, frames) = with_host(64 * PAGE);
    host.write(0, &bytes(64 * PAGE, 11)).unwrap();
    let context = card.context(None).unwrap();
    let buffer = context.alloc(1 << 20, AllocOptions::new()).unwrap();
    buffer.write(0, &[1; 1 << 20]).unwrap();
    let launch = card
        .kernel("array_sum")
        .unwrap()
        .arg("values", &buffer)
        .arg("count", 1_u64 << 18)
        .arg("dtype", 0_u32)
        .start()
        .unwrap();
    let all = [Move::Copy {
        from: Side::Host(HOST),
        to: Side::Device(frames.extent().pa),
        len: 64 * PAGE,
    }];
    let mut list = std::pin::pin!(card.transfer(&all).unwrap());
    let mut context = Context::from_waker(Waker::noop());
    while list.as_mut().poll(&mut context).is_pending() {
        std::thread::yield_now();
    }
    assert!(matches!(list.poll(&mut context), Poll::Ready(Ok(()))));
    assert_eq!(
        read(card.memory(), frames.extent().pa, 64 * PAGE),
        read(&host, 0, 64 * PAGE)
    );
    let done = launch.wait().unwrap();
    assert_eq!(done.result("sum"), Some(0x0101_0101 << 18));
}

#[test]
fn a_card_that_is_closed_ends_what_is_posted() {
    let (card, _host, frames) = with_host(64 * PAGE);
    let moves = [Move::Clear {
        to: Side::Device(frames.extent().pa),
        len: 64 * PAGE,
    }];
    let list = card.transfer(&moves).unwrap();
    drop(frames);
    card.close().unwrap();
    // Done before, or told.
    if let Err(error) = list.wait() {
        assert!(matches!(error, Error::Closed), "{error}");
    }
}

#[test]
fn a_card_without_one_says_so() {
    let card = Card::open("sim:tiny", OpenOptions::new()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(card.description().config.dma.slots, 0);
    let Err(error) = card.transfer(&[]) else {
        panic!("it has one");
    };
    assert!(error.to_string().contains("dma.slots"), "{error}");
}
