// SPDX-License-Identifier: Apache-2.0
//! The C ABI against its header.
#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on says so by failing"
)]

mod compiler;

use std::collections::BTreeMap;
use std::ffi::{CStr, CString};
use std::mem::{offset_of, size_of};
use std::process::Command;
use std::ptr::{null, null_mut};

use compiler::{Scratch, compile, libraries, root, run};
use godwit::HeapRefusal;
use godwit::capi::*;

#[test]
fn layouts_and_constants_are_those_of_the_header() {
    let code = |refusal: HeapRefusal| i64::from(refusal.code());
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
        ("GODWIT_NOT_REFUSED", 0),
        ("GODWIT_REFUSED_SIZE_ZERO", code(HeapRefusal::SizeZero)),
        ("GODWIT_REFUSED_TOO_LARGE", code(HeapRefusal::TooLarge)),
        ("GODWIT_REFUSED_ARGUMENT", code(HeapRefusal::Argument)),
        ("GODWIT_REFUSED_NO_SLOT", code(HeapRefusal::NoSlot)),
        ("GODWIT_REFUSED_NO_FRAME", code(HeapRefusal::NoFrame)),
        ("GODWIT_REFUSED_FOREIGN", code(HeapRefusal::Foreign)),
        ("GODWIT_REFUSED_NOT_LIVE", code(HeapRefusal::NotLive)),
        (
            "GODWIT_REFUSED_OTHER_CONTEXT",
            code(HeapRefusal::OtherContext),
        ),
        ("GODWIT_REFUSED_QUOTA", code(HeapRefusal::Quota)),
        ("GODWIT_REFUSED_BUSY", code(HeapRefusal::Busy)),
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
