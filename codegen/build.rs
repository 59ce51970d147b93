//! Computes the stamp of linked routines: objects with equal stamps were made by the same sources and share routines.
//! The sources are those of this crate, of the translator of its routines, and of the ABI.
//! Writes the pictures of the guide as rustdoc can show them, which knows no files beside a page.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

use abi_spec::sources;

fn main() -> io::Result<()> {
    // Each crate digests its own files: where those of the others are, or whether they are there, depends on how the
    // crates were fetched.
    let own = sources::digest(Path::new("src"))?;
    let parts = [env!("CARGO_PKG_VERSION"), &own, routine::sources!(), abi_spec::SOURCES];
    println!("cargo::rustc-env=ROUTINES_STAMP={}", sources::together(&parts));
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or(io::ErrorKind::NotFound)?);
    fs::write(out.join("pictures.md"), pictures(Path::new("src/guide/pictures"))?)
}

/// Returns definitions of links in Markdown, by which the names of pictures mean their contents. They come before a
/// chapter, whose own definitions mean the files.
fn pictures(folder: &Path) -> io::Result<String> {
    let mut definitions = String::new();
    for path in sources::files(folder, "svg")? {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        println!("cargo::rerun-if-changed={}", path.display());
        definitions += &format!("[{name}]: data:image/svg+xml,");
        for byte in fs::read(&path)? {
            if byte.is_ascii_alphanumeric() {
                definitions.push(byte.into());
            } else {
                write!(definitions, "%{byte:02x}").expect("a text grows");
            }
        }
        definitions.push('\n');
    }
    Ok(definitions)
}
