// SPDX-License-Identifier: Apache-2.0
//! What is so of every kind of co-simulation.

#![allow(dead_code, reason = "each test uses its own part")]

use godwit_cosim::{CosimError, Options, run};

/// Of a test's seeds: `GODWIT_SEED`, or 1.
pub fn first_seed() -> u64 {
    match std::env::var("GODWIT_SEED") {
        Ok(seed) => seed.parse().expect("GODWIT_SEED is a number"),
        Err(_) => 1,
    }
}

/// The same options do the same.
pub fn repeats(options: &Options) {
    let [first, second] = [(); 2].map(|()| run(options).unwrap_or_else(|error| panic!("{error}")));
    assert_eq!(first, second);
}

/// A card without what this kind works on is refused, and the error names the `card` that has it.
pub fn needs_a_card_of_its_own(options: Options, card: &str) {
    let options = Options {
        device: "sim:cosim".to_owned(),
        ..options
    };
    let error = run(&options).expect_err("it has none");
    assert!(matches!(error, CosimError::Unsuitable { .. }));
    assert!(error.to_string().contains(card), "{error}");
}
