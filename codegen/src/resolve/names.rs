//! Names of a function and their scopes.

mod collect;

use abi_spec::DeviceType;
use rustc_hash::FxHashMap;

use super::ids::Home;
use super::ids::{LocalId, LookUpId, MapId, OutputId, SymbolId, Table, ValueId};
use super::image::UsedImage;
use super::look_up::LookUp;
use super::named::{Local, Output, Symbol};
use super::value::{self, Source, Value};
use super::{Explained, Located};
use crate::declaration::{
    Device, Expr, Function, Inquiry, ParamType, Platform, ResultType, Tensor,
};

/// Largest number of symbols in a function, integer parameters included.
pub(crate) const MAX_SYMBOLS: usize = 1024;

/// Entity that a name refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// A symbol. Every integer parameter that is not optional is one.
    Symbol(SymbolId),
    /// Any other parameter, or a value of the body.
    Value(ValueId),
    /// An allocated tensor.
    Output(OutputId),
    /// A local of the body.
    Local(LocalId),
    /// A tensor map of the body.
    Map(MapId),
    /// The element type of a tensor.
    Dtype(ValueId),
}

/// A name that the end of its scope makes unknown, by the table that has it. The end of a symbol leaves the number
/// known that has the same name in a scope around.
#[derive(Clone, Copy, Debug)]
enum Scoped<'a> {
    /// A name of the body.
    Name(&'a str),
    /// A symbol that a type mentions.
    Symbol(&'a str),
    /// The element type of a tensor.
    Dtype(&'a str),
}

/// The names of a function while it is resolved.
#[derive(Debug)]
pub(super) struct Names<'a> {
    pub(super) function: &'a Function,
    /// Platform that launches the kernels of the function.
    pub(super) platform: Platform,
    /// Images that the function uses, as far as the library has them.
    pub(super) images: Vec<UsedImage<'a>>,
    /// Function to ask after calls of kernels.
    pub(super) inquiry: Option<&'a Inquiry>,
    /// Tensor that says the device of the statement that is being resolved.
    pub(super) device: Option<Home>,
    /// True for a closure. What it holds has been checked when it was made, since when lists may have changed.
    pub(super) is_closure: bool,
    /// Values of the signature and, so far, of the body.
    pub(super) values: Table<ValueId, Value<'a>>,
    /// Symbols, in the order of their first mention.
    pub(super) symbols: Table<SymbolId, Symbol<'a>>,
    /// Allocated tensors. The extents of those in the signature are set later.
    pub(super) outputs: Table<OutputId, Output<'a>>,
    /// Locals of the body, so far.
    pub(super) locals: Table<LocalId, Local<'a>>,
    /// Tensors of the named tensor maps of the body, so far.
    pub(super) maps: Table<MapId, Home>,
    /// Names of these tensors.
    map_tensors: Table<MapId, &'a Expr>,
    /// Elements of sequences that expressions name, so far.
    pub(super) look_ups: Table<LookUpId, LookUp<'a>>,
    /// Look-ups of the current statement, or of all constraints, by their text.
    pub(super) elements: FxHashMap<String, LookUpId>,
    params: FxHashMap<&'a str, ValueId>,
    known: FxHashMap<&'a str, SymbolId>,
    pub(super) results: FxHashMap<&'a str, OutputId>,
    /// Element types, with the tensors that bind them.
    dtypes: FxHashMap<&'a str, ValueId>,
    /// Names of the body that are in scope.
    pub(super) defined: FxHashMap<&'a str, Meaning>,
    /// Names, symbols and element types of the body so far, in order.
    scoped: Vec<Scoped<'a>>,
    /// Number of values of the body so far. Their [`Value::param`] counts on from the parameters.
    others: usize,
}

impl<'a> Names<'a> {
    /// Returns true if something other than the types of parameters names a symbol.
    pub(super) fn is_used(&self, symbol: SymbolId) -> bool {
        let Function { signature, body, .. } = self.function;
        let mut all: Vec<&Expr> = match &signature.result {
            ResultType::None => Vec::new(),
            ResultType::Value(ty) => ty.exprs(),
            ResultType::Allocated(all) => all.iter().flat_map(|one| one.tensor.extents()).collect(),
        };
        all.extend(signature.constraints.iter().map(|constraint| &constraint.condition));
        all.extend(body.exprs());
        all.into_iter().any(|expr| expr.mentions(self.symbols[symbol].name))
    }

    /// Returns the declared device of a tensor, and the tensor that declares it.
    pub(super) fn device_of(&self, home: Home) -> (Device, Home) {
        let Home::Output(output) = home else {
            let device = self.tensor_of(home).map_or(Device::Any, |tensor| tensor.device);
            return (device, home);
        };
        let output = &self.outputs[output];
        match output.home {
            None if output.tensor.device == Device::Any => (Device::Type(DeviceType::CPU), home),
            None => (output.tensor.device, home),
            Some(of) => self.device_of(of),
        }
    }

    /// Returns the type of a tensor; `None` for another value.
    pub(super) fn tensor_of(&self, home: Home) -> Option<&Tensor> {
        match home {
            Home::Value(value) => self.values[value].tensor(),
            Home::Output(output) => Some(&*self.outputs[output].tensor),
        }
    }

    /// Looks a name up.
    pub(super) fn meaning(&self, name: &str) -> Option<Meaning> {
        if let Some(&symbol) = self.known.get(name) {
            return Some(Meaning::Symbol(symbol));
        }
        if let Some(&tensor) = self.dtypes.get(name) {
            return Some(Meaning::Dtype(tensor));
        }
        let param = self.params.get(name).copied().map(Meaning::Value);
        let result = || self.results.get(name).copied().map(Meaning::Output);
        param.or_else(result).or_else(|| self.defined.get(name).copied())
    }

    /// Opens a scope; returns the mark that closes it.
    pub(super) fn open_scope(&self) -> usize {
        self.scoped.len()
    }

    /// Closes a scope: forgets the names since its mark.
    pub(super) fn close_scope(&mut self, begin: usize) {
        for scoped in self.scoped.drain(begin..) {
            match scoped {
                Scoped::Name(name) => drop(self.defined.remove(name)),
                Scoped::Symbol(name) => drop(self.known.remove(name)),
                Scoped::Dtype(name) => drop(self.dtypes.remove(name)),
            }
        }
    }

    /// Defines a name of the body.
    pub(super) fn define(&mut self, name: &'a str, meaning: Meaning) -> Explained<()> {
        if self.meaning(name).is_some() {
            return Err(format!("`{name}` is the name of something else here"));
        }
        self.defined.insert(name, meaning);
        self.scoped.push(Scoped::Name(name));
        Ok(())
    }

    /// Adds a value of the body and the values nested in it, and collects their symbols.
    pub(super) fn add_value(&mut self, path: String, ty: &'a ParamType) -> Located<ValueId> {
        let param = self.next_param();
        self.add(path, ty.required(), param, Source::Result)
    }

    /// Adds a value of the body that another value contains or is, and the values nested in it.
    pub(super) fn add_part(
        &mut self,
        of: ValueId,
        path: String,
        ty: &'a ParamType,
        source: Source,
    ) -> Located<ValueId> {
        self.add(path, ty.required(), self.values[of].param, source)
    }

    /// Returns the [`Value::param`] of the next value of the body.
    fn next_param(&mut self) -> usize {
        self.others += 1;
        self.function.signature.params.len() + self.others - 1
    }

    fn add(
        &mut self,
        path: String,
        ty: (&'a ParamType, bool),
        param: usize,
        source: Source,
    ) -> Located<ValueId> {
        let first = self.values.len();
        let id = value::add_required(&mut self.values, path, ty, param, source);
        for id in self.values.keys_from(first) {
            self.collect_value(id)?;
        }
        Ok(id)
    }

    /// Returns the name of a parameter, or a description of a value of the body.
    pub(super) fn name_of(&self, param: usize) -> String {
        self.root(param).unwrap_or("the result").to_owned()
    }

    /// Returns the symbol that an integer parameter is an occurrence of.
    pub(super) fn symbol_of_value(&self, value: ValueId) -> Option<SymbolId> {
        let param = self.function.signature.params.get(self.values[value].param)?;
        let symbol = self.known.get(param.name.as_str()).copied()?;
        (self.symbols[symbol].value == Some(value)).then_some(symbol)
    }

    /// Returns the value that an expression names: a parameter, a value of the body, or an element of a tuple or of a
    /// sequence.
    pub(super) fn value_of(&self, expr: &Expr) -> Option<ValueId> {
        if let Expr::Name(name) = expr {
            if let Some(Meaning::Value(value)) = self.defined.get(name.as_str()) {
                return Some(*value);
            }
            return self.params.get(name.as_str()).copied();
        }
        if let Expr::Element(of, index) = expr {
            let of = self.value_of(of)?;
            if self.is_sequence(of) {
                let found = self.elements.get(&expr.to_string())?;
                return Some(self.look_ups[*found].received.value);
            }
            let Expr::Int(index) = **index else { return None };
            return self.element(of, usize::try_from(index).ok()?);
        }
        let Expr::Field(tuple, name) = expr else { return None };
        let of = self.value_of(tuple)?;
        let ParamType::Tuple(elements) = self.values[of].ty else { return None };
        let named = |element: &crate::Element| element.name.as_ref() == Some(name);
        self.element(of, elements.iter().position(named)?)
    }

    /// Returns an element of a tuple.
    fn element(&self, of: ValueId, index: usize) -> Option<ValueId> {
        let value = &self.values[of];
        let is_tuple = matches!(value.ty, ParamType::Tuple(_));
        value.children.get(index).copied().filter(|_| is_tuple)
    }

    /// Returns the tensor map that an expression names.
    pub(super) fn map_of(&self, expr: &Expr) -> Option<MapId> {
        let Expr::Name(name) = expr else { return None };
        if let Some(Meaning::Map(map)) = self.meaning(name) { Some(map) } else { None }
    }

    /// Adds a named tensor map.
    pub(super) fn add_map(&mut self, tensor: Home, name: &'a Expr) -> MapId {
        self.map_tensors.push(name);
        self.maps.push(tensor)
    }

    /// Returns the name of the tensor of a map.
    pub(super) fn map_tensor(&self, map: MapId) -> &'a Expr {
        self.map_tensors[map]
    }

    /// Returns the name of the parameter, or of the value of the body, whose values have this [`Value::param`].
    pub(super) fn root(&self, param: usize) -> Option<&'a str> {
        if let Some(param) = self.function.signature.params.get(param) {
            return Some(&param.name);
        }
        let named = self.defined.iter().filter_map(|(name, meaning)| {
            let Meaning::Value(named) = *meaning else { return None };
            (self.values[named].param == param).then_some((named, *name))
        });
        named.min().map(|(_, name)| name)
    }

    /// Returns the allocated tensor that an expression names.
    pub(super) fn output_of(&self, expr: &Expr) -> Option<OutputId> {
        let Expr::Name(name) = expr else { return None };
        if let Some(Meaning::Output(output)) = self.defined.get(name.as_str()) {
            return Some(*output);
        }
        self.results.get(name.as_str()).copied()
    }
}
