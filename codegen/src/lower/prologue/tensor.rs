//! Tensor parameters: from `TVMFFIAny` to checked extents, strides and data.

use abi_spec::layout::{DL_TENSOR, OBJECT, any, dl_tensor};
use abi_spec::{DType, DeviceType, TypeIndex};

use crate::declaration::{Device, Tensor};
use crate::ir::{Binary, Cond, Convert, Type, Value};
use crate::lower::explain::routines::Routine;
use crate::lower::prologue::check::Checks;
use crate::lower::prologue::wrapper::{ValueState, Wrapper};

/// What has been loaded of a tensor. Optional values are loaded on first use.
#[derive(Clone, Debug)]
pub(crate) struct TensorState {
    /// The `DLTensor*`.
    pub(crate) dl: Value,
    /// `shape`; known after the header check, if the rank is not 0.
    pub(crate) shape: Option<Value>,
    strides_pointer: Option<Value>,
    strides: Option<Strides>,
    extents: Vec<Option<Value>>,
    data: Option<Value>,
    address: Option<Value>,
    not_empty: Option<Value>,
}

impl TensorState {
    /// Nothing is loaded but these; `rank` is known after the header check.
    pub(crate) fn new(dl: Value, shape: Option<Value>, rank: Option<usize>) -> TensorState {
        TensorState {
            dl,
            shape,
            strides_pointer: None,
            strides: None,
            extents: vec![None; rank.unwrap_or(0)],
            data: None,
            address: None,
            not_empty: None,
        }
    }
}

/// What stands in for the strides.
#[derive(Clone, Copy, Debug)]
struct Strides {
    /// A `Bool`: the pointer is not NULL.
    present: Value,
    /// The strides, or the extents where they are NULL: readable in either case.
    readable: Value,
}

/// Checks that the common case passes without a call. Where one fails, [`Routine::Settle`] decides.
#[derive(Debug, Default)]
pub(crate) struct Soft {
    pub(crate) checks: Checks,
    tensors: Vec<Unsettled>,
    /// How many of the tensors so far must agree on their devices.
    devices: Option<usize>,
}

#[derive(Clone, Copy, Debug)]
struct Unsettled {
    value: usize,
    compact: bool,
    align: u64,
}

// The difference of the type indices has the bits of the size of an object's header.
const _: () = {
    let difference = TypeIndex::TENSOR.0 - TypeIndex::DL_TENSOR_PTR.0;
    assert!(difference % 2 == 1 && difference & OBJECT.size as i32 == OBJECT.size as i32);
};

impl Wrapper<'_, '_> {
    /// Type and NULL.
    pub(crate) fn tensor_type(&mut self, value: usize) {
        let dl = match self.outlined_tensor(value) {
            Some(dl) => dl,
            None => self.inline_tensor(value),
        };
        let hint = self.hint(value, "", None);
        self.b.hint(dl, hint);
        self.values[value] = ValueState::Tensor(TensorState::new(dl, None, None));
    }

    fn inline_tensor(&mut self, value: usize) -> Value {
        let (index, payload) = self.words(value, Type::Ptr);
        let b = &mut self.b;
        // One of the two differences is odd, so that their product is zero only if one of them is.
        let [object, view] = [TypeIndex::TENSOR, TypeIndex::DL_TENSOR_PTR]
            .map(|ty| b.binary_const(Binary::Sub, index, ty.0.into()));
        let neither = b.binary(Binary::Mul, object, view);
        self.checks.zero32(b, neither);
        let header = b.binary_const(Binary::And, view, OBJECT.size.into());
        let header = b.convert(Convert::Zext, header, Type::I64);
        let dl = b.ptr_add(payload, header);
        self.checks.non_null(b, payload);
        self.readable(value, dl, DL_TENSOR.size as usize)
    }

    /// The type index of a value and its payload as `ty`.
    pub(crate) fn words(&mut self, value: usize, ty: Type) -> (Value, Value) {
        let (base, offset) = self.address_of(value);
        let index = self.b.load(Type::I32, base, offset + any::TYPE_INDEX.offset);
        let hint = self.hint(value, "type_index", None);
        self.b.hint(index, hint);
        let payload = self.b.load(ty, base, offset + any::PAYLOAD.offset);
        let hint = self.hint(value, "payload", None);
        self.b.hint(payload, hint);
        (index, payload)
    }

    /// What has been loaded of a tensor.
    pub(crate) fn tensor_state(&mut self, value: usize) -> &mut TensorState {
        let ValueState::Tensor(state) = &mut self.values[value] else {
            unreachable!("tensors are loaded before they are used")
        };
        state
    }

    /// A field of the `DLTensor`.
    fn field(&mut self, value: usize, ty: Type, offset: i32, part: &'static str) -> Value {
        let dl = self.tensor_state(value).dl;
        let loaded = self.b.load(ty, dl, offset);
        let hint = self.hint(value, part, None);
        self.b.hint(loaded, hint)
    }

    /// ndim, dtype, the device if it matters, and the pointer to the extents.
    pub(crate) fn tensor_header(&mut self, value: usize, tensor: &Tensor, device: bool) {
        let accepted = tensor.accepted();
        match (tensor.rank(), &accepted[..]) {
            _ if self.is_outlined(value) => {}
            (Some(rank), &[dtype]) => {
                // ndim and dtype are neighbours: one aligned word.
                let word = self.field(value, Type::I64, dl_tensor::NDIM.offset, "ndim_dtype");
                let dtype = u64::from(dtype.to_word());
                let expected = self.b.i64((dtype << 32 | rank as u64) as i64);
                self.checks.equal(&mut self.b, word, expected);
            }
            (rank, accepted) => {
                let found = self.dtype32(value);
                let wrong = self.no_dtype(found, accepted);
                self.checks.never(&mut self.b, wrong);
                let ndim = self.ndim32(value);
                let wrong = match rank {
                    Some(rank) => self.b.compare_const(Cond::Ne, ndim, rank as i64),
                    None => self.b.compare_const(Cond::Slt, ndim, 0),
                };
                self.checks.never(&mut self.b, wrong);
            }
        }
        if device {
            self.device(value, tensor.device);
        }
        self.shape_pointer(value, tensor.rank());
        self.tensor_state(value).extents = vec![None; tensor.rank().unwrap_or(0)];
    }

    /// A `Bool`: an element type is none of these. Types of the same bits and lanes are tested together.
    fn no_dtype(&mut self, found: Value, accepted: &[DType]) -> Value {
        let mut groups: Vec<(DType, u64)> = Vec::new();
        for dtype in accepted {
            let same = |(other, _): &&mut (DType, u64)| {
                (other.bits, other.lanes) == (dtype.bits, dtype.lanes)
            };
            match groups.iter_mut().find(same) {
                Some((_, codes)) => *codes |= 1 << dtype.code,
                None => groups.push((*dtype, 1 << dtype.code)),
            }
        }
        let code = self.b.binary_const(Binary::And, found, 0xff);
        let mut none = self.b.constant(Type::Bool, 1);
        for (at, (dtype, codes)) in groups.into_iter().enumerate() {
            let other = if codes.count_ones() == 1 {
                self.b.compare_const(Cond::Ne, found, dtype.to_word().into())
            } else {
                let layout = self.b.binary_const(Binary::Lshr, found, 8);
                let unlike = self.b.compare_const(Cond::Ne, layout, (dtype.to_word() >> 8).into());
                let unknown = self.b.compare_const(Cond::Ugt, code, 63);
                let code = self.b.convert(Convert::Zext, code, Type::I64);
                let code = self.b.binary_const(Binary::And, code, 63);
                let codes = self.b.i64(codes as i64);
                let bit = self.b.binary(Binary::Lshr, codes, code);
                let bit = self.b.binary_const(Binary::And, bit, 1);
                let unset = self.b.compare_const(Cond::Eq, bit, 0);
                let wrong = self.b.or(unlike, unknown);
                self.b.or(wrong, unset)
            };
            none = if at == 0 { other } else { self.b.and(none, other) };
        }
        none
    }

    /// `ndim`, 32 bits wide.
    pub(crate) fn ndim32(&mut self, value: usize) -> Value {
        self.field(value, Type::I32, dl_tensor::NDIM.offset, "ndim")
    }

    /// `dtype`, 32 bits wide.
    pub(crate) fn dtype32(&mut self, value: usize) -> Value {
        self.field(value, Type::I32, dl_tensor::DTYPE.offset, "dtype")
    }

    /// `device.device_type`, 32 bits wide.
    pub(crate) fn device_type32(&mut self, value: usize) -> Value {
        self.field(value, Type::I32, dl_tensor::DEVICE_TYPE.offset, "device_type")
    }

    /// `device.device_id`, 32 bits wide.
    pub(crate) fn device_id32(&mut self, value: usize) -> Value {
        self.field(value, Type::I32, dl_tensor::DEVICE_ID.offset, "device_id")
    }

    fn shape_pointer(&mut self, value: usize, rank: Option<usize>) {
        if rank == Some(0) {
            return;
        }
        let shape = self.field(value, Type::Ptr, dl_tensor::SHAPE.offset, "shape");
        match rank {
            _ if self.is_outlined(value) => {}
            Some(_) => self.checks.non_null(&mut self.b, shape),
            None => {
                let null = self.b.compare_const(Cond::Eq, shape, 0);
                let ndim = self.ndim32(value);
                let some = self.b.compare_const(Cond::Ne, ndim, 0);
                let null = self.b.and(null, some);
                self.checks.never(&mut self.b, null);
            }
        }
        let shape = self.readable(value, shape, 8 * rank.unwrap_or(1));
        self.tensor_state(value).shape = Some(shape);
    }

    /// The device has the declared type, and tensors of one such type share the index.
    fn device(&mut self, value: usize, device: Device) {
        if let Device::Type(ty) = device
            && !self.is_outlined(value)
        {
            let found = self.device_type32(value);
            let wrong = self.b.binary_const(Binary::Sub, found, ty.0.into());
            self.checks.zero32(&mut self.b, wrong);
        }
        if device == Device::Type(DeviceType::CPU) || self.devices.is_some() {
            return;
        }
        self.tensors.push(value);
        let word = self.field(value, Type::I64, dl_tensor::DEVICE_TYPE.offset, "device");
        match (self.first_device, device) {
            (None, _) => self.first_device = Some((word, device)),
            (Some((first, of)), _) if of == device && device != Device::Any => {
                self.checks.equal(&mut self.b, word, first);
            }
            (Some((first, _)), _) => {
                self.soft.checks.equal(&mut self.b, word, first);
                self.soft.devices = Some(self.tensors.len());
            }
        }
    }

    /// `value.shape[dim]` of a tensor of fixed rank.
    pub(crate) fn extent(&mut self, value: usize, dim: usize) -> Value {
        if let Some(extent) = self.tensor_state(value).extents[dim] {
            return extent;
        }
        let shape = self.tensor_state(value).shape.unwrap_or_else(|| unreachable!("has dims"));
        let extent = self.b.load(Type::I64, shape, 8 * dim as i32);
        let hint = self.hint(value, "shape", Some(dim));
        self.b.hint(extent, hint);
        self.tensor_state(value).extents[dim] = Some(extent);
        extent
    }

    fn rank(&mut self, value: usize) -> usize {
        self.tensor_state(value).extents.len()
    }

    fn strides(&mut self, value: usize) -> Strides {
        if let Some(strides) = self.tensor_state(value).strides {
            return strides;
        }
        let pointer = self.strides_pointer(value);
        let present = self.b.compare_const(Cond::Ne, pointer, 0);
        let shape = self.tensor_state(value).shape.unwrap_or(pointer);
        let readable = self.b.select(present, pointer, shape);
        let strides = Strides { present, readable };
        self.tensor_state(value).strides = Some(strides);
        strides
    }

    fn strides_pointer(&mut self, value: usize) -> Value {
        if let Some(pointer) = self.tensor_state(value).strides_pointer {
            return pointer;
        }
        let pointer = self.field(value, Type::Ptr, dl_tensor::STRIDES.offset, "strides");
        self.tensor_state(value).strides_pointer = Some(pointer);
        pointer
    }

    /// The compact stride of a dim: the product of the extents to its right.
    pub(crate) fn compact_stride(&mut self, value: usize, dim: usize) -> Value {
        let rank = self.rank(value);
        let extents: Vec<Value> = (dim + 1..rank).map(|dim| self.extent(value, dim)).collect();
        match extents.into_iter().reduce(|a, e| self.b.binary(Binary::Mul, a, e)) {
            Some(product) => product,
            None => self.b.i64(1),
        }
    }

    /// The stride of a dim, compact where the strides are NULL.
    pub(crate) fn stride(&mut self, value: usize, dim: usize) -> Value {
        let Strides { present, readable } = self.strides(value);
        let loaded = self.b.load(Type::I64, readable, 8 * dim as i32);
        let hint = self.hint(value, "strides", Some(dim));
        self.b.hint(loaded, hint);
        let compact = self.compact_stride(value, dim);
        self.b.select(present, loaded, compact)
    }

    /// `x.numel` of a tensor of fixed rank.
    pub(crate) fn numel(&mut self, value: usize) -> Value {
        let rank = self.rank(value);
        let extents: Vec<Value> = (0..rank).map(|dim| self.extent(value, dim)).collect();
        match extents.into_iter().reduce(|a, e| self.b.binary(Binary::Mul, a, e)) {
            Some(product) => product,
            None => self.b.i64(1),
        }
    }

    /// A `Bool`: the stride of this dim matters, as its extent is above 1 and there are elements.
    pub(crate) fn stride_counts(&mut self, value: usize, dim: usize) -> Value {
        let extent = self.extent(value, dim);
        let several = self.b.compare_const(Cond::Sgt, extent, 1);
        let not_empty = self.not_empty(value);
        self.b.and(several, not_empty)
    }

    fn not_empty(&mut self, value: usize) -> Value {
        if let Some(known) = self.tensor_state(value).not_empty {
            return known;
        }
        let mut all = self.b.constant(Type::Bool, 1);
        for dim in 0..self.rank(value) {
            let extent = self.extent(value, dim);
            let some = self.b.compare_const(Cond::Ne, extent, 0);
            all = if dim == 0 { some } else { self.b.and(all, some) };
        }
        self.tensor_state(value).not_empty = Some(all);
        all
    }

    /// Strides equal to the compact ones pass at once; others may still be legal.
    pub(crate) fn compact(&mut self, value: usize) {
        self.soft.tensors.push(Unsettled { value, compact: true, align: 1 });
        let rank = self.rank(value);
        if rank == 0 {
            return;
        }
        let extents: Vec<Value> = (1..rank).map(|dim| self.extent(value, dim)).collect();
        let strides = self.strides_pointer(value);
        let hints: Vec<_> = (0..rank).map(|dim| self.hint(value, "strides", Some(dim))).collect();
        let absent = self.b.compare_const(Cond::Eq, strides, 0);
        self.soft.checks.unless(&mut self.b, absent, |checks, b| {
            let mut compact = b.i64(1);
            for dim in (0..rank).rev() {
                let stride = b.load(Type::I64, strides, 8 * dim as i32);
                b.hint(stride, hints[dim]);
                checks.equal(b, stride, compact);
                if dim > 0 {
                    let extent = extents[dim - 1];
                    let last = dim + 1 == rank;
                    compact = if last { extent } else { b.binary(Binary::Mul, compact, extent) };
                }
            }
        });
    }

    /// A data pointer that is not NULL passes at once; NULL is legal where there are no elements.
    pub(crate) fn data(&mut self, value: usize, align: u64) {
        match self.soft.tensors.last_mut() {
            Some(last) if last.value == value => last.align = align,
            Some(_) | None => self.soft.tensors.push(Unsettled { value, compact: false, align }),
        }
        let data = self.field(value, Type::Ptr, dl_tensor::DATA.offset, "data");
        self.tensor_state(value).data = Some(data);
        if self.any_rank(value) {
            return;
        }
        self.soft.checks.non_null(&mut self.b, data);
        if align > 1 {
            let address = self.address(value);
            let address = self.b.convert(Convert::PtrToInt, address, Type::I64);
            self.soft.checks.aligned(&mut self.b, address, align);
        }
    }

    fn any_rank(&self, value: usize) -> bool {
        self.resolved.scope.tensor_of(value).is_some_and(|tensor| tensor.rank().is_none())
    }

    /// `x.byte_offset`.
    pub(crate) fn byte_offset(&mut self, value: usize) -> Value {
        self.field(value, Type::I64, dl_tensor::BYTE_OFFSET.offset, "byte_offset")
    }

    /// `x.data`: the address of the first element.
    pub(crate) fn address(&mut self, value: usize) -> Value {
        if let Some(address) = self.tensor_state(value).address {
            return address;
        }
        let data = match self.tensor_state(value).data {
            Some(data) => data,
            None => self.field(value, Type::Ptr, dl_tensor::DATA.offset, "data"),
        };
        let offset = self.byte_offset(value);
        let address = self.b.ptr_add(data, offset);
        let hint = self.hint(value, "address", None);
        self.b.hint(address, hint);
        self.tensor_state(value).address = Some(address);
        address
    }

    /// Ends the checks: tensors of free rank always ask [`Routine::Settle`], others where they must.
    pub(crate) fn settle_tensors(&mut self) {
        let mut soft = std::mem::take(&mut self.soft);
        let is_free = |tensor: &Unsettled| self.any_rank(tensor.value);
        let (free, fixed): (Vec<_>, Vec<_>) = soft.tensors.drain(..).partition(is_free);
        for tensor in free {
            let settled = self.settle(tensor);
            let violated = self.b.not(settled);
            self.checks.never(&mut self.b, violated);
        }
        let Some(unusual) = soft.checks.take(&mut self.b) else {
            return;
        };
        let violated = self.checks.take(&mut self.b);
        let any = violated.map_or(unusual, |violated| self.b.or(violated, unusual));
        let any = self.b.compare_const(Cond::Ne, any, 0);
        let (slow, next) = (self.b.cold_block("unusual"), self.b.block("next"));
        self.b.branch(any, slow, next);
        self.b.switch_to(slow);
        if let Some(violated) = violated {
            let held = self.b.compare_const(Cond::Eq, violated, 0);
            self.b.guard(held, self.fail);
        }
        for tensor in fixed {
            let settled = self.settle(tensor);
            self.b.guard(settled, self.fail);
        }
        if let Some(count) = soft.devices {
            self.same_devices(count);
        }
        self.b.jump(next, &[]);
        self.b.switch_to(next);
    }

    fn settle(&mut self, tensor: Unsettled) -> Value {
        let dl = self.tensor_state(tensor.value).dl;
        let mask = self.b.i64(tensor.align as i64 - 1);
        let compact = self.b.i32(i32::from(tensor.compact));
        let settled = self.routine_value(Routine::Settle, &[dl, mask, compact]);
        let settled = self.b.compare_const(Cond::Ne, settled, 0);
        match self.mask(tensor.value) {
            Some(mask) => {
                let absent = self.b.not(mask);
                self.b.or(absent, settled)
            }
            None => settled,
        }
    }

    /// Asks about the first `count` tensors.
    fn same_devices(&mut self, count: usize) {
        let table = self.b.stack_slot(8 * count as u32, 8);
        for at in 0..count {
            let value = self.tensors[at];
            let dl = self.tensor_state(value).dl;
            self.b.store(dl, table, 8 * at as i32);
        }
        let count = self.b.i64(count as i64);
        let same = self.routine_value(Routine::SameDevices, &[table, count]);
        let same = self.b.compare_const(Cond::Ne, same, 0);
        self.b.guard(same, self.fail);
    }
}
