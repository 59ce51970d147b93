//! The C structures of the ABI as Rust types.
//!
//! The layouts are those of `tvm/ffi/c_api.h` and `dlpack.h` on 64-bit platforms, in every release.

use std::ffi::{c_char, c_void};
use std::fmt;
use std::sync::atomic::AtomicU64;

use abi_spec::TypeIndex;

/// `TVMFFISafeCallType`: an FFI function. It returns 0, or -1 with an error in the thread's slot.
pub type SafeCall = unsafe extern "C" fn(
    handle: *mut c_void,
    args: *const Any,
    num_args: i32,
    result: *mut Any,
) -> i32;

/// `TVMFFIAny`: a value of any type, aligned to 8 bytes.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Any {
    /// The type of the payload.
    pub type_index: i32,
    /// Length of a small string or small bytes; 0 for other values.
    pub small_len: u32,
    /// The value.
    pub payload: Payload,
}

/// The payload of an [`Any`]; all eight bytes are always initialised.
#[repr(C)]
#[derive(Clone, Copy)]
pub union Payload {
    /// Integers and truth values.
    pub int: i64,
    /// Floats.
    pub float: f64,
    /// Pointers and objects.
    pub ptr: *mut c_void,
    /// Small strings and bytes, and the bytes of any other payload.
    pub bytes: [u8; 8],
}

impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // SAFETY: all bytes of the payload are initialised, and any bits are an integer.
        write!(f, "{:#x}", unsafe { self.int })
    }
}

impl Any {
    /// The value None.
    pub const NONE: Any = Any::int(TypeIndex::NONE, 0);

    /// A value whose payload is an integer.
    #[inline]
    pub const fn int(ty: TypeIndex, int: i64) -> Any {
        Any { type_index: ty.0, small_len: 0, payload: Payload { int } }
    }

    /// A value whose payload is a pointer.
    #[inline]
    pub const fn ptr(ty: TypeIndex, ptr: *mut c_void) -> Any {
        Any { type_index: ty.0, small_len: 0, payload: Payload { ptr } }
    }

    /// The type of the payload.
    #[inline]
    pub const fn ty(&self) -> TypeIndex {
        TypeIndex(self.type_index)
    }

    /// The payload as an integer.
    #[inline]
    pub const fn bits(&self) -> i64 {
        // SAFETY: all bytes of the payload are initialised, and any bits are an integer.
        unsafe { self.payload.int }
    }

    /// The payload as a pointer.
    #[inline]
    pub const fn pointer(&self) -> *mut c_void {
        // SAFETY: all bytes of the payload are initialised, and any bits are a pointer.
        unsafe { self.payload.ptr }
    }
}

impl fmt::Debug for Any {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Any({}, {}, {:#x})", self.type_index, self.small_len, self.bits())
    }
}

/// `TVMFFIObject`: the header of every object.
#[repr(C)]
#[derive(Debug)]
pub struct Object {
    /// Number of strong references in the low half. Number of weak references in the high half, plus one while there
    /// are strong references.
    pub combined_ref_count: AtomicU64,
    /// The type index of the class.
    pub type_index: i32,
    /// Always 0.
    pub padding: u32,
    /// The function that runs the destructor (flag 1), frees the memory (flag 2), or both (3).
    pub deleter: Option<unsafe extern "C" fn(*mut c_void, i32)>,
}

/// `TVMFFIByteArray`: borrowed bytes, and the cell of string and bytes objects.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ByteArray {
    /// The address of the first byte.
    pub data: *const c_char,
    /// Number of bytes.
    pub size: usize,
}

impl ByteArray {
    /// No bytes.
    pub const EMPTY: ByteArray = ByteArray::new(&[]);

    /// Points at the bytes of a slice, which must outlive the result.
    pub const fn new(bytes: &[u8]) -> ByteArray {
        ByteArray { data: bytes.as_ptr().cast(), size: bytes.len() }
    }

    /// The bytes.
    ///
    /// # Safety
    /// The bytes are valid and do not change for `'a`; `data` may be NULL if `size` is 0.
    pub unsafe fn bytes<'a>(self) -> &'a [u8] {
        if self.size == 0 {
            return &[];
        }
        // SAFETY: as required above.
        unsafe { std::slice::from_raw_parts(self.data.cast(), self.size) }
    }
}

/// `TVMFFIFunctionCell`: the cell of a function object, which follows the header.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct FunctionCell {
    /// The function to call, with the object as its handle.
    pub safe_call: SafeCall,
    /// Used by C++ only.
    pub cpp_call: *mut c_void,
}

/// `TVMFFIErrorCell`: the cell of an error object.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ErrorCell {
    /// The kind, such as `TypeError`.
    pub kind: ByteArray,
    /// The message.
    pub message: ByteArray,
    /// The backtrace: one line per frame, most recent first.
    pub backtrace: ByteArray,
    /// The function that replaces the backtrace (mode 0) or appends to it (mode 1).
    pub update_backtrace: unsafe extern "C" fn(*mut Object, *const ByteArray, i32),
    /// The error that caused this one, or NULL. Since 0.1.8.
    pub cause_chain: *mut Object,
    /// Any object, or NULL. Since 0.1.8.
    pub extra_context: *mut Object,
}

/// `TVMFFITypeInfo`: the record of a class.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TypeInfo {
    /// The type index.
    pub type_index: i32,
    /// Number of ancestors.
    pub type_depth: i32,
    /// The type key, which is its name.
    pub type_key: ByteArray,
    /// The ancestors, the root first.
    pub type_ancestors: *const *const TypeInfo,
    /// Used by the runtime only.
    pub type_key_hash: u64,
    /// Length of `fields`.
    pub num_fields: i32,
    /// Length of `methods`.
    pub num_methods: i32,
    /// Fields for reflection.
    pub fields: *const c_void,
    /// Methods for reflection.
    pub methods: *const c_void,
    /// Metadata for reflection.
    pub metadata: *const c_void,
}

/// `DLTensor`: a borrowed view of a tensor.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DLTensor {
    /// The address of the memory; the first element is `byte_offset` bytes behind it.
    pub data: *mut c_void,
    /// `DLDeviceType`.
    pub device_type: i32,
    /// The device among those of its type.
    pub device_id: i32,
    /// Number of dims.
    pub ndim: i32,
    /// `DLDataTypeCode`.
    pub code: u8,
    /// Bits of one lane.
    pub bits: u8,
    /// Lanes of one element.
    pub lanes: u16,
    /// The extents.
    pub shape: *mut i64,
    /// The strides in elements; NULL for a compact row-major tensor.
    pub strides: *mut i64,
    /// Offset in bytes of the first element from `data`.
    pub byte_offset: u64,
}

/// `DLManagedTensorVersioned`: a tensor and its deleter, as libraries exchange them.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DLManagedTensorVersioned {
    /// Major and minor version of DLPack; the layout is that of major version 1.
    pub version: [u32; 2],
    /// Private data of the deleter.
    pub manager_ctx: *mut c_void,
    /// The function that frees everything, this structure included. Called once, on any thread.
    pub deleter: Option<unsafe extern "C" fn(*mut DLManagedTensorVersioned)>,
    /// Bit 0: read-only.
    pub flags: u64,
    /// The tensor.
    pub tensor: DLTensor,
}

/// `DLManagedTensor`: a tensor and its deleter, from before DLPack had versions.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DLManagedTensor {
    /// The tensor.
    pub tensor: DLTensor,
    /// Private data of the deleter.
    pub manager_ctx: *mut c_void,
    /// The function that frees everything, this structure included. Called once, on any thread.
    pub deleter: Option<unsafe extern "C" fn(*mut DLManagedTensor)>,
}

/// `TVMFFISeqCell`: the cell of an array or a list.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct SeqCell {
    /// The elements.
    pub data: *const Any,
    /// Number of elements.
    pub size: i64,
    /// Number of elements that the memory has room for.
    pub capacity: i64,
    /// The function that frees the elements, or NULL.
    pub data_deleter: *mut c_void,
}

/// `TVMFFIShapeCell`: the cell of a shape.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ShapeCell {
    /// The extents.
    pub data: *const i64,
    /// Number of extents.
    pub size: usize,
}

#[cfg(test)]
mod tests {
    use super::*;
    use abi_spec::layout::{self, Struct};
    use std::mem::offset_of;

    /// Compares the size of a struct and the offsets of the fields that are named here.
    fn check<T>(spec: Struct, fields: &[(&str, usize)]) {
        assert_eq!(size_of::<T>(), spec.size as usize, "{}", spec.name);
        assert_eq!(align_of::<T>(), spec.align as usize, "{}", spec.name);
        for &(name, offset) in fields {
            let field = spec.fields.iter().find(|field| field.name == name);
            let found = field.unwrap_or_else(|| panic!("{}.{name}", spec.name)).offset;
            assert_eq!(found, offset as i32, "{}.{name}", spec.name);
        }
    }

    macro_rules! check {
        ($ty:ty, $spec:ident, $($field:ident = $c_name:literal),*) => {
            check::<$ty>(layout::$spec, &[$(($c_name, offset_of!($ty, $field))),*])
        };
    }

    #[test]
    fn layouts_are_those_of_the_abi() {
        check!(
            Any,
            ANY,
            type_index = "type_index",
            small_len = "small_str_len",
            payload = "v_int64"
        );
        check!(
            Object,
            OBJECT,
            combined_ref_count = "combined_ref_count",
            type_index = "type_index",
            deleter = "deleter"
        );
    }

    #[test]
    fn layouts_of_cells_and_tensors_are_those_of_the_abi() {
        check!(ByteArray, BYTE_ARRAY, data = "data", size = "size");
        check!(FunctionCell, FUNCTION_CELL, safe_call = "safe_call", cpp_call = "cpp_call");
        check!(
            ErrorCell,
            ERROR_CELL,
            kind = "kind",
            message = "message",
            backtrace = "backtrace",
            update_backtrace = "update_backtrace",
            cause_chain = "cause_chain"
        );
        assert_eq!((size_of::<TypeInfo>(), offset_of!(TypeInfo, type_ancestors)), (72, 24));
        check!(
            DLTensor,
            DL_TENSOR,
            data = "data",
            device_type = "device.device_type",
            ndim = "ndim",
            code = "dtype",
            shape = "shape",
            strides = "strides",
            byte_offset = "byte_offset"
        );
        assert_eq!((size_of::<DLManagedTensor>(), size_of::<DLManagedTensorVersioned>()), (64, 80));
        assert_eq!(offset_of!(DLManagedTensorVersioned, tensor), 32);
    }
}
