//! Bodies, statements and calls.

use crate::declaration::{
    Body, Call, Expr, FunctionRef, KernelCall, Local, Location, ParamType, Statement,
    StatementKind, StatusError, Tensor,
};

/// A list of anything that is an expression.
fn list(exprs: impl IntoIterator<Item: Into<Expr>>) -> Vec<Expr> {
    exprs.into_iter().map(Into::into).collect()
}

/// Makes of a call what a body or a statement does with it.
impl<C: Into<Call>> From<C> for Body {
    fn from(call: C) -> Body {
        match call.into() {
            Call::Kernel(call) => Body::Call(call),
            call @ Call::Function { .. } => Body::Block(vec![Statement::call(call)]),
        }
    }
}

impl From<Vec<Statement>> for Body {
    fn from(statements: Vec<Statement>) -> Body {
        Body::Block(statements)
    }
}

impl<const N: usize> From<[Statement; N]> for Body {
    fn from(statements: [Statement; N]) -> Body {
        Body::Block(statements.into())
    }
}

/// Calls of each kind.
///
/// ```
/// use tvm_ffi_codegen::{Call, Expr, KernelCall, exprs};
///
/// let calls = [
///     Call::symbol("relu", ["t", "y"]),
///     Call::name("blas.matmul", exprs!["x", "w", Expr::shape_of(["n", "m"])]),
///     Call::value("f", exprs![Expr::None, true]),
///     KernelCall::new("k", ["n"]).with_status().with_error(1, "ValueError", "too small").into(),
/// ];
/// let texts = calls.map(|call| call.to_string());
/// assert_eq!(texts[0], "@relu(t, y)");
/// assert_eq!(texts[1], r#"@"blas.matmul"(x, w, Shape(n, m))"#);
/// assert_eq!(texts[2], "@(f)(None, True)");
/// assert_eq!(texts[3], r#"try k(n) errors { 1: ValueError "too small" }"#);
/// ```
impl Call {
    /// `name(args)`: a C function.
    pub fn kernel(symbol: impl Into<String>, args: impl IntoIterator<Item: Into<Expr>>) -> Call {
        Call::Kernel(KernelCall::new(symbol, args))
    }

    /// `@name(args)`: `__tvm_ffi_name`, defined here or left to the linker.
    pub fn symbol(name: impl Into<String>, args: impl IntoIterator<Item: Into<Expr>>) -> Call {
        Call::Function { callee: FunctionRef::Symbol(name.into()), args: list(args) }
    }

    /// `@"name"(args)`: looked up among the imports, then in the registry.
    pub fn name(name: impl Into<String>, args: impl IntoIterator<Item: Into<Expr>>) -> Call {
        Call::Function { callee: FunctionRef::Name(name.into()), args: list(args) }
    }

    /// `@(function)(args)`: a value of type `Function`.
    pub fn value(function: impl Into<Expr>, args: impl IntoIterator<Item: Into<Expr>>) -> Call {
        Call::Function { callee: FunctionRef::Value(function.into()), args: list(args) }
    }
}

impl From<KernelCall> for Call {
    fn from(call: KernelCall) -> Call {
        Call::Kernel(call)
    }
}

impl KernelCall {
    /// A C function that returns the result, or nothing.
    pub fn new(symbol: impl Into<String>, args: impl IntoIterator<Item: Into<Expr>>) -> KernelCall {
        KernelCall { symbol: symbol.into(), args: list(args), status: None }
    }

    /// `try`: it returns a [status](KernelCall::status).
    pub fn with_status(mut self) -> KernelCall {
        self.status.get_or_insert_default();
        self
    }

    /// It returns a status, and this is what one means; `None` is any that has no meaning of its own.
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

/// Statements of each kind.
///
/// ```
/// use tvm_ffi_codegen::{Call, DType, Expr, Scalar, Signature, Statement, Tensor, exprs};
///
/// let [n, k, i, x] = ["n", "k", "i", "x"].map(Expr::name);
/// let floats = Tensor::new([&n], DType::FLOAT32);
/// let function = Signature::new("f").param("x", floats.clone()).body([
///     Statement::let_value("m", &n * 2),
///     Statement::let_call("k", Scalar::Int64, Call::kernel("choose_tile", ["n"])),
///     Statement::alloc_on("t", floats, "x"),
///     Statement::if_else(
///         k.greater(0),
///         [Statement::call(Call::symbol("relu", ["x", "t"]))],
///         [Statement::raise("ValueError", exprs![Expr::text("no tile for "), &n])],
///     ),
///     Statement::for_each("i", 0, "m", [
///         Statement::call(Call::kernel("tile", exprs![x.data(), i])).with_location("net.py", 3),
///     ]),
///     Statement::return_nothing(),
/// ]);
/// let text = "\
/// f(x: Tensor([n], float32)) -> None
///     = {
///         let m = n * 2;
///         let k: int64 = choose_tile(n);
///         let t = alloc Tensor([n], float32) on x;
///         if k > 0 {
///             @relu(x, t);
///         } else {
///             raise ValueError \"no tile for \", n;
///         }
///         for i in 0..m {
///             @\"net.py\":3
///             tile(x.data, i);
///         }
///         return;
///     };";
/// assert_eq!(function.to_string(), text);
/// assert_eq!(text.parse(), Ok(function));
/// ```
impl Statement {
    /// `let name = value;`
    pub fn let_value(name: impl Into<String>, value: impl Into<Expr>) -> Statement {
        StatementKind::Let { name: name.into(), value: value.into() }.into()
    }

    /// `let name: ty = call;`
    pub fn let_call(
        name: impl Into<String>,
        ty: impl Into<ParamType>,
        call: impl Into<Call>,
    ) -> Statement {
        let result = Some(Local { name: name.into(), ty: ty.into() });
        StatementKind::Call { result, call: call.into() }.into()
    }

    /// `call;`
    pub fn call(call: impl Into<Call>) -> Statement {
        StatementKind::Call { result: None, call: call.into() }.into()
    }

    /// `let name = alloc tensor;`: on the cpu.
    pub fn alloc(name: impl Into<String>, tensor: Tensor) -> Statement {
        StatementKind::Alloc { name: name.into(), tensor, on: None }.into()
    }

    /// `let name = alloc tensor on other;`: on the device of another tensor.
    pub fn alloc_on(name: impl Into<String>, tensor: Tensor, other: impl Into<Expr>) -> Statement {
        StatementKind::Alloc { name: name.into(), tensor, on: Some(other.into()) }.into()
    }

    /// `if condition { … }`
    pub fn if_then(
        condition: impl Into<Expr>,
        then: impl IntoIterator<Item = Statement>,
    ) -> Statement {
        Statement::if_else(condition, then, [])
    }

    /// `if condition { … } else { … }`
    pub fn if_else(
        condition: impl Into<Expr>,
        then: impl IntoIterator<Item = Statement>,
        otherwise: impl IntoIterator<Item = Statement>,
    ) -> Statement {
        let (then, otherwise) = (then.into_iter().collect(), otherwise.into_iter().collect());
        StatementKind::If { condition: condition.into(), then, otherwise }.into()
    }

    /// `for name in start..end { … }`
    pub fn for_each(
        name: impl Into<String>,
        start: impl Into<Expr>,
        end: impl Into<Expr>,
        body: impl IntoIterator<Item = Statement>,
    ) -> Statement {
        let body = body.into_iter().collect();
        StatementKind::For { name: name.into(), start: start.into(), end: end.into(), body }.into()
    }

    /// `return value;`
    pub fn return_value(value: impl Into<Expr>) -> Statement {
        StatementKind::Return(Some(value.into())).into()
    }

    /// `return;`
    pub fn return_nothing() -> Statement {
        StatementKind::Return(None).into()
    }

    /// `raise kind message;`: text and scalars, which are joined.
    pub fn raise(
        kind: impl Into<String>,
        message: impl IntoIterator<Item: Into<Expr>>,
    ) -> Statement {
        StatementKind::Raise { kind: kind.into(), message: list(message) }.into()
    }

    /// From this line of a file, counted from 1.
    pub fn with_location(mut self, file: impl Into<String>, line: u32) -> Statement {
        self.location = Some(Location::new(file, line));
        self
    }
}

/// A statement without a location of its own.
impl From<StatementKind> for Statement {
    fn from(kind: StatementKind) -> Statement {
        Statement { location: None, kind }
    }
}
