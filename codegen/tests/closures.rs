//! Functions that bodies make: what they hold, and what is wrong with them.

use tvm_ffi_codegen::{Library, Options, ir, lower};

/// Lowers and verifies a declaration; returns the printed module.
fn lowered(text: &str) -> String {
    let library: Library = text.parse().unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(library.to_string().parse(), Ok(library.clone()), "{library}");
    let module = lower(&library.resolve().unwrap(), &Options::default());
    ir::verify(&module).unwrap();
    module.to_string()
}

#[test]
fn closures_hold_everything_that_they_name() {
    let text = "
        f(n: int64, a: int8, u: uint64, p: ptr, h: float16, x: Tensor([n, m], float32), s: str, d: dtype,
          o: Optional[Tensor([k], int8)], g: Function, xs: Array[int64]) -> Function
            = {
                let l = n * 2;
                let t = alloc Tensor([n, m], float32) on x;
                return function(y: Tensor([m, l], float32), i: int64) -> int64 where i < n {
                    kernel(y.data, x.data, t.data, a, u, p, h, s, d, l, i, o.data);
                    @(g)(x, t, s, o);
                    return xs[0] + m + xs.size;
                };
            };
    ";
    let module = lowered(text);
    assert!(module.contains("tvm_ffi_codegen.closure.f.0"), "{module}");
}

#[test]
fn closures_in_closures() {
    let text = "
        f(n: int64) -> Function
            = {
                let add = function(m: int64) -> Function { return function(k: int64) -> int64 { return n + m + k; }; };
                let g: Function = @(add)(1);
                if n > 3 { return g; }
                return add;
            };
    ";
    let module = lowered(text);
    assert!(module.contains("tvm_ffi_codegen.closure.f.0.0"), "{module}");
}
