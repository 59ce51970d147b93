//! Checks that signatures are well formed: parameters, types, defaults and results.

use abi_spec::{DType, Scalar, TypeIndex};
use rustc_hash::{FxBuildHasher, FxHashSet};

use super::FormChecker;
use crate::declaration::limit::Limit;
use crate::declaration::{
    ANY_DTYPE, Access, Device, Dim, Element, Expr, Leaf, Literal, Member, ObjectClass, Output,
    Param, ParamType, ResultType, Shape, Strides, Tensor,
};
use crate::error::{Error, Part};
use crate::resolve::ids::Table;
use crate::resolve::value::{Source, Value, add, values};

/// Part that errors about a type are about.
#[derive(Clone, Copy)]
enum Spot {
    /// A value of the signature. Its dims have parts of their own.
    Value(usize),
    /// The same part for everything in the type.
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

impl FormChecker<'_> {
    pub(super) fn params(&self, params: &[Param]) -> Result<(), Error> {
        self.limit(Part::Name, params.len(), Limit::Params)?;
        let mut names = FxHashSet::with_capacity_and_hasher(params.len(), FxBuildHasher);
        for (index, Param { docs, name, ty, .. }) in params.iter().enumerate() {
            let part = Part::Param(index);
            self.docs(part, docs)?;
            self.name(part, name)?;
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

    /// Checks that only the last parameters have defaults, and only the last one is variadic.
    fn tail(&self, params: &[Param]) -> Result<(), Error> {
        for (index, Param { name, ty, default, variadic, .. }) in params.iter().enumerate() {
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
                Some(default) => self.default(index, ty, default)?,
                None if !variadic && index > 0 && params[index - 1].default.is_some() => {
                    return invalid(Part::Param(index), "an earlier parameter has a default");
                }
                None => {}
            }
        }
        Ok(())
    }

    /// Checks that a literal can be written.
    fn literal(&self, part: Part, literal: &Literal) -> Result<(), Error> {
        match literal {
            Literal::Float(value) => self.float(part, *value),
            Literal::Str(text) => self.text(part, text),
            Literal::None | Literal::Bool(_) | Literal::Int(_) => Ok(()),
        }
    }

    /// Checks a type outside of the parameters.
    pub(super) fn type_of(&self, part: Part, ty: &ParamType) -> Result<(), Error> {
        if ty.is_deeper_than(Limit::Nesting.max()) {
            return Err(Error::limit(self.index, self.function, part, Limit::Nesting));
        }
        let mut values = Table::default();
        add(&mut values, String::new(), ty, 0, Source::Result);
        self.limit(part, values.len(), Limit::Values)?;
        values.values().try_for_each(|value| self.value(Spot::Part(part), value))
    }

    fn value(&self, spot: Spot, value: &Value<'_>) -> Result<(), Error> {
        let part = spot.part(Part::Type);
        match value.ty {
            ParamType::Tensor(tensor) => self.tensor(spot, tensor),
            ParamType::Shape(Shape::Trailing { .. }) => {
                Err(self.invalid(part, "only a tensor has leading dims"))
            }
            ParamType::Shape(shape) => self.dims(spot, shape.dims(), Part::Dim),
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
            ParamType::Scalar(Scalar::Ptr) if value.optional => {
                Err(self.includes_none(part, value))
            }
            ParamType::Leaf(leaf) if value.optional && leaf.accepts(TypeIndex::NONE) => {
                Err(self.includes_none(part, value))
            }
            ParamType::Scalar(_)
            | ParamType::Leaf(_)
            | ParamType::Object(_)
            | ParamType::Sequence(..)
            | ParamType::Mapping(..) => Ok(()),
        }
    }

    fn includes_none(&self, part: Part, value: &Value<'_>) -> Error {
        self.invalid(part, format!("`{}` includes None already", value.ty))
    }

    fn key(&self, part: Part, key: &str) -> Result<(), Error> {
        self.limit(part, key.len(), Limit::Name)?;
        if key.is_empty() || key.contains(char::is_control) {
            return Err(self.invalid(part, format!("{key:?} is no type key")));
        }
        let mut known = TypeIndex::ALL.iter().filter(|index| index.type_key() == Some(key));
        match known.next() {
            Some(&TypeIndex::STR) => {
                Err(self.invalid(part, "short texts are no objects: use `str`"))
            }
            Some(&TypeIndex::BYTES) => {
                Err(self.invalid(part, "short bytes are no objects: use `bytes`"))
            }
            Some(index) if !index.is_object() => {
                Err(self.invalid(part, format!("{key:?} is no class of objects")))
            }
            Some(_) | None => Ok(()),
        }
    }

    fn elements(&self, part: Part, elements: &[Element]) -> Result<(), Error> {
        let mut names = FxHashSet::default();
        for name in elements.iter().filter_map(|element| element.name.as_deref()) {
            self.name(part, name)?;
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
        self.leading(spot, &tensor.shape)?;
        self.dims(spot, tensor.shape.dims(), Part::Dim)?;
        self.dims(spot, tensor.strides.dims(), Part::Stride)?;
        self.dtype_symbol(spot.part(Part::Dtype), tensor)?;
        self.limit(part, tensor.dtypes.len(), Limit::Dtypes)?;
        for (index, dtype) in tensor.dtypes.iter().enumerate() {
            self.element(part, *dtype)?;
            if tensor.dtypes[..index].contains(dtype) {
                return Err(self.invalid(part, format!("a second `{dtype}`")));
            }
        }
        self.layout(spot, tensor)?;
        self.device(part, tensor)
    }

    /// Checks the dims that stand for leading ones.
    fn leading(&self, spot: Spot, shape: &Shape) -> Result<(), Error> {
        let Shape::Trailing { folds, dims } = shape else { return Ok(()) };
        match &dims[..] {
            [] => Err(self.invalid(spot.part(Part::Type), "a dim follows the leading dims")),
            [Dim::Expr(Expr::Name(_)), ..] => Ok(()),
            [..] if !folds => Ok(()),
            [..] => {
                let part = spot.part(|value| Part::Dim(value, 0));
                Err(self.invalid(part, "the extent of all leading dims has a name"))
            }
        }
    }

    /// Checks that a tensor has element types, all or some, or a symbol for one.
    fn dtype_symbol(&self, part: Part, tensor: &Tensor) -> Result<(), Error> {
        if tensor.any_dtype && (tensor.storage || !tensor.dtypes.is_empty()) {
            let reason =
                format!("`{ANY_DTYPE}` accepts every element type, and no other is listed");
            return Err(self.invalid(part, reason));
        }
        let Some(symbol) = &tensor.dtype_symbol else {
            return if tensor.has_dtypes() {
                Ok(())
            } else {
                Err(self.invalid(part, "a tensor has a type of elements"))
            };
        };
        self.name(part, symbol)?;
        if tensor.storage && !tensor.has_dtypes() {
            let reason = format!("`dtypes` stands where `{symbol}` gets its element types");
            return Err(self.invalid(part, reason));
        }
        Ok(())
    }

    /// Checks that every dim has a stride and that the alignment is a power of two.
    fn layout(&self, spot: Spot, tensor: &Tensor) -> Result<(), Error> {
        let dims = match &tensor.shape {
            Shape::AnyRank => None,
            Shape::Dims(dims) | Shape::Trailing { dims, .. } => Some(dims.len()),
        };
        if let Strides::List(strides) = &tensor.strides
            && dims != Some(strides.len())
        {
            let dims = dims.map_or("any number of".to_owned(), |dims| dims.to_string());
            let reason = format!("{} strides for {dims} dims", strides.len());
            return Err(self.invalid(spot.part(Part::Type), reason));
        }
        self.alignment(spot.part(Part::Align), tensor)
    }

    fn alignment(&self, part: Part, tensor: &Tensor) -> Result<(), Error> {
        match tensor.align.filter(|align| !align.is_power_of_two()) {
            Some(align) => Err(self.invalid(part, format!("{align} is not a power of two"))),
            None => Ok(()),
        }
    }

    fn device(&self, part: Part, tensor: &Tensor) -> Result<(), Error> {
        if let Device::Type(ty) = tensor.device
            && ty.name().is_none()
        {
            return Err(self.invalid(part, format!("`{ty}` is not a known type of device")));
        }
        Ok(())
    }

    /// Checks that an element type can be written. It does not print the common ones.
    fn element(&self, part: Part, dtype: DType) -> Result<(), Error> {
        let is_common = Scalar::ALL.into_iter().any(|scalar| scalar.dtype() == Some(dtype));
        if is_common || dtype.to_string().parse() == Ok(dtype) {
            return Ok(());
        }
        Err(self.invalid(part, format!("`{dtype}` is not the type of an element")))
    }

    fn dims(&self, spot: Spot, dims: &[Dim], part: fn(usize, usize) -> Part) -> Result<(), Error> {
        self.limit(spot.part(Part::Type), dims.len(), Limit::Rank)?;
        for (index, dim) in dims.iter().enumerate() {
            if let Some(expr) = dim.expr() {
                self.expr(spot.part(|value| part(value, index)), expr)?;
            }
        }
        Ok(())
    }

    pub(super) fn result(&self) -> Result<(), Error> {
        match &self.function.signature.result {
            ResultType::None => Ok(()),
            ResultType::Value(ty) => {
                self.type_of(Part::Result, ty)?;
                if let Some(symbol) = ty.tensors().into_iter().find_map(Tensor::bound_symbol) {
                    let reason = format!("a result cannot determine `{symbol}`");
                    return Err(self.invalid(Part::Result, reason));
                }
                let mut tensors = ty.tensors().into_iter();
                tensors.try_for_each(|tensor| self.no_access(Part::Result, tensor))
            }
            ResultType::Allocated(outputs) => self.outputs(outputs),
        }
    }

    fn outputs(&self, outputs: &[Output]) -> Result<(), Error> {
        self.limit(Part::Result, outputs.len(), Limit::Results)?;
        if outputs.is_empty() {
            return Err(self.invalid(Part::Result, "there is no result"));
        }
        let mut names = FxHashSet::default();
        for (index, output) in outputs.iter().enumerate() {
            let part = Part::Output(index);
            self.name(part, &output.name)?;
            if !names.insert(&output.name[..]) {
                let reason = format!("an earlier result has the name `{}`", output.name);
                return Err(self.invalid(part, reason));
            }
            self.allocated(part, &output.tensor)?;
        }
        Ok(())
    }

    /// Checks that nothing is said about the access to a tensor that a function makes.
    fn no_access(&self, part: Part, tensor: &Tensor) -> Result<(), Error> {
        match tensor.access {
            Access::Update => Ok(()),
            Access::Read | Access::Write => {
                Err(self.invalid(part, "`access` is of tensors that a function is given"))
            }
        }
    }

    /// Checks that a tensor can be allocated.
    pub(super) fn allocated(&self, part: Part, tensor: &Tensor) -> Result<(), Error> {
        let Shape::Dims(dims) = &tensor.shape else {
            return Err(self.invalid(part, "the rank of a tensor that is allocated must be known"));
        };
        self.limit(part, dims.len(), Limit::Rank)?;
        for dim in dims {
            let unknown =
                || self.invalid(part, "the extents of a tensor that is allocated must be known");
            self.expr(part, dim.expr().ok_or_else(unknown)?)?;
        }
        if tensor.strides != Strides::Contiguous {
            return Err(self.invalid(part, "a tensor that is allocated is contiguous"));
        }
        self.no_access(part, tensor)?;
        if tensor.storage {
            return Err(
                self.invalid(part, "a tensor that is allocated has the type that is declared")
            );
        }
        self.dtype_symbol(part, tensor)?;
        match (&tensor.dtypes[..], &tensor.dtype_symbol) {
            ([], Some(_)) if !tensor.any_dtype => {}
            (&[dtype], None) => self.element(part, dtype)?,
            (_, None) => {
                let reason = "a tensor that is allocated has one type of elements";
                return Err(self.invalid(part, reason));
            }
            (_, Some(symbol)) => {
                let reason = format!("a tensor that is allocated cannot determine `{symbol}`");
                return Err(self.invalid(part, reason));
            }
        }
        self.alignment(part, tensor)?;
        self.device(part, tensor)
    }
}
