//! Checks of unions.

use codegen::{Leaf, ParamType, Scalar};

use super::value::{accepts, check_type, numbers, received_type};
use super::{Call, Checked, Received, borrowed, words};
use crate::argument::Argument;

impl<'a> Call<'a> {
    /// Checks a union by its first type that fits. A union binds nothing, and types that do not fit note no device. The
    /// error is that of the union, or of the type that alone takes values like this one.
    pub(super) fn union(&mut self, received: &Received<'a>, types: &'a [ParamType]) -> Checked<()> {
        let Some(given) = received.given else { return Ok(()) };
        let (bindings, devices) = (self.symbols.bindings(), self.devices.clone());
        let mut own = None;
        for (number, ty) in types.iter().enumerate() {
            self.devices.clone_from(&devices);
            let inner = received.inner(received.path.clone(), ty, Some(given));
            let is_settled = is_of_type(&inner, given) && is_alone(types, number);
            let checked = self.value(inner);
            self.symbols.unbind(bindings.clone());
            match checked {
                Ok(()) => return Ok(()),
                Err(fault) => own = own.or(is_settled.then_some(fault)),
            }
        }
        let shown = received_type(received.ty, borrowed(given));
        Err(own.unwrap_or_else(|| received.wrong_type(&shown)))
    }
}

/// Returns true if no other type of a union accepts a type index that this one accepts.
fn is_alone(types: &[ParamType], number: usize) -> bool {
    let mut others = types.iter().enumerate().filter(|(other, _)| *other != number);
    others.all(|(_, other)| {
        !(0..=128).any(|index| takes(&types[number], index) && takes(other, index))
    })
}

/// Returns true if a value of a type may have this type index.
fn takes(ty: &ParamType, index: i32) -> bool {
    match ty {
        ParamType::Scalar(Scalar::Ptr) => matches!(index, 0 | 1 | 4),
        ParamType::Scalar(scalar) if scalar.is_float() => matches!(index, 1..=3),
        ParamType::Scalar(_) => matches!(index, 1 | 2),
        ParamType::Tensor(_) => matches!(index, 7 | 70),
        ParamType::Union(types) => types.iter().any(|ty| takes(ty, index)),
        ParamType::Optional(inner) => index == 0 || takes(inner, index),
        ParamType::Leaf(_)
        | ParamType::Shape(_)
        | ParamType::Object(_)
        | ParamType::Sequence(..)
        | ParamType::Mapping(..)
        | ParamType::Tuple(_)
        | ParamType::Literal(_) => accepts(ty, index),
    }
}

/// Returns true if a value is of a type, whatever its contents are. What texts and literals say is part of their type.
fn is_of_type(received: &Received<'_>, given: &Argument) -> bool {
    let (index, payload) = words(given);
    match received.ty {
        ParamType::Scalar(scalar) => scalar.is_int() && matches!(index, 1 | 2),
        ParamType::Tensor(_) => matches!(index, 7 | 70) && payload != 0,
        ParamType::Shape(_) => {
            check_type(received, given).is_ok() && numbers(received, given).is_ok()
        }
        ParamType::Sequence(..) | ParamType::Mapping(..) | ParamType::Tuple(_) => {
            check_type(received, given).is_ok()
        }
        ParamType::Leaf(
            Leaf::Str
            | Leaf::Bytes
            | Leaf::DType
            | Leaf::Device
            | Leaf::Any
            | Leaf::Stream
            | Leaf::Handle,
        )
        | ParamType::Object(_)
        | ParamType::Union(_)
        | ParamType::Optional(_)
        | ParamType::Literal(_) => false,
    }
}
