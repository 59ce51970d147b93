//! Resolves values that the body makes for functions of the FFI, and checks calls of functions of the library.

use abi_spec::TypeIndex;

use super::Explained;
use super::accepted::{Accepted, possible};
use super::body::{Callee, Entry, Packed, PackedCall, Plain};
use super::fits::{check_int64, indices, literal, may_meet, may_take, shapes_meet, tensors_meet};
use super::statement::Block;
use super::term::{Kind, Node, Term};
use super::value::Source;
use crate::declaration::{
    Dim, Expr, FunctionRef, ObjectClass, ParamType, ResultType, Sequence, Shape,
};

impl<'a> Block<'_, 'a> {
    /// Resolves a callee, and returns its spelling in errors.
    pub(super) fn callee(&self, callee: &'a FunctionRef) -> Explained<(Callee<'a>, String)> {
        match callee {
            FunctionRef::Symbol(name) => {
                let function = self.items.functions.get(&name[..]);
                if function.is_some_and(|function| function.signature.has_self()) {
                    return Err(format!("`{name}` is a closure, whose context nobody has here"));
                }
                let is_value =
                    function.is_none() && self.names.value_of(&Expr::name(name)).is_some();
                if is_value {
                    return Err(format!("`{name}` is a value here, which `@({name})(…)` calls"));
                }
                let entry = function.map(|_| Entry::default());
                Ok((Callee::Symbol { name, entry }, callee.to_string()))
            }
            FunctionRef::Name(name) => Ok((Callee::Name(name), format!("@{name:?}"))),
            FunctionRef::Value(Expr::Function(_)) => {
                Err("a function that is called here is named by `let` before".to_owned())
            }
            FunctionRef::Value(expr) => {
                let value = self.names.value_of(expr);
                let is_function =
                    |ty: &ParamType| matches!(ty, ParamType::Object(ObjectClass::Function));
                match value.filter(|&value| is_function(self.names.values[value].ty)) {
                    Some(value) => Ok((Callee::Value(value), format!("@({expr})"))),
                    None => Err(format!("`{expr}` is no value of type `Function`")),
                }
            }
        }
    }

    /// Resolves an expression to a value of the FFI.
    pub(super) fn packed(&self, expr: &'a Expr) -> Explained<Packed<'a>> {
        if *expr == Expr::None {
            return Ok(Packed::Plain(Plain::None));
        }
        if let Expr::Text(text) = expr {
            return Ok(Packed::Plain(Plain::Text(text)));
        }
        if let Expr::Function(function) = expr {
            return Ok(Packed::Function(self.made(function)));
        }
        if let Expr::Array(entries) = expr {
            let entries = entries.iter().map(|entry| self.packed(entry));
            return Ok(Packed::Array(entries.collect::<Explained<_>>()?));
        }
        if let Expr::Shape(numbers) = expr {
            let numbers = numbers.iter().map(|number| self.integer(number));
            return Ok(Packed::Shape(numbers.collect::<Explained<_>>()?));
        }
        self.packed_term(expr)
    }

    /// Resolves an expression other than None, text, an array or a shape.
    fn packed_term(&self, expr: &Expr) -> Explained<Packed<'a>> {
        if let Some(output) = self.names.output_of(expr) {
            return Ok(Packed::Plain(Plain::Output(output)));
        }
        let (term, value) = (self.term(expr)?, self.names.value_of(expr));
        match (value.map(|value| (value, self.names.values[value].source)), term.kind) {
            (Some((_, Source::Rest(_))), _) => {
                Err(format!("`{expr}` is any number of values, not one"))
            }
            (Some((_, Source::Context)), _) => Ok(Packed::Plain(Plain::Term(term))),
            (Some((value, _)), _) => Ok(Packed::Plain(Plain::Value(value))),
            (None, Kind::Text | Kind::Several) => Err(format!("`{expr}` is no value of the FFI")),
            (None, Kind::Unsigned) => {
                check_int64(expr, &term)?;
                let term = Term { kind: Kind::Unsigned, ..self.names.int64(expr, term) };
                Ok(Packed::Plain(Plain::Term(term)))
            }
            (None, _) => Ok(Packed::Plain(Plain::Term(term))),
        }
    }

    /// Returns true if a value is known to be of a type, so that no check is needed.
    pub(super) fn is_known_to_be(&self, packed: &Packed<'_>, ty: &ParamType) -> bool {
        let (required, optional) = ty.required();
        if required.is_any() {
            return true;
        }
        match packed {
            Packed::Plain(Plain::None) => optional,
            Packed::Plain(Plain::Text(_)) => required.leaf().is_some_and(|leaf| {
                leaf.facts().kind == Kind::Text && leaf.accepts(TypeIndex::RAW_STR)
            }),
            Packed::Plain(Plain::Output(_)) => {
                matches!(required.class(), Some(ObjectClass::Tensor | ObjectClass::Any))
            }
            Packed::Plain(Plain::Term(term)) => {
                matches!(required, ParamType::Scalar(scalar) if term.kind.number() == Some(*scalar))
            }
            Packed::Plain(Plain::Value(value)) => {
                let value = &self.names.values[*value];
                *value.ty == *required && (optional || !value.optional)
            }
            Packed::Function(_) => {
                matches!(required.class(), Some(ObjectClass::Function | ObjectClass::Any))
            }
            Packed::Shape(_) => *required == ParamType::Shape(Shape::AnyRank),
            Packed::Array(entries) => {
                if let ParamType::Sequence(Sequence::Array, element) = required {
                    return entries.iter().all(|entry| self.is_known_to_be(entry, element));
                }
                let ParamType::Tuple(elements) = required else { return false };
                let mut pairs = entries.iter().zip(elements);
                entries.len() == elements.len()
                    && pairs.all(|(entry, element)| self.is_known_to_be(entry, &element.ty))
            }
        }
    }

    /// Checks the arguments and the result type of a call of a function of this library: their types must not
    /// contradict its signature.
    pub(super) fn check_call(
        &self,
        call: &PackedCall<'_>,
        result: Option<&ParamType>,
    ) -> Explained<()> {
        let Callee::Symbol { name, entry: Some(_) } = call.callee else { return Ok(()) };
        let signature = &self.items.functions[name].signature;
        let (given, least) = (call.args.len(), signature.required());
        if given < least || signature.most().is_some_and(|most| given > most) {
            return Err(format!("`{}` does not take {given} arguments", signature.header()));
        }
        for (arg, param) in call.args.iter().zip(signature.arguments()) {
            if !self.may_be(arg, &param.ty) {
                let (param, ty) = (&param.name, &param.ty);
                return Err(format!("`{param}` of `{name}` is of type `{ty}`"));
            }
        }
        let yields = match &signature.result {
            ResultType::None => Accepted::of(&[TypeIndex::NONE]),
            ResultType::Value(ty) => possible(ty),
            ResultType::Allocated(outputs) if outputs.len() == 1 => {
                Accepted::of(&[TypeIndex::TENSOR])
            }
            ResultType::Allocated(_) => Accepted::of(&[TypeIndex::ARRAY]),
        };
        match result.filter(|ty| !possible(ty).meets(yields)) {
            Some(ty) => Err(format!("`{name}` yields `{}`, not `{ty}`", signature.result)),
            None => Ok(()),
        }
    }

    /// Returns false if a value is never of a type: by its type index, by what is declared of both, or by its own
    /// values if the body makes an array of them.
    pub(super) fn may_be(&self, packed: &Packed<'_>, ty: &ParamType) -> bool {
        if !self.possible_indices(packed).meets(possible(ty)) {
            return false;
        }
        match (packed, ty.required().0) {
            (_, ParamType::Union(types)) => types.iter().any(|ty| self.may_be(packed, ty)),
            (Packed::Array(entries), ParamType::Tuple(elements)) => {
                let mut pairs = entries.iter().zip(elements);
                entries.len() == elements.len()
                    && pairs.all(|(entry, element)| self.may_be(entry, &element.ty))
            }
            (Packed::Array(entries), ParamType::Sequence(_, element)) => {
                entries.iter().all(|entry| self.may_be(entry, element))
            }
            (Packed::Plain(Plain::Value(value)), _) => {
                let value = &self.names.values[*value];
                (value.optional && ty.required().1) || may_meet(value.ty, ty)
            }
            (Packed::Plain(Plain::Output(output)), ParamType::Tensor(tensor)) => {
                tensors_meet(&self.names.outputs[*output].tensor, tensor)
            }
            (Packed::Plain(plain), required) => {
                literal(plain).is_none_or(|literal| may_take(required, &literal))
            }
            (Packed::Shape(numbers), ParamType::Shape(shape)) => {
                let dim = |number: &Term| number.constant().map_or(Dim::Any, Dim::from);
                shapes_meet(&Shape::Dims(numbers.iter().map(dim).collect()), shape)
            }
            (Packed::Array(_) | Packed::Function(_) | Packed::Shape(_), _) => true,
        }
    }

    /// Returns the type indices that a value may have.
    pub(super) fn possible_indices(&self, packed: &Packed<'_>) -> Accepted {
        use TypeIndex as T;
        match packed {
            Packed::Plain(Plain::None) => Accepted::of(&[T::NONE]),
            Packed::Plain(Plain::Term(Term { node: Node::Null, .. })) => {
                Accepted::of(&[T::OPAQUE_PTR, T::NONE])
            }
            Packed::Plain(Plain::Term(term)) => Accepted::of(match term.kind {
                Kind::Int | Kind::Unsigned => &[T::INT],
                Kind::Bool => &[T::BOOL],
                Kind::Float => &[T::FLOAT],
                Kind::Ptr => &[T::OPAQUE_PTR],
                Kind::DType => &[T::DATA_TYPE],
                Kind::Device => &[T::DEVICE],
                Kind::Text | Kind::Several => &[],
            }),
            Packed::Plain(Plain::Text(_)) => Accepted::of(&[T::RAW_STR]),
            Packed::Plain(Plain::Value(value)) => {
                let value = &self.names.values[*value];
                let none = if value.optional { &[T::NONE][..] } else { &[] };
                indices(value.ty).or(Accepted::of(none))
            }
            Packed::Plain(Plain::Output(_)) => Accepted::of(&[T::TENSOR]),
            Packed::Array(_) => Accepted::of(&[T::ARRAY]),
            Packed::Function(_) => Accepted::of(&[T::FUNCTION]),
            Packed::Shape(_) => Accepted::of(&[T::SHAPE]),
        }
    }
}
