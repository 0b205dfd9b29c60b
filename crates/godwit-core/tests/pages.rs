// SPDX-License-Identifier: Apache-2.0
//! Page choice, splits and limits, one case each.

#![allow(clippy::unwrap_used)] // a panic is how a test fails

mod common;

use common::{GIB, MIB, PAGE, TestMemory, pages, table, translate, walk};
use godwit_core::walker::Access;
use godwit_core::{
    ErrorKind, Invalidation, Mode, PageSize, PageState, PageTable, Perm, Range, TableMemory, layout,
};

#[test]
fn map_uses_the_largest_page_that_both_addresses_and_the_range_allow() {
    let mut t = table(Mode::Sv48);
    // From one 4 KiB page below a 64 KiB boundary up over all sizes and down again.
    let va = GIB - 2 * MIB - 64 * 1024 - PAGE;
    let size = PAGE + 64 * 1024 + 2 * MIB + GIB + 2 * MIB + 64 * 1024 + PAGE;
    t.map(va, 5 * GIB + va, size, Perm::Read, PageSize::SIZE_1G)
        .unwrap();
    let sizes: Vec<_> = pages(&t).iter().map(|page| page.size).collect();
    let [small, cluster, mega, giga] = PageSize::EVERYWHERE;
    assert_eq!(sizes, [small, cluster, mega, giga, mega, cluster, small]);
    // Root; the second level; below it one table of level 1 for each end, and one of level 0 for each.
    let stats = t.check().unwrap();
    assert_eq!(stats.tables, 6);
    assert_eq!(
        PageSize::EVERYWHERE.map(|size| stats.pages(size)),
        [2, 2, 2, 1]
    );
    assert_eq!(t.table_bytes(), 6 * PAGE);
}

#[test]
fn a_dirty_bit_set_until_the_acknowledge_is_seen_and_kept() {
    let mut t = table(Mode::Sv39);
    t.track();
    let va = 16 * PAGE;
    t.map(va, va, 16 * PAGE, Perm::ReadWrite, PageSize::SIZE_64K)
        .unwrap();
    assert_eq!(t.state(va).unwrap(), PageState::default());
    let mut inval = Invalidation::new();
    t.freeze(va + PAGE, PAGE, &mut inval).unwrap();
    assert_eq!(
        inval.ranges(),
        [Range {
            va,
            size: 16 * PAGE
        }]
    );
    assert!(inval.is_needed());
    let frozen = PageState {
        frozen: true,
        ..PageState::default()
    };
    assert_eq!(t.state(va).unwrap(), frozen);
    // Nothing is allowed meanwhile.
    assert!(walk(&t, va, Access::Load).is_err());
    // Hardware set both bits in one of the sixteen entries just before it was frozen.
    let root = t.root();
    let entry = |t: &PageTable<TestMemory>, pa| t.memory().read(pa) >> 10 << 12;
    let leaves = entry(&t, entry(&t, root));
    let at = leaves + 8 * 18;
    let old = t.memory().read(at);
    t.memory_mut()
        .write(at, old | layout::PTE_A | layout::PTE_D);
    let state = t.state(va + 5 * PAGE).unwrap();
    assert!(state.accessed && state.dirty && state.frozen);
    // A is taken from all of it; what was written still is.
    t.age(va + 7 * PAGE, PAGE, &mut inval).unwrap();
    let state = t.state(va).unwrap();
    assert!(!state.accessed && state.dirty && state.frozen);
    // A part is taken away: the rest is in use again, and still dirty.
    t.memory_mut()
        .write(at, old | layout::PTE_A | layout::PTE_D);
    t.unmap(va, PAGE, &mut inval).unwrap();
    let state = t.state(va + PAGE).unwrap();
    assert!(state.accessed && state.dirty && !state.frozen);
    t.freeze(va + PAGE, PAGE, &mut inval).unwrap();
    t.thaw(va + PAGE, PAGE, true).unwrap();
    assert_eq!(t.state(va + PAGE).unwrap(), PageState::default());
    t.check().unwrap();
}

#[test]
fn the_largest_page_is_limited_by_the_caller_and_by_alignment() {
    for (max_page, delta, expected) in [
        (PageSize::SIZE_4K, 0, PageSize::SIZE_4K),
        (PageSize::SIZE_64K, 0, PageSize::SIZE_64K),
        (PageSize::SIZE_2M, 0, PageSize::SIZE_2M),
        (PageSize::SIZE_1G, 0, PageSize::SIZE_1G),
        (PageSize::SIZE_1G, PAGE, PageSize::SIZE_4K),
        (PageSize::SIZE_1G, 64 * 1024, PageSize::SIZE_64K),
        (PageSize::SIZE_1G, 2 * MIB, PageSize::SIZE_2M),
        (PageSize::SIZE_2M, 64 * 1024, PageSize::SIZE_64K),
    ] {
        let mut t = table(Mode::Sv39);
        t.map(GIB, GIB + delta, GIB, Perm::ReadWrite, max_page)
            .unwrap();
        let page = t.lookup(GIB + 7 * MIB).unwrap();
        assert_eq!(page.size, expected, "{max_page:?} {delta:#x}");
        assert_eq!(page.translate(GIB + 7 * MIB), GIB + delta + 7 * MIB);
        assert_eq!(pages(&t).len() as u64, GIB / expected.bytes());
    }
}

#[test]
fn leaves_are_as_the_hardware_demands() {
    let mut t = table(Mode::Sv39);
    t.map(0, 0, PAGE, Perm::Read, PageSize::SIZE_4K).unwrap();
    t.map(
        64 * 1024,
        64 * 1024,
        64 * 1024,
        Perm::ReadWrite,
        PageSize::SIZE_64K,
    )
    .unwrap();
    let leaf_table = t
        .memory()
        .frames
        .iter()
        .rev()
        .flatten()
        .find(|f| f[16] != 0)
        .unwrap();
    let base = layout::PTE_V | layout::PTE_R | layout::PTE_U | layout::PTE_A;
    assert_eq!(leaf_table[0], base);
    for entry in &leaf_table[16..32] {
        let napot = layout::PTE_N | (0x18 << layout::PTE_PPN_SHIFT);
        assert_eq!(*entry, base | layout::PTE_W | layout::PTE_D | napot);
    }
}

#[test]
fn unmapping_inside_a_1g_page_splits_it_down_to_4k_around_the_hole() {
    let mut t = table(Mode::Sv48);
    let mut inval = Invalidation::new();
    t.map(GIB, 2 * GIB, GIB, Perm::ReadWrite, PageSize::SIZE_1G)
        .unwrap();
    let hole = GIB + 6 * MIB + 3 * PAGE;
    t.unmap(hole, PAGE, &mut inval).unwrap();

    assert_eq!(inval.ranges(), [Range { va: GIB, size: GIB }]);
    assert!(inval.is_needed());
    assert_eq!(inval.tables(), 0);
    assert_eq!(translate(&t, hole), None);
    for va in [GIB, hole - 1, hole + PAGE, hole + 16 * PAGE, 2 * GIB - 1] {
        assert_eq!(translate(&t, va), Some((va + GIB, Perm::ReadWrite)));
    }
    let stats = t.check().unwrap();
    assert_eq!(stats.tables, 4);
    assert_eq!(
        PageSize::EVERYWHERE.map(|size| stats.pages(size)),
        [15, 31, 511, 0]
    );
}

#[test]
fn protecting_inside_a_64k_page_keeps_the_rest_writable() {
    let mut t = table(Mode::Sv39);
    let mut inval = Invalidation::new();
    t.map(0, MIB, 128 * 1024, Perm::ReadWrite, PageSize::SIZE_64K)
        .unwrap();
    t.protect(15 * PAGE, 2 * PAGE, Perm::Read, &mut inval)
        .unwrap();

    assert_eq!(
        inval.ranges(),
        [Range {
            va: 0,
            size: 128 * 1024
        }]
    );
    assert!(inval.is_needed());
    for page in 0..32 {
        let perm = if (15..17).contains(&page) {
            Perm::Read
        } else {
            Perm::ReadWrite
        };
        assert_eq!(translate(&t, page * PAGE), Some((MIB + page * PAGE, perm)));
    }
    assert_eq!(t.check().unwrap().pages(PageSize::SIZE_4K), 32);
}

#[test]
fn protecting_with_the_permission_it_has_changes_nothing() {
    let mut t = table(Mode::Sv48);
    let mut inval = Invalidation::new();
    t.map(0, 0, GIB, Perm::Read, PageSize::SIZE_1G).unwrap();
    t.protect(MIB, PAGE, Perm::Read, &mut inval).unwrap();
    assert_eq!(inval.ranges(), []);
    assert!(!inval.is_needed());
    assert_eq!(t.check().unwrap().pages(PageSize::SIZE_1G), 1);
    assert_eq!(t.memory().live() as u64 * PAGE, t.table_bytes());
}

#[test]
fn adding_a_permission_lists_the_range_but_needs_no_invalidation() {
    let mut t = table(Mode::Sv48);
    let mut inval = Invalidation::new();
    t.map(0, 0, 4 * PAGE, Perm::Read, PageSize::SIZE_4K)
        .unwrap();
    t.protect(PAGE, 2 * PAGE, Perm::ReadWrite, &mut inval)
        .unwrap();
    assert_eq!(
        inval.ranges(),
        [Range {
            va: PAGE,
            size: 2 * PAGE
        }]
    );
    assert!(!inval.is_needed());
}

#[test]
fn ranges_merge_when_they_touch_and_stretch_when_there_is_no_room() {
    let mut t = table(Mode::Sv48);
    let mut inval = Invalidation::with_capacity(2);
    t.map(0, 0, 64 * PAGE, Perm::Read, PageSize::SIZE_4K)
        .unwrap();
    t.unmap(0, 4 * PAGE, &mut inval).unwrap();
    t.unmap(4 * PAGE, PAGE, &mut inval).unwrap();
    assert_eq!(
        inval.ranges(),
        [Range {
            va: 0,
            size: 5 * PAGE
        }]
    );
    t.unmap(20 * PAGE, PAGE, &mut inval).unwrap();
    t.unmap(10 * PAGE, PAGE, &mut inval).unwrap();
    assert_eq!(
        inval.ranges(),
        [
            Range {
                va: 0,
                size: 5 * PAGE
            },
            Range {
                va: 10 * PAGE,
                size: 11 * PAGE
            }
        ]
    );
    inval.clear();
    assert_eq!(inval.ranges(), []);
    assert!(!inval.is_needed());
}

#[test]
fn empty_tables_are_unlinked_at_once_and_freed_by_reclaim() {
    let mut t = table(Mode::Sv57);
    let mut inval = Invalidation::new();
    t.map(0, 0, 2 * PAGE, Perm::Read, PageSize::SIZE_4K)
        .unwrap();
    assert_eq!(t.memory().live(), 5);
    t.unmap(0, PAGE, &mut inval).unwrap();
    assert_eq!((inval.tables(), t.unlinked_tables()), (0, 0));
    t.unmap(PAGE, PAGE, &mut inval).unwrap();
    assert_eq!((inval.tables(), t.unlinked_tables()), (4, 4));
    assert_eq!(t.memory().live(), 5);
    assert_eq!(t.table_bytes(), 5 * PAGE);
    assert_eq!(t.check().unwrap().tables, 1);
    assert_eq!(t.reclaim(), 4);
    assert_eq!(t.memory().live(), 1);
    assert_eq!(t.reclaim(), 0);
}

#[test]
fn a_table_stays_while_anything_beside_the_range_is_in_it() {
    // Two tables of level 0 below one of level 1; each end of the unmapped range cuts one of them.
    for (hole, size, left) in [(MIB, 3 * MIB, 0), (0, 3 * MIB, 3 * MIB)] {
        let mut t = table(Mode::Sv39);
        let mut inval = Invalidation::new();
        t.map(0, 0, 4 * MIB, Perm::Read, PageSize::SIZE_64K)
            .unwrap();
        t.unmap(hole, size, &mut inval).unwrap();
        assert_eq!(inval.tables(), 1);
        assert_eq!(t.check().unwrap().tables, 3);
        assert_eq!(translate(&t, left), Some((left, Perm::Read)));
    }
}

#[test]
fn destroying_frees_linked_and_unlinked_tables() {
    let mut t = table(Mode::Sv48);
    t.map(0, 0, 3 * GIB + PAGE, Perm::Read, PageSize::SIZE_2M)
        .unwrap();
    t.unmap(3 * GIB, PAGE, &mut Invalidation::new()).unwrap();
    assert!(t.unlinked_tables() > 0);
    let memory = t.into_memory();
    memory.assert_clean();
    assert_eq!(memory.live(), 0);
}

#[test]
fn every_canonical_address_can_be_mapped_and_no_other() {
    for mode in Mode::ALL {
        let mut t = table(mode);
        let half = 1u64 << (mode.va_bits() - 1);
        let high = 0u64.wrapping_sub(half);
        for (i, va) in [0, half - PAGE, high, PAGE.wrapping_neg()]
            .into_iter()
            .enumerate()
        {
            t.map(
                va,
                MIB + i as u64 * PAGE,
                PAGE,
                Perm::Read,
                PageSize::SIZE_1G,
            )
            .unwrap();
            assert_eq!(
                translate(&t, va + 5),
                Some((MIB + i as u64 * PAGE + 5, Perm::Read))
            );
        }
        let found: Vec<_> = pages(&t).iter().map(|page| page.va).collect();
        assert_eq!(found, [0, half - PAGE, high, PAGE.wrapping_neg()]);

        for (va, size) in [
            (half, PAGE),
            (high - PAGE, PAGE),
            (half - PAGE, 2 * PAGE),
            (half - PAGE, high - half + 2 * PAGE),
            (PAGE.wrapping_neg(), 2 * PAGE),
            (8 * PAGE, PAGE.wrapping_neg()),
            (high, 0u64.wrapping_sub(PAGE)),
        ] {
            let err = t
                .map(va, 0, size, Perm::Read, PageSize::SIZE_4K)
                .unwrap_err();
            assert_eq!(
                err.kind(),
                ErrorKind::NotCanonical,
                "{mode:?} {va:#x} {size:#x}"
            );
            let err = t.unmap(va, size, &mut Invalidation::new()).unwrap_err();
            assert_eq!(err.kind(), ErrorKind::NotCanonical);
        }
        assert_eq!(t.lookup(half).unwrap_err().kind(), ErrorKind::NotCanonical);
        assert_eq!(
            walk(&t, half, Access::Load).unwrap_err().level,
            mode.levels()
        );
    }
}

#[test]
fn a_walk_ends_when_the_visitor_has_enough_and_starts_inside_a_page() {
    let mut t = table(Mode::Sv39);
    t.map(0, 0, 4 * MIB, Perm::Read, PageSize::SIZE_64K)
        .unwrap();
    let mut seen = Vec::new();
    t.walk(MIB + 5 * PAGE, 3 * MIB, |page| {
        seen.push(page.va);
        seen.len() < 3
    })
    .unwrap();
    assert_eq!(seen, [MIB, MIB + 64 * 1024, MIB + 128 * 1024]);
    let mut count = 0;
    t.walk(MIB + 5 * PAGE, 2 * MIB, |_| {
        count += 1;
        true
    })
    .unwrap();
    assert_eq!(count, 17);
}

#[test]
fn every_size_says_what_it_is() {
    let sizes: Vec<_> = (0..).map_while(PageSize::of_order).collect();
    assert_eq!(sizes.len(), 45);
    for (size, text) in [
        (0, "4 KiB"),
        (8, "1 MiB"),
        (18, "1 GiB"),
        (28, "1 TiB"),
        (44, "64 PiB"),
    ] {
        assert_eq!(sizes[size].to_string(), text);
    }
    for size in sizes {
        assert_eq!(PageSize::of_bytes(size.bytes()), Some(size));
        assert_eq!(format!("{size:?}"), size.to_string());
    }
    for bytes in [0, 1, 2048, 12 << 10, 1 << 57, 1 << 63] {
        assert_eq!(PageSize::of_bytes(bytes), None);
    }
}
