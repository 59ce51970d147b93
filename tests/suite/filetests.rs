//! The files of `codegen/filetests`.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use tvm_ffi_codegen_tests::filetest;

/// Defines a test for each folder, and the list of their names.
macro_rules! folders {
    ($($folder:ident)*) => {
        const FOLDERS: &[&str] = &[$(stringify!($folder)),*];
        $(
            #[test]
            fn $folder() {
                check(stringify!($folder));
            }
        )*
    };
}

folders!(backend machine read verify);

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../codegen/filetests")
}

/// Lists a folder by name.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{folder:?}: {error}"));
    let entries = entries.map(|entry| entry.expect("a folder can be listed").path());
    entries.collect::<BTreeSet<_>>().into_iter().collect()
}

fn check(folder: &str) {
    let mut wrong = Vec::new();
    for path in entries(&root().join(folder)) {
        assert!(path.extension().is_some_and(|extension| extension == "hir"), "{path:?}");
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
        let name = path.file_name().unwrap_or_default().display();
        for checked in filetest::check(&text) {
            if let Err(reason) = checked.outcome {
                let (line, subject) = (checked.line, checked.subject);
                wrong.push(format!("{folder}/{name}:{line}: {subject}\n    {reason}"));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn every_folder_is_run() {
    let names = entries(&root()).into_iter().map(|path| path.file_name().unwrap().to_owned());
    assert_eq!(names.collect::<Vec<_>>(), FOLDERS);
}
