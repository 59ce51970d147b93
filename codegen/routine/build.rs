//! Computes the digest of the sources of this crate.

use std::io;
use std::path::Path;

fn main() -> io::Result<()> {
    println!("cargo::rustc-env=SOURCES={}", abi_spec::sources::digest(Path::new("src"))?);
    Ok(())
}
