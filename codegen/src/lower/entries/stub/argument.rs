//! Packing of C parameters as arguments of the wrapper.

use abi_spec::layout::{ANY, BYTE_ARRAY, byte_array, object};
use abi_spec::{Scalar, TypeIndex, runtime};

use super::Stub;
use crate::ir::{Binary, Cond, Convert, Type, Value};
use crate::language::{MAX_RANK, spelled};
use crate::lower::failure::records;
use crate::lower::failure::site::Failed;
use crate::lower::routines::Routine;
use crate::lower::routines::complaints::Complaint;
use crate::lower::value::{AnyWords, Span, write_any, write_none};
use crate::resolve::accepted::result_index;
use crate::resolve::c_type::abi_type;
use crate::resolve::external::{CForm, ExternalParam};

impl Stub<'_> {
    /// Packs a parameter, which consists of one or two C parameters, `given`.
    pub(super) fn argument(&mut self, param: &ExternalParam<'_>, given: &[Value]) -> AnyWords {
        let (optional, value) = (param.optional, given[0]);
        match param.given {
            CForm::Scalar(scalar) if optional => self.unless_null(value, |s| {
                let value = s.b.load(abi_type(scalar).ty, value, 0);
                s.scalar(param, scalar, value)
            }),
            CForm::Scalar(scalar) => self.scalar(param, scalar, value),
            CForm::DType => self.plain(param, given, (TypeIndex::DATA_TYPE, Type::I32)),
            CForm::Device => self.plain(param, given, (TypeIndex::DEVICE, Type::I64)),
            CForm::Str => self.text(param, Span { data: value, size: given[1] }),
            CForm::Bytes => self.bytes(param, Span { data: value, size: given[1] }),
            CForm::Shape => self.shape(param, Span { data: value, size: given[1] }),
            CForm::Tensor if optional => {
                self.unless_null(value, |s| s.words(TypeIndex::DL_TENSOR_PTR, value))
            }
            CForm::Tensor => self.words(TypeIndex::DL_TENSOR_PTR, value),
            CForm::Object => self.unless_null(value, |s| {
                let index = s.b.load(Type::I32, value, object::TYPE_INDEX.offset);
                let head = s.b.convert(Convert::Zext, index, Type::I64);
                AnyWords { head, payload: s.b.as_word(value) }
            }),
            CForm::Any => self.unless_null(value, |s| s.read(value)),
        }
    }

    /// Packs a type index and a payload.
    fn words(&mut self, index: TypeIndex, payload: Value) -> AnyWords {
        let head = self.b.i64(index.0.into());
        AnyWords { head, payload: self.b.as_word(payload) }
    }

    /// Packs `words`, or None if an address is NULL.
    fn unless_null(
        &mut self,
        address: Value,
        words: impl FnOnce(&mut Self) -> AnyWords,
    ) -> AnyWords {
        let some = self.b.compare_const(Cond::Ne, address, 0);
        self.unless_none(some, words)
    }

    /// Packs `words` if `some` holds, or else None.
    fn unless_none(&mut self, some: Value, words: impl FnOnce(&mut Self) -> AnyWords) -> AnyWords {
        let there = self.b.block("some");
        let absent = self.b.block("none");
        let next = self.b.block("next");
        let head = self.b.block_param(next, Type::I64, "index");
        let payload = self.b.block_param(next, Type::I64, "payload");
        self.b.branch(some, there, absent);
        self.b.switch_to(there);
        let words = words(self);
        self.b.jump(next, &[words.head, words.payload]);
        self.b.switch_to(absent);
        let none = self.b.i64(TypeIndex::NONE.0.into());
        self.b.jump(next, &[none, none]);
        self.b.switch_to(next);
        AnyWords { head, payload }
    }

    /// Packs a scalar, given in its C type.
    fn scalar(&mut self, param: &ExternalParam<'_>, scalar: Scalar, native: Value) -> AnyWords {
        let mut native = native;
        if scalar == Scalar::Bool {
            let truth = self.b.compare_const(Cond::Ne, native, 0);
            native = self.b.widen_bool(truth, Type::I8);
        }
        let wide = self.b.widen(native, scalar, self.raising.reporter.linkage);
        if scalar == Scalar::Uint64 {
            // An integer argument is passed as `int64`, so larger values are refused.
            let fits = self.b.compare_const(Cond::Sge, wide, 0);
            self.require(fits, Complaint::WideArgument, spelled(param.name).to_string(), &[wide]);
        }
        self.words(result_index(scalar), wide)
    }

    /// Packs an element type or a device. `of` is its type index and its type in memory. If it is optional, `given` is
    /// its address. A device that is not optional is two C parameters.
    fn plain(
        &mut self,
        param: &ExternalParam<'_>,
        given: &[Value],
        of: (TypeIndex, Type),
    ) -> AnyWords {
        let (index, ty) = of;
        if param.optional {
            return self.unless_null(given[0], |s| {
                let word = s.b.load_aligned(ty, given[0], 0, Type::I32.bytes());
                let word = if ty == Type::I32 { s.wide(word) } else { word };
                s.words(index, word)
            });
        }
        let mut word = self.wide(given[0]);
        if let Some(&high) = given.get(1) {
            let high = self.wide(high);
            let high = self.b.binary_const(Binary::Shl, high, 32);
            word = self.b.or(word, high);
        }
        self.words(index, word)
    }

    fn wide(&mut self, word: Value) -> Value {
        self.b.convert(Convert::Zext, word, Type::I64)
    }

    /// Packs text as an owned string: the text need not end with a NUL, which borrowed text must.
    ///
    /// The runtime fails only if memory runs out. Its message is then that of a C++ exception, so the stub raises
    /// another one.
    fn text(&mut self, param: &ExternalParam<'_>, span: Span) -> AnyWords {
        let there = self.is_there(param, span);
        self.unless_none(there, |s| {
            let (array, slot) = (s.byte_array(span), s.make());
            let status = s.b.runtime(&runtime::STRING_FROM_BYTE_ARRAY, &[array, slot]);
            let failed = s.b.compare_const(Cond::Ne, status, 0);
            let next = s.b.enter_cold_if(failed, "failed");
            write_none(&mut s.b, slot);
            let subject = spelled(param.name).to_string();
            s.fail(&Failed::of(Complaint::NoMemory, &subject), &[span.size]);
            s.b.switch_to(next);
            s.read(slot)
        })
    }

    /// Packs bytes as a borrowed `TVMFFIByteArray`.
    fn bytes(&mut self, param: &ExternalParam<'_>, span: Span) -> AnyWords {
        let there = self.is_there(param, span);
        self.unless_none(there, |s| {
            let array = s.byte_array(span);
            s.words(TypeIndex::BYTE_ARRAY_PTR, array)
        })
    }

    /// Packs numbers as an owned shape.
    fn shape(&mut self, param: &ExternalParam<'_>, span: Span) -> AnyWords {
        let there = self.is_there(param, span);
        let Span { data: numbers, size } = span;
        let most = self.b.i64(MAX_RANK as i64);
        let fits = self.b.compare(Cond::Sle, size, most);
        self.require(
            fits,
            Complaint::LargeSize,
            format!("{}.size", spelled(param.name)),
            &[most, size],
        );
        self.unless_none(there, |s| {
            let (area, slot) = (s.slots(MAX_RANK as u32), s.make());
            let zero = s.b.i64(0);
            s.b.loop_with(
                [zero],
                |b, [at]| b.compare(Cond::Slt, at, size),
                |b, [at]| {
                    let from = b.binary_const(Binary::Shl, at, 3);
                    let from = b.ptr_add(numbers, from);
                    let number = b.load(Type::I64, from, 0);
                    let to = b.binary_const(Binary::Mul, at, ANY.size.into());
                    let to = b.ptr_add(area, to);
                    write_any(b, to, TypeIndex::INT, number);
                    [b.binary_const(Binary::Add, at, 1)]
                },
            );
            write_none(&mut s.b, slot);
            let count = s.b.convert(Convert::Trunc, size, Type::I32);
            let site = records::address(&mut s.b, s.raising.reporter.record);
            let args = [site, area, count, slot];
            let status = s.raising.call_value(&mut s.b, Routine::MakeShape, &args);
            s.go_on(status);
            s.read(slot)
        })
    }

    /// Requires that a size is not negative. Returns a `Bool`: true if the parameter is not None. NULL means None, or
    /// an empty value if the size is 0 and the parameter is not optional.
    fn is_there(&mut self, param: &ExternalParam<'_>, Span { data, size }: Span) -> Value {
        let fits = self.b.compare_const(Cond::Sge, size, 0);
        self.require(
            fits,
            Complaint::NegativeSize,
            format!("{}.size", spelled(param.name)),
            &[size],
        );
        let some = self.b.compare_const(Cond::Ne, data, 0);
        if param.optional {
            return some;
        }
        let empty = self.b.compare_const(Cond::Eq, size, 0);
        self.b.or(some, empty)
    }

    /// Returns the address of a new `TVMFFIByteArray`.
    fn byte_array(&mut self, Span { data, size }: Span) -> Value {
        let array = self.b.stack_slot(BYTE_ARRAY.size, BYTE_ARRAY.align);
        self.b.store(data, array, byte_array::DATA.offset);
        self.b.store(size, array, byte_array::SIZE.offset);
        array
    }

    /// Returns the address of the next free slot.
    fn make(&mut self) -> Value {
        let at = self.used * ANY.size;
        self.used += 1;
        self.b.ptr_offset(self.made, at.into())
    }
}
