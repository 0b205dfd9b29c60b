// SPDX-License-Identifier: Apache-2.0
//! Reserved huge pages as backing: served from where the system has some, and otherwise an error that says how many.
#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on says so by failing"
)]

use godwit_cmt::{Block, Limits, init, stats, trim};

const HUGE: usize = 2 << 20;
const PAGES: usize = 8;

fn free_pages() -> usize {
    let path = "/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages";
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.trim().parse().unwrap_or(0)
}

/// One test, since a process has one pool.
#[test]
fn huge_pages_back_the_pool_or_the_error_says_how_many_are_missing() {
    let free = free_pages();
    let too_many = (free + 1) * HUGE;
    let refused = init(&format!("area=0x40000000:{too_many} backing=hugetlb"))
        .unwrap_err()
        .to_string();
    let asked = format!("{} huge pages of 2 MiB asked for", free + 1);
    assert!(refused.contains(&asked), "{refused}");
    assert!(refused.contains(&format!("{free} free")), "{refused}");
    assert!(refused.contains("sysctl -w vm.nr_hugepages="), "{refused}");
    let crooked = init("area=0x40000000:3MiB backing=hugetlb").unwrap_err();
    assert!(crooked.to_string().contains("2097152"), "{crooked}");

    if free < PAGES {
        println!(
            "{free} huge pages are free: serving from them is not tested (sysctl -w vm.nr_hugepages={PAGES})"
        );
        return;
    }
    let half = PAGES / 2 * HUGE;
    init(&format!(
        "area=0x40000000:{half} area=0x80000000:{half}:1 backing=hugetlb"
    ))
    .unwrap();
    assert_eq!(free_pages(), free - PAGES);
    let mut block = Block::new(3 * HUGE, &Limits::default()).unwrap();
    block.as_mut_slice().fill(7);
    assert!(block.as_slice().iter().all(|byte| *byte == 7));
    drop(block);
    trim();
    assert_eq!(stats().free, stats().total);
}
