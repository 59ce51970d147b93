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

#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn syntax() {
    let rows = [
        ("f", "1:2: expected `(`, found the end of the text"),
        ("f(", "1:3: expected the name of a parameter, found the end of the text"),
        ("f(x", "1:4: expected `:`, found the end of the text"),
        (
            "f(x:",
            "1:5: expected `Tensor` or another type such as `float32`, found the end of the text",
        ),
        ("f(x: int8", "1:10: expected `,` or `)`, found the end of the text"),
        ("f(x: int8,", "1:11: expected the name of a parameter, found the end of the text"),
        ("f(x: int8,)", "1:11: expected the name of a parameter, found `)`"),
        ("f(x: int8) = k();", "1:12: expected `->`, found `=`"),
        (
            "f(x: int8) -> int = k();",
            "1:15: expected `None`, a type such as `float32` or `str`, or a name and `:`, found `int`, but integers have a width: `int64`, `int32`, …",
        ),
        ("f() -> None", "1:12: expected `where` or `=`, found the end of the text"),
        ("f() -> None = ;", "1:15: expected the symbol to call or `{`, found `;`"),
        ("f() -> None = k", "1:16: expected `(`, found the end of the text"),
        ("f() -> None = k(", "1:17: expected an expression, found the end of the text"),
        ("f() -> None = k(1", "1:18: expected an operator, `,` or `)`, found the end of the text"),
        ("f() -> None = k(1 2);", "1:19: expected an operator, `,` or `)`, found `2`"),
        ("f() -> None = k(1,);", "1:19: expected an expression, found `)`"),
        ("f() -> None = k()", "1:18: expected `;`, found the end of the text"),
        ("f() -> None = k(); g", "1:21: expected `(`, found the end of the text"),
        ("f() -> None = k();;", "1:19: expected the name of a function, found `;`"),
        ("(", "1:1: expected the name of a function, found `(`"),
        (
            "// one\nf() -> None = k();",
            "1:1: expected the name of a function, found `/`, but comments start with `#`, and documentation with `///`",
        ),
        (
            "def f() -> None = k();",
            "1:1: expected the name of a function, found `def`, but functions begin with their name",
        ),
        (
            "1f() -> None = k();",
            "1:1: expected the name of a function, found `1`, which needs backticks",
        ),
        ("my.f() -> None = k();", "1:3: expected `(`, or backticks around the name, found `.`"),
        ("f-1() -> None = k();", "1:2: expected `(`, or backticks around the name, found `-`"),
        (
            "ä() -> None = k();",
            "1:1: expected the name of a function, found the character 'ä', which needs backticks",
        ),
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
            "🦀() -> None = k();",
            "1:1: expected the name of a function, found the character '🦀', which needs backticks",
        ),
        (
            "f$g() -> None = k();",
            "1:2: expected `(`, or backticks around the name, found the character '$'",
        ),
        (
            "f(my.x: int8) -> None = k();",
            "1:5: expected `:`, or backticks around the name, found `.`",
        ),
        (
            "f(1: int8) -> None = k();",
            "1:3: expected the name of a parameter, found `1`, which needs backticks",
        ),
        (
            "f() -> None = { @my.f(); };",
            "1:20: expected `(`, or backticks around the name, found `.`",
        ),
        (
            "f(x: float) -> None = k();",
            "1:6: expected `Tensor` or another type such as `float32`, found `float`, but floats have a width: `float64`, `float32`, …",
        ),
        (
            "f(x: tensor) -> None = k();",
            "1:6: expected `Tensor` or another type such as `float32`, found `tensor`",
        ),
        (
            "f(x: Tensor[n]) -> None = k();",
            "1:12: expected `(`, found `[`, but the parts of a tensor are `Tensor([n], float32)`",
        ),
        ("f(x: Tensor(n, float32)) -> None = k();", "1:13: expected `[`, found `n`"),
        ("f(x: Tensor([n, float32)) -> None = k();", "1:24: expected `(`, found `)`"),
        ("f(x: Tensor([n])) -> None = k();", "1:16: expected `,` and an element type, found `)`"),
        (
            "f(x: Tensor([n], T: f32)) -> None = k();",
            "1:21: expected an element type such as `float32`, found `f32`, which is `float32`",
        ),
        (
            "f(x: Tensor([n], float32|float32x1)) -> None = k();",
            "1:26: expected an element type such as `float32`, found `float32x1`",
        ),
        (
            "f(x: Tensor([n], ptr)) -> None = k();",
            "1:18: expected an element type such as `float32`, found `ptr`",
        ),
        (
            "f(x: Tensor([n] float32)) -> None = k();",
            "1:17: expected `,` and an element type, found `float32`",
        ),
        ("f(x: Tensor([..], float32)) -> None = k();", "1:14: expected an expression, found `..`"),
        ("f(x: Tensor([...; n], float32)) -> None = k();", "1:17: expected `]`, found `;`"),
        ("f(x: Tensor([..., ], float32)) -> None = k();", "1:19: expected a dim, found `]`"),
        (
            "f(x: Tensor([..., ...], float32)) -> None = k();",
            "1:19: expected an expression, found `...`",
        ),
        ("f(x: Tensor([n..., ], float32)) -> None = k();", "1:20: expected a dim, found `]`"),
        ("f(x: Tensor([n... m], float32)) -> None = k();", "1:19: expected `,` or `]`, found `m`"),
        (
            "f(x: Tensor([n..., m...], float32)) -> None = k();",
            "1:21: expected an operator, `,` or `]`, found `...`",
        ),
        (
            "f(x: Tensor([m, n...], float32)) -> None = k();",
            "1:18: expected an operator, `,` or `]`, found `...`",
        ),
        (
            "f(x: Tensor([2..., m], float32)) -> None = k();",
            "1:15: expected an operator, `,` or `]`, found `...`",
        ),
        (
            "f(x: Tensor([_..., m], float32)) -> None = k();",
            "1:14: expected the name of all leading dims, found `_`, which needs backticks",
        ),
        (
            "f(x: Tensor([min..., m], float32)) -> None = k();",
            "1:14: expected the name of all leading dims, found `min`, which needs backticks",
        ),
        (
            "f(x: Tensor([..., n], float32, strides=[s])) -> None = k();",
            "1:41: expected `...`, for the strides of the leading dims, found `s`",
        ),
        (
            "f(x: Tensor([..., n], float32, strides=[...])) -> None = k();",
            "1:44: expected `,` and the strides of the declared dims, found `]`",
        ),
        (
            "f(x: Tensor([..., n], float32, strides=[..., ])) -> None = k();",
            "1:46: expected a dim, found `]`",
        ),
        (
            "f(x: Tensor([..., n], float32, strides=[s..., 1])) -> None = k();",
            "1:41: expected `...`, for the strides of the leading dims, found `s`",
        ),
        (
            "f(x: Tensor([n..., m], float32, strides=[..., 1])) -> None = k();",
            "1:42: expected an expression, found `...`",
        ),
        (
            "f(x: Tensor([m], float32, strides=[..., 1])) -> None = k();",
            "1:36: expected an expression, found `...`",
        ),
        ("f(x: Shape([..., n])) -> None = k();", "1:16: expected `]`, found `,`"),
        (
            "f(x: Shape([n...])) -> None = k();",
            "1:14: expected an operator, `,` or `]`, found `...`",
        ),
        (
            "f(x: Tensor([n, ...], float32)) -> None = k();",
            "1:17: expected an expression, found `...`",
        ),
        (
            "f(x: Tensor([_ + 1], float32)) -> None = k();",
            "1:16: expected an operator, `,` or `]`, found `+`",
        ),
        (
            "f(x: Tensor([n + _], float32)) -> None = k();",
            "1:18: expected an expression, found `_`",
        ),
        ("f(x: Tensor([n,], float32)) -> None = k();", "1:16: expected an expression, found `]`"),
        (
            "f(x: Tensor([n], float32, )) -> None = k();",
            "1:27: expected `strides`, `device`, `align`, `dtypes` or `access`, found `)`",
        ),
        (
            "f(x: Tensor([n], float32, stride=[1])) -> None = k();",
            "1:27: expected `strides`, `device`, `align`, `dtypes` or `access`, found `stride`",
        ),
        ("f(x: Tensor([n], float32, strides)) -> None = k();", "1:34: expected `=`, found `)`"),
        (
            "f(x: Tensor([n], float32, strides=1)) -> None = k();",
            "1:35: expected `contiguous`, `any` or `[`, found `1`",
        ),
        (
            "f(x: Tensor([n], float32, strides=row)) -> None = k();",
            "1:35: expected `contiguous`, `any` or `[`, found `row`",
        ),
        (
            "f(x: Tensor([n], float32, device=gpu)) -> None = k();",
            "1:34: expected `any` or a type of device such as `cuda`, found `gpu`",
        ),
        (
            "f(x: Tensor([n], float32, device=cuda:0)) -> None = k();",
            "1:38: expected `,` or `)`, found `:`",
        ),
        (
            "f(x: Tensor([n], float32, align=n)) -> None = k();",
            "1:33: expected a number of bytes, found `n`",
        ),
        (
            "f(x: Tensor([n], float32, align=-4)) -> None = k();",
            "1:33: expected a number of bytes, found `-`",
        ),
        (
            "f(x: Tensor([n], float32, align=18446744073709551616)) -> None = k();",
            "1:33: expected a number of bytes, found `18446744073709551616`",
        ),
        (
            "f(x: Tensor([n], float32, align=8, device=cpu, align=8)) -> None = k();",
            "1:48: expected every option once, found a second `align`",
        ),
        (
            "f(x: Tensor([n], float32, access=const)) -> None = k();",
            "1:34: expected `update`, `read` or `write`, found `const`",
        ),
        ("f() -> None where = k();", "1:19: expected an expression, found `=`"),
        (
            "f() -> None where 1 < 2 < 3 = k();",
            "1:25: expected `and` between comparisons, found a second comparison `<`",
        ),
        (
            "f() -> None where 1 == 2 == 3 = k();",
            "1:26: expected `and` between comparisons, found a second comparison `==`",
        ),
        (
            "f() -> None where 1 < 2 3 = k();",
            "1:25: expected an operator, `else`, `,` or `=`, found `3`",
        ),
        (
            "f() -> None where 1 => 2 = k();",
            "1:21: expected an operator, `else`, `,` or `=`, found `=>`",
        ),
        ("f() -> None where 1 < 2, = k();", "1:26: expected an expression, found `=`"),
        ("f() -> None = try();", "1:19: expected an expression, found `)`"),
        (
            "f() -> None = min(1, 2);",
            "1:15: expected the symbol to call or `{`, found `min`, which needs quotes",
        ),
        (
            "f() -> None = try try();",
            "1:19: expected the symbol to call, found `try`, which needs quotes",
        ),
        (
            "f() -> None = try _();",
            "1:19: expected the symbol to call, found `_`, which needs quotes",
        ),
        (
            "f() -> None = 5();",
            "1:15: expected the symbol to call or `{`, found `5`, but a program returns a value, \
             `= { return 0; };`, and `==` compares",
        ),
        (
            r#"f() -> None = "k;"#,
            "1:15: expected the symbol to call or `{`, found an unterminated quotation",
        ),
        (
            "f() -> None = \"a\\n\"();",
            "1:15: expected text with no escapes but `\\\"` and `\\\\`, found `\"a\\n\"`",
        ),
        ("f() -> None = k(where);", "1:17: expected an expression, found `where`"),
        ("f() -> None = k(else);", "1:17: expected an expression, found `else`"),
        ("f() -> None = k(Tensor);", "1:17: expected an expression, found `Tensor`"),
        ("f() -> None = k(null());", "1:21: expected an operator, `,` or `)`, found `(`"),
        ("f() -> None = k(g());", "1:18: expected an operator, `,` or `)`, found `(`"),
        ("f() -> None = k(x.);", "1:19: expected a member such as `data` or `shape[0]`, found `)`"),
        ("f() -> None = k(x.shape);", "1:24: expected `[`, found `)`"),
        ("f() -> None = k(x.shape[n]);", "1:25: expected an index, found `n`"),
        ("f() -> None = k(x.shape[--1]);", "1:26: expected an index, found `-`"),
        ("f() -> None = k(x.shape[-n]);", "1:26: expected an index, found `n`"),
        ("f() -> None = k(x.shape[2147483648]);", "1:25: expected an index, found `2147483648`"),
        ("f() -> None = k(x.strides[-2147483649]);", "1:28: expected an index, found `2147483649`"),
        ("f() -> None = k(x.shape[4294967296]);", "1:25: expected an index, found `4294967296`"),
        ("f() -> None = k(x.shape[0);", "1:26: expected `]`, found `)`"),
        ("f() -> None = k(5.data);", "1:18: expected an operator, `,` or `)`, found `.`"),
        ("f() -> None = k(1.);", "1:18: expected an operator, `,` or `)`, found `.`"),
        ("f() -> None = k(.5);", "1:17: expected an expression, found `.`"),
        ("f() -> None = k(1.5e);", "1:20: expected an operator, `,` or `)`, found `e`"),
        (
            "f() -> None = k(1e999);",
            "1:17: expected a number in the range of float64, found `1e999`",
        ),
        (
            "f() -> None = k(18446744073709551616);",
            "1:17: expected a number up to 18446744073709551615, found `18446744073709551616`",
        ),
        (
            "f() -> None = k(-9223372036854775809);",
            "1:18: expected a number down to -9223372036854775808, found `9223372036854775809`",
        ),
        (
            "f() -> None = k(-(18446744073709551616));",
            "1:19: expected a number up to 18446744073709551615, found `18446744073709551616`",
        ),
        ("f() -> None = k(0x10);", "1:18: expected an operator, `,` or `)`, found `x10`"),
        ("f() -> None = k(1 +);", "1:20: expected an expression, found `)`"),
        ("f() -> None = k(+1);", "1:17: expected an expression, found `+`"),
        ("f() -> None = k(1 ** 2);", "1:20: expected an expression, found `*`"),
        (
            "f() -> None = k(1 // 2);",
            "1:20: expected an expression, found `/`, but one `/` divides integers and rounds down, and comments start with `#`",
        ),
        (
            "f() -> None = k(1 /// 2);",
            "1:19: expected an operator, `,` or `)`, found a doc comment",
        ),
        ("f() -> None = k((1);", "1:20: expected an operator, `,` or `)`, found `;`"),
        ("f() -> None = k(());", "1:18: expected an expression, found `)`"),
        ("f() -> None = k(min(1));", "1:22: expected an operator or `,`, found `)`"),
        ("f() -> None = k(min(1, 2, 3));", "1:25: expected an operator or `)`, found `,`"),
        ("f() -> None = k(max);", "1:20: expected `(`, found `)`"),
        ("f() -> None = k(int32);", "1:22: expected `(`, found `)`"),
        ("f() -> None = k(int32());", "1:23: expected an expression, found `)`"),
        ("f() -> None = k(int32(1, 2));", "1:24: expected an operator or `)`, found `,`"),
        ("f() -> None = k(stream());", "1:24: expected an expression, found `)`"),
        ("f() -> None = k(a <);", "1:20: expected an expression, found `)`"),
        ("f() -> None = k(a == not b);", "1:22: expected an expression, found `not`"),
        ("f() -> None = k(a and);", "1:22: expected an expression, found `)`"),
        ("f() -> None = k(or);", "1:17: expected an expression, found `or`"),
        ("f() -> None = k([1);", "1:19: expected an operator, `,` or `]`, found `)`"),
        ("f() -> None = k(Shape);", "1:22: expected `(`, found `)`"),
        ("f() -> None = k(Shape(1);", "1:25: expected an operator, `,` or `)`, found `;`"),
        ("extern", "1:7: expected the name of a function, found the end of the text"),
        ("extern f", "1:9: expected `(`, found the end of the text"),
        ("extern = k();", "1:8: expected the name of a function, found `=`"),
        ("extern extern f() -> None = k();", "1:15: expected `(`, found `f`"),
        (
            "f() -> None = k(a & b);",
            "1:19: expected an operator, `,` or `)`, found the character '&'",
        ),
        (
            "f(b: bool) -> None where b && b = k();",
            "1:28: expected an operator, `else`, `,` or `=`, found the character '&', which is `and`",
        ),
        (
            "f(b: bool) -> None where b || b = k();",
            "1:28: expected an operator, `else`, `,` or `=`, found `|`, which is `or`",
        ),
        (
            "f(b: bool) -> None where !b = k();",
            "1:26: expected an expression, found the character '!', which is `not`",
        ),
        (
            "f(n: int64) -> None where n % 16 = 0 = k();",
            "1:36: expected the symbol to call or `{`, found `0`, but a program returns a value, \
             `= { return 0; };`, and `==` compares",
        ),
        ("f(b: bool) -> None where != b = k();", "1:26: expected an expression, found `!=`"),
        ("f() -> None = k(é);", "1:17: expected an expression, found the character 'é'"),
        ("/// docs", "1:9: expected the name of a function, found the end of the text"),
        ("/// docs\n# comment", "1:9: expected the name of a function, found the end of the text"),
        (
            "/// docs\n/// more\nf() -> None /// here\n= k();",
            "3:13: expected `where` or `=`, found a doc comment",
        ),
        (
            "f(\n    x: int8,\n    y: int88\n) -> None = k();",
            "3:8: expected `Tensor` or another type such as `float32`, found `int88`",
        ),
        (
            "f(x: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa) -> None = k();",
            "1:6: expected `Tensor` or another type such as `float32`, found `aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa…`",
        ),
        (
            "f(x: \0) -> None = k();",
            "1:6: expected `Tensor` or another type such as `float32`, found the character '\\0'",
        ),
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
    names.parse::<Library>().unwrap_or_else(|error| panic!("{error}"));
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
