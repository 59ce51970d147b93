//! What routines are written with, beyond what the builder has: calls of each other, constants, loops that
//! carry values, and the words and values of a descriptor.

use crate::ir::{Binary, Block, Builder, Cond, Convert, Hint, Type, Value};
use crate::lower::explain::codes::{Code, Coded, Text, Used};
use crate::lower::explain::complaints::Complaint;
use crate::lower::explain::routines::Routine;
use crate::lower::explain::routines::state::Field;
use crate::lower::explain::schema::{At, Part};

/// Calls and constants.
impl Builder<'_> {
    /// Calls another routine from a routine.
    pub(crate) fn routine(&mut self, routine: Routine, args: &[Value]) -> Option<Value> {
        let linkage = self.module.symbols[self.symbol().index()].linkage;
        let symbol = routine.declare(self.module, linkage);
        self.call(symbol, args)
    }

    /// The same of one that has a result.
    pub(crate) fn routine_value(&mut self, routine: Routine, args: &[Value]) -> Value {
        let linkage = self.module.symbols[self.symbol().index()].linkage;
        let symbol = routine.declare(self.module, linkage);
        self.call_value(symbol, args)
    }

    /// Calls a routine that fails with a code other than 0, which is then returned.
    pub(crate) fn try_routine(&mut self, routine: Routine, args: &[Value]) {
        let code = self.routine_value(routine, args);
        let raised = self.compare_const(Cond::Ne, code, 0);
        self.if_then(raised, |b| b.ret(Some(code)));
    }

    /// Whether what a routine yields is not 0.
    pub(crate) fn ask(&mut self, routine: Routine, args: &[Value]) -> Value {
        let answer = self.routine_value(routine, args);
        self.compare_const(Cond::Ne, answer, 0)
    }

    /// Calls a function of the runtime that has a result.
    pub(crate) fn runtime(
        &mut self,
        function: &abi_spec::runtime::Function,
        args: &[Value],
    ) -> Value {
        let symbol = crate::lower::runtime(self.module, function);
        self.call_value(symbol, args)
    }

    /// Releases an object; NULL is none.
    pub(crate) fn release_object(&mut self, object: Value) {
        self.runtime(&abi_spec::runtime::OBJECT_DEC_REF, &[object]);
    }

    /// Returns an `I32`.
    pub(crate) fn return_code(&mut self, code: i32) {
        let code = self.i32(code);
        self.ret(Some(code));
    }

    /// Returns an `I32` if a condition holds.
    pub(crate) fn return_if(&mut self, cond: Value, code: i32) {
        self.if_then(cond, |b| b.return_code(code));
    }

    /// Returns NULL if a condition holds.
    pub(crate) fn null_if(&mut self, cond: Value) {
        self.if_then(cond, |b| {
            let null = b.null();
            b.ret(Some(null));
        });
    }

    /// The address of constant text, and its length.
    pub(crate) fn text(&mut self, text: &str) -> [Value; 2] {
        let address = self.constant_bytes(text.as_bytes(), 1);
        [address, self.i64(text.len() as i64)]
    }

    /// The address of constant bytes, aligned to 8.
    pub(crate) fn table(&mut self, bytes: &[u8]) -> Value {
        self.constant_bytes(bytes, 8)
    }
}

/// Control flow.
impl Builder<'_> {
    /// A loop that carries values: while `cond` yields true of them, `body` makes the next ones. The values
    /// for which it did not. `body` may end its block itself.
    pub(crate) fn repeat<const N: usize>(
        &mut self,
        initial: [Value; N],
        cond: impl FnOnce(&mut Self, [Value; N]) -> Value,
        body: impl FnOnce(&mut Self, [Value; N]) -> [Value; N],
    ) -> [Value; N] {
        let (head, inner, done) = (self.block("loop"), self.block("body"), self.block("done"));
        let carried = initial.map(|value| self.block_param(head, self.ty(value), Hint::default()));
        self.jump(head, &initial);
        self.switch_to(head);
        let again = cond(self, carried);
        self.branch(again, inner, done);
        self.switch_to(inner);
        let next = body(self, carried);
        if !self.ended() {
            self.jump(head, &next);
        }
        self.switch_to(done);
        carried
    }

    /// Runs `body` with each number from 0 below `count`.
    pub(crate) fn count_to(&mut self, count: Value, body: impl FnOnce(&mut Self, Value)) {
        self.fold(count, [], |b, at, []| {
            body(b, at);
            []
        });
    }

    /// The same, with values that each turn hands to the next.
    pub(crate) fn fold<const N: usize>(
        &mut self,
        count: Value,
        initial: [Value; N],
        body: impl FnOnce(&mut Self, Value, [Value; N]) -> [Value; N],
    ) -> [Value; N] {
        let (head, inner, done) = (self.block("loop"), self.block("body"), self.block("done"));
        let at = self.block_param(head, Type::I64, Hint::default());
        let carried = initial.map(|value| self.block_param(head, self.ty(value), Hint::default()));
        let zero = self.i64(0);
        self.jump(head, &[&[zero], &initial[..]].concat());
        self.switch_to(head);
        let again = self.compare(Cond::Slt, at, count);
        self.branch(again, inner, done);
        self.switch_to(inner);
        let next = body(self, at, carried);
        if !self.ended() {
            let following = self.binary_const(Binary::Add, at, 1);
            self.jump(head, &[&[following], &next[..]].concat());
        }
        self.switch_to(done);
        carried
    }

    /// If `value == code`, runs `body`, which hands values on to `done` unless it ends its block itself.
    pub(crate) fn case<const N: usize>(
        &mut self,
        value: Value,
        code: u32,
        done: Block,
        body: impl FnOnce(&mut Self) -> [Value; N],
    ) {
        let matches = self.compare_const(Cond::Eq, value, code.into());
        let (yes, no) = (self.block("case"), self.block("next"));
        self.branch(matches, yes, no);
        self.switch_to(yes);
        let values = body(self);
        if !self.ended() {
            self.jump(done, &values);
        }
        self.switch_to(no);
    }
}

/// Codes.
impl Builder<'_> {
    /// [`Builder::case`] for a code, if some descriptor has it.
    pub(crate) fn when<C: Code, const N: usize>(
        &mut self,
        used: Used,
        value: Value,
        code: C,
        done: Block,
        body: impl FnOnce(&mut Self) -> [Value; N],
    ) {
        if used.has(code) {
            self.case(value, code.number(), done, body);
        }
    }
}

/// Memory.
impl Builder<'_> {
    /// `base + 8 * index`.
    pub(crate) fn element(&mut self, base: Value, index: Value) -> Value {
        let offset = self.binary_const(Binary::Shl, index, 3);
        self.ptr_add(base, offset)
    }

    /// `base[index]` of an array of `I64`.
    pub(crate) fn load_element(&mut self, base: Value, index: Value) -> Value {
        let at = self.element(base, index);
        self.load(Type::I64, at, 0)
    }

    /// The address of `TVMFFIAny` number `index`.
    pub(crate) fn any_at(&mut self, base: Value, index: Value) -> Value {
        let offset = self.binary_const(Binary::Mul, index, abi_spec::layout::ANY.size.into());
        self.ptr_add(base, offset)
    }

    /// A field of 32 bits, sign-extended.
    pub(crate) fn signed(&mut self, base: Value, offset: i32) -> Value {
        let word = self.load(Type::I32, base, offset);
        self.convert(Convert::Sext, word, Type::I64)
    }

    /// A field of 32 bits, zero-extended.
    pub(crate) fn unsigned(&mut self, base: Value, offset: i32) -> Value {
        let word = self.load(Type::I32, base, offset);
        self.convert(Convert::Zext, word, Type::I64)
    }

    /// `cond ? 1 : 0`
    pub(crate) fn truth(&mut self, cond: Value) -> Value {
        self.widen_bool(cond, Type::I64)
    }
}

/// Reading a descriptor: what would be read outside of it is damaged.
impl Builder<'_> {
    /// The record at the program counter, which moves behind it.
    pub(crate) fn take<T: Part>(&mut self, s: Value) -> At<T> {
        let pc = self.field(s, Field::Pc);
        let next = self.ptr_offset(pc, i64::from(4 * T::WORDS));
        self.move_to(s, next);
        At::new(pc)
    }

    /// The record of a step that is at the program counter.
    pub(crate) fn step<T: Coded>(&mut self) -> (Value, At<T>) {
        let s = self.param(0);
        (s, self.take::<T>(s))
    }

    /// The word at the program counter.
    pub(crate) fn take_word(&mut self, s: Value) -> Value {
        let word = self.take::<u32>(s);
        u32::read(self, word.base, 0)
    }

    /// Moves the program counter forward by a number of words.
    pub(crate) fn skip(&mut self, s: Value, words: Value) {
        let size = self.binary_const(Binary::Shl, words, 2);
        let pc = self.field(s, Field::Pc);
        let pc = self.ptr_add(pc, size);
        self.move_to(s, pc);
    }

    fn move_to(&mut self, s: Value, pc: Value) {
        let end = self.field(s, Field::End);
        let inside = self.compare(Cond::Ule, pc, end);
        self.intact(s, inside);
        self.set_field(s, Field::Pc, pc);
    }

    /// Raises that the descriptor is damaged, and returns, unless `ok`.
    pub(crate) fn intact(&mut self, s: Value, ok: Value) {
        self.unless(ok, |b| b.broken(s, Complaint::Damaged, s));
    }

    /// Raises that a code is unknown, and returns.
    pub(crate) fn unknown(&mut self, s: Value, code: Value) {
        self.broken(s, Complaint::UnknownCode, code);
    }

    fn broken(&mut self, s: Value, complaint: Complaint, value: Value) {
        let complaint = self.i64(complaint as i64);
        let value = self.as_word(value);
        let raised = self.routine_value(Routine::Broken, &[s, complaint, value]);
        self.ret(Some(raised));
    }

    /// Runs `body`, which ends its block, unless a condition holds.
    pub(crate) fn unless(&mut self, cond: Value, body: impl FnOnce(&mut Self)) {
        let (next, other) = (self.block("next"), self.cold_block("otherwise"));
        self.branch(cond, next, other);
        self.switch_to(other);
        body(self);
        self.switch_to(next);
    }

    /// Address and length of a text.
    pub(crate) fn text_at(&mut self, s: Value, text: At<Text>) -> [Value; 2] {
        let span = text.span();
        let (offset, length) = (span.offset(self), span.length(self));
        let (texts, size) = (self.field(s, Field::Texts), self.field(s, Field::TextSize));
        let end = self.binary(Binary::Add, offset, length);
        let inside = self.compare(Cond::Ule, end, size);
        let zero = self.i64(0);
        let length = self.select(inside, length, zero);
        [self.ptr_add(texts, offset), length]
    }

    /// Any value of 64 bits as a number.
    pub(crate) fn as_word(&mut self, value: Value) -> Value {
        match self.ty(value) {
            Type::F64 => self.convert(Convert::Bitcast, value, Type::I64),
            Type::Ptr => self.convert(Convert::PtrToInt, value, Type::I64),
            Type::Bool => self.truth(value),
            Type::I64 | Type::I8 | Type::I16 | Type::I32 | Type::F32 => value,
        }
    }

    /// Raises a complaint, unless a fault is no error now, and returns 1.
    pub(crate) fn complain(&mut self, s: Value, complaint: Complaint, values: &[Value]) {
        let complaint = self.i64(complaint as i64);
        self.complain_of(s, complaint, values);
    }

    /// The same for a complaint that is known at run time only.
    pub(crate) fn complain_of(&mut self, s: Value, complaint: Value, values: &[Value]) {
        let mut args = vec![s, complaint];
        for &value in values {
            args.push(self.as_word(value));
        }
        args.resize_with(6, || self.i64(0));
        let raised = self.routine_value(Routine::Complain, &args);
        self.ret(Some(raised));
    }

    /// Complains if something is wrong.
    pub(crate) fn refuse(
        &mut self,
        s: Value,
        wrong: Value,
        complaint: Complaint,
        values: &[Value],
    ) {
        self.if_then(wrong, |b| b.complain(s, complaint, values));
    }

    /// The code of one of two complaints.
    pub(crate) fn either(&mut self, cond: Value, then: Complaint, otherwise: Complaint) -> Value {
        let (then, otherwise) = (self.i64(then as i64), self.i64(otherwise as i64));
        self.select(cond, then, otherwise)
    }
}
