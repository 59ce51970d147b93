//! Collection of the names of a signature, and of those that a function captures.

use abi_spec::Scalar;
use rustc_hash::{FxBuildHasher, FxHashMap};

use super::{MAX_SYMBOLS, Meaning, Names, Scoped};
use crate::declaration::reserved::spelled;
use crate::declaration::{Dim, Expr, Function, ParamType, Platform, Tensor};
use crate::error::Part;
use crate::resolve::captured::{Captive, Capture, Captured};
use crate::resolve::ids::{Home, Id, SymbolId, Table, ValueId};
use crate::resolve::image::UsedImage;
use crate::resolve::named::{self, Local, Output, Symbol};
use crate::resolve::step::Place;
use crate::resolve::term::Kind;
use crate::resolve::value::{self, Source, Value, values};
use crate::resolve::{Explained, Located};

impl<'a> Names<'a> {
    /// Collects the names of a signature, and those that a function captures.
    pub(in crate::resolve) fn new(
        function: &'a Function,
        platform: Platform,
        images: Vec<UsedImage<'a>>,
        captures: Vec<Capture<'a>>,
    ) -> Located<(Self, Vec<Captured<'a>>)> {
        let values = values(&function.signature);
        let is_param = |(_, value): &(ValueId, &Value<'a>)| value.is_param();
        let named = |(id, value): (ValueId, &Value<'a>)| {
            (function.signature.params[value.param].name.as_str(), id)
        };
        let count = function.signature.params.len();
        let mut params = FxHashMap::with_capacity_and_hasher(count, FxBuildHasher);
        params.extend(values.iter().filter(is_param).map(named));
        let mut names = Names {
            function,
            platform,
            images,
            inquiry: None,
            device: None,
            is_closure: !captures.is_empty(),
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

    /// Adds a tensor that the body outside allocated, or a map. Tensors of the signature that are allocated come
    /// before.
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

    pub(super) fn collect_value(&mut self, id: ValueId) -> Located<()> {
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
        named::check_symbol(name)?;
        self.dtypes.insert(name, tensor);
        self.scoped.push(Scoped::Dtype(name));
        Ok(())
    }

    /// Returns the tensor that binds the symbol that a type has for its element type; `None` if it lists element types.
    pub(in crate::resolve) fn dtype_of(&self, tensor: &Tensor) -> Explained<Option<ValueId>> {
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

    /// Returns the type of a value that is an integer in every call.
    fn integer(&self, id: ValueId) -> Option<Scalar> {
        let value = &self.values[id];
        let scalar = value.ty.scalar().filter(|scalar| scalar.is_int());
        scalar.filter(|_| value.guard.is_none() && !value.dynamic)
    }

    fn collect_dims(&mut self, dims: &'a [Dim], place: impl Fn(usize) -> Place) -> Located<()> {
        for (index, dim) in dims.iter().enumerate() {
            if let Some(expr) = dim.expr() {
                let (place, several) = (place(index), self.values[place(index).value()].dynamic);
                self.collect_expr(expr, place.part(), several)?;
            }
        }
        Ok(())
    }

    /// Collects the symbols of a dim; `several` if it is one of a loop.
    fn collect_expr(&mut self, expr: &'a Expr, part: Part, several: bool) -> Located<()> {
        if let Expr::Name(name) = expr {
            let symbol = self.mention(name, part)?;
            let symbol = &mut self.symbols[symbol];
            symbol.measures = true;
            symbol.mentions += 1 + u32::from(several);
            return Ok(());
        }
        expr.children().try_for_each(|child| self.collect_expr(child, part, several))
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

    fn mention(&mut self, name: &'a str, part: Part) -> Located<SymbolId> {
        if let Some(&symbol) = self.known.get(name) {
            return Ok(symbol);
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
            Some(Meaning::Local(local))
                if matches!(self.locals[*local].kind, Kind::Int | Kind::Unsigned) =>
            {
                Some(*local)
            }
            Some(&Meaning::Value(value)) if let Some(scalar) = self.integer(value) => {
                let (is_stream, is_lent, is_read, of) = (false, false, false, Some(value));
                // Those above `int64` are negative as symbols, which no extent is.
                let is_wide = scalar == Scalar::Uint64;
                let kind = if is_wide { Kind::Unsigned } else { Kind::Int };
                let scalar = (!is_wide).then_some(scalar);
                let local = Local { name, kind, is_stream, scalar, is_lent, is_read, of };
                Some(self.locals.push(local))
            }
            Some(_) => return Err((part, format!("`{name}` is no integer"))),
            None => None,
        };
        if value.is_none() && local.is_none() {
            named::check_symbol(name).map_err(|reason| (part, reason))?;
        }
        let symbol =
            self.symbols.push(Symbol { name, part, value, local, measures: false, mentions: 0 });
        self.known.insert(name, symbol);
        self.scoped.push(Scoped::Symbol(name));
        Ok(symbol)
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
            let home = value::same_device(&self.values, tensor.device).map(Home::Value);
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
}
