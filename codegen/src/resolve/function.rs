//! Resolved functions: the input of [`lower`](crate::lower()).

use abi_spec::{DType, Scalar};

use super::body::{Action, Body, Callee, Entry, KernelCall, Statement};
use super::captured::{CaptureSource, Captured};
use super::ids::{Home, LocalId, LookUpId, MapId, OutputId, SymbolId, Table, ValueId};
use super::image::UsedImage;
use super::launch::{Launch, platform};
use super::look_up::LookUp;
use super::named::{Local, Output, Symbol};
use super::step::Step;
use super::value::{Source, Value};
use crate::declaration::{self, Expr, Global, Location, Platform, Tensor};

/// A resolved function.
#[derive(Clone, Debug)]
pub(crate) struct Function<'a> {
    pub(crate) declared: &'a declaration::Function,
    /// The declared location; for a function that a body makes, that of the statement, of one around it or of the
    /// function around it.
    pub(crate) location: Option<&'a Location>,
    /// Signature that errors show: what callers see.
    pub(crate) shown: &'a declaration::Signature,
    /// Platform that launches its kernels.
    pub(crate) platform: Platform,
    /// Images that it uses, each once.
    pub(crate) images: Vec<UsedImage<'a>>,
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
    /// Values that a closure holds, in order.
    pub(crate) captured: Vec<Captured<'a>>,
    /// Checks and bindings of the prologue, in the order in which failures are reported.
    pub(crate) steps: Vec<Step<'a>>,
    /// Code that runs after the steps.
    pub(crate) body: Body<'a>,
    /// Functions that the body makes.
    pub(crate) closures: Vec<Closure<'a>>,
    /// Values that callers should pass as objects; none for functions that no caller sees.
    pub(crate) kept: Kept,
}

/// Values that a function may use after a call, or hand to others during it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Kept {
    /// One truth for each parameter; parameters beyond the list are not kept.
    pub(super) params: Vec<bool>,
    /// One truth for each parameter: whether the result may be it, or contain it or a part of it.
    pub(super) returned: Vec<bool>,
    /// True for tensors of the signature that it allocates.
    pub(crate) results: bool,
}

impl Kept {
    /// Returns true if a parameter is kept.
    pub(crate) fn param(&self, index: usize) -> bool {
        self.params.get(index).is_some_and(|kept| *kept)
    }
}

/// A function that a body makes.
#[derive(Clone, Debug)]
pub(crate) struct Closure<'a> {
    pub(crate) function: Function<'a>,
    /// Values that the body that makes it gives it, in the order of [`Function::captured`].
    pub(crate) given: Vec<CaptureSource<'a>>,
}

impl<'a> Function<'a> {
    /// Returns all calls of C functions by their symbols.
    pub(crate) fn calls(&self) -> Vec<(&'a str, &KernelCall<'a>)> {
        let all = match &self.body {
            Body::Call { call, .. } => vec![&**call],
            Body::Block(_) | Body::Prepare(_) => {
                self.statements().into_iter().filter_map(Statement::kernel_call).collect()
            }
        };
        all.into_iter().filter_map(|call| Some((call.symbol()?, call))).collect()
    }

    /// Returns all statements, nested ones and those of the functions that it makes included; none if the body is one
    /// call.
    pub(crate) fn statements(&self) -> Vec<&Statement<'a>> {
        let mut all = Vec::new();
        if let Body::Block(statements) = &self.body {
            self.collect(statements, &mut all);
        }
        all
    }

    /// Returns the statements without those of the functions that it makes.
    pub(crate) fn own_statements(&self) -> Vec<&Statement<'a>> {
        let Body::Block(statements) = &self.body else { return Vec::new() };
        Statement::with_nested(statements)
    }

    /// Appends statements, each followed by those of the functions that it makes and by its nested ones.
    fn collect<'s>(&'s self, statements: &'s [Statement<'a>], all: &mut Vec<&'s Statement<'a>>) {
        for statement in statements {
            all.push(statement);
            let made = &self.closures[statement.makes.clone()];
            made.iter().for_each(|closure| all.extend(closure.function.statements()));
            statement.blocks().into_iter().for_each(|block| self.collect(block, all));
        }
    }

    /// Returns the function and those that its body makes, however deep.
    pub(crate) fn with_closures(&self) -> Vec<&Function<'a>> {
        let closures = self.closures.iter().flat_map(|closure| closure.function.with_closures());
        std::iter::once(self).chain(closures).collect()
    }

    /// Returns the place of a function among those that the body makes, by its declaration; `None` for other functions.
    pub(crate) fn place_of(&self, made: &declaration::Function) -> Option<usize> {
        self.closures.iter().position(|one| std::ptr::eq(one.function.declared, made))
    }

    /// Returns the names of the functions that are called by name.
    pub(crate) fn callees(&self) -> Vec<&'a str> {
        if let Body::Prepare(prepare) = &self.body {
            return prepare.callees.clone();
        }
        let name = |callee: &Callee<'a>| {
            if let Callee::Name(name) = callee { Some(*name) } else { None }
        };
        let called = self.statements().into_iter().filter_map(Statement::callee).filter_map(name);
        let loaded = self.images.iter().filter_map(|image| image.on_load);
        let asked = self.calls().into_iter().filter_map(|(_, call)| call.inquiry);
        called.chain(loaded).chain(asked).collect()
    }

    /// Returns the device variables that the function uses, each with its image.
    pub(crate) fn globals(&self) -> Vec<(UsedImage<'a>, &'a Global)> {
        let image = |name: &str| self.images.iter().find(|image| image.name == name).copied();
        let all = self.declared.globals().into_iter();
        all.filter_map(|global| Some((image(&global.image)?, global))).collect()
    }

    /// Returns true if a call may allocate more tensors than so many results, itself or by functions of the FFI that it
    /// calls.
    pub(crate) fn allocates_more_than(&self, results: usize) -> bool {
        self.outputs.len() > results || !self.callees().is_empty() || !self.entered().is_empty()
    }

    /// Returns the functions of the library that are called by symbol, each with the code that is entered.
    pub(crate) fn entered(&self) -> Vec<(&'a str, Entry)> {
        let own = |callee: &Callee<'a>| {
            if let Callee::Symbol { name, entry } = callee {
                Some((*name, (*entry)?))
            } else {
                None
            }
        };
        self.statements().into_iter().filter_map(Statement::callee).filter_map(own).collect()
    }

    /// Returns the names of the functions that are called by symbol and that the library does not declare.
    pub(crate) fn imported(&self) -> Vec<&'a str> {
        let name = |callee: &Callee<'a>| {
            if let Callee::Symbol { name, entry: None } = callee { Some(*name) } else { None }
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
        self.declared.exprs().for_each(|expr| attributes(expr, self.platform, &mut all));
        all
    }

    /// Returns true if the function calls the driver.
    pub(crate) fn uses_driver(&self) -> bool {
        !self.launches().is_empty()
            || self.has_commands()
            || self.declared.exprs().any(platform::asks_driver)
    }

    /// Returns the tensors that the function returns.
    pub(crate) fn results(&self) -> impl Iterator<Item = (OutputId, &Output<'a>)> {
        self.outputs.iter().take(self.declared.signature.outputs().len())
    }

    /// Returns the index of the argument that a value is, or is nested in; `None` for `self`, for values of the body
    /// and for tensors to write, which callers see as results.
    pub(crate) fn argument(&self, value: ValueId) -> Option<usize> {
        let signature = self.shown;
        let param = self.values[value].param;
        if param >= signature.params.len() {
            return None;
        }
        if signature.has_self() { param.checked_sub(1) } else { Some(param) }
    }

    /// Returns true for an argument and for values nested in one.
    pub(crate) fn is_given(&self, value: ValueId) -> bool {
        let of = |&value: &ValueId| self.values[value].source.parent();
        let root = std::iter::successors(Some(value), of).last().unwrap_or(value);
        matches!(self.values[root].source, Source::Argument(_))
    }

    /// Returns true if callers should pass a parameter as an object, since it may be in use after the call.
    pub(crate) fn is_kept(&self, param: usize) -> bool {
        self.kept.param(param)
    }

    /// Returns true for a `uint64` that may exceed `int64`: no extent, stride or number of a shape depends on it.
    pub(crate) fn is_wide(&self, value: ValueId) -> bool {
        let is_unsigned = self.values[value].ty.scalar() == Some(Scalar::Uint64);
        let measures = |symbol: &Symbol<'_>| symbol.measures && symbol.value == Some(value);
        is_unsigned && !self.symbols.iter().any(|(_, symbol)| measures(symbol))
    }

    /// Returns true if a value is a scalar that never arrives as an object: any but `uint64` and `ptr`.
    pub(crate) fn is_plain(&self, value: ValueId) -> bool {
        let scalar = self.values[value].ty.scalar();
        scalar.is_some_and(|scalar| !matches!(scalar, Scalar::Uint64 | Scalar::Ptr))
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

/// Appends the attributes of devices in an expression.
fn attributes(expr: &Expr, platform: Platform, all: &mut Vec<u32>) {
    if let Expr::DeviceAttribute(_, attribute) = expr {
        all.push(platform.attribute(*attribute));
    }
    expr.children().for_each(|child| attributes(child, platform, all));
}
