//! Functions: blocks, values, and the translation table from host IR to Cranelift IR. `instruction` translates each
//! instruction.
//!
//! Both IRs are in static single assignment form with block parameters: a value becomes a value, and a block the block
//! of the same number, written straight into the data flow graph.

use std::cell::Cell;
use std::collections::BTreeMap;

use codegen::backend::Error;
use codegen::ir::{self, Inst, Placed, Target, Terminator, Type};
use cranelift_codegen::Context;
use cranelift_codegen::cursor::{Cursor, FuncCursor};
use cranelift_codegen::entity::packed_option::ReservedValue;
use cranelift_codegen::ir::{
    Block, BlockArg, Function, InsertBuilder, InstBuilder, MemFlagsData, SourceLoc, StackSlot,
    UserFuncName, Value,
};
use cranelift_module::{FuncId, FuncOrDataId, Module};

use crate::generators::Generators;
use crate::homes::{self, Homes, Translation};
use crate::native;
use crate::symbols::Reference;
use crate::types::{self, ty};

/// The state of a module's emission, and buffers that are reused from one function to the next.
pub(crate) struct Functions<'a> {
    /// The native module.
    pub(crate) module: &'a mut dyn Module,
    /// The native id of each symbol of the host IR.
    pub(crate) symbols: &'a [FuncOrDataId],
    /// The context with the function that was translated last.
    pub(crate) context: Box<Context>,
    /// The native values of that function, by host IR value.
    pub(crate) values: Vec<Value>,
    /// The references of that function to symbols; each is declared once.
    pub(crate) references: BTreeMap<ir::Symbol, Reference>,
    /// True if calls of imports are [left to a linker](crate::symbols::calls_by_linker).
    pub(crate) linked: bool,
    /// True if the instructions of every function are noted with their topics, also of functions without a place in a
    /// source.
    pub(crate) listed: bool,
    /// The number of values of the largest function.
    largest: usize,
}

thread_local! {
    /// The context of the previous emission. Allocating a fresh `Context` takes a tenth of compiling a small library,
    /// so it is kept.
    static CONTEXT: Cell<Option<Box<Context>>> = const { Cell::new(None) };
}

/// The largest number of values of a function whose context is kept: contexts grow with the function.
const KEPT: usize = 2048;

impl<'a> Functions<'a> {
    pub(crate) fn new(module: &'a mut dyn Module, symbols: &'a [FuncOrDataId]) -> Self {
        let context = CONTEXT.take().unwrap_or_else(|| Box::new(Context::new()));
        let (values, references) = (Vec::new(), BTreeMap::new());
        Functions {
            module,
            symbols,
            context,
            values,
            references,
            linked: false,
            listed: false,
            largest: 0,
        }
    }

    /// Keeps the context for the next emission.
    pub(crate) fn recycle_context(self) {
        if self.largest <= KEPT {
            CONTEXT.set(Some(self.context));
        }
    }
}

/// Translates a function and compiles it into the module, with the code generator of the module or one of others.
pub(crate) fn define(
    functions: &mut Functions<'_>,
    id: FuncId,
    source: &ir::Function,
    others: Option<&mut Generators<'_>>,
) -> Result<(), Error> {
    let source = &*source.with_shared_calls();
    translate(functions, id, source);
    let Functions { module, context, .. } = functions;
    match others {
        Some(others) => others.define(*module, id, context, source),
        None => module.define_function(id, context).map_err(native),
    }
}

/// Translates a function into the context.
pub(crate) fn translate(functions: &mut Functions<'_>, id: FuncId, source: &ir::Function) {
    functions.context.clear();
    functions.largest = functions.largest.max(source.values.len());
    functions.values.clear();
    functions.values.resize(source.values.len(), Value::reserved_value());
    functions.references.clear();
    let func = &mut functions.context.func;
    func.name = UserFuncName::user(0, id.as_u32());
    func.signature = functions.module.declarations().get_function_decl(id).signature.clone();
    let given = blocks(func, source, &mut functions.values);
    let mut body = Body {
        module: &*functions.module,
        symbols: functions.symbols,
        source,
        cursor: FuncCursor::new(func),
        values: &mut functions.values,
        references: &mut functions.references,
        linked: functions.linked,
        homes: Homes::new(source),
        located: functions.listed || source.location().is_some(),
        overflowed: None,
        copying: None,
        carried: Vec::new(),
        area: None,
        given: None,
    };
    for (block, data) in source.blocks() {
        body.cursor.goto_bottom(Block::from_u32(block.index() as u32));
        if let (0, Some(given)) = (block.index(), given) {
            body.given = Some(body.read_area(given, &data.params));
        }
        body.block(block, data);
    }
}

/// Creates every block with its parameters, before branches refer to them. Returns the address of the area if the
/// function gets its parameters in one.
fn blocks(func: &mut Function, source: &ir::Function, values: &mut [Value]) -> Option<Value> {
    let mut given = None;
    for data in &source.blocks {
        let block = func.dfg.make_block();
        func.layout.append_block(block);
        if data.cold {
            func.layout.set_cold(block);
        }
        if types::is_preserving(&func.signature) && given.is_none() {
            given = Some(func.dfg.append_block_param(block, types::AREA));
            continue;
        }
        for &param in &data.params {
            values[param.index()] = func.dfg.append_block_param(block, ty(source.ty(param)));
        }
    }
    parameters(func, values);
    given
}

/// Converts parameters whose native type differs from their type in the host IR: some floats arrive as integers.
fn parameters(func: &mut Function, values: &mut [Value]) {
    let Some(entry) = func.layout.entry_block() else { return };
    for index in 0..func.signature.params.len() {
        let param = func.dfg.block_params(entry)[index];
        let (taken, used) = (func.signature.params[index].value_type, func.dfg.value_type(param));
        if taken == used {
            continue;
        }
        let taken = func.dfg.replace_block_param(param, taken);
        let value =
            FuncCursor::new(func).at_bottom(entry).ins().bitcast(used, MemFlagsData::new(), taken);
        let value_of = values.iter_mut().filter(|value| **value == param);
        value_of.for_each(|place| *place = value);
    }
}

/// A function whose instructions are being written.
pub(crate) struct Body<'a> {
    pub(crate) module: &'a dyn Module,
    pub(crate) symbols: &'a [FuncOrDataId],
    pub(crate) source: &'a ir::Function,
    pub(crate) cursor: FuncCursor<'a>,
    pub(crate) values: &'a mut [Value],
    pub(crate) references: &'a mut BTreeMap<ir::Symbol, Reference>,
    pub(crate) linked: bool,
    pub(crate) homes: Homes,
    /// True if instructions are noted with their topics.
    located: bool,
    /// The flag of the checked arithmetic just before.
    pub(crate) overflowed: Option<Value>,
    /// The current block, if its calls receive [copies](Body::passed).
    copying: Option<&'a ir::BlockData>,
    /// Copies of words that [loops](homes::carried) before the current block use, for its crowded calls.
    carried: Vec<(ir::Value, Value)>,
    /// The area of the calls of functions that preserve registers.
    pub(crate) area: Option<StackSlot>,
    /// The address of the area in which the function gets its own parameters, if it preserves registers.
    given: Option<Value>,
}

impl<'a> Body<'a> {
    /// Writes the instructions of a block, at the end of which the cursor is.
    fn block(&mut self, block: ir::Block, data: &'a ir::BlockData) {
        let some_away = self.homes.are_some();
        self.copying = (data.cold && !self.homes.spills()).then_some(data);
        data.params.iter().for_each(|&param| self.spill(param));
        self.carried.clear();
        if !data.cold && !self.homes.spills() {
            let mut carried = homes::carried(self.source, block);
            carried.retain(|&value| !self.homes.is_address(value));
            for value in carried {
                let native = self.value(value);
                let copy = self.ins().iadd_imm_s(native, 0);
                self.carried.push((value, copy));
            }
        }
        for Placed { result, inst, topic } in &data.insts {
            self.locate(*topic);
            if some_away {
                inst.operands(|value| self.fetch(value, block));
            }
            let value = self.inst(inst, *result);
            if let (&Some(result), Some(value)) = (result, value) {
                self.values[result.index()] = value;
                let is_address = matches!(inst, Inst::StackSlot { .. } | Inst::Address { .. });
                if is_address { self.note_address(result, block) } else { self.spill(result) }
            }
        }
        self.locate(data.end_topic);
        if let Some(end) = &data.end {
            end.operands(|value| self.fetch(value, block));
            self.terminator(end);
        }
    }

    /// Notes the topic of the instructions that follow.
    fn locate(&mut self, topic: ir::TopicId) {
        if self.located {
            self.cursor.set_srcloc(SourceLoc::new(topic.index() as u32));
        }
    }

    fn at_home(&mut self, with: impl FnOnce(&mut Homes, &mut Translation<'_, 'a>)) {
        let Body { source, cursor, values, homes, .. } = self;
        with(homes, &mut Translation { source, cursor, values });
    }

    fn spill(&mut self, value: ir::Value) {
        self.at_home(|homes, at| homes.spill(at, value));
    }

    fn note_address(&mut self, value: ir::Value, block: ir::Block) {
        self.at_home(|homes, at| homes.note_address(at, value, block));
    }

    fn fetch(&mut self, value: ir::Value, block: ir::Block) {
        self.at_home(|homes, at| homes.fetch(at, value, block));
    }

    /// Writes an instruction, whose result in the host IR is `result`; returns its result.
    fn inst(&mut self, inst: &Inst, result: Option<ir::Value>) -> Option<Value> {
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
            Inst::Call { callee, args } => {
                self.call(*callee, args, result.map(|result| self.source.ty(result)))
            }
            Inst::CallIndirect { signature, callee, args } => {
                self.call_indirect(signature, *callee, args)
            }
        }
    }

    /// Writes a terminator.
    fn terminator(&mut self, end: &Terminator) {
        match end {
            Terminator::Jump(target) => {
                let is_cold = |block: ir::Block| self.source.blocks[block.index()].cold;
                let is_aside = self.copying.is_some() && is_cold(target.block);
                // The block that follows may make a call for several.
                let args =
                    if is_aside { self.passed(&target.args) } else { self.list(&target.args) };
                let args: Vec<BlockArg> = args.into_iter().map(BlockArg::from).collect();
                self.ins().jump(Block::from_u32(target.block.index() as u32), &args);
            }
            Terminator::Branch { cond, then, otherwise } => {
                let cond = self.value(*cond);
                let (then, then_args) = self.target(then);
                let (otherwise, otherwise_args) = self.target(otherwise);
                self.ins().brif(cond, then, &then_args, otherwise, &otherwise_args);
            }
            Terminator::Return(value) => {
                let value = value.map(|value| self.value(value));
                match self.given {
                    Some(given) => self.leave_area(given, value),
                    None => {
                        self.ins().return_(value.as_slice());
                    }
                }
            }
        }
    }

    pub(crate) fn ins(&mut self) -> InsertBuilder<'_, &mut FuncCursor<'a>> {
        self.cursor.ins()
    }

    pub(crate) fn value(&self, value: ir::Value) -> Value {
        self.values[value.index()]
    }

    pub(crate) fn list(&self, values: &[ir::Value]) -> Vec<Value> {
        values.iter().map(|&value| self.value(value)).collect()
    }

    /// Returns the values that a call passes, or a cold block to the one that makes its call. A cold call receives
    /// copies of the words of other blocks unless many values [live in the frame](Homes::spills): a call fixes each
    /// argument to a register, and where the uses of a value want different registers, the register allocator splits
    /// its live range at every use, so that hot code would move values about for the sake of calls that seldom happen.
    pub(crate) fn passed(&mut self, values: &[ir::Value]) -> Vec<Value> {
        let mut passed = self.list(values);
        for (value, copy) in &self.carried {
            let of_it = values.iter().zip(&mut passed).filter(|(passed, _)| *passed == value);
            of_it.for_each(|(_, native)| *native = *copy);
        }
        let Some(block) = self.copying else { return passed };
        for (&value, native) in values.iter().zip(&mut passed) {
            let is_word = matches!(self.source.ty(value), Type::I64 | Type::Ptr);
            if is_word && !block.defines(value) && !self.homes.is_address(value) {
                *native = self.ins().iadd_imm_s(*native, 0);
            }
        }
        passed
    }

    fn target(&self, target: &Target) -> (Block, Vec<BlockArg>) {
        let args = target.args.iter().map(|&arg| self.value(arg).into());
        (Block::from_u32(target.block.index() as u32), args.collect())
    }
}
