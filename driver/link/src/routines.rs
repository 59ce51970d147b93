//! Linked routines: objects of one or a few routines, compiled once for each target.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::io::Cursor;
use std::sync::{Mutex, PoisonError};

use ar_archive_writer::{
    ArchiveKind, DEFAULT_OBJECT_READER, NewArchiveMember, write_archive_to_stream,
};
use codegen::linker::is_linked_routine;
use target_lexicon::Triple;

use super::{Format, Input, Target};
use crate::{Error, ObjectFault};

/// Prefix of the names of routines.
pub(super) const PREFIX: &[u8] = b"tvm_ffi_codegen.";

/// Objects for the targets that this process has linked for.
static COMPILED: Mutex<Vec<(Triple, Vec<Member>)>> = Mutex::new(Vec::new());

/// An object of routines.
struct Member {
    name: Cow<'static, str>,
    defines: Vec<Cow<'static, str>>,
    bytes: Cow<'static, [u8]>,
    /// The parsed object, once it has been linked.
    input: Option<Input>,
}

/// Returns the objects that define the routines among undefined symbols, and those that these objects need.
///
/// # Errors
/// [`Error::Object`] if the routines are of another version of this library; [`Error::Routines`] if there is no code
/// generator for the target.
pub(super) fn wanted(
    undefined: &BTreeSet<&[u8]>,
    inputs: &[Input],
    target: &Triple,
) -> Result<Vec<Input>, Error> {
    let mut names = Vec::new();
    for &bytes in undefined.range(PREFIX..).take_while(|name| name.starts_with(PREFIX)) {
        let name = String::from_utf8_lossy(bytes).into_owned();
        if !is_linked_routine(&name) {
            let user = inputs.iter().find(|input| input.uses_bytes(bytes));
            let file = user.map_or_else(String::new, |input| input.name().to_owned());
            return Err(Error::Object { file, fault: ObjectFault::Routines });
        }
        names.push(name);
    }
    if names.is_empty() { Ok(Vec::new()) } else { with(target, |members| reached(names, members)) }
}

/// Returns the objects that define routines, and those that these objects need.
fn reached(mut names: Vec<String>, members: &mut [Member]) -> Result<Vec<Input>, Error> {
    let mut inputs = Vec::new();
    let mut is_taken = vec![false; members.len()];
    while let Some(name) = names.pop() {
        let defines = |member: &Member| member.defines.iter().any(|defined| *defined == name);
        let Some(at) = members.iter().position(defines) else { continue };
        if std::mem::replace(&mut is_taken[at], true) {
            continue;
        }
        let input = members[at].input()?;
        let wants = input.objects().iter().flat_map(|facts| facts.undefined());
        names.extend(wants.map(|name| String::from_utf8_lossy(name).into_owned()));
        inputs.push((at, input));
    }
    // The order does not depend on the users.
    inputs.sort_by_key(|(at, _)| *at);
    Ok(inputs.into_iter().map(|(_, input)| input).collect())
}

impl Member {
    fn input(&mut self) -> Result<Input, Error> {
        if let Some(input) = &self.input {
            return Ok(input.clone());
        }
        let input = Input::new(format!("{}.o", self.name), self.bytes.to_vec())?;
        self.input = Some(input.clone());
        Ok(input)
    }
}

/// Makes an archive of the routines for objects with [linked routines](codegen::Routines::Linked), for a linker that is
/// not started here.
///
/// # Errors
/// [`Error::UnsupportedLink`] where nothing is linked for the target; [`Error::Routines`] if there is no code generator for
/// it.
///
/// ```
/// use target_lexicon::Triple;
/// use tvm_ffi_codegen_link::{Input, routines_archive};
///
/// let archive = routines_archive(&Triple::host())?;
/// assert!(!Input::new("libroutines.a", archive)?.is_library());
/// # Ok::<(), tvm_ffi_codegen_link::Error>(())
/// ```
pub fn archive(target: &Triple) -> Result<Vec<u8>, Error> {
    let kind = match Target::new(target)?.format {
        Format::Elf => ArchiveKind::Gnu,
        Format::Coff => ArchiveKind::Coff,
        Format::MachO => ArchiveKind::Darwin,
    };
    with(target, |members| {
        let member = |member: &Member| {
            let (bytes, name) = (member.bytes.to_vec(), format!("{}.o", member.name));
            NewArchiveMember::new(bytes, &DEFAULT_OBJECT_READER, name)
        };
        let members: Vec<_> = members.iter().map(member).collect();
        let mut archive = Cursor::new(Vec::new());
        let written = write_archive_to_stream(&mut archive, &members, kind, false, None);
        written.map_err(|error| Error::Linker {
            name: "routines".to_owned(),
            reason: error.to_string(),
        })?;
        Ok(archive.into_inner())
    })
}

/// Calls a function with the objects for a target.
fn with<T>(target: &Triple, f: impl FnOnce(&mut [Member]) -> Result<T, Error>) -> Result<T, Error> {
    let mut compiled = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, members)) = compiled.iter_mut().find(|(triple, _)| triple == target) {
        return f(members);
    }
    let mut members = members(target)?;
    let value = f(&mut members);
    compiled.push((target.clone(), members));
    value
}

#[cfg(not(feature = "routines"))]
fn members(_: &Triple) -> Result<Vec<Member>, Error> {
    Err(Error::NotBuilt { name: "routines for linked objects", feature: "routines" })
}

/// Returns the objects for a target: those of this build, or else those that the backend makes which compiles fastest,
/// because routines are cold.
#[cfg(feature = "routines")]
fn members(target: &Triple) -> Result<Vec<Member>, Error> {
    let known = |object: &'static prebuilt::Object| Member {
        name: object.name.into(),
        defines: object.defines.iter().map(|&name| name.into()).collect(),
        bytes: object.bytes.into(),
        input: None,
    };
    let objects = prebuilt::objects(&target.to_string());
    objects.map_or_else(|| compile(target), |objects| Ok(objects.iter().map(known).collect()))
}

#[cfg(feature = "routines")]
fn compile(target: &Triple) -> Result<Vec<Member>, Error> {
    use backend_cranelift::Cranelift;
    use codegen::ir::Linkage;
    use codegen::linker::linked_routines;
    use codegen::{Backend, Loader};

    let mut members = Vec::new();
    for (name, module) in linked_routines(Loader::of(target)) {
        let bytes = Cranelift::new(target.clone()).object(&module, &[]);
        let bytes = bytes.map_err(|error| Error::Routines { source: Box::new(error) })?;
        let defined = module.symbols.iter().filter(|symbol| symbol.linkage == Linkage::Once);
        let defines = defined.map(|symbol| symbol.name.clone().into()).collect();
        members.push(Member { name: name.into(), defines, bytes: bytes.into(), input: None });
    }
    Ok(members)
}
