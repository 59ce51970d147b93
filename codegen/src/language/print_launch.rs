//! The printer: images and launches.

use std::fmt::{self, Display, Formatter};

use super::print::{list, quote};
use crate::declaration::{
    AttributeKind, Expr, Fill, Image, Interleave, Launch, LaunchArg, LaunchAttribute, Promotion,
    Swizzle, TensorMap,
};

impl Display for Image {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "image {};", self.name)
    }
}

/// One line, without `;`.
impl Display for Launch {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "launch {}.", self.image)?;
        quote(f, &self.gpu_kernel)?;
        f.write_str("(")?;
        list(f, &self.args)?;
        f.write_str(")")?;
        numbers(f, "grid", &self.grid)?;
        numbers(f, "block", &self.block)?;
        numbers(f, "smem", self.shared.as_slice())?;
        self.attributes.iter().try_for_each(|attribute| write!(f, " {attribute}"))?;
        self.on.as_ref().map_or(Ok(()), |on| write!(f, " on {on}"))
    }
}

/// ` grid(n, 2)`, if there are any.
fn numbers(f: &mut Formatter<'_>, word: &str, numbers: &[Expr]) -> fmt::Result {
    if numbers.is_empty() {
        return Ok(());
    }
    write!(f, " {word}(")?;
    list(f, numbers)?;
    f.write_str(")")
}

impl Display for LaunchAttribute {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.word())?;
        let id = if let AttributeKind::Other(id) = self.kind { Some(id) } else { None };
        if id.is_none() && self.fields.is_empty() {
            return Ok(());
        }
        f.write_str("(")?;
        if let Some(id) = id {
            write!(f, "{id}, ")?;
        }
        list(f, &self.fields)?;
        f.write_str(")")
    }
}

impl Display for LaunchArg {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            LaunchArg::Value(value) => value.fmt(f),
            LaunchArg::Struct(fields) => {
                f.write_str("struct(")?;
                list(f, fields)?;
                f.write_str(")")
            }
            LaunchArg::Scratch { bytes, align } => write!(f, "scratch({bytes}, {align})"),
            LaunchArg::TensorMap(map) => map.fmt(f),
        }
    }
}

/// Options that hold their default are left out.
impl Display for TensorMap {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "tensormap({}, box=[", self.tensor)?;
        list(f, &self.extents)?;
        f.write_str("]")?;
        if !self.steps.is_empty() {
            f.write_str(", steps=[")?;
            list(f, &self.steps)?;
            f.write_str("]")?;
        }
        let options = [
            ("interleave", self.interleave.name(), self.interleave == Interleave::None),
            ("swizzle", self.swizzle.name(), self.swizzle == Swizzle::None),
            ("l2", self.promotion.name(), self.promotion == Promotion::None),
            ("fill", self.fill.name(), self.fill == Fill::None),
            ("dtype", self.dtype.map_or("", |dtype| dtype.name()), self.dtype.is_none()),
        ];
        let given = options.into_iter().filter(|(.., default)| !default);
        for (option, name, _) in given {
            write!(f, ", {option}=\"{name}\"")?;
        }
        f.write_str(")")
    }
}
