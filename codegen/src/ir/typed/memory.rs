//! Memory: addresses, structs with their fields, arrays, and stack slots.

use std::fmt;
use std::marker::PhantomData;

use super::{Float, Handle, Int, Integer, Literal, Make, Single};
use crate::ir::{Binary, Builder, Type, Value};

/// The address of a `T`, or of the first of several; it may be NULL. Its constant offset stays apart from the value, so
/// that loads and stores encode it.
pub struct Ref<T> {
    base: Value,
    offset: i32,
    pointee: PhantomData<T>,
}

impl<T> Clone for Ref<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Ref<T> {}

impl<T> fmt::Debug for Ref<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "&{}({} + {})", std::any::type_name::<T>(), self.base, self.offset)
    }
}

impl<T> Single for Ref<T> {
    const TYPE: Type = Type::Ptr;

    fn new(value: Value) -> Self {
        Ref { base: value, offset: 0, pointee: PhantomData }
    }

    fn value(self, b: &mut Builder<'_>) -> Value {
        if self.offset == 0 { self.base } else { b.ptr_offset(self.base, self.offset.into()) }
    }
}

impl<T> Ref<T> {
    /// Returns the address at a constant offset from a value.
    pub fn within(base: Value, offset: i32) -> Self {
        Ref { base, offset, pointee: PhantomData }
    }

    /// Returns the value and the constant offset.
    pub fn parts(self) -> (Value, i32) {
        (self.base, self.offset)
    }

    /// Returns the address some bytes further.
    fn further<U>(self, bytes: i32) -> Ref<U> {
        Ref { base: self.base, offset: self.offset + bytes, pointee: PhantomData }
    }
}

/// Types in memory.
pub trait Pointee {
    /// The size in bytes.
    const SIZE: u32;
    /// The alignment in bytes, a power of two.
    const ALIGN: u32;
}

/// Types in memory that are one value.
pub trait Stored: Pointee {
    /// The handle of the value.
    type Handle: Single;
}

/// Structs in memory.
pub trait Struct: Pointee {
    /// The struct of fields: a [`Field`], [`Unaligned`] or [`Nested`] for each, by name.
    type Fields;

    /// The fields.
    const FIELDS: Self::Fields;
}

impl<T: Struct> Ref<T> {
    /// Returns the fields of the struct at this address.
    pub fn fields(self) -> T::Fields {
        T::FIELDS
    }
}

macro_rules! stored {
    ($($ty:ty as $handle:ty;)*) => {$(
        impl Pointee for $ty {
            const SIZE: u32 = size_of::<$ty>() as u32;
            const ALIGN: u32 = Self::SIZE;
        }

        impl Stored for $ty {
            type Handle = $handle;
        }
    )*};
}

stored! {
    i8 as Int<i8>;
    u8 as Int<u8>;
    i16 as Int<i16>;
    u16 as Int<u16>;
    i32 as Int<i32>;
    u32 as Int<u32>;
    i64 as Int<i64>;
    u64 as Int<u64>;
    f32 as Float<f32>;
    f64 as Float<f64>;
}

impl<T> Pointee for Ref<T> {
    const SIZE: u32 = 8;
    const ALIGN: u32 = 8;
}

impl<T> Stored for Ref<T> {
    type Handle = Ref<T>;
}

/// A field that is one value, at its natural alignment.
#[derive(Debug)]
pub struct Field<T> {
    offset: i32,
    ty: PhantomData<T>,
}

impl<T: Stored> Field<T> {
    /// Returns the field at a byte offset.
    pub const fn at(offset: i32) -> Self {
        Field { offset, ty: PhantomData }
    }
}

/// A field that is one value, at any alignment.
#[derive(Debug)]
pub struct Unaligned<T> {
    offset: i32,
    ty: PhantomData<T>,
}

impl<T: Stored> Unaligned<T> {
    /// Returns the field at a byte offset.
    pub const fn at(offset: i32) -> Self {
        Unaligned { offset, ty: PhantomData }
    }
}

/// A field that is a struct or an array; reading it yields its address.
#[derive(Debug)]
pub struct Nested<T> {
    offset: i32,
    ty: PhantomData<T>,
}

impl<T> Nested<T> {
    /// Returns the field at a byte offset.
    pub const fn at(offset: i32) -> Self {
        Nested { offset, ty: PhantomData }
    }
}

/// Members that `owner.name` reads.
pub trait Member<Owner> {
    /// The handle of the member.
    type Handle;

    /// Reads the member.
    fn get(self, b: &mut Builder<'_>, owner: Owner) -> Self::Handle;
}

impl<S, T: Stored> Member<Ref<S>> for Field<T> {
    type Handle = T::Handle;

    fn get(self, b: &mut Builder<'_>, owner: Ref<S>) -> T::Handle {
        T::Handle::new(b.load(T::Handle::TYPE, owner.base, owner.offset + self.offset))
    }
}

impl<S, T: Stored> Member<Ref<S>> for Unaligned<T> {
    type Handle = T::Handle;

    fn get(self, b: &mut Builder<'_>, owner: Ref<S>) -> T::Handle {
        let offset = owner.offset + self.offset;
        T::Handle::new(b.load_aligned(T::Handle::TYPE, owner.base, offset, 1))
    }
}

impl<S, T> Member<Ref<S>> for Nested<T> {
    type Handle = Ref<T>;

    fn get(self, _: &mut Builder<'_>, owner: Ref<S>) -> Ref<T> {
        owner.further(self.offset)
    }
}

impl<Owner, H: Handle> Member<Owner> for H {
    type Handle = H;

    fn get(self, _: &mut Builder<'_>, _: Owner) -> H {
        self
    }
}

/// Emits `owner.name`.
pub fn get<Owner, M: Member<Owner>>(b: &mut Builder<'_>, owner: Owner, member: M) -> M::Handle {
    member.get(b, owner)
}

/// Emits `owner.name = value`.
pub fn set<S, T: Stored>(
    b: &mut Builder<'_>,
    owner: Ref<S>,
    field: Field<T>,
    value: impl Make<T::Handle>,
) {
    let value = value.make(b).value(b);
    b.store(value, owner.base, owner.offset + field.offset);
}

/// Fields with an address, `&owner.name`.
pub trait Address {
    /// The type of the field.
    type Pointee;

    /// Returns the byte offset in the struct.
    fn offset(self) -> i32;
}

impl<T> Address for Field<T> {
    type Pointee = T;

    fn offset(self) -> i32 {
        self.offset
    }
}

impl<T> Address for Nested<T> {
    type Pointee = T;

    fn offset(self) -> i32 {
        self.offset
    }
}

/// Emits `&owner.name`.
pub fn address_of<S, A: Address>(_: &mut Builder<'_>, owner: Ref<S>, field: A) -> Ref<A::Pointee> {
    owner.further(field.offset())
}

/// Indices of `[]`.
pub trait Index {
    /// Emits the address of an element.
    fn at<T: Pointee>(self, b: &mut Builder<'_>, base: Ref<T>) -> Ref<T>;
}

impl<const N: i128> Index for Literal<N> {
    fn at<T: Pointee>(self, _: &mut Builder<'_>, base: Ref<T>) -> Ref<T> {
        base.further(N as i32 * T::SIZE as i32)
    }
}

impl<I: Integer> Index for Int<I>
where
    Int<I>: super::Cast<Int<u64>>,
{
    fn at<T: Pointee>(self, b: &mut Builder<'_>, base: Ref<T>) -> Ref<T> {
        let index: Int<u64> = super::cast(b, self);
        let index = index.value(b);
        let offset = match T::SIZE {
            1 => index,
            size if size.is_power_of_two() => {
                b.binary_const(Binary::Shl, index, size.trailing_zeros().into())
            }
            size => b.binary_const(Binary::Mul, index, size.into()),
        };
        Ref { base: b.ptr_add(base.base, offset), ..base }
    }
}

/// Emits `&base[index]`.
pub fn at<T: Pointee>(b: &mut Builder<'_>, base: Ref<T>, index: impl Index) -> Ref<T> {
    index.at(b, base)
}

/// Emits `*address`.
pub fn load<T: Stored>(b: &mut Builder<'_>, address: Ref<T>) -> T::Handle {
    T::Handle::new(b.load(T::Handle::TYPE, address.base, address.offset))
}

/// Emits `*address = value`.
pub fn store<T: Stored>(b: &mut Builder<'_>, address: Ref<T>, value: impl Make<T::Handle>) {
    let value = value.make(b).value(b);
    b.store(value, address.base, address.offset);
}

/// Emits `base[index]`.
pub fn load_at<T: Stored>(b: &mut Builder<'_>, base: Ref<T>, index: impl Index) -> T::Handle {
    let address = index.at(b, base);
    load(b, address)
}

/// Emits `base[index] = value`.
pub fn store_at<T: Stored>(
    b: &mut Builder<'_>,
    base: Ref<T>,
    index: impl Index,
    value: impl Make<T::Handle>,
) {
    let address = index.at(b, base);
    store(b, address, value);
}

/// Emits a stack slot of `count` uninitialised elements.
pub fn room<T: Pointee>(b: &mut Builder<'_>, count: u32) -> Ref<T> {
    Ref::new(b.stack_slot(count * T::SIZE, T::ALIGN.max(if count > 1 { 8 } else { 1 })))
}

/// Atomic operations.
impl<T: Stored> Ref<T> {
    /// Emits an atomic load with acquire ordering.
    pub fn load_atomic(self, b: &mut Builder<'_>) -> T::Handle {
        T::Handle::new(b.atomic_load(T::Handle::TYPE, self.base, self.offset))
    }

    /// Emits an atomic store with release ordering.
    pub fn store_atomic(self, b: &mut Builder<'_>, value: impl Make<T::Handle>) {
        let value = value.make(b).value(b);
        b.atomic_store(value, self.base, self.offset);
    }

    /// Emits an atomic compare-exchange; returns the old value.
    pub fn compare_exchange(
        self,
        b: &mut Builder<'_>,
        expected: impl Make<T::Handle>,
        new: impl Make<T::Handle>,
    ) -> T::Handle {
        let (expected, new) = (expected.make(b).value(b), new.make(b).value(b));
        let address = self.value(b);
        T::Handle::new(b.compare_exchange(address, expected, new))
    }
}

/// Declares structs in memory: their size, their alignment, and the type and byte offset of each field. The caller
/// keeps them equal to the C layout.
macro_rules! structs {
    ($($(#[$doc:meta])* $name:ident $fields:ident: $size:expr, $align:expr => {
        $($field:ident: $kind:ident<$ty:ty> = $at:expr,)*
    })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub(crate) enum $name {}

        #[doc = concat!("The fields of [`", stringify!($name), "`].")]
        #[derive(Debug)]

        pub(crate) struct $fields {
            $(pub(crate) $field: $crate::ir::typed::$kind<$ty>,)*
        }

        impl $crate::ir::typed::Pointee for $name {
            const SIZE: u32 = $size;
            const ALIGN: u32 = $align;
        }

        impl $crate::ir::typed::Struct for $name {
            type Fields = $fields;
            const FIELDS: $fields = $fields { $($field: $crate::ir::typed::$kind::at($at),)* };
        }
    )*};
}
pub(crate) use structs;
