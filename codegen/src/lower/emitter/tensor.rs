//! What is read of tensors, each field when it is first asked for.

use abi_spec::TypeIndex;
use abi_spec::layout::{OBJECT, dl_tensor};

use crate::ir::{Binary, Cond, Convert, Type, Value};
use crate::lower::emitter::Emitter;
use crate::lower::emitter::state::{LoadedStrides, TensorState};
use crate::resolve::ids::ValueId;

impl Emitter<'_, '_> {
    /// What has been loaded of a tensor.
    pub(crate) fn tensor_state(&mut self, value: ValueId) -> &mut TensorState {
        self.values[value].tensor()
    }

    /// The `DLTensor*` of a value that is a tensor.
    pub(crate) fn tensor_of(&mut self, index: Value, payload: Value) -> Value {
        let object = self.b.compare_const(Cond::Eq, index, TypeIndex::TENSOR.0.into());
        let inside = self.b.ptr_offset(payload, OBJECT.size.into());
        self.b.select(object, inside, payload)
    }

    /// The `DLTensor*` of a tensor.
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

    /// A field of the `DLTensor`.
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

    /// `ndim`, 32 bits wide.
    pub(crate) fn ndim32(&mut self, value: ValueId) -> Value {
        self.field(value, Type::I32, dl_tensor::NDIM.offset, "ndim")
    }

    /// `dtype`, 32 bits wide.
    pub(crate) fn dtype32(&mut self, value: ValueId) -> Value {
        self.field(value, Type::I32, dl_tensor::DTYPE.offset, "dtype")
    }

    /// `device.device_type`, 32 bits wide.
    pub(crate) fn device_type32(&mut self, value: ValueId) -> Value {
        self.field(value, Type::I32, dl_tensor::DEVICE_TYPE.offset, "device_type")
    }

    /// `device.device_id`, 32 bits wide.
    pub(crate) fn device_id32(&mut self, value: ValueId) -> Value {
        self.field(value, Type::I32, dl_tensor::DEVICE_ID.offset, "device_id")
    }

    /// Type and index of a device, each an `I32`.
    pub(crate) fn device_numbers(&mut self, word: Value) -> [Value; 2] {
        let ty = self.b.convert(Convert::Trunc, word, Type::I32);
        let index = self.b.binary_const(Binary::Lshr, word, 32);
        [ty, self.b.convert(Convert::Trunc, index, Type::I32)]
    }

    /// The address of the extents, of which there are some.
    pub(crate) fn shape(&mut self, value: ValueId) -> Value {
        if let Some(shape) = self.tensor_state(value).shape {
            return shape;
        }
        let shape = self.field(value, Type::Ptr, dl_tensor::SHAPE.offset, "shape");
        self.remember(value, |state| state.shape = Some(shape));
        shape
    }

    /// `value.shape[dim]` of a tensor of fixed rank.
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

    pub(crate) fn rank(&mut self, value: ValueId) -> usize {
        self.tensor_state(value).extents.len()
    }

    /// `x.numel` of a tensor of fixed rank.
    pub(crate) fn numel(&mut self, value: ValueId) -> Value {
        let rank = self.rank(value);
        let extents: Vec<Value> = (0..rank).map(|dim| self.extent(value, dim)).collect();
        match extents.into_iter().reduce(|a, e| self.b.binary(Binary::Mul, a, e)) {
            Some(product) => product,
            None => self.b.i64(1),
        }
    }

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

    pub(crate) fn strides_pointer(&mut self, value: ValueId) -> Value {
        if let Some(pointer) = self.tensor_state(value).strides_pointer {
            return pointer;
        }
        let pointer = self.field(value, Type::Ptr, dl_tensor::STRIDES.offset, "strides");
        self.remember(value, |state| state.strides_pointer = Some(pointer));
        pointer
    }

    /// The compact stride of a dim: the product of the extents to its right.
    pub(crate) fn compact_stride(&mut self, value: ValueId, dim: usize) -> Value {
        let rank = self.rank(value);
        let extents: Vec<Value> = (dim + 1..rank).map(|dim| self.extent(value, dim)).collect();
        match extents.into_iter().reduce(|a, e| self.b.binary(Binary::Mul, a, e)) {
            Some(product) => product,
            None => self.b.i64(1),
        }
    }

    /// The stride of a dim, compact where the strides are NULL.
    pub(crate) fn stride(&mut self, value: ValueId, dim: usize) -> Value {
        let LoadedStrides { present, readable } = self.strides(value);
        let loaded = self.b.load(Type::I64, readable, 8 * dim as i32);
        let hint = self.hint(value, "strides", Some(dim));
        self.b.hint(loaded, hint);
        let compact = self.compact_stride(value, dim);
        self.b.select(present, loaded, compact)
    }

    /// A `Bool`: the stride of this dim matters, as its extent is above 1 and there are elements.
    pub(crate) fn stride_counts(&mut self, value: ValueId, dim: usize) -> Value {
        let extent = self.extent(value, dim);
        let several = self.b.compare_const(Cond::Sgt, extent, 1);
        let not_empty = self.not_empty(value);
        self.b.and(several, not_empty)
    }

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

    pub(crate) fn data_pointer(&mut self, value: ValueId) -> Value {
        if let Some(data) = self.tensor_state(value).data {
            return data;
        }
        let data = self.field(value, Type::Ptr, dl_tensor::DATA.offset, "data");
        self.remember(value, |state| state.data = Some(data));
        data
    }

    /// `x.byte_offset`.
    pub(crate) fn byte_offset(&mut self, value: ValueId) -> Value {
        self.field(value, Type::I64, dl_tensor::BYTE_OFFSET.offset, "byte_offset")
    }

    /// `x.data`: the address of the first element.
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
