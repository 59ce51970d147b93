//! Generator of arguments that fit a function, followed by a few random changes.

use std::collections::BTreeMap;

use abi_spec::{DType, Device, DeviceType, Scalar};
use codegen::{BinaryOp, Builtin, Dim, Expr, Function, ParamType, Shape, StatementKind, Strides};

use super::{Choices, kinds};
use crate::argument::{Argument, Tensor};

/// Generates arguments for a call.
pub fn arguments(choices: &mut Choices<'_>, function: &Function) -> Vec<Argument> {
    let mut values = Values::new(choices);
    let mut arguments: Vec<Argument> = Vec::new();
    for param in &function.signature.params {
        let is_int = matches!(&param.ty, ParamType::Scalar(scalar) if scalar.is_int());
        arguments.push(if is_int {
            Argument::Int(symbol(choices, &mut values, &param.name))
        } else {
            kinds::fitting(choices, &mut values, &param.ty)
        });
    }
    for _ in 0..choices.pick(&[0, 0, 1, 0, 1, 2]) {
        if !arguments.is_empty() {
            let at = choices.below(arguments.len());
            let ty = &function.signature.params[at].ty;
            change(choices, &mut arguments[at], ty);
        }
    }
    match choices.below(100) {
        98 => drop(arguments.pop()),
        99 => arguments.push(Argument::None),
        _ => {}
    }
    if makes_function(function).is_some() {
        arguments.iter_mut().for_each(own);
    }
    arguments
}

/// Returns the innermost function that a body makes.
pub fn makes_function(function: &Function) -> Option<&Function> {
    let made = function.body.statements().filter_map(|statement| {
        let StatementKind::Let { value: Expr::Function(made), .. } = &statement.kind else {
            return None;
        };
        Some(&**made)
    });
    made.last()
}

/// Replaces a value that no function can hold: a tensor by an object, an object or text that is NULL by None.
pub fn own(argument: &mut Argument) {
    if let Argument::Tensor(tensor) = argument {
        tensor.object = true;
    } else if let Argument::RValue(Some(inner)) = argument {
        own(inner);
    } else if let Argument::RValue(None) = argument {
        *argument = Argument::None;
    } else if let Argument::Raw { index, payload: 0 } = argument
        && !matches!(index, 0..=6)
    {
        *argument = Argument::None;
    }
}

/// The symbols of a call.
pub(super) struct Values {
    /// The values that are chosen already.
    known: BTreeMap<String, i64>,
    /// True if most integers are from the edges of their types.
    edges: bool,
}

impl Values {
    /// Chooses whether a call has integers from the edges.
    pub(super) fn new(choices: &mut Choices<'_>) -> Values {
        Values { known: BTreeMap::new(), edges: choices.once_in(2) }
    }
}

/// Numbers whose sums and products leave `int64`, or just do not.
const EDGES: [i64; 26] = [
    i64::MAX,
    i64::MIN,
    i64::MAX - 1,
    i64::MIN + 1,
    1 << 62,
    (1 << 62) + 1,
    (1 << 62) - 1,
    -(1 << 62),
    -(1 << 62) - 1,
    1 << 32,
    (1 << 32) + 1,
    (1 << 32) - 1,
    -(1 << 32),
    1 << 31,
    (1 << 31) - 1,
    (1 << 31) + 1,
    -(1 << 31),
    -(1 << 31) - 1,
    // The quotients of 2^63 by 2, 3, 5 and 7, and its root.
    1 << 61,
    i64::MAX / 3,
    i64::MAX / 3 + 1,
    i64::MIN / 5,
    i64::MAX / 7,
    3_037_000_499,
    3_037_000_500,
    -3_037_000_500,
];

/// Returns the value of a symbol, chosen at its first use.
pub(super) fn symbol(choices: &mut Choices<'_>, values: &mut Values, name: &str) -> i64 {
    if let Some(value) = values.known.get(name) {
        return *value;
    }
    let value = if values.edges && !choices.once_in(4) {
        choices.pick(&EDGES)
    } else {
        choices.pick(&[2, 3, 4, 1, 5, 0, 6, 2, 3, 8, 1, 2, 4, 3, -1])
    };
    values.known.insert(name.to_owned(), value);
    value
}

/// Returns the value of a dim; 1 if it has none.
fn dim(choices: &mut Choices<'_>, values: &mut Values, dim: &Dim) -> i64 {
    match dim {
        Dim::Any => choices.pick(&[1, 2, 3, 0]),
        Dim::Expr(expr) => evaluate(choices, values, expr),
    }
}

pub(super) fn evaluate(choices: &mut Choices<'_>, values: &mut Values, expr: &Expr) -> i64 {
    match expr {
        Expr::Int(value) => *value,
        Expr::Unsigned(value) => value.cast_signed(),
        Expr::Name(name) => symbol(choices, values, name),
        Expr::Neg(inner) => evaluate(choices, values, inner).wrapping_neg(),
        Expr::Binary(op, a, b) => {
            let [a, b] = [a, b].map(|e| evaluate(choices, values, e));
            match op {
                BinaryOp::Add => a.wrapping_add(b),
                BinaryOp::Sub => a.wrapping_sub(b),
                BinaryOp::Mul => a.wrapping_mul(b),
                BinaryOp::Div => a.checked_div_euclid(b).unwrap_or(1),
                BinaryOp::Rem => a.checked_rem_euclid(b).unwrap_or(1),
            }
        }
        Expr::Call(builtin, a, b) => {
            let [a, b] = [a, b].map(|e| evaluate(choices, values, e));
            match builtin {
                Builtin::Min => a.min(b),
                Builtin::Max => a.max(b),
                Builtin::CeilDiv => {
                    a.checked_div_euclid(b).map_or(1, |quotient| quotient.wrapping_add(1))
                }
            }
        }
        Expr::Float(_)
        | Expr::Text(_)
        | Expr::Null
        | Expr::Member(..)
        | Expr::Element(..)
        | Expr::Field(..)
        | Expr::Stream(_)
        | Expr::DeviceAttribute(..)
        | Expr::CurrentDevice
        | Expr::Global(_)
        | Expr::Cast(..)
        | Expr::Bool(_)
        | Expr::None
        | Expr::Compare(..)
        | Expr::Not(_)
        | Expr::Logic(..)
        | Expr::Array(_)
        | Expr::Shape(_)
        | Expr::Function(_) => 1,
    }
}

pub(super) fn fitting_scalar(choices: &mut Choices<'_>, scalar: Scalar) -> Argument {
    if scalar == Scalar::Ptr {
        Argument::Pointer(choices.pick(&[4096, 0]))
    } else if scalar == Scalar::Bool {
        Argument::Bool(choices.below(2) == 0)
    } else {
        Argument::Float(choices.pick(&FLOATS))
    }
}

const FLOATS: [f64; 14] = [
    0.0,
    1.0,
    -0.0,
    0.1,
    -2.5,
    65519.0,
    65520.0,
    1e-7,
    2.98e-8,
    1e39,
    f64::INFINITY,
    f64::NAN,
    5e-324,
    1.000488281250001,
];

pub(super) fn fitting_tensor(
    choices: &mut Choices<'_>,
    values: &mut Values,
    declared: &codegen::Tensor,
) -> Tensor {
    let shape: Vec<i64> = match &declared.shape {
        Shape::AnyRank => (0..choices.below(4)).map(|_| choices.pick(&[2, 3, 1, 0])).collect(),
        Shape::Dims(dims) => dims.iter().map(|entry| dim(choices, values, entry)).collect(),
        Shape::Trailing { folds, dims } => {
            let mut declared = dims.iter().map(|entry| dim(choices, values, entry));
            let outer = if *folds { declared.next() } else { None };
            let declared: Vec<i64> = declared.collect();
            let mut shape = leading(choices, outer);
            shape.extend(declared);
            shape
        }
    };
    // The element types of a tensor that has a name for its own are mostly the first of those of the generator.
    let dtype = match &declared.dtypes[..] {
        [] => choices.pick(&[DType::FLOAT32, DType::FLOAT32, DType::FLOAT32, DType::INT8]),
        dtypes if declared.dtype_symbol.is_some() && !choices.once_in(4) => dtypes[0],
        dtypes => choices.pick(dtypes),
    };
    let mut tensor = Tensor::new(dtype, &shape);
    tensor.strides = match &declared.strides {
        Strides::List(list) => {
            let list: Vec<i64> = list.iter().map(|entry| dim(choices, values, entry)).collect();
            Some(all_strides(&declared.shape, &shape, &list))
        }
        Strides::Any => choices
            .once_in(2)
            .then(|| shape.iter().map(|_| choices.pick(&[1, 2, 0, -1, 100])).collect()),
        Strides::Contiguous => choices.once_in(2).then(|| tensor.compact_strides()),
    };
    tensor.device = match declared.device {
        codegen::Device::Type(DeviceType::CPU) => Device::CPU,
        codegen::Device::Type(ty) => Device { ty, id: 1 },
        codegen::Device::Any => {
            Device { ty: choices.pick(&[DeviceType::CUDA, DeviceType::CPU]), id: 1 }
        }
    };
    tensor.object = choices.once_in(3);
    if choices.once_in(6) {
        (tensor.data, tensor.byte_offset) =
            choices.pick(&[(Some(256), 256), (Some(8), -8_i64 as u64)]);
    }
    tensor
}

/// Generates leading extents; their product is `outer` if it is given.
fn leading(choices: &mut Choices<'_>, outer: Option<i64>) -> Vec<i64> {
    let Some(outer) = outer else {
        return (0..choices.below(3)).map(|_| choices.pick(&[2, 3, 1, 0])).collect();
    };
    match choices.below(4) {
        0 if outer == 1 => Vec::new(),
        1 if outer % 2 == 0 => vec![2, 1, outer / 2],
        2 => vec![1, outer, 1],
        3 if outer == 0 => vec![i64::MAX, 0, 2],
        _ => vec![outer],
    }
}

/// Returns the strides of all dims, given those of the declared dims. Leading dims are one dim in memory.
fn all_strides(declared: &Shape, shape: &[i64], list: &[i64]) -> Vec<i64> {
    let Shape::Trailing { folds, dims } = declared else { return list.to_vec() };
    let own = if *folds { &list[1..] } else { list };
    let mut strides = own.to_vec();
    let mut next = list.first().copied().unwrap_or(1);
    for extent in shape[..shape.len() + usize::from(*folds) - dims.len()].iter().rev() {
        strides.insert(0, next);
        next = next.wrapping_mul(*extent);
    }
    strides
}

/// Replaces an argument by another of its kind or of another kind.
pub(super) fn change(choices: &mut Choices<'_>, argument: &mut Argument, ty: &ParamType) {
    if choices.once_in(16) {
        *argument = stranger(choices);
        return;
    }
    match (argument, ty) {
        (Argument::Tensor(tensor), _) => change_tensor(choices, tensor),
        (argument, ParamType::Scalar(scalar)) if scalar.is_int() => {
            *argument = match choices.once_in(4) {
                true => big_int(choices),
                false => Argument::Int(edge(choices, *scalar)),
            };
        }
        (argument, ParamType::Scalar(scalar)) => *argument = fitting_scalar(choices, *scalar),
        (argument, ParamType::Tensor(_)) => *argument = stranger(choices),
        (argument, other) => kinds::change(choices, argument, other),
    }
}

/// Generates an integer outside `int64`, perhaps inside `uint64`.
fn big_int(choices: &mut Choices<'_>) -> Argument {
    let (low, high) = (i128::from(i64::MIN), i128::from(u64::MAX));
    let values = [-low, high, high + 1, low - 1, -high, 1 << 100, i128::MIN, i128::MAX];
    Argument::BigInt(choices.pick(&values))
}

/// Generates a value near the limits of an integer type.
fn edge(choices: &mut Choices<'_>, scalar: Scalar) -> i64 {
    let bits = scalar.bits() - u32::from(scalar.is_signed());
    let high = if bits >= 63 { i64::MAX } else { (1 << bits) - 1 };
    let low = if scalar.is_signed() { -high - 1 } else { 0 };
    let values = [high, low, high.wrapping_add(1), low.wrapping_sub(1), 0, 1, 7, i64::MIN, 1 << 32];
    choices.pick(&values)
}

/// Generates a value of any type.
pub(super) fn stranger(choices: &mut Choices<'_>) -> Argument {
    match choices.below(20) {
        0 => Argument::None,
        1 => Argument::Bool(true),
        2 => Argument::Int(choices.pick(&[0, 3, -1, i64::MAX])),
        3 => Argument::Float(choices.pick(&FLOATS)),
        4 => Argument::Pointer(choices.pick(&[0, 64])),
        5 => Argument::Str("text".to_owned()),
        6 => Argument::Bytes(b"more than seven".to_vec()),
        7 => Argument::Device(Device::CPU),
        8 => Argument::DType(DType::INT8),
        9 => Argument::Object(choices.pick(&[67, 68, 69, 71, 72, 78, 64])),
        10 => Argument::Raw { index: choices.pick(&[7, 70, 8, 9, 65, 71]), payload: 0 },
        11 => Argument::Raw { index: choices.pick(&[1, 2, 3]), payload: choices.pick(&[-1, 77]) },
        12 => {
            let index = choices.pick(&[-1, 14, 63, 79, 127, 128, 200, i32::MAX, i32::MIN]);
            Argument::Raw { index, payload: 0 }
        }
        13 => Argument::Array(vec![Argument::Int(1), Argument::Str("x".to_owned())]),
        14 => Argument::List(vec![Argument::Float(0.5)]),
        15 => match choices.below(3) {
            0 => Argument::Function,
            1 => Argument::Shape(vec![1, 2]),
            _ => Argument::Registered(vec!["test.Other".to_owned()]),
        },
        16 => Argument::Small {
            index: choices.pick(&[11, 12]),
            text: b"ab".to_vec(),
            length: choices.pick(&[2, 8, u32::MAX]),
        },
        17 => Argument::RValue(choices.once_in(2).then(|| Box::new(Argument::Error))),
        18 => big_int(choices),
        _ => Argument::Tensor(Tensor::new(DType::FLOAT32, &[3])),
    }
}

fn change_tensor(choices: &mut Choices<'_>, tensor: &mut Tensor) {
    let rank = tensor.shape.len();
    match choices.below(16) {
        0..=2 if rank > 0 => {
            let extent = &mut tensor.shape[choices.below(rank)];
            let other = choices.pick(&[1, 0, 0, 7, -1, i64::MAX, i64::MIN]);
            *extent = if choices.once_in(2) { extent.wrapping_add(1) } else { other };
        }
        3..=6 if rank > 0 => {
            let mut strides = tensor.strides.clone().unwrap_or_else(|| tensor.compact_strides());
            let stride = &mut strides[choices.below(rank)];
            let other = choices.pick(&[1, 0, -1, 99, i64::MIN]);
            *stride = if choices.once_in(2) { stride.wrapping_add(1) } else { other };
            tensor.strides = Some(strides);
        }
        7 => tensor.strides = None,
        8 => tensor.strides = Some(tensor.compact_strides()),
        9 => {
            tensor.shape.push(choices.pick(&[1, 2]));
            tensor.strides.iter_mut().for_each(|strides| strides.push(1));
        }
        10 => {
            tensor.dtype = choices.pick(&[
                DType::FLOAT32,
                DType::INT8,
                DType::UINT8,
                DType { lanes: 2, ..tensor.dtype },
                DType { code: 99, bits: 7, lanes: 0 },
            ]);
        }
        11 => {
            let ty = choices.pick(&[
                DeviceType::CUDA,
                DeviceType::CPU,
                DeviceType::ROCM,
                DeviceType(77),
            ]);
            tensor.device = Device { ty, id: choices.pick(&[0, 1, 2, -1]) };
        }
        12 => tensor.data = None,
        13 => tensor.data = Some(choices.pick(&[1, 2, 4, 8, 16, 64])),
        14 => tensor.byte_offset = choices.pick(&[4, 16, -4_i64 as u64, 256, 1 << 63]),
        _ if choices.once_in(2) => tensor.ndim = Some(choices.pick(&[-1, i32::MIN])),
        _ => tensor.null_shape = true,
    }
}
