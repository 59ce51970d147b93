//! Texts that the table cannot write: with a NUL, or longer than messages show.

use codegen::Library;

use crate::results;

/// The functions, where `0` in angle brackets is a NUL.
const DECLARATIONS: &str = r#"
    short() -> str = { return "a<0>b"; };
    long() -> str = { return "a longer text<0>with an end"; };
    any() -> Any = { return "<0><0><0><0><0><0><0><0>"; };
    several() -> Array[str] = { return ["<0>", "a longer text<0>with an end", "none"]; };
    chosen(n: int64) -> Literal["a<0>b", "<0>a longer text<0>"]
        = { if n > 0 { return "a<0>b"; } return "<0>a longer text<0>"; };
    same(s: str) -> str = { return s; };
    passed() -> str = { let s: str = @same("a longer text<0>with an end"); return s; };
    passed_short() -> Any = { let s: Any = @same("a<0>b"); return s; };
    named() -> str = { let s: str = @"results.same"("a longer text<0>with an end"); return s; };
    nested() -> Any = { let s: Any = @"results.same"(["a longer text<0>with an end", ["b<0>"]]); return s; };
    missing() -> None = { @"results.nothing"("a longer text<0>with an end"); };
    sizes(s: str) -> int64 = { return s.size * 100 + (s == "a<0>b") * 10 + (s == "a"); };
    by_default(s: str = "a<0>b") -> str = { return s; };
    literal(s: Literal["a<0>b", "a"] = "a<0>b") -> int64 = { return s.size; };
    any_by_default(s: Any = "<0>", n: int64 = 7) -> Any = { return s; };
    raised(s: str) -> None = { raise ValueError "a<0>b ", s; };
    divided(n: int64, s: str) -> int64 = { return n / (s == "a<0>b"); };
    to_a_kernel() -> None = record_text("a<0>b");
    noted() -> ptr = recorded();
"#;

/// Expressions, and what they are.
const ROWS: [(&str, &str); 22] = [
    ("repr(m.short())", r"'a\x00b'"),
    ("repr(m.long())", r"'a longer text\x00with an end'"),
    ("m.any() == 8 * chr(0)", "True"),
    ("list(m.several())", r"['\x00', 'a longer text\x00with an end', 'none']"),
    ("[m.chosen(n) for n in range(2)]", r"['\x00a longer text\x00', 'a\x00b']"),
    ("repr(m.passed())", r"'a longer text\x00with an end'"),
    ("repr(m.passed_short())", r"'a\x00b'"),
    ("repr(m.named())", r"'a longer text\x00with an end'"),
    ("list(m.nested()[1])", r"['b\x00']"),
    ("repr(m.nested()[0])", r"'a longer text\x00with an end'"),
    ("error(m.missing).split(' in ')[0]", "RuntimeError: Cannot find function results.nothing"),
    ("m.sizes('a\\0b'), m.sizes('a'), m.sizes('a\\0c')", "(310, 101, 300)"),
    ("repr(m.by_default()), m.by_default('c')", r#"("'a\\x00b'", 'c')"#),
    ("m.literal(), m.literal('a')", "(3, 1)"),
    ("repr(m.any_by_default()), repr(m.any_by_default(5))", r#"("'\\x00'", '5')"#),
    ("error(lambda: m.raised('c')).encode()", r"b'ValueError: a\x00b c'"),
    (
        "error(lambda: m.divided(1, 'a')).split(chr(0))[1]",
        "b\") when calling: `divided(n: int64, s: str)`, n = 1, s = \"a\"",
    ),
    ("m.divided(3, 'a\\0b')", "3"),
    ("m.to_a_kernel()", "None"),
    ("ctypes.string_at(m.noted().value)", r#"b'"a\\x00b"'"#),
    ("grows(m.long), grows(m.passed), grows(m.nested)", "(False, False, False)"),
    ("grows(m.several)", "False"),
];

#[test]
fn a_nul_ends_no_text() {
    let library: Library = DECLARATIONS.replace("<0>", "\0").parse().expect("they are valid");
    results::hold(&library, &[], &ROWS);
}
