//! C types: how each kind of value is handed over, to kernels and by callers.

use abi_spec::{Scalar, c_library};

use super::function::Argument;
use super::ids::ValueId;
use super::names::Names;
use super::term::Node;
use super::value::Source;
use crate::declaration::{KernelCall, Leaf, ParamType, is_text, literal_scalar};
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
        Type::I8 if scalar == Scalar::Bool => Extend::Truth,
        Type::I8 | Type::I16 if scalar.is_signed() => Extend::Sign,
        Type::I8 | Type::I16 => Extend::Zero,
        Type::Bool | Type::I32 | Type::I64 | Type::F32 | Type::F64 | Type::Ptr => Extend::No,
    };
    AbiType { ty, extend }
}

/// A type of C.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CType {
    /// A number or an opaque pointer.
    Scalar(Scalar),
    /// Where scalars are that are read.
    In(Scalar),
    /// Where a scalar is written.
    Out(Scalar),
    /// Another pointer, with its spelling.
    Pointer(&'static str),
}

/// The pointers that have names.
impl CType {
    pub(crate) const TENSOR: CType = CType::Pointer("DLTensor*");
    pub(crate) const OBJECT: CType = CType::Pointer("TVMFFIObject*");
    pub(crate) const ANY: CType = CType::Pointer("const TVMFFIAny*");
    pub(crate) const OUT_ANY: CType = CType::Pointer("TVMFFIAny*");
    pub(crate) const TEXT: CType = CType::Pointer("const char*");
}

impl CType {
    /// How it is passed and returned.
    pub(crate) fn abi(self) -> AbiType {
        match self {
            CType::Scalar(scalar) => abi_type(scalar),
            CType::In(_) | CType::Out(_) | CType::Pointer(_) => Type::Ptr.into(),
        }
    }

    /// Its spelling.
    pub(crate) fn spelling(self) -> String {
        match self {
            CType::Scalar(scalar) => c_name(scalar).to_owned(),
            CType::In(scalar) => format!("const {}*", c_name(scalar)),
            CType::Out(scalar) => format!("{}*", c_name(scalar)),
            CType::Pointer(name) => name.to_owned(),
        }
    }
}

/// What C calls a scalar; a `bool` is one byte in any dialect.
fn c_name(scalar: Scalar) -> &'static str {
    match scalar {
        Scalar::Bool | Scalar::Uint8 => "uint8_t",
        Scalar::Int8 => "int8_t",
        Scalar::Int16 => "int16_t",
        Scalar::Int32 => "int32_t",
        Scalar::Int64 => "int64_t",
        Scalar::Uint16 | Scalar::Float16 | Scalar::BFloat16 => "uint16_t",
        Scalar::Uint32 => "uint32_t",
        Scalar::Uint64 => "uint64_t",
        Scalar::Float32 => "float",
        Scalar::Float64 => "double",
        Scalar::Ptr => "void*",
    }
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

/// The type of a C function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Prototype {
    /// Its parameters.
    pub(crate) params: Vec<CType>,
    /// What it returns.
    pub(crate) result: Option<CType>,
}

impl Prototype {
    /// The same for code.
    pub(crate) fn signature(&self) -> Signature {
        let params = self.params.iter().map(|ty| ty.abi()).collect();
        Signature { params, result: self.result.map(CType::abi) }
    }
}

/// The type of a function that a body calls.
pub(super) fn of_call(
    names: &Names<'_>,
    call: &KernelCall,
    args: &[Argument],
    result: Result,
) -> Prototype {
    let types = |arg: &Argument| match arg {
        Argument::Value(value) => of_value(names, *value),
        Argument::Term(term, _) if matches!(term.node, Node::Output(_)) => vec![CType::TENSOR],
        Argument::Term(_, scalar) => vec![CType::Scalar(*scalar)],
        Argument::Text(_) => text(),
    };
    let mut params: Vec<CType> = args.iter().flat_map(types).collect();
    let result = match result {
        Result::None => None,
        Result::Scalar(scalar) => Some(CType::Scalar(scalar)),
        Result::Written => {
            params.push(CType::OUT_ANY);
            None
        }
    };
    let status = call.status.as_ref().map(|_| CType::Scalar(Scalar::Int32));
    Prototype { params, result: status.or(result) }
}

/// The C types of the functions that allocate tensors.
pub(crate) fn of_c_library() -> [(&'static str, Signature); 2] {
    [
        (c_library::MALLOC, Signature::new(&[Type::I64], Some(Type::Ptr))),
        (c_library::FREE, Signature::new(&[Type::Ptr], None)),
    ]
}

fn text() -> Vec<CType> {
    vec![CType::TEXT, CType::Scalar(Scalar::Int64)]
}

/// As the table of leaves says; their addresses have names in C.
fn of_leaf(leaf: Leaf) -> Vec<CType> {
    let spelled = |&scalar: &Scalar| match (leaf, scalar) {
        (Leaf::Str | Leaf::Bytes, Scalar::Ptr) => CType::TEXT,
        (Leaf::Any, Scalar::Ptr) => CType::ANY,
        (_, scalar) => CType::Scalar(scalar),
    };
    leaf.facts().passed.iter().map(spelled).collect()
}

fn of_value(names: &Names<'_>, value: ValueId) -> Vec<CType> {
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
        ParamType::Tensor(_) => vec![CType::TENSOR],
        ParamType::Object(_) | ParamType::Sequence(..) | ParamType::Mapping(..) => {
            vec![CType::OBJECT]
        }
        ParamType::Optional(_) | ParamType::Union(_) => vec![CType::ANY],
    }
}
