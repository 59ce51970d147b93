//! Calls of functions of the same library, in the code of every backend: behind the checks that the caller implies, and
//! into tensors of the caller.

use codegen::Library;
use tvm_ffi_codegen_tests::argument::parse_list;
use tvm_ffi_codegen_tests::gate::backends;
use tvm_ffi_codegen_tests::machine::{InMachine, Linked};
use tvm_ffi_codegen_tests::outcome::Outcome;
use tvm_ffi_codegen_tests::route::{Call, Route, Shared};

const DECLARATIONS: &str = r#"
    show(x: Tensor([n, m], float32)) -> None = record_tensor(x);
    extents(x: Tensor([n, m], float32), k: int64) -> None = record_3(n, m, k);
    narrow(x: Tensor([n], float32), s: int8, b: bool) -> None = { record_3(int64(int8(n)), int64(s), int64(b)); };
    status(x: Tensor([n], float32), code: int64) -> None = try status(code) errors { 3: ValueError "three" };
    product(x: Tensor([n, m], float32)) -> int64 = { if n > 5 { raise KeyError "n is ", n; } return n * m; };
    add(x: Tensor([n], float32), y: Tensor([n], float32)) -> None = add_one(x.data, y.data, n);
    more(x: Tensor([n], float32), by: int64 = 3) -> y: Tensor([n + by], float32) = { record_2(y.shape[0], by); fill(y.data, n + by); };
    two(x: Tensor([n], float32)) -> (a: Tensor([n], float32), b: Tensor([2 * n], int32)) where n < 9 = { fill_2(a.data, b.data, n); };
    through(x: Tensor([n], float32)) -> y: Tensor([n], float32) = { let t = alloc Tensor([n], float32) on x; @add(x, t); @add(t, y); };

    all(a: Tensor([i, j], float32), s: int8, b: bool) -> None = { @show(a); @extents(a, i * 10 + j); };
    narrowed(a: Tensor([i], float32), s: int8, b: bool) -> None = { @narrow(a, s, b); };
    statuses(a: Tensor([i], float32), code: int64) -> None = { @status(a, code); record_1(i); };
    products(a: Tensor([i, j], float32)) -> int64 = { let r: int64 = @product(a); return r + 1; };
    unlike(a: Tensor([i], float32), b: Tensor([j], float32)) -> None = { @add(a, b); };
    grown(a: Tensor([i], float32), t: Tensor([i + 3], float32), u: Tensor([j], float32)) -> None = { @more(a) into t; @more(a, j - i) into u; @more(a, 1) into u; };
    pairs(a: Tensor([i], float32)) -> (p: Tensor([i], float32), q: Tensor([2 * i], int32)) = { @two(a) into p, q; };
    nested(a: Tensor([i], float32)) -> z: Tensor([i], float32) = { for turn in 0..2 { @through(a) into z; } };
    anything(a: Tensor([i], float32), t: Optional[Tensor([_], float32)]) -> None = { @more(a) into t; };
"#;

const ROWS: [(&str, &str, &str); 21] = [
    ("all", "(float32[2, 3], 1, true)", "[2, 3, 23] none"),
    ("all", "(float32[2, 3]{object}, 1, true)", "[2, 3, 23] none"),
    ("narrowed", "(float32[4], -7, true)", "[4, -7, 1] none"),
    (
        "narrowed",
        "(float32[128], 7, false)",
        "ValueError: Out of range int8(n) when calling: `narrow(x: Tensor([n], float32), s: int8, b: bool)`, expected int8 but got 128 (= x.shape[0])",
    ),
    ("statuses", "(float32[4], 0)", "[4] none"),
    (
        "statuses",
        "(float32[4], 3)",
        "[3] ValueError: three when calling: `status(x: Tensor([n], float32), code: int64)`, status = 3",
    ),
    (
        "statuses",
        "(float32[4], 9)",
        "[9] RuntimeError: Failed status when calling: `status(x: Tensor([n], float32), code: int64)`, status = 9",
    ),
    ("products", "(float32[2, 3])", "7"),
    ("products", "(float32[6, 3])", "KeyError: n is 6"),
    ("products", "(float32[4294967296, 0])", "KeyError: n is 4294967296"),
    ("unlike", "(float32[3], float32[3])", "[(0, 1, 2), (1, 2, 3)] none"),
    (
        "unlike",
        "(float32[3], float32[4])",
        "ValueError: Mismatched y.shape[0] on argument #1 when calling: `add(x: Tensor([n], float32), y: Tensor([n], float32))`, expected 3 (= x.shape[0]) but got 4",
    ),
    ("grown", "(float32[2], float32[5], float32[3])", "[3] none"),
    (
        "grown",
        "(float32[2], float32[5], float32[4])",
        "[4] ValueError: Mismatched y.shape[0] when calling: `more(x: Tensor([n], float32), by: int64 = 3)`, expected 3 (= n + by) but got 4",
    ),
    ("pairs", "(float32[2])", "[2] array(float32[2], int32[4])"),
    (
        "pairs",
        "(float32[9])",
        "ValueError: Violated n < 9 when calling: `two(x: Tensor([n], float32))`, n = 9",
    ),
    ("nested", "(float32[2])", "[(1, 2), (2, 3)] float32[2]"),
    ("anything", "(float32[2], float32[5])", "[5] none"),
    (
        "anything",
        "(float32[2], float32[4])",
        "ValueError: Mismatched y.shape[0] when calling: `more(x: Tensor([n], float32), by: int64 = 3)`, expected 5 (= n + by) but got 4",
    ),
    (
        "anything",
        "(float32[2], 7)",
        "TypeError: Mismatched type of t on argument #1 when calling: `anything(a: Tensor([i], float32), t: Optional[Tensor([_], float32)])`, expected Optional[Tensor] but got int",
    ),
    (
        "anything",
        "(float32[2], none)",
        "TypeError: Mismatched type of y when calling: `more(x: Tensor([n], float32), by: int64 = 3)`, expected Tensor but got None",
    ),
];

#[test]
fn outcomes_are_those_of_calls_that_check() {
    let library: Library = DECLARATIONS.parse().unwrap_or_else(|error| panic!("{error}"));
    let machine = InMachine::new(&library, Linked::Beside);
    let shared =
        backends().iter().map(|backend| (backend.to_string(), Shared::new(&library, backend)));
    let shared: Vec<(String, Shared)> = shared.collect();
    let mut wrong = Vec::new();
    for (function, arguments, expected) in ROWS {
        let (list, _) = parse_list(arguments).unwrap();
        let call = Call { function, arguments: &list, count: None };
        let mut judge = |through: &str, found: Result<Outcome, &str>| {
            let found = found.expect("arguments are expressible").to_string();
            if found != expected {
                wrong.push(format!("{through}: {function}{arguments}\n  {found}"));
            }
        };
        judge("machine", machine.run_faulty(&call, None).outcome);
        for (backend, route) in &shared {
            judge(backend, route.run(&[call]).remove(0));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
