//! Tests of emission into native modules that are not empty.

use codegen::ir::{self, Binary, Builder, Linkage, Module, Signature, SymbolKind, Type};
use cranelift_codegen::ir::{AbiParam, Signature as Native, types};
use cranelift_jit::JITModule;
use cranelift_module::{FuncId, FuncOrDataId, Linkage as NativeLinkage, Module as _};
use tvm_ffi_codegen_cranelift::{Error, emit, signature};

use crate::constructor;
use crate::functions;
use crate::jit::{Running, empty};
use crate::sample;

fn native(params: &[types::Type], returns: &[types::Type], module: &JITModule) -> Native {
    let mut signature = module.make_signature();
    signature.params.extend(params.iter().map(|&ty| AbiParam::new(ty)));
    signature.returns.extend(returns.iter().map(|&ty| AbiParam::new(ty)));
    signature
}

/// An exported `name` that calls a local `step`, which adds `amount`.
fn stepper(name: &str, amount: i64) -> Module {
    let mut module = Module::default();
    let step = Signature::new(&[Type::I64], Some(Type::I64));
    let mut b = Builder::function(&mut module, "step", Linkage::Local, step);
    let sum = b.binary_const(Binary::Add, b.param(0), amount);
    b.ret(Some(sum));
    let function = b.finish();
    let step = function.symbol;
    module.functions.push(function);
    functions::define(&mut module, name, &[Type::I64], |b, v| b.call_value(step, &[v[0]]));
    module
}

fn name(module: &JITModule, id: FuncId) -> &str {
    module.declarations().get_function_decl(id).name.as_deref().unwrap()
}

#[test]
fn exported_functions_are_returned_in_order() {
    let mut module = empty(false, &[]);
    let ids = emit(&mut module, &sample::module()).unwrap();
    let names: Vec<&str> = ids.iter().map(|&id| name(&module, id)).collect();
    assert_eq!(names, ["other", "entry"]);
}

#[test]
fn two_sources_fit_into_one_module() {
    let mut module = empty(false, &[]);
    emit(&mut module, &stepper("one", 1)).unwrap();
    emit(&mut module, &stepper("two", 2)).unwrap();
    emit(&mut module, &stepper("three", 3)).unwrap();
    assert!(module.get_name("step.1").is_some() && module.get_name("step.2").is_some());
    let running = Running::start(module);
    let found = ["one", "two", "three"].map(|name| running.call(name, &[40]));
    assert_eq!(found, [41, 42, 43]);
}

#[test]
fn a_new_name_for_a_local_is_not_one_the_source_uses() {
    let mut module = empty(false, &[]);
    emit(&mut module, &stepper("one", 1)).unwrap();
    let mut source = stepper("two", 2);
    functions::define(&mut source, "step.1", &[Type::I64], |b, v| {
        b.binary(Binary::Mul, v[0], v[0])
    });
    emit(&mut module, &source).unwrap();
    let running = Running::start(module);
    assert_eq!(["one", "two", "step.1"].map(|name| running.call(name, &[9])), [10, 11, 81]);
}

#[test]
fn an_import_of_one_source_is_defined_by_the_next() {
    let mut user = Module::default();
    let kind = SymbolKind::Function(functions::shape());
    let square = user.declare("square", Linkage::Import, kind);
    functions::define(&mut user, "user", &[Type::I64], |b, _| {
        b.call(square, &[b.param(0), b.param(1)]);
        b.load(Type::I64, b.param(1), 0)
    });
    let mut definer = Module::default();
    functions::define(&mut definer, "square", &[Type::I64], |b, v| {
        b.binary(Binary::Mul, v[0], v[0])
    });
    let mut module = empty(false, &[]);
    emit(&mut module, &user).unwrap();
    emit(&mut module, &definer).unwrap();
    assert_eq!(Running::start(module).call("user", &[12]), 144);
}

/// Declares `kernel` as given, emits [`sample::module`], and expects an error that leaves the module unchanged.
fn refused(params: &[types::Type], returns: &[types::Type]) -> Error {
    let mut module = empty(false, &[]);
    let native = native(params, returns, &module);
    module.declare_function("kernel", NativeLinkage::Import, &native).unwrap();
    let error = emit(&mut module, &sample::module()).unwrap_err();
    let declared = module.declarations().get_functions().count();
    assert_eq!((declared, module.declarations().get_data_objects().count()), (1, 0));
    error
}

#[test]
fn kernels_of_another_type_are_refused() {
    use types::{F64, I32, I64};
    let text =
        |params: &[types::Type], returns: &[types::Type]| refused(params, returns).to_string();
    assert_eq!(
        refused(&[I64, I64, F64], &[I32]),
        Error::Kernel {
            symbol: "kernel".into(),
            argument: Some(1),
            expected: "i32".into(),
            found: "i64".into()
        }
    );
    assert_eq!(
        text(&[I64, I64, F64], &[I32]),
        "`kernel`: argument 1 is i64 in the module, expected i32"
    );
    let found = empty(false, &[]).make_signature().call_conv;
    assert_eq!(
        text(&[I64, I32], &[I32]),
        format!(
            "`kernel` is (i64, i32) -> i32 {found} in the module, expected (i64, i32, f64) -> i32 {found}"
        )
    );
    assert_eq!(
        text(&[I64, I32, F64], &[]),
        format!(
            "`kernel` is (i64, i32, f64) {found} in the module, expected (i64, i32, f64) -> i32 {found}"
        )
    );
}

#[test]
fn a_symbol_of_another_kind_is_refused() {
    let mut module = empty(false, &[]);
    module.declare_data("kernel", NativeLinkage::Import, false, false).unwrap();
    let error = emit(&mut module, &sample::module()).unwrap_err();
    assert_eq!(error.to_string(), "`kernel` is data in the module, expected a function");
    let mut module = empty(false, &[]);
    let native = native(&[], &[], &module);
    module.declare_function("outside", NativeLinkage::Import, &native).unwrap();
    let error = emit(&mut module, &sample::module()).unwrap_err();
    assert_eq!(error.to_string(), "`outside` is a function in the module, expected data");
}

#[test]
fn a_defined_export_is_refused_and_the_module_stays_usable() {
    let mut module = empty(false, &[]);
    emit(&mut module, &stepper("one", 1)).unwrap();
    let before = module.declarations().get_functions().count();
    let error = emit(&mut module, &stepper("one", 5)).unwrap_err();
    assert_eq!(error, Error::Defined { symbol: "one".into() });
    assert_eq!(error.to_string(), "`one` is defined in the module already");
    assert_eq!(module.declarations().get_functions().count(), before);
    emit(&mut module, &stepper("two", 2)).unwrap();
    let running = Running::start(module);
    assert_eq!(["one", "two"].map(|name| running.call(name, &[40])), [41, 42]);
}

#[test]
fn a_kernel_in_the_module_is_called_as_it_was_declared() {
    let kernel = ir::Signature::new(&[Type::I64, Type::I64], Some(Type::I64));
    let mut kernels = Module::default();
    let mut b = Builder::function(&mut kernels, "kernel", Linkage::Export, kernel.clone());
    let product = b.binary(Binary::Mul, b.param(0), b.param(1));
    b.ret(Some(product));
    let function = b.finish();
    kernels.functions.push(function);
    let mut user = Module::default();
    let symbol = user.declare("kernel", Linkage::Import, SymbolKind::Function(kernel.clone()));
    functions::define(&mut user, "user", &[Type::I64, Type::I64], |b, v| b.call_value(symbol, v));
    let mut module = empty(false, &[]);
    let [id] = emit(&mut module, &kernels).unwrap()[..] else { panic!("one export") };
    assert_eq!(module.get_name("kernel"), Some(FuncOrDataId::Func(id)));
    let declared = &module.declarations().get_function_decl(id).signature;
    assert_eq!(*declared, signature(module.isa(), &kernel));
    emit(&mut module, &user).unwrap();
    assert_eq!(Running::start(module).call("user", &[6, 7]), 42);
}

/// Constructors are refused: a JIT would not run them, and the interface of a module does not tell a JIT from an
/// object.
#[test]
fn constructors_are_refused() {
    let source = constructor::module();
    let mut module = empty(false, &[]);
    let error = emit(&mut module, &source).unwrap_err();
    assert_eq!(error, Error::Constructors);
    assert_eq!(error.to_string(), "constructors need an object file");
    assert_eq!(module.get_name("start"), None);
}
