//! The instruction table of host IR.
//!
//! Every instruction has at most one result. Loads and stores carry their alignment in bytes, so
//! that no backend depends on the data layout of the module it emits into. Nothing here traps or has
//! undefined behaviour except what is written down with the instruction.

use super::entity::{Block, Symbol, Value};
use super::operator::{Binary, Cond, Convert};
use super::signature::{Signature, Type};

/// An instruction.
#[derive(Clone, Debug, PartialEq)]
pub enum Inst {
    /// A constant. Integers and pointers by value (truncated to the type), floats by their bits
    /// (`F32` in the low 32), `Bool` as 0 or 1.
    Const {
        /// Type of the result.
        ty: Type,
        /// The bits.
        bits: u64,
    },
    /// The address of a function, or of a byte of a data object.
    Address {
        /// Whose address.
        symbol: Symbol,
        /// In bytes; 0 for a function.
        offset: i32,
    },
    /// The address of `size` fresh, uninitialised bytes in the frame. One per execution of the
    /// function; must stand in the entry block.
    StackSlot {
        /// Size in bytes.
        size: u32,
        /// Alignment in bytes, a power of two, at most 16.
        align: u32,
    },
    /// Reads `ty` at `base + offset`.
    Load {
        /// Type of the result; not `Bool`.
        ty: Type,
        /// A `Ptr`.
        base: Value,
        /// In bytes.
        offset: i32,
        /// Of `base + offset`, in bytes.
        align: u32,
    },
    /// Writes `value` at `base + offset`. No result.
    Store {
        /// What; not `Bool`.
        value: Value,
        /// A `Ptr`.
        base: Value,
        /// In bytes.
        offset: i32,
        /// Of `base + offset`, in bytes.
        align: u32,
    },
    /// Reads `ty` at `base + offset` in one piece. What was written before the [`Inst::AtomicStore`] or
    /// [`Inst::CompareExchange`] whose value this reads is seen by whatever follows (acquire).
    AtomicLoad {
        /// Type of the result: `I32`, `I64` or `Ptr`.
        ty: Type,
        /// A `Ptr`; `base + offset` is aligned to the size of the type.
        base: Value,
        /// In bytes.
        offset: i32,
    },
    /// Writes `value` at `base + offset` in one piece, after all that precedes it (release). No result.
    AtomicStore {
        /// What: an `I32`, `I64` or `Ptr`.
        value: Value,
        /// A `Ptr`; `base + offset` is aligned to the size of the type.
        base: Value,
        /// In bytes.
        offset: i32,
    },
    /// Writes `new` at `base` if `expected` is there, in one piece; the result is what was there. Orders
    /// as an atomic load and an atomic store together, or as an atomic load if it writes nothing.
    CompareExchange {
        /// A `Ptr`, aligned to the size of the type.
        base: Value,
        /// What is replaced: an `I32`, `I64` or `Ptr`.
        expected: Value,
        /// What replaces it; of the same type.
        new: Value,
    },
    /// `base + offset`, wrapping. The result may point anywhere.
    PtrAdd {
        /// A `Ptr`.
        base: Value,
        /// An `I64`, in bytes.
        offset: Value,
    },
    /// Arithmetic on two values of one type.
    Binary {
        /// The operation.
        op: Binary,
        /// Left operand.
        lhs: Value,
        /// Right operand.
        rhs: Value,
    },
    /// Comparison of two values of one type; the result is a `Bool`.
    Compare {
        /// The condition.
        cond: Cond,
        /// Left operand.
        lhs: Value,
        /// Right operand.
        rhs: Value,
    },
    /// `cond ? then : otherwise`, without a branch.
    Select {
        /// A `Bool`.
        cond: Value,
        /// Result if true.
        then: Value,
        /// Result if false; of the same type.
        otherwise: Value,
    },
    /// Change of type.
    Convert {
        /// How.
        op: Convert,
        /// Operand.
        value: Value,
        /// Type of the result.
        to: Type,
    },
    /// Call of a known function; has a result if its signature has one.
    Call {
        /// A symbol of a function.
        callee: Symbol,
        /// As the signature says.
        args: Vec<Value>,
    },
    /// Call through a pointer.
    CallIndirect {
        /// What the pointer points at.
        signature: Box<Signature>,
        /// A `Ptr`.
        callee: Value,
        /// As the signature says.
        args: Vec<Value>,
    },
}

impl Inst {
    /// Shows every value that the instruction reads to `visit`.
    pub fn operands(&self, mut visit: impl FnMut(Value)) {
        match self {
            Inst::Const { .. } | Inst::Address { .. } | Inst::StackSlot { .. } => {}
            Inst::Load { base, .. } | Inst::AtomicLoad { base, .. } => visit(*base),
            Inst::Store { value, base, .. } | Inst::AtomicStore { value, base, .. } => {
                [*value, *base].into_iter().for_each(visit);
            }
            Inst::CompareExchange { base, expected, new } => {
                [*base, *expected, *new].into_iter().for_each(visit);
            }
            Inst::PtrAdd { base, offset } => {
                [*base, *offset].into_iter().for_each(visit);
            }
            Inst::Binary { lhs, rhs, .. } | Inst::Compare { lhs, rhs, .. } => {
                [*lhs, *rhs].into_iter().for_each(visit);
            }
            Inst::Select { cond, then, otherwise } => {
                [*cond, *then, *otherwise].into_iter().for_each(visit);
            }
            Inst::Convert { value, .. } => visit(*value),
            Inst::Call { args, .. } => args.iter().copied().for_each(visit),
            Inst::CallIndirect { callee, args, .. } => {
                visit(*callee);
                args.iter().copied().for_each(visit);
            }
        }
    }

    /// The symbol that the instruction refers to.
    pub fn symbol(&self) -> Option<Symbol> {
        match self {
            Inst::Address { symbol, .. } | Inst::Call { callee: symbol, .. } => Some(*symbol),
            Inst::Const { .. }
            | Inst::StackSlot { .. }
            | Inst::Load { .. }
            | Inst::Store { .. }
            | Inst::AtomicLoad { .. }
            | Inst::AtomicStore { .. }
            | Inst::CompareExchange { .. }
            | Inst::PtrAdd { .. }
            | Inst::Binary { .. }
            | Inst::Compare { .. }
            | Inst::Select { .. }
            | Inst::Convert { .. }
            | Inst::CallIndirect { .. } => None,
        }
    }

    /// True if nothing happens but that a result is made.
    pub(super) fn is_pure(&self) -> bool {
        matches!(
            self,
            Inst::Const { .. }
                | Inst::Address { .. }
                | Inst::StackSlot { .. }
                | Inst::PtrAdd { .. }
                | Inst::Binary { .. }
                | Inst::Compare { .. }
                | Inst::Select { .. }
                | Inst::Convert { .. }
        )
    }
}

/// Where a branch goes, with the values of the target's parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// The block.
    pub block: Block,
    /// One value for each of its parameters.
    pub args: Vec<Value>,
}

impl From<Block> for Target {
    fn from(block: Block) -> Self {
        Target { block, args: Vec::new() }
    }
}

impl From<(Block, &[Value])> for Target {
    fn from((block, args): (Block, &[Value])) -> Self {
        Target { block, args: args.to_vec() }
    }
}

impl<const N: usize> From<(Block, [Value; N])> for Target {
    fn from((block, args): (Block, [Value; N])) -> Self {
        Target { block, args: args.to_vec() }
    }
}

/// How a block ends.
#[derive(Clone, Debug, PartialEq)]
pub enum Terminator {
    /// Goes on elsewhere.
    Jump(Target),
    /// Goes on in one of two blocks. An edge into a cold block is unlikely.
    Branch {
        /// A `Bool`.
        cond: Value,
        /// Where if true.
        then: Target,
        /// Where if false.
        otherwise: Target,
    },
    /// Leaves the function, with a value if its signature has a result.
    Return(Option<Value>),
}

impl Terminator {
    /// The targets, in order.
    pub fn targets(&self) -> impl Iterator<Item = &Target> {
        let (first, second) = match self {
            Terminator::Jump(target) => (Some(target), None),
            Terminator::Branch { then, otherwise, .. } => (Some(then), Some(otherwise)),
            Terminator::Return(_) => (None, None),
        };
        first.into_iter().chain(second)
    }

    /// Shows every value that the terminator reads to `visit`.
    pub fn operands(&self, mut visit: impl FnMut(Value)) {
        match self {
            Terminator::Jump(target) => target.args.iter().copied().for_each(visit),
            Terminator::Branch { cond, then, otherwise } => {
                visit(*cond);
                then.args.iter().chain(&otherwise.args).copied().for_each(visit);
            }
            Terminator::Return(value) => value.iter().copied().for_each(visit),
        }
    }

    /// Shows the targets to `visit`, which may change them.
    pub(super) fn each_target_mut(&mut self, mut visit: impl FnMut(&mut Block)) {
        match self {
            Terminator::Jump(target) => visit(&mut target.block),
            Terminator::Branch { then, otherwise, .. } => {
                visit(&mut then.block);
                visit(&mut otherwise.block);
            }
            Terminator::Return(_) => {}
        }
    }
}
