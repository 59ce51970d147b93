//! Values of the FFI (`TVMFFIAny`) that a body writes: arguments of calls, elements of arrays, results.

use abi_spec::layout::{ANY, OBJECT, any, object};
use abi_spec::{Scalar, TypeIndex};

use crate::declaration::ParamType;
use crate::ir::{Cond, Convert, Type, Value};
use crate::lower::emitter::state::ValueState;
use crate::lower::failure::message::Message;
use crate::lower::routines::Routine;
use crate::lower::routines::complaints::Complaint;
use crate::lower::value::{AnyWords, constant_bytes, write_any, write_text};
use crate::lower::wrapper::Wrapper;
use crate::resolve::accepted::{Accepted, needs_object, possible, result_index};
use crate::resolve::body::{Packed, Plain};
use crate::resolve::ids::ValueId;
use crate::resolve::term::{Kind, Term};

/// A value to write, after the object that it may need has been made.
enum Made<'p, 'a> {
    Plain(&'p Plain<'a>),
    /// Address of an owned value: an array, a shape or a string that was made.
    Owned(Value),
}

impl Wrapper<'_, '_> {
    /// Writes values one after the other in the frame; returns their address. Arrays and shapes among them are made
    /// first; the frame owns them.
    pub(crate) fn pack_all(&mut self, all: &[Packed<'_>]) -> Value {
        let made: Vec<Made<'_, '_>> = all.iter().map(|packed| self.make(packed)).collect();
        let area = self.area(all.len());
        for (index, made) in made.iter().enumerate() {
            let at = index as i32 * ANY.size as i32;
            match made {
                Made::Plain(plain) => self.pack(plain, area, at),
                Made::Owned(from) => self.copy_words(*from, area, at),
            }
        }
        area
    }

    /// Writes one value to an address. If an object was made for the value, the frame owns the object.
    pub(crate) fn pack_one(&mut self, packed: &Packed<'_>, to: Value) {
        match self.make(packed) {
            Made::Plain(plain) => self.pack(plain, to, 0),
            Made::Owned(from) => self.copy_words(from, to, 0),
        }
    }

    /// Leaves with a complaint if a value that an object of the runtime will keep, which is packed at byte `at` of an
    /// area, is a `DLTensor*`: its memory is lent for the call.
    pub(super) fn require_object(
        &mut self,
        plain: &Plain<'_>,
        (area, at): (Value, i32),
        complaint: Complaint,
    ) {
        let Plain::Value(value) = plain else { return };
        let value = &self.function.values[*value];
        if possible(value.ty).meets(Accepted::of(&[TypeIndex::DL_TENSOR_PTR])) {
            let fail = self.failing(|_| Message::of(complaint, &value.path));
            let index = self.b.load(Type::I32, area, at + any::TYPE_INDEX.offset);
            let is_object =
                self.b.compare_const(Cond::Ne, index, TypeIndex::DL_TENSOR_PTR.0.into());
            self.b.guard(is_object, fail);
        }
    }

    /// Copies the type index and the payload of a value.
    pub(super) fn copy_words(&mut self, from: Value, to: Value, at: i32) {
        for field in [any::TYPE_INDEX, any::PAYLOAD] {
            let word = self.b.load(Type::I64, from, field.offset);
            self.b.store(word, to, at + field.offset);
        }
    }

    /// Makes the object of a value if it needs one: an array, a shape, or text that only an object can hold.
    fn make<'p, 'a>(&mut self, packed: &'p Packed<'a>) -> Made<'p, 'a> {
        match packed {
            Packed::Array(all) => {
                let slot = self.own_none();
                let owned = self.frame.owned();
                let values = self.pack_all(all);
                for (index, entry) in all.iter().enumerate() {
                    if let Packed::Plain(plain) = entry {
                        let at = index as i32 * ANY.size as i32;
                        self.require_object(plain, (values, at), Complaint::Unkept);
                    }
                }
                self.make_with(Routine::MakeArray, values, all.len(), slot);
                self.release_beyond(owned);
                self.keep_owned(owned);
                Made::Owned(slot)
            }
            Packed::Function(index) => Made::Owned(self.make_closure(*index)),
            Packed::Shape(numbers) => {
                let slot = self.own_none();
                let area = self.area(numbers.len());
                for (index, number) in numbers.iter().enumerate() {
                    self.pack_term(number, area, index as i32 * ANY.size as i32);
                }
                self.make_with(Routine::MakeShape, area, numbers.len(), slot);
                Made::Owned(slot)
            }
            Packed::Plain(Plain::Text(text)) if needs_object(text) => {
                let slot = self.own_none();
                let data = constant_bytes(&mut self.b, text.as_bytes().to_vec());
                let length = self.b.i64(text.len() as i64);
                let status = self.routine_value(Routine::GiveText, &[data, length, slot]);
                self.exit_unless_zero(status, "not_made");
                Made::Owned(slot)
            }
            Packed::Plain(plain) => Made::Plain(plain),
        }
    }

    /// Emits the call of a routine that makes an object of `count` values.
    pub(super) fn make_with(&mut self, routine: Routine, values: Value, count: usize, to: Value) {
        let site = self.here();
        let count = self.b.i32(count as i32);
        let status = self.routine_value(routine, &[site, values, count, to]);
        self.exit_unless_zero(status, "not_made");
    }

    /// Writes a value to byte `at` of an area.
    pub(super) fn pack(&mut self, plain: &Plain<'_>, to: Value, at: i32) {
        match plain {
            Plain::None => {
                let zero = self.b.i64(0);
                self.store_any(TypeIndex::NONE, zero, to, at);
            }
            Plain::Term(term) => self.pack_term(term, to, at),
            Plain::Text(text) => write_text(&mut self.b, text, to, at),
            Plain::Value(value) => self.pack_value(*value, to, at),
            Plain::Output(output) => {
                let object = self.output_object(*output);
                self.store_any(TypeIndex::TENSOR, object, to, at);
            }
        }
    }

    /// Stores a type index and a payload at byte `at` of an area.
    fn store_any(&mut self, index: TypeIndex, payload: Value, to: Value, at: i32) {
        let to = if at == 0 { to } else { self.b.ptr_offset(to, at.into()) };
        write_any(&mut self.b, to, index, payload);
    }

    /// Writes the value of a term.
    fn pack_term(&mut self, term: &Term, to: Value, at: i32) {
        let value = self.term(term);
        let index = match term.kind {
            Kind::Unsigned | Kind::Int => TypeIndex::INT,
            Kind::Bool => TypeIndex::BOOL,
            Kind::Float => TypeIndex::FLOAT,
            Kind::Ptr => TypeIndex::OPAQUE_PTR,
            Kind::DType => TypeIndex::DATA_TYPE,
            Kind::Device => TypeIndex::DEVICE,
            Kind::Text | Kind::Several => unreachable!("these are no terms of their own"),
        };
        self.store_any(index, value, to, at);
    }

    /// Writes a declared value. A scalar gets the type index of its kind; an rvalue reference becomes the object that
    /// it refers to.
    pub(crate) fn pack_value(&mut self, value: ValueId, to: Value, at: i32) {
        let ty = self.function.values[value].ty;
        let index = match (self.values[value].clone(), ty) {
            (ValueState::Scalar(_), ty) => {
                let scalar = ty.scalar().unwrap_or(Scalar::Int64);
                return self.pack_scalar(value, scalar, to, at);
            }
            (ValueState::Word(word), ParamType::Leaf(leaf)) => {
                return match leaf.word_index() {
                    Some(index) => self.store_there(value, index, word, to, at),
                    None => self.pack_copy(value, to, at),
                };
            }
            (
                ValueState::Word(found),
                ParamType::Object(_) | ParamType::Sequence(..) | ParamType::Mapping(..),
            ) => {
                let readable = self.readable(value, found, OBJECT.size as usize);
                (self.b.load(Type::I32, readable, object::TYPE_INDEX.offset), found)
            }
            (ValueState::Tensor(_), _) => self.words(value, Type::I64),
            (
                ValueState::Word(_)
                | ValueState::Span(_)
                | ValueState::Tuple(_)
                | ValueState::Pending,
                _,
            ) => return self.pack_copy(value, to, at),
        };
        let (index, payload) = index;
        let head = self.b.convert(Convert::Zext, index, Type::I64);
        self.store_words(value, AnyWords { head, payload }, to, at);
    }

    /// Copies a value as the caller passed it, with its padding cleared.
    fn pack_copy(&mut self, value: ValueId, to: Value, at: i32) {
        let from = self.any_address(value);
        let to = if at == 0 { to } else { self.b.ptr_offset(to, at.into()) };
        self.routine(Routine::CopyAny, &[from, to]);
    }

    /// Stores the two words of a value, or None if the value is an absent optional.
    fn store_words(&mut self, value: ValueId, words: AnyWords, to: Value, at: i32) {
        for (word, field) in [(words.head, any::TYPE_INDEX), (words.payload, any::PAYLOAD)] {
            let word = self.or_zero(value, word);
            self.b.store(word, to, at + field.offset);
        }
    }

    /// Stores a payload with a type index, or None if the value is an absent optional.
    fn store_there(&mut self, value: ValueId, index: TypeIndex, word: Value, to: Value, at: i32) {
        let head = self.b.i64(index.0.into());
        self.store_words(value, AnyWords { head, payload: word }, to, at);
    }

    /// Writes a declared scalar.
    fn pack_scalar(&mut self, value: ValueId, scalar: Scalar, to: Value, at: i32) {
        let wide = self.wide(value);
        // The only integer type of the FFI is `int64`.
        if scalar == Scalar::Uint64 {
            let path = &self.function.values[value].path;
            let fail =
                self.failing(|_| Message::of(Complaint::WideArgument, path).with_values(&[wide]));
            let fits = self.b.compare_const(Cond::Sge, wide, 0);
            self.b.guard(fits, fail);
        }
        self.store_there(value, result_index(scalar), wide, to, at);
    }
}
