//! Functions that other hosts call besides TVM FFI.

use crate::declaration::Library;
use crate::error::Error;

/// Returns the functions that are meant for a host besides TVM FFI, with their indices: those with these names, or all.
///
/// # Errors
/// [`Error::Registered`] for a name that no function has.
pub(super) fn chosen<'a>(
    library: &'a Library,
    host: &'static str,
    names: &'a [String],
) -> Result<impl Iterator<Item = (usize, &'a crate::Function)>, Error> {
    let named = |name: &str| library.functions.iter().any(|f| f.signature.name == name);
    if let Some(name) = names.iter().find(|name| !named(name)) {
        return Err(Error::Registered { host, name: name.clone() });
    }
    let is_meant = |name: &String| names.is_empty() || names.contains(name);
    let all = library.functions.iter().enumerate();
    Ok(all.filter(move |(_, function)| is_meant(&function.signature.name)))
}
