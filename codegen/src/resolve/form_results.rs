//! Whether results are well formed.

use rustc_hash::FxHashSet;

use super::form::{Checker, has_name};
use crate::declaration::limit::Limit;
use crate::declaration::{
    Body, Device, Dim, Function, Output, ParamType, ResultType, Shape, Strides, Tensor,
};
use crate::error::{Error, Part};

impl Checker<'_> {
    pub(crate) fn result(&self) -> Result<(), Error> {
        let Function { signature, body, .. } = self.function;
        match (&signature.result, body) {
            (ResultType::Value(ParamType::Scalar(_)), Body::Call(call))
                if call.status.is_some() =>
            {
                let reason = "a kernel that is called with `try` returns a status, not the result";
                Err(self.invalid(Part::Result, reason))
            }
            (ResultType::None, _) => Ok(()),
            (ResultType::Value(ty), _) => self.type_of(Part::Result, ty),
            (ResultType::Allocated(outputs), _) => self.outputs(outputs),
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
            self.identifier(part, &output.name)?;
            if !names.insert(&output.name[..]) {
                let reason = format!("an earlier result has the name `{}`", output.name);
                return Err(self.invalid(part, reason));
            }
            self.allocated(part, &output.tensor)?;
        }
        Ok(())
    }

    /// What can be asked of an allocator.
    pub(crate) fn allocated(&self, part: Part, tensor: &Tensor) -> Result<(), Error> {
        let Shape::Dims(dims) = &tensor.shape else {
            return Err(self.invalid(part, "the rank of a result must be known"));
        };
        self.limit(part, dims.len(), Limit::Rank)?;
        for dim in dims {
            match dim {
                Dim::Any => return Err(self.invalid(part, "the extents of a result must be known")),
                Dim::Expr(expr) => self.expr(part, expr)?,
            }
        }
        if tensor.strides != Strides::Contiguous {
            return Err(self.invalid(part, "a tensor that is allocated is contiguous"));
        }
        let &[dtype] = &tensor.dtypes[..] else {
            return Err(self.invalid(part, "a tensor that is allocated has one type of elements"));
        };
        if tensor.storage {
            return Err(
                self.invalid(part, "a tensor that is allocated has the type that is declared")
            );
        }
        if !has_name(dtype) {
            let reason = format!("`{dtype}` is not the type of an element");
            return Err(self.invalid(part, reason));
        }
        if let Some(align) = tensor.align
            && !align.is_power_of_two()
        {
            return Err(self.invalid(part, format!("{align} is not a power of two")));
        }
        match tensor.device {
            Device::Type(ty) if ty.name().is_none() => {
                Err(self.invalid(part, format!("`{ty}` is not a known type of device")))
            }
            Device::Type(_) | Device::Any => Ok(()),
        }
    }
}
