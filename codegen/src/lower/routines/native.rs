//! What wrappers and stubs write alike: scalars between their C types and what a `TVMFFIAny` holds, with the help of routines.

use abi_spec::Scalar;

use crate::ir::{Builder, Convert, Linkage, Type, Value};
use crate::lower::operators::half_format;
use crate::lower::routines::Routine;

impl Builder<'_> {
    /// A value of a C type as `I64`, `F64` or `Ptr`.
    pub(crate) fn widen(&mut self, native: Value, scalar: Scalar, linkage: Linkage) -> Value {
        match scalar {
            Scalar::Int64 | Scalar::Uint64 | Scalar::Float64 | Scalar::Ptr => native,
            Scalar::Int8 | Scalar::Int16 | Scalar::Int32 => {
                self.convert(Convert::Sext, native, Type::I64)
            }
            Scalar::Bool | Scalar::Uint8 | Scalar::Uint16 | Scalar::Uint32 => {
                self.convert(Convert::Zext, native, Type::I64)
            }
            Scalar::Float32 => self.convert(Convert::Promote, native, Type::F64),
            Scalar::Float16 | Scalar::BFloat16 => {
                let bits = self.convert(Convert::Zext, native, Type::I64);
                self.half(Routine::WidenHalf, bits, scalar, linkage)
            }
        }
    }

    /// An `F64` rounded to a float type.
    pub(crate) fn round(&mut self, value: Value, scalar: Scalar, linkage: Linkage) -> Value {
        if scalar == Scalar::Float64 {
            return value;
        }
        if scalar == Scalar::Float32 {
            return self.convert(Convert::Demote, value, Type::F32);
        }
        let bits = self.convert(Convert::Bitcast, value, Type::I64);
        self.half(Routine::RoundHalf, bits, scalar, linkage)
    }

    fn half(&mut self, routine: Routine, bits: Value, scalar: Scalar, linkage: Linkage) -> Value {
        let (mantissa, bias) = half_format(scalar);
        let (mantissa, bias) = (self.i64(mantissa), self.i64(bias));
        let routine = routine.declare(self.module, linkage);
        self.call_value(routine, &[bits, mantissa, bias])
    }
}
