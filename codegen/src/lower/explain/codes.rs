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

/// The codes that some descriptors use: a module's own copy of the routines knows no others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Used {
    ops: u64,
    codes: u128,
    leaves: u32,
}

impl Used {
    /// All of them.
    pub(crate) const ALL: Used = Used { ops: !0, codes: !0, leaves: !0 };

    pub(crate) fn op(&mut self, op: Op) {
        self.ops |= 1 << op as u32;
    }

    pub(crate) fn code(&mut self, code: Rpn) {
        self.codes |= 1 << code as u32;
    }

    pub(crate) fn leaf(&mut self, kind: LeafKind) {
        self.leaves |= 1 << kind as u32;
    }

    pub(crate) fn has_op(&self, op: Op) -> bool {
        self.ops >> op as u32 & 1 != 0
    }

    pub(crate) fn has_code(&self, code: Rpn) -> bool {
        self.codes >> code as u32 & 1 != 0
    }

    pub(crate) fn has_leaf(&self, kind: LeafKind) -> bool {
        self.leaves >> kind as u32 & 1 != 0
    }
}

// The codes of pieces stand between the characters of a message.
const _: () = assert!(LeafKind::ALL.len() <= 32);
const _: () = assert!(LeafKind::Index as u32 == crate::resolve::value::INDEX as u32);
