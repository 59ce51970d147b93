//! Code generators: their settings, that of a target, and others for functions that gain from one.

use codegen::backend::{Error, Feature, Machine};
use codegen::ir::{self, Binary, Inst};
use cranelift_codegen::Context;
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::Function;
use cranelift_codegen::isa::{self, OwnedTargetIsa, TargetIsa};
use cranelift_codegen::settings::{self, Configurable, Flags};
use cranelift_module::{FuncId, Module, ModuleError, ModuleReloc};
use target_lexicon::{BinaryFormat, Triple};

use crate::{Cranelift, native, refused};

/// The settings of code generation apart from the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Generates position-independent code. No effect for COFF, whose images the loader relocates.
    pub pic: bool,
    /// Optimises.
    pub optimize: bool,
    /// Runs Cranelift's verifier on every function.
    pub verify: bool,
    /// Allocates registers in a single pass, which takes longer and makes larger code except for [wide](crate::is_wide)
    /// functions.
    pub single_pass: bool,
}

impl Settings {
    /// The settings of object files, in which functions with divisions are optimised all the same, and the registers of
    /// wide functions are allocated in a single pass. Debug builds verify.
    pub const OBJECT: Settings = Settings { pic: true, ..Settings::JIT };

    /// The settings of code for this process. Debug builds verify.
    pub const JIT: Settings = Settings {
        pic: false,
        optimize: false,
        verify: cfg!(debug_assertions),
        single_pass: false,
    };
}

/// Returns the code generator of a target, for the target's generic CPU.
///
/// # Errors
/// [`Error::Target`] if the machine is not a [known one](Machine).
pub fn isa(triple: &Triple, settings: Settings) -> Result<OwnedTargetIsa, Error> {
    isa_of(&Cranelift::new(triple.clone()), settings)
}

/// Returns the code generator of a target, with its features.
pub(crate) fn isa_of(target: &Cranelift, settings: Settings) -> Result<OwnedTargetIsa, Error> {
    let triple = &target.triple;
    let machine = Machine::of(triple)?;
    let unsupported = |reason: String| Error::Target { triple: triple.clone(), reason };
    let pic = settings.pic && triple.binary_format != BinaryFormat::Coff;
    let mut flags = settings::builder();
    flags.set("is_pic", &pic.to_string()).map_err(refused)?;
    flags.set("opt_level", if settings.optimize { "speed" } else { "none" }).map_err(refused)?;
    let allocator = if settings.single_pass { "single_pass" } else { "backtracking" };
    flags.set("regalloc_algorithm", allocator).map_err(refused)?;
    flags.set("enable_verifier", &settings.verify.to_string()).map_err(refused)?;
    // Frames above a page touch every page, so that none skips the guard page of its thread.
    flags.set("enable_probestack", "true").map_err(refused)?;
    flags.set("probestack_strategy", "inline").map_err(refused)?;
    let builder = isa::lookup(triple.clone()).map_err(|error| unsupported(error.to_string()));
    let mut builder = builder?;
    for Feature { name, enabled } in &target.features {
        let set = builder.set(&flag(machine, name), &enabled.to_string());
        set.map_err(|_| unsupported(format!("no feature `{name}`")))?;
    }
    builder.finish(Flags::new(flags)).map_err(|error| unsupported(error.to_string()))
}

/// Returns the name of Cranelift's setting for a feature, which has LLVM's name.
fn flag(machine: Machine, feature: &str) -> String {
    let name = match (machine, feature) {
        (Machine::X86_64, "avxvnni") => "avx_vnni",
        (Machine::X86_64, "bmi") => "bmi1",
        (Machine::X86_64, "cx16") => "cmpxchg16b",
        (Machine::Aarch64, "fullfp16") => "fp16",
        (Machine::X86_64 | Machine::Aarch64 | Machine::Riscv64, name) => name,
    };
    format!("has_{}", name.replace(['.', '-'], ""))
}

/// The code generators of a target beside that of an object's module, each made for the first function that gains from
/// it.
pub(crate) struct Generators<'a> {
    target: &'a Cranelift,
    optimizing: Option<OwnedTargetIsa>,
    for_wide: Option<OwnedTargetIsa>,
}

impl<'a> Generators<'a> {
    pub(crate) fn new(target: &'a Cranelift) -> Self {
        Generators { target, optimizing: None, for_wide: None }
    }

    /// Returns the code generator of a function, given in host IR and translated; `None` for that of the module. Most
    /// functions are chains of loads and compares, which gain nothing: optimising them takes a fifth to a half of the
    /// time that they take to compile.
    fn of(
        &mut self,
        source: &ir::Function,
        translated: &Function,
    ) -> Result<Option<&dyn TargetIsa>, Error> {
        let (made, settings) = if is_wide(translated) {
            (&mut self.for_wide, Settings { single_pass: true, ..Settings::OBJECT })
        } else if gains(source) {
            (&mut self.optimizing, Settings { optimize: true, ..Settings::OBJECT })
        } else {
            return Ok(None);
        };
        if made.is_none() {
            *made = Some(isa_of(self.target, settings)?);
        }
        Ok(made.as_deref())
    }

    /// Compiles a translated function with its code generator and defines it.
    pub(crate) fn define(
        &mut self,
        module: &mut dyn Module,
        id: FuncId,
        context: &mut Context,
        source: &ir::Function,
    ) -> Result<(), Error> {
        match self.of(source, &context.func)? {
            Some(isa) => define(module, id, context, isa, &mut ControlPlane::default())
                .map_err(|error| native(*error)),
            None => module.define_function(id, context).map_err(native),
        }
    }
}

/// The number of parameters above which a function is wide: far more than the registers of any machine.
pub(crate) const WIDE: usize = 64;

/// The number of blocks for each parameter from which on a wide function is a long one rather than a wide one.
const BLOCKS: usize = 4;

/// Returns true if a function has, or calls another with, many parameters, and not many more blocks. The time of the
/// usual register allocator grows with the square of the number of parameters, that of one that allocates in a single
/// pass does not; but the latter takes longer the more values live in several blocks, and makes larger code. See
/// [`Settings::single_pass`].
pub fn is_wide(function: &Function) -> bool {
    let signatures = function.dfg.signatures.values().chain([&function.signature]);
    let params = signatures.map(|signature| signature.params.len()).max().unwrap_or_default();
    params > WIDE && function.dfg.num_blocks() < BLOCKS * params
}

/// Returns true if a function runs faster optimised: a division by a constant becomes a multiplication.
fn gains(source: &ir::Function) -> bool {
    use Binary::{Sdiv, Srem, Udiv, Urem};
    let divides = |inst: &Inst| matches!(inst, Inst::Binary { op: Sdiv | Srem | Udiv | Urem, .. });
    source.blocks.iter().flat_map(|block| &block.insts).any(|placed| divides(&placed.inst))
}

/// Compiles a function with another code generator than that of the module, and defines it.
///
/// # Errors
/// Those of the code generator and of the module.
pub fn define(
    module: &mut dyn Module,
    id: FuncId,
    context: &mut Context,
    isa: &dyn TargetIsa,
    plane: &mut ControlPlane,
) -> Result<(), Box<ModuleError>> {
    context.compile(isa, plane).map_err(|error| Box::new(error.into()))?;
    let Some(code) = context.compiled_code() else { return Ok(()) };
    let relocation = |reloc| ModuleReloc::from_mach_reloc(reloc, &context.func, id);
    let relocations: Vec<ModuleReloc> = code.buffer.relocs().iter().map(relocation).collect();
    let align = u64::from(code.buffer.alignment);
    module.define_function_bytes(id, align, code.code_buffer(), &relocations).map_err(Box::new)
}
