//! Passing values on to C functions, in the types of their [prototype](crate::resolve::prototype).

use abi_spec::Scalar;

use crate::declaration::{Leaf, ParamType};
use crate::ir::{Convert, Type, Value};
use crate::lower::emitter::state::ValueState;
use crate::lower::value::constant_bytes;
use crate::lower::wrapper::Wrapper;
use crate::resolve::c_type::abi_type;
use crate::resolve::function::Argument;
use crate::resolve::ids::ValueId;
use crate::resolve::term::{Node, Term};

impl Wrapper<'_, '_> {
    /// An argument of a call.
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

    /// A term in the C type of a scalar.
    fn pass_term(&mut self, term: &Term, scalar: Scalar) -> Value {
        // `int64(int8(n))` is narrowed, and handed over in another type.
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

    fn pass_value(&mut self, value: ValueId) -> Vec<Value> {
        let declared = &self.function.values[value];
        match self.values[value].clone() {
            ValueState::Scalar(state) => vec![state.native],
            ValueState::Tensor(_) => {
                let dl = self.dl(value);
                vec![self.or_zero(value, dl)]
            }
            ValueState::Pair(data, size) => vec![data, size],
            ValueState::Tuple(_) => {
                declared.children.iter().flat_map(|&child| self.pass_value(child)).collect()
            }
            ValueState::Word(word) if *declared.ty == ParamType::Leaf(Leaf::DType) => {
                vec![self.b.convert(Convert::Trunc, word, Type::I32)]
            }
            ValueState::Word(word) if *declared.ty == ParamType::Leaf(Leaf::Device) => {
                self.device_numbers(word).into()
            }
            ValueState::Word(word) => vec![word],
            ValueState::Pending => self.values[value].is_no("argument"),
        }
    }
}
