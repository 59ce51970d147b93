//! Functions: blocks, values, and the translation table from host IR to LLVM IR. `instruction` translates each
//! instruction.
//!
//! Both IRs are in static single assignment form: a block parameter becomes a phi, whose incoming values the
//! terminators add. Constants are no instructions.

use codegen::backend::Error;
use codegen::ir::{self, Inst, Placed, Target, Terminator};
use inkwell::basic_block::BasicBlock;
use inkwell::builder::Builder;
use inkwell::module::Module;
use inkwell::values::{
    BasicValue, BasicValueEnum, FunctionValue, IntValue, MetadataValue, PhiValue, PointerValue,
};

use crate::debug::Debug;
use crate::symbols::Symbols;
use crate::types::Types;
use crate::{raw, refused};

/// The state of a module's emission, and buffers that are reused from one function to the next.
pub(crate) struct Functions<'a, 'ctx> {
    pub(crate) types: &'a Types<'ctx>,
    /// The host IR, and the native symbol of each of its symbols.
    pub(crate) source: &'a ir::Module,
    pub(crate) symbols: &'a Symbols<'ctx>,
    pub(crate) module: &'a Module<'ctx>,
    builder: Builder<'ctx>,
    /// The native values of the current function, by host IR value.
    values: Vec<BasicValueEnum<'ctx>>,
    /// The native blocks of the current function, by host IR block.
    blocks: Vec<Block<'ctx>>,
    /// The names of its values; empty if LLVM discards names.
    names: Vec<String>,
    debug: Debug<'ctx>,
    /// The location of each topic of the current function; empty if it has no debug information.
    locations: Vec<MetadataValue<'ctx>>,
}

/// A block and its parameters.
struct Block<'ctx> {
    block: BasicBlock<'ctx>,
    phis: Vec<PhiValue<'ctx>>,
    cold: bool,
}

impl<'a, 'ctx> Functions<'a, 'ctx> {
    pub(crate) fn new(
        types: &'a Types<'ctx>,
        source: &'a ir::Module,
        symbols: &'a Symbols<'ctx>,
        module: &'a Module<'ctx>,
        debug: Debug<'ctx>,
    ) -> Self {
        let builder = types.context.create_builder();
        let (values, blocks, names, locations) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Functions {
            types,
            source,
            symbols,
            module,
            builder,
            values,
            blocks,
            names,
            debug,
            locations,
        }
    }

    /// Gives the current function its debug information.
    fn describe(&mut self, function: FunctionValue<'ctx>, source: &ir::Function) {
        self.types.describe(function, source);
        self.locations.clear();
        self.locations.extend_from_slice(self.debug.describe(function, source));
        self.locate(ir::TopicId::default());
    }

    /// Sets the location of the instructions that follow.
    fn locate(&self, topic: ir::TopicId) {
        if !self.debug.is_empty() {
            raw::set_location(&self.builder, self.locations.get(topic.index()).copied());
        }
    }
}

/// Translates a function into the module.
pub(crate) fn define<'ctx>(
    functions: &mut Functions<'_, 'ctx>,
    function: FunctionValue<'ctx>,
    source: &ir::Function,
) -> Result<(), Error> {
    functions.describe(function, source);
    blocks(functions, function, source)?;
    let mut body = Body { functions, source, result: None, overflowed: None };
    for (block, data) in source.blocks() {
        body.functions.builder.position_at_end(body.functions.blocks[block.index()].block);
        for Placed { result, inst, topic } in &data.insts {
            body.functions.locate(*topic);
            body.result = *result;
            let value = body.inst(inst)?;
            if let (Some(result), Some(value)) = (result, value) {
                body.functions.values[result.index()] = value;
            }
        }
        body.functions.locate(data.end_topic);
        data.end.iter().try_for_each(|end| body.terminator(block, end))?;
    }
    Ok(())
}

/// Creates every block with its parameters, before branches refer to them.
fn blocks<'ctx>(
    functions: &mut Functions<'_, 'ctx>,
    function: FunctionValue<'ctx>,
    source: &ir::Function,
) -> Result<(), Error> {
    let context = functions.types.context;
    functions.names.clear();
    if !raw::discards_names(context) {
        functions.names.extend(source.value_names().into_iter().map(terminated));
    }
    functions.values.clear();
    functions.values.resize(source.values.len(), context.bool_type().const_zero().into());
    functions.blocks.clear();
    for (block, data) in source.blocks() {
        let native = context.append_basic_block(function, &source.label(block));
        functions.builder.position_at_end(native);
        let mut phis = Vec::new();
        for (i, &param) in data.params.iter().enumerate() {
            let name = functions.names.get(param.index()).map_or("", String::as_str);
            functions.values[param.index()] = if block.index() == 0 {
                let value = function.get_nth_param(i as u32);
                let value = value.ok_or_else(|| refused("a parameter is missing"))?;
                value.set_name(name);
                value
            } else {
                let ty = functions.types.ty(source.ty(param));
                let phi = functions.builder.build_phi(ty, name).map_err(refused)?;
                phis.push(phi);
                phi.as_basic_value()
            };
        }
        functions.blocks.push(Block { block: native, phis, cold: data.cold });
    }
    Ok(())
}

/// Appends a NUL to a name, which saves inkwell a copy.
fn terminated(mut name: String) -> String {
    name.push('\0');
    name
}

/// A function whose instructions are being written.
pub(crate) struct Body<'f, 'a, 'ctx> {
    pub(crate) functions: &'f mut Functions<'a, 'ctx>,
    pub(crate) source: &'f ir::Function,
    /// The result of the current instruction.
    pub(crate) result: Option<ir::Value>,
    /// The flag of the checked arithmetic just before.
    pub(crate) overflowed: Option<BasicValueEnum<'ctx>>,
}

impl<'ctx> Body<'_, '_, 'ctx> {
    /// Writes an instruction; returns its result.
    fn inst(&mut self, inst: &Inst) -> Result<Option<BasicValueEnum<'ctx>>, Error> {
        match inst {
            Inst::Const { ty, bits } => self.constant(*ty, *bits).map(Some),
            Inst::Address { symbol, offset } => Ok(Some(self.address(*symbol, *offset).into())),
            Inst::StackSlot { size, align } => self.stack_slot(*size, *align).map(Some),
            Inst::Load { ty, base, offset, align } => {
                self.load(*ty, *base, *offset, *align).map(Some)
            }
            Inst::Store { value, base, offset, align } => {
                self.store(*value, *base, *offset, *align)
            }
            Inst::AtomicLoad { ty, base, offset } => {
                self.atomic_load(*ty, *base, *offset).map(Some)
            }
            Inst::AtomicStore { value, base, offset } => self.atomic_store(*value, *base, *offset),
            Inst::CompareExchange { base, expected, new } => {
                self.compare_exchange(*base, *expected, *new).map(Some)
            }
            Inst::PtrAdd { base, offset } => self.ptr_add(*base, *offset).map(Some),
            Inst::Binary { op, lhs, rhs } => self.binary(*op, *lhs, *rhs).map(Some),
            Inst::Checked { op, lhs, rhs } => self.checked(*op, *lhs, *rhs).map(Some),
            Inst::Overflowed { .. } => Ok(self.overflowed.take()),
            Inst::Compare { cond, lhs, rhs } => self.compare(*cond, *lhs, *rhs).map(Some),
            Inst::Select { cond, then, otherwise } => {
                self.select(*cond, *then, *otherwise).map(Some)
            }
            Inst::Convert { op, value, to } => self.convert(*op, *value, *to).map(Some),
            Inst::Call { callee, args } => self.call(*callee, args),
            Inst::CallIndirect { signature, callee, args } => {
                self.call_indirect(signature, *callee, args)
            }
        }
    }

    /// Writes a terminator.
    fn terminator(&mut self, from: ir::Block, end: &Terminator) -> Result<(), Error> {
        match end {
            Terminator::Jump(target) => self.jump(from, target),
            Terminator::Branch { cond, then, otherwise } => {
                self.branch(from, *cond, then, otherwise)
            }
            Terminator::Return(value) => {
                let value = value.map(|value| self.value(value));
                let value = value.as_ref().map(|value| value as &dyn BasicValue<'_>);
                self.ins().build_return(value).map_err(refused)?;
                Ok(())
            }
        }
    }

    fn jump(&mut self, from: ir::Block, target: &Target) -> Result<(), Error> {
        self.edge(from, target);
        self.ins().build_unconditional_branch(self.target(target)).map_err(refused)?;
        Ok(())
    }

    fn branch(
        &mut self,
        from: ir::Block,
        cond: ir::Value,
        then: &Target,
        otherwise: &Target,
    ) -> Result<(), Error> {
        if then.block == otherwise.block {
            return self.select_and_jump(from, cond, then, otherwise);
        }
        self.edge(from, then);
        self.edge(from, otherwise);
        let (yes, no) = (self.target(then), self.target(otherwise));
        let branch = self.ins().build_conditional_branch(self.int(cond), yes, no);
        let branch = branch.map_err(refused)?;
        let cold = |target: &Target| self.functions.blocks[target.block.index()].cold;
        if let Some((kind, weights)) = self.functions.types.weights(cold(then), cold(otherwise)) {
            branch.set_metadata(weights, kind).map_err(refused)?;
        }
        Ok(())
    }

    /// Writes a branch whose targets are one block as selects and a jump: a phi has one incoming value for each
    /// predecessor.
    fn select_and_jump(
        &mut self,
        from: ir::Block,
        cond: ir::Value,
        then: &Target,
        otherwise: &Target,
    ) -> Result<(), Error> {
        let target = &self.functions.blocks[then.block.index()];
        let from = self.functions.blocks[from.index()].block;
        for ((phi, &then), &otherwise) in target.phis.iter().zip(&then.args).zip(&otherwise.args) {
            let (then, otherwise) = (self.value(then), self.value(otherwise));
            let value = self.ins().build_select(self.int(cond), then, otherwise, "");
            phi.add_incoming(&[(&value.map_err(refused)?, from)]);
        }
        self.ins().build_unconditional_branch(target.block).map_err(refused)?;
        Ok(())
    }

    /// Adds the arguments of an edge to the phis of its target.
    fn edge(&self, from: ir::Block, target: &Target) {
        let from = self.functions.blocks[from.index()].block;
        let phis = &self.functions.blocks[target.block.index()].phis;
        for (phi, &arg) in phis.iter().zip(&target.args) {
            phi.add_incoming(&[(&self.value(arg), from)]);
        }
    }

    pub(crate) fn ins(&self) -> &Builder<'ctx> {
        &self.functions.builder
    }

    pub(crate) fn value(&self, value: ir::Value) -> BasicValueEnum<'ctx> {
        self.functions.values[value.index()]
    }

    pub(crate) fn int(&self, value: ir::Value) -> IntValue<'ctx> {
        self.value(value).into_int_value()
    }

    pub(crate) fn pointer(&self, value: ir::Value) -> PointerValue<'ctx> {
        self.value(value).into_pointer_value()
    }

    /// Returns the name of a value, or an empty string.
    pub(crate) fn name(&self, value: Option<ir::Value>) -> &str {
        let name = value.and_then(|value| self.functions.names.get(value.index()));
        name.map_or("", String::as_str)
    }

    fn target(&self, target: &Target) -> BasicBlock<'ctx> {
        self.functions.blocks[target.block.index()].block
    }
}
