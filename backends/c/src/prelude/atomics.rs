//! Atomic operations: built-in functions of compilers.

use codegen::ir::Type;

use crate::types::{suffix, ty};

/// The declarations of Microsoft's operations.
pub(super) const INTERLOCKED: &str = "\
#if defined(_MSC_VER)
#include <intrin.h>
#endif
";

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
pub(super) fn atomic_load(of: Type) -> String {
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
         #endif\n}}\n",
    )
}

/// Returns a function that writes with release ordering.
pub(super) fn atomic_store(of: Type) -> String {
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
         #endif\n}}\n",
    )
}

/// Returns a function that exchanges, and returns the old value. TinyCC has no atomic operations but its assembler.
pub(super) fn exchange(of: Type) -> String {
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
         #endif\n}}\n",
    )
}
