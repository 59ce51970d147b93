//! Tests of the examples' output.

#[cfg(feature = "aot")]
use std::path::{Path, PathBuf};
use std::process::Command;

fn output(command: &mut Command) -> String {
    let output = command.output().expect("the example starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("the output is text")
}

#[test]
fn quickstart() {
    let expected = "\
add_one([1.0, 2.0, 3.0]) = [2.0, 3.0, 4.0]
TypeError: Mismatched y.dtype on argument #1 when calling: \
`add_one(x: Tensor([n], float32, access=read), y: Tensor([n], float32))`, expected float32 but got float64
";
    let printed = output(&mut Command::new(env!("CARGO_BIN_EXE_quickstart")));
    let (runtime, rest) = printed.split_once('\n').expect("several lines");
    assert!(runtime.starts_with("runtime: "), "{runtime}");
    assert_eq!(rest, expected);
}

/// The example needs nothing but Rust.
#[test]
fn quickstart_without_a_runtime() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_quickstart"));
    command.env_clear().env("PATH", "");
    let printed = output(&mut command);
    assert!(printed.starts_with("runtime: built in\n"), "{printed}");
    assert_eq!(printed.lines().count(), 3);
}

/// A whole compiler: its library is called from Python, its functions in process, and its errors name lines.
#[test]
#[cfg(all(feature = "cranelift", feature = "link"))]
fn minitriton() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("minitriton");
    std::fs::create_dir_all(&folder).expect("a folder can be made");
    let shared = folder.join("demo.so");
    let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("minitriton");
    let compile = |source: &Path| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_minitriton"));
        command.arg(source).arg(&shared);
        command
    };
    let printed = output(&mut compile(&demo.join("demo.mt")));
    assert!(
        printed.starts_with("@\"demo.mt\":2\naxpy(a: float64, x: Tensor([n], float32), "),
        "{printed}"
    );
    assert!(
        printed.contains("axpy(2, [1.0, 2.0, 3.0], …) = [12.0, 14.0, 16.0]\nTypeError: "),
        "{printed}"
    );
    let expected = "\
[6.5 6.5 6.5 6.5] [6.5 6.5 6.5 6.5]
demo.mt:5 in blend: Violated n % 4 == 0 when calling: `blend(x: Tensor([n], float32), y: Tensor([n], float32), \
out: Tensor([n], float32), t: float64)`, n = 3
";
    if has_python() {
        let mut python = Command::new("python3");
        assert_eq!(output(python.arg(demo.join("demo.py")).arg(&shared)), expected);
    }
    let rows = [
        (
            "kernel f(x: f32[n], x: f64):\n x = 1\nkernel g(x: f32[n]) where n < m:\n x = 1",
            "w.mt:1: f: x: an earlier parameter has the name `x`\nw.mt:3: g: constraint 0: nothing determines the symbol `m`\n",
        ),
        ("kernel f(x: f32[n]) where n <:\n x = 1", "w.mt:1: condition 1:4: "),
        ("kernel f(x: f32[n]):\n x = z", "w.mt:2: there is no parameter `z`\n"),
        (
            "kernel f(x: f32[n], y: f32[m]):\n x = y",
            "w.mt:2: `y` has another size than the first vector\n",
        ),
        ("kernel f(a: f64):\n a = 1", "w.mt:2: `a` is no vector\n"),
        ("kernel f(x: f32[n]", "w.mt:1: expected `,` or `)`\n"),
        ("x = 1", "w.mt:1: expected `kernel`\n"),
    ];
    let wrong = folder.join("w.mt");
    for (text, expected) in rows {
        std::fs::write(&wrong, text).expect("the file can be written");
        let outcome = compile(&wrong).output().expect("the example starts");
        let message = String::from_utf8_lossy(&outcome.stderr);
        assert!(!outcome.status.success() && message.starts_with(expected), "{text}: {message}");
    }
}

/// Returns true if Python has the runtime; in CI it must.
fn has_python() -> bool {
    let imports = Command::new("python3").args(["-c", "import tvm_ffi"]).output();
    let has = imports.is_ok_and(|output| output.status.success());
    if !has {
        assert!(std::env::var_os("CI").is_none(), "no Python with tvm_ffi: use tests/run");
        eprintln!("left out: no Python with tvm_ffi");
    }
    has
}

/// Python calls a compiler in Rust.
#[test]
fn extension() {
    if !has_python() {
        return;
    }
    let program = std::env::current_exe().expect("a program has a path");
    let (prefix, suffix) = (std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    let library = program.with_file_name(format!("{prefix}extension{suffix}"));
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/extension.py");
    let expected = "\
['inverse']: 0.25
DomainError: -4 is not positive
RuntimeError: 1:11: expected `Tensor` or another type such as `float32`, found the end of the text
SyntaxError: 1:11: expected `Tensor` or another type such as `float32`, found the end of the text
TypeError: Mismatched type of argument #0 when calling: `mylang.compile(str, Optional[Function])`, expected str but got int
DomainError: no f, please
['refuse']
999
";
    assert_eq!(output(Command::new("python3").arg(script).arg(library)), expected);
}

/// Prints the text of the built declarations, and their results.
#[test]
fn values() {
    let printed = output(&mut Command::new(env!("CARGO_BIN_EXE_values")));
    let (text, ran) = printed.split_once("# ").expect("kernels after the declarations");
    let library: codegen::Library = text.parse().expect("what is printed is a library");
    assert_eq!(library.to_string(), text);
    let expected = "\
add_one_kernel(ptr, ptr, i64)
# scale_kernel(ptr, i64, i32, f32) -> i32
add_one: [2.0, 3.0, 4.0, 5.0, 6.0]
ValueError: no factor for 5
ValueError: a factor without end when calling: `add_and_scale(x: Tensor([n], float32, access=read), \
y: Tensor([n], float32), factor: float32 = 2.0)`, status = 1
add_and_scale: [4.0, 6.0, 8.0, 10.0, 12.0], 2 tiles
";
    assert_eq!(ran, expected);
}

/// Runs by symbol with nothing but Rust, by name with the runtime.
#[test]
fn graph() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_graph"));
    let printed = output(&mut command);
    let network = "\
network(x: Tensor([n, 4, 4], float32), w: Tensor([16, 8], float32), b: Tensor([8], float32), \
y: Tensor([n, 8], float32)) -> None
    = {
        let flat = alloc Tensor([n, 16], float32) on x;
        @reshape(x, flat);
        let product = alloc Tensor([n, 8], float32) on x;
        @matmul(flat, w, product);
        let sum = alloc Tensor([n, 8], float32) on x;
        @bias(product, b, sum);
        @relu(sum, y);
    };
by symbol, in process: as expected
";
    assert_eq!(printed, format!("{network}by name, in process: as expected\n"));
    let printed = output(command.env_clear().env("PATH", ""));
    assert_eq!(printed, network);
}

/// Compiles through LLVM, with an object of the kernels.
#[cfg(all(feature = "aot", feature = "llvm"))]
#[test]
fn graph_ahead_of_time() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (source, object) = (concat!(env!("CARGO_MANIFEST_DIR"), "/graph/kernels.rs"), "graph.o");
    let object = folder.join(object);
    let options = ["--edition=2024", "--crate-type=lib", "--emit=obj", "-O", "-Cpanic=abort"];
    let mut rustc = Command::new(std::env::var_os("RUSTC").unwrap_or("rustc".into()));
    output(rustc.args(options).args(["-Ccodegen-units=1", source, "-o"]).arg(&object));
    let printed = output(Command::new(env!("CARGO_BIN_EXE_graph")).arg(object));
    assert!(printed.ends_with("\nby symbol, ahead of time: as expected\n"), "{printed}");
}

/// Compiles the kernel of `aot` and `link` into a folder of the caller's.
#[cfg(feature = "aot")]
fn kernel(folder: &Path) -> PathBuf {
    let [source, kernel] = ["k.c", "k.o"].map(|name| folder.join(name));
    let text =
        "void add_one_kernel(const float *x, float *y, long n) { while (n--) y[n] = x[n] + 1; }";
    std::fs::write(&source, text).expect("the file can be written");
    output(Command::new("cc").args(["-fPIC", "-c"]).arg(source).arg("-o").arg(&kernel));
    kernel
}

#[cfg(feature = "aot")]
#[test]
fn link() {
    let folder = folder("link");
    let mut command = Command::new(env!("CARGO_BIN_EXE_link"));
    let printed = output(command.arg(kernel(&folder)).arg(folder.join("add_one.so")));
    let expected = "\
a shared library: true
with the wrapper: true
with the kernel, for itself: true
";
    assert_eq!(printed, expected);
}

#[cfg(feature = "aot")]
#[test]
fn aot() {
    let folder = folder("aot");
    let (kernel, library) = (kernel(&folder), folder.join("add_one.so"));
    let printed = output(Command::new(env!("CARGO_BIN_EXE_aot")).arg(kernel).arg(&library));
    assert!(printed.starts_with("object: ELF true\n"), "{printed}");
    assert!(printed.contains("\n  add_one(x: Tensor([n], float32), "), "{printed}");
    assert!(printed.ends_with("\nadd_one([1.0, 2.0, 3.0]) = [2.0, 3.0, 4.0]\n"), "{printed}");
}

#[cfg(feature = "aot")]
const DRIVER: &str = "libcuda.so.1";

/// Makes a folder for this test program.
#[cfg(feature = "aot")]
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).expect("a folder can be made");
    folder
}

/// Compiles the stand-in for the CUDA driver into a folder of its own.
#[cfg(feature = "aot")]
fn stand_in(name: &str) -> PathBuf {
    let folder = folder(name);
    let sources = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/driver");
    let sources = std::fs::read_dir(sources).expect("the stand-in is there");
    let sources = sources.map(|file| file.expect("the folder can be read").path());
    let sources = sources.filter(|path| path.extension().is_some_and(|e| e == "c"));
    let mut cc = Command::new("cc");
    cc.args(["-std=gnu11", "-O1", "-fPIC", "-fvisibility=hidden", "-shared"]).args(sources);
    output(cc.args(["-lpthread", "-o"]).arg(folder.join(DRIVER)));
    folder
}

/// Times differ from run to run, everything else is known.
#[cfg(feature = "aot")]
#[test]
fn prepared() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_prepared"));
    let printed = output(command.env("LD_LIBRARY_PATH", stand_in("prepared_driver")));
    let lines: Vec<&str> = printed.lines().collect();
    assert_eq!(lines[0], "launched 1000 steps of two kernels, twice");
    assert!(lines[1].starts_with("checked and encoded in each: "), "{printed}");
    assert!(lines[2].starts_with("prepared once: "), "{printed}");
    assert_eq!(
        lines[3..],
        ["ValueError: Violated step >= 0 when calling: `function(step: int64)`, step = -1"]
    );
}

/// Runs on the stand-in for the driver, which runs no kernels, and on a file of the driver's name that is no library.
#[cfg(feature = "aot")]
#[test]
fn launch() {
    let (folder, broken) = (stand_in("driver"), folder("no_driver"));
    std::fs::write(broken.join(DRIVER), "no library").expect("the file can be written");
    let launch = |folder: &Path| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_launch"));
        output(command.env("LD_LIBRARY_PATH", folder))
    };
    let start = "\
image code;

/// Adds a multiple of one vector to another.
axpy(x: Tensor([n], float32, device=cuda), y: Tensor([n], float32, device=cuda), a: float32) -> None
    = {
        launch code.\"axpy_kernel\"(x.data, y.data, int32(n), a) grid(ceildiv(n, 128)) block(128);
    };
# a shared library that asks for dlerror and dlopen and dlsym
";
    assert_eq!(launch(&folder), format!("{start}# launched: y[0] = 2, y[999] = 2\n"));
    let missing = "# not launched: RuntimeError: Missing CUDA driver libcuda.so.1 when calling: `load(device_id: int64)`";
    let why = format!("{}: file too short", broken.join(DRIVER).display());
    assert_eq!(launch(&broken), format!("{start}{missing}, {why}\n"));
}

/// Output of the examples with native builders: the result of the kernel, and the error of a wrong call.
#[cfg(any(feature = "cranelift", feature = "llvm"))]
const CALLS: &str = "\
add_one with 3 elements of y: status 0
add_one with 2 elements of y: status -1
add_one([1.0, 2.0, 3.0]) = [2.0, 3.0, 4.0]
";

#[cfg(feature = "cranelift")]
#[test]
fn cranelift() {
    assert_eq!(output(&mut Command::new(env!("CARGO_BIN_EXE_cranelift"))), CALLS);
}

#[cfg(feature = "cranelift")]
#[test]
fn jit() {
    let expected = "\
HostFunction: add_one([1.0, 2.0, 3.0]) = [2.0, 3.0, 4.0]
ffi.Function: once more, [3.0, 4.0, 5.0]
";
    let printed = output(&mut Command::new(env!("CARGO_BIN_EXE_jit")));
    let (kernel, rest) = printed.split_once('\n').expect("several lines");
    assert!(kernel.starts_with("kernel: (i64, i64, i64)"), "{kernel}");
    assert_eq!(rest, expected);
}

#[cfg(feature = "llvm")]
#[test]
fn llvm() {
    let expected = format!("kernel inlined: true\n{CALLS}");
    assert_eq!(output(&mut Command::new(env!("CARGO_BIN_EXE_llvm"))), expected);
}

#[cfg(feature = "mlir")]
#[test]
fn mlir() {
    let expected = format!("kernel inlined: true\n{CALLS}");
    assert_eq!(output(&mut Command::new(env!("CARGO_BIN_EXE_mlir"))), expected);
}

/// The optimised function has no check, no `TVMFFIAny` and no tensor on the stack: it calls the kernel with constants.
#[cfg(feature = "llvm")]
#[test]
fn lto() {
    let printed = output(&mut Command::new(env!("CARGO_BIN_EXE_lto")));
    let call = "call void @add_one_kernel(ptr nonnull %x, ptr nonnull %y, i64 1024)";
    assert!(printed.contains(call) && printed.contains("ret i32 0"), "{printed}");
    assert!(!printed.contains("alloca") && !printed.contains("br "), "{printed}");
}
