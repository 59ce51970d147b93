//! Functions of objects that are optimised. All others are chains of loads and compares, which gain nothing, and
//! optimising them takes a fifth to a half of the time that they take to compile.

use codegen::backend::Error;
use codegen::ir::{self, Binary, Inst, Terminator};
use cranelift_codegen::Context;
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::isa::TargetIsa;
use cranelift_module::{FuncId, Module, ModuleReloc};

use crate::native;

/// The number of instructions from which on the address of a stack slot is a small part of a function.
const LONG: usize = 512;

/// Returns true if a function runs faster optimised: what does not change in a loop is computed before it, a division by
/// a constant becomes a multiplication, and the address of a stack slot is computed only where it is used.
pub(crate) fn gains(source: &ir::Function) -> bool {
    let has = |wanted: fn(&Inst) -> bool| {
        source.blocks.iter().flat_map(|block| &block.insts).any(|(_, inst)| wanted(inst))
    };
    let loops = source.blocks().any(|(at, data)| {
        let mut targets = data.end.iter().flat_map(Terminator::targets);
        targets.any(|target| target.block.index() <= at.index())
    });
    let divides = |inst: &Inst| {
        use Binary::{Sdiv, Srem, Udiv, Urem};
        matches!(inst, Inst::Binary { op: Sdiv | Srem | Udiv | Urem, .. })
    };
    let size: usize = source.blocks.iter().map(|block| block.insts.len()).sum();
    loops || has(divides) || size < LONG && has(|inst| matches!(inst, Inst::StackSlot { .. }))
}

/// Compiles a function with another code generator than that of the module, and defines it.
pub(crate) fn define(
    module: &mut dyn Module,
    id: FuncId,
    context: &mut Context,
    isa: &dyn TargetIsa,
) -> Result<(), Error> {
    let compiled = context.compile(isa, &mut ControlPlane::default());
    compiled.map_err(|error| native(error.into()))?;
    let Some(code) = context.compiled_code() else { return Ok(()) };
    let relocation = |reloc| ModuleReloc::from_mach_reloc(reloc, &context.func, id);
    let relocations: Vec<ModuleReloc> = code.buffer.relocs().iter().map(relocation).collect();
    let align = u64::from(code.buffer.alignment);
    module.define_function_bytes(id, align, code.code_buffer(), &relocations).map_err(native)
}
