//! Symbols of a shared library that Wild would bind to nothing, leave out, or panic on: errors that name their file.
//!
//! The first part can go once Wild refuses undefined symbols that other libraries cannot define, which it takes for 0.

use std::collections::BTreeSet;

use crate::input::ObjectFacts;
use crate::machine::HANDLE;
use crate::{Error, Input, ObjectFault, Taken};

/// Symbols that Wild defines in a shared library, and [`HANDLE`], without which on RISC-V, for which there is no code
/// that runs destructors when the library is unloaded, they run when the process ends.
const DEFINED: [&str; 25] = [
    HANDLE,
    "_DYNAMIC",
    "_GLOBAL_OFFSET_TABLE_",
    "_TLS_MODULE_BASE_",
    "__bss_start",
    "__ehdr_start",
    "__end",
    "__etext",
    "__executable_start",
    "__fini_array_end",
    "__fini_array_start",
    "__global_pointer$",
    "__init_array_end",
    "__init_array_start",
    "__preinit_array_end",
    "__preinit_array_start",
    "__rela_iplt_end",
    "__rela_iplt_start",
    "__tdata_start",
    "_edata",
    "_end",
    "_etext",
    "edata",
    "end",
    "etext",
];

/// Checks the symbols of the objects that are taken of the inputs.
///
/// # Errors
/// [`Error::Object`].
pub(super) fn check(inputs: &[Input]) -> Result<(), Error> {
    let taken = Taken::of(inputs);
    let found = absent(&taken).or_else(|| misnamed(&taken));
    found.map_or(Ok(()), |(facts, found, advice)| {
        let fault = ObjectFault::Unlinkable { found, advice };
        Err(Error::Object { file: facts.file.clone(), fault })
    })
}

/// Symbols of an object that Wild cannot take, and the way around them.
type Found<'a> = (&'a ObjectFacts, String, &'static str);

/// Finds a symbol that must be defined in the output, and is not.
fn absent<'a>(taken: &Taken<'a>) -> Option<Found<'a>> {
    let mut bound = taken.bound.iter().filter(|(name, _)| !taken.own.contains(**name)).peekable();
    bound.peek()?;
    let needed: BTreeSet<&[u8]> =
        taken.objects.iter().flat_map(|facts| facts.undefined()).collect();
    let sections: BTreeSet<&[u8]> =
        taken.objects.iter().flat_map(|facts| &facts.sections).map(Vec::as_slice).collect();
    let is_made = |name: &[u8]| {
        let section =
            [b"__start_", &b"__stop_"[..]].iter().find_map(|sort| name.strip_prefix(*sort));
        section.is_some_and(|section| sections.contains(section))
            || DEFINED.iter().any(|known| known.as_bytes() == name)
    };
    let (name, (facts, visibility)) =
        bound.find(|(name, _)| needed.contains(**name) && !is_made(name))?;
    let name = String::from_utf8_lossy(name);
    Some((
        facts,
        format!("the {visibility} symbol `{name}`, which no linked object defines"),
        "link the object that defines it, or let a library do so by default visibility",
    ))
}

/// Finds a defined symbol whose name Wild reads as text, and fails, or takes for a version, and leaves out.
fn misnamed<'a>(taken: &Taken<'a>) -> Option<Found<'a>> {
    let own = taken.objects.iter().filter(|facts| !facts.is_library);
    own.flat_map(|facts| facts.defined().map(|name| (*facts, name))).find_map(|(facts, name)| {
        let shown = String::from_utf8_lossy(name);
        if str::from_utf8(name).is_err() {
            let found = format!("the symbol `{shown}`, whose name is no UTF-8");
            Some((facts, found, "take linker cc or lld"))
        } else if name.contains(&b'@') {
            let found = format!("the symbol `{shown}` of a version, which the library has not");
            Some((facts, found, "leave out its `.symver`"))
        } else {
            None
        }
    })
}
