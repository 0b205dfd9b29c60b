// SPDX-License-Identifier: Apache-2.0
//! Points the crate at the registers generated from spec/.

use std::path::{Path, PathBuf};
use std::process::exit;

fn main() {
    println!("cargo::rerun-if-env-changed=GODWIT_SPEC_DIR");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let spec =
        std::env::var_os("GODWIT_SPEC_DIR").map_or_else(|| root.join("build/spec"), PathBuf::from);
    let registers = spec.join("rust/regs.rs");
    println!("cargo::rerun-if-changed={}", registers.display());
    let Ok(registers) = registers.canonicalize() else {
        println!(
            "cargo::error={} is missing; it is generated from spec/: run `make spec`, or let GODWIT_SPEC_DIR name \
             its directory",
            registers.display()
        );
        exit(1);
    };
    println!("cargo::rustc-env=GODWIT_REGS_RS={}", registers.display());
}
