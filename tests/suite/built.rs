//! Declarations that Python and C++ build print what Rust prints.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use codegen::{BinaryOp, Comparison, Expr, Library, Logic, Scalar};
use tvm_ffi_codegen_tests::cases;
use tvm_ffi_codegen_tests::hosts::host;
use tvm_ffi_codegen_tests::submits::{self, Pair};
use tvm_ffi_codegen_tests::volume::{Plan, RandomFunction, Through};

const LAUNCHES: [&str; 2] =
    [include_str!("../hosts/launches/kernels.ffi"), include_str!("../hosts/launches/hopper.ffi")];

/// Declarations with parts that the others lack: canonical text, though nothing of the sort can be called.
const RARE: &str = "\
image code on load @\"nvshmem.\\\"init\\\"\";
image min;

/// Has an empty line.
///
/// And `\\`.
rare(
    /// A tensor, on two
    /// lines.
    x: Tensor([n], float32, device=cuda),
    y: Tensor([n], T, device=cuda, access=write) = None,
    z: Tensor([n], T, dtypes=storage, access=read) = None
) -> None
    = {
        @\"rare.mt\":7:3
        wait stream(x), null on y;
        wait null, stream(x);
        launch code.\"k\"(scratch(n * 4, 16), bytes(x, 64)) grid(x.device.multiprocessors) block(current_device()) preferred_cluster(2, 1) mem_sync_domain(n);
        let map = tensormap(x, offset=n, im2col(lower=[-n, 0], upper=[n - 2, 0], channels=n, pixels=128), steps=[1, 2, n, 1], fill=\"nan_request_zero_fma\");
        launch code.\"k\"(tensormap(x, im2col(lower=[], upper=[], channels=1, pixels=1)), map, `min`.global(\"a \\\"b\\\"\"), code.global(\"state\").size + 1) grid(1) block(1);
        fill x.data, n, x.device.attribute(75) on x stream null;
        let t = @other(x, Shape(n, 2)) into y, x;
        @\"other\"() into y;
    };
";

/// Returns the canonical texts of the whole table, of launches, of random declarations and launches, and of operators
/// in operators.
fn texts() -> Vec<String> {
    let plan =
        Plan { seed: 0, calls: 0, until: None, each: 1, threads: 1, through: Through::Machine };
    let table = cases::table().into_iter().map(|case| Library::from(vec![case.function]));
    let launches = LAUNCHES.iter().map(|text| text.parse().expect("it is a library"));
    let random =
        (0..300).map(|index| Library::from(vec![RandomFunction::new(&plan, index).function]));
    let submits = submits::Plan { seed: 0, calls: 0, each: 1 };
    let pairs = (0..100).map(|index| Pair::new(&submits, index).library);
    let all = table.chain(launches).chain(random).chain(pairs);
    all.map(|library| library.to_string()).chain([nested_operators(), RARE.to_owned()]).collect()
}

/// Returns a function with every operator around every operand that binds otherwise, on either side.
fn nested_operators() -> String {
    let operands = operands();
    let mut text = "nested() -> None\n    = {\n".to_owned();
    for inner in &operands {
        for outer in around(inner) {
            text.push_str(&format!("        let v = {outer};\n"));
        }
    }
    text + "    };\n"
}

/// Returns an expression of each kind that the printer tells apart.
fn operands() -> Vec<Expr> {
    let [a, b] = ["a", "b"].map(|name| Box::new(Expr::Name(name.to_owned())));
    let mut operands = vec![Expr::Int(5), Expr::Int(-5), Expr::Float(0.5), Expr::Float(-0.0)];
    operands.extend([Expr::Int(i64::MIN), Expr::Unsigned(u64::MAX), Expr::Float(1e23)]);
    operands.extend([Expr::Text("\"\\\u{1}\u{e9}".to_owned()), Expr::Bool(true), Expr::None]);
    operands.extend([(*a).clone(), a.data(), Expr::Neg(a.clone()), Expr::Not(a.clone())]);
    let sums = [BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul, BinaryOp::Rem];
    operands.extend(sums.map(|op| Expr::Binary(op, a.clone(), b.clone())));
    operands.push(Expr::Compare(Comparison::Lt, a.clone(), b.clone()));
    operands.extend([Logic::And, Logic::Or].map(|op| Expr::Logic(op, a.clone(), b.clone())));
    operands
}

/// Returns the operations that an operand may have a part in.
fn around(inner: &Expr) -> Vec<Expr> {
    let [inner, c] = [inner.clone(), Expr::Name("c".to_owned())].map(Box::new);
    let mut around = vec![Expr::Neg(inner.clone()), Expr::Not(inner.clone()), inner.ndim()];
    around.push(Expr::Element(inner.clone(), c.clone()));
    around.push(Expr::Element(c.clone(), inner.clone()));
    around.push(Expr::Field(inner.clone(), "min".to_owned()));
    around.push(Expr::Cast(Scalar::Float32, inner.clone()));
    for (left, right) in [(&inner, &c), (&c, &inner)] {
        let operands = || (left.clone(), right.clone());
        let binary = |op| Expr::Binary(op, operands().0, operands().1);
        let compared = |op| Expr::Compare(op, operands().0, operands().1);
        let logic = |op| Expr::Logic(op, operands().0, operands().1);
        around.extend([BinaryOp::Sub, BinaryOp::Div].map(binary));
        around.extend([Comparison::Eq, Comparison::Ge].map(compared));
        around.extend([Logic::And, Logic::Or].map(logic));
    }
    around
}

/// Runs a script of `hosts` with the package of Python on texts.
fn run(script: &str, texts: &[String]) -> Output {
    let mut python = Command::new("python3");
    python.arg(host(script)).env("PYTHONDONTWRITEBYTECODE", "1").env("PYTHONPATH", package());
    python.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = python.spawn().unwrap_or_else(|error| panic!("python3: {error}"));
    let mut stdin = child.stdin.take().expect("a pipe");
    let sent = serde_json::Value::from(texts).to_string();
    stdin.write_all(sent.as_bytes()).expect("Python reads all of it first");
    drop(stdin);
    let output = child.wait_with_output().expect("Python ends");
    assert!(output.status.success(), "{script}: {}; use tests/run", output.status);
    output
}

/// Returns the folder of the Python package.
fn package() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../python")
}

#[test]
fn python_builds_every_declaration_and_prints_it_as_rust_does() {
    let texts = texts();
    let output = run("built.py", &texts);
    assert_eq!(String::from_utf8_lossy(&output.stdout), format!("{} texts\n", texts.len()));
}

/// Python prints a program in C++ from what it has parsed. Clang compiles it in a third of the time that GCC takes.
#[test]
fn cxx_builds_every_declaration_and_prints_it_as_rust_does() {
    let texts = texts();
    let folder = tempfile::tempdir().expect("a folder can be made");
    let [source, program] = ["built.cc", "built"].map(|name| folder.path().join(name));
    fs::write(&source, run("built_cxx.py", &texts).stdout).expect("a file can be written");
    let compiler = if Command::new("clang++-22").arg("--version").output().is_ok() {
        "clang++-22"
    } else {
        "c++"
    };
    let mut compile = Command::new(compiler);
    compile.args(["-std=c++17", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I"]);
    compile.arg(package().join("tvm_ffi_codegen/include")).arg(&source).arg("-o").arg(&program);
    let compiled = compile.output().unwrap_or_else(|error| panic!("{compiler}: {error}"));
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let output = Command::new(&program).output().expect("it runs");
    assert!(output.status.success(), "{}", output.status);
    let printed = String::from_utf8(output.stdout).expect("text");
    let mut rest = &*printed;
    for expected in &texts {
        assert!(
            rest.starts_with(&**expected),
            "expected\n{expected}\nbut got\n{rest:.*}",
            expected.len()
        );
        rest = &rest[expected.len()..];
    }
    assert_eq!(rest, "");
}
