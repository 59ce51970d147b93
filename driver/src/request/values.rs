//! Parsers of the values of options, for clap, which lists the names in its help, and for Python.

use std::str::FromStr;

use clap::ValueEnum;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use codegen::backend::Optimize;
use codegen::{Handlers, Routines, TorchOperators, UnknownWord};
use link::Linker;
use target_lexicon::Triple;

use super::{CheckGroup, File, Form, Headers};
use crate::{BackendName, Error};

impl FromStr for Form {
    type Err = UnknownWord;

    fn from_str(name: &str) -> Result<Form, UnknownWord> {
        known(name, |name, names| format!("no form {name:?}, expected one of {names}"))
    }
}

impl FromStr for Headers {
    type Err = UnknownWord;

    fn from_str(name: &str) -> Result<Headers, UnknownWord> {
        known(name, |name, names| format!("no headers {name:?}, expected {names}"))
    }
}

impl FromStr for CheckGroup {
    type Err = UnknownWord;

    fn from_str(name: &str) -> Result<CheckGroup, UnknownWord> {
        known(name, |name, names| format!("no group {name:?}, expected {names}"))
    }
}

/// Returns the value of a name, or else an error whose text `message` makes of the name and of those that are known.
fn known<T: ValueEnum>(
    name: &str,
    message: impl FnOnce(&str, &str) -> String,
) -> Result<T, UnknownWord> {
    let unknown = |_| UnknownWord::new(name, names::<T>(), message);
    <T as ValueEnum>::from_str(name, false).map_err(unknown)
}

fn names<T: ValueEnum>() -> Vec<String> {
    let values = T::value_variants().iter().filter_map(ValueEnum::to_possible_value);
    values.map(|value| value.get_name().to_owned()).collect()
}

/// Origins that the routines of a file can have: name, value and help. Modules of the JIT have a third one.
const ROUTINES: [(&str, Routines, &str); 3] = [
    (
        "embedded",
        Routines::Embedded,
        "Only those that the declarations need, compiled and optimised by the backend: the smallest file",
    ),
    (
        "linked",
        Routines::Linked,
        "Compiled beforehand and added by the linker: compiles fastest, and many objects in one library share one copy",
    ),
    (
        "once",
        Routines::Once,
        "As embedded, but a linker keeps one copy of each, and so does a module that functions are added to",
    ),
];

/// A host besides TVM FFI that calls the functions of a library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Register {
    /// XLA, by handlers.
    Xla(Handlers),
    /// PyTorch, by operators.
    Torch(TorchOperators),
}

/// Parses an element of [`Request::register`](super::Request::register): `xla`, `xla=PREFIX` or `torch=NAMESPACE`, and
/// after a colon names of functions with commas in between.
///
/// # Errors
/// A text that says what is expected.
pub fn parse_register(text: &str) -> Result<Register, String> {
    let (host, names) =
        text.split_once(':').map_or((text, None), |(host, names)| (host, Some(names)));
    let (host, name) = host.split_once('=').map_or((host, None), |(host, name)| (host, Some(name)));
    let names: Vec<&str> = names.map_or(Vec::new(), |names| names.split(',').collect());
    let is_whole = name != Some("") && !names.contains(&"");
    match (host, name) {
        ("xla", prefix) if is_whole => {
            let prefix = prefix.unwrap_or(Handlers::PREFIX);
            Ok(Register::Xla(Handlers::new(prefix).of(names)))
        }
        ("torch", Some(namespace)) if is_whole => {
            Ok(Register::Torch(TorchOperators::new(namespace).of(names)))
        }
        _ => Err(format!(
            "no host {text:?}, expected xla, xla=PREFIX or torch=NAMESPACE, and perhaps :NAME,NAME"
        )),
    }
}

/// Parses [`Request::routines`](super::Request::routines).
///
/// # Errors
/// A text that lists the names.
pub fn parse_routines(name: &str) -> Result<Routines, String> {
    let known = ROUTINES.iter().find(|(known, ..)| *known == name);
    let unknown = || {
        let names = ROUTINES.map(|(name, ..)| name).join(", ");
        format!("no routines {name:?}, expected one of {names}")
    };
    known.map(|(_, routines, _)| *routines).ok_or_else(unknown)
}

pub(super) fn routines() -> impl TypedValueParser<Value = Routines> {
    let values = ROUTINES.map(|(name, _, help)| PossibleValue::new(name).help(help));
    PossibleValuesParser::new(values).try_map(|name| parse_routines(&name))
}

pub(super) fn linkers() -> impl TypedValueParser<Value = Linker> {
    PossibleValuesParser::new(Linker::NAMES).try_map(|name| name.parse::<Linker>())
}

pub(super) fn levels() -> impl TypedValueParser<Value = Optimize> {
    let names = Optimize::ALL.map(Optimize::name);
    PossibleValuesParser::new(names).try_map(|name| name.parse::<Optimize>())
}

pub(crate) fn backends() -> impl TypedValueParser<Value = BackendName> {
    let names = BackendName::ALL.iter().map(|backend| backend.name());
    PossibleValuesParser::new(names).try_map(|name| name.parse::<BackendName>())
}

/// Parses a target.
///
/// # Errors
/// [`Error::Target`].
pub fn parse_target(name: &str) -> Result<Triple, Error> {
    name.parse().map_err(|source| Error::Target { name: name.to_owned(), source })
}

pub(super) fn import(text: &str) -> Result<(String, File), &'static str> {
    pair(text).ok_or("expected KIND=FILE")
}

pub(super) fn image(text: &str) -> Result<(String, File), &'static str> {
    pair(text).ok_or("expected NAME=FILE")
}

fn pair(text: &str) -> Option<(String, File)> {
    let (name, file) = text.split_once('=')?;
    Some((name.to_owned(), File::Path(file.into())))
}
