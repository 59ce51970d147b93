//! The beginning of the text: macros, types and small functions that the rest uses, only those that are used.
//!
//! They hold what differs between compilers. `_MSC_VER` stands for Microsoft's dialect; all other compilers are taken to
//! know the attributes of GCC.

use std::collections::{BTreeMap, BTreeSet};

use codegen::backend::{LARGE, LISTS};
use codegen::ir::{FieldType, Pointee, Struct, Type};

use crate::types::{declarator, suffix, ty, unsigned};

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
    /// The start of a declaration of data that is defined further down and seen here only.
    Forward,
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
    /// The rule that products and sums are rounded each.
    Contract,
    /// The address at an offset.
    At,
    /// The bits of a float.
    ToBits(Float),
    /// The float of some bits.
    FromBits(Float),
    /// The type through which any object is read and written.
    Access(Word),
    /// The same for objects at any address.
    AnyAccess(Word),
    /// The declarations of Microsoft's atomic operations.
    Interlocked,
    /// An atomic load.
    AtomicLoad(Word),
    /// An atomic store.
    AtomicStore(Word),
    /// An atomic compare-exchange.
    Exchange(Word),
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
    used: BTreeSet<Helper>,
    /// The structs by name.
    structs: BTreeMap<&'static str, &'static Struct>,
}

impl Prelude {
    /// Returns the name of a macro or function.
    pub(crate) fn name(&mut self, helper: Helper) -> &'static str {
        self.used.insert(helper);
        match helper {
            Helper::MayAlias => "FFI_MAY_ALIAS",
            Helper::Unaligned => "FFI_UNALIGNED",
            Helper::Unlikely => "FFI_UNLIKELY",
            Helper::Cold => "FFI_COLD",
            Helper::NoInline => "FFI_NOINLINE",
            Helper::Align => "FFI_ALIGN",
            Helper::Forward => "FFI_FORWARD",
            Helper::Defined => "FFI_DEFINED",
            Helper::Export => "FFI_EXPORT",
            Helper::Once => "FFI_ONCE",
            Helper::OnceDeclared => "FFI_ONCE_DECLARED",
            Helper::OnceDefined => "FFI_ONCE_DEFINED",
            Helper::Constructor => "FFI_CONSTRUCTOR",
            Helper::Large => "FFI_LARGE",
            Helper::Listed => "FFI_LISTED",
            Helper::Symbol => "FFI_SYMBOL",
            Helper::Quoted => {
                self.used.insert(Helper::Symbol);
                "FFI_QUOTED"
            }
            Helper::Contract => "FP_CONTRACT",
            Helper::At => "ffi_at",
            Helper::ToBits(_) => "ffi_bits",
            Helper::FromBits(_) => "ffi_float",
            Helper::Access(_) => "ffi",
            Helper::AnyAccess(_) => "ffi_any",
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
                self.name(Helper::MayAlias);
                self.structs.insert(pointee.name, pointee);
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

    /// Returns the text of the used helpers.
    pub(crate) fn text(&self) -> String {
        let (mut by_compiler, mut by_system, mut by_language) =
            (Vec::new(), Vec::new(), Vec::new());
        let mut alone = String::new();
        for &helper in &self.used {
            match definition(helper) {
                Definition::ByCompiler(lines) => by_compiler.push(lines),
                Definition::BySystem(lines) => by_system.push(lines),
                Definition::ByLanguage(lines) => by_language.push(lines),
                Definition::Alone(text) => alone.push_str(&text),
            }
        }
        let mut text = String::from("#include <stdint.h>\n\n");
        choice(&mut text, "defined(_MSC_VER)", &by_compiler);
        choice(&mut text, "defined(_WIN32)", &by_system);
        choice(&mut text, "defined(__cplusplus)", &by_language);
        text += &alone;
        let mut done = BTreeSet::new();
        self.structs.values().for_each(|pointee| structure(pointee, &mut done, &mut text));
        text
    }
}

/// Writes the definition of a struct, after those of the structs in it.
fn structure(of: &Struct, done: &mut BTreeSet<&'static str>, text: &mut String) {
    if !done.insert(of.name) {
        return;
    }
    // Fields of fields have a path.
    let fields = || of.fields.iter().filter(|field| !field.name.contains('.'));
    for field in fields() {
        if let FieldType::Struct(inner) = field.ty {
            structure(inner, done, text);
        }
    }
    text.push_str("typedef struct FFI_MAY_ALIAS {\n");
    for field in fields() {
        text.push_str(&format!("    {};\n", declarator(field_type(field.ty), field.name)));
    }
    text.push_str(&format!("}} {};\n\n", of.name));
}

/// Returns the type of a field. A union is its integer.
fn field_type(ty: FieldType) -> &'static str {
    match ty {
        FieldType::U8 => "uint8_t",
        FieldType::U16 => "uint16_t",
        FieldType::I32 => "int32_t",
        FieldType::U32 => "uint32_t",
        FieldType::I64 | FieldType::Union => "int64_t",
        FieldType::U64 => "uint64_t",
        FieldType::Ptr => "void *",
        FieldType::Struct(inner) => inner.name,
    }
}

/// The definition of a helper.
enum Definition {
    /// For Microsoft's compiler, and for the others.
    ByCompiler([&'static str; 2]),
    /// For Windows, and for other systems.
    BySystem([&'static str; 2]),
    /// For C++, and for C.
    ByLanguage([&'static str; 2]),
    /// Text that needs no condition, or has its own.
    Alone(String),
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
    text.push_str("#endif\n\n");
}

fn definition(helper: Helper) -> Definition {
    use Definition::{Alone, ByCompiler, ByLanguage, BySystem};
    match helper {
        Helper::MayAlias => {
            ByCompiler(["FFI_MAY_ALIAS", "FFI_MAY_ALIAS __attribute__((__may_alias__))"])
        }
        Helper::Unaligned => ByCompiler([
            "FFI_UNALIGNED __unaligned",
            "FFI_UNALIGNED __attribute__((__may_alias__, __aligned__(1)))",
        ]),
        Helper::Unlikely => ByCompiler([
            "FFI_UNLIKELY(condition) (condition)",
            "FFI_UNLIKELY(condition) __builtin_expect(condition, 0)",
        ]),
        Helper::Cold => ByCompiler([
            "FFI_COLD __declspec(noinline)",
            "FFI_COLD __attribute__((__cold__, __noinline__))",
        ]),
        Helper::NoInline => ByCompiler([
            "FFI_NOINLINE __declspec(noinline)",
            "FFI_NOINLINE __attribute__((__noinline__))",
        ]),
        Helper::Align => ByCompiler([
            "FFI_ALIGN(bytes) __declspec(align(bytes))",
            "FFI_ALIGN(bytes) __attribute__((__aligned__(bytes)))",
        ]),
        Helper::Forward => ByLanguage(["FFI_FORWARD extern", "FFI_FORWARD static"]),
        Helper::Defined => ByLanguage(["FFI_DEFINED", "FFI_DEFINED static"]),
        Helper::Export => BySystem([
            "FFI_EXPORT __declspec(dllexport)",
            "FFI_EXPORT __attribute__((__visibility__(\"default\")))",
        ]),
        Helper::Once => BySystem([
            "FFI_ONCE static",
            "FFI_ONCE __attribute__((__weak__, __visibility__(\"hidden\")))",
        ]),
        Helper::OnceDeclared => BySystem([
            "FFI_ONCE_DECLARED static",
            "FFI_ONCE_DECLARED extern __attribute__((__weak__, __visibility__(\"hidden\")))",
        ]),
        Helper::OnceDefined => BySystem(["FFI_ONCE_DEFINED static", "FFI_ONCE_DEFINED"]),
        Helper::Constructor => Alone(CONSTRUCTOR.to_owned()),
        Helper::Large => Alone(format!(
            "#if defined(__ELF__) && defined(__x86_64__)\n\
             #define FFI_LARGE __attribute__((__section__(\"{LARGE}\")))\n\
             #else\n#define FFI_LARGE\n#endif\n\n"
        )),
        Helper::Listed => Alone(listed()),
        Helper::Symbol => Alone(SYMBOL.to_owned()),
        Helper::Quoted => Alone(QUOTED.to_owned()),
        Helper::Contract => Alone(CONTRACT.to_owned()),
        Helper::At => Alone(AT.to_owned()),
        Helper::ToBits(float) => Alone(to_bits(float.ty())),
        Helper::FromBits(float) => Alone(from_bits(float.ty())),
        Helper::Access(word) => Alone(access(word.ty(), "FFI_MAY_ALIAS", "ffi")),
        Helper::AnyAccess(word) => Alone(access(word.ty(), "FFI_UNALIGNED", "ffi_any")),
        Helper::Interlocked => Alone(INTERLOCKED.to_owned()),
        Helper::AtomicLoad(word) => Alone(atomic_load(word.ty())),
        Helper::AtomicStore(word) => Alone(atomic_store(word.ty())),
        Helper::Exchange(word) => Alone(exchange(word.ty())),
    }
}

const CONSTRUCTOR: &str = "\
#if defined(_MSC_VER)
#pragma section(\".CRT$XCU\", read)
#define FFI_CONSTRUCTOR(f) __declspec(allocate(\".CRT$XCU\")) void (*const f##_entry)(void) = f;
#else
#define FFI_CONSTRUCTOR(f) static void __attribute__((__constructor__)) f##_entry(void) { f(); }
#endif

";

const INTERLOCKED: &str = "\
#if defined(_MSC_VER)
#include <intrin.h>
#endif

";

const SYMBOL: &str = "\
#define FFI_TEXT_OF(text) #text
#define FFI_TEXT(text) FFI_TEXT_OF(text)
#if defined(__USER_LABEL_PREFIX__)
#define FFI_SYMBOL(name) __asm__(FFI_TEXT(__USER_LABEL_PREFIX__) name)
#else
#define FFI_SYMBOL(name) __asm__(name)
#endif

";

/// Clang writes the quotes itself.
const QUOTED: &str = "\
#if defined(__clang__)
#define FFI_QUOTED(name) FFI_SYMBOL(name)
#elif defined(__USER_LABEL_PREFIX__)
#define FFI_QUOTED(name) __asm__(\"\\\"\" FFI_TEXT(__USER_LABEL_PREFIX__) name \"\\\"\")
#else
#define FFI_QUOTED(name) __asm__(name)
#endif

";

const CONTRACT: &str = "\
/* Sums and products are rounded each, also where the processor has an instruction for both. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(_MSC_VER)
#pragma fp_contract(off)
#elif defined(__GNUC__)
#pragma GCC optimize(\"fp-contract=off\")
#endif

";

const AT: &str = "\
/* Returns an address at an offset in bytes. Unlike pointers, integers may leave their object and wrap. */
static inline void *ffi_at(void *address, int64_t offset)
{
    return (void *)((uintptr_t)address + (uint64_t)offset);
}

";

fn listed() -> String {
    let [elf, mach_o, coff] = LISTS;
    format!(
        "#if defined(__APPLE__)\n\
         #define FFI_LISTED __attribute__((__section__(\"__TEXT,{mach_o}\")))\n\
         #elif defined(_MSC_VER)\n\
         #pragma section(\"{coff}\", read)\n\
         #define FFI_LISTED __declspec(allocate(\"{coff}\"))\n\
         #elif defined(_WIN32)\n\
         #define FFI_LISTED __attribute__((__section__(\"{coff}\")))\n\
         #else\n\
         #define FFI_LISTED __attribute__((__section__(\"{elf}\")))\n\
         #endif\n\n"
    )
}

fn access(of: Type, attribute: &str, start: &str) -> String {
    format!("typedef {} {attribute} {start}_{};\n", ty(of), suffix(of))
}

fn to_bits(of: Type) -> String {
    let (float, bits, suffix) = (ty(of), unsigned(of), suffix(of));
    format!(
        "static inline {bits} ffi_bits_{suffix}({float} value)\n{{\n    \
         union {{ {float} value; {bits} bits; }} both;\n    \
         both.value = value;\n    return both.bits;\n}}\n\n"
    )
}

fn from_bits(of: Type) -> String {
    let (float, bits, suffix) = (ty(of), unsigned(of), suffix(of));
    format!(
        "static inline {float} ffi_float_{suffix}({bits} bits)\n{{\n    \
         union {{ {float} value; {bits} bits; }} both;\n    \
         both.bits = bits;\n    return both.value;\n}}\n\n"
    )
}

/// Returns the type of an exchange in Microsoft's dialect, and the end of the function's name.
fn interlocked(of: Type) -> (&'static str, &'static str) {
    if of == Type::I32 { ("long", "") } else { ("__int64", "64") }
}

/// Returns the conversion of an integer of [`interlocked`] to the type, and the one back.
fn conversions(of: Type) -> (String, String) {
    let (word, _) = interlocked(of);
    if of == Type::Ptr {
        return ("(void *)".to_owned(), format!("({word})"));
    }
    (format!("({})", ty(of)), format!("({word})"))
}

fn space(ty: &str) -> &str {
    if ty.ends_with('*') { "" } else { " " }
}

/// Returns a function that reads with acquire ordering.
fn atomic_load(of: Type) -> String {
    let (c, suffix, (word, end)) = (ty(of), suffix(of), interlocked(of));
    let ((to, _), space) = (conversions(of), space(c));
    format!(
        "static inline {c}{space}ffi_load_{suffix}(void *at)\n{{\n\
         #if defined(_MSC_VER)\n    \
         return {to}_InterlockedCompareExchange{end}(({word} volatile *)at, 0, 0);\n\
         #elif defined(__TINYC__)\n    \
         return *({c} volatile *)at;\n\
         #else\n    \
         return __atomic_load_n((ffi_{suffix} *)at, __ATOMIC_ACQUIRE);\n\
         #endif\n}}\n\n",
    )
}

/// Returns a function that writes with release ordering.
fn atomic_store(of: Type) -> String {
    let (c, suffix, (word, end)) = (ty(of), suffix(of), interlocked(of));
    let ((_, from), space) = (conversions(of), space(c));
    format!(
        "static inline void ffi_store_{suffix}(void *at, {c}{space}value)\n{{\n\
         #if defined(_MSC_VER)\n    \
         _InterlockedExchange{end}(({word} volatile *)at, {from}value);\n\
         #elif defined(__TINYC__)\n    \
         *({c} volatile *)at = value;\n\
         #else\n    \
         __atomic_store_n((ffi_{suffix} *)at, value, __ATOMIC_RELEASE);\n\
         #endif\n}}\n\n",
    )
}

/// Returns a function that exchanges, and returns the old value. TinyCC has no atomic operations but its assembler.
fn exchange(of: Type) -> String {
    let (c, suffix, (word, end)) = (ty(of), suffix(of), interlocked(of));
    let ((to, from), space) = (conversions(of), space(c));
    let width = if of == Type::I32 { "l" } else { "q" };
    format!(
        "static inline {c}{space}ffi_exchange_{suffix}(void *at, {c}{space}expected, {c}{space}value)\n{{\n\
         #if defined(_MSC_VER)\n    \
         return {to}_InterlockedCompareExchange{end}(({word} volatile *)at, {from}value, {from}expected);\n\
         #elif defined(__TINYC__)\n    \
         {c}{space}old;\n    \
         __asm__ volatile(\"lock cmpxchg{width} %2, %1\"\n                     \
         : \"=a\"(old), \"+m\"(*({c} volatile *)at) : \"r\"(value), \"0\"(expected) : \"memory\");\n    \
         return old;\n\
         #else\n    \
         __atomic_compare_exchange_n((ffi_{suffix} *)at, &expected, value, 0, __ATOMIC_ACQ_REL, \
         __ATOMIC_ACQUIRE);\n    \
         return expected;\n\
         #endif\n}}\n\n",
    )
}
