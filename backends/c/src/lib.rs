//! Emits host IR as C.
//!
//! [`emit`] appends C11 to a text: one that compiles by itself and needs no header but `stdint.h`. [`C`] returns that
//! text, or the object file that a C compiler makes of it. Both only translate; every decision was made when the host
//! IR was lowered.
//!
//! ```
//! # use codegen as tvm_ffi_codegen;
//! use tvm_ffi_codegen::Backend;
//! use tvm_ffi_codegen::ir::{Binary, Builder, Linkage, Module, Signature, Type};
//! use tvm_ffi_codegen_c::C;
//!
//! let mut module = Module::default();
//! let signature = Signature::new(&[Type::I64], Some(Type::I64));
//! let mut b = Builder::function(&mut module, "next", Linkage::Export, signature);
//! let (n, one) = (b.param(0), b.i64(1));
//! b.hint(n, "n");
//! let next = b.binary(Binary::Add, n, one);
//! b.ret(Some(next));
//! let function = b.finish();
//! module.functions.push(function);
//!
//! let text = C::default().text(&module, &[]).unwrap();
//! let (_, definition) = text.rsplit_once("\n\n").unwrap();
//! assert_eq!(
//!     definition,
//!     "\
//! FFI_EXPORT int64_t next(int64_t n)
//! {
//!     return (int64_t)((uint64_t)n + 1);
//! }
//! "
//! );
//! ```
//!
//! The chapter on embedding of the guide (`codegen::guide::embedding`) says how undefined behaviour is avoided.
//!
//! # Limits
//! * The names of symbols that are not identifiers of C are given to the assembler, which Microsoft's compiler has no
//!   way to do. Names with characters that some assemblers do not take even in quotes are refused.
//! * Compiled as C++, or for another format than ELF, code reaches what it exports as the loader resolves it: a library
//!   that was loaded earlier may take its place.
//! * Frames above a page touch every page in objects, where the compiler has `-fstack-clash-protection` (clang has not
//!   for Apple's systems); the options of whoever compiles the text decide there. The same holds for
//!   `-ffp-contract=off` with compilers that know none of the pragmas. With that of Microsoft's compiler the rule holds
//!   for what stands behind the text, too.
//! * TinyCC converts unsigned integers to floats with functions of its own library, which must then be linked.
//! * On Windows each object has its own copy of what linkers elsewhere merge ([`ir::Linkage::Once`]).
//! * Functions should preserve the registers of their callers, see [`Plan::preserves_registers`]; C has no such
//!   convention.

#![forbid(unsafe_code)]

mod body;
mod call;
mod constructors;
mod data;
mod debug;
mod declarations;
mod expression;
mod fields;
mod function;
mod instruction;
mod listing;
mod names;
mod object;
mod place;
mod prelude;
mod prototype;
mod share;
mod statement;
mod structure;
mod symbols;
mod tidy;
mod types;
mod uses;
mod variables;

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::iter;
use std::path::PathBuf;

use codegen::backend::{self, Plan};
use codegen::{Backend, ir};
use target_lexicon::Triple;

pub use codegen::backend::{Error, Input, Optimize};
pub use listing::listings;
pub use target_lexicon;

use body::Functions;
use prelude::Prelude;
use symbols::Symbols;
use uses::Uses;

/// The name of the backend.
const NAME: &str = "c";

/// Source of the declarations of what the text does not define.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Headers {
    /// The text itself: it needs no header but `stdint.h`, and fits into no file that has those of the runtime.
    #[default]
    Own,
    /// The runtime's headers, which the text includes, and what stands before it in the file: the prototypes of the C
    /// functions that it calls, kernels and functions of other libraries alike. They may say more of the types of
    /// pointers than a declaration does. C converts numbers to the types of the parameters, as in any call.
    ///
    /// A function whose name is no identifier of C is declared by the text; so are those of the system, by names of its
    /// own, since other headers may declare them.
    Include,
}

/// Appends `source` to `text`, which must not have been given other host IR before, with declarations of its own.
///
/// # Errors
/// [`Error::Malformed`], and [`Error::Native`] for a name of a symbol that no assembler takes; the text is then
/// unchanged.
pub fn emit(text: &mut String, source: &ir::Module) -> Result<(), Error> {
    emit_with(text, source, Headers::Own)
}

/// Appends `source` to `text` as [`emit`] does, with declarations from a source.
///
/// # Errors
/// Those of [`emit`].
pub fn emit_with(text: &mut String, source: &ir::Module, headers: Headers) -> Result<(), Error> {
    ir::verify(source)?;
    let plan = backend::plan(source, &symbols::ExistingSymbols, symbols::CAPABILITIES)?;
    define(text, source, &plan, headers)?;
    if debug::is_located(source) {
        *text = debug::number(text);
    }
    Ok(())
}

/// Writes the planned symbols: first the wrappers after what they need, then the rest.
fn define(
    text: &mut String,
    source: &ir::Module,
    plan: &[Plan<'_, Infallible>],
    headers: Headers,
) -> Result<(), Error> {
    let symbols = symbols::declare(source, plan, headers)?;
    let Reached { wanted, near, uses } = reached(source, &symbols);
    let prelude = Prelude::new(headers);
    let mut functions = Functions { source, symbols: &symbols, prelude, listed: false };
    let is_left = |symbol: ir::Symbol| wanted[symbol.index()];
    let all = source.functions.iter().zip(uses).filter(|(function, _)| is_left(function.symbol));
    let (wrappers, others): (Vec<_>, Vec<_>) =
        all.partition(|(function, _)| is_wrapper(function, &symbols));
    let mut defined = String::new();
    let mut declared = near.clone();
    let mut first = Vec::with_capacity(wrappers.len());
    for (function, uses) in wrappers {
        function::define(&mut functions, function, uses, &mut defined);
        // A definition has no place for the name in the object.
        declared[function.symbol.index()] |= symbols.is_renamed(function.symbol);
        first.push(function.symbol);
    }
    text.push_str(&includes(source, &wanted, headers));
    declare(&mut functions, [&declared, &near], text);
    text.push_str(&defined);

    let mut defined = String::new();
    for (function, uses) in others {
        function::define(&mut functions, function, uses, &mut defined);
    }
    constructors::define(source, &symbols, &mut functions.prelude, &mut defined);
    let (mut locals, mut exports) = (String::new(), String::new());
    for data in source.data.iter().filter(|data| is_left(data.symbol)) {
        let defined = if symbols.is_seen(data.symbol) { &mut exports } else { &mut locals };
        data::define(&symbols, source, data, &mut functions.prelude, defined);
    }
    let left = |done: &[bool]| -> Vec<bool> {
        wanted.iter().zip(done).map(|(wanted, done)| *wanted && !done).collect()
    };
    first.iter().for_each(|wrapper| declared[wrapper.index()] = true);
    let mut rest = String::new();
    declare(&mut functions, [&left(&declared), &left(&near)], &mut rest);
    if !rest.is_empty() || !defined.is_empty() {
        text.push_str(&format!("\n/* What the functions above need. */\n\n{rest}"));
    }
    text.push_str(&defined);
    text.push_str(&within("namespace {", &locals));
    text.push_str(&exports);
    text.push_str(functions.prelude.end());
    Ok(())
}

/// Returns the first lines of the text.
fn includes(source: &ir::Module, wanted: &[bool], headers: Headers) -> String {
    let names: Vec<&str> = match headers {
        Headers::Own => vec!["stdint.h"],
        Headers::Include => {
            let wanted = source.symbols.iter().zip(wanted).filter(|(_, wanted)| **wanted);
            let functions =
                wanted.filter_map(|(symbol, _)| backend::runtime_function(&symbol.name));
            let others: BTreeSet<&str> = functions.map(|function| function.header()).collect();
            let first = "tvm/ffi/c_api.h";
            iter::once(first).chain(others.into_iter().filter(|name| *name != first)).collect()
        }
    };
    let lines: String = names.iter().map(|name| format!("#include <{name}>\n")).collect();
    lines + MACHINE + "\n"
}

/// Refusal of machines for which the text is wrong. Compilers that do not say their order of bytes are those of
/// Microsoft, whose machines are little-endian.
const MACHINE: &str = "\
#if UINTPTR_MAX != UINT64_MAX || defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error \"this is C for little-endian machines with addresses of 64 bits\"
#endif
";

/// Writes the helpers in use that are not defined yet, and the declarations of symbols and aliases.
fn declare(functions: &mut Functions<'_>, symbols: [&[bool]; 2], text: &mut String) {
    let Functions { source, symbols: names, prelude, .. } = functions;
    let mut declared = String::new();
    for data in source.data.iter().filter(|data| symbols[0][data.symbol.index()]) {
        data::declare(names, source, data, prelude, &mut declared);
    }
    names.declarations(source, symbols, prelude, &mut declared);
    text.push_str(&prelude.take());
    text.push_str(&declared);
    if declared.is_empty() && text.ends_with("\n\n") {
        text.pop();
    }
}

/// Returns true for the functions that callers see and that the text starts with.
fn is_wrapper(function: &ir::Function, symbols: &Symbols) -> bool {
    symbols.is_seen(function.symbol) && !function.cold
}

/// Returns text that stands in a block in C++.
fn within(start: &str, text: &str) -> String {
    if text.is_empty() {
        return String::new();
    }
    let only = |line: &str| format!("#if defined(__cplusplus)\n{line}\n#endif\n");
    format!("\n{}{text}{}", only(start), only("}"))
}

/// The symbols that the text has.
struct Reached {
    /// The symbols that anything seen by others needs.
    wanted: Vec<bool>,
    /// The symbols that wrappers name.
    near: Vec<bool>,
    /// The uses of values in each function.
    uses: Vec<Uses>,
}

/// Follows the uses of symbols.
fn reached(source: &ir::Module, symbols: &Symbols) -> Reached {
    let mut uses: Vec<Vec<ir::Symbol>> = vec![Vec::new(); source.symbols.len()];
    let mut waiting = source.constructors.clone();
    let mut values = Vec::with_capacity(source.functions.len());
    for function in &source.functions {
        let found = &mut uses[function.symbol.index()];
        let of = Uses::new(function);
        of.each(function, |inst| found.extend(inst.symbol()));
        values.push(of);
        waiting.push(function.symbol);
    }
    for data in &source.data {
        let addresses = data.relocations.iter().map(|relocation| relocation.symbol);
        uses[data.symbol.index()].extend(addresses);
        waiting.push(data.symbol);
    }
    waiting.retain(|&symbol| {
        let is_start = source.constructors.contains(&symbol);
        source.symbols[symbol.index()].linkage.is_exported() || is_start
    });
    let mut wanted = vec![false; source.symbols.len()];
    while let Some(symbol) = waiting.pop() {
        if !std::mem::replace(&mut wanted[symbol.index()], true) {
            waiting.extend(&uses[symbol.index()]);
        }
    }
    let is_near = |f: &&ir::Function| wanted[f.symbol.index()] && is_wrapper(f, symbols);
    let mut near = vec![false; source.symbols.len()];
    for function in source.functions.iter().filter(is_near) {
        uses[function.symbol.index()].iter().for_each(|symbol| near[symbol.index()] = true);
    }
    Reached { wanted, near, uses: values }
}

/// Returns the declaration of a function, for users who define their kernel in the same text.
pub fn signature(name: &str, source: &ir::Signature) -> String {
    prototype::prototype(name, source, &[], &[], &mut Default::default())
}

/// Returns the error of a failure of a C compiler.
fn refused(reason: impl ToString) -> Error {
    Error::Native { backend: NAME, reason: reason.to_string() }
}

/// C, and a compiler of it for one target, as a [`Backend`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct C {
    /// The target of objects. The text is for every target.
    pub triple: Triple,
    /// The program that compiles: GCC, clang or TinyCC, or one that knows the same options.
    pub compiler: PathBuf,
    /// The optimisation level of objects.
    pub optimize: Optimize,
    /// The source of declarations. Objects have their own.
    pub headers: Headers,
}

impl Default for C {
    /// Returns the backend for the host, and [`Optimize::O2`].
    fn default() -> Self {
        C::new(Triple::host(), Optimize::default())
    }
}

impl C {
    /// Returns the backend for a target: with `$CC` or else `cc` for the host, with the GCC that has the target in its
    /// name for another one.
    pub fn new(triple: Triple, optimize: Optimize) -> C {
        C { compiler: object::compiler(&triple), triple, optimize, headers: Headers::Own }
    }
}

/// Kernels in C are for the C compiler.
impl Backend for C {
    fn name(&self) -> &'static str {
        NAME
    }

    fn text(&self, source: &ir::Module, kernels: &[Input<'_>]) -> Result<String, Error> {
        backend::no_kernels(kernels)?;
        backend::check_words(&self.triple)?;
        let mut text = String::new();
        emit_with(&mut text, source, self.headers)?;
        Ok(text)
    }

    fn object(&self, source: &ir::Module, kernels: &[Input<'_>]) -> Result<Vec<u8>, Error> {
        backend::no_kernels(kernels)?;
        match self.headers {
            Headers::Own => object::object(self, source),
            // An object's text stands alone.
            Headers::Include => Err(Error::Unsupported { reason: "objects have no headers" }),
        }
    }
}
