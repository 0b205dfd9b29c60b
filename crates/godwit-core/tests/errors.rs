// SPDX-License-Identifier: Apache-2.0
//! What is refused and why, one case each, and that nothing has changed then.

#![allow(clippy::unwrap_used)] // a panic is how a test fails

mod common;

use common::{GIB, PAGE, TestMemory, pages, table, translate};
use godwit_core::{ErrorKind, Invalidation, Mode, PageSize, PageTable, Perm, TableMemory, layout};

#[test]
fn bad_arguments_have_their_own_errors() {
    let mut t = table(Mode::Sv39);
    let mut inval = Invalidation::new();
    let top = 1u64 << layout::PA_BITS;
    for (va, pa, size, kind) in [
        (1, 0, PAGE, ErrorKind::Misaligned),
        (0, 8, PAGE, ErrorKind::Misaligned),
        (0, 0, PAGE + 1, ErrorKind::Misaligned),
        (0, 0, 0, ErrorKind::Empty),
        (0, top, PAGE, ErrorKind::BeyondPhysical),
        (0, top - PAGE, 2 * PAGE, ErrorKind::BeyondPhysical),
        (0, PAGE.wrapping_neg(), 2 * PAGE, ErrorKind::BeyondPhysical),
    ] {
        let err = t
            .map(va, pa, size, Perm::Read, PageSize::SIZE_4K)
            .unwrap_err();
        assert_eq!(err.kind(), kind, "{va:#x} {pa:#x} {size:#x}");
        assert_eq!(err.at(), None);
    }
    assert_eq!(
        t.unmap(0, 0, &mut inval).unwrap_err().kind(),
        ErrorKind::Empty
    );
    assert_eq!(
        t.protect(7, PAGE, Perm::Read, &mut inval)
            .unwrap_err()
            .kind(),
        ErrorKind::Misaligned
    );
    assert_eq!(t.memory().live(), 1);
    t.map(0, top - PAGE, PAGE, Perm::Read, PageSize::SIZE_4K)
        .unwrap();
    assert_eq!(translate(&t, 0), Some((top - PAGE, Perm::Read)));
}

#[test]
fn errors_say_what_was_asked_and_what_stood_in_the_way() {
    let mut t = table(Mode::Sv48);
    t.map(3 * PAGE, 0, PAGE, Perm::Read, PageSize::SIZE_4K)
        .unwrap();
    let err = t
        .map(0, 0, 16 * PAGE, Perm::Read, PageSize::SIZE_4K)
        .unwrap_err();
    assert_eq!(
        (err.kind(), err.at()),
        (ErrorKind::AlreadyMapped, Some(3 * PAGE))
    );
    assert_eq!(
        err.to_string(),
        "cannot map 0x10000 bytes at 0x0 to 0x0: a page of the range is mapped already (at 0x3000)"
    );
    let err = t
        .unmap(3 * PAGE, 2 * PAGE, &mut Invalidation::new())
        .unwrap_err();
    assert_eq!(
        (err.kind(), err.at()),
        (ErrorKind::NotMapped, Some(4 * PAGE))
    );
    t.memory_mut().budget = 0;
    let err = t
        .map(GIB, 0, PAGE, Perm::Read, PageSize::SIZE_4K)
        .unwrap_err();
    assert_eq!(
        err.to_string(),
        "cannot map 0x1000 bytes at 0x40000000 to 0x0: there is no free frame for a table"
    );
}

#[test]
fn a_root_that_cannot_be_had_leaks_nothing() {
    let mut memory = TestMemory::new();
    memory.budget = 0;
    assert_eq!(
        PageTable::new(memory, Mode::Sv48).unwrap_err().kind(),
        ErrorKind::OutOfFrames
    );
}

#[test]
fn a_mapping_larger_than_memory_fails_without_a_trace() {
    let mut t = table(Mode::Sv57);
    t.memory_mut().budget = 100;
    let err = t
        .map(0, 0, 1 << 55, Perm::Read, PageSize::SIZE_4K)
        .unwrap_err();
    assert_eq!(err.kind(), ErrorKind::OutOfFrames);
    assert_eq!(t.memory().live(), 1);
    assert!(pages(&t).is_empty());
}

#[test]
fn check_and_lookup_refuse_entries_that_are_not_ours() {
    let mut t = table(Mode::Sv39);
    t.map(0, 0, 64 * 1024, Perm::ReadWrite, PageSize::SIZE_64K)
        .unwrap();
    // The leaf table is the one whose entry 15 is used.
    let leaf_table = (0..t.memory().live() as u64)
        .map(|i| i * PAGE)
        .find(|pa| t.memory().read(pa + 15 * 8) != 0)
        .unwrap();
    let entry = t.memory().read(leaf_table);
    for (bad, lookup_fails) in [
        (entry & !layout::PTE_U, true),
        (entry & !layout::PTE_A, true),
        (entry & !layout::PTE_D, true),
        (entry & !layout::PTE_R, true),
        (entry | layout::PTE_G, true),
        (entry | layout::PTE_X, true),
        (entry | 1 << layout::PTE_RSW_SHIFT, true),
        (entry | 1 << layout::PTE_RESERVED_SHIFT, true),
        (entry | 1 << layout::PTE_PBMT_SHIFT, true),
        (entry ^ 1 << layout::PTE_PPN_SHIFT, true), // Svnapot with another pattern
        (entry ^ 1 << (layout::PTE_PPN_SHIFT + 4), false), // legal alone, not in its group
        (entry & !layout::PTE_N, false),
        (layout::PTE_V, true), // a table below level 0
        (2, false),            // invalid, but not as it would be written
    ] {
        t.memory_mut().write(leaf_table + 8, bad);
        assert_eq!(
            t.check().unwrap_err().kind(),
            ErrorKind::Corrupt,
            "{bad:#x}"
        );
        if lookup_fails {
            let err = t.lookup(PAGE).unwrap_err();
            assert_eq!(
                (err.kind(), err.at()),
                (ErrorKind::Corrupt, Some(PAGE)),
                "{bad:#x}"
            );
            let err = t
                .protect(0, 2 * PAGE, Perm::Read, &mut Invalidation::new())
                .unwrap_err();
            assert_eq!((err.kind(), err.at()), (ErrorKind::Corrupt, Some(PAGE)));
        }
    }
    t.memory_mut().write(leaf_table + 8, entry);
    t.check().unwrap();

    // A table linked twice, and a superpage that is not aligned.
    let root = t.root();
    let link = t.memory().read(root);
    t.memory_mut().write(root + 8, link);
    assert_eq!(t.check().unwrap_err().kind(), ErrorKind::Corrupt);
    let leaf = entry & !(layout::PTE_N | layout::PTE_PPN_MASK);
    t.memory_mut()
        .write(root + 8, leaf | 512 << layout::PTE_PPN_SHIFT);
    assert_eq!(t.check().unwrap_err().kind(), ErrorKind::Corrupt);
    t.memory_mut().write(root + 8, 0);
    t.check().unwrap();
}
