//! Generator of types of parameters other than scalars and tensors, and of their values.

use abi_spec::{DType, Device, DeviceType, Scalar};
use codegen::{Dim, Leaf, Literal, ObjectClass, ParamType, Shape};

use super::Choices;
use super::arguments::{Values, evaluate, fitting_scalar, fitting_tensor, stranger};
use super::declaration::Names;
use super::expression::{HOSTILE, hostile};
use crate::argument::{Argument, Tensor};

/// Key of a user's class.
const CLASS: &str = "test.Thing";

/// Position of a type in a parameter.
#[derive(Clone)]
pub(super) struct At {
    /// Path of the value in expressions; `None` for elements of a sequence.
    path: Option<String>,
    /// Symbols that only this parameter mentions, or only this and others of such types.
    own: [String; 2],
    /// Path of the optional value that must be there, if it is known.
    guard: Option<String>,
    /// Levels of types that may still be nested.
    depth: usize,
    /// True if the value is never missing.
    certain: bool,
}

impl At {
    pub(super) fn param(choices: &mut Choices<'_>, names: &Names, name: &str) -> At {
        let is_shared = choices.once_in(2);
        let own = names.words.shared.map(|symbol| match is_shared {
            true => symbol.to_owned(),
            false => format!("{symbol}_{name}"),
        });
        At { path: Some(name.to_owned()), own, guard: None, depth: 2, certain: true }
    }

    fn inside(&self, suffix: &str) -> At {
        let path = self.path.as_ref().map(|path| format!("{path}{suffix}"));
        At { path, depth: self.depth - 1, ..self.clone() }
    }

    fn many(&self) -> At {
        At { path: None, guard: None, depth: self.depth - 1, certain: false, ..self.clone() }
    }

    /// Lets expressions mention a part of the value.
    fn offer(&self, names: &mut Names, part: &str) {
        names.ints.extend(self.path.iter().map(|path| format!("{path}{part}")));
    }

    /// Lets programs take the value apart, if it is a parameter.
    fn offer_match<'t>(&self, names: &mut Names, types: impl IntoIterator<Item = &'t str>) {
        let path = self.path.as_ref().filter(|path| !path.contains(['.', '[']));
        let types: Vec<String> = types.into_iter().map(str::to_owned).collect();
        names.matched.extend(path.map(|path| (path.clone(), types)));
    }
}

/// Generates a type of a whole parameter that is neither scalar nor tensor.
pub(super) fn kind(choices: &mut Choices<'_>, names: &mut Names, at: &At) -> String {
    match choices.below(16) {
        0..=2 => optional(choices, names, at),
        3..=5 => tuple(choices, names, at),
        6 | 7 => sequence(choices, names, at),
        8 => union(choices, names, at),
        _ => simple(choices, names, at),
    }
}

/// Generates a type without nested types.
fn simple(choices: &mut Choices<'_>, names: &mut Names, at: &At) -> String {
    match choices.below(14) {
        0 | 1 => {
            if at.certain {
                names.texts.extend(at.path.clone());
            }
            sized(names, at, "str")
        }
        12 => format!("Literal[{}, {}]", hostile(choices), "\"sum\""),
        13 => format!("Literal[{}, 1]", hostile(choices)),
        2 => sized(names, at, "bytes"),
        3 => "dtype".to_owned(),
        4 => "Device".to_owned(),
        5 => sized(names, at, "Shape"),
        6 => shape(choices, names, at),
        7 => choices.pick(&["Function", "Object", "Object[\"test.Thing\"]", "Any"]).to_owned(),
        8 => choices.pick(&["Stream", "handle"]).to_owned(),
        9 => "Literal[1, 2, -5]".to_owned(),
        10 => "Literal[\"sum\", \"a longer mean\"]".to_owned(),
        _ => "Literal[True, \"auto\"]".to_owned(),
    }
}

fn sized(names: &mut Names, at: &At, ty: &str) -> String {
    at.offer(names, ".size");
    ty.to_owned()
}

fn shape(choices: &mut Choices<'_>, names: &mut Names, at: &At) -> String {
    let rank = choices.pick(&[2, 1, 3]);
    let dims: Vec<String> = (0..rank).map(|_| dim(choices, names, at)).collect();
    at.offer(names, ".size");
    format!("Shape([{}])", dims.join(", "))
}

fn dim(choices: &mut Choices<'_>, names: &mut Names, at: &At) -> String {
    let [u, v] = &at.own;
    match choices.below(10) {
        0..=3 => {
            names.guarded.extend(at.guard.iter().map(|guard| (guard.clone(), u.clone())));
            u.clone()
        }
        4 | 5 => v.clone(),
        6 => format!("2 * {u}"),
        7 => format!("{u} * {v}"),
        8 => "_".to_owned(),
        _ => "3".to_owned(),
    }
}

/// Generates a nested type.
fn nested(choices: &mut Choices<'_>, names: &mut Names, at: &At) -> String {
    let form = choices.below(16);
    match form {
        0..=4 => {
            let dims: Vec<String> =
                (0..choices.pick(&[1, 2, 0])).map(|_| dim(choices, names, at)).collect();
            let strides = match choices.once_in(6) {
                true => format!(", strides=[{}]", vec![at.own[1].as_str(); dims.len()].join(", ")),
                false => String::new(),
            };
            let dtype = match names.dtype && choices.once_in(3) {
                true => "T",
                false => choices.pick(&["float32", "int8", "float32|float64|int8"]),
            };
            let device = choices.pick(&["", "", ", device=cuda"]);
            format!("Tensor([{}], {dtype}{strides}{device})", dims.join(", "))
        }
        5 | 6 => {
            at.offer(names, "");
            choices.pick(&["int64", "int8", "bool"]).to_owned()
        }
        7 => choices.pick(&["float64", "float32"]).to_owned(),
        8 if at.depth > 0 => tuple(choices, names, at),
        9 if at.depth > 0 => sequence(choices, names, at),
        10 => union(choices, names, at),
        _ => simple(choices, names, at),
    }
}

fn optional(choices: &mut Choices<'_>, names: &mut Names, at: &At) -> String {
    at.offer(names, ".is_some");
    let within = At { certain: false, guard: at.path.clone(), ..at.clone() };
    let inner = nested(choices, names, &within);
    // These types include None already.
    if matches!(inner.as_str(), "Any" | "Stream" | "handle") {
        return inner;
    }
    at.offer_match(names, [inner.as_str(), "None"]);
    format!("Optional[{inner}]")
}

fn tuple(choices: &mut Choices<'_>, names: &mut Names, at: &At) -> String {
    let count = choices.pick(&[2, 1, 3]);
    let mut elements = Vec::new();
    for index in 0..count {
        let name = format!("e{index}");
        let named = choices.once_in(4);
        let suffix = if named { format!(".{name}") } else { format!("[{index}]") };
        let inner = at.inside(&suffix);
        let ty = match choices.once_in(5) {
            true => optional(choices, names, &inner),
            false => nested(choices, names, &inner),
        };
        elements.push(if named { format!("{name}: {ty}") } else { ty });
    }
    format!("Tuple[{}]", elements.join(", "))
}

fn sequence(choices: &mut Choices<'_>, names: &mut Names, at: &At) -> String {
    let word = choices.pick(&["Array", "List", "Array", "Map", "Dict"]);
    let inner = at.many();
    let element = match choices.once_in(6) {
        true => optional(choices, names, &inner),
        false => nested(choices, names, &inner),
    };
    if matches!(word, "Map" | "Dict") {
        return format!("{word}[{}, {element}]", choices.pick(&["str", "int64"]));
    }
    at.offer(names, ".size");
    if matches!(element.as_str(), "int64" | "int8") {
        names.lists.extend(at.path.clone());
    }
    format!("{word}[{element}]")
}

const UNIONS: [&[&str]; 7] = [
    &["int64", "str"],
    &["float64", "Array[int64]"],
    &["bool", "Tuple[int8, str]", "Device"],
    &["Tensor([_, 2], float32)", "Function", "bytes"],
    &["Literal[1, \"one\"]", "Shape([2, _])"],
    &["Map[str, int64]", "Array[Tensor([_], float32, device=any)]", "Object[\"test.Thing\"]"],
    &["dtype", "str", "Map[int64, Union[bool, str]]"],
];

fn union(choices: &mut Choices<'_>, names: &mut Names, at: &At) -> String {
    let types = choices.pick(&UNIONS);
    if at.certain {
        at.offer_match(names, types.iter().copied());
    }
    format!("Union[{}]", types.join(", "))
}

const TEXTS: [&str; 6] = ["sum", "", "seven b", "a longer mean", "auto", "é\\"];

/// Generates a value that a type accepts.
pub(super) fn fitting(choices: &mut Choices<'_>, values: &mut Values, ty: &ParamType) -> Argument {
    match ty {
        ParamType::Scalar(Scalar::Bool) => Argument::Bool(choices.below(2) == 0),
        ParamType::Scalar(scalar) if scalar.is_int() => Argument::Int(choices.pick(&[1, 0, 7])),
        ParamType::Scalar(scalar) => fitting_scalar(choices, *scalar),
        ParamType::Tensor(tensor) => Argument::Tensor(fitting_tensor(choices, values, tensor)),
        ParamType::Leaf(Leaf::Str) => text(choices),
        ParamType::Leaf(Leaf::Bytes) => bytes(choices),
        ParamType::Leaf(Leaf::DType) => match choices.below(4) {
            0 => Argument::Str("bfloat16x2".to_owned()),
            1 => Argument::Bytes(b"int8".to_vec()),
            2 => Argument::RawStr("bool".to_owned()),
            _ => Argument::DType(DType::FLOAT32),
        },
        ParamType::Leaf(Leaf::Device) => match choices.below(4) {
            0 => Argument::Str("cpu".to_owned()),
            1 => Argument::RawStr("cuda:1".to_owned()),
            _ => Argument::Device(Device { ty: DeviceType::CUDA, id: 1 }),
        },
        ParamType::Shape(shape) => fitting_shape(choices, values, shape),
        ParamType::Object(class) => object(choices, class),
        ParamType::Sequence(_, element) => {
            let count = choices.pick(&[2, 1, 0, 3]);
            let elements = (0..count).map(|_| fitting(choices, values, element)).collect();
            if choices.once_in(3) { Argument::List(elements) } else { Argument::Array(elements) }
        }
        ParamType::Tuple(elements) => {
            let elements =
                elements.iter().map(|element| fitting(choices, values, &element.ty)).collect();
            let array = Argument::Array(elements);
            if choices.once_in(6) { Argument::RValue(Some(Box::new(array))) } else { array }
        }
        ParamType::Optional(_) if choices.once_in(3) => Argument::None,
        ParamType::Optional(inner) => fitting(choices, values, inner),
        ParamType::Union(types) => {
            let at = choices.below(types.len());
            fitting(choices, values, &types[at])
        }
        ParamType::Literal(literals) => literal(&literals[choices.below(literals.len())]),
        ParamType::Leaf(Leaf::Any) => stranger(choices),
        ParamType::Leaf(Leaf::Stream) => match choices.below(3) {
            0 => Argument::Int(16),
            1 => Argument::None,
            _ => Argument::Pointer(16),
        },
        ParamType::Leaf(Leaf::Handle) => match choices.below(6) {
            0 => Argument::Array(vec![Argument::Int(2)]),
            1 => Argument::None,
            2 => Argument::Pointer(16),
            3 => Argument::Function,
            _ => Argument::Tensor(Tensor::new(DType::FLOAT32, &[3])),
        },
        ParamType::Mapping(_, types) => mapping(choices, values, types),
    }
}

fn text(choices: &mut Choices<'_>) -> Argument {
    let text = any_text(choices);
    match choices.below(6) {
        0 if !text.contains('\0') => Argument::RawStr(text.to_owned()),
        1 => Argument::Text { index: 65, text: text.into() },
        _ => Argument::Str(text.to_owned()),
    }
}

fn any_text(choices: &mut Choices<'_>) -> &'static str {
    if choices.once_in(3) { choices.pick(&HOSTILE) } else { choices.pick(&TEXTS) }
}

fn bytes(choices: &mut Choices<'_>) -> Argument {
    let mut text = any_text(choices).as_bytes().to_vec();
    if choices.once_in(6) {
        text.extend([0xc3, 0xff, 0x80]);
    }
    match choices.below(4) {
        0 => Argument::RawBytes(text),
        1 => Argument::Text { index: 66, text },
        _ => Argument::Bytes(text),
    }
}

/// Generates a mapping of at most two entries, whose keys are distinct scalars or texts.
fn mapping(choices: &mut Choices<'_>, values: &mut Values, types: &[ParamType; 2]) -> Argument {
    let is_text = types[0] == ParamType::Leaf(Leaf::Str);
    let keys = if is_text { ["k", "a longer key"] } else { ["", ""] };
    let mut entries = Vec::new();
    for (index, key) in keys.iter().take(choices.pick(&[1, 2, 0])).enumerate() {
        let number = Argument::Int(index as i64);
        let key = if is_text { Argument::Str((*key).to_owned()) } else { number };
        let mut value = fitting(choices, values, &types[1]);
        if choices.once_in(8) {
            value = Argument::Float(0.5);
        }
        // A mapping would take over the object of an rvalue reference, and cannot hold a NULL object.
        if let Argument::RValue(_) | Argument::Raw { .. } = value {
            value = Argument::Bool(false);
        }
        entries.push((key, value));
    }
    if choices.once_in(8) {
        entries.push((Argument::Bool(true), Argument::Int(1)));
    }
    if choices.once_in(3) { Argument::Dict(entries) } else { Argument::Map(entries) }
}

fn fitting_shape(choices: &mut Choices<'_>, values: &mut Values, shape: &Shape) -> Argument {
    let numbers: Vec<i64> = match shape {
        Shape::AnyRank => (0..choices.below(4)).map(|_| choices.pick(&[2, -3, 0])).collect(),
        Shape::Dims(dims) | Shape::Trailing { dims, .. } => dims
            .iter()
            .map(|dim| match dim {
                Dim::Any => choices.pick(&[1, 2, -1]),
                Dim::Expr(expr) => evaluate(choices, values, expr),
            })
            .collect(),
    };
    let elements = || numbers.iter().map(|number| Argument::Int(*number)).collect();
    match choices.below(4) {
        0 => Argument::Array(elements()),
        1 => Argument::List(elements()),
        _ => Argument::Shape(numbers),
    }
}

fn object(choices: &mut Choices<'_>, class: &ObjectClass) -> Argument {
    match class {
        ObjectClass::Function => Argument::Function,
        ObjectClass::Module => Argument::Module,
        ObjectClass::Tensor => Argument::Tensor(Tensor::new(DType::FLOAT32, &[3])),
        ObjectClass::Any => Argument::Array(vec![Argument::None]),
        ObjectClass::Key(_) if choices.below(2) == 0 => {
            Argument::Registered(vec![CLASS.to_owned()])
        }
        ObjectClass::Key(_) => {
            Argument::Registered(vec!["test.Child".to_owned(), CLASS.to_owned()])
        }
    }
}

fn literal(literal: &Literal) -> Argument {
    match literal {
        Literal::None => Argument::None,
        Literal::Bool(value) => Argument::Bool(*value),
        Literal::Int(value) => Argument::Int(*value),
        Literal::Float(value) => Argument::Float(*value),
        Literal::Str(text) => Argument::Str(text.clone()),
    }
}

/// Changes a value of a type, or a value nested in it.
pub(super) fn change(choices: &mut Choices<'_>, argument: &mut Argument, ty: &ParamType) {
    let form = choices.below(6);
    let (Argument::Array(elements) | Argument::List(elements)) = argument else {
        *argument = match (form, ty) {
            (0, _) => Argument::None,
            (1 | 2, ParamType::Leaf(Leaf::Device)) => {
                Argument::Str(choices.pick(&["gpu", "cuda:x"]).to_owned())
            }
            (1 | 2, ParamType::Leaf(Leaf::DType)) => {
                Argument::Str(choices.pick(&["INT32", "no such"]).to_owned())
            }
            (1 | 2, ParamType::Shape(_)) => Argument::Shape(vec![choices.pick(&[2, 5]); 2]),
            (1, ParamType::Literal(_)) => text(choices),
            (2, ParamType::Literal(_)) => Argument::Int(choices.pick(&[1, 77])),
            (3, _) => {
                let mut values = Values::new(choices);
                fitting(choices, &mut values, ty)
            }
            _ => stranger(choices),
        };
        return;
    };
    match form {
        0 => elements.push(stranger(choices)),
        1 => drop(elements.pop()),
        _ if elements.is_empty() => elements.push(Argument::Int(1)),
        _ => {
            let at = choices.below(elements.len());
            let inner = element_type(ty.required().0, at);
            super::arguments::change(choices, &mut elements[at], inner);
        }
    }
}

/// Returns the type of an element; `Any` if it is not known.
fn element_type(ty: &ParamType, at: usize) -> &ParamType {
    static ANY: ParamType = ParamType::Leaf(Leaf::Any);
    if let ParamType::Sequence(_, element) = ty {
        return element;
    }
    if let ParamType::Tuple(types) = ty
        && let Some(element) = types.get(at)
    {
        return &element.ty;
    }
    &ANY
}
