//! Addresses of compiled code by symbol, and libraries that call the code of others.

use std::sync::Arc;

use tvm_ffi_codegen::Library;
use tvm_ffi_codegen_jit::{Compiled, Error, Jit, Runtime};

use crate::ir::{installed, int, runtimes};
use crate::kernels::define;

extern "C" fn subtract(x: i64, y: i64) -> i64 {
    x - y
}

fn parse(text: &str) -> Library {
    text.parse().unwrap()
}

/// A library that defines kernel `multiply` and is given kernel `subtract`.
fn base(runtime: &'static Runtime, witness: &Arc<()>) -> Compiled {
    let jit = Jit::with_runtime(runtime).unwrap().keep(witness.clone());
    let jit = define(jit, "multiply", None);
    // SAFETY: the kernel is sound for all integers that this test passes.
    let jit = unsafe { jit.kernel("subtract", subtract as extern "C" fn(_, _) -> _) };
    let text = "
        extern product(x: int64, y: int64) -> int64 = multiply(x, y);
        less(x: int64, y: int64) -> int64 = subtract(x, y);
        closure(self: ptr) -> None = {};
    ";
    jit.compile(&parse(text)).unwrap()
}

#[test]
fn addresses_are_found_by_symbol() {
    for runtime in runtimes() {
        let compiled = base(runtime, &Arc::new(()));
        let of = |name: &str| compiled.function(name).unwrap().as_ptr() as *const _;
        let rows = [
            ("__tvm_ffi_product", Some(of("product"))),
            ("__tvm_ffi_closure", Some(of("closure"))),
            ("product", compiled.external("product")),
            ("subtract", Some(subtract as *const _)),
            ("multipl", None),
            ("less", None),
            ("", None),
            ("__tvm_ffi_", None),
            ("malloc", None),
        ];
        for (symbol, expected) in rows {
            assert_eq!(compiled.address(symbol), expected, "{symbol}");
        }
        let multiply = compiled.address("multiply").expect("it is defined");
        // SAFETY: this is the type of the kernel.
        let multiply: extern "C" fn(i64, i64) -> i64 = unsafe { std::mem::transmute(multiply) };
        assert_eq!(multiply(6, 7), 42);
    }
}

/// Calls a function of another library, and kernels that the other defines and was given.
#[test]
fn libraries_call_the_code_of_others() {
    let text = "
        by_symbol(n: int64) -> int64 = { let r: int64 = @less(n, 1); return r; };
        by_kernel(n: int64) -> int64 = { let r: int64 = multiply(n, 2); let s: int64 = subtract(r, 1); return s; };
    ";
    for runtime in runtimes() {
        let witness = Arc::new(());
        let first = base(runtime, &witness);
        // SAFETY: the kernels are sound for all integers that this test passes.
        let jit = unsafe { Jit::with_runtime(runtime).unwrap().import(&first) }.unwrap();
        let second = jit.compile(&parse(text)).unwrap();
        assert_eq!(second.uncalled().count(), 0);
        // The third library gets what the second one has got.
        // SAFETY: as above.
        let jit = unsafe { Jit::with_runtime(runtime).unwrap().import(&second) }.unwrap();
        let third = "g(n: int64) -> int64 = { let a: int64 = @by_symbol(n); let b: int64 = multiply(a, n); return b; };";
        let third = jit.compile(&parse(third)).unwrap().function("g").unwrap();
        let functions = ["by_symbol", "by_kernel"].map(|name| second.function(name).unwrap());
        drop((first, second));
        assert_eq!(functions.each_ref().map(|function| int(function.call((10,)))), [9, 19]);
        drop(functions);
        assert_eq!((Arc::strong_count(&witness), int(third.call((10,)))), (2, 90));
        drop(third);
        assert_eq!(Arc::strong_count(&witness), 1);
    }
}

#[test]
fn what_cannot_be_imported_is_an_error() {
    for runtime in runtimes() {
        let first = base(runtime, &Arc::new(()));
        let compile = |text: &str| {
            // SAFETY: nothing is called.
            let jit = unsafe { Jit::with_runtime(runtime).unwrap().import(&first) }.unwrap();
            jit.compile(&parse(text)).unwrap_err()
        };
        let error = compile("f(x: float64) -> int64 = subtract(x, 1);").to_string();
        assert_eq!(
            error,
            "kernel `subtract` is called as (f64, i64) -> i64 and was given as (i64, i64) -> i64"
        );
        let error = compile("f(x: float64) -> int64 = multiply(x, 1);");
        assert!(
            matches!(error, Error::Backend(_)) && error.to_string().contains("multiply"),
            "{error}"
        );
        let error = compile("f() -> None = { @closure(); };").to_string();
        assert_eq!(error, "undefined: `__tvm_ffi_closure`");
    }
    if let Some(installed) = installed() {
        let first = base(installed, &Arc::new(()));
        // SAFETY: nothing is called.
        let error =
            unsafe { Jit::with_runtime(Runtime::builtin()).unwrap().import(&first) }.unwrap_err();
        assert_eq!(error, Error::Foreign);
    }
}

/// A library's own functions precede those that it imports; later kernels and imports precede earlier ones.
#[test]
fn names_that_are_taken() {
    extern "C" fn add(x: i64, y: i64) -> i64 {
        x + y
    }
    let runtime = Runtime::builtin();
    let first = base(runtime, &Arc::new(()));
    let text = "
        less(x: int64, y: int64) -> int64 = { return x; };
        f(x: int64) -> int64 = { let r: int64 = @less(x, 1); let s: int64 = subtract(r, 1); return s; };
    ";
    let give = |jit: Jit| {
        // SAFETY: the kernel is sound for the integers that this test passes.
        unsafe { jit.kernel("subtract", add as extern "C" fn(_, _) -> _) }
    };
    // SAFETY: as above.
    let import = |jit: Jit| unsafe { jit.import(&first) }.unwrap();
    let jit = || Jit::with_runtime(runtime).unwrap();
    for (jit, expected) in [(give(import(jit())), 11), (import(give(jit())), 9)] {
        let compiled = jit.compile(&parse(text)).unwrap();
        assert_eq!(int(compiled.function("f").unwrap().call((10,))), expected);
    }
}
