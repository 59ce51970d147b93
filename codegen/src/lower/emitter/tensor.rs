//! Reads of tensors. A field is loaded on first use and remembered.

use abi_spec::TypeIndex;
use abi_spec::layout::{OBJECT, dl_tensor};

use crate::ir::{Binary, Cond, Convert, Type, Value};
use crate::lower::emitter::Emitter;
use crate::lower::emitter::state::{LoadedStrides, TensorState};
use crate::resolve::ids::ValueId;

impl Emitter<'_, '_> {
    /// Returns the loaded parts of a tensor.
    pub(crate) fn tensor_state(&mut self, value: ValueId) -> &mut TensorState {
        self.values[value].tensor()
    }

    /// Selects the `DLTensor*` of a tensor object or of a `DLTensor*`, by the type index.
    pub(crate) fn tensor_of(&mut self, index: Value, payload: Value) -> Value {
        let object = self.b.compare_const(Cond::Eq, index, TypeIndex::TENSOR.0.into());
        let inside = self.b.ptr_offset(payload, OBJECT.size.into());
        self.b.select(object, inside, payload)
    }

    /// Returns the `DLTensor*` of a tensor.
    pub(crate) fn dl(&mut self, value: ValueId) -> Value {
        if let Some(dl) = self.tensor_state(value).dl {
            return dl;
        }
        let (index, payload) = self.words(value, Type::Ptr);
        let dl = self.tensor_of(index, payload);
        let hint = self.hint(value, "", None);
        self.b.hint(dl, hint);
        self.remember(value, |state| state.dl = Some(dl));
        dl
    }

    /// Loads a field of the `DLTensor`.
    pub(crate) fn field(
        &mut self,
        value: ValueId,
        ty: Type,
        offset: i32,
        part: &'static str,
    ) -> Value {
        let dl = self.dl(value);
        let loaded = self.b.load(ty, dl, offset);
        let hint = self.hint(value, part, None);
        self.b.hint(loaded, hint)
    }

    /// Loads `ndim`, an `I32`.
    pub(crate) fn ndim32(&mut self, value: ValueId) -> Value {
        self.field(value, Type::I32, dl_tensor::NDIM.offset, "ndim")
    }

    /// Loads `dtype`, an `I32`.
    pub(crate) fn dtype32(&mut self, value: ValueId) -> Value {
        self.field(value, Type::I32, dl_tensor::DTYPE.offset, "dtype")
    }

    /// Loads `device.device_type`, an `I32`.
    pub(crate) fn device_type32(&mut self, value: ValueId) -> Value {
        self.field(value, Type::I32, dl_tensor::DEVICE_TYPE.offset, "device_type")
    }

    /// Loads `device.device_id`, an `I32`.
    pub(crate) fn device_id32(&mut self, value: ValueId) -> Value {
        self.field(value, Type::I32, dl_tensor::DEVICE_ID.offset, "device_id")
    }

    /// Splits the word of a device into type and index, an `I32` each.
    pub(crate) fn device_numbers(&mut self, word: Value) -> [Value; 2] {
        let ty = self.b.convert(Convert::Trunc, word, Type::I32);
        let index = self.b.binary_const(Binary::Lshr, word, 32);
        [ty, self.b.convert(Convert::Trunc, index, Type::I32)]
    }

    /// Returns the address of the extents. The rank must not be 0.
    pub(crate) fn shape(&mut self, value: ValueId) -> Value {
        if let Some(shape) = self.tensor_state(value).shape {
            return shape;
        }
        let shape = self.field(value, Type::Ptr, dl_tensor::SHAPE.offset, "shape");
        self.remember(value, |state| state.shape = Some(shape));
        shape
    }

    /// Returns `x.shape[dim]` of a tensor of fixed rank.
    pub(crate) fn extent(&mut self, value: ValueId, dim: usize) -> Value {
        if let Some(extent) = self.tensor_state(value).extents[dim] {
            return extent;
        }
        let shape = self.shape(value);
        let extent = self.b.load(Type::I64, shape, 8 * dim as i32);
        let hint = self.hint(value, "shape", Some(dim));
        self.b.hint(extent, hint);
        self.remember(value, |state| state.extents[dim] = Some(extent));
        extent
    }

    /// Returns the rank of a tensor of fixed rank.
    pub(crate) fn rank(&mut self, value: ValueId) -> usize {
        self.tensor_state(value).extents.len()
    }

    /// Computes `x.numel` of a tensor of fixed rank.
    pub(crate) fn numel(&mut self, value: ValueId) -> Value {
        let rank = self.rank(value);
        let extents: Vec<Value> = (0..rank).map(|dim| self.extent(value, dim)).collect();
        match extents.into_iter().reduce(|a, e| self.b.binary(Binary::Mul, a, e)) {
            Some(product) => product,
            None => self.b.i64(1),
        }
    }

    /// Returns the strides in a form that can be read even if the pointer is NULL.
    pub(crate) fn strides(&mut self, value: ValueId) -> LoadedStrides {
        if let Some(strides) = self.tensor_state(value).strides {
            return strides;
        }
        let pointer = self.strides_pointer(value);
        let present = self.b.compare_const(Cond::Ne, pointer, 0);
        let shape = self.shape(value);
        let readable = self.b.select(present, pointer, shape);
        let strides = LoadedStrides { present, readable };
        self.remember(value, |state| state.strides = Some(strides));
        strides
    }

    /// Returns the strides pointer, which may be NULL.
    pub(crate) fn strides_pointer(&mut self, value: ValueId) -> Value {
        if let Some(pointer) = self.tensor_state(value).strides_pointer {
            return pointer;
        }
        let pointer = self.field(value, Type::Ptr, dl_tensor::STRIDES.offset, "strides");
        self.remember(value, |state| state.strides_pointer = Some(pointer));
        pointer
    }

    /// Computes the compact stride of a dim: the product of the extents to its right.
    pub(crate) fn compact_stride(&mut self, value: ValueId, dim: usize) -> Value {
        let rank = self.rank(value);
        let extents: Vec<Value> = (dim + 1..rank).map(|dim| self.extent(value, dim)).collect();
        match extents.into_iter().reduce(|a, e| self.b.binary(Binary::Mul, a, e)) {
            Some(product) => product,
            None => self.b.i64(1),
        }
    }

    /// Returns the stride of a dim; NULL strides are compact.
    pub(crate) fn stride(&mut self, value: ValueId, dim: usize) -> Value {
        let LoadedStrides { present, readable } = self.strides(value);
        let loaded = self.b.load(Type::I64, readable, 8 * dim as i32);
        let hint = self.hint(value, "strides", Some(dim));
        self.b.hint(loaded, hint);
        let compact = self.compact_stride(value, dim);
        self.b.select(present, loaded, compact)
    }

    /// Computes a `Bool`: the stride of a dim counts, because its extent is above 1 and the tensor has elements.
    pub(crate) fn stride_counts(&mut self, value: ValueId, dim: usize) -> Value {
        let extent = self.extent(value, dim);
        let several = self.b.compare_const(Cond::Sgt, extent, 1);
        let not_empty = self.not_empty(value);
        self.b.and(several, not_empty)
    }

    /// Computes a `Bool`: no extent is 0.
    pub(crate) fn not_empty(&mut self, value: ValueId) -> Value {
        if let Some(known) = self.tensor_state(value).not_empty {
            return known;
        }
        let mut all = self.b.constant(Type::Bool, 1);
        for dim in 0..self.rank(value) {
            let extent = self.extent(value, dim);
            let some = self.b.compare_const(Cond::Ne, extent, 0);
            all = if dim == 0 { some } else { self.b.and(all, some) };
        }
        self.remember(value, |state| state.not_empty = Some(all));
        all
    }

    /// Returns `data`, without the byte offset.
    pub(crate) fn data_pointer(&mut self, value: ValueId) -> Value {
        if let Some(data) = self.tensor_state(value).data {
            return data;
        }
        let data = self.field(value, Type::Ptr, dl_tensor::DATA.offset, "data");
        self.remember(value, |state| state.data = Some(data));
        data
    }

    /// Loads `x.byte_offset`.
    pub(crate) fn byte_offset(&mut self, value: ValueId) -> Value {
        self.field(value, Type::I64, dl_tensor::BYTE_OFFSET.offset, "byte_offset")
    }

    /// Returns `x.data`: the address of the first element.
    pub(crate) fn address(&mut self, value: ValueId) -> Value {
        if let Some(address) = self.tensor_state(value).address {
            return address;
        }
        let data = self.data_pointer(value);
        let offset = self.byte_offset(value);
        let address = self.b.ptr_add(data, offset);
        let hint = self.hint(value, "address", None);
        self.b.hint(address, hint);
        self.remember(value, |state| state.address = Some(address));
        address
    }
}
