// SPDX-License-Identifier: Apache-2.0
//! C and C++ programs on the library, each a process with a pool of its own.
#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on says so by failing"
)]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Where cargo put the libraries of this build: beside this test.
fn libraries() -> PathBuf {
    std::env::current_exe()
        .unwrap()
        .parent()
        .unwrap()
        .to_owned()
}

fn run(command: &mut Command) -> String {
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Compiles `source` against the headers and the shared library.
fn program(source: &str) -> PathBuf {
    let (compiler, standard) = match source.ends_with(".c") {
        true => ("cc", "-std=c11"),
        false => ("c++", "-std=c++20"),
    };
    // Tests run side by side, some with the same program.
    static BUILT: AtomicU32 = AtomicU32::new(0);
    let number = BUILT.fetch_add(1, Ordering::Relaxed);
    let name = format!("godwit-cmt-{}-{number}-{source}.out", std::process::id());
    let target = std::env::temp_dir().join(name);
    run(Command::new(compiler)
        .args([
            standard,
            "-D_GNU_SOURCE",
            "-O1",
            "-g",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-pthread",
            "-I",
        ])
        .arg(here().join("include"))
        .arg(here().join("tests/programs").join(source))
        .arg("-L")
        .arg(libraries())
        // Before LD_LIBRARY_PATH, where cargo has a folder in which an older library may lie.
        .arg(format!(
            "-Wl,--disable-new-dtags,-rpath,{}",
            libraries().display()
        ))
        .args(["-lgodwit_cmt", "-o"])
        .arg(&target));
    target
}

fn passes(source: &str, args: &[&str]) -> String {
    let path = program(source);
    let output = run(Command::new(&path).args(args));
    std::fs::remove_file(path).unwrap();
    output
}

#[test]
fn cpp_containers_live_in_contiguous_memory() {
    passes("faces.cpp", &[]);
}

#[test]
fn wrong_pointers_and_sizes_are_refused_and_change_nothing() {
    passes("misuse.c", &[]);
}

#[test]
fn a_child_of_private_memory_goes_on_with_its_own_copy() {
    let path = program("fork.c");
    run(Command::new(&path).arg("private"));
    run(Command::new(&path).arg("shared"));
    std::fs::remove_file(path).unwrap();
}

#[test]
fn threads_allocate_and_free_while_they_end() {
    passes("ends.c", &[]);
}

#[test]
fn threads_that_share_blocks_lose_nothing_and_everything_returns() {
    let output = passes("stress.cpp", &["3", "1"]);
    assert!(output.contains("everything returned"), "{output}");
}

/// Reads of what was never written, and bookkeeping outside of what belongs to it.
#[test]
fn threads_that_share_blocks_are_clean_under_valgrind() {
    if Command::new("valgrind").arg("--version").output().is_err() {
        println!("valgrind is not installed: not tested");
        return;
    }
    let path = program("stress.cpp");
    let output = run(Command::new("valgrind")
        .args(["-q", "--error-exitcode=1"])
        .arg(&path)
        .args(["2", "1"]));
    std::fs::remove_file(path).unwrap();
    assert!(output.contains("everything returned"), "{output}");
}
