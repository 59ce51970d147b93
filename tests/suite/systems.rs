//! The table of systems: what a row says, whatever else a system prints.

use std::fs;
use std::process::Command;

/// A system that logs as it pleases; the table has the folder of systems in `HERE`.
const NOISY: &str = "\
import sys
import system

print('2026-11-22 12:00:00 [INFO] compiling')
system.say('cranelift')
system.say('its arrays need a GPU')
print('2026-11-22 12:00:01 [WARNING] compiled', file=sys.stderr)
";

/// A row as the table prints it.
const ROW: &str = "\
import pathlib, sys, table
table.HERE = pathlib.Path(sys.argv[1])
table.SYSTEMS = {'noisy': table.System('gcc, object', 'Python')}
sys.exit(table.table(['noisy']))
";

#[test]
fn rows_hold_what_is_said_and_no_logs() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let systems = concat!(env!("CARGO_MANIFEST_DIR"), "/systems");
    fs::create_dir(folder.path().join("noisy")).expect("a folder can be made");
    fs::write(folder.path().join("noisy/check.py"), NOISY).expect("it can be written");
    std::os::unix::fs::symlink(format!("{systems}/shared"), folder.path().join("shared"))
        .expect("a link can be made");
    let mut python = Command::new("python3");
    python.args(["-c", ROW]).arg(folder.path()).env("PYTHONPATH", systems);
    python.env("SYSTEMS_TARGET", folder.path().join("target")).env("SYSTEMS_BACKENDS", "none");
    python.env("PYTHONDONTWRITEBYTECODE", "1");
    let output = python.output().unwrap_or_else(|error| panic!("python3: {error}"));
    let printed = String::from_utf8_lossy(&output.stdout);
    let last = printed.lines().last();
    let expected = "| noisy | gcc, object | Python | works: cranelift; its arrays need a GPU |";
    assert_eq!(last, Some(expected), "{output:?}");
}
