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

/// The variable that programs add to their configuration: how much is checked.
const CHECK: &str = "GODWIT_TEST_CHECK";
const BOTH: [&str; 2] = ["all", "some"];

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
fn without_the_bits_of_blocks_in_use_what_costs_nothing_is_refused() {
    passes("some.c", &[]);
}

#[test]
fn a_child_of_private_memory_goes_on_with_its_own_copy() {
    let path = program("fork.c");
    for check in BOTH {
        run(Command::new(&path).arg("private").env(CHECK, check));
        run(Command::new(&path).arg("shared").env(CHECK, check));
        run(Command::new(&path).arg("waiting").env(CHECK, check));
        run(Command::new(&path).arg("orphans").env(CHECK, check));
        run(Command::new(&path).arg("orphans-moving").env(CHECK, check));
    }
    std::fs::remove_file(path).unwrap();
}

/// By another thread, which the child does not have.
#[test]
fn a_child_forked_while_the_pool_opens_opens_it_by_itself() {
    let path = program("fork.c");
    run(Command::new(&path).arg("opening"));
    std::fs::remove_file(path).unwrap();
}

/// A pool of a page, of no whole slice, of granules larger than a slice, of scraps, and one of everyday size.
#[test]
fn small_blocks_get_all_of_a_pool_of_any_size() {
    let path = program("all.c");
    for (config, size, least) in [
        ("size=4KiB", "100", "2"),
        ("size=60KiB", "4096", "100"),
        ("size=1MiB", "1024", "90"),
        ("size=1MiB", "30000", "75"),
        ("size=64MiB granule=2MiB", "1024", "90"),
        (
            "area=0x10008000:32KiB area=0x10010000:96KiB granule=64KiB",
            "65536",
            "100",
        ),
        (
            "area=0x7000:20KiB area=0x20000:512KiB area=0x200000:1MiB",
            "2048",
            "85",
        ),
        ("size=512MiB", "4096", "95"),
    ] {
        for check in BOTH {
            println!("{config}, {size}, {check}");
            run(Command::new(&path)
                .args([config, size, least])
                .env(CHECK, check));
        }
    }
    run(Command::new(&path).arg("border"));
    run(Command::new(&path).arg("sparse"));
    run(Command::new(&path).arg("written"));
    run(Command::new(&path).arg("written-large"));
    run(Command::new(&path).arg("grow"));
    std::fs::remove_file(path).unwrap();
}

#[test]
fn memory_that_is_free_goes_back_to_the_system_as_configured() {
    let path = program("decay.c");
    for mode in ["age", "now", "never", "trim"] {
        for check in BOTH {
            run(Command::new(&path).arg(mode).env(CHECK, check));
        }
    }
    std::fs::remove_file(path).unwrap();
}

#[test]
fn threads_allocate_and_free_while_they_end() {
    let path = program("ends.c");
    for check in BOTH {
        run(Command::new(&path).env(CHECK, check));
    }
    std::fs::remove_file(path).unwrap();
}

#[test]
fn threads_that_share_blocks_lose_nothing_and_everything_returns() {
    let path = program("stress.cpp");
    for check in BOTH {
        let output = run(Command::new(&path).args(["3", "1"]).env(CHECK, check));
        assert!(output.contains("everything returned"), "{output}");
    }
    std::fs::remove_file(path).unwrap();
}

/// Reads of what was never written, and bookkeeping outside of what belongs to it.
#[test]
fn threads_that_share_blocks_are_clean_under_valgrind() {
    if Command::new("valgrind").arg("--version").output().is_err() {
        println!("valgrind is not installed: not tested");
        return;
    }
    let path = program("stress.cpp");
    for check in BOTH {
        let output = run(Command::new("valgrind")
            .args(["-q", "--error-exitcode=1"])
            .arg(&path)
            .args(["2", "1"])
            .env(CHECK, check));
        assert!(output.contains("everything returned"), "{output}");
    }
    std::fs::remove_file(path).unwrap();
}
