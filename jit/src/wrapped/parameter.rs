//! Arguments of closures: conversions of borrowed values to types of Rust.

use std::ffi::{CStr, c_void};
use std::mem::ManuallyDrop;

use abi_spec::{DType, Device, DeviceType, TypeIndex};

use crate::abi::{Any, ByteArray, DLTensor, Object};
use crate::runtime::Runtime;
use crate::value::array::{ArrayObject, ShapeObject};
use crate::value::function::FfiFunction;
use crate::value::held::Bytes;
use crate::value::object::{ObjectRef, Owned};
use crate::value::returned::Returned;
use crate::value::tensor::TensorObject;
use crate::value::view::TensorView;

/// A type of a parameter of a [closure](super::IntoFunction).
///
/// | types | take |
/// |---|---|
/// | integers, `bool` | integers in range, truth values |
/// | `f32`, `f64` | floats, integers, truth values |
/// | `&str`, `String` | text |
/// | [`Bytes`], `Vec<u8>` | bytes |
/// | [`DType`], [`Device`] | these |
/// | [`TensorView`] | tensors, whose memory is only read |
/// | [`TensorObject`] | tensors that are objects, which the closure may keep |
/// | [`ArrayObject`], [`ShapeObject`], [`FfiFunction`], [`ObjectRef`] | objects of this class, or of any |
/// | [`Returned`] | any value that can be kept |
/// | `Option` of each | None as well |
pub trait ClosureParam {
    /// The type with another lifetime.
    type Of<'a>: 'a;

    /// The name of the type in messages.
    #[doc(hidden)]
    fn expected() -> String;

    /// Converts a value.
    ///
    /// # Safety
    /// The value is valid for `'a`. An object belongs to the runtime.
    #[doc(hidden)]
    unsafe fn convert<'a>(any: &'a Any, runtime: &'static Runtime)
    -> Result<Self::Of<'a>, Refused>;
}

/// The reason why an argument does not convert.
#[doc(hidden)]
#[derive(Debug)]
pub struct Refused {
    pub(super) kind: &'static str,
    /// The beginning of the message, before the argument.
    pub(super) what: &'static str,
    /// The type or value of the argument.
    pub(super) got: String,
}

impl Refused {
    fn ty(any: &Any) -> Refused {
        let ty = any.ty();
        let got = match ty {
            TypeIndex::NONE => "None".to_owned(),
            ty if ty.is_object() && any.pointer().is_null() => "NULL".to_owned(),
            // A parameter that is an object takes no tensor that is lent.
            TypeIndex::DL_TENSOR_PTR => "DLTensor*".to_owned(),
            ty => ty.received_name().map_or_else(|| format!("type index {}", ty.0), str::to_owned),
        };
        Refused { kind: "TypeError", what: "Mismatched type of", got }
    }

    fn value(what: &'static str, got: impl ToString) -> Refused {
        Refused { kind: "ValueError", what, got: got.to_string() }
    }
}

/// Returns an object of a value that moves it, and any other value as it is.
///
/// # Safety
/// The value is valid.
unsafe fn unmoved(any: &Any) -> Any {
    if any.ty() != TypeIndex::OBJECT_RVALUE_REF || any.pointer().is_null() {
        return *any;
    }
    // SAFETY: such a value points at a place with an object, which the caller releases if nobody takes it.
    let object = unsafe { *any.pointer().cast::<*mut Object>() };
    if object.is_null() {
        return Any::NONE;
    }
    // SAFETY: the object is live.
    Any::ptr(TypeIndex(unsafe { (*object).type_index }), object.cast())
}

/// Returns an object with a reference of its own; `None` for values that are no objects.
///
/// # Safety
/// The value is valid. An object belongs to the runtime.
unsafe fn object(any: &Any, runtime: &'static Runtime) -> Option<ObjectRef> {
    // SAFETY: the handle is never dropped, so that cloning it takes the only reference.
    let borrowed = ManuallyDrop::new(unsafe { Owned::new(unmoved(any), runtime) });
    borrowed.as_object().cloned()
}

/// Returns the characters of a text or the bytes of bytes, by the type indices of their three forms.
///
/// # Safety
/// The value is valid as long as the result.
unsafe fn contents(any: &Any, [raw, small, class]: [TypeIndex; 3]) -> Option<&[u8]> {
    // SAFETY: as required above.
    let value = unsafe { unmoved(any) };
    if value.ty() == small {
        // SAFETY: all bytes of the payload are initialised.
        let bytes = unsafe { &any.payload.bytes };
        return Some(&bytes[..bytes.len().min(any.small_len as usize)]);
    }
    if value.pointer().is_null() {
        return None;
    }
    if value.ty() == class {
        let cell = value.pointer().cast::<Object>().wrapping_add(1).cast::<ByteArray>();
        // SAFETY: the cell follows the header, and its bytes live as long as the object.
        return Some(unsafe { (*cell).bytes() });
    }
    if value.ty() != raw {
        return None;
    }
    Some(match raw {
        // SAFETY: the value is a C string.
        TypeIndex::RAW_STR => unsafe { CStr::from_ptr(value.pointer().cast()) }.to_bytes(),
        // SAFETY: the value points at bytes.
        _ => unsafe { (*value.pointer().cast::<ByteArray>()).bytes() },
    })
}

const TEXT: [TypeIndex; 3] = [TypeIndex::RAW_STR, TypeIndex::SMALL_STR, TypeIndex::STR];
const BYTES: [TypeIndex; 3] = [TypeIndex::BYTE_ARRAY_PTR, TypeIndex::SMALL_BYTES, TypeIndex::BYTES];

/// Implements parameters whose types have no lifetime.
macro_rules! owned {
    ($($ty:ty: $expected:expr, $any:ident, $runtime:ident => $value:expr;)*) => {
        $(
            impl ClosureParam for $ty {
                type Of<'a> = $ty;

                fn expected() -> String {
                    $expected.to_owned()
                }

                unsafe fn convert(
                    $any: &Any,
                    $runtime: &'static Runtime,
                ) -> Result<$ty, Refused> {
                    $value
                }
            }
        )*
    };
}

fn integer<T: TryFrom<i64>>(any: &Any) -> Result<T, Refused> {
    let value = match any.ty() {
        TypeIndex::INT => any.bits(),
        TypeIndex::BOOL => i64::from(any.bits() != 0),
        _ => return Err(Refused::ty(any)),
    };
    value.try_into().map_err(|_| Refused::value("Out of range", value))
}

fn float(any: &Any) -> Result<f64, Refused> {
    match any.ty() {
        TypeIndex::FLOAT => Ok(f64::from_bits(any.bits() as u64)),
        TypeIndex::INT => Ok(any.bits() as f64),
        TypeIndex::BOOL => Ok(f64::from(u8::from(any.bits() != 0))),
        _ => Err(Refused::ty(any)),
    }
}

owned! {
    (): "None", any, _runtime => if any.ty() == TypeIndex::NONE { Ok(()) } else { Err(Refused::ty(any)) };
    bool: "bool", any, _runtime => integer::<i64>(any).map(|value| value != 0);
    i8: "int8", any, _runtime => integer(any);
    i16: "int16", any, _runtime => integer(any);
    i32: "int32", any, _runtime => integer(any);
    i64: "int64", any, _runtime => integer(any);
    isize: "int64", any, _runtime => integer(any);
    u8: "uint8", any, _runtime => integer(any);
    u16: "uint16", any, _runtime => integer(any);
    u32: "uint32", any, _runtime => integer(any);
    u64: "uint64", any, _runtime => integer(any);
    usize: "uint64", any, _runtime => integer(any);
    f32: "float32", any, _runtime => float(any).map(|value| value as f32);
    f64: "float64", any, _runtime => float(any);
    DType: "dtype", any, _runtime => match any.ty() {
        TypeIndex::DATA_TYPE => Ok(DType::from_word(any.bits() as u32)),
        _ => Err(Refused::ty(any)),
    };
    Device: "Device", any, _runtime => match any.ty() {
        TypeIndex::DEVICE => {
            let bits = any.bits();
            Ok(Device { ty: DeviceType(bits as i32), id: (bits >> 32) as i32 })
        }
        _ => Err(Refused::ty(any)),
    };
    *mut c_void: "ptr", any, _runtime => match any.ty() {
        TypeIndex::OPAQUE_PTR => Ok(any.pointer()),
        _ => Err(Refused::ty(any)),
    };
    // SAFETY: as required of the caller.
    String: "str", any, runtime => unsafe { <&str>::convert(any, runtime) }.map(str::to_owned);
    Vec<u8>: "bytes", any, _runtime => {
        // SAFETY: as required of the caller.
        unsafe { contents(any, BYTES) }.map(<[u8]>::to_vec).ok_or_else(|| Refused::ty(any))
    };
    ObjectRef: "Object", any, runtime => {
        // SAFETY: as required of the caller.
        unsafe { object(any, runtime) }.ok_or_else(|| Refused::ty(any))
    };
    Returned: "Any", any, runtime => {
        let mut owned = Any::NONE;
        // SAFETY: both values are valid; on success the runtime has taken a reference for the second one.
        let value = unsafe {
            let value = unmoved(any);
            match (runtime.functions.any_to_owned)(&value, &mut owned) {
                0 => Some(Owned::new(owned, runtime)),
                status => {
                    drop(crate::value::object::raised(status, runtime));
                    None
                }
            }
        };
        value.map(Returned::from).ok_or_else(|| Refused::ty(any))
    };
}

macro_rules! classes {
    ($($ty:ident: $expected:literal;)*) => {
        owned! {
            $(
                $ty: $expected, any, runtime => {
                    // SAFETY: as required of the caller.
                    let object = unsafe { object(any, runtime) };
                    let object = object.and_then(|object| $ty::try_from(object).ok());
                    object.ok_or_else(|| Refused::ty(any))
                };
            )*
        }
    };
}

classes! {
    TensorObject: "Tensor";
    ArrayObject: "Array";
    ShapeObject: "Shape";
    FfiFunction: "Function";
}

impl ClosureParam for &str {
    type Of<'a> = &'a str;

    fn expected() -> String {
        "str".to_owned()
    }

    unsafe fn convert<'a>(any: &'a Any, _: &'static Runtime) -> Result<&'a str, Refused> {
        // SAFETY: as required of the caller.
        let bytes = unsafe { contents(any, TEXT) }.ok_or_else(|| Refused::ty(any))?;
        let invalid = |_| Refused::value("Mismatched encoding of", bytes.escape_ascii());
        std::str::from_utf8(bytes).map_err(invalid)
    }
}

impl ClosureParam for Bytes<'_> {
    type Of<'a> = Bytes<'a>;

    fn expected() -> String {
        "bytes".to_owned()
    }

    unsafe fn convert<'a>(any: &'a Any, _: &'static Runtime) -> Result<Bytes<'a>, Refused> {
        // SAFETY: as required of the caller.
        unsafe { contents(any, BYTES) }.map(Bytes).ok_or_else(|| Refused::ty(any))
    }
}

impl ClosureParam for TensorView<'_> {
    type Of<'a> = TensorView<'a>;

    fn expected() -> String {
        "Tensor".to_owned()
    }

    unsafe fn convert<'a>(any: &'a Any, _: &'static Runtime) -> Result<TensorView<'a>, Refused> {
        // SAFETY: as required of the caller.
        let value = unsafe { unmoved(any) };
        let tensor: *const DLTensor = match value.ty() {
            TypeIndex::DL_TENSOR_PTR => value.pointer().cast(),
            TypeIndex::TENSOR => value.pointer().cast::<Object>().wrapping_add(1).cast(),
            _ => return Err(Refused::ty(any)),
        };
        if value.pointer().is_null() {
            return Err(Refused { got: "NULL".to_owned(), ..Refused::ty(any) });
        }
        // SAFETY: the tensor is valid while the call runs, and its memory is only read.
        Ok(unsafe { TensorView::from_dlpack(&*tensor) }.into_shared())
    }
}

impl<P: ClosureParam> ClosureParam for Option<P> {
    type Of<'a> = Option<P::Of<'a>>;

    fn expected() -> String {
        format!("Optional[{}]", P::expected())
    }

    unsafe fn convert<'a>(
        any: &'a Any,
        runtime: &'static Runtime,
    ) -> Result<Option<P::Of<'a>>, Refused> {
        if any.ty() == TypeIndex::NONE {
            return Ok(None);
        }
        // SAFETY: as required of the caller.
        unsafe { P::convert(any, runtime) }.map(Some)
    }
}
