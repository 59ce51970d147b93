//! C prototypes: how values are passed to C functions.

use abi_spec::c_library::loader;
use abi_spec::{Scalar, c_library};

use super::argument::Argument;
use super::c_type::{CType, Prototype, ResultConvention};
use super::ids::ValueId;
use super::names::Names;
use super::term::{Kind, Node};
use super::value::Source;
use crate::declaration::{Expr, KernelCall, Leaf, ObjectClass, ParamType, is_text, literal_scalar};
use crate::ir::{Signature, Type};

/// Returns the type of a C function that a body calls with arguments, whose resolved forms are `args`.
pub(super) fn of_call(
    names: &Names<'_>,
    call: &KernelCall,
    args: &[Argument],
    result: &ResultConvention,
) -> Prototype {
    let types = |(expr, arg): (&Expr, &Argument)| match arg {
        Argument::Value(value) => of_value(names, *value),
        Argument::Term(term, _) if matches!(term.node, Node::Output(_)) => vec![CType::TENSOR],
        Argument::Term(term, _) if term.is_object() => vec![CType::OBJECT],
        Argument::Term(term, _) if term.kind == Kind::Ptr && names.is_read(term) => {
            vec![CType::READ_DATA]
        }
        Argument::Term(_, scalar) if matches!(expr, Expr::Cast(..)) => {
            vec![CType::of_conversion(*scalar)]
        }
        Argument::Term(_, scalar) => vec![CType::Scalar(*scalar)],
        Argument::Text(_) => text(),
    };
    let mut params: Vec<CType> = call.args.iter().zip(args).flat_map(types).collect();
    params.extend(result.stored().iter().map(|scalar| CType::Out(*scalar)));
    let returned = match result {
        ResultConvention::Returned(scalar) => Some(CType::Scalar(*scalar)),
        ResultConvention::Written => {
            params.push(CType::OUT_ANY);
            None
        }
        ResultConvention::None | ResultConvention::Stored(_) | ResultConvention::StoredAll(_) => {
            None
        }
    };
    let status = call.status.as_ref().map(|_| CType::Scalar(Scalar::Int32));
    Prototype { params, result: status.or(returned) }
}

/// Returns the functions of the C library that allocate tensors, with their types.
pub(crate) fn of_c_library() -> [(&'static str, Signature); 2] {
    [malloc(), free()]
}

/// Returns the functions of the platform that find the driver of a device, with their types.
pub(crate) fn of_loaders() -> [(&'static str, Signature); 5] {
    let find = Signature::new(&[Type::Ptr, Type::Ptr], Some(Type::Ptr));
    let open = Signature::new(&[Type::Ptr], Some(Type::Ptr));
    let open_with = Signature::new(&[Type::Ptr, Type::I32], Some(Type::Ptr));
    [
        (loader::DLOPEN, open_with),
        (loader::DLSYM, find.clone()),
        (loader::DLERROR, Signature::new(&[], Some(Type::Ptr))),
        (loader::LOAD_LIBRARY, open),
        (loader::GET_PROC_ADDRESS, find),
    ]
}

pub(crate) fn malloc() -> (&'static str, Signature) {
    (c_library::MALLOC, Signature::new(&[Type::I64], Some(Type::Ptr)))
}

pub(crate) fn free() -> (&'static str, Signature) {
    (c_library::FREE, Signature::new(&[Type::Ptr], None))
}

fn text() -> Vec<CType> {
    vec![CType::TEXT, CType::Scalar(Scalar::Int64)]
}

fn of_leaf(leaf: Leaf) -> Vec<CType> {
    let facts = leaf.facts();
    let c_type = |&scalar: &Scalar| match scalar == Scalar::Ptr {
        true => CType::Pointer(facts.address),
        false => CType::Scalar(scalar),
    };
    facts.passed.iter().map(c_type).collect()
}

pub(super) fn of_value(names: &Names<'_>, value: ValueId) -> Vec<CType> {
    let size = CType::Scalar(Scalar::Int64);
    let value = &names.values[value];
    if let Source::Rest(_) = value.source {
        return vec![CType::ANY, size];
    }
    match value.ty {
        ParamType::Scalar(scalar) => vec![CType::Scalar(*scalar)],
        ParamType::Leaf(leaf) => of_leaf(*leaf),
        ParamType::Shape(_) => vec![CType::In(Scalar::Int64), size],
        ParamType::Tuple(_) => {
            value.children.iter().flat_map(|&child| of_value(names, child)).collect()
        }
        ParamType::Literal(literals) if is_text(literals) => text(),
        ParamType::Literal(literals) => {
            vec![literal_scalar(literals).map_or(CType::ANY, CType::Scalar)]
        }
        ParamType::Tensor(tensor) if tensor.is_read() => vec![CType::READ_TENSOR],
        ParamType::Tensor(_) | ParamType::Object(ObjectClass::Tensor) => vec![CType::TENSOR],
        ParamType::Object(_) | ParamType::Sequence(..) | ParamType::Mapping(..) => {
            vec![CType::OBJECT]
        }
        ParamType::Optional(_) | ParamType::Union(_) => vec![CType::ANY],
    }
}
