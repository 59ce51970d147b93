//! Functions that hosts besides TVM FFI call.

/// Handlers of XLA: functions that XLA's programs call by its own C API, beside those of TVM FFI.
///
/// A handler `PREFIX_name` packs the operands, results and attributes of a call and calls the function. The tensors
/// that a function writes to and those that it allocates are results; one with
/// [`Access::Update`](super::Access::Update) is an operand, too, whose contents XLA puts into the result. Numbers,
/// truths, texts and arrays of numbers are attributes by their names, a stream is that of the call.
///
/// A function whose last statement returns a function that it makes has two handlers: XLA calls
/// `PREFIX_name_instantiate` when it makes a program ready, and keeps the closure; `PREFIX_name` calls the closure.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct Handlers {
    /// Beginning of the symbols, a C identifier; an underscore follows.
    pub prefix: String,
    /// Names of the functions; all of the library if there are none.
    pub functions: Vec<String>,
}

/// Operators of PyTorch: the library registers its functions with PyTorch as `NAMESPACE::name`, beside those of TVM
/// FFI.
///
/// It does so when it is loaded into a process with PyTorch 2.10 or newer, whose stable C ABI it finds there; it loads
/// without PyTorch, too. Tensors that a function writes to are `Tensor(a!)` in the schema, those that it allocates are
/// results, which PyTorch allocates. A stream is no argument: it is PyTorch's current one.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct TorchOperators {
    /// Namespace of the operators, a C identifier. Other libraries may have operators in it, too.
    pub namespace: String,
    /// Names of the functions; all of the library if there are none.
    pub functions: Vec<String>,
}

impl TorchOperators {
    /// Builds operators of all functions of a library.
    ///
    /// ```
    /// use tvm_ffi_codegen::{Library, TorchOperators};
    ///
    /// let text = "add_one(x: Tensor([n], float32, access=read), y: Tensor([n], float32)) -> None
    ///     = add_one(x.data, y.data, n);";
    /// let library = text.parse::<Library>()?.with_torch(TorchOperators::new("ours"));
    /// let library = library.resolve()?;
    /// assert_eq!(library.torch_schemas(), [("add_one", "add_one(Tensor x, Tensor(a1!) y) -> ()")]);
    /// # Ok::<(), tvm_ffi_codegen::Error>(())
    /// ```
    pub fn new(namespace: impl Into<String>) -> TorchOperators {
        TorchOperators { namespace: namespace.into(), functions: Vec::new() }
    }

    /// Sets the names of the functions.
    pub fn of(mut self, functions: impl IntoIterator<Item = impl Into<String>>) -> TorchOperators {
        self.functions = functions.into_iter().map(Into::into).collect();
        self
    }
}

impl Handlers {
    /// The usual prefix.
    pub const PREFIX: &str = "xla";

    /// Builds handlers of all functions of a library.
    ///
    /// ```
    /// use tvm_ffi_codegen::{Handlers, Library, Options, lower};
    ///
    /// let text = "add_one(x: Tensor([n], float32, access=read), y: Tensor([n], float32, access=write)) -> None
    ///     = add_one(x.data, y.data, n);";
    /// let library = text.parse::<Library>()?.with_handlers(Handlers::new(Handlers::PREFIX));
    /// let module = lower(&library.resolve()?, &Options::default());
    /// assert!(module.find("xla_add_one").is_some());
    /// # Ok::<(), tvm_ffi_codegen::Error>(())
    /// ```
    pub fn new(prefix: impl Into<String>) -> Handlers {
        Handlers { prefix: prefix.into(), functions: Vec::new() }
    }

    /// Sets the names of the functions.
    pub fn of(mut self, functions: impl IntoIterator<Item = impl Into<String>>) -> Handlers {
        self.functions = functions.into_iter().map(Into::into).collect();
        self
    }
}
