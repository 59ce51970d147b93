//! LLVM's linker, a program.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::folder::Folder;
use super::{Format, Input, Options, Output, Target, coff, elf, macho};
use crate::Error;

const LIBRARY: &str = "library";
const SCRIPT: &str = "exports.map";

/// Advice where the program is missing.
const ADVICE: &str = "; set LLD to the path of lld, of LLVM, or of rust-lld, of Rust";

/// Variables of the environment with options and folders for the flavor `link`.
const VARIABLES: [&str; 3] = ["LINK", "_LINK_", "LIB"];

/// Links in any format.
pub(super) fn link(
    inputs: &[Input],
    options: &Options,
    program: &Path,
    target: &Target<'_>,
) -> Result<Vec<u8>, Error> {
    let fail = |reason: String| Error::Linker { name: program.display().to_string(), reason };
    let folder = Folder::of(inputs).map_err(fail)?;
    let (flavor, arguments) = match (target.format, options.output) {
        (Format::Elf, _) => ("gnu", elf(inputs, options, &folder, target)),
        (Format::Coff, Output::Shared) => {
            let arguments =
                [coff::arguments(inputs, options, target), vec![format!("/out:{LIBRARY}")]];
            ("link", Ok(arguments.concat().into_iter().chain(folder.names()).collect()))
        }
        (Format::MachO, Output::Shared) => {
            let arguments = [macho::arguments(inputs, options, target), to_library()];
            ("darwin", Ok(arguments.concat().into_iter().chain(folder.names()).collect()))
        }
        (Format::Coff, Output::Object) => {
            return Err(target.refuse("lld merges no objects; take linker cc, of MinGW"));
        }
        (Format::MachO, Output::Object) => {
            return Err(target.refuse("lld merges no objects; emit an object without kernels"));
        }
    };
    let arguments: Vec<String> = arguments.map_err(|error: io::Error| fail(error.to_string()))?;
    let mut command = Command::new(absolute(program).map_err(|error| fail(error.to_string()))?);
    command.args(["-flavor", flavor]).args(arguments).current_dir(folder.path());
    for variable in VARIABLES {
        command.env_remove(variable);
    }
    folder.run(command, LIBRARY, ADVICE).map_err(fail)
}

/// Returns a path that means the same in another folder. Names are looked up on the path.
fn absolute(program: &Path) -> io::Result<PathBuf> {
    let is_name = program.components().count() == 1;
    if is_name { Ok(program.to_owned()) } else { std::path::absolute(program) }
}

fn to_library() -> Vec<String> {
    ["-o", LIBRARY].map(str::to_owned).into()
}

/// Writes a version script and returns the arguments of the flavor `gnu`.
fn elf(
    inputs: &[Input],
    options: &Options,
    folder: &Folder,
    target: &Target<'_>,
) -> io::Result<Vec<String>> {
    folder.write(SCRIPT, &elf::version_script(inputs, options))?;
    let mut arguments = [elf::arguments(options, target.machine, SCRIPT), to_library()].concat();
    for (input, name) in inputs.iter().zip(folder.names()) {
        match name.split_once('/').filter(|_| input.is_library()) {
            // A library without a soname is recorded by the name of its file.
            Some((place, file)) => arguments.extend([format!("-L{place}"), format!("-l:{file}")]),
            None => arguments.push(name),
        }
    }
    Ok(arguments)
}
