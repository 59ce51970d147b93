//! Writing a routine: the builder, constant text, the state of a message, and the steps' words.

use crate::ir::{
    Binary, Block, Builder, Cond, Convert, Data, Function, Linkage, Symbol, SymbolKind, Type, Value,
};
use crate::language::{MAX_NESTING, MAX_VALUES};
use crate::lower::explain::codes::{Op, Rpn, Used};
use crate::lower::explain::routines::Routine;
use crate::resolve::names::MAX_SYMBOLS;

/// The frame in which a failure is explained; offsets in bytes. Every routine that takes a *state*
/// takes the address of one.
pub(crate) mod state {
    /// The descriptor.
    pub(crate) const DESCRIPTOR: i32 = 0;
    /// The arguments of the call.
    pub(crate) const ARGS: i32 = 8;
    /// The next word of the descriptor to be read.
    pub(crate) const PC: i32 = 16;
    /// The length of the message so far, an `i64`.
    pub(crate) const LENGTH: i32 = 24;
    /// The handle of the call.
    pub(crate) const HANDLE: i32 = 32;
    /// The number of arguments, an `i64`.
    pub(crate) const NUM_ARGS: i32 = 40;
    /// Not 0 while a fault is no error, since another type of a union may do.
    pub(crate) const QUIET: i32 = 48;
    /// The number of devices.
    pub(crate) const DEVICE_COUNT: i32 = 56;
    /// The first device of each type, in [`DEVICE_SIZE`] bytes: type, index, and the place or 0.
    pub(crate) const DEVICES: i32 = 64;
    /// For each depth the index of the element that is being checked.
    pub(crate) const LOOPS: i32 = DEVICES + DEVICE_SIZE * MAX_DEVICES;
    /// The value of each slot, 8 bytes each.
    pub(crate) const SLOTS: i32 = LOOPS + 8 * MAX_LOOPS;
    /// The address of the `TVMFFIAny` of each slot; 0 if the value is not there.
    pub(crate) const ANYS: i32 = SLOTS + 8 * MAX_SLOTS;
    /// For each symbol: 0 while it is not bound, else the place that bound it, or 1.
    pub(crate) const ORIGINS: i32 = ANYS + 8 * MAX_SLOTS;
    /// The operands of the expression that is being evaluated.
    pub(crate) const STACK: i32 = ORIGINS + 8 * MAX_SYMBOLS as i32;
    /// The message.
    pub(crate) const TEXT: i32 = STACK + 8 * MAX_STACK;
    /// The size of the whole.
    pub(crate) const SIZE: i32 = TEXT + MAX_TEXT;

    use crate::resolve::names::MAX_SYMBOLS;

    /// Bytes of a device.
    pub(crate) const DEVICE_SIZE: i32 = 24;
    /// Types of devices; there are fewer.
    pub(crate) const MAX_DEVICES: i32 = 64;
    /// Loops that nest.
    pub(crate) const MAX_LOOPS: i32 = 72;
    /// Symbols and values of one function.
    pub(crate) const MAX_SLOTS: i32 = 2048;
    /// Operands: more than expressions may nest.
    pub(crate) const MAX_STACK: i32 = 256;
    /// Bytes of a message; the rest is cut off.
    pub(crate) const MAX_TEXT: i32 = 4096;
}

// Whatever is valid fits the frame.
const _: () = assert!(MAX_VALUES + MAX_SYMBOLS <= state::MAX_SLOTS as usize);
const _: () = assert!(2 * MAX_NESTING <= state::MAX_STACK as usize);
const _: () = assert!(MAX_NESTING < state::MAX_LOOPS as usize);

/// A routine under construction.
#[derive(Debug)]
pub(crate) struct Code<'m> {
    pub(crate) b: Builder<'m>,
    /// The codes that it must know.
    pub(crate) used: Used,
    linkage: Linkage,
    text: Vec<u8>,
    /// Where the text will be; declared on first use.
    data: Option<Symbol>,
}

impl<'m> Code<'m> {
    pub(crate) fn new(b: Builder<'m>, linkage: Linkage, used: Used) -> Self {
        Code { b, used, linkage, text: Vec::new(), data: None }
    }

    /// The function, and its constants.
    pub(crate) fn finish(self) -> (Function, Option<Data>) {
        let bytes = self.text;
        let data = self.data.map(|symbol| Data::constant(symbol, bytes, 8));
        (self.b.finish(), data)
    }

    /// The state that the routine was given as its first parameter.
    pub(crate) fn state(&self) -> Value {
        self.b.param(0)
    }

    /// The address of constant text, and its length.
    pub(crate) fn literal(&mut self, text: &str) -> [Value; 2] {
        let offset = self.constant(text.as_bytes(), 1);
        let address = self.address(offset);
        [address, self.b.i64(text.len() as i64)]
    }

    /// The address of constant bytes.
    pub(crate) fn table(&mut self, bytes: &[u8]) -> Value {
        let offset = self.constant(bytes, 8);
        self.address(offset)
    }

    fn address(&mut self, offset: usize) -> Value {
        let function = self.b.symbol();
        let data = *self.data.get_or_insert_with(|| {
            let name = format!("{}.text", self.b.module.name(function));
            self.b.module.declare(&name, Linkage::Local, SymbolKind::Data)
        });
        let base = self.b.address(data);
        if offset == 0 { base } else { self.b.ptr_offset(base, offset as i64) }
    }

    fn constant(&mut self, bytes: &[u8], align: usize) -> usize {
        if align == 1
            && let Some(at) = self.text.windows(bytes.len().max(1)).position(|w| w == bytes)
        {
            return at;
        }
        self.text.resize(self.text.len().next_multiple_of(align), 0);
        self.text.extend_from_slice(bytes);
        self.text.len() - bytes.len()
    }

    /// Calls another routine.
    pub(crate) fn call(&mut self, routine: Routine, args: &[Value]) -> Option<Value> {
        let symbol = routine.declare(self.b.module, self.linkage);
        self.b.call(symbol, args)
    }

    /// Calls another routine that has a result.
    pub(crate) fn call_value(&mut self, routine: Routine, args: &[Value]) -> Value {
        let symbol = routine.declare(self.b.module, self.linkage);
        self.b.call_value(symbol, args)
    }

    /// Appends constant text to the message.
    pub(crate) fn say(&mut self, state: Value, text: &str) {
        let [address, length] = self.literal(text);
        self.call(Routine::Put, &[state, address, length]);
    }

    /// A variable.
    pub(crate) fn variable(&mut self, value: Value) -> Variable {
        let ty = self.b.ty(value);
        let slot = self.b.stack_slot(ty.bytes(), ty.bytes());
        self.b.store(value, slot, 0);
        Variable { slot, ty }
    }

    /// Reads a variable.
    pub(crate) fn get(&mut self, variable: Variable) -> Value {
        self.b.load(variable.ty, variable.slot, 0)
    }

    /// Writes a variable.
    pub(crate) fn set(&mut self, variable: Variable, value: Value) {
        self.b.store(value, variable.slot, 0);
    }

    /// Adds a constant to an `I64` variable.
    pub(crate) fn add_to(&mut self, variable: Variable, addend: i64) {
        let value = self.get(variable);
        let value = self.b.binary_const(Binary::Add, value, addend);
        self.set(variable, value);
    }

    /// `base + 8 * index`.
    pub(crate) fn element(&mut self, base: Value, index: Value) -> Value {
        let offset = self.b.binary_const(Binary::Shl, index, 3);
        self.b.ptr_add(base, offset)
    }

    /// `base[index]` of an array of `I64`.
    pub(crate) fn load_element(&mut self, base: Value, index: Value) -> Value {
        let at = self.element(base, index);
        self.b.load(Type::I64, at, 0)
    }

    /// Word `index` after `base`, zero-extended.
    pub(crate) fn word(&mut self, base: Value, index: u32) -> Value {
        let word = self.b.load(Type::I32, base, 4 * index as i32);
        self.b.convert(Convert::Zext, word, Type::I64)
    }

    /// Word `index` after `base`, sign-extended.
    pub(crate) fn signed_word(&mut self, base: Value, index: u32) -> Value {
        let word = self.b.load(Type::I32, base, 4 * index as i32);
        self.b.convert(Convert::Sext, word, Type::I64)
    }

    /// The text at word `index` after `base`: address and length.
    pub(crate) fn text_at(&mut self, state: Value, base: Value, index: u32) -> [Value; 2] {
        let descriptor = self.b.load(Type::Ptr, state, state::DESCRIPTOR);
        let offset = self.word(base, index);
        let address = self.b.ptr_add(descriptor, offset);
        [address, self.word(base, index + 1)]
    }

    /// Appends the text at word `index` after `base`.
    pub(crate) fn say_text(&mut self, state: Value, base: Value, index: u32) {
        let [address, length] = self.text_at(state, base, index);
        self.call(Routine::Put, &[state, address, length]);
    }

    /// The address of the next word, which becomes the `words`-th after it.
    pub(crate) fn take_words(&mut self, state: Value, words: i64) -> Value {
        let pc = self.b.load(Type::Ptr, state, state::PC);
        let next = self.b.ptr_offset(pc, 4 * words);
        self.b.store(next, state, state::PC);
        pc
    }

    /// The address of a slot.
    pub(crate) fn slot(&mut self, state: Value, index: Value) -> Value {
        let slots = self.b.ptr_offset(state, state::SLOTS.into());
        self.element(slots, index)
    }

    /// The address of the address of the `TVMFFIAny` of a slot.
    pub(crate) fn any_slot(&mut self, state: Value, index: Value) -> Value {
        let anys = self.b.ptr_offset(state, state::ANYS.into());
        self.element(anys, index)
    }

    /// The `TVMFFIAny` of a slot.
    pub(crate) fn any_of(&mut self, state: Value, index: Value) -> Value {
        let at = self.any_slot(state, index);
        self.b.load(Type::Ptr, at, 0)
    }

    /// Says where the value of a slot is.
    pub(crate) fn locate(&mut self, state: Value, index: Value, any: Value) {
        let at = self.any_slot(state, index);
        self.b.store(any, at, 0);
        let slot = self.slot(state, index);
        self.b.store(any, slot, 0);
    }

    /// The address of the origin of a symbol.
    pub(crate) fn origin(&mut self, state: Value, index: Value) -> Value {
        let origins = self.b.ptr_offset(state, state::ORIGINS.into());
        self.element(origins, index)
    }

    /// If `value == code`, runs `body` and then goes to `done`, unless it ends its block itself.
    pub(crate) fn case(
        &mut self,
        value: Value,
        code: u32,
        done: Block,
        body: impl FnOnce(&mut Self),
    ) {
        let matches = self.b.compare_const(Cond::Eq, value, code.into());
        let (yes, no) = (self.b.block("case"), self.b.block("next"));
        self.b.branch(matches, yes, no);
        self.b.switch_to(yes);
        body(self);
        if !self.b.ended() {
            self.b.jump(done, &[]);
        }
        self.b.switch_to(no);
    }

    /// [`Code::case`] for a step, if any descriptor has it.
    pub(crate) fn step(&mut self, op: Value, code: Op, next: Block, body: impl FnOnce(&mut Self)) {
        if self.used.has_op(code) {
            self.case(op, code as u32, next, body);
        }
    }

    /// [`Code::case`] for an operation of an expression, if any descriptor has it.
    pub(crate) fn operation(
        &mut self,
        op: Value,
        code: Rpn,
        next: Block,
        body: impl FnOnce(&mut Self),
    ) {
        if self.used.has_code(code) {
            self.case(op, code as u32, next, body);
        }
    }

    /// Moves the program counter by the number of words that word `index` after `words` says; it stands
    /// behind that word.
    pub(crate) fn skip(&mut self, state: Value, words: Value, index: u32) {
        let size = self.word(words, index);
        let size = self.b.binary_const(Binary::Shl, size, 2);
        let pc = self.b.load(Type::Ptr, state, state::PC);
        let pc = self.b.ptr_add(pc, size);
        self.b.store(pc, state, state::PC);
    }

    /// Runs `body` if `cond`; `body` may end its block itself.
    pub(crate) fn when(&mut self, cond: Value, body: impl FnOnce(&mut Self)) {
        let (then, join) = (self.b.block("then"), self.b.block("join"));
        self.b.branch(cond, then, join);
        self.b.switch_to(then);
        body(self);
        if !self.b.ended() {
            self.b.jump(join, &[]);
        }
        self.b.switch_to(join);
    }

    /// Repeats `body` while `cond` yields true.
    pub(crate) fn repeat(
        &mut self,
        cond: impl FnOnce(&mut Self) -> Value,
        body: impl FnOnce(&mut Self),
    ) {
        let (head, inner, done) =
            (self.b.block("loop"), self.b.block("body"), self.b.block("done"));
        self.b.jump(head, &[]);
        self.b.switch_to(head);
        let again = cond(self);
        self.b.branch(again, inner, done);
        self.b.switch_to(inner);
        body(self);
        if !self.b.ended() {
            self.b.jump(head, &[]);
        }
        self.b.switch_to(done);
    }

    /// Runs `body` with each number from 0 below `count`.
    pub(crate) fn count_to(&mut self, count: Value, body: impl FnOnce(&mut Self, Value)) {
        let zero = self.b.i64(0);
        let index = self.variable(zero);
        self.repeat(
            |c| {
                let at = c.get(index);
                c.b.compare(Cond::Slt, at, count)
            },
            |c| {
                let at = c.get(index);
                body(c, at);
                if !c.b.ended() {
                    c.add_to(index, 1);
                }
            },
        );
    }

    /// Returns an `I32`.
    pub(crate) fn return_code(&mut self, code: i32) {
        let code = self.b.i32(code);
        self.b.ret(Some(code));
    }
}

/// A variable in the frame of a routine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Variable {
    slot: Value,
    ty: Type,
}
