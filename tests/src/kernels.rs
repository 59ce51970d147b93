//! The kernels of the test table: `kernels.c`, compiled once by the system's C compiler.

use std::process::Command;
use std::sync::OnceLock;

use libloading::Library;

use crate::hosts::host;

/// The compiled kernels.
#[derive(Debug)]
pub struct Kernels {
    /// Contents of the object file.
    pub object: Vec<u8>,
    library: Library,
}

/// Compiles the kernels at the first call.
pub fn kernels() -> &'static Kernels {
    static KERNELS: OnceLock<Kernels> = OnceLock::new();
    KERNELS.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let (object, shared) = (folder.path().join("kernels.o"), folder.path().join("kernels.so"));
        let source = host("kernels.c");
        let options = ["-Wall", "-Wextra", "-Werror", "-O2", "-fPIC", "-c", "-o"];
        cc(Command::new("cc").args(options).arg(&object).arg(source));
        cc(Command::new("cc").args(["-shared", "-o"]).arg(&shared).arg(&object));
        let object = std::fs::read(object).expect("the compiler has written it");
        // SAFETY: the kernels have no initialisers.
        let library = unsafe { Library::new(&shared) }.unwrap_or_else(|error| panic!("{error}"));
        Kernels { object, library }
    })
}

impl Kernels {
    /// Returns the address of a kernel.
    pub fn address(&self, name: &str) -> Option<*const u8> {
        // SAFETY: only the address is taken.
        let symbol = unsafe { self.library.get::<*const u8>(name) }.ok()?;
        // SAFETY: the library is never unloaded.
        unsafe { symbol.try_as_raw_ptr() }.map(|pointer| pointer.cast_const().cast())
    }
}

/// Runs a C compiler.
///
/// # Panics
/// If it fails.
pub fn cc(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}\n{message}");
}
