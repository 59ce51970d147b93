//! Libraries, functions and their source locations.

use rustc_hash::FxHashSet;

use abi_spec::library_bin::ImportTree;

use super::derived::Derived;
use super::{Body, Handlers, Image, Param, Signature, TorchOperators};

/// Contents of one shared object.
///
/// Its [text](crate::language) has the functions and the images.
///
/// # Depth
/// Values of Rust may be nested deeper than declarations can be: up to
/// [`MAX_NESTING`](crate::language::MAX_NESTING) levels of expressions, types and blocks are accepted.
/// [`check_form`](Library::check_form), [`validate`](Library::validate) and [`resolve`](Library::resolve) refuse a deeper
/// library with an error, whatever its depth. All that walks over it before that check calls itself once for each
/// level: `clone`, `==`, `Display` and `Debug`. A sum of a hundred thousand terms, which is as many levels, may
/// overflow the stack there. A compiler whose users decide about the depth therefore calls `check_form` first.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
#[must_use]
pub struct Library {
    /// Functions, in the order of emission; names are unique.
    pub functions: Vec<Function>,
    /// Images that launches take GPU kernels from, and expressions device variables; names are unique. Images that
    /// nothing uses are not emitted.
    pub images: Vec<Image>,
    /// A further exported function, `(device_id: int64) -> None`. It loads all GPU kernels on a device, so that
    /// launches are legal while a graph is captured, and looks up the functions that are called by name.
    pub prepare: Option<Prepare>,
    /// Import tree to embed, any that is [valid](ImportTree::validate). If the tree does not contain the library
    /// itself, loading returns a module from which the library is unreachable. `None` embeds no tree.
    pub imports: Option<ImportTree<'static>>,
    /// Name of the function that a call of the loaded module calls; it is exported as `main` too.
    pub entry: Option<String>,
    /// Prefix of a *system library*, which is linked into a program instead of loaded from a file; it may be empty.
    /// The functions are registered when the program starts, and `ffi.SystemLib(prefix)` finds them. Exported symbols
    /// contain the prefix, so that libraries of different prefixes can be linked into one program. Loaders of imports
    /// run while the runtime holds the lock of its system libraries, so they must not ask for another system library.
    pub system_lib: Option<String>,
    /// Handlers by which XLA calls the functions, too.
    pub handlers: Option<Handlers>,
    /// Operators by which PyTorch calls the functions, too.
    pub torch: Option<TorchOperators>,
    /// Function of the FFI that is asked after calls of kernels, whether they have failed.
    pub inquiry: Option<Inquiry>,
}

/// A function of the FFI that is asked after each call of some kernels, before their results are looked at. It raises
/// an error that the kernel has kept, where C cannot return it: an exception of a kernel in Python, or an error that a
/// system keeps for its thread.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Inquiry {
    /// Name of the function, which is looked up as that of a [call by name](super::FunctionRef::Name). It takes no
    /// arguments; what it returns is released.
    pub function: String,
    /// Symbols of the kernels, at least one. Functions of the library call each; one that none calls is an error, since
    /// a misspelt kernel is never asked about.
    pub kernels: Vec<String>,
}

/// A declaration: a signature and a body.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
#[must_use]
pub struct Function {
    /// Documentation: the text after `///`, lines joined by newlines; empty if there is none.
    pub docs: String,
    /// Source location: in errors about the declaration, in the backtrace of errors, and in debug information.
    pub location: Option<Location>,
    /// Name, parameters, result and constraints.
    pub signature: Signature,
    /// Code that runs after the arguments are checked.
    pub body: Body,
    /// True for `extern`: a C function of the same name packs its parameters, calls the function and returns 0, or -1
    /// with the error in the thread's slot. The [language](crate::language) describes its parameters.
    pub external: bool,
    /// The function that gets the tensors to write as further arguments.
    pub(crate) into: Derived<Function>,
}

/// A function that [prepares](Library::prepare) launches.
#[derive(Clone, Debug, PartialEq)]
pub struct Prepare {
    /// Declaration with an empty body; resolving generates the body from the launches of the library.
    pub(crate) function: Function,
}

/// A place in a source file of the user.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[must_use]
pub struct Location {
    /// Name of the file, as it is shown.
    pub file: String,
    /// Line number, counted from 1, up to [`Location::MAX`].
    pub line: u32,
    /// Column in characters, counted from 1, up to [`Location::MAX`]; 0 if it is not known.
    pub column: u32,
}

impl Function {
    /// Returns the documentation that readers see: that of the function, then, under `Args:`, that of its parameters.
    /// Python shows it, the library contains it, and the header for C has it in a comment.
    ///
    /// ```
    /// let text = "
    ///     /// Scales.
    ///     f(/// The factor.
    ///       a: float64, x: Tensor([n], float32)) -> None = k(x, a);";
    /// let function: tvm_ffi_codegen::Function = text.parse()?;
    /// assert_eq!(function.documentation(), "Scales.\n\nArgs:\n    a: The factor.");
    /// # Ok::<(), tvm_ffi_codegen::Error>(())
    /// ```
    pub fn documentation(&self) -> String {
        let mut text = self.docs.clone();
        let documented = self.signature.params.iter().filter(|param| !param.docs.is_empty());
        for (number, Param { name, docs, .. }) in documented.enumerate() {
            if number == 0 {
                text.push_str(if text.is_empty() { "Args:" } else { "\n\nArgs:" });
            }
            let docs = docs.replace('\n', "\n        ");
            text.push_str(&format!("\n    {name}: {docs}"));
        }
        text
    }

    /// Returns the images that the function needs, each once, without bytes.
    pub(crate) fn images(&self) -> Vec<Image> {
        let mut images: Vec<Image> = Vec::new();
        for name in self.used_images() {
            if images.iter().all(|image| image.name != name) {
                images.push(Image::new(name));
            }
        }
        images
    }
}

impl Library {
    /// Returns the names of the images that functions use.
    pub(crate) fn used_images(&self) -> FxHashSet<&str> {
        self.functions.iter().flat_map(Function::used_images).collect()
    }

    /// Returns the first image that a function uses and that has no bytes.
    pub(crate) fn image_without_bytes(&self) -> Option<usize> {
        if self.images.iter().all(|image| image.bytes.is_some()) {
            return None;
        }
        let used = self.used_images();
        let is_missing = |image: &Image| image.bytes.is_none() && used.contains(&*image.name);
        self.images.iter().position(is_missing)
    }

    /// Builds a library of functions, without imports.
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

    /// Sets the [import tree](Library::imports).
    pub fn with_imports(mut self, tree: ImportTree<'static>) -> Library {
        self.imports = Some(tree);
        self
    }

    /// Sets the [entry](Library::entry).
    pub fn with_entry(mut self, name: impl Into<String>) -> Library {
        self.entry = Some(name.into());
        self
    }

    /// Appends an [image](Library::images).
    pub fn with_image(mut self, image: Image) -> Library {
        self.images.push(image);
        self
    }

    /// Sets the name of the function that [prepares](Library::prepare) launches.
    pub fn with_prepare(mut self, name: impl Into<String>) -> Library {
        self.prepare = Some(Prepare::new(name));
        self
    }

    /// Adds [handlers](Library::handlers) by which XLA calls the functions.
    pub fn with_handlers(mut self, handlers: Handlers) -> Library {
        self.handlers = Some(handlers);
        self
    }

    /// Adds [operators](Library::torch) by which PyTorch calls the functions.
    pub fn with_torch(mut self, operators: TorchOperators) -> Library {
        self.torch = Some(operators);
        self
    }

    /// Sets the [function](Library::inquiry) that is asked after calls of kernels.
    ///
    /// ```
    /// use tvm_ffi_codegen::{Inquiry, Library, Options, lower};
    ///
    /// let library: Library = "f(n: int64) -> str = k(n);".parse()?;
    /// let library = library.with_inquiry(Inquiry::new("mini.raise_kept", ["k"]));
    /// let module = lower(&library.resolve()?, &Options::default()).to_string();
    /// assert!(module.contains("mini.raise_kept"));
    /// # Ok::<(), tvm_ffi_codegen::Error>(())
    /// ```
    pub fn with_inquiry(mut self, inquiry: Inquiry) -> Library {
        self.inquiry = Some(inquiry);
        self
    }

    /// Makes the library a [system library](Library::system_lib) with a prefix.
    pub fn with_system_lib(mut self, prefix: impl Into<String>) -> Library {
        self.system_lib = Some(prefix.into());
        self
    }
}

impl Inquiry {
    /// Builds an inquiry after calls of kernels.
    pub fn new(
        function: impl Into<String>,
        kernels: impl IntoIterator<Item: Into<String>>,
    ) -> Inquiry {
        let kernels = kernels.into_iter().map(Into::into).collect();
        Inquiry { function: function.into(), kernels }
    }
}

impl Prepare {
    /// Builds a function of this name.
    pub fn new(name: impl Into<String>) -> Prepare {
        let signature = Signature::new(name).param("device_id", abi_spec::Scalar::Int64);
        Prepare { function: signature.body([]) }
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.function.signature.name
    }
}

/// Builds a library of functions, without imports.
impl From<Vec<Function>> for Library {
    fn from(functions: Vec<Function>) -> Library {
        Library::new(functions)
    }
}

impl Function {
    /// Sets the documentation, lines joined by newlines; those of Windows become `\n`.
    pub fn with_docs(mut self, docs: impl Into<String>) -> Function {
        self.docs = docs.into().replace("\r\n", "\n");
        self
    }

    /// Sets the source location; lines are counted from 1.
    pub fn with_location(self, file: impl Into<String>, line: u32) -> Function {
        self.at(Location::new(file, line))
    }

    /// Sets the source location, which may have a column.
    pub fn at(mut self, location: Location) -> Function {
        self.location = Some(location);
        self
    }

    /// Adds a [C function](Function::external) of the same name.
    pub fn with_extern(mut self) -> Function {
        self.external = true;
        self
    }
}

impl Location {
    /// The largest number of a line or a column: backtraces and debug information have signed numbers of 32 bits.
    pub const MAX: u32 = i32::MAX as u32;

    /// Writes the head of a message about the location: `demo.mt:2: `, or `demo.mt:2:5: `.
    pub(crate) fn head(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let file = self.file.replace(|c: char| c.is_control(), "_");
        match self.column {
            0 => write!(f, "{file}:{}: ", self.line),
            column => write!(f, "{file}:{}:{column}: ", self.line),
        }
    }

    /// Builds a location; lines are counted from 1, up to [`Location::MAX`].
    pub fn new(file: impl Into<String>, line: u32) -> Location {
        Location { file: file.into(), line, column: 0 }
    }

    /// Sets the column in characters, counted from 1.
    ///
    /// ```
    /// use tvm_ffi_codegen::Location;
    ///
    /// assert_eq!(Location::new("kernel.py", 12).column(5).to_string(), r#"@"kernel.py":12:5"#);
    /// ```
    pub fn column(self, column: u32) -> Location {
        Location { column, ..self }
    }
}
