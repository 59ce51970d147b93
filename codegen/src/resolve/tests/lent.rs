//! Addresses in values, which a function that a body makes does not hold with the values.

use crate::Library;

/// Returns the last line of the error of a body, if it is wrong, without the place.
fn error(body: &str) -> Option<String> {
    let params =
        "x: Tensor([n], float32), s: str, g: Shape([n]), p: ptr, xs: Array[Tensor([n], float32)]";
    let text = format!("f({params}) -> Function = {{ {body} }};");
    let error = text.parse::<Library>().err()?.to_string();
    let line = error.lines().next().unwrap_or_default();
    Some(line.rsplit_once(": statement ").map_or(line, |(_, rest)| rest).to_owned())
}

#[test]
fn an_address_in_a_value_is_not_captured() {
    let rows = [
        "let q = x.data;",
        "let q = x.data + 4;",
        "let o = x.data; let q = 8 + o;",
        "let q = s.data;",
        "let q = g.data;",
        "let q = xs[0].data;",
        "let t = alloc Tensor([n], float32); let q = t.data;",
        "let q = int64(x.data);",
        "let o = int64(x.data); let q = o + 16;",
        "let o = int64(x.data); let q = ptr(o - 16);",
    ];
    for row in rows {
        let body = format!("{row} return function() -> None {{ k(q); }};");
        let found = error(&body).unwrap_or_else(|| panic!("{row} is accepted"));
        assert!(
            found.contains("`q` is an address in a value, which a function does not hold"),
            "{found}"
        );
    }
}

#[test]
fn what_holds_nothing_is_captured() {
    let rows = [
        "let q = p;",
        "let q = p + 4;",
        "let q = int64(p);",
        "let q = int64(x.data) % 16;",
        "let q = x.data == null;",
        "let q: ptr = pick(x.data);",
        "let q = x.numel;",
    ];
    for row in rows {
        let body = format!("{row} return function() -> None {{ k(q); }};");
        assert_eq!(error(&body), None, "{row}");
    }
    assert_eq!(error("return function() -> None { let q = x.data; k(q); };"), None);
}
