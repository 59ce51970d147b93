//! Names of exported symbols, as C sees them; Mach-O puts one more underscore in front.

use std::error::Error;
use std::fmt;

/// In front of the name of every exported function. A further underscore is the runtime's own.
pub const PREFIX: &str = "__tvm_ffi_";

/// The library's embedded import tree, read-only bytes; see [`library_bin`](crate::library_bin).
pub const LIBRARY_BIN: &str = "__tvm_ffi__library_bin";

/// A writable pointer, NULL at first, into which the loader writes the borrowed module of the library.
pub const LIBRARY_CTX: &str = "__tvm_ffi__library_ctx";

/// In front of the name of a function: the getter of its metadata.
pub const METADATA_PREFIX: &str = "__tvm_ffi__metadata_";

/// In front of the name of a function: the getter of its documentation.
pub const DOC_PREFIX: &str = "__tvm_ffi__doc_";

/// The function that calling a module calls: the one named `main`.
pub const MAIN: &str = "__tvm_ffi_main";

/// The longest name of a function, in bytes.
pub const MAX_NAME: usize = 255;

/// The symbol of the function `name`.
pub fn function_symbol(name: &str) -> String {
    format!("{PREFIX}{name}")
}

/// What a symbol of a library is called as one of the system library of a prefix: linked into a program, and
/// found there by what [`ENV_MOD_REGISTER_SYSTEM_LIB_SYMBOL`] was told, under this very name.
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

/// Says whether a function can have this name.
///
/// The runtime takes any bytes that the object format takes. We take ASCII identifiers, which every
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

/// Why a function cannot have a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NameError {
    /// It has no characters.
    Empty,
    /// It is longer than [`MAX_NAME`].
    TooLong {
        /// Its length.
        bytes: usize,
    },
    /// It starts with `_`.
    LeadingUnderscore,
    /// It starts with a digit.
    LeadingDigit,
    /// It holds something else than ASCII letters, digits and `_`.
    Character {
        /// Where, in bytes.
        offset: usize,
        /// What.
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
