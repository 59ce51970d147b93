//! Compiling, linking, calling and freeing, with hand-written host IR.

use std::ffi::{CString, c_void};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::ir::{arg, binary, identity, import, runtimes, succeed, wrapper};
use abi_spec::{DType, Device};
use codegen::ir::{Builder, Data, Linkage, Module, SymbolKind, Type};
use cranelift_codegen::Context;
use cranelift_codegen::ir::{AbiParam, InstBuilder, types};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_module::Module as _;
use tvm_ffi_codegen_jit::{
    Compiled, Error, Jit, Kind, ObjectRef, Returned, Runtime, Tensor, Value, abi,
};

/// Compiles host IR of this file, which is sound for what this file passes.
fn compile(runtime: &'static Runtime, module: &Module) -> Result<Compiled, Error> {
    codegen::ir::verify(module).unwrap();
    // SAFETY: see above.
    unsafe { Jit::with_runtime(runtime)?.compile_ir(module) }
}

extern "C" fn subtract(x: i64, y: i64) -> i64 {
    x - y
}

#[test]
fn values_pass_unchanged() {
    for runtime in runtimes() {
        let compiled = compile(runtime, &identity()).unwrap();
        let identity = compiled.function("identity").unwrap();
        let rows = [
            (Value::NONE, "None"),
            ((-7_i64).into(), "Int(-7)"),
            (7_i32.into(), "Int(7)"),
            (true.into(), "Bool(true)"),
            (0.5.into(), "Float(0.5)"),
            (Value::NULL, "Pointer(0x0)"),
            (DType::FLOAT32.into(), &format!("DType({:?})", DType::FLOAT32)),
            (
                Device { id: 3, ..Device::CPU }.into(),
                &format!("Device({:?})", Device { id: 3, ..Device::CPU }),
            ),
        ];
        for (value, expected) in rows {
            assert_eq!(format!("{:?}", identity.call(&[value]).unwrap()), expected);
        }
        let text = CString::new("text").unwrap();
        let returned = identity.call(&[text.as_c_str().into()]).unwrap();
        assert!(matches!(returned, Returned::Borrowed(any) if any.type_index == 8));
    }
}

#[test]
fn kernels_are_called_by_address() {
    for runtime in runtimes() {
        let mut jit = Jit::with_runtime(runtime).unwrap();
        // SAFETY: the kernel is sound for all integers that this test passes.
        let compiled = unsafe {
            jit.kernel("kernel", subtract as *const u8);
            jit.compile_ir(&binary("subtract", "kernel")).unwrap()
        };
        let returned = compiled.function("subtract").unwrap().call(&[50.into(), 8.into()]);
        assert!(matches!(returned, Ok(Returned::Int(42))), "{returned:?}");
        assert!(compiled.function("kernel").is_none());
        assert_eq!(compiled.names().collect::<Vec<_>>(), ["subtract"]);
    }
}

/// Defines `name(x, y) = x * y`, or calls `callee` instead of multiplying.
fn define(jit: &mut Jit, name: &str, callee: Option<&str>) {
    // SAFETY: what is defined here is sound for the integers that this file passes.
    let module = unsafe { jit.module() };
    let mut signature = module.make_signature();
    signature.params = vec![AbiParam::new(types::I64); 2];
    signature.returns = vec![AbiParam::new(types::I64)];
    let linkage = cranelift_module::Linkage::Local;
    let id = module.declare_function(name, linkage, &signature).unwrap();
    let (mut context, mut reused) = (Context::new(), FunctionBuilderContext::new());
    context.func.signature = signature.clone();
    let mut b = FunctionBuilder::new(&mut context.func, &mut reused);
    let block = b.create_block();
    b.append_block_params_for_function_params(block);
    b.switch_to_block(block);
    let [x, y] = *b.block_params(block) else { panic!("two parameters") };
    let product = match callee {
        None => b.ins().imul(x, y),
        Some(callee) => {
            let linkage = cranelift_module::Linkage::Import;
            let callee = module.declare_function(callee, linkage, &signature).unwrap();
            let callee = module.declare_func_in_func(callee, b.func);
            let call = b.ins().call(callee, &[x, y]);
            b.inst_results(call)[0]
        }
    };
    b.ins().return_(&[product]);
    b.seal_all_blocks();
    b.finalize(module.isa().frontend_config());
    module.define_function(id, &mut context).unwrap();
}

#[test]
fn kernels_are_found_in_the_module() {
    let mut jit = Jit::with_runtime(Runtime::builtin()).unwrap();
    define(&mut jit, "multiply", None);
    // SAFETY: the kernel is sound for all integers; what the module defines goes first.
    let compiled = unsafe {
        jit.kernel("multiply", subtract as *const u8);
        jit.compile_ir(&binary("multiply", "multiply")).unwrap()
    };
    let returned = compiled.function("multiply").unwrap().call(&[6.into(), 7.into()]);
    assert!(matches!(returned, Ok(Returned::Int(42))), "{returned:?}");
}

#[test]
fn what_is_defined_nowhere_is_named() {
    let undefined = |symbols: &[&str]| Error::Undefined {
        symbols: symbols.iter().map(|&symbol| symbol.to_owned()).collect(),
    };
    for runtime in runtimes() {
        // Symbols of declarations do not come from the process, whatever its type there.
        for symbol in ["no_such_kernel", "free"] {
            let error = compile(runtime, &binary("f", symbol)).unwrap_err();
            assert_eq!(error, undefined(&[symbol]));
            assert_eq!(error.to_string(), format!("undefined: `{symbol}`"));
        }
        // Those of the user's own code do.
        let mut jit = Jit::with_runtime(runtime).unwrap();
        define(&mut jit, "imports", Some("no_such_function"));
        assert_eq!(jit.finish().unwrap_err(), undefined(&["no_such_function"]));
        #[cfg(unix)]
        {
            let mut jit = Jit::with_runtime(runtime).unwrap();
            define(&mut jit, "imports", Some("labs"));
            // SAFETY: `labs` ignores its second argument.
            let compiled = unsafe { jit.compile_ir(&binary("abs", "imports")) }.unwrap();
            let returned = compiled.function("abs").unwrap().call(&[(-5).into(), 0.into()]);
            assert!(matches!(returned, Ok(Returned::Int(5))), "{returned:?}");
        }
        // Promised, and never defined; a kernel given by address is no definition.
        let mut jit = Jit::with_runtime(runtime).unwrap();
        // SAFETY: nothing is defined, nor called.
        unsafe {
            let module = jit.module();
            let signature = module.make_signature();
            let linkage = cranelift_module::Linkage::Export;
            module.declare_function("promised", linkage, &signature).unwrap();
            module.declare_data("promised_data", linkage, false, false).unwrap();
            jit.kernel("promised", subtract as *const u8);
        }
        assert_eq!(jit.finish().unwrap_err(), undefined(&["promised", "promised_data"]));
    }
}

#[test]
fn kernels_of_another_type_are_refused() {
    let mut jit = Jit::with_runtime(Runtime::builtin()).unwrap();
    define(&mut jit, "kernel", None);
    let mut module = Module::default();
    wrapper(&mut module, "f", |b| {
        let kernel = import(b, "kernel", &[Type::I64, Type::F64], Some(Type::I64));
        let (x, y) = (arg(b, Type::I64, 0), arg(b, Type::F64, 1));
        let value = b.call_value(kernel, &[x, y]);
        succeed(b, 1, value);
    });
    // SAFETY: it is refused.
    let error = unsafe { jit.compile_ir(&module) }.unwrap_err();
    let Error::Backend(backend_cranelift::Error::Kernel { symbol, argument, .. }) = error else {
        panic!("{error}")
    };
    assert_eq!((symbol.as_str(), argument), ("kernel", Some(1)));
}

/// Counts its drops.
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn code_lives_as_long_as_its_last_handle() {
    let freed = Arc::new(AtomicUsize::new(0));
    let count = || freed.load(Ordering::SeqCst);
    let mut jit = Jit::with_runtime(Runtime::builtin()).unwrap();
    jit.keep(Counted(freed.clone()));
    // SAFETY: sound for any one argument.
    let compiled = unsafe { jit.compile_ir(&identity()) }.unwrap();
    let function = compiled.function("identity").unwrap();
    let clones = (compiled.clone(), function.clone());
    drop((compiled, clones));
    assert_eq!(count(), 0);
    assert!(matches!(function.call(&[1.into()]), Ok(Returned::Int(1))));
    drop(function);
    assert_eq!(count(), 1);

    // A JIT that is given up frees as well.
    let mut jit = Jit::with_runtime(Runtime::builtin()).unwrap();
    jit.keep(Counted(freed.clone()));
    // SAFETY: it is not called.
    unsafe { jit.emit(&identity()) }.unwrap();
    drop(jit);
    assert_eq!(count(), 2);
}

/// Pages by protection, as `r-xp` and so on, of the mapping that an address is in.
#[cfg(target_os = "linux")]
fn protection(address: usize) -> Option<String> {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    maps.lines().find_map(|line| {
        let (range, rest) = line.split_once(' ')?;
        let (start, end) = range.split_once('-')?;
        let bound = |text| usize::from_str_radix(text, 16).unwrap();
        (bound(start) <= address && address < bound(end)).then(|| rest[..4].to_owned())
    })
}

#[test]
#[cfg(target_os = "linux")]
fn memory_is_never_writable_and_executable() {
    let mut module = Module::default();
    for (name, writable) in [("constant", false), ("variable", true)] {
        let symbol = module.declare(&format!("{name}_data"), Linkage::Local, SymbolKind::Data);
        module.data.push(Data { writable, ..Data::constant(symbol, vec![1; 8], 8) });
        wrapper(&mut module, name, |b| {
            let address = b.address(symbol);
            succeed(b, 4, address);
        });
    }
    let compiled = compile(Runtime::builtin(), &module).unwrap();
    let function = compiled.function("constant").unwrap();
    assert_eq!(protection(function.as_ptr() as usize).unwrap(), "r-xp");
    for (name, expected) in [("constant", "r--p"), ("variable", "rw-p")] {
        let returned = compiled.function(name).unwrap().call(&[]);
        let Ok(Returned::Pointer(address)) = returned else { panic!("{returned:?}") };
        assert_eq!(protection(address as usize).unwrap(), expected, "{name}");
    }
}

/// `f<i>` returns `i` plus what `f<i+1>` returns, so that code spreads over mappings and calls across.
#[test]
fn large_modules_span_mappings() {
    const COUNT: i64 = 1500;
    let mut module = Module::default();
    for i in (0..COUNT).rev() {
        wrapper(&mut module, &format!("f{i}"), |b| {
            let one = b.i64(i);
            let sum = if i + 1 == COUNT { one } else { next(b, i, one) };
            succeed(b, 1, sum);
        });
    }
    fn next(b: &mut Builder<'_>, i: i64, one: codegen::ir::Value) -> codegen::ir::Value {
        let symbol = b.module.find(&format!("__tvm_ffi_f{}", i + 1)).unwrap();
        let slot = b.stack_slot(16, 8);
        let (handle, args, zero) = (b.null(), b.null(), b.i32(0));
        b.call(symbol, &[handle, args, zero, slot]);
        let rest = b.load(Type::I64, slot, 8);
        b.binary(codegen::ir::Binary::Add, one, rest)
    }
    let compiled = compile(Runtime::builtin(), &module).unwrap();
    // The first mapping is small; where the system puts the next ones is its own affair.
    assert!(compiled.mapped_bytes() > 32 << 10, "the test should need more than one mapping");
    let returned = compiled.function("f0").unwrap().call(&[]);
    let expected = COUNT * (COUNT - 1) / 2;
    assert!(matches!(returned, Ok(Returned::Int(sum)) if sum == expected), "{returned:?}");
}

/// `raise(kind, message, status)` of two C strings.
fn raising() -> Module {
    let mut module = Module::default();
    wrapper(&mut module, "raise", |b| {
        let set = import(b, "TVMFFIErrorSetRaisedFromCStr", &[Type::Ptr, Type::Ptr], None);
        let (kind, message) = (arg(b, Type::Ptr, 0), arg(b, Type::Ptr, 1));
        b.call(set, &[kind, message]);
        let status = arg(b, Type::I32, 2);
        b.ret(Some(status));
    });
    wrapper(&mut module, "fail", |b| {
        let status = b.i32(-1);
        b.ret(Some(status));
    });
    module
}

#[test]
fn errors_are_taken_out_of_the_slot() {
    for runtime in runtimes() {
        let compiled = compile(runtime, &raising()).unwrap();
        let [raise, fail] = ["raise", "fail"].map(|name| compiled.function(name).unwrap());
        for (kind, message) in [("ValueError", "n = 6"), ("", ""), ("Größe", "falsch")] {
            let [kind_c, message_c] = [kind, message].map(|text| CString::new(text).unwrap());
            let args = [kind_c.as_c_str().into(), message_c.as_c_str().into(), (-1).into()];
            let error = raise.call(&args).unwrap_err();
            assert_eq!((error.kind.as_str(), error.message.as_str()), (kind, message));
            assert_eq!(error.to_string(), format!("{kind}: {message}"));
        }
        let error = fail.call(&[]).unwrap_err();
        assert_eq!(error.to_string(), "RuntimeError: the call returned -1 without an error");
    }
}

#[test]
fn threads_call_at_the_same_time() {
    for runtime in runtimes() {
        let compiled = compile(runtime, &raising()).unwrap();
        let raise = compiled.function("raise").unwrap();
        drop(compiled);
        thread::scope(|scope| {
            for thread in 0..4 {
                let raise = raise.clone();
                scope.spawn(move || {
                    for i in 0..200 {
                        let text = CString::new(format!("{thread}.{i}")).unwrap();
                        let args = [c"Error".into(), text.as_c_str().into(), (-1).into()];
                        assert_eq!(raise.call(&args).unwrap_err().message, format!("{thread}.{i}"));
                    }
                });
            }
        });
    }
}

/// `text(bytes*)`, made by the runtime.
fn strings() -> Module {
    let mut module = Module::default();
    for (name, symbol) in
        [("str", "TVMFFIStringFromByteArray"), ("bytes", "TVMFFIBytesFromByteArray")]
    {
        wrapper(&mut module, name, |b| {
            let make = import(b, symbol, &[Type::Ptr, Type::Ptr], Some(Type::I32));
            let (bytes, result) = (arg(b, Type::Ptr, 0), b.param(crate::ir::RESULT));
            let status = b.call(make, &[bytes, result]);
            b.ret(status);
        });
    }
    module
}

#[test]
fn strings_of_any_length_come_back() {
    for runtime in runtimes() {
        let compiled = compile(runtime, &strings()).unwrap();
        for text in ["", "1234567", "12345678", "a longer text, which does not fit into a value"] {
            let array = abi::ByteArray::new(text.as_bytes());
            let any = abi::Any::ptr(
                abi_spec::TypeIndex::BYTE_ARRAY_PTR,
                (&raw const array).cast_mut().cast::<c_void>(),
            );
            // SAFETY: the array lives longer than the value.
            let value = unsafe { Value::from_raw(any) };
            let string = compiled.function("str").unwrap().call(&[value]).unwrap();
            assert!(matches!(&string, Returned::Str(found) if found == text), "{string:?}");
            let bytes = compiled.function("bytes").unwrap().call(&[value]).unwrap();
            assert!(matches!(&bytes, Returned::Bytes(found) if found == text.as_bytes()));
        }
    }
}

#[test]
fn runtime_functions_differ_by_runtime() {
    for runtime in runtimes() {
        assert!(runtime.symbol("TVMFFIErrorSetRaised").is_some());
        assert!(runtime.symbol("free").is_none());
        assert!(runtime.symbol("TVMFFINoSuchFunction").is_none());
        let builtin = *runtime.kind() == Kind::BuiltIn;
        assert_eq!(runtime.symbol("TVMFFIFunctionSetGlobal").is_none(), builtin);
    }
    if let Kind::Environment(path) | Kind::Config(path) = runtimes()[runtimes().len() - 1].kind() {
        // SAFETY: it is the runtime that was found before.
        let loaded = unsafe { Runtime::load(path) }.unwrap();
        assert_eq!(*loaded.kind(), Kind::Path(path.clone()));
        let returned = compile(loaded, &identity()).unwrap().function("identity").unwrap();
        assert!(matches!(returned.call(&[1.into()]), Ok(Returned::Int(1))));
    }
    // SAFETY: there is no such library.
    let error = unsafe { Runtime::load("/no/such/library.so".as_ref()) }.unwrap_err();
    assert!(matches!(error, Error::Runtime { .. }));
    assert!(error.to_string().starts_with("/no/such/library.so is not a TVM FFI runtime: "));
}

/// `describe(x)`: the address of element 0, as the kernel sees it, plus the sum of extents.
#[test]
fn tensors_describe_the_memory_they_borrow() {
    extern "C" fn first(tensor: *const abi::DLTensor) -> f64 {
        // SAFETY: the test passes tensors that have an element.
        unsafe { *(*tensor).data.cast::<f32>() }.into()
    }
    let mut module = Module::default();
    wrapper(&mut module, "first", |b| {
        let kernel = import(b, "first", &[Type::Ptr], Some(Type::F64));
        let tensor = arg(b, Type::Ptr, 0);
        let value = b.call_value(kernel, &[tensor]);
        succeed(b, 3, value);
    });
    let mut jit = Jit::with_runtime(Runtime::builtin()).unwrap();
    // SAFETY: every tensor below has an element and is of `f32`.
    let compiled = unsafe {
        jit.kernel("first", first as *const u8);
        jit.compile_ir(&module).unwrap()
    };
    let call =
        |tensor: &Tensor<'_>| match compiled.function("first").unwrap().call(&[tensor.into()]) {
            Ok(Returned::Float(value)) => value,
            other => panic!("{other:?}"),
        };
    let mut data = [1_f32, 2.0, 3.0, 4.0, 5.0, 6.0];
    assert_eq!(call(&Tensor::new(&mut data)), 1.0);
    assert_eq!(call(&Tensor::with_shape(&mut data, &[2, 3]).unwrap()), 1.0);
    assert_eq!(call(&Tensor::with_strides(&mut data, &[2, 2], &[3, -2]).unwrap()), 3.0);
    assert_eq!(call(&Tensor::with_strides(&mut data, &[6], &[-1]).unwrap()), 6.0);
    // SAFETY: `first` writes nothing.
    assert_eq!(call(&unsafe { Tensor::shared(&data, &[6]) }.unwrap()), 1.0);

    let shape = |needed, len| Error::Shape { needed, len };
    let refused = [
        (Tensor::with_shape(&mut data, &[2, 2]).unwrap_err(), shape(4, 6)),
        (Tensor::with_shape(&mut data, &[usize::MAX, 2]).unwrap_err(), shape(usize::MAX, 6)),
        (Tensor::with_shape(&mut data, &[usize::MAX, 0]).unwrap_err(), shape(0, 6)),
        (Tensor::with_strides(&mut data, &[3, 3], &[3, 1]).unwrap_err(), shape(9, 6)),
        (Tensor::with_strides(&mut data, &[2, 2], &[-6, 1]).unwrap_err(), shape(8, 6)),
        (Tensor::with_strides(&mut data, &[2], &[i64::MAX]).unwrap_err(), shape(1 << 63, 6)),
        (Tensor::with_strides(&mut data, &[2], &[]).unwrap_err(), shape(1, 6)),
    ];
    for (found, expected) in refused {
        assert_eq!(found, expected);
    }
    let view = *Tensor::with_strides(&mut data, &[0, 100], &[1000, 1]).unwrap().view();
    assert_eq!((view.ndim, view.data.cast_const().cast(), view.bits), (2, data.as_ptr(), 32));
}

#[test]
fn objects_are_counted() {
    // Returns the object that it is given, with a new reference.
    let mut module = Module::default();
    wrapper(&mut module, "share", |b| {
        let inc = import(b, "TVMFFIObjectIncRef", &[Type::Ptr], Some(Type::I32));
        let object = arg(b, Type::Ptr, 0);
        b.call(inc, &[object]);
        let index = b.load(Type::I32, object, 8);
        let index = b.convert(codegen::ir::Convert::Zext, index, Type::I64);
        let result = b.param(crate::ir::RESULT);
        b.store(index, result, 0);
        b.store(object, result, 8);
        let zero = b.i32(0);
        b.ret(Some(zero));
    });
    for runtime in runtimes() {
        let share = compile(runtime, &module).unwrap().function("share").unwrap();
        let object: ObjectRef = {
            let function = share.clone().into_ffi_function(tvm_ffi_codegen_jit::Context::none());
            // SAFETY: the reference is the function's.
            unsafe { ObjectRef::from_raw(function.unwrap().into_raw(), runtime) }.unwrap()
        };
        // SAFETY: the object is alive.
        let count =
            || unsafe { &(*object.as_raw()).combined_ref_count }.load(Ordering::SeqCst) & 0xffff;
        assert_eq!(count(), 1);
        let returned = share.call(&[(&object).into()]).unwrap();
        assert_eq!(count(), 2);
        assert!(matches!(&returned, Returned::Object(same) if same.as_raw() == object.as_raw()));
        drop(returned.clone());
        assert_eq!(count(), 2);
        drop(returned);
        assert_eq!(count(), 1);
    }
}
