//! Reads of tensors. A field is loaded on first use and remembered.

use abi_spec::TypeIndex;
use abi_spec::layout::{DL_TENSOR, OBJECT, dl_tensor};

use crate::ir::{Binary, Cond, Convert, Pointee, Type, Value};
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

    /// Returns a part of a tensor. On first use, `load` emits the load.
    pub(super) fn part<T: Copy>(
        &mut self,
        value: ValueId,
        part: impl Fn(&mut TensorState) -> &mut Option<T>,
        load: impl FnOnce(&mut Self) -> T,
    ) -> T {
        if let Some(known) = *part(self.tensor_state(value)) {
            return known;
        }
        let loaded = load(self);
        self.remember(value, |state| *part(state) = Some(loaded));
        loaded
    }

    /// Returns the `DLTensor*` of a tensor.
    pub(crate) fn dl(&mut self, value: ValueId) -> Value {
        let load = |e: &mut Self| {
            let (index, payload) = e.words(value, Type::Ptr);
            let dl = e.tensor_of(index, payload);
            let hint = e.hint(value, "", None);
            e.b.hint(dl, hint)
        };
        self.part(value, |state| &mut state.dl, load)
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
        self.b.points_to(dl, Pointee::Struct(&DL_TENSOR));
        let loaded = self.b.load(ty, dl, offset);
        if [dl_tensor::SHAPE.offset, dl_tensor::STRIDES.offset].contains(&offset) {
            self.b.points_to(loaded, Pointee::Values(Type::I64));
        }
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

    /// Returns the address of the extents of the declared dims. There must be one.
    pub(crate) fn shape(&mut self, value: ValueId) -> Value {
        let load = |e: &mut Self| e.declared_dims(value, dl_tensor::SHAPE);
        self.part(value, |state| &mut state.shape, load)
    }

    /// Returns the extent of a declared dim.
    pub(crate) fn extent(&mut self, value: ValueId, dim: usize) -> Value {
        let load = |e: &mut Self| {
            let shape = e.shape(value);
            let extent = e.b.load(Type::I64, shape, 8 * dim as i32);
            let hint = e.hint(value, "shape", Some(dim));
            e.b.hint(extent, hint)
        };
        self.part(value, |state| &mut state.extents[dim], load)
    }

    /// Returns the number of declared dims.
    pub(crate) fn rank(&mut self, value: ValueId) -> usize {
        self.tensor_state(value).extents.len()
    }

    /// Computes the product of the extents from a declared dim on.
    fn product(&mut self, value: ValueId, first: usize) -> Value {
        let rank = self.rank(value);
        let extents: Vec<Value> = (first..rank).map(|dim| self.extent(value, dim)).collect();
        match extents.into_iter().reduce(|a, e| self.b.binary(Binary::Mul, a, e)) {
            Some(product) => product,
            None => self.b.i64(1),
        }
    }

    /// Computes the compact stride of a declared dim, the product of the extents to its right, modulo 2^64. It is only
    /// compared: a product that is no `int64` is that of a tensor without elements, or of one that no memory can hold.
    pub(crate) fn compact_stride(&mut self, value: ValueId, dim: usize) -> Value {
        self.product(value, dim + 1)
    }

    /// Returns the strides of the declared dims in a form that can be read even if the pointer is NULL.
    pub(crate) fn strides(&mut self, value: ValueId) -> LoadedStrides {
        let load = |e: &mut Self| {
            let pointer = e.strides_pointer(value);
            let present = e.b.compare_const(Cond::Ne, pointer, 0);
            let shape = e.shape(value);
            let readable = e.b.select(present, pointer, shape);
            LoadedStrides { present, readable }
        };
        self.part(value, |state| &mut state.strides, load)
    }

    /// Returns the address of the strides of the declared dims, which may be NULL.
    pub(crate) fn strides_pointer(&mut self, value: ValueId) -> Value {
        let load = |e: &mut Self| e.declared_dims(value, dl_tensor::STRIDES);
        self.part(value, |state| &mut state.strides_pointer, load)
    }

    /// Returns the stride of a declared dim; NULL strides are compact.
    pub(crate) fn stride(&mut self, value: ValueId, dim: usize) -> Value {
        let LoadedStrides { present, readable } = self.strides(value);
        let loaded = self.b.load(Type::I64, readable, 8 * dim as i32);
        let hint = self.hint(value, "strides", Some(dim));
        self.b.hint(loaded, hint);
        let compact = self.compact_stride(value, dim);
        self.b.select(present, loaded, compact)
    }

    /// Computes a `Bool`: true if the stride of a declared dim matters, because the extent is above 1 and the tensor has
    /// elements.
    pub(crate) fn stride_counts(&mut self, value: ValueId, dim: usize) -> Value {
        let extent = self.extent(value, dim);
        let several = self.b.compare_const(Cond::Sgt, extent, 1);
        let not_empty = self.not_empty(value);
        self.b.and(several, not_empty)
    }

    /// Returns a `Bool`: true if no extent is 0.
    pub(crate) fn not_empty(&mut self, value: ValueId) -> Value {
        let load = |e: &mut Self| {
            let mut all = e.b.constant(Type::Bool, 1);
            for dim in 0..e.rank(value) {
                let extent = e.extent(value, dim);
                let some = e.b.compare_const(Cond::Ne, extent, 0);
                all = if dim == 0 { some } else { e.b.and(all, some) };
            }
            if e.has_free_leading_dims(value) {
                let leading = e.leading(value);
                let some = e.b.compare_const(Cond::Ne, leading, 0);
                all = e.b.and(all, some);
            }
            all
        };
        self.part(value, |state| &mut state.not_empty, load)
    }

    /// Returns `data`, without the byte offset.
    pub(crate) fn data_pointer(&mut self, value: ValueId) -> Value {
        let load = |e: &mut Self| e.field(value, Type::Ptr, dl_tensor::DATA.offset, "data");
        self.part(value, |state| &mut state.data, load)
    }

    /// Loads `x.byte_offset`.
    pub(crate) fn byte_offset(&mut self, value: ValueId) -> Value {
        self.field(value, Type::I64, dl_tensor::BYTE_OFFSET.offset, "byte_offset")
    }

    /// Returns `x.data`: the address of the first element.
    pub(crate) fn address(&mut self, value: ValueId) -> Value {
        let load = |e: &mut Self| {
            let (data, offset) = (e.data_pointer(value), e.byte_offset(value));
            let address = e.b.ptr_add(data, offset);
            let hint = e.hint(value, "address", None);
            e.b.hint(address, hint)
        };
        self.part(value, |state| &mut state.address, load)
    }
}
