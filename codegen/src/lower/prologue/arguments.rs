//! The number of arguments, and defaults of arguments that the caller omits.

use abi_spec::TypeIndex;
use abi_spec::layout::ANY;

use crate::declaration::{Literal, Signature};
use crate::ir::{Block, Builder, Cond, Hint, Type, Value};
use crate::lower::value::{AnyWords, copy_any, write_text, write_words};

/// Checks the number of arguments. Returns their address and, unless every call has the same number, their number. Both
/// include defaults.
pub(super) fn count(
    b: &mut Builder<'_>,
    signature: &Signature,
    bad: Block,
) -> (Value, Option<Value>) {
    let (args, num_args) = (b.param(1), b.param(2));
    let (least, most) = (signature.required() as i64, signature.most());
    if most == Some(signature.required()) {
        let counted = b.compare_const(Cond::Eq, num_args, least);
        b.guard(counted, bad);
        return (args, None);
    }
    let enough = b.compare_const(Cond::Sge, num_args, least);
    b.guard(enough, bad);
    if let Some(most) = most {
        let fits = b.compare_const(Cond::Sle, num_args, most as i64);
        b.guard(fits, bad);
    }
    let (args, num_args) = fill_in(b, signature, args, num_args);
    (args, Some(num_args))
}

/// Appends the defaults of omitted arguments to a copy of the given ones.
fn fill_in(
    b: &mut Builder<'_>,
    signature: &Signature,
    args: Value,
    num_args: Value,
) -> (Value, Value) {
    let params = signature.arguments();
    let total = params.iter().filter(|param| !param.variadic).count();
    if total == signature.required() {
        return (args, num_args);
    }
    let (short, join) = (b.block("short"), b.block("counted"));
    let all = b.block_param(join, Type::Ptr, Hint::from("all_args"));
    let count = b.block_param(join, Type::I32, Hint::from("all_num_args"));
    let complete = b.compare_const(Cond::Sge, num_args, total as i64);
    let whole = b.block("whole");
    b.branch(complete, whole, short);
    b.switch_to(whole);
    b.jump(join, &[args, num_args]);
    b.switch_to(short);
    let copy = b.stack_slot(total as u32 * ANY.size, 8);
    for (index, param) in params[..total].iter().enumerate() {
        let at = index as i32 * ANY.size as i32;
        if let Some(default) = &param.default {
            store_literal(b, default, copy, at);
            let given = b.compare_const(Cond::Sgt, num_args, index as i64);
            b.if_then(given, |b| copy_any(b, (args, at), (copy, at)));
        } else {
            copy_any(b, (args, at), (copy, at));
        }
    }
    let filled = b.i32(total as i32);
    b.jump(join, &[copy, filled]);
    b.switch_to(join);
    (all, count)
}

/// Writes a literal as a `TVMFFIAny`.
pub(crate) fn store_literal(b: &mut Builder<'_>, literal: &Literal, to: Value, at: i32) {
    let (index, payload) = match literal {
        Literal::None => (TypeIndex::NONE, b.i64(0)),
        Literal::Bool(value) => (TypeIndex::BOOL, b.i64(i64::from(*value))),
        Literal::Int(value) => (TypeIndex::INT, b.i64(*value)),
        Literal::Float(value) => (TypeIndex::FLOAT, b.f64(*value)),
        Literal::Str(text) => return write_text(b, text, to, at),
    };
    let head = b.i64(index.0.into());
    write_words(b, AnyWords { head, payload }, to, at);
}
