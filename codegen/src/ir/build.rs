//! The builder of a function: a method for each instruction. Structured control flow is in [`flow`](super::flow).

mod ended;

use std::collections::hash_map::Entry;

use rustc_hash::{FxBuildHasher, FxHashMap};

use super::entity::{Block, Symbol, TopicId, Value};
use super::inst::{Inst, Target, Terminator};
use super::module::{
    BlockData, Function, Hint, Module, Placed, Pointee, SourceLocation, Topic, ValueData,
};
use super::operator::{Binary, Checked, Cond, Convert};
use super::order::{drop_unused, order_blocks};
use super::signature::{AbiType, Signature, Type};
use super::symbols::{Linkage, SymbolKind};

/// A builder that appends to the current block of a function.
///
/// The builder checks nothing but the bounds of indices; [`verify`](super::verify()) checks everything.
#[derive(Debug)]
pub struct Builder<'m> {
    /// The module, for declarations.
    pub module: &'m mut Module,
    function: Function,
    current: Block,
    /// The topic of the instructions that follow.
    topic: TopicId,
    /// The constants and addresses of each block; each is made once per block.
    made: FxHashMap<(Block, Made), Value>,
}

/// The number of instructions for which a block has room at first: most blocks of a wrapper load a field, compare it
/// with a constant, and compute one address.
const INSTS: usize = 8;

/// A constant or an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Made {
    Const(Type, u64),
    Address(Symbol, i32),
}

impl<'m> Builder<'m> {
    /// Declares a function and starts its entry block.
    ///
    /// # Panics
    /// As [`Module::declare`].
    pub fn function(
        module: &'m mut Module,
        name: &str,
        linkage: Linkage,
        signature: Signature,
    ) -> Self {
        let symbol = module.declare(name, linkage, SymbolKind::Function(signature));
        Builder::define(module, symbol)
    }

    /// Starts the entry block of a function that is declared already.
    ///
    /// # Panics
    /// If the symbol is data.
    pub fn define(module: &'m mut Module, symbol: Symbol) -> Self {
        let signature = module.signature(symbol).expect("a function is defined").clone();
        let function = Function {
            symbol,
            signature,
            cold: false,
            no_inline: false,
            blocks: Vec::with_capacity(64),
            values: Vec::with_capacity(128),
            names: Vec::new(),
            about: String::new(),
            topics: vec![Topic::default()],
        };
        let made = FxHashMap::with_capacity_and_hasher(64, FxBuildHasher);
        let mut builder = Builder { module, function, current: Block(0), topic: TopicId(0), made };
        let params: Vec<Type> = builder.function.signature.params.iter().map(|p| p.ty).collect();
        let entry = builder.block("entry");
        for (i, ty) in params.into_iter().enumerate() {
            let value = builder.value(ty, Hint { name: None, part: "p", index: Some(i as u32) });
            builder.function.blocks[entry.index()].params.push(value);
        }
        builder
    }

    /// Returns the function: its reachable blocks in reverse postorder, without pure instructions whose result is not
    /// read.
    pub fn finish(mut self) -> Function {
        order_blocks(&mut self.function.blocks);
        drop_unused(&mut self.function);
        self.function
    }

    /// Returns the symbol of the function.
    pub fn symbol(&self) -> Symbol {
        self.function.symbol
    }

    /// Marks the whole function as cold.
    pub fn set_cold(&mut self) {
        self.function.cold = true;
    }

    /// Marks the function as never inlined. Cold functions are never inlined either.
    pub fn set_no_inline(&mut self) {
        self.function.no_inline = true;
    }

    /// Adds a word that hints can refer to, and returns its index.
    pub fn name(&mut self, name: impl Into<String>) -> u32 {
        self.function.names.push(name.into());
        self.function.names.len() as u32 - 1
    }

    /// Sets the name hint of a value.
    pub fn hint(&mut self, value: Value, hint: impl Into<Hint>) -> Value {
        self.function.values[value.index()].hint = hint.into();
        value
    }

    /// Sets the pointee of an address.
    pub fn points_to(&mut self, value: Value, pointee: Pointee) -> Value {
        self.function.values[value.index()].points_to = Some(pointee);
        value
    }

    /// Sets the description of the function.
    pub fn about(&mut self, text: String) {
        self.function.about = text;
    }

    /// Sets the place of the function as a whole in the source.
    pub fn locate(&mut self, location: SourceLocation) {
        self.function.topics[0].location = Some(location);
    }

    /// Sets the part of the declaration that the following instructions are for, and its place in the source; `None`
    /// stands for the place of the part before. Returns the part before, for [`set_topic`](Builder::set_topic).
    pub fn begin_topic(&mut self, hint: Hint, location: Option<SourceLocation>) -> TopicId {
        let topics = &mut self.function.topics;
        let around = topics[self.topic.index()];
        let topic = Topic { hint, location: location.or(around.location) };
        if around == topic {
            return self.topic;
        }
        topics.push(topic);
        std::mem::replace(&mut self.topic, TopicId(topics.len() as u32 - 1))
    }

    /// Sets the topic of the following instructions to one that [`begin_topic`](Builder::begin_topic) has returned.
    pub fn set_topic(&mut self, topic: TopicId) {
        self.topic = topic;
    }

    /// Returns the type of a value.
    pub fn ty(&self, value: Value) -> Type {
        self.function.ty(value)
    }

    /// Returns a parameter of the function.
    pub fn param(&self, index: usize) -> Value {
        self.function.blocks[0].params[index]
    }

    /// Creates an empty block, as cold as the current one. The current block stays.
    pub fn block(&mut self, label: &'static str) -> Block {
        let current = self.function.blocks.get(self.current.index());
        self.new_block(label, current.is_some_and(|block| block.cold))
    }

    /// Creates an empty cold block.
    pub fn cold_block(&mut self, label: &'static str) -> Block {
        self.new_block(label, true)
    }

    fn new_block(&mut self, label: &'static str, cold: bool) -> Block {
        let block = Block(self.function.blocks.len() as u32);
        let label = label.into();
        self.function.blocks.push(BlockData { label, cold, ..BlockData::default() });
        block
    }

    /// Adds a parameter to a block.
    pub fn block_param(&mut self, block: Block, ty: Type, hint: impl Into<Hint>) -> Value {
        let value = self.value(ty, hint.into());
        self.function.blocks[block.index()].params.push(value);
        value
    }

    /// Makes `block` the current block.
    pub fn switch_to(&mut self, block: Block) {
        self.current = block;
    }

    /// Returns the current block.
    pub fn current(&self) -> Block {
        self.current
    }

    /// Returns true if the current block is cold.
    pub(crate) fn is_cold(&self) -> bool {
        self.function.blocks[self.current.index()].cold
    }

    /// Grows a stack slot to at least `bytes`.
    ///
    /// # Panics
    /// If the value is no stack slot.
    pub fn widen_slot(&mut self, slot: Value, bytes: u32) {
        let entry = self.function.blocks[0].insts.iter_mut();
        let found = entry.into_iter().find(|placed| placed.result == Some(slot));
        let Some(Placed { inst: Inst::StackSlot { size, .. }, .. }) = found else {
            panic!("{slot} is no slot")
        };
        *size = bytes.max(*size);
    }

    /// Returns true if the current block has a terminator, so that nothing can be appended.
    pub fn ended(&self) -> bool {
        self.function.blocks[self.current.index()].end.is_some()
    }

    fn value(&mut self, ty: Type, hint: Hint) -> Value {
        self.function.values.push(ValueData { ty, hint, points_to: None });
        Value(self.function.values.len() as u32 - 1)
    }

    /// Appends an instruction to the current block.
    fn place(&mut self, result: Option<Value>, inst: Inst) {
        let placed = Placed { result, inst, topic: self.topic };
        let insts = &mut self.function.blocks[self.current.index()].insts;
        if insts.capacity() == 0 {
            insts.reserve_exact(INSTS);
        }
        insts.push(placed);
    }

    fn push(&mut self, ty: Type, inst: Inst) -> Value {
        let value = self.value(ty, Hint::default());
        self.place(Some(value), inst);
        value
    }

    /// Returns the value that the block has already, or appends the instruction.
    fn once(&mut self, made: Made, ty: Type, inst: Inst) -> Value {
        let next = Value(self.function.values.len() as u32);
        match self.made.entry((self.current, made)) {
            Entry::Occupied(known) => return *known.get(),
            Entry::Vacant(place) => place.insert(next),
        };
        self.push(ty, inst)
    }

    /// Emits a constant of any type.
    pub fn constant(&mut self, ty: Type, bits: u64) -> Value {
        self.once(Made::Const(ty, bits), ty, Inst::Const { ty, bits })
    }

    /// Emits the constant that a value of another block is; other values are returned as they are. A constant that is
    /// used in its own block only needs no register between blocks.
    pub(crate) fn constant_of(&mut self, block: Block, value: Value) -> Value {
        let mut insts = self.function.blocks[block.index()].insts.iter().rev();
        match insts.find(|placed| placed.result == Some(value)) {
            Some(&Placed { inst: Inst::Const { ty, bits }, .. }) => self.constant(ty, bits),
            _ => value,
        }
    }

    /// Emits an `I64` constant.
    pub fn i64(&mut self, value: i64) -> Value {
        self.constant(Type::I64, value as u64)
    }

    /// Emits an `I32` constant.
    pub fn i32(&mut self, value: i32) -> Value {
        self.constant(Type::I32, u64::from(value as u32))
    }

    /// Emits an `F64` constant.
    pub fn f64(&mut self, value: f64) -> Value {
        self.constant(Type::F64, value.to_bits())
    }

    /// Emits the null pointer.
    pub fn null(&mut self) -> Value {
        self.constant(Type::Ptr, 0)
    }

    /// Emits the address of a symbol.
    pub fn address(&mut self, symbol: Symbol) -> Value {
        self.address_in(symbol, 0)
    }

    /// Emits the address of a byte of a data object.
    pub fn address_in(&mut self, symbol: Symbol, offset: i32) -> Value {
        let made = Made::Address(symbol, offset);
        self.once(made, Type::Ptr, Inst::Address { symbol, offset })
    }

    /// Emits a stack slot, at the start of the entry block.
    pub fn stack_slot(&mut self, size: u32, align: u32) -> Value {
        let value = self.value(Type::Ptr, Hint::default());
        let slot = Placed {
            result: Some(value),
            inst: Inst::StackSlot { size, align },
            topic: self.topic,
        };
        let entry = &mut self.function.blocks[0].insts;
        let is_slot = |placed: &Placed| matches!(placed.inst, Inst::StackSlot { .. });
        let slots = entry.iter().take_while(|placed| is_slot(placed)).count();
        entry.insert(slots, slot);
        value
    }

    /// Emits a load at the natural alignment of the type.
    pub fn load(&mut self, ty: Type, base: Value, offset: i32) -> Value {
        self.load_aligned(ty, base, offset, ty.bytes())
    }

    /// Emits a load at a given alignment.
    pub fn load_aligned(&mut self, ty: Type, base: Value, offset: i32, align: u32) -> Value {
        self.push(ty, Inst::Load { ty, base, offset, align })
    }

    /// Emits a store at the natural alignment of the value's type.
    pub fn store(&mut self, value: Value, base: Value, offset: i32) {
        let align = self.ty(value).bytes();
        let inst = Inst::Store { value, base, offset, align };
        self.place(None, inst);
    }

    /// Emits an atomic load with acquire ordering.
    pub fn atomic_load(&mut self, ty: Type, base: Value, offset: i32) -> Value {
        self.push(ty, Inst::AtomicLoad { ty, base, offset })
    }

    /// Emits an atomic store with release ordering.
    pub fn atomic_store(&mut self, value: Value, base: Value, offset: i32) {
        let inst = Inst::AtomicStore { value, base, offset };
        self.place(None, inst);
    }

    /// Emits an atomic compare-exchange at `base`; returns the old value.
    pub fn compare_exchange(&mut self, base: Value, expected: Value, new: Value) -> Value {
        self.push(self.ty(expected), Inst::CompareExchange { base, expected, new })
    }

    /// Emits `base + offset`.
    pub fn ptr_add(&mut self, base: Value, offset: Value) -> Value {
        self.push(Type::Ptr, Inst::PtrAdd { base, offset })
    }

    /// Emits `base + offset` for a constant; nothing for 0.
    pub fn ptr_offset(&mut self, base: Value, offset: i64) -> Value {
        if offset == 0 {
            return base;
        }
        let offset = self.i64(offset);
        self.ptr_add(base, offset)
    }

    /// Emits arithmetic.
    pub fn binary(&mut self, op: Binary, lhs: Value, rhs: Value) -> Value {
        self.push(self.ty(lhs), Inst::Binary { op, lhs, rhs })
    }

    /// Emits arithmetic with a constant on the right.
    pub fn binary_const(&mut self, op: Binary, lhs: Value, rhs: i64) -> Value {
        let rhs = self.constant(self.ty(lhs), rhs as u64);
        self.binary(op, lhs, rhs)
    }

    /// Emits signed arithmetic on two `I64`. Returns the result, which wraps, and a `Bool`: true if it did.
    pub fn checked(&mut self, op: Checked, lhs: Value, rhs: Value) -> (Value, Value) {
        let result = self.push(Type::I64, Inst::Checked { op, lhs, rhs });
        (result, self.push(Type::Bool, Inst::Overflowed { of: result }))
    }

    /// Emits a comparison.
    pub fn compare(&mut self, cond: Cond, lhs: Value, rhs: Value) -> Value {
        self.push(Type::Bool, Inst::Compare { cond, lhs, rhs })
    }

    /// Emits a comparison with a constant on the right.
    pub fn compare_const(&mut self, cond: Cond, lhs: Value, rhs: i64) -> Value {
        let rhs = self.constant(self.ty(lhs), rhs as u64);
        self.compare(cond, lhs, rhs)
    }

    /// Emits equality of integers or pointers.
    pub fn eq(&mut self, lhs: Value, rhs: Value) -> Value {
        self.compare(Cond::Eq, lhs, rhs)
    }

    /// Emits a bitwise and.
    pub fn and(&mut self, lhs: Value, rhs: Value) -> Value {
        self.binary(Binary::And, lhs, rhs)
    }

    /// Emits a bitwise or.
    pub fn or(&mut self, lhs: Value, rhs: Value) -> Value {
        self.binary(Binary::Or, lhs, rhs)
    }

    /// Emits the complement of a `Bool`.
    pub fn not(&mut self, value: Value) -> Value {
        let truth = self.constant(Type::Bool, 1);
        self.binary(Binary::Xor, value, truth)
    }

    /// Widens a `Bool` to 0 or 1 of an integer type.
    pub fn widen_bool(&mut self, value: Value, to: Type) -> Value {
        self.convert(Convert::Zext, value, to)
    }

    /// Emits `cond ? then : otherwise`.
    pub fn select(&mut self, cond: Value, then: Value, otherwise: Value) -> Value {
        self.push(self.ty(then), Inst::Select { cond, then, otherwise })
    }

    /// Emits a conversion.
    pub fn convert(&mut self, op: Convert, value: Value, to: Type) -> Value {
        self.push(to, Inst::Convert { op, value, to })
    }

    /// Emits a call; returns the result if the callee has one.
    pub fn call(&mut self, callee: Symbol, args: &[Value]) -> Option<Value> {
        let result = self.module.signature(callee).and_then(|signature| signature.result);
        self.push_call(result, Inst::Call { callee, args: args.to_vec() })
    }

    /// Emits a call of a function that has a result.
    ///
    /// # Panics
    /// If the callee has no result.
    pub fn call_value(&mut self, callee: Symbol, args: &[Value]) -> Value {
        self.call(callee, args).expect("the callee has a result")
    }

    /// Emits a call through a pointer; returns the result if the callee has one.
    pub fn call_indirect(
        &mut self,
        signature: Signature,
        callee: Value,
        args: &[Value],
    ) -> Option<Value> {
        let (result, signature) = (signature.result, Box::new(signature));
        self.push_call(result, Inst::CallIndirect { signature, callee, args: args.to_vec() })
    }

    /// Emits a call through a pointer to a function that has a result.
    ///
    /// # Panics
    /// If the callee has no result.
    pub fn call_indirect_value(
        &mut self,
        signature: Signature,
        callee: Value,
        args: &[Value],
    ) -> Value {
        self.call_indirect(signature, callee, args).expect("the callee has a result")
    }

    fn push_call(&mut self, result: Option<AbiType>, inst: Inst) -> Option<Value> {
        let value = result.map(|abi| self.value(abi.ty, Hint::default()));
        self.place(value, inst);
        value
    }

    fn end(&mut self, end: Terminator) {
        let block = &mut self.function.blocks[self.current.index()];
        (block.end, block.end_topic) = (Some(end), self.topic);
    }

    /// Ends the block with a jump.
    pub fn jump(&mut self, block: Block, args: &[Value]) {
        self.end(Terminator::Jump(Target { block, args: args.to_vec() }));
    }

    /// Ends the block with a branch.
    pub fn branch(&mut self, cond: Value, then: impl Into<Target>, otherwise: impl Into<Target>) {
        let (then, otherwise) = (then.into(), otherwise.into());
        self.end(Terminator::Branch { cond, then, otherwise });
    }

    /// Ends the block with a return.
    pub fn ret(&mut self, value: Option<Value>) {
        self.end(Terminator::Return(value));
    }
}

#[cfg(test)]
mod tests;
