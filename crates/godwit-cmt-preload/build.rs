// SPDX-License-Identifier: Apache-2.0
//! Compiles the C part: what malloc needs before the pool is open.

use std::env;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// Names of the library (`src/lib.rs`) whose functions only call another one.
const SAME: [(&str, &str); 10] = [
    ("malloc", "gw_cmt_malloc"),
    ("free", "gw_cmt_free"),
    ("calloc", "gw_cmt_calloc"),
    ("realloc", "gw_cmt_realloc"),
    ("_Znwm", "gw_cmt_new"),
    ("_Znam", "gw_cmt_new"),
    ("_ZdlPv", "gw_cmt_free"),
    ("_ZdaPv", "gw_cmt_free"),
    ("_ZdlPvm", "gw_cmt_free"),
    ("_ZdaPvm", "gw_cmt_free"),
];

/// The compiler's file of this name, where it has one.
fn compiler_file(name: &str) -> Option<PathBuf> {
    let compiler = cc::Build::new().try_get_compiler().ok()?;
    let output = compiler
        .to_command()
        .arg(format!("-print-file-name={name}"))
        .output()
        .ok()?;
    let path = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim());
    path.is_absolute().then_some(path)
}

/// Rust's library asks for the shared library of unwinding. Every process would load that and start it, a tenth of what
/// a small program costs: what the linker finds under its name is the static one.
fn unwind_statically(folder: &Path) -> io::Result<()> {
    if let (Some(unwind), Some(base)) = (compiler_file("libgcc_eh.a"), compiler_file("libgcc.a")) {
        let script = format!("GROUP ( {} {} )\n", unwind.display(), base.display());
        fs::write(folder.join("libgcc_s.so"), script)?;
        println!("cargo::rustc-link-search=native={}", folder.display());
    }
    Ok(())
}

fn main() {
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    println!("cargo::rerun-if-changed=csrc");
    // Where the crate godwit-cmt has cmt.h.
    let include = env::var_os("DEP_GODWIT_CMT_INCLUDE").unwrap_or_default();
    cc::Build::new()
        .std("c11")
        .define("_GNU_SOURCE", None)
        .include(include)
        .flag("-Wall")
        .flag("-Wextra")
        // A C++ exception passes through.
        .flag("-fexceptions")
        .warnings_into_errors(true)
        .opt_level(2)
        .files(["preload.c", "store.c"].map(|name| here.join("csrc").join(name)))
        .compile("godwit_cmt_preload_c");
    // The program's calls go to the pool's without a jump between them, which is a twentieth of what an allocation takes.
    for (name, inner) in SAME {
        println!("cargo::rustc-cdylib-link-arg=-Wl,--defsym={name}={inner}");
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    if let Err(error) = unwind_statically(&out) {
        println!("cargo::error={}: {error}", out.display());
    }
}
