// SPDX-License-Identifier: Apache-2.0
//! The driver's calls as the runtime has them, against the driver's own header.
#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on says so by failing"
)]

use std::mem::{offset_of, size_of};
use std::path::Path;
use std::process::Command;

use godwit::driver_uapi::*;

/// Each C expression with what the runtime says it is.
fn pairs() -> Vec<(String, u64)> {
    let mut pairs: Vec<(String, u64)> = [
        ("GODWIT_ABI", u64::from(ABI)),
        ("GODWIT_INFO_DEMAND", INFO_DEMAND.into()),
        ("GODWIT_INFO_MIGRATE", INFO_MIGRATE.into()),
        ("GODWIT_INFO_HEAP", INFO_HEAP.into()),
        ("GODWIT_INFO_LINES", INFO_LINES.into()),
        ("GODWIT_ALLOCATION_MALLOC", ALLOCATION_MALLOC.into()),
        ("GODWIT_ALLOCATION_REALLOC", ALLOCATION_REALLOC.into()),
        ("GODWIT_ALLOCATION_FREE", ALLOCATION_FREE.into()),
        ("GODWIT_ALLOCATION_POPULATE", ALLOCATION_POPULATE.into()),
        ("GODWIT_ALLOCATION_SMALL", ALLOCATION_SMALL.into()),
        ("GODWIT_HEAP_STATE_LACKS", HEAP_STATE_LACKS.into()),
        ("GODWIT_HEAP_STATE_RECLAIMING", HEAP_STATE_RECLAIMING.into()),
        ("GODWIT_HEAP_STATE_STRICT", HEAP_STATE_STRICT.into()),
        ("GODWIT_RUN_FAULT", RUN_FAULT.into()),
        ("GODWIT_RUN_REGISTERS", RUN_REGISTERS as u64),
        ("GODWIT_MIGRATE_TO_HOST", MIGRATE_TO_HOST.into()),
        ("GODWIT_ADVICE_NONE", ADVICE_NONE.into()),
        ("GODWIT_ADVICE_MOVE", ADVICE_MOVE.into()),
        ("GODWIT_ADVICE_IN_PLACE", ADVICE_IN_PLACE.into()),
        ("GODWIT_ADVICE_AUTO", ADVICE_AUTO.into()),
        ("GODWIT_ADVICE_READ_MOSTLY", ADVICE_READ_MOSTLY.into()),
        ("GODWIT_PLACE_NONE", PLACE_NONE.into()),
        ("GODWIT_PLACE_HOST", PLACE_HOST.into()),
        ("GODWIT_PLACE_CARD", PLACE_CARD.into()),
        ("GODWIT_PLACE_SHOWN", PLACE_SHOWN.into()),
        ("GODWIT_IOC_INFO", u64::from(IOC_INFO)),
        ("GODWIT_IOC_RUN", u64::from(IOC_RUN)),
        ("GODWIT_IOC_MIGRATE", u64::from(IOC_MIGRATE)),
        ("GODWIT_IOC_CANCEL", u64::from(IOC_CANCEL)),
        ("GODWIT_IOC_RESIDENCY", u64::from(IOC_RESIDENCY)),
        ("GODWIT_IOC_COUNTERS", u64::from(IOC_COUNTERS)),
        ("GODWIT_IOC_HEAP", u64::from(IOC_HEAP)),
        ("GODWIT_IOC_HEAP_STATE", u64::from(IOC_HEAP_STATE)),
        ("GODWIT_IOC_ADVISE", u64::from(IOC_ADVISE)),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into();
    macro_rules! layout {
        ($c:literal $rust:ident: $($field:ident)*) => {
            pairs.push((format!("sizeof(struct {})", $c), size_of::<$rust>() as u64));
            $(pairs.push((
                format!("offsetof(struct {}, {})", $c, stringify!($field)),
                offset_of!($rust, $field) as u64,
            ));)*
        };
    }
    layout!("godwit_info" Info: abi spec_hash kernels contexts context va_bits flags reserved memory_bytes free_bytes);
    layout!("godwit_register" Register: offset value);
    layout!("godwit_run" Run: slot write_count read_count timeout_ms writes reads end fault_cause fault_address);
    layout!("godwit_migrate" Migrate: addr size flags reserved pages);
    layout!("godwit_advise" Advise: addr size advice served);
    layout!("godwit_cancel" Cancel: slot reserved);
    layout!("godwit_residency" Residency: addr size places reserved);
    layout!("godwit_counters" Counters: words count reserved);
    layout!("godwit_allocation" Allocation: op flags granule status pointer size reserved);
    layout!("godwit_heap_state" HeapState: start bytes free_bytes clean_bytes flags region regions reserved);
    pairs
}

#[test]
fn calls_are_those_of_the_drivers_header() {
    let header = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../driver/uapi/godwit.h");
    let folder = std::env::temp_dir().join(format!("godwit-uapi-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (source, program) = (folder.join("uapi.c"), folder.join("uapi"));
    let expressions: String = pairs()
        .iter()
        .map(|(what, _)| format!("\tprintf(\"%llu\\n\", (unsigned long long)({what}));\n"))
        .collect();
    let text = format!(
        "#include <stddef.h>\n#include <stdio.h>\n#include \"{}\"\nint main(void)\n{{\n{expressions}\treturn 0;\n}}\n",
        header.canonicalize().unwrap().display()
    );
    std::fs::write(&source, text).unwrap();
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".into());
    let built = Command::new(compiler)
        .args(["-Wall", "-Werror", "-o"])
        .args([&program, &source])
        .output()
        .unwrap();
    assert!(
        built.status.success(),
        "{}",
        String::from_utf8_lossy(&built.stderr)
    );
    let said = Command::new(&program).output().unwrap().stdout;
    std::fs::remove_dir_all(&folder).unwrap();
    let said = String::from_utf8(said).unwrap();
    let found: Vec<u64> = said.lines().map(|line| line.parse().unwrap()).collect();
    let pairs = pairs();
    assert_eq!(found.len(), pairs.len());
    for ((what, ours), theirs) in pairs.iter().zip(found) {
        assert_eq!(*ours, theirs, "{what}");
    }
}
