//! Resolved functions: the input of [`lower`](crate::lower()).

use std::borrow::Cow;

use abi_spec::{DType, Scalar};

use super::element::{LookUp, When};
use super::ids::{LocalId, LookUpId, MapId, OutputId, SymbolId, Table, ValueId};
use super::launch::{Command, Launch, TensorMap};
use super::names::Names;
use super::order::{Knowledge, Order, receive};
use super::presence::{Facts, Point};
use super::prototype::{self, Prototype, ResultConvention};
use super::statement::Block;
use super::step::Step;
use super::term::{Kind, Node, Term};
use super::value::Value;
use super::{Items, Located};
use crate::declaration::{self, Expr, Location, ParamType, ResultType, StatusError, Tensor};
use crate::error::Part;
use crate::ir::Signature;

/// A resolved function.
#[derive(Clone, Debug)]
pub(crate) struct Function<'a> {
    pub(crate) declared: &'a declaration::Function,
    /// Parameters, results of calls in the body, and values nested in them.
    pub(crate) values: Table<ValueId, Value<'a>>,
    /// Symbols, in the order of their first mention.
    pub(crate) symbols: Table<SymbolId, Symbol<'a>>,
    /// Allocated tensors; those of the signature come first.
    pub(crate) outputs: Table<OutputId, Output<'a>>,
    /// Numbers, truths and addresses that the body names.
    pub(crate) locals: Table<LocalId, Local<'a>>,
    /// Tensor maps that the body names, each with its tensor.
    pub(crate) maps: Table<MapId, Home>,
    /// Elements of sequences that constraints and the body name.
    pub(crate) look_ups: Table<LookUpId, LookUp<'a>>,
    /// Checks and bindings of the prologue, in the order in which failures are reported.
    pub(crate) steps: Vec<Step<'a>>,
    /// Code that runs after the steps.
    pub(crate) body: Body<'a>,
}

/// A symbol: an integer that extents, strides and integer parameters share.
#[derive(Clone, Debug)]
pub(crate) struct Symbol<'a> {
    pub(crate) name: &'a str,
    /// Part that first mentions it.
    pub(crate) part: Part,
    /// Integer parameter of the same name.
    pub(crate) value: Option<ValueId>,
    /// Local that it stands for.
    pub(crate) local: Option<LocalId>,
    /// True if an extent, a stride or a number of a shape depends on it. It is then an `int64`, whatever the type of
    /// the parameter.
    pub(crate) measures: bool,
}

/// A tensor that the function allocates.
#[derive(Clone, Debug)]
pub(crate) struct Output<'a> {
    pub(crate) name: &'a str,
    pub(crate) tensor: Cow<'a, Tensor>,
    pub(crate) extents: Vec<Term>,
    /// Tensor on whose device it is allocated; `None` for the first device of its type.
    pub(crate) home: Option<Home>,
    /// Tensor whose element type it has; `None` for the declared one.
    pub(crate) dtype_of: Option<ValueId>,
}

/// A number, truth or address that the body names.
#[derive(Clone, Debug)]
pub(crate) struct Local<'a> {
    pub(crate) name: &'a str,
    pub(crate) kind: Kind,
    /// True for an address that is a stream.
    pub(crate) is_stream: bool,
}

/// An argument of a C function or a GPU kernel.
#[derive(Clone, Debug)]
pub(crate) enum Argument {
    /// A value, passed in the C types of its type.
    Value(ValueId),
    /// A term, converted to the C type of a scalar.
    Term(Term, Scalar),
    /// Text, passed as the address of a NUL-terminated copy, and its size.
    Text(String),
}

impl Argument {
    /// Returns true if the argument is an address that exists only after a tensor is allocated.
    pub(crate) fn is_allocated(&self) -> bool {
        match self {
            Argument::Value(_) | Argument::Text(_) => false,
            Argument::Term(term, _) => {
                term.any(&mut |node| matches!(node, Node::Output(_) | Node::OutputData(_)))
            }
        }
    }
}

/// A tensor whose device an allocation or a launch shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Home {
    /// A value of the function.
    Value(ValueId),
    /// An allocated tensor.
    Output(OutputId),
}

/// Body of a function.
#[derive(Clone, Debug)]
pub(crate) enum Body<'a> {
    /// One call of a C function, whose result is that of the function.
    Call {
        /// Call.
        call: KernelCall<'a>,
        /// Elements that the arguments name.
        look_ups: Vec<LookUpId>,
        /// Result, if the C function writes it.
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
    /// Parameter with the index of the device.
    pub(crate) device: ValueId,
    /// One launch of each GPU kernel.
    pub(crate) launches: Vec<Launch<'a>>,
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
    /// Source line; `None` for that of the function.
    pub(crate) location: Option<&'a Location>,
    /// Elements that it names, in the order in which they are looked up.
    pub(crate) look_ups: Vec<LookUpId>,
    pub(crate) action: Action<'a>,
}

/// Action of a statement.
#[derive(Clone, Debug)]
pub(crate) enum Action<'a> {
    /// Looks elements up. A `let` that only gives another value a second name has no action.
    Name,
    /// Computes a term.
    Let { local: LocalId, term: Term },
    /// Calls a C function.
    Kernel { call: KernelCall<'a>, result: KernelResult<'a> },
    /// Calls a function of the FFI; a result without a name is released.
    Call { call: PackedCall<'a>, result: Option<Received<'a>> },
    /// Allocates a tensor.
    Allocate(OutputId),
    /// Encodes a tensor map. `unsure` are tensors declared for any device, which must be on a GPU.
    TensorMap { map: MapId, made: Box<TensorMap<'a>>, unsure: Vec<ValueId> },
    /// Launches a GPU kernel.
    Launch(Box<Launch<'a>>),
    /// Works on a stream without a launch.
    Command(Box<Command<'a>>),
    /// Runs one of two blocks.
    If { condition: Term, then: Vec<Statement<'a>>, otherwise: Vec<Statement<'a>> },
    /// Runs a block for every integer from `start` up to `end`, exclusive.
    For { counter: LocalId, start: Term, end: Term, body: Vec<Statement<'a>> },
    /// Runs the statements of one arm.
    Match(Match<'a>),
    /// Returns from the function.
    Return(Returned<'a>),
    /// Raises an error.
    Raise { kind: &'a str, message: Vec<Piece<'a>> },
}

/// A `match` of a union, or of an optional value.
#[derive(Clone, Debug)]
pub(crate) struct Match<'a> {
    pub(crate) value: ValueId,
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
    pub(crate) symbol: &'a str,
    /// Type under the C calling convention.
    pub(crate) signature: Signature,
    /// The same type, as C spells it.
    pub(crate) prototype: Prototype,
    pub(crate) args: Vec<Argument>,
    /// Errors by status, if the function returns a status.
    pub(crate) status: Option<&'a [StatusError]>,
}

/// Result of a C function.
#[derive(Clone, Debug)]
pub(crate) enum KernelResult<'a> {
    /// No result.
    None,
    /// A scalar, returned in its C type.
    Returned(ValueId),
    /// A value, written through the last argument.
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
}

/// A callee of the FFI.
#[derive(Clone, Debug)]
pub(crate) enum Callee<'a> {
    /// An exported function by its name, without the prefix of its symbol. `own` is true if this library declares it.
    Symbol { name: &'a str, own: bool },
    /// A function by its name in the imports or the registry.
    Name(&'a str),
    /// A value of type `Function`.
    Value(ValueId),
}

/// A value of the FFI that the body makes.
#[derive(Clone, Debug)]
pub(crate) enum Packed<'a> {
    /// A value that needs no new object.
    Plain(Plain<'a>),
    /// An array of new or existing values.
    Array(Vec<Packed<'a>>),
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
    /// Returns true if it is, or contains, a value of the function that satisfies a predicate.
    fn any_value(&self, wanted: &impl Fn(ValueId) -> bool) -> bool {
        match self {
            Packed::Plain(Plain::Value(value)) => wanted(*value),
            Packed::Plain(Plain::None | Plain::Term(_) | Plain::Text(_) | Plain::Output(_))
            | Packed::Shape(_) => false,
            Packed::Array(entries) => entries.iter().any(|entry| entry.any_value(wanted)),
        }
    }
}

impl<'a> Statement<'a> {
    /// Returns the call if the statement calls a C function.
    fn kernel_call(&self) -> Option<&KernelCall<'a>> {
        if let Action::Kernel { call, .. } = &self.action { Some(call) } else { None }
    }

    /// Returns the callee if the statement calls a function of the FFI.
    fn callee(&self) -> Option<&Callee<'a>> {
        if let Action::Call { call, .. } = &self.action { Some(&call.callee) } else { None }
    }

    /// Returns the launch if the statement is one.
    fn launch(&self) -> Option<&Launch<'a>> {
        if let Action::Launch(launch) = &self.action { Some(launch) } else { None }
    }
}

impl<'a> Function<'a> {
    /// Returns all calls of C functions.
    pub(crate) fn calls(&self) -> Vec<&KernelCall<'a>> {
        if let Body::Call { call, .. } = &self.body {
            return vec![call];
        }
        self.statements().into_iter().filter_map(Statement::kernel_call).collect()
    }

    /// Returns all statements, nested ones included; none if the body is one call.
    pub(crate) fn statements(&self) -> Vec<&Statement<'a>> {
        let mut all = Vec::new();
        if let Body::Block(statements) = &self.body {
            collect(statements, &mut all);
        }
        all
    }

    /// Returns the names of the functions that are called by name.
    pub(crate) fn callees(&self) -> Vec<&'a str> {
        if let Body::Prepare(prepare) = &self.body {
            return prepare.callees.clone();
        }
        let name = |callee: &Callee<'a>| {
            if let Callee::Name(name) = callee { Some(*name) } else { None }
        };
        self.statements().into_iter().filter_map(Statement::callee).filter_map(name).collect()
    }

    /// Returns the names of the functions that are called by symbol and that the library does not declare.
    pub(crate) fn imported(&self) -> Vec<&'a str> {
        let name = |callee: &Callee<'a>| {
            if let Callee::Symbol { name, own: false } = callee { Some(*name) } else { None }
        };
        self.statements().into_iter().filter_map(Statement::callee).filter_map(name).collect()
    }

    /// Returns the launches of the body.
    pub(crate) fn launches(&self) -> Vec<&Launch<'a>> {
        self.statements().into_iter().filter_map(Statement::launch).collect()
    }

    /// Returns true if the function works on a stream without a launch.
    pub(crate) fn has_commands(&self) -> bool {
        let is_command =
            |statement: &&Statement<'a>| matches!(statement.action, Action::Command(_));
        self.statements().iter().any(is_command)
    }

    /// Returns the attributes of devices that the function asks for.
    pub(crate) fn device_attributes(&self) -> Vec<u32> {
        let mut all = Vec::new();
        let constraints = self.declared.signature.constraints.iter();
        let exprs = constraints.map(|constraint| &constraint.condition);
        exprs.chain(self.declared.body.exprs()).for_each(|expr| attributes(expr, &mut all));
        all
    }

    /// Returns true if the function calls the driver.
    pub(crate) fn uses_driver(&self) -> bool {
        !self.launches().is_empty() || self.has_commands() || !self.device_attributes().is_empty()
    }

    /// Returns the tensors that the function returns.
    pub(crate) fn results(&self) -> impl Iterator<Item = (OutputId, &Output<'a>)> {
        self.outputs.iter().take(self.declared.signature.outputs().len())
    }

    /// Returns the index of the argument that a value is, or is nested in; `None` for `self` and for values of the
    /// body.
    pub(crate) fn argument(&self, value: ValueId) -> Option<usize> {
        let signature = &self.declared.signature;
        let param = self.values[value].param;
        if param >= signature.params.len() {
            return None;
        }
        if signature.has_self() { param.checked_sub(1) } else { Some(param) }
    }

    /// Returns true if a parameter may be in use after the call: the body returns it, puts it into an array, or hands it
    /// to a function of the FFI, which may keep it.
    pub(crate) fn is_kept(&self, param: usize) -> bool {
        let is_of_param = |value: ValueId| self.values[value].param == param;
        self.statements().into_iter().any(|statement| match &statement.action {
            Action::Call { call, .. } => call.args.iter().any(|arg| arg.any_value(&is_of_param)),
            Action::Return(Returned::Packed(packed, _)) => packed.any_value(&is_of_param),
            Action::Return(Returned::None | Returned::Outputs | Returned::Scalar(..))
            | Action::Name
            | Action::Let { .. }
            | Action::Kernel { .. }
            | Action::Allocate(_)
            | Action::TensorMap { .. }
            | Action::Launch(_)
            | Action::Command(_)
            | Action::If { .. }
            | Action::For { .. }
            | Action::Match(_)
            | Action::Raise { .. } => false,
        })
    }

    /// Returns true for a `uint64` that may exceed `int64`: no extent, stride or number of a shape depends on it.
    pub(crate) fn is_wide(&self, value: ValueId) -> bool {
        let is_unsigned = self.values[value].ty.scalar() == Some(Scalar::Uint64);
        let measures = |symbol: &Symbol<'_>| symbol.measures && symbol.value == Some(value);
        is_unsigned && !self.symbols.iter().any(|(_, symbol)| measures(symbol))
    }

    /// Returns the type of a value that is a tensor.
    pub(crate) fn tensor(&self, value: ValueId) -> Option<&'a Tensor> {
        self.values[value].tensor()
    }

    /// Returns the tensor that lists the element types of a tensor: itself, or the one that binds its symbol. `None`
    /// for other values.
    pub(crate) fn listing(&self, value: ValueId) -> Option<&'a Tensor> {
        super::value::listing(&self.values, value)
    }

    /// Returns the element types that a tensor accepts; none for other values.
    pub(crate) fn accepted(&self, value: ValueId) -> Vec<DType> {
        self.listing(value).map(Tensor::accepted).unwrap_or_default()
    }

    /// Returns the optional values that must not be None for a value to exist, innermost first; the value itself too if
    /// it is optional.
    pub(crate) fn optionals(&self, value: ValueId) -> impl Iterator<Item = ValueId> {
        super::value::optionals(&self.values, value)
    }

    /// Returns true for tensors whose rank is known at run time only.
    pub(crate) fn any_rank(&self, value: ValueId) -> bool {
        self.tensor(value).is_some_and(|tensor| tensor.rank().is_none())
    }
}

/// Appends statements, each followed by its nested ones.
fn collect<'s, 'a>(statements: &'s [Statement<'a>], all: &mut Vec<&'s Statement<'a>>) {
    for statement in statements {
        all.push(statement);
        match &statement.action {
            Action::If { then, otherwise, .. } => {
                collect(then, all);
                collect(otherwise, all);
            }
            Action::For { body, .. } => collect(body, all),
            Action::Match(choice) => choice.arms.iter().for_each(|arm| collect(&arm.body, all)),
            Action::Name
            | Action::Let { .. }
            | Action::Kernel { .. }
            | Action::Call { .. }
            | Action::Allocate(_)
            | Action::TensorMap { .. }
            | Action::Launch(_)
            | Action::Command(_)
            | Action::Return(_)
            | Action::Raise { .. } => {}
        }
    }
}

/// Appends the attributes of devices in an expression.
fn attributes(expr: &Expr, all: &mut Vec<u32>) {
    if let Expr::DeviceAttribute(_, attribute) = expr {
        all.push(attribute.id());
    }
    expr.children().for_each(|child| attributes(child, all));
}

/// Resolves a function.
pub(super) fn resolve<'a>(
    declared: &'a crate::Function,
    items: &Items<'a>,
) -> Located<Function<'a>> {
    let mut names = Names::new(declared)?;
    let Order { mut steps, mut knowledge, .. } = Order::new(&names)?;
    let facts = constraints(&mut names, &knowledge, &mut steps)?;
    let extents = outputs(&names, Point { knowledge: &knowledge, facts: &facts })?;
    for (output, extents) in names.outputs.keys().zip(extents) {
        names.outputs[output].extents = extents;
    }
    let body = match &declared.body {
        declaration::Body::Call(call) => one_call(&mut names, &mut knowledge, &facts, call)?,
        declaration::Body::Block(statements) => {
            Body::Block(Block::new(&mut names, knowledge, facts, items).body(statements)?)
        }
    };
    let Names { values, symbols, outputs, locals, maps, look_ups, .. } = names;
    Ok(Function { declared, values, symbols, outputs, locals, maps, look_ups, steps, body })
}

/// Resolves the constraints. Returns the facts that follow from them.
fn constraints<'a>(
    names: &mut Names<'a>,
    knowledge: &Knowledge,
    steps: &mut Vec<Step<'a>>,
) -> Located<Facts> {
    let mut facts = Facts::default();
    for (index, constraint) in names.function.signature.constraints.iter().enumerate() {
        let at = |reason| (Part::Constraint(index), reason);
        let here = Point { knowledge, facts: &facts };
        let condition = names.condition(here, constraint).map_err(at)?;
        let follows = here.check(names, &condition.test).map_err(at)?;
        facts.extend(follows.holds);
        steps.push(Step::Require(condition));
    }
    Ok(facts)
}

fn outputs(names: &Names<'_>, here: Point<'_>) -> Located<Vec<Vec<Term>>> {
    let mut all = Vec::with_capacity(names.outputs.len());
    for (index, output) in names.function.signature.outputs().iter().enumerate() {
        let at = |reason| (Part::Output(index), reason);
        let mut extents = Vec::new();
        for expr in output.tensor.extents() {
            let term = names.extent(expr).map_err(at)?;
            here.check(names, &term).map_err(at)?;
            extents.push(term);
        }
        all.push(extents);
    }
    Ok(all)
}

/// Resolves the arguments of a body that is one call, and the elements that they name.
fn arguments(
    names: &mut Names<'_>,
    here: Point<'_>,
    call: &declaration::KernelCall,
) -> Located<(Vec<Argument>, Vec<LookUpId>)> {
    let (mut args, mut look_ups) = (Vec::with_capacity(call.args.len()), Vec::new());
    names.elements.clear();
    for (index, expr) in call.args.iter().enumerate() {
        let at = |reason| (Part::Argument(index), reason);
        look_ups.extend(names.look_up(here, [expr], When::AT_FIRST).map_err(at)?);
        let argument = names.argument(expr).map_err(at)?;
        if let Argument::Term(term, _) = &argument {
            here.check(names, term).map_err(at)?;
        }
        args.push(argument);
    }
    Ok((args, look_ups))
}

/// Resolves a body that is one call.
fn one_call<'a>(
    names: &mut Names<'a>,
    knowledge: &mut Knowledge,
    facts: &Facts,
    call: &'a declaration::KernelCall,
) -> Located<Body<'a>> {
    let (args, look_ups) = arguments(names, Point { knowledge, facts }, call)?;
    let result = match &names.function.signature.result {
        ResultType::None | ResultType::Allocated(_) => ResultConvention::None,
        ResultType::Value(ParamType::Scalar(scalar)) => ResultConvention::Returned(*scalar),
        ResultType::Value(_) => ResultConvention::Written,
    };
    let prototype = prototype::of_call(names, call, &args, result);
    let (symbol, signature) = (&call.symbol, prototype.signature());
    let call = KernelCall { symbol, signature, prototype, args, status: call.status.as_deref() };
    let result = match (&names.function.signature.result, result) {
        (ResultType::Value(ty), ResultConvention::Written) => {
            let at = |(_, reason)| (Part::Result, reason);
            Some(receive(names, knowledge, facts, "result".to_owned(), ty).map_err(at)?)
        }
        _ => None,
    };
    Ok(Body::Call { call, look_ups, result })
}
