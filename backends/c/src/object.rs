//! Object files: the compiler of a target, and what it makes of the text.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use codegen::backend::{Error, Facts, Machine};
use codegen::ir;
use target_lexicon::{BinaryFormat, Environment, OperatingSystem, Triple};

use crate::debug::is_located;
use crate::{C, emit, refused};

/// Options of every compiler: objects for shared libraries that call no function but those that the text calls.
const OPTIONS: [&str; 7] = [
    "-std=c11",
    "-xc",
    "-fno-builtin",
    "-fno-stack-protector",
    // Frames above a page touch every page.
    "-fstack-clash-protection",
    "-ffp-contract=off",
    "-w",
];

/// Returns the compiler for a target: that of the environment variable `CC` or else `cc` for this machine, for another
/// one GCC by its name, or clang where the system is neither Linux nor Windows.
pub(crate) fn compiler(triple: &Triple) -> PathBuf {
    let host = Triple::host();
    let is_host = triple.architecture == host.architecture
        && triple.operating_system == host.operating_system
        && triple.environment == host.environment;
    if is_host {
        return env::var_os("CC").unwrap_or_else(|| "cc".into()).into();
    }
    let machine = Machine::name_of(triple.architecture);
    if triple.operating_system == OperatingSystem::Windows {
        return format!("{machine}-w64-mingw32-gcc").into();
    }
    if triple.operating_system != OperatingSystem::Linux {
        return "clang".into();
    }
    let is_known = triple.environment != Environment::Unknown;
    let environment = if is_known { triple.environment } else { Environment::Gnu };
    format!("{machine}-linux-{environment}-gcc").into()
}

/// Returns an object: position-independent, optimised, with exports that the loader sees.
pub(crate) fn object(c: &C, source: &ir::Module) -> Result<Vec<u8>, Error> {
    let machine = Machine::of(&c.triple)?;
    Facts::of(&c.triple).check_exports(source)?;
    let mut text = String::new();
    emit(&mut text, source)?;
    let program = c.compiler.display().to_string();
    let fail = |reason: String| refused(format!("{program}: {reason}"));
    let unwritten = |error: io::Error| {
        let temporary = env::temp_dir();
        refused(format!("cannot write to the temporary folder {}: {error}", temporary.display()))
    };
    let folder = tempfile::tempdir().map_err(unwritten)?;
    // The name stands in the object.
    fs::write(folder.path().join(SOURCE), text).map_err(unwritten)?;
    let done = command(&c.compiler)
        .args(OPTIONS)
        .args(options(c, machine))
        .args(debug_options(source, folder.path()))
        .args(["-c", SOURCE, "-o", OBJECT])
        .current_dir(folder.path())
        .env("PWD", folder.path())
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| fail(error.to_string()))?;
    if !done.status.success() {
        let text = String::from_utf8_lossy(&done.stderr);
        return Err(fail(format!("{}\n{}", done.status, text.trim_end())));
    }
    let object = fs::read(folder.path().join(OBJECT)).map_err(|error| fail(error.to_string()))?;
    if is_elf(&object) != (c.triple.binary_format == BinaryFormat::Elf) {
        return Err(fail(format!("it makes no objects for {}", c.triple)));
    }
    Ok(object)
}

fn is_elf(object: &[u8]) -> bool {
    object.starts_with(b"\x7fELF")
}

/// Returns the command of a compiler: a file or a name, or else words, as in `CC="ccache gcc"`.
fn command(compiler: &Path) -> Command {
    let text = compiler.to_str().filter(|_| !compiler.is_file());
    let words = text.and_then(shlex::split).unwrap_or_default();
    let Some((first, others)) = words.split_first() else { return Command::new(compiler) };
    let mut command = Command::new(first);
    command.args(others);
    command
}

/// Returns the options for debug information, in which `folder` does not occur.
fn debug_options(source: &ir::Module, folder: &Path) -> Vec<OsString> {
    if !is_located(source) {
        return Vec::new();
    }
    vec!["-g".into(), format!("-fdebug-prefix-map={}=.", folder.display()).into()]
}

const SOURCE: &str = "host.c";
const OBJECT: &str = "host.o";

/// Returns the options that depend on the target and the compiler.
fn options(c: &C, machine: Machine) -> Vec<String> {
    let mut options = vec![format!("-O{}", c.optimize)];
    if c.triple.binary_format != BinaryFormat::Coff {
        options.push("-fPIC".to_owned());
    }
    let name = c.compiler.file_name().and_then(OsStr::to_str).unwrap_or_default();
    if name.contains("clang") {
        options.push(format!("--target={}", machine.spell(&c.triple)));
        options.push("-ffreestanding".to_owned());
    } else {
        // Loops are not to become calls of `memset`.
        options.push("-fno-tree-loop-distribute-patterns".to_owned());
    }
    options
}
