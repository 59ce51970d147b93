//! Scalars in their C types, and as arithmetic sees them.

use abi_spec::Scalar;

use crate::ir::{Convert, Type, Value};
use crate::lower::emitter::Emitter;
use crate::lower::emitter::state::{ScalarState, ValueState};
use crate::resolve::c_type::abi_type;
use crate::resolve::ids::ValueId;

impl Emitter<'_, '_> {
    /// A scalar parameter as arithmetic sees it: `I64`, `F64` or `Ptr`.
    pub(crate) fn wide(&mut self, value: ValueId) -> Value {
        let state = self.values[value].scalar();
        if let Some(wide) = state.wide {
            return wide;
        }
        let wide = self.widen(state.native, state.ty);
        if self.keeps(value) {
            self.values[value] = ValueState::Scalar(ScalarState { wide: Some(wide), ..state });
        }
        wide
    }

    /// A value of a C type as `I64`, `F64` or `Ptr`.
    pub(crate) fn widen(&mut self, native: Value, scalar: Scalar) -> Value {
        self.b.widen(native, scalar, self.linkage)
    }

    /// An `F64` rounded to a float type.
    pub(crate) fn round(&mut self, value: Value, scalar: Scalar) -> Value {
        self.b.round(value, scalar, self.linkage)
    }

    /// The low bits of an `I64`.
    pub(crate) fn truncate(&mut self, wide: Value, scalar: Scalar) -> Value {
        let ty = abi_type(scalar).ty;
        if ty == Type::I64 { wide } else { self.b.convert(Convert::Trunc, wide, ty) }
    }
}
