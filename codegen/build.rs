//! Computes the stamp of linked routines: objects with equal stamps were made by the same sources and share routines.
//! Writes the pictures of the guide as rustdoc can show them, which knows no files beside a page.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// Folders whose sources determine how routines are called: this crate, the translator of its routines, and the ABI.
/// Missing folders are skipped.
const SOURCES: [&str; 3] = ["src", "routine/src", "../abi-spec/src"];

fn main() -> io::Result<()> {
    let mut stamp = digest(DIGEST, env!("CARGO_PKG_VERSION").as_bytes());
    for folder in SOURCES.map(Path::new).into_iter().filter(|folder| folder.is_dir()) {
        // A new file is named in one that is there, so that a change of a text alone builds nothing anew.
        for file in files(folder, "rs")? {
            println!("cargo::rerun-if-changed={}", file.display());
            stamp = digest(stamp, file.to_string_lossy().replace('\\', "/").as_bytes());
            // Without the carriage returns of a checkout on Windows.
            stamp = digest(stamp, fs::read_to_string(&file)?.replace("\r\n", "\n").as_bytes());
        }
    }
    println!("cargo::rustc-env=ROUTINES_STAMP={:016x}", stamp);
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or(io::ErrorKind::NotFound)?);
    fs::write(out.join("pictures.md"), pictures(Path::new("src/guide/pictures"))?)
}

/// Returns definitions of links in Markdown, by which the names of pictures mean their contents. They come before a
/// chapter, whose own definitions mean the files.
fn pictures(folder: &Path) -> io::Result<String> {
    let mut definitions = String::new();
    for path in files(folder, "svg")? {
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

/// The digest of no bytes.
const DIGEST: u64 = 0xcbf2_9ce4_8422_2325;

/// Adds bytes to a digest: FNV-1a, which is the same on every machine.
fn digest(digest: u64, bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(digest, |digest, &byte| (digest ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

/// Returns the files with an extension in a folder and the folders below it, in order.
fn files(folder: &Path, kind: &str) -> io::Result<Vec<PathBuf>> {
    let entries: io::Result<Vec<_>> = fs::read_dir(folder)?.collect();
    let mut paths: Vec<PathBuf> = entries?.iter().map(fs::DirEntry::path).collect();
    paths.sort();
    let mut files = Vec::new();
    for path in paths {
        if path.is_dir() {
            files.extend(self::files(&path, kind)?);
        } else if path.extension().is_some_and(|extension| extension == kind) {
            files.push(path);
        }
    }
    Ok(files)
}
