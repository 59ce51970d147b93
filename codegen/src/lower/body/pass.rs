//! Arguments of C functions and of GPU kernels, in the types of their [prototype](crate::resolve::prototype).

use abi_spec::Scalar;
use abi_spec::layout::OBJECT;

use crate::declaration::ObjectClass;
use crate::ir::{Convert, Type, Value};
use crate::lower::checks::{Checker, terms};
use crate::lower::emitter::output;
use crate::lower::emitter::state::ValueState;
use crate::lower::emitter::tensor::device_numbers;
use crate::lower::value::{Span, constant_bytes};
use crate::resolve::argument::Argument;
use crate::resolve::body::{Packed, Plain};
use crate::resolve::c_type::abi_type;
use crate::resolve::ids::ValueId;
use crate::resolve::term::{Kind, Node, Term};

/// Returns the scalars in which an argument is passed.
pub(super) fn pass(c: &mut Checker<'_, '_>, argument: &Argument) -> Vec<Value> {
    match argument {
        Argument::Value(value) => pass_value(c, *value),
        Argument::Term(term, scalar) => vec![pass_term(c, term, *scalar)],
        Argument::Text(text) => {
            let bytes = [text.as_bytes(), &[0]].concat();
            let (data, size) = (constant_bytes(&mut c.e.b, bytes), text.len() as i64);
            vec![data, c.e.b.i64(size)]
        }
    }
}

/// Returns a tensor or a number that the body hands to code that takes it as `ty`.
pub(super) fn pass_plain(c: &mut Checker<'_, '_>, packed: &Packed<'_>, ty: Type) -> Value {
    let value = match packed {
        Packed::Plain(Plain::Term(term)) => terms::eval(c, term),
        Packed::Plain(Plain::Output(output)) => output::tensor(&mut c.e, *output),
        Packed::Plain(Plain::Value(value)) => {
            if let ValueState::Scalar(state) = c.e.known.value(*value) {
                let native = state.native;
                if c.e.b.ty(native) == ty { native } else { c.e.wide(*value) }
            } else {
                c.e.tensor(*value).dl()
            }
        }
        Packed::Plain(Plain::None | Plain::Text(_))
        | Packed::Array(_)
        | Packed::Function(_)
        | Packed::Shape(_) => unreachable!("it is no tensor and no number"),
    };
    let narrow = c.e.b.ty(value) == Type::I64 && ty != Type::I64;
    if narrow { c.e.b.convert(Convert::Trunc, value, ty) } else { value }
}

/// Returns a term converted to the C type of a scalar.
fn pass_term(c: &mut Checker<'_, '_>, term: &Term, scalar: Scalar) -> Value {
    // A conversion to the type of the argument needs no second one. `int64(int8(n))` is no such conversion: it is
    // narrowed to `int8` and passed as `int64`.
    if let Node::Narrow(to, operand, text) = &term.node
        && *to == scalar
    {
        return terms::cast(c, scalar, operand, text);
    }
    if let Node::Round(to, operand) = &term.node
        && *to == scalar
    {
        let value = terms::eval(c, operand);
        return c.e.round(value, scalar);
    }
    let value = terms::eval(c, term);
    let ty = abi_type(scalar).ty;
    let narrow = c.e.b.ty(value) == Type::I64 && ty != Type::I64;
    if narrow { c.e.b.convert(Convert::Trunc, value, ty) } else { value }
}

/// Returns the scalars in which a declared value is passed.
fn pass_value(c: &mut Checker<'_, '_>, value: ValueId) -> Vec<Value> {
    let declared = &c.e.function.values[value];
    match c.e.known.value(value).clone() {
        ValueState::Scalar(state) => vec![state.native],
        ValueState::Tensor(_) => {
            let dl = c.e.tensor(value).dl();
            vec![c.e.or_zero(value, dl)]
        }
        ValueState::Span(Span { data, size }) => vec![data, size],
        ValueState::Tuple(_) => {
            declared.children.iter().flat_map(|&child| pass_value(c, child)).collect()
        }
        ValueState::Word(object) if declared.ty.class() == Some(&ObjectClass::Tensor) => {
            let dl = c.e.b.ptr_offset(object, OBJECT.size.into());
            vec![c.e.or_zero(value, dl)]
        }
        ValueState::Word(word) => match declared.ty.leaf().map(|leaf| leaf.facts().kind) {
            Some(Kind::DType) => vec![c.e.b.convert(Convert::Trunc, word, Type::I32)],
            Some(Kind::Device) => device_numbers(&mut c.e.b, word).into(),
            Some(
                Kind::Int
                | Kind::Bool
                | Kind::Unsigned
                | Kind::Float
                | Kind::Ptr
                | Kind::Text
                | Kind::Several,
            )
            | None => vec![word],
        },
        ValueState::Pending => c.e.known.value(value).misused_as("argument"),
    }
}
