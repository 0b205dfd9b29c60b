// SPDX-License-Identifier: Apache-2.0
//! Points the crate at the counters generated from spec/.

use std::path::PathBuf;
use std::process::exit;

fn main() {
    println!("cargo::rerun-if-env-changed=GODWIT_SPEC_DIR");
    // A link of the checkout to build/spec/; a folder of its own in a packaged crate.
    let own =
        PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join("spec");
    let spec = std::env::var_os("GODWIT_SPEC_DIR").map_or(own, PathBuf::from);
    let path = spec.join("rust/counters.rs");
    println!("cargo::rerun-if-changed={}", path.display());
    let Ok(path) = path.canonicalize() else {
        println!(
            "cargo::error={} is missing; it is generated from spec/: run `make spec`, or let GODWIT_SPEC_DIR name its \
             directory",
            path.display()
        );
        exit(1);
    };
    println!("cargo::rustc-env=GODWIT_COUNTERS_RS={}", path.display());
}
