//! The kinds and nodes of terms.

use crate::resolve::names::Names;
use crate::resolve::term::{Kind, Term};
use crate::{Expr, Function};

/// Resolves an expression over these parameters.
fn term(text: &str) -> Term {
    let params = "n: int64, m: int8, b: bool, w: uint64, p: ptr, a: float64, h: float16, o: Optional[int64], \
                  x: Tensor([k, 2], float32), r: Tensor([...], int8), s: str, d: dtype, v: Device, \
                  t: Tuple[int64, y: float32, x: Tensor([1], int8)], g: Shape, g2: Shape([2, 3]), \
                  xs: Array[int8], u: Union[int8, str], l1: Literal[1, 2], lb: Literal[True], \
                  ls: Literal[\"a\", \"b\"], lm: Literal[1, \"a\"], any: Any, q: Stream, *rest: Any";
    let function: Function = format!("f({params}) -> None = k();").parse().unwrap();
    let expr: Expr = text.parse().unwrap();
    let names = Names::new(&function, crate::Platform::Cuda, Vec::new(), Vec::new()).unwrap().0;
    names.term(&expr).unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn kinds() {
    use Kind::{Bool, DType, Device, Float, Int, Ptr, Several, Text, Unsigned};
    let rows: [(Kind, &[&str]); 9] = [
        (
            Int,
            &[
                "n",
                "m",
                "k",
                "o",
                "x.shape[1]",
                "r.strides[0]",
                "x.ndim",
                "x.device_id",
                "x.device_type",
                "x.byte_offset",
                "x.numel",
                "s.size",
                "v.device_type",
                "v.device_id",
                "t[0]",
                "g[0]",
                "g.size",
                "xs.size",
                "l1",
                "rest.size",
                "7",
                "-n",
                "n + 1",
                "n / 2",
                "n % m",
                "min(n, m)",
                "int32(n)",
                "int64(n)",
                "-w",
                "w / 2",
                "int64(w)",
            ],
        ),
        (
            Bool,
            &["b", "o.is_some", "x.is_contiguous", "lb", "bool(n)", "n < m", "b and not b", "True"],
        ),
        (
            Float,
            &[
                "a",
                "h",
                "t.y",
                "1.5",
                "-a",
                "n + a",
                "a / n",
                "max(1.5, n)",
                "float64(n)",
                "float16(a)",
                "float32(n)",
            ],
        ),
        (
            Ptr,
            &[
                "p",
                "x",
                "x.data",
                "s.data",
                "t.x",
                "t.x.data",
                "xs",
                "u",
                "lm",
                "any",
                "q",
                "rest.data",
                "stream(x)",
                "null",
            ],
        ),
        (Unsigned, &["w", "uint64(w)", "uint64(n)", "9223372036854775808"]),
        (DType, &["d", "x.dtype"]),
        (Device, &["v"]),
        (Text, &["s", "ls", "\"float32\""]),
        (Several, &["t", "g", "rest"]),
    ];
    for (kind, texts) in rows {
        for text in texts {
            assert_eq!(term(text).kind, kind, "{text}");
        }
    }
}

#[test]
fn integers_are_folded() {
    let rows = [
        ("2 * 3 - 1", Some(5)),
        ("-7 / 2", Some(-4)),
        ("-7 % 2", Some(1)),
        ("ceildiv(7, 2)", Some(4)),
        ("max(3, -4)", Some(3)),
        ("9223372036854775807 - 1", Some(i64::MAX - 1)),
        ("int64(5)", Some(5)),
        ("n * 0", None),
        ("n - n", None),
        ("int8(5)", None),
    ];
    for (text, expected) in rows {
        assert_eq!(term(text).constant(), expected, "{text}");
    }
}

#[test]
fn what_can_fail() {
    let rows = [
        ("n + m", false),
        ("n / 2", false),
        ("n / m", true),
        ("1 + n % m", true),
        ("a / n", false),
        ("int32(n)", true),
        ("int64(n)", false),
        ("bool(n)", false),
        ("uint64(w)", false),
        ("int64(w)", true),
        ("float32(a)", false),
        ("x.shape[1]", false),
        ("r.shape[1]", true),
        ("r.strides[1]", true),
        ("g[1]", true),
        ("g2[1]", false),
        ("g2[n]", true),
    ];
    for (text, expected) in rows {
        assert_eq!(term(text).can_fail(), expected, "{text}");
    }
}

/// Every operand is resolved once, so that the time grows with the length of a text.
#[test]
fn operands_are_resolved_once() {
    let casts = format!("{}n{}", "int64(".repeat(60), ")".repeat(60));
    let sums = vec!["n"; 60].join(" + ");
    let addresses = format!("p{}", " + 1".repeat(60));
    for argument in [casts, sums, addresses] {
        let text = format!("f(n: int64, p: ptr) -> None = k({argument});");
        let library: crate::Library = text.parse().unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(library.functions.len(), 1);
    }
}
