//! Comparison and arithmetic that read well in lowering.

use super::Builder;
use crate::ir::operator::{Binary, Cond, Convert};
use crate::ir::types::{Type, Value};

impl Builder<'_> {
    /// Integer or pointer equality.
    pub fn eq(&mut self, lhs: Value, rhs: Value) -> Value {
        self.compare(Cond::Eq, lhs, rhs)
    }

    /// Conjunction or bitwise and.
    pub fn and(&mut self, lhs: Value, rhs: Value) -> Value {
        self.binary(Binary::And, lhs, rhs)
    }

    /// Disjunction or bitwise or.
    pub fn or(&mut self, lhs: Value, rhs: Value) -> Value {
        self.binary(Binary::Or, lhs, rhs)
    }

    /// The complement of a `Bool`.
    pub fn not(&mut self, value: Value) -> Value {
        let truth = self.constant(Type::Bool, 1);
        self.binary(Binary::Xor, value, truth)
    }

    /// Widens a `Bool` to a 0 or 1 of an integer type.
    pub fn widen_bool(&mut self, value: Value, to: Type) -> Value {
        self.convert(Convert::Zext, value, to)
    }
}
