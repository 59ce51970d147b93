//! Signatures: parameters, results and constraints.

use super::{Body, Expr, Function, Leaf, Literal, ParamType, Tensor};

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

/// What a function returns.
#[derive(Clone, Debug, PartialEq)]
pub enum ResultType {
    /// Nothing; the caller sees None.
    None,
    /// A value. A kernel returns a scalar in its C type, and writes anything else through a `TVMFFIAny*`, its
    /// last argument: it finds None there and leaves a value that it owns, which is checked as an argument of the type
    /// is, and handed on.
    Value(ParamType),
    /// Tensors that the wrapper allocates and the kernel fills: one is returned as it is, several as an
    /// array of them.
    Allocated(Vec<Output>),
}

/// A tensor that the wrapper allocates: compact, on the device of the first tensor parameter that is
/// declared for the same device, else on the first device of that type.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Output {
    /// Its name, which the arguments of the body may mention.
    pub name: String,
    /// Its extents are expressions over symbols, its strides contiguous.
    pub tensor: Tensor,
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

impl Signature {
    /// A function of this name, without parameters and results yet.
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
        let (params, constraints) = (Vec::new(), Vec::new());
        Signature { name: name.into(), params, result: ResultType::None, constraints }
    }

    /// With a parameter after those that it has.
    pub fn param(mut self, name: impl Into<String>, ty: impl Into<ParamType>) -> Signature {
        self.params.push(Param::new(name, ty));
        self
    }

    /// With a parameter that has a default.
    pub fn param_or(
        mut self,
        name: impl Into<String>,
        ty: impl Into<ParamType>,
        default: impl Into<Literal>,
    ) -> Signature {
        self.params.push(Param { default: Some(default.into()), ..Param::new(name, ty) });
        self
    }

    /// With a parameter that stands for all further arguments; the last one.
    pub fn rest(mut self, name: impl Into<String>) -> Signature {
        self.params.push(Param { variadic: true, ..Param::new(name, Leaf::Any) });
        self
    }

    /// What it returns: a type, an [`Output`](crate::Output) or several.
    pub fn returns(mut self, result: impl Into<ResultType>) -> Signature {
        self.result = result.into();
        self
    }

    /// With a condition after those that it has.
    pub fn require(mut self, constraint: impl Into<Constraint>) -> Signature {
        self.constraints.push(constraint.into());
        self
    }

    /// The function that does this: one call, or statements.
    pub fn body(self, body: impl Into<Body>) -> Function {
        let (docs, location, external) = (String::new(), None, false);
        Function { docs, location, signature: self, body: body.into(), external }
    }
}

impl Param {
    /// A parameter without a default.
    ///
    /// ```
    /// use tvm_ffi_codegen::{Param, Scalar};
    ///
    /// assert_eq!(Param::new("n", Scalar::Int32).to_string(), "n: int32");
    /// ```
    pub fn new(name: impl Into<String>, ty: impl Into<ParamType>) -> Param {
        Param { name: name.into(), ty: ty.into(), default: None, variadic: false }
    }
}

impl Constraint {
    /// A condition that must hold; an expression alone is one that the error shows.
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

/// A condition that the error shows.
impl From<Expr> for Constraint {
    fn from(condition: Expr) -> Constraint {
        Constraint { condition, message: None }
    }
}

/// A value.
impl<T: Into<ParamType>> From<T> for ResultType {
    fn from(ty: T) -> ResultType {
        ResultType::Value(ty.into())
    }
}

/// One tensor that is allocated.
impl From<Output> for ResultType {
    fn from(output: Output) -> ResultType {
        ResultType::Allocated(vec![output])
    }
}

/// Tensors that are allocated.
impl From<Vec<Output>> for ResultType {
    fn from(outputs: Vec<Output>) -> ResultType {
        ResultType::Allocated(outputs)
    }
}

impl Output {
    /// A tensor that is allocated, and its name.
    pub fn new(name: impl Into<String>, tensor: Tensor) -> Output {
        Output { name: name.into(), tensor }
    }
}
