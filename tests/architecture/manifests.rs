//! Dependencies of the crates: every one is used, and its licence allows to distribute linked programs.

use std::process::Command;

use crate::sources::{Source, read, root, sources};

/// Dependencies that no source names.
const UNNAMED: [(&str, &str); 5] = [
    // Set features, so that every build of the workspace compiles the same crates.
    ("backends/cranelift/prebuilt", "fnv"),
    ("backends/cranelift/prebuilt", "libc"),
    ("tests", "libwild"),
    // Link LLVM and MLIR.
    ("driver", "inkwell"),
    ("driver", "melior"),
];

/// Licences of crates that may be linked; of a choice of licences one is enough.
const LICENCES: [&str; 10] = [
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "ISC",
    "MIT",
    // A condition on the licensed files alone.
    "MPL-2.0",
    "Unicode-3.0",
    "Unicode-DFS-2016",
    "Zlib",
];

/// Returns the folders of the workspace's crates.
fn members() -> Vec<String> {
    let manifest = read("Cargo.toml");
    let list = manifest.lines().find_map(|line| line.strip_prefix("members = ["));
    let list = list.expect("the workspace has members").trim_end_matches(']');
    list.split(", ").map(|name| name.trim_matches('"').to_owned()).collect()
}

/// Returns the dependencies in a manifest: names, and whether only tests may use them.
fn dependencies(manifest: &str) -> Vec<(&str, bool)> {
    let mut found = Vec::new();
    for section in manifest.split("\n[").filter(|text| text.contains("dependencies]\n")) {
        let lines = section.lines().skip(1);
        let entries = lines.filter(|line| line.starts_with(|c: char| c.is_ascii_lowercase()));
        let names = entries.filter_map(|line| line.split(['.', ' ']).next());
        found.extend(names.map(|name| (name, section.starts_with("dev-"))));
    }
    found
}

/// Reads the sources of a crate, without those of crates in its folder. Backends also get the tests that they share.
fn sources_of(member: &str, members: &[String]) -> Vec<Source> {
    let inner = |other: &&String| other.starts_with(&format!("{member}/"));
    let inner: Vec<&String> = members.iter().filter(inner).collect();
    let mut files = sources(member);
    files.retain(|file| !inner.iter().any(|other| file.path.starts_with(&format!("{other}/"))));
    if member.starts_with("backends/") {
        files.extend(sources("backends/tests"));
    }
    files
}

#[test]
fn dependencies_are_used() {
    let (members, mut faults) = (members(), Vec::new());
    for member in &members {
        let files = sources_of(member, &members);
        for (name, only_tests) in dependencies(&read(&format!("{member}/Cargo.toml"))) {
            let krate = name.replace('-', "_");
            let is_test = |file: &Source| file.path.contains("/tests/");
            // This file names them.
            let is_this = |file: &Source| file!().ends_with(&file.path);
            let mut files =
                files.iter().filter(|file| (only_tests || !is_test(file)) && !is_this(file));
            let is_used = files.any(|file| file.words().any(|word| word == krate));
            if is_used == UNNAMED.contains(&(&**member, name)) {
                faults.push(format!("{member}: {name}: used is {is_used}"));
            }
        }
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[test]
fn licences_allow_distribution() {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let mut tree = Command::new(cargo);
    tree.args(["tree", "--offline", "--locked", "--edges", "normal", "--prefix", "none"]);
    // Without LLVM the crates of its backends are not downloaded.
    tree.args(cfg!(feature = "mlir").then_some("--workspace"));
    tree.args(["--format", "{p}|{l}"]).current_dir(root());
    let output = tree.output().expect("cargo runs");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.lines().count() > 100, "{output:?}");
    let is_allowed = |licence: &str| LICENCES.contains(&licence.trim_matches(['(', ')', ' ']));
    // The manifest of mlir-sys names a file instead of a licence; the licence is MIT.
    let is_named = |line: &&str| !line.is_empty() && !line.starts_with("mlir-sys ");
    for line in text.lines().filter(is_named) {
        let (_, licences) =
            line.trim_end_matches(" (*)").split_once('|').expect("both are printed");
        let licences = licences.replace(" / ", " OR ").replace('/', " OR ");
        let allowed = licences.split(" AND ").all(|part| part.split(" OR ").any(is_allowed));
        assert!(allowed, "{line}");
    }
}

/// A source distribution has no `.cargo/config.toml`; its build sets the variables that are there for LLVM.
#[test]
fn the_package_for_python_finds_llvm_as_the_workspace_does() {
    let (config, setup) = (read(".cargo/config.toml"), read("python/setup.py"));
    let prefixes: Vec<_> =
        config.lines().filter_map(|line| line.split_once("_PREFIX = ")).collect();
    assert_eq!(prefixes.len(), 3, "{config}");
    for (name, place) in prefixes {
        assert!(setup.contains(&format!("\"{name}_PREFIX\"")), "{name}");
        assert!(setup.contains(&format!("LLVM = Path({place})\n")), "{name}");
    }
}
