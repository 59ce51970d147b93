//! Records with a code: steps, and operations of expressions.

use crate::lower::explain::schema::Part;

/// What follows a record and varies in length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tail {
    /// Their number, and that many words.
    Numbers,
    /// Their number, and that many [`Literal`]s.
    Literals,
    /// The number of words, and steps, [`Op::End`] included.
    Steps,
    /// Their number, and for each type a slot and [`Tail::Steps`].
    Alternatives,
    /// Operations in reverse Polish notation, [`Rpn::End`] included.
    Expression,
    /// A [`RuleCode`] and the expressions that it takes.
    Rule,
    /// Values that a message quotes: the number of words that follow, that of the entries, and for each a
    /// text, a [`LeafKind`] and an expression.
    Leaves,
}

/// A record with a code of its own.
pub(crate) trait Coded: Part {
    /// The enum of the codes.
    type Code;
    /// Its code.
    const CODE: Self::Code;
}

/// Declares steps, or operations: the code, its record, what it does to the number of operands,
/// tails, and what it is about.
macro_rules! coded {
    ($(#[$enum_doc:meta])* $codes:ident in $module:ident:
        $($(#[$doc:meta])* $name:ident { $($field:ident: $ty:ty),* } $effect:literal [$($tail:ident),*] $topic:ident;)*) => {
        codes! { $(#[$enum_doc])* $codes { $($(#[$doc])* $name,)* } }

        /// What follows each code.
        pub(crate) mod $module {
            use super::*;

            $(record! { $(#[$doc])* $name { $($field: $ty),* } }
            impl Coded for $name {
                type Code = $codes;
                const CODE: $codes = $codes::$name;
            })*
        }

        impl $codes {
            /// How many operands there are more after it.
            #[allow(dead_code, reason = "steps leave none")]
            pub(crate) const fn effect(self) -> i32 {
                match self { $($codes::$name => $effect,)* }
            }

            /// What it is about.
            pub(crate) const fn topic(self) -> Topic {
                match self { $($codes::$name => Topic::$topic,)* }
            }

            /// Whether its record can be decoded, and is the same once it is encoded.
            #[cfg(test)]
            pub(crate) fn round_trips(self, words: &[u32]) -> Option<bool> {
                match self {
                    $($codes::$name => $crate::lower::explain::tests::round_trips::<$module::$name>(words),)*
                }
            }

            /// The text of its record, which is decoded, and what comes after.
            pub(crate) fn take(self, words: &mut Words<'_>, text: &Texts<'_>) -> Option<(String, &'static [Tail])> {
                match self {
                    $($codes::$name => Some(($crate::lower::explain::schema::Part::show(<$module::$name as $crate::lower::explain::schema::Part>::decode(words)?, text), &[$(Tail::$tail),*])),)*
                }
            }
        }
    };
}

pub(super) use coded;
