// SPDX-License-Identifier: Apache-2.0
//! Control blocks of every kind that HLS has made: each launch's result is its own, however often it is launched.
#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on says so by failing"
)]

mod mock;

use godwit::{AllocOptions, Buffer, Card, Completion, Error, ErrorKind, LaunchEnd, layout};
use mock::{CONTROL, Clears, FAILS, MockCard, Protocol};

const BYTES: u64 = 4096;
const ROUNDS: u8 = 12;

struct Rig {
    card: Card,
    src: Buffer,
    dst: Buffer,
}

fn rig(card: MockCard) -> Rig {
    let card = Card::with_device(Box::new(card)).unwrap();
    let context = card.context(None).unwrap();
    let alloc = || context.alloc(BYTES, AllocOptions::new()).unwrap();
    let (src, dst) = (alloc(), alloc());
    Rig { card, src, dst }
}

impl Rig {
    fn launch(&self, tag: u32) -> godwit::LaunchBuilder<'_> {
        let copy = self.card.kernel("copy").unwrap();
        copy.arg("src", &self.src)
            .arg("dst", &self.dst)
            .arg("bytes", BYTES)
            .arg("tag", tag)
    }

    /// Copies bytes that no other round has.
    fn round(&self, value: u8) -> Completion {
        self.src.write(0, &[value; BYTES as usize]).unwrap();
        let done = self.launch(0).run().unwrap();
        let mut out = [0; BYTES as usize];
        self.dst.read(0, &mut out).unwrap();
        assert!(
            out == [value; BYTES as usize],
            "round {value} copied another round's bytes"
        );
        done
    }
}

fn protocols() -> impl Iterator<Item = Protocol> {
    let clears = [Clears::OnRead, Clears::Toggle, Clears::WriteOne];
    clears.into_iter().flat_map(|clears| {
        [(false, false), (false, true), (true, false), (true, true)].map(|(chain, polled)| {
            Protocol {
                clears,
                chain,
                polled,
                ..Protocol::default()
            }
        })
    })
}

#[test]
fn every_kind_of_control_block_is_launched_again_and_again() {
    for protocol in protocols() {
        let rig = rig(MockCard::with_kernels(&[protocol]));
        let mut cycles = Vec::new();
        for value in 1..=ROUNDS {
            let done = rig.round(value);
            let end = if protocol.polled {
                LaunchEnd::Polled
            } else {
                LaunchEnd::Interrupt
            };
            assert_eq!(done.end, end, "{protocol:?}");
            assert_eq!(done.end_cycle - done.start_cycle, done.cycles);
            cycles.push(done.cycles);
        }
        let exact = BYTES / 64 + 1;
        if protocol.polled {
            // The first look comes when 16 cycles have passed, each later one when a sixteenth more has.
            assert!(
                cycles
                    .iter()
                    .all(|cycles| (exact..exact + 20).contains(cycles)),
                "{cycles:?}"
            );
        } else {
            assert!(
                cycles.iter().all(|cycles| *cycles == exact),
                "{protocol:?}: {cycles:?}"
            );
        }
    }
}

#[test]
fn auto_restart_that_somebody_left_on_is_ended_first() {
    for protocol in protocols() {
        let rig = rig(MockCard::with_kernels(&[protocol]).with_auto_restart());
        for value in 1..=3 {
            rig.round(value);
        }
    }
}

#[test]
fn an_interrupt_that_was_pending_is_no_completion() {
    for clears in [Clears::OnRead, Clears::Toggle, Clears::WriteOne] {
        let protocol = Protocol {
            clears,
            ..Protocol::default()
        };
        let rig = rig(MockCard::with_kernels(&[protocol]).with_pending_interrupt());
        assert_eq!(rig.round(1).cycles, BYTES / 64 + 1);
    }
}

#[test]
fn a_status_that_cannot_be_cleared_is_an_error_that_says_so() {
    let protocol = Protocol {
        clears: Clears::Never,
        ..Protocol::default()
    };
    let rig = rig(MockCard::with_kernels(&[protocol]).with_pending_interrupt());
    let error = rig.launch(0).run().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Device);
    let text = error.to_string();
    assert!(
        text.starts_with("kernel `copy`: its interrupt status reads 0x1 while nothing runs"),
        "{text}"
    );
    // Nothing was started, and the card is as it was.
    assert!(rig.card.stats().is_ok());
}

#[test]
fn an_interrupt_that_stays_up_ends_the_launch_with_an_error() {
    let protocol = Protocol {
        clears: Clears::Never,
        ..Protocol::default()
    };
    let rig = rig(MockCard::with_kernels(&[protocol]));
    let text = rig.launch(0).run().unwrap_err().to_string();
    assert!(text.contains("its interrupt is up and stays up"), "{text}");
}

#[test]
fn a_done_that_never_falls_is_an_error_and_not_a_completion() {
    let protocol = Protocol {
        polled: true,
        done_sticks: true,
        ..Protocol::default()
    };
    let rig = rig(MockCard::with_kernels(&[protocol]));
    rig.round(1);
    let text = rig.launch(0).run().unwrap_err().to_string();
    assert!(
        text.starts_with("kernel `copy`: ap_ctrl reads 0x6 before the start: done is up"),
        "{text}"
    );
}

#[test]
fn a_register_that_was_written_by_hand_is_looked_at_again() {
    for protocol in protocols().filter(|protocol| !protocol.polled) {
        let rig = rig(MockCard::with_kernels(&[protocol]));
        rig.round(1);
        // A launch past the runtime: done and its interrupt stay behind.
        rig.card
            .reg_write(CONTROL + u64::from(layout::HLS_AP_CTRL), 1)
            .unwrap();
        rig.card.run(1000, 0).unwrap();
        assert_eq!(rig.round(2).cycles, BYTES / 64 + 1, "{protocol:?}");
    }
}

#[test]
fn an_end_with_an_error_status_is_an_error_unless_it_is_allowed() {
    let rig = rig(MockCard::new());
    let error = rig.launch(FAILS).run().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Status);
    assert_eq!(
        error.to_string(),
        "kernel `copy` ended with status 7 (0 done, 1 refused, 7 asked for)"
    );
    let Error::Status { completion, .. } = error else {
        panic!("{error}")
    };
    assert_eq!(completion.result("copied"), Some(0));
    let done = rig.launch(FAILS).allow_status().run().unwrap();
    assert_eq!(done.result("status"), Some(7));
    rig.round(1);
}
