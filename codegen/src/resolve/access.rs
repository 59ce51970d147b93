//! Checks that memory of tensors that are only read is given to nothing of the library that writes to it.
//!
//! Functions outside of the library, which are C functions, GPU kernels and functions of the FFI, are not looked at:
//! they keep the promise of the declaration, whose prototypes say `const` where C can.

use abi_spec::TypeIndex;

use super::Explained;
use super::accepted::possible;
use super::body::{Callee, Packed, PackedCall, Plain};
use super::names::Names;
use super::operator::Division;
use super::statement::Block;
use super::term::{Kind, Node, OfTensor, Property, Term};
use crate::declaration::{Expr, ParamType, Tensor};

impl Names<'_> {
    /// Returns true for an address in a tensor whose elements are only read, or a number that is computed from one.
    pub(super) fn is_read(&self, term: &Term) -> bool {
        match (term.kind, &term.node) {
            (Kind::Ptr, Node::Offset(_, operands)) => {
                let [base, bytes] = &**operands;
                self.is_read(if base.node == Node::Null { bytes } else { base })
            }
            (Kind::Ptr, node) => self.is_read_data(node),
            // The remainder of an address tells how it is aligned.
            (_, Node::Divide(Division::Rem, ..)) => false,
            (Kind::Int | Kind::Unsigned, _) => term.any(&mut |node| self.is_read_data(node)),
            _ => false,
        }
    }

    /// Returns true for the address of elements that are only read, and for the name of one or of a number made of it.
    fn is_read_data(&self, node: &Node) -> bool {
        if let Node::Property(value, Property::Tensor(OfTensor::Data)) = node {
            return self.values[*value].tensor().is_some_and(Tensor::is_read);
        }
        matches!(node, Node::Local(local) if self.locals[*local].is_read)
    }
}

impl<'a> Block<'_, 'a> {
    /// Returns true for a tensor whose elements are only read.
    pub(super) fn is_read_value(&self, packed: &Packed<'a>) -> bool {
        match packed {
            Packed::Plain(Plain::Value(value)) => {
                self.names.values[*value].tensor().is_some_and(Tensor::is_read)
            }
            Packed::Plain(Plain::None | Plain::Term(_) | Plain::Text(_) | Plain::Output(_))
            | Packed::Array(_)
            | Packed::Function(_)
            | Packed::Shape(_) => false,
        }
    }

    /// Checks that a function of this library may not write to what the body only reads. `exprs` are the arguments as
    /// they are declared.
    pub(super) fn check_access(&self, call: &PackedCall<'a>, exprs: &[Expr]) -> Explained<()> {
        let Callee::Symbol { name, entry: Some(_) } = call.callee else { return Ok(()) };
        let params = self.items.functions[name].signature.arguments();
        for (index, (arg, expr)) in call.args.iter().zip(exprs).enumerate() {
            // The last parameter takes all further arguments if it is variadic.
            let Some(param) = params.get(index).or(params.last()) else { continue };
            if self.may_be_written(arg, &param.ty) {
                let param = &param.name;
                return Err(format!(
                    "`{expr}` is only read, and `{param}` of `{name}` is declared without `access=read`"
                ));
            }
        }
        Ok(())
    }

    /// Returns true if a value is, or holds, memory that is only read, and a parameter of the type may be written.
    fn may_be_written(&self, packed: &Packed<'a>, ty: &ParamType) -> bool {
        let (required, _) = ty.required();
        match packed {
            Packed::Plain(Plain::Value(value)) => loses_read(self.names.values[*value].ty, ty),
            Packed::Plain(Plain::Term(term)) => term.kind == Kind::Ptr && self.names.is_read(term),
            Packed::Array(entries) => match required {
                ParamType::Sequence(_, element) => {
                    entries.iter().any(|entry| self.may_be_written(entry, element))
                }
                ParamType::Tuple(elements) => {
                    let mut pairs = entries.iter().zip(elements);
                    pairs.any(|(entry, element)| self.may_be_written(entry, &element.ty))
                }
                ParamType::Union(types) => {
                    let fits = |ty: &&ParamType| possible(ty).meets(self.possible_indices(packed));
                    types.iter().filter(fits).any(|ty| self.may_be_written(packed, ty))
                }
                ParamType::Scalar(_)
                | ParamType::Tensor(_)
                | ParamType::Leaf(_)
                | ParamType::Shape(_)
                | ParamType::Object(_)
                | ParamType::Mapping(..)
                | ParamType::Optional(_)
                | ParamType::Literal(_) => {
                    entries.iter().any(|entry| self.may_be_written(entry, required))
                }
            },
            Packed::Plain(Plain::None | Plain::Text(_) | Plain::Output(_))
            | Packed::Function(_)
            | Packed::Shape(_) => false,
        }
    }
}

impl ParamType {
    /// Returns true if a parameter of this type accepts tensors, and only reads their elements.
    ///
    /// ```
    /// use tvm_ffi_codegen::{Access, DType, ParamType, Tensor};
    ///
    /// let x = Tensor::new(["n"], DType::FLOAT32);
    /// assert!(!ParamType::from(x.clone()).only_reads());
    /// assert!(ParamType::optional(x.with_access(Access::Read)).only_reads());
    /// ```
    pub fn only_reads(&self) -> bool {
        match self {
            ParamType::Tensor(tensor) => tensor.is_read(),
            ParamType::Optional(inner) => inner.only_reads(),
            ParamType::Union(types) => {
                let mut of_tensors =
                    types.iter().filter(|ty| ty.accepts(TypeIndex::TENSOR)).peekable();
                of_tensors.peek().is_some() && of_tensors.all(ParamType::only_reads)
            }
            ParamType::Scalar(_)
            | ParamType::Leaf(_)
            | ParamType::Shape(_)
            | ParamType::Object(_)
            | ParamType::Sequence(..)
            | ParamType::Mapping(..)
            | ParamType::Tuple(_)
            | ParamType::Literal(_) => false,
        }
    }
}

/// Returns true if a tensor in a value of type `given` is only read, but not where the value is taken as type `taken`.
fn loses_read(given: &ParamType, taken: &ParamType) -> bool {
    let (given, taken) = (given.required().0, taken.required().0);
    if given == taken || !given.tensors().into_iter().any(Tensor::is_read) {
        return false;
    }
    let meet = |given: &ParamType, taken: &ParamType| possible(given).meets(possible(taken));
    match (given, taken) {
        (ParamType::Union(types), taken) => {
            types.iter().any(|given| meet(given, taken) && loses_read(given, taken))
        }
        (given, ParamType::Union(types)) => {
            types.iter().any(|taken| meet(given, taken) && loses_read(given, taken))
        }
        (ParamType::Tensor(_), ParamType::Tensor(taken)) => !taken.is_read(),
        (ParamType::Sequence(_, given), ParamType::Sequence(_, taken)) => loses_read(given, taken),
        (ParamType::Sequence(_, given), ParamType::Tuple(elements)) => {
            elements.iter().any(|taken| loses_read(given, &taken.ty))
        }
        (ParamType::Tuple(elements), ParamType::Sequence(_, taken)) => {
            elements.iter().any(|given| loses_read(&given.ty, taken))
        }
        (ParamType::Tuple(given), ParamType::Tuple(taken)) => {
            given.iter().zip(taken).any(|(given, taken)| loses_read(&given.ty, &taken.ty))
        }
        (ParamType::Mapping(_, given), ParamType::Mapping(_, taken)) => {
            given.iter().zip(&**taken).any(|(given, taken)| loses_read(given, taken))
        }
        // All else takes tensors without a word about them.
        _ => true,
    }
}
