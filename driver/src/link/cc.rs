//! The system's C compiler as linker.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{Input, OPTIONS, Output, base_name, version_script};
use crate::Error;

/// Links copies in a temporary folder, so that the linked bytes are the checked ones.
pub(super) fn link(inputs: &[Input], output: Output<'_>, program: &Path) -> Result<Vec<u8>, Error> {
    let fail = |reason: String| Error::Linker { name: program.display().to_string(), reason };
    let folder = tempfile::tempdir().map_err(|error| fail(error.to_string()))?;
    let path = |name: &str| folder.path().join(name);
    let arguments = prepare(inputs, output, &path).map_err(|error| fail(error.to_string()))?;
    let done = command(program)
        .args(arguments)
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| fail(error.to_string()))?;
    if !done.status.success() {
        let text = String::from_utf8_lossy(&done.stderr);
        let text = text.replace(&format!("{}/", folder.path().display()), "");
        return Err(fail(format!("{}\n{}", done.status, text.trim_end())));
    }
    fs::read(path(LIBRARY)).map_err(|error| fail(error.to_string()))
}

/// Returns the command of a program: a file or a name, or else words, as in `CC="ccache gcc"`.
fn command(program: &Path) -> Command {
    let text = program.to_str().filter(|_| !program.is_file());
    let words = text.and_then(shlex::split).unwrap_or_default();
    let Some((first, others)) = words.split_first() else { return Command::new(program) };
    let mut command = Command::new(first);
    command.args(others);
    command
}

const LIBRARY: &str = "library.so";
const SCRIPT: &str = "exports.map";

/// Writes the inputs to files and returns the arguments of the compiler.
fn prepare(
    inputs: &[Input],
    output: Output<'_>,
    path: &dyn Fn(&str) -> PathBuf,
) -> io::Result<Vec<OsString>> {
    let mut arguments = match output {
        Output::Object => vec!["-r".into(), "-nostdlib".into()],
        Output::Shared { rpath } => {
            fs::write(path(SCRIPT), version_script(inputs))?;
            shared(rpath, &path(SCRIPT))
        }
    };
    arguments.extend(["-o".into(), path(LIBRARY).into()]);
    if let Output::Shared { .. } = output {
        // Some compilers drop libraries of which no symbol is used.
        arguments.push("-Wl,--no-as-needed".into());
    }
    for (i, input) in inputs.iter().enumerate() {
        let name = base_name(input.name());
        let folder = path(&i.to_string());
        fs::create_dir(&folder)?;
        fs::write(folder.join(&name), input.bytes())?;
        if input.is_library() {
            // A library without a soname is recorded by the name of its file.
            arguments.extend(["-L".into(), folder.into(), format!("-l:{name}").into()]);
        } else {
            arguments.push(folder.join(name).into());
        }
    }
    if let Output::Shared { .. } = output {
        // libm is a part of the C library that compilers do not link by themselves.
        arguments.extend(["-Wl,--as-needed".into(), "-lm".into()]);
    }
    Ok(arguments)
}

/// Returns the arguments for a shared library with the exports of a version script.
fn shared(rpath: &[String], script: &Path) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = vec!["-shared".into()];
    arguments.extend(OPTIONS.map(|option| format!("-Wl,{option}").into()));
    let mut option = OsString::from("-Wl,--version-script=");
    option.push(script);
    arguments.push(option);
    for folder in rpath {
        arguments.extend(["-Xlinker".into(), "-rpath".into(), "-Xlinker".into(), folder.into()]);
    }
    arguments
}
