//! Rows of the table that a host in C can make, on other machines: their outcomes must be those of the same host on
//! this machine.
//!
//! `tests/setup` installs compilers and emulators; `tests/run` sets the folders of the runtimes.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use codegen::Library;
use driver::link::{Input, Linker};
use driver::{Form, Optimize, Request};
use tvm_ffi_codegen_tests::argument::{Argument, Tensor};
use tvm_ffi_codegen_tests::cases::{self, Case, Row};
use tvm_ffi_codegen_tests::ffi::config;
use tvm_ffi_codegen_tests::hosts::host;
use tvm_ffi_codegen_tests::kernels::cc;
use tvm_ffi_codegen_tests::route::{BACKENDS, build_with, request};

/// A machine.
struct Machine {
    triple: &'static str,
    /// C compiler for the machine.
    compiler: &'static str,
    /// Folder of its libtvm_ffi.
    runtime: PathBuf,
    /// Emulator of the machine, with the folder of its libraries.
    emulator: &'static [&'static str],
    /// True if functions of the machine's ABI extend narrow results, which some kernels of the table do not.
    extends: bool,
}

/// Returns this machine.
fn native() -> Machine {
    let (triple, compiler) = ("x86_64-unknown-linux-gnu", "cc");
    Machine { triple, compiler, runtime: config("--libdir").into(), emulator: &[], extends: false }
}

/// Returns the folder of the runtime of another machine.
fn runtime(variable: &str) -> PathBuf {
    let folder = std::env::var_os(variable);
    folder.unwrap_or_else(|| panic!("{variable} is not set; use tests/run")).into()
}

impl Machine {
    /// Compiles C for the machine.
    fn compile(&self, arguments: &[&str], source: &str, output: &Path) {
        let mut compile = Command::new(self.compiler);
        compile.args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O2"]).arg(host(source));
        cc(compile.args(arguments).arg("-o").arg(output));
    }

    /// Runs the host and returns its output.
    fn run(&self, host: &Path, library: &Path, calls: &str) -> String {
        let mut all = self.emulator.iter().map(AsRef::as_ref).chain([host.as_os_str()]);
        let mut command = Command::new(all.next().unwrap_or_default());
        command.args(all).arg(library).env("LD_LIBRARY_PATH", &self.runtime);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{command:?}: {error}; use tests/run"));
        let mut stdin = child.stdin.take().expect("a pipe");
        let output = std::thread::scope(|scope| {
            scope.spawn(move || stdin.write_all(calls.as_bytes()));
            child.wait_with_output().expect("the host ends")
        });
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{}: {}\n{text}", self.triple, output.status);
        text
    }

    /// Makes the calls in the code of each backend and level.
    fn outcomes(&self, library: &Library, calls: &str, how: &[How]) -> Vec<Outcomes> {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let [host, kernels, path] =
            ["host", "kernels.o", "library.so"].map(|name| folder.path().join(name));
        let folder = format!("-L{}", self.runtime.display());
        let link = format!("-Wl,-rpath-link,{}", self.runtime.display());
        let headers =
            ["--includedir", "--dlpack-includedir"].map(config).map(|at| format!("-I{at}"));
        let [ffi, dlpack] = &headers;
        let arguments = ["-rdynamic", ffi, dlpack, &folder, &link, "-ltvm_ffi", "-ldl"];
        self.compile(&arguments, "cross.c", &host);
        self.compile(&["-fPIC", "-c"], "kernels.c", &kernels);
        let kernels = std::fs::read(kernels).expect("the compiler has written it");
        let kernels = Input::new("kernels.o", kernels).unwrap_or_else(|error| panic!("{error}"));
        let each = |&(backend, level): &How| {
            let request = Request {
                target: self.triple.parse().expect("a triple"),
                kernels: vec![kernels.clone()],
                linker: Some(Linker::Cc(self.compiler.into())),
                optimization: level,
                ..request(backend, Form::Shared)
            };
            build_with(library, &codegen::Options::default(), &request, &path);
            let name = format!("{}, {backend}, {level:?}", self.triple);
            Outcomes { name, text: self.run(&host, &path, calls) }
        };
        how.iter().map(each).collect()
    }
}

/// A backend and a level of optimisation, which Cranelift does not have.
type How = (&'static str, Optimize);

/// Outcomes of all calls.
struct Outcomes {
    name: String,
    text: String,
}

/// Writes a call for the host, if the host can make it: with numbers, views of tensors and C strings. Objects would
/// need a maker on both sides.
fn express(function: &str, row: &Row) -> Option<String> {
    let arguments: Option<Vec<String>> = row.arguments.iter().map(argument).collect();
    let arguments = arguments?;
    let (there, count) = (arguments.len(), row.count.unwrap_or(arguments.len() as i32));
    Some(format!("call {function} {count} {there}\n{}", arguments.concat()))
}

fn argument(argument: &Argument) -> Option<String> {
    let any = |index: i32, bits: i64| Some(format!("any {index} 0 {bits}\n"));
    match argument {
        Argument::None => any(0, 0),
        Argument::Int(value) => any(1, *value),
        Argument::Bool(value) => any(2, i64::from(*value)),
        Argument::Float(value) => any(3, value.to_bits() as i64),
        Argument::Pointer(value) => any(4, *value as i64),
        Argument::DType(dtype) => any(5, dtype.to_word().into()),
        Argument::Device(device) => {
            any(6, i64::from(device.id) << 32 | i64::from(device.ty.0 as u32))
        }
        Argument::RawStr(text) => {
            let bytes: Vec<String> = text.bytes().map(|byte| byte.to_string()).collect();
            Some(format!("text {} {}\n", bytes.len(), bytes.join(" ")))
        }
        Argument::Tensor(tensor) => (!tensor.object).then(|| view(tensor)),
        Argument::BigInt(_)
        | Argument::Big(_)
        | Argument::Runtime(_)
        | Argument::Str(_)
        | Argument::Bytes(_)
        | Argument::RawBytes(_)
        | Argument::Small { .. }
        | Argument::Text { .. }
        | Argument::Object(_)
        | Argument::Registered(_)
        | Argument::Raw { .. }
        | Argument::Shape(_)
        | Argument::Array(_)
        | Argument::List(_)
        | Argument::Map(_)
        | Argument::Dict(_)
        | Argument::Function
        | Argument::Module
        | Argument::Error
        | Argument::Opaque
        | Argument::RValue(_) => None,
    }
}

fn view(tensor: &Tensor) -> String {
    let dims = |dims: Option<&[i64]>| {
        let Some(dims) = dims else { return "null".to_owned() };
        dims.iter().fold(dims.len().to_string(), |mut text, dim| {
            let _ = write!(text, " {dim}");
            text
        })
    };
    let Tensor { dtype, shape, strides, null_shape, device, data, byte_offset, .. } = tensor;
    let data = data.map_or("null".to_owned(), |at| at.to_string());
    let (shape, strides) = (dims((!null_shape).then_some(shape)), dims(strides.as_deref()));
    let (ty, id, ndim) = (device.ty.0, device.id, tensor.ndim());
    let (code, bits, lanes) = (dtype.code, dtype.bits, dtype.lanes);
    format!(
        "tensor {code} {bits} {lanes} {ty} {id} {ndim} {byte_offset} {data} {shape} {strides}\n"
    )
}

/// Compares all outcomes with those of this machine.
fn compare(other: &Machine) {
    let mut table = cases::table();
    let noisy =
        |case: &Case| case.function.body.kernel_calls().any(|c| c.symbol.starts_with("noisy_"));
    table.retain(|case| !(other.extends && noisy(case)));
    let rows = table.iter().flat_map(|case| case.rows.iter().map(move |row| (case, row)));
    let calls: Vec<String> =
        rows.filter_map(|(case, row)| express(&case.function.signature.name, row)).collect();
    assert!(calls.len() > 1000, "only {} calls", calls.len());
    let (library, text) = (cases::library(&table), calls.concat());
    let here = native().outcomes(&library, &text, &[(BACKENDS[0], Optimize::O2)]);
    let here = &here[0].text;
    assert_eq!(here.lines().count(), calls.len(), "{here}");
    let levels = [Optimize::O0, Optimize::O2];
    let how = BACKENDS.iter().flat_map(|&backend| levels.map(|level| (backend, level)));
    // Cranelift has one level. GCC without optimisation leaves the upper bits of narrow arguments open, as the ABI of
    // aarch64 allows; the table has kernels that read them.
    let is_left_out = |how: &How| [("cranelift", Optimize::O0), ("c", Optimize::O0)].contains(how);
    let how: Vec<How> = how.filter(|how| !is_left_out(how)).collect();
    for there in other.outcomes(&library, &text, &how) {
        let pairs = here.lines().zip(there.text.lines()).zip(&calls);
        let differ = pairs.filter(|((here, there), _)| here != there);
        let differ: Vec<String> =
            differ.map(|((here, there), call)| format!("{call}  {here}\n  {there}\n")).collect();
        assert!(differ.is_empty(), "{}: {}\n{}", there.name, differ.len(), differ.concat());
        assert_eq!(there.text.lines().count(), calls.len(), "{}", there.name);
    }
}

#[test]
#[ignore = "tests/setup installs what it needs"]
fn aarch64_does_what_this_machine_does() {
    compare(&Machine {
        triple: "aarch64-unknown-linux-gnu",
        compiler: "aarch64-linux-gnu-gcc",
        runtime: runtime("TVM_FFI_AARCH64"),
        emulator: &["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"],
        extends: false,
    });
}

/// No package has a runtime for riscv64: `TVM_FFI_RISCV64` is a folder with one that was compiled from its sources.
#[test]
#[ignore = "needs a runtime that nobody offers"]
fn riscv64_does_what_this_machine_does() {
    compare(&Machine {
        triple: "riscv64gc-unknown-linux-gnu",
        compiler: "riscv64-linux-gnu-gcc",
        runtime: runtime("TVM_FFI_RISCV64"),
        emulator: &["qemu-riscv64", "-L", "/usr/riscv64-linux-gnu"],
        extends: true,
    });
}
