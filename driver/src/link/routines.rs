//! The routines that objects leave to the linker: made once for each target and [`Extent`].

use std::collections::BTreeSet;
use std::io::Cursor;
use std::sync::{Arc, Mutex, PoisonError};

use ar_archive_writer::{
    ArchiveKind, DEFAULT_OBJECT_READER, NewArchiveMember, write_archive_to_stream,
};
use backend_cranelift::Cranelift;
use codegen::{Extent, linked_routines};
use target_lexicon::Triple;

use super::{Input, linkable};
use crate::{Error, ObjectFault};

/// How the names of all routines start.
pub(super) const PREFIX: &[u8] = b"tvm_ffi_codegen.";

/// What has been compiled in this process.
static COMPILED: Mutex<Vec<(Triple, Extent, Input)>> = Mutex::new(Vec::new());

/// What a linker is to add.
#[derive(Default)]
pub(super) struct Routines {
    /// The object that defines them.
    pub(super) object: Option<Input>,
    /// Names that objects of lesser extents have for them, and what they are called there.
    pub(super) aliases: Vec<(String, String)>,
}

/// What defines the routines among these names: one copy for objects of whatever extents.
///
/// # Errors
/// [`Error::Object`] if the routines are of another version of this library; [`Error::Backend`] if there is no code
/// generator for the target.
pub(super) fn wanted(
    undefined: &BTreeSet<&[u8]>,
    inputs: &[Input],
    target: &Triple,
) -> Result<Routines, Error> {
    let mut names = Vec::new();
    for &name in undefined.range(PREFIX..).take_while(|name| name.starts_with(PREFIX)) {
        let name = String::from_utf8_lossy(name).into_owned();
        let extent = Extent::of_symbol(&name).ok_or_else(|| {
            let user = inputs.iter().find(|input| input.uses(&name));
            let file = user.map_or_else(String::new, |input| input.name().to_owned());
            Error::Object { file, fault: ObjectFault::Routines }
        })?;
        names.push((name, extent));
    }
    let Some(extent) = names.iter().map(|(_, extent)| *extent).reduce(Extent::join) else {
        return Ok(Routines::default());
    };
    let lesser = names.into_iter().filter(|(_, one)| *one != extent);
    let aliases = lesser.filter_map(|(name, _)| extent.symbol_for(&name).map(|own| (name, own)));
    Ok(Routines { object: Some(object(extent, target)?), aliases: aliases.collect() })
}

/// An archive of the routines that objects with [linked routines](codegen::Routines::Linked) want, for a linker that is not
/// started here: it takes the members that are wanted.
///
/// # Errors
/// [`Error::UnsupportedLink`] where libraries are not in ELF; [`Error::Backend`] if there is no code generator for the
/// target.
///
/// ```
/// use target_lexicon::Triple;
/// use tvm_ffi_codegen_driver::link::{Input, routines_archive};
///
/// let archive = routines_archive(&Triple::host())?;
/// assert!(!Input::new("libroutines.a", archive)?.is_library());
/// # Ok::<(), tvm_ffi_codegen_driver::Error>(())
/// ```
pub fn archive(target: &Triple) -> Result<Vec<u8>, Error> {
    linkable(target)?;
    let member = |(name, extent): (&str, Extent)| {
        let bytes = Bytes(object(extent, target)?.shared_bytes());
        Ok(NewArchiveMember::new(bytes, &DEFAULT_OBJECT_READER, format!("{name}.o")))
    };
    let members = Extent::KNOWN.into_iter().map(member).collect::<Result<Vec<_>, Error>>()?;
    let mut archive = Cursor::new(Vec::new());
    let written = write_archive_to_stream(&mut archive, &members, ArchiveKind::Gnu, false, None);
    written.map_err(|source| Error::Write { path: "the archive".into(), source })?;
    Ok(archive.into_inner())
}

/// The contents of a member.
struct Bytes(Arc<Vec<u8>>);

impl AsRef<[u8]> for Bytes {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
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
