//! Functions of the C library that kernels and code generators use, for linking without the files of a system: each is
//! exported by `ucrtbase.dll` of Windows 10 and newer and by `libSystem` of macOS.

/// Names in the order of their bytes. Windows exports few more of the mathematics for `float`.
#[rustfmt::skip]
pub(super) const NAMES: &[&str] = &[
    "abort", "abs", "acos", "acosf", "acosh", "acoshf", "asin", "asinf", "asinh", "asinhf", "atan", "atan2",
    "atan2f", "atanf", "atanh", "atanhf", "bsearch", "calloc", "cbrt", "cbrtf", "ceil", "ceilf", "copysign",
    "copysignf", "cos", "cosf", "cosh", "coshf", "erf", "erfc", "erfcf", "erff", "exit", "exp", "exp2",
    "exp2f", "expf", "expm1", "expm1f", "fabs", "fdim", "fdimf", "floor", "floorf", "fma", "fmaf", "fmax",
    "fmaxf", "fmin", "fminf", "fmod", "fmodf", "free", "frexp", "getenv", "hypot", "ilogb", "ilogbf", "labs",
    "ldexp", "lgamma", "lgammaf", "llabs", "llrint", "llrintf", "llround", "llroundf", "log", "log10",
    "log10f", "log1p", "log1pf", "log2", "log2f", "logb", "logbf", "logf", "lrint", "lrintf", "lround",
    "lroundf", "malloc", "memchr", "memcmp", "memcpy", "memmove", "memset", "modf", "modff", "nan", "nanf",
    "nearbyint", "nearbyintf", "nextafter", "nextafterf", "pow", "powf", "qsort", "realloc", "remainder",
    "remainderf", "rint", "rintf", "round", "roundf", "scalbn", "scalbnf", "sin", "sinf", "sinh", "sinhf",
    "sqrt", "sqrtf", "strchr", "strcmp", "strlen", "strncmp", "strrchr", "strstr", "strtod", "strtol",
    "strtoll", "strtoul", "strtoull", "tan", "tanf", "tanh", "tanhf", "tgamma", "tgammaf", "trunc", "truncf",
];

/// Returns whether a function is known.
pub(super) fn has(name: &[u8]) -> bool {
    NAMES.binary_search_by(|known| known.as_bytes().cmp(name)).is_ok()
}
