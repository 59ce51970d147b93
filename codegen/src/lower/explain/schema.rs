//! How records of a descriptor are laid out: from one declaration of a record come its Rust form, its encoder
//! and decoder, its text, and the named fields by which routines read it.
//!
//! All is little-endian `u32` words, one or several to a [`Part`]; nothing is padded.

use std::fmt;
use std::marker::PhantomData;

use crate::ir::typed::{Bool, Int, Member, Ref, Single};
use crate::ir::{Builder, Convert, Type, Value};

/// What a field may hold: a number of words that does not vary.
pub(crate) trait Part: Copy + fmt::Debug + PartialEq {
    /// How many words it takes.
    const WORDS: u32;

    /// What a routine gets that reads it.
    type Read;

    /// Appends its words.
    fn encode(self, words: &mut Vec<u32>);

    /// Takes its words; `None` if they are missing, or mean nothing.
    fn decode(words: &mut Words<'_>) -> Option<Self>;

    /// How a descriptor prints it.
    fn show(self, text: &Texts<'_>) -> String;

    /// Emits what reads it at `base + offset`.
    fn read(b: &mut Builder<'_>, base: Value, offset: i32) -> Self::Read;

    /// What functions of the language get that read it.
    type Handle;

    /// The handle of what was read.
    fn handle(read: Self::Read) -> Self::Handle;
}

/// A field of a record for functions of the language.
#[derive(Debug)]
pub(crate) struct PartAt<P>(i32, PhantomData<P>);

impl<P> PartAt<P> {
    /// The field at an offset.
    pub(crate) const fn at(offset: i32) -> Self {
        PartAt(offset, PhantomData)
    }
}

impl<S, P: Part> Member<Ref<S>> for PartAt<P> {
    type Handle = P::Handle;

    fn get(self, b: &mut Builder<'_>, owner: Ref<S>) -> P::Handle {
        let (base, offset) = owner.parts();
        P::handle(P::read(b, base, offset + self.0))
    }
}

/// Words that are being decoded.
#[derive(Clone, Debug)]
pub(crate) struct Words<'a> {
    pub(crate) left: &'a [u32],
}

impl Words<'_> {
    /// The next word.
    pub(crate) fn take(&mut self) -> Option<u32> {
        let (&first, rest) = self.left.split_first()?;
        self.left = rest;
        Some(first)
    }
}

/// What the texts of a descriptor are: offsets are counted from its start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Texts<'a>(pub(crate) &'a [u8]);

/// The place of a record that routines read, with a method for each of its fields.
pub(crate) struct At<T> {
    pub(crate) base: Value,
    pub(crate) offset: i32,
    record: PhantomData<T>,
}

impl<T> Clone for At<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for At<T> {}

impl<T: Part> At<T> {
    /// A record at an address.
    pub(crate) fn new(base: Value) -> At<T> {
        At { base, offset: 0, record: PhantomData }
    }

    /// A record at an offset from an address.
    pub(crate) fn within(base: Value, offset: i32) -> At<T> {
        At { base, offset, record: PhantomData }
    }

    /// Its address.
    pub(crate) fn address(self, b: &mut Builder<'_>) -> Value {
        if self.offset == 0 { self.base } else { b.ptr_offset(self.base, self.offset.into()) }
    }

    /// The address of what follows it.
    pub(crate) fn end(self, b: &mut Builder<'_>) -> Value {
        b.ptr_offset(self.base, i64::from(self.offset) + i64::from(4 * T::WORDS))
    }
}

fn load(b: &mut Builder<'_>, base: Value, offset: i32, widen: Convert) -> Value {
    let word = b.load(Type::I32, base, offset);
    b.convert(widen, word, Type::I64)
}

impl Part for u32 {
    const WORDS: u32 = 1;
    type Read = Value;

    fn encode(self, words: &mut Vec<u32>) {
        words.push(self);
    }

    fn decode(words: &mut Words<'_>) -> Option<Self> {
        words.take()
    }

    fn show(self, _: &Texts<'_>) -> String {
        self.to_string()
    }

    fn read(b: &mut Builder<'_>, base: Value, offset: i32) -> Value {
        load(b, base, offset, Convert::Zext)
    }

    type Handle = Int<u64>;

    fn handle(read: Value) -> Int<u64> {
        Single::new(read)
    }
}

/// A number, or -1 for none.
impl Part for Option<u32> {
    const WORDS: u32 = 1;
    type Read = Value;

    fn encode(self, words: &mut Vec<u32>) {
        words.push(self.unwrap_or(u32::MAX));
    }

    fn decode(words: &mut Words<'_>) -> Option<Self> {
        let word = words.take()?;
        Some((word != u32::MAX).then_some(word))
    }

    fn show(self, text: &Texts<'_>) -> String {
        self.map_or_else(|| "none".to_owned(), |number| number.show(text))
    }

    fn read(b: &mut Builder<'_>, base: Value, offset: i32) -> Value {
        load(b, base, offset, Convert::Sext)
    }

    type Handle = Int<i64>;

    fn handle(read: Value) -> Int<i64> {
        Single::new(read)
    }
}

impl Part for bool {
    const WORDS: u32 = 1;
    type Read = Value;

    fn encode(self, words: &mut Vec<u32>) {
        words.push(u32::from(self));
    }

    fn decode(words: &mut Words<'_>) -> Option<Self> {
        words.take().map(|word| word != 0)
    }

    fn show(self, _: &Texts<'_>) -> String {
        self.to_string()
    }

    fn read(b: &mut Builder<'_>, base: Value, offset: i32) -> Value {
        let word = b.load(Type::I32, base, offset);
        b.compare_const(crate::ir::Cond::Ne, word, 0)
    }

    type Handle = Bool;

    fn handle(read: Value) -> Bool {
        Single::new(read)
    }
}

impl Part for u64 {
    const WORDS: u32 = 2;
    type Read = Value;

    fn encode(self, words: &mut Vec<u32>) {
        words.extend([self as u32, (self >> 32) as u32]);
    }

    fn decode(words: &mut Words<'_>) -> Option<Self> {
        Some(u64::from(words.take()?) | u64::from(words.take()?) << 32)
    }

    fn show(self, _: &Texts<'_>) -> String {
        format!("{self:#x}")
    }

    fn read(b: &mut Builder<'_>, base: Value, offset: i32) -> Value {
        b.load_aligned(Type::I64, base, offset, 4)
    }

    type Handle = Int<u64>;

    fn handle(read: Value) -> Int<u64> {
        Single::new(read)
    }
}

/// Declares records: [`Part`]s made of parts.
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
            use $crate::lower::explain::schema::{At, Part, Texts, Words};

            impl Part for $name {
                const WORDS: u32 = 0 $(+ <$ty as Part>::WORDS)*;
                type Read = At<$name>;

                fn encode(self, words: &mut Vec<u32>) {
                    let _ = &words;
                    $(self.$field.encode(words);)*
                }

                fn decode(words: &mut Words<'_>) -> Option<Self> {
                    let _ = &words;
                    Some($name { $($field: Part::decode(words)?,)* })
                }

                fn show(self, text: &Texts<'_>) -> String {
                    let _ = text;
                    $(return $show(&self, text);)?
                    #[allow(unreachable_code, reason = "unless the record is shown by itself")]
                    let fields: Vec<String> =
                        vec![$(format!(concat!(stringify!($field), " {}"), self.$field.show(text)),)*];
                    fields.join(", ")
                }

                fn read(_: &mut Builder<'_>, base: Value, offset: i32) -> At<$name> {
                    At::within(base, offset)
                }

                type Handle = Ref<$name>;

                fn handle(read: At<$name>) -> Ref<$name> {
                    Ref::within(read.base, read.offset)
                }
            }

            /// Where the fields are.
            #[repr(C)]
            #[allow(dead_code, reason = "only the places of the fields matter")]
            struct Layout {
                $($field: [u32; <$ty as Part>::WORDS as usize],)*
            }

            /// The fields, for functions of the language.
            #[derive(Debug)]
            #[allow(dead_code, reason = "what no routine reads is for the decoder")]
            pub(crate) struct Fields {
                $(pub(crate) $field: $crate::lower::explain::schema::PartAt<$ty>,)*
            }

            impl Pointee for $name {
                const SIZE: u32 = 4 * <$name as Part>::WORDS;
                const ALIGN: u32 = 4;
            }

            impl Struct for $name {
                type Fields = Fields;
                const FIELDS: Fields =
                    Fields { $($field: $crate::lower::explain::schema::PartAt::at(std::mem::offset_of!(Layout, $field) as i32),)* };
            }

            #[allow(dead_code, reason = "what no routine reads is for the decoder")]
            impl At<$name> {
                $($(#[$field_doc])*
                pub(crate) fn $field(self, b: &mut Builder<'_>) -> <$ty as Part>::Read {
                    let field = std::mem::offset_of!(Layout, $field) as i32;
                    <$ty as Part>::read(b, self.base, self.offset + field)
                })*
            }
        };
    };
}

/// Declares enums that a word holds.
macro_rules! codes {
    ($(#[$doc:meta])* $name:ident { $($(#[$code_doc:meta])* $code:ident),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u32)]
        pub(crate) enum $name {
            $($(#[$code_doc])* $code,)*
        }

        impl $name {
            /// All of them, in order.
            #[allow(dead_code, reason = "not every code is looked for")]
            pub(crate) const ALL: &[$name] = &[$($name::$code),*];
        }

        impl $crate::lower::explain::schema::Part for $name {
            const WORDS: u32 = 1;
            type Read = $crate::ir::Value;

            fn encode(self, words: &mut Vec<u32>) {
                words.push(self as u32);
            }

            fn decode(words: &mut $crate::lower::explain::schema::Words<'_>) -> Option<Self> {
                let word = words.take()?;
                $name::ALL.iter().copied().find(|&code| code as u32 == word)
            }

            fn show(self, _: &$crate::lower::explain::schema::Texts<'_>) -> String {
                format!("{self:?}")
            }

            fn read(
                b: &mut $crate::ir::Builder<'_>,
                base: $crate::ir::Value,
                offset: i32,
            ) -> $crate::ir::Value {
                <u32 as $crate::lower::explain::schema::Part>::read(b, base, offset)
            }

            type Handle = $crate::ir::typed::Int<u64>;

            fn handle(read: $crate::ir::Value) -> $crate::ir::typed::Int<u64> {
                $crate::ir::typed::Single::new(read)
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
