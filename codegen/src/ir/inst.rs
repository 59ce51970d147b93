//! The instruction table of host IR.
//!
//! Every instruction has at most one result. Loads and stores carry their alignment in bytes, so that no backend
//! depends on the data layout of the native module. Instructions neither trap nor have undefined behaviour, except as
//! their documentation says.

use super::entity::{Block, Symbol, Value};
use super::operator::{Binary, Checked, Cond, Convert};
use super::signature::{Signature, Type};

/// An instruction.
#[derive(Clone, Debug, PartialEq)]
pub enum Inst {
    /// A constant: an integer or pointer by value (truncated to the type), a float by its bits (`F32` in the low 32), a
    /// `Bool` as 0 or 1.
    Const {
        /// The type of the result.
        ty: Type,
        /// The bits.
        bits: u64,
    },
    /// The address of a function, or of a byte of a data object.
    Address {
        /// The symbol.
        symbol: Symbol,
        /// The byte offset; 0 for a function.
        offset: i32,
    },
    /// The address of `size` uninitialised bytes in the frame. One slot per execution of the function; only in the
    /// entry block.
    StackSlot {
        /// The size in bytes.
        size: u32,
        /// The alignment in bytes, a power of two, at most 16.
        align: u32,
    },
    /// Reads `ty` at `base + offset`.
    Load {
        /// The type of the result; not `Bool`.
        ty: Type,
        /// The base address, a `Ptr`.
        base: Value,
        /// The byte offset.
        offset: i32,
        /// The alignment of `base + offset`, in bytes.
        align: u32,
    },
    /// Writes `value` at `base + offset`. No result.
    Store {
        /// The value to store; not a `Bool`.
        value: Value,
        /// The base address, a `Ptr`.
        base: Value,
        /// The byte offset.
        offset: i32,
        /// The alignment of `base + offset`, in bytes.
        align: u32,
    },
    /// Reads `ty` at `base + offset` atomically (acquire): the instructions after it see everything that precedes the
    /// [`Inst::AtomicStore`] or [`Inst::CompareExchange`] whose value it reads.
    AtomicLoad {
        /// The type of the result: `I32`, `I64` or `Ptr`.
        ty: Type,
        /// The base address, a `Ptr`; `base + offset` is aligned to the size of the type.
        base: Value,
        /// The byte offset.
        offset: i32,
    },
    /// Writes `value` at `base + offset` atomically (release). No result.
    AtomicStore {
        /// The value to store: an `I32`, `I64` or `Ptr`.
        value: Value,
        /// The base address, a `Ptr`; `base + offset` is aligned to the size of the type.
        base: Value,
        /// The byte offset.
        offset: i32,
    },
    /// Writes `new` at `base` if `expected` is there, atomically; the result is the old value. Acquire and release, or
    /// acquire if nothing is written.
    CompareExchange {
        /// The address, a `Ptr`, aligned to the size of the type.
        base: Value,
        /// The expected value: an `I32`, `I64` or `Ptr`.
        expected: Value,
        /// The new value, of the same type.
        new: Value,
    },
    /// `base + offset`, wrapping. The result may be any address.
    PtrAdd {
        /// The base address, a `Ptr`.
        base: Value,
        /// The byte offset, an `I64`.
        offset: Value,
    },
    /// Arithmetic on two values of one type.
    Binary {
        /// The operation.
        op: Binary,
        /// The left operand.
        lhs: Value,
        /// The right operand.
        rhs: Value,
    },
    /// Signed arithmetic on two `I64` whose result wraps. An [`Inst::Overflowed`] follows at once and tells whether
    /// it did.
    Checked {
        /// The operation.
        op: Checked,
        /// The left operand.
        lhs: Value,
        /// The right operand.
        rhs: Value,
    },
    /// True if the exact result of the [`Inst::Checked`] just before is no `I64`; the result is a `Bool`.
    Overflowed {
        /// The result of the [`Inst::Checked`].
        of: Value,
    },
    /// Comparison of two values of one type; the result is a `Bool`.
    Compare {
        /// The condition.
        cond: Cond,
        /// The left operand.
        lhs: Value,
        /// The right operand.
        rhs: Value,
    },
    /// `cond ? then : otherwise`, without a branch.
    Select {
        /// The condition, a `Bool`.
        cond: Value,
        /// The result if true.
        then: Value,
        /// The result if false, of the same type.
        otherwise: Value,
    },
    /// Conversion to another type.
    Convert {
        /// The conversion.
        op: Convert,
        /// The operand.
        value: Value,
        /// The type of the result.
        to: Type,
    },
    /// Call of a symbol. The result is that of the signature.
    Call {
        /// The symbol of a function.
        callee: Symbol,
        /// The arguments, as the signature says.
        args: Vec<Value>,
    },
    /// Call through a pointer.
    CallIndirect {
        /// The signature of the callee.
        signature: Box<Signature>,
        /// The address of the callee, a `Ptr`.
        callee: Value,
        /// The arguments, as the signature says.
        args: Vec<Value>,
    },
}

impl Inst {
    /// Calls `visit` with every value that the instruction reads.
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
            Inst::Binary { lhs, rhs, .. }
            | Inst::Checked { lhs, rhs, .. }
            | Inst::Compare { lhs, rhs, .. } => {
                [*lhs, *rhs].into_iter().for_each(visit);
            }
            Inst::Overflowed { of } => visit(*of),
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

    /// Returns the symbol that the instruction refers to.
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
            | Inst::Checked { .. }
            | Inst::Overflowed { .. }
            | Inst::Compare { .. }
            | Inst::Select { .. }
            | Inst::Convert { .. }
            | Inst::CallIndirect { .. } => None,
        }
    }

    /// Returns true if the instruction has no effect but its result.
    pub(super) fn is_pure(&self) -> bool {
        matches!(
            self,
            Inst::Const { .. }
                | Inst::Address { .. }
                | Inst::StackSlot { .. }
                | Inst::PtrAdd { .. }
                | Inst::Binary { .. }
                | Inst::Checked { .. }
                | Inst::Overflowed { .. }
                | Inst::Compare { .. }
                | Inst::Select { .. }
                | Inst::Convert { .. }
        )
    }
}

/// The target of a branch, with the arguments for its parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// The block.
    pub block: Block,
    /// One value for each parameter of the block.
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

/// The terminator of a block.
#[derive(Clone, Debug, PartialEq)]
pub enum Terminator {
    /// Jumps to a block.
    Jump(Target),
    /// Branches to one of two blocks. An edge into a cold block is unlikely.
    Branch {
        /// The condition, a `Bool`.
        cond: Value,
        /// The target if true.
        then: Target,
        /// The target if false.
        otherwise: Target,
    },
    /// Returns from the function, with a value if its signature has a result.
    Return(Option<Value>),
}

impl Terminator {
    /// Returns the targets, in order.
    pub fn targets(&self) -> impl Iterator<Item = &Target> {
        let (first, second) = match self {
            Terminator::Jump(target) => (Some(target), None),
            Terminator::Branch { then, otherwise, .. } => (Some(then), Some(otherwise)),
            Terminator::Return(_) => (None, None),
        };
        first.into_iter().chain(second)
    }

    /// Calls `visit` with every value that the terminator reads.
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

    /// Calls `visit` with every target block, which it may change.
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
