//! Compilation of the peers in C and C++, and of our own libraries.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use libloading::Library;
use tvm_ffi_codegen_tests::fake_hip;
use tvm_ffi_codegen_tests::ffi::config;
use tvm_ffi_codegen_tests::route::BACKENDS;

use super::{Kernels, Kind, MOVED, Peer, Peers};
use crate::cases::cases;
use crate::ours;
use crate::setup::{Setup, exists, must};

/// A compiler with options, as a peer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Compiler {
    pub(crate) name: &'static str,
    folder: &'static str,
    pub(crate) program: &'static str,
    options: &'static [&'static str],
    /// Extension of its sources: `c` or `cc`.
    extension: &'static str,
}

const C: [&str; 3] = ["-std=c11", "-Wall", "-Wextra"];

/// Returns all compilers, whether they are installed or not.
pub(crate) fn compilers() -> [Compiler; 6] {
    let c = |name, folder, program, options| Compiler {
        name,
        folder,
        program,
        options,
        extension: "c",
    };
    let cxx =
        |name, folder, options| Compiler { name, folder, program: "g++", options, extension: "cc" };
    [
        c("C, gcc -O2", "gcc-O2", "gcc", &["-O2"]),
        c("C, gcc -O3", "gcc-O3", "gcc", &["-O3"]),
        c("C, clang-22 -O2", "clang-O2", "clang-22", &["-O2"]),
        c("C, clang-22 -O3", "clang-O3", "clang-22", &["-O3"]),
        cxx("C++ macro, checked", "gxx-checked", &["-O2", "-DCHECKED"]),
        cxx("C++ macro, bare", "gxx-bare", &["-O2"]),
    ]
}

/// Cases of C++ in short mode: the compiler takes seconds for each.
const CXX_CASES: [&str; 2] = ["add_one", "union"];

impl Compiler {
    /// Returns the cases that have a source.
    fn cases(&self, setup: &Setup) -> Vec<&'static str> {
        let all = cases().into_iter().map(|case| case.name);
        let few = setup.short && self.extension == "cc";
        let has = |case: &str| self.source(setup, case).is_file();
        all.filter(|case| has(case) && (!few || CXX_CASES.contains(case))).collect()
    }

    fn source(&self, setup: &Setup, case: &str) -> PathBuf {
        let folder = if self.extension == "c" { "c" } else { "cxx" };
        setup.sources.join(folder).join(format!("{case}.{}", self.extension))
    }

    /// Returns the command that compiles a case to an object.
    pub(crate) fn command(&self, setup: &Setup, case: &str, output: &Path) -> Command {
        let mut command = Command::new(self.program);
        command.args(if self.extension == "c" { &C[..] } else { &["-std=c++17"] });
        command.args(self.options).args(["-fPIC", "-c"]).arg(self.source(setup, case));
        command.arg(format!("-I{}", config("--includedir")));
        command.arg(format!("-I{}", config("--dlpack-includedir")));
        let code = fake_hip::sources().join("kernels.hsaco");
        command.arg(format!("-DHSACO=\"{}\"", code.display()));
        command.arg("-o").arg(output);
        command
    }
}

/// Returns the command that links an object with the kernels.
pub(crate) fn link_command(
    compiler: &Compiler,
    object: &Path,
    kernels: &Path,
    output: &Path,
) -> Command {
    let mut command = Command::new(compiler.program);
    command.arg("-shared").arg(object).arg(kernels).arg("-o").arg(output);
    command
}

/// Returns true if the output was made by this command from unchanged sources.
fn is_fresh(command: &Command, sources: &Path, output: &Path) -> bool {
    let time = |path: &Path| std::fs::metadata(path).and_then(|data| data.modified()).ok();
    let record = output.with_extension("command");
    let same = std::fs::read_to_string(record).is_ok_and(|text| text == format!("{command:?}"));
    let folders = [sources.to_owned(), sources.join("c"), sources.join("cxx")];
    let files = folders.iter().filter_map(|folder| std::fs::read_dir(folder).ok()).flatten();
    let newest = files.filter_map(|file| time(&file.ok()?.path())).max();
    same && time(output).is_some_and(|made| Some(made) > newest)
}

/// Runs a command unless its output is up to date.
fn make(setup: &Setup, mut command: Command, output: &Path) {
    if !is_fresh(&command, &setup.sources, output) {
        must(&mut command);
        let text = format!("{command:?}");
        std::fs::write(output.with_extension("command"), text).expect("the folder is writable");
    }
}

/// Compiles the kernels.
pub(super) fn kernels(setup: &Setup) -> Kernels {
    let (folder, source) = (setup.subfolder("kernels"), setup.sources.join("kernels.c"));
    let (object, shared) = (folder.join("kernels.o"), folder.join("kernels.so"));
    let gcc = |options: &[&str], output: &Path| {
        let mut command = Command::new("gcc");
        command.args(["-O2", "-fPIC"]).args(options).arg(&source).arg("-o").arg(output);
        make(setup, command, output);
    };
    gcc(&["-c"], &object);
    gcc(&["-shared", "-DVISIBLE"], &shared);
    // SAFETY: the kernels have no initialisers.
    let library = unsafe { Library::new(&shared) }.unwrap_or_else(|error| panic!("{error}"));
    Kernels { object, library }
}

/// Compiles the peers in C and C++, two files at a time.
pub(super) fn compiled(setup: &Setup, peers: &mut Peers) {
    let mut work = Vec::new();
    for compiler in compilers() {
        if !exists(compiler.program) {
            let Compiler { name, program, .. } = compiler;
            peers.left_out.push(format!("{name}: there is no {program}"));
            continue;
        }
        let folder = setup.subfolder(&format!("peers/{}", compiler.folder));
        work.extend(compiler.cases(setup).into_iter().map(|case| (compiler, folder.clone(), case)));
        peers.all.push(Peer::new(compiler.name, Kind::Compiler, folder));
    }
    let (work, kernels) = (Mutex::new(work), &peers.kernels.object);
    let next = || work.lock().expect("no thread panics with it").pop();
    let run = || {
        while let Some((compiler, folder, case)) = next() {
            let object = folder.join(format!("{case}.o"));
            make(setup, compiler.command(setup, case, &object), &object);
            let shared = folder.join(format!("{case}.so"));
            make(setup, link_command(&compiler, &object, kernels, &shared), &shared);
        }
    };
    std::thread::scope(|scope| (0..2).for_each(|_| drop(scope.spawn(run))));
}

/// Builds our own libraries, every time, and each once more with its code at other addresses.
pub(super) fn ours(setup: &Setup, peers: &mut Peers) {
    for backend in BACKENDS {
        let folder = setup.subfolder(&format!("peers/ours-{backend}"));
        for case in cases() {
            let output = folder.join(format!("{}.so", case.name));
            ours::write_shared(&case.declaration, backend, &peers.kernels, &output);
            let output = setup
                .subfolder(&format!("peers/ours-{backend}/{MOVED}"))
                .join(format!("{}.so", case.name));
            ours::write_shared(&case.moved(), backend, &peers.kernels, &output);
        }
        let name = match *backend {
            "cranelift" => "Cranelift .so",
            "llvm" => "LLVM .so",
            "mlir" => "MLIR .so",
            other => other,
        };
        peers.all.push(Peer::new(name, Kind::Ours(backend), folder));
    }
    let known = driver::BackendName::ALL.iter().map(|backend| backend.name());
    for missing in known.filter(|name| !BACKENDS.contains(name)) {
        peers.left_out.push(format!("our backend {missing}: not part of this build"));
    }
}
