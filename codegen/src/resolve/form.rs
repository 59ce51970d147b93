//! Whether declarations are well formed: names, limits, types that can exist.

use abi_spec::{DType, Scalar};
use rustc_hash::FxHashSet;

use crate::declaration::limit::Limit;
use crate::declaration::{
    Body, Device, Dim, Element, Expr, Function, KernelCall, Leaf, Literal, Location, Member,
    ObjectClass, Param, ParamType, Shape, StatusError, Strides, Tensor,
};
use crate::error::{Error, Part};
use crate::resolve::accepted::{MAX_SMALL, needs_object};
use crate::resolve::ids::Table;
use crate::resolve::value::{Source, Value, add, values};

/// Says whether function number `index` is well formed, whatever its names stand for.
pub(super) fn check(index: usize, function: &Function) -> Result<(), Error> {
    Checker { index, function }.function()
}

/// What no name of the user's may start with for C: exported functions, the runtime's, our own.
pub(super) const RESERVED_PREFIXES: [&str; 3] =
    [abi_spec::symbol::PREFIX, "TVMFFI", "tvm_ffi_codegen."];

/// What no symbol may start with for the tools that handle it: LLVM's own functions, sections, and what assemblers keep
/// out of objects.
const TOOL_PREFIXES: [&str; 2] = ["llvm.", "."];

/// Where a type stands.
#[derive(Clone, Copy)]
enum Spot {
    /// It is that of a value of the signature, whose parts have places of their own.
    Value(usize),
    /// All of it has this place.
    Part(Part),
}

impl Spot {
    fn part(self, of_value: impl FnOnce(usize) -> Part) -> Part {
        match self {
            Spot::Value(value) => of_value(value),
            Spot::Part(part) => part,
        }
    }
}

/// Checks one function.
pub(crate) struct Checker<'a> {
    pub(crate) index: usize,
    pub(crate) function: &'a Function,
}

impl Checker<'_> {
    pub(crate) fn invalid(&self, part: Part, reason: impl Into<String>) -> Error {
        Error::invalid(self.index, self.function, part, reason)
    }

    pub(crate) fn limit(&self, part: Part, count: usize, limit: Limit) -> Result<(), Error> {
        if count <= limit.max() {
            Ok(())
        } else {
            Err(Error::limit(self.index, self.function, part, limit))
        }
    }

    fn function(&self) -> Result<(), Error> {
        let Function { docs, location, signature, body, external: _ } = self.function;
        self.identifier(Part::Name, &signature.name)?;
        if signature.name.starts_with('_') {
            return Err(self.invalid(Part::Name, "the name of a function must not start with `_`"));
        }
        if docs.contains(|c: char| c.is_control() && !matches!(c, '\n' | '\t')) {
            return Err(self.invalid(Part::Docs, "must not contain control characters"));
        }
        location.as_ref().map_or(Ok(()), |location| self.location(Part::Location, location))?;
        self.params(&signature.params)?;
        self.limit(Part::Name, signature.constraints.len(), Limit::Constraints)?;
        for (index, constraint) in signature.constraints.iter().enumerate() {
            self.expr(Part::Constraint(index), &constraint.condition)?;
            if let Some(message) = &constraint.message {
                self.message(Part::Constraint(index), message)?;
            }
        }
        self.result()?;
        self.body(body)
    }

    fn params(&self, params: &[Param]) -> Result<(), Error> {
        self.limit(Part::Name, params.len(), Limit::Params)?;
        let mut names = FxHashSet::default();
        for (index, Param { name, ty, .. }) in params.iter().enumerate() {
            let part = Part::Param(index);
            self.identifier(part, name)?;
            if name == "self" && (index != 0 || *ty != ParamType::Scalar(Scalar::Ptr)) {
                let reason = "`self` must be the first parameter and have the type `ptr`";
                return Err(self.invalid(part, reason));
            }
            if !names.insert(name.as_str()) {
                let reason = format!("an earlier parameter has the name `{name}`");
                return Err(self.invalid(part, reason));
            }
        }
        self.tail(params)?;
        for (index, param) in params.iter().enumerate() {
            if param.ty.is_deeper_than(Limit::Nesting.max()) {
                let function = self.function;
                return Err(Error::limit(self.index, function, Part::Param(index), Limit::Nesting));
            }
        }
        for (index, value) in values(&self.function.signature).values().enumerate() {
            self.limit(Part::Param(value.param), index + 1, Limit::Values)?;
            self.value(Spot::Value(index), value)?;
        }
        Ok(())
    }

    /// The type of something that is no parameter.
    pub(crate) fn type_of(&self, part: Part, ty: &ParamType) -> Result<(), Error> {
        if ty.is_deeper_than(Limit::Nesting.max()) {
            return Err(Error::limit(self.index, self.function, part, Limit::Nesting));
        }
        let mut values = Table::default();
        add(&mut values, String::new(), ty, 0, Source::Result);
        self.limit(part, values.len(), Limit::Values)?;
        values.values().try_for_each(|value| self.value(Spot::Part(part), value))
    }

    /// A literal that can be written.
    fn literal(&self, part: Part, literal: &Literal) -> Result<(), Error> {
        match literal {
            Literal::Float(value) => self.leaves(part, &Expr::Float(*value)),
            Literal::Str(text) => self.leaves(part, &Expr::Text(text.clone())),
            Literal::None | Literal::Bool(_) | Literal::Int(_) => Ok(()),
        }
    }

    /// Defaults and the variadic parameter are at the end.
    fn tail(&self, params: &[Param]) -> Result<(), Error> {
        for (index, Param { name, ty, default, variadic }) in params.iter().enumerate() {
            if let Some(default) = default {
                self.literal(Part::Default(index), default)?;
            }
            let invalid = |part, reason: &str| Err(self.invalid(part, reason));
            if *variadic && (index + 1 != params.len() || *ty != ParamType::Leaf(Leaf::Any)) {
                let reason = "a variadic parameter is the last one and has the type `Any`";
                return invalid(Part::Param(index), reason);
            }
            match default {
                Some(_) if *variadic || name == "self" => {
                    return invalid(Part::Default(index), "this parameter has no default");
                }
                Some(default) if !ty.takes(default) => {
                    let reason = format!("`{default}` is no value of type `{ty}`");
                    return invalid(Part::Default(index), &reason);
                }
                Some(Literal::Str(text)) if needs_object(text) => {
                    let reason = format!("a default with a NUL has {MAX_SMALL} bytes at most");
                    return invalid(Part::Default(index), &reason);
                }
                None if !variadic && index > 0 && params[index - 1].default.is_some() => {
                    return invalid(Part::Param(index), "an earlier parameter has a default");
                }
                Some(_) | None => {}
            }
        }
        Ok(())
    }

    fn value(&self, spot: Spot, value: &Value<'_>) -> Result<(), Error> {
        let part = spot.part(Part::Type);
        match value.ty {
            ParamType::Tensor(tensor) => self.tensor(spot, tensor),
            ParamType::Shape(Shape::Dims(dims)) => self.dims(spot, dims, Part::Dim),
            ParamType::Object(ObjectClass::Key(key)) => self.key(part, key),
            ParamType::Tuple(elements) => self.elements(part, elements),
            ParamType::Optional(_) => {
                Err(self.invalid(part, "an `Optional` inside of another adds nothing"))
            }
            ParamType::Union(types) if types.len() < 2 => {
                Err(self.invalid(part, "a union has two types at least"))
            }
            ParamType::Union(types) => {
                let optional = types.iter().any(|ty| ty.required().1);
                let reason = "write `Optional[Union[…]]` for a union that may be None";
                if optional { Err(self.invalid(part, reason)) } else { Ok(()) }
            }
            ParamType::Literal(literals) => self.literals(part, literals),
            ParamType::Leaf(Leaf::Any) if value.optional => {
                Err(self.invalid(part, "`Any` includes None already"))
            }
            ParamType::Scalar(Scalar::Ptr) | ParamType::Leaf(Leaf::Stream) if value.optional => {
                Err(self.invalid(part, format!("`{}` includes None already", value.ty)))
            }
            ParamType::Scalar(_)
            | ParamType::Leaf(_)
            | ParamType::Shape(Shape::AnyRank)
            | ParamType::Object(_)
            | ParamType::Sequence(..)
            | ParamType::Mapping(..) => Ok(()),
        }
    }

    fn key(&self, part: Part, key: &str) -> Result<(), Error> {
        self.limit(part, key.len(), Limit::Name)?;
        if key.is_empty() || key.contains(char::is_control) {
            return Err(self.invalid(part, format!("{key:?} is no type key")));
        }
        Ok(())
    }

    fn elements(&self, part: Part, elements: &[Element]) -> Result<(), Error> {
        let mut names = FxHashSet::default();
        for name in elements.iter().filter_map(|element| element.name.as_deref()) {
            self.identifier(part, name)?;
            if Member::is_name(name) {
                let reason = format!("`{name}` is what members of values are called");
                return Err(self.invalid(part, reason));
            }
            if !names.insert(name) {
                let reason = format!("an earlier element has the name `{name}`");
                return Err(self.invalid(part, reason));
            }
        }
        Ok(())
    }

    fn literals(&self, part: Part, literals: &[Literal]) -> Result<(), Error> {
        if literals.iter().all(|literal| *literal == Literal::None) {
            return Err(self.invalid(part, "a literal type has a value that is not None"));
        }
        self.limit(part, literals.len(), Limit::Literals)?;
        for (index, literal) in literals.iter().enumerate() {
            match literal {
                Literal::Float(value) => {
                    let reason = format!("the float {value}: literal types are exact");
                    return Err(self.invalid(part, reason));
                }
                Literal::None | Literal::Bool(_) | Literal::Int(_) | Literal::Str(_) => {
                    self.literal(part, literal)?;
                }
            }
            if literals[..index].contains(literal) {
                return Err(self.invalid(part, format!("a second `{literal}`")));
            }
        }
        Ok(())
    }

    fn tensor(&self, spot: Spot, tensor: &Tensor) -> Result<(), Error> {
        let part = spot.part(Part::Type);
        if let Shape::Dims(dims) = &tensor.shape {
            self.dims(spot, dims, Part::Dim)?;
        }
        if let Strides::List(dims) = &tensor.strides {
            self.dims(spot, dims, Part::Stride)?;
        }
        if tensor.dtypes.is_empty() {
            return Err(self.invalid(part, "a tensor has a type of elements"));
        }
        self.limit(part, tensor.dtypes.len(), Limit::Dtypes)?;
        for (index, dtype) in tensor.dtypes.iter().enumerate() {
            if !has_name(*dtype) {
                let reason = format!("`{dtype}` is not the type of an element");
                return Err(self.invalid(part, reason));
            }
            if tensor.dtypes[..index].contains(dtype) {
                return Err(self.invalid(part, format!("a second `{dtype}`")));
            }
        }
        self.layout(spot, tensor)?;
        match tensor.device {
            Device::Type(ty) if ty.name().is_none() => {
                let reason = format!("`{ty}` is not a known type of device");
                Err(self.invalid(part, reason))
            }
            Device::Type(_) | Device::Any => Ok(()),
        }
    }

    /// Strides say something about every dim; alignments are powers of two.
    fn layout(&self, spot: Spot, tensor: &Tensor) -> Result<(), Error> {
        if let Strides::List(strides) = &tensor.strides
            && tensor.rank() != Some(strides.len())
        {
            let dims = tensor.rank().map_or("any number of".to_owned(), |rank| rank.to_string());
            let reason = format!("{} strides for {dims} dims", strides.len());
            return Err(self.invalid(spot.part(Part::Type), reason));
        }
        match tensor.align {
            Some(align) if !align.is_power_of_two() => {
                Err(self.invalid(spot.part(Part::Align), format!("{align} is not a power of two")))
            }
            Some(_) | None => Ok(()),
        }
    }

    fn dims(&self, spot: Spot, dims: &[Dim], part: fn(usize, usize) -> Part) -> Result<(), Error> {
        self.limit(spot.part(Part::Type), dims.len(), Limit::Rank)?;
        for (index, dim) in dims.iter().enumerate() {
            match dim {
                Dim::Any => {}
                Dim::Expr(expr) => self.expr(spot.part(|value| part(value, index)), expr)?,
            }
        }
        Ok(())
    }

    fn body(&self, body: &Body) -> Result<(), Error> {
        match body {
            Body::Call(call) => {
                self.kernel(call, [Part::Callee, Part::Argument(0), Part::Status(0)])
            }
            Body::Block(statements) => self.statements(statements),
        }
    }

    /// The call of a C function: where it is, its arguments and its errors are.
    pub(crate) fn kernel(&self, call: &KernelCall, parts: [Part; 3]) -> Result<(), Error> {
        let [callee, argument, status] = parts;
        self.symbol(callee, &call.symbol)?;
        self.limit(callee, call.args.len(), Limit::Arguments)?;
        let mut args = call.args.iter().enumerate();
        args.try_for_each(|(index, arg)| self.expr(argument.number(index), arg))?;
        call.status.as_ref().map_or(Ok(()), |errors| self.errors([callee, status], errors))
    }

    fn symbol(&self, part: Part, symbol: &str) -> Result<(), Error> {
        self.limit(part, symbol.len(), Limit::Symbol)?;
        if symbol.is_empty() {
            return Err(self.invalid(part, "the symbol is empty"));
        }
        if symbol.contains(char::is_control) {
            return Err(self.invalid(part, "the symbol contains control characters"));
        }
        if RESERVED_PREFIXES.iter().any(|prefix| symbol.starts_with(prefix)) {
            let reason = format!("the symbol `{symbol}` is reserved for the runtime");
            return Err(self.invalid(part, reason));
        }
        if TOOL_PREFIXES.iter().any(|prefix| symbol.starts_with(prefix)) {
            let reason = format!("the symbol `{symbol}` is no function's for LLVM or an assembler");
            return Err(self.invalid(part, reason));
        }
        Ok(())
    }

    /// Every status has one meaning.
    fn errors(&self, parts: [Part; 2], errors: &[StatusError]) -> Result<(), Error> {
        self.limit(parts[0], errors.len(), Limit::Errors)?;
        let mut known = FxHashSet::default();
        for (index, StatusError { status, kind, message }) in errors.iter().enumerate() {
            let part = parts[1].number(index);
            if *status == Some(0) {
                return Err(self.invalid(part, "the status 0 is no error"));
            }
            if !known.insert(*status) {
                let status = status.map_or("_".to_owned(), |status| status.to_string());
                return Err(self.invalid(part, format!("an earlier entry is about `{status}`")));
            }
            self.identifier(part, kind)?;
            self.message(part, message)?;
        }
        Ok(())
    }

    /// The line of a backtrace has no escapes.
    pub(crate) fn location(&self, part: Part, location: &Location) -> Result<(), Error> {
        let Location { file, line } = location;
        self.limit(part, file.len(), Limit::File)?;
        if file.is_empty() || file.contains(|c: char| c.is_control() || c == '"') {
            let reason = "the name of a file is not empty, without quotes and control characters";
            return Err(self.invalid(part, reason));
        }
        if *line == 0 || *line > i32::MAX as u32 {
            return Err(self.invalid(part, format!("there is no line {line}")));
        }
        Ok(())
    }

    /// What an error says: one line that is never cut.
    pub(crate) fn message(&self, part: Part, message: &str) -> Result<(), Error> {
        self.limit(part, message.len(), Limit::Message)?;
        if message.is_empty() {
            return Err(self.invalid(part, "the message is empty"));
        }
        if message.contains(char::is_control) {
            return Err(self.invalid(part, "the message contains control characters"));
        }
        Ok(())
    }
}

/// True for types that can be written; the common ones are found without printing them.
pub(crate) fn has_name(dtype: DType) -> bool {
    Scalar::ALL.into_iter().any(|scalar| scalar.dtype() == Some(dtype))
        || dtype.to_string().parse() == Ok(dtype)
}
