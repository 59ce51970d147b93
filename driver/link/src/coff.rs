//! Shared libraries for Windows: what they need besides the inputs, what they export, and the options of their linker.
//!
//! Every import names its library, so nothing can be left for the loader. Import libraries of `tvm_ffi.dll` and of the
//! system are made here and hold what the inputs use, so no file of Windows is needed. The library has no start-up
//! code.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Cursor;

use abi_spec::c_library::loader;
use ar_archive_writer::{COFFShortExport, write_import_library};
use target_lexicon::Environment;

use super::machine::facts;
use super::{
    Definition, EXPORTED, Input, Linker, Taken, Target, base_name, c_library, shown, undefined,
};
use crate::object_file::RUNTIME_PREFIX;
use crate::{Error, ObjectFault, Options};

/// The runtime's library.
const RUNTIME: &str = "tvm_ffi.dll";

/// The prefix of a pointer to an imported symbol.
const POINTER: &[u8] = b"__imp_";

/// The function that touches the pages of a frame, as Microsoft's compilers and LLVM call it, and as GCC does.
const PROBE: [&str; 2] = ["__chkstk", "___chkstk_ms"];

/// The symbol that marks objects with floating-point code.
const FLOATS: &str = "_fltused";

/// Symbols of code with thread-local variables, by LLVM and Microsoft's compilers, and by GCC. Start-up code defines
/// the first, a library of the compiler the second.
const LOCAL: [&str; 2] = ["_tls_index", "__emutls_get_address"];

/// The beginning of the image, a symbol that linkers define.
const IMAGE: &str = "__ImageBase";

/// Adds import libraries of the runtime and, unless the linker is a compiler, of the system. Shared libraries among the
/// inputs become import libraries.
pub(super) fn dependencies(
    all: &mut Vec<Input>,
    options: &Options,
    linker: &Linker,
    target: &Target<'_>,
) -> Result<(), Error> {
    let refuse = |option, reason| Err(Error::Option { option, reason });
    if !options.rpath.is_empty() {
        return refuse("rpath", "is not for Windows, which looks for libraries beside the program");
    }
    if options.soname.is_some() {
        return refuse("soname", "is not for Windows, where a library is known by its file");
    }
    if !options.runtime_dependency {
        let reason = "is not for Windows, where every import names its library";
        return refuse("runtime_dependency", reason);
    }
    for input in all.iter_mut().filter(|input| input.is_library()) {
        let names: BTreeSet<&[u8]> =
            input.objects().iter().flat_map(|facts| facts.defined()).collect();
        *input = import_library(&base_name(input.name()), &names, target)?;
    }
    let runtime = runtime_library(all, target)?;
    all.push(runtime);
    if matches!(linker, Linker::Cc(_)) {
        return Ok(());
    }
    let starting = all.iter().flat_map(Input::objects).find(|facts| facts.has_constructors);
    if let Some(facts) = starting {
        let (file, fault) = (facts.file.clone(), ObjectFault::Constructors);
        return Err(Error::Object { file, fault });
    }
    let wanted = imported(all);
    if let Some(name) = wanted.iter().find(|name| is_any(&LOCAL, name)) {
        let user = all
            .iter()
            .flat_map(Input::objects)
            .find(|facts| facts.undefined().any(|used| used == *name));
        let file = user.map_or_else(String::new, |facts| facts.file.clone());
        return Err(Error::Object {
            file,
            fault: ObjectFault::Unlinkable {
                found: "thread-local variables, which need the start-up code of a compiler"
                    .to_owned(),
                advice: "take linker cc, with the compiler of MinGW",
            },
        });
    }
    let mut system: BTreeMap<&str, BTreeSet<&[u8]>> = BTreeMap::new();
    for name in wanted {
        if let Some((library, name)) = in_system(name) {
            system.entry(library).or_default().insert(name);
        }
    }
    let libraries = system.iter().map(|(library, names)| import_library(library, names, target));
    let libraries: Vec<Input> = libraries.collect::<Result<_, _>>()?;
    all.extend(libraries);
    Ok(())
}

/// Returns the library of the system that exports a function, and its name there.
fn in_system(name: &[u8]) -> Option<(&'static str, &[u8])> {
    if is_any(&[loader::LOAD_LIBRARY, loader::GET_PROC_ADDRESS], name) {
        Some(("kernel32.dll", name))
    } else if is_any(&PROBE, name) {
        // GCC's name is an alias of the other one.
        Some(("ntdll.dll", PROBE[0].as_bytes()))
    } else {
        c_library::has(name).then_some(("ucrtbase.dll", name))
    }
}

fn is_any(names: &[&str], name: &[u8]) -> bool {
    names.iter().any(|known| known.as_bytes() == name)
}

/// Returns the undefined names of the inputs, without the prefix of pointers.
fn imported(inputs: &[Input]) -> BTreeSet<&[u8]> {
    undefined(inputs).into_iter().map(|name| name.strip_prefix(POINTER).unwrap_or(name)).collect()
}

/// Returns an import library of the runtime's library with the functions that the inputs use.
pub(super) fn runtime_library(inputs: &[Input], target: &Target<'_>) -> Result<Input, Error> {
    let mut names = imported(inputs);
    names.retain(|name| name.starts_with(RUNTIME_PREFIX.as_bytes()));
    import_library(RUNTIME, &names, target)
}

/// Returns an import library of functions. Names that are not UTF-8 are left out.
fn import_library(
    library: &str,
    names: &BTreeSet<&[u8]>,
    target: &Target<'_>,
) -> Result<Input, Error> {
    let names = names.iter().filter_map(|name| str::from_utf8(name).ok());
    let exports: Vec<COFFShortExport> = names.map(export).collect();
    let coff = facts(target.machine).coff.as_ref();
    let coff = coff.ok_or_else(|| target.refuse("the machine has no import libraries"))?;
    let mut bytes = Cursor::new(Vec::new());
    write_import_library(&mut bytes, library, &exports, coff.import, is_gnu(target), false, &[])
        .map_err(|error| Error::Linker { name: library.to_owned(), reason: error.to_string() })?;
    Input::new(format!("{library}.lib"), bytes.into_inner())
}

fn export(name: &str) -> COFFShortExport {
    COFFShortExport {
        name: name.to_owned(),
        ext_name: None,
        symbol_name: None,
        import_name: None,
        export_as: None,
        ordinal: 0,
        noname: false,
        data: false,
        private: false,
        constant: false,
    }
}

fn is_gnu(target: &Target<'_>) -> bool {
    matches!(target.triple.environment, Environment::Gnu | Environment::GnuLlvm)
}

/// Returns the names that a library exports, and what they are.
fn exports(inputs: &[Input], options: &Options) -> BTreeMap<String, Definition> {
    let shown = shown(inputs, options);
    let is_exported =
        |name: &str| EXPORTED.iter().any(|prefix| name.starts_with(prefix)) || shown.contains(name);
    let all = Taken::of(inputs).defined.into_iter();
    let all = all.filter_map(|(name, definition)| Some((str::from_utf8(name).ok()?, definition)));
    let exported = all.filter(|(name, is)| *is != Definition::Import && is_exported(name));
    exported.map(|(name, definition)| (name.to_owned(), definition)).collect()
}

/// Returns the mark of an export that is data.
fn mark(definition: Definition, mark: &'static str) -> &'static str {
    if definition == Definition::Function { "" } else { mark }
}

/// Returns a module-definition file, which lists the exports.
pub(super) fn definition(inputs: &[Input], options: &Options) -> String {
    let lines = exports(inputs, options).into_iter();
    let lines = lines.map(|(name, is)| format!("  \"{name}\"{}\n", mark(is, " DATA")));
    format!("EXPORTS\n{}", lines.collect::<String>())
}

/// Returns the options of the flavor `link`.
pub(super) fn arguments(inputs: &[Input], options: &Options, target: &Target<'_>) -> Vec<String> {
    let fixed = ["/dll", "/noentry", "/nodefaultlib", "/brepro", "/nologo"].into_iter();
    let machine = facts(target.machine).coff.as_ref().map(|coff| coff.option);
    let mut arguments: Vec<String> = fixed.chain(machine).map(str::to_owned).collect();
    if is_gnu(target) {
        arguments.push("/lldmingw".to_owned());
    }
    for (name, other) in [(FLOATS, IMAGE), (PROBE[1], PROBE[0])] {
        arguments.push(format!("/alternatename:{name}={other}"));
    }
    let exports = exports(inputs, options).into_iter();
    arguments.extend(exports.map(|(name, is)| format!("/export:{name}{}", mark(is, ",DATA"))));
    arguments
}
