//! Entities: the indices by which host IR refers to values, blocks and symbols.

use std::fmt;

/// Declares a dense index that prints as a prefix and a number.
macro_rules! entity {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub(crate) u32);

        impl $name {
            /// Returns the position in the table that this entity indexes.
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }
    };
}

entity!(
    /// A value of one function: an index into [`Function::values`](super::Function::values).
    Value,
    "v"
);
entity!(
    /// A block of one function: an index into [`Function::blocks`](super::Function::blocks).
    Block,
    "block"
);
entity!(
    /// A symbol of the module: an index into [`Module::symbols`](super::Module::symbols).
    Symbol,
    "symbol"
);
entity!(
    /// A part of a declaration that instructions are for: an index into [`Function::topics`](super::Function::topics).
    #[derive(Default)]
    TopicId,
    "topic"
);

impl TopicId {
    /// Returns the topic at a position of [`Function::topics`](super::Function::topics).
    pub const fn new(index: u32) -> TopicId {
        TopicId(index)
    }
}
