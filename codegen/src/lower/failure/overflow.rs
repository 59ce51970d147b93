//! Exits for results of arithmetic that are no `int64`.

use crate::ir::{Block, Cond, Value};
use crate::lower::emitter::Emitter;
use crate::lower::failure::Exits;
use crate::lower::failure::message::Message;
use crate::lower::routines::complaints::Complaint;
use crate::resolve::operator::Exact;

/// What tells that the result of an operation is no `int64`.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Flag {
    /// A `Bool` that is true.
    Truth(Value),
    /// An `I64` that is negative.
    Sign(Value),
}

/// An operation whose flag has not been tested yet.
#[derive(Debug)]
pub(crate) struct Overflow {
    pub(crate) flag: Flag,
    pub(crate) op: Exact,
    pub(crate) operands: [Value; 2],
    /// The operation as messages quote it.
    pub(crate) text: String,
}

impl Exits<'_, '_> {
    /// Returns an exit that names the first operation whose flag is set, with its exact result.
    pub(crate) fn overflow(&mut self, e: &mut Emitter<'_, '_>, all: &[Overflow]) -> Block {
        if let Some(other) = self.other() {
            return other;
        }
        self.cold(e, "overflow", |x, e| {
            let Some((last, others)) = all.split_last() else { return };
            for one in others {
                let [this, next] = ["overflow", "next"].map(|label| e.b.cold_block(label));
                let flag = match one.flag {
                    Flag::Truth(flag) => flag,
                    Flag::Sign(number) => e.b.compare_const(Cond::Slt, number, 0),
                };
                e.b.branch(flag, this, next);
                e.b.switch_to(this);
                x.raise(e, &out_of_range(one));
                e.b.switch_to(next);
            }
            x.raise(e, &out_of_range(last));
        })
    }
}

/// Returns the message for a result that is no `int64`.
fn out_of_range(Overflow { op, operands, text, .. }: &Overflow) -> Message {
    let complaint = match op {
        Exact::Add => Complaint::LargeSum,
        Exact::Sub => Complaint::LargeDifference,
        Exact::Mul => Complaint::LargeProduct,
    };
    Message::of(complaint, text).with_values(operands)
}
