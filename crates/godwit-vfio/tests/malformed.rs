// SPDX-License-Identifier: Apache-2.0
//! Whatever a client sends, it is answered or hung up on, and what it did not ask for stays as it was.
#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on says so by failing"
)]

mod common;

use common::mock::{BREAK, MockCard};
use common::{connect, start};
use godwit_card::Memory;
use godwit_vfio::ServeError;
use proptest::collection::vec;
use proptest::prelude::*;

/// Fields of a request: small numbers and the ends of their ranges more often than others.
fn field() -> impl Strategy<Value = Vec<u8>> {
    let small = (0u64..64).prop_map(|value| value.to_le_bytes().to_vec());
    let large = prop_oneof![Just(u64::MAX), Just(1 << 31), Just(1 << 63), any::<u64>()];
    let large = large.prop_map(|value| value.to_le_bytes().to_vec());
    prop_oneof![
        small.clone(),
        small.prop_map(|bytes| bytes[..4].to_vec()),
        large.clone(),
        large.prop_map(|bytes| bytes[..4].to_vec()),
    ]
}

/// A command and a body, and whether memory comes with it.
fn request() -> impl Strategy<Value = (u16, Vec<u8>, bool)> {
    let fields = vec(field(), 0..8).prop_map(|fields| fields.concat());
    let body = prop_oneof![3 => fields, 1 => vec(any::<u8>(), 0..200)];
    (0u16..20, body, any::<bool>())
}

/// The write that ends the card is not what is tried here.
fn breaks(command: u16, body: &[u8]) -> bool {
    let holds = |bytes: &[u8]| body.windows(bytes.len()).any(|part| part == bytes);
    matches!(command, 10 | 15) && holds(&(BREAK as u32).to_le_bytes())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_request_is_answered(requests in vec(request(), 1..60)) {
        let (mut client, server) = connect(MockCard::new());
        let memory = Memory::new(1 << 16).unwrap();
        let mut errors = 0;
        for (command, body, with_memory) in requests {
            if breaks(command, &body) {
                continue;
            }
            let fds = with_memory.then(|| memory.fd());
            errors += u64::from(client.ask(command, &body, fds.as_slice()).is_err());
        }
        prop_assert_eq!(client.read(7, 0, 2), Ok(vec![0xf4, 0x1a]));
        drop(client);
        prop_assert_eq!(server.end().unwrap().errors, errors);
    }

    #[test]
    fn bytes_that_are_no_messages_end_the_connection_and_nothing_else(bytes in vec(any::<u8>(), 0..400)) {
        let (mut client, server) = start(MockCard::new());
        // The server may hang up before it has all of them.
        let _ = client.send_raw(&bytes);
        drop(client);
        match server.end() {
            Ok(_) | Err(ServeError::Protocol(_)) => {}
            Err(other) => prop_assert!(false, "{}", other),
        }
    }
}

#[test]
fn a_message_that_ends_early_is_told() {
    let (mut client, server) = connect(MockCard::new());
    client
        .send_raw(&[1, 0, 9, 0, 32, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5])
        .unwrap();
    drop(client);
    let error = server.end().unwrap_err();
    assert!(error.to_string().contains("within a message"), "{error}");
}

#[test]
fn a_message_of_a_size_that_none_has_is_told() {
    for size in [15u32, u32::MAX] {
        let (mut client, server) = connect(MockCard::new());
        let header = [[1, 0, 9, 0], size.to_le_bytes(), [0; 4], [0; 4]].concat();
        client.send_raw(&header).unwrap();
        let error = server.end().unwrap_err();
        assert!(error.to_string().contains(&size.to_string()), "{error}");
    }
}
