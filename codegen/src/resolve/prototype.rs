//! The C types of kernels: how each kind of value is handed over.

use abi_spec::{Scalar, c_library};

use super::function::Argument;
use super::ids::ValueId;
use super::names::Names;
use super::value::Source;
use crate::declaration::{KernelCall, ParamType, is_text, literal_scalar};
use crate::ir::{AbiType, Extend, Signature, Type};

/// How a C function takes or returns a scalar.
pub(crate) fn abi_type(scalar: Scalar) -> AbiType {
    let ty = match scalar {
        Scalar::Bool | Scalar::Int8 | Scalar::Uint8 => Type::I8,
        Scalar::Int16 | Scalar::Uint16 | Scalar::Float16 | Scalar::BFloat16 => Type::I16,
        Scalar::Int32 | Scalar::Uint32 => Type::I32,
        Scalar::Int64 | Scalar::Uint64 => Type::I64,
        Scalar::Float32 => Type::F32,
        Scalar::Float64 => Type::F64,
        Scalar::Ptr => Type::Ptr,
    };
    let extend = match ty {
        Type::I8 | Type::I16 if scalar.is_signed() => Extend::Sign,
        Type::I8 | Type::I16 => Extend::Zero,
        Type::Bool | Type::I32 | Type::I64 | Type::F32 | Type::F64 | Type::Ptr => Extend::No,
    };
    AbiType { ty, extend }
}

/// How a C function yields its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Result {
    /// It yields none.
    None,
    /// It returns a scalar.
    Scalar(Scalar),
    /// It writes a value through its last argument.
    Written,
}

/// The C type of a function that a body calls.
pub(super) fn of_call(
    names: &Names<'_>,
    call: &KernelCall,
    args: &[Argument],
    result: Result,
) -> Signature {
    let types = |arg: &Argument| match arg {
        Argument::Value(value) => of_value(names, *value),
        Argument::Term(_, scalar) => vec![abi_type(*scalar)],
        Argument::Text(_) => vec![Type::Ptr.into(), Type::I64.into()],
    };
    let mut params: Vec<AbiType> = args.iter().flat_map(types).collect();
    let result = match result {
        Result::None => None,
        Result::Scalar(scalar) => Some(abi_type(scalar)),
        Result::Written => {
            params.push(Type::Ptr.into());
            None
        }
    };
    let result = if call.status.is_some() { Some(Type::I32.into()) } else { result };
    Signature { params, result }
}

/// The C types of the functions that allocate tensors.
pub(crate) fn of_c_library() -> [(&'static str, Signature); 2] {
    [
        (c_library::MALLOC, Signature::new(&[Type::I64], Some(Type::Ptr))),
        (c_library::FREE, Signature::new(&[Type::Ptr], None)),
    ]
}

fn of_value(names: &Names<'_>, value: ValueId) -> Vec<AbiType> {
    let pair = || vec![Type::Ptr.into(), Type::I64.into()];
    let value = &names.values[value];
    if let Source::Rest(_) = value.source {
        return pair();
    }
    match value.ty {
        ParamType::Scalar(scalar) => vec![abi_type(*scalar)],
        ParamType::Leaf(leaf) => {
            leaf.facts().passed.iter().map(|&scalar| abi_type(scalar)).collect()
        }
        ParamType::Shape(_) => pair(),
        ParamType::Tuple(_) => {
            value.children.iter().flat_map(|&child| of_value(names, child)).collect()
        }
        ParamType::Literal(literals) if is_text(literals) => pair(),
        ParamType::Literal(literals) => {
            vec![literal_scalar(literals).map_or(Type::Ptr.into(), abi_type)]
        }
        ParamType::Tensor(_)
        | ParamType::Object(_)
        | ParamType::Sequence(..)
        | ParamType::Mapping(..)
        | ParamType::Optional(_)
        | ParamType::Union(_) => vec![Type::Ptr.into()],
    }
}
