//! Time of calls from Python, and of a process until its first call.
//!
//! `peers/python.py LIB.so… CASE` and `peers/cold.py (LIB.so | PEER)… CASE` print `{"LIB.so": {"CASE": [figure, …]}}`;
//! the former adds a library `empty` whose functions do nothing. `peers/native.py` calls functions of the Python
//! package in several ways, and prints `{"WAY": {"ROW": [figure, …]}}`.

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::answers::Answers;
use crate::cases::cases;
use crate::peers::{Kind, Peers, environment};
use crate::report::{Plot, Report, Section, Table};
use crate::samples::{Samples, Series};
use crate::setup::Setup;

const BASE: &str = "C, gcc -O2";
const EMPTY: &str = "empty";

/// The caller that the others are compared with.
const TVM_FFI: &str = "tvm_ffi";

/// Callers of functions of the package, and of the same functions in C.
const CALLERS: [&str; 4] = ["native", TVM_FFI, "ctypes", "nanobind"];

/// Title of the table of those callers.
const NATIVE: &str = "Calls by the package itself";

/// A library or the name of a script, and the name of its column.
type Word = (String, String);

/// Runs this part.
pub(crate) fn run(setup: &Setup, peers: &Peers, answers: &Answers, report: &mut Report) {
    let all = cases().into_iter().filter(|case| !case.is_program());
    let all: Vec<&str> = all.map(|case| case.name).collect();
    let calls = if setup.short { &all[..1] } else { &all[..] };
    let libraries = |case: &str| libraries(peers, answers, case);
    let mut tables = Vec::new();
    let result = calls.iter().try_fold(Vec::new(), |mut all, case| {
        let mut words = libraries(case);
        words.push((EMPTY.to_owned(), EMPTY.to_owned()));
        all.append(&mut measure(setup, "python", &words, case)?);
        Ok(all)
    });
    tables.push(("Calls from Python", "ns per call", result));
    if !setup.short {
        let mut words = libraries("add_one");
        words.extend(systems(setup, peers));
        let result = measure(setup, "cold", &words, "add_one");
        tables.push(("From the start of a Python process to its first call", "ms", result));
    }
    let words = CALLERS.map(|caller| (caller.to_owned(), caller.to_owned()));
    let result = measure(setup, "native", &words, "");
    tables.push((NATIVE, "ns per call", result));
    let mut section = Section { title: "From Python".to_owned(), ..Section::default() };
    for (title, unit, result) in tables {
        match result {
            Ok(series) => {
                let base = if title == NATIVE { TVM_FFI } else { BASE };
                let (title, base) = (title.to_owned(), Some(base.to_owned()));
                let plot = Plot::Marks;
                section.tables.push(Table { title, unit, base, series, plot, ..Table::default() });
            }
            Err(why) => report.left_out.push(format!("{title}: {why}")),
        }
    }
    section.notes.push(
        "`from Python`: with NumPy arrays and Python's own objects; else with objects of the FFI. `empty` does \
         nothing. A library is loaded by a process that imports the runtime; other systems compile first."
            .to_owned(),
    );
    section.notes.push(format!(
        "{NATIVE}: `native` is the caller of the Python package, `{TVM_FFI}` the runtime's call of the same function. \
         ctypes and nanobind call empty functions of C, which ctypes hands addresses."
    ));
    if !section.tables.is_empty() {
        report.sections.push(section);
    }
}

/// Returns the libraries of a case, of peers that answer its first call correctly.
fn libraries(peers: &Peers, answers: &Answers, case: &str) -> Vec<Word> {
    let call = answers.calls.iter().find(|call| call.case == case).expect("every case is called");
    let fits = |name: &str| answers.fault(name, &call.name()).is_none();
    let peers = peers.all.iter().filter(|peer| fits(&peer.name));
    let word = |path: PathBuf| path.into_os_string().into_string().expect("the path is text");
    peers.filter_map(|peer| Some((word(peer.library(case)?), peer.name.clone()))).collect()
}

/// Returns the systems that compile when they start.
fn systems(setup: &Setup, peers: &Peers) -> Vec<Word> {
    let systems = peers.all.iter().filter(|p| p.kind == Kind::System && p.has_libraries());
    let word = |folder: &PathBuf| Some(folder.file_name()?.to_str()?.to_owned());
    let words = systems.filter_map(|peer| Some((word(&peer.folder)?, peer.name.clone())));
    words
        .filter(|(word, _)| environment(setup, word).is_some())
        .map(|(word, name)| (word, format!("{name}, compiling")))
        .collect()
}

/// Runs a script and parses its output.
fn measure(setup: &Setup, script: &str, words: &[Word], case: &str) -> Result<Vec<Series>, String> {
    let path = setup.sources.join(format!("{script}.py"));
    if !path.exists() {
        return Err(format!("there is no peers/{script}.py"));
    }
    let python = environment(setup, "python").unwrap_or_else(|| "python3".into());
    let mut command = Command::new(&python);
    let given = words.iter().filter(|(word, _)| word != EMPTY);
    command.arg(&path).args(given.map(|(word, _)| word)).arg(case);
    let output = command.output().map_err(|error| error.to_string())?;
    if !output.status.success() {
        let message = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{case}: {}", message.lines().last().unwrap_or_default()));
    }
    let value: Value = serde_json::from_slice(&output.stdout).map_err(|e| e.to_string())?;
    let mut series = Vec::new();
    for (word, column) in words {
        for (row, times) in value[word].as_object().into_iter().flatten() {
            let times = times.as_array().into_iter().flatten().filter_map(Value::as_f64);
            let (row, column, samples) = (row.clone(), column.clone(), Samples(times.collect()));
            series.push(Series { row, column, samples });
        }
    }
    Ok(series)
}
