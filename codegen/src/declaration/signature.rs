//! Signatures: parameters, results and constraints.

use super::derived::Derived;
use super::{Body, Expr, Function, Leaf, Literal, ParamType, Tensor};

/// Name, parameters, result and constraints of a function. Callers see it, and errors print it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
#[must_use]
pub struct Signature {
    /// Name; the exported symbol is `__tvm_ffi_<name>`.
    pub name: String,
    /// Parameters, in order. A first parameter `self: ptr` is the context of a closure and no argument.
    pub params: Vec<Param>,
    /// Type of the result.
    pub result: ResultType,
    /// Constraints of the `where` clause, checked in order after all parameters.
    pub constraints: Vec<Constraint>,
    /// True for the signature of a function that a body makes.
    pub(crate) is_made: bool,
}

/// A parameter.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
#[must_use]
pub struct Param {
    /// Documentation: the text after `///`, lines joined by newlines; empty if there is none.
    pub docs: String,
    /// Name.
    pub name: String,
    /// Type.
    pub ty: ParamType,
    /// Value of an omitted argument. Every parameter after one with a default has a default too.
    pub default: Option<Literal>,
    /// True if the parameter takes all further arguments, of any type. Only the last parameter may be variadic.
    pub variadic: bool,
}

/// A constraint of a `where` clause.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Constraint {
    /// Condition that must hold.
    pub condition: Expr,
    /// Message of the error; `None` for the text of the condition.
    pub message: Option<String>,
}

/// Type of the result of a function.
#[derive(Clone, Debug, PartialEq)]
pub enum ResultType {
    /// None.
    None,
    /// A value. A C function returns a scalar in its C type, and writes any other value through its last argument, a
    /// `TVMFFIAny*` that points to None before the call. The wrapper takes over the written value, checks it like an
    /// argument, and returns it.
    Value(ParamType),
    /// Tensors that the wrapper allocates and the body fills. One is returned as it is, several as an array.
    Allocated(Vec<Output>),
}

/// A tensor that the wrapper allocates: compact, on the device of the first tensor parameter that is declared for the
/// same device, else on the first device of its type.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Output {
    /// Name, visible in the body.
    pub name: String,
    /// Tensor type. Extents are expressions over symbols, strides are contiguous.
    pub tensor: Tensor,
}

/// Name of the signature of a function that a body makes.
pub(crate) const CLOSURE: &str = "function";

impl Signature {
    /// Returns the parameters that are arguments of a call: all except `self`.
    pub fn arguments(&self) -> &[Param] {
        if self.has_self() { &self.params[1..] } else { &self.params }
    }

    /// Returns the smallest number of arguments.
    pub fn required(&self) -> usize {
        let is_required = |param: &&Param| param.default.is_none() && !param.variadic;
        self.arguments().iter().take_while(is_required).count()
    }

    /// Returns the largest number of arguments; `None` if it is unbounded.
    pub fn most(&self) -> Option<usize> {
        let variadic = self.arguments().last().is_some_and(|param| param.variadic);
        (!variadic).then_some(self.arguments().len())
    }

    /// Returns the tensors that the function allocates and returns.
    pub fn outputs(&self) -> &[Output] {
        match &self.result {
            ResultType::Allocated(outputs) => outputs,
            ResultType::None | ResultType::Value(_) => &[],
        }
    }

    /// Returns the tensor that lists the element types of a tensor of this signature: the tensor itself, or the one
    /// that binds its symbol.
    pub(crate) fn listing<'s>(&'s self, tensor: &'s Tensor) -> &'s Tensor {
        let Some(symbol) = tensor.used_symbol() else { return tensor };
        let mut all = self.params.iter().flat_map(|param| param.ty.tensors());
        all.find(|one| one.bound_symbol() == Some(symbol)).unwrap_or(tensor)
    }

    /// Returns true if the function is a closure.
    pub fn has_self(&self) -> bool {
        self.params.first().is_some_and(|param| param.name == "self")
    }
}

impl Signature {
    /// Builds a signature without parameters and result.
    ///
    /// ```
    /// use tvm_ffi_codegen::{Call, ObjectClass, DType, Expr, Leaf, Output, Scalar, Signature, Tensor, exprs};
    ///
    /// let [n, x, y] = ["n", "x", "y"].map(Expr::name);
    /// let function = Signature::new("scale")
    ///     .param("x", Tensor::new([&n], DType::FLOAT32))
    ///     .param("f", ObjectClass::Function)
    ///     .param_or("factor", Scalar::Float64, 1.0)
    ///     .param_or("mode", Leaf::Str, "fast")
    ///     .rest("more")
    ///     .returns(Output::new("y", Tensor::new([&n], DType::FLOAT32)))
    ///     .require((&n % 4).equal(0))
    ///     .body(Call::kernel("scale_kernel", exprs![x.data(), y.data(), n, "factor"]))
    ///     .with_docs("Multiplies every element.")
    ///     .with_location("kernel.py", 12);
    /// let text = "\
    /// /// Multiplies every element.
    /// @\"kernel.py\":12
    /// scale(x: Tensor([n], float32), f: Function, factor: float64 = 1.0, mode: str = \"fast\", *more: Any) \
    /// -> y: Tensor([n], float32)
    ///     where n % 4 == 0
    ///     = scale_kernel(x.data, y.data, n, factor);";
    /// assert_eq!(function.to_string(), text);
    /// assert_eq!(text.parse(), Ok(function));
    /// ```
    pub fn new(name: impl Into<String>) -> Signature {
        let (params, result, constraints) = (Vec::new(), ResultType::None, Vec::new());
        Signature { name: name.into(), params, result, constraints, is_made: false }
    }

    /// Builds the signature of a function that a body makes, without parameters and result. Its name in texts is
    /// `function`; nothing is exported, and as a function of a library it is an error, unless it gets another name.
    ///
    /// ```
    /// use tvm_ffi_codegen::{Call, Expr, ObjectClass, Scalar, Signature, Statement, exprs};
    ///
    /// let step = Signature::closure().param("i", Scalar::Int64);
    /// let step = step.body([Statement::call(Call::kernel("step", exprs!["n", "i"]))]);
    /// let prepare = Signature::new("prepare").param("n", Scalar::Int64);
    /// let prepare = prepare.returns(ObjectClass::Function).body([Statement::return_value(Expr::function(step))]);
    /// let text = "\
    /// prepare(n: int64) -> Function
    ///     = {
    ///         return function(i: int64) -> None {
    ///             step(n, i);
    ///         };
    ///     };";
    /// assert_eq!(prepare.to_string(), text);
    /// assert_eq!(text.parse(), Ok(prepare));
    /// ```
    pub fn closure() -> Signature {
        Signature { is_made: true, ..Signature::new(CLOSURE) }
    }

    /// Returns all expressions: in the types of parameters and results, and constraints.
    pub(crate) fn exprs(&self) -> impl Iterator<Item = &Expr> {
        let params = self.params.iter().flat_map(|param| param.ty.exprs());
        let result = if let ResultType::Value(ty) = &self.result { Some(ty) } else { None };
        let result = result.into_iter().flat_map(ParamType::exprs);
        let outputs = self.outputs().iter().flat_map(|output| output.tensor.extents());
        let constraints = self.constraints.iter().map(|constraint| &constraint.condition);
        params.chain(result).chain(outputs).chain(constraints)
    }

    /// Returns the types of all tensors: of parameters, results and allocated tensors, nested ones included.
    pub(crate) fn tensors(&self) -> impl Iterator<Item = &Tensor> {
        let params = self.params.iter().flat_map(|param| param.ty.tensors());
        let result = if let ResultType::Value(ty) = &self.result { Some(ty) } else { None };
        let result = result.into_iter().flat_map(ParamType::tensors);
        params.chain(result).chain(self.outputs().iter().map(|output| &output.tensor))
    }

    /// Appends a parameter.
    pub fn param(mut self, name: impl Into<String>, ty: impl Into<ParamType>) -> Signature {
        self.params.push(Param::new(name, ty));
        self
    }

    /// Appends a parameter, such as one with documentation.
    pub fn with_param(mut self, param: Param) -> Signature {
        self.params.push(param);
        self
    }

    /// Appends a parameter with a default.
    pub fn param_or(
        mut self,
        name: impl Into<String>,
        ty: impl Into<ParamType>,
        default: impl Into<Literal>,
    ) -> Signature {
        self.params.push(Param { default: Some(default.into()), ..Param::new(name, ty) });
        self
    }

    /// Appends a variadic parameter, which must stay the last one.
    pub fn rest(mut self, name: impl Into<String>) -> Signature {
        self.params.push(Param { variadic: true, ..Param::new(name, Leaf::Any) });
        self
    }

    /// Sets the result: a type, an [`Output`] or several.
    pub fn returns(mut self, result: impl Into<ResultType>) -> Signature {
        self.result = result.into();
        self
    }

    /// Appends a constraint.
    pub fn require(mut self, constraint: impl Into<Constraint>) -> Signature {
        self.constraints.push(constraint.into());
        self
    }

    /// Builds the function with a body: one call, or statements.
    pub fn body(self, body: impl Into<Body>) -> Function {
        let (docs, location, external) = (String::new(), None, false);
        let into = Derived::default();
        Function { docs, location, signature: self, body: body.into(), external, into }
    }
}

impl Param {
    /// Builds a parameter without a default.
    ///
    /// ```
    /// use tvm_ffi_codegen::{Param, Scalar};
    ///
    /// assert_eq!(Param::new("n", Scalar::Int32).to_string(), "n: int32");
    /// ```
    pub fn new(name: impl Into<String>, ty: impl Into<ParamType>) -> Param {
        let (docs, default) = (String::new(), None);
        Param { docs, name: name.into(), ty: ty.into(), default, variadic: false }
    }

    /// Sets the documentation, lines joined by newlines; those of Windows become `\n`.
    ///
    /// ```
    /// use tvm_ffi_codegen::{Call, Param, Scalar, Signature};
    ///
    /// let n = Param::new("n", Scalar::Int64).with_docs("Number of rows.").with_default(8);
    /// let function = Signature::new("f").param("m", Scalar::Int64).with_param(n).body(Call::kernel("k", ["n", "m"]));
    /// let text = "\
    /// f(
    ///     m: int64,
    ///     /// Number of rows.
    ///     n: int64 = 8
    /// ) -> None
    ///     = k(n, m);";
    /// assert_eq!(function.to_string(), text);
    /// assert_eq!(text.parse(), Ok(function));
    /// ```
    pub fn with_docs(mut self, docs: impl Into<String>) -> Param {
        self.docs = docs.into().replace("\r\n", "\n");
        self
    }

    /// Sets the value of an omitted argument.
    pub fn with_default(mut self, default: impl Into<Literal>) -> Param {
        self.default = Some(default.into());
        self
    }
}

impl Constraint {
    /// Builds a constraint with a message. Conversion from an expression builds one without.
    ///
    /// ```
    /// use tvm_ffi_codegen::{Constraint, Expr};
    ///
    /// let even = (Expr::name("n") % 2).equal(0);
    /// let even = Constraint::new(even, "n must be even");
    /// assert_eq!(even.to_string(), r#"n % 2 == 0 else "n must be even""#);
    /// ```
    pub fn new(condition: Expr, message: impl Into<String>) -> Constraint {
        Constraint { condition, message: Some(message.into()) }
    }
}

/// Builds a constraint whose error shows the condition.
impl From<Expr> for Constraint {
    fn from(condition: Expr) -> Constraint {
        Constraint { condition, message: None }
    }
}

/// Builds the result type of a value.
impl<T: Into<ParamType>> From<T> for ResultType {
    fn from(ty: T) -> ResultType {
        ResultType::Value(ty.into())
    }
}

/// Builds the result type of one allocated tensor.
impl From<Output> for ResultType {
    fn from(output: Output) -> ResultType {
        ResultType::Allocated(vec![output])
    }
}

impl Output {
    /// Builds an output.
    pub fn new(name: impl Into<String>, tensor: Tensor) -> Output {
        Output { name: name.into(), tensor }
    }
}
