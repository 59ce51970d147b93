//! The order of steps, and the occurrence that binds a symbol.

use crate::Library;
use crate::resolve::print::Printer;
use crate::resolve::step::{Rule, Step};

/// Prints the steps of a function with these parameters.
fn steps(params: &str, rest: &str) -> String {
    let library: Library = format!("f({params}) {rest};").parse().unwrap();
    let resolved = library.resolve().unwrap();
    let function = &resolved.functions[0];
    super::print::steps(function, &function.steps)
}

#[test]
fn steps_follow_the_text() {
    let rows = [
        (
            "n: int64, x: Tensor([n, 4], float32)",
            "int64 n; n: n; header x; x.shape[0]: n; x.shape[1] = 4; compact x; data x align 4",
        ),
        (
            "x: Tensor([n, _], float32, strides=[s, 1], align=16)",
            "header x; x.shape[0]: n; x.shape[1]: any; x.strides[0]: s; x.strides[1] = 1; \
             bind s by compact x.strides[0]; data x align 16",
        ),
        ("x: Tensor([...], int8, strides=any)", "header x; data x align 1"),
        ("a: float16, b: ptr, c: Optional[int8]", "float16 a; ptr b; int8 c"),
        ("s: Shape([n, 4]), t: Shape", "value s; s[0]: n; s[1] = 4; value t"),
        (
            "t: Tuple[int64, x: Tensor([2 * n + 1], int8)]",
            "value t; int64 t[0]; header t.x; t.x.shape[0]: n from add(mul(2, n), 1); compact t.x; data t.x align 1",
        ),
        ("s: str, d: dtype, v: Device, *rest: Any", "value s; value d; value v; value rest"),
    ];
    for (params, expected) in rows {
        assert_eq!(steps(params, "-> None = k()"), expected, "{params}");
    }
}

#[test]
fn what_is_one_of_many_has_steps_of_its_own() {
    let rows = [
        (
            "xs: Array[Any], m: Map[Any, Any]",
            "value xs; value m; each m { value m.keys[i]; value m.values[i] }",
        ),
        (
            "xs: Array[Tensor([n], int8)], n: int64",
            "value xs; each xs { header xs[i]; xs[i].shape[0]: n; compact xs[i]; data xs[i] align 1 }; int64 n; n: n",
        ),
        (
            "m: Map[str, List[int8]]",
            "value m; each m { value m.keys[i]; value m.values[i]; \
             each m.values[i] { int8 m.values[i][j] } }",
        ),
        (
            "n: int64, u: Union[int8, Tensor([n], int8)]",
            "int64 n; n: n; value u; \
             one of u { int8 u | header u; u.shape[0]: n; compact u; data u align 1 }",
        ),
    ];
    for (params, expected) in rows {
        assert_eq!(steps(params, "-> None = k()"), expected, "{params}");
    }
}

/// An expression of several symbols is compared as soon as the last of them is known.
#[test]
fn expressions_wait_for_their_symbols() {
    let rows = [
        (
            "s: Shape([n * m]), t: Shape([n]), u: Shape([m]), v: Shape([2])",
            "value s; s[0]: any; value t; t[0]: n; value u; u[0]: m; s[0] = mul(n, m); value v; v[0] = 2",
        ),
        (
            "x: Tensor([1], int8, strides=[a]), s: Shape([a * a])",
            "header x; x.shape[0] = 1; x.strides[0]: a; data x align 1; value s; s[0]: any; \
             bind a by compact x.strides[0]; s[0] = mul(a, a)",
        ),
        (
            "s: Optional[Shape([n * n, n])], t: Shape([4])",
            "value s; s[0]: any; s[1]: n; value t; t[0] = 4; s[0] = mul(n, n) if known: n",
        ),
        (
            "xs: Array[Shape([n * n, n])], n: int64",
            "value xs; each xs { value xs[i]; xs[i][0]: any; xs[i][1]: n; \
             xs[i][0] = mul(n, n) if known: n }; int64 n; n: n",
        ),
    ];
    for (params, expected) in rows {
        assert_eq!(steps(params, "-> None = k()"), expected, "{params}");
    }
}

#[test]
fn constraints_outputs_and_arguments_follow_the_parameters() {
    let rest =
        "-> out: Tensor([n / m, n], int8) where n > m, m % 2 == 0 = k(int32(n), n / 2, m % n, out)";
    let expected = "int64 n; n: n; int64 m; m: m; require gt(n, m); require eq(rem(m, 2), 0)";
    assert_eq!(steps("n: int64, m: int64", rest), expected);
}

/// The first place that can bind a symbol does.
#[test]
fn the_first_place_that_can_binds() {
    let rows = [
        ("n: int64, x: Tensor([n], int8)", "n", "n"),
        ("x: Tensor([n], int8), n: int64", "n", "x.shape[0]"),
        ("x: Tensor([n, n], int8)", "n", "x.shape[0]"),
        ("x: Tensor([3 - n], int8), n: int64", "n", "x.shape[0]"),
        ("x: Tensor([n * n], int8), n: int64", "n", "n"),
        ("x: Tensor([n + m], int8), y: Tensor([n], int8), z: Tensor([m], int8)", "m", "z.shape[0]"),
        ("y: Tensor([n], int8), x: Tensor([n + m], int8), z: Tensor([m], int8)", "m", "x.shape[0]"),
        ("x: Tensor([n / 2], int8), s: Shape([n])", "n", "s[0]"),
        ("x: Tensor([4], int8, strides=[s]), n: Shape([s])", "s", "x.strides[0]"),
        ("t: Tuple[n: int64, s: Shape([k])], k: int64", "k", "t.s[0]"),
    ];
    for (params, symbol, expected) in rows {
        let library: Library = format!("f({params}) -> None = k();").parse().unwrap();
        let resolved = library.resolve().unwrap();
        let (function, printer) = (&resolved.functions[0], Printer(&resolved.functions[0]));
        let place = function.steps.iter().find_map(|step| {
            let Step::Occurrence { place, rule } = step else { return None };
            let (Rule::Symbol(found) | Rule::Solve { symbol: found, .. }) = rule else {
                return None;
            };
            (printer.symbol(*found) == symbol).then_some(*place)
        });
        assert_eq!(place.map(|place| printer.place(place)).as_deref(), Some(expected), "{params}");
    }
}
