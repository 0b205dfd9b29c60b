// SPDX-License-Identifier: Apache-2.0
//! C and C++ compilers on the headers and libraries of this build.

use std::path::{Path, PathBuf};
use std::process::Command;

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .unwrap()
}

/// Where cargo put the libraries of this build: beside this test.
pub fn libraries() -> PathBuf {
    std::env::current_exe()
        .unwrap()
        .parent()
        .unwrap()
        .to_owned()
}

pub struct Scratch(pub PathBuf);

impl Scratch {
    pub fn new(name: &str) -> Self {
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
pub fn compile(
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

pub fn run(program: &Path, args: &[&str]) -> String {
    let output = Command::new(program).args(args).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{} failed: {errors}",
        program.display()
    );
    String::from_utf8(output.stdout).unwrap()
}
