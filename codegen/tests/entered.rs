//! Calls of functions of the same library: which enter behind the checks of the callee, and those that write into
//! tensors of the caller.

use tvm_ffi_codegen::{
    Call, DType, FunctionCall, Library, Options, Output, Signature, Statement, Tensor, ir, lower,
};

/// Functions that bodies call.
const CALLEES: &str = "
    one(x: Tensor([n, m], float32), y: Tensor([n, m], float32)) -> None = k21(x.data, y.data, n, m);
    square(x: Tensor([n, n], float32)) -> None = k22(x, n);
    linear(x: Tensor([n], float32), y: Tensor([2 * n + 1], float32)) -> None = k23(x, y);
    fixed(x: Tensor([4, 8], float32)) -> None = k24(x, 4);
    sized(x: Tensor([n], float32), n: int64) -> None = k25(x, n);
    some(x: Tensor([...], float16|float32, strides=any, device=any)) -> None = k26(x);
    same(x: Tensor([_], T: float16|float32), y: Tensor([_], T)) -> None = k27(x, y, T);
    aligned(x: Tensor([n], float32, align=16)) -> None = k28(x);
    on_gpu(x: Tensor([n], float32, device=cuda), y: Tensor([n], float32, device=cuda)) -> None = k29(x, y);
    strided(x: Tensor([n], float32, strides=[s])) -> None = k30(x, s);
    positive(x: Tensor([n], float32)) -> None where n > 0, n % 4 == 0 = k31(x);
    numbers(i: int64, s: int8, u: uint64, a: float64, b: bool) -> None = k32(i, s, u, a, b);
    int(i: int64, p: ptr) -> None = k33(i, p);
    text(s: str, f: Function, x: Tensor([n], float32)) -> None = { @(f)(s, x); };
    maybe(x: Tensor([n], float32), b: Optional[Tensor([n], float32)]) -> None = k34(x, b);
    list(x: Array[Tensor([n], float32)]) -> None = { for i in 0..x.size { k35(x[i]); } };
    numbered(x: Tensor([n], float32), k: int64 = 3) -> None where k > 1 = k36(x, k);
    sum(x: Tensor([n, m], float32)) -> s: Tensor([n], float32) = k37(x, s, n);
    split(x: Tensor([n, 2], T: float16|float32), by: int64 = 1) -> (a: Tensor([n], T), b: Tensor([n], T)) = k38(x, a, b, by);
    anywhere(x: Tensor([n], float32, device=any)) -> y: Tensor([n], float32, device=any) = k39(x.data, y.data, n, n);
    anything(x: Tensor([_], any), y: Tensor([_], U: any)) -> None = k60(x, y, U);
    every(*all: Any) -> y: Tensor([3], float32) = k40(y);
";

/// Returns the calls of a function by the code that they enter, as the resolved form shows them.
fn calls(function: &str) -> Vec<String> {
    let text = format!("{CALLEES}{function}");
    let library: Library = text.parse().unwrap_or_else(|error| panic!("{function}: {error}"));
    assert_eq!(library.to_string().parse(), Ok(library.clone()), "{function}");
    let resolved = library.resolve().unwrap_or_else(|error| panic!("{function}: {error}"));
    let module = lower(&resolved, &Options::default());
    ir::verify(&module).unwrap_or_else(|error| panic!("{function}: {error}"));
    let text = resolved.to_string();
    let calls = text.lines().filter_map(|line| line.split_once("call ")?.1.split_once('('));
    let calls = calls.filter(|(callee, _)| callee.contains("own @"));
    calls.map(|(callee, _)| callee.to_owned()).collect()
}

/// Asserts which calls enter behind the checks, which begin with `checked `.
fn enters(rows: &[(&str, &[&str])]) {
    for (function, expected) in rows {
        assert_eq!(calls(function), *expected, "{function}");
    }
}

#[test]
fn extents_that_the_caller_declares() {
    enters(&[
        (
            "f(a: Tensor([i, j], float32), b: Tensor([i, j], float32)) -> None = { @one(a, b); @one(b, a); @one(a, a); };",
            &["checked own @one", "checked own @one", "checked own @one"],
        ),
        (
            "f(a: Tensor([i, j], float32), b: Tensor([j, i], float32)) -> None = { @one(a, b); @square(a); };",
            &["own @one", "own @square"],
        ),
        (
            "f(a: Tensor([i, i], float32), b: Tensor([3, 3], float32)) -> None = { @square(a); @square(b); @one(a, b); };",
            &["checked own @square", "checked own @square", "own @one"],
        ),
        (
            "f(a: Tensor([_, _], float32), b: Tensor([_, _], float32)) -> None = { @one(a, a); @one(a, b); };",
            &["checked own @one", "own @one"],
        ),
        (
            "f(a: Tensor([4, 8], float32), b: Tensor([4, i], float32)) -> None = { @fixed(a); @fixed(b); };",
            &["checked own @fixed", "own @fixed"],
        ),
        (
            "f(a: Tensor([i], float32), b: Tensor([2 * i + 1], float32), c: Tensor([i * 2 + 1], float32)) -> None = { @linear(a, b); @linear(a, c); };",
            &["checked own @linear", "own @linear"],
        ),
        (
            "f(a: Tensor([i], float32), j: int64) -> None = { @sized(a, i); @sized(a, j); let k = i; @sized(a, k); };",
            &["checked own @sized", "own @sized", "own @sized"],
        ),
        (
            "f(a: Tensor([i, j], float32)) -> None = { let t = alloc Tensor([i, j], float32); let u = alloc Tensor([j], float32); @one(a, t); @sum(a) into u; };",
            &["checked own @one", "own @sum into"],
        ),
    ]);
}

#[test]
fn types_layouts_and_devices_that_the_caller_declares() {
    enters(&[
        (
            "f(a: Tensor([i], float16), b: Tensor([...], float32, device=cuda), c: Tensor([i], int8)) -> None = { @some(a); @some(b); };",
            &["checked own @some", "checked own @some"],
        ),
        ("f(a: Tensor([i], float16|float64)) -> None = { @some(a); };", &["own @some"]),
        (
            "f(a: Tensor([i], any), b: Tensor([i], int4)) -> None = { @some(a); @anything(a, a); @anything(b, a); @same(a, a); };",
            &["own @some", "checked own @anything", "checked own @anything", "own @same"],
        ),
        (
            "f(a: Tensor([i], float16), b: Tensor([_], float16), c: Tensor([i], float32)) -> None = { @same(a, b); @same(a, c); };",
            &["checked own @same", "own @same"],
        ),
        (
            "f(a: Tensor([i], S: float16|float32), b: Tensor([_], S)) -> None = { @same(a, b); };",
            &["checked own @same"],
        ),
        (
            "f(a: Tensor([i], float16|float32), b: Tensor([_], float16|float32)) -> None = { @same(a, b); };",
            &["own @same"],
        ),
        (
            "f(a: Tensor([i], float32), b: Tensor([i], float32, align=32)) -> None = { @aligned(a); @aligned(b); };",
            &["own @aligned", "checked own @aligned"],
        ),
        (
            "f(a: Tensor([i], float32, device=cuda), b: Tensor([i], float32, device=any)) -> None = { @on_gpu(a, a); @on_gpu(a, b); };",
            &["checked own @on_gpu", "own @on_gpu"],
        ),
        // The device of a result is nobody's but its own.
        (
            "f(a: Tensor([i], float32, device=cuda), g: Function) -> None = { let b: Tensor([i], float32, device=cuda) = @(g)(); @on_gpu(a, b); };",
            &["own @on_gpu"],
        ),
        (
            "f(a: Tensor([i], float32, device=cuda)) -> None = { let b = alloc Tensor([i], float32, device=cuda) on a; let c = alloc Tensor([i], float32, device=cuda); @on_gpu(a, b); @on_gpu(a, c); };",
            &["checked own @on_gpu", "own @on_gpu"],
        ),
        (
            "f(a: Tensor([i, j], float32, strides=any), b: Tensor([i, j], float32)) -> None = { @one(a, b); };",
            &["own @one"],
        ),
        ("f(a: Tensor([i], float32)) -> None = { @strided(a); };", &["own @strided"]),
    ]);
}

#[test]
fn conditions_and_other_values() {
    enters(&[
        (
            "f(a: Tensor([i], float32)) -> None where i % 4 == 0, i > 0 = { @positive(a); };",
            &["checked own @positive"],
        ),
        (
            "f(a: Tensor([i], float32)) -> None where i > 0 = { if i % 4 == 0 { @positive(a); } };",
            &["own @positive"],
        ),
        (
            "f(i: int64, s: int8, u: uint64, a: float64, b: bool, p: ptr) -> None = { @numbers(i, s, u, a, b); @int(i, p); @int(s, p); @int(u, p); @int(b, p); @int(7, p); };",
            &[
                "own @numbers",
                "checked own @int",
                "checked own @int",
                "own @int",
                "own @int",
                "checked own @int",
            ],
        ),
        (
            "f(s: str, g: Function, a: Tensor([i], float32), t: Any) -> None = { @text(s, g, a); @text(\"s\", g, a); @text(t, g, a); };",
            &["checked own @text", "checked own @text", "own @text"],
        ),
        (
            "f(a: Tensor([i], float32), b: Optional[Tensor([i], float32)]) -> None = { @maybe(a, None); @maybe(a, a); @maybe(a, b); };",
            &["checked own @maybe", "checked own @maybe", "own @maybe"],
        ),
        // Lists may change.
        ("f(a: Array[Tensor([i], float32)]) -> None = { @list(a); };", &["own @list"]),
        (
            "f(a: Tensor([i], float32), k: int64) -> None where k > 1 = { @numbered(a, k); @numbered(a); };",
            &["checked own @numbered", "own @numbered"],
        ),
        // Values that a closure holds have been checked before lists changed.
        (
            "f(a: Tensor([i, j], float32)) -> Function = { return function() -> None { @one(a, a); }; };",
            &["own @one"],
        ),
    ]);
}

#[test]
fn tensors_to_write() {
    enters(&[
        (
            "f(a: Tensor([i, j], float32), t: Tensor([i], float32), u: Tensor([j], float32)) -> None = { @sum(a) into t; @sum(a) into u; };",
            &["checked own @sum into", "own @sum into"],
        ),
        (
            "f(a: Tensor([i, 2], float16)) -> (t: Tensor([i], float16), u: Tensor([i], float16)) = { @split(a) into t, u; @split(a, 2) into u, t; };",
            &["checked own @split into", "checked own @split into"],
        ),
        (
            "f(a: Tensor([i], float32, device=any), t: Tensor([i], float32, device=any)) -> None = { @anywhere(a) into t; };",
            &["own @anywhere into"],
        ),
        (
            "f(a: Tensor([i], float32), t: Tensor([i], float32)) -> None = { @anywhere(a) into t; };",
            &["own @anywhere into"],
        ),
    ]);
    let wrong = [
        ("@sum(x);", None),
        ("@sum(x) into y;", None),
        (
            "@sum(x) into y, y;",
            Some("`sum(x: Tensor([n, m], float32))` returns 1 tensors that it allocates, not 2"),
        ),
        (
            "@one(x, x) into y;",
            Some(
                "`one(x: Tensor([n, m], float32), y: Tensor([n, m], float32))` returns 0 tensors that it allocates, not 1",
            ),
        ),
        (
            "let r = @sum(x) into y;",
            Some("a call that writes `into` tensors has no result, which `r` could name"),
        ),
        (
            "@other(x) into y;",
            Some("`@other` is no function of this library: only one writes `into` tensors"),
        ),
        (
            "@\"other\"(x) into y;",
            Some("`@\"other\"` is no function of this library: only one writes `into` tensors"),
        ),
        (
            "@(g)(x) into y;",
            Some("`@(g)` is no function of this library: only one writes `into` tensors"),
        ),
        ("@sum(x) into n;", Some("`n` is no tensor to write into")),
        ("@sum(x) into [y];", Some("`[y]` is no tensor to write into")),
        (
            "@every(x) into y;",
            Some(
                "`every(*all: Any)` takes any number of arguments, so that no tensors can follow them",
            ),
        ),
    ];
    for (statement, reason) in wrong {
        let f = "f(x: Tensor([n, m], float32), y: Tensor([n], float32), g: Function) -> None";
        let text = format!("{CALLEES}{f} = {{ {statement} }};");
        let found = text.parse::<Library>().err().map(|error| error.to_string());
        let found = found.as_deref().map(|text| text.lines().next().unwrap_or_default());
        let found = found.map(|text| text.split_once("statement 0: ").unwrap_or(("", text)).1);
        assert_eq!(found, reason, "{statement}");
    }
    let found = format!("{CALLEES}f() -> None = {{ @sum(x) into; }};").parse::<Library>();
    assert!(found.unwrap_err().to_string().contains("expected a tensor"));
}

#[test]
fn builders_give_tensors_to_write() {
    let tensor = || Tensor::new(["n"], DType::FLOAT32);
    let double = Signature::new("double").param("x", tensor()).returns(Output::new("y", tensor()));
    let double = double.body(Call::kernel("k", ["x", "y"]));
    let plan = Signature::new("plan").param("x", tensor()).param("t", tensor());
    let plan = plan.body([Statement::call(FunctionCall::symbol("double", ["x"]).with_into(["t"]))]);
    let library = Library::new([double, plan]);
    library.validate().unwrap();
    assert!(library.to_string().contains("@double(x) into t;"));
}
