//! `emit`: declarations as text, objects and shared libraries.

use clap::ValueEnum;
use driver::{Form, Options, Routines};
use jit::Returned;

use crate::declared::{library, lowering};
use crate::fault::Fault;
use crate::ffi::{self, Outcome};
use crate::link::{add_kernels, dependencies, linker, target};
use crate::settings::Settings;

const KNOWN: &[&str] = &[
    "form",
    "backend",
    "target",
    "cpu",
    "optimization",
    "link",
    "linker",
    "rpath",
    "runtime_dependency",
    "images",
    "imports",
    "prepare",
    "entry",
    "system_lib",
    "metadata",
    "routines",
    "unchecked",
];

/// The C header of the functions after `extern`, which is no form of the library.
const HEADER: &str = "header";

/// Compiles a text as the options say.
pub(crate) fn emit(text: &str, options: &Returned) -> Outcome {
    let settings = Settings::read(options, KNOWN)?;
    let form = form(&settings)?;
    check_usage(&settings, form)?;
    let options = driver_options(&settings)?;
    let mut library = library(text, &settings)?;
    library.system_lib = settings.text("system_lib")?.map(str::to_owned);
    let Some(form) = form else { return ffi::string(&library.resolve()?.header()) };
    let module = driver::lower_with(&library, &lowering(&settings, options.lowering(form))?)?;
    let bytes = driver::emit_module(&module, form, &options)?;
    match form {
        Form::Ir | Form::Native => ffi::string(&String::from_utf8_lossy(&bytes)),
        Form::Bitcode | Form::Object | Form::Shared => ffi::bytes(&bytes),
    }
}

/// The form, `None` for the header.
fn form(settings: &Settings) -> Result<Option<Form>, Fault> {
    let name = settings.text("form")?.unwrap_or("object");
    if name == HEADER {
        return Ok(None);
    }
    Form::from_str(name, false).map(Some).map_err(|_| {
        let known = [names::<Form>(), vec![HEADER.to_owned()]].concat().join(", ");
        Fault::value(format!("option form: no form {name:?}, expected one of {known}"))
    })
}

fn routines(name: &str) -> Result<Routines, Fault> {
    Routines::from_str(name, false).map_err(|_| {
        let known = names::<Routines>().join(" or ");
        Fault::value(format!("option routines: no routines {name:?}, expected {known}"))
    })
}

/// What an option may be.
fn names<T: ValueEnum>() -> Vec<String> {
    let values = T::value_variants().iter().filter_map(ValueEnum::to_possible_value);
    values.map(|value| value.get_name().to_owned()).collect()
}

/// Refuses what means nothing for a form.
fn check_usage(settings: &Settings, form: Option<Form>) -> Result<(), Fault> {
    let (links, shared) = match form {
        Some(Form::Shared) => (true, true),
        Some(Form::Object) => (true, false),
        Some(Form::Ir | Form::Native | Form::Bitcode) | None => (false, false),
    };
    let rows = [
        ("link", links, "forms object and shared"),
        ("linker", links, "forms object and shared"),
        ("rpath", shared, "form shared"),
        ("runtime_dependency", shared, "form shared"),
        ("system_lib", !shared, "what is linked into programs, not for form shared"),
    ];
    match rows.iter().find(|(name, fits, _)| settings.has(name) && !fits) {
        None => Ok(()),
        Some((name, _, fits)) => Err(Fault::value(format!("option {name} is for {fits}"))),
    }
}

fn driver_options(settings: &Settings) -> Result<Options, Fault> {
    let mut options = Options {
        target: target(settings)?,
        cpu: settings.text("cpu")?.map(str::to_owned),
        linker: linker(settings)?,
        dependencies: dependencies(settings)?,
        ..Options::default()
    };
    if let Some(backend) = settings.text("backend")? {
        options.backend = backend.to_owned();
    }
    if let Some(level) = settings.level("optimization")? {
        let refused = |expected| Fault::value(format!("option optimization: {expected}"));
        options.optimization = level.parse().map_err(refused)?;
    }
    options.routines = settings.text("routines")?.map(routines).transpose()?;
    // An unknown one is refused whatever the form is.
    driver::backend(&options)?;
    add_kernels(&mut options, settings)?;
    Ok(options)
}
