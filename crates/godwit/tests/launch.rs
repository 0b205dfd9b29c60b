// SPDX-License-Identifier: Apache-2.0
//! Launches on a mock card.
#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on says so by failing"
)]

mod mock;

use godwit::{
    Access, AllocOptions, Binding, Buffer, Card, Contiguity, Error, ErrorKind, LaunchBuilder,
    PagePolicy, PageSize, Value, layout,
};
use mock::{FOREVER, HANGS, IGNORES_ERRORS, MockCard};

const BYTES: u64 = 100_000;

struct Rig {
    card: Card,
    src: Buffer,
    dst: Buffer,
    data: Vec<u8>,
}

fn rig() -> Rig {
    let card = Card::with_device(Box::new(MockCard::new())).unwrap();
    let context = card.context(None).unwrap();
    let alloc = |options| context.alloc(BYTES, options).unwrap();
    let (src, dst) = (
        alloc(AllocOptions::new().access(Access::Read)),
        alloc(AllocOptions::new()),
    );
    let data: Vec<u8> = (0..BYTES).map(|i| (i * 7 % 253) as u8).collect();
    src.write(0, &data).unwrap();
    Rig {
        card,
        src,
        dst,
        data,
    }
}

impl Rig {
    fn copy(&self) -> LaunchBuilder<'_> {
        self.copy_tagged(0)
    }

    fn copy_tagged(&self, tag: u32) -> LaunchBuilder<'_> {
        let copy = self.card.kernel("copy").unwrap();
        copy.arg("src", &self.src)
            .arg("dst", &self.dst)
            .arg("bytes", BYTES)
            .arg("tag", tag)
    }

    fn copied(&self) -> Vec<u8> {
        let mut out = vec![0; BYTES as usize];
        self.dst.read(0, &mut out).unwrap();
        out
    }
}

#[test]
fn a_kernel_works_on_the_host_s_pointers() {
    let rig = rig();
    let done = rig.copy().run().unwrap();
    assert_eq!(rig.copied(), rig.data);
    assert_eq!(
        (
            done.result("copied"),
            done.result("status"),
            done.result("src")
        ),
        (Some(BYTES), Some(0), None)
    );
    // One step a cycle, and the cycle in which it finds nothing left.
    assert_eq!(done.cycles, BYTES.div_ceil(64) + 1);
    assert_eq!(done.time_ps, done.cycles * 10_000);
    assert!(done.launch_ps > done.time_ps);
    let counters = rig.card.counters().unwrap();
    assert_eq!(counters.ports.len(), 2);
    assert_eq!(counters.ports[0].read.requests, BYTES.div_ceil(64));
    rig.card.clear_counters().unwrap();
    assert_eq!(rig.card.counters().unwrap().ports[0].read.requests, 0);
}

#[test]
fn an_argument_with_a_default_may_be_left_out() {
    let rig = rig();
    let mark = || {
        let word = |offset| {
            u64::from(
                rig.card
                    .reg_read(mock::CONTROL + mock::MARK + offset)
                    .unwrap(),
            )
        };
        word(4) << 32 | word(0)
    };
    rig.copy().run().unwrap();
    assert_eq!(mark(), mock::MARK_DEFAULT);
    rig.copy().arg("mark", 9u64).run().unwrap();
    assert_eq!(mark(), 9);
    // What an earlier launch was given is no default.
    rig.copy().run().unwrap();
    assert_eq!(mark(), mock::MARK_DEFAULT);
}

#[test]
fn the_same_launch_runs_with_physical_addresses() {
    let rig = rig();
    rig.copy().bare().run().unwrap();
    assert_eq!(rig.copied(), rig.data);
    // ... and with virtual ones again.
    rig.dst.write(0, &vec![0; BYTES as usize]).unwrap();
    rig.copy().run().unwrap();
    assert_eq!(rig.copied(), rig.data);
}

#[test]
fn physical_addresses_need_one_piece() {
    let rig = rig();
    let context = rig.src.context();
    let small = AllocOptions::new().pages(PagePolicy::Only(PageSize::SIZE_4K));
    let holes: Vec<_> = (0..4).map(|_| context.alloc(1, small).unwrap()).collect();
    let kept: Vec<_> = holes.into_iter().step_by(2).collect();
    let scattered = context
        .alloc(BYTES, small.contiguity(Contiguity::Ignored))
        .unwrap();
    assert!(!scattered.is_contiguous());
    let copy = || {
        rig.card
            .kernel("copy")
            .unwrap()
            .arg("src", &rig.src)
            .arg("bytes", BYTES)
            .arg("tag", 0u32)
    };
    let error = copy().arg("dst", &scattered).bare().run().unwrap_err();
    assert!(
        error
            .to_string()
            .contains("buffer `dst` is not physically contiguous"),
        "{error}"
    );
    copy().arg("dst", &scattered).run().unwrap();
    drop(kept);
}

#[test]
fn pointers_into_buffers_are_arguments() {
    let rig = rig();
    let copy = || {
        rig.card
            .kernel("copy")
            .unwrap()
            .context(rig.src.context())
            .arg("tag", 0u32)
            .arg("bytes", 64u64)
    };
    for bare in [false, true] {
        rig.dst.write(0, &[0; 256]).unwrap();
        let launch = copy()
            .arg("src", rig.src.address() + 128)
            .arg("dst", rig.dst.address() + 64);
        if bare { launch.bare() } else { launch }.run().unwrap();
        let copied = rig.copied();
        assert_eq!(copied[64..128], rig.data[128..192]);
        assert_eq!(
            (&copied[..64], &copied[128..192]),
            (&[0; 64][..], &[0; 64][..])
        );
    }
    let error = copy()
        .arg("src", 1000u64)
        .arg("dst", &rig.dst)
        .run()
        .unwrap_err();
    assert!(
        error
            .to_string()
            .contains("argument `src`: 0x3e8 is in no buffer"),
        "{error}"
    );
}

#[test]
fn wrong_arguments_are_named() {
    let rig = rig();
    let copy = || rig.card.kernel("copy").unwrap();
    let complete = || {
        copy()
            .arg("src", &rig.src)
            .arg("dst", &rig.dst)
            .arg("bytes", 1u64)
    };
    let cases = [
        (
            copy().arg("src", &rig.src).run(),
            "missing arguments: dst, bytes, tag",
        ),
        (
            complete().arg("tagg", 1u32).run(),
            "no argument `tagg`; did you mean `tag`?",
        ),
        (
            complete().arg("tag", 1u32).arg("copied", 1u32).run(),
            "`copied` is a result",
        ),
        (
            complete().arg("tag", 1u64 << 32).run(),
            "argument `tag` has 32 bits, 4294967296 needs more",
        ),
        (
            complete().arg("tag", &rig.src).run(),
            "argument `tag` is a u32, not a buffer",
        ),
        (
            complete().arg("tag", Value::Null).run(),
            "argument `tag` is a u32, not nothing",
        ),
        (
            complete().arg("tag", 0u32).arg("src", &rig.src).run(),
            "argument `src` is given twice",
        ),
    ];
    for (result, expected) in cases {
        let error = result.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Argument);
        assert!(error.to_string().contains(expected), "{error}");
    }
    let read_only = copy()
        .arg("src", &rig.src)
        .arg("dst", &rig.src)
        .arg("bytes", 1u64)
        .arg("tag", 0u32)
        .run();
    assert!(
        read_only
            .unwrap_err()
            .to_string()
            .contains("it writes `dst`, but that buffer is read-only")
    );
    let unknown = rig.card.kernel("cpoy").err().unwrap().to_string();
    assert_eq!(
        unknown,
        "the card has no kernel `cpoy` (did you mean `copy`?)"
    );
}

#[test]
fn buffers_of_other_contexts_are_refused() {
    let rig = rig();
    let other = rig.card.context(None).unwrap();
    let foreign = other.alloc(BYTES, AllocOptions::new()).unwrap();
    let launch = rig
        .card
        .kernel("copy")
        .unwrap()
        .arg("src", &rig.src)
        .arg("dst", &foreign);
    let error = launch
        .arg("bytes", 1u64)
        .arg("tag", 0u32)
        .run()
        .unwrap_err();
    assert!(
        error
            .to_string()
            .contains("buffer `dst` belongs to another context"),
        "{error}"
    );
}

#[test]
fn a_fault_names_the_buffer_beside_it() {
    let rig = rig();
    let mapped = rig.dst.mapped_len();
    let launch = rig
        .card
        .kernel("copy")
        .unwrap()
        .arg("src", Value::Address(rig.src.address()));
    let launch = launch
        .arg("dst", &rig.dst)
        .arg("bytes", mapped + 64)
        .arg("tag", 0u32);
    let error = launch.run().unwrap_err();
    let Error::Fault(fault) = &error else {
        panic!("{error}")
    };
    assert_eq!(error.kind(), ErrorKind::Fault);
    // Whichever buffer ends first on the way: both are equally long, the source is read first.
    assert_eq!(
        (fault.address, fault.cause),
        (rig.src.address() + mapped, layout::CAUSE_LOAD_PAGE_FAULT)
    );
    assert!(
        error
            .to_string()
            .contains("0 bytes past the end of the buffer"),
        "{error}"
    );
    // The record is free again and the kernel can be used.
    rig.copy().run().unwrap();
    assert_eq!(rig.copied(), rig.data);
}

#[test]
fn what_was_freed_is_out_of_reach() {
    let rig = rig();
    rig.copy().run().unwrap();
    let context = rig.src.context().clone();
    let (gone, bytes) = (rig.dst.address(), BYTES);
    let Rig { card, src, dst, .. } = rig;
    dst.free().unwrap();
    let launch = card
        .kernel("copy")
        .unwrap()
        .context(&context)
        .arg("src", &src);
    let error = launch
        .arg("dst", Value::Address(gone))
        .arg("bytes", bytes)
        .arg("tag", 0u32)
        .run()
        .unwrap_err();
    let Error::Fault(fault) = error else {
        panic!("{error}")
    };
    assert!(fault.write && fault.address == gone);
}

#[test]
fn a_kernel_that_takes_too_long_is_stopped() {
    let rig = rig();
    let error = rig
        .copy_tagged(FOREVER)
        .timeout_cycles(5000)
        .run()
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Hang);
    assert!(
        matches!(
            error,
            Error::Timeout {
                cycles: 5000,
                stopped: true,
                ..
            }
        ),
        "{error}"
    );
    rig.copy().run().unwrap();
    assert_eq!(rig.copied(), rig.data);
}

#[test]
fn a_kernel_that_does_not_stop_is_not_used_again() {
    let rig = rig();
    let error = rig
        .copy_tagged(IGNORES_ERRORS)
        .timeout_cycles(5000)
        .run()
        .unwrap_err();
    assert!(
        matches!(error, Error::Timeout { stopped: false, .. }),
        "{error}"
    );
    let again = rig.copy().run().unwrap_err();
    assert!(
        again
            .to_string()
            .contains("has not stopped: open the card again"),
        "{again}"
    );
}

#[test]
fn nothing_is_reused_while_a_kernel_may_write_anywhere() {
    let Rig { card, src, dst, .. } = rig();
    let copy = card
        .kernel("copy")
        .unwrap()
        .arg("src", &src)
        .arg("dst", &dst)
        .arg("bytes", BYTES);
    let launch = copy.arg("tag", FOREVER).bare().start().unwrap();
    let free = card.memory_free();
    drop(dst);
    assert_eq!(card.memory_free(), free);
    drop(launch);
    let later = src
        .context()
        .alloc(1, AllocOptions::new())
        .unwrap_err()
        .to_string();
    assert!(
        later.contains("`copy` was launched with physical addresses and did not stop"),
        "{later}"
    );
}

#[test]
fn a_hang_is_told_again_by_later_calls() {
    let rig = rig();
    let error = rig.copy_tagged(HANGS).run().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Hang);
    assert_eq!(
        error.to_string(),
        "kernel `copy` hangs: port 0: R channel waits for ready since cycle 7"
    );
    let later = rig.copy().run().unwrap_err().to_string();
    assert!(
        later.contains("cannot be used any more: kernel `copy` hangs"),
        "{later}"
    );
    // What the host has is still there.
    let mut byte = [0];
    rig.src.read(0, &mut byte).unwrap();
    assert!(rig.card.stats().is_ok());
}

#[test]
fn freeing_what_a_kernel_uses_stops_it() {
    let Rig { card, src, dst, .. } = rig();
    let context = src.context().clone();
    let copy = card
        .kernel("copy")
        .unwrap()
        .arg("src", &src)
        .arg("dst", &dst);
    let launch = copy
        .arg("bytes", BYTES)
        .arg("tag", FOREVER)
        .start()
        .unwrap();
    assert!(launch.poll(100).unwrap().is_none());
    // One that waits for it goes, too; one that needs neither buffer is next.
    let queued = card.kernel("copy").unwrap().context(&context);
    let (concerned, other) = (queued, card.kernel("copy").unwrap().context(&context));
    let concerned = concerned.arg("src", &src).arg("dst", &dst);
    let concerned = concerned.arg("bytes", 0u64).arg("tag", 0u32);
    let concerned = concerned.start().unwrap();
    let other = other.arg("src", 0u64).arg("dst", 0u64);
    let other = other.arg("bytes", 0u64).arg("tag", 0u32).start().unwrap();
    drop(dst);
    for gone in [launch, concerned] {
        let error = gone.poll(100).unwrap_err();
        assert!(matches!(error, Error::Cancelled { .. }), "{error}");
    }
    assert_eq!(other.wait().unwrap().result("copied"), Some(0));
}

#[test]
fn a_dropped_launch_is_cancelled() {
    let rig = rig();
    drop(rig.copy_tagged(FOREVER).start().unwrap());
    rig.copy().run().unwrap();
    assert_eq!(rig.copied(), rig.data);
}

#[test]
fn ports_are_bound_by_hand_only_while_idle() {
    let rig = rig();
    let context = rig.src.context();
    rig.card.bind_port(1, Binding::Translate(context)).unwrap();
    assert!(
        rig.card
            .bind_port(2, Binding::Bare)
            .unwrap_err()
            .to_string()
            .contains("port 2 of a card with 2 ports")
    );
    let launch = rig.copy_tagged(FOREVER).start().unwrap();
    assert!(matches!(
        rig.card.bind_port(0, Binding::Off),
        Err(Error::Busy(_))
    ));
    drop(launch);
    let other = Card::with_device(Box::new(MockCard::new())).unwrap();
    let error = other.bind_port(0, Binding::Translate(context)).unwrap_err();
    assert!(error.to_string().contains("another card"), "{error}");
}
