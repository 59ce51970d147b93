//! Options: maps from names to values, which fill a [`Request`]. Its fields are documented there; an option is named as
//! the field is, and its value is that of `surface.ffi`.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use abi_spec::TypeIndex;
use driver::{File, Request};
use jit::{Observers, Returned};

use crate::fault::Fault;
use crate::ffi::{entries, expected};

/// Options of `emit`.
pub(crate) const EMIT: &[&str] = &[
    "form",
    "backend",
    "target",
    "cpu",
    "features",
    "optimization",
    "headers",
    "link",
    "into",
    "linker",
    "sysroot",
    "exports",
    "soname",
    "rpath",
    "runtime_dependency",
    "images",
    "imports",
    "prepare",
    "entry",
    "system_lib",
    "register",
    "metadata",
    "routines",
    "unchecked",
];

/// Options of `link`.
pub(crate) const LINK: &[&str] =
    &["target", "linker", "sysroot", "exports", "soname", "rpath", "runtime_dependency"];

/// Options of `jit`.
pub(crate) const JIT: &[&str] = &[
    "link",
    "rpath",
    RAISING,
    "images",
    "imports",
    "prepare",
    "entry",
    "register",
    "metadata",
    "unchecked",
    OBSERVERS,
    CACHE,
];

/// Options of `functions`.
pub(crate) const FUNCTIONS: &[&str] =
    &[RAISING, "images", "prepare", "entry", "metadata", "unchecked", OBSERVERS];

/// The option that only these two have: the names of the kernels that may leave an error behind.
const RAISING: &str = "raising";

/// The other option that only these two have: the tools that learn of the functions.
const OBSERVERS: &str = "observers";

/// The option that only `jit` has: the folder that keeps linked libraries.
const CACHE: &str = "cache";

/// Values of the options of one call.
#[derive(Debug, Default)]
pub(crate) struct Options {
    /// The fields of a request that have been given, and the defaults of the others.
    pub(crate) request: Request,
    /// The kernels that may leave an error behind.
    pub(crate) raising: Vec<String>,
    /// The tools that learn of functions that the JIT compiles.
    pub(crate) observers: Observers,
    /// The folder that keeps linked libraries.
    pub(crate) cache: Option<PathBuf>,
}

impl Options {
    /// Reads the map of a call whose options have the names `known`. An option that is None counts as not given.
    pub(crate) fn read(map: &Returned, known: &[&str]) -> Result<Options, Fault> {
        let given = entries(map)?;
        if let Some((name, _)) = given.iter().find(|(name, _)| !known.contains(&&**name)) {
            let known = known.join(", ");
            return Err(Fault::value(format!("unknown option {name:?}, expected one of {known}")));
        }
        let mut options = Options::default();
        for (name, value) in given.iter().filter(|(_, value)| !value.is_none()) {
            options.set(Value { name, value })?;
        }
        Ok(options)
    }

    fn set(&mut self, value: Value<'_>) -> Result<(), Fault> {
        let request = &mut self.request;
        match value.name {
            "form" => request.form = value.parsed()?,
            "backend" => request.backend = value.text()?.parse()?,
            "target" => request.target = driver::parse_target(value.text()?)?,
            "cpu" => request.cpu = Some(value.text()?.to_owned()),
            "features" => {
                let feature = |name: String| name.parse().map_err(|error| value.wrong(error));
                request.features =
                    value.texts()?.into_iter().map(feature).collect::<Result<_, _>>()?;
            }
            "optimization" => request.optimization = value.level()?,
            "headers" => request.headers = value.parsed()?,
            "link" => request.link = value.linkable()?,
            "into" => request.into = Some(value.module()?),
            "linker" => request.linker = Some(value.parsed()?),
            "sysroot" => request.sysroot = Some(value.text()?.into()),
            "exports" => request.exports = value.texts()?,
            "soname" => request.soname = Some(value.text()?.to_owned()),
            "rpath" => request.rpath = value.texts()?,
            "runtime_dependency" => request.runtime_dependency = value.flag()?,
            "images" => request.images = value.files()?,
            "imports" => request.imports = value.files()?,
            "prepare" => request.prepare = Some(value.text()?.to_owned()),
            "entry" => request.entry = Some(value.text()?.to_owned()),
            "system_lib" => request.system_lib = Some(value.text()?.to_owned()),
            "register" => {
                let hosts = match value.value.text() {
                    Ok(host) => vec![host.to_owned()],
                    Err(_) if value.value.ty() == TypeIndex::ARRAY => value.texts()?,
                    Err(_) => return Err(value.mismatched("str or Array")),
                };
                let parsed = hosts.iter().map(|host| driver::parse_register(host));
                let parsed = parsed.collect::<Result<_, _>>();
                request.register = parsed.map_err(|error| value.wrong(error))?;
            }
            "metadata" => request.metadata = value.flag()?,
            "routines" => {
                let routines = driver::parse_routines(value.text()?);
                request.routines = Some(routines.map_err(|error| value.wrong(error))?);
            }
            "unchecked" => {
                let group = |name: String| name.parse().map_err(|error| value.wrong(error));
                request.unchecked =
                    value.texts()?.into_iter().map(group).collect::<Result<_, _>>()?;
            }
            CACHE => self.cache = Some(path(value.text()?)),
            RAISING => self.raising = value.texts()?,
            OBSERVERS => self.observers = value.observers()?,
            name => return Err(Fault::internal(format!("option {name} has no field"))),
        }
        Ok(())
    }
}

/// A value and the name of its option.
#[derive(Clone, Copy)]
struct Value<'a> {
    name: &'a str,
    value: &'a Returned,
}

impl<'a> Value<'a> {
    /// The error for a value of the right type that the option does not take.
    fn wrong(self, error: impl std::fmt::Display) -> Fault {
        Fault::value(format!("option {}: {error}", self.name))
    }

    fn mismatched(self, ty: &str) -> Fault {
        Fault::ty(expected(&format!("option {}", self.name), ty, self.value))
    }

    fn text(self) -> Result<&'a str, Fault> {
        text(&format!("option {}", self.name), self.value)
    }

    /// Parses a text.
    fn parsed<T: FromStr<Err: std::fmt::Display>>(self) -> Result<T, Fault> {
        self.text()?.parse().map_err(|error| self.wrong(error))
    }

    /// Parses a text or a number.
    fn level<T: FromStr<Err: std::fmt::Display>>(self) -> Result<T, Fault> {
        let Ok(level) = i64::try_from(self.value.clone()) else { return self.parsed() };
        level.to_string().parse().map_err(|error| self.wrong(error))
    }

    fn flag(self) -> Result<bool, Fault> {
        bool::try_from(self.value.clone()).map_err(|_| self.mismatched("bool"))
    }

    /// Returns the elements of an array, each with its name in messages.
    fn elements(self) -> Result<Vec<(String, Returned)>, Fault> {
        let array = self.value.array().map_err(|_| self.mismatched("Array"))?;
        let named = |(i, one)| (format!("option {}[{i}]", self.name), one);
        Ok(array.iter().enumerate().map(named).collect())
    }

    fn texts(self) -> Result<Vec<String>, Fault> {
        let texts = self.elements()?.into_iter();
        texts.map(|(what, one)| text(&what, &one).map(str::to_owned)).collect()
    }

    /// Returns the tools whose names an array has.
    fn observers(self) -> Result<Observers, Fault> {
        self.texts()?.iter().try_fold(Observers::default(), |observers, name| match &**name {
            "debugger" => Ok(Observers { debugger: true, ..observers }),
            "profiler" => Ok(Observers { profiler: true, ..observers }),
            name => Err(self.wrong(format!("no observer {name:?}, expected debugger or profiler"))),
        })
    }

    /// Returns an array of paths and contents.
    fn linkable(self) -> Result<Vec<File>, Fault> {
        self.elements()?.into_iter().map(|(what, one)| file(&what, &one)).collect()
    }

    /// Returns a module, which is given as its text or as bytes.
    fn module(self) -> Result<File, Fault> {
        let text = || self.value.text().map(str::as_bytes);
        let bytes = self.value.bytes().or_else(|_| text());
        let bytes = bytes.map_err(|_| self.mismatched("str or bytes"))?.to_vec();
        Ok(File::Bytes { name: format!("option {}", self.name), bytes })
    }

    /// Returns a map from names to contents, in its order.
    fn files(self) -> Result<Vec<(String, File)>, Fault> {
        if self.value.ty() != TypeIndex::MAP {
            return Err(self.mismatched("Map"));
        }
        let file = |(key, value): (String, Returned)| {
            let what = format!("option {}[{key:?}]", self.name);
            let bytes = value.bytes().map_err(|_| Fault::ty(expected(&what, "bytes", &value)))?;
            let (name, bytes) = (self.name.to_owned(), bytes.to_vec());
            Ok((key, File::Bytes { name, bytes }))
        };
        entries(self.value)?.into_iter().map(file).collect()
    }
}

pub(crate) fn text<'a>(what: &str, value: &'a Returned) -> Result<&'a str, Fault> {
    if value.ty().received_name() != Some("str") {
        return Err(Fault::ty(expected(what, "str", value)));
    }
    value.text().map_err(|error| Fault::value(format!("{what}: {error}")))
}

/// Returns a file that is given by its path or as its contents.
pub(crate) fn file(what: &str, value: &Returned) -> Result<File, Fault> {
    if let Ok(bytes) = value.bytes() {
        return Ok(File::Bytes { name: what.to_owned(), bytes: bytes.to_vec() });
    }
    let name = value.text().map_err(|_| Fault::ty(expected(what, "str or bytes", value)))?;
    Ok(File::Path(path(name)))
}

/// Returns the path of a file of this name, which is never standard input.
pub(crate) fn path(name: &str) -> PathBuf {
    if name == "-" { Path::new(".").join(name) } else { name.into() }
}
