//! The stamp of linked routines: objects may share routines if they were made by the same sources.

use std::path::{Path, PathBuf};
use std::{fs, io};

/// What decides how routines are called: the sources of this crate, of what translates its routines, and of the ABI, where
/// they are beside it.
const SOURCES: [&str; 3] = ["src", "routine/src", "../abi-spec/src"];

fn main() -> io::Result<()> {
    let mut stamp = digest(DIGEST, env!("CARGO_PKG_VERSION").as_bytes());
    for folder in SOURCES.map(Path::new).into_iter().filter(|folder| folder.is_dir()) {
        println!("cargo::rerun-if-changed={}", folder.display());
        for file in files(folder)? {
            stamp = digest(stamp, file.to_string_lossy().replace('\\', "/").as_bytes());
            // As it is checked out everywhere.
            stamp = digest(stamp, fs::read_to_string(&file)?.replace("\r\n", "\n").as_bytes());
        }
    }
    println!("cargo::rustc-env=ROUTINES_STAMP={:016x}", stamp);
    Ok(())
}

/// What no bytes digest to.
const DIGEST: u64 = 0xcbf2_9ce4_8422_2325;

/// Adds bytes to a digest: FNV-1a, which is the same on every machine.
fn digest(digest: u64, bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(digest, |digest, &byte| (digest ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

/// The sources of a folder, in order.
fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries: io::Result<Vec<_>> = fs::read_dir(folder)?.collect();
    let mut paths: Vec<PathBuf> = entries?.iter().map(fs::DirEntry::path).collect();
    paths.sort();
    let mut files = Vec::new();
    for path in paths {
        if path.is_dir() {
            files.extend(self::files(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    Ok(files)
}
