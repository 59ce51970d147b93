//! The committed baseline: a table of measures with their instructions and branches, and the versions of tools.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::process::Command;
use std::str::FromStr;

use tvm_ffi_codegen_tests::callgrind::Counts;

/// Maximal growth of a measure, in percent.
const LIMIT: f64 = 3.0;

/// Command that writes the baseline.
const RENEW: &str = "tests/guard --renew";

/// Counts of all measures.
#[derive(Debug)]
pub(crate) struct Baseline {
    /// Versions of all tools outside of this repository that influence the counts.
    pub(crate) made_with: String,
    /// Counts by measure, in alphabetical order.
    pub(crate) counts: BTreeMap<String, Counts>,
}

impl Baseline {
    /// Creates a baseline from counts and the versions here.
    pub(crate) fn new(counts: BTreeMap<String, Counts>) -> Baseline {
        Baseline { made_with: versions(), counts }
    }

    /// Returns what a baseline says of measures that these judge: those that begin with the same word as one of them.
    pub(crate) fn judged(&self, mut before: Baseline) -> Baseline {
        let measured: BTreeSet<&str> = self.counts.keys().map(|name| first_word(name)).collect();
        before.counts.retain(|name, _| measured.contains(first_word(name)));
        before
    }

    /// Prints the differences from a baseline. Returns false if a count has grown too much, if a measure is new or
    /// missing, or if the baseline was made with other tools, so that nothing is judged.
    pub(crate) fn compare(&self, before: &Baseline) -> bool {
        let same_tools = self.made_with == before.made_with;
        let mut names: Vec<&String> = self.counts.keys().chain(before.counts.keys()).collect();
        names.sort();
        names.dedup();
        let changes: Vec<Change> = names
            .into_iter()
            .flat_map(|name| changes(name, before.counts.get(name), self.counts.get(name)))
            .collect();
        changes.iter().for_each(|change| println!("guard: {}", change.text));
        let bad = changes.iter().filter(|change| change.is_bad).count();
        let better = changes.len() - bad;
        println!(
            "guard: {} measures; {bad} counts worse than the baseline, {better} better, by more than {LIMIT} %",
            self.counts.len(),
        );
        if !same_tools {
            println!("guard: the baseline was made with {}", before.made_with);
            println!("guard: this is             {}", self.made_with);
            println!("guard: failed, nothing is judged; `{RENEW}` makes a baseline of these tools");
        } else if bad > 0 {
            println!("guard: failed; where the change is wanted, renew the baseline: {RENEW}");
        } else if better > 0 {
            println!("guard: passed; renew the baseline, so that this stays: {RENEW}");
        }
        bad == 0 && same_tools
    }
}

/// Returns the first word of a measure or of a group.
pub(crate) fn first_word(name: &str) -> &str {
    name.split(' ').next().unwrap_or_default()
}

/// A printed difference.
struct Change {
    text: String,
    is_bad: bool,
}

fn changes(name: &str, before: Option<&Counts>, now: Option<&Counts>) -> Vec<Change> {
    let alone = |what: &str| vec![Change { text: format!("{what}: {name}"), is_bad: true }];
    let (before, now) = match (before, now) {
        (Some(before), Some(now)) => (before, now),
        (None, _) => return alone("new"),
        (_, None) => return alone("not measured"),
    };
    let instructions = change(name, "instructions", before.instructions, now.instructions);
    let branches = change(name, "branches", before.branches, now.branches);
    instructions.into_iter().chain(branches).collect()
}

fn change(name: &str, unit: &str, before: u64, now: u64) -> Option<Change> {
    // A change from 0 is infinite; one from 0 to 0 is NaN, which exceeds no limit.
    let percent = (now as f64 / before as f64 - 1.0) * 100.0;
    let text = format!("{percent:+.1} %: {name}: {before} {unit} before, {now} now");
    (percent.abs() > LIMIT).then_some(Change { text, is_bad: percent > 0.0 })
}

/// Returns the versions of the tools that influence counts.
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

const HEAD: &str = "# Instructions and conditional branches, counted by valgrind. `tests/guard` compares, `tests/guard --renew` writes
# this file.
# `call`: a call of a wrapper, by backend. `emit`: cranelift to an object, llvm to bitcode, mlir to text. `object`: an
# object that is optimised.
";

impl fmt::Display for Baseline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{HEAD}made with {}\n\n", self.made_with)?;
        for (name, Counts { instructions, branches, .. }) in &self.counts {
            writeln!(f, "{name:34} {instructions:>12} {branches:>10}")?;
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
        let row = |line| {
            let (name, counts) = Counts::measure(line).ok_or(format!("no measure: {line}"))?;
            Ok::<_, String>((name.to_owned(), counts))
        };
        Ok(Baseline { made_with, counts: lines.map(row).collect::<Result<_, _>>()? })
    }
}
