// SPDX-License-Identifier: Apache-2.0
//! The example of plain pointers, on a real card (`default`).
#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on says so by failing"
)]

#[path = "../examples/plain_pointers.rs"]
mod example;

#[test]
fn the_example_finds_what_it_should() {
    assert!(example::run("sim:default").unwrap());
}
