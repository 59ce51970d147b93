//! Tests of device variables and of what is called after an image is loaded: canonical text and errors.

use super::errors::{check_statements, error, first_line};
use crate::declaration::{Function, Library};

const START: &str = "image i; image min on load @\"init\"; f(x: Tensor([n], float32, device=cuda), \
                     c: Tensor([n], float32), t: Tuple[global: int64]) -> None = {";

#[test]
fn text_is_canonical() {
    let rows = [
        ("k(i . global( \"v\" ));", "k(i.global(\"v\"));"),
        ("k(`i`.global(\"a \\\"b\\\" $c\").size+1);", "k(i.global(\"a \\\"b\\\" $c\").size + 1);"),
        ("k(`min`.global(\"v\")+4);", "k(`min`.global(\"v\") + 4);"),
        (
            "let w = alloc Tensor([i.global(\"v\").size], int8) on x;\n        k(w.data);",
            "let w = alloc Tensor([i.global(\"v\").size], int8) on x;\n        k(w.data);",
        ),
        // Elsewhere the word is a name.
        ("k(t.global);", "k(t.global);"),
        (
            "let global = i.global(\"v\");\n        k(global);",
            "let global = i.global(\"v\");\n        k(global);",
        ),
        (
            "launch min.\"k\"(i.global(\"v\"), struct(i.global(\"v\"), int32(i.global(\"v\").size))) grid(1) block(1);",
            "launch min.\"k\"(i.global(\"v\"), struct(i.global(\"v\"), int32(i.global(\"v\").size))) grid(1) block(1);",
        ),
        (
            "fill i.global(\"v\"), i.global(\"v\").size, 0;\n        copy i.global(\"v\") + 4, x.data, n * 4;",
            "fill i.global(\"v\"), i.global(\"v\").size, 0;\n        copy i.global(\"v\") + 4, x.data, n * 4;",
        ),
        (
            "@\"g\"(i.global(\"v\"), i.global(\"v\").size);",
            "@\"g\"(i.global(\"v\"), i.global(\"v\").size);",
        ),
    ];
    for (text, expected) in rows {
        let text = format!("{START} {text} }};");
        let library: Library = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
        let printed = library.functions[0].body.to_string();
        assert_eq!(printed, format!("{{\n        {expected}\n    }}"));
        assert_eq!(library.to_string().parse::<Library>().as_ref(), Ok(&library));
        let alone = library.functions[0].to_string();
        assert_eq!(alone.parse::<Function>().as_ref(), Ok(&library.functions[0]), "{alone}");
    }
}

#[test]
fn images_name_what_is_called() {
    let text = "image i on load @\"nvshmem.init\";\nimage on;\n";
    let library: Library = "image i  on load@ \"nvshmem.init\" ;image on;".parse().unwrap();
    assert_eq!(library.to_string(), text);
    assert_eq!(library.images[0].on_load.as_deref(), Some("nvshmem.init"));
    assert_eq!(library.images[1].on_load, None);
    let rows = [
        ("image i on;", "1:11: expected `load`, found `;`"),
        ("image i on load;", "1:16: expected `@` and the name of a function in quotes, found `;`"),
        ("image i on load @f;", "1:18: expected the name of a function in quotes, found `f`"),
        ("image i on load @\"f\" on", "1:22: expected `;`, found `on`"),
        ("image i off;", "1:9: expected `on load` or `;`, found `off`"),
        ("image i on load @\"\";", "1:1: image \"i\": `on load` has the name of no function"),
        ("image i on load @\"a\tb\";", "1:1: image \"i\": `on load` has the name of no function"),
    ];
    for (text, expected) in rows {
        assert_eq!(first_line(&error(text)), expected, "{text}");
    }
}

#[test]
fn syntax() {
    let rows = [
        ("k(i.global());", "2:12: expected the name of a variable in quotes, found `)`"),
        ("k(i.global(v));", "2:12: expected the name of a variable in quotes, found `v`"),
        ("k(i.global(\"v\", 1));", "2:15: expected `)`, found `,`"),
        (
            "k(x.data.global(\"v\"));",
            "2:16: expected an operator: only an image has `global(…)`, found `(`",
        ),
    ];
    check_statements(START, &rows);
}

#[test]
fn meaning() {
    let rows = [
        ("k(j.global(\"v\"));", "2:1: there is no image `j`"),
        ("k(x.global(\"v\"));", "2:1: there is no image `x`"),
        ("k(i.global(\"\"));", "2:1: \"\" names no variable"),
        ("k(i.global(\"a\tb\"));", "2:1: \"a\\tb\" names no variable"),
        ("k(`a b`.global(\"v\"));", "2:1: \"a b\" is not an identifier"),
        ("k(i.global(\"v\").data);", "2:1: `i.global(\"v\")` has no member `data`: it has `size`"),
        ("k(i.global(\"v\") * 2);", "2:1: `i.global(\"v\")` is an address, not a number"),
    ];
    check_statements(START, &rows);
}

#[test]
fn a_tensor_says_the_device() {
    let rows = [
        // The parameter, a tensor of the body, a result, and what a closure holds.
        ("f(x: Tensor([n], int8, device=any)) -> ptr = { return i.global(\"v\"); };", ""),
        (
            "f() -> ptr = { let x: Tensor([n], int8, device=cuda) = @\"g\"(); return i.global(\"v\"); };",
            "",
        ),
        ("f(n: int64) -> x: Tensor([n], int8, device=cuda) = { k(x.data, i.global(\"v\")); };", ""),
        (
            "f(x: Tensor([n], int8, device=cuda)) -> Function = { return function() -> ptr { k(x.data); return i.global(\"v\"); }; };",
            "",
        ),
        // The statement says the device, also by what is no name.
        (
            "f(t: Tuple[Tensor([n], int8, device=cuda)]) -> None = { launch i.\"k\"(i.global(\"v\"), t[0].data) grid(1) block(1); };",
            "",
        ),
        (
            "f(t: Tuple[Tensor([n], int8, device=cuda)]) -> None = { fill i.global(\"v\"), 1, 0 on t[0]; };",
            "",
        ),
        (
            "f(t: Tuple[Tensor([n], int8, device=cuda)]) -> None = { fill i.global(\"v\"), 1, 0; };",
            "1:66: f: statement 0: no tensor says on which device `i.global(\"v\")` is",
        ),
        ("f(x: Tensor([n], int8, device=cuda)) -> int64 = k(i.global(\"v\").size);", ""),
        (
            "f(x: Tensor([n], int8), y: Optional[Tensor([m], int8, device=cuda)]) -> ptr = { return i.global(\"v\"); };",
            "1:90: f: statement 0: no tensor says on which device `i.global(\"v\")` is",
        ),
        (
            "f(c: bool) -> ptr = { if c { let x: Tensor([n], int8, device=cuda) = @\"g\"(); k(x.data); } return i.global(\"v\"); };",
            "1:100: f: statement 3: no tensor says on which device `i.global(\"v\")` is",
        ),
        (
            "f(c: bool) -> None = { if c { let x: Tensor([n], int8, device=cuda) = @\"g\"(); k(x.data); } launch i.\"k\"() grid(1) block(1); };",
            "1:101: f: statement 3: no tensor says on which device this runs: `on x`",
        ),
        (
            "f(x: Tensor([n], int8, device=cuda)) -> None where i.global(\"v\").size == n = k(n);",
            "1:61: f: constraint 0: `i.global(\"v\")` is known once the body has its image loaded",
        ),
        (
            "f(x: Tensor([i.global(\"v\").size], int8, device=cuda)) -> None = k(x.data);",
            "1:23: f: x.shape[0]: `i.global(\"v\").size` is no expression over symbols",
        ),
    ];
    for (text, expected) in rows {
        let text = format!("image i; {text}");
        let error = text.parse::<Library>().err();
        let found = error.map(|error| first_line(&error)).unwrap_or_default();
        assert_eq!(found, expected, "{text}");
    }
}

/// An image whose bytes are for another platform is no image of the function.
#[test]
fn images_are_for_the_platform() {
    let text =
        "image i; f(x: Tensor([n], int8, device=rocm)) -> ptr = { return i.global(\"v\"); };";
    let mut library: Library = text.parse().unwrap();
    library.images[0].bytes = Some(b".version 8.0\n".to_vec());
    let found = library.resolve().map(drop).unwrap_err().to_string();
    let expected = "image `i` is for cuda, but the function launches on rocm";
    assert!(found.contains(expected), "{found}");
}
