//! The C structures that cross the boundary, as Rust sees them.
//!
//! The layouts are those of `tvm/ffi/c_api.h` and `dlpack.h` on 64-bit platforms, of every release.

use std::ffi::{c_char, c_void};
use std::fmt;
use std::sync::atomic::AtomicU64;

use abi_spec::TypeIndex;

/// `TVMFFISafeCallType`: an FFI function. Returns 0, or -1 with an error in the thread's slot.
pub type SafeCall = unsafe extern "C" fn(
    handle: *mut c_void,
    args: *const Any,
    num_args: i32,
    result: *mut Any,
) -> i32;

/// `TVMFFIAny`: a value of any type. Not more than 8-byte aligned.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Any {
    /// Says what the payload is.
    pub type_index: i32,
    /// Length of a small string; 0 for everything else.
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
    /// Everything, and small strings.
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

    /// What the payload is.
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
    /// Strong references in the low half; weak ones, and one for all strong ones together, in the high half.
    pub combined_ref_count: AtomicU64,
    /// The class.
    pub type_index: i32,
    /// 0.
    pub padding: u32,
    /// Runs the destructor (flag 1), frees the memory (flag 2), or both (3).
    pub deleter: Option<unsafe extern "C" fn(*mut c_void, i32)>,
}

/// `TVMFFIByteArray`: borrowed bytes; also the cell of strings and bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ByteArray {
    /// The first byte.
    pub data: *const c_char,
    /// How many.
    pub size: usize,
}

impl ByteArray {
    /// No bytes.
    pub const EMPTY: ByteArray = ByteArray::new(&[]);

    /// The bytes of a slice, which must outlive the result.
    pub const fn new(bytes: &[u8]) -> ByteArray {
        ByteArray { data: bytes.as_ptr().cast(), size: bytes.len() }
    }

    /// The bytes.
    ///
    /// # Safety
    /// They must be there, and stay unchanged for `'a`; `data` may be NULL if there are none.
    pub unsafe fn bytes<'a>(self) -> &'a [u8] {
        if self.size == 0 {
            return &[];
        }
        // SAFETY: as required above.
        unsafe { std::slice::from_raw_parts(self.data.cast(), self.size) }
    }
}

/// `TVMFFIFunctionCell`: what follows the header of a function object.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct FunctionCell {
    /// Called with the object as its handle.
    pub safe_call: SafeCall,
    /// Private to C++.
    pub cpp_call: *mut c_void,
}

/// `TVMFFIErrorCell`: what follows the header of an error object.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ErrorCell {
    /// `TypeError` and the like.
    pub kind: ByteArray,
    /// The text.
    pub message: ByteArray,
    /// One line per frame, most recent first.
    pub backtrace: ByteArray,
    /// Replaces (0) the backtrace or appends to it (1).
    pub update_backtrace: unsafe extern "C" fn(*mut Object, *const ByteArray, i32),
    /// An error, or NULL. Since 0.1.8.
    pub cause_chain: *mut Object,
    /// Any object, or NULL. Since 0.1.8.
    pub extra_context: *mut Object,
}

/// `TVMFFITypeInfo`: what the runtime knows of a class.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TypeInfo {
    /// Its number.
    pub type_index: i32,
    /// How many ancestors it has.
    pub type_depth: i32,
    /// Its name.
    pub type_key: ByteArray,
    /// Ancestors, the root first.
    pub type_ancestors: *const *const TypeInfo,
    /// Private to the runtime.
    pub type_key_hash: u64,
    /// Length of `fields`.
    pub num_fields: i32,
    /// Length of `methods`.
    pub num_methods: i32,
    /// Reflection.
    pub fields: *const c_void,
    /// Reflection.
    pub methods: *const c_void,
    /// Reflection.
    pub metadata: *const c_void,
}

/// `DLTensor`: a borrowed view of a tensor.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DLTensor {
    /// Start of the data, without `byte_offset`.
    pub data: *mut c_void,
    /// `DLDeviceType`.
    pub device_type: i32,
    /// Which one of that type.
    pub device_id: i32,
    /// Number of dims.
    pub ndim: i32,
    /// `DLDataTypeCode`.
    pub code: u8,
    /// Bits of one lane.
    pub bits: u8,
    /// Lanes of one element.
    pub lanes: u16,
    /// Extents.
    pub shape: *mut i64,
    /// In elements; NULL for compact, row-major.
    pub strides: *mut i64,
    /// To be added to `data`.
    pub byte_offset: u64,
}

/// `DLManagedTensorVersioned`: a tensor and how to free it, as libraries exchange them.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DLManagedTensorVersioned {
    /// Major and minor version of DLPack; the layout is that of major version 1.
    pub version: [u32; 2],
    /// What the deleter needs.
    pub manager_ctx: *mut c_void,
    /// Frees everything, this structure too. Called once, on any thread.
    pub deleter: Option<unsafe extern "C" fn(*mut DLManagedTensorVersioned)>,
    /// Bit 0: read-only.
    pub flags: u64,
    /// The tensor.
    pub tensor: DLTensor,
}

/// `DLManagedTensor`: the same before DLPack had versions.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DLManagedTensor {
    /// The tensor.
    pub tensor: DLTensor,
    /// What the deleter needs.
    pub manager_ctx: *mut c_void,
    /// Frees everything, this structure too. Called once, on any thread.
    pub deleter: Option<unsafe extern "C" fn(*mut DLManagedTensor)>,
}

/// `TVMFFISeqCell`: what follows the header of an array.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct SeqCell {
    /// The elements.
    pub data: *const Any,
    /// How many.
    pub size: i64,
    /// For how many there is room.
    pub capacity: i64,
    /// Frees the elements.
    pub data_deleter: *mut c_void,
}

/// `TVMFFIShapeCell`: what follows the header of a shape.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ShapeCell {
    /// The extents.
    pub data: *const i64,
    /// How many.
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
