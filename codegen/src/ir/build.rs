//! Building one function: a method per instruction. Structured control flow on top is in `flow`.

mod ended;

use rustc_hash::{FxBuildHasher, FxHashMap};

use super::entity::{Block, Symbol, Value};
use super::inst::{Inst, Target, Terminator};
use super::module::{BlockData, Function, Hint, Module, ValueData};
use super::operator::{Binary, Cond, Convert};
use super::order::{drop_unused, reverse_postorder};
use super::signature::{AbiType, Signature, Type};
use super::symbols::{Linkage, SymbolKind};

/// Appends to the current block of a function.
///
/// The builder checks nothing beyond what Rust's indexing does; [`verify`](super::verify()) checks all.
#[derive(Debug)]
pub struct Builder<'m> {
    /// The module, for declarations.
    pub module: &'m mut Module,
    function: Function,
    current: Block,
    /// The constants and addresses that each block has: a second one of a kind is the first.
    made: FxHashMap<(Block, Made), Value>,
}

/// What a block needs only once.
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

    /// Starts the entry block of a function that has been declared, and perhaps called, before.
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
            blocks: Vec::with_capacity(32),
            values: Vec::with_capacity(64),
            names: Vec::new(),
        };
        let made = FxHashMap::with_capacity_and_hasher(64, FxBuildHasher);
        let mut builder = Builder { module, function, current: Block(0), made };
        let params: Vec<Type> = builder.function.signature.params.iter().map(|p| p.ty).collect();
        let entry = builder.block("entry");
        for (i, ty) in params.into_iter().enumerate() {
            let value = builder.value(ty, Hint { name: None, part: "p", index: Some(i as u32) });
            builder.function.blocks[entry.index()].params.push(value);
        }
        builder
    }

    /// The function, its reachable blocks in reverse postorder, without instructions whose result nobody
    /// needs and that do nothing else.
    pub fn finish(mut self) -> Function {
        let mut old = std::mem::take(&mut self.function.blocks);
        let order = reverse_postorder(&old);
        let mut number = vec![Block(0); old.len()];
        for (new, &old) in order.iter().enumerate() {
            number[old] = Block(new as u32);
        }
        let moved = |block: usize| {
            let mut block = std::mem::take(&mut old[block]);
            if let Some(end) = &mut block.end {
                end.each_target_mut(|target| *target = number[target.index()]);
            }
            block
        };
        self.function.blocks = order.into_iter().map(moved).collect();
        drop_unused(&mut self.function);
        self.function
    }

    /// The symbol of the function.
    pub fn symbol(&self) -> Symbol {
        self.function.symbol
    }

    /// Marks the whole function as cold.
    pub fn set_cold(&mut self) {
        self.function.cold = true;
    }

    /// Marks the function as one to be called, never inlined. Cold functions are not inlined either.
    pub fn set_no_inline(&mut self) {
        self.function.no_inline = true;
    }

    /// A word that hints can refer to.
    pub fn name(&mut self, name: impl Into<String>) -> u32 {
        self.function.names.push(name.into());
        self.function.names.len() as u32 - 1
    }

    /// Gives a value its name hint.
    pub fn hint(&mut self, value: Value, hint: impl Into<Hint>) -> Value {
        self.function.values[value.index()].hint = hint.into();
        value
    }

    /// The type of a value.
    pub fn ty(&self, value: Value) -> Type {
        self.function.ty(value)
    }

    /// A parameter of the function.
    pub fn param(&self, index: usize) -> Value {
        self.function.blocks[0].params[index]
    }

    /// A new, empty block; the builder stays where it is. It is as likely to run as the current one.
    pub fn block(&mut self, label: &'static str) -> Block {
        let current = self.function.blocks.get(self.current.index());
        self.new_block(label, current.is_some_and(|block| block.cold))
    }

    /// A new block that is unlikely to run.
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

    /// Goes on appending to `block`.
    pub fn switch_to(&mut self, block: Block) {
        self.current = block;
    }

    /// The block that is appended to.
    pub fn current(&self) -> Block {
        self.current
    }

    /// Makes a slot of the frame at least so large.
    ///
    /// # Panics
    /// If the value is none.
    pub fn widen_slot(&mut self, slot: Value, bytes: u32) {
        let entry = self.function.blocks[0].insts.iter_mut();
        let found = entry.into_iter().find(|(value, _)| *value == Some(slot));
        let Some((_, Inst::StackSlot { size, .. })) = found else { panic!("{slot} is no slot") };
        *size = bytes.max(*size);
    }

    /// True if the current block has ended, so that nothing can be appended.
    pub fn ended(&self) -> bool {
        self.function.blocks[self.current.index()].end.is_some()
    }

    fn value(&mut self, ty: Type, hint: Hint) -> Value {
        self.function.values.push(ValueData { ty, hint });
        Value(self.function.values.len() as u32 - 1)
    }

    fn push(&mut self, ty: Type, inst: Inst) -> Value {
        let value = self.value(ty, Hint::default());
        self.function.blocks[self.current.index()].insts.push((Some(value), inst));
        value
    }

    /// The value that the block has already, or a new one.
    fn once(&mut self, made: Made, ty: Type, inst: Inst) -> Value {
        if let Some(&value) = self.made.get(&(self.current, made)) {
            return value;
        }
        let value = self.push(ty, inst);
        self.made.insert((self.current, made), value);
        value
    }

    /// A constant of any type.
    pub fn constant(&mut self, ty: Type, bits: u64) -> Value {
        self.once(Made::Const(ty, bits), ty, Inst::Const { ty, bits })
    }

    /// An `I64` constant.
    pub fn i64(&mut self, value: i64) -> Value {
        self.constant(Type::I64, value as u64)
    }

    /// An `I32` constant.
    pub fn i32(&mut self, value: i32) -> Value {
        self.constant(Type::I32, u64::from(value as u32))
    }

    /// An `F64` constant.
    pub fn f64(&mut self, value: f64) -> Value {
        self.constant(Type::F64, value.to_bits())
    }

    /// The null pointer.
    pub fn null(&mut self) -> Value {
        self.constant(Type::Ptr, 0)
    }

    /// The address of a symbol.
    pub fn address(&mut self, symbol: Symbol) -> Value {
        self.address_in(symbol, 0)
    }

    /// The address of a byte of a data object.
    pub fn address_in(&mut self, symbol: Symbol, offset: i32) -> Value {
        let made = Made::Address(symbol, offset);
        self.once(made, Type::Ptr, Inst::Address { symbol, offset })
    }

    /// Bytes in the frame. Appended to the entry block wherever the builder is.
    pub fn stack_slot(&mut self, size: u32, align: u32) -> Value {
        let value = self.value(Type::Ptr, Hint::default());
        let slot = (Some(value), Inst::StackSlot { size, align });
        let entry = &mut self.function.blocks[0].insts;
        let is_slot = |(_, inst): &(_, Inst)| matches!(inst, Inst::StackSlot { .. });
        let slots = entry.iter().take_while(|entry| is_slot(entry)).count();
        entry.insert(slots, slot);
        value
    }

    /// A load at the natural alignment of the type.
    pub fn load(&mut self, ty: Type, base: Value, offset: i32) -> Value {
        self.load_aligned(ty, base, offset, ty.bytes())
    }

    /// A load at a stated alignment.
    pub fn load_aligned(&mut self, ty: Type, base: Value, offset: i32, align: u32) -> Value {
        self.push(ty, Inst::Load { ty, base, offset, align })
    }

    /// A store at the natural alignment of the value's type.
    pub fn store(&mut self, value: Value, base: Value, offset: i32) {
        let align = self.ty(value).bytes();
        let inst = Inst::Store { value, base, offset, align };
        self.function.blocks[self.current.index()].insts.push((None, inst));
    }

    /// A load in one piece that sees what the matching store had before it.
    pub fn atomic_load(&mut self, ty: Type, base: Value, offset: i32) -> Value {
        self.push(ty, Inst::AtomicLoad { ty, base, offset })
    }

    /// A store in one piece, after all that precedes it.
    pub fn atomic_store(&mut self, value: Value, base: Value, offset: i32) {
        let inst = Inst::AtomicStore { value, base, offset };
        self.function.blocks[self.current.index()].insts.push((None, inst));
    }

    /// Replaces `expected` at `base` by `new`; what was there.
    pub fn compare_exchange(&mut self, base: Value, expected: Value, new: Value) -> Value {
        self.push(self.ty(expected), Inst::CompareExchange { base, expected, new })
    }

    /// `base + offset`.
    pub fn ptr_add(&mut self, base: Value, offset: Value) -> Value {
        self.push(Type::Ptr, Inst::PtrAdd { base, offset })
    }

    /// `base + offset` for a constant.
    pub fn ptr_offset(&mut self, base: Value, offset: i64) -> Value {
        let offset = self.i64(offset);
        self.ptr_add(base, offset)
    }

    /// Arithmetic.
    pub fn binary(&mut self, op: Binary, lhs: Value, rhs: Value) -> Value {
        self.push(self.ty(lhs), Inst::Binary { op, lhs, rhs })
    }

    /// Arithmetic with a constant on the right.
    pub fn binary_const(&mut self, op: Binary, lhs: Value, rhs: i64) -> Value {
        let rhs = self.constant(self.ty(lhs), rhs as u64);
        self.binary(op, lhs, rhs)
    }

    /// A comparison.
    pub fn compare(&mut self, cond: Cond, lhs: Value, rhs: Value) -> Value {
        self.push(Type::Bool, Inst::Compare { cond, lhs, rhs })
    }

    /// A comparison with a constant on the right.
    pub fn compare_const(&mut self, cond: Cond, lhs: Value, rhs: i64) -> Value {
        let rhs = self.constant(self.ty(lhs), rhs as u64);
        self.compare(cond, lhs, rhs)
    }

    /// Integer or pointer equality.
    pub fn eq(&mut self, lhs: Value, rhs: Value) -> Value {
        self.compare(Cond::Eq, lhs, rhs)
    }

    /// Conjunction or bitwise and.
    pub fn and(&mut self, lhs: Value, rhs: Value) -> Value {
        self.binary(Binary::And, lhs, rhs)
    }

    /// Disjunction or bitwise or.
    pub fn or(&mut self, lhs: Value, rhs: Value) -> Value {
        self.binary(Binary::Or, lhs, rhs)
    }

    /// The complement of a `Bool`.
    pub fn not(&mut self, value: Value) -> Value {
        let truth = self.constant(Type::Bool, 1);
        self.binary(Binary::Xor, value, truth)
    }

    /// Widens a `Bool` to a 0 or 1 of an integer type.
    pub fn widen_bool(&mut self, value: Value, to: Type) -> Value {
        self.convert(Convert::Zext, value, to)
    }

    /// `cond ? then : otherwise`.
    pub fn select(&mut self, cond: Value, then: Value, otherwise: Value) -> Value {
        self.push(self.ty(then), Inst::Select { cond, then, otherwise })
    }

    /// A change of type.
    pub fn convert(&mut self, op: Convert, value: Value, to: Type) -> Value {
        self.push(to, Inst::Convert { op, value, to })
    }

    /// A call; the result if there is one.
    pub fn call(&mut self, callee: Symbol, args: &[Value]) -> Option<Value> {
        let result = self.module.signature(callee).and_then(|signature| signature.result);
        self.push_call(result, Inst::Call { callee, args: args.to_vec() })
    }

    /// A call of a function that has a result.
    ///
    /// # Panics
    /// If it has none.
    pub fn call_value(&mut self, callee: Symbol, args: &[Value]) -> Value {
        self.call(callee, args).expect("the callee has a result")
    }

    /// A call through a pointer; the result if there is one.
    pub fn call_indirect(
        &mut self,
        signature: Signature,
        callee: Value,
        args: &[Value],
    ) -> Option<Value> {
        let (result, signature) = (signature.result, Box::new(signature));
        self.push_call(result, Inst::CallIndirect { signature, callee, args: args.to_vec() })
    }

    /// The same of a function that has a result.
    ///
    /// # Panics
    /// If it has none.
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
        self.function.blocks[self.current.index()].insts.push((value, inst));
        value
    }

    fn end(&mut self, end: Terminator) {
        self.function.blocks[self.current.index()].end = Some(end);
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
