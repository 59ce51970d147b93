//! Libraries, functions and what stands beside them.

use abi_spec::library_bin::ImportTree;

use super::{Body, Image, Signature};

/// What one shared object exports.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Library {
    /// In the order in which they are emitted; names are unique.
    pub functions: Vec<Function>,
    /// GPU code that launches take kernels from; names are unique. Those that nothing is launched from are left out
    /// of what is emitted.
    pub images: Vec<Image>,
    /// The name of one more function, `(device_id: int64) -> None`, which loads all kernels on a device, so that
    /// launches are legal while a graph is captured, and looks up the functions that are called by name.
    pub prepare: Option<Prepare>,
    /// The modules that the library brings along. Any tree that is
    /// [valid](ImportTree::validate); it need not hold the library itself, which is then unreachable from
    /// what loading returns. `None` for a library that is loaded as it is.
    pub imports: Option<ImportTree<'static>>,
    /// The function that a call of the loaded module calls: exported as `main` too.
    pub entry: Option<String>,
    /// Be part of a program instead of a file to load: a *system library* of this prefix, which may be
    /// empty. Its functions are registered when the program starts and found by
    /// `ffi.SystemLib(prefix)`; what it exports has the prefix in its name, so that libraries of different
    /// prefixes can be linked into one program. Loaders of its imports run while the runtime holds the lock
    /// of its system libraries: they must not ask for another one.
    pub system_lib: Option<String>,
}

/// A declaration: a signature and its body.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Function {
    /// The text after `///`, lines joined by newlines; empty if there is none.
    pub docs: String,
    /// Where the function comes from, as the backtrace of its errors says.
    pub location: Option<Location>,
    /// What callers see.
    pub signature: Signature,
    /// What runs once the arguments are checked.
    pub body: Body,
    /// The library also has a C function of the same name, which packs its C parameters, calls the function, and
    /// returns 0, or -1 with the error in the thread's slot: `extern`. The [language](crate::language) says more.
    pub external: bool,
}

/// A function that [prepares](Library::prepare) launches.
#[derive(Clone, Debug, PartialEq)]
pub struct Prepare {
    /// Without a body of its own: it is made of what the library launches.
    pub(crate) function: Function,
}

/// A line of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// The name of the file, as it is to be shown.
    pub file: String,
    /// Counted from 1.
    pub line: u32,
}

impl Function {
    /// The images that its body launches from, each once, without their bytes.
    pub(crate) fn images(&self) -> Vec<Image> {
        let mut images: Vec<Image> = Vec::new();
        for launch in self.body.launches() {
            if images.iter().all(|image| image.name != launch.image) {
                images.push(Image::new(&launch.image));
            }
        }
        images
    }
}

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
