//! Reader of results that are neither numbers nor pointers.

use std::slice;

use abi_spec::{DType, Device, DeviceType, TypeIndex};
use jit::abi::{Any, ByteArray, DLTensor, Object};

use crate::argument::{Argument, Tensor};

/// Reads a value that the callee has given away, as an argument that would pass it.
pub(super) fn read(any: &Any) -> Result<Argument, String> {
    let bits = any.bits();
    let small = [TypeIndex::SMALL_STR, TypeIndex::SMALL_BYTES].contains(&any.ty());
    if !small && any.small_len != 0 {
        return Err(format!("the padding of {any:?} is not zero"));
    }
    Ok(match any.ty() {
        TypeIndex::NONE => Argument::None,
        TypeIndex::INT => Argument::Int(bits),
        TypeIndex::BOOL => Argument::Bool(bits != 0),
        TypeIndex::FLOAT => Argument::Float(f64::from_bits(bits as u64)),
        TypeIndex::DATA_TYPE if bits >> 32 == 0 => {
            let [code, size, low, high, ..] = bits.to_le_bytes();
            Argument::DType(DType { code, bits: size, lanes: u16::from_le_bytes([low, high]) })
        }
        TypeIndex::DEVICE => {
            Argument::Device(Device { ty: DeviceType(bits as i32), id: (bits >> 32) as i32 })
        }
        TypeIndex::SMALL_STR => string(small_bytes(any)?)?,
        TypeIndex::SMALL_BYTES => Argument::Bytes(small_bytes(any)?),
        ty if ty.is_object() => return object(ty, any.pointer().cast()),
        _ => return Err(format!("the result is {any:?}")),
    })
}

/// Returns the bytes of a small value; the padding must be 0.
fn small_bytes(any: &Any) -> Result<Vec<u8>, String> {
    let (bytes, length) = (any.bits().to_le_bytes(), any.small_len as usize);
    if length > 7 || bytes[length..].iter().any(|byte| *byte != 0) {
        return Err(format!("the small value {any:?}"));
    }
    Ok(bytes[..length].to_vec())
}

fn string(bytes: Vec<u8>) -> Result<Argument, String> {
    String::from_utf8(bytes).map(Argument::Str).map_err(|error| error.to_string())
}

fn object(ty: TypeIndex, object: *const Object) -> Result<Argument, String> {
    // SAFETY: results are valid, and the cell of a class follows the header.
    unsafe {
        if object.is_null() || (*object).type_index != ty.0 {
            return Err(format!("no object of {ty}"));
        }
        let cell = object.add(1);
        Ok(match ty {
            TypeIndex::STR => string((*cell.cast::<ByteArray>()).bytes().to_vec())?,
            TypeIndex::BYTES => Argument::Bytes((*cell.cast::<ByteArray>()).bytes().to_vec()),
            TypeIndex::SHAPE => {
                let [data, size] = *cell.cast::<[usize; 2]>();
                Argument::Shape(entries(data as *const i64, size).to_vec())
            }
            TypeIndex::ARRAY => {
                let [data, size] = *cell.cast::<[usize; 2]>();
                let elements = entries(data as *const Any, size);
                Argument::Array(elements.iter().map(read).collect::<Result<_, _>>()?)
            }
            TypeIndex::TENSOR => Argument::Tensor(tensor(&*cell.cast::<DLTensor>())),
            TypeIndex(index) => Argument::Object(index),
        })
    }
}

/// Reads type, shape and device.
///
/// # Safety
/// The tensor is valid.
unsafe fn tensor(tensor: &DLTensor) -> Tensor {
    let dtype = DType { code: tensor.code, bits: tensor.bits, lanes: tensor.lanes };
    let rank = tensor.ndim as usize;
    // SAFETY: there are as many extents.
    let shape = unsafe { entries(tensor.shape, rank) };
    let device = Device { ty: DeviceType(tensor.device_type), id: tensor.device_id };
    Tensor { device, ..Tensor::new(dtype, shape) }
}

/// # Safety
/// There are `count` entries; the address of no entries may be anything.
unsafe fn entries<'a, T>(data: *const T, count: usize) -> &'a [T] {
    // SAFETY: as required above.
    if count == 0 { &[] } else { unsafe { slice::from_raw_parts(data, count) } }
}
