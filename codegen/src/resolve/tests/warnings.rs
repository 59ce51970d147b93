//! Warnings, and declarations without any.

use crate::{Library, Warning};

/// Returns the warnings about a text, each with its part.
fn warnings(text: &str) -> Vec<String> {
    let library: Library = text.parse().unwrap_or_else(|error| panic!("{error}"));
    let warnings = library.warnings();
    let one_by_one: Vec<Warning> = warnings.iter().cloned().map(|one| one.locate(text)).collect();
    let warnings = Warning::locate_all(warnings, text);
    assert_eq!(warnings, one_by_one);
    let located = warnings.iter().map(Warning::to_string);
    located.map(|text| text.lines().next().unwrap_or_default().to_owned()).collect()
}

const UNUSED: &str = "it is checked, and nothing else is done with it [unused-parameter]";

#[test]
fn parameters_that_nothing_uses() {
    let rows = [
        ("f(n: int64, a: float32) -> None = k(n);", "1:13: f: a"),
        ("f(x: Tensor([n], int8), y: Tensor([n], int8)) -> None = k(x.data, n);", "1:25: f: y"),
        ("f(x: Tensor([n], int8), n: int64, m: int64) -> None = k(n);", "1:35: f: m"),
        ("f(x: Tensor([n], int8)) -> None = k();", "1:3: f: x"),
        ("f(x: Tensor([], T: int8|int16)) -> None = k();", "1:3: f: x"),
        ("f(s: Stream, x: Tensor([n], int8)) -> None = { k(x.data); };", "1:3: f: s"),
        ("f(mode: Literal[\"a\", \"b\"]) -> None = k();", "1:3: f: mode"),
        (
            "f(a: int8, g: Function) -> None = { if a > 0 { raise ValueError \"e\"; } };",
            "1:12: f: g",
        ),
    ];
    for (text, place) in rows {
        assert_eq!(warnings(text), [format!("{place}: {UNUSED}")], "{text}");
    }
}

#[test]
fn parameters_that_something_uses() {
    let rows = [
        // Symbols that only the parameter binds, or that are the parameter.
        "f(x: Tensor([n], int8)) -> None = k(n);",
        "f(x: Tensor([n, m], int8), y: Tensor([m], int8)) -> None = k(y.data, n);",
        "f(n: int64, x: Tensor([2 * n], int8)) -> None = k(x);",
        "f(x: Tensor([n * m], int8), y: Tensor([n, m], int8)) -> None = k(x, n, m);",
        "f(s: Shape([n, m]), x: Tensor([n, m], int8)) -> None = k(x);",
        "f(o: Optional[Tensor([n], int8)], x: Tensor([n], int8)) -> None = k(o, n);",
        // Element types that the parameter determines.
        "f(x: Tensor([], T: int8|int16)) -> None = k(T);",
        "f(x: Tensor([], T: int8|int16)) -> y: Tensor([4], T) = k(y);",
        "f(x: Tensor([], T: int8|int16)) -> None = { let t = alloc Tensor([4], T); k(t); };",
        "f(x: Tensor([], T: int8|int16), y: Tensor([], T)) -> None = k(y);",
        // Constraints, and callees.
        "f(n: int64) -> None where n > 0 = k();",
        "f(x: Tensor([...], int8), g: Function) -> None where x.ndim < 3 = { @(g)(1); };",
        // Devices.
        "f(x: Tensor([4], int8, device=cuda)) -> y: Tensor([4], int8, device=cuda) = k(y);",
        "f(x: Tensor([4], int8, device=any)) -> y: Tensor([4], int8, device=any) = k(y);",
        "image i; f(x: Tensor([4], int8, device=cuda), n: int8) -> None = { launch i.\"k\"(n) grid(1) block(1); };",
        "f(x: Tensor([4], int8)) -> None = { let t = alloc Tensor([4], int8) on x; k(t); };",
        // Statements of all kinds.
        "f(a: int64, b: int64, g: Function, x: Tensor([...], int8)) -> None = {
            for i in a..9 { let r: Tensor([b], int8) = @(g)(i, x); k(r); }
            return;
        };",
        "f(a: int64) -> None = { raise ValueError \"a is \", a; };",
        "f(a: bool) -> int64 = { if a { return 1; } return 0; };",
        // Parameters that need no use.
        "f(_n: int64, *rest: Any) -> None = k();",
        "f(self: ptr) -> None = k();",
        "f(kind: Literal[\"sum\"], n: Literal[2, None] = 2) -> None = k();",
        "f(x: Tensor([n], int8), a: float64) -> None = { raise RuntimeError \"not yet\"; };",
    ];
    for text in rows {
        assert_eq!(warnings(text), [""; 0], "{text}");
    }
}

#[test]
fn images_that_nothing_uses() {
    let text = "image i;\nimage j;\nf(x: Tensor([n], int8, device=cuda)) -> None = { launch j.\"k\"(x.data) grid(n) block(1); };";
    let expected = "1:1: image \"i\": nothing uses it, and it is left out [unused-image]";
    assert_eq!(warnings(text), [expected]);
    let text =
        "image i; f(x: Tensor([n], int8, device=cuda)) -> ptr = { return i.global(\"v\"); };";
    assert_eq!(warnings(text), [""; 0]);
}

/// Parameters that the conditions mention.
const PARAMS: &str = "n: int64, m: int64, u: uint8, w: uint64, p: float64, b: bool, t: Literal[\"a\", \"b\"], s: str, \
                      k: Literal[1, 2, 4], x: Tensor([e, 64], float32|float16), y: Tensor([...], int8)";

fn of_conditions(conditions: &str) -> Vec<String> {
    let args = "n, m, u, w, p, b, t, s, k, x, y";
    warnings(&format!("f({PARAMS}) -> None where\n{conditions}\n= k({args});"))
}

#[test]
fn conditions_that_never_hold() {
    let rows = [
        "u > 255",
        "u < 0",
        "w < 0",
        "e < 0",
        "x.ndim == 3",
        "t == \"c\"",
        "k > 4",
        "y.ndim < 0",
        "s.size < 0",
        "n != n",
        "n < n",
        "u + 1 > 256",
        "n % 4 == 4",
        "n - 9223372036854775807 > 0",
        "min(u, n) > 255",
        "n > 0 and u < 0",
        "u < 0 or 256 <= u",
        "not u >= 0",
        "n > m and not m == m",
        "1 == 2",
        "int8(n) > 127",
        "uint16(n + m) < 0",
    ];
    for wrong in rows {
        let expected = format!(
            "3:1: f: constraint 1: `{wrong}` never holds: the types leave no value for which it does [contradiction]"
        );
        assert_eq!(of_conditions(&format!("n > 1,\n{wrong}")), [expected], "{wrong}");
    }
}

/// Types of unions that no value reaches.
#[test]
fn types_that_no_value_reaches() {
    let rows = [
        ("bool, int64", Some("`int64`: `bool`")),
        ("bool, float64, int64", Some("`int64`: `bool`")),
        ("float16, int8", Some("`int8`: `float16`")),
        ("float32, float64", Some("`float64`: `float32`")),
        ("int16, uint8, int8", Some("`uint8`: `int16`")),
        ("uint8, bool", Some("`bool`: `uint8`")),
        ("str, Literal[\"a\", \"b\"]", Some("`Literal[\"a\", \"b\"]`: `str`")),
        ("Object, Map[str, int64]", Some("`Map[str, int64]`: `Object`")),
        ("Array[Any], Array[str]", Some("`Array[str]`: `Array[Any]`")),
        ("Array[int64], Tuple[int8, int64]", Some("`Tuple[int8, int64]`: `Array[int64]`")),
        ("Union[int64, str], Union[int8, str]", Some("`Union[int8, str]`: `Union[int64, str]`")),
        ("int64, bool", Some("`bool`: `int64`")),
        ("int8, int64", None),
        ("int64, uint64", None),
        ("bool, uint64", None),
        ("float64, uint64", None),
        ("ptr, int64", None),
        ("int64, float64", None),
        ("Literal[1], int64", None),
        ("str, Literal[\"a\", 1]", None),
        ("str, dtype", None),
        ("Object, str", None),
        ("Array[int64], Array[str]", None),
        ("Tensor([n], int8), Tensor([n], float32)", None),
    ];
    for (types, found) in rows {
        let expected = found.map(|pair| {
            format!(
                "1:3: f: x: no value reaches {pair}, which is before it, takes them [unreached-type]"
            )
        });
        let text = format!("f(x: Union[{types}]) -> Any = {{ return x; }};");
        assert_eq!(warnings(&text), expected.into_iter().collect::<Vec<_>>(), "{types}");
    }
    let twice = "f(_x: Array[Union[str, Tensor([2], int8), str]]) -> None = k();";
    assert_eq!(warnings(twice), ["1:3: f: _x: `str` is in the union twice [unreached-type]"]);
    let result = "f() -> Any = { let r: Union[bool, int8] = k(); return r; };";
    assert_eq!(warnings(result).len(), 1);
}

/// Conditions that name nothing: as an `if` of Rust values compares two expressions with `==` by mistake.
#[test]
fn conditions_that_name_nothing() {
    let rows = [
        ("f(n: int64) -> None where True = k(n);", "1:27: f: constraint 0: `True`"),
        ("f(n: int64) -> None where n > 1, 1 < 2 = k(n);", "1:34: f: constraint 1: `1 < 2`"),
        ("f(n: int64) -> None = { if False { k(n); } };", "1:25: f: statement 0: `False`"),
        (
            "f(n: int64) -> None = { if n > 0 { k(n); } else if not True { k(2); } };",
            "1:49: f: statement 0, branch 1: `not True`",
        ),
        (
            "f(n: int64) -> Function = { return function(i: int64) -> None where 1 == 1 { k(n, i); }; };",
            "1:29: f: statement 0: `1 == 1`",
        ),
    ];
    for (text, found) in rows {
        let expected =
            format!("{found} is the same in every call: it names no value [constant-condition]");
        assert_eq!(warnings(text), [expected], "{text}");
    }
    // One warning is enough.
    let never = "f(n: int64) -> None where False = k(n);";
    assert_eq!(warnings(never).len(), 1);
    let text =
        "f(n: int64, b: bool) -> None where b, n > 0 or True = { if b { k(n); } let t = True; };";
    assert_eq!(warnings(text), [""; 0]);
}

/// Warnings about a tensor of which only the last dims are declared.
#[test]
fn conditions_on_leading_dims() {
    let rows = [
        ("x.ndim < 2", false),
        ("x.ndim == 2", true),
        ("x.ndim > 9", true),
        ("x.shape[-1] == 5", false),
        ("x.shape[-2] == 5", true),
        ("x.shape[0] == 4", true),
        ("x.shape[-3] < 0", false),
        ("outer < 0", false),
    ];
    for (condition, holds) in rows {
        let text = format!(
            "f(x: Tensor([outer..., m, 4], int8)) -> None where {condition} = k(x, outer, m);"
        );
        assert_eq!(warnings(&text).is_empty(), holds, "{condition}");
    }
}

/// Conditions that hold for a smallest or largest value that types and other conditions allow, or that are not
/// examined.
#[test]
fn conditions_that_may_hold() {
    let rows = [
        "u >= 255, u <= 255",
        "u == 0",
        "w == 18446744073709551615",
        "w > 9223372036854775807",
        "n < 0, n * n < 0",
        "e == 0",
        "x.ndim == 2, x.shape[1] == 64",
        "x.dtype == \"float16\"",
        "x.shape[0] == e, e > 3",
        "y.ndim == 0",
        "n > 4, n < 6",
        "n >= 5, n <= 5, n == 5",
        "n % 4 == 0, n % 8 == 4",
        "n % 4 == 0, n % 3 == 1, n > 100",
        "n % -4 == -2",
        "n / m == 3, m < 0, n < 0",
        "n <= m, m <= n",
        "n <= m, n != m",
        "p != p",
        "not p < 1.0, not p >= 1.0",
        "p >= 0.0, p <= 1.0",
        "p > -0.5, p < 0.0",
        "p == 0.0, p == -0.0",
        "p > 1.0 / 3.0, p < 0.34",
        "n > 2.5, n < 3.5",
        "n == 9007199254740993, n == 9007199254740992.0",
        "b, n > 0",
        "not b",
        "t != \"a\"",
        "t == \"a\" or t == \"b\"",
        "s == \"\", s.size == 0",
        "k % 2 == 0",
        "k == 4 or n == 3, k == 1",
        "b == False or n == 1",
        "int8(n) == 127",
        "min(n, m) > 4, max(n, m) < 6",
        "x.strides[0] < 0, x.byte_offset > 5, x.numel < 0",
        "y.is_contiguous, y.device_id < 0, y.device_type == 1",
    ];
    for conditions in rows {
        assert_eq!(of_conditions(conditions), [""; 0], "{conditions}");
    }
    // An absent value has the members 0 and equals neither literal.
    let optional = "f(x: Optional[Tensor([3, _], int8)], l: Literal[1, 2, None], u: Optional[uint8]) -> None \
                    where x.shape[0] == 0, x.ndim == 0 = k(x, l, u);";
    assert_eq!(warnings(optional), [""; 0]);
}
