//! Everything that parses lowers, and what lowers verifies.

use tvm_ffi_codegen::{Library, Options, ir, lower, routines};

const DECLARATIONS: &[&str] = &[
    "f() -> None = k();",
    "add_one(x: Tensor([n], float32), y: Tensor([n], float32)) -> None = k(x.data, y.data, n);",
    "f(x: Tensor([n, 64], float32, strides=[s, 1], align=16), a: float64) -> None
        where n % 4 == 0, n <= 4096, a > 0.5 = try k(x.data, int32(n), s, a);",
    "f(x: Tensor([...], int8, strides=any, device=any), i: int64) -> int64
        where x.shape[1] / i > 2, x.strides[0] != 1 = k(x, x.shape[0], stream(x), x.ndim, x.device_id);",
    "f(x: Tensor([2 * n + m, m], float16, device=cuda), y: Tensor([m, n], float16, device=cuda),
        z: Tensor([ceildiv(n, m)], bool, device=any)) -> None = k(stream(x), n, m, x.strides[0]);",
    "f(b: bool, i: int8, u: uint16, n: uint64, h: float16, g: bfloat16, s: float32, p: ptr) -> uint64
        where h * 2.0 < g + i, -s >= b, p != null, max(i, u) % n == 0 = k(b, i, u, n, h, g, s, p, float32(h), bool(i));",
    "f(x: Tensor([n, m], float32, strides=[2 * s + t, s]), y: Tensor([t], float32, strides=any)) -> bfloat16
        = k(s, t, n, m);",
    "f(x: Tensor([n * m], float32), m: int32, y: Tensor([_, n], float32, strides=any)) -> bool = k(n, m);",
];

#[test]
fn lowered_declarations_verify() {
    for text in DECLARATIONS {
        let library: Library = text.parse().unwrap_or_else(|e| panic!("{text}: {e}"));
        let module = lower(&library, &Options::default()).unwrap_or_else(|e| panic!("{text}: {e}"));
        ir::verify(&module);
    }
}

#[test]
fn routines_verify() {
    ir::verify(&routines());
}

#[test]
fn symbols_fit_the_frame_that_explains_failures() {
    let library = |count: usize| {
        let dims = |range: std::ops::Range<usize>| {
            range.map(|i| format!("n{i}")).collect::<Vec<_>>().join(", ")
        };
        let tensors: Vec<String> = (0..count.div_ceil(32))
            .map(|t| format!("x{t}: Tensor([{}], int8)", dims(32 * t..count.min(32 * t + 32))))
            .collect();
        format!("f({}) -> None = k();", tensors.join(", ")).parse::<Library>()
    };
    ir::verify(&lower(&library(1024).unwrap(), &Options::default()).unwrap());
    let error = library(1025).unwrap_err().to_string();
    assert!(error.contains("f: x32.shape[0]: more than 1024 symbols"), "{error}");
}
