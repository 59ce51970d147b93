//! Calls of C functions and of functions of the FFI.

use super::Expr;

/// A call.
#[derive(Clone, Debug, PartialEq)]
pub enum Call {
    /// A call of a C function.
    Kernel(KernelCall),
    /// A call of a function of the FFI.
    Function(FunctionCall),
}

/// A call of a C function.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
#[must_use]
pub struct KernelCall {
    /// Function to call.
    pub callee: KernelRef,
    /// Arguments, in order.
    pub args: Vec<Expr>,
    /// Errors by status, if the function returns an `int32` status. A status other than 0 raises the error that the
    /// function has left in the thread's slot, else the entry of the status, else a RuntimeError. A scalar result, and
    /// each element of a tuple of scalars, is written through an argument of its own after the others.
    pub status: Option<Vec<StatusError>>,
}

/// A call of a function of the FFI.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
#[must_use]
pub struct FunctionCall {
    /// Function to call.
    pub callee: FunctionRef,
    /// Arguments: values, numbers, text, arrays and shapes.
    pub args: Vec<Expr>,
    /// Tensors for the function to write, in the place of those that it would allocate and return; either none or one
    /// for each. The function must be one of this library. The call then returns None.
    pub into: Vec<Expr>,
    /// Keys under which the result is kept: a call with keys is made only if no call of the same statement has yet had
    /// equal ones. None for a call that is always made.
    pub keys: Vec<Expr>,
}

/// A reference to a C function.
#[derive(Clone, Debug, PartialEq)]
pub enum KernelRef {
    /// `k`: a symbol, as the linker sees it.
    Symbol(String),
    /// `(k)`: an address, that of a function with the type that the call implies. NULL is a ValueError.
    Address(Expr),
}

/// A reference to a function of the FFI.
#[derive(Clone, Debug, PartialEq)]
pub enum FunctionRef {
    /// `@relu`: the symbol `__tvm_ffi_relu`, defined in this library or resolved by the linker.
    Symbol(String),
    /// `@"blas.matmul"`: a name, looked up at the first call in the imports of the library, then in the registry.
    Name(String),
    /// `@(f)`: a value of type `Function`.
    Value(Expr),
}

/// An entry of an `errors` clause: the error that a status raises.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StatusError {
    /// Status; `None` for every status without an entry.
    pub status: Option<i32>,
    /// Kind of the error, such as `ValueError`.
    pub kind: String,
    /// Text of the error.
    pub message: String,
}

impl Call {
    /// Returns the expression of the callee, if it is a value.
    pub(super) fn callee(&self) -> Option<&Expr> {
        match self {
            Call::Function(FunctionCall { callee: FunctionRef::Value(function), .. }) => {
                Some(function)
            }
            Call::Function(_) => None,
            Call::Kernel(call) => call.address(),
        }
    }

    /// Returns the expression of the callee, if it is a value, for changes.
    pub(super) fn callee_mut(&mut self) -> Option<&mut Expr> {
        match self {
            Call::Function(FunctionCall { callee: FunctionRef::Value(function), .. }) => {
                Some(function)
            }
            Call::Function(_) => None,
            Call::Kernel(KernelCall { callee: KernelRef::Address(address), .. }) => Some(address),
            Call::Kernel(KernelCall { callee: KernelRef::Symbol(_), .. }) => None,
        }
    }

    /// Returns what the callee gets: the arguments, then the tensors to write. For changes.
    pub(super) fn given_mut(&mut self) -> impl Iterator<Item = &mut Expr> {
        let (args, into): (_, &mut [Expr]) = match self {
            Call::Kernel(KernelCall { args, .. }) => (args, &mut []),
            Call::Function(FunctionCall { args, into, .. }) => (args, into),
        };
        args.iter_mut().chain(into)
    }

    /// Returns the keys under which the result is kept.
    pub(crate) fn keys(&self) -> &[Expr] {
        if let Call::Function(call) = self { &call.keys } else { &[] }
    }

    /// Returns the keys, for changes.
    pub(super) fn keys_mut(&mut self) -> &mut [Expr] {
        if let Call::Function(call) = self { &mut call.keys } else { &mut [] }
    }

    /// Returns what the callee gets: the arguments, then the tensors to write.
    pub(super) fn given(&self) -> impl Iterator<Item = &Expr> {
        let (args, into): (_, &[Expr]) = match self {
            Call::Kernel(KernelCall { args, .. }) => (args, &[]),
            Call::Function(FunctionCall { args, into, .. }) => (args, into),
        };
        args.iter().chain(into)
    }
}

/// Constructors of calls.
///
/// ```
/// use tvm_ffi_codegen::{Call, Expr, FunctionCall, KernelCall, exprs};
///
/// let calls = [
///     Call::symbol("relu", ["t", "y"]),
///     Call::name("blas.matmul", exprs!["x", "w", Expr::shape_of(["n", "m"])]),
///     Call::value("f", exprs![Expr::None, Expr::bool(true)]),
///     KernelCall::new("k", ["n"]).with_status().with_error(1, "ValueError", "too small").into(),
///     Call::address("p", ["n"]),
/// ];
/// let texts = calls.map(|call| call.to_string());
/// assert_eq!(texts[0], "@relu(t, y)");
/// assert_eq!(texts[1], r#"@"blas.matmul"(x, w, Shape(n, m))"#);
/// assert_eq!(texts[2], "@(f)(None, True)");
/// assert_eq!(texts[3], r#"try k(n) errors { 1: ValueError "too small" }"#);
/// assert_eq!(texts[4], "(p)(n)");
/// let keys = exprs!["T", Expr::name("n") % 16];
/// let compile = Call::from(FunctionCall::name("mini.compile", ["T"]).with_keys(keys));
/// assert_eq!(compile.to_string(), r#"cached (T, n % 16) @"mini.compile"(T)"#);
/// let matmul = Call::from(FunctionCall::symbol("matmul", ["x", "w"]).with_into(["y"]));
/// assert_eq!(matmul.to_string(), "@matmul(x, w) into y");
/// ```
impl Call {
    /// Builds `symbol(args)`, a call of a C function.
    pub fn kernel(symbol: impl Into<String>, args: impl IntoIterator<Item: Into<Expr>>) -> Call {
        Call::Kernel(KernelCall::new(symbol, args))
    }

    /// Builds `(address)(args)`, a call of the C function at an address.
    pub fn address(address: impl Into<Expr>, args: impl IntoIterator<Item: Into<Expr>>) -> Call {
        Call::Kernel(KernelCall::at(address, args))
    }

    /// Builds `@name(args)`, a call of `__tvm_ffi_name`, defined in this library or resolved by the linker.
    pub fn symbol(name: impl Into<String>, args: impl IntoIterator<Item: Into<Expr>>) -> Call {
        Call::Function(FunctionCall::symbol(name, args))
    }

    /// Builds `@"name"(args)`, a call of a function that is looked up in the imports, then in the registry.
    pub fn name(name: impl Into<String>, args: impl IntoIterator<Item: Into<Expr>>) -> Call {
        Call::Function(FunctionCall::name(name, args))
    }

    /// Builds `@(function)(args)`, a call of a value of type `Function`.
    pub fn value(function: impl Into<Expr>, args: impl IntoIterator<Item: Into<Expr>>) -> Call {
        Call::Function(FunctionCall::value(function, args))
    }
}

impl FunctionCall {
    /// Builds `@name(args)`, a call of `__tvm_ffi_name`, defined in this library or resolved by the linker.
    pub fn symbol(
        name: impl Into<String>,
        args: impl IntoIterator<Item: Into<Expr>>,
    ) -> FunctionCall {
        FunctionCall::of(FunctionRef::Symbol(name.into()), args)
    }

    /// Builds `@"name"(args)`, a call of a function that is looked up in the imports, then in the registry.
    pub fn name(
        name: impl Into<String>,
        args: impl IntoIterator<Item: Into<Expr>>,
    ) -> FunctionCall {
        FunctionCall::of(FunctionRef::Name(name.into()), args)
    }

    /// Builds `@(function)(args)`, a call of a value of type `Function`.
    pub fn value(
        function: impl Into<Expr>,
        args: impl IntoIterator<Item: Into<Expr>>,
    ) -> FunctionCall {
        FunctionCall::of(FunctionRef::Value(function.into()), args)
    }

    /// Gives the function tensors to write in the place of those that it would [allocate and
    /// return](super::ResultType::Allocated): `@matmul(x, w) into y`. It must be a function of the same library.
    pub fn with_into(mut self, tensors: impl IntoIterator<Item: Into<Expr>>) -> FunctionCall {
        self.into = list(tensors);
        self
    }

    /// Keeps the result, an object, under keys: integers, truths, element types, addresses and devices. The call is
    /// made only where no call of this statement has kept one under equal keys.
    pub fn with_keys(mut self, values: impl IntoIterator<Item: Into<Expr>>) -> FunctionCall {
        self.keys = list(values);
        self
    }

    /// Builds a call of a function, which is made each time and returns what it returns.
    fn of(callee: FunctionRef, args: impl IntoIterator<Item: Into<Expr>>) -> FunctionCall {
        FunctionCall { callee, args: list(args), into: Vec::new(), keys: Vec::new() }
    }
}

impl From<FunctionCall> for Call {
    fn from(call: FunctionCall) -> Call {
        Call::Function(call)
    }
}

impl From<KernelCall> for Call {
    fn from(call: KernelCall) -> Call {
        Call::Kernel(call)
    }
}

impl KernelCall {
    /// Builds a call of a C function that returns the result, or nothing.
    pub fn new(symbol: impl Into<String>, args: impl IntoIterator<Item: Into<Expr>>) -> KernelCall {
        KernelCall { callee: KernelRef::Symbol(symbol.into()), args: list(args), status: None }
    }

    /// Builds a call of the C function at an address.
    pub fn at(address: impl Into<Expr>, args: impl IntoIterator<Item: Into<Expr>>) -> KernelCall {
        KernelCall { callee: KernelRef::Address(address.into()), args: list(args), status: None }
    }

    /// Returns the symbol of the function; `None` if it is called by its address.
    pub fn symbol(&self) -> Option<&str> {
        match &self.callee {
            KernelRef::Symbol(symbol) => Some(symbol),
            KernelRef::Address(_) => None,
        }
    }

    /// Returns the address of the function; `None` if it is called by its symbol.
    pub fn address(&self) -> Option<&Expr> {
        match &self.callee {
            KernelRef::Symbol(_) => None,
            KernelRef::Address(address) => Some(address),
        }
    }

    /// Returns all expressions: the address of the function, if it is called by one, then the arguments.
    pub(crate) fn exprs(&self) -> impl Iterator<Item = &Expr> {
        self.address().into_iter().chain(&self.args)
    }

    /// Declares that the function returns a [status](KernelCall::status): `try`.
    pub fn with_status(mut self) -> KernelCall {
        self.status.get_or_insert_default();
        self
    }

    /// Declares that the function returns a status, and adds the error that a status raises; `None` matches every
    /// status without an entry.
    pub fn with_error(
        mut self,
        status: impl Into<Option<i32>>,
        kind: impl Into<String>,
        message: impl Into<String>,
    ) -> KernelCall {
        let (status, kind, message) = (status.into(), kind.into(), message.into());
        self.status.get_or_insert_default().push(StatusError { status, kind, message });
        self
    }
}

/// Converts a list of operands to expressions.
pub(super) fn list(exprs: impl IntoIterator<Item: Into<Expr>>) -> Vec<Expr> {
    exprs.into_iter().map(Into::into).collect()
}
