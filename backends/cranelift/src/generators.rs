//! Code generators: that of the module, and others for functions that gain from one.

use codegen::backend::Error;
use codegen::ir::{self, Binary, Inst};
use cranelift_codegen::Context;
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::Function;
use cranelift_codegen::isa::{OwnedTargetIsa, TargetIsa};
use cranelift_module::{FuncId, Module, ModuleError, ModuleReloc};
use target_lexicon::Triple;

use crate::native;
use crate::object::{Settings, isa};

/// The code generators of a target beside that of an object's module, each made for the first function that gains from
/// it.
pub(crate) struct Generators<'a> {
    triple: &'a Triple,
    optimizing: Option<OwnedTargetIsa>,
    for_wide: Option<OwnedTargetIsa>,
}

impl<'a> Generators<'a> {
    pub(crate) fn new(triple: &'a Triple) -> Self {
        Generators { triple, optimizing: None, for_wide: None }
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
            *made = Some(isa(self.triple, settings)?);
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
const WIDE: usize = 64;

/// The number of blocks for each parameter from which on a wide function is a long one rather than a wide one.
const BLOCKS: usize = 4;

/// Returns true if a function has, or calls another with, many parameters, and not many more blocks. The time of the usual
/// register allocator grows with the square of the number of parameters, that of one that allocates in a single pass does
/// not; but the latter takes longer the more values live in several blocks, and makes larger code. See
/// [`Settings::single_pass`].
pub fn is_wide(function: &Function) -> bool {
    let signatures = function.dfg.signatures.values().chain([&function.signature]);
    let params = signatures.map(|signature| signature.params.len()).max().unwrap_or_default();
    params > WIDE && function.dfg.num_blocks() < BLOCKS * params
}

/// The number of instructions from which on the address of a stack slot is a small part of a function.
const LONG: usize = 512;

/// Returns true if a function runs faster optimised: what does not change in a loop is computed before it, a division by
/// a constant becomes a multiplication, and the address of a stack slot is computed only where it is used.
fn gains(source: &ir::Function) -> bool {
    let has = |wanted: fn(&Inst) -> bool| {
        source.blocks.iter().flat_map(|block| &block.insts).any(|(_, inst)| wanted(inst))
    };
    let divides = |inst: &Inst| {
        use Binary::{Sdiv, Srem, Udiv, Urem};
        matches!(inst, Inst::Binary { op: Sdiv | Srem | Udiv | Urem, .. })
    };
    let has_slot = || has(|inst| matches!(inst, Inst::StackSlot { .. }));
    source.has_loop() || has(divides) || source.size() < LONG && has_slot()
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
