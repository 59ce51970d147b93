//! Bodies: what runs once the arguments are checked.

use super::{Expr, Launch, Location, ParamType, Tensor};

/// What runs once the arguments are checked.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// A call of a C function, whose result is that of the function: `= k(x.data, n)`.
    Call(KernelCall),
    /// A program: `= { … }`.
    Block(Vec<Statement>),
}

/// A statement of a program.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Statement {
    /// Where it comes from, as the backtrace of its errors says; `None` for that of the function.
    pub location: Option<Location>,
    /// What it does.
    pub kind: StatementKind,
}

/// What a statement does.
#[derive(Clone, Debug, PartialEq)]
pub enum StatementKind {
    /// `let v = e;`: a number, a truth or an address, or another name for a value in scope.
    Let {
        /// The new name.
        name: String,
        /// What it stands for.
        value: Expr,
    },
    /// `let v: T = call;` or `call;`
    Call {
        /// What the result is called and what it must be; a result without a name is dropped.
        result: Option<Local>,
        /// The call.
        call: Call,
    },
    /// `let t = alloc Tensor([n, m], float32) on x;`: workspace from the environment's allocator.
    Alloc {
        /// The new name.
        name: String,
        /// As an [`Output`](super::Output) it is contiguous, and its extents are expressions.
        tensor: Tensor,
        /// A tensor whose device it shares; without one it is on the first device of its own type, the cpu for `any`.
        on: Option<Expr>,
    },
    /// `if c { … } else { … }`
    If {
        /// A truth.
        condition: Expr,
        /// What is done if it holds.
        then: Vec<Statement>,
        /// What is done if it does not.
        otherwise: Vec<Statement>,
    },
    /// `for i in a..b { … }`: both ends are evaluated once, `b` is not reached.
    For {
        /// The name of the counter, an `int64`.
        name: String,
        /// The first value of the counter.
        start: Expr,
        /// Where it ends.
        end: Expr,
        /// What is done for each.
        body: Vec<Statement>,
    },
    /// `launch image."kernel"(…) grid(…) block(…);`
    Launch(Box<Launch>),
    /// `return e;`, `return [a, b];` or `return;`
    Return(Option<Expr>),
    /// `raise ValueError "n is ", n;`
    Raise {
        /// The kind of the error.
        kind: String,
        /// Text and scalars, which are joined.
        message: Vec<Expr>,
    },
}

/// What a result is called, and what it must be.
#[derive(Clone, Debug, PartialEq)]
pub struct Local {
    /// The new name.
    pub name: String,
    /// Its type, checked as that of an argument is.
    pub ty: ParamType,
}

/// A call.
#[derive(Clone, Debug, PartialEq)]
pub enum Call {
    /// Of a C function.
    Kernel(KernelCall),
    /// Of a function of the FFI.
    Function {
        /// Which one.
        callee: FunctionRef,
        /// Values, numbers, text, arrays and shapes.
        args: Vec<Expr>,
    },
}

/// A call of a C function.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct KernelCall {
    /// The name of the function, as the linker sees it.
    pub symbol: String,
    /// What it is called with.
    pub args: Vec<Expr>,
    /// The function returns an `int32` status, and anything but zero is an error: the one that the
    /// function has left in the thread's slot, else one of these, else a RuntimeError.
    pub status: Option<Vec<StatusError>>,
}

/// A function of the FFI.
#[derive(Clone, Debug, PartialEq)]
pub enum FunctionRef {
    /// `@relu`: `__tvm_ffi_relu`, defined here or left to the linker.
    Symbol(String),
    /// `@"blas.matmul"`: looked up on first use among the imports of the library, then in the registry.
    Name(String),
    /// `@(f)`: a value of type `Function`.
    Value(Expr),
}

/// What a status means.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StatusError {
    /// The status; `None` for any that has no entry of its own.
    pub status: Option<i32>,
    /// The kind of the error, such as `ValueError`.
    pub kind: String,
    /// What it says.
    pub message: String,
}

impl Call {
    fn exprs(&self) -> Vec<&Expr> {
        match self {
            Call::Kernel(call) => call.args.iter().collect(),
            Call::Function { callee: FunctionRef::Value(function), args } => {
                [function].into_iter().chain(args).collect()
            }
            Call::Function { callee: FunctionRef::Symbol(_) | FunctionRef::Name(_), args } => {
                args.iter().collect()
            }
        }
    }
}

impl Body {
    /// Its statements, nested ones included, in the order in which they are written.
    pub fn statements(&self) -> impl Iterator<Item = &Statement> {
        let first = match self {
            Body::Call(_) => &[][..],
            Body::Block(statements) => statements,
        };
        let mut left: Vec<&Statement> = first.iter().rev().collect();
        std::iter::from_fn(move || {
            let next = left.pop()?;
            left.extend(next.kind.blocks().into_iter().rev().flat_map(|block| block.iter().rev()));
            Some(next)
        })
    }

    /// Every launch, in the order in which they are written.
    pub fn launches(&self) -> impl Iterator<Item = &Launch> {
        self.statements().filter_map(|statement| {
            let StatementKind::Launch(launch) = &statement.kind else { return None };
            Some(&**launch)
        })
    }

    /// Every call of a C function, in the order in which they are written.
    pub fn kernel_calls(&self) -> impl Iterator<Item = &KernelCall> {
        let whole = if let Body::Call(call) = self { Some(call) } else { None };
        let nested = self.statements().filter_map(|statement| {
            let StatementKind::Call { call: Call::Kernel(call), .. } = &statement.kind else {
                return None;
            };
            Some(call)
        });
        whole.into_iter().chain(nested)
    }
}

impl Body {
    /// Every expression in it, those of types that results must have included.
    pub(crate) fn exprs(&self) -> Vec<&Expr> {
        match self {
            Body::Call(call) => call.args.iter().collect(),
            Body::Block(_) => {
                self.statements().flat_map(|statement| statement.kind.exprs()).collect()
            }
        }
    }
}

impl StatementKind {
    /// The expressions of this statement, without those in its blocks.
    fn exprs(&self) -> Vec<&Expr> {
        match self {
            StatementKind::Let { value, .. } => vec![value],
            StatementKind::Call { result, call } => {
                let ty = result.iter().flat_map(|result| result.ty.exprs());
                ty.chain(call.exprs()).collect()
            }
            StatementKind::Alloc { tensor, on, .. } => tensor.extents().chain(on).collect(),
            StatementKind::If { condition, .. } => vec![condition],
            StatementKind::For { start, end, .. } => vec![start, end],
            StatementKind::Launch(launch) => launch.exprs().collect(),
            StatementKind::Return(value) => value.iter().collect(),
            StatementKind::Raise { message, .. } => message.iter().collect(),
        }
    }

    /// The blocks in it.
    pub(crate) fn blocks(&self) -> [&[Statement]; 2] {
        match self {
            StatementKind::If { then, otherwise, .. } => [then, otherwise],
            StatementKind::For { body, .. } => [body, &[]],
            StatementKind::Let { .. }
            | StatementKind::Call { .. }
            | StatementKind::Alloc { .. }
            | StatementKind::Launch(_)
            | StatementKind::Return(_)
            | StatementKind::Raise { .. } => [&[], &[]],
        }
    }
}
