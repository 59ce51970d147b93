//! The functions of a library as the JIT links them: their signatures, the arguments that they only read, and who
//! vouches for their statements.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use abi_spec::TypeIndex;
use tvm_ffi_codegen::{
    Call, Expr, Function, FunctionCall, FunctionRef, KernelCall, KernelRef, Library, ParamType,
    Signature, StatementKind,
};

use crate::error::Error;
use crate::value::call::Reads;

/// The name under which the entry function of a library is exported a second time.
const MAIN: &str = "main";

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
    pub(crate) fn new(library: &'a Library) -> Declared<'a> {
        let declared = |function: &'a tvm_ffi_codegen::Function| {
            let signature = Arc::new(function.signature.clone());
            let params = signature.arguments().iter().enumerate();
            let kept = params.filter(|(_, param)| never_writes(&param.ty));
            let mut reads = kept.fold(Reads::default(), |reads, (index, _)| reads.and(index));
            // Calls with more arguments are refused for their number.
            if let Some(most) = signature.most() {
                reads = reads.and_from(most);
            }
            (&*function.signature.name, DeclaredFunction { signature, reads })
        };
        let mut functions: HashMap<_, _> = library.functions.iter().map(declared).collect();
        let entry = library.entry.as_deref().and_then(|entry| functions.get(entry).cloned());
        functions.extend(entry.map(|entry| (MAIN, entry)));
        Declared { functions }
    }
}

/// True for types of parameters whose tensors are only read, and for those that take no tensor: a call that passes one
/// fails, with an error that says which type is expected.
fn never_writes(ty: &ParamType) -> bool {
    let takes_tensors =
        [TypeIndex::DL_TENSOR_PTR, TypeIndex::TENSOR].iter().any(|&index| ty.accepts(index));
    ty.only_reads() || !takes_tensors
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
    /// Checks that somebody vouches for every statement of a library, for its device variables and for what its images
    /// call when they are loaded. Functions of the names `given` are safe to call.
    pub(crate) fn check(&self, library: &Library, given: &HashSet<&str>) -> Result<(), Error> {
        library
            .functions
            .iter()
            .try_for_each(|function| self.check_images(library, function, given))?;
        let asked = library.inquiry.as_ref().map(|inquiry| &inquiry.function);
        if let Some(name) = asked.filter(|name| !self.calls && !given.contains(&***name)) {
            let what = FunctionRef::Name(name.clone()).to_string();
            return Err(Error::Unvouched { what, method: "calls" });
        }
        let mut statements = library.functions.iter().flat_map(|f| f.body.statements());
        statements.try_for_each(|statement| self.check_one(&statement.kind, given))?;
        let mut kernels = library.functions.iter().flat_map(|f| f.body.kernel_calls());
        kernels.try_for_each(|call| self.check_kernel(call))
    }

    /// Checks that somebody vouches for the device variables of a function, whose images it loads, and for the
    /// functions that are called once its images are loaded.
    fn check_images(
        &self,
        library: &Library,
        function: &Function,
        given: &HashSet<&str>,
    ) -> Result<(), Error> {
        if let Some(global) = function.globals().first().filter(|_| !self.launches) {
            let what = Expr::Global(Box::new((*global).clone())).to_string();
            return Err(Error::Unvouched { what, method: "launches" });
        }
        let used: HashSet<&str> = function.used_images().into_iter().collect();
        let used = library.images.iter().filter(|image| used.contains(&*image.name));
        let mut hooks = used.filter_map(|image| image.on_load.as_deref());
        match hooks.find(|hook| !self.calls && !given.contains(hook)) {
            Some(hook) => {
                let what = FunctionRef::Name(hook.to_owned()).to_string();
                Err(Error::Unvouched { what, method: "calls" })
            }
            None => Ok(()),
        }
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
            StatementKind::Call { call: Call::Function(FunctionCall { callee, .. }), .. } => {
                match callee {
                    FunctionRef::Name(name) if given.contains(&**name) => return Ok(()),
                    FunctionRef::Name(_) | FunctionRef::Value(_) => {
                        (self.calls, callee.to_string(), "calls")
                    }
                    FunctionRef::Symbol(_) => return Ok(()),
                }
            }
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
