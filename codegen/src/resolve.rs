//! Resolves declarations: binds names, assigns kinds to expressions and orders the checks. Every error in a
//! declaration is found here, so that [`lower`](crate::lower()) cannot fail.

pub(crate) mod accepted;
mod access;
mod addresses;
pub(crate) mod argument;
pub(crate) mod body;
pub(crate) mod c_type;
mod callees;
pub(crate) mod captured;
mod closure;
mod condition;
mod definition;
mod devices;
mod element;
pub(crate) mod exported_names;
pub(crate) mod external;
mod fits;
pub(crate) mod function;
pub(crate) mod global;
pub(crate) mod ids;
pub(crate) mod image;
pub(crate) mod implied;
mod inferred;
mod inquiry;
mod into;
pub(crate) mod kept;
mod kernel;
mod knowledge;
pub(crate) mod launch;
pub(crate) mod linear;
pub(crate) mod look_up;
mod matching;
mod members;
pub(crate) mod named;
pub(crate) mod names;
pub(crate) mod operator;
mod order;
mod packed;
mod presence;
pub(crate) mod print;
pub(crate) mod prototype;
pub(crate) mod range;
mod registered;
mod site;
mod statement;
pub(crate) mod step;
pub(crate) mod term;
pub(crate) mod torch;
pub(crate) mod typing;
pub(crate) mod value;
pub(crate) mod warning;
mod well_formed;
mod words;
mod written;
pub(crate) mod xla;

#[cfg(test)]
mod tests;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::declaration::limit::Limit;
use crate::declaration::{Inquiry, Library};
use crate::error::{Error, Errors, Part};
use crate::ir::Signature;
use body::Entry;
use c_type::{CType, Prototype};
use external::External;
use function::Function;
use image::UsedImage;
use torch::TorchOperator;
use xla::Handler;

/// A result whose error is a reason.
type Explained<T> = Result<T, String>;

/// A result whose error is the part at fault and a reason.
type Located<T> = Result<T, (Part, String)>;

/// Parts at fault, each with a reason, in the order in which they were found.
type Faults = Vec<(Part, String)>;

/// A library whose declarations are resolved.
#[derive(Clone, Debug)]
pub struct Resolved<'a> {
    /// Declarations.
    pub(crate) library: &'a Library,
    /// Functions in the order of declaration, then the one that prepares launches.
    pub(crate) functions: Vec<Function<'a>>,
    /// Functions that get the tensors to write as further arguments, for those that calls give tensors.
    pub(crate) into: Vec<Function<'a>>,
    /// C functions of the functions that are `extern`.
    pub(crate) externals: Vec<External<'a>>,
    /// Handlers of XLA.
    pub(crate) handlers: Vec<Handler<'a>>,
    /// Operators of PyTorch.
    pub(crate) operators: Vec<TorchOperator<'a>>,
}

impl Library {
    /// Checks that every declaration has a meaning and that the imports can be embedded. The bytes of images may be
    /// missing. Errors carry no position, but begin with the [location](Error::location) of the statement or function.
    ///
    /// ```
    /// use tvm_ffi_codegen::{Call, Library, Scalar, Signature, Statement, exprs};
    ///
    /// let call = |symbol, arg, line| {
    ///     Statement::call(Call::kernel(symbol, exprs![arg])).with_location("demo.mt", line)
    /// };
    /// let f = Signature::new("f").param("n", Scalar::Int64);
    /// let f = f.body([call("a", "m", 2), call("b", "n", 3), call("c", "k", 4)]);
    /// assert_eq!(
    ///     Library::new([f]).validate().unwrap_err().to_string(),
    ///     "demo.mt:2: f: statement 0: nothing determines the symbol `m`\ndemo.mt:4: f: statement 2: nothing determines the symbol `k`"
    /// );
    /// ```
    ///
    /// # Errors
    /// All faults that can be told apart, 100 at most: of every function, each condition and each statement, up to one
    /// without which the rest has no meaning, such as a `let`, or for its block the head of an `if`, `for` or `match`.
    /// [`resolve`](Library::resolve) returns the first.
    pub fn validate(&self) -> Result<(), Errors> {
        self.resolve_declarations().map(drop)
    }

    /// Checks the form of every declaration: sizes, depth, names, and what goes with what, apart from what names mean.
    /// It needs little stack whatever the depth, which other walks over a declaration take for granted.
    ///
    /// ```
    /// use tvm_ffi_codegen::{Call, Expr, Library, Signature};
    ///
    /// let deep = (0..100_000).fold(Expr::name("n"), |sum, _| sum + 1);
    /// let library = Library::new([Signature::new("f").body(Call::kernel("k", [deep]))]);
    /// let error = library.check_form().unwrap_err().to_string();
    /// assert_eq!(
    ///     error,
    ///     "f: call argument 0: more than 64 levels of nesting or operators in a row (MAX_NESTING)"
    /// );
    /// ```
    ///
    /// # Errors
    /// The first fault.
    pub fn check_form(&self) -> Result<(), Error> {
        let mut functions = exported(self).enumerate();
        functions.try_for_each(|(index, declared)| well_formed::check(index, declared))
    }

    /// Resolves every declaration, for [`lower`](crate::lower()).
    ///
    /// ```
    /// let library: tvm_ffi_codegen::Library = "half(x: float64) -> float64 = half(x);".parse()?;
    /// let resolved = library.resolve()?;
    /// # drop(resolved);
    /// # Ok::<(), tvm_ffi_codegen::Error>(())
    /// ```
    ///
    /// # Errors
    /// The first fault of the library, see [`Error`].
    pub fn resolve(&self) -> Result<Resolved<'_>, Error> {
        let mut resolved = self.resolve_declarations().map_err(Errors::into_first)?;
        if let Some(index) = self.image_without_bytes() {
            let reason = "its bytes are not given, by `--image NAME=FILE`, by `images=` in Python, or by `Image::bytes`";
            return Err(launch::images::invalid(self, index, reason));
        }
        let kept = kept::find(&resolved.functions);
        let functions = resolved.functions.iter_mut().zip(kept);
        functions.for_each(|(function, kept)| function.kept = kept);
        Ok(resolved)
    }

    /// Returns the C functions that bodies call, as [`Resolved::kernels`] does. This one is for a library that is not
    /// complete yet: a compiler that compiles its kernels, for CPU and GPU, after it has asked for their types has no
    /// bytes of [images](Library::images), without which [`resolve`](Library::resolve) fails. Who has resolved the
    /// library already calls [`Resolved::kernels`], which does no work twice.
    ///
    /// # Errors
    ///
    /// The first error of [`validate`](Library::validate).
    pub fn kernels(&self) -> Result<Vec<Kernel<'_>>, Error> {
        let resolved = self.resolve_declarations().map_err(Errors::into_first)?;
        Ok(resolved.kernels())
    }

    /// Returns [`Resolved::header`] of a library whose images need no bytes yet.
    ///
    /// ```
    /// let text = "image i; extern f(x: Tensor([n], float32, device=cuda)) -> None
    ///     = { launch i.\"k\"(x.data) grid(n) block(1); };";
    /// let library: tvm_ffi_codegen::Library = text.parse()?;
    /// assert!(library.header()?.contains("int32_t f(DLTensor* x);"));
    /// # Ok::<(), tvm_ffi_codegen::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The first error of [`validate`](Library::validate).
    pub fn header(&self) -> Result<String, Error> {
        let resolved = self.resolve_declarations().map_err(Errors::into_first)?;
        Ok(resolved.header())
    }

    fn resolve_declarations(&self) -> Result<Resolved<'_>, Errors> {
        if self.functions.len() > Limit::Functions.max() {
            return Err(Error::excess(Limit::Functions).into());
        }
        launch::images::check(self)?;
        let items = Items::of(self);
        let functions = functions(self, &items)?;
        let externals = external::externals(self, &functions)?;
        let handlers = xla::handlers(self, &functions, &externals)?;
        let operators = torch::operators(self, &functions)?;
        let handled = handlers.iter().map(|handler| (handler.function, handler.entry));
        let operated = operators.iter().map(|operator| (operator.function, operator.entry()));
        let entered: Vec<(usize, Entry)> = handled.chain(operated).collect();
        let into = into::functions(&functions, &entered, &items)?;
        inquiry::check(self, &functions)?;
        exported_names::entry(self)?;
        self.imports.as_ref().map_or(Ok(()), |tree| tree.validate()).map_err(Error::from)?;
        self.system_lib
            .as_ref()
            .map_or(Ok(()), |prefix| exported_names::system_lib(self, prefix, &functions))?;
        Ok(Resolved { library: self, functions, into, externals, handlers, operators })
    }
}

/// A C function that a library calls.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Kernel<'a> {
    /// Symbol, as the linker sees it.
    pub symbol: &'a str,
    /// Type under the C calling convention. A backend's `signature` translates it.
    pub signature: Signature,
    /// C spellings of the parameter types.
    pub params: Vec<String>,
    /// C spelling of the result type, if there is a result.
    pub result: Option<String>,
}

impl<'a> Resolved<'a> {
    /// Returns the C functions that bodies call, each once, in the order of their first calls. Within a library a C
    /// function has one type.
    ///
    /// ```
    /// let text = "scale(x: Tensor([n], float32), a: int8) -> None = try scale_kernel(x.data, n, a);";
    /// let library: tvm_ffi_codegen::Library = text.parse()?;
    /// let kernels = library.resolve()?.kernels();
    /// assert_eq!(kernels[0].symbol, "scale_kernel");
    /// assert_eq!(kernels[0].signature.to_string(), "(ptr, i64, i8 sext) -> i32");
    /// assert_eq!(kernels[0].params, ["void*", "int64_t", "int8_t"]);
    /// # Ok::<(), tvm_ffi_codegen::Error>(())
    /// ```
    pub fn kernels(&self) -> Vec<Kernel<'a>> {
        let kernel = |(symbol, prototype): (&'a str, Prototype)| Kernel {
            symbol,
            signature: prototype.signature(),
            params: prototype.params.iter().map(|ty| ty.spelling()).collect(),
            result: prototype.result.map(CType::spelling),
        };
        self.called().into_iter().map(kernel).collect()
    }

    /// Returns the schema of each [operator of PyTorch](Library::torch) with the name of its function, in the order of
    /// declaration.
    pub fn torch_schemas(&self) -> Vec<(&'a str, &str)> {
        self.operators.iter().map(|operator| (operator.name, &operator.schema[..])).collect()
    }

    /// Returns the symbol of each C function that bodies call with its type, in the order of their first calls.
    pub(crate) fn called(&self) -> Vec<(&'a str, Prototype)> {
        let mut places = FxHashMap::default();
        let mut all: Vec<(&str, Prototype)> = Vec::new();
        for (symbol, call) in self.functions.iter().flat_map(Function::calls) {
            let place = *places.entry(symbol).or_insert(all.len());
            match all.get_mut(place) {
                Some((_, known)) => known.merge(&call.prototype),
                None => all.push((symbol, call.prototype.clone())),
            }
        }
        all
    }

    /// Returns, by its name, the code of each function that calls and handlers enter besides the exported one, in the
    /// order of the first calls.
    pub(crate) fn entered(&self) -> FxHashMap<&'a str, Vec<(&Function<'a>, Entry)>> {
        let by_name = |all: &'_ [Function<'a>]| -> FxHashMap<&'a str, usize> {
            let names = all.iter().map(|function| &function.shown.name[..]);
            names.enumerate().map(|(index, name)| (name, index)).collect()
        };
        let (own, into) = (by_name(&self.functions), by_name(&self.into));
        let mut all: FxHashMap<&str, Vec<(&Function<'a>, Entry)>> = FxHashMap::default();
        let called = self.functions.iter().chain(&self.into).flat_map(Function::entered);
        let handled = self.handlers.iter().map(|handler| (handler.name, handler.entry));
        let operated = self.operators.iter().map(|operator| (operator.name, operator.entry()));
        for (name, entry) in called.chain(handled).chain(operated) {
            let known = all.entry(name).or_default();
            if entry != Entry::default() && known.iter().all(|(_, known)| *known != entry) {
                let of =
                    if entry.into { &self.into[into[name]] } else { &self.functions[own[name]] };
                known.push((of, entry));
            }
        }
        all
    }

    /// Checks that every function can be compiled into a file. Closures cannot: only a process gives them their
    /// context.
    pub fn ahead_of_time(&self) -> Result<(), Error> {
        let declared = self.library.functions.iter().enumerate();
        match declared.into_iter().find(|(_, function)| function.signature.has_self()) {
            Some((index, function)) => {
                let reason = "`self` is the context of a closure, which exists in process only";
                Err(Error::invalid(index, function, Part::Param(0), reason))
            }
            None => Ok(()),
        }
    }
}

/// Names of the library that bodies refer to.
struct Items<'a> {
    /// Functions by name.
    functions: FxHashMap<&'a str, &'a crate::Function>,
    /// Images by name.
    images: FxHashMap<&'a str, UsedImage<'a>>,
    /// Function to ask after calls of kernels.
    inquiry: Option<&'a Inquiry>,
}

impl<'a> Items<'a> {
    fn of(library: &'a Library) -> Self {
        let functions = library.functions.iter().map(|f| (&f.signature.name[..], f));
        let images = library.images.iter().map(|image| (&image.name[..], UsedImage::of(image)));
        let inquiry = library.inquiry.as_ref();
        Items { functions: functions.collect(), images: images.collect(), inquiry }
    }

    /// Returns the images that a function uses, each once; those that the library lacks are left out.
    fn used(&self, function: &crate::Function) -> Vec<UsedImage<'a>> {
        if self.images.is_empty() {
            return Vec::new();
        }
        let mut seen = FxHashSet::default();
        let names = function.used_images().into_iter().filter(|name| seen.insert(*name));
        names.filter_map(|name| self.images.get(name).copied()).collect()
    }
}

/// The number of faults after which no more are looked for.
const MAX_FAULTS: usize = 100;

/// Resolves the functions; all of them if some have faults.
fn functions<'a>(library: &'a Library, items: &Items<'a>) -> Result<Vec<Function<'a>>, Errors> {
    let (mut names, mut prototypes) = (FxHashSet::default(), FxHashMap::default());
    let (mut all, mut errors) = (Vec::with_capacity(library.functions.len()), Vec::new());
    for (index, declared) in exported(library).enumerate() {
        if errors.len() >= MAX_FAULTS {
            break;
        }
        let invalid = |(part, reason)| Error::invalid(index, declared, part, reason);
        if let Err(error) = well_formed::check(index, declared) {
            errors.push(error);
            continue;
        }
        if !names.insert(declared.signature.name.as_str()) {
            errors.push(invalid((Part::Name, "an earlier function has this name".to_owned())));
            continue;
        }
        match definition::resolve(declared, items) {
            Ok(function) => {
                all.push(function);
                let function = &all[all.len() - 1];
                let checked = written::check(declared)
                    .and_then(|()| callees::agrees(declared, function, &mut prototypes));
                errors.extend(checked.err().map(invalid));
            }
            // To find the place of a fault takes a walk over the statements.
            Err(faults) => errors.extend(faults.into_iter().take(MAX_FAULTS).map(invalid)),
        }
    }
    errors.truncate(MAX_FAULTS);
    if !errors.is_empty() {
        return Err(Errors::new(errors));
    }
    callees::c_library(library, &all)?;
    let launches = launch::images::launches(library, &all)?;
    launch::images::globals(library, &all)?;
    if library.prepare.is_some() {
        let platform = launch::images::platform(library, &all)?;
        launch::images::prepare(&mut all, platform, launches);
    }
    Ok(all)
}

/// Returns the exported functions: the declared ones, and the one that prepares launches.
fn exported(library: &Library) -> impl Iterator<Item = &crate::Function> {
    let prepared = library.prepare.iter().map(|prepare| &prepare.function);
    library.functions.iter().chain(prepared)
}
