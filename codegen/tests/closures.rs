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

#[test]
fn what_is_wrong_with_closures_is_said() {
    let rows = [
        (
            "f(n: int64) -> Function = { return function(self: ptr) -> None {}; };",
            "1:29: f: statement 0: a function that a body makes has no `self`",
        ),
        (
            "f(n: int64) -> Function = { return function(n: int64) -> None {}; };",
            "1:29: f: statement 0: `n` is the name of something outside the function",
        ),
        (
            "f(n: int64) -> Function = { return function() -> n: Tensor([2], int8) { return; }; };",
            "1:29: f: statement 0: `n` is the name of something outside the function",
        ),
        (
            "f(n: int64, *rest: Any) -> Function = { return function() -> None { @g(rest[0]); }; };",
            "1:41: f: statement 0: `rest` is any number of values, which a function cannot hold",
        ),
        (
            "f(n: int64) -> Function = { return function() -> int64 {}; };",
            "1:29: f: statement 0: result: a path ends here without `return` or `raise`",
        ),
        (
            "f(n: int64) -> Function = { return function() -> int64 { return m; }; };",
            "1:58: f: statement 1: nothing determines the symbol `m`",
        ),
        (
            "f(n: int64) -> Function = { return function() -> z: Tensor([n, m], int8) { return; }; };",
            "1:29: f: statement 0: z: nothing determines the symbol `m`",
        ),
        (
            "f(n: int64) -> None = { @(function() -> int64 { return n; })(); };",
            "1:25: f: statement 0: a function that is called here is named by `let` before",
        ),
        (
            "f(n: int64) -> None = { k(function() -> None {}); };",
            "1:25: f: statement 0: a function is a value of the FFI only",
        ),
        (
            "f(n: int64) -> Function = { let g = function() -> None { @(g)(); }; return g; };",
            "1:58: f: statement 1: `g` is no value of type `Function`",
        ),
        (
            "f(xs: Array[Tensor([n], int8)]) -> Function = { return function() -> int64 { return xs[0].ndim + n; }; };",
            "1:78: f: statement 1: nothing determines the symbol `n` where `xs` does not",
        ),
    ];
    for (text, expected) in rows {
        let error = text.parse::<Library>().expect_err(text).to_string();
        assert_eq!(error.lines().next(), Some(expected), "{text}");
    }
}
