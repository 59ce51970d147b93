//! Compiles the routines for the target of this crate.

use std::error::Error;
use std::path::Path;
use std::{env, fs};

use backend_cranelift::recorded::record;
use backend_cranelift::{Cranelift, Settings, isa};
use codegen::ir::Linkage;
use codegen::linker::{linked_routines, routines};
use codegen::{Backend, Loader};
use target_lexicon::Triple;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    let (target, folder) = (env::var("TARGET")?, env::var("OUT_DIR")?);
    println!("cargo::rustc-env=PREBUILT_TARGET={target}");
    let write = |name: &str, bytes: Vec<u8>| fs::write(Path::new(&folder).join(name), bytes);
    // Without a code generator for the target nothing is compiled.
    let triple: Option<Triple> = target.parse().ok();
    let triple = triple.filter(|triple| isa(triple, Settings::JIT).is_ok());
    let mut table = String::new();
    if let Some(triple) = &triple {
        for (name, module) in linked_routines(Loader::of(triple)) {
            write(&format!("{name}.o"), Cranelift::new(triple.clone()).object(&module, &[])?)?;
            let defined = module.symbols.iter().filter(|symbol| symbol.linkage == Linkage::Once);
            let defines: Vec<&str> = defined.map(|symbol| &symbol.name[..]).collect();
            table += &format!(
                "Object {{ name: {name:?}, defines: &{defines:?}, bytes: include_bytes!(\"{name}.o\") }},\n"
            );
        }
    }
    write("objects.rs", format!("&[\n{table}]\n").into_bytes())?;
    let process = triple.as_ref().map(in_process).transpose()?;
    write("process", process.unwrap_or_default())?;
    Ok(())
}

fn in_process(triple: &Triple) -> Result<Vec<u8>, Box<dyn Error>> {
    Ok(record(isa(triple, Settings::JIT)?, &routines(Loader::of(triple)))?)
}
