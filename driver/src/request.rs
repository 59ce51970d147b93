//! Requests: the form of the output, and all options that decide about it. The command line fills a request from its
//! arguments, and Python from a map. The fields are documented here, and the comments are the help of the command line.

mod file;
mod values;

use std::borrow::Cow;
use std::path::PathBuf;

use clap::builder::{PathBufValueParser, TypedValueParser};
use clap::{ArgAction, Args, ValueEnum};
use codegen::backend::{Feature, Optimize};
use codegen::{Library, Loader, Prepare, Routines, Unchecked};
use link::{Input, Linker, Output};
use target_lexicon::Triple;

use crate::imports::{read_modules, read_tree};
use crate::{BackendName, Error};
pub use file::{File, Source};
pub(crate) use values::backends;
pub use values::{Register, parse_register, parse_routines, parse_target};

/// A request to make a file of a library. Options of Python are named like the fields.
#[derive(Clone, Debug, Args)]
pub struct Request {
    /// Code generator.
    #[arg(long, value_name = "NAME", default_value_t, value_parser = backends())]
    pub backend: BackendName,
    /// Form of the output.
    #[arg(long = "emit", value_name = "FORM", value_enum, default_value_t)]
    pub form: Form,
    /// Level of optimisation of llvm, mlir and c.
    #[arg(short = 'O', value_name = "LEVEL", default_value_t, value_parser = values::levels())]
    pub optimization: Optimize,
    /// File that defines kernels: an object or an archive of objects; a shared library, which the loader then loads
    /// with ours; with llvm LLVM IR as text or bitcode, with mlir MLIR, which may be inlined. May be given several
    /// times.
    #[arg(long, value_name = "KERNEL", value_parser = PathBufValueParser::new().map(File::Path))]
    pub link: Vec<File>,
    /// Module to add the functions to, with llvm LLVM IR as text or bitcode, with mlir MLIR: the output is all of it,
    /// for forms native, bitcode, object and shared. What the module has keeps names, linkage, attributes and metadata;
    /// kernels in it are called, and the files to link are added to it as elsewhere.
    #[arg(long, value_name = "MODULE", value_parser = PathBufValueParser::new().map(File::Path))]
    pub into: Option<File>,
    /// Library to link by its name, libNAME.so or else libNAME.a (NAME.lib for Windows, libNAME.dylib for macOS), or by
    /// the name of its file, `:FILE`. May be given several times.
    #[arg(short = 'l', value_name = "NAME")]
    pub libraries: Vec<String>,
    /// Folder to search for libraries before those of the system. May be given several times.
    #[arg(short = 'L', value_name = "DIR")]
    pub folders: Vec<PathBuf>,
    /// Root folder of the system to link for: libraries, linker scripts and the parts of the C library are searched
    /// there, and not on this machine [default for GNU/Linux: the symbols of glibc 2.28].
    #[arg(long, value_name = "DIR")]
    pub sysroot: Option<PathBuf>,
    /// Symbol of a linked file that the shared library exports, besides functions of the FFI and what a loader fills.
    /// May be given several times.
    #[arg(long = "export", value_name = "NAME")]
    pub exports: Vec<String>,
    /// Name by which the loader, and what is linked with the shared library, know it; on macOS its install name, which
    /// is otherwise `@rpath/library.dylib`.
    #[arg(long, value_name = "NAME")]
    pub soname: Option<String>,
    /// Folder in which the loader looks for libraries that the shared library needs; `$ORIGIN` is the folder of the
    /// library. May be given several times.
    #[arg(long, value_name = "DIR")]
    pub rpath: Vec<String>,
    /// True if the shared library records that it needs libtvm_ffi.so, which need not be on this machine. Without the
    /// record it can be loaded only into a process in which libtvm_ffi is visible to everybody.
    #[arg(long = "no-runtime-dependency", action = ArgAction::SetFalse,
        help = "Do not record that the shared library needs libtvm_ffi.so: for processes that have it in another file")]
    pub runtime_dependency: bool,
    /// Linker; `wild` is part of this program, `cc` is $CC or else `cc`, `lld` is $LLD or else `lld` [default: wild for
    /// ELF, lld for Windows and macOS].
    #[arg(long, value_parser = values::linkers())]
    pub linker: Option<Linker>,
    /// Module that the library imports: the contents of FILE, for the loader of this kind. May be given several times.
    #[arg(long = "import", value_name = "KIND=FILE", value_parser = values::import, conflicts_with = "import_tree")]
    pub imports: Vec<(String, File)>,
    /// Import tree of the library, described by a TOML file.
    #[arg(long, value_name = "TREE.toml")]
    pub import_tree: Option<PathBuf>,
    /// Machine to compile for, such as aarch64-unknown-linux-gnu [default: this one].
    #[arg(long, value_name = "TRIPLE", value_parser = parse_target, default_value_t = Triple::host(),
        hide_default_value = true)]
    pub target: Triple,
    /// Processor to compile for, by LLVM's name, such as x86-64-v3; with llvm and mlir [default: the baseline of the
    /// target].
    #[arg(long, value_name = "NAME")]
    pub cpu: Option<String>,
    /// Features of the processor to use (+) or not to use (-), by LLVM's names and with commas in between, such as
    /// +avx2,-fma; with llvm, mlir and cranelift.
    #[arg(long, value_name = "LIST", value_delimiter = ',', allow_hyphen_values = true)]
    pub features: Vec<Feature>,
    /// Source of the declarations in the text of c.
    #[arg(long, value_name = "SOURCE", value_enum, default_value_t)]
    pub headers: Headers,
    /// Function that is exported as `main` too: a call of the loaded module calls it.
    #[arg(long, value_name = "NAME")]
    pub entry: Option<String>,
    /// GPU code to launch from: the contents of `image NAME;` are those of FILE: a cubin, a fatbin or PTX, an hsaco
    /// or a bundle of them. May be given several times.
    #[arg(long = "image", value_name = "NAME=FILE", value_parser = values::image)]
    pub images: Vec<(String, File)>,
    /// Name of one more exported function, which loads all GPU code on a device: `(device_id: int64) -> None`.
    #[arg(long, value_name = "NAME")]
    pub prepare: Option<String>,
    /// Prefix of the system library, which may be empty (`--system-lib ''`): the object is linked into a program, and
    /// its functions are registered when the program starts.
    #[arg(long, value_name = "PREFIX")]
    pub system_lib: Option<String>,
    /// Host besides TVM FFI that calls the functions, or only those of the list: with xla[=PREFIX] each has a handler
    /// PREFIX_name by XLA's C API, too [default of PREFIX: xla], with torch=NAMESPACE the library registers each as an
    /// operator of PyTorch when it is loaded. May be given once for each host.
    #[arg(long, value_name = "HOST[=NAME][:NAME,...]", value_parser = values::parse_register)]
    pub register: Vec<Register>,
    /// True if the library has the metadata and documentation of its functions.
    #[arg(long = "no-metadata", action = ArgAction::SetFalse,
        help = "Leave out the metadata and documentation of the functions")]
    pub metadata: bool,
    /// Origin of the routines that compose messages; `tvm-ffi-codegen routines` writes linked ones for other linkers
    /// than that of --emit shared [default: linked with --emit shared, once with --into, else embedded].
    #[arg(long, value_parser = values::routines())]
    pub routines: Option<Routines>,
    /// Checks to leave out, for callers that have made them already: names with commas in between. Checks that make the
    /// wrapper's own loads legal stay.
    #[arg(long, value_name = "GROUPS", value_delimiter = ',')]
    pub unchecked: Vec<CheckGroup>,
    /// Kernels in a language of the backend, which become part of the module and may be inlined. LLVM's readers trust
    /// their input: a damaged file may end the process. [`load`](Request::load) adds those of `link`.
    #[arg(skip)]
    pub sources: Vec<Source>,
    /// Checked files to link. [`load`](Request::load) adds those of `link` and `libraries`.
    #[arg(skip)]
    pub kernels: Vec<Input>,
    /// True if the shared library is for this process only. The loader then finds the symbols that the C library of
    /// this machine has and the one to link for has not.
    #[arg(skip)]
    pub in_process: bool,
}

impl Default for Request {
    /// An object by Cranelift for the machine that this runs on, with no kernels.
    fn default() -> Self {
        Request {
            backend: BackendName::default(),
            form: Form::default(),
            optimization: Optimize::default(),
            link: Vec::new(),
            into: None,
            libraries: Vec::new(),
            folders: Vec::new(),
            sysroot: None,
            exports: Vec::new(),
            soname: None,
            rpath: Vec::new(),
            runtime_dependency: true,
            linker: None,
            imports: Vec::new(),
            import_tree: None,
            target: Triple::host(),
            cpu: None,
            features: Vec::new(),
            headers: Headers::default(),
            entry: None,
            images: Vec::new(),
            prepare: None,
            system_lib: None,
            register: Vec::new(),
            metadata: true,
            routines: None,
            unchecked: Vec::new(),
            sources: Vec::new(),
            kernels: Vec::new(),
            in_process: false,
        }
    }
}

/// Form of the output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, ValueEnum)]
pub enum Form {
    /// Resolved declarations: what names stand for, and the checks in their order
    Resolved,
    /// Host IR as text: the same for every backend and target
    Ir,
    /// The text form of the backend
    Native,
    /// LLVM bitcode; of the backends llvm and mlir
    Bitcode,
    /// A relocatable object
    #[default]
    Object,
    /// A shared library that a TVM FFI host can load
    Shared,
    /// A C header of the functions after `extern`, and of the kernels that the library calls
    Header,
    /// A page that shows declarations, checks, messages, host IR, C and machine code side by side
    Html,
}

impl Form {
    /// Returns whether a linker may take part in making the form.
    pub fn is_linked(self) -> bool {
        matches!(self, Form::Object | Form::Shared)
    }

    /// Returns whether the form is text in UTF-8.
    pub fn is_text(self) -> bool {
        matches!(self, Form::Resolved | Form::Ir | Form::Native | Form::Header | Form::Html)
    }

    /// Returns whether the form is that of a native module, or made of one.
    fn is_native(self) -> bool {
        matches!(self, Form::Native | Form::Bitcode | Form::Object | Form::Shared)
    }
}

/// Source of the declarations in C.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, ValueEnum)]
pub enum Headers {
    /// The text has all that it needs, and stands alone
    #[default]
    Own,
    /// The text includes the headers of the runtime; prototypes of C functions stand before it in the file
    Include,
}

impl From<Headers> for backend_c::Headers {
    fn from(headers: Headers) -> backend_c::Headers {
        match headers {
            Headers::Own => backend_c::Headers::Own,
            Headers::Include => backend_c::Headers::Include,
        }
    }
}

/// Group of checks that a library may go without.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CheckGroup {
    /// Extents, against known values
    Shape,
    /// Strides
    Strides,
    /// Devices
    Device,
    /// Alignment of the first element
    Alignment,
}

impl Request {
    /// Returns the defaults with this form.
    pub fn new(form: Form) -> Request {
        Request { form, ..Request::default() }
    }

    /// Checks that the options make sense together.
    ///
    /// # Errors
    /// [`Error::Usage`], which names the first option that is out of place, and that of [`link::Options::check`].
    pub fn check(&self) -> Result<(), Error> {
        let (is_linked, is_shared) = (self.form.is_linked(), self.form == Form::Shared);
        let (linked, shared) = ("is for forms object and shared", "is for form shared");
        let links = is_shared || is_linked && self.links_files();
        let with_files = "is for form shared, and for form object with something to link";
        let of_link = if is_linked { with_files } else { linked };
        let of_text = "is for form native of backend c";
        let native = "is for forms native, bitcode, object and shared";
        let unshared = "is for what is linked into programs, not for form shared";
        let rules = [
            ("link", !self.kernels.is_empty() && !is_linked, linked),
            ("libraries", !self.libraries.is_empty() && !is_linked, linked),
            ("sysroot", self.sysroot.is_some() && !links, of_link),
            ("linker", self.linker.is_some() && !links, of_link),
            ("folders", !self.folders.is_empty() && !links, of_link),
            ("headers", self.headers != Headers::Own && !self.is_c_text(), of_text),
            ("into", self.into.is_some() && !self.form.is_native(), native),
            ("cpu", self.cpu.is_some() && !self.form.is_native(), native),
            ("features", !self.features.is_empty() && !self.form.is_native(), native),
            ("exports", !self.exports.is_empty() && !is_shared, shared),
            ("soname", self.soname.is_some() && !is_shared, shared),
            ("rpath", !self.rpath.is_empty() && !is_shared, shared),
            ("runtime_dependency", !self.runtime_dependency && !is_shared, shared),
            ("system_lib", self.system_lib.is_some() && is_shared, unshared),
        ];
        let broken = rules.into_iter().find(|(_, is_broken, _)| *is_broken);
        if let Some((option, _, reason)) = broken {
            return Err(Error::Usage { option, reason: reason.to_owned() });
        }
        Ok(self.linking().check()?)
    }

    /// Reads the files of `link` and finds `libraries`, and moves both to `sources` and `kernels`. Reads the file of
    /// `into`.
    ///
    /// # Errors
    /// The errors of [`Request::backend`], of [`Input::new`], [`link::Error::Read`] and [`link::Error::NoLibrary`].
    pub fn load(&mut self) -> Result<(), Error> {
        let backend = self.backend()?;
        self.into = self.into.take().map(File::loaded).transpose()?;
        for file in std::mem::take(&mut self.link) {
            let make = file.maker();
            let (name, bytes) = file.into_linkable()?;
            if backend.reads(&bytes) {
                self.sources.push(Source { name, bytes });
            } else {
                self.kernels.push(make(name, bytes)?);
            }
        }
        for name in std::mem::take(&mut self.libraries) {
            self.kernels.extend(link::library(&name, &self.linking())?);
        }
        Ok(())
    }

    /// Returns whether there is something to link.
    fn links_files(&self) -> bool {
        let named = !self.link.is_empty() || !self.libraries.is_empty();
        named || !self.sources.is_empty() || !self.kernels.is_empty()
    }

    /// Returns whether the output has more than the declarations say: files to link, a module to extend, or imports.
    pub(crate) fn adds_code(&self) -> bool {
        let imports = !self.imports.is_empty() || self.import_tree.is_some();
        self.links_files() || self.into.is_some() || imports
    }

    /// Returns whether the output is C.
    fn is_c_text(&self) -> bool {
        (self.backend, self.form) == (BackendName::C, Form::Native)
    }

    /// Returns whether [`load`](Request::load) has nothing left to read.
    pub(crate) fn is_loaded(&self) -> bool {
        let is_read = self.into.as_ref().is_none_or(|into| matches!(into, File::Bytes { .. }));
        self.link.is_empty() && self.libraries.is_empty() && is_read
    }

    /// Adds `images`, `imports` or `import_tree`, `prepare`, `entry`, `system_lib` and `register` to a library. Reads
    /// their files.
    ///
    /// # Errors
    /// [`Error::Declaration`] if the [form](Library::check_form) of the library is wrong, [`link::Error::Read`],
    /// [`Error::Import`], and [`Error::Usage`] for an image that the library does not declare, and for an image or a host
    /// that is named twice.
    pub fn complete<'a>(&self, library: &'a Library) -> Result<Cow<'a, Library>, Error> {
        // A copy is as deep as the library.
        let wrong = |error: codegen::Error| Error::Declaration { path: None, source: error.into() };
        library.check_form().map_err(wrong)?;
        let mut library = Cow::Borrowed(library);
        if let Some(path) = &self.import_tree {
            library.to_mut().imports = Some(read_tree(path)?);
        } else if !self.imports.is_empty() {
            library.to_mut().imports = Some(read_modules(&self.imports)?);
        }
        if let Some(entry) = &self.entry {
            library.to_mut().entry = Some(entry.clone());
        }
        if let Some(prefix) = &self.system_lib {
            library.to_mut().system_lib = Some(prefix.clone());
        }
        let usage = |option, reason| Error::Usage { option, reason };
        let (mut handlers, mut torch) = (None, None);
        for host in &self.register {
            let (name, before) = match host {
                Register::Xla(of) => ("xla", handlers.replace(of).is_some()),
                Register::Torch(of) => ("torch", torch.replace(of).is_some()),
            };
            if before {
                return Err(usage("register", format!("names {name} twice")));
            }
        }
        if let Some(handlers) = handlers {
            library.to_mut().handlers = Some(handlers.clone());
        }
        if let Some(operators) = torch {
            library.to_mut().torch = Some(operators.clone());
        }
        if let Some(name) = &self.prepare {
            library.to_mut().prepare = Some(Prepare::new(name));
        }
        for (index, (name, file)) in self.images.iter().enumerate() {
            if self.images[..index].iter().any(|(before, _)| before == name) {
                return Err(usage("images", format!("has `{name}` twice")));
            }
            let mut images = library.to_mut().images.iter_mut();
            let image = images.find(|image| image.name == *name).ok_or_else(|| {
                usage("images", format!("has `{name}`, but there is no `image {name};`"))
            })?;
            image.bytes = Some(file.read()?);
        }
        Ok(library)
    }

    /// Returns the options of lowering.
    pub fn lowering(&self) -> codegen::Options {
        let left_out = |group| self.unchecked.contains(&group);
        codegen::Options {
            routines: self.routines.unwrap_or(self.default_routines()),
            metadata: self.metadata,
            unchecked: Unchecked {
                shape: left_out(CheckGroup::Shape),
                strides: left_out(CheckGroup::Strides),
                device: left_out(CheckGroup::Device),
                alignment: left_out(CheckGroup::Alignment),
            },
            loader: Loader::of(&self.target),
            // A loader runs the constructors of what is linked here, and nothing frees its cached calls, in this
            // process too.
            in_process: false,
        }
    }

    /// Returns the default of `routines`: a shared library is linked here, so its routines are linked; a module may be
    /// added to again, so it has each routine once; everything else is complete by itself.
    fn default_routines(&self) -> Routines {
        match self.form {
            Form::Shared => Routines::Linked,
            Form::Native | Form::Bitcode | Form::Object if self.into.is_some() => Routines::Once,
            Form::Native | Form::Bitcode | Form::Object => Routines::Embedded,
            Form::Resolved | Form::Ir | Form::Header | Form::Html => Routines::Embedded,
        }
    }

    /// Returns the options of linking: an object unless the form is [`Form::Shared`].
    pub fn linking(&self) -> link::Options {
        let output = if self.form == Form::Shared { Output::Shared } else { Output::Object };
        link::Options {
            output,
            target: self.target.clone(),
            linker: self.linker.clone(),
            runtime_dependency: self.runtime_dependency,
            exports: self.exports.clone(),
            soname: self.soname.clone(),
            rpath: self.rpath.clone(),
            folders: self.folders.clone(),
            sysroot: self.sysroot.clone(),
            in_process: self.in_process,
        }
    }

    /// Links the `kernels` by themselves: for [`Form::Shared`] to a shared library, else to one object.
    ///
    /// # Errors
    /// Those of [`Request::check`] and of [`link::link`].
    pub fn link(&self) -> Result<Vec<u8>, Error> {
        self.check()?;
        Ok(link::link(&self.kernels, &self.linking())?)
    }

    /// Returns the paths that the request reads, those of `kernels` and `sources` among them.
    pub(crate) fn paths(&self) -> Vec<PathBuf> {
        let named = self.imports.iter().chain(&self.images).map(|(_, file)| file);
        let files = named.chain(&self.link).chain(&self.into).map(File::path);
        let loaded = self.kernels.iter().map(Input::name);
        let loaded = loaded.chain(self.sources.iter().map(|source| source.name.as_str()));
        files.chain(self.import_tree.clone()).chain(loaded.map(PathBuf::from)).collect()
    }
}
