// SPDX-License-Identifier: Apache-2.0
//! Compiles core/ and points the crate at the constants generated from spec/.

use std::path::{Path, PathBuf};
use std::process::exit;
use std::{env, fs};

const SOURCES: [&str; 21] = [
    "around.c",
    "evict.c",
    "fault_coalesce.c",
    "prefetch.c",
    "prefetch_stream.c",
    "pt.c",
    "pt_change.c",
    "pt_check.c",
    "pt_entry.c",
    "pt_freeze.c",
    "pt_frames.c",
    "pt_join.c",
    "pt_map.c",
    "range.c",
    "range_alloc.c",
    "range_bits.c",
    "range_lock.c",
    "range_map.c",
    "range_query.c",
    "range_search.c",
    "stay.c",
];

/// What is generated from spec/ for this crate.
const GENERATED: [&str; 5] = [
    "c/godwit_layout.h",
    "rust/layout.rs",
    "rust/regs.rs",
    "rust/dma_regs.rs",
    "rust/heap_regs.rs",
];

fn main() {
    // Links of the checkout to core/ and build/spec/; folders of their own in a packaged crate.
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let core = here.join("core");
    let spec = spec_dir(&here);

    println!(
        "cargo::rustc-env=GODWIT_SPEC_RUST={}",
        spec.join("rust").display()
    );
    for file in GENERATED {
        println!("cargo::rerun-if-changed={}", spec.join(file).display());
    }
    println!("cargo::rerun-if-changed={}", core.join("include").display());
    println!("cargo::rerun-if-changed={}", core.join("src").display());

    let mut build = cc::Build::new();
    build
        .std("c11")
        .include(core.join("include"))
        .include(spec.join("c"))
        .warnings_into_errors(true);
    for flag in [
        "-ffreestanding",
        "-Wall",
        "-Wextra",
        "-Wconversion",
        "-pedantic",
    ] {
        build.flag(flag);
    }
    build
        .files(SOURCES.map(|name| core.join("src").join(name)))
        .compile("godwit_core");
}

/// The directory with the generated constants: GODWIT_SPEC_DIR, else the crate's own.
fn spec_dir(here: &Path) -> PathBuf {
    println!("cargo::rerun-if-env-changed=GODWIT_SPEC_DIR");
    let dir = env::var_os("GODWIT_SPEC_DIR").map_or_else(|| here.join("spec"), PathBuf::from);
    for file in GENERATED {
        if !dir.join(file).is_file() {
            println!(
                "cargo::error={} has no {file}, which is generated from spec/: run `make spec`, \
                 or let GODWIT_SPEC_DIR name its directory",
                dir.display()
            );
            exit(1);
        }
    }
    fs::canonicalize(&dir).unwrap_or(dir)
}
