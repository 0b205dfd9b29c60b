// SPDX-License-Identifier: Apache-2.0
//! The protocol as a client sees it, with a card of ordinary code behind.
#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on says so by failing"
)]

mod common;

use std::os::fd::AsFd;
use std::time::Duration;

use common::mock::{BREAK, COPY, END, MEMORY_BYTES, MockCard, RAISE};
use common::{bytes, connect, connect_spares, double, start, wait, word};
use godwit_card::Memory;
use godwit_vfio::ServeError;

const EINVAL: u32 = 22;
const ENOENT: u32 = 2;
const EEXIST: u32 = 17;
const EPROTO: u32 = 71;
const ENOTSUP: u32 = 95;
const CONFIG: u32 = 7;

#[test]
fn a_version_is_agreed_on_before_anything_else() {
    let (mut client, server) = start(MockCard::new());
    assert_eq!(client.region(0), Err(EPROTO));
    assert_eq!(client.ask(1, &bytes(&[(1, 2), (0, 2)]), &[]), Err(ENOTSUP));
    assert_eq!(client.ask(1, &[0, 0], &[]), Err(EINVAL));
    let ours = client.ask(1, &bytes(&[(0, 2), (9, 2)]), &[]).unwrap();
    assert_eq!(ours[..4], [0, 0, 1, 0]);
    let text = std::str::from_utf8(&ours[4..ours.len() - 1]).unwrap();
    assert!(text.contains("\"max_data_xfer_size\":1048576"), "{text}");
    assert!(client.region(0).is_ok());
    drop(client);
    let served = server.end().unwrap();
    assert_eq!((served.messages, served.errors), (5, 3));
}

#[test]
fn regions_are_registers_memory_table_and_configuration() {
    let (mut client, _server) = connect(MockCard::new());
    let info = client
        .ask(4, &bytes(&[(16, 4), (0, 4), (0, 4), (0, 4)]), &[])
        .unwrap();
    assert_eq!([word(&info, 4), word(&info, 8), word(&info, 12)], [3, 9, 5]);
    let regions: Vec<_> = (0..9).map(|index| client.region(index).unwrap()).collect();
    let none = (0, 0);
    assert_eq!(
        regions,
        [
            (3, 1 << 21),
            none,
            (7, MEMORY_BYTES),
            none,
            (3, 4096),
            none,
            none,
            (3, 4096),
            none
        ]
    );
    assert_eq!(client.region(9), Err(EINVAL));
    // The vendor and device that drivers look for, as lspci would show them.
    assert_eq!(client.read(CONFIG, 0, 4), Ok(vec![0xf4, 0x1a, 0xf5, 0x10]));
    assert_eq!(client.read(CONFIG, 9, 3), Ok(vec![0, 0, 0x12]));
}

#[test]
fn device_memory_can_be_mapped() {
    let (mut client, _server) = connect(MockCard::new());
    client.write(2, 4090, b"by message").unwrap();
    client.region(2).unwrap();
    let file = client.fds.remove(0);
    let mapped = Memory::map(file, 0, MEMORY_BYTES).unwrap();
    let mut found = [0; 10];
    mapped.read(4090, &mut found).unwrap();
    assert_eq!(&found, b"by message");
    mapped.write(0, b"by store").unwrap();
    assert_eq!(client.read(2, 0, 8), Ok(b"by store".to_vec()));
    assert_eq!(client.read(2, MEMORY_BYTES - 4, 8), Err(EINVAL));
    client.region(0).unwrap();
    assert!(client.fds.is_empty());
}

#[test]
fn registers_are_words() {
    let (mut client, server) = connect(MockCard::new());
    client.set_reg(0x40, 0x1234_5678);
    assert_eq!(client.reg(0x40), 0x1234_5678);
    client.write(0, 0x48, &[1, 2, 3, 4, 5, 6, 7, 8]).unwrap();
    assert_eq!(
        (client.reg(0x48), client.reg(0x4c)),
        (0x0403_0201, 0x0807_0605)
    );
    // As on a bus: ones, and nothing.
    assert_eq!(client.reg(END), u32::MAX);
    client.set_reg(END, 5);
    assert_eq!(client.read(0, 0x41, 2), Ok(vec![0xff; 2]));
    client.write(0, 0x42, &[9; 2]).unwrap();
    assert_eq!(client.reg(0x40), 0x1234_5678);
    assert_eq!(client.read(0, (1 << 21) - 4, 8), Err(EINVAL));
    assert_eq!(client.read(0, u64::MAX - 3, 4), Err(EINVAL));
    drop(client);
    let served = server.end().unwrap();
    assert_eq!((served.bus_errors, served.errors), (4, 2));
}

#[test]
fn what_is_only_read_runs_the_card_for_a_moment() {
    let (mut client, server) = connect(MockCard::new());
    client.set_reg(0x40, 7);
    for _ in 0..50 {
        // Longer than the model takes to stand.
        std::thread::sleep(Duration::from_millis(1));
        assert_eq!(client.reg(0x40), 7);
    }
    drop(client);
    let cycles = server.end().unwrap().cycles;
    assert!(
        cycles > 0 && cycles <= 2 * 8192 + 50 * 256,
        "{cycles} cycles"
    );
}

#[test]
fn several_writes_come_in_one_message() {
    let (mut client, _server) = connect(MockCard::new());
    let one = |offset: u64, value: u64| bytes(&[(offset, 8), (0, 4), (4, 4), (value, 8)]);
    let body = [bytes(&[(2, 8)]), one(0x40, 7), one(0x44, 8)].concat();
    // Without an answer: the next one is that of the read.
    client.send(15, 1 << 4, &body, &[]);
    assert_eq!((client.reg(0x40), client.reg(0x44)), (7, 8));
}

#[test]
fn the_card_reaches_memory_that_is_shared_and_only_that() {
    let (mut client, _server) = connect(MockCard::new());
    let guest = Memory::new(0x4000).unwrap();
    guest.write(0x1000, b"guest memory").unwrap();
    let range = (0x1000, 0x8000_0000, 0x2000);
    client.set_master(true);
    client.map(3, range, Some(guest.fd())).unwrap();
    client.set_reg(COPY, 0x8000_0000);
    assert_eq!(client.read(2, 0, 12), Ok(b"guest memory".to_vec()));
    let mut there = [0; 12];
    guest.read(0x1040, &mut there).unwrap();
    assert_eq!(&there, b"guest memory");

    assert_eq!(
        client.map(3, (0, 0x8000_1000, 0x1000), Some(guest.fd())),
        Err(EEXIST)
    );
    assert_eq!(client.unmap(0, 0x8000_0000, 0x1000), Err(EINVAL));
    assert_eq!(client.unmap(0, 0x8000_0000, 0x2000), Ok(0x2000));
    assert_eq!(client.unmap(0, 0x8000_0000, 0x2000), Err(ENOENT));
    client.set_reg(COPY, 0x8000_0000);
    assert_eq!(client.read(2, 0, 12), Ok(vec![0; 12]));
}

#[test]
fn a_card_that_is_not_the_bus_s_master_reaches_nothing() {
    let (mut client, _server) = connect(MockCard::new());
    let guest = Memory::new(0x4000).unwrap();
    guest.write(0, b"guest memory").unwrap();
    let sees = |client: &mut common::Client, address: u32| {
        client.write(2, 0, &[0; 12]).unwrap();
        client.set_reg(COPY, address);
        client.read(2, 0, 12).unwrap() == b"guest memory"
    };
    client.map(3, (0, 0, 0x1000), Some(guest.fd())).unwrap();
    assert!(!sees(&mut client, 0));
    client.set_master(true);
    assert!(sees(&mut client, 0));
    client.set_master(false);
    assert!(!sees(&mut client, 0));
    // What comes and goes meanwhile is known when it is again.
    client
        .map(3, (0, 0x2000, 0x1000), Some(guest.fd()))
        .unwrap();
    assert_eq!(client.unmap(0, 0, 0x1000), Ok(0x1000));
    client.set_master(true);
    assert!(!sees(&mut client, 0) && sees(&mut client, 0x2000));
}

#[test]
fn memory_that_is_not_what_it_says_is_refused() {
    let (mut client, _server) = connect(MockCard::new());
    let guest = Memory::new(0x4000).unwrap();
    let mut map = |range| client.map(3, range, Some(guest.fd()));
    // More than the file has; wrapped around; not whole pages of the file, not whole lines; nothing.
    assert_eq!(map((0x3000, 0, 0x2000)), Err(EINVAL));
    assert_eq!(map((u64::MAX - 0xfff, 0, 0x2000)), Err(EINVAL));
    assert_eq!(map((0, u64::MAX - 0xfff, 0x2000)), Err(EINVAL));
    assert_eq!(map((0x800, 0, 0x1000)), Err(EINVAL));
    assert_eq!(map((0, 0, 0x1001)), Err(EINVAL));
    assert_eq!(map((0, 0, 0)), Err(EINVAL));
    let pipe = rustix::pipe::pipe().unwrap().0;
    assert_eq!(
        client.map(3, (0, 0, 0x1000), Some(pipe.as_fd())),
        Err(EINVAL)
    );
    // A ROM, and memory of which there is no file: known, not reached, and taken away together.
    client.map(1, (0, 0, 0x1000), Some(guest.fd())).unwrap();
    client.map(3, (0, 0x1000, 0x1000), None).unwrap();
    client.set_reg(COPY, 0);
    assert_eq!(client.unmap(2, 0, 0), Ok(0x2000));
}

#[test]
fn interrupts_are_messages_of_their_vectors() {
    let (mut client, server) = connect(MockCard::new());
    let info = |index: u64| bytes(&[(16, 4), (0, 4), (index, 4), (0, 4)]);
    let kinds: Vec<u32> = (0..5)
        .map(|index| word(&client.ask(7, &info(index), &[]).unwrap(), 12))
        .collect();
    assert_eq!(kinds, [0, 0, 4, 0, 0]);
    assert_eq!(client.ask(7, &info(5), &[]), Err(EINVAL));
    let events: Vec<_> = (0..4).map(|vector| client.vector(vector)).collect();
    for (line, vector) in [(0, 0), (31, 1), (1, 2), (2, 3)] {
        client.set_reg(RAISE, 1 << line);
        assert_eq!(wait(&events[vector]), 1);
    }
    let beyond = bytes(&[(20, 4), (4 | 32, 4), (2, 4), (4, 4), (1, 4)]);
    assert_eq!(client.ask(8, &beyond, &[events[0].as_fd()]), Err(EINVAL));
    drop(client);
    assert_eq!(server.end().unwrap().interrupts, 4);
}

#[test]
fn a_card_that_breaks_ends_the_server_and_the_client_knows() {
    let (mut client, server) = connect(MockCard::new());
    assert_eq!(client.write(0, BREAK, &[1, 0, 0, 0]), Err(5));
    let error = server.end().unwrap_err();
    assert!(matches!(error, ServeError::Card(_)), "{error}");
    assert!(error.to_string().contains("it broke"), "{error}");
}

#[test]
fn a_card_that_is_pulled_out_reads_as_ones_and_does_nothing() {
    let (mut client, server) = connect(MockCard::new());
    let event = client.vector(0);
    client.set_reg(0x40, 7);
    server.1.remove();
    assert_eq!(
        (client.reg(0x40), client.read(CONFIG, 0, 2)),
        (u32::MAX, Ok(vec![0xff; 2]))
    );
    client.set_reg(RAISE, 1);
    assert_eq!(client.region(0), Ok((3, 1 << 21)));
    drop((client, event));
    assert_eq!(server.end().unwrap().interrupts, 0);
}

#[test]
fn a_new_card_in_the_slot_is_as_it_was_made() {
    let (mut client, server) = connect_spares(MockCard::new);
    client.set_reg(0x40, 7);
    client.write(CONFIG, 4, &[6, 0]).unwrap();
    client.write(2, 0x1000, &[9; 8]).unwrap();
    // A card that is there stays.
    server.1.insert();
    assert_eq!(client.reg(0x40), 7);
    server.1.remove();
    assert_eq!(
        (client.reg(0x40), client.read(2, 0x1000, 8)),
        (u32::MAX, Ok(vec![0xff; 8]))
    );
    server.1.insert();
    assert_eq!(client.reg(0x40), 0);
    assert_eq!(client.read(CONFIG, 4, 2), Ok(vec![0; 2]));
    assert_eq!(client.read(2, 0x1000, 8), Ok(vec![0; 8]));
    // What one card's memory was, the next one's is not: it cannot be mapped.
    assert_eq!(client.region(2).unwrap().0, 3);
}

#[test]
fn a_slot_without_spares_stays_empty() {
    let (mut client, server) = connect(MockCard::new());
    server.1.remove();
    server.1.insert();
    assert_eq!(client.reg(0x40), u32::MAX);
}

#[test]
fn answers_of_the_client_are_not_answered() {
    let (mut client, _server) = connect(MockCard::new());
    client.send(11, 1, &[0; 24], &[]);
    assert_eq!(client.region(7), Ok((3, 4096)));
}

#[test]
fn an_unmap_says_what_it_took_away() {
    let (mut client, _server) = connect(MockCard::new());
    client.map(3, (0, 0x10_0000, 0x1000), None).unwrap();
    let request = bytes(&[(24, 4), (0, 4), (0x10_0000, 8), (0x1000, 8)]);
    let answer = client.ask(3, &request, &[]).unwrap();
    assert_eq!(
        (double(&answer, 8), double(&answer, 16)),
        (0x10_0000, 0x1000)
    );
}
