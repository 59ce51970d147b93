//! What a library says of its functions: metadata and documentation, as texts.
//!
//! The metadata of a function is a JSON object of two keys.
//!
//! | key | holds |
//! |---|---|
//! | `type_schema` | the types as the runtime's own readers know them: JSON again, as a string |
//! | `declaration` | the rest of the declaration, see below |
//!
//! The type schema of a function is `{"type":"ffi.Function","args":[result, parameters…]}`, the form that
//! every reader accepts. In it no parameters read as any, so a function without parameters has
//! `"named_args":{"return":[result],"params":[]}` instead, which readers know from 0.1.15 on (older ones read
//! a function of anything). The two forms exclude each other: 0.1.15 refuses a schema that has both.
//!
//! `declaration` is an object, whose texts are those of the [language](crate::language):
//!
//! | key | holds |
//! |---|---|
//! | `signature` | the canonical text: name, parameters, result and constraints |
//! | `params` | a list of objects, without `self` |
//! | `params[i].name` | its name, never in backticks |
//! | `params[i].type` | its type |
//! | `params[i].default` | where there is one: the value of an argument that is left out |
//! | `params[i].variadic` | true for the parameter that stands for all further arguments |
//! | `params[i].tensor` | of tensors only, optional ones among them: the parts of the type |
//! | `….tensor.shape` | a list of texts, such as `n`, `64`, `_`; null for any rank |
//! | `….tensor.dtype` | the types that an element may have, `|` between them |
//! | `….tensor.strides` | `contiguous`, `any`, or a list of texts |
//! | `….tensor.device` | the type of device, or `any` |
//! | `….tensor.align` | what the address of the first element is a multiple of, in bytes |
//! | `result` | the type of the result, `None` for nothing |
//! | `outputs` | where tensors are allocated: a list of objects of `name` and `tensor` |
//! | `constraints` | a list of texts |
//! | `location` | where there is one: an object of `file` and `line` |
//!
//! The texts stand in a section of the file that has one of the names [`LISTS`](crate::backend::LISTS), so that they
//! can be read without running anything: [`texts`] says how.

use std::borrow::Cow;

use serde::Serialize;

use crate::declaration::{
    Function, Literal, Location, Mapping, Output, Param, ParamType, ResultType, Sequence, Shape,
    Signature, Strides, Tensor,
};
use abi_spec::Scalar;

/// What a text says of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextKind {
    /// Its metadata.
    Metadata,
    /// Its documentation.
    Doc,
}

impl TextKind {
    const ALL: [TextKind; 2] = [TextKind::Metadata, TextKind::Doc];

    /// In front of the name of the function, behind the text.
    const fn label(self) -> &'static str {
        match self {
            TextKind::Metadata => "metadata.",
            TextKind::Doc => "doc.",
        }
    }

    /// A text as [`texts`] reads it.
    pub(crate) fn record(self, function: &str, text: &str) -> Vec<u8> {
        format!("{text}\0{}{function}\0", self.label()).into_bytes()
    }
}

/// The texts about functions in the section of a file: what each says, the name of the function as its symbol has it,
/// and the text.
///
/// Each is the text, a NUL, `metadata.` or `doc.` with the name of the function, and a NUL. Between them there may
/// be more NULs; what is not of this form is left out.
///
/// ```
/// use tvm_ffi_codegen::metadata::{TextKind, texts};
///
/// let mut found = texts(b"\0Adds.\0doc.add\0damaged");
/// assert_eq!(found.next(), Some((TextKind::Doc, &b"add"[..], &b"Adds."[..])));
/// assert_eq!(found.next(), None);
/// ```
pub fn texts(section: &[u8]) -> impl Iterator<Item = (TextKind, &[u8], &[u8])> {
    let mut parts = section.split(|&byte| byte == 0).filter(|part| !part.is_empty());
    let pairs = std::iter::from_fn(move || Some((parts.next()?, parts.next()?)));
    pairs.filter_map(|(text, label)| {
        let name = |kind: TextKind| label.strip_prefix(kind.label().as_bytes());
        let found = TextKind::ALL.into_iter().find_map(|kind| Some((kind, name(kind)?)));
        found.map(|(kind, name)| (kind, name, text))
    })
}

impl Function {
    /// The metadata that its library carries, as JSON; the [module](crate::lower::library::metadata) says what is in it.
    ///
    /// ```
    /// let function: tvm_ffi_codegen::Function = "half(x: float64) -> float64 = half(x);".parse()?;
    /// let metadata: serde_json::Value = serde_json::from_str(&function.metadata()).unwrap();
    /// let schema = r#"{"type":"ffi.Function","args":[{"type":"float"},{"type":"float"}]}"#;
    /// assert_eq!(metadata["type_schema"], schema);
    /// assert_eq!(metadata["declaration"]["signature"], "half(x: float64) -> float64");
    /// # Ok::<(), tvm_ffi_codegen::Error>(())
    /// ```
    pub fn metadata(&self) -> String {
        let signature = &self.signature;
        let declaration = Declaration {
            signature: signature.to_string(),
            params: signature.arguments().iter().map(ParamText::new).collect(),
            result: signature.result.to_string(),
            outputs: signature.outputs().iter().map(OutputText::new).collect(),
            constraints: list(&signature.constraints),
            location: self
                .location
                .as_ref()
                .map(|Location { file, line }| LocationText { file, line }),
        };
        json(&Metadata { type_schema: json(&function_schema(signature)), declaration })
    }
}

/// JSON without blanks, keys in the order of the fields.
fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("texts and numbers under texts are JSON")
}

fn list(values: &[impl ToString]) -> Vec<String> {
    values.iter().map(ToString::to_string).collect()
}

#[derive(Serialize)]
struct Metadata<'a> {
    type_schema: String,
    declaration: Declaration<'a>,
}

#[derive(Serialize)]
struct Declaration<'a> {
    signature: String,
    params: Vec<ParamText>,
    result: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    outputs: Vec<OutputText>,
    constraints: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    location: Option<LocationText<'a>>,
}

#[derive(Serialize)]
struct LocationText<'a> {
    file: &'a str,
    line: &'a u32,
}

#[derive(Serialize)]
struct ParamText {
    name: String,
    #[serde(rename = "type")]
    ty: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    default: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    variadic: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    tensor: Option<TensorText>,
}

#[derive(Serialize)]
struct OutputText {
    name: String,
    tensor: TensorText,
}

#[derive(Serialize)]
struct TensorText {
    shape: Option<Vec<String>>,
    dtype: String,
    strides: StridesText,
    device: String,
    align: u64,
}

#[derive(Serialize)]
#[serde(untagged)]
enum StridesText {
    Word(&'static str),
    List(Vec<String>),
}

impl TensorText {
    fn new(tensor: &Tensor) -> TensorText {
        TensorText {
            shape: match &tensor.shape {
                Shape::AnyRank => None,
                Shape::Dims(dims) => Some(list(dims)),
            },
            dtype: list(&tensor.dtypes).join("|"),
            strides: match &tensor.strides {
                Strides::Contiguous => StridesText::Word("contiguous"),
                Strides::Any => StridesText::Word("any"),
                Strides::List(dims) => StridesText::List(list(dims)),
            },
            device: tensor.device.to_string(),
            align: tensor.alignment(),
        }
    }
}

impl OutputText {
    fn new(output: &Output) -> OutputText {
        OutputText { name: output.name.clone(), tensor: TensorText::new(&output.tensor) }
    }
}

impl ParamText {
    fn new(param: &Param) -> ParamText {
        let tensor = param.ty.required().0.tensor().map(TensorText::new);
        let default = param.default.as_ref().map(ToString::to_string);
        let (name, ty, variadic) = (param.name.clone(), param.ty.to_string(), param.variadic);
        ParamText { name, ty, default, variadic, tensor }
    }
}

/// A type as the runtime's readers know it.
#[derive(Serialize)]
struct Schema {
    #[serde(rename = "type")]
    name: Cow<'static, str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    args: Vec<Schema>,
    #[serde(skip_serializing_if = "Option::is_none")]
    named_args: Option<Box<NamedArgs>>,
}

/// The other form of `args`, of functions only.
#[derive(Serialize)]
struct NamedArgs {
    #[serde(rename = "return")]
    result: [Schema; 1],
    params: Vec<Schema>,
}

impl From<&'static str> for Schema {
    fn from(name: &'static str) -> Self {
        Schema::new(name, Vec::new())
    }
}

impl Schema {
    fn new(name: impl Into<Cow<'static, str>>, args: Vec<Schema>) -> Schema {
        Schema { name: name.into(), args, named_args: None }
    }

    fn of<'t>(name: &'static str, types: impl IntoIterator<Item = &'t ParamType>) -> Schema {
        Schema::new(name, types.into_iter().map(param_schema).collect())
    }
}

fn function_schema(signature: &Signature) -> Schema {
    let result = result_schema(&signature.result);
    if signature.arguments().is_empty() {
        let named_args = Some(Box::new(NamedArgs { result: [result], params: Vec::new() }));
        return Schema { named_args, ..Schema::from("ffi.Function") };
    }
    let params = signature.arguments().iter().map(|param| param_schema(&param.ty));
    Schema::new("ffi.Function", std::iter::once(result).chain(params).collect())
}

fn result_schema(result: &ResultType) -> Schema {
    let tensor = || Schema::from("ffi.Tensor");
    match result {
        ResultType::None => "None".into(),
        ResultType::Value(ty) => param_schema(ty),
        ResultType::Allocated(outputs) if outputs.len() == 1 => tensor(),
        ResultType::Allocated(_) => Schema::new("ffi.Array", vec![tensor()]),
    }
}

fn param_schema(ty: &ParamType) -> Schema {
    match ty {
        ParamType::Scalar(scalar) => scalar_schema(*scalar),
        ParamType::Tensor(_) => "DLTensor*".into(),
        ParamType::Leaf(leaf) => leaf.facts().schema.into(),
        ParamType::Shape(_) => "ffi.Shape".into(),
        ParamType::Object(class) => {
            let name: Cow<_> = class.key().map_or("ffi.Object".into(), |key| key.to_owned().into());
            Schema::new(name, Vec::new())
        }
        ParamType::Sequence(Sequence::Array, element) => Schema::of("ffi.Array", [&**element]),
        ParamType::Sequence(Sequence::List, element) => Schema::of("ffi.List", [&**element]),
        ParamType::Mapping(Mapping::Map, types) => Schema::of("ffi.Map", &**types),
        ParamType::Mapping(Mapping::Dict, types) => Schema::of("ffi.Dict", &**types),
        ParamType::Tuple(elements) => {
            Schema::of("Tuple", elements.iter().map(|element| &element.ty))
        }
        ParamType::Optional(inner) => Schema::of("Optional", [&**inner]),
        ParamType::Union(types) => Schema::of("Variant", types),
        ParamType::Literal(literals) => literals_schema(literals),
    }
}

/// The types of the values, each once.
fn literals_schema(literals: &[Literal]) -> Schema {
    let mut names: Vec<&'static str> = Vec::new();
    for literal in literals {
        let name = match literal {
            Literal::None => "None",
            Literal::Bool(_) => "bool",
            Literal::Int(_) => "int",
            Literal::Float(_) => "float",
            Literal::Str(_) => "ffi.String",
        };
        if !names.contains(&name) {
            names.push(name);
        }
    }
    match names[..] {
        [name] => name.into(),
        _ => Schema::new("Variant", names.into_iter().map(Schema::from).collect()),
    }
}

/// The type under which the runtime knows a scalar.
fn scalar_schema(scalar: Scalar) -> Schema {
    scalar.type_index().type_key().unwrap_or("Any").into()
}
