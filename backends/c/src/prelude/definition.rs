//! The definition of each helper: the C that differs between compilers, systems and languages.

use codegen::backend::{LARGE, LISTS};
use codegen::ir::Type;

use super::atomics::{INTERLOCKED, atomic_load, atomic_store, exchange};
use super::{Arithmetic, Helper};
use crate::types::{declarator, suffix, ty, unsigned};

/// The definition of a helper.
pub(super) enum Definition {
    /// For Microsoft's compiler, and for the others.
    ByCompiler([&'static str; 2]),
    /// For Windows, and for other systems.
    BySystem([&'static str; 2]),
    /// For C++, and for C.
    ByLanguage([&'static str; 2]),
    /// Lines of the preprocessor with conditions of their own.
    Macro(String),
    /// A line or two.
    Line(String),
    /// A function, which may use all lines.
    Function(String),
}

/// Returns the definition of a helper.
pub(super) fn definition(helper: Helper) -> Definition {
    use Definition::{ByCompiler, ByLanguage, BySystem, Function, Line, Macro};
    match helper {
        Helper::MayAlias => {
            ByCompiler(["FFI_MAY_ALIAS", "FFI_MAY_ALIAS __attribute__((__may_alias__))"])
        }
        Helper::Unaligned => ByCompiler([
            "FFI_UNALIGNED __unaligned",
            "FFI_UNALIGNED __attribute__((__may_alias__, __aligned__(1)))",
        ]),
        Helper::Unlikely => Macro(UNLIKELY.to_owned()),
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
        Helper::External => ByLanguage(["FFI_C extern \"C\"", "FFI_C extern"]),
        Helper::Later => ByLanguage([
            "FFI_LATER(object) namespace { extern object; }",
            "FFI_LATER(object) static object;",
        ]),
        Helper::Defined => ByLanguage(["FFI_DEFINED", "FFI_DEFINED static"]),
        Helper::Export => BySystem([
            "FFI_EXPORT FFI_C __declspec(dllexport)",
            "FFI_EXPORT FFI_C __attribute__((__visibility__(\"default\")))",
        ]),
        Helper::Once => BySystem([
            "FFI_ONCE static",
            "FFI_ONCE FFI_C __attribute__((__weak__, __visibility__(\"hidden\")))",
        ]),
        Helper::OnceDeclared => BySystem([
            "FFI_ONCE_DECLARED static",
            "FFI_ONCE_DECLARED extern __attribute__((__weak__, __visibility__(\"hidden\")))",
        ]),
        Helper::OnceDefined => BySystem(["FFI_ONCE_DEFINED static", "FFI_ONCE_DEFINED"]),
        Helper::OfC => Macro(OF_C.to_owned()),
        Helper::Weak => Macro(WEAK.to_owned()),
        Helper::Constructor => Macro(CONSTRUCTOR.to_owned()),
        Helper::Large => Macro(format!(
            "#if defined(__ELF__) && defined(__x86_64__)\n\
             #define FFI_LARGE __attribute__((__section__(\"{LARGE}\")))\n\
             #else\n#define FFI_LARGE\n#endif\n"
        )),
        Helper::Listed => Macro(listed()),
        Helper::Symbol => Macro(SYMBOL.to_owned()),
        Helper::Quoted => Macro(QUOTED.to_owned()),
        Helper::Inner => Macro(INNER.to_owned()),
        Helper::Named => Macro(NAMED.to_owned()),
        Helper::Contract => Macro(CONTRACT.to_owned()),
        Helper::Fence(float) => Function(fence(float.ty())),
        Helper::At => Line(AT.to_owned()),
        Helper::Checked(op) => Function(checked(op)),
        Helper::ToBits(float) => Function(to_bits(float.ty())),
        Helper::FromBits(float) => Function(from_bits(float.ty())),
        Helper::HalfType(_) => Macro(BFLOAT16.to_owned()),
        Helper::Half(half) => Function(half_of(half.ty(), half.function())),
        Helper::Access(word) => Line(access(word.ty(), "FFI_MAY_ALIAS", "ffi")),
        Helper::AnyAccess(word) => Line(access(word.ty(), "FFI_UNALIGNED", "ffi_any")),
        Helper::Pass => Macro(PASS.to_owned()),
        Helper::Interlocked => Macro(INTERLOCKED.to_owned()),
        Helper::AtomicLoad(word) => Function(atomic_load(word.ty())),
        Helper::AtomicStore(word) => Function(atomic_store(word.ty())),
        Helper::Exchange(word) => Function(exchange(word.ty())),
    }
}

/// GCC expects nine of ten otherwise, and saves registers for calls that are never made.
const UNLIKELY: &str = "\
#if defined(_MSC_VER)
#define FFI_UNLIKELY(condition) (condition)
#elif defined(__GNUC__) && __GNUC__ >= 9
#define FFI_UNLIKELY(condition) __builtin_expect_with_probability(condition, 0, 1)
#else
#define FFI_UNLIKELY(condition) __builtin_expect(condition, 0)
#endif
";

/// Apple's loader would merge weak variables of all libraries, and C++ has no common ones.
/// GCC knows the type on x86-64 since version 13; both types are passed in the same registers.
const BFLOAT16: &str = "\
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ < 13
#define FFI_BFLOAT16 _Float16
#else
#define FFI_BFLOAT16 __bf16
#endif
";

const OF_C: &str = "\
#if defined(__cplusplus)
#define FFI_OF_C(object) extern \"C\" { object; }
#else
#define FFI_OF_C(object) object;
#endif
";

const WEAK: &str = "\
#if defined(_WIN32)
#define FFI_WEAK(object) FFI_OF_C(__declspec(dllexport) __declspec(selectany) object = {0})
#elif !defined(__APPLE__)
#define FFI_WEAK(object) FFI_OF_C(__attribute__((__weak__, __visibility__(\"protected\"))) object)
#elif defined(__cplusplus)
#define FFI_WEAK(object) FFI_OF_C(__attribute__((__weak__)) object)
#else
#define FFI_WEAK(object) FFI_OF_C(__attribute__((__common__)) object)
#endif
";

const CONSTRUCTOR: &str = "\
#if defined(_MSC_VER)
#pragma section(\".CRT$XCU\", read)
#define FFI_CONSTRUCTOR(f) __declspec(allocate(\".CRT$XCU\")) void (*const f##_entry)(void) = f;
#else
#define FFI_CONSTRUCTOR(f) static void __attribute__((__constructor__)) f##_entry(void) { f(); }
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

/// GCC names parts of a function after it, without regard to the quotes: there the name is that of an alias.
const INNER: &str = "\
#if defined(__GNUC__) && !defined(__clang__)
#define FFI_INNER static
#else
#define FFI_INNER FFI_EXPORT
#endif
";

const NAMED: &str = "\
#if defined(__GNUC__) && !defined(__clang__)
#define FFI_NAMED(inner, outer, of, name) \\
    FFI_OF_C(static inner) FFI_EXPORT outer FFI_QUOTED(name) __attribute__((__alias__(of)));
#else
#define FFI_NAMED(inner, outer, of, name) FFI_EXPORT inner FFI_QUOTED(name);
#endif
";

/// GCC otherwise takes `0.0 - (double)n` for `-(double)n`, which is -0.0 where `n` is 0. [`AFTER_CONTRACT`] ends it.
const CONTRACT: &str = "\
/* Sums and products are rounded each, also where the processor has an instruction for both. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(_MSC_VER)
#pragma fp_contract(off)
#elif defined(__GNUC__)
#pragma GCC push_options
#pragma GCC optimize(\"fp-contract=off\", \"rounding-math\")
#endif
";

/// The end of the rule for sums and products, so that code behind the text is compiled as its options say. Microsoft's
/// compiler has no way back to them.
pub(super) const AFTER_CONTRACT: &str = "
#if defined(__clang__)
#pragma STDC FP_CONTRACT DEFAULT
#elif !defined(_MSC_VER) && defined(__GNUC__)
#pragma GCC pop_options
#endif
";

/// C converts `void *` by itself, C++ does not.
const PASS: &str = "\
#if defined(__cplusplus)
namespace {
struct ffi_pass {
    void *address;
    template <class T> operator T *() const { return reinterpret_cast<T *>(address); }
};
}
#define FFI_PASS(address) ffi_pass{address}
#else
#define FFI_PASS(address) ((void *)(address))
#endif
";

const AT: &str = "\
/* Unlike pointers, integers may leave their object and wrap. */
static inline void *ffi_at(void *address, int64_t bytes) { return (void *)((uintptr_t)address + (uint64_t)bytes); }
";

/// Returns a function that writes a result, which wraps, and says whether it did.
fn checked(op: Arithmetic) -> String {
    let (name, sign) = match op {
        Arithmetic::Add => ("add", "+"),
        Arithmetic::Sub => ("sub", "-"),
        Arithmetic::Mul => ("mul", "*"),
    };
    let wraps = match op {
        Arithmetic::Add => "((a ^ *to) & (b ^ *to)) < 0",
        Arithmetic::Sub => "((a ^ b) & (a ^ *to)) < 0",
        Arithmetic::Mul => "(a == -1 && b == INT64_MIN) || (a != 0 && *to / a != b)",
    };
    format!(
        "static inline int ffi_{name}(int64_t a, int64_t b, int64_t *to)\n{{\n\
         #if defined(_MSC_VER) || defined(__TINYC__)\n    \
         *to = (int64_t)((uint64_t)a {sign} (uint64_t)b);\n    \
         return {wraps};\n\
         #else\n    \
         return __builtin_{name}_overflow(a, b, to);\n\
         #endif\n}}\n",
    )
}

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
         #endif\n"
    )
}

fn access(of: Type, attribute: &str, start: &str) -> String {
    format!("typedef {} {start}_{};\n", declarator(ty(of), attribute), suffix(of))
}

/// Clang 22 folds `max(c, max(x, c))` to `max(x, c)`, which differs where `x` is not a number.
fn fence(of: Type) -> String {
    let (float, suffix) = (ty(of), suffix(of));
    format!(
        "static inline {float} ffi_fence_{suffix}({float} value)\n{{\n\
         #if defined(__clang__) && defined(__x86_64__)\n    \
         __asm__(\"\" : \"+x\"(value));\n\
         #elif defined(__clang__) && defined(__aarch64__)\n    \
         __asm__(\"\" : \"+w\"(value));\n\
         #endif\n    return value;\n}}\n"
    )
}

fn to_bits(of: Type) -> String {
    let (float, bits, suffix) = (ty(of), unsigned(of), suffix(of));
    format!(
        "static inline {bits} ffi_bits_{suffix}({float} value)\n{{\n    \
         union {{ {float} value; {bits} bits; }} both;\n    \
         both.value = value;\n    return both.bits;\n}}\n"
    )
}

fn half_of(float: &str, name: &str) -> String {
    format!(
        "static inline {float} {name}(uint16_t bits)\n{{\n    \
         union {{ {float} value; uint16_t bits; }} both;\n    \
         both.bits = bits;\n    return both.value;\n}}\n"
    )
}

fn from_bits(of: Type) -> String {
    let (float, bits, suffix) = (ty(of), unsigned(of), suffix(of));
    format!(
        "static inline {float} ffi_float_{suffix}({bits} bits)\n{{\n    \
         union {{ {float} value; {bits} bits; }} both;\n    \
         both.bits = bits;\n    return both.value;\n}}\n"
    )
}
