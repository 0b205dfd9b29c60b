// SPDX-License-Identifier: Apache-2.0
//! A pool on an open file, as a card's memory is: what a block holds stands in the file at the block's physical address.
#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on says so by failing"
)]

use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;

use godwit_cmt::capi::{cmt_calloc, cmt_free};
use godwit_cmt::{Block, Limits, init};
use rustix::fs::{MemfdFlags, memfd_create};

const MIB: u64 = 1 << 20;

#[test]
fn a_blocks_physical_address_is_its_offset_in_the_file() {
    let file = File::from(memfd_create("memory", MemfdFlags::CLOEXEC).unwrap());
    file.set_len(64 * MIB).unwrap();
    file.write_all_at(&vec![0x5a; 64 << 20], 0).unwrap();
    let fd = file.as_raw_fd();
    let error = init(&format!("area=32MiB:64MiB backing=fd:{fd}")).unwrap_err();
    assert!(
        error.to_string().contains("is a file of 0x4000000 bytes"),
        "{error}"
    );
    let error = init("area=0:1MiB backing=fd:999").unwrap_err();
    assert!(error.to_string().contains("no memory for area"), "{error}");
    init(&format!(
        "area=16MiB:16MiB area=48MiB:16MiB backing=fd:{fd}"
    ))
    .unwrap();
    for (min, text) in [(0, b"first"), (40 * MIB, b"other")] {
        let limits = Limits {
            min,
            ..Limits::default()
        };
        let mut block = Block::new(MIB as usize, &limits).unwrap();
        block.as_mut_slice()[100..105].copy_from_slice(text);
        let pa = block.extent().pa;
        assert!(pa >= min.max(16 * MIB), "{pa:#x}");
        let mut seen = [0; 5];
        file.read_exact_at(&mut seen, pa + 100).unwrap();
        assert_eq!(&seen, text);
        // Where devices with three levels of page tables reach, and as aligned as the physical address.
        let at = block.as_ptr() as u64;
        assert!(at < 1 << 38, "{at:#x}");
        assert_eq!(at % (1 << 30), pa % (1 << 30));
    }
    // A file is not zero because nobody here has written to it.
    for bytes in [100, 5000, 100_000, 3 << 20] {
        // SAFETY: a block of that size, given back once.
        unsafe {
            let block = cmt_calloc(1, bytes);
            let all = std::slice::from_raw_parts(block.cast::<u8>(), bytes);
            assert!(all.iter().all(|byte| *byte == 0), "{bytes}");
            cmt_free(block);
        }
    }
}
