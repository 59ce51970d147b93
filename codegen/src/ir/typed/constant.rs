//! Constants, and literals that take their type from their context.

use super::{Bool, Float, Int, Integer, Ref, Single, Text};
use crate::ir::{Builder, Data, Linkage, SymbolKind, Value};

/// Expressions that become a handle of type `H`: a handle itself, an untyped literal, `null`.
#[diagnostic::on_unimplemented(
    message = "expected `{H}`, found `{Self}`",
    label = "expected `{H}`, found `{Self}`"
)]
pub trait Make<H> {
    /// Returns the handle.
    fn make(self, b: &mut Builder<'_>) -> H;
}

impl<H: super::Handle> Make<H> for H {
    fn make(self, _: &mut Builder<'_>) -> H {
        self
    }
}

/// Converts an expression to a handle of type `H`.
pub fn make<H>(b: &mut Builder<'_>, value: impl Make<H>) -> H {
    value.make(b)
}

/// Converts an expression to the type of another handle.
pub fn like<H>(b: &mut Builder<'_>, value: impl Make<H>, _: H) -> H {
    value.make(b)
}

/// An integer literal without a type. It does not compile where it is out of range.
#[derive(Clone, Copy, Debug)]
pub struct Literal<const N: i128>;

impl<T: Integer, const N: i128> Make<Int<T>> for Literal<N> {
    fn make(self, b: &mut Builder<'_>) -> Int<T> {
        const { assert!(T::MIN <= N && N <= T::MAX, "a literal out of the range of its type") };
        let width = 8 * T::TYPE.bytes();
        Int::new(b.constant(T::TYPE, N as u64 & (u64::MAX >> (64 - width))))
    }
}

/// The null address, of any type.
#[derive(Clone, Copy, Debug)]
pub struct Null;

/// The `null` of the language.
pub const NULL: Null = Null;

impl<T> Make<Ref<T>> for Null {
    fn make(self, b: &mut Builder<'_>) -> Ref<T> {
        Ref::new(b.null())
    }
}

/// Rust values that routines use as constants.
pub trait Const {
    /// The handle of the constant.
    type Handle;

    /// Emits the constant.
    fn constant(self, b: &mut Builder<'_>) -> Self::Handle;
}

/// Emits a Rust value as a constant.
pub fn constant<C: Const>(b: &mut Builder<'_>, value: C) -> C::Handle {
    value.constant(b)
}

macro_rules! integers {
    ($($ty:ident as $bits:ident)*) => {$(
        impl Const for $ty {
            type Handle = Int<$ty>;

            fn constant(self, b: &mut Builder<'_>) -> Int<$ty> {
                Int::new(b.constant(<$ty as Integer>::TYPE, (self as $bits).into()))
            }
        }
    )*};
}

integers!(i8 as u8 u8 as u8 i16 as u16 u16 as u16 i32 as u32 u32 as u32 i64 as u64 u64 as u64);

impl Const for bool {
    type Handle = Bool;

    fn constant(self, b: &mut Builder<'_>) -> Bool {
        Bool::new(b.constant(crate::ir::Type::Bool, self.into()))
    }
}

impl Const for f64 {
    type Handle = Float<f64>;

    fn constant(self, b: &mut Builder<'_>) -> Float<f64> {
        Float::new(b.f64(self))
    }
}

impl Const for &[u8] {
    type Handle = Text;

    fn constant(self, b: &mut Builder<'_>) -> Text {
        let data = b.constant_bytes(self, 1);
        Text { data: Ref::new(data), len: Int::new(b.i64(self.len() as i64)) }
    }
}

impl<const N: usize> Const for &[u8; N] {
    type Handle = Text;

    fn constant(self, b: &mut Builder<'_>) -> Text {
        self[..].constant(b)
    }
}

impl Const for &str {
    type Handle = Text;

    fn constant(self, b: &mut Builder<'_>) -> Text {
        self.as_bytes().constant(b)
    }
}

impl Builder<'_> {
    /// Emits the address of constant bytes. The constant bytes of a function share one data object.
    pub fn constant_bytes(&mut self, bytes: &[u8], align: usize) -> Value {
        let name = format!("{}.text", self.module.name(self.symbol()));
        let symbol = self.module.declare(&name, Linkage::Local, SymbolKind::Data);
        let data = &mut self.module.data;
        let at = data.iter().rposition(|data| data.symbol == symbol).unwrap_or_else(|| {
            data.push(Data::constant(symbol, Vec::new(), 8));
            data.len() - 1
        });
        let offset = place(&mut data[at].bytes, bytes, align);
        self.address_in(symbol, offset as i32)
    }
}

/// Returns the offset of bytes in a buffer; appends them if they are not there.
fn place(all: &mut Vec<u8>, bytes: &[u8], align: usize) -> usize {
    let mut known = (0..(all.len() + 1).saturating_sub(bytes.len())).step_by(align);
    known.find(|&at| all[at..].starts_with(bytes)).unwrap_or_else(|| {
        all.resize(all.len().next_multiple_of(align), 0);
        all.extend_from_slice(bytes);
        all.len() - bytes.len()
    })
}
