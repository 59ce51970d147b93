//! The system's C compiler as linker.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{Input, OPTIONS, version_script};
use crate::Error;

/// Links in a folder of its own, from copies: what was checked is what is linked.
pub(super) fn link(inputs: &[Input], program: &Path) -> Result<Vec<u8>, Error> {
    let fail = |reason: String| Error::Linker { name: program.display().to_string(), reason };
    let folder = tempfile::tempdir().map_err(|error| fail(error.to_string()))?;
    let path = |name: &str| folder.path().join(name);
    let arguments = prepare(inputs, &path).map_err(|error| fail(error.to_string()))?;
    let output = Command::new(program)
        .args(arguments)
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| fail(error.to_string()))?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        let text = text.replace(&format!("{}/", folder.path().display()), "");
        return Err(fail(format!("{}\n{}", output.status, text.trim_end())));
    }
    fs::read(path(LIBRARY)).map_err(|error| fail(error.to_string()))
}

const LIBRARY: &str = "library.so";
const SCRIPT: &str = "exports.map";

/// Writes the inputs and names them on a command line.
fn prepare(inputs: &[Input], path: &dyn Fn(&str) -> PathBuf) -> io::Result<Vec<OsString>> {
    fs::write(path(SCRIPT), version_script(inputs))?;
    let mut arguments: Vec<OsString> = vec!["-shared".into(), "-nostdlib".into()];
    arguments.extend(OPTIONS.map(|option| format!("-Wl,{option}").into()));
    let mut script = OsString::from("-Wl,--version-script=");
    script.push(path(SCRIPT));
    arguments.extend([script, "-o".into(), path(LIBRARY).into()]);
    for (i, input) in inputs.iter().enumerate() {
        let file = path(&format!("{i}-{}", base_name(input.name())));
        fs::write(&file, input.bytes())?;
        arguments.push(file.into());
    }
    Ok(arguments)
}

/// The last part of a path, so that messages of the linker can be understood.
fn base_name(name: &str) -> String {
    Path::new(name).file_name().unwrap_or_default().to_string_lossy().into_owned()
}
