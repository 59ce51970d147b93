//! The memory behind the arguments of a call.

use std::ffi::{CString, c_void};
use std::sync::atomic::{AtomicU64, Ordering};

use jit::abi::{Any, ByteArray, DLTensor, Object, Payload};

use crate::argument::{Argument, Tensor};
use crate::ffi::Ffi;

/// Arguments, and everything they point at.
#[derive(Debug, Default)]
#[allow(
    clippy::vec_box,
    reason = "arguments hold the addresses, which a growing list must not change"
)]
pub struct Frame {
    /// The arguments; an empty list is passed as NULL.
    pub args: Vec<Any>,
    instances: Vec<Box<Instance>>,
    tensors: Vec<Box<DLTensor>>,
    dims: Vec<Box<[i64]>>,
    buffers: Vec<Box<Buffer>>,
    texts: Vec<CString>,
    arrays: Vec<Box<ByteArray>>,
}

/// Elements: the address that tensors point at is in the middle.
#[repr(C, align(256))]
#[derive(Debug)]
struct Buffer([f32; 2 * MIDDLE]);

const MIDDLE: usize = 1024;

/// An object with room for the cell of any class.
#[repr(C)]
#[derive(Debug)]
struct Instance {
    header: Object,
    cell: [u64; 9],
}

/// One strong reference, which all together hold a weak one.
const ONE_REFERENCE: u64 = 1 << 32 | 1;

/// Objects of a frame are freed with the frame; a callee that thinks otherwise releases too much.
unsafe extern "C" fn released(_: *mut c_void, _: i32) {
    eprintln!("a callee has released an argument");
    std::process::abort();
}

impl Frame {
    /// Builds arguments; `None` if the runtime lacks what one needs.
    pub fn new(arguments: &[Argument], ffi: &Ffi) -> Option<Frame> {
        let mut frame = Frame::default();
        for argument in arguments {
            let any = frame.build(argument, ffi)?;
            frame.args.push(any);
        }
        Some(frame)
    }

    /// The address of the arguments.
    pub fn as_ptr(&self) -> *const Any {
        if self.args.is_empty() { std::ptr::null() } else { self.args.as_ptr() }
    }

    /// True if every object has as many references as at the start.
    pub fn is_balanced(&self) -> bool {
        let count = |object: &Instance| object.header.combined_ref_count.load(Ordering::Relaxed);
        self.instances.iter().all(|object| count(object) == ONE_REFERENCE)
    }

    fn build(&mut self, argument: &Argument, ffi: &Ffi) -> Option<Any> {
        Some(match argument {
            Argument::None => any(0, 0),
            Argument::Int(value) => any(1, *value),
            Argument::Bool(value) => any(2, i64::from(*value)),
            Argument::Float(value) => any(3, value.to_bits() as i64),
            Argument::Pointer(value) => any(4, *value as i64),
            Argument::Runtime(name) => address(4, ffi.symbol(name)?),
            Argument::DType(dtype) => any(5, dtype.to_word().into()),
            Argument::Device(device) => any(6, device.to_word() as i64),
            Argument::RawStr(text) => address(8, self.text(text).data),
            Argument::RawBytes(text) => {
                let array = self.text(text);
                self.arrays.push(Box::new(array));
                let array = self.arrays.last()?;
                address(9, &raw const **array)
            }
            Argument::Str(text) => self.string(11, 65, text),
            Argument::Bytes(text) => self.string(12, 66, text),
            Argument::Object(index) => self.object(*index, [0; 9]),
            Argument::Registered(key) => self.object(ffi.class(key)?, [0; 9]),
            Argument::Raw { index, payload } => any(*index, *payload),
            Argument::Tensor(tensor) => self.tensor(tensor),
        })
    }

    fn text(&mut self, text: &str) -> ByteArray {
        let owned = CString::new(text).expect("no NUL in a text");
        let array = ByteArray { data: owned.as_ptr(), size: text.len() };
        self.texts.push(owned);
        array
    }

    /// A small value where the text fits into one, else an object.
    fn string(&mut self, small: i32, object: i32, text: &str) -> Any {
        if text.len() <= 7 {
            let mut bytes = [0; 8];
            bytes[..text.len()].copy_from_slice(text.as_bytes());
            let payload = Payload { bytes };
            return Any { type_index: small, small_len: text.len() as u32, payload };
        }
        let array = self.text(text);
        let mut cell = [0; 9];
        cell[0] = array.data as u64;
        cell[1] = array.size as u64;
        self.object(object, cell)
    }

    fn object(&mut self, type_index: i32, cell: [u64; 9]) -> Any {
        let combined_ref_count = AtomicU64::new(ONE_REFERENCE);
        let header = Object { combined_ref_count, type_index, padding: 0, deleter: Some(released) };
        self.instances.push(Box::new(Instance { header, cell }));
        let instance = self.instances.last().map(|instance| &raw const **instance);
        address(type_index, instance.expect("just pushed"))
    }

    fn tensor(&mut self, tensor: &Tensor) -> Any {
        let view = DLTensor {
            data: tensor.data.map_or(std::ptr::null_mut(), |at| self.buffer(at)),
            device_type: tensor.device.ty.0,
            device_id: tensor.device.id,
            ndim: tensor.ndim(),
            code: tensor.dtype.code,
            bits: tensor.dtype.bits,
            lanes: tensor.dtype.lanes,
            shape: self.dims((!tensor.null_shape).then_some(&tensor.shape[..])),
            strides: self.dims(tensor.strides.as_deref()),
            byte_offset: tensor.byte_offset,
        };
        if !tensor.object {
            self.tensors.push(Box::new(view));
            let view = self.tensors.last().map(|view| &raw const **view);
            return address(7, view.expect("just pushed"));
        }
        let mut cell = [0; 9];
        // SAFETY: the cell is larger than a `DLTensor`, and as aligned.
        unsafe { cell.as_mut_ptr().cast::<DLTensor>().write(view) };
        self.object(70, cell)
    }

    /// Extents or strides at an address of their own, which is not NULL even if there are none.
    fn dims(&mut self, dims: Option<&[i64]>) -> *mut i64 {
        let Some(dims) = dims else { return std::ptr::null_mut() };
        self.dims.push(dims.into());
        self.dims.last_mut().map_or(std::ptr::null_mut(), |dims| dims.as_mut_ptr())
    }

    /// Elements of type `float32` that count up from 0 at the address.
    fn buffer(&mut self, at: i64) -> *mut c_void {
        let elements = std::array::from_fn(|index| index as f32 - MIDDLE as f32);
        self.buffers.push(Box::new(Buffer(elements)));
        let buffer = self.buffers.last_mut().map(|buffer| buffer.0.as_mut_ptr());
        let middle = buffer.expect("just pushed").wrapping_add(MIDDLE);
        middle.wrapping_byte_offset(at as isize).cast()
    }
}

fn any(type_index: i32, int: i64) -> Any {
    Any { type_index, small_len: 0, payload: Payload { int } }
}

fn address<T>(type_index: i32, pointer: *const T) -> Any {
    any(type_index, pointer as i64)
}
