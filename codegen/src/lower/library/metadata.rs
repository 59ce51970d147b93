//! Metadata and documentation of functions, as texts in a library.
//!
//! The metadata of a function is a JSON object with two keys.
//!
//! | key | holds |
//! |---|---|
//! | `type_schema` | the types in the form that readers of the runtime parse: a string that holds JSON |
//! | `declaration` | the signature in parts, see below |
//!
//! The type schema of a function is `{"type":"ffi.Function","args":[result, parameters…]}`, which every reader accepts.
//! An empty list of parameters reads as any parameters, so a function without parameters has
//! `"named_args":{"return":[result],"params":[]}` instead. Readers know that form from 0.1.15 on; older ones read it as
//! a function with any parameters. 0.1.15 refuses a schema with both keys.
//!
//! `Object["demo.Pair"]` has `{"type":"demo.Pair","fallback":{"type":"ffi.Object"}}`: stubs that 0.1.15 makes in a
//! process without that class name `Object` in its place. Older readers ignore the fallback and name the class.
//!
//! `declaration` is an object. Its texts are in the [language](crate::language) of declarations:
//!
//! | key | holds |
//! |---|---|
//! | `signature` | the canonical text of the signature: name, parameters, result and constraints |
//! | `params` | a list of objects, without `self` |
//! | `params[i].name` | its name, never in backticks |
//! | `params[i].type` | its type |
//! | `params[i].docs` | its documentation; no key without any |
//! | `params[i].default` | the value for an argument that is left out; no key without one |
//! | `params[i].variadic` | true for the parameter that takes all further arguments; else no key |
//! | `params[i].kept` | true for a tensor that may be in use after the call, since the body returns it, puts it into an array or hands it to a function of the FFI that may keep it; else no key |
//! | `params[i].tensor` | the parts of the type of a tensor, which may be optional; no key for other types |
//! | `….tensor.shape` | a list of texts, such as `n`, `64`, `_`; null for any rank; `...` or `outer...` as the first for leading dims |
//! | `….tensor.dtype` | the accepted element types, `|` between them; of a symbol those that it may stand for |
//! | `….tensor.dtype_symbol` | the symbol that stands for the element type; no key without one |
//! | `….tensor.strides` | `contiguous`, `any`, or a list of texts, the first of which may be `...` |
//! | `….tensor.device` | the device type, or `any` |
//! | `….tensor.align` | the alignment of the first element in bytes |
//! | `….tensor.access` | `read` for elements that are only read, `write` for elements that are not read before they are written; no key for others |
//! | `result` | the type of the result, `None` for nothing |
//! | `outputs` | the tensors that the function allocates, a list of objects of `name` and `tensor`; no key without any |
//! | `constraints` | a list of texts |
//! | `location` | the source location, an object of `file`, `line` and, where it is known, `column`; no key without one |
//!
//! The texts are in a section of the file with one of the names [`LISTS`](crate::backend::LISTS). [`texts`] reads them
//! without running code.

use std::borrow::Cow;

use serde::Serialize;

use crate::declaration::{
    Dim, Literal, Location, Mapping, ObjectClass, Output, Param, ParamType, ResultType, Sequence,
    Shape, Signature, Strides, Tensor,
};
use crate::resolve::Resolved;
use crate::resolve::xla::Handler;
use abi_spec::Scalar;

/// Kind of text about a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextKind {
    /// Metadata.
    Metadata,
    /// Documentation.
    Doc,
}

impl TextKind {
    const ALL: [TextKind; 2] = [TextKind::Metadata, TextKind::Doc];

    /// Returns the prefix of the name of the function in a record.
    const fn label(self) -> &'static str {
        match self {
            TextKind::Metadata => "metadata.",
            TextKind::Doc => "doc.",
        }
    }

    /// Encodes a text as a record that [`texts`] reads.
    pub(crate) fn record(self, function: &str, text: &str) -> Vec<u8> {
        format!("{text}\0{}{function}\0", self.label()).into_bytes()
    }
}

/// Reads the texts about functions in a section of a file. Yields the kind of each text, the name of the function as in
/// its symbol, and the text.
///
/// A record is the text, a NUL, `metadata.` or `doc.` followed by the name of the function, and a NUL. There may be
/// more NULs between records; bytes that are no record are skipped.
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

impl Resolved<'_> {
    /// Returns the metadata of function number `index` as JSON; see the [module](crate::lower::library::metadata) for
    /// its keys.
    ///
    /// ```
    /// let library: tvm_ffi_codegen::Library = "half(x: float64) -> float64 = half(x);".parse()?;
    /// let metadata: serde_json::Value = serde_json::from_str(&library.resolve()?.metadata(0)).unwrap();
    /// let schema = r#"{"type":"ffi.Function","args":[{"type":"float"},{"type":"float"}]}"#;
    /// assert_eq!(metadata["type_schema"], schema);
    /// assert_eq!(metadata["declaration"]["signature"], "half(x: float64) -> float64");
    /// # Ok::<(), tvm_ffi_codegen::Error>(())
    /// ```
    ///
    /// # Panics
    /// If the library declares no function of this number.
    pub fn metadata(&self, index: usize) -> String {
        let function = &self.functions[index];
        let declared = function.declared;
        metadata(&declared.signature, |param| function.is_kept(param), declared.location.as_ref())
    }

    /// Returns the metadata of the function of the FFI that returns the address of a handler, if the call of XLA is
    /// another than that of the function: its declaration is that of the call.
    pub(crate) fn metadata_of_handler(&self, handler: &Handler<'_>) -> Option<String> {
        let signature = handler.signature_of_call(&self.functions)?;
        let location = self.functions[handler.function].declared.location.as_ref();
        Some(metadata(&signature, |_| false, location))
    }
}

/// Returns the metadata of a function. `is_kept` says which parameters may be in use after a call.
fn metadata(
    signature: &Signature,
    is_kept: impl Fn(usize) -> bool,
    location: Option<&Location>,
) -> String {
    let declaration = Declaration {
        signature: signature.to_string(),
        params: (signature.params.len() - signature.arguments().len()..)
            .zip(signature.arguments())
            .map(|(index, param)| ParamText::new(signature, param, is_kept(index)))
            .collect(),
        result: signature.result.to_string(),
        outputs: signature
            .outputs()
            .iter()
            .map(|output| OutputText::new(signature, output))
            .collect(),
        constraints: list(&signature.constraints),
        location: location.map(|&Location { ref file, line, column }| LocationText {
            file,
            line,
            column,
        }),
    };
    json(&Metadata { type_schema: json(&function_schema(signature)), declaration })
}

/// Formats a value as JSON without blanks, with keys in the order of the fields.
fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("texts and numbers under texts are JSON")
}

fn is_zero(number: &u32) -> bool {
    *number == 0
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
    line: u32,
    #[serde(skip_serializing_if = "is_zero")]
    column: u32,
}

#[derive(Serialize)]
struct ParamText {
    name: String,
    #[serde(rename = "type")]
    ty: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    docs: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    default: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    variadic: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    kept: bool,
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
    #[serde(skip_serializing_if = "Option::is_none")]
    dtype_symbol: Option<String>,
    strides: StridesText,
    device: String,
    align: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    access: Option<&'static str>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum StridesText {
    Word(&'static str),
    List(Vec<String>),
}

impl TensorText {
    /// Creates the text of a tensor. `listing` lists its element types, and `align` is its natural alignment in bytes.
    fn new(tensor: &Tensor, listing: &Tensor, align: u64) -> TensorText {
        TensorText {
            shape: match &tensor.shape {
                Shape::AnyRank => None,
                Shape::Dims(dims) => Some(list(dims)),
                Shape::Trailing { folds: false, dims } => Some(after_dots(dims)),
                Shape::Trailing { folds: true, dims } => {
                    let mut texts = list(dims);
                    texts.iter_mut().take(1).for_each(|outer| outer.push_str("..."));
                    Some(texts)
                }
            },
            dtype: listing.dtypes_text(),
            dtype_symbol: tensor.dtype_symbol.clone(),
            strides: match &tensor.strides {
                Strides::Contiguous => StridesText::Word("contiguous"),
                Strides::Any => StridesText::Word("any"),
                Strides::List(dims) => StridesText::List(match tensor.shape {
                    Shape::Trailing { folds: false, .. } => after_dots(dims),
                    Shape::Trailing { folds: true, .. } | Shape::AnyRank | Shape::Dims(_) => {
                        list(dims)
                    }
                }),
            },
            device: tensor.device.to_string(),
            align: tensor.align.unwrap_or(align),
            access: tensor.access.said(),
        }
    }
}

/// Returns `...` and the texts of the dims after it.
fn after_dots(dims: &[Dim]) -> Vec<String> {
    let dots = std::iter::once("...".to_owned());
    dots.chain(list(dims)).collect()
}

impl OutputText {
    fn new(signature: &Signature, Output { name, tensor }: &Output) -> OutputText {
        let listing = signature.listing(tensor);
        let tensor = TensorText::new(tensor, listing, listing.largest_alignment());
        OutputText { name: name.clone(), tensor }
    }
}

impl ParamText {
    /// Creates the text of a parameter. With `kept` the parameter may be in use after the call.
    fn new(signature: &Signature, param: &Param, kept: bool) -> ParamText {
        let text = |tensor| {
            let listing = signature.listing(tensor);
            TensorText::new(tensor, listing, listing.natural_alignment().unwrap_or(1))
        };
        let tensor = param.ty.required().0.tensor().map(text);
        let default = param.default.as_ref().map(ToString::to_string);
        let (name, ty, variadic) = (param.name.clone(), param.ty.to_string(), param.variadic);
        let docs = param.docs.clone();
        ParamText { name, ty, docs, default, variadic, kept: kept && tensor.is_some(), tensor }
    }
}

/// The schema of a type, in the form that readers of the runtime parse.
#[derive(Serialize)]
struct Schema {
    #[serde(rename = "type")]
    name: Cow<'static, str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    args: Vec<Schema>,
    #[serde(skip_serializing_if = "Option::is_none")]
    named_args: Option<Box<NamedArgs>>,
    /// The type that stands for a class where nobody has registered it.
    #[serde(skip_serializing_if = "Option::is_none")]
    fallback: Option<Box<Schema>>,
}

/// Result and parameters of a function without parameters, in place of `args`.
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
    /// Creates a schema with arguments.
    fn new(name: impl Into<Cow<'static, str>>, args: Vec<Schema>) -> Schema {
        Schema { name: name.into(), args, named_args: None, fallback: None }
    }

    /// Creates a schema whose arguments are the schemas of types.
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
        ParamType::Object(class) => class_schema(class),
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

fn class_schema(class: &ObjectClass) -> Schema {
    let name: Cow<_> = class.key().map_or("ffi.Object".into(), |key| key.to_owned().into());
    let is_named = matches!(class, ObjectClass::Key(_)) && class.key().is_some();
    let fallback = is_named.then(|| Box::new(Schema::from("ffi.Object")));
    Schema { fallback, ..Schema::new(name, Vec::new()) }
}

/// Returns the schema of literals: their type, or a `Variant` if they have several types.
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

/// Returns the schema of a scalar: the key of its type in the runtime.
fn scalar_schema(scalar: Scalar) -> Schema {
    scalar.type_index().type_key().unwrap_or("Any").into()
}
