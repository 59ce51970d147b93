//! Object files: the settings of the code generator, and the native module as bytes.

use codegen::ir::{self, Inst};
use cranelift_codegen::isa::{self, OwnedTargetIsa};
use cranelift_codegen::settings::{self, Configurable, Flags};
use cranelift_module::{FuncOrDataId, Linkage, default_libcall_names};
use cranelift_object::object::SymbolScope;
use cranelift_object::object::write::coff::CoffExportStyle;
use cranelift_object::object::write::{Object, Symbol, SymbolId};
use cranelift_object::{ObjectBuilder, ObjectModule};
use target_lexicon::{Architecture, BinaryFormat, Endianness, Environment, PointerWidth, Triple};

use crate::error::Error;
use crate::symbols::{self, Plan};

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
pub fn isa(triple: &Triple, settings: Settings) -> Result<OwnedTargetIsa, Error> {
    let unsupported = |reason: String| Error::Target { triple: triple.clone(), reason };
    supported(triple).map_err(|reason| unsupported(reason.into()))?;
    let native = |reason: settings::SetError| Error::Native { reason: reason.to_string() };
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
    if triple.pointer_width() != Ok(PointerWidth::U64) {
        return Err("not a 64-bit machine");
    }
    if triple.endianness() != Ok(Endianness::Little) {
        return Err("not a little-endian machine");
    }
    match triple.binary_format {
        BinaryFormat::Elf => Ok(()),
        BinaryFormat::Coff | BinaryFormat::Macho if !riscv => Ok(()),
        _ => Err("unknown object format"),
    }
}
