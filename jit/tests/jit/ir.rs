//! Hand-written host IR for tests: functions of the FFI that check nothing.

use codegen::ir::{Builder, Linkage, Module, Signature, Symbol, SymbolKind, Type, Value};
use tvm_ffi_codegen_jit::{Kind, Runtime, runtime};

/// Every runtime that there is on this machine.
pub(crate) fn runtimes() -> Vec<&'static Runtime> {
    let found = runtime();
    assert_eq!(found.rejected(), None);
    let builtin = *found.kind() == Kind::BuiltIn;
    let found = if builtin { None } else { Some(found) };
    [Some(Runtime::builtin()), found].into_iter().flatten().collect()
}

/// `handle`, `args`, `num_args` and `result` of a wrapper.
pub(crate) const HANDLE: usize = 0;
/// See [`HANDLE`].
pub(crate) const ARGS: usize = 1;
/// See [`HANDLE`].
pub(crate) const RESULT: usize = 3;

/// Adds the wrapper `__tvm_ffi_<name>`. `body` ends the function.
pub(crate) fn wrapper(module: &mut Module, name: &str, body: impl FnOnce(&mut Builder<'_>)) {
    let signature = Signature::new(&[Type::Ptr, Type::Ptr, Type::I32, Type::Ptr], Some(Type::I32));
    let name = format!("__tvm_ffi_{name}");
    let mut b = Builder::function(module, &name, Linkage::Export, signature);
    body(&mut b);
    let function = b.finish();
    module.functions.push(function);
}

/// Writes a result and returns.
pub(crate) fn succeed(b: &mut Builder<'_>, type_index: i32, payload: Value) {
    let (result, index) = (b.param(RESULT), b.i64(type_index.into()));
    b.store(index, result, 0);
    b.store(payload, result, 8);
    let zero = b.i32(0);
    b.ret(Some(zero));
}

/// A function to import.
pub(crate) fn import(
    b: &mut Builder<'_>,
    name: &str,
    params: &[Type],
    result: Option<Type>,
) -> Symbol {
    let kind = SymbolKind::Function(Signature::new(params, result));
    b.module.declare(name, Linkage::Import, kind)
}

/// The payload of an argument.
pub(crate) fn arg(b: &mut Builder<'_>, ty: Type, index: i32) -> Value {
    let args = b.param(ARGS);
    b.load(ty, args, 16 * index + 8)
}

/// A module with one wrapper that returns its first argument as it came.
pub(crate) fn identity() -> Module {
    let mut module = Module::default();
    wrapper(&mut module, "identity", |b| {
        let (args, result) = (b.param(ARGS), b.param(RESULT));
        for offset in [0, 8] {
            let half = b.load(Type::I64, args, offset);
            b.store(half, result, offset);
        }
        let zero = b.i32(0);
        b.ret(Some(zero));
    });
    module
}

/// A module with one wrapper that returns what `symbol(int, int)` says of two integers.
pub(crate) fn binary(name: &str, symbol: &str) -> Module {
    let mut module = Module::default();
    wrapper(&mut module, name, |b| {
        let kernel = import(b, symbol, &[Type::I64, Type::I64], Some(Type::I64));
        let (x, y) = (arg(b, Type::I64, 0), arg(b, Type::I64, 1));
        let value = b.call_value(kernel, &[x, y]);
        succeed(b, 1, value);
    });
    module
}
