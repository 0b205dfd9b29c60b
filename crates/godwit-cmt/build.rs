// SPDX-License-Identifier: Apache-2.0
//! Compiles the buffer pool (csrc/) against core/ and mimalloc's headers.

use std::env;
use std::path::Path;

const SOURCES: [&str; 6] = [
    "api.c", "large.c", "reason.c", "small.c", "state.c", "thread.c",
];

fn main() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    println!("cargo::rerun-if-changed=csrc");
    println!("cargo::rerun-if-changed=include");
    println!("cargo::rerun-if-changed=../../core/include");

    let mut build = cc::Build::new();
    build
        .std("c11")
        .define("_GNU_SOURCE", None)
        .include(here.join("include"))
        .include(here.join("../../core/include"))
        .warnings_into_errors(true);
    for flag in ["-Wall", "-Wextra"] {
        build.flag(flag);
    }
    if let Some(mimalloc) = env::var_os("DEP_MIMALLOC_INCLUDE_DIR") {
        build.flag("-isystem").flag(mimalloc);
    }
    // The pool's hot path is a few instructions, also in test builds.
    build
        .opt_level(2)
        .files(SOURCES.map(|name| here.join("csrc").join(name)))
        .compile("godwit_cmt_pool");
}
