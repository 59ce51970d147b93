//! Tests of commands and of attributes of devices: canonical text and errors.

use super::errors::check_statements;
use crate::declaration::Library;

const START: &str = "f(x: Tensor([n, 4], float32, device=cuda), c: Tensor([n], float32), s: Stream, p: ptr, \
                     t: str, a: Tensor([m], int8, device=any)) -> None = {";

#[test]
fn text_is_canonical() {
    let rows = [
        ("upload x.data(n,1.5)stream s on x;", "upload x.data (n, 1.5) on x stream s;"),
        (
            "upload p (struct(n, p), tensormap(x, box=[1, 4])) on x;",
            "upload p (struct(n, p), tensormap(x, box=[1, 4])) on x;",
        ),
        ("fill p , n*4,0 on x;", "fill p, n * 4, 0 on x;"),
        ("copy p,x.data,8 stream stream(x);", "copy p, x.data, 8 stream stream(x);"),
        ("wait s , stream( x );", "wait s, stream(x);"),
        ("wait s, s on x;", "wait s, s on x;"),
        ("k(x.device.multiprocessors);", "k(x.device.multiprocessors);"),
        ("k(-x . device . attribute( 16 ));", "k(-x.device.attribute(16));"),
        // A parenthesis that opens an expression.
        ("fill (n + 1) * 4 + p, 4, 0 on x;", "fill (n + 1) * 4 + p, 4, 0 on x;"),
        ("copy (n * 2 + (1)) * 4 + p, p, 8 on x;", "copy (n * 2 + 1) * 4 + p, p, 8 on x;"),
        ("upload (p) (n) on x;", "upload p (n) on x;"),
        ("wait (s), s;", "wait s, s;"),
        ("fill((n + 1) * 4 + p);", "fill((n + 1) * 4 + p);"),
        // The words are names elsewhere, also before a list.
        (
            "let function = p; upload function (int32(1)) on x;",
            "let function = p;\n        upload function (int32(1)) on x;",
        ),
        ("let int = p; upload int (n) on x;", "let int = p;\n        upload int (n) on x;"),
        (
            "let fill = n; upload(fill); fill(); copy(); wait();",
            "let fill = n;\n        upload(fill);\n        fill();\n        copy();\n        wait();",
        ),
    ];
    for (text, expected) in rows {
        let text = format!("{START} {text} }};");
        let library: Library = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
        let printed = library.functions[0].body.to_string();
        assert_eq!(printed, format!("{{\n        {expected}\n    }}"));
        assert_eq!(library.to_string().parse::<Library>().as_ref(), Ok(&library));
    }
    // An element of a tuple may be called `device`.
    let tuple = "f(t: Tuple[device: Tuple[a: int64]]) -> int64\n    = k(t.device.a);";
    let library: Library = tuple.parse().unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(library.to_string().trim(), tuple);
}

#[test]
fn syntax() {
    let rows = [
        ("upload x.data;", "2:14: expected an operator, or `(` and the values, found `;`"),
        ("upload x.data (n", "2:18: expected an operator, `,` or `)`, found `}`"),
        ("upload x.data (n) at x;", "2:19: expected `on`, `stream` or `;`, found `at`"),
        ("upload x.data (n) on x on x;", "2:24: expected every clause once, found a second `on`"),
        (
            "upload x.data (n) stream s 5;",
            "2:28: expected an operator, `on`, `stream` or `;`, found `5`",
        ),
        ("fill p;", "2:7: expected an operator, or `,` and a number of bytes, found `;`"),
        ("fill p, 1;", "2:10: expected an operator, or `,` and the value of a byte, found `;`"),
        ("fill p, 1, 0 }", "2:14: expected an operator, `on`, `stream` or `;`, found `}`"),
        ("copy p 5;", "2:8: expected an operator, or `,` and the address to read, found `5`"),
        ("copy p, p;", "2:10: expected an operator, or `,` and a number of bytes, found `;`"),
        ("wait s;", "2:7: expected an operator, or `,` and the stream to wait for, found `;`"),
        ("wait s, s stream s;", "2:11: expected an operator, `on` or `;`, found `stream`"),
        ("wait s, s on x x;", "2:16: expected an operator or `;`, found `x`"),
        (
            "launch i.\"k\"() stream s stream s;",
            "2:25: expected every clause once, found a second `stream`",
        ),
        ("k(x.device.attribute(n));", "2:22: expected the number of an attribute, found `n`"),
        (
            "k(x.device.attribute(2147483648));",
            "2:22: expected the number of an attribute, found `2147483648`",
        ),
    ];
    check_statements(START, &rows);
}

#[test]
fn meaning() {
    let rows = [
        ("upload x.data () on x;", "2:1: an upload has a value"),
        ("upload x.data (scratch(8, 8));", "2:1: `scratch(8, 8)` cannot be uploaded"),
        ("upload x.data (int16(n));", "2:1: the values have 2 bytes, which is no multiple of 4"),
        (
            "upload x.data (t);",
            "2:1: `t` is no scalar and no address on the device, as `x.data` is",
        ),
        ("upload x (n);", "2:1: `x` is no address on the device, as `x.data` is"),
        ("upload n (n);", "2:1: `n` is no address on the device, as `x.data` is"),
        ("upload s (n) on x;", "2:1: `s` is no address on the device, as `x.data` is"),
        ("upload null (n) on x;", "2:1: `null` is no address on the device, as `x.data` is"),
        ("fill t.data, 1, 1 on x;", "2:1: `t.data` is no address on the device, as `x.data` is"),
        ("fill c.data, 1, 1;", "2:1: `c` is on cpu, and this statement is for cuda"),
        ("fill p, -1, 1 on x;", "2:1: -1 is no size in bytes"),
        ("fill p, 1.5, 1 on x;", "2:1: `1.5` is not an integer"),
        ("fill p, 1, 256 on x;", "2:1: value of fill is 256, which is no `uint8`"),
        ("fill p, 1, 1 on n;", "2:1: `n` is no tensor"),
        (
            "fill p, 1, 1 stream p;",
            "2:1: `p` is no stream, as a parameter of type `Stream`, `stream(x)` and `ptr(n)` are",
        ),
        ("copy p, c.data, 1;", "2:1: `c` is on cpu, and this statement is for cuda"),
        ("copy p, s, 1 on x;", "2:1: `s` is no address on the device, as `x.data` is"),
        (
            "wait s, x.data;",
            "2:1: `x.data` is no stream, as a parameter of type `Stream`, `stream(x)` and `ptr(n)` are",
        ),
        ("wait s, stream(c);", "2:1: `c` is on cpu, and this statement is for cuda"),
        (
            "k(c.device.multiprocessors);",
            "2:1: `c` is on cpu, and only cuda devices have attributes",
        ),
        ("k(n.device.multiprocessors);", "2:1: `n` is no tensor, whose device has attributes"),
        ("k(x.device.attribute(0));", "2:1: 0 is no attribute of a device"),
        (
            "k(x.device);",
            "2:1: a device has `x.device.multiprocessors`, `x.device.attribute(id)`, `x.device_type` and `x.device_id`",
        ),
        (
            "k(x.device.cores);",
            "2:1: a device has `x.device.multiprocessors`, `x.device.attribute(id)`, `x.device_type` and `x.device_id`",
        ),
    ];
    check_statements(START, &rows);
    let rows = [
        (
            "f(p: ptr) -> None = { fill p, 1, 1; };",
            "no tensor says on which device this runs: `on x`",
        ),
        (
            "f(p: ptr, x: Optional[Tensor([n], int8, device=cuda)]) -> None = { fill p, 1, 1 on x; };",
            "`x` may not be there",
        ),
        (
            "f(x: Optional[Tensor([n], int8, device=cuda)]) -> None where x.device.multiprocessors > 1 = k();",
            "`x` may not be there",
        ),
        (
            "f(x: Optional[Tensor([n], int8, device=cuda)]) -> None where x.is_some or x.device.multiprocessors > 1 = k();",
            "`x` may not be there",
        ),
        (
            "f(x: Optional[Tensor([n], int8, device=cuda)], s: Stream) -> None = { wait s, stream(x); };",
            "`x` may not be there",
        ),
        (
            "f(x: Optional[Tensor([n], int8, device=cuda)], s: Stream) -> None = { if x.is_some {} else { wait s, stream(x); } };",
            "`x` may not be there",
        ),
        (
            "f(x: Optional[Tensor([n], int8, device=cuda)]) -> None = { fill x.data, 1, 1; };",
            "no tensor says on which device this runs: `on x`",
        ),
        (
            "f(x: Tensor([n / x.device.multiprocessors], int8, device=cuda)) -> None = k();",
            "`x` is a tensor, not a symbol",
        ),
        (
            "f(x: Tensor([n], int8, device=cuda)) -> None = { dlopen(1); fill x.data, 1, 1; };",
            "`dlopen` is called as (i64), but to find the driver as (ptr, i32) -> ptr",
        ),
    ];
    for (text, expected) in rows {
        let found = text.parse::<Library>().expect_err(text).to_string();
        assert!(found.contains(expected), "{text}: {found}");
    }
    let rows = [
        // Streams need no device.
        "f(a: Stream, b: Stream) -> None = { wait a, b; };",
        "f(x: Tensor([n], int8, device=rocm)) -> None = k(x.device.attribute(0));",
    ];
    rows.into_iter().for_each(accepted);
}

fn accepted(text: &str) {
    let _: Library = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
}

/// The device of an optional tensor may be used wherever the tensor is known to be there.
#[test]
fn optional_tensors_have_devices_where_they_are_there() {
    let statements = [
        "launch i.\"k\"(x.data) grid(x.device.multiprocessors) block(1);",
        "launch i.\"k\"(tensormap(x, box=[64])) grid(1) block(1) on x;",
        "let m = tensormap(x, box=[64]); launch i.\"k\"(m) grid(1) block(1);",
        "fill p, 1, 1 on x;",
        "fill p, 1, 1;",
        "upload x.data (n);",
        "wait s, stream(x);",
        "let t = alloc Tensor([n], int8) on x; k(t.data);",
    ];
    for statement in statements {
        let params = "p: ptr, s: Stream, x: Optional[Tensor([n], int8, device=cuda)]";
        accepted(&format!("image i; f({params}) -> None = {{ if x.is_some {{ {statement} }} }};"));
        accepted(&format!("image i; f({params}) -> None where x.is_some = {{ {statement} }};"));
    }
    accepted(
        "f(x: Optional[Tensor([n], int8, device=cuda)]) -> None where x.is_some and x.device.multiprocessors > 1 = k();",
    );
}

/// Printed commands are read as the same commands, and their operands not as the arguments of a C function.
#[test]
fn operands_start_with_a_parenthesis() {
    use abi_spec::Scalar;

    use crate::declaration::{Expr, MemoryFill, Signature};
    let place = (Expr::name("n") + 1) * 2 + Expr::name("p");
    let fill = MemoryFill::new(place, 1, 1).on("x").into();
    let signature = Signature::new("f").param("n", Scalar::Int64).param("p", Scalar::Ptr);
    let library = Library::new([signature.body([fill])]);
    let text = library.to_string();
    assert!(text.contains("fill (n + 1) * 2 + p, 1, 1 on x;"), "{text}");
    let error = text.parse::<Library>().expect_err("there is no `x`").to_string();
    assert!(error.contains("`x`"), "{error}");
}
