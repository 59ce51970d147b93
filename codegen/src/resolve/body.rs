//! Resolved bodies of functions.

use std::ops::Range;

use abi_spec::Scalar;

use super::argument::Argument;
use super::c_type::{Prototype, ResultConvention};
use super::ids::{LocalId, LookUpId, MapId, OutputId, SymbolId, ValueId};
use super::image::UsedImage;
use super::launch::{Command, Launch, TensorMap};
use super::step::{Step, Topic};
use super::term::Term;
use crate::declaration::{Global, Location, Platform, StatusError};
use crate::ir::Signature;

/// Body of a function.
#[derive(Clone, Debug)]
pub(crate) enum Body<'a> {
    /// One call of a C function, whose result is that of the function.
    Call {
        /// Call.
        call: Box<KernelCall<'a>>,
        /// Elements that the arguments name.
        look_ups: Vec<LookUpId>,
        /// Result, if the C function writes it as a value of the FFI or as several scalars.
        result: Option<Received<'a>>,
    },
    /// Statements.
    Block(Vec<Statement<'a>>),
    /// Preparation of everything that the library launches and looks up.
    Prepare(Box<Prepare<'a>>),
}

/// Body of the function that prepares launches.
#[derive(Clone, Debug)]
pub(crate) struct Prepare<'a> {
    pub(crate) platform: Platform,
    /// Parameter with the index of the device.
    pub(crate) device: ValueId,
    /// One launch of each GPU kernel.
    pub(crate) launches: Vec<Launch<'a>>,
    /// Device variables that functions use, each once.
    pub(crate) globals: Vec<(UsedImage<'a>, &'a Global)>,
    /// Attributes of the device that functions ask for, each once.
    pub(crate) attributes: Vec<u32>,
    /// True if functions work on streams without a launch.
    pub(crate) commands: bool,
    /// Names of the functions that are called by name.
    pub(crate) callees: Vec<&'a str>,
}

/// A resolved statement.
#[derive(Clone, Debug)]
pub(crate) struct Statement<'a> {
    /// Number in the body, nested statements counted; `None` for the `return` that a body need not have.
    pub(crate) number: Option<usize>,
    /// Source line; `None` for that of the function.
    pub(crate) location: Option<&'a Location>,
    /// Elements that it names, in the order in which they are looked up.
    pub(crate) look_ups: Vec<LookUpId>,
    /// Indices of the functions that it makes.
    pub(crate) makes: Range<usize>,
    pub(crate) action: Action<'a>,
}

impl Statement<'_> {
    /// Returns the statement as a topic.
    pub(crate) fn topic(&self) -> Topic {
        self.number.map_or(Topic::RETURN, Topic::statement)
    }
}

/// Action of a statement.
#[derive(Clone, Debug)]
pub(crate) enum Action<'a> {
    /// Looks elements up. A `let` that only gives another value a second name has no action.
    Name,
    /// Computes a term.
    Let { local: LocalId, term: Term },
    /// Makes a function, by its index, and names it.
    Make { closure: usize, value: ValueId },
    /// Calls a C function.
    Kernel { call: KernelCall<'a>, result: KernelResult<'a> },
    /// Calls a function of the FFI; a result without a name is released.
    /// If there are keys, the result is kept under them, and the call is made where it is not kept yet.
    Call { call: PackedCall<'a>, keys: Vec<Term>, result: Option<Received<'a>> },
    /// Allocates a tensor.
    Allocate(OutputId),
    /// Encodes a tensor map. `unsure` are tensors declared for any device, which must be on a GPU.
    TensorMap { map: MapId, made: Box<TensorMap<'a>>, unsure: Vec<ValueId> },
    /// Launches a GPU kernel.
    Launch(Box<Launch<'a>>),
    /// Works on a stream without a launch.
    Command(Box<Command<'a>>),
    /// Runs the statements of the first condition that holds, or those after all.
    If { branches: Vec<Branch<'a>>, otherwise: Vec<Statement<'a>> },
    /// Runs a block for every integer from `start` up to `end`, exclusive.
    For { counter: LocalId, start: Term, end: Term, body: Vec<Statement<'a>> },
    /// Runs the statements of one arm.
    Match(Match<'a>),
    /// Returns from the function.
    Return(Returned<'a>),
    /// Raises an error.
    Raise { kind: &'a str, message: Vec<Piece<'a>> },
}

/// A branch of an `if`.
#[derive(Clone, Debug)]
pub(crate) struct Branch<'a> {
    /// Elements that the condition names, if it is not the first: those of the first are the statement's.
    pub(crate) look_ups: Vec<LookUpId>,
    pub(crate) condition: Term,
    pub(crate) body: Vec<Statement<'a>>,
}

/// A `match` of a union, or of an optional value.
#[derive(Clone, Debug)]
pub(crate) struct Match<'a> {
    pub(crate) value: ValueId,
    /// True if lists may have changed since the value was checked.
    pub(crate) changed: bool,
    /// One arm for each type, then that of None if the value is optional.
    pub(crate) arms: Vec<Arm<'a>>,
}

/// An arm of a `match`.
#[derive(Clone, Debug)]
pub(crate) struct Arm<'a> {
    /// True for the arm of None.
    pub(crate) is_none: bool,
    /// The value in the arm, and the steps that have checked it; `None` if nothing uses it.
    pub(crate) value: Option<(ValueId, Vec<Step<'a>>)>,
    pub(crate) body: Vec<Statement<'a>>,
}

/// A call of a C function.
#[derive(Clone, Debug)]
pub(crate) struct KernelCall<'a> {
    pub(crate) callee: Kernel<'a>,
    /// Type under the C calling convention.
    pub(crate) signature: Signature,
    /// The same type, as C spells it.
    pub(crate) prototype: Prototype,
    pub(crate) args: Vec<Argument>,
    pub(crate) yields: ResultConvention,
    /// Errors by status, if the function returns a status.
    pub(crate) status: Option<&'a [StatusError]>,
    /// Name of the function of the FFI that is called next, before the result is looked at.
    pub(crate) inquiry: Option<&'a str>,
}

/// A callee of a call of a C function.
#[derive(Clone, Debug)]
pub(crate) enum Kernel<'a> {
    /// A function by its symbol.
    Symbol(&'a str),
    /// The function at an address.
    Address(Box<Address>),
}

/// An address of a C function.
#[derive(Clone, Debug)]
pub(crate) struct Address {
    pub(crate) term: Term,
    /// Text of the expression.
    pub(crate) text: String,
}

/// Result of a C function.
#[derive(Clone, Debug)]
pub(crate) enum KernelResult<'a> {
    /// No result.
    None,
    /// A scalar in its C type, returned or written through the last argument.
    Scalar(ValueId),
    /// A value, written through the last argument, or an array of scalars, each written through an argument.
    Written(Received<'a>),
}

/// A value that code outside this function has made, with the checks that it must pass.
#[derive(Clone, Debug)]
pub(crate) struct Received<'a> {
    pub(crate) value: ValueId,
    pub(crate) steps: Vec<Step<'a>>,
    /// Symbols that the checks mention and that are bound before the checks.
    pub(crate) known: Vec<SymbolId>,
}

/// A call of a function of the FFI.
#[derive(Clone, Debug)]
pub(crate) struct PackedCall<'a> {
    pub(crate) callee: Callee<'a>,
    pub(crate) args: Vec<Packed<'a>>,
    /// Type of the code that is entered if it takes the values of its arguments instead of an array of them. Their
    /// address for the result is the last parameter if there is a result.
    pub(crate) values: Option<Signature>,
}

/// A callee of the FFI.
#[derive(Clone, Debug)]
pub(crate) enum Callee<'a> {
    /// An exported function by its name, without the prefix of its symbol, and the code of it that the call enters;
    /// `None` unless this library declares it.
    Symbol { name: &'a str, entry: Option<Entry> },
    /// A function by its name in the imports or the registry.
    Name(&'a str),
    /// A value of type `Function`.
    Value(ValueId),
}

/// The code of a function of this library that a call enters. The exported one is the default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Entry {
    /// True if it gets the tensors to write as further arguments.
    pub(crate) into: bool,
    /// True if its arguments are known to pass the checks, which it does not make.
    pub(crate) checked: bool,
}

/// A value of the FFI that the body makes.
#[derive(Clone, Debug)]
pub(crate) enum Packed<'a> {
    /// A value that needs no new object.
    Plain(Plain<'a>),
    /// An array of new or existing values.
    Array(Vec<Packed<'a>>),
    /// A function that the body makes, by its index.
    Function(usize),
    /// A shape of integers.
    Shape(Vec<Term>),
}

/// A value of the FFI that needs no new object.
#[derive(Clone, Debug)]
pub(crate) enum Plain<'a> {
    /// None.
    None,
    /// A number, truth, address, element type or device.
    Term(Term),
    /// Text.
    Text(&'a str),
    /// A value of this function.
    Value(ValueId),
    /// An allocated tensor.
    Output(OutputId),
}

/// Operand of `return`.
#[derive(Clone, Debug)]
pub(crate) enum Returned<'a> {
    /// None.
    None,
    /// The tensors of the signature.
    Outputs,
    /// A number, converted to the type of a scalar.
    Scalar(Term, Scalar),
    /// A value. It is checked like a received value unless its type is known to be that of the result.
    Packed(Packed<'a>, Option<Received<'a>>),
}

/// A piece of a message.
#[derive(Clone, Debug)]
pub(crate) enum Piece<'a> {
    /// Literal text.
    Text(&'a str),
    /// A scalar, or the text of a value.
    Term(Term),
}

impl Packed<'_> {
    /// Calls a function with the plain value that this is, or with each that it contains.
    pub(super) fn for_each_plain(&self, found: &mut impl FnMut(&Plain<'_>)) {
        match self {
            Packed::Plain(plain) => found(plain),
            Packed::Function(_) | Packed::Shape(_) => {}
            Packed::Array(entries) => entries.iter().for_each(|entry| entry.for_each_plain(found)),
        }
    }
}

impl<'a> KernelCall<'a> {
    /// Returns the symbol; `None` if the function is called by its address.
    pub(crate) fn symbol(&self) -> Option<&'a str> {
        match self.callee {
            Kernel::Symbol(symbol) => Some(symbol),
            Kernel::Address(_) => None,
        }
    }
}

impl Kernel<'_> {
    /// Returns the name of the function in messages.
    pub(crate) fn name(&self) -> String {
        match self {
            Kernel::Symbol(symbol) => (*symbol).to_owned(),
            Kernel::Address(address) => format!("({})", address.text),
        }
    }

    /// Returns the address; `None` if the function is called by its symbol.
    pub(super) fn address(&self) -> Option<&Term> {
        match self {
            Kernel::Symbol(_) => None,
            Kernel::Address(address) => Some(&address.term),
        }
    }
}

impl<'a> Statement<'a> {
    /// Returns the call if the statement calls a C function.
    pub(super) fn kernel_call(&self) -> Option<&KernelCall<'a>> {
        if let Action::Kernel { call, .. } = &self.action { Some(call) } else { None }
    }

    /// Returns the callee if the statement calls a function of the FFI.
    pub(super) fn callee(&self) -> Option<&Callee<'a>> {
        if let Action::Call { call, .. } = &self.action { Some(&call.callee) } else { None }
    }

    /// Returns what the statement receives from code outside this function.
    pub(super) fn received(&self) -> Option<&Received<'a>> {
        if let Action::Kernel { result: KernelResult::Written(received), .. }
        | Action::Call { result: Some(received), .. }
        | Action::Return(Returned::Packed(_, Some(received))) = &self.action
        {
            return Some(received);
        }
        None
    }

    /// Returns the launch if the statement is one.
    pub(super) fn launch(&self) -> Option<&Launch<'a>> {
        if let Action::Launch(launch) = &self.action { Some(launch) } else { None }
    }

    /// Returns statements, each followed by its nested ones.
    pub(super) fn with_nested<'s>(block: &'s [Statement<'a>]) -> Vec<&'s Statement<'a>> {
        let nested = |statement| {
            let blocks = Statement::blocks(statement).into_iter().flat_map(Statement::with_nested);
            std::iter::once(statement).chain(blocks)
        };
        block.iter().flat_map(nested).collect()
    }

    /// Returns the nested blocks, in source order.
    pub(super) fn blocks(&self) -> Vec<&[Statement<'a>]> {
        match &self.action {
            Action::If { branches, otherwise } => {
                let bodies = branches.iter().map(|branch| &branch.body[..]);
                bodies.chain([&otherwise[..]]).collect()
            }
            Action::For { body, .. } => vec![body],
            Action::Match(choice) => choice.arms.iter().map(|arm| &arm.body[..]).collect(),
            Action::Name
            | Action::Let { .. }
            | Action::Make { .. }
            | Action::Kernel { .. }
            | Action::Call { .. }
            | Action::Allocate(_)
            | Action::TensorMap { .. }
            | Action::Launch(_)
            | Action::Command(_)
            | Action::Return(_)
            | Action::Raise { .. } => Vec::new(),
        }
    }
}
