//! Tests of reserved words and of any other text as names: backticks in text, none in values.

use abi_spec::{DType, Scalar};

use super::errors::{error, first_line};
use crate::declaration::{
    Body, Call, Element, Expr, Library, ParamType, Signature, Statement, Tensor,
};
use crate::error::Error;
use crate::language::parse_library;

#[test]
fn where_they_are_named_and_used() {
    let text = "\
try(`stream`: Tensor([n, `max`], float32), `_`: Tuple[`str`: int64, x: bool], *`None`: Any) -> `ptr`: Tensor([`max`], int8)
    where `stream`.shape[0] < `max`
    = {
        let `and` = `_`.str + `max`;
        let `or`: Any = @where(`stream`, `and`);
        let `not` = alloc Tensor([`max`], float32) on `stream`;
        for `else` in 0..`and` {
            \"min\"(`else`, `not`.data, `ptr`.data, -`max`);
        }
    };
";
    let library: Library = text.parse().unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(library.to_string(), text);
}

#[test]
fn any_text_but_a_backtick() {
    let text = "\
/// Documented.
`my.f`(`2`: int64, `x y`: Tensor([`é_1`, `2`], `T.1`: float32|int8), `# \"%s\\`: Tuple[`é `: int64, `a.b`: bool], *`@`: Any) -> `->`: Tensor([`é_1`], float32)
    where `x y`.shape[0] < `é_1`
    = {
        let `x.data` = `# \"%s\\`.`é ` + `2`;
        let `,`: Any = @`_a b`(`x y`, `x.data`);
        for `in ` in 0..`x.data` {
            k(`in `, `->`.data, -`2`);
        }
        let g = function(`a b`: int64) -> int64 {
            return `a b`;
        };
    };

_f() -> None
    = {
        @`[]`();
    };

_() -> None
    = k2();
";
    let library: Library = text.parse().unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(library.to_string(), text);
    assert_eq!(library.functions[0].signature.name, "my.f");
    let long = format!("`{}`() -> None\n    = k();\n", "é".repeat(2048));
    let library: Library = long.parse().unwrap_or_else(|error| panic!("{error}"));
    library.validate().unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(library.to_string(), long);
}

/// Backticks are left out where no word is reserved.
#[test]
fn canonical() {
    let rows = [
        ("`f`(`x`: int8) -> None = k(`x`);", "f(x: int8) -> None\n    = k(x);\n"),
        ("`min`() -> None = \"min\"();", "min() -> None\n    = \"min\"();\n"),
        (
            "f(t: Tuple[`a`: int8]) -> None = k(t.`a`);",
            "f(t: Tuple[a: int8]) -> None\n    = k(t.a);\n",
        ),
        (
            "f(t: Tuple[`max`: int8]) -> None = k(t.max);",
            "f(t: Tuple[`max`: int8]) -> None\n    = k(t.max);\n",
        ),
        (
            "f(`_`: int8, x: Tensor([_, `_`], int8)) -> None = { @`try`(); @k(x.`data`); };",
            "f(`_`: int8, x: Tensor([_, `_`], int8)) -> None\n    = {\n        @try();\n        @k(x.data);\n    };\n",
        ),
        (
            "f() -> None = { let `alloc` = 1; let b = `alloc`; let `if` = `b`; };",
            "f() -> None\n    = {\n        let alloc = 1;\n        let b = alloc;\n        let if = b;\n    };\n",
        ),
    ];
    for (text, canonical) in rows {
        let library = parse_library(text).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(library.to_string(), canonical, "{text}");
        assert_eq!(canonical.parse(), Ok(library), "{text}");
    }
}

#[test]
fn without_backticks() {
    let rows = [
        (
            "f(min: int8)",
            "1:3: expected the name of a parameter, found `min`, which needs backticks",
        ),
        ("f(_: int8)", "1:3: expected the name of a parameter, found `_`, which needs backticks"),
        (
            "f() -> ptr: Tensor",
            "1:8: expected the name of a result, found `ptr`, which needs backticks",
        ),
        (
            "f() -> None = { let not = 1;",
            "1:21: expected a name, found `not`, which needs backticks",
        ),
        (
            "f() -> None = { for _ in",
            "1:21: expected the name of a counter, found `_`, which needs backticks",
        ),
        ("f() -> None = k(where);", "1:17: expected an expression, found `where`"),
        ("f() -> None = k(stream);", "1:23: expected `(`, found `)`"),
        ("f() -> None = `k`();", "1:15: expected the symbol to call or `{`, found `k`"),
        ("f() -> None = k(`a` `b`);", "1:21: expected an operator, `,` or `)`, found `b`"),
        ("f(x: `int8`)", "1:6: expected `Tensor` or another type such as `float32`, found `int8`"),
        ("f(``: int8)", "1:3: expected the name of a parameter, found an empty name"),
        (
            "f(`a\nb`: int8)",
            "1:3: expected the name of a parameter, found a name with the character '\\n'",
        ),
        (
            "f(`a\u{85}`: int8)",
            "1:3: expected the name of a parameter, found a name with the character '\\u{85}'",
        ),
        ("f(`a", "1:3: expected the name of a parameter, found a name without the second backtick"),
    ];
    for (text, expected) in rows {
        let error = error(text);
        assert!(matches!(error, Error::Syntax { .. }), "{text}");
        assert_eq!(first_line(&error), expected, "{text}");
    }
}

/// Values hold reserved words as they are.
#[test]
fn values_have_any_names() {
    let [stream, max, local] = ["stream", "max", "None"].map(Expr::name);
    let pair = ParamType::tuple([Element::named("str", Scalar::Int64)]);
    let tensor = Tensor::new([max.clone(), 2.into()], DType::FLOAT32);
    let element = Expr::name("try").field("str");
    let library = Library::new([Signature::new("where")
        .param("stream", tensor)
        .param("try", pair)
        .require((&max % 4).equal(0))
        .body(Body::Block(vec![
            Statement::let_value("None", &max + 1),
            Statement::call(Call::kernel("min", [stream.data(), local, element])),
        ]))]);
    let text = library.to_string();
    assert_eq!(text.parse(), Ok(library), "{text}");
}
