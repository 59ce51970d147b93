//! Compiles the wrappers of `src/surface.ffi` with this very library, and generates their exports and the header for C.
//!
//! Rust exports only its own functions from a shared library. So each exported name is a function of Rust (`exports.rs`
//! in `$OUT_DIR`) that calls the wrapper, which has another name. The functions for C have common names here (`link`);
//! their exports get a prefix, which the header, `$OUT_DIR/include/tvm_ffi_codegen.h`, has too.

use std::env;
use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use codegen::ir::{self, Linkage, Type};
use codegen::{Expr, Statement};
use driver::Request;
use driver::link::{Input, runtime_library};
use target_lexicon::{BinaryFormat, Triple};

/// Prefix of the names of wrappers.
const PREFIX: &str = "tvm_ffi_codegen_wrapper_";

/// Prefix of the names of functions of the FFI, of their metadata and documentation.
const FFI: &str = "__tvm_ffi_";

/// Prefix of the exported functions for C.
const C: &str = "tvm_ffi_codegen_";

/// Name by which the loader knows the library.
const SONAME: &str = "libtvm_ffi_codegen.so";

/// First comment of the header.
const ABOUT: &str = "\
/* libtvm_ffi_codegen.so for C and C++: makes functions of TVM FFI from declarations. The library exports each function
 * below for the FFI, too, with the signature in its comment. tvm_ffi_codegen.hpp has them typed for programs on tvm/ffi.
 *
 * Texts are UTF-8 with their sizes, options and kernels a Map or NULL, files an Array; the helpers at the end make them.
 * A function that fails returns -1, and tvm_ffi_codegen_take_error returns the text of its error.
 * Any thread may call any function; the comment of jit has the rules for its modules. */
";

/// Helpers of the header.
const HELPERS: &str = include_str!("src/helpers.h");

/// The end of a header, before which the helpers stand.
const END: &str = "\n#ifdef __cplusplus\n}";

fn main() -> Result<(), Box<dyn Error>> {
    const SURFACE: &str = "src/surface.ffi";
    println!("cargo:rerun-if-changed={SURFACE}");
    let out = env::var("OUT_DIR")?;
    let target: Triple = env::var("TARGET")?.parse().map_err(|error| format!("{error}"))?;
    let out = Path::new(&out);

    let library = fs::read_to_string(SURFACE)?.parse::<codegen::Library>()?;
    fs::create_dir_all(out.join("include"))?;
    fs::write(out.join("include/tvm_ffi_codegen.h"), header(&library)?)?;
    let mut module = driver::lower(&library, &codegen::Options::default())?;
    let exports = rename(&mut module);
    fs::write(out.join("exports.rs"), trampolines(&exports)?)?;

    let request = Request { target: target.clone(), ..Request::default() };
    let bytes = request.emit_module(&module)?;
    let object = out.join("surface.o");
    fs::write(&object, &bytes)?;
    println!("cargo:rustc-cdylib-link-arg={}", object.display());
    link_runtime(out, &target, Input::new("surface.o", bytes)?)
}

/// Returns the header, without the kernels, which nobody else calls, and with the version and the helpers.
fn header(library: &codegen::Library) -> Result<String, codegen::Error> {
    let mut library = library.clone();
    library.system_lib = Some(C.to_owned());
    for function in &mut library.functions {
        function.body = [Statement::raise("RuntimeError", [Expr::text("not called")])].into();
    }
    let text = library.resolve()?.header();
    let (functions, end) = text.split_at(text.rfind(END).expect("a header ends like this"));
    let (start, functions) = functions.split_once("\n\n").expect("a header starts with a guard");
    let version = env!("CARGO_PKG_VERSION");
    let version = format!(
        "/* Version of this header; that of the library is tvm_ffi_codegen_version. */\n#define TVM_FFI_CODEGEN_VERSION \"{version}\""
    );
    Ok(format!("{ABOUT}{start}\n\n{version}\n\n{functions}{HELPERS}{end}"))
}

/// Renames the exported functions; returns their former names and their signatures.
fn rename(module: &mut ir::Module) -> Vec<(String, ir::Signature)> {
    let is_exported =
        |symbol: ir::Symbol| module.symbols[symbol.index()].linkage == Linkage::Export;
    let functions = module.functions.iter().filter(|function| is_exported(function.symbol));
    let exported: Vec<_> = functions
        .map(|function| {
            let name = module.name(function.symbol).to_owned();
            (function.symbol, name, function.signature.clone())
        })
        .collect();
    let renames: Vec<_> =
        exported.iter().map(|(symbol, name, _)| (*symbol, format!("{PREFIX}{name}"))).collect();
    module.rename(&renames).expect("nothing else starts with the prefix");
    exported.into_iter().map(|(_, name, signature)| (name, signature)).collect()
}

/// Returns the source of the exported functions of Rust. Each has the type of its wrapper; all return a status.
fn trampolines(exports: &[(String, ir::Signature)]) -> Result<String, std::fmt::Error> {
    let mut text = String::new();
    writeln!(text, "forward! {{")?;
    for (name, signature) in exports {
        let types = signature.params.iter().enumerate();
        let params: Vec<_> = types.map(|(i, param)| format!("p{i}: {}", rust(param.ty))).collect();
        let prefix = if name.starts_with(FFI) { "" } else { C };
        writeln!(text, "    {prefix}{name}({}) => {PREFIX}{name};", params.join(", "))?;
    }
    writeln!(text, "}}")?;
    Ok(text)
}

/// Returns the Rust name of a type. Comparisons are not passed, so that no parameter is a `Bool`.
fn rust(ty: Type) -> String {
    if ty == Type::Ptr { "*const c_void".to_owned() } else { ty.to_string() }
}

/// Links the library with the runtime, and marks it as never unloaded, because objects that it made may outlive it.
fn link_runtime(out: &Path, target: &Triple, surface: Input) -> Result<(), Box<dyn Error>> {
    let argument = |argument: &str| println!("cargo:rustc-cdylib-link-arg={argument}");
    if target.binary_format != BinaryFormat::Elf {
        // On other systems the process has loaded the runtime before.
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
    argument(&format!("-Wl,-soname,{SONAME}"));
    Ok(())
}
