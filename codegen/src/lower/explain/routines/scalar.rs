//! Explaining scalars.

use abi_spec::TypeIndex;
use abi_spec::layout::{any, big_int};

use crate::ir::{Block, Builder, Cond, Convert, Type, Value};
use crate::lower::explain::codes::{Class, Used, step};
use crate::lower::explain::complaints::Complaint;
use crate::lower::explain::routines::number::{fits, round_half, round_single};
use crate::lower::explain::schema::At;

/// One scalar while it is checked.
#[derive(Clone, Copy)]
struct Subject {
    s: Value,
    step: At<step::Scalar>,
    any: Value,
    index: Value,
    payload: Value,
}

/// `(state)`: type and range of a scalar.
pub(crate) fn scalar(b: &mut Builder<'_>, used: Used) {
    let (s, step) = b.step::<step::Scalar>();
    let head = step.head(b);
    let any = b.any_of(s, head);
    let index = b.load(Type::I32, any, any::TYPE_INDEX.offset);
    let payload = b.load(Type::I64, any, any::PAYLOAD.offset);
    let subject = Subject { s, step, any, index, payload };
    let (class, done) = (step.class(b), b.block("scalar"));
    let value = b.block_param(done, Type::I64, "value");
    b.when(used, class, Class::Ptr, done, |b| [subject.pointer(b, done)]);
    b.when(used, class, Class::Float, done, |b| [subject.float(b)]);
    b.when(used, class, Class::Bool, done, |b| {
        subject.require(b, &[TypeIndex::INT, TypeIndex::BOOL]);
        let truth = b.compare_const(Cond::Ne, payload, 0);
        [b.truth(truth)]
    });
    b.when(used, class, Class::Int, done, |b| {
        subject.no_big_int(b);
        [subject.int(b)]
    });
    b.when(used, class, Class::Unsigned, done, |b| {
        subject.big_int(b, done);
        [subject.int(b)]
    });
    b.unknown(s, class);
    b.switch_to(done);
    b.set_value(s, head, value);
    b.return_code(0);
}

impl Subject {
    /// Complains unless the value is of one of these types.
    fn require(self, b: &mut Builder<'_>, types: &[TypeIndex]) {
        let ok = b.is_one_of(self.index, types);
        b.unless(ok, |b| {
            let [head, expected] = [self.step.head(b).address(b), self.step.expected(b).address(b)];
            b.complain(self.s, Complaint::Type, &[head, expected, self.any]);
        });
    }

    /// If the value is an integer that is an object, runs `body` with it.
    fn if_big_int(self, b: &mut Builder<'_>, body: impl FnOnce(&mut Builder<'_>, Value)) {
        let object = b.load(Type::Ptr, self.any, any::PAYLOAD.offset);
        let is = b.is_big_int(self.index, object);
        b.if_then(is, |b| body(b, object));
    }

    /// What does not fit `int64` is out of range.
    fn no_big_int(self, b: &mut Builder<'_>) {
        self.if_big_int(b, |b, object| {
            // A symbol is an `int64`, whatever the type of its parameter.
            let (bits, signed) = (self.step.bits(b), self.step.signed(b));
            let wide = b.compare_const(Cond::Eq, bits, 64);
            let unsigned = b.not(signed);
            let symbol = b.and(wide, unsigned);
            let complaint = b.either(symbol, Complaint::BigSymbol, Complaint::BigRange);
            self.complain_big(b, complaint, object);
        });
    }

    /// Goes on with the 64 bits of what does not fit `int64`; there must be no more.
    fn big_int(self, b: &mut Builder<'_>, done: Block) {
        self.if_big_int(b, |b, object| {
            let size = b.load(Type::I64, object, big_int::SIZE.in_object());
            let [low, high] =
                [0, 8].map(|at| b.load(Type::I64, object, big_int::WORDS.in_object() + at));
            let two = b.compare_const(Cond::Eq, size, 2);
            let positive = b.compare_const(Cond::Eq, high, 0);
            let fits = b.and(two, positive);
            b.unless(fits, |b| {
                let complaint = b.i64(Complaint::BigRange as i64);
                self.complain_big(b, complaint, object);
            });
            b.jump(done, &[low]);
        });
    }

    fn complain_big(self, b: &mut Builder<'_>, complaint: Value, object: Value) {
        let [head, name] = [self.step.head(b).address(b), self.step.name(b).address(b)];
        b.complain_big(self.s, complaint, [head, name, object]);
    }

    fn pointer(self, b: &mut Builder<'_>, done: Block) -> Value {
        self.big_int(b, done);
        self.require(b, &[TypeIndex::NONE, TypeIndex::OPAQUE_PTR]);
        let none = b.is_one_of(self.index, &[TypeIndex::NONE]);
        let zero = b.i64(0);
        b.select(none, zero, self.payload)
    }

    fn float(self, b: &mut Builder<'_>) -> Value {
        self.require(b, &[TypeIndex::INT, TypeIndex::BOOL, TypeIndex::FLOAT]);
        let is_float = b.is_one_of(self.index, &[TypeIndex::FLOAT]);
        let converted = b.convert(Convert::SintToFloat, self.payload, Type::F64);
        let converted = b.as_word(converted);
        let bits = b.select(is_float, self.payload, converted);
        round(b, self.step, bits)
    }

    fn int(self, b: &mut Builder<'_>) -> Value {
        self.require(b, &[TypeIndex::INT, TypeIndex::BOOL]);
        let (bits, signed) = (self.step.bits(b), self.step.signed(b));
        let fits = fits(b, self.payload, bits, signed);
        b.unless(fits, |b| {
            let [head, name] = [self.step.head(b).address(b), self.step.name(b).address(b)];
            b.complain(self.s, Complaint::Range, &[head, name, self.payload]);
        });
        self.payload
    }
}

/// A float as arithmetic sees it: rounded to its type.
fn round(b: &mut Builder<'_>, step: At<step::Scalar>, bits: Value) -> Value {
    let (width, done) = (step.bits(b), b.block("rounded"));
    let rounded = b.block_param(done, Type::I64, "rounded");
    b.case(width, 64, done, |_| [bits]);
    b.case(width, 32, done, |b| {
        let single = round_single(b, bits);
        [b.as_word(single)]
    });
    let (mantissa, bias) = (step.mantissa(b), step.bias(b));
    let half = round_half(b, bits, [mantissa, bias]);
    let half = b.as_word(half);
    b.jump(done, &[half]);
    b.switch_to(done);
    rounded
}
