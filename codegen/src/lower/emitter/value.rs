//! Reads of values at their addresses, and conversions of scalars.

use abi_spec::Scalar;
use abi_spec::layout::{ANY, any, byte_array};

use crate::declaration::Shape;
use crate::ir::{Pointee, Type, Value};
use crate::lower::emitter::Emitter;
use crate::lower::emitter::known::before_use;
use crate::lower::emitter::state::{ScalarState, ValueState};
use crate::lower::value::Span;
use crate::resolve::ids::ValueId;
use crate::resolve::value::Source;

/// Returns the byte offset of captured value number `index` from the first element of the array that a closure holds.
/// The first element is what keeps the code loaded.
pub(crate) fn element(index: usize) -> i32 {
    (1 + index as i32) * ANY.size as i32
}

impl Emitter<'_, '_> {
    /// Returns the address of a value, as a base and an offset in bytes. The context is at the address in the handle
    /// argument.
    pub(crate) fn address_of(&mut self, value: ValueId) -> (Value, i32) {
        match self.function.values[value].source {
            Source::Context => (self.b.param(0), 0),
            Source::Argument(index) | Source::Rest(index) => match self.known.address(value) {
                Some(place) => (place, 0),
                None => (before_use(self.interface.args), index as i32 * ANY.size as i32),
            },
            Source::Element { of, index } => {
                (self.known.value(of).elements(), index as i32 * ANY.size as i32)
            }
            Source::Captured(index) => (before_use(self.held), element(index)),
            Source::Each { .. }
            | Source::Key { .. }
            | Source::Mapped { .. }
            | Source::Alternative { .. }
            | Source::LookUp(_)
            | Source::Result => (before_use(self.known.address(value)), 0),
        }
    }

    /// Returns true if every call has the value exactly once: it is an argument or part of one, and neither it nor a
    /// value that contains it is optional, in a loop or in a union.
    pub(crate) fn is_once(&self, value: ValueId) -> bool {
        let declared = &self.function.values[value];
        !declared.dynamic && declared.guard.is_none() && self.known.address(value).is_none()
    }

    /// Returns the address of the `TVMFFIAny` of a value.
    pub(crate) fn any_address(&mut self, value: ValueId) -> Value {
        let (base, offset) = self.address_of(value);
        if offset == 0 { base } else { self.b.ptr_offset(base, offset.into()) }
    }

    /// Returns the address of a value as the base of an array and an index. The base of an argument is the array of
    /// arguments, a register that all exits share; any other value is element 0 of an array at its own address.
    pub(crate) fn any_in(&mut self, value: ValueId) -> (Value, i64) {
        match self.address_of(value) {
            (base, offset) if Some(base) == self.interface.args => {
                (base, i64::from(offset) / i64::from(ANY.size))
            }
            _ => (self.any_address(value), 0),
        }
    }

    /// Loads the type index of a value, and its payload as `ty`.
    pub(crate) fn words(&mut self, value: ValueId, ty: Type) -> (Value, Value) {
        (self.type_index(value), self.payload(value, ty))
    }

    /// Loads the payload of a value as `ty`.
    pub(crate) fn payload(&mut self, value: ValueId, ty: Type) -> Value {
        let (base, offset) = self.address_of(value);
        self.b.points_to(base, Pointee::Struct(&ANY));
        let payload = self.b.load(ty, base, offset + any::PAYLOAD.offset);
        let hint = self.hint(value, "payload", None);
        self.b.hint(payload, hint)
    }

    /// Loads the type index of a value.
    pub(crate) fn type_index(&mut self, value: ValueId) -> Value {
        let (base, offset) = self.address_of(value);
        self.b.points_to(base, Pointee::Struct(&ANY));
        let index = self.b.load(Type::I32, base, offset + any::TYPE_INDEX.offset);
        let hint = self.hint(value, "type_index", None);
        self.b.hint(index, hint)
    }

    /// Returns the number of arguments, defaults included.
    pub(crate) fn num_args(&mut self) -> Value {
        let declared = self.function.declared.signature.required();
        self.interface.num_args.unwrap_or_else(|| self.b.i32(declared as i32))
    }

    /// Loads `value[dim]` of a shape of fixed rank.
    pub(crate) fn number_of(&mut self, value: ValueId, dim: usize) -> Value {
        let data = self.known.value(value).span().data;
        let shape = self.function.values[value].ty.shape();
        let rank = shape.and_then(Shape::rank).unwrap_or(dim + 1);
        let data = self.readable(value, data, 8 * rank);
        let number = self.b.load(Type::I64, data, 8 * dim as i32);
        let hint = self.hint(value, "number", Some(dim));
        self.b.hint(number, hint)
    }

    /// Loads address and count of a `TVMFFIByteArray`, or of a cell that begins like one.
    pub(crate) fn array_of_bytes(&mut self, value: ValueId, array: Value) -> Span {
        let fields = [(Type::Ptr, byte_array::DATA, "data"), (Type::I64, byte_array::SIZE, "size")];
        let [data, size] = fields.map(|(ty, field, part)| {
            let loaded = self.b.load(ty, array, field.offset);
            let hint = self.hint(value, part, None);
            self.b.hint(loaded, hint)
        });
        Span { data, size }
    }

    /// Returns a scalar widened for arithmetic: `I64`, `F64` or `Ptr`.
    pub(crate) fn wide(&mut self, value: ValueId) -> Value {
        let state = self.known.value(value).scalar();
        if let Some(wide) = state.wide {
            return wide;
        }
        let wide = self.widen(state.native, state.ty);
        if self.known.dominates_uses(value) {
            let state = ScalarState { wide: Some(wide), ..state };
            self.known.replace(value, ValueState::Scalar(state));
        }
        wide
    }

    /// Converts a value of a C type to `I64`, `F64` or `Ptr`.
    pub(crate) fn widen(&mut self, native: Value, scalar: Scalar) -> Value {
        self.b.widen(native, scalar, self.linkage)
    }

    /// Rounds an `F64` to a float type.
    pub(crate) fn round(&mut self, value: Value, scalar: Scalar) -> Value {
        self.b.round(value, scalar, self.linkage)
    }
}
