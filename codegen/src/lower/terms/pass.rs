//! Arguments of C functions and of GPU kernels, in the types of their [prototype](crate::resolve::prototype).

use abi_spec::Scalar;

use crate::ir::{Convert, Type, Value};
use crate::lower::emitter::state::ValueState;
use crate::lower::value::Span;
use crate::lower::value::constant_bytes;
use crate::lower::wrapper::Wrapper;
use crate::resolve::argument::Argument;
use crate::resolve::c_type::abi_type;
use crate::resolve::ids::ValueId;
use crate::resolve::term::{Kind, Node, Term};

impl Wrapper<'_, '_> {
    /// Returns the scalars in which an argument is passed.
    pub(crate) fn pass(&mut self, argument: &Argument) -> Vec<Value> {
        match argument {
            Argument::Value(value) => self.pass_value(*value),
            Argument::Term(term, scalar) => vec![self.pass_term(term, *scalar)],
            Argument::Text(text) => {
                let bytes = [text.as_bytes(), &[0]].concat();
                let (data, size) = (constant_bytes(&mut self.b, bytes), text.len() as i64);
                vec![data, self.b.i64(size)]
            }
        }
    }

    /// Returns a term converted to the C type of a scalar.
    fn pass_term(&mut self, term: &Term, scalar: Scalar) -> Value {
        // A conversion to the type of the argument needs no second one. `int64(int8(n))` is no such conversion: it is
        // narrowed to `int8` and passed as `int64`.
        if let Node::Narrow(to, operand, text) = &term.node
            && *to == scalar
        {
            return self.cast(scalar, operand, text);
        }
        if let Node::Round(to, operand) = &term.node
            && *to == scalar
        {
            let value = self.term(operand);
            return self.round(value, scalar);
        }
        let value = self.term(term);
        let ty = abi_type(scalar).ty;
        let narrow = self.b.ty(value) == Type::I64 && ty != Type::I64;
        if narrow { self.b.convert(Convert::Trunc, value, ty) } else { value }
    }

    /// Returns the scalars in which a declared value is passed.
    fn pass_value(&mut self, value: ValueId) -> Vec<Value> {
        let declared = &self.function.values[value];
        match self.values[value].clone() {
            ValueState::Scalar(state) => vec![state.native],
            ValueState::Tensor(_) => {
                let dl = self.dl(value);
                vec![self.or_zero(value, dl)]
            }
            ValueState::Span(Span { data, size }) => vec![data, size],
            ValueState::Tuple(_) => {
                declared.children.iter().flat_map(|&child| self.pass_value(child)).collect()
            }
            ValueState::Word(word) => match declared.ty.leaf().map(|leaf| leaf.facts().kind) {
                Some(Kind::DType) => vec![self.b.convert(Convert::Trunc, word, Type::I32)],
                Some(Kind::Device) => self.device_numbers(word).into(),
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
            ValueState::Pending => self.values[value].misused_as("argument"),
        }
    }
}
