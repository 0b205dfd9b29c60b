// SPDX-License-Identifier: Apache-2.0
//! The C and C++ examples, and programs of the tests, on real cards (`default`; `heap-test` of heap.toml).
#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on says so by failing"
)]

mod compiler;

use compiler::{Scratch, compile, libraries, root, run};
use godwit::capi::EINVAL;

/// A C program linked with the static library, run.
fn run_c(name: &str, source: &str, args: &[&str]) -> String {
    let scratch = Scratch::new(name);
    let library = libraries().join("libgodwit.a");
    let link = [
        library.to_str().unwrap(),
        "-lpthread",
        "-ldl",
        "-lm",
        "-lgcc_s",
    ];
    run(
        &compile(
            ("CC", "cc"),
            "-std=c11",
            &root().join(source),
            &scratch,
            &link,
        ),
        args,
    )
}

/// A C++ program linked with the shared library, run.
fn run_cpp(name: &str, source: &str, args: &[&str]) -> String {
    let scratch = Scratch::new(name);
    let directory = libraries();
    let (library, rpath) = (
        directory.join("libgodwit.so"),
        format!("-Wl,--disable-new-dtags,-rpath,{}", directory.display()),
    );
    run(
        &compile(
            ("CXX", "c++"),
            "-std=c++17",
            &root().join(source),
            &scratch,
            &[library.to_str().unwrap(), &rpath],
        ),
        args,
    )
}

#[test]
fn the_c_example_runs_against_the_static_library() {
    let printed = run_c("c-example", "examples/c/vector_sum.c", &[]);
    assert!(printed.contains("sum of 100000 values"), "{printed}");
    assert!(
        printed.contains("reads translated by the L1 TLB"),
        "{printed}"
    );
}

#[test]
fn a_c_program_gives_kernels_its_own_memory() {
    let printed = run_c("c-plain", "examples/c/plain_pointers.c", &[]);
    assert_eq!(
        printed,
        "split: 16980 of 20000 rows are greater than 15, right\narray_sum: 968700, right\n"
    );
}

#[test]
fn a_cpp_program_gives_kernels_its_own_vectors() {
    let printed = run_cpp("cpp-plain", "examples/cpp/plain_pointers.cpp", &[]);
    assert_eq!(
        printed,
        "split: 16980 of 20000 rows are greater than 15, right\narray_sum: 968700, right\n"
    );
}

#[test]
fn c_threads_launch_wait_and_cancel() {
    assert_eq!(
        run_c("c-threads", "examples/c/threads.c", &[]),
        "32 launches from 8 threads\ncopied all\nkernel `memcopy` was stopped: it was cancelled; the kernel stands still\n"
    );
}

#[test]
fn cpp_launches_overlap() {
    let printed = run_cpp("cpp-overlap", "examples/cpp/overlap.cpp", &[]);
    assert!(printed.contains("at once, sum 199990000"), "{printed}");
}

#[test]
fn the_cpp_example_runs_against_the_shared_library() {
    let printed = run_cpp("cpp-example", "examples/cpp/split.cpp", &[]);
    assert!(
        printed.contains("of 50000 rows are greater than 15"),
        "{printed}"
    );
}

#[test]
fn c_and_cpp_programs_grow_memory_of_the_heap_in_hardware() {
    let device = &["sim:heap-test"];
    let printed = run_c("c-grow", "examples/c/grow.c", device);
    assert!(
        printed.contains("sum of 25600 values: 957401600 in"),
        "{printed}"
    );
    assert!(printed.contains("second release: free of 0x"), "{printed}");
    assert!(printed.contains("freed before"), "{printed}");
    let printed = run_cpp("cpp-grow", "examples/cpp/grow.cpp", device);
    assert!(printed.contains(" values: "), "{printed}");
    assert!(printed.contains("too many: realloc of 0x"), "{printed}");
}

#[test]
fn an_error_status_is_an_error_in_c_with_its_results() {
    let printed = run_c("c-status", "crates/godwit/tests/programs/status.c", &[]);
    assert!(
        printed.starts_with("launch: kernel `array_sum`"),
        "{printed}"
    );
    assert!(
        printed.ends_with("allowed: status 3\nafter it: sum 120\n"),
        "{printed}"
    );
}

#[test]
fn an_error_status_throws_in_cpp_with_its_completion() {
    let printed = run_cpp("cpp-status", "crates/godwit/tests/programs/status.cpp", &[]);
    assert!(
        printed.starts_with("launch: kernel `array_sum`"),
        "{printed}"
    );
    assert!(
        printed.ends_with("status 3\nallowed: status 3\nafter it: sum 120\n"),
        "{printed}"
    );
}

/// Compiles and runs a program that uses both libraries.
fn run_contiguous(name: &str, compiler: (&str, &str), standard: &str, source: &str) -> String {
    let scratch = Scratch::new(name);
    let directory = libraries();
    let (runtime, pool) = (
        directory.join("libgodwit.so"),
        directory.join("libgodwit_cmt.so"),
    );
    let rpath = format!("-Wl,--disable-new-dtags,-rpath,{}", directory.display());
    let include = format!("-I{}", root().join("crates/godwit-cmt/include").display());
    let link = [
        include.as_str(),
        runtime.to_str().unwrap(),
        pool.to_str().unwrap(),
        &rpath,
    ];
    run(
        &compile(compiler, standard, &root().join(source), &scratch, &link),
        &[],
    )
}

#[test]
fn plain_memory_of_a_c_program_is_an_argument_until_it_is_forgotten() {
    let printed = run_c("c-process", "crates/godwit/tests/programs/process.c", &[]);
    assert_eq!(printed, "45 52\n499500 499507\n4999950000 4999950007\n");
}

#[test]
fn plain_memory_of_a_cpp_program_is_an_argument_as_long_as_its_owner_lives() {
    let printed = run_cpp(
        "cpp-process",
        "crates/godwit/tests/programs/process.cpp",
        &[],
    );
    let lines: Vec<&str> = printed.lines().collect();
    assert_eq!(lines.len(), 4, "{printed}");
    assert_eq!(lines[0], "8589869056 65536 1 8589869063");
    assert_eq!(lines[1], "0 1 1");
    assert!(lines[2].starts_with("nothing is counted as nothing: there are to_device.launch, "));
    assert_eq!(lines[3], EINVAL.to_string());
}

#[test]
fn a_block_of_contiguous_memory_is_an_argument_until_it_is_freed() {
    let source = "examples/c/contiguous.c";
    let printed = run_contiguous("c-contiguous", ("CC", "cc"), "-std=c11", source);
    let lines: Vec<&str> = printed.lines().collect();
    assert!(lines[0].starts_with("pages "), "{printed}");
    assert!(!lines[0].contains(" 0 page-table walks"), "{printed}");
    assert!(lines[1].starts_with("range entry "), "{printed}");
    assert!(lines[1].ends_with(" 0 page-table walks"), "{printed}");
    assert!(
        lines[2].contains("was taken away: it is no block in use"),
        "{printed}"
    );
}

#[test]
fn cpp_gives_kernels_a_container_and_a_block_where_they_are() {
    let source = "examples/cpp/contiguous.cpp";
    let printed = run_contiguous("cpp-contiguous", ("CXX", "c++"), "-std=c++20", source);
    let lines: Vec<&str> = printed.lines().collect();
    assert_eq!(lines.len(), 2, "{printed}");
    for (line, sum) in [
        (lines[0], "vector: sum 4999950000 in"),
        (lines[1], "block: sum 5099950000 in"),
    ] {
        assert!(line.starts_with(sum), "{printed}");
        assert!(line.ends_with(" 0 page-table walks"), "{printed}");
    }
}
