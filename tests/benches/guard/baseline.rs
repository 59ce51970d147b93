//! The committed baseline: a table of measures and their instructions, and what it was made with.

use std::collections::BTreeMap;
use std::fmt;
use std::process::Command;
use std::str::FromStr;

use crate::callgrind::Counts;

/// What a measure may grow by, in percent.
const LIMIT: f64 = 3.0;

/// The command that writes the baseline.
const RENEW: &str = "tests/guard --renew";

/// Instructions by measure.
#[derive(Debug)]
pub(crate) struct Baseline {
    /// Versions of everything that has a part in them but is not in this repository.
    pub(crate) made_with: String,
    /// In alphabetical order.
    pub(crate) counts: BTreeMap<String, u64>,
}

impl Baseline {
    /// Measured here and now.
    pub(crate) fn new(counts: Counts) -> Baseline {
        Baseline { made_with: versions(), counts: counts.into_iter().collect() }
    }

    /// Prints what differs from a baseline; false if that is a reason to fail.
    pub(crate) fn compare(&self, before: &Baseline) -> bool {
        let same_tools = self.made_with == before.made_with;
        let mut names: Vec<&String> = self.counts.keys().chain(before.counts.keys()).collect();
        names.sort();
        names.dedup();
        let changes: Vec<Change> = names
            .into_iter()
            .filter_map(|name| change(name, before.counts.get(name), self.counts.get(name)))
            .collect();
        changes.iter().for_each(|change| println!("guard: {}", change.text));
        let bad = changes.iter().filter(|change| change.is_bad).count();
        let better = changes.len() - bad;
        println!(
            "guard: {} measures, {bad} worse than the baseline, {better} better, by more than {LIMIT} %",
            self.counts.len(),
        );
        if !same_tools {
            println!("guard: the baseline was made with {}", before.made_with);
            println!("guard: this is             {}", self.made_with);
            println!("guard: so nothing is judged; `{RENEW}` makes a baseline of this machine");
        } else if bad > 0 {
            println!("guard: failed; where the change is wanted, renew the baseline: {RENEW}");
        } else if better > 0 {
            println!("guard: passed; renew the baseline, so that this stays: {RENEW}");
        }
        bad == 0 || !same_tools
    }
}

/// A difference that is worth a line.
struct Change {
    text: String,
    is_bad: bool,
}

fn change(name: &str, before: Option<&u64>, now: Option<&u64>) -> Option<Change> {
    let (before, now) = match (before, now) {
        (Some(before), Some(now)) => (*before, *now),
        (None, _) => return Some(Change { text: format!("new: {name}"), is_bad: true }),
        (_, None) => return Some(Change { text: format!("not measured: {name}"), is_bad: true }),
    };
    let percent = (now as f64 / before as f64 - 1.0) * 100.0;
    let text = format!("{percent:+.1} %: {name}: {before} before, {now} now");
    (percent.abs() > LIMIT).then_some(Change { text, is_bad: percent > 0.0 })
}

/// Versions of the tools that counts depend on.
fn versions() -> String {
    let runtime = "import importlib.metadata as m; print(m.version('apache-tvm-ffi'))";
    [
        first_line("rustc", &["--version"]),
        llvm(),
        first_line("getconf", &["GNU_LIBC_VERSION"]),
        first_line("valgrind", &["--version"]),
        format!("apache-tvm-ffi {}", first_line("python3", &["-c", runtime])),
        std::env::consts::ARCH.to_owned(),
    ]
    .join(", ")
}

#[cfg(feature = "llvm")]
fn llvm() -> String {
    let (major, minor, patch) = inkwell::support::get_llvm_version();
    format!("LLVM {major}.{minor}.{patch}")
}

#[cfg(not(feature = "llvm"))]
fn llvm() -> String {
    "no LLVM".to_owned()
}

fn first_line(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    let output = output.unwrap_or_else(|error| panic!("{program}: {error}; use tests/guard"));
    assert!(output.status.success(), "{program} {arguments:?} failed; use tests/guard");
    String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or_default().to_owned()
}

const HEAD: &str = "# Instructions, counted by valgrind. `tests/guard` compares, `tests/guard --renew` writes this file.
# `call`: a call of a wrapper, by backend. `emit`: cranelift to an object, llvm to bitcode, mlir to text.
";

impl fmt::Display for Baseline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{HEAD}made with {}\n\n", self.made_with)?;
        for (name, count) in &self.counts {
            writeln!(f, "{name:34} {count:>12}")?;
        }
        Ok(())
    }
}

impl FromStr for Baseline {
    type Err = String;

    fn from_str(text: &str) -> Result<Baseline, String> {
        let mut lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        let first = lines.next().and_then(|line| line.strip_prefix("made with "));
        let made_with = first.ok_or(format!("no baseline: make one by {RENEW}"))?.to_owned();
        let counts = lines.map(|line| row(line).ok_or(format!("no measure: {line}")));
        Ok(Baseline { made_with, counts: counts.collect::<Result<_, _>>()? })
    }
}

fn row(line: &str) -> Option<(String, u64)> {
    let (name, count) = line.rsplit_once(' ')?;
    Some((name.trim().to_owned(), count.parse().ok()?))
}
