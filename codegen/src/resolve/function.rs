//! A function with its meaning: what [`lower`](crate::lower()) is made from.

use abi_spec::Scalar;

use super::ids::{OutputId, SymbolId, Table, ValueId};
use super::step::Step;
use super::term::Term;
use super::value::Value;
use crate::declaration::{Function as Declared, StatusError, Tensor};
use crate::error::Part;
use crate::ir::Signature;

/// A function: its declaration, with names resolved and checks in order.
#[derive(Clone, Debug)]
pub(crate) struct Function<'a> {
    /// The declaration.
    pub(crate) declared: &'a Declared,
    /// Its parameters and what is nested in them.
    pub(crate) values: Table<ValueId, Value<'a>>,
    /// In the order in which they are first mentioned.
    pub(crate) symbols: Table<SymbolId, Symbol<'a>>,
    /// The tensors that are allocated for the kernel.
    pub(crate) outputs: Table<OutputId, Output<'a>>,
    /// Checks and bindings, in the order in which a failure is reported.
    pub(crate) steps: Vec<Step<'a>>,
    /// What runs once they have passed.
    pub(crate) body: Vec<Statement<'a>>,
}

/// A symbol: an integer that extents, strides and integer parameters agree on.
#[derive(Clone, Debug)]
pub(crate) struct Symbol<'a> {
    /// Its name.
    pub(crate) name: &'a str,
    /// Where it is first mentioned.
    pub(crate) part: Part,
    /// The integer parameter of the same name.
    pub(crate) value: Option<ValueId>,
    /// An extent, a stride or a number of a shape depends on it: it is an `int64`, whatever the parameter is.
    pub(crate) measures: bool,
}

/// A tensor that is allocated for the kernel.
#[derive(Clone, Debug)]
pub(crate) struct Output<'a> {
    /// Its type.
    pub(crate) tensor: &'a Tensor,
    /// Its extents.
    pub(crate) extents: Vec<Term>,
    /// The tensor parameter whose device it shares; `None` for the first device of its type.
    pub(crate) neighbour: Option<ValueId>,
}

/// A statement of a body.
#[derive(Clone, Debug)]
pub(crate) enum Statement<'a> {
    /// A call of the kernel, whose result is that of the function.
    Return(Call<'a>),
}

/// A call of a C function.
#[derive(Clone, Debug)]
pub(crate) struct Call<'a> {
    /// Its symbol.
    pub(crate) symbol: &'a str,
    /// Its C type.
    pub(crate) prototype: Signature,
    /// What it is given.
    pub(crate) args: Vec<Argument>,
    /// What its status means, if that is what it returns.
    pub(crate) status: Option<&'a [StatusError]>,
}

/// What a C function is given.
#[derive(Clone, Debug)]
pub(crate) enum Argument {
    /// A value, in the C types of its kind.
    Value(ValueId),
    /// A term, converted to the C type of a scalar.
    Term(Term, abi_spec::Scalar),
}

impl<'a> Function<'a> {
    /// Every call of a C function.
    pub(crate) fn calls(&self) -> impl Iterator<Item = &Call<'a>> {
        self.body.iter().map(|statement| match statement {
            Statement::Return(call) => call,
        })
    }

    /// The position among the arguments of a call of the one that a value is in; `None` for `self`.
    pub(crate) fn argument(&self, value: ValueId) -> Option<usize> {
        let param = self.values[value].param;
        if self.declared.signature.has_self() { param.checked_sub(1) } else { Some(param) }
    }

    /// True for a `uint64` that need not fit `int64`: no extent, stride or number of a shape depends on it.
    pub(crate) fn is_wide(&self, value: ValueId) -> bool {
        let is_unsigned = self.values[value].ty.scalar() == Some(Scalar::Uint64);
        let measures = |symbol: &Symbol<'_>| symbol.measures && symbol.value == Some(value);
        is_unsigned && !self.symbols.iter().any(|(_, symbol)| measures(symbol))
    }

    /// The declaration of a tensor.
    pub(crate) fn tensor(&self, value: ValueId) -> Option<&'a Tensor> {
        self.values[value].tensor()
    }

    /// The values that must be there for this one to be, from the inside, itself included.
    pub(crate) fn optionals(&self, value: ValueId) -> impl Iterator<Item = ValueId> {
        super::value::optionals(&self.values, value)
    }

    /// True for tensors whose rank is known at run time only.
    pub(crate) fn any_rank(&self, value: ValueId) -> bool {
        self.tensor(value).is_some_and(|tensor| tensor.rank().is_none())
    }
}
