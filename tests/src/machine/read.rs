//! Reader of results in the machine.

use abi_spec::layout::{byte_array, dl_tensor, object};
use abi_spec::{DType, Device, DeviceType, TypeIndex};
use machine::runtime::Value;
use machine::{Finding, Machine, Word};

use crate::argument::{Argument, Tensor};
use crate::outcome;

/// Reads a result and checks all of its bytes.
pub(super) fn value(
    machine: &Machine<'_>,
    found: Value,
) -> Result<Result<outcome::Value, String>, Box<Finding>> {
    let bits = found.payload.as_int();
    let small = [TypeIndex::SMALL_STR.0, TypeIndex::SMALL_BYTES.0].contains(&found.index);
    if !small && found.small != 0 {
        return Ok(Err(format!("the padding of {found:?} is not zero")));
    }
    Ok(Ok(match found.index {
        0 if bits == 0 => outcome::Value::None,
        1 => outcome::Value::Int(bits),
        2 if bits == 0 || bits == 1 => outcome::Value::Bool(bits == 1),
        3 => outcome::Value::float(f64::from_bits(bits as u64)),
        4 => outcome::Value::Pointer(bits as u64),
        0..=4 => return Ok(Err(format!("the result is {found:?}"))),
        _ => return Ok(other(machine, found)?.map(outcome::Value::Other)),
    }))
}

type Read = Result<Result<Argument, String>, Box<Finding>>;

fn other(machine: &Machine<'_>, found: Value) -> Read {
    let bits = found.payload.bits;
    let bytes = bits.to_le_bytes();
    Ok(Ok(match TypeIndex(found.index) {
        TypeIndex::NONE => Argument::None,
        TypeIndex::INT => Argument::Int(bits as i64),
        TypeIndex::BOOL => Argument::Bool(bits != 0),
        TypeIndex::FLOAT => Argument::Float(f64::from_bits(bits)),
        TypeIndex::DATA_TYPE if bits >> 32 == 0 => Argument::DType(dtype(bits as u32)),
        TypeIndex::DEVICE => {
            Argument::Device(Device { ty: DeviceType(bits as i32), id: (bits >> 32) as i32 })
        }
        TypeIndex::SMALL_STR | TypeIndex::SMALL_BYTES => {
            let length = found.small as usize;
            if length > 7 || bytes[length..].iter().any(|byte| *byte != 0) {
                return Ok(Err(format!("the small value {found:?}")));
            }
            let text = bytes[..length].to_vec();
            match found.index == TypeIndex::SMALL_STR.0 {
                true => return Ok(string(text)),
                false => Argument::Bytes(text),
            }
        }
        _ if found.is_object() => return object(machine, found),
        _ => return Ok(Err(format!("the result is {found:?}"))),
    }))
}

fn dtype(word: u32) -> DType {
    let [code, bits, low, high] = word.to_le_bytes();
    DType { code, bits, lanes: u16::from_le_bytes([low, high]) }
}

fn string(bytes: Vec<u8>) -> Result<Argument, String> {
    String::from_utf8(bytes).map(Argument::Str).map_err(|error| error.to_string())
}

fn object(machine: &Machine<'_>, found: Value) -> Read {
    let this = found.payload;
    machine.references(this)?;
    let field = |offset: i32, size: usize| machine.memory.load(this.offset(offset.into()), size, 4);
    let index = field(object::TYPE_INDEX.offset, 4)?.as_int32();
    if index != found.index {
        return Ok(Err(format!("an object of {index} in a value of {}", found.index)));
    }
    let pair = || -> Result<(Word, i64), Box<Finding>> {
        let data = field(byte_array::DATA.in_object(), 8)?;
        Ok((data, field(byte_array::SIZE.in_object(), 8)?.as_int()))
    };
    Ok(match TypeIndex(index) {
        TypeIndex::STR => string(machine.byte_array(this.offset(24))?),
        TypeIndex::BYTES => Ok(Argument::Bytes(machine.byte_array(this.offset(24))?)),
        TypeIndex::SHAPE => {
            let (data, size) = pair()?;
            Ok(Argument::Shape(numbers(machine, data, size)?))
        }
        TypeIndex::ARRAY => {
            let (data, size) = pair()?;
            let mut elements = Vec::new();
            for element in machine.memory.load_anys(data, size)? {
                if element.small != 0 && !matches!(element.index, 11 | 12) {
                    return Ok(Err(format!("the padding of {element:?} is not zero")));
                }
                match other(machine, element)? {
                    Ok(element) => elements.push(element),
                    Err(reason) => return Ok(Err(reason)),
                }
            }
            Ok(Argument::Array(elements))
        }
        TypeIndex::TENSOR => {
            let rank = field(dl_tensor::NDIM.in_object(), 4)?.as_int32();
            let shape = field(dl_tensor::SHAPE.in_object(), 8)?;
            let shape = numbers(machine, shape, rank.into())?;
            let word = field(dl_tensor::DTYPE.in_object(), 4)?.bits as u32;
            let ty = DeviceType(field(dl_tensor::DEVICE_TYPE.in_object(), 4)?.as_int32());
            let id = field(dl_tensor::DEVICE_ID.in_object(), 4)?.as_int32();
            let device = Device { ty, id };
            Ok(Argument::Tensor(Tensor { device, ..Tensor::new(dtype(word), &shape) }))
        }
        TypeIndex(index) => Ok(Argument::Object(index)),
    })
}

fn numbers(machine: &Machine<'_>, data: Word, count: i64) -> Result<Vec<i64>, Box<Finding>> {
    let number = |index: i64| Ok(machine.memory.load(data.offset(8 * index), 8, 8)?.as_int());
    (0..count).map(number).collect()
}
