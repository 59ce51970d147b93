//! The table of calls, by every route.

use jit::Runtime;
use tvm_ffi_codegen_tests::cases::{self, Case};
use tvm_ffi_codegen_tests::ffi;
use tvm_ffi_codegen_tests::outcome::{End, Outcome};
use tvm_ffi_codegen_tests::route::{BACKENDS, Call, InProcess, Python, Route, Shared};

#[test]
fn jit_with_the_installed_runtime() {
    let table = cases::table();
    check(&InProcess::new(&cases::library(&table), ffi::installed()), &table, 1.0);
}

#[test]
fn jit_with_the_built_in_runtime() {
    let table = cases::table();
    check(&InProcess::new(&cases::library(&table), Runtime::builtin()), &table, 0.9);
}

#[test]
fn shared_libraries() {
    let table = cases::table();
    for backend in BACKENDS {
        check(&Shared::new(&cases::library(&table), backend), &table, 1.0);
    }
}

/// NumPy cannot make all the tensors, and Python has other names for some errors.
#[test]
fn shared_libraries_from_python() {
    let mut table = cases::table();
    for row in table.iter_mut().flat_map(|case| &mut case.rows) {
        row.expected.end = in_python(&row.expected.end);
    }
    for backend in BACKENDS {
        check(&Python::new(&cases::library(&table), backend), &table, 0.5);
    }
}

/// The class that a kind of error becomes; Python's own TypeError and ValueError are the same.
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

/// Makes all calls; at least this share of them must be possible.
fn check(route: &dyn Route, table: &[Case], share: f64) {
    let rows = || table.iter().flat_map(|case| case.rows.iter().map(move |row| (case, row)));
    let calls: Vec<Call<'_>> = rows()
        .map(|(case, row)| Call {
            function: &case.function.signature.name,
            arguments: &row.arguments,
            count: row.count,
        })
        .collect();
    let outcomes = route.run(&calls);
    let possible = outcomes.iter().flatten().count();
    let wrong: Vec<String> = rows()
        .zip(&outcomes)
        .filter_map(|((_, row), outcome)| {
            let outcome: &Outcome = outcome.as_ref()?;
            let text =
                || format!("{}\n  expected {}\n  but got  {outcome}", row.place, row.expected);
            (*outcome != row.expected).then(text)
        })
        .collect();
    let name = route.name();
    assert!(wrong.is_empty(), "{name}: {} rows\n{}", wrong.len(), wrong.join("\n"));
    assert!(possible as f64 >= share * calls.len() as f64, "{name}: {possible} of {}", calls.len());
}
