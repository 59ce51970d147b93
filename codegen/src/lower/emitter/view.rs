//! Views of tensors of which only the last dims are declared: the numbers that the declared dims see.
//!
//! A tensor that has as many dims as are declared is its own view. Otherwise the view of `[..., m, k]` is the end of the
//! shape and of the strides, and that of `[outer..., m, k]` is in an area of the frame, which a routine fills when the
//! header of the tensor is checked.

use abi_spec::layout::{Field, dl_tensor};

use crate::ir::{Binary, Cond, Convert, Type, Value};
use crate::lower::emitter::Emitter;
use crate::lower::routines::Routine;
use crate::resolve::ids::ValueId;

impl Emitter<'_, '_> {
    /// Loads the address of the extents or strides of the tensor itself.
    pub(crate) fn own_dims(&mut self, value: ValueId, of: Field) -> Value {
        let part = if of.offset == dl_tensor::SHAPE.offset { "shape" } else { "strides" };
        self.field(value, Type::Ptr, of.offset, part)
    }

    /// Loads the address of the extents or strides of the declared dims.
    pub(super) fn declared_dims(&mut self, value: ValueId, of: Field) -> Value {
        let own = self.own_dims(value, of);
        if !self.trailing(value) {
            return own;
        }
        let ndim = self.ndim32(value);
        self.seen(value, ndim, own, of)
    }

    /// Loads the address of the extents or strides of the declared dims, given the `DLTensor*`.
    pub(crate) fn declared_dims_of(&mut self, value: ValueId, dl: Value, of: Field) -> Value {
        let own = self.b.load(Type::Ptr, dl, of.offset);
        if !self.trailing(value) {
            return own;
        }
        let ndim = self.b.load(Type::I32, dl, dl_tensor::NDIM.offset);
        self.seen(value, ndim, own, of)
    }

    /// Selects the address of the tensor's own extents or strides, or of their view.
    fn seen(&mut self, value: ValueId, ndim: Value, own: Value, of: Field) -> Value {
        let view = self.viewed(value, ndim, own, of);
        let same = self.b.compare_const(Cond::Eq, ndim, self.declared(value) as i64);
        self.b.select(same, own, view)
    }

    /// Computes the address of the extents or strides of the declared dims of a tensor that has another number of dims.
    /// `own` is the address of those of the tensor itself. NULL strides stay NULL.
    pub(crate) fn viewed(&mut self, value: ValueId, ndim: Value, own: Value, of: Field) -> Value {
        let dims = self.declared(value) as i64;
        let is_shape = of.offset == dl_tensor::SHAPE.offset;
        let view = if self.folds(value) {
            let area = self.fold_area(value);
            if is_shape { area } else { self.b.ptr_offset(area, 8 * dims) }
        } else {
            let ndim = self.b.convert(Convert::Sext, ndim, Type::I64);
            let leading = self.b.binary_const(Binary::Sub, ndim, dims);
            let bytes = self.b.binary_const(Binary::Shl, leading, 3);
            self.b.ptr_add(own, bytes)
        };
        if is_shape {
            return view;
        }
        let null = self.b.compare_const(Cond::Eq, own, 0);
        self.b.select(null, own, view)
    }

    /// Calls the routine that looks at the leading dims of a tensor, and fills the area of folded ones. Returns a
    /// negative number if the leading dims are wrong. Otherwise returns 0 or 1: for folded dims whether they are one
    /// dim in memory, else whether none of them is 0.
    pub(crate) fn look_at_leading(&mut self, value: ValueId) -> Value {
        let (dl, after) = (self.dl(value), self.dims_after_leading(value));
        if self.folds(value) {
            let area = self.fold_area(value);
            return self.routine_value(Routine::Fold, &[dl, after, area]);
        }
        self.routine_value(Routine::Leading, &[dl, after])
    }

    /// Returns what [`look_at_leading`](Self::look_at_leading) says; 1 for a tensor that is its own view.
    pub(crate) fn leading(&mut self, value: ValueId) -> Value {
        let load = |e: &mut Self| e.look_at_leading(value);
        self.part(value, |state| &mut state.leading, load)
    }

    /// Returns true if a tensor may have leading dims that no declared dim sees.
    pub(crate) fn has_free_leading_dims(&self, value: ValueId) -> bool {
        self.trailing(value) && !self.folds(value)
    }

    /// Returns true if only the last dims of a tensor are declared.
    pub(crate) fn trailing(&self, value: ValueId) -> bool {
        self.function.tensor(value).is_some_and(|tensor| tensor.shape.is_trailing())
    }

    /// Returns true if the first declared dim of a tensor is all its leading dims.
    fn folds(&self, value: ValueId) -> bool {
        self.function.tensor(value).is_some_and(|tensor| tensor.shape.folds())
    }

    /// Returns the number of declared dims.
    fn declared(&self, value: ValueId) -> usize {
        self.function.tensor(value).map_or(0, |tensor| tensor.shape.dims().len())
    }

    /// Returns the number of dims at the end that the tensor itself has, and that no leading dim is among.
    pub(crate) fn dims_after_leading(&mut self, value: ValueId) -> Value {
        let tensor = self.function.tensor(value);
        let dims = tensor.map_or(0, |tensor| tensor.shape.least_rank());
        self.b.i64(dims as i64)
    }

    /// Returns the area of the frame for the extents and strides of the declared dims.
    fn fold_area(&mut self, value: ValueId) -> Value {
        if let Some(area) = self.areas[value] {
            return area;
        }
        let area = self.b.stack_slot(16 * self.declared(value) as u32, 8);
        self.areas[value] = Some(area);
        area
    }
}
