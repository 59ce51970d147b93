//! The parts of the target's C library that kernels use: stubs of the [stated](glibc::STATED) one, or the files of a
//! sysroot; never those of this machine.

use std::collections::BTreeMap;

use super::glibc::Table;
use super::stub::Stub;
use crate::link::search::{Search, is_gnu};
use crate::link::{Input, Target, is_ours, wanted};
use crate::{Error, Request};

/// Returns whether the library of `-l name` is a part of the C library, which is then added where it is used.
pub(in crate::link) fn is_part(name: &str, target: &Target<'_>) -> bool {
    is_gnu(target.triple) && Table::of(target.machine).has_library(name)
}

/// Returns the parts of the C library that the inputs use.
///
/// # Errors
/// [`Error::CLibrary`] for a symbol that it does not have, unless the library is loaded into this process only.
pub(super) fn libraries(
    inputs: &[Input],
    request: &Request,
    target: &Target<'_>,
) -> Result<Vec<Input>, Error> {
    let mut wanted = wanted(inputs);
    wanted.retain(|name, _| !is_ours(name));
    if !is_gnu(target.triple) || !wanted.values().any(|must| *must) {
        return Ok(Vec::new());
    }
    let table = Table::of(target.machine);
    let (parts, absent) = if request.sysroot.is_some() {
        of_sysroot(table, wanted, request, target)?
    } else {
        stated(table, wanted, inputs, target)?
    };
    let absent = absent.filter(|_| !request.in_process);
    absent.map_or(Ok(parts), |(name, version)| {
        let user = inputs.iter().find(|input| input.uses_bytes(name));
        Err(Error::CLibrary {
            file: user.map_or_else(String::new, |input| input.name().to_owned()),
            symbol: String::from_utf8_lossy(name).into_owned(),
            version,
            sysroot: request.sysroot.clone(),
        })
    })
}

/// Parts of the C library, and the first symbol that is in none of them but in another C library, with its version.
type Parts<'a> = (Vec<Input>, Option<(&'a [u8], &'static str)>);

/// Symbols that no input defines, and whether any needs them strongly.
type Wanted<'a> = BTreeMap<&'a [u8], bool>;

/// Makes stubs. A library that has only weak symbols of the wanted ones is left out.
fn stated<'a>(
    table: Table,
    mut wanted: Wanted<'a>,
    inputs: &[Input],
    target: &Target<'_>,
) -> Result<Parts<'a>, Error> {
    let mut stubs: Vec<(Stub<'_>, bool)> = Vec::new();
    for group in table.groups() {
        for name in group.names() {
            let Some((name, must)) = wanted.remove_entry(name) else { continue };
            let Some(file) = group.file else {
                if must {
                    return Ok((Vec::new(), Some((name, group.version))));
                }
                continue;
            };
            if stubs.last().is_none_or(|(stub, _)| stub.name != file) {
                stubs.push((Stub { name: file, symbols: Vec::new() }, false));
            }
            if let Some((stub, is_needed)) = stubs.last_mut() {
                stub.symbols.push((name, group.version));
                *is_needed |= must;
            }
        }
        if wanted.is_empty() {
            break;
        }
    }
    let needed = stubs.iter().filter(|(_, is_needed)| *is_needed);
    let parts = needed.map(|(stub, _)| stub.library(inputs, target.machine));
    Ok((parts.collect::<Result<_, _>>()?, None))
}

/// Reads the files of a sysroot that define any wanted symbol.
fn of_sysroot<'a>(
    table: Table,
    mut wanted: Wanted<'a>,
    request: &Request,
    target: &Target<'_>,
) -> Result<Parts<'a>, Error> {
    let (search, mut parts) = (Search::new(request), Vec::new());
    for file in table.files() {
        let Some(path) = search.file(file) else { continue };
        let input = Input::read(&path)?;
        let fits = input.is_library()
            && input.objects().iter().all(|facts| facts.machine == target.machine);
        if fits && wanted.iter().any(|(name, must)| *must && input.defines_bytes(name)) {
            wanted.retain(|name, _| !input.defines_bytes(name));
            parts.push(input);
        }
    }
    let absent = table.groups().find_map(|group| {
        let mut names = group.names().filter_map(|name| wanted.get_key_value(name));
        names.find(|(_, must)| **must).map(|(name, _)| (*name, group.version))
    });
    Ok((parts, absent))
}
