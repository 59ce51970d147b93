//! Reductions: of ten functions and of a module to exactly what a planted fault needs.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use codegen::Library;
use codegen::ir::{Module, verify};
use tempfile::TempDir;
use tvm_ffi_codegen_tests::reduce::{Language, Reduced, reduce};

const TEN: &str = include_str!("reduce/ten.ffi");
const MODULE: &str = include_str!("reduce/module.hir");

/// Fails with status 3 if a loop calls a kernel with a product.
const PRODUCT_IN_LOOP: &str = r#"
grep -A9 'for .* in ' "$1" | grep -q '_kernel(.*\* [0-9]' && { echo "a product in a loop"; exit 3; }
exit 0
"#;

/// Runs the program with a file and `sh -c SCRIPT`; returns its output and the reduced text.
fn program(options: &[&str], name: &str, text: &str, command: &[&str]) -> (Output, String) {
    let folder = TempDir::new().expect("a folder can be made");
    let path = folder.path().join(name);
    fs::write(&path, text).expect("the file can be written");
    let mut program = Command::new(env!("CARGO_BIN_EXE_reduce"));
    program.args(options).arg(&path).arg("--").args(command);
    let output = program.output().expect("the program runs");
    let extension = Path::new(name).extension().unwrap_or_default().display();
    let reduced = folder.path().join(format!("{name}.reduced.{extension}"));
    (output, fs::read_to_string(reduced).unwrap_or_default())
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Reduces without a command.
fn within(text: &str, language: Language, limit: u64, fails: impl Fn(&str) -> bool) -> Reduced {
    let reduced = reduce(text, language, limit, &mut |text| Ok(fails(text)), &mut |_| {});
    reduced.unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn ten_functions_become_the_lines_that_matter() {
    let script = ["sh", "-c", PRODUCT_IN_LOOP, "script"];
    let (output, reduced) = program(&["--says", "product"], "ten.ffi", TEN, &script);
    assert!(output.status.success(), "{output:?}");
    let expected = "\
fold() -> None
    = {
        for i in 0..0 {
            fold_kernel(0 * 0);
        }
    };
";
    assert_eq!(reduced, expected);
    let progress = text(&output.stderr);
    assert!(progress.lines().all(|line| line.starts_with("tests/reduce: ")), "{progress}");
    assert!(progress.contains(" bytes after functions"), "{progress}");
    let told = text(&output.stdout);
    assert!(told.contains("ten.ffi.reduced.ffi: 96 of "), "{told}");
    assert!(told.ends_with("; nothing more can go\n"), "{told}");
    let again = program(&["--says", "product"], "ten.ffi", TEN, &script);
    assert_eq!(again.1, reduced);
    assert_eq!(text(&again.0.stderr), progress);
}

/// The machine finds the fault: the loop leaves the table.
#[test]
fn a_module_becomes_the_instructions_that_matter() {
    let command = [env!("CARGO_BIN_EXE_run-ir"), "{}", "sum", "4", "10"];
    let (output, reduced) = program(&["--says", "behind `table`"], "module.hir", MODULE, &command);
    assert!(output.status.success(), "{output:?}");
    let expected = "\
import data @table

export func @sum(%count: i64, %scale: i64) -> i64 {
entry:
    %table: ptr = address @table
    %element: i64 = load %table+0 align 8
    %next: i64 = const 0
    return %next
}
";
    assert_eq!(reduced, expected);
}

/// Lines that start with `#` are kept where they matter.
#[test]
fn a_file_test_keeps_its_directives() {
    let file = "\
# test run
# run: f(3) == 7
# run: g(3) == 3
export func @f(%n: i64) -> i64 {
entry:
    %m: i64 = add %n, %n
    return %m
}

export func @g(%n: i64) -> i64 {
entry:
    return %n
}
";
    let command = [env!("CARGO_BIN_EXE_run-ir")];
    let (output, reduced) = program(&["--says", "WRONG: returns 6"], "f.hir", file, &command);
    assert!(output.status.success(), "{output:?}");
    let expected = file.split("\n\n").next().unwrap_or_default().replace("# run: g(3) == 3\n", "");
    assert_eq!(reduced, format!("{expected}\n"));
}

#[test]
fn declarations_keep_what_is_needed() {
    let kept = |needed: &'static [&'static str]| {
        let fails = |text: &str| needed.iter().all(|part| text.contains(part));
        within(TEN, Language::Declarations, 10_000, fails).text
    };
    let matched = "\
size(v: Optional[str]) -> None
    = {
        match v {
            _: str => {}
            None => {}
        }
    };
";
    assert_eq!(kept(&["str =>"]), matched);
    let raised = "\
image kernels;

fold() -> None
    = {
        raise ValueError;
    };

grid(x: Tensor([], int8, device=cuda)) -> None
    = {
        launch kernels.\"axpy\"() grid(ceildiv(0, 1)) block(1);
    };
";
    assert_eq!(kept(&["raise", "ceildiv"]), raised);
    let constrained = "scale(factor: int8) -> None\n    where True else \"n is\"\n    = {};\n";
    assert_eq!(kept(&["n is", "factor"]), constrained);
    assert_eq!(kept(&["List["]), "last(d: List[int8]) -> None\n    = {};\n");
    assert_eq!(kept(&["z: Tensor("]), "made() -> z: Tensor([], int8)\n    = make(z);\n");
    let made = "\
closure() -> Function
    = {
        return function(i: int8) -> None {};
    };
";
    assert_eq!(kept(&["function(i"]), made);
}

#[test]
fn candidates_are_as_valid_as_the_file() {
    let library = |text: &str| text.parse::<Library>().is_ok();
    let module = |text: &str| text.parse().is_ok_and(|module: Module| verify(&module).is_ok());
    let ten = within(TEN, Language::Declarations, 10_000, |text| {
        assert!(library(text), "{text}");
        text.contains("launch")
    });
    let launch = "\
image kernels;

grid(x: Tensor([], int8, device=cuda)) -> None
    = {
        launch kernels.\"axpy\"() grid(0) block(1);
    };
";
    assert_eq!(ten.text, launch);
    within(MODULE, Language::HostIr, 10_000, |text| {
        assert!(module(text), "{text}");
        text.contains("then")
    });
    let unverified = MODULE.replace("    return %both\n", "    return\n");
    let reduced = within(&unverified, Language::HostIr, 10_000, |text| !module(text));
    let wrong = "export func @sum(%count: i64, %scale: i64) -> i64 {\nentry:\n    return\n}\n";
    assert_eq!(reduced.text, wrong);
}

#[test]
fn files_that_do_not_parse_lose_lines_and_words() {
    let wrong = TEN.replace("both_kernel(a, b)", "both_kernel(a, c)");
    let fails = |text: &str| {
        let error = text.parse::<Library>().err();
        error.is_some_and(|error| error.to_string().contains("nothing determines"))
    };
    let reduced = within(&wrong, Language::Declarations, 10_000, fails);
    assert_eq!(reduced.text, "both(a:bytes)->None=both_kernel(c);");
}

#[test]
fn runs_are_limited() {
    let reduced = within(TEN, Language::Declarations, 5, |text| text.contains("raise"));
    assert_eq!((reduced.runs, reduced.is_finished), (5, false));
    assert!(reduced.text.contains("raise"), "{}", reduced.text);
}

#[test]
fn commands_that_are_no_failures_are_refused() {
    let refused = |options: &[&str], name: &str, command: &[&str]| {
        let (output, reduced) = program(options, name, TEN, command);
        assert_eq!((output.status.code(), reduced), (Some(1), String::new()), "{output:?}");
        let error = text(&output.stderr);
        error.split_once(&format!("{name}: ")).map(|(_, reason)| reason.to_owned())
    };
    let one = |reason: &str| Some(format!("{reason}\n"));
    assert_eq!(refused(&[], "ten.ffi", &["true"]), one("the command succeeds"));
    let endless = refused(&["--seconds", "1"], "ten.ffi", &["sh", "-c", "sleep 9"]);
    assert_eq!(endless, one("the command takes over 1 seconds"));
    let silent = refused(&["--says", "x is"], "ten.ffi", &["sh", "-c", "echo y; exit 1"]);
    assert_eq!(silent, one("the command does not say \"x is\":\ny\n"));
    let comment = refused(&[], "ten.ffi", &["sh", "-c", "! grep -q '# Ten' {}"]);
    assert_eq!(comment, one("the command does not fail with the file as it is printed"));
    let missing = refused(&[], "ten.ffi", &["/nowhere/command"]).unwrap_or_default();
    assert!(missing.contains("/nowhere/command"), "{missing}");
    assert_eq!(refused(&[], "ten.txt", &["false"]), one("the file is neither .ffi nor .hir"));
}
