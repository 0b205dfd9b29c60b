// SPDX-License-Identifier: Apache-2.0
//! Compiles the buffer pool (csrc/), with mimalloc's sources in it (csrc/pool.c says why), against core/.

use std::env;
use std::path::{Path, PathBuf};

const SOURCES: [&str; 9] = [
    "age.c", "block.c", "large.c", "pages.c", "pool.c", "reason.c", "small.c", "state.c",
    "thread.c",
];

fn main() {
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    println!("cargo::rerun-if-changed=csrc");
    println!("cargo::rerun-if-changed=include");
    println!("cargo::rerun-if-changed=core/include");
    println!("cargo::metadata=include={}", here.join("include").display());

    let mut build = cc::Build::new();
    build
        .std("gnu11")
        .define("_GNU_SOURCE", None)
        .include(here.join("include"))
        .include(here.join("core/include"))
        .warnings_into_errors(true);
    for flag in ["-Wall", "-Wextra"] {
        build.flag(flag);
    }
    // As system headers: their warnings are not ours. As mimalloc's own release builds are.
    let include = env::var_os("DEP_MIMALLOC_INCLUDE_DIR").unwrap_or_default();
    for dir in [PathBuf::from(&include), Path::new(&include).join("../src")] {
        build.flag("-isystem").flag(dir);
    }
    for (name, value) in [
        ("MI_BUILD_RELEASE", None),
        ("NDEBUG", None),
        ("MI_DEBUG", Some("0")),
        // Of the memory that mimalloc keeps its own data in; a huge page of that is more than all it has.
        ("MI_NO_THP", None),
    ] {
        build.define(name, value);
    }
    // A C++ exception passes through where the pool stands for operator new.
    for flag in [
        "-ftls-model=initial-exec",
        "-fno-builtin-malloc",
        "-fexceptions",
    ] {
        build.flag(flag);
    }
    // The pool's hot path is a few instructions, also in test builds.
    build
        .opt_level(3)
        .force_frame_pointer(false)
        .files(SOURCES.map(|name| here.join("csrc").join(name)))
        .compile("godwit_cmt_pool");
}
