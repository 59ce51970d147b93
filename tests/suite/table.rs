//! The table of calls, by every route.

use std::collections::BTreeSet;

use jit::Runtime;
use tvm_ffi_codegen_tests::cases::{self, Case};
use tvm_ffi_codegen_tests::ffi;
use tvm_ffi_codegen_tests::gate::backends;
use tvm_ffi_codegen_tests::outcome::{End, Outcome};
use tvm_ffi_codegen_tests::route::{
    BEYOND_PYTHON, Call, InProcess, LACKING, Python, Reason, Route, Shared,
};

#[test]
fn jit_with_the_installed_runtime() {
    let table = cases::table();
    check(&InProcess::new(&cases::library(&table), ffi::installed()), &table, &[]);
}

#[test]
fn jit_with_the_built_in_runtime() {
    let table = cases::table();
    check(&InProcess::new(&cases::library(&table), Runtime::builtin()), &table, &[LACKING]);
}

#[test]
fn shared_libraries() {
    let table = cases::table();
    for backend in backends() {
        check(&Shared::new(&cases::library(&table), backend), &table, &[]);
    }
}

/// Python has other names for some errors.
#[test]
fn shared_libraries_from_python() {
    let mut table = cases::table();
    for row in table.iter_mut().flat_map(|case| &mut case.rows) {
        row.expected.end = in_python(&row.expected.end);
    }
    for backend in backends() {
        check(&Python::new(&cases::library(&table), backend), &table, &BEYOND_PYTHON);
    }
}

/// Replaces kinds of errors for which Python raises no class of their own by `RuntimeError`.
fn in_python(end: &End) -> End {
    const CLASSES: [&str; 7] = [
        "ValueError",
        "TypeError",
        "AttributeError",
        "KeyError",
        "IndexError",
        "AssertionError",
        "MemoryError",
    ];
    match end {
        End::Error { kind, message } if !CLASSES.contains(&kind.as_str()) => {
            End::Error { kind: "RuntimeError".to_owned(), message: message.clone() }
        }
        End::Error { .. } | End::Result(_) | End::Broken(_) => end.clone(),
    }
}

/// Makes all calls except for those that are impossible for one of the reasons. Each reason must occur, but rarely.
pub(crate) fn check(route: &dyn Route, table: &[Case], reasons: &[Reason]) {
    let rows = || table.iter().flat_map(|case| case.rows.iter().map(move |row| (case, row)));
    let calls: Vec<Call<'_>> = rows()
        .map(|(case, row)| Call {
            function: &case.function.signature.name,
            arguments: &row.arguments,
            count: row.count,
        })
        .collect();
    let outcomes = route.run(&calls);
    let wrong: Vec<String> = rows()
        .zip(&outcomes)
        .filter_map(|((_, row), outcome)| {
            let outcome: &Outcome = outcome.as_ref().ok()?;
            let text =
                || format!("{}\n  expected {}\n  but got  {outcome}", row.place, row.expected);
            (*outcome != row.expected).then(text)
        })
        .collect();
    let name = route.name();
    assert!(wrong.is_empty(), "{name}: {} rows\n{}", wrong.len(), wrong.join("\n"));
    let given: Vec<Reason> =
        outcomes.iter().filter_map(|outcome| outcome.as_ref().err().copied()).collect();
    assert_eq!(BTreeSet::from_iter(&given), BTreeSet::from_iter(reasons), "{name}");
    assert!(given.len() * 8 < calls.len(), "{name}: all but {} of {}", given.len(), calls.len());
}
