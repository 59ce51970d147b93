//! Object files: the code generator for a target, and the native module as bytes.

use codegen::ir;
use cranelift_codegen::isa::{self, OwnedTargetIsa};
use cranelift_codegen::settings::{self, Configurable, Flags};
use cranelift_module::{FuncOrDataId, default_libcall_names};
use cranelift_object::object::write::{CoffExportStyle, Object, Symbol, SymbolId};
use cranelift_object::object::{SectionFlags, SymbolFlags, SymbolScope};
use cranelift_object::{ObjectBuilder, ObjectModule};
use target_lexicon::{Architecture, BinaryFormat, Endianness, Environment, PointerWidth, Triple};

use crate::error::Error;
use crate::unwind::Tables;
use crate::{constructors, data, define, symbols};

/// How code is generated, apart from the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The code may be loaded anywhere. Has no effect for COFF, whose images the loader relocates.
    pub pic: bool,
    /// Spend time on better code.
    pub optimize: bool,
    /// Run Cranelift's verifier on every function.
    pub verify: bool,
}

impl Settings {
    /// For object files. Debug builds verify.
    pub const OBJECT: Settings =
        Settings { pic: true, optimize: true, verify: cfg!(debug_assertions) };

    /// For code that runs in this process. Debug builds verify.
    pub const JIT: Settings =
        Settings { pic: false, optimize: false, verify: cfg!(debug_assertions) };
}

/// The code generator for a target, with the target's generic CPU.
///
/// # Errors
/// [`Error::Target`] if Cranelift has none, or the machine is not a 64-bit little-endian one.
pub fn isa(triple: &Triple, settings: Settings) -> Result<OwnedTargetIsa, Error> {
    let unsupported = |reason: String| Error::Target { triple: triple.clone(), reason };
    supported(triple).map_err(|reason| unsupported(reason.into()))?;
    let native = |error: settings::SetError| Error::Native { reason: error.to_string() };
    let pic = settings.pic && triple.binary_format != BinaryFormat::Coff;
    let mut flags = settings::builder();
    flags.set("is_pic", &pic.to_string()).map_err(native)?;
    flags.set("opt_level", if settings.optimize { "speed" } else { "none" }).map_err(native)?;
    flags.set("enable_verifier", &settings.verify.to_string()).map_err(native)?;
    let builder = isa::lookup(triple.clone()).map_err(|error| unsupported(error.to_string()))?;
    builder.finish(Flags::new(flags)).map_err(|error| unsupported(error.to_string()))
}

/// Host IR is for 64-bit little-endian machines, and objects come in three formats.
fn supported(triple: &Triple) -> Result<(), &'static str> {
    let riscv = matches!(triple.architecture, Architecture::Riscv64(_));
    let format = triple.binary_format;
    if triple.pointer_width() != Ok(PointerWidth::U64) {
        return Err("not a 64-bit machine");
    }
    if triple.endianness() != Ok(Endianness::Little) {
        return Err("not a little-endian machine");
    }
    let known = matches!(format, BinaryFormat::Coff | BinaryFormat::Macho) && !riscv;
    if format != BinaryFormat::Elf && !known {
        return Err("no such object format for this machine");
    }
    Ok(())
}

/// An empty native module for a target.
pub(crate) fn module(triple: &Triple) -> Result<ObjectModule, Error> {
    let isa = isa(triple, Settings::OBJECT)?;
    let builder = ObjectBuilder::new(isa, "host", default_libcall_names())?;
    Ok(ObjectModule::new(builder))
}

/// Object bytes: position-independent, optimised, exports visible to the loader.
pub(crate) fn object(triple: &Triple, source: &ir::Module) -> Result<Vec<u8>, Error> {
    let mut module = module(triple)?;
    let mut plan = symbols::plan(&module, source)?;
    let elf = triple.binary_format == BinaryFormat::Elf;
    let aliased = if elf { symbols::bypass_exports(&mut plan, source) } else { Vec::new() };
    let mut tables = elf.then(Tables::default);
    let symbols = define(&mut module, source, &plan, tables.as_mut())?;
    let mut product = module.finish();
    if let Some(tables) = tables {
        tables.write(&mut product)?;
    }
    constructors::write(&mut product, source, &symbols)?;
    for large in source.data.iter().filter(|data| data.large && data::has_large(triple)) {
        if let FuncOrDataId::Data(id) = symbols[large.symbol.index()] {
            let symbol = product.data_symbol(id);
            mark_large(&mut product.object, symbol);
        }
    }
    for symbol in aliased {
        let id = match symbols[symbol.index()] {
            FuncOrDataId::Func(id) => product.function_symbol(id),
            FuncOrDataId::Data(id) => product.data_symbol(id),
        };
        export(&mut product.object, id, source.name(symbol));
    }
    if triple.binary_format == BinaryFormat::Coff {
        let gnu = matches!(triple.environment, Environment::Gnu | Environment::GnuLlvm);
        let style = if gnu { CoffExportStyle::Gnu } else { CoffExportStyle::Msvc };
        product.object.add_coff_exports(style);
    }
    product.emit().map_err(|error| Error::Native { reason: error.to_string() })
}

/// The section may be out of the reach of code; of the processor supplement of the ELF specification.
const SHF_X86_64_LARGE: u64 = 0x1000_0000;

/// Tells linkers to keep the section of a large constant apart.
fn mark_large(object: &mut Object<'_>, symbol: SymbolId) {
    if let Some(section) = object.symbol(symbol).section.id()
        && let SectionFlags::Elf { sh_flags } = object.section_flags_mut(section)
    {
        *sh_flags |= SHF_X86_64_LARGE;
    }
}

/// Exports what a local symbol stands for under another name.
fn export(object: &mut Object<'_>, local: SymbolId, name: &str) {
    let &Symbol { value, size, kind, section, .. } = object.symbol(local);
    object.add_symbol(Symbol {
        name: name.into(),
        value,
        size,
        kind,
        scope: SymbolScope::Dynamic,
        weak: false,
        section,
        flags: SymbolFlags::None,
    });
}
