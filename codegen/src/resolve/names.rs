//! Names of a function and their scopes.

use abi_spec::DeviceType;
use rustc_hash::FxHashMap;

use super::closure::{Captive, Capture, Captured};
use super::function::{Local, Output, Symbol};
use super::ids::Home;
use super::ids::{Id, LocalId, LookUpId, MapId, OutputId, SymbolId, Table, ValueId};
use super::look_up::LookUp;
use super::step::Place;
use super::term::Kind;
use super::value::{self, Source, Value, values};
use super::{Explained, Located};
use crate::declaration::reserved::spelled;
use crate::declaration::{Device, Dim, Expr, Function, ParamType, ResultType, Tensor};
use crate::error::Part;

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

/// The names of a function while it is resolved.
#[derive(Debug)]
pub(super) struct Names<'a> {
    pub(super) function: &'a Function,
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
    results: FxHashMap<&'a str, OutputId>,
    /// Element types, with the tensors that bind them.
    dtypes: FxHashMap<&'a str, ValueId>,
    /// Names of the body that are in scope.
    defined: FxHashMap<&'a str, Meaning>,
    /// Names in `defined`, and symbols that only the body mentions, in the order of their definition.
    scoped: Vec<&'a str>,
    /// Number of values of the body so far. Their [`Value::param`] counts on from the parameters.
    others: usize,
}

impl<'a> Names<'a> {
    /// Collects the names of a signature, and those that a function captures.
    pub(super) fn new(
        function: &'a Function,
        captures: Vec<Capture<'a>>,
    ) -> Located<(Self, Vec<Captured<'a>>)> {
        let values = values(&function.signature);
        let is_param = |(_, value): &(ValueId, &Value<'a>)| value.is_param();
        let named = |(id, value): (ValueId, &Value<'a>)| {
            (function.signature.params[value.param].name.as_str(), id)
        };
        let params = values.iter().filter(is_param).map(named).collect();
        let mut names = Names {
            function,
            values,
            symbols: Table::default(),
            outputs: Table::default(),
            locals: Table::default(),
            maps: Table::default(),
            map_tensors: Table::default(),
            look_ups: Table::default(),
            elements: FxHashMap::default(),
            params,
            known: FxHashMap::default(),
            results: FxHashMap::default(),
            dtypes: FxHashMap::default(),
            defined: FxHashMap::default(),
            scoped: Vec::new(),
            others: 0,
        };
        let of_signature: Vec<ValueId> = names.values.keys().collect();
        let mut captured = Vec::with_capacity(captures.len());
        captures.iter().for_each(|capture| captured.push(names.capture_number(capture)));
        for (index, capture) in captures.iter().enumerate() {
            captured[index] = names.capture_value(index, capture)?.or(captured[index].take());
        }
        for id in of_signature {
            names.collect_value(id)?;
        }
        names.collect_outputs()?;
        for (index, capture) in captures.into_iter().enumerate() {
            captured[index] = names.capture_rest(capture)?.or(captured[index].take());
        }
        let captured: Vec<Captured<'a>> = captured.into_iter().flatten().collect();
        Ok((names, captured))
    }

    /// Defines a captured number, which types may mention.
    fn capture_number(&mut self, capture: &Capture<'a>) -> Option<Captured<'a>> {
        let Captive::Number(local) = &capture.of else { return None };
        let local = self.locals.push(local.clone());
        self.defined.insert(capture.name, Meaning::Local(local));
        Some(Captured::Local(local))
    }

    /// Adds the value that a function captures as number `index`. It may determine element types in the signature.
    fn capture_value(
        &mut self,
        index: usize,
        capture: &Capture<'a>,
    ) -> Located<Option<Captured<'a>>> {
        let Captive::Value { ty, optional } = capture.of else { return Ok(None) };
        let path = spelled(capture.name).to_string();
        let param = self.next_param();
        let value = self.add(path, (ty, optional), param, Source::Captured(index))?;
        self.defined.insert(capture.name, Meaning::Value(value));
        Ok(Some(Captured::Value(value, Vec::new())))
    }

    /// Adds a tensor that the body outside allocated, or a map. Tensors of the signature that are allocated come before.
    fn capture_rest(&mut self, capture: Capture<'a>) -> Located<Option<Captured<'a>>> {
        let (meaning, captured) = match capture.of {
            Captive::Number(_) | Captive::Value { .. } => return Ok(None),
            Captive::Output(mut output) => {
                let dtype_of = self.dtype_of(&output.tensor);
                output.dtype_of = dtype_of.map_err(|reason| (Part::Name, reason))?;
                let output = self.outputs.push(output);
                (Meaning::Output(output), Captured::Output(output))
            }
            Captive::Map(tensor) => {
                let home = self.value_of(tensor).map(Home::Value);
                let home = home.or_else(|| self.output_of(tensor).map(Home::Output));
                let missing = || (Part::Name, format!("`{tensor}` is no name of a tensor"));
                let map = self.add_map(home.ok_or_else(missing)?, tensor);
                (Meaning::Map(map), Captured::Map(map))
            }
        };
        self.defined.insert(capture.name, meaning);
        Ok(Some(captured))
    }

    fn collect_value(&mut self, id: ValueId) -> Located<()> {
        let Value { ty, param, .. } = self.values[id];
        if self.is_symbol(id) {
            self.mention(&self.function.signature.params[param].name, Part::Param(param))?;
        }
        if let Some(shape) = ty.shape() {
            self.collect_dims(shape.dims(), |dim| Place::Extent { value: id, dim })?;
        }
        let Some(tensor) = ty.tensor() else { return Ok(()) };
        self.collect_dims(tensor.strides.dims(), |dim| Place::Stride { value: id, dim })?;
        let at = |reason| (Part::Dtype(id.index()), reason);
        self.values[id].dtype_of = self.dtype_of(tensor).map_err(at)?;
        tensor.bound_symbol().map_or(Ok(()), |symbol| self.bind_dtype(symbol, id)).map_err(at)
    }

    /// Binds a symbol to the element type of a tensor.
    fn bind_dtype(&mut self, name: &'a str, tensor: ValueId) -> Explained<()> {
        if let Some(binder) = self.dtypes.get(name) {
            return Err(format!("`{}` determines `{name}` already", self.values[*binder].path));
        }
        if self.meaning(name).is_some() {
            return Err(format!("`{name}` is the name of something else, not of an element type"));
        }
        let Value { guard, dynamic, .. } = self.values[tensor];
        if guard.is_some() {
            return Err(format!("a tensor that may be None cannot determine `{name}`"));
        }
        if dynamic {
            return Err(format!("an element or a type of a union cannot determine `{name}`"));
        }
        self.dtypes.insert(name, tensor);
        self.scoped.push(name);
        Ok(())
    }

    /// Returns the tensor that binds the symbol that a type has for its element type; `None` if it lists element types.
    pub(super) fn dtype_of(&self, tensor: &Tensor) -> Explained<Option<ValueId>> {
        let Some(name) = tensor.used_symbol() else { return Ok(None) };
        if let Some(binder) = self.dtypes.get(name) {
            return Ok(Some(*binder));
        }
        if self.meaning(name).is_some() {
            return Err(format!("`{name}` is no element type"));
        }
        let binds =
            |value: &&Value<'_>| value.tensor().and_then(Tensor::bound_symbol) == Some(name);
        let params = self.function.signature.params.len();
        let mut of_params = self.values.values().take_while(|value| value.param < params);
        Err(match of_params.find(binds) {
            Some(later) => {
                format!("`{}` determines the element type `{name}` only later", later.path)
            }
            None => format!(
                "`{name}` is no element type such as `float32`, and no tensor determines it"
            ),
        })
    }

    /// Returns true for an integer parameter that is not optional.
    fn is_symbol(&self, id: ValueId) -> bool {
        let value = &self.values[id];
        let is_int = matches!(value.ty, ParamType::Scalar(scalar) if scalar.is_int());
        is_int && !value.optional && matches!(value.source, Source::Argument(_))
    }

    fn collect_dims(&mut self, dims: &'a [Dim], place: impl Fn(usize) -> Place) -> Located<()> {
        for (index, dim) in dims.iter().enumerate() {
            if let Some(expr) = dim.expr() {
                self.collect_expr(expr, place(index).part())?;
            }
        }
        Ok(())
    }

    fn collect_expr(&mut self, expr: &'a Expr, part: Part) -> Located<()> {
        if let Expr::Name(name) = expr {
            self.mention(name, part)?;
            self.measure(name);
            return Ok(());
        }
        expr.children().try_for_each(|child| self.collect_expr(child, part))
    }

    fn measure_all(&mut self, extent: &Expr) {
        if let Expr::Name(name) = extent {
            self.measure(name);
        }
        extent.children().for_each(|child| self.measure_all(child));
    }

    /// Records that an `int64` depends on the symbol, if the name is one.
    fn measure(&mut self, name: &str) {
        if let Some(&symbol) = self.known.get(name) {
            self.symbols[symbol].measures = true;
        }
    }

    fn mention(&mut self, name: &'a str, part: Part) -> Located<()> {
        if self.known.contains_key(name) {
            return Ok(());
        }
        if self.dtypes.contains_key(name) {
            return Err((part, format!("`{name}` is an element type, not an integer")));
        }
        let value = self.params.get(name).copied();
        if let Some(id) = value
            && !self.is_symbol(id)
        {
            return Err((part, format!("`{name}` is {}, not a symbol", self.describe(id))));
        }
        if self.symbols.len() == MAX_SYMBOLS {
            return Err((part, format!("more than {MAX_SYMBOLS} symbols")));
        }
        let local = match self.defined.get(name) {
            Some(Meaning::Local(local)) if self.locals[*local].kind == Kind::Int => Some(*local),
            Some(_) => return Err((part, format!("`{name}` is no integer"))),
            None => None,
        };
        let symbol = self.symbols.push(Symbol { name, part, value, local, measures: false });
        self.known.insert(name, symbol);
        self.scoped.push(name);
        Ok(())
    }

    /// Describes a parameter that is no symbol.
    fn describe(&self, id: ValueId) -> String {
        let Value { ty, optional, .. } = &self.values[id];
        let a = if *optional { "an optional" } else { "a" };
        if ty.tensor().is_some() {
            "a tensor".to_owned()
        } else if let ParamType::Scalar(scalar) = ty {
            format!("{a} {scalar} parameter")
        } else {
            format!("{a} parameter of type {ty}")
        }
    }

    /// Collects the allocated tensors. They share a namespace with parameters and symbols.
    fn collect_outputs(&mut self) -> Located<()> {
        for (index, output) in self.function.signature.outputs().iter().enumerate() {
            let name = output.name.as_str();
            let is_param = self.params.contains_key(name);
            if is_param || self.known.contains_key(name) || self.dtypes.contains_key(name) {
                let what = if is_param { "parameter" } else { "symbol" };
                return Err((Part::Output(index), format!("`{name}` is also a {what}")));
            }
            let dtype_of =
                self.dtype_of(&output.tensor).map_err(|reason| (Part::Output(index), reason))?;
            output.tensor.extents().for_each(|extent| self.measure_all(extent));
            let (tensor, extents) = (&output.tensor, Vec::new());
            let home = self.same_device(tensor.device);
            let id = self.outputs.push(Output {
                name,
                tensor: std::borrow::Cow::Borrowed(tensor),
                extents,
                home,
                dtype_of,
            });
            self.results.entry(name).or_insert(id);
        }
        Ok(())
    }

    /// Returns the first tensor parameter that is declared for this device, and that is neither optional nor nested.
    fn same_device(&self, device: Device) -> Option<Home> {
        let fits = |tensor: &Tensor| device == Device::Any || tensor.device == device;
        let found = self
            .values
            .find(|value| value.is_param() && !value.optional && value.tensor().is_some_and(fits));
        found.map(Home::Value)
    }

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
        for name in self.scoped.drain(begin..) {
            self.defined.remove(name);
            self.known.remove(name);
            self.dtypes.remove(name);
        }
    }

    /// Defines a name of the body.
    pub(super) fn define(&mut self, name: &'a str, meaning: Meaning) -> Explained<()> {
        if self.meaning(name).is_some() {
            return Err(format!("`{name}` is the name of something else here"));
        }
        self.defined.insert(name, meaning);
        self.scoped.push(name);
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
        for id in self.values.keys().skip(first) {
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
