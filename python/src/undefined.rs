//! Errors about functions that declarations call and nobody defines.

use abi_spec::symbol::PREFIX;
use codegen::{Call, Function, FunctionCall, FunctionRef, Library, StatementKind};

use crate::fault::Fault;
use crate::ffi::is_global;

/// Most names in a list. A program may give a table of all its kernels.
const LISTED: usize = 8;

/// Makes the error for undefined symbols of a library for which these kernels were given.
pub(crate) fn fault(library: &Library, symbols: &[String], given: &[String]) -> Fault {
    let said: Vec<String> = symbols.iter().map(|symbol| of_symbol(library, symbol)).collect();
    let given = match given {
        [] => "no kernels are given".to_owned(),
        given => format!("given: {}", list(given)),
    };
    Fault::value(format!("undefined: {} ({given})", said.join("; ")))
}

/// Describes a symbol: its callers, and the function of the FFI that may be meant.
fn of_symbol(library: &Library, symbol: &str) -> String {
    let callers = callers(library, symbol);
    let by = match &callers[..] {
        [] => String::new(),
        [caller] => format!(", which `{caller}` calls"),
        callers => format!(", which {} call", list(callers)),
    };
    let own = library.functions.iter().any(|function| function.signature.name == symbol);
    let (name, by_symbol) = match symbol.strip_prefix(PREFIX) {
        Some(name) => (name, true),
        None => (symbol, false),
    };
    let instead = if own {
        FunctionRef::Symbol(symbol.to_owned()).to_string()
    } else if is_global(name) {
        FunctionRef::Name(name.to_owned()).to_string()
    } else {
        return format!("`{symbol}`{by}");
    };
    let called =
        if by_symbol { FunctionRef::Symbol(name.to_owned()).to_string() } else { name.to_owned() };
    format!(
        "`{symbol}`{by}: for the function of TVM FFI write `{instead}(…)` instead of `{called}(…)`"
    )
}

/// Returns the functions that call a symbol, in the order of the library.
pub(crate) fn callers<'a>(library: &'a Library, symbol: &str) -> Vec<&'a str> {
    let calls = |function: &&Function| {
        let mut kernels = function.body.kernel_calls();
        kernels.any(|call| call.symbol() == Some(symbol))
            || function.body.statements().any(|statement| {
                let StatementKind::Call {
                    call: Call::Function(FunctionCall { callee: FunctionRef::Symbol(name), .. }),
                    ..
                } = &statement.kind
                else {
                    return false;
                };
                symbol.strip_prefix(PREFIX) == Some(name)
            })
    };
    library.functions.iter().filter(calls).map(|function| &*function.signature.name).collect()
}

/// Formats the first few names.
fn list(names: &[impl AsRef<str>]) -> String {
    let shown: Vec<String> =
        names.iter().take(LISTED).map(|name| format!("`{}`", name.as_ref())).collect();
    match names.len().checked_sub(LISTED) {
        None | Some(0) => shown.join(", "),
        Some(more) => format!("{} and {more} more", shown.join(", ")),
    }
}
