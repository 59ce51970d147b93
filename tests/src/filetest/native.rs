//! Calls in the machine code that backends make of a module.

use std::fmt;
use std::path::PathBuf;

use codegen::ir::{Builder, Function, Linkage, Module, Signature, Type, Value as Operand};
use driver::{Form, Optimize, Request};
use libloading::Library;
use tempfile::TempDir;

use super::call::{Argument, Call};
use super::value::Value;
use crate::ffi;
use crate::route::{BACKENDS, request};

/// A backend and its optimisation level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Engine {
    backend: &'static str,
    level: Optimize,
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.level {
            Optimize::O0 => write!(f, "{}, not optimised", self.backend),
            Optimize::O1 | Optimize::O2 | Optimize::O3 => f.write_str(self.backend),
        }
    }
}

/// Returns the engines of this build. Cranelift has one level; MLIR has the same code generator as LLVM.
pub(super) fn engines() -> impl Iterator<Item = Engine> {
    let levels = |backend: &str| match backend {
        "llvm" => &[Optimize::O0, Optimize::O2][..],
        _ => &[Optimize::O2][..],
    };
    let each = move |backend| levels(backend).iter().map(move |&level| Engine { backend, level });
    BACKENDS.iter().copied().flat_map(each)
}

/// A module in a shared library, with an added function of type [`Entry`] for each call.
#[derive(Debug)]
pub(super) struct Native {
    folder: TempDir,
    calls: Vec<Call>,
}

/// Prefix of the names of the runtime's functions.
const RUNTIME: &str = "TVMFFI";

/// Reads arguments from the words at the first pointer and writes the result to the second.
type Entry = unsafe extern "C" fn(*const u64, *mut u64);

impl Native {
    /// Compiles a valid module.
    pub(super) fn new(module: &Module, calls: &[Call], engine: Engine) -> Result<Native, String> {
        let mut module = module.clone();
        for (index, call) in calls.iter().enumerate() {
            let entry = entry(&mut module, index, call);
            module.functions.push(entry);
        }
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let native = Native { folder, calls: calls.to_vec() };
        let request = Request {
            optimization: engine.level,
            runtime_dependency: false,
            ..request(engine.backend, Form::Shared)
        };
        request.write_module(&module, &native.file()).map_err(|error| error.to_string())?;
        if module.symbols.iter().any(|symbol| symbol.name.starts_with(RUNTIME)) {
            ffi::installed();
        }
        Ok(native)
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("module.so")
    }

    /// Runs a call in fresh memory: the library is loaded for each call.
    pub(super) fn run(&self, index: usize) -> Result<Value, String> {
        let call = &self.calls[index];
        let arguments = call.arguments.iter().map(|argument| match *argument {
            Argument::Bits(_, bits) => bits,
            Argument::Address(..) => 0,
        });
        let arguments: Vec<u64> = arguments.collect();
        let mut result = 0;
        // SAFETY: the machine has found nothing wrong with what runs here, and the entry has this type.
        unsafe {
            let library = Library::new(self.file()).map_err(|error| error.to_string())?;
            let entry = library.get::<Entry>(&*name(index)).map_err(|error| error.to_string())?;
            entry(arguments.as_ptr(), &mut result);
        }
        Ok(call.value(result))
    }
}

/// Returns the name of the function that makes a call.
fn name(index: usize) -> String {
    format!("filetest.call{index}")
}

/// Builds the function that makes a call.
fn entry(module: &mut Module, index: usize, call: &Call) -> Function {
    let signature = Signature::new(&[Type::Ptr, Type::Ptr], None);
    let mut b = Builder::function(module, &name(index), Linkage::Export, signature);
    let (words, result) = (b.param(0), b.param(1));
    let arguments = call.arguments.iter().zip(0..).map(|(argument, place)| match *argument {
        Argument::Bits(ty, _) => b.load(ty, words, 8 * place),
        Argument::Address(symbol, offset) => {
            let start = b.address(symbol);
            b.ptr_offset(start, offset)
        }
    });
    let arguments: Vec<Operand> = arguments.collect();
    if let Some(value) = b.call(call.function, &arguments) {
        b.store(value, result, 0);
    }
    b.ret(None);
    b.finish()
}
