//! Options: a map from names, each of which a function knows and takes as what it is.

use std::path::{Path, PathBuf};

use abi_spec::TypeIndex;
use jit::Returned;

use crate::fault::Fault;
use crate::ffi::{entries, expected};

/// The options of one call.
#[derive(Debug)]
pub(crate) struct Settings {
    given: Vec<(String, Returned)>,
    known: &'static [&'static str],
}

impl Settings {
    /// Those of a map, of which the function knows these.
    pub(crate) fn read(map: &Returned, known: &'static [&'static str]) -> Result<Settings, Fault> {
        let given = entries(map)?;
        if let Some((name, _)) = given.iter().find(|(name, _)| !known.contains(&&**name)) {
            let known = known.join(", ");
            return Err(Fault::value(format!("unknown option {name:?}, expected one of {known}")));
        }
        Ok(Settings { given, known })
    }

    /// What was given, unless it is None.
    fn get(&self, name: &str) -> Option<&Returned> {
        assert!(self.known.contains(&name), "a function asks for an option of another one: {name}");
        let given = self.given.iter().find(|(given, _)| given == name);
        given.map(|(_, value)| value).filter(|value| !value.is_none())
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    pub(crate) fn text(&self, name: &str) -> Result<Option<&str>, Fault> {
        self.get(name).map(|value| text(&option(name), value)).transpose()
    }

    /// A text, or a number as text.
    pub(crate) fn level(&self, name: &str) -> Result<Option<String>, Fault> {
        let level = |value: &Returned| match i64::try_from(value.clone()) {
            Ok(level) => Ok(level.to_string()),
            Err(_) => text(&option(name), value).map(str::to_owned),
        };
        self.get(name).map(level).transpose()
    }

    pub(crate) fn flag(&self, name: &str, default: bool) -> Result<bool, Fault> {
        let Some(value) = self.get(name) else { return Ok(default) };
        bool::try_from(value.clone()).map_err(|_| Fault::ty(expected(&option(name), "bool", value)))
    }

    /// The elements of an array.
    pub(crate) fn list(&self, name: &str) -> Result<Vec<Returned>, Fault> {
        let Some(value) = self.get(name) else { return Ok(Vec::new()) };
        let array =
            value.array().map_err(|_| Fault::ty(expected(&option(name), "Array", value)))?;
        Ok(array.iter().collect())
    }

    pub(crate) fn texts(&self, name: &str) -> Result<Vec<String>, Fault> {
        let list = self.list(name)?.into_iter().enumerate();
        list.map(|(i, one)| text(&element(name, i), &one).map(str::to_owned)).collect()
    }

    /// A map from names to bytes, in its order.
    pub(crate) fn files(&self, name: &str) -> Result<Vec<(String, Vec<u8>)>, Fault> {
        let Some(value) = self.get(name) else { return Ok(Vec::new()) };
        if value.ty() != TypeIndex::MAP {
            return Err(Fault::ty(expected(&option(name), "Map", value)));
        }
        let bytes = |(key, value): (String, Returned)| {
            let what = format!("option {name}[{key:?}]");
            let bytes = value.bytes().map_err(|_| Fault::ty(expected(&what, "bytes", &value)))?;
            Ok((key, bytes.to_vec()))
        };
        entries(value)?.into_iter().map(bytes).collect()
    }
}

/// How messages call an option.
fn option(name: &str) -> String {
    format!("option {name}")
}

/// How messages call an element of a list.
pub(crate) fn element(name: &str, index: usize) -> String {
    format!("{}[{index}]", option(name))
}

fn text<'a>(what: &str, value: &'a Returned) -> Result<&'a str, Fault> {
    if value.ty().received_name() != Some("str") {
        return Err(Fault::ty(expected(what, "str", value)));
    }
    value.text().map_err(|error| Fault::value(format!("{what}: {error}")))
}

/// The file of this name: standard input is none.
pub(crate) fn path(name: &str) -> PathBuf {
    if name == "-" { Path::new(".").join(name) } else { name.into() }
}
