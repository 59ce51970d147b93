//! Compilers and emulators for programs that play other hosts.

use std::path::{Path, PathBuf};
use std::process::Command;

use codegen::Library;
use driver::{Form, Request, parse_target};
use tvm_ffi_codegen_tests::ffi::config;
use tvm_ffi_codegen_tests::gate::backends;
use tvm_ffi_codegen_tests::hosts::host;
use tvm_ffi_codegen_tests::kernels::cc;
use tvm_ffi_codegen_tests::route::{has_target, request};

use super::machine::runtime;

/// Compilers, runtime and emulator of a machine.
pub(crate) struct Tools {
    /// Compilers for C and C++.
    compilers: [&'static str; 2],
    target: &'static str,
    /// Folder of libtvm_ffi.
    runtime: PathBuf,
    emulator: &'static [&'static str],
}

impl Tools {
    /// Returns those of this machine.
    pub(crate) fn here() -> Tools {
        let runtime = PathBuf::from(config("--libdir"));
        Tools { compilers: ["cc", "g++"], target: "", runtime, emulator: &[] }
    }

    /// Returns those of aarch64, which [`runtime`] says where to find.
    pub(crate) fn aarch64() -> Tools {
        Tools {
            compilers: ["aarch64-linux-gnu-gcc", "aarch64-linux-gnu-g++"],
            target: "aarch64-unknown-linux-gnu",
            runtime: runtime("TVM_FFI_AARCH64"),
            emulator: &["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"],
        }
    }

    /// Returns the backends that make objects for the machine.
    pub(crate) fn backends(&self) -> Vec<&'static str> {
        let has = |backend: &&str| self.target.is_empty() || has_target(backend, self.target);
        backends().iter().copied().filter(has).collect()
    }

    /// Compiles or links with options, for C or C++ as the name of the source says.
    pub(crate) fn compile(
        &self,
        source: Option<&str>,
        options: &[&str],
        out: &Path,
        more: &[&Path],
    ) {
        let is_cxx = source.is_some_and(|source| source.ends_with(".cc"));
        let mut command = Command::new(self.compilers[usize::from(is_cxx)]);
        command.args(options);
        for include in ["--includedir", "--dlpack-includedir"] {
            command.arg("-isystem").arg(config(include));
        }
        command.args(source.map(host)).args(more).arg("-o").arg(out);
        cc(&mut command);
    }

    /// Returns libtvm_ffi.
    pub(crate) fn library(&self) -> PathBuf {
        self.runtime.join("libtvm_ffi.so")
    }

    /// Writes an object of a library.
    pub(crate) fn emit(&self, backend: &str, library: &Library, out: &Path) {
        let mut request: Request = request(backend, Form::Object);
        if !self.target.is_empty() {
            request.target = parse_target(self.target).expect("a target");
        }
        let object = request.emit(library).unwrap_or_else(|error| panic!("{backend}: {error}"));
        std::fs::write(out, object).expect("the object can be written");
    }

    /// Runs a program that finds libraries in its folder; returns what it prints.
    pub(crate) fn run(&self, program: &Path, words: &[&Path]) -> String {
        let mut command = match self.emulator {
            [] => Command::new(program),
            [first, rest @ ..] => {
                let mut command = Command::new(first);
                command.args(rest).arg(program);
                command
            }
        };
        let folder = program.parent().expect("programs are in folders");
        let paths = [folder, &self.runtime].map(|path| path.display().to_string()).join(":");
        let output = command.args(words).env("LD_LIBRARY_PATH", paths).output();
        let output = output.unwrap_or_else(|error| panic!("{error}; use tests/run"));
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success() && output.stderr.is_empty(), "{said}\n{output:?}");
        said
    }
}
