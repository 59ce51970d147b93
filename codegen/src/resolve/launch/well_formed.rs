//! Checks that launches are well formed.

use rustc_hash::FxHashSet;

use crate::declaration::limit::Limit;
use crate::declaration::{
    AttributeKind, AttributeValue, Expr, Global, Launch, LaunchArg, LaunchAttribute, MapMode,
    TensorMap, Upload,
};
use crate::error::{Error, Part};
use crate::resolve::well_formed::FormChecker;

/// Bytes of a `CUlaunchAttributeValue`.
pub(super) const ATTRIBUTE_SIZE: u32 = 64;

/// Most bytes of all parameters of a kernel, from CUDA 12.1 and compute capability 7.0 on.
const PARAMETER_SIZE: u32 = 32_764;

impl FormChecker<'_> {
    pub(in crate::resolve) fn launch(&self, part: Part, launch: &Launch) -> Result<(), Error> {
        self.identifier(part, &launch.image)?;
        self.in_image(part, &launch.gpu_kernel, "kernel")?;
        self.limit(part, launch.args.len(), Limit::Arguments)?;
        launch.args.iter().try_for_each(|arg| self.given(part, arg))?;
        for (word, extents) in [("grid", &launch.grid), ("block", &launch.block)] {
            if !(1..=3).contains(&extents.len()) {
                return Err(self.invalid(part, format!("`{word}` has one to three extents")));
            }
        }
        let mut seen = FxHashSet::default();
        for attribute in &launch.attributes {
            self.attribute(part, attribute)?;
            if !seen.insert(attribute.kind.id()) {
                let reason = format!("`{attribute}` is set twice");
                return Err(self.invalid(part, reason));
            }
        }
        launch.exprs().try_for_each(|expr| self.expr(part, expr))
    }

    pub(in crate::resolve) fn global(&self, part: Part, global: &Global) -> Result<(), Error> {
        self.identifier(part, &global.image)?;
        self.in_image(part, &global.name, "variable")
    }

    /// Checks the name of a kernel or a variable of an image.
    fn in_image(&self, part: Part, name: &str, what: &str) -> Result<(), Error> {
        self.limit(part, name.len(), Limit::Symbol)?;
        if name.is_empty() || name.contains(char::is_control) {
            return Err(self.invalid(part, format!("{name:?} names no {what}")));
        }
        Ok(())
    }

    pub(in crate::resolve) fn upload(&self, part: Part, upload: &Upload) -> Result<(), Error> {
        self.limit(part, upload.values.len(), Limit::Arguments)?;
        if upload.values.is_empty() {
            return Err(self.invalid(part, "an upload has a value"));
        }
        for value in &upload.values {
            if let LaunchArg::Scratch { .. } | LaunchArg::Bytes { .. } = value {
                return Err(self.invalid(part, format!("`{value}` cannot be uploaded")));
            }
            self.given(part, value)?;
        }
        self.command(part, upload.exprs())
    }

    /// Checks the operands of a command.
    pub(in crate::resolve) fn command<'e>(
        &self,
        part: Part,
        mut exprs: impl Iterator<Item = &'e Expr>,
    ) -> Result<(), Error> {
        exprs.try_for_each(|expr| self.expr(part, expr))
    }

    fn given(&self, part: Part, arg: &LaunchArg) -> Result<(), Error> {
        match arg {
            LaunchArg::Value(_) => Ok(()),
            LaunchArg::Struct(fields) => {
                self.limit(part, arg.depth(), Limit::Nesting)?;
                self.limit(part, fields.len(), Limit::Arguments)?;
                if fields.is_empty() {
                    return Err(self.invalid(part, "a struct has a field"));
                }
                fields.iter().try_for_each(|field| match field {
                    LaunchArg::Value(_) | LaunchArg::Struct(_) => self.given(part, field),
                    LaunchArg::Scratch { .. }
                    | LaunchArg::TensorMap(_)
                    | LaunchArg::Bytes { .. } => {
                        let reason = format!("`{field}` cannot be a field of a struct");
                        Err(self.invalid(part, reason))
                    }
                })
            }
            LaunchArg::Scratch { align, .. } if align.is_power_of_two() && *align <= 1 << 30 => {
                Ok(())
            }
            LaunchArg::Scratch { align, .. } => {
                let reason = format!("{align} is no alignment: a power of two up to 1073741824 is");
                Err(self.invalid(part, reason))
            }
            LaunchArg::TensorMap(map) => self.map(part, map),
            LaunchArg::Bytes { size, .. } if (1..=PARAMETER_SIZE).contains(size) => Ok(()),
            LaunchArg::Bytes { size, .. } => {
                let reason = format!(
                    "a kernel has no parameter of {size} bytes: it has 1 to {PARAMETER_SIZE}"
                );
                Err(self.invalid(part, reason))
            }
        }
    }

    pub(in crate::resolve) fn map(&self, part: Part, map: &TensorMap) -> Result<(), Error> {
        let (has_mode, needs) = match &map.mode {
            MapMode::Tiled(extents) => (
                (1..=5).contains(&extents.len()),
                "a box of one to five extents, and as many dims, strides and steps if any",
            ),
            MapMode::Im2col(columns) => (
                (1..=3).contains(&columns.lower.len())
                    && columns.upper.len() == columns.lower.len(),
                "one to three offsets in `lower`, as many in `upper`, and two more dims, strides and steps if any",
            ),
        };
        let rank = map.mode.rank();
        let fits = |list: &Vec<_>| [0, rank].contains(&list.len());
        if !has_mode || ![&map.dims, &map.strides, &map.steps].into_iter().all(fits) {
            return Err(self.invalid(part, format!("`{map}` needs {needs}")));
        }
        Ok(())
    }

    fn attribute(&self, part: Part, attribute: &LaunchAttribute) -> Result<(), Error> {
        let LaunchAttribute { kind, fields } = attribute;
        let (least, most) = match kind.value() {
            AttributeValue::Flag => (0, 0),
            AttributeValue::Number => (1, 1),
            AttributeValue::Dims => (1, 3),
            AttributeValue::Any => (1, ATTRIBUTE_SIZE as usize),
        };
        if !(least..=most).contains(&fields.len()) {
            let reason =
                format!("`{attribute}` has {} values, not {least} to {most}", fields.len());
            return Err(self.invalid(part, reason));
        }
        if let AttributeKind::Other(0) = kind {
            return Err(self.invalid(part, "the driver ignores attribute 0"));
        }
        Ok(())
    }
}
