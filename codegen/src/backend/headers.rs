//! Names that C has: declarations of the runtime's and the system's headers, for a backend whose text may stand beside
//! them, keywords, and macros.

use std::sync::LazyLock;

use rustc_hash::FxHashSet;

use abi_spec::{c_library, layout, runtime, symbol};

pub use abi_spec::runtime::{CType, Function as RuntimeFunction};

/// Returns the function of the runtime that has a name.
///
/// ```
/// use tvm_ffi_codegen::backend::{CType, runtime_function};
///
/// let function = runtime_function("TVMFFIObjectDecRef").unwrap();
/// assert_eq!(function.header(), "tvm/ffi/c_api.h");
/// assert_eq!(function.params, [CType::Ptr("TVMFFIObjectHandle")]);
/// assert_eq!(runtime_function("malloc"), None);
/// ```
pub fn runtime_function(symbol: &str) -> Option<&'static RuntimeFunction> {
    runtime::ALL.iter().find(|function| function.name == symbol)
}

/// Returns whether a symbol is that of a `TVMFFISafeCallType`, whose second parameter, the arguments, is constant.
pub fn is_safe_call(symbol: &str) -> bool {
    symbol.starts_with(symbol::PREFIX)
}

/// Returns whether a struct of this name is defined by `tvm/ffi/c_api.h`, or by the header of DLPack that it includes.
pub fn is_runtime_struct(name: &str) -> bool {
    layout::all().any(|known| known.name == name)
}

/// Returns whether a name is that of a function of the system that lowered code calls.
pub fn is_system_function(symbol: &str) -> bool {
    c_library::ALL.contains(&symbol)
}

/// Returns whether a word is a keyword of C or C++, or one that compilers or common headers of C give a meaning.
///
/// ```
/// use tvm_ffi_codegen::backend::is_word_of_c;
///
/// assert!(["int", "namespace", "NULL", "memcpy"].into_iter().all(is_word_of_c));
/// assert!(!is_word_of_c("add_one"));
/// ```
pub fn is_word_of_c(word: &str) -> bool {
    WORDS.contains(word)
}

/// The words of [`KEYWORDS`] and [`TAKEN`].
static WORDS: LazyLock<FxHashSet<&str>> = LazyLock::new(|| {
    KEYWORDS.split_ascii_whitespace().chain(TAKEN.split_ascii_whitespace()).collect()
});

/// Keywords of C23 and C++23, including C++'s alternative operators.
const KEYWORDS: &str = "alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t
    char32_t char8_t class co_await co_return co_yield compl concept const const_cast consteval constexpr
    constinit continue decltype default delete do double dynamic_cast else enum explicit export extern false
    float for friend goto if inline int long mutable namespace new noexcept not not_eq nullptr operator or
    or_eq private protected public register reinterpret_cast requires restrict return short signed sizeof
    static static_assert static_cast struct switch template this thread_local throw true try typedef typeid
    typename typeof typeof_unqual union unsigned using virtual void volatile wchar_t while xor xor_eq";

/// Functions that compilers call by themselves, the function where programs start, and macros of GNU C and of headers.
const TAKEN: &str =
    "EOF I NULL assert errno linux main memcmp memcpy memmove memset stderr stdin stdout unix";
