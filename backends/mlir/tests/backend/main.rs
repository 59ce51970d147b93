//! The MLIR backend: what it emits, that LLVM compiles it to the code of the LLVM backend, and what it
//! refuses.

mod constructors;
mod equivalence;
mod every;
mod linking;
mod symbols;
mod text;

// What other backends are tested with too.
#[path = "../../../tests/constructor.rs"]
mod constructor;

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
    codegen::ir::verify(&module);
    module
}

fn kernel_signature() -> Signature {
    Signature::new(&[Type::I64, Type::Ptr], Some(Type::I64))
}
