//! `link`: a shared library of objects; and the options that say how, which `emit` has too.

use std::env;

use driver::Options;
use driver::link::{Dependencies, Input, Linker, read, shared_bytes};
use jit::Returned;
use target_lexicon::Triple;

use crate::fault::Fault;
use crate::ffi::{self, Outcome, expected};
use crate::settings::{Settings, element, path};

const KNOWN: &[&str] = &["target", "linker", "rpath", "runtime_dependency"];

/// Links files, each a path or its contents.
pub(crate) fn link(objects: &Returned, options: &Returned) -> Outcome {
    let settings = Settings::read(options, KNOWN)?;
    let input = |(index, object): (usize, Returned)| {
        let (name, bytes) = file(&format!("objects[{index}]"), &object)?;
        Ok(Input::new(name, bytes)?)
    };
    let objects = objects.array().map_err(Fault::ty)?;
    let inputs = objects.iter().enumerate().map(input).collect::<Result<Vec<_>, Fault>>()?;
    if inputs.is_empty() {
        return Err(Fault::value("there are no objects to link"));
    }
    let (linker, target) = (linker(&settings)?, target(&settings)?);
    let library = shared_bytes(&inputs, &linker, &target, &dependencies(&settings)?)?;
    ffi::bytes(&library)
}

/// The name and the contents of a file that is given by its path or as its contents.
pub(crate) fn file(what: &str, value: &Returned) -> Result<(String, Vec<u8>), Fault> {
    if let Ok(bytes) = value.bytes() {
        return Ok((what.to_owned(), bytes.to_vec()));
    }
    let name = value.text().map_err(|_| Fault::ty(expected(what, "str or bytes", value)))?;
    Ok((name.to_owned(), read(&path(name))?))
}

/// Adds the files of option `link`.
pub(crate) fn add_kernels(options: &mut Options, settings: &Settings) -> Result<(), Fault> {
    for (index, object) in settings.list("link")?.iter().enumerate() {
        let (name, bytes) = file(&element("link", index), object)?;
        options.add_kernel(name, bytes)?;
    }
    Ok(())
}

/// Option `target`.
pub(crate) fn target(settings: &Settings) -> Result<Triple, Fault> {
    let Some(name) = settings.text("target")? else { return Ok(Triple::host()) };
    let unknown = |source| driver::Error::Target { name: name.to_owned(), source };
    Ok(name.parse().map_err(unknown)?)
}

/// Option `linker`.
pub(crate) fn linker(settings: &Settings) -> Result<Linker, Fault> {
    match settings.text("linker")? {
        None => Ok(Linker::default()),
        Some("wild") => Ok(Linker::Wild),
        Some("cc") => Ok(Linker::Cc(env::var_os("CC").unwrap_or_else(|| "cc".into()).into())),
        Some(name) => {
            Err(Fault::value(format!("option linker: no linker {name:?}, expected wild or cc")))
        }
    }
}

/// Options `runtime_dependency` and `rpath`.
pub(crate) fn dependencies(settings: &Settings) -> Result<Dependencies, Fault> {
    Ok(Dependencies {
        runtime: settings.flag("runtime_dependency", true)?,
        rpath: settings.texts("rpath")?,
    })
}
