//! Texts that the table cannot express, or that other tools read: with a NUL, as names of symbols and files.

use std::collections::HashSet;

use codegen::Library;
use codegen::language::{spelled, spelled_label};
use driver::{Form, Request};
use object::{BinaryFormat, Object, ObjectSymbol};
use target_lexicon::OperatingSystem;
use tvm_ffi_codegen_tests::route::{BACKENDS, request};

use crate::results;

/// The functions; `<0>` stands for a NUL.
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

/// Expressions and their values.
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

/// A C function may have any name, which objects refer to unchanged; text forms must escape it.
#[test]
fn c_functions_have_any_name() {
    let long = "n".repeat(20_000);
    let plain =
        ["a b", "%s%n{}", "é€", "$a", "a@b", "a\\b", "a\"b", "a;#?", "1", "memcpy", "main", &long];
    for name in plain {
        let written = name.replace('\\', "\\\\").replace('"', "\\\"");
        let text = format!("f(n: int64) -> int64 = \"{written}\"(n);");
        let library: Library = text.parse().unwrap_or_else(|error| panic!("{error}"));
        // Not every assembler of C takes every name.
        let is_refused = |backend: &str| backend == "c" && name.contains(['@', '\\', '"', ';']);
        for backend in BACKENDS.iter().filter(|backend| !is_refused(backend)) {
            let emit = |form| {
                let emitted = request(backend, form).emit(&library);
                emitted.unwrap_or_else(|e| panic!("{backend}, {name}: {e}"))
            };
            let object = emit(Form::Object);
            let file = object::File::parse(&*object).expect("it is an object");
            let mut undefined = file.symbols().filter(|symbol| symbol.is_undefined());
            assert!(undefined.any(|symbol| symbol.name() == Ok(name)), "{backend}, {name}");
            assert!(!emit(Form::Native).is_empty());
        }
    }
}

/// Names that LLVM or an assembler would take for something else.
#[test]
fn some_names_are_no_functions() {
    for name in ["llvm.trap", "llvm.other", ".text", ".Lhidden", "."] {
        let text = format!("f(n: int64) -> int64 = \"{name}\"(n);");
        let error = text.parse::<Library>().expect_err("it is no function").to_string();
        let expected = format!(
            "1:24: f: callee: the symbol `{name}` is no function's for LLVM or an assembler"
        );
        assert_eq!(error.lines().next(), Some(&*expected));
    }
}

/// Names of functions, classes and kinds that are not identifiers.
const NAMED: &str = r#"
    any_name(n: int64) -> int64 = { let r: int64 = @"a \"b\\ %s{} é $@.#<long>"(n); return r; };
    any_class(o: Optional[Object["a \"b\\ %s{} é $@.#<long>"]]) -> bool = { return o.is_some; };
    any_kind(n: int64) -> None
        where n < 9 else "100 %s {} \"é\\"
        = try status(n) errors { 1: Kind_of_mine "100 %s {} \"é\\", _: ValueError "{int}<long>" };
    @"a %s{} é\\.py":7 any_file(n: int64) -> None = { @"<files>.py":8 raise ValueError "100 %s {} ", n; };
"#;

#[test]
fn names_are_any_text() {
    let text = NAMED.replace("<long>", &"x".repeat(200)).replace("<files>", &"y".repeat(4000));
    let library: Library = text.parse().unwrap_or_else(|error| panic!("{error}"));
    let name = format!("a \"b\\ %s{{}} é $@.#{}", "x".repeat(200));
    let rows = [
        (
            "error(lambda: m.any_name(3)).split(' in ')[0]",
            format!("RuntimeError: Cannot find function {name}"),
        ),
        ("m.any_class(None)", "False".to_owned()),
        (
            "error(lambda: m.any_class('text, which is an object')).split('expected ')[1]",
            "Optional[Object[\"a \\\"b\\\\ %s{} é $@.#".to_owned()
                + &"x".repeat(200)
                + "\"]] but got str",
        ),
        (
            "error(lambda: m.any_kind(9)).split(' when')[0]",
            "ValueError: 100 %s {} \"é\\".to_owned(),
        ),
        (
            "error(lambda: m.any_kind(1)).split(' when')[0]",
            "RuntimeError: 100 %s {} \"é\\".to_owned(),
        ),
        (
            "error(lambda: m.any_kind(2)).split(' when')[0]",
            format!("ValueError: {{int}}{}", "x".repeat(200)),
        ),
        ("error(lambda: m.any_file(2))", "ValueError: 100 %s {} 2".to_owned()),
        (
            "[(len(f.filename), f.lineno) for f in frames(lambda: m.any_file(2))][-1]",
            "(4003, 8)".to_owned(),
        ),
    ];
    let rows: Vec<_> = rows.iter().map(|(expression, value)| (*expression, &**value)).collect();
    results::hold(&library, &[], &rows);
}

/// Names of functions and of values: what assemblers, linkers, C, formats of messages and of comments have a meaning
/// for, names that are alike as identifiers of C, and long ones. Some assemblers take none of the last four.
const NAMES: [&str; 28] = [
    "_f",
    "_",
    "__",
    "my.f",
    "my_f",
    "my f",
    "my-f",
    "a::b<int>",
    " ",
    ".",
    ".text",
    ".L1",
    "1",
    "-1",
    "é",
    "数 🦀",
    "'",
    "%s%n{}",
    "$x",
    "/**/",
    "llvm.memcpy",
    "memcpy",
    "f.local",
    "main.0",
    "a=b",
    "a@@@b",
    "a\\\"b",
    "a,b;#?",
];

/// Returns a library with a function for each name.
fn named(names: &[&str]) -> Library {
    let declared = |name: &&str| {
        format!(
            "/// Of any name.\n`{name}`(`{name}`: int64, o: Optional[Array[int64]]) -> int64 = {{ let `-> f` = function() \
             -> int64 {{ return `{name}` + 1; }}; let r: int64 = @(`-> f`)(); return r; }};"
        )
    };
    let text: String = names.iter().map(declared).collect();
    text.parse().unwrap_or_else(|error| panic!("{error}"))
}

/// Every format of objects has the symbols; what cannot say a name refuses it.
#[test]
fn functions_have_any_name() {
    let long = "n".repeat(4096);
    let all: Vec<&str> = NAMES.iter().copied().chain([&*long]).collect();
    let targets = [None, Some("x86_64-pc-windows-msvc"), Some("aarch64-apple-darwin")];
    let routes = BACKENDS.iter().flat_map(|backend| targets.map(|target| (*backend, target)));
    // A compiler of C has one target.
    for (backend, target) in routes.filter(|(backend, target)| *backend != "c" || target.is_none())
    {
        let request = request(backend, Form::Object);
        let triple = target.map_or(request.target.clone(), |target| target.parse().unwrap());
        let (signs, reason): (&[char], _) = if backend == "c" {
            (&['@', '\\', '"', ';', ','], "no name of a symbol in C: ")
        } else if triple.operating_system == OperatingSystem::Windows {
            (&['"', ',', '=', '\\'], "` cannot be exported on Windows")
        } else {
            (&[], "")
        };
        let request = Request { target: triple, ..request };
        let (refused, taken): (Vec<&str>, Vec<&str>) =
            all.iter().partition(|name| name.contains(signs));
        for name in refused {
            let error = request.emit(&named(&[name])).unwrap_err().to_string();
            assert!(error.contains(reason), "{backend}, {name}: {error}");
        }
        let object = request.emit(&named(&taken)).unwrap_or_else(|e| panic!("{backend}: {e}"));
        let file = object::File::parse(&*object).expect("it is an object");
        let defined = file.symbols().filter(|symbol| symbol.is_definition());
        let defined: HashSet<&str> = defined.filter_map(|symbol| symbol.name().ok()).collect();
        let underscore = if file.format() == BinaryFormat::MachO { "_" } else { "" };
        for start in ["__tvm_ffi_", "__tvm_ffi__metadata_", "__tvm_ffi__doc_"] {
            for name in &taken {
                let symbol = format!("{underscore}{start}{name}");
                assert!(defined.contains(&*symbol), "{backend}, {target:?}: {symbol}");
            }
        }
    }
}

#[test]
fn functions_of_any_name_are_called() {
    let is_plain = |name: &&&str| !name.contains(['@', '\\', ',']);
    let long = "é".repeat(1000);
    let names: Vec<&str> = NAMES.iter().filter(is_plain).copied().chain([&*long]).collect();
    let rows: Vec<(String, &str)> = names
        .iter()
        .flat_map(|name| {
            let literal = format!("{name:?}");
            // Messages cut long signatures.
            let start = format!("`{}({}: ", spelled_label(name), spelled(name));
            let start: String = start.chars().take(300).collect();
            let metadata = format!("m.get_function_metadata({literal})['declaration']");
            [
                (format!("m[{literal}](1, None)"), "2"),
                (format!("m.get_function_doc({literal}).splitlines()[0]"), "Of any name."),
                (format!("{metadata}['params'][0]['name'] == {literal}"), "True"),
                (format!("error(lambda: m[{literal}]('', None)).count({start:?})"), "1"),
            ]
        })
        .collect();
    let rows: Vec<_> = rows.iter().map(|(expression, value)| (&**expression, *value)).collect();
    results::hold(&named(&names), &[], &rows);
}
