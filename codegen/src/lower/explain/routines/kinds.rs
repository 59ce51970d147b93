//! Explaining values that are neither scalars nor tensors.

use abi_spec::layout::{ANY, any, seq_cell};
use abi_spec::{TypeIndex, runtime};

use crate::ir::{Binary, Builder, Cond, Type, Value};
use crate::language::MAX_RANK;
use crate::lower::explain::codes::{Head, Literal, LiteralCode, Text, Used, step};
use crate::lower::explain::complaints::Complaint;
use crate::lower::explain::routines::Routine;
use crate::lower::explain::routines::state::Field;
use crate::lower::explain::schema::At;
use crate::resolve::accepted::MAX_SMALL;

impl Builder<'_> {
    /// Complains of the type of a value. Behind an rvalue reference it is the object that has it.
    pub(crate) fn wrong_type(&mut self, s: Value, head: At<Head>, expected: At<Text>, any: Value) {
        let (index, payload) = self.borrow(any);
        let found = self.stack_slot(ANY.size, ANY.align);
        self.store(index, found, any::TYPE_INDEX.offset);
        self.store(payload, found, any::PAYLOAD.offset);
        let [head, expected] = [head.address(self), expected.address(self)];
        self.complain(s, Complaint::Type, &[head, expected, found]);
    }

    /// A `Bool`: an index is one of these.
    pub(crate) fn is_one_of(&mut self, index: Value, types: &[TypeIndex]) -> Value {
        let mut any = None;
        for ty in types {
            let is = self.compare_const(Cond::Eq, index, ty.0.into());
            any = Some(any.map_or(is, |any| self.or(any, is)));
        }
        any.unwrap_or_else(|| self.constant(Type::Bool, 0))
    }
}

/// `(state)`: the type of a value, and that it is not NULL.
pub(crate) fn check_type(b: &mut Builder<'_>, _: Used) {
    let (s, step) = b.step::<step::Type>();
    let head = step.head(b);
    let any = b.any_of(s, head);
    let masks = [step.low(b), step.high(b)];
    let (index, payload) = b.borrow(any);
    let null = b.compare_const(Cond::Eq, payload, 0);
    let points = b.points(index);
    let nothing = b.and(points, null);
    let accepted = b.accepts(index, masks);
    let objects = b.compare_const(Cond::Ne, masks[1], 0);
    let rvalue = b.is_one_of(index, &[TypeIndex::OBJECT_RVALUE_REF]);
    let rvalue = b.and(rvalue, objects);
    let candidate = b.or(accepted, rvalue);
    let nothing = b.and(nothing, candidate);
    b.if_then(nothing, |b| {
        let [head, expected] = [head.address(b), step.expected(b).address(b)];
        b.complain(s, Complaint::TypeNull, &[head, expected]);
    });
    b.unless(accepted, |b| {
        let expected = step.expected(b);
        b.wrong_type(s, head, expected, any);
    });
    small_size(b, s, head, [any, index]);
    let none = b.compare_const(Cond::Eq, index, TypeIndex::NONE.0.into());
    let null = b.null();
    let payload = b.select(none, null, payload);
    b.set_value(s, head, payload);
    b.return_code(0);
}

/// A small text must not claim more bytes than a value has.
fn small_size(b: &mut Builder<'_>, s: Value, head: At<Head>, [any, index]: [Value; 2]) {
    let small = b.is_one_of(index, &[TypeIndex::SMALL_STR, TypeIndex::SMALL_BYTES]);
    let length = b.unsigned(any, any::SMALL_LEN.offset);
    let long = b.compare_const(Cond::Ugt, length, MAX_SMALL);
    let long = b.and(small, long);
    b.if_then(long, |b| {
        let (head, most) = (head.address(b), b.i64(MAX_SMALL));
        b.complain(s, Complaint::SmallSize, &[head, most, length]);
    });
}

/// `(state)`: the class of an object.
pub(crate) fn instance(b: &mut Builder<'_>, _: Used) {
    let (s, step) = b.step::<step::Instance>();
    let head = step.head(b);
    let object = b.object_of(s, head);
    let key = step.key(b);
    let [key, length] = b.text_at(s, key);
    let null = b.null();
    let is = b.ask(Routine::IsInstance, &[object, key, length, null]);
    b.unless(is, |b| {
        let any = b.any_of(s, head);
        let expected = step.expected(b);
        b.wrong_type(s, head, expected, any);
    });
    b.return_code(0);
}

/// `(state)`: the number of elements of a tuple.
pub(crate) fn size(b: &mut Builder<'_>, _: Used) {
    let (s, step) = b.step::<step::Size>();
    let head = step.head(b);
    let object = b.object_of(s, head);
    let found = b.load(Type::I64, object, seq_cell::SIZE.in_object());
    let expected = step.size(b);
    let differs = b.compare(Cond::Ne, found, expected);
    let head = head.address(b);
    b.refuse(s, differs, Complaint::Size, &[head, expected, found]);
    b.return_code(0);
}

/// `(state)`: an element type; where its text names none, with the runtime's own error.
pub(crate) fn dtype(b: &mut Builder<'_>, _: Used) {
    let (s, step) = b.step::<step::Dtype>();
    let head = step.head(b);
    let any = b.any_of(s, head);
    let index = b.load(Type::I32, any, any::TYPE_INDEX.offset);
    let plain = b.compare_const(Cond::Eq, index, TypeIndex::DATA_TYPE.0.into());
    b.if_then(plain, |b| {
        let bits = b.unsigned(any, any::PAYLOAD.offset);
        b.set_value(s, head, bits);
        b.return_code(0);
    });
    let (array, out) = (b.stack_slot(16, 8), b.stack_slot(8, 8));
    let all = b.i64(-1);
    let text = b.routine_value(Routine::Text, &[any, all, all, array]);
    let some = b.compare_const(Cond::Ne, text, 0);
    b.intact(s, some);
    let zero = b.i64(0);
    b.store(zero, out, 0);
    let quiet = b.is_quiet(s);
    b.if_then(quiet, |b| {
        let hopeless = names_no_dtype(b, text);
        b.return_if(hopeless, 1);
    });
    let status = b.runtime(&runtime::DATA_TYPE_FROM_STRING, &[text, out]);
    let failed = b.compare_const(Cond::Ne, status, 0);
    b.if_then(failed, |b| {
        let name = b.text(runtime::DATA_TYPE_FROM_STRING.name);
        b.stop_after_call(s, name, status);
    });
    let bits = b.load(Type::I64, out, 0);
    b.set_value(s, head, bits);
    b.return_code(0);
}

/// A `Bool`: a text, as an array of bytes, names no element type for sure. All names begin with a lower-case
/// letter, but for the empty one.
fn names_no_dtype(b: &mut Builder<'_>, array: Value) -> Value {
    use abi_spec::layout::byte_array;
    let data = b.load(Type::Ptr, array, byte_array::DATA.offset);
    let size = b.load(Type::I64, array, byte_array::SIZE.offset);
    let some = b.compare_const(Cond::Ne, size, 0);
    let zero = b.i64(0);
    let first = byte_or_zero(b, data, zero, some);
    let above = b.binary_const(Binary::Sub, first, b'a'.into());
    let other = b.compare_const(Cond::Uge, above, 26);
    b.and(some, other)
}

/// `(state)`: a device.
pub(crate) fn device(b: &mut Builder<'_>, _: Used) {
    let (s, step) = b.step::<step::Device>();
    let head = step.head(b);
    let any = b.any_of(s, head);
    let index = b.load(Type::I32, any, any::TYPE_INDEX.offset);
    let plain = b.compare_const(Cond::Eq, index, TypeIndex::DEVICE.0.into());
    b.return_if(plain, 0);
    let all = b.i64(-1);
    let out = b.stack_slot(8, 8);
    let named = b.ask(Routine::ToDevice, &[any, all, all, out]);
    b.unless(named, |b| {
        let slot = head.slot(b);
        let [text, length] = b.text_of(s, slot);
        let [head, expected] = [head.address(b), step.expected(b).address(b)];
        b.complain(s, Complaint::LiteralText, &[head, expected, text, length]);
    });
    let word = b.load(Type::I64, out, 0);
    b.set_value(s, head, word);
    b.return_code(0);
}

/// `(state)`: the numbers of a shape, or of an array or list that stands for one.
pub(crate) fn check_numbers(b: &mut Builder<'_>, _: Used) {
    let (s, step) = b.step::<step::Numbers>();
    let at = step.head(b);
    let object = b.object_of(s, at);
    let head = at.address(b);
    let index = b.load(Type::I32, object, abi_spec::layout::object::TYPE_INDEX.offset);
    // Shapes and sequences have their size at the same place.
    let size = b.load(Type::I64, object, seq_cell::SIZE.in_object());
    let sequence = b.is_one_of(index, &[TypeIndex::ARRAY, TypeIndex::LIST]);
    b.if_then(sequence, |b| {
        let long = b.compare_const(Cond::Ugt, size, MAX_RANK as i64);
        let most = b.i64(MAX_RANK as i64);
        b.refuse(s, long, Complaint::SizeMost, &[head, most, size]);
        let elements = b.load(Type::Ptr, object, seq_cell::DATA.in_object());
        b.count_to(size, |b, at| {
            let element = b.any_at(elements, at);
            let index = b.load(Type::I32, element, any::TYPE_INDEX.offset);
            let other = b.compare_const(Cond::Ne, index, TypeIndex::INT.0.into());
            b.if_then(other, |b| {
                let object = b.load(Type::Ptr, element, any::PAYLOAD.offset);
                let big = b.is_big_int(index, object);
                b.if_then(big, |b| {
                    let complaint = b.i64(Complaint::NumberBig as i64);
                    b.complain_big(s, complaint, [head, at, object]);
                });
                b.complain(s, Complaint::Number, &[head, at, element]);
            });
        });
    });
    let rank = step.rank(b);
    let fixed = b.compare_const(Cond::Ne, rank, -1);
    let differs = b.compare(Cond::Ne, size, rank);
    let wrong = b.and(fixed, differs);
    b.refuse(s, wrong, Complaint::Size, &[head, rank, size]);
    b.return_code(0);
}

/// `(state)`: one of several values.
pub(crate) fn literal(b: &mut Builder<'_>, _: Used) {
    let (s, step) = b.step::<step::Literal>();
    let head = step.head(b);
    let any = b.any_of(s, head);
    let number = b.load(Type::I64, any, any::PAYLOAD.offset);
    let (index, object) = b.borrow(any);
    let is_number = b.is_one_of(index, &[TypeIndex::INT, TypeIndex::BOOL]);
    let is_integer = b.is_one_of(index, &[TypeIndex::INT, TypeIndex::BOOL, TypeIndex::BIG_INT]);
    let is_text = b.not(is_integer);
    let slot = head.slot(b);
    let text = b.text_of(s, slot);
    let (count, zero) = (b.take_word(s), b.i64(0));
    let [found] = b.fold(count, [zero], |b, _, [found]| {
        let same = same_literal(b, s, [number, text[0], text[1]], [is_number, is_text]);
        [b.or(found, same)]
    });
    let none = b.compare_const(Cond::Eq, found, 0);
    b.if_then(none, |b| {
        let [head, expected] = [head.address(b), step.expected(b).address(b)];
        big_literal(b, s, step, [any, index, object]);
        b.unless(is_number, |b| {
            b.complain(s, Complaint::LiteralText, &[head, expected, text[0], text[1]]);
        });
        let bool = b.is_one_of(index, &[TypeIndex::BOOL]);
        let complaint = b.either(bool, Complaint::LiteralBool, Complaint::LiteralInt);
        b.complain_of(s, complaint, &[head, expected, number]);
    });
    b.return_code(0);
}

/// Complains of an integer that is an object.
fn big_literal(
    b: &mut Builder<'_>,
    s: Value,
    step: At<step::Literal>,
    [any, index, object]: [Value; 3],
) {
    let big = b.is_big_int(index, object);
    b.if_then(big, |b| {
        let [head, expected] = [step.head(b).address(b), step.expected(b).address(b)];
        let complaint = b.i64(Complaint::LiteralBig as i64);
        b.complain_big(s, complaint, [head, expected, object]);
    });
    let hollow = b.is_one_of(index, &[TypeIndex::BIG_INT]);
    b.if_then(hollow, |b| {
        let (head, expected) = (step.head(b), step.expected(b));
        b.wrong_type(s, head, expected, any);
    });
}

/// 1 if the literal at the program counter is this number or text.
fn same_literal(
    b: &mut Builder<'_>,
    s: Value,
    [number, text, length]: [Value; 3],
    [is_number, is_text]: [Value; 2],
) -> Value {
    let literal = b.take::<Literal>(s);
    let (code, done) = (literal.code(b), b.block("literal"));
    let same = b.block_param(done, Type::I64, "same");
    b.case(code, LiteralCode::Int as u32, done, |b| {
        let known = literal.bits(b);
        let same = b.eq(known, number);
        let same = b.and(same, is_number);
        [b.truth(same)]
    });
    b.case(code, LiteralCode::Text as u32, done, |b| {
        let known = literal.text();
        let [known, known_length] = b.text_at(s, known);
        let same = b.ask(Routine::SameText, &[text, length, known, known_length]);
        let same = b.and(same, is_text);
        [b.truth(same)]
    });
    b.unknown(s, code);
    b.switch_to(done);
    same
}

impl At<Literal> {
    /// The text of a literal: it stands where the bits of an integer do.
    fn text(self) -> At<Text> {
        use crate::lower::explain::schema::Part;
        At::within(self.base, self.offset + 4 * LiteralCode::WORDS as i32)
    }
}

fn byte_or_zero(b: &mut Builder<'_>, text: Value, at: Value, there: Value) -> Value {
    let address = b.ptr_add(text, at);
    let zero = b.table(&[0; 8]);
    let address = b.select(there, address, zero);
    b.load(Type::I8, address, 0)
}

impl Builder<'_> {
    /// True while a fault is no error.
    pub(crate) fn is_quiet(&mut self, s: Value) -> Value {
        let quiet = self.field(s, Field::Quiet);
        self.compare_const(Cond::Ne, quiet, 0)
    }
}
