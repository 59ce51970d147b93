//! The functions of a library as the JIT links them: their signatures, the arguments that they only read, and who
//! vouches for their statements.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use tvm_ffi_codegen::{
    Call, FunctionRef, KernelCall, KernelRef, Library, Signature, StatementKind,
};

use crate::error::Error;
use crate::value::call::Reads;

/// The name under which the entry function of a library is exported a second time.
const MAIN: &str = "main";

/// A tensor that a function only reads, by the names in the declaration.
pub(crate) struct ReadTensor {
    pub(crate) function: String,
    pub(crate) param: String,
}

/// The functions of a library by their exported names.
#[derive(Default)]
pub(crate) struct Declared<'a> {
    pub(crate) functions: HashMap<&'a str, DeclaredFunction>,
}

#[derive(Clone)]
pub(crate) struct DeclaredFunction {
    pub(crate) signature: Arc<Signature>,
    pub(crate) reads: Reads,
}

impl<'a> Declared<'a> {
    pub(crate) fn new(library: &'a Library, reads: &[ReadTensor]) -> Result<Declared<'a>, Error> {
        let unknown = |what, name: &str| Error::Unknown { what, name: name.to_owned() };
        let declared = |function: &'a tvm_ffi_codegen::Function| {
            let signature = Arc::new(function.signature.clone());
            let declared = DeclaredFunction { signature, reads: Reads::default() };
            (&*function.signature.name, declared)
        };
        let mut functions: HashMap<_, _> = library.functions.iter().map(declared).collect();
        for ReadTensor { function, param } in reads {
            let declared = functions.get_mut(&**function);
            let declared = declared.ok_or_else(|| unknown("function", function))?;
            let mut arguments = declared.signature.arguments().iter();
            let index = arguments.position(|declared| declared.name == *param);
            let index = index.ok_or_else(|| unknown("parameter", param))?;
            declared.reads = std::mem::take(&mut declared.reads).and(index);
        }
        let entry = library.entry.as_deref().and_then(|entry| functions.get(entry).cloned());
        functions.extend(entry.map(|entry| (MAIN, entry)));
        Ok(Declared { functions })
    }
}

/// What somebody vouches for: statements that do what no check makes safe.
#[derive(Default)]
pub(crate) struct Vouched {
    /// True if libraries may launch GPU kernels and give commands to a GPU.
    pub(crate) launches: bool,
    /// True if libraries may call FFI functions that they do not define.
    pub(crate) calls: bool,
}

impl Vouched {
    /// Checks that somebody vouches for every statement of a library. Functions of the names `given` are safe to call.
    pub(crate) fn check(&self, library: &Library, given: &HashSet<&str>) -> Result<(), Error> {
        let mut statements = library.functions.iter().flat_map(|f| f.body.statements());
        statements.try_for_each(|statement| self.check_one(&statement.kind, given))?;
        let mut kernels = library.functions.iter().flat_map(|f| f.body.kernel_calls());
        kernels.try_for_each(|call| self.check_kernel(call))
    }

    /// Checks that somebody vouches for the function of a call, if it is called by its address.
    fn check_kernel(&self, call: &KernelCall) -> Result<(), Error> {
        match &call.callee {
            KernelRef::Address(address) if !self.calls => {
                Err(Error::Unvouched { what: format!("({address})"), method: "calls" })
            }
            KernelRef::Symbol(_) | KernelRef::Address(_) => Ok(()),
        }
    }

    fn check_one(&self, statement: &StatementKind, given: &HashSet<&str>) -> Result<(), Error> {
        let command = |name: &str| (self.launches, name.to_owned(), "launches");
        let (vouched, what, method) = match statement {
            StatementKind::Launch(launch) => command(&launch.gpu_kernel),
            StatementKind::Upload(_) => command("upload"),
            StatementKind::Fill(_) => command("fill"),
            StatementKind::Copy(_) => command("copy"),
            StatementKind::Wait(_) => command("wait"),
            StatementKind::Call { call: Call::Function { callee, .. }, .. } => match callee {
                FunctionRef::Name(name) if given.contains(&**name) => return Ok(()),
                FunctionRef::Name(_) | FunctionRef::Value(_) => {
                    (self.calls, callee.to_string(), "calls")
                }
                FunctionRef::Symbol(_) => return Ok(()),
            },
            StatementKind::Call { call: Call::Kernel(_), .. }
            | StatementKind::Let { .. }
            | StatementKind::Alloc { .. }
            | StatementKind::TensorMap { .. }
            | StatementKind::If { .. }
            | StatementKind::For { .. }
            | StatementKind::Match { .. }
            | StatementKind::Return(_)
            | StatementKind::Raise { .. } => return Ok(()),
        };
        if vouched { Ok(()) } else { Err(Error::Unvouched { what, method }) }
    }
}
