//! Reads of tensors that the function allocates, and of streams.

use abi_spec::layout::{OBJECT, dl_tensor};
use abi_spec::{DeviceType, runtime};

use crate::declaration::Device;
use crate::ir::{Cond, Type, Value};
use crate::lower::emitter::Emitter;
use crate::lower::emitter::known::before_use;
use crate::resolve::ids::{Home, OutputId, ValueId};

/// Emits the `DLTensor*` of an allocated tensor.
pub(crate) fn tensor(e: &mut Emitter<'_, '_>, output: OutputId) -> Value {
    let object = object(e, output);
    e.b.ptr_offset(object, OBJECT.size.into())
}

/// Returns the object of an allocated tensor.
pub(crate) fn object(e: &Emitter<'_, '_>, output: OutputId) -> Value {
    let object = e.known.locals().outputs[output].as_ref().and_then(|output| output.object);
    before_use(object)
}

/// Emits `out.data`, the address of the first element.
pub(crate) fn data(e: &mut Emitter<'_, '_>, output: OutputId) -> Value {
    let dl = tensor(e, output);
    let data = e.b.load(Type::Ptr, dl, dl_tensor::DATA.offset);
    let offset = e.b.load(Type::I64, dl, dl_tensor::BYTE_OFFSET.offset);
    e.b.ptr_add(data, offset)
}

/// Emits `stream(out)`: the stream of the tensor on whose device `out` is allocated; without such a tensor, the
/// stream of device 0.
pub(crate) fn stream(e: &mut Emitter<'_, '_>, output: OutputId) -> Value {
    let id = output;
    let output = &e.function.outputs[id];
    match (output.home, output.tensor.device) {
        (Some(Home::Value(home)), _) => stream_of(e, home),
        (Some(Home::Output(home)), _) => stream(e, home),
        (None, Device::Type(DeviceType::CPU)) => e.b.null(),
        _ if e.function.holds_output(id) => {
            let dl = tensor(e, id);
            let fields = [dl_tensor::DEVICE_TYPE, dl_tensor::DEVICE_ID];
            let [ty, index] = fields.map(|field| e.b.load(Type::I32, dl, field.offset));
            stream_of_device(e, ty, index)
        }
        (None, Device::Any) => e.b.null(),
        (None, Device::Type(ty)) => {
            let (ty, index) = (e.b.i32(ty.0), e.b.i32(0));
            let get = crate::lower::runtime(e.b.module, &runtime::ENV_GET_STREAM);
            e.b.call_value(get, &[ty, index])
        }
    }
}

/// Emits `stream(x)`: the current stream of the device of a tensor, NULL on the CPU.
pub(crate) fn stream_of(e: &mut Emitter<'_, '_>, value: ValueId) -> Value {
    let device = e.function.tensor(value).map(|tensor| tensor.device);
    if device == Some(Device::Type(DeviceType::CPU)) {
        return e.b.null();
    }
    let id = e.tensor(value).device_id32();
    let get = crate::lower::runtime(e.b.module, &abi_spec::runtime::ENV_GET_STREAM);
    if let Some(Device::Type(declared)) = device
        && e.known.mask(value).is_none()
    {
        let ty = e.b.i32(declared.0);
        return e.b.call_value(get, &[ty, id]);
    }
    let ty = e.tensor(value).device_type32();
    stream_of_device(e, ty, id)
}

/// Emits the current stream of a device, NULL for the CPU.
fn stream_of_device(e: &mut Emitter<'_, '_>, ty: Value, id: Value) -> Value {
    let get = crate::lower::runtime(e.b.module, &runtime::ENV_GET_STREAM);
    // An absent tensor has device type 0, below that of the CPU.
    let cpu = e.b.compare_const(Cond::Ule, ty, DeviceType::CPU.0.into());
    let none = |b: &mut crate::ir::Builder<'_>| b.null();
    e.b.if_else(cpu, Type::Ptr, none, |b| b.call_value(get, &[ty, id]))
}
