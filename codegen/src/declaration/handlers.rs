//! Functions that hosts besides TVM FFI call.

/// Handlers of XLA: functions that XLA's programs call by its own C API, beside those of TVM FFI.
///
/// A handler `PREFIX_name` packs the operands, results and attributes of a call and calls the function. The tensors that
/// a function writes to and those that it allocates are results; one with [`Access::Update`](super::Access::Update) is
/// an operand, too, whose contents XLA puts into the result. Numbers, truths and texts are attributes by their names, a
/// stream is that of the call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handlers {
    /// Beginning of the symbols, a C identifier; an underscore follows.
    pub prefix: String,
    /// Names of the functions; all of the library if there are none.
    pub functions: Vec<String>,
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
