//! Resolves arithmetic on addresses, and tells whose memory they are in.

use abi_spec::Scalar;

use super::Explained;
use super::names::Names;
use super::operator::{Division, Unary};
use super::term::{Node, OfGlobal, OfSeveral, OfTensor, Property, Term};
use super::typing::as_number;
use crate::declaration::{BinaryOp, Expr, Kind, ParamType};

impl Names<'_> {
    /// Returns true for an address of elements or of other memory, not of a `DLTensor`, an object or a stream.
    pub(super) fn is_data(&self, term: &Term) -> bool {
        if let Node::Value(value) = term.node {
            return matches!(self.values[value].ty, ParamType::Scalar(Scalar::Ptr));
        }
        if let Node::Local(local) = term.node {
            let local = &self.locals[local];
            return local.kind == Kind::Ptr && !local.is_stream;
        }
        if let Node::Property(_, property) = term.node {
            return property == Property::Tensor(OfTensor::Data);
        }
        let is_global =
            matches!(&term.node, Node::Global(global) if global.part == OfGlobal::Address);
        is_global || matches!(term.node, Node::OutputData(_) | Node::Offset(..))
    }

    /// Builds the sum or the difference of an address and a number of bytes, one of each.
    pub(super) fn offset(
        &self,
        op: BinaryOp,
        [first, second]: [(&Expr, Term); 2],
    ) -> Explained<Term> {
        let is_first = first.1.kind == Kind::Ptr;
        let (base, (expr, bytes)) = if is_first { (first.1, second) } else { (second.1, first) };
        let operands = [base, self.bytes(expr, bytes)?];
        Ok(Term::new(Kind::Ptr, Node::Offset(op == BinaryOp::Sub, operands.into())))
    }

    /// Checks that the term of an operand is an integer, as a number of bytes is.
    pub(super) fn bytes(&self, expr: &Expr, term: Term) -> Explained<Term> {
        let term = self.int64(expr, as_number(expr, term)?);
        if term.is_float() { Err(format!("`{expr}` is not an integer")) } else { Ok(term) }
    }

    /// Returns true for an address in a value, or a number that tells one.
    pub(super) fn is_lent(&self, term: &Term) -> bool {
        let is_lent_local =
            |node: &Node| matches!(node, Node::Local(local) if self.locals[*local].is_lent);
        let is_part = |node: &Node| {
            let is_property = matches!(
                node,
                Node::Output(_)
                    | Node::OutputData(_)
                    | Node::OutputObject(_)
                    | Node::Property(_, Property::Object)
                    | Node::Property(_, Property::Tensor(OfTensor::Data))
                    | Node::Property(_, Property::Several(OfSeveral::Address))
            );
            let is_whole =
                matches!(node, Node::Value(value) if self.values[*value].ty.scalar().is_none());
            is_property || is_whole || is_lent_local(node)
        };
        let is_number = |node: &Node| {
            let is_told = matches!(
                node,
                Node::Unary(Unary::Number, address) if address.any(&mut |node| is_part(node))
            );
            is_told || is_lent_local(node)
        };
        match (term.kind, &term.node) {
            // The remainder of an address tells how it is aligned.
            (_, Node::Divide(Division::Rem, ..)) => false,
            (Kind::Ptr, _) => term.any(&mut |node| is_part(node)),
            (Kind::Int | Kind::Unsigned, _) => term.any(&mut |node| is_number(node)),
            _ => false,
        }
    }
}
