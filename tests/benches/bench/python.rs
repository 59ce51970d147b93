//! What calls cost from Python, and how long a process takes that loads a library and calls it once.

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::answers::Answers;
use crate::cases::cases;
use crate::peers::{Peers, environment};
use crate::report::{Plot, Report, Section, Table};
use crate::samples::{Samples, Series};
use crate::setup::Setup;

/// Runs the part.
pub(crate) fn run(setup: &Setup, peers: &Peers, answers: &Answers, report: &mut Report) {
    let mut section = Section { title: "From Python".to_owned(), ..Section::default() };
    for (script, title, unit) in [
        ("python", "Calls from Python", "ns per call"),
        ("cold", "From the start of a process to the first result", "ms"),
    ] {
        match table(setup, peers, answers, script) {
            Ok(series) => {
                let base = Some("C, gcc -O2".to_owned());
                let (title, plot) = (title.to_owned(), Plot::Marks);
                section.tables.push(Table { title, unit, base, series, plot, ..Table::default() });
            }
            Err(why) => report.left_out.push(format!("{title}: {why}")),
        }
    }
    if !section.tables.is_empty() {
        report.sections.push(section);
    }
}

/// Runs a script over the libraries of each case.
fn table(
    setup: &Setup,
    peers: &Peers,
    answers: &Answers,
    script: &str,
) -> Result<Vec<Series>, String> {
    let path = setup.sources.join(format!("{script}.py"));
    if !path.exists() {
        return Err(format!("there is no peers/{script}.py"));
    }
    let python = environment(setup, "python").unwrap_or_else(|| "python3".into());
    let mut series = Vec::new();
    for case in cases() {
        let fits = |name: &str| {
            let calls = answers.calls.iter().filter(|call| call.case == case.name && !call.fails);
            calls.take(1).all(|call| answers.fault(name, &call.name()).is_none())
        };
        let peers = peers.all.iter().filter(|peer| fits(&peer.name));
        let libraries: Vec<(&str, PathBuf)> =
            peers.filter_map(|peer| Some((peer.name.as_str(), peer.library(case.name)?))).collect();
        let mut command = Command::new(&python);
        command.arg(&path).args(libraries.iter().map(|(_, path)| path)).arg(case.name);
        let output = command.output().map_err(|error| error.to_string())?;
        let message = String::from_utf8_lossy(&output.stderr);
        if !output.status.success() {
            return Err(format!("{}: {}", case.name, message.lines().last().unwrap_or_default()));
        }
        let value: Value = serde_json::from_slice(&output.stdout).map_err(|e| e.to_string())?;
        for (name, path) in libraries {
            let times = value[path.to_str().expect("the path is text")][case.name].as_array();
            let times = times.into_iter().flatten().filter_map(Value::as_f64).collect();
            let (row, column) = (case.name.to_owned(), name.to_owned());
            series.push(Series { row, column, samples: Samples(times) });
        }
    }
    series.retain(|series| !series.samples.0.is_empty());
    Ok(series)
}
