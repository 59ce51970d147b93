//! Functions: blocks, values, and the translation table from host IR to the `llvm` dialect. `instruction` translates
//! each instruction.
//!
//! Both IRs are in static single assignment form with block parameters: a value becomes a value, and a block the block
//! of the same number.

use std::cell::Cell;

use codegen::backend::Side;
use codegen::ir::{self, Inst, Placed, Target, Terminator};
use melior::ir::operation::{OperationLike, OperationMutLike, OperationRefMut};
use melior::ir::{BlockLike, BlockRef, Operation, RegionLike, Value};

use crate::debug::Debug;
use crate::op::{Ops, Reference};
use crate::raw;

/// The state of a module's emission, and buffers that are reused from one function to the next.
pub(crate) struct Functions<'f, 'c, 'a> {
    pub(crate) ops: &'f Ops<'c>,
    /// The host IR, and the reference to each of its symbols.
    pub(crate) source: &'f ir::Module,
    pub(crate) references: &'f [Reference<'c>],
    /// The native values of the current function, by host IR value.
    values: Vec<Option<Value<'c, 'a>>>,
    /// The native blocks of the current function, by host IR block.
    blocks: Vec<BlockRef<'c, 'a>>,
    /// The names of its values; empty unless `named`.
    names: Vec<String>,
    named: bool,
    debug: Debug<'c>,
}

impl<'f, 'c> Functions<'f, 'c, '_> {
    pub(crate) fn new(
        ops: &'f Ops<'c>,
        source: &'f ir::Module,
        references: &'f [Reference<'c>],
        named: bool,
    ) -> Self {
        let (values, blocks, names) = (Vec::new(), Vec::new(), Vec::new());
        let debug = Debug::new(ops.context, source);
        Functions { ops, source, references, values, blocks, names, named, debug }
    }
}

/// Translates a function into the module.
pub(crate) fn define<'c, 'a>(
    functions: &mut Functions<'_, 'c, 'a>,
    function: &mut OperationRefMut<'c, 'a>,
    source: &ir::Function,
) {
    let ops = functions.ops;
    ops.extend(function, &source.signature, [Side::Receiver, Side::Sender]);
    for (name, value) in ops.body_attributes(source) {
        function.set_attribute(name, value);
    }
    functions.names.clear();
    if functions.named {
        functions.names.extend(source.value_names());
    }
    blocks(functions, function, source);
    // The location of an operation is the name of its value, or without names that of the function, which diagnostics
    // print, and its place in the user's source.
    let name = functions.source.name(source.symbol);
    let named = |ops: Ops<'c>| if functions.named { ops } else { ops.at(name) };
    let plain = named(*ops);
    let locations = functions.debug.locations(ops.context, functions.source, source);
    locations.function.iter().for_each(|&location| function.set_location(location));
    let places = locations.topics.into_iter().map(|place| named(ops.placed(place))).collect();
    let block = functions.blocks[0];
    let mut body = Body {
        functions,
        ops: plain,
        plain,
        places,
        source,
        block,
        result: None,
        overflowed: Cell::new(None),
    };
    for (block, data) in source.blocks() {
        body.block = body.functions.blocks[block.index()];
        for Placed { result, inst, topic } in &data.insts {
            body.locate(*topic);
            body.result = *result;
            body.ops = body.named(*result, "");
            let value = body.inst(inst);
            if let Some(result) = result {
                body.functions.values[result.index()] = value;
            }
        }
        body.locate(data.end_topic);
        data.end.iter().for_each(|end| body.terminator(end));
    }
}

/// Creates every block with its parameters, before branches refer to them.
fn blocks<'c, 'a>(
    functions: &mut Functions<'_, 'c, 'a>,
    function: &OperationRefMut<'c, 'a>,
    source: &ir::Function,
) {
    let (ops, region) = (functions.ops, raw::region(function));
    functions.values.clear();
    functions.values.resize(source.values.len(), None);
    functions.blocks.clear();
    for data in &source.blocks {
        let name = |param: ir::Value| functions.names.get(param.index()).map(String::as_str);
        let params = data.params.iter().map(|&param| (ops.types.ty(source.ty(param)), name(param)));
        let block = region.append_block(ops.block(params));
        for (i, param) in data.params.iter().enumerate() {
            functions.values[param.index()] = block.argument(i).ok().map(Value::from);
        }
        functions.blocks.push(block);
    }
}

/// A function whose instructions are being written.
pub(crate) struct Body<'b, 'f, 'c, 'a> {
    pub(crate) functions: &'b mut Functions<'f, 'c, 'a>,
    /// The builder of operations that are named after the result, if values have names.
    pub(crate) ops: Ops<'c>,
    /// The builder of operations without a name.
    pub(crate) plain: Ops<'c>,
    /// The builder of operations without a name for each topic; empty if the function has no debug information.
    places: Vec<Ops<'c>>,
    pub(crate) source: &'b ir::Function,
    /// The current block.
    block: BlockRef<'c, 'a>,
    /// The result of the current instruction.
    pub(crate) result: Option<ir::Value>,
    /// The flag of the checked arithmetic just before.
    pub(crate) overflowed: Cell<Option<Value<'c, 'a>>>,
}

impl<'c, 'a> Body<'_, '_, 'c, 'a> {
    /// Sets the location of the operations that follow.
    fn locate(&mut self, topic: ir::TopicId) {
        if let Some(&place) = self.places.get(topic.index()) {
            self.plain = place;
        }
    }

    /// Writes an instruction; returns its result.
    fn inst(&self, inst: &Inst) -> Option<Value<'c, 'a>> {
        match inst {
            Inst::Const { ty, bits } => Some(self.constant(*ty, *bits)),
            Inst::Address { symbol, offset } => Some(self.address(*symbol, *offset)),
            Inst::StackSlot { size, align } => Some(self.stack_slot(*size, *align)),
            Inst::Load { ty, base, offset, align } => Some(self.load(*ty, *base, *offset, *align)),
            Inst::Store { value, base, offset, align } => {
                self.store(*value, *base, *offset, *align)
            }
            Inst::AtomicLoad { ty, base, offset } => Some(self.atomic_load(*ty, *base, *offset)),
            Inst::AtomicStore { value, base, offset } => self.atomic_store(*value, *base, *offset),
            Inst::CompareExchange { base, expected, new } => {
                Some(self.compare_exchange(*base, *expected, *new))
            }
            Inst::PtrAdd { base, offset } => Some(self.ptr_add(*base, *offset)),
            Inst::Binary { op, lhs, rhs } => Some(self.binary(*op, *lhs, *rhs)),
            Inst::Checked { op, lhs, rhs } => Some(self.checked(*op, *lhs, *rhs)),
            Inst::Overflowed { .. } => self.overflowed.take(),
            Inst::Compare { cond, lhs, rhs } => Some(self.compare(*cond, *lhs, *rhs)),
            Inst::Select { cond, then, otherwise } => Some(self.select(*cond, *then, *otherwise)),
            Inst::Convert { op, value, to } => Some(self.convert(*op, *value, *to)),
            Inst::Call { callee, args } => self.call(*callee, args),
            Inst::CallIndirect { signature, callee, args } => {
                self.call_indirect(signature, *callee, args)
            }
        }
    }

    /// Writes a terminator.
    fn terminator(&self, end: &Terminator) {
        let ops = &self.plain;
        self.append(match end {
            Terminator::Jump(target) => ops.br(&self.target(target), &self.list(&target.args)),
            Terminator::Branch { cond, then, otherwise } if then.block == otherwise.block => {
                // LLVM identifies edges by their predecessor, so that a branch to one block becomes selects and a jump.
                let pairs = then.args.iter().zip(&otherwise.args);
                let args: Vec<_> = pairs.map(|(&a, &b)| self.select(*cond, a, b)).collect();
                ops.br(&self.target(then), &args)
            }
            Terminator::Branch { cond, then, otherwise } => {
                let mut operands = vec![self.value(*cond)];
                operands.extend(self.list(&then.args));
                operands.extend(self.list(&otherwise.args));
                let targets = [then, otherwise];
                let cold = targets.map(|target| self.source.blocks[target.block.index()].cold);
                let [then, otherwise] = targets.map(|target| self.target(target));
                let args = targets.map(|target| target.args.len());
                ops.cond_br(&operands, [&then, &otherwise], args, cold)
            }
            Terminator::Return(value) => {
                let value = value.map(|value| self.value(value));
                ops.op("llvm.return", value.as_slice(), &[], &[])
            }
        });
    }

    /// Returns the builder of operations that are named after a value and a word, if values have names.
    pub(crate) fn named(&self, value: Option<ir::Value>, word: &str) -> Ops<'c> {
        let name = value.and_then(|value| self.functions.names.get(value.index()));
        name.map_or(self.plain, |name| match word {
            "" => self.plain.at(name),
            word => self.plain.at(&format!("{name}{word}")),
        })
    }

    /// Writes an operation that has a result.
    pub(crate) fn push(&self, operation: Operation<'c>) -> Value<'c, 'a> {
        self.append(operation).expect("the operation has a result")
    }

    /// Writes an operation; returns its result if it has one.
    pub(crate) fn append(&self, operation: Operation<'c>) -> Option<Value<'c, 'a>> {
        let operation = self.block.append_operation(operation);
        operation.results().next().map(Value::from)
    }

    pub(crate) fn value(&self, value: ir::Value) -> Value<'c, 'a> {
        self.functions.values[value.index()].expect("a definition precedes its uses")
    }

    pub(crate) fn ty(&self, value: ir::Value) -> melior::ir::Type<'c> {
        self.ops.types.ty(self.source.ty(value))
    }

    pub(crate) fn list(&self, values: &[ir::Value]) -> Vec<Value<'c, 'a>> {
        values.iter().map(|&value| self.value(value)).collect()
    }

    fn target(&self, target: &Target) -> BlockRef<'c, 'a> {
        self.functions.blocks[target.block.index()]
    }
}
