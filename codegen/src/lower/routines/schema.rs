//! Declaration of records: one declaration yields the Rust struct, its encoder and decoder, its text in dumps, and the
//! typed fields by which routines read it.
//!
//! A record is a sequence of little-endian `u32` words without padding; each field takes a fixed number of them.

use std::fmt;
use std::marker::PhantomData;

use crate::ir::typed::{Bool, Int, Member, Ref, Single};
use crate::ir::{Builder, Convert, Type, Value};

/// A type of fields or of whole records. A value takes a fixed number of words.
pub(crate) trait FieldType: Copy + fmt::Debug + PartialEq {
    /// The number of words.
    const WORDS: u32;

    /// Appends the words.
    fn encode(self, words: &mut Vec<u32>);

    /// Takes the words; `None` if there are too few, or they encode no value.
    fn decode(words: &mut WordReader<'_>) -> Option<Self>;

    /// Formats the value for dumps of host IR.
    fn show(self, text: &Texts<'_>) -> String;

    /// The handle that routines get when they read the field.
    type Handle;

    /// Emits a load of the field at `base + offset`.
    fn read(b: &mut Builder<'_>, base: Value, offset: i32) -> Self::Handle;
}

/// A field of a record by its byte offset, for routines.
#[derive(Debug)]
pub(crate) struct FieldAt<P>(i32, PhantomData<P>);

impl<P> FieldAt<P> {
    /// Creates the field at an offset.
    pub(crate) const fn at(offset: i32) -> Self {
        FieldAt(offset, PhantomData)
    }

    /// Returns the offset.
    pub(crate) const fn offset(&self) -> i32 {
        self.0
    }
}

impl<S, P: FieldType> Member<Ref<S>> for FieldAt<P> {
    type Handle = P::Handle;

    fn get(self, b: &mut Builder<'_>, owner: Ref<S>) -> P::Handle {
        let (base, offset) = owner.parts();
        P::read(b, base, offset + self.0)
    }
}

/// A cursor over words that are being decoded.
#[derive(Clone, Debug)]
pub(crate) struct WordReader<'a> {
    pub(crate) left: &'a [u32],
}

impl WordReader<'_> {
    /// Takes the next word.
    pub(crate) fn take(&mut self) -> Option<u32> {
        let (&first, rest) = self.left.split_first()?;
        self.left = rest;
        Some(first)
    }
}

/// The texts of a constant. Offsets of texts count from the start of these bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Texts<'a>(pub(crate) &'a [u8]);

/// Emits a load of a word, extended to `I64`.
fn load(b: &mut Builder<'_>, base: Value, offset: i32, widen: Convert) -> Value {
    let word = b.load(Type::I32, base, offset);
    b.convert(widen, word, Type::I64)
}

impl FieldType for u32 {
    const WORDS: u32 = 1;

    fn encode(self, words: &mut Vec<u32>) {
        words.push(self);
    }

    fn decode(words: &mut WordReader<'_>) -> Option<Self> {
        words.take()
    }

    fn show(self, _: &Texts<'_>) -> String {
        self.to_string()
    }

    type Handle = Int<u64>;

    fn read(b: &mut Builder<'_>, base: Value, offset: i32) -> Int<u64> {
        Single::new(load(b, base, offset, Convert::Zext))
    }
}

/// `None` is encoded as -1.
impl FieldType for Option<u32> {
    const WORDS: u32 = 1;

    fn encode(self, words: &mut Vec<u32>) {
        words.push(self.unwrap_or(u32::MAX));
    }

    fn decode(words: &mut WordReader<'_>) -> Option<Self> {
        let word = words.take()?;
        Some((word != u32::MAX).then_some(word))
    }

    fn show(self, text: &Texts<'_>) -> String {
        self.map_or_else(|| "none".to_owned(), |number| number.show(text))
    }

    type Handle = Int<i64>;

    fn read(b: &mut Builder<'_>, base: Value, offset: i32) -> Int<i64> {
        Single::new(load(b, base, offset, Convert::Sext))
    }
}

impl FieldType for bool {
    const WORDS: u32 = 1;

    fn encode(self, words: &mut Vec<u32>) {
        words.push(u32::from(self));
    }

    fn decode(words: &mut WordReader<'_>) -> Option<Self> {
        words.take().map(|word| word != 0)
    }

    fn show(self, _: &Texts<'_>) -> String {
        self.to_string()
    }

    type Handle = Bool;

    fn read(b: &mut Builder<'_>, base: Value, offset: i32) -> Bool {
        let word = b.load(Type::I32, base, offset);
        Single::new(b.compare_const(crate::ir::Cond::Ne, word, 0))
    }
}

impl FieldType for u64 {
    const WORDS: u32 = 2;

    fn encode(self, words: &mut Vec<u32>) {
        words.extend([self as u32, (self >> 32) as u32]);
    }

    fn decode(words: &mut WordReader<'_>) -> Option<Self> {
        Some(u64::from(words.take()?) | u64::from(words.take()?) << 32)
    }

    fn show(self, _: &Texts<'_>) -> String {
        format!("{self:#x}")
    }

    type Handle = Int<u64>;

    fn read(b: &mut Builder<'_>, base: Value, offset: i32) -> Int<u64> {
        Single::new(b.load_aligned(Type::I64, base, offset, 4))
    }
}

/// Declares a record: a struct that is a [`FieldType`] itself, so that records nest.
macro_rules! record {
    ($(#[$doc:meta])* $name:ident $(: $derive:ident)? { $($(#[$field_doc:meta])* $field:ident: $ty:ty),* $(,)? } $(show $show:path)?) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq $(, $derive)?)]
        pub(crate) struct $name {
            $($(#[$field_doc])* pub(crate) $field: $ty,)*
        }

        const _: () = {
            use $crate::ir::{Builder, Value};
            use $crate::ir::typed::{Pointee, Ref, Struct};
            use $crate::lower::routines::schema::{FieldType, Texts, WordReader};

            impl FieldType for $name {
                const WORDS: u32 = 0 $(+ <$ty as FieldType>::WORDS)*;

                fn encode(self, words: &mut Vec<u32>) {
                    let _ = &words;
                    $(self.$field.encode(words);)*
                }

                fn decode(words: &mut WordReader<'_>) -> Option<Self> {
                    let _ = &words;
                    Some($name { $($field: FieldType::decode(words)?,)* })
                }

                fn show(self, text: &Texts<'_>) -> String {
                    let _ = text;
                    $(return $show(&self, text);)?
                    #[allow(unreachable_code, reason = "unless the record is shown by itself")]
                    let fields: Vec<String> =
                        vec![$(format!(concat!(stringify!($field), " {}"), self.$field.show(text)),)*];
                    fields.join(", ")
                }

                type Handle = Ref<$name>;

                fn read(_: &mut Builder<'_>, base: Value, offset: i32) -> Ref<$name> {
                    Ref::within(base, offset)
                }
            }

            /// Mirror of the encoding. Its field offsets are the byte offsets of the encoded fields.
            #[repr(C)]
            #[allow(dead_code, reason = "only the offsets of the fields matter")]
            struct Layout {
                $($field: [u32; <$ty as FieldType>::WORDS as usize],)*
            }

            /// The fields by name, for routines.
            #[derive(Debug)]
            #[allow(dead_code, reason = "some fields are read by the decoder only")]
            pub(crate) struct Fields {
                $(pub(crate) $field: $crate::lower::routines::schema::FieldAt<$ty>,)*
            }

            impl Pointee for $name {
                const SIZE: u32 = 4 * <$name as FieldType>::WORDS;
                const ALIGN: u32 = 4;
            }

            impl Struct for $name {
                type Fields = Fields;
                const FIELDS: Fields =
                    Fields { $($field: $crate::lower::routines::schema::FieldAt::at(std::mem::offset_of!(Layout, $field) as i32),)* };
            }
        };
    };
}

/// Declares an enum that is encoded as its discriminant, in one word.
macro_rules! codes {
    ($(#[$doc:meta])* $name:ident { $($(#[$code_doc:meta])* $code:ident),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u32)]
        pub(crate) enum $name {
            $($(#[$code_doc])* $code,)*
        }

        impl $name {
            /// All variants, in order.
            #[allow(dead_code, reason = "not every code is looked for")]
            pub(crate) const ALL: &[$name] = &[$($name::$code),*];
        }

        impl $crate::lower::routines::schema::FieldType for $name {
            const WORDS: u32 = 1;

            fn encode(self, words: &mut Vec<u32>) {
                words.push(self as u32);
            }

            fn decode(words: &mut $crate::lower::routines::schema::WordReader<'_>) -> Option<Self> {
                let word = words.take()?;
                $name::ALL.iter().copied().find(|&code| code as u32 == word)
            }

            fn show(self, _: &$crate::lower::routines::schema::Texts<'_>) -> String {
                format!("{self:?}")
            }

            type Handle = $crate::ir::typed::Int<u64>;

            fn read(
                b: &mut $crate::ir::Builder<'_>,
                base: $crate::ir::Value,
                offset: i32,
            ) -> $crate::ir::typed::Int<u64> {
                <u32 as $crate::lower::routines::schema::FieldType>::read(b, base, offset)
            }
        }

        impl $crate::ir::typed::Const for $name {
            type Handle = $crate::ir::typed::Int<u64>;

            fn constant(self, b: &mut $crate::ir::Builder<'_>) -> $crate::ir::typed::Int<u64> {
                $crate::ir::typed::constant(b, self as u64)
            }
        }
    };
}

pub(crate) use {codes, record};
