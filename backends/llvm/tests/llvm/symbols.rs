//! Tests of emission into native modules that are not empty.

use codegen::ir::{
    self, AbiType, Binary, Builder, Data, Extend, Inst, Linkage, Module, Placed, Signature,
    SymbolKind, Type,
};
use inkwell::AddressSpace;
use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::module::{Linkage as NativeLinkage, Module as Native};
use inkwell::targets::TargetTriple;
use inkwell::values::{AnyValue, FunctionValue};
use tvm_ffi_codegen_llvm::{Error, Optimize, emit, signature, verify};

use crate::functions;
use crate::jit::{Running, context, empty};
use crate::objects::target;
use crate::sample;

/// An exported `name` that calls a local `step`, which adds `amount` from a local constant.
fn stepper(name: &str, amount: i64) -> Module {
    let mut module = Module::default();
    let bytes = amount.to_le_bytes().to_vec();
    let symbol = module.declare("amount", Linkage::Local, SymbolKind::Data);
    module.data.push(Data::constant(symbol, bytes, 8));
    let step = Signature::new(&[Type::I64], Some(Type::I64));
    let mut b = Builder::function(&mut module, "step", Linkage::Local, step);
    let amount = b.address(symbol);
    let amount = b.load(Type::I64, amount, 0);
    let sum = b.binary(Binary::Add, b.param(0), amount);
    b.ret(Some(sum));
    let function = b.finish();
    let step = function.symbol;
    module.functions.push(function);
    functions::define(&mut module, name, &[Type::I64], |b, v| b.call_value(step, &[v[0]]));
    module
}

fn start(module: &Native<'static>) -> Running {
    Running::start(module, Optimize::O0, &[])
}

#[test]
fn exported_functions_are_returned_in_order() {
    let module = empty();
    let functions = emit(&module, &sample::module()).unwrap();
    let names: Vec<_> = functions.iter().map(|f| f.get_name().to_string_lossy()).collect();
    assert_eq!(names, ["other", "entry"]);
}

#[test]
fn two_sources_fit_into_one_module() {
    let module = empty();
    for (name, amount) in [("one", 1), ("two", 2), ("three", 3)] {
        emit(&module, &stepper(name, amount)).unwrap();
    }
    let running = start(&module);
    let found = ["one", "two", "three"].map(|name| running.call(name, &[40]));
    assert_eq!(found, [41, 42, 43]);
}

#[test]
fn a_new_name_for_a_local_is_not_one_the_source_uses() {
    let module = empty();
    emit(&module, &stepper("one", 1)).unwrap();
    let mut source = stepper("two", 2);
    let extra = ["step.1", "step.2", "step.3"];
    for name in extra {
        functions::define(&mut source, name, &[Type::I64], |b, v| {
            b.binary(Binary::Mul, v[0], v[0])
        });
    }
    emit(&module, &source).unwrap();
    let running = start(&module);
    assert_eq!(["one", "two"].map(|name| running.call(name, &[9])), [10, 11]);
    assert_eq!(extra.map(|name| running.call(name, &[9])), [81; 3]);
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
    let module = empty();
    emit(&module, &user).unwrap();
    let declared = module.get_function("square").unwrap();
    let [defined] = emit(&module, &definer).unwrap()[..] else { panic!("one export") };
    assert_eq!(declared, defined);
    assert_eq!(start(&module).call("user", &[12]), 144);
}

/// Emits and expects an error that leaves the module unchanged.
fn refused(module: &Native<'_>, source: &Module) -> Error {
    let before = module.print_to_string().to_string();
    let error = emit(module, source).unwrap_err();
    assert_eq!(module.print_to_string().to_string(), before);
    error
}

/// Declares a function, as a user would.
fn declare(module: &Native<'static>, name: &str, source: &Signature) -> FunctionValue<'static> {
    module.add_function(name, signature(module.get_context(), source), None)
}

#[test]
fn kernels_of_another_type_are_refused() {
    use Type::{F64, I32, I64};
    let error = |params: &[Type], result: Option<Type>| {
        let module = empty();
        declare(&module, "kernel", &Signature::new(params, result));
        refused(&module, &sample::module())
    };
    assert_eq!(
        error(&[I64, I64, F64], Some(I32)),
        Error::Kernel {
            symbol: "kernel".into(),
            argument: Some(1),
            expected: "i32".into(),
            found: "i64".into()
        }
    );
    let text = |params: &[Type], result| error(params, result).to_string();
    assert_eq!(
        text(&[I64, I64, F64], Some(I32)),
        "`kernel`: argument 1 is i64 in the module, expected i32"
    );
    assert_eq!(
        text(&[I64, I32], Some(I32)),
        "`kernel` is i32 (i64, i32) in the module, expected i32 (i64, i32, double)"
    );
    assert_eq!(
        text(&[I64, I32, F64], None),
        "`kernel` is void (i64, i32, double) in the module, expected i32 (i64, i32, double)"
    );
}

/// Parameters that may be of another type are not what differs.
#[test]
fn the_argument_that_differs_is_named() {
    let truth = AbiType { ty: Type::I8, extend: Extend::Truth };
    let params = vec![truth, Type::I64.into()];
    let wanted = Signature { params, result: Some(truth), reads: Box::default() };
    let mut source = Module::default();
    source.declare("k", Linkage::Import, SymbolKind::Function(wanted));
    let module = empty();
    let truth = module.get_context().bool_type();
    let half = module.get_context().f16_type();
    module.add_function("k", truth.fn_type(&[truth.into(), half.into()], false), None);
    let error = refused(&module, &source).to_string();
    assert_eq!(error, "`k`: argument 1 is half in the module, expected i64");
    let module = empty();
    let (truth, long) = (module.get_context().bool_type(), module.get_context().i64_type());
    module.add_function("k", truth.fn_type(&[truth.into(), long.into()], false), None);
    emit(&module, &source).unwrap();
}

#[test]
fn a_module_for_an_unknown_machine_is_refused() {
    for (triple, message) in [
        (
            "i686-unknown-linux-gnu",
            "unsupported target i686-unknown-linux-gnu: not a known machine",
        ),
        ("garbage", "unsupported target unknown-unknown-unknown: the module is for garbage"),
    ] {
        let module = context().create_module("");
        module.set_triple(&TargetTriple::create(triple));
        assert_eq!(refused(&module, &sample::module()).to_string(), message);
    }
}

#[test]
fn a_kernel_that_expects_another_extension_is_refused() {
    let sign = AbiType { ty: Type::I8, extend: Extend::Sign };
    let wanted = Signature {
        params: vec![Type::I64.into(), sign],
        result: Some(sign),
        reads: Box::default(),
    };
    let mut source = Module::default();
    source.declare("k", Linkage::Import, SymbolKind::Function(wanted.clone()));
    for (place, message) in [
        (
            AttributeLoc::Param(1),
            "`k`: argument 1 is i8 zeroext in the module, expected i8 signext",
        ),
        (
            AttributeLoc::Return,
            "`k` is a result i8 zeroext in the module, expected a result i8 signext",
        ),
    ] {
        let module = empty();
        let kind = Attribute::get_named_enum_kind_id("zeroext");
        let zeroext = module.get_context().create_enum_attribute(kind, 0);
        declare(&module, "k", &wanted).add_attribute(place, zeroext);
        assert_eq!(refused(&module, &source).to_string(), message);
    }
}

#[test]
fn a_symbol_of_another_kind_is_refused() {
    let module = empty();
    module.add_global(module.get_context().i8_type(), None, "kernel");
    let error = refused(&module, &sample::module());
    assert_eq!(error.to_string(), "`kernel` is data in the module, expected a function");
    let module = empty();
    declare(&module, "outside", &Signature::default());
    let error = refused(&module, &sample::module());
    assert_eq!(error.to_string(), "`outside` is a function in the module, expected data");
}

#[test]
fn a_defined_export_is_refused_and_the_module_stays_usable() {
    let module = empty();
    emit(&module, &stepper("one", 1)).unwrap();
    let error = refused(&module, &stepper("one", 5));
    assert_eq!(error, Error::Defined { symbol: "one".into() });
    assert_eq!(error.to_string(), "`one` is defined in the module already");
    emit(&module, &stepper("two", 2)).unwrap();
    let running = start(&module);
    assert_eq!(["one", "two"].map(|name| running.call(name, &[40])), [41, 42]);
}

#[test]
fn malformed_host_ir_is_refused_with_its_text() {
    let mut source = sample::module();
    let last = source.functions.last_mut().unwrap();
    for Placed { inst, .. } in &mut last.blocks[0].insts {
        if let Inst::Load { align, .. } = inst {
            *align = 3;
        }
    }
    let error = refused(&empty(), &source);
    assert!(matches!(&error, Error::Malformed(_)), "{error}");
    let text = error.to_string();
    assert!(text.contains("access to i64 at alignment 3\nexport func @entry("), "{text}");
}

#[test]
fn a_kernel_in_the_module_is_called_as_it_was_declared() {
    let kernel = Signature::new(&[Type::I64, Type::I64], Some(Type::I64));
    let mut user = Module::default();
    let symbol = user.declare("kernel", Linkage::Import, SymbolKind::Function(kernel.clone()));
    functions::define(&mut user, "user", &[Type::I64, Type::I64], |b, v| b.call_value(symbol, v));
    const FAST: u32 = 8;
    for (linkage, convention) in [(NativeLinkage::External, 0), (NativeLinkage::Internal, FAST)] {
        let module = empty();
        let function = declare(&module, "kernel", &kernel);
        function.set_linkage(linkage);
        function.set_call_conventions(convention);
        let builder = module.get_context().create_builder();
        builder.position_at_end(module.get_context().append_basic_block(function, ""));
        let [x, y] = [0, 1].map(|i| function.get_nth_param(i).unwrap().into_int_value());
        builder.build_return(Some(&builder.build_int_mul(x, y, "").unwrap())).unwrap();
        emit(&module, &user).unwrap();
        assert_eq!(module.get_functions().count(), 2);
        assert_eq!(function.get_linkage(), linkage);
        assert_eq!(start(&module).call("user", &[6, 7]), 42);
    }
}

/// Receivers rely on an extension only if the ABI promises it, whatever a kernel's declaration says.
#[test]
fn a_result_is_extended_only_if_the_platform_promises_it() {
    let sign = AbiType { ty: Type::I8, extend: Extend::Sign };
    let kernel = Signature { params: vec![sign], result: Some(sign), reads: Box::default() };
    let mut user = Module::default();
    let symbol = user.declare("kernel", Linkage::Import, SymbolKind::Function(kernel.clone()));
    functions::define(&mut user, "user", &[Type::I8], |b, v| b.call_value(symbol, v));
    let call = |triple: &str, declared: bool| {
        let module = target(triple, Optimize::O0).module(context(), &Module::default(), &[]);
        let module = module.unwrap();
        if declared {
            declare(&module, "kernel", &kernel);
        }
        emit(&module, &user).unwrap();
        let text = module.print_to_string().to_string();
        let call = text.lines().find(|line| line.contains("@kernel(") && line.contains("call"));
        call.unwrap().trim().to_owned()
    };
    for (triple, expected) in [
        ("x86_64-unknown-linux-gnu", "%v3 = call i8 @kernel(i8 signext %v2)"),
        ("x86_64-pc-windows-msvc", "%v3 = call i8 @kernel(i8 %v2)"),
        ("aarch64-unknown-linux-gnu", "%v3 = call i8 @kernel(i8 %v2)"),
        ("aarch64-apple-darwin", "%v3 = call signext i8 @kernel(i8 signext %v2)"),
        ("riscv64gc-unknown-linux-gnu", "%v3 = call signext i8 @kernel(i8 signext %v2)"),
    ] {
        assert_eq!([false, true].map(|declared| call(triple, declared)), [expected; 2], "{triple}");
    }
}

#[test]
fn a_declared_variable_is_defined_in_place() {
    let module = empty();
    let pointer = module.get_context().ptr_type(AddressSpace::default());
    let declared = module.add_global(pointer, None, "context");
    emit(&module, &sample::module()).unwrap();
    verify(&module).unwrap();
    let expected = "@context = global ptr null, align 8";
    assert_eq!(declared.print_to_string().to_string(), expected);
    let module = empty();
    module.add_global(module.get_context().i32_type(), None, "context");
    let error = refused(&module, &sample::module());
    assert_eq!(error.to_string(), "`context` is i32 in the module, expected [8 x i8]");
}

#[test]
fn linkage_and_attributes_say_what_is_true() {
    let mut source = stepper("entry", 1);
    for (name, cold) in [("rare", true), ("called", false)] {
        let mut b = Builder::function(&mut source, name, Linkage::Local, Signature::default());
        if cold {
            b.set_cold();
        } else {
            b.set_no_inline();
        }
        b.ret(None);
        let function = b.finish();
        source.functions.push(function);
    }
    ir::verify(&source).unwrap();
    let module = empty();
    emit(&module, &source).unwrap();
    let flags = |name: &str| {
        let function = module.get_function(name).unwrap();
        let all = function.attributes(AttributeLoc::Function);
        let flags = all.iter().filter(|attribute| attribute.is_enum());
        let mut kinds: Vec<u32> = flags.map(|flag| flag.get_enum_kind_id()).collect();
        kinds.sort_unstable();
        (function.get_linkage(), kinds)
    };
    let kinds = |names: &[&str]| {
        let mut kinds: Vec<u32> =
            names.iter().map(|name| Attribute::get_named_enum_kind_id(name)).collect();
        kinds.sort_unstable();
        kinds
    };
    assert_eq!(flags("entry"), (NativeLinkage::External, kinds(&["uwtable"])));
    assert_eq!(flags("step"), (NativeLinkage::Internal, kinds(&["uwtable"])));
    let cold = kinds(&["uwtable", "cold", "minsize", "noinline"]);
    assert_eq!(flags("rare"), (NativeLinkage::Internal, cold));
    assert_eq!(flags("called"), (NativeLinkage::Internal, kinds(&["uwtable", "noinline"])));
}
