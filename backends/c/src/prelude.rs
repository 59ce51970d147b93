//! The beginnings of the parts of the text: macros, types and small functions that a part is the first to use.
//!
//! They hold what differs between compilers. `_MSC_VER` stands for Microsoft's dialect; all other compilers are taken
//! to know the attributes of GCC.

mod atomics;
mod definition;
mod structs;

use std::collections::{BTreeMap, BTreeSet};

use codegen::backend::is_runtime_struct;
use codegen::ir::{Checked, Pointee, Struct, Type};

use crate::Headers;
use crate::statement::UNLIKELY;
use crate::types::suffix;
use definition::{AFTER_CONTRACT, Definition, definition};

/// A macro, type or function of the beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Helper {
    /// The attribute of types through which any object may be read and written.
    MayAlias,
    /// The same for objects at any address.
    Unaligned,
    /// The mark of conditions that are seldom true.
    Unlikely,
    /// The attribute of functions that are seldom called.
    Cold,
    /// The attribute of functions that are not inlined.
    NoInline,
    /// The attribute of variables with an alignment.
    Align,
    /// The start of a declaration of what has its name in the object.
    External,
    /// The declaration of data that is defined further down and seen here only.
    Later,
    /// The start of the definition.
    Defined,
    /// The attribute of symbols that the loader sees.
    Export,
    /// The attribute of definitions of which the linker keeps one.
    Once,
    /// The start of a declaration of such data.
    OnceDeclared,
    /// The start of the definition of such data; the declaration has the attribute.
    OnceDefined,
    /// A declaration or definition for C.
    OfC,
    /// The definition of a variable that the loader sees and of which the linker keeps one.
    Weak,
    /// The attribute of functions that run when the code is loaded.
    Constructor,
    /// The attribute of constants that may be out of the reach of code.
    Large,
    /// The attribute of constants that tools find.
    Listed,
    /// The name of a symbol that is no identifier.
    Symbol,
    /// The name of a symbol that assemblers take in quotes.
    Quoted,
    /// The attribute of a definition whose name in the object is in quotes.
    Inner,
    /// The declaration of such a function, with its name in the object.
    Named,
    /// The rule that products and sums are rounded each, up to the end of the text.
    Contract,
    /// A float that compilers do not combine with others.
    Fence(Float),
    /// The address at an offset.
    At,
    /// Arithmetic that says whether its result has left `int64_t`.
    Checked(Arithmetic),
    /// The bits of a float.
    ToBits(Float),
    /// The float of some bits.
    FromBits(Float),
    /// The name of a type of 16-bit floats, for compilers that do not know the usual one.
    HalfType(Half),
    /// The 16-bit float of some bits.
    Half(Half),
    /// The type through which any object is read and written.
    Access(Word),
    /// The same for objects at any address.
    AnyAccess(Word),
    /// An address as an argument of a function whose prototype is not known.
    Pass,
    /// The declarations of Microsoft's atomic operations.
    Interlocked,
    /// An atomic load.
    AtomicLoad(Word),
    /// An atomic store.
    AtomicStore(Word),
    /// An atomic compare-exchange.
    Exchange(Word),
}

/// Arithmetic whose result may leave its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Arithmetic {
    Add,
    Sub,
    Mul,
}

impl From<Checked> for Arithmetic {
    fn from(op: Checked) -> Self {
        match op {
            Checked::CheckedAdd => Arithmetic::Add,
            Checked::CheckedSub => Arithmetic::Sub,
            Checked::CheckedMul => Arithmetic::Mul,
        }
    }
}

impl Arithmetic {
    fn function(self) -> &'static str {
        match self {
            Arithmetic::Add => "ffi_add",
            Arithmetic::Sub => "ffi_sub",
            Arithmetic::Mul => "ffi_mul",
        }
    }
}

/// A type of values in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Word(u8);

/// A type of floats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Float {
    F32,
    F64,
}

/// A type of 16-bit floats, of which there are only arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Half {
    Float16,
    BFloat16,
}

impl Half {
    fn ty(self) -> &'static str {
        match self {
            Half::Float16 => "_Float16",
            Half::BFloat16 => "FFI_BFLOAT16",
        }
    }

    fn function(self) -> &'static str {
        match self {
            Half::Float16 => "ffi_float16",
            Half::BFloat16 => "ffi_bfloat16",
        }
    }
}

/// The types of values in memory.
const WORDS: [Type; 7] =
    [Type::I8, Type::I16, Type::I32, Type::I64, Type::F32, Type::F64, Type::Ptr];

impl Word {
    fn of(ty: Type) -> Word {
        let index = WORDS.iter().position(|&word| word == ty);
        Word(index.expect("verified host IR stores no truth values") as u8)
    }

    fn ty(self) -> Type {
        WORDS[usize::from(self.0)]
    }
}

impl Float {
    fn of(of: Type) -> Float {
        if of == Type::F32 { Float::F32 } else { Float::F64 }
    }

    fn ty(self) -> Type {
        match self {
            Float::F32 => Type::F32,
            Float::F64 => Type::F64,
        }
    }
}

/// The used helpers.
#[derive(Debug, Default)]
pub(crate) struct Prelude {
    /// The source of declarations.
    pub(crate) headers: Headers,
    used: BTreeSet<Helper>,
    /// The structs by name.
    structs: BTreeMap<&'static str, &'static Struct>,
    /// The helpers and structs that stand in the text already.
    defined: BTreeSet<Helper>,
    structs_defined: BTreeSet<&'static str>,
}

impl Prelude {
    /// Returns the beginning of a text.
    pub(crate) fn new(headers: Headers) -> Self {
        Prelude { headers, ..Prelude::default() }
    }

    /// Returns true for a struct of the runtime's header. It has no attribute, so that its fields are read and written
    /// through types that may alias.
    pub(crate) fn is_included(&self, pointee: &Struct) -> bool {
        match self.headers {
            Headers::Own => false,
            Headers::Include => is_runtime_struct(pointee.name),
        }
    }

    /// Returns the name of a macro or function.
    pub(crate) fn name(&mut self, helper: Helper) -> &'static str {
        self.used.insert(helper);
        match helper {
            Helper::MayAlias => "FFI_MAY_ALIAS",
            Helper::Unaligned => "FFI_UNALIGNED",
            Helper::Unlikely => UNLIKELY,
            Helper::Cold => "FFI_COLD",
            Helper::NoInline => "FFI_NOINLINE",
            Helper::Align => "FFI_ALIGN",
            Helper::External => "FFI_C",
            Helper::Later => "FFI_LATER",
            Helper::Defined => "FFI_DEFINED",
            Helper::Export => {
                self.used.insert(Helper::External);
                "FFI_EXPORT"
            }
            Helper::Once => {
                self.used.insert(Helper::External);
                "FFI_ONCE"
            }
            Helper::OnceDeclared => "FFI_ONCE_DECLARED",
            Helper::OnceDefined => "FFI_ONCE_DEFINED",
            Helper::OfC => "FFI_OF_C",
            Helper::Weak => {
                self.used.insert(Helper::OfC);
                "FFI_WEAK"
            }
            Helper::Constructor => "FFI_CONSTRUCTOR",
            Helper::Large => "FFI_LARGE",
            Helper::Listed => "FFI_LISTED",
            Helper::Symbol => "FFI_SYMBOL",
            Helper::Quoted => {
                self.used.insert(Helper::Symbol);
                "FFI_QUOTED"
            }
            Helper::Inner => {
                self.used.extend([Helper::External, Helper::Export]);
                "FFI_INNER"
            }
            Helper::Named => {
                self.used.extend([Helper::External, Helper::Export, Helper::OfC]);
                self.used.extend([Helper::Symbol, Helper::Quoted]);
                "FFI_NAMED"
            }
            Helper::Contract => "FP_CONTRACT",
            Helper::Fence(_) => "ffi_fence",
            Helper::At => "ffi_at",
            Helper::Checked(op) => op.function(),
            Helper::ToBits(_) => "ffi_bits",
            Helper::FromBits(_) => "ffi_float",
            Helper::HalfType(half) => half.ty(),
            Helper::Half(half) => half.function(),
            Helper::Access(_) => "ffi",
            Helper::AnyAccess(_) => "ffi_any",
            Helper::Pass => "FFI_PASS",
            Helper::Interlocked => "<intrin.h>",
            Helper::AtomicLoad(_) => "ffi_load",
            Helper::AtomicStore(_) => "ffi_store",
            Helper::Exchange(_) => "ffi_exchange",
        }
    }

    fn typed(&mut self, helper: Helper, ty: Type) -> String {
        format!("{}_{}", self.name(helper), suffix(ty))
    }

    /// Returns the type through which a value is read and written where `align` is known of the address.
    pub(crate) fn access(&mut self, ty: Type, align: u32) -> String {
        if align >= ty.bytes() {
            self.name(Helper::MayAlias);
            return self.typed(Helper::Access(Word::of(ty)), ty);
        }
        self.name(Helper::Unaligned);
        self.typed(Helper::AnyAccess(Word::of(ty)), ty)
    }

    /// Returns the type of a pointer.
    pub(crate) fn pointer(&mut self, pointee: Pointee) -> String {
        match pointee {
            Pointee::Struct(pointee) => {
                if !self.is_included(pointee) {
                    self.name(Helper::MayAlias);
                    self.structs.insert(pointee.name, pointee);
                }
                format!("{} *", pointee.name)
            }
            Pointee::Values(ty) => format!("{} *", self.access(ty, ty.bytes())),
        }
    }

    pub(crate) fn atomic_load(&mut self, ty: Type) -> String {
        self.atomic(Helper::AtomicLoad(Word::of(ty)), ty)
    }

    pub(crate) fn atomic_store(&mut self, ty: Type) -> String {
        self.atomic(Helper::AtomicStore(Word::of(ty)), ty)
    }

    pub(crate) fn exchange(&mut self, ty: Type) -> String {
        self.atomic(Helper::Exchange(Word::of(ty)), ty)
    }

    fn atomic(&mut self, helper: Helper, ty: Type) -> String {
        self.name(Helper::Interlocked);
        self.access(ty, ty.bytes());
        self.typed(helper, ty)
    }

    pub(crate) fn bits_of(&mut self, ty: Type) -> String {
        self.typed(Helper::ToBits(Float::of(ty)), ty)
    }

    pub(crate) fn float_of(&mut self, ty: Type) -> String {
        self.typed(Helper::FromBits(Float::of(ty)), ty)
    }

    /// Returns the name of a type of 16-bit floats.
    pub(crate) fn half(&mut self, half: Half) -> &'static str {
        match half {
            Half::Float16 => half.ty(),
            Half::BFloat16 => self.name(Helper::HalfType(half)),
        }
    }

    /// Returns the name of the function that makes a 16-bit float of its bits.
    pub(crate) fn half_of(&mut self, half: Half) -> &'static str {
        self.half(half);
        self.name(Helper::Half(half))
    }

    pub(crate) fn fence(&mut self, ty: Type) -> String {
        self.typed(Helper::Fence(Float::of(ty)), ty)
    }

    /// Returns the end of the text.
    pub(crate) fn end(&self) -> &'static str {
        if self.used.contains(&Helper::Contract) { AFTER_CONTRACT } else { "" }
    }

    /// Returns the definitions of the helpers that have been used since the last call.
    pub(crate) fn take(&mut self) -> String {
        let (mut by_compiler, mut by_system, mut by_language) =
            (Vec::new(), Vec::new(), Vec::new());
        let (mut macros, mut lines, mut functions) = (String::new(), String::new(), String::new());
        for &helper in self.used.difference(&self.defined) {
            match definition(helper) {
                Definition::ByCompiler(cases) => by_compiler.push(cases),
                Definition::BySystem(cases) => by_system.push(cases),
                Definition::ByLanguage(cases) => by_language.push(cases),
                Definition::Macro(text) => macros.push_str(&text),
                Definition::Line(text) => lines.push_str(&text),
                Definition::Function(text) => functions.push_str(&format!("{text}\n")),
            }
        }
        self.defined.extend(&self.used);
        let mut text = String::new();
        choice(&mut text, "defined(_MSC_VER)", &by_compiler);
        choice(&mut text, "defined(_WIN32)", &by_system);
        choice(&mut text, "defined(__cplusplus)", &by_language);
        for pointee in self.structs.values() {
            if self.structs_defined.insert(pointee.name) {
                structs::define(pointee, &mut lines);
            }
        }
        if !lines.is_empty() {
            lines.push('\n');
        }
        text.push_str(&macros);
        if !text.is_empty() {
            text.push('\n');
        }
        text + &lines + &functions
    }
}

/// Writes definitions for two cases.
fn choice(text: &mut String, condition: &str, definitions: &[[&str; 2]]) {
    if definitions.is_empty() {
        return;
    }
    let lines =
        |case: usize| definitions.iter().map(move |lines| format!("#define {}\n", lines[case]));
    text.push_str(&format!("#if {condition}\n"));
    text.extend(lines(0));
    text.push_str("#else\n");
    text.extend(lines(1));
    text.push_str("#endif\n");
}
