//! Tests of the text: what it says, and that compilers have nothing to say to it.

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use codegen::ir::{Field, FieldType, Hint, Module, Pointee, Struct};
use codegen::{Backend, Library, Options, lower};
use tvm_ffi_codegen_c::C;

use crate::jit::succeed;
use crate::{objects, operators, sample};

/// Compiles the text by all compilers that are here, as C and as C++; each warning is an error.
pub(crate) fn check(module: &Module) {
    let text = C::default().text(module, &[]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("host.c");
    fs::write(&path, &text).unwrap();
    let dialects = [("cc", ["-xc", "-std=c11"]), ("c++", ["-xc++", "-std=c++17"])];
    let clang = objects::clang().map(|clang| clang.display().to_string());
    let clang = clang.iter().map(|clang| (clang.as_str(), ["-xc", "-std=c11"]));
    for (compiler, dialect) in dialects.into_iter().chain(clang) {
        let mut command = Command::new(compiler);
        command.args(dialect).args(["-O2", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-c"]);
        succeed(command.arg("-o").arg(folder.path().join("host.o")).arg(&path));
    }
}

fn lowered(text: &str) -> Module {
    let library: Library = text.parse().unwrap();
    lower(&library.resolve().unwrap(), &Options::default())
}

#[test]
fn compilers_are_silent() {
    check(&sample::module());
    operators::modules().iter().for_each(check);
    check(&lowered(
        "add_one(x: Tensor([n], float32), y: Tensor([n], float32)) -> None = add_one(x.data, y.data, n);",
    ));
    check(&lowered(
        "f(a: uint64, x: float64) -> float64 where a >= 0, x < 0.1 = { return x * 2.5 + 1.0; };",
    ));
}

/// Kernels and C functions that are called by address take memory that is only read as `const`, and no cast of the text
/// takes that away.
/// The rule that products and sums are rounded each is for the text alone.
#[cfg(target_arch = "x86_64")]
#[test]
fn code_behind_the_text_has_the_options_of_its_compiler() {
    let module = lowered("f(a: float64, n: int64) -> float64 = { return a * n + a; };");
    let text = C::default().text(&module, &[]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let [path, code] = ["host.c", "host.s"].map(|name| folder.path().join(name));
    let behind = "double behind(double a, double b) { return a * b + a; }\n";
    let clang = objects::clang().map(|clang| clang.display().to_string());
    for compiler in ["cc"].into_iter().chain(clang.as_deref()) {
        let fused = |text: &str| {
            fs::write(&path, text).unwrap();
            let mut command = Command::new(compiler);
            command.args(["-O2", "-mfma", "-S", "-o"]);
            succeed(command.arg(&code).arg(&path));
            fs::read_to_string(&code).unwrap().matches("vfmadd").count()
        };
        let found = [&text, behind, &format!("{text}{behind}")].map(fused);
        assert_eq!(found, [0, 1, 1], "{compiler}");
    }
}

#[test]
fn memory_that_is_only_read_is_const() {
    let rows = [
        ("a(x.data, y.data, n)", "void a(const void *, void *, int64_t);"),
        ("b(x, y, x.data + 4 * n)", "void b(const void *, void *, const void *);"),
        ("c(y.data); c(x.data)", "void c(const void *);"),
        ("let p = x.data; \"d.d\"(p)", "void d_d(const void *) FFI_SYMBOL(\"d.d\");"),
        ("try e(x.data, o)", "int32_t e(const void *, const void *);"),
        ("let q: ptr = q(n); (q)(x.data, y.data)", "((void (*)(const void *, void *))(uintptr_t)"),
        ("g(y.data, w.data, y)", "void g(void *, void *, void *);"),
    ];
    let bodies = rows.map(|(body, _)| body).join("; ");
    let module = lowered(&format!(
        "f(x: Tensor([n], float32, access=read), y: Tensor([n], float32), w: Tensor([n], float32, access=write),
           o: Optional[Tensor([n], int8, access=read)]) -> None = {{ {bodies}; }};"
    ));
    let text = C::default().text(&module, &[]).unwrap();
    for (body, expected) in rows {
        assert!(text.contains(expected), "{body}: {text}");
    }
    check(&module);
    // The library's own constants, which its routines never write to, go as `void *`.
    let is_own =
        |line: &String| line.contains("(void *)(tvm_ffi_") || line.contains("(void *)tvm_ffi_");
    let others: Vec<String> =
        casts_of_const(&text).into_iter().filter(|line| !is_own(line)).collect();
    assert_eq!(others, [""; 0]);
}

/// Returns the lines of a text in which a cast takes a `const` away: GCC's warnings, each with its line.
fn casts_of_const(text: &str) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("host.c"), text).unwrap();
    let mut command = Command::new("cc");
    command.args(["-std=c11", "-Wcast-qual", "-fsyntax-only", "host.c"]);
    let output = command.current_dir(folder.path()).output().unwrap();
    assert!(output.status.success());
    let said = String::from_utf8(output.stderr).unwrap();
    let lines = said.lines().filter_map(|line| line.strip_prefix("host.c:")?.split_once(':'));
    let lines = lines.filter(|(_, what)| what.contains("[-Wcast-qual]"));
    lines
        .map(|(line, _)| text.lines().nth(line.parse::<usize>().unwrap() - 1).unwrap().into())
        .collect()
}

/// Clang knows Microsoft's dialect, where it finds no headers but its own.
#[test]
fn microsofts_dialect_is_spoken() {
    let Some(clang) = objects::clang() else { return };
    let atomics = "f(n: int64) -> None = { @\"a.name\"(n); };";
    for module in [sample::module(), lowered(atomics)] {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("host.c"), C::default().text(&module, &[]).unwrap()).unwrap();
        let mut command = Command::new(&clang);
        command.args(["--driver-mode=cl", "--target=x86_64-pc-windows-msvc", "-Xclang"]);
        command.args(["-ffreestanding", "-W4", "-WX", "-c"]).current_dir(folder.path());
        succeed(command.args(["-Fohost.obj", "host.c"]));
    }
}

/// Calls stay where they are, however their results are used: not in `?:`, `&&` or one way of a branch. Conditions with
/// calls are written once.
#[test]
fn calls_are_made_in_every_case() {
    let text = "
local data @count writable size 8 align 8 {
    \"\\00\\00\\00\\00\\00\\00\\00\\00\"
}

local func @next() -> i64 noinline {
entry:
    %p: ptr = address @count
    %n: i64 = load %p+0 align 8
    %one: i64 = const 1
    %m: i64 = add %n, %one
    store %m, %p+0 align 8
    return %m
}

export func @run(%in: ptr, %out: ptr) {
entry:
    %x: i64 = load %in+0 align 8
    %zero: i64 = const 0
    %is: bool = compare ne %x, %zero
    %v10: i64 = call @next()
    %v11: i64 = select %is, %x, %v10
    store %v11, %out+0 align 8
    %v12: i64 = call @next()
    %v13: bool = compare eq %v12, %zero
    %v14: bool = and %is, %v13
    %v15: i64 = zext %v14
    store %v15, %out+0 align 8
    %v16: i64 = call @next()
    branch %is, end1(%zero), end1(%v16)
end1(%e: i64):
    %minus: i64 = const -1
    %v17: i64 = call @next()
    %v18: bool = compare ne %v17, %zero
    branch %v18, then2, else3
then2:
    %v19: bool = compare eq %x, %minus
    %v20: i64 = add %x, %x
    branch %v19, fail5, join4(%v20)
else3:
    jump join4(%zero)
join4(%y: i64):
    %v21: bool = compare eq %y, %minus
    branch %v21, fail5, end6
fail5:
    return
end6:
    %p: ptr = address @count
    %n: i64 = load %p+0 align 8
    store %n, %out+0 align 8
    return
}
";
    let mut module: Module = text.parse().unwrap();
    // Values with names have variables.
    let values = module.functions.iter_mut().flat_map(|function| &mut function.values);
    values.for_each(|value| value.hint = Hint::default());
    for running in crate::jit::run(&module, &[]) {
        assert_eq!([0, 1].map(|x| running.call("run", &[x])), [4, 8]);
    }
}

/// A value and the parameter that it becomes share a variable only if nothing needs the value later.
#[test]
fn variables_are_shared_where_one_value_follows_another() {
    let text = "
export func @run(%in: ptr, %out: ptr) {
entry:
    %a: i64 = load %in+0 align 8
    %zero: i64 = const 0
    %two: i64 = const 2
    %is: bool = compare sgt %a, %zero
    branch %is, more1, join2(%a)
more1:
    %twice: i64 = mul %a, %two
    jump join2(%twice)
join2(%b: i64):
    %sum: i64 = add %b, LAST
    store %sum, %out+0 align 8
    return
}
";
    let module = |last: &str| -> Module { text.replace("LAST", last).parse().unwrap() };
    for (module, copies, results) in [(module("%a"), true, [9, 0]), (module("%b"), false, [12, 0])]
    {
        let text = C::default().text(&module, &[]).unwrap();
        assert_eq!(text.contains("b = a;"), copies, "{text}");
        for running in crate::jit::run(&module, &[]) {
            assert_eq!([3, 0].map(|x| running.call("run", &[x])), results);
        }
    }
}

const NUMBER: Struct = Struct {
    name: "Number",
    size: 8,
    align: 8,
    fields: &[Field { name: "n", offset: 0, ty: FieldType::I64 }],
};

/// A field is written where it is used, as often as that is, unless it may have another value there.
#[test]
fn fields_stand_where_they_are_used() {
    let text = "
export func @run(%in: ptr, %out: ptr) {
entry:
    %x: i64 = load %in+0 align 8
    store %x, %out+0 align 8
    %a: i64 = load %out+0 align 8
    %b: i64 = load %out+0 align 8
    %zero: i64 = const 0
    %is: bool = compare sgt %a, %zero
    branch %is, positive1, negative2
positive1:
    %product: i64 = mul %a, %b
    store %product, %out+0 align 8
    jump join3(%product)
negative2:
    jump join3(%b)
join3(%c: i64):
    %sum: i64 = add %b, %c
    store %sum, %out+0 align 8
    return
}
";
    let mut module: Module = text.parse().unwrap();
    let function = &mut module.functions[0];
    let out = function.blocks[0].params[1];
    function.values[out.index()].points_to = Some(Pointee::Struct(&NUMBER));
    let text = C::default().text(&module, &[]).unwrap();
    assert!(text.contains("is = out->n > 0;") && text.contains("(uint64_t)out->n *"), "{text}");
    assert!(text.contains("    b = out->n;\n"), "{text}");
    check(&module);
    for running in crate::jit::run(&module, &[]) {
        assert_eq!([3, 0].map(|n| running.call("run", &[n])), [12, 0]);
    }
}

/// Before a wrapper stands only what it needs, so that readers see its checks on the first pages.
#[test]
fn wrappers_come_first() {
    let text = C::default().text(&lowered(
        "add_one(x: Tensor([n], float32), y: Tensor([n], float32)) -> None = add_one(x.data, y.data, n);",
    ), &[]);
    let text = text.unwrap();
    let (first, rest) = text.split_once("/* What the functions above need. */").unwrap();
    let lines = first.lines().count();
    assert!(lines <= 109, "{lines} lines\n{first}");
    assert!(first.contains("__tvm_ffi_add_one(") && rest.contains("FFI_UNALIGNED"), "{text}");
}

#[test]
fn the_text_is_the_same_every_time() {
    let module = sample::module();
    assert_eq!(C::default().text(&module, &[]), C::default().text(&module, &[]));
}

/// Checks are guards, which leave the rest where it is.
#[test]
fn branches_nest_where_blocks_do() {
    let text = C::default().text(
        &lowered(
            "f(n: int64) -> int64 = { if n > 3 { return n; } for i in 0..n { k(i); } return 0; };",
        ),
        &[],
    );
    let text = text.unwrap();
    assert!(text.contains("    while (i < n) {\n"), "{text}");
    assert!(text.contains("    if (n > 3) {\n"), "{text}");
}

/// Returns host IR with many values, names that are alike in the characters that identifiers keep, and blocks that jump
/// to a common one.
fn elements(count: usize) -> Module {
    let name = "a_name_that_is_alike_in_all_of_the_characters_that_compilers_of_c_compare";
    let statement = |i| format!("let {name}_{i} = xs[i + {i}]; k({name}_{i}.data);");
    let statements: String = (0..count).map(statement).collect();
    lowered(&format!("f(xs: Array[Tensor([_], float32)], i: int64) -> None = {{ {statements} }};"))
}

/// Four times as many statements take four times as long, not sixteen times.
#[test]
fn time_grows_with_the_text() {
    let time = |module: &Module| {
        let runs = (0..3).map(|_| {
            let start = Instant::now();
            assert!(!C::default().text(module, &[]).unwrap().is_empty());
            start.elapsed()
        });
        runs.min().unwrap_or(Duration::ZERO)
    };
    let (short, long) = (time(&elements(400)), time(&elements(1600)));
    assert!(long < 9 * short, "{long:?} for four times what takes {short:?}");
}
