// SPDX-License-Identifier: Apache-2.0
//! Resets of the function, by its software (a write to configuration space) and by the client (a message of its own).
#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on says so by failing"
)]

mod common;

use std::time::Duration;

use common::mock::{COPY, MEMORY_BYTES, MockCard, RAISE, STREAM};
use common::{Client, bytes, connect, start, wait, word};
use godwit_card::Memory;
use godwit_vfio::ServeError;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

const EIO: u32 = 5;
const ENODEV: u32 = 19;
const EINVAL: u32 = 22;
const EPROTO: u32 = 71;
const CONFIG: u32 = 7;
type Reset = fn(&mut Client) -> Result<(), u32>;
const WAYS: [Reset; 2] = [Client::reset, Client::function_level_reset];

/// Where guest memory is on the bus.
const BUS: u32 = 0x8000_0000;

fn guest_memory(client: &mut Client) -> Memory {
    let guest = Memory::new(0x1000).unwrap();
    client
        .map(3, (0, BUS.into(), 0x1000), Some(guest.fd()))
        .unwrap();
    guest
}

/// Whether an event file is signalled within a moment.
fn comes(event: &std::os::fd::OwnedFd) -> bool {
    let limit = Timespec {
        tv_sec: 0,
        tv_nsec: 20_000_000,
    };
    let mut fds = [PollFd::new(event, PollFlags::IN)];
    poll(&mut fds, Some(&limit)).unwrap() == 1
}

#[test]
fn a_function_says_that_it_can_be_reset() {
    let (mut client, _server) = connect(MockCard::new());
    let capabilities = client.read(CONFIG, 0x54, 4).unwrap();
    assert_ne!(word(&capabilities, 0) & 1 << 28, 0);
    let info = bytes(&[(16, 4), (0, 4), (0, 4), (0, 4)]);
    assert_eq!(word(&client.ask(4, &info, &[]).unwrap(), 4) & 1, 1);
}

#[test]
fn a_reset_function_is_as_it_was_made() {
    for reset in WAYS {
        let (mut client, server) = connect(MockCard::new());
        let config = client.read(CONFIG, 0, 4096).unwrap();
        let table = client.read(4, 0, 4096).unwrap();
        client.region(2).unwrap();
        let mapped = Memory::map(client.fds.remove(0), 0, MEMORY_BYTES).unwrap();
        for round in 0..2 {
            client.set_reg(0x40, 7);
            client.write(CONFIG, 4, &[6, 4]).unwrap();
            client.write(CONFIG, 0x10, &[0xff; 8]).unwrap();
            client.write(CONFIG, 0x42, &[0, 0xc0]).unwrap();
            client.write(4, 0, &[0xff; 16]).unwrap();
            client.write(2, 0x1000, b"by message").unwrap();
            mapped.write(0x2000, b"by store").unwrap();
            reset(&mut client).unwrap();
            assert_eq!(client.reg(0x40), 0, "round {round}");
            assert_eq!(client.read(CONFIG, 0, 4096), Ok(config.clone()));
            assert_eq!(client.read(4, 0, 4096), Ok(table.clone()));
            // Nothing of whoever had the card before, for who maps its memory and for who does not.
            let mut left = vec![1; MEMORY_BYTES as usize];
            mapped.read(0, &mut left).unwrap();
            assert!(left.iter().all(|byte| *byte == 0));
            assert_eq!(client.read(2, 0x1000, 10), Ok(vec![0; 10]));
        }
        // The memory that was mapped is the card's as before.
        mapped.write(8, b"again").unwrap();
        assert_eq!(client.read(2, 8, 5), Ok(b"again".to_vec()));
        drop(client);
        let served = server.end().unwrap();
        assert_eq!((served.resets, served.errors), (2, 0));
    }
}

#[test]
fn memory_is_cleared_on_a_card_that_nobody_used_too() {
    for reset in WAYS {
        // Its registers are as after power-up: there is nothing in the card to be reset, so it need not be able to.
        let (mut client, server) = connect(MockCard::stuck());
        let guest = guest_memory(&mut client);
        client.set_master(true);
        client.write(2, 64, &[9; 8]).unwrap();
        reset(&mut client).unwrap();
        assert_eq!(client.read(2, 64, 8), Ok(vec![0; 8]));
        assert_eq!(client.read(CONFIG, 4, 2), Ok(vec![0; 2]));
        guest.write(0, &[5; 12]).unwrap();
        client.set_reg(COPY, BUS);
        assert_eq!(client.read(2, 0, 12), Ok(vec![0; 12]));
        drop(client);
        assert_eq!(server.end().unwrap().resets, 1);
    }
}

#[test]
fn what_was_under_way_to_the_guest_never_arrives() {
    for reset in WAYS {
        let (mut client, server) = connect(MockCard::new());
        let guest = guest_memory(&mut client);
        for _ in 0..3 {
            client.set_master(true);
            client.set_reg(STREAM, BUS);
            let before = guest.read_u64(0).unwrap();
            while guest.read_u64(0).unwrap() == before {
                client.reg(0x40);
            }
            reset(&mut client).unwrap();
            let last = guest.read_u64(0).unwrap();
            // Neither by itself nor when it may be the bus's master again.
            for master in [false, true] {
                client.set_master(master);
                client.set_reg(0x40, 1);
                std::thread::sleep(Duration::from_millis(5));
                assert_eq!(guest.read_u64(0).unwrap(), last);
            }
        }
        drop(client);
        assert_eq!(server.end().unwrap().resets, 3);
    }
}

#[test]
fn memory_that_is_shared_stays_so_and_is_reached_by_the_bus_s_master_alone() {
    for reset in WAYS {
        let (mut client, _server) = connect(MockCard::new());
        let guest = guest_memory(&mut client);
        guest.write(0, b"guest memory").unwrap();
        client.set_master(true);
        client.set_reg(0x40, 1);
        reset(&mut client).unwrap();
        client.set_reg(COPY, BUS);
        assert_eq!(client.read(2, 0, 12), Ok(vec![0; 12]));
        client.set_master(true);
        client.set_reg(COPY, BUS);
        assert_eq!(client.read(2, 0, 12), Ok(b"guest memory".to_vec()));
        assert_eq!(client.unmap(0, BUS.into(), 0x1000), Ok(0x1000));
    }
}

#[test]
fn interrupts_go_nowhere_until_vectors_are_given_again() {
    for reset in WAYS {
        let (mut client, _server) = connect(MockCard::new());
        let before = client.vector(0);
        client.set_reg(RAISE, 1);
        assert_eq!(wait(&before), 1);
        reset(&mut client).unwrap();
        client.set_reg(RAISE, 1);
        assert!(!comes(&before));
        let after = client.vector(0);
        client.set_reg(RAISE, 1);
        assert_eq!(wait(&after), 1);
    }
}

#[test]
fn several_writes_of_one_message_meet_the_function_before_and_after() {
    let (mut client, _server) = connect(MockCard::new());
    let one = |region: u64, offset: u64, count: u64, value: u64| {
        bytes(&[(offset, 8), (region, 4), (count, 4), (value, 8)])
    };
    let body = [
        bytes(&[(3, 8)]),
        one(0, 0x40, 4, 7),
        one(CONFIG.into(), 0x59, 1, 0x80),
        one(0, 0x44, 4, 8),
    ];
    client.send(15, 1 << 4, &body.concat(), &[]);
    assert_eq!((client.reg(0x40), client.reg(0x44)), (0, 8));
}

#[test]
fn what_is_no_reset_changes_nothing() {
    let (mut client, _server) = start(MockCard::new());
    assert_eq!(client.reset(), Err(EPROTO));
    client.agree().unwrap();
    client.set_reg(0x40, 7);
    assert_eq!(client.ask(13, &[0; 4], &[]), Err(EINVAL));
    assert_eq!(client.ask(13, &[0; 4000], &[]), Err(EINVAL));
    // The other bits of the register, and a write that is not all within configuration space.
    client.write(CONFIG, 0x58, &[0xff, 0x7f]).unwrap();
    assert_eq!(client.write(CONFIG, 0x58, &[0xff; 4096]), Err(EINVAL));
    assert_eq!(client.read(CONFIG, 0x58, 2), Ok(vec![0xff, 0x7f]));
    assert_eq!(client.reg(0x40), 7);
}

#[test]
fn a_card_that_cannot_be_reset_is_told_and_gone() {
    for reset in WAYS {
        let (mut client, server) = connect(MockCard::stuck());
        client.set_reg(0x40, 7);
        assert_eq!(reset(&mut client), Err(EIO));
        let error = server.end().unwrap_err();
        assert!(matches!(error, ServeError::Card(_)), "{error}");
        assert!(error.to_string().contains("cannot be opened"), "{error}");
    }
}

#[test]
fn an_empty_slot_has_nothing_to_reset() {
    let (mut client, server) = connect(MockCard::new());
    server.1.remove();
    assert_eq!(client.reset(), Err(ENODEV));
    // Like any write to what is not there.
    assert_eq!(client.function_level_reset(), Ok(()));
    drop(client);
    assert_eq!(server.end().unwrap().resets, 0);
}
