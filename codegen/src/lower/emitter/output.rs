//! Reads of tensors that the function allocates, and of streams.

use abi_spec::layout::{OBJECT, dl_tensor};
use abi_spec::{DeviceType, runtime};

use crate::declaration::Device;
use crate::ir::{Cond, Type, Value};
use crate::lower::emitter::Emitter;
use crate::resolve::ids::{Home, OutputId, ValueId};

impl Emitter<'_, '_> {
    /// Emits the `DLTensor*` of an allocated tensor.
    pub(crate) fn output_tensor(&mut self, output: OutputId) -> Value {
        let object = self.output_object(output);
        self.b.ptr_offset(object, OBJECT.size.into())
    }

    /// Returns the object of an allocated tensor.
    pub(crate) fn output_object(&self, output: OutputId) -> Value {
        let object = self.outputs[output].as_ref().and_then(|output| output.object);
        object.unwrap_or_else(|| unreachable!("tensors are allocated before they are passed"))
    }

    /// Emits `out.data`, the address of the first element.
    pub(crate) fn output_data(&mut self, output: OutputId) -> Value {
        let dl = self.output_tensor(output);
        let data = self.b.load(Type::Ptr, dl, dl_tensor::DATA.offset);
        let offset = self.b.load(Type::I64, dl, dl_tensor::BYTE_OFFSET.offset);
        self.b.ptr_add(data, offset)
    }

    /// Emits `stream(out)`: the stream of the tensor on whose device `out` is allocated; without such a tensor, the
    /// stream of device 0.
    pub(crate) fn output_stream(&mut self, output: OutputId) -> Value {
        let id = output;
        let output = &self.function.outputs[id];
        match (output.home, output.tensor.device) {
            (Some(Home::Value(home)), _) => self.stream(home),
            (Some(Home::Output(home)), _) => self.output_stream(home),
            (None, Device::Type(DeviceType::CPU)) => self.b.null(),
            _ if self.function.holds_output(id) => {
                let dl = self.output_tensor(id);
                let fields = [dl_tensor::DEVICE_TYPE, dl_tensor::DEVICE_ID];
                let [ty, index] = fields.map(|field| self.b.load(Type::I32, dl, field.offset));
                self.stream_of_device(ty, index)
            }
            (None, Device::Any) => self.b.null(),
            (None, Device::Type(ty)) => {
                let (ty, index) = (self.b.i32(ty.0), self.b.i32(0));
                let get = crate::lower::runtime(self.b.module, &runtime::ENV_GET_STREAM);
                self.b.call_value(get, &[ty, index])
            }
        }
    }

    /// Emits `stream(x)`: the current stream of the device of a tensor, NULL on the CPU.
    pub(crate) fn stream(&mut self, value: ValueId) -> Value {
        let device = self.function.tensor(value).map(|tensor| tensor.device);
        if device == Some(Device::Type(DeviceType::CPU)) {
            return self.b.null();
        }
        let id = self.device_id32(value);
        let get = crate::lower::runtime(self.b.module, &abi_spec::runtime::ENV_GET_STREAM);
        if let Some(Device::Type(declared)) = device
            && self.mask(value).is_none()
        {
            let ty = self.b.i32(declared.0);
            return self.b.call_value(get, &[ty, id]);
        }
        let ty = self.device_type32(value);
        self.stream_of_device(ty, id)
    }

    /// Emits the current stream of a device, NULL for the CPU.
    fn stream_of_device(&mut self, ty: Value, id: Value) -> Value {
        let get = crate::lower::runtime(self.b.module, &runtime::ENV_GET_STREAM);
        // An absent tensor has device type 0, below that of the CPU.
        let cpu = self.b.compare_const(Cond::Ule, ty, DeviceType::CPU.0.into());
        let none = |b: &mut crate::ir::Builder<'_>| b.null();
        self.b.if_else(cpu, Type::Ptr, none, |b| b.call_value(get, &[ty, id]))
    }
}
