//! Arguments as the test table writes them.
//!
//! ```text
//! none  true  -3  0.5  inf  nan            what they are in most languages
//! 9223372036854775808                      an integer object, for an integer outside `int64`
//! big(2, 5, 0)                             an integer object that claims two words, and its words, the lowest first
//! ptr(16)                                  an opaque pointer
//! runtime(TVMFFIErrorSetRaisedFromCStr)    an opaque pointer to a function of the runtime
//! dtype(float32)  device(cuda:1)
//! "text"  raw("text")                      a string: small up to 7 bytes, else an object; a `const char*`
//! bytes("text")  raw_bytes("text")         bytes: small up to 7 bytes, else an object; a `TVMFFIByteArray*`
//! small(11, "text")  small(12, "", 9)      a small string or small bytes, with any length field
//! object(65, "text")  object(66, "text")   a string or bytes object, however short
//! object(69)  object(test.Thing)           a live object of a static class, or of a class that is registered
//! object(test.Child < test.Thing)          an object of a class that is registered below another
//! any(-1, 0)                               any type index and payload
//! shape(1, 2)                              a shape object
//! array(1, "x", float32[2])  list(1, 2)    sequences of anything
//! map("k": 1, 2: none)  dict()             maps, made by the runtime like the objects of the next line
//! function  module  error  opaque          a function that notes its calls; an opaque object of another language
//! rvalue(array(1))  rvalue(null)           the address of a slot that holds an object, or NULL
//! float32[2, 3]                            a `DLTensor*`: compact, strides NULL, on the cpu
//! float32[2]{strides=[3], device=cuda:1, data=null, data=4, offset=8, ndim=-1, shape=null, object}
//! ```
//!
//! `data=4` is an address 4 bytes above a multiple of 256; the default is 0 above. `offset` is `byte_offset`.
//! `object` passes a tensor object. In texts `\"`, `\\`, `\n` and `\x00` stand for one byte each.

mod parse;
mod print;
#[cfg(test)]
mod tests;

use abi_spec::{DType, Device};

pub use parse::parse_list;
pub use print::print_list;

/// An argument of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Argument {
    /// No value.
    None,
    /// A truth value.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// An integer outside `int64`, which is an object.
    BigInt(i128),
    /// An integer object as the words of its cell: the number of words that it claims, then at most 32 words, lowest
    /// first.
    Big(Vec<u64>),
    /// A float.
    Float(f64),
    /// An opaque pointer.
    Pointer(u64),
    /// An opaque pointer to a function of the runtime.
    Runtime(String),
    /// An element type.
    DType(DType),
    /// A device.
    Device(Device),
    /// A string: small or an object, whichever fits.
    Str(String),
    /// A `const char*`.
    RawStr(String),
    /// Bytes: small or an object, whichever fits.
    Bytes(Vec<u8>),
    /// A `TVMFFIByteArray*`.
    RawBytes(Vec<u8>),
    /// A small string or small bytes.
    Small {
        /// The type index.
        index: i32,
        /// At most eight bytes.
        text: Vec<u8>,
        /// Length field of the value.
        length: u32,
    },
    /// A string or bytes object.
    Text {
        /// The type index.
        index: i32,
        /// Bytes of the text.
        text: Vec<u8>,
    },
    /// An object of a static class.
    Object(i32),
    /// An object of a class that is registered at run time: its key and those of its ancestors, nearest first.
    Registered(Vec<String>),
    /// Any type index and payload.
    Raw {
        /// The type index.
        index: i32,
        /// The payload.
        payload: i64,
    },
    /// A tensor.
    Tensor(Tensor),
    /// A shape object.
    Shape(Vec<i64>),
    /// An immutable sequence.
    Array(Vec<Argument>),
    /// A mutable sequence.
    List(Vec<Argument>),
    /// An immutable map.
    Map(Vec<(Argument, Argument)>),
    /// A mutable map.
    Dict(Vec<(Argument, Argument)>),
    /// A function that notes its calls and returns the number of its arguments.
    Function,
    /// A module without functions.
    Module,
    /// An error of kind `ValueError` that says `an argument`.
    Error,
    /// An object of another language.
    Opaque,
    /// The address of a slot with this object, or with NULL.
    RValue(Option<Box<Argument>>),
}

/// A tensor argument; every field as it is passed.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    /// Element type.
    pub dtype: DType,
    /// Extents.
    pub shape: Vec<i64>,
    /// Strides in elements; `None` for NULL.
    pub strides: Option<Vec<i64>>,
    /// Passed `ndim`, if it differs from the number of extents.
    pub ndim: Option<i32>,
    /// True if the pointer to the extents is NULL.
    pub null_shape: bool,
    /// Device.
    pub device: Device,
    /// Offset of `data` from an aligned address, in bytes; `None` for NULL.
    pub data: Option<i64>,
    /// `byte_offset`.
    pub byte_offset: u64,
    /// True for a tensor object, false for a `DLTensor*`.
    pub object: bool,
}

impl Tensor {
    /// Creates a compact tensor on the cpu.
    pub fn new(dtype: DType, shape: &[i64]) -> Tensor {
        Tensor {
            dtype,
            shape: shape.to_vec(),
            strides: None,
            ndim: None,
            null_shape: false,
            device: Device::CPU,
            data: Some(0),
            byte_offset: 0,
            object: false,
        }
    }

    /// Returns the strides that NULL stands for.
    pub fn compact_strides(&self) -> Vec<i64> {
        let product = |dims: &[i64]| dims.iter().fold(1_i64, |a, b| a.wrapping_mul(*b));
        (0..self.shape.len()).map(|dim| product(&self.shape[dim + 1..])).collect()
    }

    /// Returns the passed `ndim`.
    pub fn ndim(&self) -> i32 {
        self.ndim.unwrap_or(self.shape.len() as i32)
    }
}

/// Returns the type index of an argument, if it is the same in every process.
pub fn type_index(argument: &Argument) -> Option<i32> {
    let fits = |text: &[u8]| text.len() <= 7;
    Some(match argument {
        Argument::None => 0,
        Argument::Int(_) => 1,
        Argument::Bool(_) => 2,
        Argument::Float(_) => 3,
        Argument::Pointer(_) | Argument::Runtime(_) => 4,
        Argument::DType(_) => 5,
        Argument::Device(_) => 6,
        Argument::RawStr(_) => 8,
        Argument::RawBytes(_) => 9,
        Argument::RValue(_) => 10,
        Argument::Str(text) => {
            if fits(text.as_bytes()) {
                11
            } else {
                65
            }
        }
        Argument::Bytes(text) => {
            if fits(text) {
                12
            } else {
                66
            }
        }
        Argument::Error => 67,
        Argument::Function => 68,
        Argument::Shape(_) => 69,
        Argument::Tensor(tensor) => {
            if tensor.object {
                70
            } else {
                7
            }
        }
        Argument::Array(_) => 71,
        Argument::Map(_) => 72,
        Argument::Module => 73,
        Argument::Opaque => 74,
        Argument::List(_) => 75,
        Argument::Dict(_) => 76,
        Argument::BigInt(_) | Argument::Big(_) => 78,
        Argument::Small { index, .. }
        | Argument::Text { index, .. }
        | Argument::Raw { index, .. }
        | Argument::Object(index) => *index,
        Argument::Registered(_) => return None,
    })
}
