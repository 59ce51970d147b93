//! Search for libraries: by name, and for the parts of the target's C library that kernels use.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use target_lexicon::{Architecture, Environment, OperatingSystem, Triple};

use super::Input;
use crate::object_file::Machine;
use crate::{Error, file};

/// Libraries that kernels may use without naming them: the C library, its mathematics, support functions of compilers,
/// and the loader. Each becomes a dependency only if it is used.
const SYSTEM: [&str; 5] =
    ["libc.so.6", "libm.so.6", "libmvec.so.1", "libgcc_s.so.1", "ld-linux-x86-64.so.2"];

/// Deepest nesting of linker scripts.
const MAX_SCRIPTS: u32 = 4;

/// Finds the library of `-l name`: `libNAME.so` or else `libNAME.a`, or the file itself for `:FILE`, in the first
/// folder that has it: `folders`, then those of the target. If none has it, the library is the newest
/// `libNAME.so.VERSION`. A linker script yields several files.
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
        None => vec![format!("lib{name}.so"), format!("lib{name}.a")],
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

/// Returns the files that a linker script names in `GROUP` and `INPUT`, without those of `AS_NEEDED`, which are among
/// [`SYSTEM`].
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

/// Returns the parts of the target's C library that define any of these names, as far as this machine has them.
pub(super) fn system(
    names: &BTreeSet<&[u8]>,
    target: &Triple,
    machine: Machine,
) -> Result<Vec<Input>, Error> {
    let mut wanted = names.clone();
    let (mut inputs, folders) = (Vec::new(), folders(target));
    for file in SYSTEM.iter().filter(|_| is_gnu(target)) {
        if wanted.is_empty() {
            break;
        }
        let path = folders.iter().map(|folder| folder.join(file)).find(|path| path.is_file());
        let Some(path) = path else { continue };
        let input = read_once(&path)?;
        let fits =
            input.is_library() && input.objects().iter().all(|facts| facts.machine == machine);
        let before = wanted.len();
        if fits {
            wanted.retain(|name| !input.defines_bytes(name));
        }
        if wanted.len() < before {
            inputs.push(input);
        }
    }
    Ok(inputs)
}

/// Reads a library of the system, which is large, once until the file changes.
fn read_once(path: &Path) -> Result<Input, Error> {
    static READ: Mutex<Vec<(PathBuf, SystemTime, Input)>> = Mutex::new(Vec::new());
    let Ok(modified) = path.metadata().and_then(|metadata| metadata.modified()) else {
        return Input::read(path);
    };
    let mut read = READ.lock().unwrap_or_else(PoisonError::into_inner);
    read.retain(|(known, when, _)| known != path || *when == modified);
    if let Some((_, _, input)) = read.iter().find(|(known, _, _)| known == path) {
        return Ok(input.clone());
    }
    let input = Input::read(path)?;
    read.push((path.to_owned(), modified, input.clone()));
    Ok(input)
}

fn is_gnu(target: &Triple) -> bool {
    target.operating_system == OperatingSystem::Linux && target.environment == Environment::Gnu
}

/// Returns the folders of the target's libraries: those of Debian, also for cross compilation, and for the host those
/// of other distributions.
fn folders(target: &Triple) -> Vec<PathBuf> {
    let is_riscv64 = matches!(target.architecture, Architecture::Riscv64(_));
    let machine = if is_riscv64 { "riscv64".into() } else { target.architecture.into_str() };
    let (name, host) = (format!("{machine}-linux-gnu"), Triple::host());
    let mut folders: Vec<PathBuf> = if is_gnu(target) {
        ["/usr/local/lib/", "/lib/", "/usr/lib/"].map(|path| format!("{path}{name}").into()).into()
    } else {
        Vec::new()
    };
    if is_gnu(target) {
        folders.push(format!("/usr/{name}/lib").into());
    }
    if (host.architecture, host.environment) == (target.architecture, target.environment) {
        let own =
            ["/usr/local/lib64", "/usr/local/lib", "/lib64", "/usr/lib64", "/lib", "/usr/lib"];
        folders.extend(own.map(PathBuf::from));
    }
    folders
}
