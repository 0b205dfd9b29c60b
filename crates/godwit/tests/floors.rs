// SPDX-License-Identifier: Apache-2.0
//! The floors of the crate, kept: a module uses those below it, and no two use each other.
#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on says so by failing"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// From the lowest floor up; what stands in the crate's root are words for all.
const FLOORS: [&str; 6] = ["hardware", "svm", "state", "driver", "objects", "capi"];

type Uses = BTreeMap<String, BTreeSet<String>>;

/// Module paths (`state::launches`; `state` is its `mod.rs`) that a file's text uses.
fn uses(module: &str, text: &str, known: &BTreeSet<String>) -> BTreeSet<String> {
    let code: String = text
        .split("#[cfg(test)]")
        .next()
        .unwrap()
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .collect::<Vec<_>>()
        .join(" ");
    let floor = module.split("::").next().unwrap();
    let mut found = BTreeSet::new();
    let mut note = |path: &str| {
        // The longest module that the path begins with.
        let parts: Vec<&str> = path
            .split(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':'))
            .next()
            .unwrap()
            .split("::")
            .collect();
        let longest = (1..=parts.len()).rev().map(|n| parts[..n].join("::"));
        if let Some(used) = longest.into_iter().find(|name| known.contains(name)) {
            found.insert(used);
        }
    };
    for (at, _) in code.match_indices("crate::") {
        let rest = &code[at + "crate::".len()..];
        if let Some(list) = rest.strip_prefix('{') {
            list.split('}')
                .next()
                .unwrap()
                .split(',')
                .for_each(|name| note(name.trim()));
        } else {
            note(rest);
        }
    }
    for (at, _) in code.match_indices("super::") {
        note(&format!("{floor}::{}", &code[at + "super::".len()..]));
    }
    found.remove(module);
    found
}

fn crate_uses() -> Uses {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = BTreeMap::new();
    let mut folders = vec![source.clone()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|kind| kind == "rs") {
                let name = path.strip_prefix(&source).unwrap().with_extension("");
                let name = name.to_str().unwrap().replace('/', "::");
                let name = name.strip_suffix("::mod").unwrap_or(&name).to_owned();
                files.insert(name, std::fs::read_to_string(&path).unwrap());
            }
        }
    }
    files.remove("lib");
    let known: BTreeSet<String> = files.keys().cloned().collect();
    files
        .iter()
        .map(|(name, text)| (name.clone(), uses(name, text, &known)))
        .collect()
}

fn floor(module: &str) -> Option<usize> {
    let first = module.split("::").next().unwrap();
    FLOORS.iter().position(|floor| *floor == first)
}

#[test]
fn nothing_uses_what_stands_above_it() {
    for (module, used) in crate_uses() {
        for other in used {
            assert!(
                floor(&other).is_none_or(|other| floor(&module).is_some_and(|own| other <= own)),
                "{module} uses {other}, which stands above it"
            );
        }
    }
}

#[test]
fn no_two_modules_use_each_other() {
    // A folder's `mod.rs` and its files are one module to the outside, and among themselves a state and its parts.
    let uses = crate_uses();
    let one = |module: &str| {
        let floor = module.split("::").next().unwrap().to_owned();
        if ["svm", "state", "driver", "capi"].contains(&floor.as_str()) {
            floor
        } else {
            module.to_owned()
        }
    };
    let mut edges: Uses = BTreeMap::new();
    for (module, used) in &uses {
        let own = one(module);
        let others = used
            .iter()
            .map(|other| one(other))
            .filter(|other| *other != own);
        edges.entry(own.clone()).or_default().extend(others);
    }
    // Takes away what uses nothing that is left; a circle stays.
    loop {
        let free: Vec<String> = edges
            .iter()
            .filter(|(_, used)| used.iter().all(|other| !edges.contains_key(other)))
            .map(|(module, _)| module.clone())
            .collect();
        if free.is_empty() {
            break;
        }
        free.iter().for_each(|module| {
            edges.remove(module);
        });
    }
    assert!(edges.is_empty(), "these use each other: {edges:#?}");
}

#[test]
fn the_test_sees_what_modules_use() {
    let uses = crate_uses();
    let has = |module: &str, other: &str| uses[module].contains(other);
    assert!(has("objects::launch", "state::ticket"));
    assert!(has("objects::launch", "driver"));
    assert!(has("driver::launches", "state::ticket"));
    assert!(has("objects::launch_builder", "objects::launch"));
    assert!(has("state::launches", "hardware::control"));
    assert!(has("state::launches", "state::ticket"));
    assert!(has("hardware::queue", "hardware::command"));
}
