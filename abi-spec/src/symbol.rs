//! The names of exported symbols, as C sees them; Mach-O adds an underscore in front.

use std::error::Error;
use std::fmt;

/// The prefix of exported functions. Of the names that continue with an underscore the runtime has a
/// [use](Reserved) for some.
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

/// The prefix of the image of GPU kernels that a macro of the runtime's headers embeds.
pub const CUBIN_PREFIX: &str = "__tvm_ffi__cubin_";

/// The symbol of `main`, the function that a call of the module calls.
pub const MAIN: &str = "__tvm_ffi_main";

/// The largest length of a function's name, in bytes: 1,000 characters of any script.
pub const MAX_NAME: usize = 4096;

/// Returns whether a loader fills, or reads, a variable of this name in a library: a [context symbol](CONTEXT_PREFIX),
/// or a name that the runtime reserves. Such a variable has to be exported.
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
        Some(function) if Reserved::of(symbol).is_none() => format!("{PREFIX}{prefix}{function}"),
        Some(_) | None => format!("{prefix}{symbol}"),
    }
}

/// A use that the runtime, or a macro of its headers, has for symbols that begin with [`PREFIX`] and another
/// underscore.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reserved {
    /// [`LIBRARY_CTX`].
    Context,
    /// [`LIBRARY_BIN`].
    ImportTree,
    /// The function that returns the metadata of this function.
    Metadata(String),
    /// The function that returns the documentation of this function.
    Doc(String),
    /// The image of GPU kernels of this name.
    Cubin(String),
}

impl Reserved {
    /// Returns the use of a symbol that is not free for a function.
    ///
    /// ```
    /// use tvm_ffi_abi_spec::symbol::Reserved;
    ///
    /// let use_of = Reserved::of("__tvm_ffi__doc_add_one").unwrap();
    /// assert_eq!(use_of.to_string(), "the documentation of `add_one`");
    /// assert_eq!(Reserved::of("__tvm_ffi__add_one"), None);
    /// ```
    pub fn of(symbol: &str) -> Option<Reserved> {
        let named = |prefix: &str| symbol.strip_prefix(prefix).map(str::to_owned);
        match symbol {
            LIBRARY_CTX => Some(Reserved::Context),
            LIBRARY_BIN => Some(Reserved::ImportTree),
            _ => named(METADATA_PREFIX)
                .map(Reserved::Metadata)
                .or_else(|| named(DOC_PREFIX).map(Reserved::Doc))
                .or_else(|| named(CUBIN_PREFIX).map(Reserved::Cubin)),
        }
    }
}

impl fmt::Display for Reserved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reserved::Context => f.write_str("the context of the library"),
            Reserved::ImportTree => f.write_str("the import tree of the library"),
            Reserved::Metadata(name) => write!(f, "the metadata of `{name}`"),
            Reserved::Doc(name) => write!(f, "the documentation of `{name}`"),
            Reserved::Cubin(name) => write!(f, "the image `{name}` of GPU kernels"),
        }
    }
}

/// Checks that a function can have this name.
///
/// The runtime accepts any bytes that the object format accepts. Names here are one line of text, which C strings,
/// lists of symbols and messages can hold. The name may begin with an underscore if its symbol is not one that the
/// runtime has a [use](Reserved) for: a loader would read the function as data, or call it for a text.
///
/// ```
/// use tvm_ffi_abi_spec::symbol::{NameError, Reserved, validate_name};
///
/// assert_eq!(validate_name("add_one"), Ok(()));
/// assert_eq!(validate_name("_add.one"), Ok(()));
/// let reserved = NameError::Reserved {
///     symbol: "__tvm_ffi__doc_add_one".to_owned(),
///     used: Reserved::Doc("add_one".to_owned()),
/// };
/// assert_eq!(validate_name("_doc_add_one"), Err(reserved));
/// ```
pub fn validate_name(name: &str) -> Result<(), NameError> {
    if name.is_empty() {
        return Err(NameError::Empty);
    }
    if name.len() > MAX_NAME {
        return Err(NameError::TooLong { bytes: name.len() });
    }
    if let Some((offset, found)) = name.char_indices().find(|(_, c)| c.is_control()) {
        return Err(NameError::Control { offset, found });
    }
    if !name.starts_with('_') {
        return Ok(());
    }
    let symbol = function_symbol(name);
    Reserved::of(&symbol).map_or(Ok(()), |used| Err(NameError::Reserved { symbol, used }))
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
    /// The name contains a control character.
    Control {
        /// The byte offset of the character.
        offset: usize,
        /// The character.
        found: char,
    },
    /// The symbol of the function has another use.
    Reserved {
        /// The symbol.
        symbol: String,
        /// Its use.
        used: Reserved,
    },
}

impl fmt::Display for NameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NameError::Empty => f.write_str("the name is empty"),
            NameError::TooLong { bytes } => {
                write!(f, "the name has {bytes} bytes, more than {MAX_NAME}")
            }
            NameError::Control { offset, found } => {
                write!(f, "the name holds the control character {found:?} at byte {offset}")
            }
            NameError::Reserved { symbol, used } => {
                write!(f, "its symbol `{symbol}` is that of {used}")
            }
        }
    }
}

impl Error for NameError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_one_line_of_text() {
        let long = "ä".repeat(MAX_NAME / 2) + "a";
        let control = |offset, found| Err(NameError::Control { offset, found });
        let rows = [
            ("a", Ok(())),
            ("main", Ok(())),
            ("Add_1_", Ok(())),
            ("_", Ok(())),
            ("_library", Ok(())),
            ("1 a.b-ñ`\"%\\$@*", Ok(())),
            (&long[..MAX_NAME], Ok(())),
            ("", Err(NameError::Empty)),
            (&long, Err(NameError::TooLong { bytes: MAX_NAME + 1 })),
            ("a\0", control(1, '\0')),
            ("ñ\n", control(2, '\n')),
            ("\u{85}", control(0, '\u{85}')),
        ];
        for (name, expected) in rows {
            assert_eq!(validate_name(name), expected, "{name:?}");
        }
    }

    #[test]
    fn reserved_symbols_belong_to_no_function() {
        assert_eq!(function_symbol("main"), MAIN);
        let rows = [
            ("_library_bin", "the import tree of the library"),
            ("_library_ctx", "the context of the library"),
            ("_metadata_f", "the metadata of `f`"),
            ("_doc_", "the documentation of ``"),
            ("_cubin_k_end", "the image `k_end` of GPU kernels"),
        ];
        for (name, used) in rows {
            let error = validate_name(name).expect_err(name).to_string();
            assert_eq!(error, format!("its symbol `__tvm_ffi_{name}` is that of {used}"));
        }
    }

    #[test]
    fn the_prefix_of_a_system_library_stands_before_the_name_of_a_function() {
        let rows = [
            ("f", "__tvm_ffi_my_f"),
            ("_f", "__tvm_ffi_my__f"),
            ("my f", "__tvm_ffi_my_my f"),
            ("_metadata_f", "my___tvm_ffi__metadata_f"),
            ("_library_bin", "my___tvm_ffi__library_bin"),
        ];
        for (name, expected) in rows {
            assert_eq!(system_symbol("my_", &function_symbol(name)), expected);
        }
    }
}
