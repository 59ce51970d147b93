//! The tables of what a descriptor is made of; encoder, decoder, printer and routines come from them.
//!
//! A descriptor is a [`Header`], the steps up to [`Op::End`], what the result must be, texts, and the sites
//! that were added later. Each step and each operation of an expression is its code and its record, and
//! what varies in length after it: see [`Tail`].

mod coded;
mod operations;
mod records;
mod steps;

pub(crate) use coded::{Coded, Tail};
pub(crate) use operations::{Rpn, operation};
pub(crate) use records::*;
pub(crate) use steps::{Op, step};

use crate::lower::cuda::Loader;

/// Codes of which a set is kept.
pub(crate) trait Code: Copy {
    /// Which set.
    const SET: usize;
    /// The number of its bit, and what stands in a descriptor.
    fn number(self) -> u32;
}

/// Says which enums are [`Code`]s, and which sets are theirs.
macro_rules! sets {
    ($($name:ident $set:literal),*) => {
        $(impl Code for $name {
            const SET: usize = $set;

            fn number(self) -> u32 {
                self as u32
            }
        })*
    };
}

sets! { Op 0, Rpn 1, LeafKind 2, RuleCode 3, Suffix 4, Class 5, Feature 6 }

/// What routines do besides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Feature {
    /// Something is launched.
    Launch,
    /// The platform opens libraries as Windows does.
    Windows,
}

/// The codes that some descriptors use: a module's own copy of the routines knows no others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Used([u128; 7]);

impl Used {
    /// All of them, with this loader.
    pub(crate) fn all(loader: Loader) -> Used {
        let mut all = Used([!0; 7]);
        all.0[Feature::SET] = 0;
        all.mark(Feature::Launch);
        all.load(loader);
        all
    }

    /// How libraries are opened.
    pub(crate) fn load(&mut self, loader: Loader) {
        match loader {
            Loader::Dl => {}
            Loader::Windows => self.mark(Feature::Windows),
        }
    }

    pub(crate) fn mark<C: Code>(&mut self, code: C) {
        self.0[C::SET] |= 1 << code.number();
    }

    pub(crate) fn unmark<C: Code>(&mut self, code: C) {
        self.0[C::SET] &= !(1 << code.number());
    }

    /// True if all codes of the other are here.
    pub(crate) fn covers(&self, other: &Used) -> bool {
        self.0.iter().zip(other.0).all(|(own, other)| other & !own == 0)
    }

    pub(crate) fn leaf(&mut self, kind: LeafKind) {
        self.mark(kind);
    }

    pub(crate) fn has<C: Code>(&self, code: C) -> bool {
        self.0[C::SET] >> code.number() & 1 != 0
    }
}

// The codes of pieces stand between the characters of a message.
const _: () = assert!(LeafKind::ALL.len() <= super::routines::PIECES as usize);
const _: () = assert!(LeafKind::Index as u32 == crate::resolve::value::INDEX as u32);
