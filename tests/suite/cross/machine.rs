//! Machines, and the outcomes of calls that they make.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use codegen::{Function, Library, Routines};
use driver::link::{Input, Linker};
use driver::{Form, Optimize, Request};
use target_lexicon::Triple;
use tempfile::TempDir;
use tvm_ffi_codegen_tests::fake_cuda;
use tvm_ffi_codegen_tests::ffi::{config, includes};
use tvm_ffi_codegen_tests::hosts::host;
use tvm_ffi_codegen_tests::kernels::cc;
use tvm_ffi_codegen_tests::route::{BACKENDS, request, with_recorder};

use super::system::{System, of_compiler};

/// A machine.
pub(super) struct Machine {
    pub(super) triple: &'static str,
    pub(super) system: System,
    /// C compiler for the machine, and on macOS for the Linux of its processor.
    pub(super) compiler: &'static str,
    /// Compiler of kernels with its options, if it is another one.
    pub(super) kernels: &'static [&'static str],
    /// Folder of its libtvm_ffi.
    pub(super) runtime: PathBuf,
    /// Emulator of the machine, with the folder of its libraries.
    pub(super) emulator: &'static [&'static str],
    /// True if functions of the machine's ABI extend narrow results, which some kernels of the table do not.
    pub(super) extends: bool,
}

/// Returns this machine.
pub(super) fn native() -> Machine {
    Machine {
        triple: "x86_64-unknown-linux-gnu",
        system: System::Linux,
        compiler: "cc",
        kernels: &[],
        runtime: config("--libdir").into(),
        emulator: &[],
        extends: false,
    }
}

/// Returns the folder of the runtime of another machine.
pub(crate) fn runtime(variable: &str) -> PathBuf {
    let folder = std::env::var_os(variable);
    folder.unwrap_or_else(|| panic!("{variable} is not set; use tests/run")).into()
}

/// A way to make a library.
#[derive(Clone, Copy, Debug)]
pub(super) enum How {
    /// One object with all functions, of a backend and at a level of optimisation, which Cranelift does not have. The
    /// routines are embedded, or linked by the linker of this library.
    One(&'static str, Optimize, Routines),
    /// An object of each backend, each with some of the functions, and linked routines, one copy for all of them.
    Several,
}

/// Outcomes of all calls.
pub(super) struct Outcomes {
    pub(super) name: String,
    pub(super) text: String,
}

/// Files of a machine that do not depend on the library.
struct Place<'a> {
    machine: &'a Machine,
    folder: TempDir,
    /// The kernels, and the libraries in which they find functions.
    kernels: Vec<Input>,
}

impl Machine {
    /// Makes the calls in the code of each way.
    pub(super) fn outcomes(&self, library: &Library, calls: &str, how: &[How]) -> Vec<Outcomes> {
        let place = self.place();
        let library = with_recorder(library);
        let each = |&how: &How| {
            let name = format!("{}, {how:?}", self.triple);
            std::fs::write(place.path(self.system.library()), place.build(&library, how))
                .expect("the library can be written");
            Outcomes { text: place.run(&name, calls), name }
        };
        how.iter().map(each).collect()
    }

    /// Compiles the host, the kernels and the stand-in for the driver of GPUs.
    fn place(&self) -> Place<'_> {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let path = |name: &str| folder.path().join(name);
        let parts = ["main.c", "arguments.c", "outcome.c", "system.c"];
        let loader = (self.system == System::MacOs).then_some("mach_o.c");
        let parts = parts.into_iter().chain(loader).map(|part| host("cross").join(part));
        let mut command = compile(&[self.compiler]);
        command
            .args(self.system.options())
            .args(includes())
            .args(parts)
            .args(self.system.runtime(&self.runtime));
        cc(command.arg("-o").arg(path(HOST)));
        let kernels = if self.kernels.is_empty() { &[self.compiler] } else { self.kernels };
        let mut command = compile(kernels);
        command
            .args(self.system.of_kernels())
            .args(["-fPIC", "-c", "-o"])
            .arg(path("kernels.o"))
            .arg(host("kernels.c"));
        cc(&mut command);
        if let Some(name) = self.system.driver() {
            let (driver, options) = (fake_cuda::in_c(&fake_cuda::sources()), self.system.options());
            fake_cuda::compile(self.compiler, name, &driver, options, &path(name));
        }
        let kernels = std::fs::read(path("kernels.o")).expect("the compiler has written it");
        let kernels = Input::new("kernels.o", kernels).unwrap_or_else(|error| panic!("{error}"));
        let libraries = self.system.libraries().iter().map(|name| of_compiler(self.compiler, name));
        let kernels = [kernels].into_iter().chain(libraries).collect();
        Place { machine: self, folder, kernels }
    }

    /// Returns the linker of libraries. MinGW links objects of its own kind.
    fn linker(&self, routines: Routines) -> Linker {
        let links = self.triple.ends_with("msvc") || self.system == System::MacOs;
        if routines == Routines::Linked || links {
            Linker::of(&self.target())
        } else {
            Linker::Cc(self.compiler.into())
        }
    }

    fn target(&self) -> Triple {
        self.triple.parse().expect("a triple")
    }

    /// Returns a request of a backend.
    fn request(&self, backend: &str, form: Form) -> Request {
        Request { target: self.target(), ..request(backend, form) }
    }
}

/// Returns a command that compiles C with a compiler and its options.
fn compile(compiler: &[&str]) -> Command {
    let mut compile = Command::new(compiler[0]);
    compile.args(&compiler[1..]).args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O2"]);
    compile
}

/// The program that makes the calls.
const HOST: &str = "host.exe";

impl Place<'_> {
    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Compiles and links a library.
    fn build(&self, library: &Library, how: How) -> Vec<u8> {
        match how {
            How::One(backend, optimization, routines) => {
                let linker = Some(self.machine.linker(routines));
                let kernels = self.kernels.clone();
                let request = self.machine.request(backend, Form::Shared);
                emit(library, routines, &Request { kernels, linker, optimization, ..request })
            }
            How::Several => {
                // The variable of its module, with which functions make closures and find others by name, and the
                // images are once in a library. The function that prepares launches prepares those of its object.
                let is_first = |function: &Function| {
                    let text = function.to_string();
                    ["function", "@\"", "launch ", ".device."]
                        .iter()
                        .any(|word| text.contains(word))
                };
                let object = |(at, &backend): (usize, &&str)| {
                    let (mut part, mut index) = (library.clone(), 0..);
                    part.functions.retain(|function| {
                        let turn = index.next().unwrap_or(0) % BACKENDS.len();
                        at == if is_first(function) { 0 } else { turn }
                    });
                    if at != 0 {
                        (part.prepare, part.images) = (None, Vec::new());
                    }
                    let request = self.machine.request(backend, Form::Object);
                    let object = emit(&part, Routines::Linked, &request);
                    Input::new(backend, object).unwrap_or_else(|error| panic!("{error}"))
                };
                let mut kernels = self.kernels.clone();
                kernels.extend(BACKENDS.iter().enumerate().map(object));
                let request = self.machine.request(BACKENDS[0], Form::Shared);
                let linker = Some(self.machine.linker(Routines::Linked));
                let linked = Request { kernels, linker, ..request }.link();
                linked.unwrap_or_else(|error| panic!("{error}"))
            }
        }
    }

    /// Runs the host and returns its output.
    fn run(&self, name: &str, calls: &str) -> String {
        let (system, host) = (self.machine.system, self.path(HOST));
        let emulator = self.machine.emulator.iter().map(AsRef::as_ref);
        let mut all = emulator.chain([host.as_os_str()]);
        let mut command = Command::new(all.next().unwrap_or_default());
        command.args(all).arg(self.path(system.library())).args(system.driver());
        system.prepare(&mut command, &self.machine.runtime, self.folder.path());
        let output = output(&mut command, calls);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let end: Vec<&str> = text.lines().rev().take(3).collect();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{name}: {}\n{end:?}\n{errors}", output.status);
        text
    }
}

/// Runs a command with an input.
fn output(command: &mut Command, input: &str) -> std::process::Output {
    let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = child.unwrap_or_else(|error| panic!("{command:?}: {error}; use tests/run"));
    let mut stdin = child.stdin.take().expect("a pipe");
    std::thread::scope(|scope| {
        scope.spawn(move || stdin.write_all(input.as_bytes()));
        child.wait_with_output().expect("the host ends")
    })
}

fn emit(library: &Library, routines: Routines, request: &Request) -> Vec<u8> {
    let options = Request { routines: Some(routines), ..request.clone() }.lowering();
    let module = driver::lower(library, &options).unwrap_or_else(|error| panic!("{error}"));
    codegen::ir::verify(&module).unwrap();
    request.emit_module(&module).unwrap_or_else(|error| panic!("{error}"))
}
