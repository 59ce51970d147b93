//! Handlers of XLA: what of a call becomes which argument of a function.

use abi_spec::DeviceType;

use rustc_hash::FxHashSet;

use super::Located;
use super::body::Entry;
use super::external::External;
use super::function::Function;
use super::well_formed::RESERVED_PREFIXES;
use crate::declaration::{
    Access, Device, Handlers, Leaf, Library, Literal, Param, ParamType, ResultType, Signature,
    Tensor, is_identifier,
};
use crate::error::{Error, Part};

/// The handler of a function.
#[derive(Clone, Debug)]
pub(crate) struct Handler<'a> {
    /// Index of the function in the library.
    pub(crate) function: usize,
    /// Name of the function.
    pub(crate) name: &'a str,
    /// Name of the handler.
    pub(crate) symbol: String,
    /// Code of the function that it calls.
    pub(crate) entry: Entry,
    /// Type of the device of all buffers.
    pub(crate) device: DeviceType,
    /// Arguments of the call, results that the function allocates included.
    pub(crate) args: Vec<Argument<'a>>,
    /// Number of operands.
    pub(crate) operands: u32,
    /// Number of results.
    pub(crate) results: u32,
    /// True if the function allocates more than its results, or calls one that may.
    pub(crate) allocates: bool,
}

/// Argument of a call that a handler makes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Argument<'a> {
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
    /// True if the function takes its text as bytes.
    pub(crate) as_bytes: bool,
    /// The value if there is none.
    pub(crate) default: Option<&'a Literal>,
}

impl Handler<'_> {
    /// Returns true if an argument is an attribute.
    pub(crate) fn has_attributes(&self) -> bool {
        self.args.iter().any(|arg| matches!(arg, Argument::Attribute(_)))
    }
}

/// Beginning of the name of the function of the FFI that returns the address of a handler.
pub(crate) const GETTER: &str = "_xla_";

/// Returns the handlers of a library, in the order of its functions.
pub(super) fn handlers<'a>(
    library: &'a Library,
    functions: &[Function<'_>],
    externals: &[External<'_>],
) -> Result<Vec<Handler<'a>>, Error> {
    let Some(handlers) = &library.handlers else { return Ok(Vec::new()) };
    let called = functions.iter().flat_map(Function::calls).map(|(symbol, _)| symbol);
    let defined = externals.iter().map(|external| &external.symbol[..]);
    let symbols: FxHashSet<&str> = called.chain(defined).collect();
    let named = |name: &str| library.functions.iter().any(|f| f.signature.name == name);
    let mut all = Vec::new();
    for (function, declared) in chosen(library, "handlers", &handlers.functions)? {
        let invalid = |(part, reason)| Error::invalid(function, declared, part, reason);
        let mut made = handler(function, &declared.signature, handlers).map_err(invalid)?;
        made.allocates =
            functions[function].allocates_more_than(declared.signature.outputs().len());
        let getter = format!("{GETTER}{}", made.name);
        let is_taken = symbols.contains(&made.symbol[..]);
        if let Some(taken) = is_taken.then_some(&made.symbol).or(named(&getter).then_some(&getter))
        {
            let reason =
                format!("`{taken}` belongs to its handler of XLA, and another function has it");
            return Err(invalid((Part::Name, reason)));
        }
        all.push(made);
    }
    Ok(all)
}

/// Returns the functions that are meant for a host besides TVM FFI, with their indices: those with these names, or all.
///
/// # Errors
/// [`Error::Registered`] for a name that no function has.
pub(super) fn chosen<'a>(
    library: &'a Library,
    host: &'static str,
    names: &'a [String],
) -> Result<impl Iterator<Item = (usize, &'a crate::Function)>, Error> {
    let named = |name: &str| library.functions.iter().any(|f| f.signature.name == name);
    if let Some(name) = names.iter().find(|name| !named(name)) {
        return Err(Error::Registered { host, name: name.clone() });
    }
    let is_meant = |name: &String| names.is_empty() || names.contains(name);
    let all = library.functions.iter().enumerate();
    Ok(all.filter(move |(_, function)| is_meant(&function.signature.name)))
}

fn handler<'a>(
    function: usize,
    signature: &'a Signature,
    handlers: &Handlers,
) -> Located<Handler<'a>> {
    let name = &signature.name;
    let symbol = format!("{}_{name}", handlers.prefix);
    let reserved = RESERVED_PREFIXES.iter().any(|prefix| symbol.starts_with(prefix));
    if reserved || !is_identifier(&symbol) || symbol.starts_with('_') {
        return Err((Part::Name, format!("`{symbol}` cannot be the name of a handler of XLA")));
    }
    if signature.has_self() {
        let reason = "a closure has no handler of XLA: `self` is known to the function object only";
        return Err((Part::Param(0), reason.to_owned()));
    }
    let outputs = signature.outputs();
    if let ResultType::Value(ty) = &signature.result {
        let reason = format!("XLA's calls yield buffers only, not `{ty}`");
        return Err((Part::Result, reason));
    }
    let entry = Entry { into: !outputs.is_empty(), checked: false };
    let device = DeviceType::CPU;
    let args = Vec::with_capacity(signature.params.len() + outputs.len());
    let mut made = Handler {
        function,
        name,
        symbol,
        entry,
        device,
        args,
        operands: 0,
        results: 0,
        allocates: false,
    };
    let mut known = None;
    for (index, param) in signature.params.iter().enumerate() {
        let at = |reason| (Part::Param(index), reason);
        let arg = made.argument(param).map_err(at)?;
        made.args.push(arg);
        let tensor = param.ty.tensor();
        tensor.map_or(Ok(()), |tensor| same_device(&mut known, tensor)).map_err(at)?;
    }
    for output in outputs {
        let arg = made.result();
        made.args.push(arg);
        same_device(&mut known, &output.tensor).map_err(|reason| (Part::Result, reason))?;
    }
    made.device = known.unwrap_or(DeviceType::CPU);
    Ok(made)
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
    /// Returns the next result.
    fn result(&mut self) -> Argument<'a> {
        self.results += 1;
        Argument::Result(self.results - 1)
    }

    /// Returns the next operand.
    fn operand(&mut self) -> Argument<'a> {
        self.operands += 1;
        Argument::Operand(self.operands - 1)
    }

    /// Returns what of a call becomes a parameter, or why nothing can.
    fn argument(&mut self, param: &'a Param) -> Result<Argument<'a>, String> {
        let (ty, optional) = param.ty.required();
        let default = param.default.as_ref().or(optional.then_some(&Literal::None));
        let attribute =
            |as_bytes| Ok(Argument::Attribute(Attribute { name: &param.name, as_bytes, default }));
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
            ParamType::Scalar(scalar) if *scalar != abi_spec::Scalar::Ptr => attribute(false),
            ParamType::Leaf(Leaf::Str) | ParamType::Literal(_) => attribute(false),
            ParamType::Leaf(Leaf::Bytes) => attribute(true),
            ParamType::Leaf(Leaf::Stream) => Ok(Argument::Stream),
            ParamType::Scalar(_)
            | ParamType::Leaf(Leaf::DType | Leaf::Device | Leaf::Handle | Leaf::Any)
            | ParamType::Shape(_)
            | ParamType::Object(_)
            | ParamType::Sequence(..)
            | ParamType::Mapping(..)
            | ParamType::Tuple(_)
            | ParamType::Union(_)
            | ParamType::Optional(_) => unknown(),
        }
    }
}
