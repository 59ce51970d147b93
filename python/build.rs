//! Makes the wrappers of `src/surface.ffi` with this very library, and what exports them.
//!
//! Of what Rust links into a shared library only its own functions are exported, so that each exported name is a
//! function of Rust (`exports.rs` in `$OUT_DIR`) that goes on to the wrapper, which has another name.

use std::env;
use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use codegen::ir::{self, Linkage};
use driver::link::{Input, runtime_library};
use driver::{Form, Options};
use target_lexicon::{BinaryFormat, Triple};

/// What stands before the names of the wrappers.
const PREFIX: &str = "tvm_ffi_codegen_wrapper";

fn main() -> Result<(), Box<dyn Error>> {
    const SURFACE: &str = "src/surface.ffi";
    println!("cargo:rerun-if-changed={SURFACE}");
    let out = env::var("OUT_DIR")?;
    let target: Triple = env::var("TARGET")?.parse().map_err(|error| format!("{error}"))?;
    let out = Path::new(&out);

    let library = fs::read_to_string(SURFACE)?.parse::<codegen::Library>()?;
    let mut module = driver::lower(&library)?;
    let exports = rename(&mut module);
    fs::write(out.join("exports.rs"), trampolines(&exports)?)?;

    let options = Options { target: target.clone(), ..Options::default() };
    let bytes = driver::emit_module(&module, Form::Object, &options)?;
    let object = out.join("surface.o");
    fs::write(&object, &bytes)?;
    println!("cargo:rustc-cdylib-link-arg={}", object.display());
    link_runtime(out, &target, Input::new("surface.o", bytes)?)
}

/// Gives what is exported other names; those that it had.
fn rename(module: &mut ir::Module) -> Vec<String> {
    let functions = module.functions.iter().map(|function| function.symbol);
    let exported =
        functions.filter(|symbol| module.symbols[symbol.index()].linkage == Linkage::Export);
    let exported: Vec<_> =
        exported.map(|symbol| (symbol, module.name(symbol).to_owned())).collect();
    let renames: Vec<_> =
        exported.iter().map(|(symbol, name)| (*symbol, format!("{PREFIX}{name}"))).collect();
    module.rename(&renames).expect("nothing else starts with the prefix");
    exported.into_iter().map(|(_, name)| name).collect()
}

/// The functions of Rust that are exported: all have the one type of FFI functions.
fn trampolines(exports: &[String]) -> Result<String, std::fmt::Error> {
    let mut text = String::new();
    writeln!(text, "forward! {{")?;
    for name in exports {
        writeln!(text, "    {name} => {PREFIX}{name};")?;
    }
    writeln!(text, "}}")?;
    Ok(text)
}

/// Says that the library needs the runtime, and that it stays once it is loaded: objects that it made may be anywhere.
fn link_runtime(out: &Path, target: &Triple, surface: Input) -> Result<(), Box<dyn Error>> {
    let argument = |argument: &str| println!("cargo:rustc-cdylib-link-arg={argument}");
    if target.binary_format != BinaryFormat::Elf {
        // Elsewhere the process has loaded it before.
        argument("-Wl,-undefined,dynamic_lookup");
        return Ok(());
    }
    let runtime = runtime_library(&[surface], target)?;
    let path = out.join("libtvm_ffi.so");
    fs::write(&path, runtime.bytes())?;
    argument("-Wl,--no-as-needed");
    argument(&path.display().to_string());
    argument("-Wl,--as-needed");
    argument("-Wl,-z,nodelete");
    Ok(())
}
