//! Kernels: given as functions, by address and in the native module; missing kernels, and kernels of another type.

use crate::ir::{arg, binary, compile, import, int, runtimes, succeed, wrapper};
use cranelift_codegen::Context;
use cranelift_codegen::ir::{AbiParam, InstBuilder, Value, types};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_module::{Linkage, Module, ModuleError};
use tvm_ffi_codegen::ir::{self, Type};
use tvm_ffi_codegen_jit::{Arg, Error, Jit, Runtime};

extern "C" fn subtract(x: i64, y: i64) -> i64 {
    x - y
}

#[test]
fn kernels_are_called_by_address() {
    for runtime in runtimes() {
        let jit = Jit::with_runtime(runtime).unwrap();
        // SAFETY: the kernel is sound for all integers that this test passes.
        let compiled = unsafe {
            let jit = jit.kernel("kernel", subtract as extern "C" fn(_, _) -> _);
            jit.emit(&binary("subtract", "kernel")).unwrap().finish().unwrap()
        };
        let returned = compiled.function("subtract").unwrap().call((50, 8));
        assert_eq!(int(returned), 42);
        assert!(compiled.function("kernel").is_none());
        assert_eq!(compiled.names().collect::<Vec<_>>(), ["subtract"]);
    }
}

/// Kernels that declarations or functions of the native module call are called. Kernels of other names are not, nor are
/// those that a function of the runtime or of the native module precedes.
#[test]
fn kernels_that_nobody_calls_are_known() {
    let library = "f(x: int64, y: int64) -> int64 = first(x, y); g(x: int64, y: int64) -> int64 = product(x, y);";
    let given = ["second", "frist", "first", "product", "TVMFFIErrorMoveFromRaised"];
    for runtime in runtimes() {
        let subtract: extern "C" fn(_, _) -> _ = subtract;
        let give = |jit: Jit, name: &&str| {
            // SAFETY: the kernel is sound for all integers that this test passes.
            unsafe { jit.kernel(name, subtract) }
        };
        let jit = given.iter().fold(Jit::with_runtime(runtime).unwrap(), give);
        let jit = define(jit, "product", Some("second"));
        let compiled = jit.compile(&library.parse().unwrap()).unwrap();
        let expected = ["TVMFFIErrorMoveFromRaised", "frist", "product"];
        assert_eq!(compiled.uncalled().collect::<Vec<_>>(), expected);
        assert_eq!(int(compiled.function("g").unwrap().call((50, 8))), 42);
    }
}

/// Defines `name(x, y) = x * y`, or calls `callee` instead of multiplying.
pub(crate) fn define(jit: Jit, name: &str, callee: Option<&str>) -> Jit {
    // SAFETY: the function is sound for the integers that this file passes.
    unsafe { jit.define_native(|module| define_in(module, name, callee)) }.unwrap()
}

fn define_in(
    module: &mut dyn Module,
    name: &str,
    callee: Option<&str>,
) -> Result<(), Box<ModuleError>> {
    define_of(module, name, &[types::I64; 2], |module, b, params| {
        let [x, y] = *params else { panic!("two parameters") };
        let Some(callee) = callee else { return Ok(b.ins().imul(x, y)) };
        let signature = b.func.signature.clone();
        let callee = module.declare_function(callee, Linkage::Import, &signature)?;
        let callee = module.declare_func_in_func(callee, b.func);
        let call = b.ins().call(callee, &[x, y]);
        Ok(b.inst_results(call)[0])
    })
}

/// Defines a function of one block that returns an integer, with a body that computes it from the parameters.
fn define_of(
    module: &mut dyn Module,
    name: &str,
    of: &[types::Type],
    body: impl FnOnce(
        &mut dyn Module,
        &mut FunctionBuilder<'_>,
        &[Value],
    ) -> Result<Value, Box<ModuleError>>,
) -> Result<(), Box<ModuleError>> {
    let mut signature = module.make_signature();
    signature.params = of.iter().copied().map(AbiParam::new).collect();
    signature.returns = vec![AbiParam::new(types::I64)];
    let id = module.declare_function(name, Linkage::Local, &signature)?;
    let (mut context, mut reused) = (Context::new(), FunctionBuilderContext::new());
    context.func.signature = signature;
    let mut b = FunctionBuilder::new(&mut context.func, &mut reused);
    let block = b.create_block();
    b.append_block_params_for_function_params(block);
    b.switch_to_block(block);
    let params = b.block_params(block).to_vec();
    let result = body(module, &mut b, &params)?;
    b.ins().return_(&[result]);
    b.seal_all_blocks();
    b.finalize(module.isa().frontend_config());
    Ok(module.define_function(id, &mut context)?)
}

#[test]
fn kernels_are_found_in_the_module() {
    let jit = define(Jit::with_runtime(Runtime::builtin()).unwrap(), "multiply", None);
    // SAFETY: the kernel is sound for all integers; the one of the native module precedes it.
    let compiled = unsafe {
        let jit = jit.kernel("multiply", subtract as extern "C" fn(_, _) -> _);
        jit.emit(&binary("multiply", "multiply")).unwrap().finish().unwrap()
    };
    let returned = compiled.function("multiply").unwrap().call((6, 7));
    assert_eq!(int(returned), 42);
}

#[test]
fn what_is_defined_nowhere_is_named() {
    let undefined = |symbols: &[&str]| Error::Undefined {
        symbols: symbols.iter().map(|&symbol| symbol.to_owned()).collect(),
    };
    for runtime in runtimes() {
        // Symbols of declarations do not come from the process.
        for symbol in ["no_such_kernel", "free"] {
            let error = compile(runtime, &binary("f", symbol)).unwrap_err();
            assert_eq!(error, undefined(&[symbol]));
            assert_eq!(error.to_string(), format!("undefined: `{symbol}`"));
        }
        // Imports of the user's own code do.
        let jit = Jit::with_runtime(runtime).unwrap();
        let jit = define(jit, "imports", Some("no_such_function"));
        assert_eq!(jit.finish().unwrap_err(), undefined(&["no_such_function"]));
        #[cfg(unix)]
        {
            let jit = define(Jit::with_runtime(runtime).unwrap(), "imports", Some("labs"));
            // SAFETY: `labs` ignores its second argument.
            let jit = unsafe { jit.emit(&binary("abs", "imports")) };
            let compiled = jit.unwrap().finish().unwrap();
            let returned = compiled.function("abs").unwrap().call((-5, 0));
            assert_eq!(int(returned), 5);
        }
        // A kernel does not define a symbol that the native module promises to define.
        let declare = |module: &mut dyn Module| -> Result<(), Box<ModuleError>> {
            let (signature, linkage) = (module.make_signature(), Linkage::Export);
            module.declare_function("promised", linkage, &signature)?;
            module.declare_data("promised_data", linkage, false, false)?;
            Ok(())
        };
        // SAFETY: nothing is defined, nor called.
        let jit = unsafe {
            let jit = Jit::with_runtime(runtime).unwrap().define_native(declare).unwrap();
            jit.kernel("promised", subtract as extern "C" fn(_, _) -> _)
        };
        assert_eq!(jit.finish().unwrap_err(), undefined(&["promised", "promised_data"]));
    }
}

#[test]
fn kernels_of_another_type_are_refused() {
    let mut module = ir::Module::default();
    wrapper(&mut module, "f", |b| {
        let kernel = import(b, "kernel", &[Type::I64, Type::F64], Some(Type::I64));
        let (x, y) = (arg(b, Type::I64, 0), arg(b, Type::F64, 1));
        let value = b.call_value(kernel, &[x, y]);
        succeed(b, 1, value);
    });
    let jit = || Jit::with_runtime(Runtime::builtin()).unwrap();
    // SAFETY: it is refused.
    let error = unsafe { define(jit(), "kernel", None).emit(&module) }.unwrap_err();
    let Error::Backend(backend_cranelift::Error::Kernel { symbol, argument, .. }) = error else {
        panic!("{error}")
    };
    assert_eq!((symbol.as_str(), argument), ("kernel", Some(1)));
    // SAFETY: it is refused.
    let error = unsafe {
        jit().kernel("kernel", subtract as extern "C" fn(_, _) -> _).emit(&module).unwrap_err()
    };
    assert_eq!(
        error.to_string(),
        "kernel `kernel` is called as (i64, f64) -> i64 and was given as (i64, i64) -> i64"
    );
    // SAFETY: it is not called.
    let jit = unsafe { jit().kernel_at("kernel", subtract as *const u8).emit(&module) };
    assert_eq!(jit.unwrap().finish().unwrap().names().collect::<Vec<_>>(), ["f"]);
}

/// Defines `k`, which adds its parameters, each times its number; every third is a float.
fn define_sum(module: &mut dyn Module, count: usize) -> Result<(), Box<ModuleError>> {
    let of = |i: usize| if i.is_multiple_of(3) { types::F64 } else { types::I64 };
    define_of(module, "k", &(0..count).map(of).collect::<Vec<_>>(), |_, b, params| {
        let mut sum = b.ins().iconst(types::I64, 0);
        for (i, &param) in params.iter().enumerate() {
            let is_float = of(i) == types::F64;
            let value = if is_float { b.ins().fcvt_to_sint_sat(types::I64, param) } else { param };
            let times = b.ins().imul_imm_s(value, i as i64 + 1);
            sum = b.ins().iadd(sum, times);
        }
        Ok(sum)
    })
}

/// In functions with more than 64 parameters, and in those that call them, registers are allocated in another way.
#[test]
fn kernels_have_hundreds_of_parameters() {
    for (count, runtime) in
        [60, 70, 300].into_iter().flat_map(|n| runtimes().into_iter().map(move |r| (n, r)))
    {
        let of = |i: usize| if i.is_multiple_of(3) { "float64" } else { "int64" };
        let params = (0..count).map(|i| format!("x{i}: {}", of(i))).collect::<Vec<_>>().join(", ");
        let args = (0..count).map(|i| format!("x{i}")).collect::<Vec<_>>().join(", ");
        let library = format!("f({params}) -> int64 = k({args});").parse();
        let jit = Jit::with_runtime(runtime).unwrap();
        // SAFETY: the kernel is sound for all numbers.
        let jit = unsafe { jit.define_native(|module| define_sum(module, count)) }.unwrap();
        let function = jit.compile(&library.unwrap()).unwrap().function("f").unwrap();
        let values = (0..count as i64).map(|i| i * i - 7 * i);
        let sum: i64 = values.clone().zip(1..).map(|(value, times)| times * value).sum();
        let mut args: Vec<Arg<'_>> = values
            .enumerate()
            .map(
                |(i, value)| {
                    if i.is_multiple_of(3) { Arg::from(value as f64) } else { Arg::from(value) }
                },
            )
            .collect();
        assert_eq!(int(function.call(&args)), sum, "{count}");
        args[count - 1] = Arg::from(c"text");
        let error = function.call(&args).unwrap_err();
        assert!(error.message.contains(&format!("type of x{}", count - 1)), "{error}");
    }
}

/// A JIT shows what it was given.
#[test]
fn a_jit_is_shown_with_its_kernels() {
    extern "C" fn k() {}
    let kernel: extern "C" fn() = k;
    // SAFETY: the kernel is sound.
    let jit = unsafe { Jit::new().unwrap().kernel("k", kernel).kernel("j", kernel) };
    let jit = jit.function("g", |n: i64| n).unwrap();
    assert_eq!(
        format!("{jit:?}"),
        r#"Jit { kernels: ["j", "k"], functions: ["g"], emitted: [], .. }"#
    );
}
