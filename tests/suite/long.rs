//! A function so long that LLVM does not optimise it: it does what others do. The C compiler of the
//! fourth backend would take minutes.

use std::fmt::Write as _;

use codegen::{Library, Options};
use tvm_ffi_codegen_tests::argument::parse_list;
use tvm_ffi_codegen_tests::gate::backends;
use tvm_ffi_codegen_tests::route::{Call, Route, Shared};

/// Statements, of which every fiftieth may fail.
const STATEMENTS: i64 = 2500;

/// Returns a library with one function.
fn library() -> Library {
    let mut text = String::from("long(a: int64, b: int64) -> int64 = { let v0 = a;\n");
    for i in 1..=STATEMENTS {
        let (before, factor) = (i - 1, i % 7 + 1);
        let _ = writeln!(text, "let v{i} = (v{before} + b * {factor}) % 1000003;");
        if i % 50 == 0 {
            let _ = writeln!(text, "if v{i} == 7 {{ raise ValueError \"v{i} of \", b; }}");
        }
    }
    let _ = write!(text, "return v{STATEMENTS}; }};");
    text.parse().unwrap_or_else(|error| panic!("{error}"))
}

/// Computes the result in this language.
fn expected(a: i64, b: i64) -> Result<i64, String> {
    let mut v = a;
    for i in 1..=STATEMENTS {
        let (before, factor) = (i - 1, i % 7 + 1);
        let product = b.checked_mul(factor).ok_or_else(|| format!("Out of range b * {factor} "))?;
        let sum = v.checked_add(product);
        let sum = sum.ok_or_else(|| format!("Out of range v{before} + b * {factor} "))?;
        v = sum.rem_euclid(1_000_003);
        if i % 50 == 0 && v == 7 {
            return Err(format!("ValueError: v{i} of {b}"));
        }
    }
    Ok(v)
}

#[test]
fn long_functions_do_what_they_say() {
    let library = library();
    let module = driver::lower(&library, &Options::default()).unwrap();
    let is_long = module.functions.iter().any(codegen::backend::is_long);
    assert!(is_long, "the function is too short for this test");
    // The last fails at its first condition: fifty statements add 198 times `b`.
    let calls = [
        (1, 2),
        (-5, 1 << 40),
        (i64::MIN, i64::MAX / 7),
        (0, i64::MAX),
        (i64::MAX, 1),
        (7 - 198, 1),
    ];
    assert!(expected(7 - 198, 1).is_err());
    for backend in backends().iter().filter(|backend| **backend != "c") {
        let route = Shared::new(&library, backend);
        for (a, b) in calls {
            let (arguments, _) = parse_list(&format!("({a}, {b})")).unwrap();
            let call = Call { function: "long", arguments: &arguments, count: None };
            let outcome =
                route.run(&[call]).remove(0).expect("numbers are expressible").to_string();
            let wanted = expected(a, b).map_or_else(|error| error, |value| value.to_string());
            assert!(outcome.contains(&wanted), "{backend}: {outcome}, not {wanted}");
        }
    }
}
