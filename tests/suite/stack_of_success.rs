//! Stack of successful calls in the code of every backend: frames of wrappers, routines and the runtime. Kernels do
//! nothing here.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use codegen::{KernelCall, ResultType};
use jit::abi::{Any, SafeCall};
use libloading::{Library, Symbol};
use tvm_ffi_codegen_tests::cases::{self, Case, Row};
use tvm_ffi_codegen_tests::ffi::{self, Ffi};
use tvm_ffi_codegen_tests::frame::Frame;
use tvm_ffi_codegen_tests::gate::backends;
use tvm_ffi_codegen_tests::hosts::host;
use tvm_ffi_codegen_tests::kernels::cc;
use tvm_ffi_codegen_tests::outcome::End;
use tvm_ffi_codegen_tests::route::request;

/// Maximal bytes of a successful call of an ordinary function.
const LIMIT: i64 = 1024;

/// Maximal bytes of a call that enters the runtime, whose own frames the promise excludes: its iterator over a mapping
/// takes 2 KiB, its parser of element types 1 KiB, or 6 for an invalid text.
const LIMIT_WITH_RUNTIME: i64 = 8 * 1024;

/// Types whose values only the runtime can read, and functions that it makes.
const OF_RUNTIME: [&str; 4] = ["Map[", "Dict[", "dtype", "= function("];

type StackUsed = unsafe extern "C" fn(SafeCall, *const Any, i32, *mut Any) -> i64;

/// Compiles the library that measures.
fn measuring(folder: &Path) -> Library {
    let path = folder.join("stack.so");
    let source = host("stack.c");
    let mut compile = Command::new("cc");
    compile.args(["-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]);
    cc(compile.arg(source).args(["-pthread", "-o"]).arg(&path));
    // SAFETY: the library has no initialisers.
    unsafe { Library::new(&path) }.unwrap_or_else(|error| panic!("{error}"))
}

/// Returns functions that take tensors, text and containers, and return nothing.
fn ordinary() -> Vec<Case> {
    let mut cases = cases::table();
    cases.retain(|case| {
        let groups = ["cached", "containers", "nested", "tensors", "text", "values"];
        groups.contains(&&*case.group) && case.function.signature.result == ResultType::None
    });
    cases
}

/// Compiles declarations into a shared library with kernels that do nothing.
fn build(cases: &[Case], backend: &str, folder: &Path) -> Library {
    let names: BTreeSet<&str> = cases
        .iter()
        .flat_map(|case| case.function.body.kernel_calls().filter_map(KernelCall::symbol))
        .collect();
    let define = |name: &str| format!("int {name}(void) {{ return 0; }}\n");
    let [source, object] = ["kernels.c", "kernels.o"].map(|name| folder.join(name));
    std::fs::write(&source, names.into_iter().map(define).collect::<String>()).expect("writes");
    cc(Command::new("cc").args(["-O2", "-fPIC", "-c", "-o"]).arg(&object).arg(&source));
    let object = std::fs::read(object).expect("the compiler has written it");
    let kernels = driver::link::Input::new("kernels.o", object);
    let kernels = vec![kernels.unwrap_or_else(|error| panic!("{error}"))];
    let request = driver::Request { kernels, ..request(backend, driver::Form::Shared) };
    let module = driver::lower(&cases::library(cases), &codegen::Options::default())
        .unwrap_or_else(|error| panic!("{error}"));
    let path = folder.join(format!("{backend}.so"));
    request.write_module(&module, &path).unwrap_or_else(|error| panic!("{error}"));
    // SAFETY: the library has no initialisers.
    unsafe { Library::new(&path) }.unwrap_or_else(|error| panic!("{error}"))
}

/// Returns the bytes that a call uses; `None` if the call fails or cannot be made.
fn used(
    stack_used: &Symbol<'_, StackUsed>,
    wrapper: SafeCall,
    case: &Case,
    row: &Row,
) -> Option<i64> {
    if !matches!((&row.expected.end, row.count), (End::Result(_), None)) {
        return None;
    }
    let frame = Frame::new(&row.arguments, &Ffi::new(ffi::installed()))?;
    let (count, mut result) = (frame.args.len() as i32, Any::NONE);
    if case.group == "cached" {
        // The first call has the runtime make what is kept.
        // SAFETY: as below.
        unsafe { wrapper(std::ptr::null_mut(), frame.as_ptr(), count, &mut result) };
    }
    // SAFETY: the arguments are valid and their number is right; there is no result to be released.
    let used = unsafe { stack_used(wrapper, frame.as_ptr(), count, &mut result) };
    assert!(used >= 0, "{}: the call fails", row.place);
    Some(used)
}

fn limit(case: &Case) -> i64 {
    let declared = case.function.to_string();
    let calls_runtime = OF_RUNTIME.iter().any(|part| declared.contains(part));
    if calls_runtime { LIMIT_WITH_RUNTIME } else { LIMIT }
}

#[test]
fn successful_calls_use_little_stack() {
    ffi::installed();
    let folder = tempfile::tempdir().expect("a folder can be made");
    let measuring = measuring(folder.path());
    // SAFETY: it is of this type.
    let stack_used = unsafe { measuring.get::<StackUsed>("stack_used") }.expect("it is defined");
    let cases = ordinary();
    for backend in backends() {
        let library = build(&cases, backend, folder.path());
        let mut calls = 0;
        for case in &cases {
            let name = &case.function.signature.name;
            // SAFETY: wrappers are of this type.
            let wrapper = unsafe { library.get::<SafeCall>(format!("__tvm_ffi_{name}")) };
            let wrapper = *wrapper.unwrap_or_else(|error| panic!("{error}"));
            let limit = limit(case);
            for row in &case.rows {
                let Some(used) = used(&stack_used, wrapper, case, row) else { continue };
                assert!(used <= limit, "{backend}, {}: {name} uses {used} bytes", row.place);
                calls += 1;
            }
        }
        assert!(calls > 200, "{backend}: only {calls} calls");
    }
}
