// SPDX-License-Identifier: Apache-2.0
//! The example of contiguous memory, on a real card (`default`); a process has one pool, and this one is the example's.
#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on says so by failing"
)]

#[path = "../examples/contiguous.rs"]
mod example;

#[test]
fn the_example_walks_for_pages_and_not_for_a_block() {
    let [pages, block] = example::run("sim:default").unwrap();
    assert!(pages > 0);
    assert_eq!(block, 0);
}
