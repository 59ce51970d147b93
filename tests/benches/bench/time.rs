//! Time to get a function: stage by stage, warm, from process start, and to a file.

use std::time::Instant;

use codegen::Routines;
use driver::Optimize;
use tvm_ffi_codegen_tests::route::BACKENDS;

use crate::cases::{Case, cases};
use crate::emission::{compile_alone, cranelift_alone, emit, emit_and_compile, jit_isa, record};
use crate::ours::{self, FILE_STAGES, JIT_STAGES, LEVELS};
use crate::peers::Peers;
use crate::processes;
use crate::report::{Plot, Report, Section, Table};
use crate::samples::{Item, interleave};
use crate::setup::Setup;

pub(crate) const CASE: &str = "add_one";
const ALONE: &str = "Cranelift alone";

fn text() -> String {
    let case = cases().into_iter().find(|case| case.name == CASE);
    case.expect("it is one of them").declaration
}

/// Copies names.
pub(crate) fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// Runs this part.
pub(crate) fn run(setup: &Setup, peers: &Peers, report: &mut Report) {
    let mut tables = vec![callable(setup, peers), all_cases(setup, peers), emitted(setup)];
    tables.push(files(setup, peers));
    tables.push(processes::run(setup, peers, &text()));
    tables.extend(peers.all.iter().filter_map(processes::own_words));
    let notes = vec![
        "What is in one table is measured in turn, except for the peers' own times.".to_owned(),
    ];
    report.sections.push(Section { title: "Time".to_owned(), notes, tables });
}

/// Measures the way from text to a callable function, and the part of Cranelift.
fn callable(setup: &Setup, peers: &Peers) -> Table {
    let text = text();
    let module = ours::lower_for_jit(&ours::parse(&text));
    let recorder = record(&module, jit_isa());
    let (kernels, source) = (&peers.kernels, text.as_str());
    let jit = move || {
        let (stages, compiled) = ours::jit_stages(source, kernels);
        let start = Instant::now();
        drop(compiled);
        let mut stages = stages.to_vec();
        stages.push(start.elapsed().as_secs_f64() * 1e6);
        stages
    };
    let mut rows = names(&JIT_STAGES);
    rows.push("free".to_owned());
    let items = vec![
        Item { column: "JIT".to_owned(), rows, run: Box::new(jit) },
        Item {
            column: ALONE.to_owned(),
            rows: names(&["whole"]),
            run: Box::new(|| vec![cranelift_alone(&recorder)]),
        },
        Item {
            column: "JIT".to_owned(),
            rows: names(&["of that: emit", "of that: compile"]),
            run: Box::new(|| vec![emit(&module, "cranelift"), compile_alone(&recorder)]),
        },
    ];
    Table {
        title: format!("From text to a callable {CASE}"),
        unit: "µs",
        note: format!("{ALONE} takes the finished CLIF of the same function to executable memory."),
        base: Some(ALONE.to_owned()),
        series: interleave(items, setup.pick(1001, 3)),
        plot: Plot::Marks,
        ..Table::default()
    }
}

/// Measures the way from text to a callable function for every case.
fn all_cases(setup: &Setup, peers: &Peers) -> Table {
    let kernels = &peers.kernels;
    let item = |case: Case| -> Item<'_> {
        let run = move || {
            let start = Instant::now();
            let compiled = ours::compile(&case.declaration, kernels);
            let time = start.elapsed().as_secs_f64() * 1e6;
            drop(compiled);
            vec![time]
        };
        Item { column: "JIT".to_owned(), rows: names(&[case.name]), run: Box::new(run) }
    };
    Table {
        title: "From text to a callable function, by case".to_owned(),
        unit: "µs",
        series: interleave(cases().into_iter().map(item).collect(), setup.pick(201, 3)),
        ..Table::default()
    }
}

/// Returns the backends with their levels; Cranelift has one.
fn ways() -> Vec<(String, &'static str, Optimize)> {
    let mut ways = Vec::new();
    for &backend in BACKENDS {
        if backend == "cranelift" {
            ways.push((backend.to_owned(), backend, Optimize::default()));
            continue;
        }
        let levels =
            LEVELS.iter().map(|(name, level)| (format!("{backend} {name}"), backend, *level));
        ways.extend(levels);
    }
    ways
}

/// Measures emission and compilation of a function, with and without the routines that compose messages.
fn emitted(setup: &Setup) -> Table {
    let library = ours::parse(&text());
    let modules = [("wrapper", Routines::Linked), ("with routines", Routines::Embedded)]
        .map(|(name, routines)| (name, ours::lower_for_file(&library, routines)));
    let mut items = Vec::new();
    for (column, backend, level) in ways() {
        for (what, module) in &modules {
            let rows = vec![format!("{what}: emit"), format!("{what}: compile")];
            let run = Box::new(move || emit_and_compile(module, backend, level).to_vec());
            items.push(Item { column: column.clone(), rows, run });
        }
    }
    Table {
        title: format!("Emission and compilation of {CASE} by backend"),
        unit: "µs",
        note: "Into an empty native module; then to an object, or with Cranelift to bytes."
            .to_owned(),
        series: interleave(items, setup.pick(31, 3)),
        plot: Plot::Marks,
        ..Table::default()
    }
}

/// Measures the way from text to a library on disk, stage by stage.
fn files(setup: &Setup, peers: &Peers) -> Table {
    let (text, folder, input) = (text(), setup.subfolder("time"), peers.kernels.input());
    let (text, input, output) = (text.as_str(), &input, folder.join("ours.so"));
    let item = |(column, backend, level)| {
        let output = output.clone();
        let run = move || {
            let stages = ours::file_stages(text, backend, level, input, &output);
            stages.map(|time| time / 1e3).to_vec()
        };
        Item { column, rows: names(&FILE_STAGES), run: Box::new(run) }
    };
    Table {
        title: format!("From text to a shared library with {CASE}"),
        unit: "ms",
        series: interleave(ways().into_iter().map(item).collect(), setup.pick(31, 3)),
        ..Table::default()
    }
}
