// SPDX-License-Identifier: Apache-2.0
//! The specification's walker on entries made by hand: one rule of the specification a line.

use godwit_core::walker::{Access, PageFault, Translation, translate};
use godwit_core::{Mode, Napot, PageSize, layout};

const V: u64 = layout::PTE_V;
const R: u64 = layout::PTE_R;
const W: u64 = layout::PTE_W;
const X: u64 = layout::PTE_X;
const U: u64 = layout::PTE_U;
const A: u64 = layout::PTE_A;
const D: u64 = layout::PTE_D;
const N: u64 = layout::PTE_N;
const LEAF: u64 = V | R | W | U | A | D;
/// Index 3 at every level, and byte 0x123 of the page.
const VA: u64 = (3 << 39) | (3 << 30) | (3 << 21) | (3 << 12) | 0x123;

const fn ppn(frame: u64) -> u64 {
    frame << layout::PTE_PPN_SHIFT
}

/// Walks Sv48 tables at 0x3000 (level 3), 0x2000, 0x1000 and 0 that are linked as far as `level`, whose entry is `pte`.
fn walk(level: u32, pte: u64, access: Access) -> Result<Translation, PageFault> {
    walk_with(Napot::Svnapot, level, pte, access)
}

fn walk_with(napot: Napot, level: u32, pte: u64, access: Access) -> Result<Translation, PageFault> {
    let read = |pa: u64| {
        let table = (pa / 0x1000) as u32;
        assert_eq!(pa % 0x1000, 3 * 8, "the entry of index 3");
        if table == level {
            pte
        } else {
            V | ppn(u64::from(table) - 1)
        }
    };
    translate(napot, read, Mode::Sv48, 0x3000, VA, access)
}

#[test]
fn with_pages_of_any_power_of_two_the_lowest_bit_says_the_size() {
    for level in 0..4 {
        for k in 1..9 {
            let order = 9 * level + k;
            // Bits above the size are the frame's.
            let frame = 1 << (order - 1) | 0b101 << order;
            let bits = 12 + order;
            let pa = 0b101 << bits | (VA & ((1 << bits) - 1));
            let size = PageSize::of_order(order).unwrap().min(PageSize::SIZE_1G);
            let expected = Translation {
                pa,
                size,
                writable: true,
            };
            let pte = LEAF | N | ppn(frame);
            assert_eq!(
                walk_with(Napot::Any, level, pte, Access::Store),
                Ok(expected)
            );
            let known = (level, k) == (0, 4);
            assert_eq!(walk(level, pte, Access::Store).is_ok(), known);
            if order > 9 {
                // One bit lower it is a page of the level below, in a table that has none.
                let misplaced = LEAF | N | ppn(frame | 1 << (9 * level - 1));
                let found = walk_with(Napot::Any, level, misplaced, Access::Load);
                assert!(found.is_err(), "level {level}, k = {k}");
            }
        }
        let no_size = LEAF | N | ppn(1 << (9 * level + 8 + 1));
        assert!(walk_with(Napot::Any, level, no_size, Access::Load).is_err());
    }
}

#[test]
fn leaves_of_every_size_translate() {
    let below = |bits: u32| VA & ((1 << bits) - 1);
    for (level, pte, pa, size) in [
        (
            0,
            LEAF | ppn(0x777),
            0x777_000 | below(12),
            PageSize::SIZE_4K,
        ),
        (
            0,
            LEAF | N | ppn(0x778),
            0x770_000 | below(16),
            PageSize::SIZE_64K,
        ),
        (
            1,
            LEAF | ppn(0x600),
            0x600_000 | below(21),
            PageSize::SIZE_2M,
        ),
        (
            2,
            LEAF | ppn(0x40000),
            0x4000_0000 | below(30),
            PageSize::SIZE_1G,
        ),
        (
            3,
            LEAF | ppn(1 << 27),
            (1 << 39) | below(39),
            PageSize::SIZE_1G,
        ),
    ] {
        let expected = Ok(Translation {
            pa,
            size,
            writable: true,
        });
        assert_eq!(walk(level, pte, Access::Load), expected);
        assert_eq!(walk(level, pte, Access::Store), expected);
    }
}

#[test]
fn each_rule_of_the_specification_faults_where_it_says() {
    use Access::{Load, Store};
    let reserved = 1 << layout::PTE_RESERVED_SHIFT;
    let memory_type = 1 << layout::PTE_PBMT_SHIFT;
    for (what, level, pte, load, store) in [
        ("invalid, whatever else is set", 0, LEAF & !V, false, false),
        ("W without R", 0, LEAF & !R, false, false),
        ("W without R, with X", 1, (LEAF & !R) | X, false, false),
        ("execute only", 0, V | X | U | A | D, false, false),
        ("read only", 0, LEAF & !W, true, false),
        ("not for U-mode", 0, LEAF & !U, false, false),
        ("not accessed", 0, LEAF & !A, false, false),
        ("not dirty", 0, LEAF & !D, true, false),
        ("reserved bit", 0, LEAF | reserved, false, false),
        ("memory type", 0, LEAF | memory_type, false, false),
        (
            "global and software bits mean nothing",
            0,
            LEAF | layout::PTE_G | 0x300,
            true,
            true,
        ),
        ("misaligned 2 MiB page", 1, LEAF | ppn(1), false, false),
        ("misaligned 1 GiB page", 2, LEAF | ppn(512), false, false),
        (
            "misaligned 512 GiB page",
            3,
            LEAF | ppn(1 << 18),
            false,
            false,
        ),
        (
            "N with another pattern",
            0,
            LEAF | N | ppn(0x4),
            false,
            false,
        ),
        ("N in a larger leaf", 1, LEAF | N, false, false),
        (
            "N with its pattern in a larger leaf",
            1,
            LEAF | N | ppn(8),
            false,
            false,
        ),
        ("link at level 0", 0, V | ppn(5), false, false),
        ("link with U", 1, V | U, false, false),
        ("link with A", 1, V | A, false, false),
        ("link with D", 2, V | D, false, false),
        ("link with N", 3, V | N, false, false),
        ("link with a reserved bit", 2, V | reserved, false, false),
    ] {
        for (access, allowed, cause) in [
            (Load, load, layout::CAUSE_LOAD_PAGE_FAULT),
            (Store, store, layout::CAUSE_STORE_PAGE_FAULT),
        ] {
            let found = walk(level, pte, access);
            if allowed {
                assert!(found.is_ok(), "{what}: {access:?}");
            } else {
                assert_eq!(found, Err(PageFault { cause, level }), "{what}: {access:?}");
            }
        }
    }
}
