// SPDX-License-Identifier: Apache-2.0
//! The runtime on the real RTL. Needs the cards `tiny` and `default`; a missing one fails with the command that builds it.
//!
//! GODWIT_SEED repeats a run of the random test.
#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on says so by failing"
)]

use std::time::{SystemTime, UNIX_EPOCH};

use godwit::{
    Access, AllocOptions, Binding, Card, Context, Contiguity, Error, OpenOptions, PagePolicy,
    PageSize, PortAnswers, PortBatch, Value, layout,
};

const BEAT: u64 = 64;
const BEAT_LOG2: u8 = 6;

fn open(name: &str) -> Card {
    Card::open(&format!("sim:{name}"), OpenOptions::new()).unwrap_or_else(|error| panic!("{error}"))
}

/// xorshift64*: enough to spread accesses, and the same everywhere.
struct Dice(u64);

impl Dice {
    fn new() -> Self {
        let seed = match std::env::var("GODWIT_SEED") {
            Ok(text) => text.parse().expect("GODWIT_SEED is a number"),
            Err(_) => {
                SystemTime::now()
                    .duration_since(UNIX_EPOCH)
                    .unwrap()
                    .as_nanos() as u64
                    % 1_000_000_007
            }
        };
        println!("GODWIT_SEED={seed} repeats this run");
        Self(seed | 1)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) % limit
    }
}

#[test]
fn external_ports_read_and_write_what_the_host_sees() {
    const ROUNDS: usize = 20;
    const PER_ROUND: u64 = 200;
    let card = open("tiny");
    let mut dice = Dice::new();
    let contexts: Vec<Context> = (0..2).map(|_| card.context(None).unwrap()).collect();
    let buffers: Vec<_> = contexts
        .iter()
        .flat_map(|context| {
            [
                PagePolicy::Auto,
                PagePolicy::Only(PageSize::SIZE_4K),
                PagePolicy::Only(PageSize::SIZE_64K),
            ]
            .map(|pages| {
                let options = AllocOptions::new()
                    .pages(pages)
                    .contiguity(Contiguity::Ignored);
                context.alloc(300_000, options).unwrap()
            })
        })
        .collect();
    let ports = [0, 1].map(|index| card.description().external_port(index).unwrap());
    for (port, context) in ports.iter().zip(&contexts) {
        card.bind_port(*port, Binding::Translate(context)).unwrap();
    }
    let ids = 1 << card.description().config.axi.id_width;
    let (mut batch, mut answers) = (PortBatch::new(), PortAnswers::new());
    for _ in 0..ROUNDS {
        // What each buffer must hold, and each read must bring; writes of a round go to the upper half, reads to the lower.
        let mut expected: Vec<Vec<u8>> = buffers.iter().map(contents).collect();
        let mut reads = Vec::new();
        batch.clear();
        for token in 0..PER_ROUND {
            let which = dice.below(buffers.len() as u64) as usize;
            let buffer = &buffers[which];
            let port = ports[which / 3];
            let half = buffer.len() / 2 / BEAT * BEAT;
            let id = dice.below(ids) as u8;
            let at = dice.below(half / BEAT - 1) * BEAT;
            if dice.below(2) == 0 {
                batch.read(port, token, id, buffer.address() + at, 1, BEAT_LOG2);
                reads.push(Some((which, at as usize)));
            } else {
                let data = [dice.below(256) as u8; BEAT as usize];
                let at = half + at;
                // Writes of different IDs to one place have no order: each place is written once a round.
                if expected[which][at as usize..][..BEAT as usize]
                    != contents(buffer)[at as usize..][..BEAT as usize]
                {
                    reads.push(None);
                    batch.read(port, token, id, buffer.address(), 1, BEAT_LOG2);
                    continue;
                }
                batch.write(port, token, id, buffer.address() + at, &data, BEAT_LOG2);
                expected[which][at as usize..][..BEAT as usize].copy_from_slice(&data);
                reads.push(None);
            }
        }
        card.port_submit(&batch).unwrap();
        card.port_drain(10_000_000).unwrap();
        card.port_poll(&mut answers).unwrap();
        assert_eq!(answers.len() as u64, PER_ROUND);
        for answer in answers.iter() {
            assert_eq!(answer.resp, 0, "{answer:?}");
            if let Some((which, at)) = reads[answer.token as usize] {
                assert_eq!(
                    answer.data,
                    &expected[which][at..][..BEAT as usize],
                    "{answer:?}"
                );
            }
        }
        for (buffer, expected) in buffers.iter().zip(&expected) {
            assert!(
                contents(buffer) == *expected,
                "a buffer holds something else than was written"
            );
            // The next round reads what this one wrote.
            let half = (buffer.len() / 2 / BEAT * BEAT) as usize;
            buffer.write(0, &expected[half..2 * half]).unwrap();
        }
    }
    let counters = card.counters().unwrap();
    let requests: u64 = counters
        .ports
        .iter()
        .map(|port| port.read.requests + port.write.requests)
        .sum();
    assert_eq!(requests, ROUNDS as u64 * PER_ROUND);
    assert!(
        counters.walker.walks > 0
            && counters
                .ports
                .iter()
                .all(|port| port.read.faults + port.write.faults == 0)
    );
}

fn contents(buffer: &godwit::Buffer) -> Vec<u8> {
    let mut out = vec![0; buffer.len() as usize];
    buffer.read(0, &mut out).unwrap();
    out
}

#[test]
fn accesses_that_are_not_allowed_are_answered_and_recorded() {
    let card = open("tiny");
    let context = card.context(None).unwrap();
    let buffer = context
        .alloc(4096, AllocOptions::new().access(Access::Read))
        .unwrap();
    let port = card.description().external_port(0).unwrap();
    let (mut batch, mut answers) = (PortBatch::new(), PortAnswers::new());
    let mut access = |card: &Card, write: bool, addr: u64| {
        batch.clear();
        match write {
            true => batch.write(port, 1, 0, addr, &[7; BEAT as usize], BEAT_LOG2),
            false => batch.read(port, 1, 0, addr, 1, BEAT_LOG2),
        };
        card.port_submit(&batch).unwrap();
        card.port_drain(1_000_000).unwrap();
        card.port_poll(&mut answers).unwrap();
        let resp = answers.iter().next().unwrap().resp;
        (resp, card.take_fault().unwrap())
    };
    let (resp, fault) = access(&card, false, buffer.address());
    assert!(resp != 0 && fault.unwrap().cause == layout::CAUSE_PORT_OFF);
    card.bind_port(port, Binding::Translate(&context)).unwrap();
    assert_eq!(access(&card, false, buffer.address()), (0, None));
    let (resp, fault) = access(&card, true, buffer.address() + 128);
    let fault = fault.unwrap();
    assert!(resp != 0 && fault.write && fault.address == buffer.address() + 128);
    assert!(
        fault.to_string().contains("at byte 128 of the buffer"),
        "{fault}"
    );
    let (resp, fault) = access(&card, false, buffer.address() + 4096);
    assert!(resp != 0 && fault.unwrap().cause == layout::CAUSE_LOAD_PAGE_FAULT);
    let address = buffer.address();
    buffer.free().unwrap();
    let (resp, fault) = access(&card, false, address);
    assert!(resp != 0 && fault.is_some(), "a freed buffer was read");
    // Pages that are mapped after they faulted are there without an invalidation.
    let again = context.alloc(4096, AllocOptions::new()).unwrap();
    assert_eq!(access(&card, true, again.address()).0, 0);
}

struct Sum {
    card: Card,
    context: Context,
    values: godwit::Buffer,
    expected: u64,
}

const COUNT: u64 = 20_000;

fn sum() -> Sum {
    let card = open("default");
    let context = card.context(None).unwrap();
    let values = context
        .alloc(COUNT * 8, AllocOptions::new().access(Access::Read))
        .unwrap();
    let numbers = (0..COUNT).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let bytes: Vec<u8> = numbers.clone().flat_map(u64::to_le_bytes).collect();
    values.upload(0, &bytes).unwrap();
    Sum {
        card,
        context,
        values,
        expected: numbers.fold(0, u64::wrapping_add),
    }
}

impl Sum {
    fn launch(&self, values: Value<'static>) -> godwit::LaunchBuilder<'_> {
        let launch = self
            .card
            .kernel("array_sum")
            .unwrap()
            .context(&self.context);
        launch
            .arg("values", values)
            .arg("count", COUNT)
            .arg("dtype", 1u32)
    }
}

#[test]
fn a_kernel_sums_with_and_without_translation() {
    let rig = sum();
    let translated = rig
        .launch(Value::Number(rig.values.address()))
        .run()
        .unwrap();
    let bare = rig
        .launch(Value::Number(rig.values.address()))
        .bare()
        .run()
        .unwrap();
    for done in [&translated, &bare] {
        assert_eq!(
            (done.result("sum"), done.result("status")),
            (Some(rig.expected), Some(0))
        );
        assert!(done.stats.read_bytes >= COUNT * 8);
        assert!(
            done.cycles >= COUNT * 8 / BEAT,
            "faster than one beat a cycle"
        );
    }
    assert!(
        translated.cycles < 2 * bare.cycles,
        "{} against {}",
        translated.cycles,
        bare.cycles
    );
    assert!(translated.stats.pt_reads > 0 && bare.stats.pt_reads == 0);
}

#[test]
fn a_kernel_that_runs_off_its_buffer_faults_and_the_card_goes_on() {
    let rig = sum();
    let last = rig.values.address() + rig.values.mapped_len() - 4096;
    let error = rig.launch(Value::Address(last)).run().unwrap_err();
    let Error::Fault(fault) = &error else {
        panic!("{error}")
    };
    assert_eq!(
        (fault.kernel.as_deref(), fault.write),
        (Some("array_sum"), false)
    );
    assert!(fault.address >= last + 4096, "{fault}");
    assert!(
        error
            .to_string()
            .contains("bytes past the end of the buffer"),
        "{error}"
    );
    let done = rig
        .launch(Value::Number(rig.values.address()))
        .run()
        .unwrap();
    assert_eq!(done.result("sum"), Some(rig.expected));
}

#[test]
fn a_kernel_is_stopped_in_the_middle_and_used_again() {
    let rig = sum();
    let error = rig
        .launch(Value::Number(rig.values.address()))
        .timeout_cycles(100)
        .run()
        .unwrap_err();
    assert!(
        matches!(error, Error::Timeout { stopped: true, .. }),
        "{error}"
    );
    let done = rig
        .launch(Value::Number(rig.values.address()))
        .run()
        .unwrap();
    assert_eq!(done.result("sum"), Some(rig.expected));
    drop(
        rig.launch(Value::Number(rig.values.address()))
            .start()
            .unwrap(),
    );
    let done = rig
        .launch(Value::Number(rig.values.address()))
        .run()
        .unwrap();
    assert_eq!(done.result("sum"), Some(rig.expected));
}
