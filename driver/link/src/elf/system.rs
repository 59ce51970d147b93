//! The parts of the target's C library that kernels use: stubs of the [stated](crate::glibc::STATED) one, or the
//! files of a sysroot; never those of this machine.

use std::collections::BTreeMap;

use super::archived;
use super::stub::{Stub, Versioned};
use crate::glibc::{Group, Table};
use crate::search::{Search, is_gnu};
use crate::{Error, Input, Options, Taken, Target, is_ours};

/// Part of a C library for GNU/Linux that becomes a part of every library that uses it: `atexit` is there.
const ARCHIVE: &str = "libc_nonshared.a";

/// Returns what every library has a copy of: the archive of a sysroot, or the functions that the inputs use.
pub(super) fn copied(
    inputs: &[Input],
    options: &Options,
    target: &Target<'_>,
) -> Result<Vec<Input>, Error> {
    if !is_gnu(target.triple) {
        return Ok(Vec::new());
    }
    if options.sysroot.is_none() {
        return archived::objects(inputs, target.machine);
    }
    let found = Search::new(options).file(ARCHIVE).map(|path| Input::read(&path)).transpose()?;
    Ok(found.filter(|archive| fits(archive, target)).into_iter().collect())
}

/// Returns whether a file is for the target.
fn fits(input: &Input, target: &Target<'_>) -> bool {
    input.objects().iter().all(|facts| facts.header == target.header())
}

/// Returns the parts of the C library that the inputs use.
///
/// # Errors
/// [`Error::CLibrary`] for a symbol that it does not have, unless the library is loaded into this process only.
pub(super) fn libraries(
    inputs: &[Input],
    options: &Options,
    target: &Target<'_>,
) -> Result<Vec<Input>, Error> {
    let (mut wanted, taken) = (Uses::new(), Taken::of(inputs));
    // The C library is no definition of a symbol that the output must define.
    let free = taken.undefined.iter().filter(|(name, _)| !taken.bound.contains_key(**name));
    for (&name, &must) in free.filter(|(name, _)| !is_ours(name)) {
        let (base, version) = versioned(name);
        wanted.entry(base).or_default().push(Use { name, version, must });
    }
    if !is_gnu(target.triple) || !wanted.values().flatten().any(|user| user.must) {
        return Ok(Vec::new());
    }
    let table = Table::of(target.machine);
    let (parts, absent) = if options.sysroot.is_some() {
        of_sysroot(table, wanted, options, target)?
    } else {
        stated(table, wanted, inputs, target)?
    };
    let absent = absent.filter(|_| !options.in_process);
    absent.map_or(Ok(parts), |(name, version)| {
        let user = inputs.iter().find(|input| input.uses_bytes(name));
        Err(Error::CLibrary {
            file: user.map_or_else(String::new, |input| input.name().to_owned()),
            symbol: String::from_utf8_lossy(name).into_owned(),
            version: version.to_owned(),
            sysroot: options.sysroot.clone(),
        })
    })
}

/// A reference to a symbol that no input defines.
struct Use<'a> {
    name: &'a [u8],
    /// The version in the name, as in `memcpy@GLIBC_2.2.5`.
    version: Option<&'a str>,
    must: bool,
}

/// The references to each symbol, by its name without a version.
type Uses<'a> = BTreeMap<&'a [u8], Vec<Use<'a>>>;

/// Parts of the C library, and the first symbol that is in none of them but in another C library, with its version.
type Parts<'a> = (Vec<Input>, Option<(&'a [u8], &'a str)>);

/// Splits a name at its version.
fn versioned(name: &[u8]) -> (&[u8], Option<&str>) {
    let Some(at) = name.iter().position(|byte| *byte == b'@') else { return (name, None) };
    let version = str::from_utf8(&name[at..]).ok().map(|version| version.trim_start_matches('@'));
    (&name[..at], version.filter(|version| !version.is_empty()))
}

/// Returns whether a version is another one or an older one of its family.
fn is_up_to(version: &str, other: &str) -> bool {
    let (one, other) = (numbers(version), numbers(other));
    one.zip(other).is_some_and(|(one, other)| one.0 == other.0 && one.1 <= other.1)
}

/// Returns the family and the numbers of a version: `GLIBC_2.2.5` is 2, 2 and 5 of `GLIBC`.
fn numbers(version: &str) -> Option<(&str, Vec<u32>)> {
    let (family, numbers) = version.split_once('_')?;
    let numbers = numbers.split('.').map(|number| number.parse().ok());
    Some((family, numbers.collect::<Option<_>>()?))
}

/// Makes stubs. A library that has only weak symbols of the wanted ones is left out.
fn stated<'a>(
    table: Table,
    mut wanted: Uses<'a>,
    inputs: &[Input],
    target: &Target<'_>,
) -> Result<Parts<'a>, Error> {
    let mut stubs: Vec<(Stub<'_>, bool)> = Vec::new();
    let mut absent = None;
    for Group { file, version, names } in table.groups() {
        for name in names.split_ascii_whitespace() {
            let Some((name, users)) = wanted.remove_entry(name.as_bytes()) else { continue };
            for user in users {
                let of_user = user.version.unwrap_or(version);
                let Some(file) = file.filter(|_| is_up_to(of_user, version)) else {
                    absent = absent.or(user.must.then_some((user.name, of_user)));
                    continue;
                };
                let symbol = Versioned { name, version: of_user, is_default: of_user == version };
                if stubs.last().is_none_or(|(stub, _)| stub.name != file) {
                    stubs.push((Stub { name: file, symbols: Vec::new() }, false));
                }
                let Some((stub, is_needed)) = stubs.last_mut() else { continue };
                if !stub.symbols.contains(&symbol) {
                    stub.symbols.push(symbol);
                }
                *is_needed |= user.must;
            }
        }
        if wanted.is_empty() {
            break;
        }
    }
    let needed = stubs.iter().filter(|(_, is_needed)| *is_needed);
    let parts = needed.map(|(stub, _)| stub.library(inputs, target.machine));
    Ok((parts.collect::<Result<_, _>>()?, absent))
}

/// Reads the files of a sysroot that define any wanted symbol.
fn of_sysroot<'a>(
    table: Table,
    mut wanted: Uses<'a>,
    options: &Options,
    target: &Target<'_>,
) -> Result<Parts<'a>, Error> {
    let must = |users: &[Use<'_>]| users.iter().any(|user| user.must);
    let (search, mut parts) = (Search::new(options), Vec::new());
    for file in table.files() {
        let Some(path) = search.file(file) else { continue };
        let input = Input::read(&path)?;
        let is_part = input.is_library() && fits(&input, target);
        if is_part && wanted.iter().any(|(name, users)| must(users) && input.defines_bytes(name)) {
            wanted.retain(|name, _| !input.defines_bytes(name));
            parts.push(input);
        }
    }
    let absent = table.groups().find_map(|Group { version, names, .. }| {
        let names = names.split_ascii_whitespace();
        let mut users = names.filter_map(|name| wanted.get(name.as_bytes())).flatten();
        users.find(|user| user.must).map(|user| (user.name, version))
    });
    Ok((parts, absent))
}
