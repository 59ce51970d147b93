//! Identifiers: names of C from names of host IR.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use codegen::backend::is_word_of_c;

use crate::Headers;

/// Names that compilers define or know without a header, keywords that C spells with an underscore, and types of
/// `stdint.h`.
const RESERVED: &str = "\
    MIPSEL WIN32 WIN64 WINNT _Alignas _Alignof _Atomic _Bool _Complex _Generic _Imaginary _Noreturn \
    _Static_assert _Thread_local _exit abort abs acos acosh aligned_alloc alloca asin asinh atan atan2 atanh \
    bcmp bcopy bzero cabs calloc carg cbrt ceil cexp clog conj copysign cos cosh cpow csin csqrt div drem \
    erf erfc execl execv exit exp exp10 exp2 expm1 fabs fdim ffs finite floor fma fmax fmin fmod fork \
    fprintf fputc fputs free frexp fscanf fwrite gamma gettext hypot i386 ilogb imaxabs index intmax_t \
    intptr_t isalnum isalpha isascii isblank iscntrl isdigit isgraph isinf islower isnan isprint ispunct \
    isspace isupper isxdigit j0 j1 jn labs ldexp lgamma llabs llrint llround log log10 log1p log2 logb lrint \
    lround malloc memchr mempcpy mips modf nan nearbyint nextafter nexttoward posix_memalign pow pow10 \
    printf ptrdiff_t putchar puts realloc remainder remquo rindex rint round scalb scalbln scalbn scanf \
    signbit significand sin sincos sinh size_t snprintf sparc sprintf sqrt sscanf stpcpy stpncpy strcasecmp \
    strcat strchr strcmp strcpy strcspn strdup strfmon strftime strlen strncasecmp strncat strncmp strncpy \
    strndup strnlen strpbrk strrchr strspn strstr sun tan tanh tgamma toascii tolower toupper trunc \
    uintmax_t uintptr_t vfprintf vprintf vsnprintf vsprintf y0 y1 yn";

/// The words of [`RESERVED`].
static WORDS: LazyLock<HashSet<&str>> = LazyLock::new(|| RESERVED.split(' ').collect());

/// Beginnings of names that headers, compilers, or the text itself define.
const RESERVED_STARTS: &[&str] = &[
    "FFI_",
    "INT",
    "PTRDIFF_",
    "SIG_ATOMIC_",
    "SIZE_",
    "TARGET_OS_",
    "UINT",
    "WCHAR_",
    "WINT_",
    "ffi_",
];

/// Beginnings of names that the runtime's headers define.
const RUNTIME_STARTS: &[&str] = &["DL", "TVM", "kDL", "kTVM"];

/// Returns true if other C before a text may have a macro of this name: of the runtime, or of whoever writes macros in
/// capitals.
fn may_be_macro(text: &str) -> bool {
    let in_capitals = !text.bytes().any(|byte| byte.is_ascii_lowercase());
    in_capitals && !text.ends_with('_')
        || RUNTIME_STARTS.iter().any(|start| text.starts_with(start))
}

/// Beginnings of the names of integer types.
const INTEGERS: &[&str] = &["int", "uint"];

/// The largest number of characters of an identifier that is made here; compilers of C compare at least 63.
const LONGEST: usize = 63;

/// Returns true if the text may be declared as it is.
pub(crate) fn is_free(text: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_alphabetic() || c == '_';
    let is_sized = |rest: &str| rest.ends_with("_t");
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && text.starts_with(is_letter)
        && !is_word_of_c(text)
        && !WORDS.contains(text)
        && !RESERVED_STARTS.iter().any(|start| text.starts_with(start))
        && !INTEGERS.iter().any(|start| text.strip_prefix(start).is_some_and(is_sized))
}

/// The names that are in use: those of a text, and those of a function in it.
#[derive(Default)]
pub(crate) struct Taken<'a> {
    /// The headers of the text, before which other C may stand.
    pub(crate) headers: Headers,
    /// The names of the text around the function.
    pub(crate) outer: Option<&'a HashSet<String>>,
    pub(crate) own: HashSet<String>,
    /// The last number after each name that was in use already.
    pub(crate) numbers: HashMap<String, u32>,
}

impl Taken<'_> {
    /// Returns true if the text may be declared as it is.
    fn is_free(&self, text: &str) -> bool {
        let is_taken = match self.headers {
            Headers::Own => false,
            Headers::Include => may_be_macro(text),
        };
        is_free(text) && !is_taken
    }

    /// Takes a name; returns false if it is in use.
    fn insert(&mut self, name: &str) -> bool {
        let is_outer = self.outer.is_some_and(|outer| outer.contains(name));
        !is_outer && self.own.insert(name.to_owned())
    }

    /// Takes the name, or the first free one with a number after it. Lower numbers stay in use: none is tried twice.
    fn numbered(&mut self, name: String) -> String {
        if self.insert(&name) {
            return name;
        }
        let mut number = self.numbers.get(&name).copied().unwrap_or(1);
        let numbered = loop {
            number += 1;
            let numbered = format!("{name}_{number}");
            if self.insert(&numbered) {
                break numbered;
            }
        };
        self.numbers.insert(name, number);
        numbered
    }
}

/// Returns an identifier that resembles the text and is not among those taken, and takes it.
pub(crate) fn identifier(text: &str, taken: &mut Taken<'_>) -> String {
    let is_short = text.len() <= LONGEST && !text.starts_with('_');
    if is_short && taken.is_free(text) && taken.insert(text) {
        return text.to_owned();
    }
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' };
    let mut name: String = text.chars().map(plain).take(LONGEST).collect();
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        name.insert(0, 'v');
    }
    if !taken.is_free(&name) {
        name.push('_');
    }
    if !taken.is_free(&name) {
        name.insert_str(0, "my_");
    }
    taken.numbered(name)
}

/// Returns true if assemblers take a symbol of this name in quotes. Some of them look into quotes for operators.
pub(crate) fn is_quotable(name: &str) -> bool {
    let fits = |c: char| !c.is_control() && !"\"\\@;,#?".contains(c);
    !name.is_empty() && name.chars().all(fits)
}

/// Returns true if assemblers take a symbol of this name without quotes.
pub(crate) fn is_symbol(name: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_alphabetic() || c == '_' || c == '.' || !c.is_ascii();
    let inner = |c: char| is_letter(c) || c.is_ascii_digit() || c == '$';
    name.starts_with(is_letter) && name.chars().all(inner)
}
