//! The programs and libraries in C, C++ and Python that tests compile or run: the files of `tests/hosts`.

use std::path::{Path, PathBuf};

/// Returns the path of a file of `tests/hosts`.
pub fn host(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("hosts").join(name)
}
