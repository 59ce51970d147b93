//! Names that C and C++ keep for themselves.

/// Keywords of C23 and C++23, and the operators that C++ spells as words.
const KEYWORDS: &str = "alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t
    char32_t char8_t class co_await co_return co_yield compl concept const const_cast consteval constexpr
    constinit continue decltype default delete do double dynamic_cast else enum explicit export extern false
    float for friend goto if inline int long mutable namespace new noexcept not not_eq nullptr operator or
    or_eq private protected public register reinterpret_cast requires restrict return short signed sizeof
    static static_assert static_cast struct switch template this thread_local throw true try typedef typeid
    typename typeof typeof_unqual union unsigned using virtual void volatile wchar_t while xor xor_eq";

/// What compilers call by themselves, the function where programs start, and words that GNU C defines as
/// macros.
const TAKEN: &str = "linux main memcmp memcpy memmove memset unix";

/// True for what can be the name of neither a C function nor a parameter of one.
pub(crate) fn is_c_word(word: &str) -> bool {
    let mut words = KEYWORDS.split_ascii_whitespace().chain(TAKEN.split_ascii_whitespace());
    words.any(|known| known == word) || is_type(word) || is_macro(word)
}

/// The types that prototypes mention.
fn is_type(word: &str) -> bool {
    let is_integer = |word: &str| word.starts_with("int") || word.starts_with("uint");
    word == "DLTensor" || word.starts_with("TVMFFI") || is_integer(word) && word.ends_with("_t")
}

/// The macros of `<stdint.h>` are named like this.
fn is_macro(word: &str) -> bool {
    let endings = ["_MAX", "_MIN", "_WIDTH", "_C"];
    endings.iter().any(|ending| word.ends_with(ending))
        && word.bytes().all(|byte| !byte.is_ascii_lowercase())
}
