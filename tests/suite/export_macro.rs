//! Values that parameters accept, compared with those of the C++ export macro.
//!
//! `export_macro.cc` exports a function per type. [`DIFFERENCES`] lists differences with their reasons; a difference
//! that is not listed fails, and so does a listed one that does not occur.

mod differences;

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;
use std::sync::OnceLock;

use abi_spec::TypeIndex;
use jit::abi::{Any, SafeCall};
use libloading::Library;
use tvm_ffi_codegen_tests::argument::{Argument, type_index};
use tvm_ffi_codegen_tests::every::{TYPES, VALUES, declarations, values};
use tvm_ffi_codegen_tests::ffi::{self, Ffi, config};
use tvm_ffi_codegen_tests::frame::Frame;
use tvm_ffi_codegen_tests::hosts::host;
use tvm_ffi_codegen_tests::kernels::cc;
use tvm_ffi_codegen_tests::outcome::{End, Value};
use tvm_ffi_codegen_tests::route::{Call, InProcess, Reason, Route};

use differences::{DIFFERENCES, Difference, Only};

/// Functions of the macro; never unloaded.
struct Exports(Library);

impl Exports {
    fn compile() -> Exports {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let source = host("export_macro.cc");
        let library = folder.path().join("export_macro.so");
        let mut compile = Command::new("c++");
        compile.args(["-std=c++17", "-O0", "-Wall", "-Wextra", "-shared", "-fPIC"]).arg(source);
        compile.arg(format!("-I{}", config("--includedir")));
        compile.arg(format!("-I{}", config("--dlpack-includedir")));
        cc(compile.arg("-o").arg(&library));
        ffi::installed();
        // SAFETY: the initialisers register a class.
        Exports(unsafe { Library::new(&library) }.unwrap_or_else(|error| panic!("{error}")))
    }

    /// Calls a function and returns its result, if it succeeds.
    fn call(&self, function: &str, argument: &Argument, ffi: &Ffi) -> Option<Any> {
        let frame = Frame::new(std::slice::from_ref(argument), ffi);
        let frame = frame.expect("the installed runtime makes every value");
        let (symbol, mut result) = (format!("__tvm_ffi_{function}"), Any::NONE);
        // SAFETY: the macro exports functions of this type; the argument is valid.
        let status = unsafe {
            let function = self.0.get::<SafeCall>(&symbol).unwrap_or_else(|e| panic!("{e}"));
            function(std::ptr::null_mut(), frame.as_ptr(), 1, &mut result)
        };
        assert_eq!(status == 0, ffi.take_error().is_none(), "{function}({argument})");
        (status == 0).then_some(result)
    }
}

/// Compiles and loads the functions of the macro, once.
fn exports() -> &'static Exports {
    static EXPORTS: OnceLock<Exports> = OnceLock::new();
    EXPORTS.get_or_init(Exports::compile)
}

/// Returns for each function and value whether our function accepts it.
fn ours(arguments: &[Argument]) -> Vec<bool> {
    let library = declarations();
    let functions = library.functions.iter().map(|function| &function.signature.name);
    let call = |function, arguments| Call { function, arguments, count: None };
    let calls: Vec<Call<'_>> = functions
        .flat_map(|name| arguments.iter().map(move |one| call(name, std::slice::from_ref(one))))
        .collect();
    let outcomes = InProcess::new(&library, ffi::installed()).run(&calls);
    let accepts = |(call, outcome): (&Call<'_>, Result<_, Reason>)| {
        let outcome: tvm_ffi_codegen_tests::outcome::Outcome =
            outcome.expect("the installed runtime makes every value");
        match outcome.end {
            End::Result(_) => true,
            End::Error { .. } => false,
            End::Broken(reason) => panic!("{}({}): {reason}", call.function, call.arguments[0]),
        }
    };
    calls.iter().zip(outcomes).map(accepts).collect()
}

#[test]
fn the_same_values_are_accepted_but_for_listed_differences() {
    let (arguments, exports, ffi) = (values(), exports(), Ffi::new(ffi::installed()));
    let mut found = Found::new();
    let mut ours = ours(&arguments).into_iter();
    for (function, _) in TYPES {
        for (argument, value) in arguments.iter().zip(VALUES) {
            let theirs = exports.call(function, argument, &ffi).is_some();
            match (ours.next().expect("one answer per call"), theirs) {
                (true, false) => found.insert((*function, Only::Ours, *value)),
                (false, true) => found.insert((*function, Only::Macro, *value)),
                (true, true) | (false, false) => true,
            };
        }
    }
    let listed = listed();
    let unlisted: Found = found.difference(&listed).copied().collect();
    assert!(unlisted.is_empty(), "{} new differences\n{}", unlisted.len(), print(&unlisted));
    let stale: Found = listed.difference(&found).copied().collect();
    assert!(stale.is_empty(), "{} that do not occur\n{}", stale.len(), print(&stale));
}

/// Includes the last number that rounds down to the largest `float32`, and its successor, which does not.
#[test]
fn floats_are_rounded_as_the_macro_rounds_them() {
    let floats =
        [1e300, -1e300, 3.402_823_567_797_336_2e38, 3.402_823_567_797_336_6e38, 0.1, 1e-46];
    let (floats, ffi) = (floats.map(Argument::Float), Ffi::new(ffi::installed()));
    let library = "rounded(x: float32) -> float32 = echo_float32(x);".parse();
    let library = library.expect("the declaration is valid");
    let call =
        |one| Call { function: "rounded", arguments: std::slice::from_ref(one), count: None };
    let calls: Vec<Call<'_>> = floats.iter().map(call).collect();
    let outcomes = InProcess::new(&library, ffi::installed()).run(&calls);
    for (float, outcome) in floats.iter().zip(outcomes) {
        let theirs = exports().call("rounded", float, &ffi).expect("the macro takes every float");
        let ours = outcome.expect("the runtime makes floats").end;
        assert_eq!(Value::read(&theirs).map(End::Result), Ok(ours), "{float}");
    }
}

/// Differences: function, the only side that accepts, value.
type Found = BTreeSet<(&'static str, Only, &'static str)>;

fn listed() -> Found {
    let mut all = Found::new();
    for Difference { accepts, functions, values, reason } in DIFFERENCES {
        for function in *functions {
            for value in *values {
                let new = all.insert((function, *accepts, value));
                assert!(new, "{function}({value}) is listed twice, the last time as: {reason}");
            }
        }
    }
    all
}

/// Prints a line for each function and accepting side.
fn print(found: &Found) -> String {
    let mut lines = BTreeMap::<_, Vec<&str>>::new();
    for (function, only, value) in found {
        lines.entry((function, only)).or_default().push(value);
    }
    let line = |((function, only), values): ((&&str, &Only), Vec<&str>)| {
        format!("{function}, only {only:?}: {}\n", values.join("  "))
    };
    lines.into_iter().map(line).collect()
}

#[test]
fn the_values_are_of_every_type() {
    let arguments = values();
    assert!(arguments.len() >= 35);
    let found: BTreeSet<i32> = arguments.iter().filter_map(type_index).collect();
    let missing: Vec<_> = TypeIndex::ALL.iter().filter(|index| !found.contains(&index.0)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
