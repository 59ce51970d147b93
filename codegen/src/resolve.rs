//! Resolves declarations: binds names, assigns kinds to expressions and orders the checks. Every error in a
//! declaration is found here, so that [`lower`](crate::lower()) cannot fail.

pub(crate) mod accepted;
mod access;
pub(crate) mod argument;
pub(crate) mod body;
pub(crate) mod c_type;
pub(crate) mod captured;
mod closure;
mod condition;
mod definition;
mod element;
pub(crate) mod external;
mod fits;
pub(crate) mod function;
pub(crate) mod global;
pub(crate) mod ids;
pub(crate) mod image;
pub(crate) mod implied;
mod inferred;
mod into;
mod kept;
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

use abi_spec::symbol::Reserved;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::declaration::limit::Limit;
use crate::declaration::reserved::spelled_label;
use crate::declaration::{self, Body, Inquiry, Library, StatementKind};
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

    /// Checks the form of every declaration: sizes, depth, names, and what goes with what, apart from what names mean. It
    /// needs little stack whatever the depth, which other walks over a declaration take for granted.
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
        kept::find(&mut resolved.functions);
        Ok(resolved)
    }

    /// Returns [`Resolved::kernels`] of a library whose images need no bytes yet.
    ///
    /// # Errors
    ///
    /// The first error of [`validate`](Library::validate).
    pub fn kernels(&self) -> Result<Vec<Kernel<'_>>, Error> {
        let resolved = self.resolve_declarations().map_err(Errors::into_first)?;
        Ok(resolved.kernels())
    }

    fn resolve_declarations(&self) -> Result<Resolved<'_>, Errors> {
        if self.functions.len() > Limit::Functions.max() {
            let limit = Limit::Functions;
            return Err(Error::Limit { limit, site: None, position: None }.into());
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
        entry(self)?;
        self.imports.as_ref().map_or(Ok(()), |tree| tree.validate()).map_err(Error::from)?;
        self.system_lib.as_ref().map_or(Ok(()), |prefix| system_lib(self, prefix, &functions))?;
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
                    .and_then(|()| agrees(declared, function, &mut prototypes));
                errors.extend(checked.err().map(invalid));
            }
            Err(faults) => errors.extend(faults.into_iter().map(invalid)),
        }
    }
    errors.truncate(MAX_FAULTS);
    if !errors.is_empty() {
        return Err(Errors::new(errors));
    }
    c_library(library, &all)?;
    let launches = launch::images::launches(library, &all)?;
    launch::images::globals(library, &all)?;
    if library.prepare.is_some() {
        let platform = launch::images::platform(library, &all)?;
        launch::images::prepare(&mut all, platform, launches);
    }
    Ok(all)
}

/// Checks that a function calls C functions as those before it do, and notes the types of others.
fn agrees<'a>(
    declared: &crate::Function,
    function: &Function<'a>,
    prototypes: &mut FxHashMap<&'a str, Signature>,
) -> Located<()> {
    for (count, (symbol, call)) in function.calls().into_iter().enumerate() {
        let found = &call.signature;
        let known = prototypes.entry(symbol).or_insert_with(|| found.clone());
        if known != found {
            let reason = format!("`{symbol}` is called as {found}, but earlier as {known}");
            return Err((callee(&declared.body, count), reason));
        }
    }
    Ok(())
}

/// Returns the exported functions: the declared ones, and the one that prepares launches.
fn exported(library: &Library) -> impl Iterator<Item = &crate::Function> {
    let prepared = library.prepare.iter().map(|prepare| &prepare.function);
    library.functions.iter().chain(prepared)
}

/// Returns the part of a body that is its call number `count` of a C function by its symbol, counted from 0 in source
/// order.
fn callee(body: &Body, count: usize) -> Part {
    let Body::Block(_) = body else { return Part::Callee };
    nth_statement(body, count, |action| {
        let StatementKind::Call { call: declaration::Call::Kernel(call), .. } = action else {
            return false;
        };
        call.symbol().is_some()
    })
}

/// Returns the part that is number `count` of the statements that satisfy a predicate, counted from 0 in source order.
fn nth_statement(body: &Body, count: usize, wanted: impl Fn(&StatementKind) -> bool) -> Part {
    let mut found = body.statements().enumerate().filter(|(_, at)| wanted(&at.kind));
    found.nth(count).map_or(Part::Callee, |(index, _)| Part::Statement(index))
}

/// Checks calls of C functions that lowering calls too, to allocate tensors and to find the driver: both must call a
/// function with the same type.
fn c_library(library: &Library, functions: &[Function<'_>]) -> Result<(), Error> {
    let mut known = Vec::new();
    let mut all = functions.iter().flat_map(Function::with_closures);
    if all.any(|function| function.outputs.iter().next().is_some()) {
        known.extend(prototype::of_c_library().map(|function| (function, "allocate tensors")));
    }
    if functions.iter().any(Function::uses_driver) {
        known.extend(prototype::of_loaders().map(|function| (function, "find the driver")));
    }
    for (index, function) in functions.iter().enumerate() {
        for (count, (symbol, call)) in function.calls().into_iter().enumerate() {
            let wrong =
                |((name, own), _): &&((&str, _), _)| *name == symbol && *own != call.signature;
            let Some(((_, own), what)) = known.iter().find(wrong) else { continue };
            let found = &call.signature;
            let reason = format!("`{symbol}` is called as {found}, but to {what} as {own}");
            let declared = &library.functions[index];
            let part = callee(&declared.body, count);
            return Err(Error::invalid(index, declared, part, reason));
        }
    }
    Ok(())
}

/// Name under which the entry is exported too: the function that a call of the module calls.
pub(crate) const MAIN: &str = "main";

/// Checks that the entry is a function of the library and that no other function is called [`MAIN`].
fn entry(library: &Library) -> Result<(), Error> {
    let Some(entry) = library.entry.as_deref() else { return Ok(()) };
    if library.functions.iter().all(|function| function.signature.name != entry) {
        return Err(Error::Entry { name: entry.to_owned() });
    }
    let mut all = exported(library).enumerate();
    match all.find(|(_, function)| entry != MAIN && function.signature.name == MAIN) {
        Some((index, function)) => {
            let reason =
                format!("`{MAIN}` is declared twice: it is the name of the entry `{entry}` too");
            Err(Error::invalid(index, function, Part::Name, reason))
        }
        None => Ok(()),
    }
}

/// Checks that the prefix of a system library is a valid name, and that no callee has the name of a symbol that gets
/// the prefix.
fn system_lib(library: &Library, prefix: &str, functions: &[Function<'_>]) -> Result<(), Error> {
    let invalid = |reason| Err(Error::Prefix { prefix: prefix.to_owned(), reason });
    if prefix.is_empty() {
        return Ok(());
    }
    if prefix.len() > Limit::Name.max() {
        return invalid(Limit::Name.to_string());
    }
    if !declaration::is_identifier(prefix) || prefix.starts_with('_') {
        return invalid("it is no identifier that starts with a letter".to_owned());
    }
    let is_taken =
        |symbol: &str| symbol.strip_prefix(prefix).is_some_and(|rest| Reserved::of(rest).is_some());
    let mut symbols = functions.iter().flat_map(|f| f.calls()).map(|(symbol, _)| symbol);
    if let Some(symbol) = symbols.find(|symbol| is_taken(symbol)) {
        return invalid(format!("a kernel has the name `{symbol}`"));
    }
    let entry = library.entry.iter().map(|_| MAIN);
    let own: FxHashSet<&str> =
        exported(library).map(|function| &function.signature.name[..]).chain(entry).collect();
    let is_made = |callee: &&str| {
        let behind = callee.strip_prefix(prefix);
        !own.contains(callee) && behind.is_some_and(|name| own.contains(name))
    };
    match functions.iter().flat_map(Function::imported).find(is_made) {
        Some(callee) => {
            invalid(format!("`@{}` has the name that it gives a function", spelled_label(callee)))
        }
        None => Ok(()),
    }
}
