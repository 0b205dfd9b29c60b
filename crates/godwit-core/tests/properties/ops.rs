// SPDX-License-Identifier: Apache-2.0
//! Random calls of a page table, where indices, signs and sizes of pages change.

use godwit_core::{Mode, PageSize, Perm};
use proptest::prelude::*;

use crate::common::{MIB, PAGE};

#[derive(Debug, Clone)]
pub enum Op {
    Map {
        va: u64,
        pa: u64,
        size: u64,
        perm: Perm,
        max_page: PageSize,
    },
    Unmap {
        va: u64,
        size: u64,
    },
    Protect {
        va: u64,
        size: u64,
        perm: Perm,
    },
    Join {
        va: u64,
        size: PageSize,
    },
    Reclaim,
}

/// Windows of 8 MiB at the places where indices and signs change.
fn window(mode: Mode) -> impl Strategy<Value = u64> {
    let half = 1u64 << (mode.va_bits() - 1);
    let span = 8 * MIB;
    prop_oneof![
        4 => Just(0),
        2 => Just((1 << 30) - span / 2),
        1 => Just(half - span),
        1 => Just(half.wrapping_neg()),
        1 => Just(span.wrapping_neg()),
    ]
}

/// Offset and size within a window: any page, or steps of 64 KiB, 2 MiB or another power of two.
fn part() -> impl Strategy<Value = (u64, u64)> {
    let step = prop_oneof![3 => Just(1u64), 2 => Just(16), 1 => (0..9u32).prop_map(|k| 1 << k), 3 => Just(512)];
    (step, 0..2048u64, 1..48u64, 0..3u64, 0..3u64).prop_map(
        |(step, start, count, before, after)| {
            let start = (start / step * step).saturating_sub(before);
            let pages = (count.min(1 + 1200 / step) * step + after).min(2048 - start);
            (start * PAGE, pages * PAGE)
        },
    )
}

fn perm() -> impl Strategy<Value = Perm> {
    prop_oneof![Just(Perm::Read), Just(Perm::ReadWrite)]
}

pub fn op(mode: Mode) -> impl Strategy<Value = Op> {
    let top = 1u64 << 56;
    let max_page = prop_oneof![
        1 => Just(PageSize::SIZE_4K),
        2 => Just(PageSize::SIZE_64K),
        2 => Just(PageSize::SIZE_2M),
        3 => Just(PageSize::SIZE_1G),
        4 => (0..18u32).prop_filter_map("an order", PageSize::of_order)
    ];
    // How far virtual and physical addresses agree modulo the page sizes.
    let skew =
        prop_oneof![4 => Just(0), 1 => Just(PAGE), 1 => Just(16 * PAGE), 1 => Just(48 * PAGE)];
    let frame = prop_oneof![
        Just(0),
        Just(1u64 << 40),
        Just(1u64 << 55),
        Just(top - 32 * MIB)
    ];
    prop_oneof![
        6 => (window(mode), part(), frame, skew, perm(), max_page).prop_map(
            |(window, (offset, size), frame, skew, perm, max_page)| Op::Map {
                va: window.wrapping_add(offset),
                pa: frame + offset + skew,
                size,
                perm,
                max_page,
            }
        ),
        4 => (window(mode), part())
            .prop_map(|(window, (offset, size))| Op::Unmap { va: window.wrapping_add(offset), size }),
        3 => (window(mode), part(), perm()).prop_map(|(window, (offset, size), perm)| Op::Protect {
            va: window.wrapping_add(offset),
            size,
            perm
        }),
        3 => (window(mode), part(), any::<bool>()).prop_map(|(window, (offset, _), large)| {
            let size = if large { PageSize::SIZE_2M } else { PageSize::SIZE_64K };
            Op::Join { va: window.wrapping_add(offset) & !(size.bytes() - 1), size }
        }),
        1 => Just(Op::Reclaim),
    ]
}
