//! Hand-written host IR for tests: FFI functions that check nothing.

use std::sync::OnceLock;
use std::time::Duration;

use crate::left_out::missing;
use tvm_ffi_codegen::ir::{Builder, Linkage, Module, Signature, Symbol, SymbolKind, Type, Value};
use tvm_ffi_codegen_jit::{CallError, Compiled, Error, Jit, Origin, Returned, Runtime, runtime};

/// Returns the built-in runtime, and the installed one if there is any.
pub(crate) fn runtimes() -> Vec<&'static Runtime> {
    static FOUND: OnceLock<Option<&'static Runtime>> = OnceLock::new();
    let found = FOUND.get_or_init(|| {
        let default = runtime();
        assert_eq!(default.rejected(), None);
        if *default.origin() != Origin::BuiltIn {
            return Some(default);
        }
        // SAFETY: whoever runs the tests vouches for the path.
        unsafe { Runtime::ask_tool(Duration::from_secs(60)) }.ok()
    });
    if found.is_none() {
        missing("installed runtime");
    }
    std::iter::once(Runtime::builtin()).chain(*found).collect()
}

/// Returns the installed runtime. Without it tests that need it print that they are left out.
pub(crate) fn installed() -> Option<&'static Runtime> {
    runtimes().get(1).copied()
}

/// Compiles hand-written host IR, which is sound for the arguments that its test passes.
pub(crate) fn compile(runtime: &'static Runtime, module: &Module) -> Result<Compiled, Error> {
    tvm_ffi_codegen::ir::verify(module).unwrap();
    // SAFETY: as said above.
    unsafe { Jit::with_runtime(runtime)?.emit(module) }?.finish()
}

/// Converts the result of a call to an integer.
pub(crate) fn int(result: Result<Returned, CallError>) -> i64 {
    result.unwrap().try_into().unwrap()
}

/// Converts the result of a call to a float.
pub(crate) fn float(result: Result<Returned, CallError>) -> f64 {
    result.unwrap().try_into().unwrap()
}

/// The index of a wrapper's parameter `handle`.
pub(crate) const HANDLE: usize = 0;
/// The index of a wrapper's parameter `args`.
pub(crate) const ARGS: usize = 1;
/// The index of a wrapper's parameter `result`.
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

/// Writes a result and returns 0.
pub(crate) fn succeed(b: &mut Builder<'_>, type_index: i32, payload: Value) {
    let (result, index) = (b.param(RESULT), b.i64(type_index.into()));
    b.store(index, result, 0);
    b.store(payload, result, 8);
    let zero = b.i32(0);
    b.ret(Some(zero));
}

/// Declares a function to import.
pub(crate) fn import(
    b: &mut Builder<'_>,
    name: &str,
    params: &[Type],
    result: Option<Type>,
) -> Symbol {
    let kind = SymbolKind::Function(Signature::new(params, result));
    b.module.declare(name, Linkage::Import, kind)
}

/// Loads the payload of an argument.
pub(crate) fn arg(b: &mut Builder<'_>, ty: Type, index: i32) -> Value {
    let args = b.param(ARGS);
    b.load(ty, args, 16 * index + 8)
}

/// A module with one wrapper that returns its first argument unchanged, which must be no object.
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

/// A module with one wrapper that returns `symbol(x, y)` of two integers.
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

/// A module with one wrapper that returns an owned copy of its first argument.
pub(crate) fn share() -> Module {
    let mut module = Module::default();
    wrapper(&mut module, "share", |b| {
        let own = import(b, "TVMFFIAnyViewToOwnedAny", &[Type::Ptr, Type::Ptr], Some(Type::I32));
        let (args, result) = (b.param(ARGS), b.param(RESULT));
        let status = b.call(own, &[args, result]);
        b.ret(status);
    });
    module
}
