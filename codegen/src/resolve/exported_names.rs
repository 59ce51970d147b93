//! Names that a library exports besides those of its functions: that of its entry, and all with the prefix of a system
//! library.

use abi_spec::symbol::Reserved;
use rustc_hash::FxHashSet;

use super::exported;
use super::function::Function;
use crate::declaration::limit::Limit;
use crate::declaration::reserved::spelled_label;
use crate::declaration::{self, Library};
use crate::error::{Error, Part};

/// Name under which the entry is exported too: the function that a call of the module calls.
pub(crate) const MAIN: &str = "main";

/// Checks that the entry is a function of the library and that no other function is called [`MAIN`].
pub(super) fn entry(library: &Library) -> Result<(), Error> {
    let Some(entry) = library.entry.as_deref() else { return Ok(()) };
    if library.functions.iter().all(|function| function.signature.name != entry) {
        return Err(Error::Entry { name: entry.to_owned() });
    }
    let mut all = exported(library).enumerate();
    match all.find(|(_, function)| entry != MAIN && function.signature.name == MAIN) {
        Some((index, function)) => {
            let reason =
                format!("`{MAIN}` is declared twice: it is the name of the entry `{entry}` too");
            Err(Error::invalid(index, function, Part::Name, reason))
        }
        None => Ok(()),
    }
}

/// Checks that the prefix of a system library is a valid name, and that no callee has the name of a symbol that gets
/// the prefix.
pub(super) fn system_lib(
    library: &Library,
    prefix: &str,
    functions: &[Function<'_>],
) -> Result<(), Error> {
    let invalid = |reason| Err(Error::Prefix { prefix: prefix.to_owned(), reason });
    if prefix.is_empty() {
        return Ok(());
    }
    if prefix.len() > Limit::Name.max() {
        return invalid(Limit::Name.to_string());
    }
    if !declaration::is_identifier(prefix) || prefix.starts_with('_') {
        return invalid("it is no identifier that starts with a letter".to_owned());
    }
    let is_taken =
        |symbol: &str| symbol.strip_prefix(prefix).is_some_and(|rest| Reserved::of(rest).is_some());
    let mut symbols = functions.iter().flat_map(|f| f.calls()).map(|(symbol, _)| symbol);
    if let Some(symbol) = symbols.find(|symbol| is_taken(symbol)) {
        return invalid(format!("a kernel has the name `{symbol}`"));
    }
    let entry = library.entry.iter().map(|_| MAIN);
    let own: FxHashSet<&str> =
        exported(library).map(|function| &function.signature.name[..]).chain(entry).collect();
    let is_made = |callee: &&str| {
        let behind = callee.strip_prefix(prefix);
        !own.contains(callee) && behind.is_some_and(|name| own.contains(name))
    };
    match functions.iter().flat_map(Function::imported).find(is_made) {
        Some(callee) => {
            invalid(format!("`@{}` has the name that it gives a function", spelled_label(callee)))
        }
        None => Ok(()),
    }
}
