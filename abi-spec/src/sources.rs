//! Digests of sources. Build scripts take them of each crate by itself, whose files are the same in a checkout and in
//! the package that was made of it.

use std::path::{Path, PathBuf};
use std::{fs, io};

/// Returns the digest of the files of Rust in a folder and the folders below it, in hexadecimal digits: of their names
/// there and of their contents, without the carriage returns of a checkout on Windows. Tells Cargo to look at each of
/// them; a new file is named in one that is there, so that a change of other files of the folder builds nothing anew.
///
/// # Errors
/// The error of a folder or a file that cannot be read.
pub fn digest(folder: &Path) -> io::Result<String> {
    let mut digest = NOTHING;
    for file in files(folder, "rs")? {
        println!("cargo::rerun-if-changed={}", file.display());
        let name = file.strip_prefix(folder).unwrap_or(&file).to_string_lossy().replace('\\', "/");
        digest = add(digest, &name);
        digest = add(digest, &fs::read_to_string(&file)?.replace("\r\n", "\n"));
    }
    Ok(format!("{digest:016x}"))
}

/// Returns the digest of texts in their order, in hexadecimal digits.
pub fn together(texts: &[&str]) -> String {
    format!("{:016x}", texts.iter().fold(NOTHING, |digest, text| add(digest, text)))
}

/// The digest of no text.
const NOTHING: u64 = 0xcbf2_9ce4_8422_2325;

/// Adds a text to a digest: FNV-1a, which is the same on every machine.
fn add(digest: u64, text: &str) -> u64 {
    text.bytes()
        .fold(digest, |digest, byte| (digest ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

/// Returns the files with an extension in a folder and the folders below it, in order.
///
/// # Errors
/// The error of a folder that cannot be read.
pub fn files(folder: &Path, kind: &str) -> io::Result<Vec<PathBuf>> {
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
