//! The names of exported symbols, as C sees them; Mach-O adds an underscore in front.

use std::error::Error;
use std::fmt;

/// The prefix of exported functions. The runtime reserves names that continue with an underscore.
pub const PREFIX: &str = "__tvm_ffi_";

/// The symbol of the embedded import tree, read-only bytes; see [`library_bin`](crate::library_bin).
pub const LIBRARY_BIN: &str = "__tvm_ffi__library_bin";

/// The symbol of the library context, a writable pointer: the loader writes the borrowed module of the library into it.
/// NULL before.
pub const LIBRARY_CTX: &str = "__tvm_ffi__library_ctx";

/// The prefix of context symbols, pointers that Apache TVM's loader fills in a library that defines them. So can any
/// loader with names of its own; see `TVMFFIEnvModRegisterContextSymbol`.
pub const CONTEXT_PREFIX: &str = "__TVM";

/// The prefix of the function that returns a function's metadata.
pub const METADATA_PREFIX: &str = "__tvm_ffi__metadata_";

/// The prefix of the function that returns a function's documentation.
pub const DOC_PREFIX: &str = "__tvm_ffi__doc_";

/// The symbol of `main`, the function that a call of the module calls.
pub const MAIN: &str = "__tvm_ffi_main";

/// The largest length of a function's name, in bytes.
pub const MAX_NAME: usize = 255;

/// Returns whether a loader fills, or reads, a variable of this name in a library: a [context symbol](CONTEXT_PREFIX), or
/// a name that the runtime reserves. Such a variable has to be exported.
///
/// ```
/// use tvm_ffi_abi_spec::symbol::{LIBRARY_CTX, is_for_loader};
///
/// assert!(is_for_loader(LIBRARY_CTX) && is_for_loader("__TVMFFIFunctionCall"));
/// assert!(!is_for_loader("__tvm_ffi_add_one"));
/// ```
pub fn is_for_loader(name: &str) -> bool {
    let reserved = name.strip_prefix(PREFIX).is_some_and(|rest| rest.starts_with('_'));
    reserved || name.starts_with(CONTEXT_PREFIX)
}

/// Returns the symbol of the function `name`.
pub fn function_symbol(name: &str) -> String {
    format!("{PREFIX}{name}")
}

/// Returns the name that a symbol has in a system library with a prefix. A system library is linked into a program, and
/// registers its symbols under these names with [`ENV_MOD_REGISTER_SYSTEM_LIB_SYMBOL`].
///
/// ```
/// use tvm_ffi_abi_spec::symbol::{LIBRARY_CTX, system_symbol};
///
/// assert_eq!(system_symbol("my_", "__tvm_ffi_add_one"), "__tvm_ffi_my_add_one");
/// assert_eq!(system_symbol("my_", LIBRARY_CTX), "my___tvm_ffi__library_ctx");
/// ```
///
/// [`ENV_MOD_REGISTER_SYSTEM_LIB_SYMBOL`]: crate::runtime::ENV_MOD_REGISTER_SYSTEM_LIB_SYMBOL
pub fn system_symbol(prefix: &str, symbol: &str) -> String {
    match symbol.strip_prefix(PREFIX) {
        Some(function) if !function.starts_with('_') => format!("{PREFIX}{prefix}{function}"),
        Some(_) | None => format!("{prefix}{symbol}"),
    }
}

/// Checks that a function can have this name.
///
/// The runtime accepts any bytes that the object format accepts. Names here are ASCII identifiers, which every
/// assembler, linker and caller can spell, without a leading underscore, which the runtime reserves.
///
/// ```
/// use tvm_ffi_abi_spec::symbol::{NameError, validate_name};
///
/// assert_eq!(validate_name("add_one"), Ok(()));
/// assert_eq!(validate_name("_doc_add_one"), Err(NameError::LeadingUnderscore));
/// ```
pub fn validate_name(name: &str) -> Result<(), NameError> {
    if name.is_empty() {
        return Err(NameError::Empty);
    }
    if name.len() > MAX_NAME {
        return Err(NameError::TooLong { bytes: name.len() });
    }
    if name.starts_with('_') {
        return Err(NameError::LeadingUnderscore);
    }
    if name.starts_with(|c: char| c.is_ascii_digit()) {
        return Err(NameError::LeadingDigit);
    }
    match name.char_indices().find(|(_, c)| !(c.is_ascii_alphanumeric() || *c == '_')) {
        Some((offset, found)) => Err(NameError::Character { offset, found }),
        None => Ok(()),
    }
}

/// The error of a name that no function can have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NameError {
    /// The name is empty.
    Empty,
    /// The name is longer than [`MAX_NAME`].
    TooLong {
        /// The length in bytes.
        bytes: usize,
    },
    /// The name starts with `_`.
    LeadingUnderscore,
    /// The name starts with a digit.
    LeadingDigit,
    /// The name contains a character other than an ASCII letter, a digit or `_`.
    Character {
        /// The byte offset of the character.
        offset: usize,
        /// The character.
        found: char,
    },
}

impl fmt::Display for NameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NameError::Empty => f.write_str("the name is empty"),
            NameError::TooLong { bytes } => {
                write!(f, "the name has {bytes} bytes, more than {MAX_NAME}")
            }
            NameError::LeadingUnderscore => {
                f.write_str("the name starts with `_`, which is reserved for the runtime")
            }
            NameError::LeadingDigit => f.write_str("the name starts with a digit"),
            NameError::Character { offset, found } => {
                write!(
                    f,
                    "the name holds {found:?} at byte {offset}, not an ASCII letter, digit or `_`"
                )
            }
        }
    }
}

impl Error for NameError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_ascii_identifiers() {
        let long = "a".repeat(MAX_NAME + 1);
        let rows = [
            ("a", Ok(())),
            ("main", Ok(())),
            ("Add_1_", Ok(())),
            (&long[1..], Ok(())),
            ("", Err(NameError::Empty)),
            (&long, Err(NameError::TooLong { bytes: 256 })),
            ("_", Err(NameError::LeadingUnderscore)),
            ("_library_bin", Err(NameError::LeadingUnderscore)),
            ("1a", Err(NameError::LeadingDigit)),
            ("a.b", Err(NameError::Character { offset: 1, found: '.' })),
            ("añ", Err(NameError::Character { offset: 1, found: 'ñ' })),
            ("a\0", Err(NameError::Character { offset: 1, found: '\0' })),
        ];
        for (name, expected) in rows {
            assert_eq!(validate_name(name), expected, "{name:?}");
        }
    }

    #[test]
    fn reserved_symbols_belong_to_no_function() {
        assert_eq!(function_symbol("main"), MAIN);
        for reserved in [LIBRARY_BIN, LIBRARY_CTX, METADATA_PREFIX, DOC_PREFIX] {
            let name = reserved.strip_prefix(PREFIX).expect("reserved symbols have the prefix");
            assert_eq!(validate_name(name), Err(NameError::LeadingUnderscore));
        }
    }
}
