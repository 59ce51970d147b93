//! Tests of the MLIR backend: its output, errors, and that LLVM compiles it to the code of the LLVM backend.

mod constructors;
mod equivalence;
mod every;
mod extend;
mod jit;
mod linking;
mod objects;
mod symbols;
mod text;

// Tests that every backend must pass.
#[path = "../../../tests/atomics.rs"]
mod atomics;
#[path = "../../../tests/constructor.rs"]
mod constructor;
#[path = "../../../tests/flow.rs"]
mod flow;
#[path = "../../../tests/frames.rs"]
mod frames;
#[path = "../../../tests/functions.rs"]
mod functions;
#[path = "../../../tests/instructions.rs"]
mod instructions;
#[path = "../../../tests/once.rs"]
mod once;
#[path = "../../../tests/operators.rs"]
mod operators;
#[path = "../../../tests/relocations.rs"]
mod relocations;
#[path = "../../../tests/results.rs"]
mod results;
#[path = "../../../tests/sample.rs"]
mod sample;
#[path = "../../../tests/sections.rs"]
mod sections;

use codegen::ir::{Builder, Linkage, Module, Signature, SymbolKind, Type};

/// A module that exports `name(n: i64) -> i64`, which calls `kernel(n, &data)` and adds one.
fn caller(name: &str, kernel: &str) -> Module {
    let mut module = Module::default();
    let kernel = module.declare(kernel, Linkage::Import, SymbolKind::Function(kernel_signature()));
    let signature = Signature::new(&[Type::I64], Some(Type::I64));
    let mut b = Builder::function(&mut module, name, Linkage::Export, signature);
    let (n, one, null) = (b.param(0), b.i64(1), b.null());
    let value = b.call_value(kernel, &[n, null]);
    let sum = b.binary(codegen::ir::Binary::Add, value, one);
    b.ret(Some(sum));
    let function = b.finish();
    module.functions.push(function);
    codegen::ir::verify(&module).unwrap();
    module
}

fn kernel_signature() -> Signature {
    Signature::new(&[Type::I64, Type::Ptr], Some(Type::I64))
}
