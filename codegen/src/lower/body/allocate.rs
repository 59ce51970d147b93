//! Tensors that the wrapper allocates for the kernel.
//!
//! Everything that can be wrong with the arguments is found before the first of them is allocated; what is
//! known of them by then are their extents and their devices.

use abi_spec::layout::{ANY, OBJECT, any, dl_tensor};
use abi_spec::{DeviceType, runtime};

use crate::declaration::{Device, Tensor};
use crate::declaration::{Expr, Member};
use crate::ir::{Binary, Cond, Type, Value};
use crate::lower::explain::routines::Routine;
use crate::lower::prologue::wrapper::Wrapper;

/// What is known of a tensor that is allocated.
#[derive(Clone, Debug)]
pub(crate) struct OutputState {
    /// `I64` each.
    extents: Vec<Value>,
    /// The type and the index of its device, as they stand in a tensor.
    device: Value,
    /// The tensor object, once it is there.
    object: Option<Value>,
}

impl Wrapper<'_, '_> {
    /// Computes extents and devices.
    pub(crate) fn plan_outputs(&mut self) {
        for output in self.resolved.scope.function.signature.outputs() {
            let extents = output.extents().map(|extent| self.expression(extent)).collect();
            let device = self.output_device(output.tensor.device);
            self.outputs.push(OutputState { extents, device, object: None });
        }
    }

    /// The device of the first tensor parameter that is declared for this one.
    fn output_device(&mut self, device: Device) -> Value {
        match (self.neighbour(device), device) {
            (Some(value), _) => {
                let dl = self.tensor_state(value).dl;
                self.b.load(Type::I64, dl, dl_tensor::DEVICE_TYPE.offset)
            }
            (None, Device::Any) => self.b.i64(DeviceType::CPU.0.into()),
            (None, Device::Type(ty)) => self.b.i64(ty.0.into()),
        }
    }

    /// Of parameters: one that is optional, or in something else, need not be there.
    fn neighbour(&self, device: Device) -> Option<usize> {
        let values = &self.resolved.scope.values;
        values.iter().position(|value| {
            let always = !value.optional && value.source.parent().is_none();
            let fits = |tensor: &Tensor| device == Device::Any || tensor.device == device;
            always && value.ty.tensor().is_some_and(fits)
        })
    }

    /// Allocates, or returns with an error. Yields the address of the tensors as values.
    pub(crate) fn allocate(&mut self) -> Value {
        let count = self.outputs.len();
        let extents: Vec<Value> =
            self.outputs.iter().flat_map(|output| output.extents.iter().copied()).collect();
        let devices: Vec<Value> = self.outputs.iter().map(|output| output.device).collect();
        let (extents, devices) = (self.table(&extents), self.table(&devices));
        let tensors = self.b.stack_slot(count as u32 * ANY.size, ANY.align);
        let descriptor = self.b.address(self.descriptor);
        let args = [descriptor, extents, devices, tensors];
        let status = self.routine_value(Routine::Allocate, &args);
        let failed = self.b.compare_const(Cond::Ne, status, 0);
        let (fail, next) = (self.b.cold_block("not_allocated"), self.b.block("next"));
        self.b.branch(failed, fail, next);
        self.b.switch_to(fail);
        self.b.ret(Some(status));
        self.b.switch_to(next);
        for (index, output) in self.outputs.iter_mut().enumerate() {
            let at = (index as u32 * ANY.size) as i32 + any::PAYLOAD.offset;
            output.object = Some(self.b.load(Type::Ptr, tensors, at));
        }
        tensors
    }

    /// Numbers in the frame of the wrapper.
    fn table(&mut self, values: &[Value]) -> Value {
        let slot = self.b.stack_slot(8 * values.len().max(1) as u32, 8);
        for (index, value) in values.iter().enumerate() {
            self.b.store(*value, slot, 8 * index as i32);
        }
        slot
    }

    /// `out`: the `DLTensor*`.
    pub(crate) fn output_tensor(&mut self, output: usize) -> Value {
        let object = self.output_object(output);
        self.b.ptr_offset(object, OBJECT.size.into())
    }

    /// The tensor object.
    pub(crate) fn output_object(&self, output: usize) -> Value {
        let object = self.outputs[output].object;
        object.unwrap_or_else(|| unreachable!("tensors are allocated before they are passed"))
    }

    /// `out.shape[0]`
    pub(crate) fn output_member(&mut self, output: usize, member: Member) -> Value {
        match member {
            Member::Data => {
                let dl = self.output_tensor(output);
                let data = self.b.load(Type::Ptr, dl, dl_tensor::DATA.offset);
                let offset = self.b.load(Type::I64, dl, dl_tensor::BYTE_OFFSET.offset);
                self.b.ptr_add(data, offset)
            }
            Member::Shape(dim) => self.outputs[output].extents[dim as usize],
            Member::Strides(dim) => {
                let right = self.outputs[output].extents[dim as usize + 1..].to_vec();
                let product = right.into_iter().reduce(|a, e| self.b.binary(Binary::Mul, a, e));
                product.unwrap_or_else(|| self.b.i64(1))
            }
            Member::Ndim => self.b.i64(self.outputs[output].extents.len() as i64),
            Member::Numel => {
                let all = self.outputs[output].extents.clone();
                let product = all.into_iter().reduce(|a, e| self.b.binary(Binary::Mul, a, e));
                product.unwrap_or_else(|| self.b.i64(1))
            }
            Member::IsContiguous => self.b.i64(1),
            Member::DeviceType
            | Member::DeviceId
            | Member::ByteOffset
            | Member::DType
            | Member::Size
            | Member::IsSome => {
                unreachable!("not known before a tensor is allocated")
            }
        }
    }

    /// `stream(out)`: that of the tensor on whose device it is allocated.
    pub(crate) fn output_stream(&mut self, output: usize) -> Value {
        let signature = &self.resolved.scope.function.signature;
        let device = signature.outputs()[output].tensor.device;
        if let Some(param) = self.neighbour(device) {
            let name = Expr::name(&self.resolved.scope.values[param].path);
            return self.expression(&Expr::Stream(Box::new(name)));
        }
        match device {
            Device::Any | Device::Type(DeviceType::CPU) => self.b.null(),
            Device::Type(ty) => {
                let (ty, index) = (self.b.i32(ty.0), self.b.i32(0));
                let get = crate::lower::runtime(self.b.module, &runtime::ENV_GET_STREAM);
                self.b.call_value(get, &[ty, index])
            }
        }
    }
}
