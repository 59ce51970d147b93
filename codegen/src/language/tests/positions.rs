//! Tests of the positions of errors.

use super::errors::{error, first_line};
use crate::declaration::{Expr, Function, Library};
use crate::error::{Error, Part};

/// Returns line, column, and the two lines with the caret.
fn shown(text: &str) -> (usize, usize, String) {
    let error = error(text);
    let position = error.position().expect("a position");
    (position.line, position.column, position.to_string())
}

#[test]
fn source_lines() {
    let rows = [
        ("f(\n\tx: int8,\r\n\ty:\tint9\r\n)", 3, 5, "  |  y: int9\n  |     ^"),
        ("\n\nf(x:\n  # more\n", 3, 5, "  | f(x:\n  |     ^"),
        ("f(é", 1, 3, "  | f(é\n  |   ^"),
        ("# é\nf(x: \u{1f980}\u{7})", 2, 6, "  | f(x: \u{1f980} )\n  |      ^"),
        ("f() -> None =\r", 1, 14, "  | f() -> None =\n  |              ^"),
    ];
    for (text, line, column, lines) in rows {
        assert_eq!(shown(text), (line, column, lines.to_owned()), "{text:?}");
    }
}

#[test]
fn long_source_lines_are_cut_around_the_caret() {
    let digits = "0123456789".repeat(20);
    let start = format!("f(x{digits}: int9, x{digits}: int8)");
    assert_eq!(
        shown(&start.replacen(&digits, "", 1)),
        (1, 6, format!("  | f(x: int9, x{}…\n  |      ^", &digits[..88]))
    );
    let middle = format!("{}^ {digits}", "é".repeat(100)).replacen('é', "f(éé", 1);
    assert_eq!(shown(&middle), (1, 3, format!("  | f({}…\n  |   ^", "é".repeat(98))));
    assert_eq!(
        shown(&start),
        (1, 206, format!("  | …{}: int9, x{}…\n  | {:51}^", &digits[152..], &digits[..43], ""))
    );
    let end = format!("f(x{digits}:");
    let excerpt = format!("  | …{}:\n  | {:101}^", &digits[101..], "");
    assert_eq!(shown(&end), (1, 205, excerpt));
}

#[test]
fn results_have_positions() {
    let text = "f() -> (out: Tensor([1], bool),\n    more: Tensor([2], bool)) = k(out, more);";
    let library: Library = text.parse().unwrap();
    for (part, expected) in
        [(Part::Result, "1:8"), (Part::Output(0), "1:9"), (Part::Output(1), "2:5")]
    {
        let error = Error::invalid(0, &library.functions[0], part, "reason");
        let located = error.locate(text);
        let position = located.position().expect("a position");
        assert_eq!(format!("{}:{}", position.line, position.column), expected);
    }
}

/// A text with a mark has the errors of the text without it: of the grammar, of a limit and of meaning.
#[test]
fn a_byte_order_mark_is_not_counted() {
    let deep = format!("f(n: int64) -> None = k({}n);", "-".repeat(100));
    let texts =
        ["f(", "\nf(x: int9)", "f(n: int64) -> None = k(m);", "f() -> None = k();\nf", &deep];
    for text in texts {
        let marked = format!("\u{feff}{text}");
        assert_eq!(error(&marked), error(text));
        assert_eq!(Library::parse(&marked), Library::parse(text));
    }
    let text = "f(n: int64) -> None = k(n);";
    assert_eq!(format!("\u{feff}{text}").parse::<Library>(), text.parse());
    assert_eq!(format!("\u{feff}{text}").parse::<Function>(), text.parse());
    assert_eq!("\u{feff}n + 1".parse::<Expr>(), "n + 1".parse());
    // It is one mark.
    assert_eq!(
        first_line(&error(&format!("\u{feff}\u{feff}{text}"))),
        "1:1: expected the name of a function, found the character '\\u{feff}'"
    );
}

#[test]
fn parts_have_positions() {
    let text = "\
# before
f() -> None = k();
/// docs
@\"k.py\":3
g(
    a: int8,
    x: Tensor([_, n + 1], float32, strides=[1, s], align=16)
) -> None
    where n < 2, a == 1
    = try \"quoted\"(n, x) errors { 1: E \"a\", _: E \"b\" };
";
    let library: Library = text.parse().unwrap();
    let rows = [
        (Part::Docs, "3:1 g: docs"),
        (Part::Location, "4:1 g: location"),
        (Part::Name, "5:1 g"),
        (Part::Param(0), "6:5 g: a"),
        (Part::Param(1), "7:5 g: x"),
        (Part::Dim(1, 0), "7:16 g: x.shape[0]"),
        (Part::Dim(1, 1), "7:19 g: x.shape[1]"),
        (Part::Stride(1, 0), "7:45 g: x.strides[0]"),
        (Part::Stride(1, 1), "7:48 g: x.strides[1]"),
        (Part::Align(1), "7:58 g: x.align"),
        (Part::Dtype(1), "7:27 g: x.dtype"),
        (Part::Result, "8:6 g: result"),
        (Part::Constraint(0), "9:11 g: constraint 0"),
        (Part::Constraint(1), "9:18 g: constraint 1"),
        (Part::Callee, "10:11 g: callee"),
        (Part::Argument(0), "10:20 g: call argument 0"),
        (Part::Argument(1), "10:23 g: call argument 1"),
        (Part::Status(0), "10:35 g: error 0"),
        (Part::Status(1), "10:45 g: error 1"),
    ];
    for (part, expected) in rows {
        let error = Error::invalid(1, &library.functions[1], part, "reason");
        let located = error.clone().locate(text);
        let position = located.position().expect("a position");
        let site = located.site().expect("a site");
        assert_eq!(format!("{}:{} {site}", position.line, position.column), expected);
        // A location that is at fault says nothing.
        let location = if part == Part::Location { "" } else { "k.py:3: " };
        assert_eq!(error.to_string(), format!("{location}{site}: reason"));
        let place = format!("{}:{}", position.line, position.column);
        assert_eq!(first_line(&located), format!("{place}: {location}{site}: reason"));
    }
}
