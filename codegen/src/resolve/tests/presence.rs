//! Uses of symbols that only optional values determine.

use crate::Function;

/// Returns the error of a function whose symbols `n`, `m` and `k` are determined by these parameters; an empty text if
/// there is none.
fn error(rest: &str) -> String {
    let params = "b: bool, x: Optional[Tensor([n], int8)], y: Optional[Tensor([n, m], int8)], \
                  t: Optional[Tuple[Tensor([k], int8), Optional[Tensor([n], int8)]]]";
    let parsed = format!("f({params}) -> int64 {rest}").parse::<Function>();
    parsed.err().map_or(String::new(), |error| error.to_string())
}

#[test]
fn where_a_value_is_known_to_be_there() {
    let rows = [
        "where x.is_some = k(n);",
        "where x.is_some or y.is_some = k(n);",
        "where y.is_some = k(n * m);",
        "where t[1].is_some = k(n * k);",
        "where t.is_some, not t[1].is_some or n > 2 = k(k);",
        "where not (not x.is_some and not t[1].is_some), n > 1 = k(n);",
        "where b, x.is_some and n > 1 = k(n);",
        "where not (x.is_some and b) or n > 1 = k(1);",
        "where x.is_some or (y.is_some and m > 1) = k(n);",
        "where (x.is_some and n > 0) or (y.is_some and m > 0) or (t.is_some and k > 0) = k(1);",
        "= { if x.is_some { return n; } return 0; };",
        "= { if not x.is_some { return 0; } return n; };",
        "= { if not x.is_some { raise ValueError \"none\"; } else { return n; } };",
        "= { if b { return 0; } else if x.is_some { return n; } else { return 1; } };",
        "= { if x.is_some or y.is_some { if y.is_some { return m; } return n; } return 0; };",
        "= { if b { if not x.is_some { return 0; } } else { if not y.is_some { return 1; } } return n; };",
        "= { for i in 0..3 { if x.is_some { return n; } } return 0; };",
        "= { if x.is_some { for i in 0..n { if i > n { return i; } } } return 0; };",
        "= { if not (x.is_some and y.is_some) { return 0; } return n + m; };",
        "= { if not x.is_some or not y.is_some { return 0; } return n + m; };",
        "= { let c = x.is_some and n > 2; if c { return 1; } return 0; };",
    ];
    for rest in rows {
        assert_eq!(error(rest), "", "{rest}");
    }
}

#[test]
fn where_none_is_known_to_be_there() {
    let rows = [
        "= k(n);",
        "where n > 1, x.is_some = k(1);",
        "where x.is_some = k(m);",
        "where t.is_some = k(n);",
        "where x.is_some or b = k(n);",
        "where not x.is_some = k(n);",
        "where x.is_some or t.is_some = k(n);",
        "where n > 1 and x.is_some = k(1);",
        "where x.is_some or n > 1 = k(1);",
        "where not x.is_some and n > 1 = k(1);",
        "= { if x.is_some { return 0; } return n; };",
        "= { if b { if not x.is_some { return 0; } } return n; };",
        "= { if x.is_some { } else { return n; } return 0; };",
        "= { for i in 0..3 { if not x.is_some { return 0; } } return n; };",
        "= { let c = x.is_some; if c { return n; } return 0; };",
        "= { for i in 0..n { } return 0; };",
        "= { let a = alloc Tensor([n], int8); return 0; };",
        "= { raise ValueError n; };",
        "= { @\"g\"(Shape(n)); return 0; };",
    ];
    for rest in rows {
        assert!(error(rest).contains("known to be there"), "{rest}: {}", error(rest));
    }
}

/// Every value of a function can be known to be there.
#[test]
fn many_optionals() {
    let each = |text: &dyn Fn(usize) -> String| (0..300).map(text).collect::<Vec<_>>();
    let params = each(&|i| format!("x{i}: Optional[Tensor([n{i}], int8)]")).join(", ");
    let checks = each(&|i| format!("if not x{i}.is_some {{ return {i}; }}")).concat();
    let sum = each(&|i| format!("record(n{i});")).concat();
    let text = format!("f({params}) -> int64 = {{ {checks} {sum} return 0; }};");
    assert_eq!(text.parse::<Function>().err(), None);
    let any = each(&|i| format!("(x{i}.is_some and n{i} > 1)"));
    let any = any[..60].join(" or ");
    let text = format!("f({params}) -> None where {any} = record(1);");
    assert_eq!(text.parse::<Function>().err(), None);
}
