//! A test JIT: a shared library, made by the C compiler, in this process.

use std::fmt::Write as _;
use std::fs;
use std::process::Command;

use codegen::Backend;
use codegen::ir::{self, Module};
use libloading::Library;
use tempfile::TempDir;
use tvm_ffi_codegen_c::{C, Optimize};

use crate::functions;

/// A module whose code can run.
pub(crate) struct Running {
    library: Library,
    _folder: TempDir,
}

impl Running {
    /// Compiles and loads a module at a level; a name resolves to an address.
    pub(crate) fn start(source: &Module, level: Optimize, imports: &[(&str, *const u8)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let object = C { optimize: level, ..C::default() }.object(source, &[]);
        let object = object.unwrap_or_else(|error| panic!("{error}"));
        fs::write(path("module.o"), object).unwrap();
        let mut names = String::from(".text\n");
        for (name, address) in imports {
            writeln!(names, ".globl \"{name}\"\n.set \"{name}\", {}", address.addr()).unwrap();
        }
        fs::write(path("names.s"), names).unwrap();
        succeed(
            Command::new("cc")
                .args(["-shared", "-nostdlib", "-o"])
                .args(["names.so", "names.s"].map(path)),
        );
        let files = ["module.so", "module.o", "names.so"].map(path);
        succeed(Command::new("cc").args(["-shared", "-Wl,--no-as-needed", "-o"]).args(files));
        // SAFETY: the constructors of the tests do nothing.
        let library = unsafe { Library::new(path("module.so")) };
        Running { library: library.unwrap_or_else(|error| panic!("{error}")), _folder: folder }
    }

    /// Returns the address of a function.
    pub(crate) fn address(&self, name: &str) -> usize {
        // SAFETY: only the address of the function is taken.
        let symbol = unsafe { self.library.get::<unsafe extern "C" fn()>(name) };
        let symbol = symbol.unwrap_or_else(|error| panic!("{error}"));
        *symbol as usize
    }

    /// Calls a function of [`functions`](crate::functions).
    pub(crate) fn call(&self, name: &str, input: &[u64]) -> u64 {
        functions::call(self.address(name), input)
    }
}

/// Runs a command that must succeed.
pub(crate) fn succeed(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{text}", output.status);
}

/// Compiles and starts one module, once per optimisation level: both must do the same.
pub(crate) fn run(source: &Module, imports: &[(&str, *const u8)]) -> [Running; 2] {
    ir::verify(source).unwrap();
    crate::text::check(source);
    [Optimize::O0, Optimize::O2].map(|level| Running::start(source, level, imports))
}
