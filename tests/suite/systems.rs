//! The table of systems: contents of a row, and light systems that are `not here`.

use std::fs;
use std::process::{Command, Output};

/// A system that logs.
const NOISY: &str = "\
import sys
import system

print('2026-11-22 12:00:00 [INFO] compiling')
system.say('cranelift')
system.say('its arrays need a GPU')
print('2026-11-22 12:00:01 [WARNING] compiled', file=sys.stderr)
";

/// Prints the table of one light system, whose folder is in the folder of the first argument.
const TABLE: &str = "\
import pathlib, sys, table
table.HERE = pathlib.Path(sys.argv[1])
table.SYSTEMS = {'system': table.System('gcc, object', 'Python', light=True)}
sys.exit(table.table(['system']))
";

/// Runs the table of a system with this script; `ci` is the value of the variable `CI`.
fn table(script: &str, ci: &str) -> Output {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let systems = concat!(env!("CARGO_MANIFEST_DIR"), "/systems");
    fs::create_dir(folder.path().join("system")).expect("a folder can be made");
    fs::write(folder.path().join("system/check.py"), script).expect("it can be written");
    std::os::unix::fs::symlink(format!("{systems}/shared"), folder.path().join("shared"))
        .expect("a link can be made");
    let mut python = Command::new("python3");
    python.args(["-c", TABLE]).arg(folder.path()).env("PYTHONPATH", systems).env("CI", ci);
    python.env("SYSTEMS_TARGET", folder.path().join("target")).env("SYSTEMS_BACKENDS", "none");
    python.env("PYTHONDONTWRITEBYTECODE", "1");
    python.output().unwrap_or_else(|error| panic!("python3: {error}"))
}

fn row(output: &Output) -> String {
    let printed = String::from_utf8_lossy(&output.stdout);
    printed.lines().last().unwrap_or_default().to_owned()
}

#[test]
fn rows_hold_what_is_said_and_no_logs() {
    let output = table(NOISY, "true");
    let expected = "| system | gcc, object | Python | works: cranelift; its arrays need a GPU |";
    assert_eq!(row(&output), expected, "{output:?}");
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn light_systems_that_are_not_here_fail_in_ci() {
    for (ci, status) in [("true", 1), ("", 0)] {
        let output = table("import system; system.not_here('needs a GPU')", ci);
        let expected = "| system | gcc, object | Python | not here: needs a GPU |";
        assert_eq!(
            (row(&output).as_str(), output.status.code()),
            (expected, Some(status)),
            "{output:?}"
        );
    }
}
