//! The C types of C functions.

use crate::Library;

#[test]
fn arguments_and_results() {
    let rows = [
        ("f() -> None = k()", "()"),
        (
            "f(b: bool, i: int8, u: uint16) -> uint8 = k(b, i, u)",
            "(i8 bool, i8 sext, i16 zext) -> i8 zext",
        ),
        (
            "f(i: int32, u: uint32, n: int64, p: ptr) -> int64 = k(i, u, n, p)",
            "(i32, i32, i64, ptr) -> i64",
        ),
        ("f(h: float16, g: bfloat16) -> float16 = k(h, g)", "(i16 zext, i16 zext) -> i16 zext"),
        ("f(a: float32, b: float64) -> float32 = k(a, b)", "(f32, f64) -> f32"),
        (
            "f(x: Tensor([n], int8)) -> None = k(x, x.data, n, x.dtype, x.is_contiguous)",
            "(ptr, ptr, i64, i32, i8 bool)",
        ),
        (
            "f(s: str, b: bytes, d: dtype, v: Device) -> None = k(s, b, d, v)",
            "(ptr, i64, ptr, i64, i32, i32, i32)",
        ),
        (
            "f(g: Shape, xs: Array[Any], m: Map[Any, Any], a: Any) -> None = k(g, xs, m, a)",
            "(ptr, i64, ptr, ptr, ptr)",
        ),
        ("f(t: Tuple[int8, Tuple[str, ptr]]) -> None = k(t)", "(i8 sext, ptr, i64, ptr)"),
        ("f(o: Optional[int16]) -> None = k(o, o.is_some)", "(i16 sext, i8 bool)"),
        (
            "f(l: Literal[1, 2], b: Literal[True], s: Literal[\"a\"]) -> None = k(l, b, s)",
            "(i64, i8 bool, ptr, i64)",
        ),
        (
            "f(u: Union[int8, str], q: Stream, *rest: Any) -> None = k(u, q, rest)",
            "(ptr, ptr, ptr, i64)",
        ),
        (
            "f(n: int64) -> None = k(int32(n), uint8(n), float32(n), 1, 1.5, null)",
            "(i32, i8 zext, f32, i64, f64, ptr)",
        ),
        (
            "f(a: float16, b: bfloat16) -> None = k(float16(a), a, bfloat16(b), float32(a))",
            "(i16 float16, i16 zext, i16 bfloat16, f32)",
        ),
        ("f(n: int64) -> str = k(n)", "(i64, ptr)"),
        ("f(n: int64) -> out: Tensor([n], int8) = k(out, out.data)", "(ptr, ptr)"),
        ("f(n: int64) -> None = try k(n)", "(i64) -> i32"),
        ("f(n: int64) -> Shape = try k(n)", "(i64, ptr) -> i32"),
        ("f(n: int64) -> float16 = try k(n)", "(i64, ptr) -> i32"),
        ("f(n: int64) -> Tuple[int8, ptr] = try k(n)", "(i64, ptr, ptr) -> i32"),
        ("f(n: int64) -> Tuple[int8, Any] = try k(n)", "(i64, ptr) -> i32"),
        ("f(n: int64) -> Tuple[int8, ptr] = k(n)", "(i64, ptr)"),
        ("f(n: int64) -> None = { let r: bool = try k(n); }", "(i64, ptr) -> i32"),
    ];
    for (text, expected) in rows {
        let library: Library = format!("{text};").parse().unwrap_or_else(|e| panic!("{e}"));
        let resolved = library.resolve().unwrap();
        let signature = &resolved.functions[0].calls()[0].1.signature;
        assert_eq!(signature.to_string(), expected, "{text}");
    }
}

/// Addresses in tensors that are only read are `const`, whatever way they go.
#[test]
fn memory_that_is_only_read_is_const() {
    let read = "x: Tensor([n], float32, access=read)";
    let rows = [
        ("k(x.data, x, n)", "const void*, const DLTensor*, int64_t"),
        ("k(y.data, y, w.data)", "void*, DLTensor*, void*"),
        ("k(x.data + 4 * n, y.data + 4)", "const void*, void*"),
        ("k(ptr(int64(x.data)), ptr(int64(y.data)))", "const void*, void*"),
        ("k(x.data % 16, int64(x.data), x.shape[0])", "int64_t, int64_t, int64_t"),
        ("k(ptr(x.data % 16))", "void*"),
        ("k(o, t, xs)", "const DLTensor*, const DLTensor*, int64_t, TVMFFIObject*"),
        ("let p = x.data; k(p, p + 4)", "const void*, const void*"),
        ("let i = int64(x.data) + n; let p = ptr(i); k(p)", "const void*"),
        ("let z = x; k(z.data, z)", "const void*, const DLTensor*"),
        ("k(x.data); k(y.data)", "const void*"),
        ("k(y.data, y.data); k(y.data, x.data)", "void*, const void*"),
        ("k(xs[0].data, y)", "const void*, DLTensor*"),
        ("if o.is_some { k(o.data); }", "const void*"),
        (
            "match o { v: Tensor([n], float32, access=read) => { k(v.data); } None => {} }",
            "const void*",
        ),
        ("let f = function () -> None { k(x.data); }; @(f)()", "const void*"),
    ];
    for (body, params) in rows {
        let text = format!(
            "f({read}, y: Tensor([n], float32), w: Tensor([n], float32, access=write),
              o: Optional[Tensor([n], float32, access=read)], t: Tuple[Tensor([n], int8, access=read), int64],
              xs: Array[Tensor([n], int8, access=read)]) -> None = {{ {body}; }};"
        );
        let text = text.replace("}; };", "} };");
        let library: Library = text.parse().unwrap_or_else(|e| panic!("{text}: {e}"));
        let kernels = library.kernels().unwrap_or_else(|e| panic!("{text}: {e}"));
        assert_eq!(kernels[0].params.join(", "), params, "{body}");
    }
}
