//! The system's C compiler as linker.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{Input, OPTIONS, Output, base_name, version_script};
use crate::Error;

/// Links in a folder of its own, from copies: what was checked is what is linked.
pub(super) fn link(inputs: &[Input], output: Output<'_>, program: &Path) -> Result<Vec<u8>, Error> {
    let fail = |reason: String| Error::Linker { name: program.display().to_string(), reason };
    let folder = tempfile::tempdir().map_err(|error| fail(error.to_string()))?;
    let path = |name: &str| folder.path().join(name);
    let arguments = prepare(inputs, output, &path).map_err(|error| fail(error.to_string()))?;
    let done = Command::new(program)
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

const LIBRARY: &str = "library.so";
const SCRIPT: &str = "exports.map";

/// Writes the inputs and names them on a command line.
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
        // Some compilers leave out what is not used.
        arguments.push("-Wl,--no-as-needed".into());
    }
    for (i, input) in inputs.iter().enumerate() {
        let name = base_name(input.name());
        let folder = path(&i.to_string());
        fs::create_dir(&folder)?;
        fs::write(folder.join(&name), input.bytes())?;
        if input.is_library() {
            // So that one which does not say its name is known by that of its file.
            arguments.extend(["-L".into(), folder.into(), format!("-l:{name}").into()]);
        } else {
            arguments.push(folder.join(name).into());
        }
    }
    if let Output::Shared { .. } = output {
        // Of the C library, but compilers leave it out.
        arguments.extend(["-Wl,--as-needed".into(), "-lm".into()]);
    }
    Ok(arguments)
}

/// What makes it a shared library that shows what `script` says.
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
