//! Shared libraries for macOS: what they need besides the inputs, and the options of their linker.
//!
//! A library is signed ad hoc, and has the install name [`INSTALL_NAME`] or that of the options. The process resolves
//! the symbols that are left undefined. The runtime's library is looked for as `@rpath/libtvm_ffi.dylib`, as it calls
//! itself.

use std::collections::BTreeSet;

use target_lexicon::OperatingSystem;

use super::machine::facts;
use super::{EXPORTED, Input, Options, Target, base_name, c_library, is_ours, shown, undefined};
use crate::object_file::RUNTIME_PREFIX;

/// The runtime's library.
const RUNTIME: &str = "libtvm_ffi.dylib";

/// The name by which programs that are linked with a library look for it, if the options name none.
const INSTALL_NAME: &str = "@rpath/library.dylib";

/// The version of macOS if the target names none: that of the runtime's package, and the first on aarch64.
const VERSION: (u16, u8, u8) = (11, 0, 0);

/// Adds stubs of the runtime and the C library.
pub(super) fn dependencies(all: &mut Vec<Input>, is_runtime_recorded: bool, target: &Target<'_>) {
    if is_runtime_recorded && !all.iter().any(is_runtime) {
        let runtime = runtime_library(all, target);
        all.push(runtime);
    }
    let wanted = undefined(all);
    let known = wanted.into_iter().filter(|name| !is_ours(name) && c_library::has(name));
    // Code that binds functions on their first call needs this one.
    let names = known.chain([b"dyld_stub_binder".as_slice()]).collect();
    let system = stub("libSystem.tbd", "/usr/lib/libSystem.B.dylib", &names, target);
    all.push(system);
}

fn is_runtime(input: &Input) -> bool {
    input.is_library() && base_name(input.name()) == RUNTIME
}

/// Returns a stub of the runtime's library with the functions that the inputs use.
pub(super) fn runtime_library(inputs: &[Input], target: &Target<'_>) -> Input {
    let mut names = undefined(inputs);
    names.retain(|name| name.starts_with(RUNTIME_PREFIX.as_bytes()));
    stub("libtvm_ffi.tbd", &format!("@rpath/{RUNTIME}"), &names, target)
}

/// Returns a stub of a library: the text of version 4 that Apple's linker and LLVM's read.
fn stub(file: &str, install_name: &str, names: &BTreeSet<&[u8]>, target: &Target<'_>) -> Input {
    let targets = format!("[ {}-macos ]", architecture(target));
    let names: Vec<String> =
        names.iter().map(|name| format!("'_{}'", String::from_utf8_lossy(name))).collect();
    let names = names.join(", ").replace("'_dyld_stub_binder'", "dyld_stub_binder");
    let text = format!(
        "--- !tapi-tbd\n\
         tbd-version: 4\n\
         targets: {targets}\n\
         install-name: '{install_name}'\n\
         exports:\n  - targets: {targets}\n    symbols: [ {names} ]\n\
         ...\n"
    );
    Input::stub(file, text)
}

fn architecture(target: &Target<'_>) -> &'static str {
    facts(target.machine).macho.unwrap_or_default()
}

/// Returns the options of the flavor `darwin`.
pub(super) fn arguments(inputs: &[Input], options: &Options, target: &Target<'_>) -> Vec<String> {
    let (major, minor, patch) =
        if let OperatingSystem::MacOSX(Some(version)) = target.triple.operating_system {
            (version.major, version.minor, version.patch)
        } else {
            VERSION
        };
    let version = format!("{major}.{minor}.{patch}");
    let install_name = options.soname.as_deref().unwrap_or(INSTALL_NAME);
    let mut arguments: Vec<String> = [
        ["-dylib", "-arch", architecture(target)].as_slice(),
        &["-platform_version", "macos", &version, &version],
        &["-undefined", "dynamic_lookup", "-install_name", install_name],
        // Without `-S` the library would name the files of kernels that have debug information.
        &["-adhoc_codesign", "-S"],
    ]
    .concat()
    .into_iter()
    .map(str::to_owned)
    .collect();
    let shown = shown(inputs, options).into_iter().map(|name| format!("_{name}"));
    for name in EXPORTED.map(|prefix| format!("_{prefix}*")).into_iter().chain(shown) {
        arguments.extend(["-exported_symbol".to_owned(), name]);
    }
    for folder in &options.rpath {
        arguments.extend(["-rpath".to_owned(), folder.clone()]);
    }
    arguments
}
