//! Operators of PyTorch: their schemas, and what of a call becomes which argument of a function.

mod schema;

use std::fmt::Write;

use abi_spec::{DeviceType, Scalar, torch};

use super::Located;
use super::body::Entry;
use super::function::{Function, Kept};
use super::kept;
use super::registered::chosen;
use super::well_formed::RESERVED_PREFIXES;
use crate::declaration::{
    Access, Device, Leaf, Library, ObjectClass, Param, ParamType, ResultType, Signature,
    TorchOperators, is_identifier, is_text, literal_scalar,
};
use crate::error::{Error, Part};

/// The operator of a function.
#[derive(Clone, Debug)]
pub(crate) struct TorchOperator<'a> {
    /// Index of the function in the library.
    pub(crate) function: usize,
    /// Name of the function, and of the operator in its namespace.
    pub(crate) name: &'a str,
    /// Name, parameters and results as PyTorch writes them.
    pub(crate) schema: String,
    /// Arguments of the function.
    pub(crate) args: Vec<TorchArgument<'a>>,
    /// Tensors that the function allocates.
    pub(crate) outputs: u32,
    /// Results, unless the function allocates them.
    pub(crate) yielded: TorchResult,
    /// True if the function may allocate more than its results, itself or by functions that it calls.
    pub(crate) allocates: bool,
    /// True if the function may keep the tensors that it allocates, or hand them to others.
    pub(crate) keeps_outputs: bool,
    /// Devices of the tensors of a call.
    pub(crate) devices: Devices,
}

/// Devices of the tensors of an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Devices {
    /// True if a tensor may be elsewhere than on the cpu.
    pub(crate) may_be_elsewhere: bool,
    /// True if a tensor is declared for the accelerator.
    pub(crate) is_accelerated: bool,
    /// Type of the devices that PyTorch calls `cuda`.
    pub(crate) accelerator: DeviceType,
}

/// An argument of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TorchArgument<'a> {
    pub(crate) name: &'a str,
    /// True if it may be None.
    pub(crate) optional: bool,
    pub(crate) given: TorchType,
    /// True for a tensor that the function may keep, or hand to others: it gets an object.
    pub(crate) kept: bool,
}

/// Form in which PyTorch passes a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TorchType {
    /// An integer, a truth, a float, an element type or a device.
    Word(TorchWord),
    Tensor {
        writes: bool,
    },
    Str,
    /// Text, whose bytes the function gets.
    Bytes,
    /// A list that becomes a shape.
    Shape,
    /// A list that becomes an array.
    Array(TorchElement),
    /// The stream of the call, which is no argument of the operator.
    Stream,
}

/// A value that is a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TorchWord {
    Int,
    Bool,
    Float,
    DType,
    Device,
}

/// Elements of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TorchElement {
    Word(TorchWord),
    Str,
    Tensor { writes: bool },
}

/// Results of a function that allocates none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TorchResult {
    None,
    /// A result that is its word.
    Word(TorchWord),
    /// A result of another form.
    One(ResultForm),
    /// A tuple of results.
    Tuple(Vec<ResultForm>),
}

/// A result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ResultForm {
    /// True if it may be None.
    pub(crate) optional: bool,
    pub(crate) given: TorchType,
}

impl TorchOperator<'_> {
    /// Returns the entry that gets the tensors which the function otherwise allocates.
    pub(crate) fn entry(&self) -> Entry {
        Entry { into: self.outputs > 0, checked: false }
    }

    /// Returns the number of arguments of the wrapper: those of the function, then the tensors that it allocates.
    pub(crate) fn arguments(&self) -> usize {
        self.args.len() + self.outputs as usize
    }

    /// Returns the number of results.
    pub(crate) fn results(&self) -> u32 {
        match &self.yielded {
            TorchResult::None => self.outputs,
            TorchResult::Word(_) | TorchResult::One(_) => 1,
            TorchResult::Tuple(answers) => answers.len() as u32,
        }
    }

    /// Returns true if a call makes objects: of texts and lists, and of tensors that are kept.
    pub(crate) fn makes_objects(&self) -> bool {
        let is_made = |arg: &TorchArgument<'_>| {
            arg.kept || matches!(arg.given, TorchType::Str | TorchType::Shape | TorchType::Array(_))
        };
        self.keeps_outputs || self.args.iter().any(is_made)
    }

    /// Returns the arguments that PyTorch passes.
    pub(crate) fn inputs(&self) -> impl Iterator<Item = &TorchArgument<'_>> {
        self.args.iter().filter(|arg| arg.given != TorchType::Stream)
    }
}

/// Returns the operators of a library, in the order of its functions.
pub(super) fn operators<'a>(
    library: &'a Library,
    functions: &[Function<'_>],
) -> Result<Vec<TorchOperator<'a>>, Error> {
    let Some(TorchOperators { namespace, functions: names }) = &library.torch else {
        return Ok(Vec::new());
    };
    let (mut all, kept) = (Vec::new(), kept::find(functions));
    for (index, declared) in chosen(library, "torch", names)? {
        let invalid = |(part, reason)| Error::invalid(index, declared, part, reason);
        if !is_name(namespace) {
            let reason = format!("`{namespace}` cannot be a namespace of PyTorch");
            return Err(invalid((Part::Name, reason)));
        }
        let made = operator(index, &declared.signature, (&functions[index], &kept[index]));
        all.push(made.map_err(invalid)?);
    }
    if let Some(index) = library.functions.iter().position(|f| f.signature.name == GETTER) {
        let reason = "operators of PyTorch have a function of this name";
        let declared = &library.functions[index];
        return Err(Error::invalid(index, declared, Part::Name, reason));
    }
    Ok(all)
}

/// Name of the function of the FFI that registers the operators where that was not done.
pub(crate) const GETTER: &str = "_torch";

/// Returns true if schemas can have a name.
fn is_name(name: &str) -> bool {
    is_identifier(name) && !torch::KEYWORDS.contains(&name)
}

/// Returns the operator of function number `function`, with what its body allocates and keeps.
fn operator<'a>(
    function: usize,
    signature: &'a Signature,
    (body, kept): (&Function<'_>, &Kept),
) -> Located<TorchOperator<'a>> {
    let name = &signature.name[..];
    if !is_name(name) || RESERVED_PREFIXES.iter().any(|prefix| name.starts_with(prefix)) {
        return Err((Part::Name, format!("no operator of PyTorch can be called `{name}`")));
    }
    if signature.has_self() {
        let reason = "a closure is no operator of PyTorch: `self` is known to the function object";
        return Err((Part::Param(0), reason.to_owned()));
    }
    let mut schema = format!("{name}(");
    let mut args = Vec::with_capacity(signature.params.len());
    for (index, param) in signature.params.iter().enumerate() {
        let at = |reason| (Part::Param(index), reason);
        let mut argument = argument(param).map_err(at)?;
        argument.kept = matches!(argument.given, TorchType::Tensor { .. }) && kept.param(index);
        if argument.given != TorchType::Stream {
            if !schema.ends_with('(') {
                schema.push_str(", ");
            }
            schema::write_argument(&mut schema, index, param, argument).map_err(at)?;
        }
        args.push(argument);
    }
    let (outputs, yielded) = (signature.outputs(), result(&signature.result)?);
    let results = match &yielded {
        TorchResult::None => vec!["Tensor".to_owned(); outputs.len()],
        TorchResult::Word(word) => vec![word.name().to_owned()],
        TorchResult::One(answer) => vec![answer.name()],
        TorchResult::Tuple(answers) => answers.iter().map(ResultForm::name).collect(),
    };
    let results = if let [one] = &results[..] { one } else { &format!("({})", results.join(", ")) };
    let _ = write!(schema, ") -> {results}");
    let devices = devices(signature).map_err(|reason| (Part::Name, reason))?;
    returns_none(&args, kept)?;
    let outputs = outputs.len() as u32;
    Ok(TorchOperator {
        function,
        name,
        schema,
        args,
        outputs,
        yielded,
        allocates: body.allocates_more_than(outputs as usize),
        keeps_outputs: kept.results,
        devices,
    })
}

/// Checks that no result is a tensor of an argument, since PyTorch takes each result for new memory.
fn returns_none(args: &[TorchArgument<'_>], kept: &Kept) -> Located<()> {
    let has_tensors = |argument: &TorchArgument<'_>| {
        matches!(
            argument.given,
            TorchType::Tensor { .. } | TorchType::Array(TorchElement::Tensor { .. })
        )
    };
    let mut args = args.iter().zip(&kept.returned);
    let found = args.find(|(argument, is_returned)| **is_returned && has_tensors(argument));
    let Some((TorchArgument { name, given, .. }, _)) = found else { return Ok(()) };
    let within = if let TorchType::Array(_) = given { "a tensor of " } else { "" };
    let reason = format!("no operator of PyTorch returns an argument, as {within}`{name}` is");
    Err((Part::Result, reason))
}

/// Returns where the tensors of an operator may be.
fn devices(signature: &Signature) -> Result<Devices, String> {
    let result = if let ResultType::Value(ty) = &signature.result { Some(ty) } else { None };
    let mut types = signature.params.iter().map(|param| &param.ty).chain(result);
    let may_be_elsewhere = types.any(has_bare_tensor);
    let mut found =
        Devices { may_be_elsewhere, is_accelerated: false, accelerator: DeviceType::CUDA };
    let mut is_cuda = false;
    for tensor in signature.tensors() {
        found.may_be_elsewhere |= tensor.device != Device::Type(DeviceType::CPU);
        match tensor.device {
            Device::Type(DeviceType::ROCM) => found.accelerator = DeviceType::ROCM,
            Device::Type(DeviceType::CUDA) => is_cuda = true,
            Device::Type(_) | Device::Any => {}
        }
    }
    found.is_accelerated = is_cuda || found.accelerator == DeviceType::ROCM;
    if is_cuda && found.accelerator == DeviceType::ROCM {
        return Err("tensors of one PyTorch are not on cuda and rocm".to_owned());
    }
    Ok(found)
}

/// Returns true if a tensor of a type may be any, on any device.
fn has_bare_tensor(ty: &ParamType) -> bool {
    *ty == ParamType::Object(ObjectClass::Tensor) || ty.nested().into_iter().any(has_bare_tensor)
}

/// Returns what of a call becomes a parameter, or why nothing can.
fn argument(param: &Param) -> Result<TorchArgument<'_>, String> {
    let (ty, optional) = param.ty.required();
    if param.variadic {
        return Err("an operator of PyTorch has a fixed number of arguments".to_owned());
    }
    if !is_name(&param.name) {
        return Err(format!("no argument of PyTorch can be called `{}`", param.name));
    }
    let given = match ty {
        ParamType::Leaf(Leaf::Stream) => Some(TorchType::Stream),
        ParamType::Leaf(Leaf::Bytes) => Some(TorchType::Bytes),
        // A `Tensor` alone is an object, of which a list has some and a kernel none.
        ParamType::Object(_) => None,
        ParamType::Scalar(_)
        | ParamType::Tensor(_)
        | ParamType::Leaf(_)
        | ParamType::Shape(_)
        | ParamType::Sequence(..)
        | ParamType::Mapping(..)
        | ParamType::Tuple(_)
        | ParamType::Optional(_)
        | ParamType::Union(_)
        | ParamType::Literal(_) => given_of(ty),
    };
    let given =
        given.ok_or_else(|| format!("no operator of PyTorch has a value for `{}`", param.ty))?;
    Ok(TorchArgument { name: &param.name, optional, given, kept: false })
}

/// Returns the form of a value; `None` if PyTorch has no such value.
fn given_of(ty: &ParamType) -> Option<TorchType> {
    if let ParamType::Shape(_) = ty {
        return Some(TorchType::Shape);
    }
    if let ParamType::Sequence(_, element) = ty {
        let is_named =
            |of: &TorchElement| matches!(of, TorchElement::Word(word) if word.is_named());
        return element_of(element).filter(|of| !is_named(of)).map(TorchType::Array);
    }
    Some(match element_of(ty)? {
        TorchElement::Word(word) => TorchType::Word(word),
        TorchElement::Str => TorchType::Str,
        TorchElement::Tensor { writes } => TorchType::Tensor { writes },
    })
}

/// Returns the form of a value that is no list; `None` if PyTorch has no such value.
fn element_of(ty: &ParamType) -> Option<TorchElement> {
    match ty {
        ParamType::Scalar(Scalar::Ptr) => None,
        ParamType::Scalar(scalar) => Some(TorchElement::Word(TorchWord::of(*scalar))),
        ParamType::Tensor(tensor) => {
            Some(TorchElement::Tensor { writes: tensor.access != Access::Read })
        }
        ParamType::Object(ObjectClass::Tensor) => Some(TorchElement::Tensor { writes: true }),
        ParamType::Leaf(Leaf::Str) => Some(TorchElement::Str),
        ParamType::Leaf(Leaf::DType) => Some(TorchElement::Word(TorchWord::DType)),
        ParamType::Leaf(Leaf::Device) => Some(TorchElement::Word(TorchWord::Device)),
        ParamType::Literal(literals) if is_text(literals) => Some(TorchElement::Str),
        ParamType::Literal(literals) => {
            let scalar = literal_scalar(literals)?;
            Some(TorchElement::Word(TorchWord::of(scalar)))
        }
        ParamType::Leaf(Leaf::Bytes | Leaf::Stream | Leaf::Handle | Leaf::Any)
        | ParamType::Shape(_)
        | ParamType::Object(_)
        | ParamType::Sequence(..)
        | ParamType::Mapping(..)
        | ParamType::Tuple(_)
        | ParamType::Union(_)
        | ParamType::Optional(_) => None,
    }
}

impl TorchWord {
    fn of(scalar: Scalar) -> TorchWord {
        if scalar == Scalar::Bool {
            TorchWord::Bool
        } else if scalar.is_float() {
            TorchWord::Float
        } else {
            TorchWord::Int
        }
    }

    /// Returns true for an element type or a device, for which PyTorch passes numbers of its own.
    fn is_named(self) -> bool {
        matches!(self, TorchWord::DType | TorchWord::Device)
    }
}

/// Returns the results of a function, unless it allocates them.
fn result(result: &ResultType) -> Located<TorchResult> {
    let ResultType::Value(ty) = result else { return Ok(TorchResult::None) };
    let unknown = || (Part::Result, format!("no operator of PyTorch yields `{ty}`"));
    if let ParamType::Tuple(members) = ty {
        let answers = members.iter().map(|member| answer(&member.ty));
        return Ok(TorchResult::Tuple(answers.collect::<Option<_>>().ok_or_else(unknown)?));
    }
    Ok(match answer(ty).ok_or_else(unknown)? {
        ResultForm { optional: false, given: TorchType::Word(word) } => TorchResult::Word(word),
        other => TorchResult::One(other),
    })
}

/// Returns the form of a result; `None` if no operator yields such a value.
fn answer(ty: &ParamType) -> Option<ResultForm> {
    let (ty, optional) = ty.required();
    let is_named = |given: &TorchType| matches!(given, TorchType::Word(word) if word.is_named());
    let given = given_of(ty).filter(|given| !is_named(given))?;
    Some(ResultForm { optional, given })
}
