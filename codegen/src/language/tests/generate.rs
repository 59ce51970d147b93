//! Random declarations that follow the whole grammar; they need not be valid.

use abi_spec::{DType, DeviceType, Scalar, TypeCode};
use proptest::collection::vec;
use proptest::num::f64 as float;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use super::generate_body::{body, location};
use crate::declaration::{
    Access, Constraint, Device, DeviceAttribute, Dim, Element, Function, Image, Library, Literal,
    Mapping, ObjectClass, Output, Param, ParamType, ResultType, Sequence, Shape, Signature,
    Strides, Tensor,
};
use crate::declaration::{BinaryOp, Builtin, Comparison, Expr, Leaf, Logic, Member};

const OPERATORS: &[BinaryOp] =
    &[BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul, BinaryOp::Div, BinaryOp::Rem];
const COMPARISONS: &[Comparison] = &[
    Comparison::Eq,
    Comparison::Ne,
    Comparison::Lt,
    Comparison::Le,
    Comparison::Gt,
    Comparison::Ge,
];
const BUILTINS: &[Builtin] = &[Builtin::CeilDiv, Builtin::Min, Builtin::Max];

/// Words that need backticks as names of values.
const RESERVED: &[&str] = &[
    "where", "try", "else", "and", "or", "not", "_", "min", "ceildiv", "stream", "null", "None",
    "True", "Shape", "Tensor", "Any", "str", "float32", "ptr", "bool",
];

/// Generates an identifier, which may be reserved.
pub(super) fn identifier() -> BoxedStrategy<String> {
    prop_oneof![
        4 => "[a-zA-Z_][a-zA-Z0-9_]{0,5}",
        1 => select(RESERVED).prop_map(str::to_owned),
    ]
    .boxed()
}

/// Generates a name of a function, a parameter or a symbol. It is boxed, since strategies that hold it live on the
/// stack.
pub(super) fn name() -> BoxedStrategy<String> {
    prop_oneof![
        5 => identifier(),
        1 => "[^\\p{Cc}`]{1,9}",
    ]
    .boxed()
}

fn scalar() -> impl Strategy<Value = Scalar> {
    select(&Scalar::ALL)
}

fn dtype() -> impl Strategy<Value = DType> {
    let lanes = prop_oneof![Just(1), 2..0x8000u16];
    (select(&TypeCode::ALL), any::<u8>(), lanes)
        .prop_map(|(code, bits, lanes)| {
            DType::new(code, code.implied_bits().unwrap_or(bits), lanes)
        })
        .prop_filter("has no name", |dtype| dtype.to_string().parse() == Ok(*dtype))
}

fn member() -> impl Strategy<Value = Member> {
    prop_oneof![
        select(&Member::PLAIN).prop_map(|(_, member)| member),
        any::<i32>().prop_map(Member::Shape),
        any::<i32>().prop_map(Member::Strides),
    ]
}

/// Generates an expression of a few levels.
pub(super) fn expr() -> BoxedStrategy<Expr> {
    let finite = float::POSITIVE | float::NEGATIVE | float::NORMAL | float::SUBNORMAL | float::ZERO;
    let leaf = prop_oneof![
        any::<i64>().prop_map(Expr::Int),
        (-3..3i64).prop_map(Expr::Int),
        (1 << 63..=u64::MAX).prop_map(Expr::Unsigned),
        finite.prop_map(Expr::Float),
        Just(Expr::Null),
        Just(Expr::None),
        any::<bool>().prop_map(Expr::Bool),
        text().prop_map(Expr::Text),
        name().prop_map(Expr::Name),
    ];
    leaf.prop_recursive(6, 40, 2, |inner| {
        let boxed = inner.clone().prop_map(Box::new);
        prop_oneof![
            (select(OPERATORS), boxed.clone(), boxed.clone())
                .prop_map(|(op, a, b)| Expr::Binary(op, a, b)),
            (select(BUILTINS), boxed.clone(), boxed.clone())
                .prop_map(|(builtin, a, b)| Expr::Call(builtin, a, b)),
            (select(COMPARISONS), boxed.clone(), boxed.clone())
                .prop_map(|(op, a, b)| Expr::Compare(op, a, b)),
            (select(&[Logic::And, Logic::Or]), boxed.clone(), boxed.clone())
                .prop_map(|(op, a, b)| Expr::Logic(op, a, b)),
            boxed.clone().prop_map(Expr::Not),
            vec(inner.clone(), 0..3).prop_map(Expr::Array),
            vec(inner.clone(), 0..3).prop_map(Expr::Shape),
            (inner, member()).prop_map(|(base, member)| base.member(member)),
            (boxed.clone(), boxed.clone()).prop_map(|(of, index)| Expr::Element(of, index)),
            (boxed.clone(), element_name()).prop_map(|(of, name)| Expr::Field(of, name)),
            boxed.clone().prop_map(Expr::Neg),
            boxed.clone().prop_map(Expr::Stream),
            Just(Expr::CurrentDevice),
            (identifier(), text()).prop_map(|(image, name)| Expr::global(image, name)),
            (boxed.clone(), device_attribute())
                .prop_map(|(of, attribute)| Expr::DeviceAttribute(of, attribute)),
            (scalar(), boxed).prop_map(|(scalar, inner)| Expr::Cast(scalar, inner)),
        ]
    })
    .boxed()
}

fn device_attribute() -> impl Strategy<Value = DeviceAttribute> {
    prop_oneof![
        Just(DeviceAttribute::Multiprocessors),
        (0..=i32::MAX as u32).prop_map(DeviceAttribute::Other),
    ]
}

fn dims() -> impl Strategy<Value = Vec<Dim>> {
    vec(prop_oneof![Just(Dim::Any), expr().prop_map(Dim::Expr)], 0..4)
}

pub(super) fn tensor() -> impl Strategy<Value = Tensor> {
    let some_dims = || dims().prop_filter("no dims", |dims| !dims.is_empty());
    let shape = prop_oneof![
        Just(Shape::AnyRank),
        dims().prop_map(Shape::Dims),
        some_dims().prop_map(|dims| Shape::Trailing { folds: false, dims }),
        (name(), dims()).prop_map(|(outer, dims)| Shape::folded(&outer, dims)),
    ];
    let strides =
        prop_oneof![Just(Strides::Contiguous), Just(Strides::Any), dims().prop_map(Strides::List)];
    let device = prop_oneof![Just(Device::Any), select(&DeviceType::ALL).prop_map(Device::Type)];
    let align = option::of(prop_oneof![any::<u64>(), (0..8).prop_map(|n| 1u64 << n)]);
    let access = select(&Access::ALL);
    (shape, element_types(), any::<bool>(), strides, device, align, access)
        .prop_map(|(shape, element_types, storage, strides, device, align, access)| {
            let (dtypes, any_dtype, dtype_symbol) = element_types;
            let has_dots = shape.is_trailing() && !shape.folds();
            let is_empty = has_dots && strides == Strides::List(Vec::new());
            let strides = if is_empty { Strides::Any } else { strides };
            let tensor = Tensor {
                shape,
                dtypes,
                any_dtype,
                dtype_symbol,
                storage,
                strides,
                device,
                align: None,
                access,
            };
            let align = align.filter(|align| Some(*align) != tensor.natural_alignment());
            Tensor { align, ..tensor }
        })
        .boxed()
}

/// Generates element types, or a symbol for one, or both.
fn element_types() -> impl Strategy<Value = (Vec<DType>, bool, Option<String>)> {
    let words = ["int", "any"].map(str::to_owned);
    let symbol = move || {
        prop_oneof![name(), dtype().prop_map(|dtype| dtype.to_string()), select(words.to_vec())]
    };
    prop_oneof![
        vec(dtype(), 1..4).prop_map(|dtypes| (dtypes, false, None)),
        (vec(dtype(), 1..4), symbol()).prop_map(|(dtypes, name)| (dtypes, false, Some(name))),
        symbol().prop_map(|symbol| (Vec::new(), false, Some(symbol))),
        option::of(symbol()).prop_map(|symbol| (Vec::new(), true, symbol)),
    ]
}

/// Generates a name of an element of a tuple.
fn element_name() -> impl Strategy<Value = String> {
    name().prop_filter("a member", |word| !Member::is_name(word))
}

fn literal() -> impl Strategy<Value = Literal> {
    let finite = float::POSITIVE | float::NEGATIVE | float::NORMAL | float::SUBNORMAL | float::ZERO;
    prop_oneof![
        Just(Literal::None),
        any::<bool>().prop_map(Literal::Bool),
        any::<i64>().prop_map(Literal::Int),
        finite.prop_map(Literal::Float),
        text().prop_map(Literal::Str),
    ]
}

fn class() -> impl Strategy<Value = ObjectClass> {
    let simple =
        [ObjectClass::Function, ObjectClass::Module, ObjectClass::Tensor, ObjectClass::Any];
    prop_oneof![
        (0..simple.len()).prop_map(move |index| simple[index].clone()),
        text().prop_map(ObjectClass::Key)
    ]
}

/// Generates a type of a few levels.
pub(super) fn param_type() -> impl Strategy<Value = ParamType> {
    let simple = [
        ParamType::Leaf(Leaf::Str),
        ParamType::Leaf(Leaf::Bytes),
        ParamType::Leaf(Leaf::DType),
        ParamType::Leaf(Leaf::Device),
        ParamType::Shape(Shape::AnyRank),
        ParamType::Leaf(Leaf::Any),
        ParamType::Leaf(Leaf::Stream),
    ];
    let leaf = prop_oneof![
        4 => scalar().prop_map(ParamType::Scalar),
        4 => tensor().prop_map(ParamType::Tensor),
        2 => (0..simple.len()).prop_map(move |index| simple[index].clone()),
        1 => dims().prop_map(|dims| ParamType::Shape(Shape::Dims(dims))),
        1 => class().prop_map(ParamType::Object),
        1 => vec(literal(), 0..4).prop_map(ParamType::Literal),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        let boxed = inner.clone().prop_map(Box::new);
        let element =
            (option::of(element_name()), inner.clone()).prop_map(|(name, ty)| Element { name, ty });
        let pair = [inner.clone(), inner.clone()].prop_map(Box::new);
        prop_oneof![
            (select(&[Sequence::Array, Sequence::List]), boxed.clone())
                .prop_map(|(sequence, element)| ParamType::Sequence(sequence, element)),
            (select(&[Mapping::Map, Mapping::Dict]), pair)
                .prop_map(|(mapping, types)| ParamType::Mapping(mapping, types)),
            vec(element, 0..4).prop_map(ParamType::Tuple),
            boxed.prop_map(ParamType::Optional),
            vec(inner, 0..4).prop_map(ParamType::Union),
        ]
    })
}

fn param() -> impl Strategy<Value = Param> {
    (name(), param_type(), option::of(literal()), any::<bool>()).prop_map(
        |(name, ty, default, variadic)| Param { default, variadic, ..Param::new(name, ty) },
    )
}

/// Generates a text that may stand in quotes.
pub(super) fn text() -> impl Strategy<Value = String> {
    "[^\\p{Cc}]{0,9}"
}

fn result() -> impl Strategy<Value = ResultType> {
    let output = (name(), tensor()).prop_map(|(name, tensor)| Output { name, tensor });
    prop_oneof![
        Just(ResultType::None),
        param_type().prop_map(ResultType::Value),
        vec(output, 1..3).prop_map(ResultType::Allocated),
    ]
}

/// Generates a signature, with or without constraints.
pub(super) fn signature() -> impl Strategy<Value = Signature> {
    let constraint = (expr(), option::of(text()))
        .prop_map(|(condition, message)| Constraint { condition, message });
    let name = prop_oneof![4 => name(), 1 => Just("extern".to_owned())];
    (name, vec(param(), 0..4), result(), vec(constraint, 0..3)).prop_map(
        |(name, params, result, constraints)| Signature {
            params,
            result,
            constraints,
            ..Signature::new(name)
        },
    )
}

/// Generates a library of a few functions.
pub(super) fn library() -> impl Strategy<Value = Library> {
    let docs = || "([^\\p{Cc}]{0,9}[\n\t ]{0,3}){0,3}";
    let documented = (signature(), vec(docs(), 0..3)).prop_map(|(mut signature, docs)| {
        signature.params.iter_mut().zip(docs).for_each(|(param, docs)| param.docs = docs);
        signature
    });
    let function = (docs(), option::of(location()), documented, body(), any::<bool>()).prop_map(
        |(docs, location, signature, body, external)| Function {
            docs,
            location,
            external,
            ..signature.body(body)
        },
    );
    let image = (identifier(), option::of(text()))
        .prop_map(|(name, on_load)| Image { on_load, ..Image::new(name) });
    (vec(image, 0..3), vec(function, 0..4))
        .prop_map(|(images, functions)| Library { images, ..Library::from(functions) })
}
