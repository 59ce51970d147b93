//! The folder of snapshots holds the files that tests write, and few enough for readers.

use std::collections::BTreeSet;
use std::fs;

use driver::BackendName;

use super::{OTHERS, every_language, folder, host_ir};

/// Maximal number of functions in every language.
const MAX_CASES: usize = 2;

/// Maximal number of lines of all snapshots.
const MAX_LINES: usize = 6_700;

/// Returns the names of the languages: resolved declarations, host IR, and those of all backends.
fn languages() -> impl Iterator<Item = &'static str> {
    ["resolved", "ir"].into_iter().chain(BackendName::ALL.iter().map(|backend| backend.name()))
}

/// Lists every file, as `case/name`.
fn files() -> BTreeSet<String> {
    let list = |folder: &std::path::Path| -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
        let names = entries.map(|entry| entry.expect("a folder can be listed").file_name());
        names.map(|name| name.to_string_lossy().into_owned()).collect()
    };
    let files = |case: String| match folder().join(&case) {
        path if path.is_dir() => list(&path).iter().map(|name| format!("{case}/{name}")).collect(),
        _ => vec![case],
    };
    list(&folder()).into_iter().flat_map(files).collect()
}

#[test]
fn every_file_has_a_test() {
    let every = every_language::CASES
        .iter()
        .flat_map(|case| languages().map(move |language| format!("{case}/{language}.snap")));
    let host_ir = host_ir::CASES.iter().chain(&OTHERS).map(|case| format!("{case}/ir.snap"));
    let written: BTreeSet<String> = every.chain(host_ir).collect();
    let unwritten: Vec<String> = files().difference(&written).cloned().collect();
    assert!(unwritten.is_empty(), "no test writes these snapshots: {unwritten:#?}");
}

#[test]
fn somebody_can_read_them() {
    assert!(every_language::CASES.len() <= MAX_CASES);
    let lines = |file: String| {
        let text = fs::read_to_string(folder().join(&file));
        text.unwrap_or_else(|error| panic!("{file}: {error}")).lines().count()
    };
    let lines: usize = files().into_iter().map(lines).sum();
    assert!(lines <= MAX_LINES, "{lines} lines");
}
