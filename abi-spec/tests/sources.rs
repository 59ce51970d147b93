//! The digest of sources is that of the files of Rust in a folder, wherever the folder is and whatever else is there.

use std::fs;
use std::io;
use std::path::Path;

use tvm_ffi_abi_spec::sources::{digest, together};

/// Writes files below a folder, and returns the digest of the folder.
fn written(name: &str, files: &[(&str, &str)]) -> io::Result<String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    for (path, text) in files {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().expect("it is below the folder"))?;
        fs::write(path, text)?;
    }
    digest(&folder)
}

#[test]
fn equal_sources_have_equal_digests() -> io::Result<()> {
    let one = written("checkout/one/src", &[("lib.rs", "mod a;\n"), ("a/b.rs", "//!\n")])?;
    let others =
        [("lib.rs", "mod a;\r\n"), ("a/b.rs", "//!\n"), ("guide.md", "text"), ("a.svg", "")];
    assert_eq!(written("vendor/one-0.1.0/src", &others)?, one);
    for files in [
        [("lib.rs", "mod b;\n"), ("a/b.rs", "//!\n")],
        [("lib.rs", "mod a;\n"), ("b.rs", "//!\n")],
        [("main.rs", "mod a;\n"), ("a/b.rs", "//!\n")],
    ] {
        assert_ne!(written("other/src", &files)?, one, "{files:?}");
    }
    Ok(())
}

/// The digest of this crate is that of its sources, and of nothing else in the repository.
#[test]
fn a_crate_digests_its_own_sources() -> io::Result<()> {
    let own = digest(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"))?;
    assert_eq!(tvm_ffi_abi_spec::SOURCES, own);
    assert_ne!(together(&[&own]), together(&[&own, &own]));
    Ok(())
}
