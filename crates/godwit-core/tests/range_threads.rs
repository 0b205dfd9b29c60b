// SPDX-License-Identifier: Apache-2.0
//! The range allocator's C code with eight threads under ThreadSanitizer, for two seconds: `make -C core threads
//! GODWIT_THREAD_SECONDS=60` is the long run.
#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on says so by failing"
)]

use std::path::Path;
use std::process::Command;

const SECONDS: &str = "2";
const SEED: &str = "1";

#[test]
fn threads_of_the_range_allocator_do_not_race() {
    let core = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../core");
    let mut sources = vec![core.join("test/test_range_threads.c")];
    for entry in std::fs::read_dir(core.join("src")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if name.starts_with("range") && name.ends_with(".c") {
            sources.push(path);
        }
    }
    let program =
        std::env::temp_dir().join(format!("godwit-range-threads-{}.out", std::process::id()));
    let compiled = Command::new("cc")
        .args(["-std=c11", "-O2", "-g", "-fsanitize=thread", "-pthread"])
        .arg("-I")
        .arg(core.join("include"))
        .args(&sources)
        .arg("-o")
        .arg(&program)
        .output()
        .unwrap();
    assert!(
        compiled.status.success(),
        "{}",
        String::from_utf8_lossy(&compiled.stderr)
    );
    let ran = Command::new(&program)
        .args([SECONDS, SEED])
        .output()
        .unwrap();
    std::fs::remove_file(&program).unwrap();
    assert!(
        ran.status.success(),
        "{}{}",
        String::from_utf8_lossy(&ran.stdout),
        String::from_utf8_lossy(&ran.stderr)
    );
}
