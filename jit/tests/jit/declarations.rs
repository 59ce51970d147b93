//! Declarations, compiled and called.

use std::ffi::c_void;

use abi_spec::library_bin::{self, ImportTree, Node};
use tvm_ffi_codegen::Library;
use tvm_ffi_codegen_jit::{Arg, Context, Error, Jit, JitOptions, Runtime, TensorView};

use crate::ir::{float, int, runtimes};

extern "C" fn add_one_kernel(x: *const f32, y: *mut f32, n: i64) {
    for i in 0..n as usize {
        // SAFETY: the declaration says that both have `n` elements.
        unsafe { *y.add(i) = *x.add(i) + 1.0 };
    }
}

const ADD_ONE: &str = "add_one(x: Tensor([n], float32), y: Tensor([n], float32)) -> None
    = add_one_kernel(x.data, y.data, n);";

fn jit(runtime: &'static Runtime, kernels: &[(&str, *const u8)]) -> Jit {
    let mut jit = Jit::with_runtime(runtime).unwrap();
    for &(symbol, address) in kernels {
        // SAFETY: the kernels of this file are sound for the arguments of its declarations.
        jit = unsafe { jit.kernel_at(symbol, address) };
    }
    jit
}

#[test]
fn a_library_with_imports_runs() {
    for runtime in runtimes() {
        let module = |kind: &'static str| library_bin::Module::Custom {
            kind: kind.into(),
            bytes: vec![7; 1 << 20].into(),
        };
        let nodes = vec![
            Node { module: library_bin::Module::Library, children: vec![1] },
            Node { module: module("a"), children: vec![] },
        ];
        let library = ADD_ONE.parse::<Library>().unwrap().with_imports(ImportTree { nodes });
        let kernel = ("add_one_kernel", add_one_kernel as *const u8);
        let compiled = jit(runtime, &[kernel]).compile(&library).unwrap();
        let (mut x, mut y) = ([1.0_f32, 2.0], [0.0_f32; 2]);
        compiled.function("add_one").unwrap().call((&mut x, &mut y)).unwrap();
        assert_eq!(y, [2.0, 3.0]);
    }
}

#[test]
fn a_declaration_runs_and_refuses() {
    for runtime in runtimes() {
        let library: Library = ADD_ONE.parse().unwrap();
        let kernel = ("add_one_kernel", add_one_kernel as *const u8);
        let compiled = jit(runtime, &[kernel]).compile(&library).unwrap();
        let add_one = compiled.function("add_one").unwrap();
        let (mut x, mut y) = ([1.0_f32, 2.0, 3.0], [0.0_f32; 3]);
        assert!(add_one.call((&mut x, &mut y)).unwrap().is_none());
        assert_eq!(y, [2.0, 3.0, 4.0]);

        let signature = "`add_one(x: Tensor([n], float32), y: Tensor([n], float32))`";
        let mut ints = [0; 3];
        let mut tensors = [TensorView::new(&mut x), TensorView::new(&mut ints)];
        let tensors = tensors.each_mut().map(Arg::from);
        let rows = [
            (
                &tensors[..],
                format!(
                    "TypeError: Mismatched y.dtype on argument #1 when calling: {signature}, \
                     expected float32 but got int32"
                ),
            ),
            (
                &tensors[..1],
                format!(
                    "TypeError: Mismatched number of arguments when calling: {signature}, \
                     expected 2 but got 1"
                ),
            ),
            (
                &[1.into(), 2.into()],
                format!(
                    "TypeError: Mismatched type of x on argument #0 when calling: {signature}, \
                     expected Tensor but got int"
                ),
            ),
        ];
        for (args, expected) in rows {
            assert_eq!(add_one.call(args).unwrap_err().to_string(), expected);
        }
    }
}

#[test]
fn missing_kernels_are_named() {
    let library: Library = ADD_ONE.parse().unwrap();
    let error = jit(Runtime::builtin(), &[]).compile(&library).unwrap_err();
    assert_eq!(error, Error::Undefined { symbols: vec!["add_one_kernel".into()] });
}

#[test]
fn invalid_declarations_are_refused() {
    // Parsing would have refused it.
    let mut library: Library = ADD_ONE.parse().unwrap();
    library.functions[0].signature.name.clear();
    let error = jit(Runtime::builtin(), &[]).compile(&library).unwrap_err();
    assert!(matches!(error, Error::Declaration(_)), "{error}");
}

#[test]
fn closures_are_declared() {
    extern "C" fn scale(context: *const c_void, x: f64) -> f64 {
        // SAFETY: the context is an `f64`.
        unsafe { *context.cast::<f64>() * x }
    }
    let library: Library = "scale(self: ptr, x: float64) -> float64 = scale(self, x);
        plain(x: float64) -> float64 = plain(x);"
        .parse()
        .unwrap();
    extern "C" fn plain(x: f64) -> f64 {
        x + 0.5
    }
    for runtime in runtimes() {
        let kernels = [("scale", scale as *const u8), ("plain", plain as *const u8)];
        let compiled = jit(runtime, &kernels).compile(&library).unwrap();
        assert_eq!(compiled.names().collect::<Vec<_>>(), ["plain", "scale"]);
        let function = compiled.function("scale").unwrap();
        assert!(function.call((1.0,)).is_err());
        // SAFETY: the kernel takes a `*const f64`.
        let object = function.into_ffi_function(unsafe { Context::new(3.0_f64) }).unwrap();
        assert_eq!(float(object.call((7.0,))), 21.0);
        let error = object.call(((),)).unwrap_err().to_string();
        assert!(error.starts_with("TypeError: Mismatched type of x on argument #0"), "{error}");
        let object =
            compiled.function("plain").unwrap().into_ffi_function(Context::none()).unwrap();
        assert_eq!(float(object.call((2,))), 2.5);
    }
}

#[test]
fn status_kernels_pass_errors_on() {
    extern "C" fn check(x: i64) -> i32 {
        (x as i32) - 1
    }
    let library: Library = "check(x: int64) -> None = try check(x);".parse().unwrap();
    for runtime in runtimes() {
        let compiled = jit(runtime, &[("check", check as *const u8)]).compile(&library).unwrap();
        let function = compiled.function("check").unwrap();
        assert!(function.call((1,)).unwrap().is_none());
        let error = function.call((8,)).unwrap_err();
        assert_eq!(error.kind, "RuntimeError");
        assert!(error.message.contains('7'), "{error}");
    }
}

#[test]
fn system_libraries_are_refused() {
    for runtime in runtimes() {
        let library: Library = "f() -> None = k();".parse().unwrap();
        let library = library.with_system_lib("a_");
        let source = tvm_ffi_codegen::lower(&library.resolve().unwrap(), &Jit::OPTIONS);
        extern "C" fn k() {}
        // SAFETY: the kernel takes nothing and returns nothing, and lowering made the host IR.
        let emitted = unsafe { jit(runtime, &[("k", k as *const u8)]).emit(&source) };
        let constructors = Error::Backend(tvm_ffi_codegen::backend::Error::Constructors);
        assert_eq!(emitted.unwrap_err(), constructors);
        // A kernel that is missing is not what is said.
        let error = jit(runtime, &[]).compile(&library).unwrap_err();
        let message = "a system library registers itself when a program starts that it is linked into: \
             emit an object file";
        assert_eq!(error.to_string(), message);
        assert!(matches!(error, Error::Backend(_)), "{error:?}");
    }
}

#[test]
fn the_entry_is_a_function_too() {
    extern "C" fn same(n: i64) -> i64 {
        n
    }
    let text = "f(n: int64) -> int64 = same(n); g(self: ptr, n: int64) -> int64 = same(n);";
    for runtime in runtimes() {
        let compile = |entry: &str| {
            let library = text.parse::<Library>().unwrap().with_entry(entry);
            let lowering = tvm_ffi_codegen::Options { metadata: true, ..Jit::OPTIONS };
            let options = JitOptions { runtime, lowering, ..JitOptions::default() };
            // SAFETY: the kernel is sound for all integers.
            let jit = unsafe {
                Jit::with_options(options).unwrap().kernel("same", same as extern "C" fn(_) -> _)
            };
            jit.compile(&library).unwrap()
        };
        let compiled = compile("f");
        // Getters of metadata are no functions of the library.
        assert_eq!(compiled.names().collect::<Vec<_>>(), ["f", "g", "main"]);
        let main = compiled.function("main").unwrap();
        assert_eq!(int(main.call((7,))), 7);
        let error = main.call(()).unwrap_err().to_string();
        assert!(error.contains("when calling: `f(n: int64)`, expected 1 but got 0"), "{error}");
        // The entry passes its handle on, so it is a closure if the function is one.
        let error = compile("g").function("main").unwrap().call((7,)).unwrap_err();
        assert_eq!(error.to_string(), "RuntimeError: closure `main` needs a context");
    }
}

extern "C" fn nothing() {}

#[test]
fn a_message_that_loses_its_end_says_so() {
    let names: Vec<String> = (0..40).map(|i| format!("{}{i}", "n".repeat(60))).collect();
    let params: Vec<String> = names.iter().map(|name| format!("{name}: int64")).collect();
    for runtime in runtimes() {
        for padding in ["", "a", "ab", "abc"] {
            let message = format!("{padding}{}", "π".repeat(500));
            let text = format!(
                "f({}) -> None where {} == 1 else \"{message}\" = nothing();",
                params.join(", "),
                names.join(" + "),
            );
            let library: Library = text.parse().unwrap();
            let compiled = jit(runtime, &[("nothing", nothing as *const u8)]).compile(&library);
            let compiled = compiled.unwrap();
            let arguments = vec![Arg::from(7_i64); names.len()];
            let error = compiled.function("f").unwrap().call(&arguments).unwrap_err();
            let message = error.to_string();
            assert!(message.ends_with('…'), "{message}");
            assert!(!message.contains('\u{fffd}'), "{message}");
            let body = message.split_once(": ").map_or(&*message, |(_, body)| body);
            assert_eq!(body.len(), 4096, "{message}");
        }
    }
}
