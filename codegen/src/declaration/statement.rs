//! Statements of bodies.

use super::call::{Call, list};
use super::derived::Derived;
use super::{
    Expr, Launch, Location, MemoryCopy, MemoryFill, ParamType, Tensor, TensorMap, Upload, Wait,
};

/// A statement of a program.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
#[must_use]
pub struct Statement {
    /// Source location, as that of a [function](super::Function::location); `None` for the location of the statement
    /// around, or of the function.
    pub location: Option<Location>,
    /// Kind of statement, with its operands.
    pub kind: StatementKind,
}

/// Kind of statement, with its operands.
#[derive(Clone, Debug, PartialEq)]
pub enum StatementKind {
    /// `let v = e;`: names a number, a truth or an address, or gives a value in scope a second name.
    Let {
        /// New name.
        name: String,
        /// Expression that the name stands for.
        value: Expr,
    },
    /// `let v: T = call;`, `let v = call;` or `call;`
    Call {
        /// Name and type of the result; `None` drops the result.
        result: Option<Local>,
        /// The call.
        call: Call,
    },
    /// `let t = alloc Tensor([n, m], float32) on x;`: allocates workspace through the environment's allocator.
    Alloc {
        /// New name.
        name: String,
        /// Tensor type. Like that of an [`Output`](super::Output) it is contiguous and its extents are expressions.
        tensor: Tensor,
        /// Tensor whose device the workspace shares. `None` selects the first device of the declared type, the cpu
        /// for `any`.
        on: Option<Expr>,
    },
    /// `let m = tensormap(x, box=[64, 64]);`: encodes a tensor map, which launches may take several times.
    TensorMap {
        /// New name.
        name: String,
        /// The map.
        map: Box<TensorMap>,
    },
    /// `if c { … } else if d { … } else { … }`
    If {
        /// Conditions, at least one, each with what runs if it is the first that holds.
        branches: Vec<Branch>,
        /// Statements that run if no condition holds.
        otherwise: Vec<Statement>,
    },
    /// `for i in a..b { … }`: both bounds are evaluated once, `b` is exclusive.
    For {
        /// Name of the counter, an `int64`.
        name: String,
        /// First value of the counter.
        start: Expr,
        /// Exclusive upper bound.
        end: Expr,
        /// Statements that run for each value.
        body: Vec<Statement>,
    },
    /// `match v { t: T => { … } None => { … } }`: one arm for each type of a union, in its order.
    Match {
        /// The value: its type is a union, or optional.
        value: Expr,
        /// Arms. The last arm of an optional value is that of None.
        arms: Vec<Arm>,
    },
    /// `launch image."kernel"(…) grid(…) block(…);`
    Launch(Box<Launch>),
    /// `upload p (a, b) on x;`
    Upload(Box<Upload>),
    /// `fill p, bytes, value on x;`
    Fill(Box<MemoryFill>),
    /// `copy to, from, bytes on x;`
    Copy(Box<MemoryCopy>),
    /// `wait a, b;`
    Wait(Box<Wait>),
    /// `return e;`, `return [a, b];` or `return;`
    Return(Option<Expr>),
    /// `raise ValueError "n is ", n;`
    Raise {
        /// Kind of the error, such as `ValueError`.
        kind: String,
        /// Pieces of the message: text and scalars.
        message: Vec<Expr>,
    },
}

/// A branch of an `if`: a condition, and the statements that run if it is the first that holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Branch {
    /// Condition, a truth.
    pub condition: Expr,
    /// Statements.
    pub body: Vec<Statement>,
}

/// An arm of a `match`: the statements that run if the value is of a type.
#[derive(Clone, Debug, PartialEq)]
pub struct Arm {
    /// Name of the value in the arm; `None` for `_`, and for the arm of None.
    pub name: Option<String>,
    /// Type of the value in the arm; `None` for the arm of None.
    pub ty: Option<ParamType>,
    /// Statements.
    pub body: Vec<Statement>,
}

/// Name and type of the result of a call.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Local {
    /// New name.
    pub name: String,
    /// Type, checked like the type of an argument; `None` for that of the callee, which is then a function of the same
    /// library.
    pub ty: Option<ParamType>,
    /// Type of the callee's result, where [`ty`](Local::ty) is `None`.
    pub(crate) inferred: Derived<ParamType>,
}

impl Local {
    /// Builds a name with a type, or with that of the callee's result.
    pub fn new(name: impl Into<String>, ty: impl Into<Option<ParamType>>) -> Local {
        Local { name: name.into(), ty: ty.into(), inferred: Derived::default() }
    }
}

/// Constructors of arms.
///
/// ```
/// use tvm_ffi_codegen::{Arm, DType, Expr, ParamType, Scalar, Signature, Statement, Tensor};
///
/// let row = Tensor::new(["n"], DType::FLOAT32);
/// let types = [ParamType::from(row.clone()), Scalar::Int64.into()];
/// let size = Signature::new("size")
///     .param("v", ParamType::optional(ParamType::union(types)))
///     .returns(Scalar::Int64)
///     .body([Statement::match_type("v", [
///         Arm::new("t", row, [Statement::return_value("n")]),
///         Arm::unnamed(Scalar::Int64, [Statement::return_value(1)]),
///         Arm::none([Statement::return_value(0)]),
///     ])]);
/// let text = "\
/// size(v: Optional[Union[Tensor([n], float32), int64]]) -> int64
///     = {
///         match v {
///             t: Tensor([n], float32) => {
///                 return n;
///             }
///             _: int64 => {
///                 return 1;
///             }
///             None => {
///                 return 0;
///             }
///         }
///     };";
/// assert_eq!(size.to_string(), text);
/// assert_eq!(text.parse(), Ok(size));
/// ```
impl Arm {
    /// Builds `name: ty => { … }`.
    pub fn new(
        name: impl Into<String>,
        ty: impl Into<ParamType>,
        body: impl IntoIterator<Item = Statement>,
    ) -> Arm {
        let body = body.into_iter().collect();
        Arm { name: Some(name.into()), ty: Some(ty.into()), body }
    }

    /// Builds `_: ty => { … }`, an arm that does not use the value.
    pub fn unnamed(ty: impl Into<ParamType>, body: impl IntoIterator<Item = Statement>) -> Arm {
        Arm { name: None, ty: Some(ty.into()), body: body.into_iter().collect() }
    }

    /// Builds `None => { … }`.
    pub fn none(body: impl IntoIterator<Item = Statement>) -> Arm {
        Arm { name: None, ty: None, body: body.into_iter().collect() }
    }
}

/// Builds a branch of a condition and the statements that run if it holds.
impl<C: Into<Expr>, B: IntoIterator<Item = Statement>> From<(C, B)> for Branch {
    fn from((condition, body): (C, B)) -> Branch {
        Branch { condition: condition.into(), body: body.into_iter().collect() }
    }
}

/// Constructors of statements.
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
    /// Builds `let name = value;`.
    pub fn let_value(name: impl Into<String>, value: impl Into<Expr>) -> Statement {
        StatementKind::Let { name: name.into(), value: value.into() }.into()
    }

    /// Builds `let name: ty = call;`.
    pub fn let_call(
        name: impl Into<String>,
        ty: impl Into<ParamType>,
        call: impl Into<Call>,
    ) -> Statement {
        let result = Some(Local::new(name, ty.into()));
        StatementKind::Call { result, call: call.into() }.into()
    }

    /// Builds `let name = call;`, where the callee is a function of the same library, whose result says the type.
    ///
    /// ```
    /// use tvm_ffi_codegen::{Call, Statement};
    ///
    /// let product = Statement::let_result("t", Call::symbol("matmul", ["x", "w"]));
    /// let ty = tvm_ffi_codegen::Scalar::Float64;
    /// let norm = Statement::let_call("r", ty, Call::name("numpy.norm", ["t"]));
    /// ```
    pub fn let_result(name: impl Into<String>, call: impl Into<Call>) -> Statement {
        StatementKind::Call { result: Some(Local::new(name, None)), call: call.into() }.into()
    }

    /// Builds `call;`.
    pub fn call(call: impl Into<Call>) -> Statement {
        StatementKind::Call { result: None, call: call.into() }.into()
    }

    /// Builds `let name = alloc tensor;`, an allocation on the first device of the tensor's type.
    pub fn alloc(name: impl Into<String>, tensor: Tensor) -> Statement {
        StatementKind::Alloc { name: name.into(), tensor, on: None }.into()
    }

    /// Builds `let name = alloc tensor on other;`, an allocation on the device of another tensor.
    pub fn alloc_on(name: impl Into<String>, tensor: Tensor, other: impl Into<Expr>) -> Statement {
        StatementKind::Alloc { name: name.into(), tensor, on: Some(other.into()) }.into()
    }

    /// Builds `let name = map;`, a tensor map that launches take by its name.
    pub fn let_map(name: impl Into<String>, map: TensorMap) -> Statement {
        StatementKind::TensorMap { name: name.into(), map: Box::new(map) }.into()
    }

    /// Builds `if condition { … }`.
    pub fn if_then(
        condition: impl Into<Expr>,
        then: impl IntoIterator<Item = Statement>,
    ) -> Statement {
        Statement::if_else(condition, then, [])
    }

    /// Builds `if condition { … } else { … }`.
    pub fn if_else(
        condition: impl Into<Expr>,
        then: impl IntoIterator<Item = Statement>,
        otherwise: impl IntoIterator<Item = Statement>,
    ) -> Statement {
        Statement::choose([(condition, then)], otherwise)
    }

    /// Builds `if c { … } else if d { … } else { … }` from pairs of a condition and the statements that run if it is
    /// the first that holds. There is one condition at least.
    ///
    /// A chain of `else if` is one level of nesting, whatever its length: it may have
    /// [`MAX_BRANCHES`](crate::language::MAX_BRANCHES) conditions, where an `if` inside of an `else` inside of an `else` would soon be
    /// refused as too deep.
    ///
    /// ```
    /// use tvm_ffi_codegen::{Call, Expr, Scalar, Signature, Statement};
    ///
    /// let tiles = [128, 64, 32].map(|tile| {
    ///     let fits = (Expr::name("n") % tile).equal(0);
    ///     (fits, [Statement::call(Call::kernel(format!("tiled_{tile}"), ["n"]))])
    /// });
    /// let plain = Statement::call(Call::kernel("plain", ["n"]));
    /// let function = Signature::new("f").param("n", Scalar::Int64).body([Statement::choose(tiles, [plain])]);
    /// let text = "\
    /// f(n: int64) -> None
    ///     = {
    ///         if n % 128 == 0 {
    ///             tiled_128(n);
    ///         } else if n % 64 == 0 {
    ///             tiled_64(n);
    ///         } else if n % 32 == 0 {
    ///             tiled_32(n);
    ///         } else {
    ///             plain(n);
    ///         }
    ///     };";
    /// assert_eq!(function.to_string(), text);
    /// assert_eq!(text.parse(), Ok(function));
    /// ```
    pub fn choose(
        branches: impl IntoIterator<Item: Into<Branch>>,
        otherwise: impl IntoIterator<Item = Statement>,
    ) -> Statement {
        let branches = branches.into_iter().map(Into::into).collect();
        StatementKind::If { branches, otherwise: otherwise.into_iter().collect() }.into()
    }

    /// Builds `for name in start..end { … }`.
    pub fn for_each(
        name: impl Into<String>,
        start: impl Into<Expr>,
        end: impl Into<Expr>,
        body: impl IntoIterator<Item = Statement>,
    ) -> Statement {
        let body = body.into_iter().collect();
        StatementKind::For { name: name.into(), start: start.into(), end: end.into(), body }.into()
    }

    /// Builds `match value { … }`.
    pub fn match_type(value: impl Into<Expr>, arms: impl IntoIterator<Item = Arm>) -> Statement {
        let arms = arms.into_iter().collect();
        StatementKind::Match { value: value.into(), arms }.into()
    }

    /// Builds `return value;`.
    pub fn return_value(value: impl Into<Expr>) -> Statement {
        StatementKind::Return(Some(value.into())).into()
    }

    /// Builds `return;`.
    pub fn return_nothing() -> Statement {
        StatementKind::Return(None).into()
    }

    /// Builds `raise kind message;` from text and scalars.
    pub fn raise(
        kind: impl Into<String>,
        message: impl IntoIterator<Item: Into<Expr>>,
    ) -> Statement {
        StatementKind::Raise { kind: kind.into(), message: list(message) }.into()
    }

    /// Sets the source line of the statement, counted from 1.
    pub fn with_location(self, file: impl Into<String>, line: u32) -> Statement {
        self.at(Location::new(file, line))
    }

    /// Sets the source location of the statement, which may have a column.
    pub fn at(mut self, location: Location) -> Statement {
        self.location = Some(location);
        self
    }
}

/// Builds a statement without a location.
impl From<StatementKind> for Statement {
    fn from(kind: StatementKind) -> Statement {
        Statement { location: None, kind }
    }
}
