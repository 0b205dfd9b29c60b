// SPDX-License-Identifier: Apache-2.0
//! Zeroed memory of Rust's collections, in a pool that nobody has used before.
#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on says so by failing"
)]

use std::alloc::{GlobalAlloc, Layout};
use std::ffi::{c_int, c_void};
use std::slice;

use godwit_cmt::{Cmt, init, physical};

const PAGE: usize = 4096;

unsafe extern "C" {
    fn mincore(address: *mut c_void, bytes: usize, present: *mut u8) -> c_int;
}

/// Pages of a block that are in memory.
///
/// # Safety
/// The block is of whole pages that are mapped.
unsafe fn touched(block: *mut u8, bytes: usize) -> usize {
    let mut present = vec![0u8; bytes / PAGE];
    // SAFETY: a byte for each page.
    let status = unsafe { mincore(block.cast(), bytes, present.as_mut_ptr()) };
    assert_eq!(status, 0);
    present.iter().filter(|page| **page & 1 == 1).count()
}

#[test]
fn zeroed_memory_is_written_only_where_it_was_used_before() {
    // `zeroed_some.rs` has this module in it.
    let check = if module_path!() == "zeroed" {
        "all"
    } else {
        "some"
    };
    init(&format!("size=256MiB check={check}")).unwrap();
    let bytes = 24 << 20;
    let blocks: Vec<(*mut u8, Layout)> = [1, 8, 16, 64, PAGE]
        .map(|align| {
            let layout = Layout::from_size_align(bytes, align).unwrap();
            // SAFETY: a size that is not 0.
            (unsafe { Cmt.alloc_zeroed(layout) }, layout)
        })
        .into();
    // SAFETY: blocks of these layouts, looked at and written within their sizes, freed once.
    unsafe {
        for (block, layout) in blocks {
            assert!(physical(block).is_some());
            assert_eq!(touched(block, bytes), 0);
            assert!(
                slice::from_raw_parts(block, bytes)
                    .iter()
                    .all(|byte| *byte == 0)
            );
            block.write_bytes(9, bytes);
            Cmt.dealloc(block, layout);
        }
        for (size, align) in [
            (bytes, 1),
            (100, 8),
            (3 * PAGE, PAGE),
            (bytes, PAGE),
            (bytes, 16 * PAGE),
            (17 * PAGE, PAGE),
        ] {
            let layout = Layout::from_size_align(size, align).unwrap();
            for _ in 0..2 {
                let block = Cmt.alloc_zeroed(layout);
                assert_eq!(block as usize % align, 0);
                assert!(
                    slice::from_raw_parts(block, size)
                        .iter()
                        .all(|byte| *byte == 0)
                );
                block.write_bytes(9, size);
                Cmt.dealloc(block, layout);
            }
        }
    }
}
