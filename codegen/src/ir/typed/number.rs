//! Numbers: signed and unsigned integers, floats and truth values.

use std::fmt;
use std::marker::PhantomData;

use super::{Make, Ref, Single};
use crate::ir::{Binary, Builder, Cond, Convert, Type, Value};

/// A Rust integer type.
pub trait Integer: Copy + fmt::Debug + 'static {
    /// The type in host IR, which has no sign.
    const TYPE: Type;
    /// True for signed integers.
    const SIGNED: bool;
    /// The least value.
    const MIN: i128;
    /// The largest value.
    const MAX: i128;
}

/// A Rust float type.
pub trait FloatType: Copy + fmt::Debug + 'static {
    /// The type in host IR.
    const TYPE: Type;
    /// The integer type of its bits.
    type Bits: Integer;
}

/// An integer.
pub struct Int<T>(Value, PhantomData<T>);

/// A float.
pub struct Float<T>(Value, PhantomData<T>);

/// The result of a comparison.
#[derive(Clone, Copy, Debug)]
pub struct Bool(Value);

macro_rules! integers {
    ($($ty:ident $ir:ident $signed:literal;)*) => {$(
        impl Integer for $ty {
            const TYPE: Type = Type::$ir;
            const SIGNED: bool = $signed;
            const MIN: i128 = $ty::MIN as i128;
            const MAX: i128 = $ty::MAX as i128;
        }
    )*};
}

integers! {
    i8 I8 true;
    u8 I8 false;
    i16 I16 true;
    u16 I16 false;
    i32 I32 true;
    u32 I32 false;
    i64 I64 true;
    u64 I64 false;
}

impl FloatType for f32 {
    const TYPE: Type = Type::F32;
    type Bits = u32;
}

impl FloatType for f64 {
    const TYPE: Type = Type::F64;
    type Bits = u64;
}

/// Implements the traits of generic handles; `derive` would require them of `T`.
macro_rules! handle_of {
    ($($name:ident)*) => {$(
        impl<T> Clone for $name<T> {
            fn clone(&self) -> Self {
                *self
            }
        }

        impl<T> Copy for $name<T> {}

        impl<T> fmt::Debug for $name<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({})", std::any::type_name::<T>(), self.0)
            }
        }
    )*};
}

handle_of!(Int Float);

impl<T: Integer> Single for Int<T> {
    const TYPE: Type = T::TYPE;

    fn new(value: Value) -> Self {
        Int(value, PhantomData)
    }

    fn value(self, _: &mut Builder<'_>) -> Value {
        self.0
    }
}

impl<T: FloatType> Single for Float<T> {
    const TYPE: Type = T::TYPE;

    fn new(value: Value) -> Self {
        Float(value, PhantomData)
    }

    fn value(self, _: &mut Builder<'_>) -> Value {
        self.0
    }
}

impl Single for Bool {
    const TYPE: Type = Type::Bool;

    fn new(value: Value) -> Self {
        Bool(value)
    }

    fn value(self, _: &mut Builder<'_>) -> Value {
        self.0
    }
}

impl<T: FloatType> Float<T> {
    /// Emits the bits of the float.
    pub fn to_bits(self, b: &mut Builder<'_>) -> Int<T::Bits> {
        Int::new(b.convert(Convert::Bitcast, self.0, T::Bits::TYPE))
    }
}

impl Int<u64> {
    /// Emits the `f64` of these bits.
    pub fn to_f64(self, b: &mut Builder<'_>) -> Float<f64> {
        Float::new(b.convert(Convert::Bitcast, self.0, Type::F64))
    }
}

/// Handles with addition, subtraction, multiplication and division.
pub trait Arithmetic: Single {
    /// `+`
    const ADD: Binary;
    /// `-`
    const SUB: Binary;
    /// `*`
    const MUL: Binary;
    /// `/`
    const DIV: Binary;
}

/// Handles with a remainder.
pub trait Remainder: Single {
    /// `%`
    const REM: Binary;
}

/// Handles with bitwise operations.
pub trait Bits: Single {}

impl<T: Integer> Arithmetic for Int<T> {
    const ADD: Binary = Binary::Add;
    const SUB: Binary = Binary::Sub;
    const MUL: Binary = Binary::Mul;
    const DIV: Binary = if T::SIGNED { Binary::Sdiv } else { Binary::Udiv };
}

impl<T: FloatType> Arithmetic for Float<T> {
    const ADD: Binary = Binary::Fadd;
    const SUB: Binary = Binary::Fsub;
    const MUL: Binary = Binary::Fmul;
    const DIV: Binary = Binary::Fdiv;
}

impl<T: Integer> Remainder for Int<T> {
    const REM: Binary = if T::SIGNED { Binary::Srem } else { Binary::Urem };
}

impl<T: Integer> Bits for Int<T> {}
impl Bits for Bool {}

fn binary<L: Single>(b: &mut Builder<'_>, op: Binary, lhs: L, rhs: impl Make<L>) -> L {
    let rhs = rhs.make(b);
    let (lhs, rhs) = (lhs.value(b), rhs.value(b));
    L::new(b.binary(op, lhs, rhs))
}

/// Defines a function for each operator: its bound, and its instruction.
macro_rules! operators {
    ($($(#[$doc:meta])* $name:ident: $bound:ident, $op:expr;)*) => {$(
        $(#[$doc])*
        pub fn $name<L: $bound>(b: &mut Builder<'_>, lhs: L, rhs: impl Make<L>) -> L {
            binary(b, $op, lhs, rhs)
        }
    )*};
}

operators! {
    /// Emits `lhs + rhs`, wrapping.
    add: Arithmetic, L::ADD;
    /// Emits `lhs - rhs`, wrapping.
    sub: Arithmetic, L::SUB;
    /// Emits `lhs * rhs`, wrapping.
    mul: Arithmetic, L::MUL;
    /// Emits `lhs / rhs`; undefined where the instruction is.
    div: Arithmetic, L::DIV;
    /// Emits `lhs % rhs`; undefined where the instruction is.
    rem: Remainder, L::REM;
    /// Emits `lhs & rhs`.
    bit_and: Bits, Binary::And;
    /// Emits `lhs | rhs`.
    bit_or: Bits, Binary::Or;
    /// Emits `lhs ^ rhs`.
    bit_xor: Bits, Binary::Xor;
}

/// Emits `lhs << rhs`; `rhs` must be below the width.
pub fn shl<T: Integer>(b: &mut Builder<'_>, lhs: Int<T>, rhs: impl Make<Int<T>>) -> Int<T> {
    binary(b, Binary::Shl, lhs, rhs)
}

/// Emits `lhs >> rhs`, arithmetic for signed integers; `rhs` must be below the width.
pub fn shr<T: Integer>(b: &mut Builder<'_>, lhs: Int<T>, rhs: impl Make<Int<T>>) -> Int<T> {
    binary(b, if T::SIGNED { Binary::Ashr } else { Binary::Lshr }, lhs, rhs)
}

/// Handles with `!`.
pub trait Not: Single {
    /// The operand of the exclusive or.
    const ONES: i64;
}

impl Not for Bool {
    const ONES: i64 = 1;
}

impl<T: Integer> Not for Int<T> {
    const ONES: i64 = -1;
}

/// Emits `!value`.
pub fn not<H: Not>(b: &mut Builder<'_>, value: H) -> H {
    let value = value.value(b);
    H::new(b.binary_const(Binary::Xor, value, H::ONES))
}

/// Signed integers, which have `-`.
pub trait Negate: Integer {}
impl Negate for i8 {}
impl Negate for i16 {}
impl Negate for i32 {}
impl Negate for i64 {}

/// Emits `-value`, wrapping.
pub fn neg<T: Negate>(b: &mut Builder<'_>, value: Int<T>) -> Int<T> {
    let zero = b.constant(T::TYPE, 0);
    Int::new(b.binary(Binary::Sub, zero, value.0))
}

/// The conditions of a type that has an order.
#[derive(Clone, Copy, Debug)]
pub struct Conds {
    /// `==`
    pub eq: Cond,
    /// `!=`
    pub ne: Cond,
    /// `<`
    pub lt: Cond,
    /// `<=`
    pub le: Cond,
    /// `>`
    pub gt: Cond,
    /// `>=`
    pub ge: Cond,
}

/// Handles of values that can be compared.
pub trait Compare: Single {
    /// The condition of each operator.
    const CONDS: Conds;
}

const UNSIGNED: Conds = Conds {
    eq: Cond::Eq,
    ne: Cond::Ne,
    lt: Cond::Ult,
    le: Cond::Ule,
    gt: Cond::Ugt,
    ge: Cond::Uge,
};
const SIGNED: Conds =
    Conds { lt: Cond::Slt, le: Cond::Sle, gt: Cond::Sgt, ge: Cond::Sge, ..UNSIGNED };
const FLOAT: Conds = Conds {
    eq: Cond::Feq,
    ne: Cond::Fne,
    lt: Cond::Flt,
    le: Cond::Fle,
    gt: Cond::Fgt,
    ge: Cond::Fge,
};

impl<T: Integer> Compare for Int<T> {
    const CONDS: Conds = if T::SIGNED { SIGNED } else { UNSIGNED };
}

impl<T> Compare for Ref<T> {
    const CONDS: Conds = UNSIGNED;
}

impl<T: FloatType> Compare for Float<T> {
    const CONDS: Conds = FLOAT;
}

macro_rules! comparisons {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        pub fn $name<L: Compare>(b: &mut Builder<'_>, lhs: L, rhs: impl Make<L>) -> Bool {
            let rhs = rhs.make(b);
            let (lhs, rhs) = (lhs.value(b), rhs.value(b));
            Bool(b.compare(L::CONDS.$name, lhs, rhs))
        }
    )*};
}

comparisons! {
    /// Emits `lhs == rhs`.
    eq;
    /// Emits `lhs != rhs`.
    ne;
    /// Emits `lhs < rhs`.
    lt;
    /// Emits `lhs <= rhs`.
    le;
    /// Emits `lhs > rhs`.
    gt;
    /// Emits `lhs >= rhs`.
    ge;
}

/// Handles that `as` converts to `To`.
#[diagnostic::on_unimplemented(message = "`as` does not convert `{Self}` to `{To}`")]
pub trait Cast<To> {
    /// Converts the handle.
    fn cast(self, b: &mut Builder<'_>) -> To;
}

/// Emits `value as To`.
pub fn cast<To, From: Cast<To>>(b: &mut Builder<'_>, value: From) -> To {
    value.cast(b)
}

impl<A: Integer, B: Integer> Cast<Int<B>> for Int<A> {
    fn cast(self, b: &mut Builder<'_>) -> Int<B> {
        let op = match (A::TYPE.bytes(), B::TYPE.bytes()) {
            (from, to) if from == to => return Int::new(self.0),
            (from, to) if from > to => Convert::Trunc,
            _ if A::SIGNED => Convert::Sext,
            _ => Convert::Zext,
        };
        Int::new(b.convert(op, self.0, B::TYPE))
    }
}

impl<B: Integer> Cast<Int<B>> for Bool {
    fn cast(self, b: &mut Builder<'_>) -> Int<B> {
        Int::new(b.widen_bool(self.0, B::TYPE))
    }
}

impl<A: Integer, B: FloatType> Cast<Float<B>> for Int<A> {
    fn cast(self, b: &mut Builder<'_>) -> Float<B> {
        let op = if A::SIGNED { Convert::SintToFloat } else { Convert::UintToFloat };
        Float::new(b.convert(op, self.0, B::TYPE))
    }
}

impl Cast<Float<f32>> for Float<f64> {
    fn cast(self, b: &mut Builder<'_>) -> Float<f32> {
        Float::new(b.convert(Convert::Demote, self.0, Type::F32))
    }
}

impl Cast<Float<f64>> for Float<f32> {
    fn cast(self, b: &mut Builder<'_>) -> Float<f64> {
        Float::new(b.convert(Convert::Promote, self.0, Type::F64))
    }
}

impl<T> Cast<Int<u64>> for Ref<T> {
    fn cast(self, b: &mut Builder<'_>) -> Int<u64> {
        let address = self.value(b);
        Int::new(b.convert(Convert::PtrToInt, address, Type::I64))
    }
}

impl<T> Cast<Ref<T>> for Int<u64> {
    fn cast(self, b: &mut Builder<'_>) -> Ref<T> {
        Ref::new(b.convert(Convert::IntToPtr, self.0, Type::Ptr))
    }
}

impl<A, B> Cast<Ref<B>> for Ref<A> {
    fn cast(self, b: &mut Builder<'_>) -> Ref<B> {
        Ref::new(self.value(b))
    }
}
