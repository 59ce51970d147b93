//! Reads of tensors. A field is loaded on first use and remembered.

use abi_spec::TypeIndex;
use abi_spec::layout::{DL_TENSOR, OBJECT, dl_tensor};

use crate::ir::{Binary, Builder, Cond, Convert, Pointee, Type, Value};
use crate::lower::emitter::Emitter;
use crate::lower::emitter::state::{LoadedStrides, TensorState};
use crate::resolve::ids::ValueId;

/// Reads of one tensor.
pub(crate) struct TensorReader<'e, 'a, 'm> {
    pub(super) e: &'e mut Emitter<'a, 'm>,
    pub(super) value: ValueId,
}

impl TensorReader<'_, '_, '_> {
    /// Returns the loaded parts of a tensor.
    pub(crate) fn state(&mut self) -> &mut TensorState {
        self.e.known.tensor(self.value)
    }

    /// Returns a part of a tensor. On first use, `load` emits the load.
    pub(super) fn part<T: Copy>(
        &mut self,
        part: impl Fn(&mut TensorState) -> &mut Option<T>,
        load: impl FnOnce(&mut Self) -> T,
    ) -> T {
        if let Some(known) = *part(self.state()) {
            return known;
        }
        let loaded = load(self);
        self.e.known.remember(self.value, |state| *part(state) = Some(loaded));
        loaded
    }

    /// Returns the `DLTensor*` of a tensor.
    pub(crate) fn dl(&mut self) -> Value {
        let load = |t: &mut Self| {
            let (index, payload) = t.e.words(t.value, Type::Ptr);
            let dl = dl_of(&mut t.e.b, index, payload);
            let hint = t.e.hint(t.value, "", None);
            t.e.b.hint(dl, hint)
        };
        self.part(|state| &mut state.dl, load)
    }

    /// Loads a field of the `DLTensor`.
    pub(crate) fn field(&mut self, ty: Type, offset: i32, part: &'static str) -> Value {
        let dl = self.dl();
        self.e.b.points_to(dl, Pointee::Struct(&DL_TENSOR));
        let loaded = self.e.b.load(ty, dl, offset);
        if [dl_tensor::SHAPE.offset, dl_tensor::STRIDES.offset].contains(&offset) {
            self.e.b.points_to(loaded, Pointee::Values(Type::I64));
        }
        let hint = self.e.hint(self.value, part, None);
        self.e.b.hint(loaded, hint)
    }

    /// Loads `ndim`, an `I32`.
    pub(crate) fn ndim32(&mut self) -> Value {
        self.field(Type::I32, dl_tensor::NDIM.offset, "ndim")
    }

    /// Loads `dtype`, an `I32`.
    pub(crate) fn dtype32(&mut self) -> Value {
        self.field(Type::I32, dl_tensor::DTYPE.offset, "dtype")
    }

    /// Loads `device.device_type`, an `I32`.
    pub(crate) fn device_type32(&mut self) -> Value {
        self.field(Type::I32, dl_tensor::DEVICE_TYPE.offset, "device_type")
    }

    /// Loads `device.device_id`, an `I32`.
    pub(crate) fn device_id32(&mut self) -> Value {
        self.field(Type::I32, dl_tensor::DEVICE_ID.offset, "device_id")
    }

    /// Returns the address of the extents of the declared dims. There must be one.
    pub(crate) fn shape(&mut self) -> Value {
        let load = |t: &mut Self| t.declared_dims(dl_tensor::SHAPE);
        self.part(|state| &mut state.shape, load)
    }

    /// Returns the extent of a declared dim.
    pub(crate) fn extent(&mut self, dim: usize) -> Value {
        let load = |t: &mut Self| {
            let shape = t.shape();
            let extent = t.e.b.load(Type::I64, shape, 8 * dim as i32);
            let hint = t.e.hint(t.value, "shape", Some(dim));
            t.e.b.hint(extent, hint)
        };
        self.part(|state| &mut state.extents[dim], load)
    }

    /// Returns the number of declared dims.
    pub(crate) fn rank(&mut self) -> usize {
        self.state().extents.len()
    }

    /// Computes the product of the extents from a declared dim on.
    fn product(&mut self, first: usize) -> Value {
        let rank = self.rank();
        let extents: Vec<Value> = (first..rank).map(|dim| self.extent(dim)).collect();
        match extents.into_iter().reduce(|a, e| self.e.b.binary(Binary::Mul, a, e)) {
            Some(product) => product,
            None => self.e.b.i64(1),
        }
    }

    /// Computes the compact stride of a declared dim, the product of the extents to its right, modulo 2^64. It is only
    /// compared: a product that is no `int64` is that of a tensor without elements, or of one that no memory can hold.
    pub(crate) fn compact_stride(&mut self, dim: usize) -> Value {
        self.product(dim + 1)
    }

    /// Returns the strides of the declared dims in a form that can be read even if the pointer is NULL.
    pub(crate) fn strides(&mut self) -> LoadedStrides {
        let load = |t: &mut Self| {
            let pointer = t.strides_pointer();
            let present = t.e.b.compare_const(Cond::Ne, pointer, 0);
            let shape = t.shape();
            let readable = t.e.b.select(present, pointer, shape);
            LoadedStrides { present, readable }
        };
        self.part(|state| &mut state.strides, load)
    }

    /// Returns the address of the strides of the declared dims, which may be NULL.
    pub(crate) fn strides_pointer(&mut self) -> Value {
        let load = |t: &mut Self| t.declared_dims(dl_tensor::STRIDES);
        self.part(|state| &mut state.strides_pointer, load)
    }

    /// Returns the stride of a declared dim; NULL strides are compact.
    pub(crate) fn stride(&mut self, dim: usize) -> Value {
        let LoadedStrides { present, readable } = self.strides();
        let loaded = self.e.b.load(Type::I64, readable, 8 * dim as i32);
        let hint = self.e.hint(self.value, "strides", Some(dim));
        self.e.b.hint(loaded, hint);
        let compact = self.compact_stride(dim);
        self.e.b.select(present, loaded, compact)
    }

    /// Computes a `Bool`: true if the stride of a declared dim matters, because the extent is above 1 and the tensor
    /// has elements.
    pub(crate) fn stride_counts(&mut self, dim: usize) -> Value {
        let extent = self.extent(dim);
        let several = self.e.b.compare_const(Cond::Sgt, extent, 1);
        let not_empty = self.not_empty();
        self.e.b.and(several, not_empty)
    }

    /// Returns a `Bool`: true if no extent is 0.
    pub(crate) fn not_empty(&mut self) -> Value {
        let load = |t: &mut Self| {
            let mut all = t.e.b.constant(Type::Bool, 1);
            for dim in 0..t.rank() {
                let extent = t.extent(dim);
                let some = t.e.b.compare_const(Cond::Ne, extent, 0);
                all = if dim == 0 { some } else { t.e.b.and(all, some) };
            }
            if t.has_free_leading_dims() {
                let leading = t.leading();
                let some = t.e.b.compare_const(Cond::Ne, leading, 0);
                all = t.e.b.and(all, some);
            }
            all
        };
        self.part(|state| &mut state.not_empty, load)
    }

    /// Returns `data`, without the byte offset.
    pub(crate) fn data_pointer(&mut self) -> Value {
        let load = |t: &mut Self| t.field(Type::Ptr, dl_tensor::DATA.offset, "data");
        self.part(|state| &mut state.data, load)
    }

    /// Loads `x.byte_offset`.
    pub(crate) fn byte_offset(&mut self) -> Value {
        self.field(Type::I64, dl_tensor::BYTE_OFFSET.offset, "byte_offset")
    }

    /// Returns `x.data`: the address of the first element.
    pub(crate) fn address(&mut self) -> Value {
        let load = |t: &mut Self| {
            let (data, offset) = (t.data_pointer(), t.byte_offset());
            let address = t.e.b.ptr_add(data, offset);
            let hint = t.e.hint(t.value, "address", None);
            t.e.b.hint(address, hint)
        };
        self.part(|state| &mut state.address, load)
    }
}

/// Selects the `DLTensor*` of a tensor object or of a `DLTensor*`, by the type index.
pub(crate) fn dl_of(b: &mut Builder<'_>, index: Value, payload: Value) -> Value {
    let object = b.compare_const(Cond::Eq, index, TypeIndex::TENSOR.0.into());
    let inside = b.ptr_offset(payload, OBJECT.size.into());
    b.select(object, inside, payload)
}

/// Splits the word of a device into type and index, an `I32` each.
pub(crate) fn device_numbers(b: &mut Builder<'_>, word: Value) -> [Value; 2] {
    let ty = b.convert(Convert::Trunc, word, Type::I32);
    let index = b.binary_const(Binary::Lshr, word, 32);
    [ty, b.convert(Convert::Trunc, index, Type::I32)]
}
