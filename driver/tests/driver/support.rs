//! Objects to link, made with the system's C compiler.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use driver::link::Input;
use tempfile::TempDir;

/// A folder that lives as long as the test.
pub(crate) fn folder() -> TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

/// Compiles C to an object file in `folder`.
pub(crate) fn compile(folder: &Path, name: &str, source: &str, options: &[&str]) -> PathBuf {
    let (text, object) = (folder.join(format!("{name}.c")), folder.join(format!("{name}.o")));
    fs::write(&text, source).expect("writable folder");
    let status = Command::new("cc")
        .args(["-c", "-O2", "-fPIC"])
        .args(options)
        .arg(&text)
        .arg("-o")
        .arg(&object)
        .status()
        .expect("a C compiler");
    assert!(status.success(), "cc fails on {source}");
    object
}

/// Compiles C to something to link, named `name.o`.
pub(crate) fn object(name: &str, source: &str) -> Input {
    let folder = folder();
    let path = compile(folder.path(), name, source, &[]);
    Input::new(format!("{name}.o"), fs::read(path).expect("written by cc")).expect("an object")
}
