// SPDX-License-Identifier: Apache-2.0
//! The C ABI against its header, and the C and C++ examples on real cards (`default`; `heap-test` of heap.toml).
#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on says so by failing"
)]

use std::collections::BTreeMap;
use std::ffi::{CStr, CString};
use std::mem::{offset_of, size_of};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::ptr::{null, null_mut};

use godwit::capi::*;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .unwrap()
}

/// Where cargo put the libraries of this build: beside this test.
fn libraries() -> PathBuf {
    std::env::current_exe()
        .unwrap()
        .parent()
        .unwrap()
        .to_owned()
}

struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("godwit-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Compiles one source against the headers; the program's path.
fn compile(
    compiler: (&str, &str),
    standard: &str,
    source: &Path,
    scratch: &Scratch,
    link: &[&str],
) -> PathBuf {
    let (variable, usual) = compiler;
    let compiler = std::env::var(variable).unwrap_or_else(|_| usual.into());
    let program = scratch.0.join("program");
    let output = Command::new(&compiler)
        .args([standard, "-Wall", "-Wextra", "-Werror", "-pedantic", "-I"])
        .arg(root().join("crates/godwit/include"))
        .arg(source)
        .args(link)
        .arg("-o")
        .arg(&program)
        .output()
        .unwrap_or_else(|error| panic!("{compiler} is needed: {error}"));
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    program
}

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

fn run(program: &Path, args: &[&str]) -> String {
    let output = Command::new(program).args(args).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{} failed: {errors}",
        program.display()
    );
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn layouts_and_constants_are_those_of_the_header() {
    let scratch = Scratch::new("c-layout");
    let source = scratch.0.join("layout.c");
    let ours = [
        ("sizeof(godwit_stats)", size_of::<GodwitStats>() as i64),
        (
            "offsetof(godwit_stats, host_writes)",
            offset_of!(GodwitStats, host_writes) as i64,
        ),
        ("sizeof(godwit_arg)", size_of::<GodwitArg>() as i64),
        (
            "offsetof(godwit_arg, value)",
            offset_of!(GodwitArg, value) as i64,
        ),
        ("sizeof(godwit_result)", size_of::<GodwitResult>() as i64),
        (
            "sizeof(godwit_completion)",
            size_of::<GodwitCompletion>() as i64,
        ),
        (
            "offsetof(godwit_completion, polled)",
            offset_of!(GodwitCompletion, polled) as i64,
        ),
        (
            "offsetof(godwit_completion, stats)",
            offset_of!(GodwitCompletion, stats) as i64,
        ),
        (
            "offsetof(godwit_completion, results)",
            offset_of!(GodwitCompletion, results) as i64,
        ),
        ("GODWIT_ABI", i64::from(ABI)),
        ("GODWIT_OK", i64::from(OK)),
        ("GODWIT_EDEVICE", i64::from(EDEVICE)),
        ("GODWIT_ENOMEM", i64::from(ENOMEM)),
        ("GODWIT_EFAULT", i64::from(EFAULT)),
        ("GODWIT_EHANG", i64::from(EHANG)),
        ("GODWIT_EINVAL", i64::from(EINVAL)),
        ("GODWIT_EINTERNAL", i64::from(EINTERNAL)),
        ("GODWIT_ESTATUS", i64::from(ESTATUS)),
        ("GODWIT_RUNNING", i64::from(RUNNING)),
        ("GODWIT_READ_ONLY", i64::from(READ_ONLY)),
        ("GODWIT_CONTIGUOUS", i64::from(CONTIGUOUS)),
        ("GODWIT_SCATTERED", i64::from(SCATTERED)),
        ("GODWIT_RANGES", i64::from(RANGES)),
        ("GODWIT_NO_RANGES", i64::from(NO_RANGES)),
        ("GODWIT_SMALL", i64::from(SMALL)),
        ("GODWIT_PREFERRED", i64::from(PREFERRED)),
        ("GODWIT_MEMORY(1)", i64::from(2 << MEMORY_SHIFT)),
        ("GODWIT_MEMORY(254)", i64::from(MEMORY_MASK)),
        (
            "sizeof(godwit_memory_info)",
            size_of::<GodwitMemoryInfo>() as i64,
        ),
        ("GODWIT_WILL_NEED", i64::from(WILL_NEED)),
        ("GODWIT_WILL_NEED_HOST", i64::from(WILL_NEED_HOST)),
        ("GODWIT_IN_PLACE", i64::from(IN_PLACE)),
        ("GODWIT_MIGRATE", i64::from(MIGRATE)),
        ("GODWIT_READ_MOSTLY", i64::from(READ_MOSTLY)),
        ("GODWIT_AUTO", i64::from(AUTO)),
        ("GODWIT_BARE", i64::from(BARE)),
        ("GODWIT_ALLOW_STATUS", i64::from(ALLOW_STATUS)),
        ("GODWIT_MAX_RESULTS", MAX_RESULTS as i64),
        ("GODWIT_NAME_SIZE", NAME_SIZE as i64),
    ];
    let lines = ours
        .map(|(expression, _)| format!("printf(\"%lld\\n\", (long long)({expression}));"))
        .join("\n");
    let text = format!(
        "#include <stdio.h>\n#include \"godwit.h\"\nint main(void) {{\n{lines}\nreturn 0;\n}}\n"
    );
    std::fs::write(&source, text).unwrap();
    let printed = run(
        &compile(("CC", "cc"), "-std=c11", &source, &scratch, &[]),
        &[],
    );
    let theirs: Vec<i64> = printed.lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(theirs.len(), ours.len());
    for ((expression, ours), theirs) in ours.iter().zip(theirs) {
        assert_eq!(theirs, *ours, "{expression}");
    }
}

/// Functions of a text and how many parameters each has, given what stands before a function's name.
fn functions(text: &str, before: &str) -> BTreeMap<String, usize> {
    let mut found = BTreeMap::new();
    for part in text.split(before).skip(1) {
        let Some((name, rest)) = part.split_once('(') else {
            continue;
        };
        let Some((parameters, _)) = rest.split_once(')') else {
            continue;
        };
        let count = parameters
            .split(',')
            .filter(|parameter| !["", "void"].contains(&parameter.trim()))
            .count();
        found.insert(name.to_owned(), count);
    }
    found
}

#[test]
fn the_header_declares_exactly_what_the_library_has() {
    let package = root().join("crates/godwit");
    let mut defined = BTreeMap::new();
    for file in std::fs::read_dir(package.join("src/capi")).unwrap() {
        let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
        defined.extend(functions(&text, "extern \"C\" fn "));
    }
    let header = std::fs::read_to_string(package.join("include/godwit.h")).unwrap();
    // Declarations start in the first column with their return type; comments and inline functions do not count.
    let declarations = header
        .split("*/")
        .map(|part| part.split("/*").next().unwrap_or_default());
    let declarations: String = declarations
        .collect::<String>()
        .replace("const char *godwit", "int godwit");
    let declarations = declarations
        .replace("void *godwit", "int godwit")
        .replace("size_t godwit", "int godwit");
    let declarations = declarations
        .replace("\nvoid godwit", "\nint godwit")
        .replace("uint32_t godwit", "int godwit");
    let declared: BTreeMap<_, _> = functions(&declarations, "\nint ")
        .into_iter()
        .filter(|(name, _)| name.starts_with("godwit_"))
        .collect();
    assert_eq!(declared, defined);
    assert!(defined.len() > 15, "{defined:?}");

    let symbols = Command::new("nm")
        .args(["-D", "--defined-only"])
        .arg(libraries().join("libgodwit.so"))
        .output();
    let symbols = String::from_utf8(symbols.expect("nm of binutils is needed").stdout).unwrap();
    let exported: Vec<_> = symbols
        .lines()
        .filter_map(|line| line.split(' ').nth(2))
        .collect();
    for name in defined.keys() {
        assert!(exported.contains(&name.as_str()), "{name} is not exported");
    }
}

fn last_error() -> String {
    // SAFETY: never null, and valid until the next failed call of this thread.
    unsafe { CStr::from_ptr(godwit_last_error()) }
        .to_str()
        .unwrap()
        .to_owned()
}

#[test]
fn bad_calls_are_answered_with_words() {
    let mut card = null_mut();
    // SAFETY: every pointer is null, a terminated string, or to a local.
    unsafe {
        assert_eq!(godwit_open(null(), null(), &mut card), EINVAL);
        assert_eq!(last_error(), "device is NULL");
        assert_eq!(godwit_open(c"fpga".as_ptr(), null(), &mut card), EDEVICE);
        assert!(
            last_error().contains("`fpga` is no device: use `sim:NAME`"),
            "{}",
            last_error()
        );
        assert_eq!(
            godwit_open(c"sim:x".as_ptr(), c"[1]".as_ptr(), &mut card),
            EINVAL
        );
        assert!(
            last_error().contains("expected a JSON object"),
            "{}",
            last_error()
        );
        assert_eq!(
            godwit_open(c"sim:/nonexistent.so".as_ptr(), null(), &mut card),
            EDEVICE
        );
        assert!(
            last_error().contains("/nonexistent.so cannot be loaded as a card"),
            "{}",
            last_error()
        );
        assert!(card.is_null());

        let mut stats = GodwitStats::default();
        assert_eq!(godwit_get_stats(null(), &mut stats), EINVAL);
        assert_eq!(last_error(), "card is NULL");
        assert_eq!(godwit_alloc(null_mut(), 1, 0, 0, null_mut()), EINVAL);
        let (context, kernel) = (null_mut(), CString::new("split").unwrap());
        assert_eq!(
            godwit_launch(context, kernel.as_ptr(), null(), 0, 0, 0, null_mut()),
            EINVAL
        );
        assert_eq!(last_error(), "context is NULL");
        assert_eq!(godwit_free(null_mut()), OK);
        godwit_close(null_mut());
        godwit_context_destroy(null_mut());
        godwit_release(null_mut());
        assert_eq!(godwit_wait(null_mut(), 0, null_mut()), EINVAL);
        assert_eq!(last_error(), "job is NULL");
        assert_eq!(godwit_is_ended(null()), 0);
        assert!(godwit_describe(null()).is_null() && godwit_data(null()).is_null());
        assert_eq!(godwit_size(null()), 0);
    }
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
