//! Views of tensors of which only the last dims are declared: the numbers that the declared dims see.
//!
//! A tensor that has as many dims as are declared is its own view. Otherwise the view of `[..., m, k]` is the end of
//! the shape and of the strides, and that of `[outer..., m, k]` is in an area of the frame, which a routine fills when
//! the header of the tensor is checked.

use abi_spec::layout::{Field, dl_tensor};

use crate::ir::{Binary, Cond, Convert, Type, Value};
use crate::lower::emitter::tensor::TensorReader;
use crate::lower::routines::Routine;

impl TensorReader<'_, '_, '_> {
    /// Loads the address of the extents or strides of the tensor itself.
    pub(crate) fn own_dims(&mut self, of: Field) -> Value {
        let part = if of.offset == dl_tensor::SHAPE.offset { "shape" } else { "strides" };
        self.field(Type::Ptr, of.offset, part)
    }

    /// Loads the address of the extents or strides of the declared dims.
    pub(super) fn declared_dims(&mut self, of: Field) -> Value {
        let own = self.own_dims(of);
        if !self.trailing() {
            return own;
        }
        let ndim = self.ndim32();
        self.seen(ndim, own, of)
    }

    /// Loads the address of the extents or strides of the declared dims, given the `DLTensor*`.
    pub(crate) fn declared_dims_of(&mut self, dl: Value, of: Field) -> Value {
        let own = self.e.b.load(Type::Ptr, dl, of.offset);
        if !self.trailing() {
            return own;
        }
        let ndim = self.e.b.load(Type::I32, dl, dl_tensor::NDIM.offset);
        self.seen(ndim, own, of)
    }

    /// Selects the address of the tensor's own extents or strides, or of their view.
    fn seen(&mut self, ndim: Value, own: Value, of: Field) -> Value {
        let view = self.viewed(ndim, own, of);
        let same = self.e.b.compare_const(Cond::Eq, ndim, self.declared() as i64);
        self.e.b.select(same, own, view)
    }

    /// Computes the address of the extents or strides of the declared dims of a tensor that has another number of dims.
    /// `own` is the address of those of the tensor itself. NULL strides stay NULL.
    pub(crate) fn viewed(&mut self, ndim: Value, own: Value, of: Field) -> Value {
        let dims = self.declared() as i64;
        let is_shape = of.offset == dl_tensor::SHAPE.offset;
        let view = if self.folds() {
            let area = self.fold_area();
            if is_shape { area } else { self.e.b.ptr_offset(area, 8 * dims) }
        } else {
            let ndim = self.e.b.convert(Convert::Sext, ndim, Type::I64);
            let leading = self.e.b.binary_const(Binary::Sub, ndim, dims);
            let bytes = self.e.b.binary_const(Binary::Shl, leading, 3);
            self.e.b.ptr_add(own, bytes)
        };
        if is_shape {
            return view;
        }
        let null = self.e.b.compare_const(Cond::Eq, own, 0);
        self.e.b.select(null, own, view)
    }

    /// Calls the routine that looks at the leading dims of a tensor, and fills the area of folded ones. Returns a
    /// negative number if the leading dims are wrong. Otherwise returns 0 or 1: for folded dims whether they are one
    /// dim in memory, else whether none of them is 0.
    pub(crate) fn look_at_leading(&mut self) -> Value {
        let (dl, after) = (self.dl(), self.dims_after_leading());
        if self.folds() {
            let area = self.fold_area();
            return self.e.routine_value(Routine::Fold, &[dl, after, area]);
        }
        self.e.routine_value(Routine::Leading, &[dl, after])
    }

    /// Returns what [`look_at_leading`](Self::look_at_leading) says; 1 for a tensor that is its own view.
    pub(crate) fn leading(&mut self) -> Value {
        let load = |t: &mut Self| t.look_at_leading();
        self.part(|state| &mut state.leading, load)
    }

    /// Returns true if a tensor may have leading dims that no declared dim sees.
    pub(crate) fn has_free_leading_dims(&self) -> bool {
        self.trailing() && !self.folds()
    }

    /// Returns true if only the last dims of a tensor are declared.
    pub(crate) fn trailing(&self) -> bool {
        self.e.function.tensor(self.value).is_some_and(|tensor| tensor.shape.is_trailing())
    }

    /// Returns true if the first declared dim of a tensor is all its leading dims.
    fn folds(&self) -> bool {
        self.e.function.tensor(self.value).is_some_and(|tensor| tensor.shape.folds())
    }

    /// Returns the number of declared dims.
    fn declared(&self) -> usize {
        self.e.function.tensor(self.value).map_or(0, |tensor| tensor.shape.dims().len())
    }

    /// Returns the number of dims at the end that the tensor itself has, and that no leading dim is among.
    pub(crate) fn dims_after_leading(&mut self) -> Value {
        let tensor = self.e.function.tensor(self.value);
        let dims = tensor.map_or(0, |tensor| tensor.shape.least_rank());
        self.e.b.i64(dims as i64)
    }

    /// Returns the area of the frame for the extents and strides of the declared dims.
    fn fold_area(&mut self) -> Value {
        if let Some(area) = self.e.areas[self.value] {
            return area;
        }
        let area = self.e.b.stack_slot(16 * self.declared() as u32, 8);
        self.e.areas[self.value] = Some(area);
        area
    }
}
