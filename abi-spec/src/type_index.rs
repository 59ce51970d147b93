//! The type of a value at run time.

use std::fmt;

/// `TVMFFITypeIndex`: the type of a `TVMFFIAny` or an object. Any `int32_t`, known or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TypeIndex(pub i32);

macro_rules! type_indices {
    ($($(#[$doc:meta])* $name:ident = $index:literal, $c_name:ident, $key:literal;)*) => {
        impl TypeIndex {
            $($(#[$doc])* pub const $name: TypeIndex = TypeIndex($index);)*

            /// All indices that are the same in every process, in ascending order.
            pub const ALL: &[TypeIndex] = &[$(TypeIndex::$name),*];

            /// Returns the type key: the runtime's name of a static type, which C++ errors print.
            pub const fn type_key(self) -> Option<&'static str> {
                match self {
                    $(TypeIndex::$name => Some($key),)*
                    TypeIndex(_) => None,
                }
            }

            /// Returns the C enumerator of a static type in `c_api.h`.
            pub const fn c_name(self) -> Option<&'static str> {
                match self {
                    $(TypeIndex::$name => Some(stringify!($c_name)),)*
                    TypeIndex(_) => None,
                }
            }
        }
    };
}

type_indices! {
    /// No value; the payload is 0.
    NONE = 0, kTVMFFINone, "None";
    /// `int64_t`
    INT = 1, kTVMFFIInt, "int";
    /// `int64_t`, 0 or 1.
    BOOL = 2, kTVMFFIBool, "bool";
    /// `double`
    FLOAT = 3, kTVMFFIFloat, "float";
    /// `void*`
    OPAQUE_PTR = 4, kTVMFFIOpaquePtr, "void*";
    /// `DLDataType` in the first four payload bytes; the others are 0.
    DATA_TYPE = 5, kTVMFFIDataType, "DataType";
    /// `DLDevice`
    DEVICE = 6, kTVMFFIDevice, "Device";
    /// Borrowed `DLTensor*`.
    DL_TENSOR_PTR = 7, kTVMFFIDLTensorPtr, "DLTensor*";
    /// Borrowed `const char*` that ends with a NUL.
    RAW_STR = 8, kTVMFFIRawStr, "const char*";
    /// Borrowed `TVMFFIByteArray*`.
    BYTE_ARRAY_PTR = 9, kTVMFFIByteArrayPtr, "TVMFFIByteArray*";
    /// The address of a slot with an object that the callee may move out.
    OBJECT_RVALUE_REF = 10, kTVMFFIObjectRValueRef, "ObjectRValueRef";
    /// A string of at most 7 bytes in the payload; the bytes after it are 0.
    SMALL_STR = 11, kTVMFFISmallStr, "ffi.SmallStr";
    /// At most 7 bytes in the payload; the bytes after them are 0.
    SMALL_BYTES = 12, kTVMFFISmallBytes, "ffi.SmallBytes";
    /// A marker. Since 0.1.14.
    UNCHANGED = 13, kTVMFFIUnchanged, "ffi.Unchanged";
    /// An object of no particular class. The smallest index of objects.
    OBJECT = 64, kTVMFFIObject, "ffi.Object";
    /// A string object.
    STR = 65, kTVMFFIStr, "ffi.String";
    /// A bytes object.
    BYTES = 66, kTVMFFIBytes, "ffi.Bytes";
    /// An error object.
    ERROR = 67, kTVMFFIError, "ffi.Error";
    /// A function object.
    FUNCTION = 68, kTVMFFIFunction, "ffi.Function";
    /// An immutable array of `int64_t`.
    SHAPE = 69, kTVMFFIShape, "ffi.Shape";
    /// A tensor object: the header, then a `DLTensor`.
    TENSOR = 70, kTVMFFITensor, "ffi.Tensor";
    /// An immutable sequence of values.
    ARRAY = 71, kTVMFFIArray, "ffi.Array";
    /// An immutable map.
    MAP = 72, kTVMFFIMap, "ffi.Map";
    /// A loaded module.
    MODULE = 73, kTVMFFIModule, "ffi.Module";
    /// A Python object that has no other form.
    OPAQUE_PY_OBJECT = 74, kTVMFFIOpaquePyObject, "ffi.OpaquePyObject";
    /// A mutable sequence of values. Since 0.1.9.
    LIST = 75, kTVMFFIList, "ffi.List";
    /// A mutable map. Since 0.1.9.
    DICT = 76, kTVMFFIDict, "ffi.Dict";
    /// The interruption of a visit by its visitor. Since 0.1.13.
    VISIT_INTERRUPT = 77, kTVMFFIVisitInterrupt, "ffi.VisitInterrupt";
    /// An integer that does not fit `int64_t`. Since 0.1.14.
    BIG_INT = 78, kTVMFFIBigInt, "ffi.BigInt";
}

impl TypeIndex {
    /// Any value, in type schemas only.
    pub const ANY: TypeIndex = TypeIndex(-1);
    /// The first index of reference-counted objects.
    pub const STATIC_OBJECT_BEGIN: TypeIndex = TypeIndex::OBJECT;
    /// The first index that is assigned at run time and differs between processes.
    pub const DYN_OBJECT_BEGIN: TypeIndex = TypeIndex(128);

    /// Returns true if the payload is a reference-counted object.
    pub const fn is_object(self) -> bool {
        self.0 >= TypeIndex::STATIC_OBJECT_BEGIN.0
    }

    /// Returns the name of the type in errors of generated code: one word for every form of a type (`str` for 8, 11 and
    /// 65), else the type key. `None` for types that are not static, which print as their index.
    pub const fn received_name(self) -> Option<&'static str> {
        Some(match self {
            TypeIndex::OPAQUE_PTR => "ptr",
            TypeIndex::DATA_TYPE => "dtype",
            TypeIndex::DL_TENSOR_PTR | TypeIndex::TENSOR => "Tensor",
            TypeIndex::RAW_STR | TypeIndex::SMALL_STR | TypeIndex::STR => "str",
            TypeIndex::BYTE_ARRAY_PTR | TypeIndex::SMALL_BYTES | TypeIndex::BYTES => "bytes",
            TypeIndex::ERROR => "Error",
            TypeIndex::FUNCTION => "Function",
            TypeIndex::SHAPE => "Shape",
            TypeIndex::ARRAY => "Array",
            TypeIndex::MAP => "Map",
            TypeIndex::MODULE => "Module",
            TypeIndex::LIST => "List",
            TypeIndex::DICT => "Dict",
            // The runtime does not know the class: a `torch.device`, an `np.bool_`, a class of one's own.
            TypeIndex::OPAQUE_PY_OBJECT => {
                "ffi.OpaquePyObject (a Python object that is no FFI value; pass bool(x), int(x), \
                 tvm_ffi.device(str(x)) or the like)"
            }
            TypeIndex(_) => return self.type_key(),
        })
    }
}

/// Prints the type key, or `type index 200`.
impl fmt::Display for TypeIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.type_key() {
            Some(key) => f.pad(key),
            None => write!(f, "type index {}", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_ascend_and_split_at_the_first_object() {
        assert!(TypeIndex::ALL.is_sorted_by(|a, b| a < b));
        let objects = TypeIndex::ALL.iter().filter(|index| index.is_object()).count();
        assert_eq!((TypeIndex::ALL.len(), objects), (29, 15));
        assert!(!TypeIndex::ANY.is_object() && TypeIndex::DYN_OBJECT_BEGIN.is_object());
    }

    #[test]
    fn received_types_print_as_the_error_text_says() {
        let names = |indices: &[i32]| {
            let names = indices.iter().map(|i| TypeIndex(*i).received_name().unwrap_or("-"));
            names.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(names(&[0, 1, 2, 3, 4, 5, 6, 7]), "None int bool float ptr dtype Device Tensor");
        assert_eq!(names(&[8, 11, 65, 9, 12, 66]), "str str str bytes bytes bytes");
        assert_eq!(names(&[67, 68, 69, 70]), "Error Function Shape Tensor");
        assert_eq!(names(&[71, 72, 73, 75, 76]), "Array Map Module List Dict");
        assert_eq!(names(&[10, 13, 64]), "ObjectRValueRef ffi.Unchanged ffi.Object");
        assert_eq!(names(&[78]), "ffi.BigInt");
        assert!(
            names(&[74]).starts_with("ffi.OpaquePyObject (a Python object that is no FFI value;")
        );
        assert_eq!(names(&[-1, 14, 63, 79, 128]), "- - - - -");
    }
}
