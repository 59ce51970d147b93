//! Explaining scalars.

use abi_spec::TypeIndex;
use abi_spec::layout::any;

use crate::ir::{Binary, Builder, Cond, Convert, Type, Value};
use crate::lower::explain::codes::{Class, Used, step};
use crate::lower::explain::complaints::Complaint;
use crate::lower::explain::routines::Routine;
use crate::lower::explain::routines::evaluate::fits;
use crate::lower::explain::schema::At;

/// `(state)`: type and range of a scalar.
pub(crate) fn scalar(b: &mut Builder<'_>, _: Used) {
    let (s, step) = b.step::<step::Scalar>();
    let head = step.head(b);
    let any = b.any_of(s, head);
    let index = b.load(Type::I32, any, any::TYPE_INDEX.offset);
    let payload = b.load(Type::I64, any, any::PAYLOAD.offset);
    let above = b.binary_const(Binary::Sub, index, TypeIndex::INT.0.into());
    let (class, done) = (step.class(b), b.block("scalar"));
    let value = b.block_param(done, Type::I64, "value");
    let require = |b: &mut Builder<'_>, ok: Value| {
        let wrong = b.not(ok);
        b.if_then(wrong, |b| {
            let [head, expected] = [head.address(b), step.expected(b).address(b)];
            b.complain(s, Complaint::Type, &[head, expected, any]);
        });
    };
    let up_to = |b: &mut Builder<'_>, last: TypeIndex| {
        let number = b.compare_const(Cond::Ule, above, (last.0 - TypeIndex::INT.0).into());
        require(b, number);
    };
    b.case(class, Class::Ptr as u32, done, |b| {
        let none = b.compare_const(Cond::Eq, index, TypeIndex::NONE.0.into());
        let pointer = b.compare_const(Cond::Eq, index, TypeIndex::OPAQUE_PTR.0.into());
        let either = b.or(none, pointer);
        require(b, either);
        let zero = b.i64(0);
        [b.select(none, zero, payload)]
    });
    b.case(class, Class::Float as u32, done, |b| {
        up_to(b, TypeIndex::FLOAT);
        let is_float = b.compare_const(Cond::Eq, index, TypeIndex::FLOAT.0.into());
        let converted = b.convert(Convert::SintToFloat, payload, Type::F64);
        let converted = b.as_word(converted);
        let bits = b.select(is_float, payload, converted);
        [round(b, step, bits)]
    });
    b.case(class, Class::Bool as u32, done, |b| {
        up_to(b, TypeIndex::BOOL);
        let truth = b.compare_const(Cond::Ne, payload, 0);
        [b.truth(truth)]
    });
    b.case(class, Class::Int as u32, done, |b| {
        up_to(b, TypeIndex::BOOL);
        let (bits, signed) = (step.bits(b), step.signed(b));
        let fits = fits(b, payload, bits, signed);
        let overflow = b.not(fits);
        b.if_then(overflow, |b| {
            let [head, name] = [head.address(b), step.name(b).address(b)];
            b.complain(s, Complaint::Range, &[head, name, payload]);
        });
        [payload]
    });
    b.unknown(s, class);
    b.switch_to(done);
    b.set_value(s, head, value);
    b.return_code(0);
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

/// A `float64` to `float32` and back.
pub(crate) fn round_single(b: &mut Builder<'_>, bits: Value) -> Value {
    let value = b.convert(Convert::Bitcast, bits, Type::F64);
    let single = b.convert(Convert::Demote, value, Type::F32);
    b.convert(Convert::Promote, single, Type::F64)
}

/// A `float64` to a 16-bit float and back; the format as in [`half`](super::half).
pub(crate) fn round_half(b: &mut Builder<'_>, bits: Value, [mantissa, bias]: [Value; 2]) -> Value {
    let half = b.routine_value(Routine::RoundHalf, &[bits, mantissa, bias]);
    let half = b.convert(Convert::Zext, half, Type::I64);
    b.routine_value(Routine::WidenHalf, &[half, mantissa, bias])
}
