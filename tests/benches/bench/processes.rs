//! Time of whole processes that make a function: compilers, our command line, a program that compiles in process.

use std::process::Command;
use std::time::Instant;

use serde_json::Value;
use tvm_ffi_codegen_tests::ffi::config;

use crate::peers::{Peer, Peers, compilers, link_command};
use crate::report::{Plot, Table};
use crate::samples::{Item, Samples, Series, interleave};
use crate::setup::{Setup, must};
use crate::time::{CASE, names};

/// Measures the processes.
pub(crate) fn run(setup: &Setup, peers: &Peers, text: &str) -> Table {
    let folder = setup.subfolder("time");
    let whole = |column: &str, rows: &[&str], commands: Vec<Command>| Item {
        column: column.to_owned(),
        rows: names(rows),
        run: Box::new(process(commands)),
    };
    let mut items = Vec::new();
    for compiler in compilers().iter().filter(|c| peers.all.iter().any(|p| p.name == c.name)) {
        let [object, shared] = ["o", "so"].map(|end| folder.join("peer").with_extension(end));
        let link = link_command(compiler, &object, &peers.kernels.object, &shared);
        let commands = vec![compiler.command(setup, CASE, &object), link];
        items.push(whole(compiler.name, &["object", "link", "whole"], commands));
    }
    if let Some(program) = std::env::var_os("BENCH_COMMAND_LINE") {
        let source = folder.join("source.ffi");
        std::fs::write(&source, text).expect("the folder is writable");
        let mut command = Command::new(program);
        command.arg("emit").arg(&source).args(["--emit", "shared", "--link"]);
        command.arg(&peers.kernels.object).arg("-o").arg(folder.join("command-line.so"));
        items.push(whole("our command line", &["whole"], vec![command]));
    }
    let runtime = format!("{}/libtvm_ffi.so", config("--libdir"));
    for (column, runtime) in [("JIT, first call", None), ("JIT with libtvm_ffi", Some(runtime))] {
        let (column, rows) = (column.to_owned(), names(&["text to first call", "whole"]));
        items.push(Item { column, rows, run: Box::new(cold(runtime)) });
    }
    Table {
        title: format!("Processes: from start to a library, or to the first call, of {CASE}"),
        unit: "ms",
        note: "From the start of a process to its end; of code in process also from the text to the end of the \
               first call, as the process itself has timed it, with the runtime that is built in, and with the \
               one that has to be loaded from a file first. Ours ahead of time through Cranelift."
            .to_owned(),
        base: Some("C, gcc -O2".to_owned()),
        series: interleave(items, setup.pick(11, 1)),
        plot: Plot::Marks,
        ..Table::default()
    }
}

/// Returns the milliseconds of the program that compiles and calls: as it reports, and from its start to its end.
fn cold(runtime: Option<String>) -> impl FnMut() -> Vec<f64> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cold"));
    match runtime {
        Some(runtime) => command.env("TVM_FFI_LIBRARY", runtime),
        None => command.env_remove("TVM_FFI_LIBRARY"),
    };
    move || {
        let start = Instant::now();
        let said = must(&mut command);
        let whole = start.elapsed().as_secs_f64() * 1e3;
        vec![said.trim().parse().expect("it prints milliseconds"), whole]
    }
}

/// Returns the milliseconds of each command, and of all if there are several.
fn process(mut commands: Vec<Command>) -> impl FnMut() -> Vec<f64> {
    move || {
        let mut times: Vec<f64> = Vec::new();
        for command in &mut commands {
            let start = Instant::now();
            must(command);
            times.push(start.elapsed().as_secs_f64() * 1e3);
        }
        if times.len() > 1 {
            times.push(times.iter().sum());
        }
        times
    }
}

/// Returns a table of the times that a peer's script reports.
pub(crate) fn own_words(peer: &Peer) -> Option<Table> {
    let mut series = Vec::new();
    for (case, stages) in peer.times.as_object()? {
        for (stage, times) in stages.as_object()? {
            let times: Vec<f64> = times.as_array()?.iter().filter_map(Value::as_f64).collect();
            let (row, column, samples) = (case.clone(), stage.clone(), Samples(times));
            series.push(Series { row, column, samples });
        }
    }
    let title = format!("{}: from source to a function, by its own script", peer.name);
    Some(Table { title, unit: "ms", series, ..Table::default() })
}
