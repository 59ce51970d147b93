//! Typed access to the value that a call returns.

use std::borrow::Cow;
use std::ffi::c_void;
use std::fmt;

use abi_spec::{DType, Device, DeviceType, TypeIndex};

use super::array::{ArrayObject, ShapeObject};
use super::function::FfiFunction;
use super::object::{Class, ObjectRef};
use super::returned::Returned;
use super::tensor::TensorObject;
use crate::abi::{Any, ByteArray};
use crate::error::Error;

/// The content of a value.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Content<'a> {
    /// None.
    None,
    /// An integer.
    Int(i64),
    /// A truth value.
    Bool(bool),
    /// A float.
    Float(f64),
    /// An opaque pointer.
    Pointer(*mut c_void),
    /// A data type.
    DType(DType),
    /// A device.
    Device(Device),
    /// A string. Bytes that are no UTF-8 are replaced.
    Str(Cow<'a, str>),
    /// Bytes.
    Bytes(&'a [u8]),
    /// A tensor.
    Tensor(&'a TensorObject),
    /// An array.
    Array(&'a ArrayObject),
    /// A shape.
    Shape(&'a ShapeObject),
    /// An object of any other class.
    Object(&'a ObjectRef),
    /// A value that points at memory that it does not own, such as a `const char*` or a lent `DLTensor*`. No function
    /// should return one, since nothing says how long the memory lives: do not follow the pointer, and treat the value
    /// as a fault of the function that has returned it.
    Borrowed(Any),
}

impl Returned {
    /// The content of the value.
    pub fn content(&self) -> Content<'_> {
        let any = self.as_raw();
        let bits = any.bits() as u64;
        match any.ty() {
            TypeIndex::NONE => Content::None,
            TypeIndex::INT => Content::Int(any.bits()),
            TypeIndex::BOOL => Content::Bool(any.bits() != 0),
            TypeIndex::FLOAT => Content::Float(f64::from_bits(bits)),
            TypeIndex::OPAQUE_PTR => Content::Pointer(any.pointer()),
            TypeIndex::DATA_TYPE => Content::DType(DType::from_word(bits as u32)),
            TypeIndex::DEVICE => Content::Device(device(bits)),
            TypeIndex::SMALL_STR => Content::Str(String::from_utf8_lossy(small(any))),
            TypeIndex::SMALL_BYTES => Content::Bytes(small(any)),
            ty if ty.is_object() => self.as_object().map_or(Content::None, content),
            _ => Content::Borrowed(*any),
        }
    }

    /// The text of a string.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if the value is no string, or no UTF-8.
    pub fn text(&self) -> Result<&str, Error> {
        let bytes = self.characters(TypeIndex::SMALL_STR, TypeIndex::STR);
        let bytes = bytes.ok_or_else(|| self.unexpected("a string"))?;
        let invalid = |_| Error::mismatch("UTF-8", format!("{}", bytes.escape_ascii()));
        std::str::from_utf8(bytes).map_err(invalid)
    }

    /// The bytes of a bytes value.
    ///
    /// # Errors
    /// [`Error::Mismatch`] for other values.
    pub fn bytes(&self) -> Result<&[u8], Error> {
        let bytes = self.characters(TypeIndex::SMALL_BYTES, TypeIndex::BYTES);
        bytes.ok_or_else(|| self.unexpected("bytes"))
    }

    /// The value as a tensor.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if it is no tensor.
    pub fn tensor(&self) -> Result<&TensorObject, Error> {
        self.class("a tensor")
    }

    /// The value as an array.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if it is no array.
    pub fn array(&self) -> Result<&ArrayObject, Error> {
        self.class("an array")
    }

    /// The numbers of a shape.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if the value is no shape.
    pub fn shape(&self) -> Result<&[i64], Error> {
        self.class::<ShapeObject>("a shape").map(ShapeObject::as_slice)
    }

    fn class<T: Class>(&self, expected: &str) -> Result<&T, Error> {
        let found = self.as_object().and_then(T::of);
        found.ok_or_else(|| self.unexpected(expected))
    }

    fn characters(&self, in_place: TypeIndex, class: TypeIndex) -> Option<&[u8]> {
        if self.ty() == in_place {
            return Some(small(self.as_raw()));
        }
        let object = self.as_object().filter(|object| object.ty() == class)?;
        Some(long(object))
    }

    #[cold]
    fn unexpected(&self, expected: &str) -> Error {
        Error::mismatch(expected, self.found())
    }

    /// The value, or its kind, in a message.
    fn found(&self) -> String {
        match self.content() {
            Content::Int(value) => value.to_string(),
            Content::Bool(value) => value.to_string(),
            Content::Float(value) => format!("{value:?}"),
            Content::DType(value) => format!("the element type {value}"),
            Content::Str(text) => format!("{text:?}"),
            Content::None => "None".to_owned(),
            Content::Pointer(_) => "a pointer".to_owned(),
            Content::Device(_) => "a device".to_owned(),
            Content::Bytes(_) => "bytes".to_owned(),
            Content::Tensor(_) => "a tensor".to_owned(),
            Content::Array(_) => "an array".to_owned(),
            Content::Shape(_) => "a shape".to_owned(),
            Content::Object(object) => match object.ty().received_name() {
                Some(name) => format!("an object of class {name}"),
                None => "an object of another class".to_owned(),
            },
            Content::Borrowed(_) => "a value that points at memory of others".to_owned(),
        }
    }
}

fn content(object: &ObjectRef) -> Content<'_> {
    match object.ty() {
        TypeIndex::STR => Content::Str(String::from_utf8_lossy(long(object))),
        TypeIndex::BYTES => Content::Bytes(long(object)),
        _ => {
            let tensor = || TensorObject::of(object).map(Content::Tensor);
            let array = || ArrayObject::of(object).map(Content::Array);
            let shape = || ShapeObject::of(object).map(Content::Shape);
            tensor().or_else(array).or_else(shape).unwrap_or(Content::Object(object))
        }
    }
}

/// The bytes inside a small string or a small bytes value.
fn small(any: &Any) -> &[u8] {
    // SAFETY: all bytes of the payload are initialised.
    let bytes = unsafe { &any.payload.bytes };
    &bytes[..bytes.len().min(any.small_len as usize)]
}

/// The bytes of a string or bytes object.
fn long(object: &ObjectRef) -> &[u8] {
    // SAFETY: the cell of such an object is a byte array, which lives as long as the object.
    unsafe { (*object.cell::<ByteArray>()).bytes() }
}

/// Shows the [content](Returned::content).
impl fmt::Debug for Returned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.content().fmt(f)
    }
}

/// Implements conversions of values of one type index.
macro_rules! convert {
    ($($ty:ty: $expected:literal, $index:ident, $any:ident => $value:expr;)*) => {
        $(
            impl TryFrom<Returned> for $ty {
                type Error = Error;

                #[inline]
                fn try_from(returned: Returned) -> Result<$ty, Error> {
                    let $any = returned.as_raw();
                    let value: Option<$ty> =
                        if $any.ty() == TypeIndex::$index { $value } else { None };
                    value.ok_or_else(|| returned.unexpected($expected))
                }
            }
        )*
    };
}

convert! {
    (): "None", NONE, any => (any.bits() == 0).then_some(());
    bool: "a truth value", BOOL, any => Some(any.bits() != 0);
    i8: "an i8", INT, any => any.bits().try_into().ok();
    i16: "an i16", INT, any => any.bits().try_into().ok();
    i32: "an i32", INT, any => any.bits().try_into().ok();
    i64: "an i64", INT, any => Some(any.bits());
    isize: "an isize", INT, any => any.bits().try_into().ok();
    u8: "a u8", INT, any => any.bits().try_into().ok();
    u16: "a u16", INT, any => any.bits().try_into().ok();
    u32: "a u32", INT, any => any.bits().try_into().ok();
    u64: "a u64", INT, any => any.bits().try_into().ok();
    usize: "a usize", INT, any => any.bits().try_into().ok();
    f64: "a float", FLOAT, any => Some(f64::from_bits(any.bits() as u64));
    *mut c_void: "a pointer", OPAQUE_PTR, any => Some(any.pointer());
    DType: "an element type", DATA_TYPE, any => Some(DType::from_word(any.bits() as u32));
    Device: "a device", DEVICE, any => Some(device(any.bits() as u64));
}

fn device(bits: u64) -> Device {
    Device { ty: DeviceType(bits as i32), id: (bits >> 32) as i32 }
}

/// Rounds to `f32`.
impl TryFrom<Returned> for f32 {
    type Error = Error;

    fn try_from(returned: Returned) -> Result<f32, Error> {
        f64::try_from(returned).map(|value| value as f32)
    }
}

impl TryFrom<Returned> for String {
    type Error = Error;

    fn try_from(returned: Returned) -> Result<String, Error> {
        returned.text().map(str::to_owned)
    }
}

impl TryFrom<Returned> for Vec<u8> {
    type Error = Error;

    fn try_from(returned: Returned) -> Result<Vec<u8>, Error> {
        returned.bytes().map(<[u8]>::to_vec)
    }
}

/// Objects of any class. Small strings and bytes are no objects.
impl TryFrom<Returned> for ObjectRef {
    type Error = Error;

    fn try_from(returned: Returned) -> Result<ObjectRef, Error> {
        returned.into_object().map_err(|returned| returned.unexpected("an object"))
    }
}

macro_rules! classes {
    ($($ty:ident: $expected:literal;)*) => {
        $(
            impl TryFrom<Returned> for $ty {
                type Error = Error;

                fn try_from(returned: Returned) -> Result<$ty, Error> {
                    let object = ObjectRef::try_from(returned);
                    let object = object.map_err(|error| match error {
                        Error::Mismatch { found, .. } => Error::mismatch($expected, found),
                        error => error,
                    })?;
                    let unexpected = |object| Returned::from(object).unexpected($expected);
                    $ty::try_from(object).map_err(unexpected)
                }
            }
        )*
    };
}

classes! {
    TensorObject: "a tensor";
    ArrayObject: "an array";
    ShapeObject: "a shape";
    FfiFunction: "a function";
}
