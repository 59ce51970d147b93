//! The system's C compiler as linker.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use codegen::backend::Machine;
use target_lexicon::Triple;

use super::folder::Folder;
use super::{Format, Input, Options, Output, Target, coff, elf};
use crate::Error;

/// Links in ELF, and for Windows with a compiler of MinGW.
pub(super) fn link(
    inputs: &[Input],
    options: &Options,
    program: &Path,
    target: &Target<'_>,
) -> Result<Vec<u8>, Error> {
    let fail = |reason: String| Error::Linker { name: program.display().to_string(), reason };
    let arguments = |folder: &Folder| match (options.output, target.format) {
        (Output::Object, _) => Ok(objects(folder)),
        (Output::Shared, Format::Coff) => windows(inputs, options, folder),
        (Output::Shared, Format::Elf | Format::MachO) => shared(inputs, options, folder),
    };
    let folder = Folder::of(inputs).map_err(fail)?;
    let arguments = arguments(&folder).map_err(|error| fail(error.to_string()))?;
    let mut command = command(program);
    if let (Output::Shared, Some(root)) = (options.output, &options.sysroot) {
        let mut option = OsString::from("--sysroot=");
        option.push(root);
        command.arg(option);
    }
    command.args(arguments).arg("-o").arg(folder.path().join(LIBRARY));
    folder.run(command, LIBRARY, "").map_err(|reason| {
        let found = machine(program).filter(|found| !is_for(found, target.triple));
        let advice = found.map(|found| {
            format!("\nit is a compiler for {found}: set CC to one for {}", target.triple)
        });
        fail(reason + &advice.unwrap_or_default())
    })
}

/// Returns the machine that a compiler compiles for, if it says so.
fn machine(program: &Path) -> Option<String> {
    let done = command(program).arg("-dumpmachine").stdin(Stdio::null()).output().ok()?;
    let text = String::from_utf8(done.stdout).ok().filter(|_| done.status.success())?;
    Some(text.trim().to_owned())
}

/// Returns false if the name of a machine is known to be that of another processor than the target's, or of a system
/// with other objects.
fn is_for(machine: &str, target: &Triple) -> bool {
    let processor = |triple: &Triple| Machine::of_architecture(triple.architecture);
    let is_same = |known: Triple| {
        processor(&known) == processor(target) && known.binary_format == target.binary_format
    };
    machine.parse().map_or(true, is_same)
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
const EXPORTS: &str = "exports.def";

/// Returns the arguments that merge objects.
fn objects(folder: &Folder) -> Vec<OsString> {
    let files = folder.files.iter().map(|file| folder.path().join(file).into());
    ["-r", "-nostdlib"].map(OsString::from).into_iter().chain(files).collect()
}

/// Writes a version script and returns the arguments for a shared library in ELF.
fn shared(inputs: &[Input], options: &Options, folder: &Folder) -> io::Result<Vec<OsString>> {
    let mut arguments: Vec<OsString> = vec!["-shared".into()];
    arguments.extend(elf::OPTIONS.map(|option| format!("-Wl,{option}").into()));
    folder.write(SCRIPT, &elf::version_script(inputs, options))?;
    let mut option = OsString::from("-Wl,--version-script=");
    option.push(folder.path().join(SCRIPT));
    arguments.push(option);
    let soname = options.soname.iter().map(|name| ("-soname", name));
    for (option, value) in soname.chain(options.rpath.iter().map(|place| ("-rpath", place))) {
        arguments.extend(["-Xlinker".into(), option.into(), "-Xlinker".into(), value.into()]);
    }
    // Some compilers drop libraries of which no symbol is used.
    arguments.push("-Wl,--no-as-needed".into());
    for (input, file) in inputs.iter().zip(&folder.files) {
        let path = folder.path().join(file);
        if let (true, Some(place), Some(name)) =
            (input.is_library(), path.parent(), path.file_name())
        {
            // A library without a soname is recorded by the name of its file.
            let mut library = OsString::from("-l:");
            library.push(name);
            arguments.extend(["-L".into(), place.into(), library]);
        } else {
            arguments.push(path.into());
        }
    }
    // libm is a part of the C library that compilers do not link by themselves.
    arguments.extend(["-Wl,--as-needed".into(), "-lm".into()]);
    Ok(arguments)
}

/// Writes a list of exports and returns the arguments for a shared library for Windows, which needs no library of the
/// compiler.
fn windows(inputs: &[Input], options: &Options, folder: &Folder) -> io::Result<Vec<OsString>> {
    folder.write(EXPORTS, &coff::definition(inputs, options))?;
    // The base of the image would be a hash of the path of the output.
    let same = ["--no-insert-timestamp", "--disable-auto-image-base"];
    let options = same.into_iter().chain(["--exclude-all-symbols", "--high-entropy-va"]);
    let mut arguments: Vec<OsString> = vec!["-shared".into(), "-static-libgcc".into()];
    arguments.extend(options.map(|option| format!("-Wl,{option}").into()));
    let files = folder.files.iter().map(|file| folder.path().join(file).into());
    arguments.extend(files.chain([folder.path().join(EXPORTS).into()]));
    Ok(arguments)
}
