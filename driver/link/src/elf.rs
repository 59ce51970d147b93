//! Shared libraries in ELF: what they need besides the inputs, and what they export.

mod archived;
mod code;
mod destructors;
mod stub;
mod system;

use codegen::backend::Machine;

use super::machine::facts;
use super::{EXPORTED, Error, Input, Linker, Options, Output, Target, base_name, shown, undefined};
use stub::Stub;

/// The runtime's library.
const RUNTIME: &str = "libtvm_ffi.so";

/// Options of every linker: references to our own symbols bind to them, relocations are resolved when the library is
/// loaded (Wild does nothing else), the stack is not executable, and the bytes depend on the inputs only, of which the
/// build ID is a hash: profilers and debuggers find a library and its symbols by it. Wild takes another hash, of 32
/// bytes.
pub(super) const OPTIONS: [&str; 9] = [
    "-Bsymbolic",
    "-z",
    "now",
    "-z",
    "noexecstack",
    "--build-id=sha1",
    "--eh-frame-hdr",
    "--hash-style=gnu",
    "--enable-new-dtags",
];

/// Adds what the inputs need: the runtime, and what a C compiler adds by itself.
pub(super) fn dependencies(
    all: &mut Vec<Input>,
    options: &Options,
    linker: &Linker,
    target: &Target<'_>,
) -> Result<(), Error> {
    if options.runtime_dependency && !all.iter().any(is_runtime) {
        let runtime = runtime_library(all, target.machine)?;
        all.push(runtime);
    }
    if !matches!(linker, Linker::Cc(_)) {
        all.extend(system::copied(all, options, target)?);
        let registers = undefined(all).into_iter().any(destructors::is_wanted);
        // The last functions of a library run first, and those of the destructors of C++ run after those of C.
        let destructors = destructors::object(registers, target.machine)?;
        all.splice(0..0, destructors);
        all.extend(system::libraries(all, options, target)?);
    }
    Ok(())
}

fn is_runtime(input: &Input) -> bool {
    input.is_library() && base_name(input.name()) == RUNTIME
}

/// Returns a stub of the runtime's library. It defines nothing.
pub(super) fn runtime_library(inputs: &[Input], machine: Machine) -> Result<Input, Error> {
    Stub { name: RUNTIME, symbols: Vec::new() }.library(inputs, machine)
}

/// Returns the version script, which lists the exports.
pub(super) fn version_script(inputs: &[Input], options: &Options) -> String {
    let shown = shown(inputs, options).into_iter().map(|name| format!("{name}; "));
    let ours = EXPORTED.map(|prefix| format!("{prefix}*; "));
    let global: String = ours.into_iter().chain(shown).collect();
    format!("{{ global: {global}local: *; }};\n")
}

/// Returns the arguments of `ld` but its inputs and its output.
pub(super) fn arguments(options: &Options, machine: Machine, script: &str) -> Vec<String> {
    let mut arguments: Vec<String> = ["-m", facts(machine).emulation].map(str::to_owned).into();
    match options.output {
        Output::Object => arguments.push("-r".to_owned()),
        Output::Shared => {
            arguments.extend(
                ["-shared", "--no-gc-sections"].into_iter().chain(OPTIONS).map(str::to_owned),
            );
            arguments.push(format!("--version-script={script}"));
            arguments.extend(options.soname.iter().map(|name| format!("--soname={name}")));
            arguments.extend(options.rpath.iter().map(|folder| format!("--rpath={folder}")));
        }
    }
    arguments
}
