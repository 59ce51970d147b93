//! The Python package with an unoptimised shared object: its tests, its example, and programs in C and C++.

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

#[path = "python/built.rs"]
mod built;

/// Returns the path of the shared object, which cargo builds beside this program.
fn library() -> PathBuf {
    let program = env::current_exe().expect("a program has a path");
    let folder = program.parent().expect("a program is in a folder");
    let file =
        format!("{}tvm_ffi_codegen_python{}", env::consts::DLL_PREFIX, env::consts::DLL_SUFFIX);
    folder.join(file)
}

/// Runs Python with the package, and returns its output.
fn python(arguments: &[&str]) -> String {
    let output = output(arguments, &library(), b"");
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {}\n{printed}\n{errors}", output.status);
    printed
}

/// Returns a command that runs Python with the package and this shared object.
fn command(arguments: &[&str], library: &Path) -> Command {
    let mut command = Command::new("python3");
    command.args(arguments).current_dir(env!("CARGO_MANIFEST_DIR"));
    command.env("PYTHONPATH", env!("CARGO_MANIFEST_DIR")).env("PYTHONDONTWRITEBYTECODE", "1");
    command.env("TVM_FFI_CODEGEN_LIBRARY", library);
    command
}

/// Runs Python with the package, with this shared object and standard input.
fn output(arguments: &[&str], library: &Path, stdin: &[u8]) -> Output {
    let mut command = command(arguments, library);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child =
        command.spawn().unwrap_or_else(|error| panic!("python3: {error}; use tests/run"));
    child.stdin.take().expect("it is piped").write_all(stdin).expect("it is read");
    child.wait_with_output().expect("it runs")
}

#[test]
fn the_package_does_what_its_tests_say() {
    let printed = python(&["-m", "pytest"]);
    assert!(printed.contains(" passed in "), "{printed}");
}

#[test]
fn the_example_prints_what_it_is_to_print() {
    let expected = "\
[1. 2. 3. 4. 5.]
Mismatched y.shape[0] on argument #1 when calling: `add_one(x: Tensor([n], float32), \
y: Tensor([n], float32))`, expected 5 (= x.shape[0]) but got 4
";
    assert_eq!(python(&["examples/add_one.py"]), expected);
}

#[test]
fn the_example_of_a_compiler_prints_what_it_is_to_print() {
    let expected = "\
[0.25 1.   1.75 2.5  3.25]
True
Mismatched y.shape[0] on argument #1 when calling: `blend(x: Tensor([n], float32), \
y: Tensor([n], float32), weight: float64, out: Tensor([n], float32))`, expected 5 (= x.shape[0]) but got 4
return 2 * x**2 - `x ** 2` has no translation
";
    assert_eq!(python(&["examples/expressions.py"]), expected);
}

/// Hosts that are not installed are left out.
#[test]
fn the_example_of_other_hosts_begins_with_numpy() {
    let said = python(&["examples/doors.py"]);
    assert!(said.starts_with("tvm_ffi: [1.0, 3.0, 5.0, 7.0]\ntorch: "), "{said}");
    assert_eq!(said.lines().count(), 3, "{said}");
}

/// The declaration of the example is the canonical text, and its errors are at lines of the example.
#[test]
fn the_example_of_values_prints_what_it_is_to_print() {
    let expected = "\
/// Computes an expression of vectors.
scaled_sum(x: Tensor([n], float32, access=read), `stream`: Tensor([n], float32, access=read), \
out: Tensor([n], float32, access=write)) -> None
    = {
        if n > 64 {
            raise ValueError \"scaled_sum takes 64 elements, not \", n;
        }
        if n >= 8 and n % 8 == 0 {
            wide(x.data, `stream`.data, out.data, n / 8);
        } else if n > 0 {
            narrow(x.data, `stream`.data, out.data, min(n, 64));
        }
    };

[2. 3. 4.]
[ 2.  3.  4.  5.  6.  7.  8.  9. 10. 11. 12. 13. 14. 15. 16. 17.]
scaled_sum takes 64 elements, not 65 in scaled_sum at \
if_(n > most, [Raise(\"ValueError\", [f\"{name} takes {most} elements, not \", n])]),
True error: 15:17: other: call argument 1: nothing determines the symbol `m`
";
    assert_eq!(python(&["examples/elementwise.py"]), expected);
}

/// Each variant is compiled once, however often it is called; an error of the compiler is that of the call, each time.
#[test]
fn the_example_of_variants_prints_what_it_is_to_print() {
    let expected = "\
scaled(x: Tensor([n], T: float32|float64|int32), y: Tensor([n], T), out: Tensor([n], T), generation: int64) -> None
    = {
        let variant: Function = cached (T, n == 1, n % 16 == 0, generation) \
@\"variants.compile\"(\"scaled\", T, n == 1, n % 16 == 0);
        @(variant)(x, y, out);
    };
scaled of float32 of extent 1: 1
scaled of float32: 1
scaled of float32, a multiple of 16: 1
scaled of int32 of extent 1: 1
scaled of int32: 1
scaled of int32, a multiple of 16: 1
[0 0 0 0 0 0 0] 2
[0 1 2 0 1 2 0] 1
no code for rest of float32 1
no code for rest of float32 2
Mismatched y.shape[0] on argument #1 when calling: `scaled(x: Tensor([n], T: float32|float64|int32), \
y: Tensor([n], T), out: Tensor([n], T), generation: int64)`, expected 7 (= x.shape[0]) but got 6
10 compilations
";
    assert_eq!(python(&["examples/variants.py"]), expected);
}

/// Compiles the stand-in for the CUDA driver, under the driver's name.
fn build_driver(folder: &Path) {
    let mut build = Command::new("sh");
    let options = "-std=gnu11 -O1 -fPIC -fvisibility=hidden -shared -lpthread -o";
    build
        .args(["-c", &format!("cc ../tests/driver/*.c {options} \"$0\"/libcuda.so.1")])
        .arg(folder);
    let built = build.current_dir(env!("CARGO_MANIFEST_DIR")).output().expect("there is a shell");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
}

/// Times differ from run to run, everything else is known.
#[test]
fn the_example_of_launches_prints_what_it_is_to_print() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    build_driver(folder.path());
    let mut command = command(&["examples/prepared.py"], &library());
    command.env("LD_LIBRARY_PATH", folder.path());
    let Output { status, stdout, stderr } = command.output().expect("it runs");
    let printed = String::from_utf8_lossy(&stdout);
    assert!(status.success(), "{printed}\n{}", String::from_utf8_lossy(&stderr));
    let lines: Vec<&str> = printed.lines().collect();
    assert_eq!(lines[0], "launched 1000 steps of two kernels, twice");
    assert!(lines[1].starts_with("checked and encoded in each: "), "{printed}");
    assert!(lines[2].starts_with("prepared once: "), "{printed}");
    let error = "Violated step >= 0 when calling: `function(step: int64)`, step = -1";
    assert_eq!(lines[3..], [error]);
}

/// Returns an answer of `tvm-ffi-config`.
fn config(what: &str) -> String {
    let output = Command::new("tvm-ffi-config").arg(what).output();
    let output = output.unwrap_or_else(|error| panic!("tvm-ffi-config: {error}; use tests/run"));
    String::from_utf8(output.stdout).expect("a path").trim().to_owned()
}

/// Compiles a program with the headers of the package and links it with the shared object, under the name that it has
/// in the package.
fn build(folder: &Path, compiler: &str, options: &[&str], source: &str) -> PathBuf {
    let (program, installed) = (folder.join("program"), folder.join("libtvm_ffi_codegen.so"));
    std::os::unix::fs::symlink(library(), &installed).expect("a link can be made");
    let libraries = config("--libdir");
    let mut build = Command::new(compiler);
    build.args(options).args(["-Wall", "-Wno-unused-parameter", "-Werror", source]);
    build.current_dir(env!("CARGO_MANIFEST_DIR")).arg("-o").arg(&program);
    build.args(["-Itvm_ffi_codegen/include", concat!("-I", env!("OUT_DIR"), "/include")]);
    build.arg(format!("-isystem{}", config("--includedir")));
    build.arg(format!("-isystem{}", config("--dlpack-includedir")));
    build.arg(format!("-L{libraries}")).arg("-ltvm_ffi").arg(format!("-Wl,-rpath,{libraries}"));
    build.arg("-L").arg(folder).arg("-ltvm_ffi_codegen");
    build.arg(format!("-Wl,-rpath,{}", folder.display()));
    let built = build.output().unwrap_or_else(|error| panic!("{compiler}: {error}"));
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    program
}

/// Returns the output of a program, which may have any exit code.
fn printed(program: &Path, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().expect("it runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.is_empty(), "{errors}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The example compiler in C++ needs clang for LLVM IR as text, which comes with LLVM 22.
#[test]
fn a_compiler_in_cxx_uses_the_library() {
    if Command::new("clang-22").arg("--version").output().is_err() {
        assert!(env::var_os("CI").is_none(), "there is no clang-22");
        return eprintln!("left out: there is no clang-22");
    }
    let folder = tempfile::tempdir().expect("a folder can be made");
    let program = build(folder.path(), "g++", &["-std=c++17"], "../examples/compiler.cc");
    let expected = "\
blend(x: Tensor([n], float32), y: Tensor([n], float32)) -> out: Tensor([n], float32)
    = blend_kernel(x.data, y.data, out.data, n);
3.75 3.5 3.25 3
ValueError: Mismatched y.shape[0] on argument #1 when calling: `blend(x: Tensor([n], float32), \
y: Tensor([n], float32))`, expected 1 (= x.shape[0]) but got 2
";
    assert_eq!(printed(&program, &["clang-22"]), expected);
}

#[test]
fn programs_in_cxx_call_every_function() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let program = build(folder.path(), "g++", &["-std=c++17", "-Wextra"], "tests/surface.cc");
    let expected = "\
error: 1:6: expected `Tensor` or another type such as `float32`, found `int65`
  | f(n: int65) -> None = k(n);
  |      ^
ValueError: option form: no form \"elf\", expected one of resolved, ir, native, bitcode, object, shared, header, html
ValueError: unknown option \"optimisation\", expected one of form, backend, target, cpu, features, optimization, \
headers, link, into, linker, sysroot, exports, soname, rpath, runtime_dependency, images, imports, prepare, entry, system_lib, register, metadata, routines, unchecked
TypeError: Mismatched type of option cpu, expected str but got int
RuntimeError: backend cranelift: it adds to no module; llvm and mlir do
ValueError: there are no objects to link
FileNotFoundError: cannot read /nowhere: No such file or directory (os error 2)
ValueError: kernels[\"k\"] is NULL
ValueError: undefined: `k`, which `double_it` calls (no kernels are given)
ValueError: the metadata lacks `target`, which Triton 3.9 writes
";
    assert_eq!(printed(&program, &[]), expected);
}

/// Returns the first block of a language on a page of the guide.
fn block<'p>(page: &'p str, language: &str) -> &'p str {
    let start = format!("```{language}\n");
    let (_, rest) = page.split_once(&start).unwrap_or_else(|| panic!("no {language} in {page}"));
    rest.split_once("```\n").expect("a block ends").0
}

/// One program has the blocks of all pages about the language, and prints the error in which each of them ends.
#[test]
fn pages_of_the_guide_are_true_in_cxx() {
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../codegen/src/guide");
    let read = |path: &Path| fs::read_to_string(path).expect("a page can be read");
    let entries = fs::read_dir(guide.join("language")).expect("there are pages");
    let mut pages: Vec<PathBuf> = entries.map(|entry| entry.expect("a page").path()).collect();
    pages.sort();
    assert!(pages.len() > 10, "{pages:?}");
    let mut program = block(&read(&guide.join("language.md")), "cpp").to_owned();
    program.push_str(
        "
void run(const char* declaration, void (*page)(const char*)) try {
  page(declaration);
} catch (const ffi::Error& error) {
  std::printf(\"%s: %s\\n\", error.kind().c_str(), error.message().c_str());
}

int main() {
",
    );
    let mut errors = String::new();
    for page in pages.iter().map(|path| read(path)) {
        let (declared, code) = (block(&page, "ffi"), block(&page, "cpp"));
        writeln!(
            program,
            "run(R\"page({declared})page\", [](const char* declaration) {{\n{code}}});"
        )
        .expect("a text grows");
        errors.push_str(block(&page, "text"));
    }
    program.push_str("}\n");
    let folder = tempfile::tempdir().expect("a folder can be made");
    let source = folder.path().join("pages.cc");
    fs::write(&source, program).expect("a file can be written");
    let program = build(folder.path(), "g++", &["-std=c++17"], &source.display().to_string());
    assert_eq!(printed(&program, &[]), errors);
}

#[test]
fn a_program_in_c_makes_a_function() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let options = ["-std=c99", "-Wextra", "-Wpedantic"];
    let program = build(folder.path(), "gcc", &options, "../examples/host.c");
    let expected = format!(
        "version {}\n2 3 4 5 6\nstatus -1\n\
         ValueError: Mismatched y.shape[0] on argument #1 when calling: `add_one(x: Tensor([n], float32), \
         y: Tensor([n], float32))`, expected 5 (= x.shape[0]) but got 4\n",
        env!("CARGO_PKG_VERSION")
    );
    assert_eq!(printed(&program, &[]), expected);
}

#[test]
fn programs_in_c_call_the_functions() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let options = ["-std=c99", "-Wextra", "-Wpedantic"];
    let program = build(folder.path(), "gcc", &options, "tests/surface.c");
    let expected = "\
check: 0, type index 71
dropped: 0, \n\
empty: 0, \n\
no options: 0, 1
no kernels: -1, ValueError: undefined: `k`, which `f` calls (no kernels are given)
no files: -1, TypeError: Mismatched type of objects on argument #0 when calling: `link(objects: \
Array[Union[str, bytes]], options: Optional[Map[str, Any]] = None)`, expected Array but got None
no file: -1, TypeError: Mismatched type of file on argument #0 when calling: `inspect(file: Union[str, \
bytes])`, expected Union[str, bytes] but got None
a negative size: -1, ValueError: Out of range text.size when calling: `check(text: str, allow: Optional[Array[str]] = None)`, expected a \
non-negative size but got -1
map: 0
array: 0
emit: 0
ir: import
link: -1, ValueError: unknown option \"form\", expected one of target, linker, sysroot, exports, soname, rpath, runtime_dependency
odd: -1
left: 0, \n\
version: 0, 0
";
    assert_eq!(printed(&program, &[]), expected);
}

/// The package prints the folders of the headers and the shared object, as options of compilers.
#[test]
fn the_package_says_where_its_headers_are() {
    let asked =
        ["-m", "tvm_ffi_codegen.config", "--includedir", "--cxxflags", "--ldflags", "--libs"];
    let include = concat!(env!("CARGO_MANIFEST_DIR"), "/tvm_ffi_codegen/include");
    let libraries = library().parent().expect("a file is in a folder").display().to_string();
    let runtime = python(&["-m", "tvm_ffi.config", "--libdir"]);
    // Folders with blanks are quoted for a shell.
    let quoted = |option: String| if option.contains(' ') { format!("'{option}'") } else { option };
    let headers = quoted(format!("-I{include}"));
    let folder = quoted(format!("-L{libraries}"));
    let paths = [&*libraries, runtime.trim()].map(|path| quoted(format!("-Wl,-rpath,{path}")));
    let paths = paths.join(" ");
    let expected = format!("{include}\n{headers}\n{folder} {paths}\n-ltvm_ffi_codegen_python\n");
    assert_eq!(python(&asked), expected);
    assert!(Path::new(include).join("tvm_ffi_codegen.hpp").is_file());
}

/// A program that is built with the printed options of the package and the runtime finds both libraries.
#[test]
fn options_for_compilers_do_in_folders_with_spaces() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let place = folder.path().join("a folder");
    fs::create_dir(&place).expect("a folder can be made");
    let installed = place.join("libtvm_ffi_codegen.so");
    std::os::unix::fs::symlink(library(), &installed).expect("a link can be made");
    let asked = ["-m", "tvm_ffi_codegen.config", "--cxxflags", "--ldflags", "--libs"];
    let options = String::from_utf8(output(&asked, &installed, b"").stdout).expect("options");
    let quoted = format!("'-L{0}' '-Wl,-rpath,{0}' ", place.display());
    assert!(options.contains(&quoted), "{options}");
    let ours = options.replace('\n', " ");
    // Unlike this package, the runtime's does not quote.
    let [includes, dlpack, libraries] =
        ["--includedir", "--dlpack-includedir", "--libdir"].map(config);
    let theirs = format!("-std=c++17 '-I{includes}' '-I{dlpack}' '-L{libraries}' -ltvm_ffi");
    let made = concat!("'-I", env!("OUT_DIR"), "/include'");
    let program = folder.path().join("program");
    let build = format!("g++ tests/surface.cc -o {} {made} {theirs} {ours}", program.display());
    let mut shell = Command::new("sh");
    shell.args(["-c", &build]).current_dir(env!("CARGO_MANIFEST_DIR"));
    let built = shell.output().expect("there is a shell");
    assert!(built.status.success(), "{build}\n{}", String::from_utf8_lossy(&built.stderr));
    let run = Command::new(&program).env_remove("LD_LIBRARY_PATH").output().expect("it runs");
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
}

/// `python -m tvm_ffi_codegen` behaves like the program.
#[test]
fn the_package_is_the_command_line() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let object = folder.path().join("an object.o").display().to_string();
    let declared = b"twice(n: int64) -> int64 = { return n * 2; };";
    let rows: [(&[&str], &[u8], i32, &str); 7] = [
        (&["--version"], b"", 0, "tvm-ffi-codegen "),
        (&["--help"], b"", 0, "Usage: python3"),
        (&[], b"", 2, " -m tvm_ffi_codegen <COMMAND>"),
        (&["check", "-"], b"f(n: int7) -> None = k();", 1, "error: -:1:6: expected `Tensor`"),
        (&["check", "-"], b"kind() -> None = k();", 0, "warning: -:1:1: kind: in Python"),
        (&["emit", "-", "--emit", "ir", "-l", "m", "-o", "-"], declared, 2, "-l is for forms"),
        (&["emit", "-", "-o", &object], declared, 0, ""),
    ];
    for (arguments, stdin, code, said) in rows {
        let words = [&["-m", "tvm_ffi_codegen"], arguments].concat();
        let Output { status, stdout, stderr } = output(&words, &library(), stdin);
        let text =
            format!("{}{}", String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
        assert_eq!(status.code(), Some(code), "{arguments:?}: {text}");
        assert!(text.contains(said) && text.is_empty() == said.is_empty(), "{arguments:?}: {text}");
    }
    let report = python(&["-m", "tvm_ffi_codegen", "inspect", &object]);
    assert!(report.contains("twice(n: int64) -> int64"), "{report}");
}

/// Mypy accepts the package with the settings in `python/pyproject.toml`.
#[test]
fn the_package_has_types() {
    let printed = python(&["-m", "mypy"]);
    assert!(printed.starts_with("Success: no issues found"), "{printed}");
}

/// The import needs neither the shared object nor a compiler.
#[test]
fn importing_the_package_loads_nothing() {
    let script = "import tvm_ffi_codegen; print(open('/proc/self/maps').read().count('codegen'))";
    assert_eq!(python(&["-c", script]), "0\n");
}
