//! Computes the digest of the sources of this crate.

use std::io;
use std::path::Path;

#[path = "src/sources.rs"]
#[allow(
    dead_code,
    unreachable_pub,
    reason = "it is a module of the crate, too, which other build scripts use"
)]
mod sources;

fn main() -> io::Result<()> {
    println!("cargo::rustc-env=SOURCES={}", sources::digest(Path::new("src"))?);
    Ok(())
}
