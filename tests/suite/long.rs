//! Functions so long that LLVM does not optimise them, or that a compiler nests them too deep: they do what others do.

use std::fmt::Write as _;

use codegen::{Expr, Library, Options, Scalar, Signature, Statement};
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
    // The C compiler of the fourth backend would take minutes.
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

/// A thousand conditions, one after the other.
#[test]
fn chains_of_conditions_do_what_they_say() {
    const BRANCHES: i64 = 1000;
    let branch = |index: i64| {
        let square = Expr::name("n") * index;
        (Expr::name("n").equal(index), [Statement::return_value(square)])
    };
    let none = [Statement::raise("ValueError", [Expr::text("none of them")])];
    let chain = Statement::choose((0..BRANCHES).map(branch), none);
    let signature = Signature::new("chain").param("n", Scalar::Int64).returns(Scalar::Int64);
    let library = Library::new([signature.body([chain])]);
    for backend in backends() {
        let route = Shared::new(&library, backend);
        for n in [0, 1, 500, BRANCHES - 1, BRANCHES, -1] {
            let (arguments, _) = parse_list(&format!("({n})")).unwrap();
            let call = Call { function: "chain", arguments: &arguments, count: None };
            let outcome =
                route.run(&[call]).remove(0).expect("numbers are expressible").to_string();
            let wanted = if (0..BRANCHES).contains(&n) {
                (n * n).to_string()
            } else {
                "ValueError: none of them".to_owned()
            };
            assert_eq!(outcome, wanted, "{backend}");
        }
    }
}

/// A launch that a closure keeps depends on numbers that are computed from numbers: each is looked at once, not once
/// for each way to it, of which there are two to the power of sixty.
#[test]
fn numbers_of_numbers_are_looked_at_once() {
    let mut text = String::from(
        "image im; f(k: int64, x: Tensor([n], int8, device=cuda)) -> Function = { \
         let g = function() -> None { let a0 = k % 2;\n",
    );
    for i in 1..=60 {
        let _ = writeln!(text, "let a{i} = a{0} - a{0};", i - 1);
    }
    text += "launch im.\"k\"(x.data) grid(a60 + 1) block(1); }; return g; };";
    let mut library: Library = text.parse().unwrap_or_else(|error| panic!("{error}"));
    library.images[0].bytes =
        Some(b".version 7.0\n.visible .entry k(.param .u64 x) { ret; }\n".to_vec());
    let module = driver::lower(&library, &Options::default()).unwrap();
    let is_first =
        |function: &codegen::ir::Function| module.name(function.symbol).ends_with(".launch.0");
    assert!(module.functions.iter().any(is_first), "the launch is not kept");
}
