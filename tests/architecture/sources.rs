//! The Rust files of a folder, parsed.

use std::fs;
use std::path::{Path, PathBuf};

/// A file.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    /// Where it is, from the root of the repository on, with `/`.
    pub(crate) path: String,
    /// The names of the modules that lead to it; none for the root of a crate.
    pub(crate) module: Vec<String>,
    /// What it says.
    pub(crate) text: String,
}

impl Source {
    pub(crate) fn parse(&self) -> syn::File {
        syn::parse_file(&self.text).unwrap_or_else(|error| panic!("{}: {error}", self.path))
    }
}

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// A file of the repository.
pub(crate) fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Every Rust file of a folder that is the `src` of a crate, in the order of their paths.
pub(crate) fn sources(folder: &str) -> Vec<Source> {
    let mut paths = Vec::new();
    collect(&root().join(folder), folder, &mut paths);
    paths.sort();
    assert!(!paths.is_empty(), "{folder} has no sources");
    let source = |path: String| {
        let name = path[folder.len() + 1..].trim_end_matches(".rs");
        let is_root = name == "lib" || name == "main";
        let module = name.split('/').filter(|_| !is_root).map(str::to_owned).collect();
        Source { text: read(&path), path, module }
    };
    paths.into_iter().map(source).collect()
}

fn collect(folder: &Path, name: &str, found: &mut Vec<String>) {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{name}: {error}"));
    for entry in entries {
        let entry = entry.expect("a folder can be listed");
        let name = format!("{name}/{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            collect(&entry.path(), &name, found);
        } else if name.ends_with(".rs") {
            found.push(name);
        }
    }
}
