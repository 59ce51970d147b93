//! Search for libraries by name, on this machine or in a sysroot.
//!
//! Development packages have text in the place of some libraries, a linker script that names others: `libc++.so` of
//! LLVM and `libtbb.so` are such. Wild reads scripts, but the symbols of libraries are checked before any linker
//! starts, so the names of files are taken from scripts here. That can go once libwild makes its parser of scripts
//! public.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use codegen::backend::Machine;
use target_lexicon::{Environment, OperatingSystem, Triple};

use super::{Format, Input, Linker, Target, base_name, glibc};
use crate::{Error, Options, Output, file};

/// Deepest nesting of linker scripts.
const MAX_SCRIPTS: u32 = 4;

/// Most symbolic links on the way to a file.
const MAX_LINKS: u32 = 40;

/// Finds the library of `-l name`: a shared one, or else an archive, or the file itself for `:FILE`, in the first
/// folder that has it: those of the options, then those of the target. If none has it, the library is the newest
/// `libNAME.so.VERSION`. A linker script yields several files. A part of the C library that the linker adds by itself
/// yields none, unless a folder of the options has it.
///
/// # Errors
/// [`Error::NoLibrary`]; [`Error::Read`] and [`Error::Object`] if the file cannot be used.
pub fn library(name: &str, options: &Options) -> Result<Vec<Input>, Error> {
    Search::new(options).find(name, MAX_SCRIPTS)
}

/// Folders in which libraries are searched.
pub(super) struct Search<'a> {
    target: &'a Triple,
    sysroot: Option<&'a Path>,
    /// Folders of the options.
    own: &'a [PathBuf],
    /// Folders of the target.
    system: Vec<PathBuf>,
    /// True if the linker adds the parts of the C library, and none of the target's folders is searched for them.
    adds_parts: bool,
}

impl<'a> Search<'a> {
    /// Returns the folders of options.
    pub(super) fn new(options: &'a Options) -> Search<'a> {
        let (target, sysroot) = (&options.target, options.sysroot.as_deref());
        let system = folders(target, sysroot.is_some());
        let adds_parts = sysroot.is_none()
            && options.output == Output::Shared
            && !matches!(options.linker(), Linker::Cc(_));
        Search { target, sysroot, own: &options.folders, system, adds_parts }
    }

    /// Finds a file in the folders of the target.
    pub(super) fn file(&self, name: &str) -> Option<PathBuf> {
        let mut paths = self.system.iter().map(|folder| self.place(&folder.join(name)));
        paths.find(|path| path.is_file())
    }

    /// Returns the place of a path of the target.
    fn place(&self, path: &Path) -> PathBuf {
        self.sysroot.map_or_else(|| path.to_owned(), |root| inside(root, path))
    }

    /// Returns whether the linker adds the library of `-l name`.
    fn is_added(&self, name: &str) -> bool {
        let is_part = |target: Target<'_>| glibc::Table::of(target.machine).has_library(name);
        self.adds_parts && is_gnu(self.target) && Target::new(self.target).is_ok_and(is_part)
    }

    fn find(&self, name: &str, depth: u32) -> Result<Vec<Input>, Error> {
        let files = match name.strip_prefix(':') {
            Some(file) => vec![file.to_owned()],
            None => files(name, self.target),
        };
        let is_added = self.is_added(name);
        let system = if is_added { [].as_slice() } else { &self.system };
        let in_folders = |folders: &[PathBuf]| -> Vec<PathBuf> {
            folders.iter().flat_map(|folder| files.iter().map(|file| folder.join(file))).collect()
        };
        let own = in_folders(self.own).into_iter();
        let others = in_folders(system).into_iter().map(|path| self.place(&path));
        let mut paths = own.chain(others);
        let found = paths.find(|path| path.is_file()).or_else(|| newest(name, self.own));
        let system: Vec<PathBuf> = system.iter().map(|folder| self.place(folder)).collect();
        let found = found.or_else(|| Some(self.within(&newest(name, &system)?)));
        match found {
            Some(path) => self.read(&path, depth),
            None if is_added => Ok(Vec::new()),
            None => {
                let folders = self.own.iter().cloned().chain(system).collect();
                Err(Error::NoLibrary { name: name.to_owned(), folders })
            }
        }
    }

    /// Returns the place that a file in a folder of the sysroot leads to.
    fn within(&self, path: &Path) -> PathBuf {
        let inner = self.sysroot.and_then(|root| path.strip_prefix(root).ok());
        inner.map_or_else(|| path.to_owned(), |path| self.place(path))
    }

    /// Reads a library or a linker script.
    fn read(&self, path: &Path, depth: u32) -> Result<Vec<Input>, Error> {
        let bytes = file::read(path)?;
        let script = str::from_utf8(&bytes).ok().map(script).filter(|files| !files.is_empty());
        let Some(files) = script.filter(|_| depth > 0) else {
            return Ok(vec![Input::new(path.display().to_string(), bytes)?]);
        };
        let mut inputs = Vec::new();
        for file in files {
            match file.strip_prefix("-l") {
                Some(name) => inputs.extend(self.find(name, depth - 1)?),
                None if self.is_added(&format!(":{}", base_name(&file))) => {}
                None if Path::new(&file).is_absolute() => {
                    inputs.push(Input::read(&self.place(Path::new(&file)))?);
                }
                None => inputs.extend(self.find(&format!(":{file}"), depth - 1)?),
            }
        }
        Ok(inputs)
    }
}

/// Returns the place of a path in a root folder. Symbolic links do not lead out of the folder. The path is empty after
/// more than [`MAX_LINKS`].
fn inside(root: &Path, path: &Path) -> PathBuf {
    let parts = |path: &Path| -> Vec<OsString> {
        path.components().rev().map(|part| part.as_os_str().to_owned()).collect()
    };
    let (mut rest, mut place, mut links) = (parts(path), PathBuf::new(), 0);
    while let Some(part) = rest.pop() {
        if part == ".." {
            place.pop();
        } else if Path::new(&part).is_absolute() {
            place = PathBuf::new();
        } else {
            place.push(part);
            if let Ok(link) = fs::read_link(root.join(&place)) {
                links += 1;
                if links > MAX_LINKS {
                    return PathBuf::new();
                }
                place.pop();
                rest.extend(parts(&link));
            }
        }
    }
    root.join(place)
}

/// Returns the names of the files of a library, shared ones first; on Windows those of import libraries.
fn files(name: &str, target: &Triple) -> Vec<String> {
    let names = match Format::of(target) {
        Some(Format::Coff) => ["NAME.lib", "libNAME.dll.a", "libNAME.a"].as_slice(),
        Some(Format::MachO) => &["libNAME.dylib", "libNAME.so", "libNAME.a"],
        Some(Format::Elf) | None => &["libNAME.so", "libNAME.a"],
    };
    names.iter().map(|file| file.replace("NAME", name)).collect()
}

/// Finds the newest `libNAME.so.VERSION` in the first folder that has any. Machines without development packages have
/// no other.
fn newest(name: &str, folders: &[PathBuf]) -> Option<PathBuf> {
    let start = format!("lib{name}.so.");
    let version = |path: &PathBuf| -> Option<Vec<u32>> {
        let version = path.file_name()?.to_str()?.strip_prefix(&start)?;
        version.split('.').map(|number| number.parse().ok()).collect()
    };
    folders.iter().find_map(|folder| {
        let paths = fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
        let versions = paths.filter_map(|path| Some((version(&path)?, path)));
        versions.max().map(|(_, path)| path)
    })
}

/// Returns the files that a linker script names in `GROUP` and `INPUT`, without those of `AS_NEEDED`, which are parts
/// of the C library.
fn script(text: &str) -> Vec<String> {
    let (mut code, mut rest) = (String::new(), text);
    while let Some((before, comment)) = rest.split_once("/*") {
        code.push_str(before);
        rest = comment.split_once("*/").map_or("", |(_, after)| after);
    }
    let code = (code + rest).replace('(', " ( ").replace(')', " ) ").replace([',', '"'], " ");
    let (mut files, mut open, mut last) = (Vec::new(), Vec::new(), "");
    for word in code.split_whitespace() {
        match word {
            "(" => open.push(last),
            ")" => drop(open.pop()),
            "AS_NEEDED" => {}
            file if matches!(open[..], ["GROUP" | "INPUT"]) => files.push(file.to_owned()),
            _ => {}
        }
        last = word;
    }
    files
}

pub(super) fn is_gnu(target: &Triple) -> bool {
    target.operating_system == OperatingSystem::Linux && target.environment == Environment::Gnu
}

/// Returns the folders of the target's libraries: those of Debian, also for cross compilation, and for the host, or if
/// all are wanted, those of other distributions.
fn folders(target: &Triple, all: bool) -> Vec<PathBuf> {
    let machine = Machine::name_of(target.architecture);
    let mut folders: Vec<PathBuf> = Vec::new();
    if is_gnu(target) {
        let debian = ["/usr/local/lib/", "/lib/", "/usr/lib/"];
        folders.extend(debian.map(|path| PathBuf::from(format!("{path}{machine}-linux-gnu"))));
        folders.push(format!("/usr/{machine}-linux-gnu/lib").into());
    } else if Format::of(target) == Some(Format::Coff) && target.environment == Environment::Gnu {
        folders.push(format!("/usr/{machine}-w64-mingw32/lib").into());
    }
    let place =
        |target: &Triple| (target.architecture, target.operating_system, target.environment);
    if all || place(&Triple::host()) == place(target) {
        let own =
            ["/usr/local/lib64", "/usr/local/lib", "/lib64", "/usr/lib64", "/lib", "/usr/lib"];
        folders.extend(own.map(PathBuf::from));
    }
    folders
}
