//! Search for libraries by name.

use std::fs;
use std::path::{Path, PathBuf};

use target_lexicon::{Architecture, Environment, OperatingSystem, Triple};

use super::{Format, Input};
use crate::{Error, file};

/// Deepest nesting of linker scripts.
const MAX_SCRIPTS: u32 = 4;

/// Finds the library of `-l name`: the first of [`files`], or the file itself for `:FILE`, in the first folder that has
/// it: `folders`, then those of the target. If none has it, the library is the newest `libNAME.so.VERSION`. A linker
/// script yields several files.
///
/// # Errors
/// [`Error::NoLibrary`]; [`Error::Read`] and [`Error::Object`] if the file cannot be used.
pub(crate) fn library(
    name: &str,
    folders: &[PathBuf],
    target: &Triple,
) -> Result<Vec<Input>, Error> {
    find(name, folders, target, MAX_SCRIPTS)
}

fn find(name: &str, own: &[PathBuf], target: &Triple, depth: u32) -> Result<Vec<Input>, Error> {
    let files = match name.strip_prefix(':') {
        Some(file) => vec![file.to_owned()],
        None => files(name, target),
    };
    let folders: Vec<PathBuf> = own.iter().cloned().chain(folders(target)).collect();
    let paths = folders.iter().flat_map(|folder| files.iter().map(|file| folder.join(file)));
    let found = paths.into_iter().find(|path| path.is_file());
    let found = found.or_else(|| newest(name, &folders));
    let Some(path) = found else {
        return Err(Error::NoLibrary { name: name.to_owned(), folders });
    };
    let bytes = file::read(&path)?;
    let script = str::from_utf8(&bytes).ok().map(script).filter(|files| !files.is_empty());
    let Some(files) = script.filter(|_| depth > 0) else {
        return Ok(vec![Input::new(path.display().to_string(), bytes)?]);
    };
    let mut inputs = Vec::new();
    for file in files {
        match file.strip_prefix("-l") {
            Some(name) => inputs.extend(find(name, own, target, depth - 1)?),
            None if Path::new(&file).is_absolute() => inputs.push(Input::read(Path::new(&file))?),
            None => inputs.extend(find(&format!(":{file}"), own, target, depth - 1)?),
        }
    }
    Ok(inputs)
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

/// Returns the files that a linker script names in `GROUP` and `INPUT`, without those of `AS_NEEDED`, which are parts of
/// the C library.
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

/// Returns the folders of the target's libraries: those of Debian, also for cross compilation, and for the host those
/// of other distributions.
pub(super) fn folders(target: &Triple) -> Vec<PathBuf> {
    let is_riscv64 = matches!(target.architecture, Architecture::Riscv64(_));
    let machine = if is_riscv64 { "riscv64".into() } else { target.architecture.into_str() };
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
    if place(&Triple::host()) == place(target) {
        let own =
            ["/usr/local/lib64", "/usr/local/lib", "/lib64", "/usr/lib64", "/lib", "/usr/lib"];
        folders.extend(own.map(PathBuf::from));
    }
    folders
}
