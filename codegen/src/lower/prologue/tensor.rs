//! Headers of tensor parameters: type, rank, dtype, device and the pointer to the extents.

use abi_spec::layout::{DL_TENSOR, OBJECT, dl_tensor};
use abi_spec::{DType, DeviceType, TypeIndex};

use crate::declaration::{Device, Shape, Tensor};
use crate::ir::{Binary, Cond, Convert, Hint, Type, Value};
use crate::lower::emitter::state::{Origin, TensorState, ValueState};
use crate::lower::routines::Routine;
use crate::lower::wrapper::Wrapper;
use crate::resolve::ids::ValueId;
use crate::resolve::step::Place;

impl Wrapper<'_, '_> {
    /// Checks the type index and the pointer of a tensor, and records its `DLTensor*`.
    pub(crate) fn tensor_type(&mut self, value: ValueId) {
        let dl = match self.outlined_tensor(value) {
            Some(dl) => dl,
            None => self.inline_tensor(value),
        };
        let hint = self.hint(value, "", None);
        self.b.hint(dl, hint);
        self.set_state(value, ValueState::Tensor(TensorState::new(Some(dl), None, 0)));
    }

    /// Emits the inline checks of type and pointer; returns the `DLTensor*`. Both objects and `DLTensor*` are common, since
    /// Python passes either: an object takes no branch here, a `DLTensor*` takes one.
    fn inline_tensor(&mut self, value: ValueId) -> Value {
        let (index, payload) = self.words(value, Type::Ptr);
        if self.checks.mask.is_some() {
            return self.masked_tensor(value, index, payload);
        }
        self.checks.non_null(&mut self.b, payload);
        let [view, object, join] = ["view", "object", "tensor"].map(|label| self.b.block(label));
        let is_view = self.b.compare_const(Cond::Eq, index, TypeIndex::DL_TENSOR_PTR.0.into());
        self.b.branch(is_view, view, object);
        self.b.switch_to(view);
        self.b.jump(join, &[payload]);
        self.b.switch_to(object);
        self.checks.equal_const(&mut self.b, index, TypeIndex::TENSOR.0.into());
        let inside = self.b.ptr_offset(payload, OBJECT.size.into());
        self.b.jump(join, &[inside]);
        self.b.switch_to(join);
        self.b.block_param(join, Type::Ptr, Hint::default())
    }

    /// Emits the checks of [`inline_tensor`](Self::inline_tensor) for a tensor that may be absent.
    fn masked_tensor(&mut self, value: ValueId, index: Value, payload: Value) -> Value {
        let (checks, b) = (self.checks, &mut self.b);
        let [object, view] = [TypeIndex::TENSOR, TypeIndex::DL_TENSOR_PTR]
            .map(|ty| b.compare_const(Cond::Eq, index, ty.0.into()));
        let tensor = b.or(object, view);
        checks.always(b, tensor);
        checks.non_null(b, payload);
        let dl = self.tensor_of(index, payload);
        self.readable(value, dl, DL_TENSOR.size as usize)
    }

    /// Checks ndim, dtype, the device if `device` is true, and the pointer to the extents.
    pub(crate) fn tensor_header(&mut self, value: ValueId, tensor: &Tensor, device: bool) {
        let (accepted, of) = (tensor.accepted(), self.function.values[value].dtype_of);
        match (tensor.rank(), &accepted[..], of) {
            _ if self.is_outlined(value) => {}
            (_, _, Some(of)) => {
                self.rank_is(value, &tensor.shape);
                self.same_dtype(value, of);
            }
            (Some(rank), &[dtype], None) => {
                // ndim and dtype are adjacent: one aligned load reads both.
                let word = self.field(value, Type::I64, dl_tensor::NDIM.offset, "ndim_dtype");
                let dtype = u64::from(dtype.to_word());
                let expected = (dtype << 32 | rank as u64) as i64;
                self.checks.equal_const(&mut self.b, word, expected);
            }
            (_, accepted, None) => {
                let found = self.dtype32(value);
                let wrong = self.no_dtype(found, accepted);
                self.checks.never(&mut self.b, wrong);
                self.rank_is(value, &tensor.shape);
            }
        }
        if device {
            self.device(value, tensor.device);
        }
        self.check_shape(value, &tensor.shape);
        self.tensor_state(value).extents = vec![None; tensor.shape.dims().len()];
        if tensor.shape.is_trailing() {
            self.view(value, tensor);
        }
    }

    /// Checks the rank; a free one must leave room for the declared dims.
    fn rank_is(&mut self, value: ValueId, shape: &Shape) {
        let ndim = self.ndim32(value);
        let wrong = match shape.rank() {
            Some(rank) => self.b.compare_const(Cond::Ne, ndim, rank as i64),
            None => self.b.compare_const(Cond::Slt, ndim, shape.least_rank() as i64),
        };
        self.checks.never(&mut self.b, wrong);
    }

    /// Checks that a tensor has the element type of tensor `of`, which has passed its checks.
    fn same_dtype(&mut self, value: ValueId, of: ValueId) {
        let [found, expected] = [value, of].map(|tensor| self.dtype32(tensor));
        let exit = self.dtype_exit(value, found, (expected, of));
        self.checks.or_go_to(exit).equal(&mut self.b, found, expected);
    }

    /// Returns a `Bool`: true if a dtype is not accepted. Dtypes of the same bits and lanes are tested together.
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

    /// Checks the pointer to the extents, which is NULL only for rank 0.
    fn check_shape(&mut self, value: ValueId, declared: &Shape) {
        if declared.rank() == Some(0) {
            return;
        }
        let shape = self.own_dims(value, dl_tensor::SHAPE);
        match declared.least_rank() {
            _ if self.is_outlined(value) => {}
            1.. => self.checks.non_null(&mut self.b, shape),
            0 => {
                let null = self.b.compare_const(Cond::Eq, shape, 0);
                let ndim = self.ndim32(value);
                let some = self.b.compare_const(Cond::Ne, ndim, 0);
                let null = self.b.and(null, some);
                self.checks.never(&mut self.b, null);
            }
        }
        let shape = self.readable(value, shape, 8 * declared.dims().len().max(1));
        self.tensor_state(value).shape = Some(shape);
    }

    /// Checks that a tensor is on the declared type of device, and on the same device as earlier tensors of that type.
    fn device(&mut self, value: ValueId, device: Device) {
        if let Device::Type(ty) = device
            && !self.is_outlined(value)
        {
            let found = self.device_type32(value);
            self.checks.equal_const(&mut self.b, found, ty.0.into());
        }
        if device != Device::Type(DeviceType::CPU) {
            self.same_device(value, device);
        }
    }

    /// Checks that a tensor, which is not declared for the CPU, is on the same device as earlier tensors of that type.
    pub(super) fn same_device(&mut self, value: ValueId, device: Device) {
        if self.devices.table.is_some() {
            return self.note_device(value);
        }
        self.devices.tensors.push(value);
        let word = self.field(value, Type::I64, dl_tensor::DEVICE_TYPE.offset, "device");
        match (self.devices.first, device) {
            (None, _) => {
                let place = self.packed_place(Place::Value { value });
                self.devices.first = Some((word, device, place));
            }
            (Some((first, of, place)), _) if of == device && device != Device::Any => {
                let exit = self.device_exit(value, first, Origin::Known(place));
                self.checks.or_go_to(exit).equal(&mut self.b, word, first);
            }
            (Some((first, ..)), _) => self.same_device_or_type(value, word, first),
        }
    }

    /// Compares a device with the first one. If they differ, the types of the devices may differ too, so a routine
    /// compares the tensor with all tensors so far.
    fn same_device_or_type(&mut self, value: ValueId, word: Value, first: Value) {
        let same = self.b.eq(word, first);
        let (slow, next) = (self.b.cold_block("devices"), self.b.block("next"));
        self.b.branch(same, next, slow);
        self.b.switch_to(slow);
        let tensors = self.devices.tensors.clone();
        let table = self.b.stack_slot(16 * tensors.len() as u32, 8);
        for (at, &tensor) in tensors.iter().enumerate() {
            let (dl, place) = (self.dl(tensor), self.packed_place(Place::Value { value: tensor }));
            let place = self.b.i64(place as i64);
            self.b.store(dl, table, 16 * at as i32);
            self.b.store(place, table, 16 * at as i32 + 8);
        }
        let (subject, count) = (self.subject(value), self.b.i64(tensors.len() as i64));
        let status = self.routine_value(Routine::CheckDevice, &[subject, table, count]);
        let same = self.b.compare_const(Cond::Eq, status, 0);
        let raised = self.raised();
        self.b.branch(same, next, raised);
        self.b.switch_to(next);
    }
}
