//! Declarations: what callers see of a function, and what it calls.
//!
//! Everything here is plain data with public fields. `Display` prints canonical text and `FromStr`
//! parses it back; [`validate`](crate::Library::validate) says whether it means something. The text is that
//! of the functions: import trees, whose bytes are no text, the entry and the prefix of a
//! system library are given as values only.

mod body;
mod build;
mod cubin;
mod expression;
mod launch;
mod leaf;
pub(crate) mod limit;
mod results;
mod types;

use abi_spec::library_bin::ImportTree;

pub use body::{Body, Call, FunctionRef, KernelCall, Local, Statement, StatementKind, StatusError};
pub use cubin::KernelFacts;
pub use expression::{BinaryOp, Builtin, Expr, Logic, Member};
pub use launch::{
    AttributeKind, Fill, Image, ImageKind, Interleave, Launch, LaunchArg, LaunchAttribute, MapType,
    Promotion, Swizzle, TensorMap,
};
pub(crate) use launch::{AttributeValue, is_whole};
pub(crate) use leaf::Kind;
pub use leaf::Leaf;
pub use results::{Output, ResultType};
pub use types::{
    Device, Dim, Element, Literal, Mapping, ObjectClass, ParamType, Sequence, Shape, Strides,
    Tensor,
};
pub(crate) use types::{is_text, literal_scalar};

/// What one shared object exports.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Library {
    /// In the order in which they are emitted; names are unique.
    pub functions: Vec<Function>,
    /// GPU code that launches take kernels from; names are unique. Those that nothing is launched from are left out
    /// of what is emitted.
    pub images: Vec<Image>,
    /// The name of one more function, `(device_id: int64) -> None`, which loads all kernels on a device, so that
    /// launches are legal while a graph is captured, and looks up the functions that are called by name.
    pub prepare: Option<Prepare>,
    /// The modules that the library brings along. Any tree that is
    /// [valid](ImportTree::validate); it need not hold the library itself, which is then unreachable from
    /// what loading returns. `None` for a library that is loaded as it is.
    pub imports: Option<ImportTree<'static>>,
    /// The function that a call of the loaded module calls: exported as `main` too.
    pub entry: Option<String>,
    /// Be part of a program instead of a file to load: a *system library* of this prefix, which may be
    /// empty. Its functions are registered when the program starts and found by
    /// `ffi.SystemLib(prefix)`; what it exports has the prefix in its name, so that libraries of different
    /// prefixes can be linked into one program. Loaders of its imports run while the runtime holds the lock
    /// of its system libraries: they must not ask for another one.
    pub system_lib: Option<String>,
}

/// A declaration: a signature and its body.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Function {
    /// The text after `///`, lines joined by newlines; empty if there is none.
    pub docs: String,
    /// Where the function comes from, as the backtrace of its errors says.
    pub location: Option<Location>,
    /// What callers see.
    pub signature: Signature,
    /// What runs once the arguments are checked.
    pub body: Body,
    /// The library also has a C function of the same name, which packs its C parameters, calls the function, and
    /// returns 0, or -1 with the error in the thread's slot: `extern`. The [language](crate::language) says more.
    pub external: bool,
}

/// A function that [prepares](Library::prepare) launches.
#[derive(Clone, Debug, PartialEq)]
pub struct Prepare {
    /// Without a body of its own: it is made of what the library launches.
    pub(crate) function: Function,
}

/// A line of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// The name of the file, as it is to be shown.
    pub file: String,
    /// Counted from 1.
    pub line: u32,
}

/// What callers see of a function and what errors print.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Signature {
    /// The exported symbol is `__tvm_ffi_<name>`.
    pub name: String,
    /// In order. A first parameter `self: ptr` is the closure's context and not an argument.
    pub params: Vec<Param>,
    /// What the function returns.
    pub result: ResultType,
    /// The `where` clause: checked in order after all parameters.
    pub constraints: Vec<Constraint>,
}

/// A parameter.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Param {
    /// Its name.
    pub name: String,
    /// Which values it accepts.
    pub ty: ParamType,
    /// The value of an argument that is left out. Parameters after one that has a default have one too.
    pub default: Option<Literal>,
    /// Stands for all further arguments, of any type; the last parameter only.
    pub variadic: bool,
}

/// A condition that must hold.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Constraint {
    /// The condition.
    pub condition: Expr,
    /// What the error says; `None` for the condition itself.
    pub message: Option<String>,
}

/// Comparison operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// `==`
    Eq,
    /// `!=`
    Ne,
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
}

impl Comparison {
    /// The operator as it is written.
    pub const fn text(self) -> &'static str {
        match self {
            Comparison::Eq => "==",
            Comparison::Ne => "!=",
            Comparison::Lt => "<",
            Comparison::Le => "<=",
            Comparison::Gt => ">",
            Comparison::Ge => ">=",
        }
    }
}

impl Function {
    /// The images that its body launches from, each once, without their bytes.
    pub(crate) fn images(&self) -> Vec<Image> {
        let mut images: Vec<Image> = Vec::new();
        for launch in self.body.launches() {
            if images.iter().all(|image| image.name != launch.image) {
                images.push(Image::new(&launch.image));
            }
        }
        images
    }
}

impl Signature {
    /// The parameters that are arguments of a call: all but `self`.
    pub fn arguments(&self) -> &[Param] {
        if self.has_self() { &self.params[1..] } else { &self.params }
    }

    /// The least number of arguments of a call.
    pub fn required(&self) -> usize {
        let is_required = |param: &&Param| param.default.is_none() && !param.variadic;
        self.arguments().iter().take_while(is_required).count()
    }

    /// The largest number of arguments of a call; `None` if there is none.
    pub fn most(&self) -> Option<usize> {
        let variadic = self.arguments().last().is_some_and(|param| param.variadic);
        (!variadic).then_some(self.arguments().len())
    }

    /// The tensors that are allocated for the kernel.
    pub fn outputs(&self) -> &[Output] {
        match &self.result {
            ResultType::Allocated(outputs) => outputs,
            ResultType::None | ResultType::Value(_) => &[],
        }
    }

    /// True if the function is a closure over a context.
    pub fn has_self(&self) -> bool {
        self.params.first().is_some_and(|param| param.name == "self")
    }
}

/// True for ASCII identifiers, reserved or not.
pub(crate) fn is_identifier(word: &str) -> bool {
    let mut bytes = word.bytes();
    bytes.next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}
