//! Results whose type is that of a function of the same library.

use tvm_ffi_codegen::{Call, Library, Scalar, Signature, Statement};

/// Functions that bodies call.
const CALLEES: &str = "
    size(x: Tensor([n, m], float32)) -> int64 = { return n * m; };
    matmul(x: Tensor([n, k], float32), w: Tensor([k, m], float32)) -> y: Tensor([n, m], float32) = k1(x, w, y);
    pad(x: Tensor([n], float32), by: int64) -> y: Tensor([n + 2 * by], float32) = k2(x, y);
    split(x: Tensor([n, 2], T: float16|float32)) -> (a: Tensor([n], T), data: Tensor([n], T)) = k3(x, a, data);
    rows(x: Tensor([outer..., k], float32)) -> Array[Tensor([outer, k], float32, strides=[k, 1])] = k4(x);
    sizes(x: Tensor([n, m], float32)) -> Shape([n, m, 4]) = { return Shape(n, m, 4); };
    some(n: int64) -> Optional[str] = { return None; };
    nothing() -> None = { };
";

/// Returns the types of the values `result of …` of a body.
fn types(function: &str) -> Vec<String> {
    let text = format!("{CALLEES}{function}");
    let library: Library = text.parse().unwrap_or_else(|error| panic!("{function}: {error}"));
    assert_eq!(library.to_string().parse(), Ok(library.clone()), "{function}");
    let resolved = library.resolve().unwrap_or_else(|error| panic!("{error}")).to_string();
    let values = resolved.rsplit("\nf(").next().unwrap_or_default().lines();
    let results = values.filter_map(|line| line.split_once(" result of ")?.1.split_once(": "));
    let types = results.filter(|(path, _)| !path.contains('[') && !path.contains(" = "));
    types.map(|(_, ty)| ty.split(", result").next().unwrap_or(ty).to_owned()).collect()
}

#[test]
fn the_types_are_in_the_words_of_the_caller() {
    let rows = [
        ("f(x: Tensor([n, 2], float32)) -> None = { let r = @size(x); k(r); };", "int64"),
        (
            "f(x: Tensor([a, 64], float32), w: Tensor([64, b], float32)) -> None = { let t = @matmul(x, w); k(t); };",
            "Tensor([a, b], float32)",
        ),
        (
            "f(x: Tensor([...], float32), w: Tensor([64, b], float32)) -> None = { let t = @matmul(x, w); k(t); };",
            "Tensor([_, b], float32)",
        ),
        (
            "f(x: Tensor([a], float32)) -> None = { let t = alloc Tensor([2 * a], float32); g(t); let p = @pad(t, 3); k(p); };",
            "Tensor([2 * a + 2 * 3], float32)",
        ),
        (
            "f(x: Tensor([a], float32), p: int32) -> None = { let t = @pad(x, p); k(t); };",
            "Tensor([a + 2 * p], float32)",
        ),
        (
            "f(x: Tensor([a], float32), p: int32) -> None = { let t = @pad(x, p + 1); k(t); };",
            "Tensor([_], float32)",
        ),
        (
            "f(x: Tensor([a, 2], float16)) -> None = { let t = @split(x); k(t.a, t[1]); };",
            "Tuple[a: Tensor([a], float16), Tensor([a], float16)]",
        ),
        (
            "f(x: Tensor([a, 2], S: float16|float32)) -> None = { let t = @split(x); k(t[0]); };",
            "Tuple[a: Tensor([a], S), Tensor([a], S)]",
        ),
        (
            "f(x: Any) -> None = { let t = @split(x); k(t[0]); };",
            "Tuple[a: Tensor([_], float16|float32), Tensor([_], float16|float32)]",
        ),
        (
            "f(x: Tensor([a, b], float32)) -> None = { let t = @rows(x); k(t); };",
            "Array[Tensor([_, _], float32, strides=[_, 1])]",
        ),
        (
            "f(x: Tensor([a, 3], float32)) -> None = { let s = @sizes(x); k(s); };",
            "Shape([a, 3, 4])",
        ),
        ("f(n: int64) -> None = { let s = @some(n); k(s); };", "str"),
        ("f(n: int64) -> int64 = { let r = @f(n - 1); return r; };", "int64"),
    ];
    for (function, expected) in rows {
        let found = types(function);
        assert_eq!(found.first().map(String::as_str), Some(expected), "{function}");
    }
}

#[test]
fn a_type_that_nobody_says_is_to_be_written() {
    let rows = [
        (
            "f() -> None = { let r = @other(1); };",
            "f: statement 0: only a function of this library says what it returns: write the type, `let r: … = @other(1)`",
        ),
        (
            "f() -> None = { let r = @nothing(); };",
            "f: statement 0: `nothing` returns nothing that could be named",
        ),
        (
            "f() -> None = { let r = @size(); };",
            "f: statement 0: `size(x: Tensor([n, m], float32))` does not take 0 arguments",
        ),
    ];
    for (function, expected) in rows {
        let error =
            format!("{CALLEES}{function}").parse::<Library>().expect_err(function).to_string();
        let first = error.lines().next().unwrap_or_default();
        assert_eq!(first.split_once(": ").map(|(_, reason)| reason), Some(expected), "{function}");
    }
    let calls = [Call::name("other", ["n"]), Call::value("g", ["n"]), Call::kernel("k", ["n"])];
    for call in calls {
        let expected = format!(
            "f: statement 0: only a function of this library says what it returns: write the type, `let r: … = {call}`"
        );
        let signature = Signature::new("f").param("n", Scalar::Int64);
        let signature = signature.param("g", tvm_ffi_codegen::ObjectClass::Function);
        let function = signature.body([Statement::let_result("r", call)]);
        let error = Library::new([function]).validate().expect_err("no type").to_string();
        assert_eq!(error, expected);
    }
}

/// What is inferred follows a declaration that changes, and is no part of it.
#[test]
fn a_changed_declaration_is_inferred_anew() {
    let text = "g(n: int64) -> int64 = { return n; }; f() -> Any = { let r = @g(1); return r; };";
    let mut library: Library = text.parse().unwrap();
    let before = library.clone();
    assert!(library.resolve().unwrap().to_string().contains("int64 result of @g"));
    assert_eq!(library, before);
    library.functions[0].signature.result = Scalar::Float64.into();
    assert!(library.resolve().unwrap().to_string().contains("float64 result of @g"));
}
