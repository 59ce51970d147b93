//! Signatures, functions and libraries.

use abi_spec::library_bin::ImportTree;

use crate::declaration::{
    Body, Constraint, Expr, Function, Image, Leaf, Library, Literal, Location, ObjectClass, Param,
    ParamType, Prepare, ResultType, Signature,
};

impl Library {
    /// A library of these functions that imports nothing.
    ///
    /// ```
    /// use tvm_ffi_codegen::library_bin::{ImportTree, Module, Node};
    /// use tvm_ffi_codegen::{Call, Library, Scalar, Signature, exprs};
    ///
    /// let answer = Signature::new("answer").returns(Scalar::Int64);
    /// let answer = answer.body(Call::kernel("answer_kernel", exprs![]));
    /// let weights = Module::Custom { kind: "weights".into(), bytes: vec![1, 2, 3].into() };
    /// let tree = ImportTree {
    ///     nodes: vec![
    ///         Node { module: Module::Library, children: vec![1] },
    ///         Node { module: weights, children: vec![] },
    ///     ],
    /// };
    /// let library = Library::new([answer]).with_imports(tree).with_entry("answer");
    /// library.validate()?;
    /// # Ok::<(), tvm_ffi_codegen::Error>(())
    /// ```
    pub fn new(functions: impl IntoIterator<Item = Function>) -> Library {
        Library { functions: functions.into_iter().collect(), ..Library::default() }
    }

    /// With [modules that it brings along](Library::imports).
    pub fn with_imports(mut self, tree: ImportTree<'static>) -> Library {
        self.imports = Some(tree);
        self
    }

    /// With an [entry](Library::entry).
    pub fn with_entry(mut self, name: impl Into<String>) -> Library {
        self.entry = Some(name.into());
        self
    }

    /// With an [image](Library::images) after those that it has.
    pub fn with_image(mut self, image: Image) -> Library {
        self.images.push(image);
        self
    }

    /// With a function of this name that [prepares](Library::prepare) launches.
    pub fn with_prepare(mut self, name: impl Into<String>) -> Library {
        self.prepare = Some(Prepare::new(name));
        self
    }

    /// As a [system library](Library::system_lib) of this prefix.
    pub fn with_system_lib(mut self, prefix: impl Into<String>) -> Library {
        self.system_lib = Some(prefix.into());
        self
    }
}

impl Prepare {
    /// Of this name.
    pub fn new(name: impl Into<String>) -> Prepare {
        let signature = Signature::new(name).param("device_id", abi_spec::Scalar::Int64);
        Prepare { function: signature.body([]) }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.function.signature.name
    }
}

/// A library of these functions that imports nothing.
impl From<Vec<Function>> for Library {
    fn from(functions: Vec<Function>) -> Library {
        Library::new(functions)
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

impl Function {
    /// With documentation, lines joined by newlines.
    pub fn with_docs(mut self, docs: impl Into<String>) -> Function {
        self.docs = docs.into();
        self
    }

    /// From this line of a file, counted from 1.
    pub fn with_location(mut self, file: impl Into<String>, line: u32) -> Function {
        self.location = Some(Location::new(file, line));
        self
    }

    /// With a [C function](Function::external) beside it.
    pub fn with_extern(mut self) -> Function {
        self.external = true;
        self
    }
}

impl Location {
    /// A line of a file, counted from 1.
    pub fn new(file: impl Into<String>, line: u32) -> Location {
        Location { file: file.into(), line }
    }
}

impl ObjectClass {
    /// The class of this type key, and those derived from it.
    pub fn of(key: impl Into<String>) -> ObjectClass {
        ObjectClass::Key(key.into())
    }
}
