//! The three backends mirror each other: what two of them have, the third has too, in the same file and
//! order. What one has alone is its own affair.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The folders of the backends, and the types that they offer.
const BACKENDS: [(&str, &str); 3] =
    [("cranelift", "Cranelift"), ("llvm", "Llvm"), ("mlir", "Mlir")];

/// What one backend lacks although both others have it: the backend, the file, the item.
const LACKING: [(&str, &str, &str); 27] = [
    // Cranelift reports errors as values, has no IR to link, and needs no unsafe code.
    ("cranelift", "", "diagnostic.rs"),
    ("cranelift", "", "link.rs"),
    ("cranelift", "", "raw.rs"),
    ("cranelift", "lib.rs", "mod diagnostic"),
    ("cranelift", "lib.rs", "mod link"),
    ("cranelift", "lib.rs", "mod raw"),
    // Text and objects are all that comes of it: its modules end as one or the other.
    ("cranelift", "lib.rs", "Self::module"),
    ("cranelift", "lib.rs", "Self::bitcode"),
    ("cranelift", "object.rs", "fn adopt"),
    ("cranelift", "object.rs", "fn compile"),
    ("cranelift", "object.rs", "fn verify"),
    // Its data objects have no type, and a symbol is just a number.
    ("cranelift", "data.rs", "fn ty"),
    ("cranelift", "data.rs", "fn contents"),
    ("cranelift", "symbols.rs", "struct Symbols"),
    ("cranelift", "symbols.rs", "fn declare_symbol"),
    ("cranelift", "symbols.rs", "fn describe"),
    // Its types are the same in every context.
    ("cranelift", "types.rs", "struct Types"),
    ("cranelift", "types.rs", "impl Types"),
    ("cranelift", "types.rs", "Types::new"),
    ("cranelift", "types.rs", "Types::ty"),
    ("cranelift", "types.rs", "Types::signature"),
    ("cranelift", "types.rs", "Types::like"),
    // LLVM has no block parameters, so that it hands over no lists.
    ("llvm", "function.rs", "Body::list"),
    // LLVM's own text has the names and labels.
    ("llvm", "", "print.rs"),
    ("llvm", "lib.rs", "mod print"),
    // MLIR appends operations instead of asking a builder for each.
    ("mlir", "function.rs", "Body::ins"),
    // What it says comes as diagnostics, which are text.
    ("mlir", "lib.rs", "fn native"),
];

fn folder(backend: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../backends").join(backend).join("src")
}

/// The names of the files of a backend.
fn files(backend: &str) -> Vec<String> {
    let entries = fs::read_dir(folder(backend)).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut files: Vec<String> = names.filter(|name| name.ends_with(".rs")).collect();
    files.sort();
    files
}

/// The items of a file in order; functions of an `impl` with what it is of.
fn items((backend, own): (&str, &str), file: &str) -> Vec<String> {
    let text = fs::read_to_string(folder(backend).join(file)).unwrap();
    let mut items = Vec::new();
    let mut inside = String::new();
    for line in text.lines() {
        let words = line.replace("pub(crate) ", "").replace("pub ", "").replace(own, "Self");
        let indented = words.strip_prefix("    ").unwrap_or(&words);
        let (kind, rest) = indented.split_once([' ', '<']).unwrap_or_default();
        let name = |rest: &str| rest.split(['(', '<', ' ', ';', ':']).next().unwrap().to_owned();
        if words.starts_with("impl") {
            let head = words.trim_end_matches([' ', '{']);
            let of = head.rsplit_once("> ").filter(|(left, _)| !left.contains(" for "));
            let of = of.map_or(head.trim_start_matches("impl "), |(_, of)| of);
            inside = of.split(" for ").map(name).collect::<Vec<_>>().join(" for ");
            items.push(format!("impl {inside}"));
        } else if indented.len() < words.len() && kind == "fn" && !inside.is_empty() {
            items.push(format!("{inside}::{}", name(rest)));
        } else if indented.len() == words.len() && ["fn", "struct", "enum", "mod"].contains(&kind) {
            items.push(format!("{kind} {}", name(rest)));
        }
        if line == "}" {
            inside.clear();
        }
    }
    items
}

/// What each of three lists has of what two of them have, and of what the third must have.
fn compare(file: &str, lists: [Vec<String>; 3], faults: &mut Vec<String>) {
    let count = |item: &String| lists.iter().filter(|list| list.contains(item)).count();
    let shared: BTreeSet<&String> = lists.iter().flatten().filter(|item| count(item) > 1).collect();
    let lacking = |backend: &str, item: &str| LACKING.contains(&(backend, file, item));
    for (list, (backend, _)) in lists.iter().zip(BACKENDS) {
        for item in shared.iter().filter(|item| !list.contains(item)) {
            if !lacking(backend, item) {
                faults.push(format!("{backend}/{file} lacks {item}"));
            }
        }
    }
    let common = |list: &Vec<String>| -> Vec<String> {
        list.iter().filter(|item| count(item) == 3).cloned().collect()
    };
    let [first, second, third] = lists.each_ref().map(common);
    if first != second || second != third {
        faults.push(format!("another order in {file}:\n{first:?}\n{second:?}\n{third:?}"));
    }
}

#[test]
fn backends_mirror_each_other() {
    let mut faults = Vec::new();
    let all = BACKENDS.map(|(backend, _)| files(backend));
    compare("", all.clone(), &mut faults);
    let common = |file: &&String| all.iter().filter(|files| files.contains(file)).count() > 1;
    let common: BTreeSet<&String> = all.iter().flatten().filter(common).collect();
    for file in common {
        let read = |(backend, own)| match files(backend).contains(file) {
            true => items((backend, own), file),
            false => Vec::new(),
        };
        if BACKENDS.iter().all(|(backend, _)| files(backend).contains(file)) {
            compare(file, BACKENDS.map(read), &mut faults);
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// An exception that is none any more has to go.
#[test]
fn every_exception_is_one() {
    for (backend, file, item) in LACKING {
        let has = |(backend, own): (&str, &str)| match file {
            "" => files(backend).contains(&item.to_owned()),
            file => items((backend, own), file).contains(&item.to_owned()),
        };
        let found = BACKENDS.map(|each| (each.0 == backend) != has(each));
        assert_eq!(found, [true; 3], "{backend} {file} {item}");
    }
}
