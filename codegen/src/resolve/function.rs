//! A function with its meaning: what [`lower`](crate::lower()) is made from.

use std::borrow::Cow;

use abi_spec::Scalar;

use super::Items;
use super::ids::{LocalId, OutputId, SymbolId, Table, ValueId};
use super::launch::Launch;
use super::names::Names;
use super::order::{Knowledge, Order, receive};
use super::prototype::{self, Prototype, ResultConvention};
use super::statement::Block;
use super::step::Step;
use super::term::{Kind, Node, Term};
use super::value::Value;
use crate::declaration::{self, Location, ParamType, ResultType, StatusError, Tensor};
use crate::error::Part;
use crate::ir::Signature;

/// A function: its declaration, with names resolved and checks in order.
#[derive(Clone, Debug)]
pub(crate) struct Function<'a> {
    /// The declaration.
    pub(crate) declared: &'a declaration::Function,
    /// Its parameters, what calls in the body yield, and what is nested in them.
    pub(crate) values: Table<ValueId, Value<'a>>,
    /// In the order in which they are first mentioned.
    pub(crate) symbols: Table<SymbolId, Symbol<'a>>,
    /// The tensors that are allocated: first those of the signature.
    pub(crate) outputs: Table<OutputId, Output<'a>>,
    /// Numbers, truths and addresses of the body.
    pub(crate) locals: Table<LocalId, Local<'a>>,
    /// Checks and bindings, in the order in which a failure is reported.
    pub(crate) steps: Vec<Step<'a>>,
    /// What runs once they have passed.
    pub(crate) body: Body<'a>,
}

/// A symbol: an integer that extents, strides and integer parameters agree on.
#[derive(Clone, Debug)]
pub(crate) struct Symbol<'a> {
    /// Its name.
    pub(crate) name: &'a str,
    /// Where it is first mentioned.
    pub(crate) part: Part,
    /// The integer parameter of the same name.
    pub(crate) value: Option<ValueId>,
    /// The integer of the body that it is.
    pub(crate) local: Option<LocalId>,
    /// An extent, a stride or a number of a shape depends on it: it is an `int64`, whatever the parameter is.
    pub(crate) measures: bool,
}

/// A tensor that is allocated.
#[derive(Clone, Debug)]
pub(crate) struct Output<'a> {
    /// Its name.
    pub(crate) name: &'a str,
    /// Its type.
    pub(crate) tensor: Cow<'a, Tensor>,
    /// Its extents.
    pub(crate) extents: Vec<Term>,
    /// Where it lives; `None` for the first device of its type.
    pub(crate) home: Option<Home>,
}

/// What a body has given a name.
#[derive(Clone, Debug)]
pub(crate) struct Local<'a> {
    /// The name.
    pub(crate) name: &'a str,
    /// What it yields.
    pub(crate) kind: Kind,
}

/// What a C function is given.
#[derive(Clone, Debug)]
pub(crate) enum Argument {
    /// A value, in the C types of its kind.
    Value(ValueId),
    /// A term, converted to the C type of a scalar.
    Term(Term, Scalar),
    /// Text: its address, NUL-terminated, and its size.
    Text(String),
}

impl Argument {
    /// True for what is known only once a tensor is allocated: its address and that of its elements.
    pub(crate) fn is_allocated(&self) -> bool {
        match self {
            Argument::Value(_) | Argument::Text(_) => false,
            Argument::Term(term, _) => {
                term.any(&mut |node| matches!(node, Node::Output(_) | Node::OutputData(_)))
            }
        }
    }
}

/// The device of a tensor that is allocated, or of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Home {
    /// That of a tensor.
    Value(ValueId),
    /// That of another tensor that was allocated.
    Output(OutputId),
}

/// What runs once the arguments are checked.
#[derive(Clone, Debug)]
pub(crate) enum Body<'a> {
    /// One call, whose result is that of the function.
    Call {
        /// The call.
        call: KernelCall<'a>,
        /// What it writes.
        result: Option<Received<'a>>,
    },
    /// A program.
    Block(Vec<Statement<'a>>),
    /// Prepares all that the library launches and looks up.
    Prepare(Box<Prepare<'a>>),
}

/// What is there to prepare.
#[derive(Clone, Debug)]
pub(crate) struct Prepare<'a> {
    /// The number of the device.
    pub(crate) device: ValueId,
    /// A launch of each kernel.
    pub(crate) launches: Vec<Launch<'a>>,
    /// The functions that are called by name.
    pub(crate) callees: Vec<&'a str>,
}

/// A statement of a program.
#[derive(Clone, Debug)]
pub(crate) struct Statement<'a> {
    /// Where it comes from, if not from where the function does.
    pub(crate) location: Option<&'a Location>,
    /// What it does.
    pub(crate) action: Action<'a>,
}

/// What a statement does.
#[derive(Clone, Debug)]
pub(crate) enum Action<'a> {
    /// Computes a term; names that stand for values need nothing.
    Let { local: LocalId, term: Term },
    /// Calls a C function.
    Kernel { call: KernelCall<'a>, result: KernelResult<'a> },
    /// Calls a function of the FFI; a result without a name is released.
    Call { call: PackedCall<'a>, result: Option<Received<'a>> },
    /// Allocates a tensor.
    Allocate(OutputId),
    /// Launches a kernel of an image.
    Launch(Box<Launch<'a>>),
    /// Chooses.
    If { condition: Term, then: Vec<Statement<'a>>, otherwise: Vec<Statement<'a>> },
    /// Repeats.
    For { counter: LocalId, start: Term, end: Term, body: Vec<Statement<'a>> },
    /// Returns.
    Return(Returned<'a>),
    /// Raises.
    Raise { kind: &'a str, message: Vec<Piece<'a>> },
}

/// A call of a C function.
#[derive(Clone, Debug)]
pub(crate) struct KernelCall<'a> {
    /// Its symbol.
    pub(crate) symbol: &'a str,
    /// Its C type, for code.
    pub(crate) prototype: Signature,
    /// The same as C spells it.
    pub(crate) types: Prototype,
    /// What it is given.
    pub(crate) args: Vec<Argument>,
    /// What its status means, if that is what it returns.
    pub(crate) status: Option<&'a [StatusError]>,
}

/// What becomes of the result of a C function.
#[derive(Clone, Debug)]
pub(crate) enum KernelResult<'a> {
    /// There is none.
    None,
    /// It is returned in its C type.
    Returned(ValueId),
    /// It is written.
    Written(Received<'a>),
}

/// A value of the FFI that somebody else has made.
#[derive(Clone, Debug)]
pub(crate) struct Received<'a> {
    /// What it is called.
    pub(crate) value: ValueId,
    /// What it must be.
    pub(crate) steps: Vec<Step<'a>>,
    /// The symbols that the steps mention and that are known before.
    pub(crate) known: Vec<SymbolId>,
}

/// A call of a function of the FFI.
#[derive(Clone, Debug)]
pub(crate) struct PackedCall<'a> {
    /// The function.
    pub(crate) callee: Callee<'a>,
    /// What it is given.
    pub(crate) args: Vec<Packed<'a>>,
}

/// A function of the FFI.
#[derive(Clone, Debug)]
pub(crate) enum Callee<'a> {
    /// By its exported symbol, without the prefix.
    Symbol { name: &'a str, own: bool },
    /// By the name under which imports or the registry have it.
    Name(&'a str),
    /// A value of type `Function`.
    Value(ValueId),
}

/// A value of the FFI that the body makes.
#[derive(Clone, Debug)]
pub(crate) enum Packed<'a> {
    /// One that is there, and only written.
    Plain(Plain<'a>),
    /// An array.
    Array(Vec<Packed<'a>>),
    /// A shape.
    Shape(Vec<Term>),
}

/// A value of the FFI for which no object has to be made.
#[derive(Clone, Debug)]
pub(crate) enum Plain<'a> {
    /// None.
    None,
    /// A number, truth, address, element type or device.
    Term(Term),
    /// Text.
    Text(&'a str),
    /// A value as it was declared.
    Value(ValueId),
    /// A tensor that was allocated.
    Output(OutputId),
}

/// What a function returns.
#[derive(Clone, Debug)]
pub(crate) enum Returned<'a> {
    /// None.
    None,
    /// The tensors of the signature.
    Outputs,
    /// A number in the type of a scalar.
    Scalar(Term, Scalar),
    /// A value, and what it must be where that is not known.
    Packed(Packed<'a>, Option<Received<'a>>),
}

/// A part of a message.
#[derive(Clone, Debug)]
pub(crate) enum Piece<'a> {
    /// As it is.
    Text(&'a str),
    /// A scalar, or the text of a value.
    Term(Term),
}

impl<'a> Statement<'a> {
    /// The launch that it is.
    fn launch(&self) -> Option<&Launch<'a>> {
        if let Action::Launch(launch) = &self.action { Some(launch) } else { None }
    }
}

impl<'a> Function<'a> {
    /// Every call of a C function.
    pub(crate) fn calls(&self) -> Vec<&KernelCall<'a>> {
        let mut calls = Vec::new();
        match &self.body {
            Body::Call { call, .. } => calls.push(call),
            Body::Prepare(_) => {}
            Body::Block(statements) => collect(statements, &mut |statement| {
                if let Action::Kernel { call, .. } = &statement.action {
                    calls.push(call);
                }
            }),
        }
        calls
    }

    /// The statements of a program, nested ones included; none of one call.
    pub(crate) fn statements(&self) -> Vec<&Statement<'a>> {
        let mut all = Vec::new();
        if let Body::Block(statements) = &self.body {
            collect(statements, &mut |statement| all.push(statement));
        }
        all
    }

    /// The functions that are looked up by name.
    pub(crate) fn callees(&self) -> Vec<&'a str> {
        if let Body::Prepare(prepare) = &self.body {
            return prepare.callees.clone();
        }
        let name = |statement: &Statement<'a>| {
            let Action::Call { call, .. } = &statement.action else { return None };
            if let Callee::Name(name) = call.callee { Some(name) } else { None }
        };
        self.statements().into_iter().filter_map(name).collect()
    }

    /// The functions that are called by symbol and are not declared in the library.
    pub(crate) fn imported(&self) -> Vec<&'a str> {
        let name = |statement: &Statement<'a>| {
            let Action::Call { call, .. } = &statement.action else { return None };
            if let Callee::Symbol { name, own: false } = call.callee { Some(name) } else { None }
        };
        self.statements().into_iter().filter_map(name).collect()
    }

    /// The launches of its body.
    pub(crate) fn launches(&self) -> Vec<&Launch<'a>> {
        self.statements().into_iter().filter_map(Statement::launch).collect()
    }

    /// The tensors that the function returns.
    pub(crate) fn results(&self) -> impl Iterator<Item = (OutputId, &Output<'a>)> {
        self.outputs.iter().take(self.declared.signature.outputs().len())
    }

    /// The position among the arguments of a call of the one that a value is in; `None` for `self` and for what
    /// the body has.
    pub(crate) fn argument(&self, value: ValueId) -> Option<usize> {
        let signature = &self.declared.signature;
        let param = self.values[value].param;
        if param >= signature.params.len() {
            return None;
        }
        if signature.has_self() { param.checked_sub(1) } else { Some(param) }
    }

    /// True for a `uint64` that need not fit `int64`: no extent, stride or number of a shape depends on it.
    pub(crate) fn is_wide(&self, value: ValueId) -> bool {
        let is_unsigned = self.values[value].ty.scalar() == Some(Scalar::Uint64);
        let measures = |symbol: &Symbol<'_>| symbol.measures && symbol.value == Some(value);
        is_unsigned && !self.symbols.iter().any(|(_, symbol)| measures(symbol))
    }

    /// The declaration of a tensor.
    pub(crate) fn tensor(&self, value: ValueId) -> Option<&'a Tensor> {
        self.values[value].tensor()
    }

    /// The values that must be there for this one to be, from the inside, itself included.
    pub(crate) fn optionals(&self, value: ValueId) -> impl Iterator<Item = ValueId> {
        super::value::optionals(&self.values, value)
    }

    /// True for tensors whose rank is known at run time only.
    pub(crate) fn any_rank(&self, value: ValueId) -> bool {
        self.tensor(value).is_some_and(|tensor| tensor.rank().is_none())
    }
}

fn collect<'s, 'a>(statements: &'s [Statement<'a>], with: &mut impl FnMut(&'s Statement<'a>)) {
    for statement in statements {
        with(statement);
        match &statement.action {
            Action::If { then, otherwise, .. } => {
                collect(then, with);
                collect(otherwise, with);
            }
            Action::For { body, .. } => collect(body, with),
            Action::Let { .. }
            | Action::Kernel { .. }
            | Action::Call { .. }
            | Action::Allocate(_)
            | Action::Launch(_)
            | Action::Return(_)
            | Action::Raise { .. } => {}
        }
    }
}

/// Finds the meaning of a function, or why it has none.
pub(super) fn resolve<'a>(
    declared: &'a crate::Function,
    items: &Items<'a>,
) -> Result<Function<'a>, (Part, String)> {
    let mut names = Names::new(declared)?;
    let mut order = Order::new(&names)?;
    constraints(&names, &mut order)?;
    let extents = outputs(&names, &mut order)?;
    let args = match &declared.body {
        declaration::Body::Call(call) => arguments(&names, &mut order, call)?,
        declaration::Body::Block(_) => Vec::new(),
    };
    let Order { steps, mut knowledge, .. } = order;
    for (output, extents) in names.outputs.keys().zip(extents) {
        names.outputs[output].extents = extents;
    }
    let body = match &declared.body {
        declaration::Body::Call(call) => one_call(&mut names, &mut knowledge, call, args)?,
        declaration::Body::Block(statements) => {
            Body::Block(Block::new(&mut names, knowledge, items).body(statements)?)
        }
    };
    let Names { values, symbols, outputs, locals, .. } = names;
    Ok(Function { declared, values, symbols, outputs, locals, steps, body })
}

fn constraints<'a>(names: &Names<'a>, order: &mut Order<'_, 'a>) -> Result<(), (Part, String)> {
    for (index, constraint) in names.function.signature.constraints.iter().enumerate() {
        let at = |reason| (Part::Constraint(index), reason);
        let condition = names.condition(constraint).map_err(at)?;
        order.check_determined(&condition.test).map_err(at)?;
        order.steps.push(Step::Require(condition));
    }
    Ok(())
}

fn outputs<'a>(
    names: &Names<'a>,
    order: &mut Order<'_, 'a>,
) -> Result<Vec<Vec<Term>>, (Part, String)> {
    let mut all = Vec::with_capacity(names.outputs.len());
    for (index, output) in names.function.signature.outputs().iter().enumerate() {
        let at = |reason| (Part::Output(index), reason);
        let mut extents = Vec::new();
        for expr in output.tensor.extents() {
            let term = names.extent(expr).map_err(at)?;
            order.check_determined(&term).map_err(at)?;
            extents.push(term);
        }
        all.push(extents);
    }
    Ok(all)
}

fn arguments<'a>(
    names: &Names<'a>,
    order: &mut Order<'_, 'a>,
    call: &'a declaration::KernelCall,
) -> Result<Vec<Argument>, (Part, String)> {
    let mut args = Vec::with_capacity(call.args.len());
    for (index, expr) in call.args.iter().enumerate() {
        let at = |reason| (Part::Argument(index), reason);
        let argument = names.argument(expr).map_err(at)?;
        if let Argument::Term(term, _) = &argument {
            order.check_determined(term).map_err(at)?;
        }
        args.push(argument);
    }
    Ok(args)
}

/// A body that is one call, which yields the result of the function.
fn one_call<'a>(
    names: &mut Names<'a>,
    knowledge: &mut Knowledge,
    call: &'a declaration::KernelCall,
    args: Vec<Argument>,
) -> Result<Body<'a>, (Part, String)> {
    let result = match &names.function.signature.result {
        ResultType::None | ResultType::Allocated(_) => ResultConvention::None,
        ResultType::Value(ParamType::Scalar(scalar)) => ResultConvention::Returned(*scalar),
        ResultType::Value(_) => ResultConvention::Written,
    };
    let types = prototype::of_call(names, call, &args, result);
    let (symbol, prototype) = (&call.symbol, types.signature());
    let call = KernelCall { symbol, prototype, types, args, status: call.status.as_deref() };
    let result = match (&names.function.signature.result, result) {
        (ResultType::Value(ty), ResultConvention::Written) => {
            let at = |(_, reason)| (Part::Result, reason);
            Some(receive(names, knowledge, "result".to_owned(), ty).map_err(at)?)
        }
        _ => None,
    };
    Ok(Body::Call { call, result })
}
