//! The printer: types, results and literals.

use std::fmt::{self, Display, Formatter};

use abi_spec::DeviceType;

use super::print_expression::float;
use super::print_items::{enclosed, quote};
use super::reserved::spelled;
use super::suggest::names_dtype;
use crate::declaration::{
    Device, Dim, Element, Literal, Mapping, ObjectClass, Output, Param, ParamType, ResultType,
    Sequence, Shape, Strides, Tensor,
};

impl Display for Param {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let star = if self.variadic { "*" } else { "" };
        write!(f, "{star}{}: {}", spelled(&self.name), self.ty)?;
        self.default.as_ref().map_or(Ok(()), |default| write!(f, " = {default}"))
    }
}

impl Display for ParamType {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            ParamType::Scalar(scalar) => scalar.fmt(f),
            ParamType::Tensor(tensor) => tensor.fmt(f),
            ParamType::Leaf(leaf) => f.write_str(leaf.name()),
            ParamType::Shape(Shape::AnyRank) => f.write_str("Shape"),
            ParamType::Shape(shape) => write!(f, "Shape({shape})"),
            ParamType::Object(class) => class.fmt(f),
            ParamType::Sequence(Sequence::Array, element) => write!(f, "Array[{element}]"),
            ParamType::Sequence(Sequence::List, element) => write!(f, "List[{element}]"),
            ParamType::Mapping(Mapping::Map, types) => enclosed(f, "Map[", &types[..], "]"),
            ParamType::Mapping(Mapping::Dict, types) => enclosed(f, "Dict[", &types[..], "]"),
            ParamType::Tuple(elements) => enclosed(f, "Tuple[", elements, "]"),
            ParamType::Optional(inner) => write!(f, "Optional[{inner}]"),
            ParamType::Union(types) => enclosed(f, "Union[", types, "]"),
            ParamType::Literal(literals) => enclosed(f, "Literal[", literals, "]"),
        }
    }
}

impl Display for Element {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.name.as_ref().map_or(Ok(()), |name| write!(f, "{}: ", spelled(name)))?;
        self.ty.fmt(f)
    }
}

impl Display for ObjectClass {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            ObjectClass::Function => f.write_str("Function"),
            ObjectClass::Module => f.write_str("Module"),
            ObjectClass::Tensor => f.write_str("Tensor"),
            ObjectClass::Any => f.write_str("Object"),
            ObjectClass::Key(key) => {
                f.write_str("Object[")?;
                quote(f, key)?;
                f.write_str("]")
            }
        }
    }
}

impl Display for Literal {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Literal::None => f.write_str("None"),
            Literal::Bool(true) => f.write_str("True"),
            Literal::Bool(false) => f.write_str("False"),
            Literal::Int(value) => value.fmt(f),
            Literal::Float(value) => float(f, *value),
            Literal::Str(text) => quote(f, text),
        }
    }
}

impl Display for Tensor {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "Tensor({}, ", self.shape)?;
        if let Some(symbol) = &self.dtype_symbol {
            dtype_symbol(f, symbol)?;
            f.write_str(if self.has_dtypes() { ": " } else { "" })?;
        }
        f.write_str(&self.dtypes_text())?;
        if self.strides != Strides::Contiguous {
            let dots = if self.shape.is_trailing() && !self.shape.folds() { "..., " } else { "" };
            match &self.strides {
                Strides::List(dims) => enclosed(f, &format!(", strides=[{dots}"), dims, "]")?,
                strides @ (Strides::Contiguous | Strides::Any) => write!(f, ", strides={strides}")?,
            }
        }
        if self.device != Device::Type(DeviceType::CPU) {
            write!(f, ", device={}", self.device)?;
        }
        if let Some(align) = self.align
            && Some(align) != self.natural_alignment()
        {
            write!(f, ", align={align}")?;
        }
        if self.storage {
            f.write_str(", dtypes=storage")?;
        }
        if let Some(access) = self.access.said() {
            write!(f, ", access={access}")?;
        }
        f.write_str(")")
    }
}

/// Prints the symbol of an element type, in backticks if it could be read as an element type.
fn dtype_symbol(f: &mut Formatter<'_>, symbol: &str) -> fmt::Result {
    if names_dtype(symbol) { write!(f, "`{symbol}`") } else { spelled(symbol).fmt(f) }
}

impl Display for Shape {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Shape::AnyRank => f.write_str("[...]"),
            Shape::Dims(dims) => enclosed(f, "[", dims, "]"),
            Shape::Trailing { folds: false, dims } => enclosed(f, "[..., ", dims, "]"),
            Shape::Trailing { folds: true, dims } => match &dims[..] {
                [] => f.write_str("[...]"),
                [outer] => write!(f, "[{outer}...]"),
                [outer, rest @ ..] => enclosed(f, &format!("[{outer}..., "), rest, "]"),
            },
        }
    }
}

impl Display for Strides {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Strides::Contiguous => f.write_str("contiguous"),
            Strides::Any => f.write_str("any"),
            Strides::List(dims) => enclosed(f, "[", dims, "]"),
        }
    }
}

impl Display for Dim {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Dim::Any => f.write_str("_"),
            Dim::Expr(expr) => expr.fmt(f),
        }
    }
}

impl Display for Device {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Device::Any => f.write_str("any"),
            Device::Type(ty) => ty.fmt(f),
        }
    }
}

impl Display for ResultType {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            ResultType::None => f.write_str("None"),
            ResultType::Value(ty) => ty.fmt(f),
            ResultType::Allocated(outputs) => match &outputs[..] {
                [output] => output.fmt(f),
                outputs => enclosed(f, "(", outputs, ")"),
            },
        }
    }
}

impl Display for Output {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", spelled(&self.name), self.tensor)
    }
}
