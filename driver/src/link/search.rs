//! Libraries by name: those that are asked for, and what the C library of the target has for kernels.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use target_lexicon::{Architecture, Environment, OperatingSystem, Triple};

use super::Input;
use crate::object_file::Machine;
use crate::{Error, file};

/// What kernels may use without saying so: the C library, its mathematics, what compilers themselves call, and
/// the loader. Each is needed only by a library that uses it.
const SYSTEM: [&str; 5] =
    ["libc.so.6", "libm.so.6", "libmvec.so.1", "libgcc_s.so.1", "ld-linux-x86-64.so.2"];

/// How deep linker scripts may name each other.
const MAX_SCRIPTS: u32 = 4;

/// The library that `-l name` means: `libNAME.so` or else `libNAME.a`, or the file itself for `:FILE`, in the first
/// of `folders`, and after them of the target's own, that has it; where none has, the newest `libNAME.so.VERSION`.
/// Several files if it is a linker script.
///
/// # Errors
/// [`Error::NoLibrary`]; [`Error::Read`] and [`Error::Object`] if what is there cannot be used.
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

/// The newest `libNAME.so.VERSION` of the first folder that has any: machines that do not develop have no other.
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

/// The files that a linker script names in `GROUP` and `INPUT`. What is there in case it is needed is left out;
/// it is among [`SYSTEM`].
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

/// Of the C library of the target, as far as this machine has it, what defines any of these names.
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

/// Reads a library of the system, which is large, once as long as it is the same file.
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

/// Where the target's libraries are: the folders of Debian and its like, for other machines too, and those of other
/// systems for the machine that this runs on.
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
