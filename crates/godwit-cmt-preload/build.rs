// SPDX-License-Identifier: Apache-2.0
//! Compiles the C part: what malloc needs before the pool is open.

use std::path::Path;

fn main() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    println!("cargo::rerun-if-changed=csrc");
    cc::Build::new()
        .std("c11")
        .define("_GNU_SOURCE", None)
        .include(here.join("../godwit-cmt/include"))
        .flag("-Wall")
        .flag("-Wextra")
        // A C++ exception passes through.
        .flag("-fexceptions")
        .warnings_into_errors(true)
        .opt_level(2)
        .file(here.join("csrc/preload.c"))
        .compile("godwit_cmt_preload_c");
}
