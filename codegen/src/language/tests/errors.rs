//! Tests of error messages: the first line of each. The other lines follow from the position.

use crate::declaration::{Expr, Function, Library};
use crate::error::Error;

pub(super) fn error(text: &str) -> Error {
    text.parse::<Library>().expect_err(text)
}

pub(super) fn first_line(error: &Error) -> String {
    error.to_string().lines().next().unwrap_or_default().to_owned()
}

/// Asserts the error of each statement as the only one of a body that follows `start`.
pub(super) fn check_statements(start: &str, rows: &[(&str, &str)]) {
    for (statement, expected) in rows {
        let found = first_line(&error(&format!("{start}\n{statement} }};")));
        let places = ["f: statement 0: ", "f: argument #0 of the call: "];
        let found = places.iter().fold(found, |found, place| found.replace(place, ""));
        assert_eq!(found, *expected, "{statement}");
    }
}

/// Texts that `tests/declarations.txt`, which has all others, cannot show.
#[test]
fn syntax() {
    let rows = [
        // A character that nobody sees is in no name that somebody meant.
        (
            "\u{200b}f() -> None = k();",
            "1:1: expected the name of a function, found the character '\\u{200b}'",
        ),
        (
            "f(\u{a0}n: int64) -> None = k();",
            "1:3: expected the name of a parameter, found the character '\\u{a0}'",
        ),
        (
            "f(x: \0) -> None = k();",
            "1:6: expected `Tensor` or another type such as `float32`, found the character '\\0'",
        ),
        ("/// docs\n# comment", "1:9: expected the name of a function, found the end of the text"),
    ];
    for (text, expected) in rows {
        let error = error(text);
        assert!(matches!(error, Error::Syntax { .. }), "{text}");
        assert_eq!(first_line(&error), expected, "{text}");
    }
}

/// Words and signs of other languages.
#[test]
fn what_was_meant() {
    let type_or = "1:6: expected `Tensor` or another type such as `float32`, found";
    let element = "1:18: expected an element type such as `float32`, found";
    let ints = "`int`, but integers have a width: `int64`, `int32`, …";
    let floats = "`float`, but floats have a width: `float64`, `float32`, …";
    let once = "but a name has one value, which `let` gives it: `let a = 1;`";
    let loops = "but loops are `for i in a..b { … }`";
    let braces = "but statements stand in braces, `= { … };`";
    let rows = [
        ("f(n: int) -> None = k();", format!("{type_or} {ints}")),
        ("f(a: float) -> None = k();", format!("{type_or} {floats}")),
        ("f(a: double) -> None = k();", format!("{type_or} `double`, which is `float64`")),
        ("f(a: string) -> None = k();", format!("{type_or} `string`, which is `str`")),
        ("f(x: Tensor([n], int)) -> None = k();", format!("{element} {ints}")),
        ("f(x: Tensor([n], float)) -> None = k();", format!("{element} {floats}")),
        (
            "f() -> None = k(int(1.5));",
            format!("1:20: expected an operator, `,` or `)`, found `(` after {ints}"),
        ),
        ("f() -> None = { i = 1; };", format!("1:19: expected `(`, found `=`, {once}")),
        ("f() -> None = { i: int8 = 1; };", format!("1:18: expected `(`, found `:`, {once}")),
        ("f() -> None = { i += 1; };", format!("1:19: expected `(`, found `+`, {once}")),
        (
            "f() -> None = { while i < 2 { k(); } };",
            format!("1:17: expected a statement or `}}`, found `while`, {loops}"),
        ),
        (
            "f() -> None = { while (i < 2) { k(); } };",
            format!("1:31: expected `;`, found a block after `while`, {loops}"),
        ),
        (
            "f() -> None = { if a {} elif b {} };",
            "1:25: expected a statement or `}`, found `elif`, which is `else if`".to_owned(),
        ),
        (
            "f() -> None = launch i.\"k\"() grid(1) block(1);",
            format!("1:15: expected the symbol to call or `{{`, found `launch`, {braces}"),
        ),
        (
            "f() -> None = return 1;",
            format!("1:15: expected the symbol to call or `{{`, found `return`, {braces}"),
        ),
        (
            "f() -> None = @g();",
            format!("1:15: expected the symbol to call or `{{`, found `@`, {braces}"),
        ),
        (
            "f() -> None = k('a');",
            "1:17: expected an expression, found the character '\\'', but texts stand in double quotes"
                .to_owned(),
        ),
        (
            "f(x: list[int64]) -> None = k();",
            "1:6: expected `Tensor` or another type such as `float32`, found `list`, which is `Array[…]` or \
             `List[…]`"
                .to_owned(),
        ),
        (
            "f() -> None = k(1, // one\n2);",
            "1:20: expected an expression, found `/`, but comments start with `#`".to_owned(),
        ),
    ];
    for (text, expected) in rows {
        assert_eq!(first_line(&error(text)), expected, "{text}");
    }
    // These words are names.
    let names =
        "f(int: int8, float: int8) -> None = { while(int); let elif = float; double(elif); };";
    let _: Library = names.parse().unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn meaning() {
    let rows = [
        (
            "_library_ctx() -> None = k();",
            "1:1: _library_ctx: its symbol `__tvm_ffi__library_ctx` is that of the context of the library",
        ),
        (
            "f() -> None = k(); `_metadata_my f`() -> None = k();",
            "1:20: `_metadata_my f`: its symbol `__tvm_ffi__metadata_my f` is that of the metadata of `my f`",
        ),
        (
            "f() -> None = { @_doc_f(); };",
            "1:17: f: statement 0: its symbol `__tvm_ffi__doc_f` is that of the documentation of `f`",
        ),
        ("f() -> None = k(); f() -> None = k();", "1:20: f: an earlier function has this name"),
        (
            "f(x: int8, y: int8, x: int8) -> None = k();",
            "1:21: f: x: an earlier parameter has the name `x`",
        ),
        (
            "f(`try`: int8, x: int8, `try`: int8) -> None = k();",
            "1:25: f: `try`: an earlier parameter has the name `try`",
        ),
        (
            "f(`min`: Tensor([k, 2 / `max`], int8)) -> None = k();",
            "1:21: f: `min`.shape[1]: nothing determines the symbol `max`",
        ),
        (
            "f(x: int8, self: ptr) -> None = k();",
            "1:12: f: self: `self` must be the first parameter and have the type `ptr`",
        ),
        (
            "f(self: int64) -> None = k();",
            "1:3: f: self: `self` must be the first parameter and have the type `ptr`",
        ),
        (r#"f() -> None = ""();"#, "1:15: f: callee: the symbol is empty"),
        ("f() -> None = \"a\tb\"();", "1:15: f: callee: the symbol contains control characters"),
    ];
    for (text, expected) in rows {
        let error = error(text);
        assert!(matches!(error, Error::Invalid { .. }), "{text}");
        assert_eq!(first_line(&error), expected, "{text}");
    }
}

#[test]
fn one_item_is_one_item() {
    let function = |text: &str| first_line(&text.parse::<Function>().unwrap_err());
    let more = "1:19: expected the end of the text, found `g`";
    assert_eq!(function("f() -> None = k();g"), more);
    assert_eq!(function(""), "1:1: expected the name of a function, found the end of the text");
    let expr = |text: &str| first_line(&text.parse::<Expr>().unwrap_err());
    assert_eq!(expr("a b"), "1:3: expected the end of the text, found `b`");
    assert_eq!(expr("a;"), "1:2: expected the end of the text, found `;`");
    let signature = |text: &str| first_line(&text.parse::<crate::Signature>().unwrap_err());
    assert_eq!(signature("f() -> None = k()"), "1:13: expected the end of the text, found `=`");
}

/// Errors of the grammar have the location that a declaration gives, of the innermost statement that has one.
#[test]
fn locations_of_faults_of_the_grammar() {
    let sum = vec!["n"; 80].join(" + ");
    let statements = "@\"m.py\":43 if n > 0 { k(n); @\"m.py\":44 k(n); }";
    let start = "@\"m.py\":42\nf(n: int64) -> None = {";
    let rows = [
        ("@\"m.py\":42\nf(n: int7) -> None = k();".to_owned(), "m.py:42: expected"),
        (format!("{start} k({sum}); }};"), "m.py:42: more than 64 levels"),
        (format!("{start} {statements} @\"m.py\":45 k(n +); }};"), "m.py:45: expected"),
        (format!("{start} {statements} k(n +); }};"), "m.py:42: expected"),
        (format!("{start} @\"m.py\":43 if n > 0 {{ k(n +); }} }};"), "m.py:43: expected"),
        (format!("{start} k(n); }}; g() -> None = 1;"), "expected"),
        ("@\"m.py\" f() -> None = k();".to_owned(), "expected `:`"),
    ];
    for (text, expected) in rows {
        let error = text.parse::<Library>().expect_err(&text).to_string();
        let (_, message) = error.split_once(": ").expect("a position");
        assert!(message.starts_with(expected), "{text}: {error}");
    }
}
