//! The routines that objects leave to the linker: made once for each target and [`Extent`].

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use backend_cranelift::Cranelift;
use codegen::{Extent, linked_routines};
use target_lexicon::Triple;

use super::Input;
use crate::{Error, ObjectFault};

/// How the names of all routines start.
const PREFIX: &[u8] = b"tvm_ffi_codegen.";

/// What has been compiled in this process.
static COMPILED: Mutex<Vec<(Triple, Extent, Input)>> = Mutex::new(Vec::new());

/// The objects that define the routines among these names.
///
/// # Errors
/// [`Error::Object`] if the routines are of another version of this library; [`Error::Backend`] if there is no code
/// generator for the target.
pub(super) fn objects(
    undefined: &BTreeSet<&[u8]>,
    inputs: &[Input],
    target: &Triple,
) -> Result<Vec<Input>, Error> {
    let mut extents = BTreeSet::new();
    for &name in undefined.range(PREFIX..).take_while(|name| name.starts_with(PREFIX)) {
        let name = String::from_utf8_lossy(name);
        let extent = Extent::of_symbol(&name).ok_or_else(|| {
            let user = inputs.iter().find(|input| input.uses(&name));
            let file = user.map_or_else(String::new, |input| input.name().to_owned());
            Error::Object { file, fault: ObjectFault::Routines }
        })?;
        extents.insert(extent);
    }
    extents.into_iter().map(|extent| object(extent, target)).collect()
}

/// All routines that objects may leave to the linker.
///
/// # Errors
/// [`Error::Backend`] if there is no code generator for the target.
pub(super) fn all(target: &Triple) -> Result<Vec<Input>, Error> {
    Extent::ALL.into_iter().map(|extent| object(extent, target)).collect()
}

/// The routines of an extent. They are cold, so that the backend that compiles fastest will do for all.
fn object(extent: Extent, target: &Triple) -> Result<Input, Error> {
    let mut compiled = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
    let known = compiled.iter().find(|(triple, one, _)| triple == target && *one == extent);
    if let Some((_, _, input)) = known {
        return Ok(input.clone());
    }
    let refused = |error| Error::Backend { name: "cranelift", source: Box::new(error) };
    let bytes = match prebuilt::object(&target.to_string(), extent) {
        Some(bytes) => bytes.to_vec(),
        None => {
            let compiled = Cranelift { triple: target.clone() }.object(&linked_routines(extent));
            compiled.map_err(refused)?
        }
    };
    let input = Input::new("the routines", bytes)?;
    compiled.push((target.clone(), extent, input.clone()));
    Ok(input)
}
