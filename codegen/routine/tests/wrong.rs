//! Routines that do not compile, and the errors of rustc: those of `wrong/NAME.rs` are in `wrong/NAME.snap`.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

// The file that the others differ from, by what is wrong in them.
#[path = "wrong/right.rs"]
#[expect(dead_code, reason = "it is only compiled")]
mod right;

#[test]
fn what_is_wrong_is_said_where_it_stands() {
    let folder = tempfile::tempdir().unwrap();
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("wrong");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    let mut names: Vec<String> =
        fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/wrong"))
            .unwrap()
            .filter_map(|file| {
                file.unwrap().file_name().to_str()?.strip_suffix(".rs").map(str::to_owned)
            })
            .collect();
    names.sort();
    for name in names {
        let (errors, compiles) = check(&name, folder.path());
        assert_eq!(compiles, name == "right", "{name}: {errors}");
        if !compiles {
            settings.bind(|| insta::assert_snapshot!(&*name, errors));
        }
    }
}

/// Checks a file, for which nothing else is compiled; returns what rustc says, and true if it compiles.
fn check(name: &str, folder: &Path) -> (String, bool) {
    let (dependencies, core) = core();
    let mut rustc = Command::new("rustc");
    rustc.args(["--edition=2024", "--crate-type=bin", "--emit=metadata", "--out-dir"]).arg(folder);
    rustc.arg("-L").arg(format!("dependency={}", dependencies.display()));
    rustc.arg("--extern").arg(format!("tvm_ffi_codegen={}", core.display()));
    rustc.arg(format!("tests/wrong/{name}.rs")).current_dir(env!("CARGO_MANIFEST_DIR"));
    // Nightly compilers say more, and `tests/timed` makes this one of them.
    rustc.env_remove("RUSTC_BOOTSTRAP");
    let output = rustc.output().unwrap_or_else(|error| panic!("{rustc:?}: {error}"));
    (plain(&String::from_utf8_lossy(&output.stderr)), output.status.success())
}

/// Returns the folder of compiled crates, and the core as it was compiled last.
fn core() -> (PathBuf, PathBuf) {
    let program = env::current_exe().expect("a program has a path");
    let folder = program.parent().expect("a program is in a folder").to_owned();
    let files = fs::read_dir(&folder).unwrap().map(|file| file.unwrap().path());
    let is_core = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("libtvm_ffi_codegen-") && name.ends_with(".rlib")
    };
    let made = |path: &PathBuf| fs::metadata(path).and_then(|file| file.modified()).ok();
    let core = files.filter(is_core).max_by_key(made).expect("cargo has compiled the core");
    (folder, core)
}

/// Removes what changes with the folder and with lines of other files.
fn plain(errors: &str) -> String {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../");
    let root = fs::canonicalize(root).unwrap().display().to_string() + "/";
    let mut is_ours = true;
    let mut plain = String::new();
    let said = errors.lines().take_while(|line| !line.starts_with("error: aborting"));
    for line in said {
        let line = line.replace(&root, "");
        let line = line.trim_start();
        if let Some(place) = line.strip_prefix("--> ").or_else(|| line.strip_prefix("::: ")) {
            is_ours = place.starts_with("tests/");
            let place = if is_ours { place } else { place.split(':').next().unwrap_or_default() };
            plain += &format!(" --> {place}\n");
            continue;
        }
        let numbered = line.split_once(" |").filter(|(number, _)| number.parse::<u32>().is_ok());
        plain += &match numbered {
            Some((_, code)) if !is_ours => format!("  |{code}\n"),
            None if line.starts_with(['|', '=']) => format!("  {line}\n"),
            _ => format!("{line}\n"),
        };
    }
    plain
}
