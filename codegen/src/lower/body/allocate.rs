//! Tensors that the wrapper allocates for the kernel.
//!
//! Everything that can be wrong with the arguments is found before the first of them is allocated; what is
//! known of them by then are their extents and their devices.

use abi_spec::layout::{ANY, OBJECT, any, dl_tensor};
use abi_spec::{DeviceType, runtime};

use crate::declaration::Device;
use crate::ir::{Cond, Type, Value};
use crate::lower::explain::routines::Routine;
use crate::lower::state::OutputState;
use crate::lower::wrapper::Wrapper;
use crate::resolve::function::Output;
use crate::resolve::ids::OutputId;
use crate::resolve::term::{Kind, Node, Term};

impl Wrapper<'_, '_> {
    /// Computes extents and devices.
    pub(crate) fn plan_outputs(&mut self) {
        for output in self.function.outputs.values() {
            let extents = output.extents.iter().map(|extent| self.term(extent)).collect();
            let device = self.output_device(output);
            self.outputs.push(OutputState { extents, device, object: None });
        }
    }

    /// The device on which a tensor is allocated.
    fn output_device(&mut self, output: &Output<'_>) -> Value {
        match (output.neighbour, output.tensor.device) {
            (Some(value), _) => {
                let dl = self.tensor_state(value).dl;
                self.b.load(Type::I64, dl, dl_tensor::DEVICE_TYPE.offset)
            }
            (None, Device::Any) => self.b.i64(DeviceType::CPU.0.into()),
            (None, Device::Type(ty)) => self.b.i64(ty.0.into()),
        }
    }

    /// Allocates, or returns with an error. Yields the address of the tensors as values.
    pub(crate) fn allocate(&mut self) -> Value {
        let count = self.outputs.len();
        let extents: Vec<Value> =
            self.outputs.values().flat_map(|output| output.extents.iter().copied()).collect();
        let devices: Vec<Value> = self.outputs.values().map(|output| output.device).collect();
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
        for (index, output) in self.outputs.keys().enumerate() {
            let at = (index as u32 * ANY.size) as i32 + any::PAYLOAD.offset;
            self.outputs[output].object = Some(self.b.load(Type::Ptr, tensors, at));
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
    pub(crate) fn output_tensor(&mut self, output: OutputId) -> Value {
        let object = self.output_object(output);
        self.b.ptr_offset(object, OBJECT.size.into())
    }

    /// The tensor object.
    pub(crate) fn output_object(&self, output: OutputId) -> Value {
        let object = self.outputs[output].object;
        object.unwrap_or_else(|| unreachable!("tensors are allocated before they are passed"))
    }

    /// `out.data`
    pub(crate) fn output_data(&mut self, output: OutputId) -> Value {
        let dl = self.output_tensor(output);
        let data = self.b.load(Type::Ptr, dl, dl_tensor::DATA.offset);
        let offset = self.b.load(Type::I64, dl, dl_tensor::BYTE_OFFSET.offset);
        self.b.ptr_add(data, offset)
    }

    /// `stream(out)`: that of the tensor on whose device it is allocated.
    pub(crate) fn output_stream(&mut self, output: OutputId) -> Value {
        let output = &self.function.outputs[output];
        if let Some(neighbour) = output.neighbour {
            return self.term(&Term::new(Kind::Ptr, Node::Stream(neighbour)));
        }
        match output.tensor.device {
            Device::Any | Device::Type(DeviceType::CPU) => self.b.null(),
            Device::Type(ty) => {
                let (ty, index) = (self.b.i32(ty.0), self.b.i32(0));
                let get = crate::lower::runtime(self.b.module, &runtime::ENV_GET_STREAM);
                self.b.call_value(get, &[ty, index])
            }
        }
    }
}
