//! Outputs on disk by what they are made of: equal ones are made once per folder.

use std::fs;
use std::path::{Path, PathBuf};

use codegen::{Fingerprint, Library};

use crate::file::{self, Mode};
use crate::{Error, File, Form, Request};

/// Number of bytes of the digest that follows an output.
const DIGEST: usize = size_of::<Fingerprint>();

/// A folder that keeps outputs for later processes.
///
/// A file is found by all that decides about its bytes: the [fingerprint](Library::fingerprint) of the library, the
/// options of the request, and the contents of the files to link. Programs and folders of the system that options name,
/// such as a linker or a sysroot, count by their paths. The folder may hold other files, any number of processes may
/// use it, and any of its files may be removed at any time: a file is written under another name and renamed, and one
/// that is damaged is made anew.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cache {
    folder: PathBuf,
}

impl Cache {
    /// Uses a folder, which is made when something is put there.
    pub fn new(folder: impl Into<PathBuf>) -> Cache {
        Cache { folder: folder.into() }
    }

    /// Compiles a library as [`Request::emit`] does, or returns what an equal request has made of an equal library.
    ///
    /// ```no_run
    /// use tvm_ffi_codegen_driver::{Cache, Error, File, Form, Request};
    ///
    /// let library = "twice(n: int64) -> int64 = twice_kernel(n);".parse().unwrap();
    /// let link = vec![File::Path("twice.o".into())];
    /// let request = Request { link, ..Request::new(Form::Shared) };
    /// let bytes = Cache::new("target/kernels").emit(&request, &library)?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Request::emit`], and [`Error::Write`] if the output cannot be put into the folder.
    pub fn emit(&self, request: &Request, library: &Library) -> Result<Vec<u8>, Error> {
        let mut request = request.clone();
        request.check()?;
        request.load()?;
        let library = request.complete(library)?;
        // A library with faults has no output, whatever text it is printed as.
        library.validate().map_err(|source| Error::Declaration { path: None, source })?;
        let key = Key::of(&request, &library);
        if let Some(bytes) = self.read(&key) {
            return Ok(bytes);
        }
        // The library has what these name already; standard input can be read once.
        let (images, imports, import_tree) = (Vec::new(), Vec::new(), None);
        let bytes = Request { images, imports, import_tree, ..request }.emit(&library)?;
        self.write(&key, &bytes)?;
        Ok(bytes)
    }

    /// Returns whether there is a file for this key, damaged or not.
    pub fn has(&self, key: &Key) -> bool {
        key.path(&self.folder).exists()
    }

    /// Reads the output of this key; `None` if it is not there, or damaged.
    pub fn read(&self, key: &Key) -> Option<Vec<u8>> {
        let mut bytes = fs::read(key.path(&self.folder)).ok()?;
        let digest = bytes.split_off(bytes.len().checked_sub(DIGEST)?);
        (Fingerprint::of(&bytes).as_bytes()[..] == digest[..]).then_some(bytes)
    }

    /// Writes the output of this key in one step. Its digest follows it, where no loader looks.
    ///
    /// # Errors
    /// [`Error::Write`].
    pub fn write(&self, key: &Key, bytes: &[u8]) -> Result<(), Error> {
        let error = |source| Error::Write { path: self.folder.clone(), source };
        fs::create_dir_all(&self.folder).map_err(error)?;
        let checked = [bytes, Fingerprint::of(bytes).as_bytes()].concat();
        let mode = if key.form == Form::Shared { Mode::Executable } else { Mode::Data };
        file::write(&key.path(&self.folder), &checked, mode)
    }
}

/// The name of an output: the digest of all that decides about its bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    print: Fingerprint,
    form: Form,
}

impl Key {
    /// Computes the key of what a request makes of a library. The request is [loaded](Request::load), and the library
    /// [complete](Request::complete).
    pub fn of(request: &Request, library: &Library) -> Key {
        let Request {
            backend,
            form,
            optimization,
            link,
            into,
            libraries,
            folders,
            sysroot,
            exports,
            soname,
            rpath,
            runtime_dependency,
            linker,
            // These are in the library.
            imports: _,
            import_tree: _,
            entry: _,
            images: _,
            prepare: _,
            system_lib: _,
            register: _,
            target,
            cpu,
            features,
            headers,
            // These are options of lowering.
            metadata: _,
            routines: _,
            unchecked: _,
            sources,
            kernels,
            in_process,
        } = request;
        let code = (backend, form, optimization, target.to_string(), cpu, features, headers);
        let system = (
            link,
            libraries,
            folders,
            sysroot,
            exports,
            soname,
            rpath,
            runtime_dependency,
            linker,
            in_process,
        );
        let options = [format!("{code:?}"), format!("{system:?}")];
        let print = library.fingerprint().with_options(&request.lowering());
        let print = options.iter().fold(print, |all, part| all.with(part.as_bytes()));
        let print = print.with(&kernels.len().to_le_bytes());
        // A shared library records the names of those that it needs.
        let kernels = kernels.iter().flat_map(|input| [input.name().as_bytes(), input.bytes()]);
        // Bytes that are given as a kernel make something else.
        let into = into.as_ref().and_then(File::input);
        let print = into.map_or(print, |into| print.with(b"into").with(into.bytes));
        let sources = sources.iter().flat_map(|source| [source.name.as_bytes(), &source.bytes]);
        let print = kernels.chain(sources).fold(print, Fingerprint::with);
        Key { print, form: *form }
    }

    fn path(&self, folder: &Path) -> PathBuf {
        let extension = match self.form {
            Form::Shared => "so",
            Form::Object => "o",
            Form::Bitcode => "bc",
            Form::Header => "h",
            Form::Html => "html",
            Form::Resolved | Form::Ir | Form::Native => "txt",
        };
        folder.join(self.print.to_string()).with_extension(extension)
    }
}
