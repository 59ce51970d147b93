//! Handlers of XLA: what of a call becomes which argument of a function.

pub(super) mod made;

use abi_spec::{DeviceType, Scalar};
use rustc_hash::FxHashSet;

use made::returned;

use super::Located;
use super::body::Entry;
use super::closure::located;
use super::external::External;
use super::function::Function;
use super::registered::chosen;
use super::well_formed::RESERVED_PREFIXES;
use crate::declaration::{
    self, Access, Device, Handlers, Leaf, Library, Literal, ObjectClass, Param, ParamType,
    ResultType, Sequence, Signature, Tensor, is_identifier,
};
use crate::error::{Error, Part};

/// A handler of a function. One that returns a closure has two: see [`Stage`].
#[derive(Clone, Debug)]
pub(crate) struct Handler<'a> {
    /// Index of the function in the library.
    pub(crate) function: usize,
    /// Name of the function.
    pub(crate) name: &'a str,
    /// Name of the handler.
    pub(crate) symbol: String,
    /// Time at which XLA calls it.
    pub(crate) stage: Stage,
    /// Code of the function that it calls.
    pub(crate) entry: Entry,
    /// Type of the device of all buffers.
    pub(crate) device: DeviceType,
    /// Arguments of the call, results that the function allocates included.
    pub(crate) args: Vec<HandlerArgument<'a>>,
    /// Number of operands.
    pub(crate) operands: u32,
    /// Number of results.
    pub(crate) results: u32,
    /// True if the function allocates more than its results, or calls one that may.
    pub(crate) allocates: bool,
}

/// Stage of a program of XLA: when a handler is called, and what it calls then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Each call of the program calls the function.
    Call,
    /// Making the program ready calls the function, with so many arguments. The closure that it returns becomes the
    /// state of the program. The arguments after them are those attributes that the closure gets: they are read, so
    /// that what is wrong with one is known by then.
    Instantiate(usize),
    /// Each call of the program calls the closure, which is the state of the program.
    Execute,
}

impl Stage {
    /// Returns the end of the names that belong to the stage.
    fn suffix(self) -> &'static str {
        match self {
            Stage::Instantiate(_) => "_instantiate",
            Stage::Call | Stage::Execute => "",
        }
    }
}

/// Argument of a call that a handler makes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum HandlerArgument<'a> {
    /// The operand of this number.
    Operand(u32),
    /// The result of this number.
    Result(u32),
    /// The stream of the call.
    Stream,
    /// An attribute.
    Attribute(Attribute<'a>),
}

/// An attribute of a call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attribute<'a> {
    pub(crate) name: &'a str,
    pub(crate) form: Form,
    /// The value if there is none.
    pub(crate) default: Option<&'a Literal>,
}

/// Form in which a function takes an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// A number, a truth or a text.
    Plain,
    /// A text as bytes.
    Bytes,
    /// An array of numbers or truths.
    Array,
    /// An array of integers as a shape.
    Shape,
}

impl Handler<'_> {
    /// Returns true if an argument is an attribute.
    pub(crate) fn has_attributes(&self) -> bool {
        self.args.iter().any(|arg| matches!(arg, HandlerArgument::Attribute(_)))
    }

    /// Returns the name of the function of the FFI that returns the address of the handler.
    pub(crate) fn getter(&self) -> String {
        format!("{GETTER}{}{}", self.name, self.stage.suffix())
    }
}

/// Beginning of the name of the function of the FFI that returns the address of a handler.
const GETTER: &str = "_xla_";

/// Returns the handlers of a library, in the order of its functions.
pub(super) fn handlers<'a>(
    library: &'a Library,
    functions: &[Function<'_>],
    externals: &[External<'_>],
) -> Result<Vec<Handler<'a>>, Error> {
    let Some(handlers) = &library.handlers else { return Ok(Vec::new()) };
    let called = functions.iter().flat_map(Function::calls).map(|(symbol, _)| symbol.to_owned());
    let defined = externals.iter().map(|external| external.symbol.clone());
    let mut symbols: FxHashSet<String> = called.chain(defined).collect();
    let named = |name: &str| library.functions.iter().any(|f| f.signature.name == name);
    let mut all = Vec::new();
    for (function, declared) in chosen(library, "handlers", &handlers.functions)? {
        let invalid = |(part, reason)| Error::invalid(function, declared, part, reason);
        let made = stages(function, declared, handlers, &functions[function]).map_err(invalid)?;
        for handler in made {
            let getter = handler.getter();
            let is_taken = !symbols.insert(handler.symbol.clone());
            let taken = is_taken.then_some(&handler.symbol).or(named(&getter).then_some(&getter));
            if let Some(taken) = taken {
                let reason =
                    format!("`{taken}` belongs to its handler of XLA, and another function has it");
                return Err(invalid((Part::Name, reason)));
            }
            all.push(handler);
        }
    }
    Ok(all)
}

/// Returns the handler of a function, or the two of one that returns a closure.
fn stages<'a>(
    function: usize,
    declared: &'a declaration::Function,
    handlers: &Handlers,
    resolved: &Function<'_>,
) -> Located<Vec<Handler<'a>>> {
    let signature = &declared.signature;
    if signature.has_self() {
        let reason = "a closure has no handler of XLA: `self` is known to the function object only";
        return Err((Part::Param(0), reason.to_owned()));
    }
    let mut call = Handler::new((function, &signature.name), handlers, Stage::Call)?;
    let made = returned(declared)
        .and_then(|(statement, closure)| Some((statement, closure, resolved.place_of(closure)?)));
    if let Some((statement, closure, place)) = made {
        let stage = Stage::Instantiate(signature.params.len());
        let mut made = Handler::new((function, &signature.name), handlers, stage)?;
        for (index, param) in signature.params.iter().enumerate() {
            let arg = made.argument(param).and_then(|arg| match arg {
                HandlerArgument::Attribute(_) => Ok(arg),
                HandlerArgument::Operand(_)
                | HandlerArgument::Result(_)
                | HandlerArgument::Stream => {
                    Err("a program of XLA has attributes only when it makes a closure".to_owned())
                }
            });
            made.args.push(arg.map_err(|reason| (Part::Param(index), reason))?);
        }
        made.entry.into = !closure.signature.outputs().is_empty();
        let within = |(part, reason)| (Part::Statement(statement), located(closure, part, reason));
        call.stage = Stage::Execute;
        call.sign(&closure.signature, &resolved.closures[place].function).map_err(within)?;
        let attributes =
            call.args.iter().filter(|arg| matches!(arg, HandlerArgument::Attribute(_)));
        made.args.extend(attributes);
        return Ok(vec![made, call]);
    }
    call.sign(signature, resolved)?;
    call.entry.into = !signature.outputs().is_empty();
    Ok(vec![call])
}

/// Checks that a tensor is on the device of those before it, and notes its device.
fn same_device(known: &mut Option<DeviceType>, tensor: &Tensor) -> Result<(), String> {
    let Device::Type(ty) = tensor.device else { return Ok(()) };
    match *known.get_or_insert(ty) {
        first if first == ty => Ok(()),
        first => Err(format!("buffers of one call of XLA are on one device, not {first} and {ty}")),
    }
}

impl<'a> Handler<'a> {
    /// Builds the handler of a function without arguments.
    fn new((function, name): (usize, &'a str), of: &Handlers, stage: Stage) -> Located<Self> {
        let symbol = format!("{}_{name}{}", of.prefix, stage.suffix());
        let reserved = RESERVED_PREFIXES.iter().any(|prefix| symbol.starts_with(prefix));
        if reserved || !is_identifier(&symbol) || symbol.starts_with('_') {
            return Err((Part::Name, format!("`{symbol}` cannot be the name of a handler of XLA")));
        }
        Ok(Handler {
            function,
            name,
            symbol,
            stage,
            entry: Entry::default(),
            device: DeviceType::CPU,
            args: Vec::new(),
            operands: 0,
            results: 0,
            allocates: false,
        })
    }

    /// Adds the arguments of a function that takes buffers.
    fn sign(&mut self, signature: &'a Signature, resolved: &Function<'_>) -> Located<()> {
        let outputs = signature.outputs();
        if let ResultType::Value(ty) = &signature.result {
            let mut reason = format!("XLA's calls yield buffers only, not `{ty}`");
            if *ty == ParamType::Object(ObjectClass::Function) {
                let form = "is the last statement and writes a function: `return function …;`";
                reason = format!("{reason}, unless the only `return` {form}");
            }
            return Err((Part::Result, reason));
        }
        let mut known = None;
        for (index, param) in signature.params.iter().enumerate() {
            let at = |reason| (Part::Param(index), reason);
            let arg = self.argument(param).map_err(at)?;
            self.args.push(arg);
            let tensor = param.ty.tensor();
            tensor.map_or(Ok(()), |tensor| same_device(&mut known, tensor)).map_err(at)?;
        }
        for output in outputs {
            let arg = self.result();
            self.args.push(arg);
            same_device(&mut known, &output.tensor).map_err(|reason| (Part::Result, reason))?;
        }
        self.device = known.unwrap_or(DeviceType::CPU);
        self.allocates = resolved.allocates_more_than(outputs.len());
        Ok(())
    }

    /// Returns the next result.
    fn result(&mut self) -> HandlerArgument<'a> {
        self.results += 1;
        HandlerArgument::Result(self.results - 1)
    }

    /// Returns the next operand.
    fn operand(&mut self) -> HandlerArgument<'a> {
        self.operands += 1;
        HandlerArgument::Operand(self.operands - 1)
    }

    /// Returns what of a call becomes a parameter, or why nothing can.
    fn argument(&mut self, param: &'a Param) -> Result<HandlerArgument<'a>, String> {
        let (ty, optional) = param.ty.required();
        let default = param.default.as_ref().or(optional.then_some(&Literal::None));
        let attribute =
            |form| Ok(HandlerArgument::Attribute(Attribute { name: &param.name, form, default }));
        let unknown = || Err(format!("no call of XLA has a value for `{}`", param.ty));
        if param.variadic {
            return Err("a call of XLA has a fixed number of operands".to_owned());
        }
        match ty {
            ParamType::Tensor(_) if optional => {
                Err("a call of XLA has all of its buffers, so that none is optional".to_owned())
            }
            ParamType::Tensor(tensor) => Ok(match tensor.access {
                Access::Read => self.operand(),
                Access::Write => self.result(),
                Access::Update => {
                    self.operand();
                    self.result()
                }
            }),
            ParamType::Scalar(scalar) if *scalar != Scalar::Ptr => attribute(Form::Plain),
            ParamType::Leaf(Leaf::Str) | ParamType::Literal(_) => attribute(Form::Plain),
            ParamType::Leaf(Leaf::Bytes) => attribute(Form::Bytes),
            ParamType::Shape(_) => attribute(Form::Shape),
            ParamType::Sequence(Sequence::Array, element)
                if element.scalar().is_some_and(|scalar| scalar != Scalar::Ptr) =>
            {
                attribute(Form::Array)
            }
            ParamType::Leaf(Leaf::Stream) => Ok(HandlerArgument::Stream),
            ParamType::Scalar(_)
            | ParamType::Leaf(Leaf::DType | Leaf::Device | Leaf::Handle | Leaf::Any)
            | ParamType::Object(_)
            | ParamType::Sequence(..)
            | ParamType::Mapping(..)
            | ParamType::Tuple(_)
            | ParamType::Union(_)
            | ParamType::Optional(_) => unknown(),
        }
    }
}
