//! Values that go into a call and come out of it.

use std::error;
use std::ffi::{CStr, c_void};
use std::fmt;
use std::marker::PhantomData;

use abi_spec::{DType, Device, DeviceType, TypeIndex};

use crate::abi::{Any, ByteArray, ErrorCell, Payload};
use crate::object::ObjectRef;
use crate::runtime::Runtime;

/// An argument: any value that can be passed, borrowed for `'a`. It is a `TVMFFIAny`, so that a slice
/// of arguments is passed as it is.
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
pub struct Value<'a>(Any, PhantomData<&'a ()>);

impl Value<'_> {
    /// The value None.
    pub const NONE: Value<'static> = Value(Any::NONE, PhantomData);

    /// The null pointer.
    pub const NULL: Value<'static> =
        Value(Any::ptr(TypeIndex::OPAQUE_PTR, std::ptr::null_mut()), PhantomData);

    /// An opaque pointer.
    ///
    /// # Safety
    /// Every kernel that it is passed to may do with it what it does.
    pub const unsafe fn pointer(pointer: *mut c_void) -> Value<'static> {
        Value(Any::ptr(TypeIndex::OPAQUE_PTR, pointer), PhantomData)
    }

    /// Any value at all.
    ///
    /// # Safety
    /// What it points at is valid as its type index says, for as long as the result is used.
    pub const unsafe fn from_raw<'a>(any: Any) -> Value<'a> {
        Value(any, PhantomData)
    }

    /// The value as it is passed.
    pub const fn as_raw(&self) -> &Any {
        &self.0
    }
}

impl From<()> for Value<'_> {
    fn from((): ()) -> Self {
        Value::NONE
    }
}

impl From<i32> for Value<'_> {
    fn from(value: i32) -> Self {
        i64::from(value).into()
    }
}

impl From<i64> for Value<'_> {
    fn from(value: i64) -> Self {
        Value(Any::int(TypeIndex::INT, value), PhantomData)
    }
}

impl From<bool> for Value<'_> {
    fn from(value: bool) -> Self {
        Value(Any::int(TypeIndex::BOOL, i64::from(value)), PhantomData)
    }
}

impl From<f64> for Value<'_> {
    fn from(float: f64) -> Self {
        let payload = Payload { float };
        Value(Any { type_index: TypeIndex::FLOAT.0, small_len: 0, payload }, PhantomData)
    }
}

impl From<DType> for Value<'_> {
    fn from(dtype: DType) -> Self {
        Value(Any::int(TypeIndex::DATA_TYPE, i64::from(dtype.to_word())), PhantomData)
    }
}

impl From<Device> for Value<'_> {
    fn from(device: Device) -> Self {
        Value(Any::int(TypeIndex::DEVICE, device.to_word() as i64), PhantomData)
    }
}

impl<'a> From<&'a CStr> for Value<'a> {
    fn from(text: &'a CStr) -> Self {
        Value(Any::ptr(TypeIndex::RAW_STR, text.as_ptr().cast_mut().cast()), PhantomData)
    }
}

impl<'a> From<&'a ObjectRef> for Value<'a> {
    fn from(object: &'a ObjectRef) -> Self {
        Value(Any::ptr(object.ty(), object.as_raw().cast()), PhantomData)
    }
}

/// What a call returns.
#[derive(Clone, Debug)]
pub enum Returned {
    /// Nothing.
    None,
    /// An integer.
    Int(i64),
    /// A truth value.
    Bool(bool),
    /// A float.
    Float(f64),
    /// An opaque pointer.
    Pointer(*mut c_void),
    /// An element type.
    DType(DType),
    /// A device.
    Device(Device),
    /// A string.
    Str(String),
    /// Bytes.
    Bytes(Vec<u8>),
    /// An object of any other class.
    Object(ObjectRef),
    /// A value that no function should return: it points at memory of somebody else.
    Borrowed(Any),
}

impl Returned {
    /// Takes over a result.
    ///
    /// # Safety
    /// `any` is what a successful call of a function of this runtime wrote.
    pub(crate) unsafe fn take(any: Any, runtime: &'static Runtime) -> Returned {
        let bits = any.bits() as u64;
        match any.ty() {
            TypeIndex::NONE => Returned::None,
            TypeIndex::INT => Returned::Int(any.bits()),
            TypeIndex::BOOL => Returned::Bool(any.bits() != 0),
            TypeIndex::FLOAT => Returned::Float(f64::from_bits(bits)),
            TypeIndex::OPAQUE_PTR => Returned::Pointer(any.pointer()),
            TypeIndex::DATA_TYPE => Returned::DType(DType::from_word(bits as u32)),
            TypeIndex::DEVICE => {
                Returned::Device(Device { ty: DeviceType(bits as i32), id: (bits >> 32) as i32 })
            }
            TypeIndex::SMALL_STR => Returned::Str(text(small(&any))),
            TypeIndex::SMALL_BYTES => Returned::Bytes(small(&any).to_vec()),
            ty if ty.is_object() => {
                // SAFETY: an object comes with a reference, which is the caller's now.
                let object = unsafe { ObjectRef::from_raw(any.pointer().cast(), runtime) };
                object.map_or(Returned::None, Returned::object)
            }
            _ => Returned::Borrowed(any),
        }
    }

    fn object(object: ObjectRef) -> Returned {
        match object.ty() {
            // SAFETY: the cell of strings and bytes is a byte array, which lives as long as they do.
            TypeIndex::STR => Returned::Str(text(unsafe { (*object.cell::<ByteArray>()).bytes() })),
            TypeIndex::BYTES => {
                // SAFETY: as above.
                Returned::Bytes(unsafe { (*object.cell::<ByteArray>()).bytes() }.to_vec())
            }
            _ => Returned::Object(object),
        }
    }
}

fn small(any: &Any) -> &[u8] {
    // SAFETY: all bytes of the payload are initialised.
    let bytes = unsafe { &any.payload.bytes };
    &bytes[..bytes.len().min(any.small_len as usize)]
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// An error that a function raised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallError {
    /// `TypeError` and the like.
    pub kind: String,
    /// The text.
    pub message: String,
    /// One line per frame, most recent first; may be empty.
    pub backtrace: String,
}

impl CallError {
    /// Takes the error of a call that returned `status` out of the thread's slot.
    #[cold]
    pub(crate) fn take(status: i32, runtime: &'static Runtime) -> CallError {
        let mut error = std::ptr::null_mut();
        // SAFETY: `error` is a valid place.
        unsafe { (runtime.functions.move_from_raised)(&mut error) };
        // SAFETY: the error comes with a reference, which is this function's now.
        let Some(error) = (unsafe { ObjectRef::from_raw(error, runtime) }) else {
            let message = format!("the call returned {status} without an error");
            return CallError::new("RuntimeError", message);
        };
        let cell = error.cell::<ErrorCell>();
        // SAFETY: the slot holds errors only; the part of the cell that every release has is read,
        // and its bytes live as long as the error.
        let [kind, message, backtrace] =
            unsafe { [(*cell).kind, (*cell).message, (*cell).backtrace].map(|part| part.bytes()) }
                .map(text);
        CallError { kind, message, backtrace }
    }

    pub(crate) fn new(kind: &str, message: String) -> CallError {
        CallError { kind: kind.to_owned(), message, backtrace: String::new() }
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind, self.message)
    }
}

impl error::Error for CallError {}
