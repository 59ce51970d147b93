//! The C functions that libtvm_ffi exports.
//!
//! Unless its comment says otherwise, a function returns 0 on success, or -1 with the error in the slot of the calling
//! thread. "Owned" means that the caller gets one reference and releases it with [`OBJECT_DEC_REF`]; "borrowed" means
//! that it gets none. The comment of a function names the arguments in parentheses, then its action, or the value that
//! it writes to `out`.

use std::fmt;

/// A C function of the runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Function {
    /// The symbol.
    pub name: &'static str,
    /// The types of the parameters.
    pub params: &'static [CType],
    /// The type of the result.
    pub result: CType,
    /// The first release of `apache-tvm-ffi` with the function.
    pub since: Version,
}

/// The type of a parameter or a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CType {
    /// No result.
    Void,
    /// `int32_t` or `int`.
    I32,
    /// A pointer, with its spelling in C.
    Ptr(&'static str),
    /// A pointer to a function, with its spelling in C.
    Code(&'static str),
    /// A `TVMFFIByteArray` by value: two words, [`layout::BYTE_ARRAY`](crate::layout::BYTE_ARRAY).
    ByteArray,
}

impl Function {
    /// Returns the header that declares the function, as `#include` names it.
    pub fn header(&self) -> &'static str {
        let is_of_environment = self.name.starts_with("TVMFFIEnv");
        if is_of_environment { "tvm/ffi/extra/c_env_api.h" } else { "tvm/ffi/c_api.h" }
    }
}

impl CType {
    /// Returns the spelling in C.
    pub const fn c_name(self) -> &'static str {
        match self {
            CType::Void => "void",
            CType::I32 => "int32_t",
            CType::Ptr(name) | CType::Code(name) => name,
            CType::ByteArray => "TVMFFIByteArray",
        }
    }
}

/// A release of `apache-tvm-ffi`. To find out about a function, look its symbol up rather than the version: post
/// releases report the number of the next release.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// The major version; incompatible changes increase it.
    pub major: u32,
    /// The minor version; releases increase it.
    pub minor: u32,
    /// The patch version; fixes increase it.
    pub patch: u32,
}

impl Version {
    /// The first release.
    pub const FIRST: Version = Version::patch(0);

    const fn patch(patch: u32) -> Version {
        Version { major: 0, minor: 1, patch }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

const VOID: CType = CType::Void;
const INT: CType = CType::I32;
const BYTES_BY_VALUE: CType = CType::ByteArray;
const POINTER: CType = CType::Ptr("void*");
const OUT_POINTER: CType = CType::Ptr("void**");
const TEXT: CType = CType::Ptr("const char*");
const TEXTS: CType = CType::Ptr("const char**");
const OBJECT: CType = CType::Ptr("TVMFFIObjectHandle");
const OUT_OBJECT: CType = CType::Ptr("TVMFFIObjectHandle*");
const BYTES: CType = CType::Ptr("const TVMFFIByteArray*");
const VALUE: CType = CType::Ptr("const TVMFFIAny*");
const OUT_VALUE: CType = CType::Ptr("TVMFFIAny*");
const OUT_INT: CType = CType::Ptr("int32_t*");
const SAFE_CALL: CType = CType::Code("TVMFFISafeCallType");
const DELETER: CType = CType::Code("void (*)(void*)");
const INIT: CType = CType::Code("int (*)(void**)");
const DEINIT: CType = CType::Code("int (*)(void*)");
const OUT_VERSION: CType = CType::Ptr("TVMFFIVersion*");
const OBJECT_ALLOCATOR: CType = CType::Ptr("TVMFFICustomAllocator*");
const TENSOR: CType = CType::Ptr("const DLTensor*");
const PROTOTYPE: CType = CType::Ptr("DLTensor*");
const MANAGED: CType = CType::Ptr("DLManagedTensor*");
const OUT_MANAGED: CType = CType::Ptr("DLManagedTensor**");
const VERSIONED: CType = CType::Ptr("DLManagedTensorVersioned*");
const OUT_VERSIONED: CType = CType::Ptr("DLManagedTensorVersioned**");
const DATA_TYPE: CType = CType::Ptr("const DLDataType*");
const OUT_DATA_TYPE: CType = CType::Ptr("DLDataType*");
const METHOD_INFO: CType = CType::Ptr("const TVMFFIMethodInfo*");
const FIELD_INFO: CType = CType::Ptr("const TVMFFIFieldInfo*");
const TYPE_METADATA: CType = CType::Ptr("const TVMFFITypeMetadata*");
const TYPE_COLUMN: CType = CType::Ptr("const TVMFFITypeAttrColumn*");
const TYPE_INFO: CType = CType::Ptr("const TVMFFITypeInfo*");
const STREAM: CType = CType::Ptr("TVMFFIStreamHandle");
const OUT_STREAM: CType = CType::Ptr("TVMFFIStreamHandle*");
const TENSOR_ALLOCATOR: CType = CType::Code("DLPackManagedTensorAllocator");
const OUT_TENSOR_ALLOCATOR: CType = CType::Ptr("DLPackManagedTensorAllocator*");

/// Defines a constant for each function, and the list of all functions.
macro_rules! functions {
    ($(since $patch:literal { $(
        $(#[$doc:meta])* $constant:ident = $name:ident($($param:ident),*) -> $result:ident;
    )* })*) => {
        $($(
            $(#[$doc])*
            pub const $constant: Function = Function {
                name: stringify!($name),
                params: &[$($param),*],
                result: $result,
                since: Version::patch($patch),
            };
        )*)*

        /// All functions, by release.
        pub const ALL: &[Function] = &[$($($constant),*),*];
    };
}

functions! {
    since 0 {
        /// `(out)`: the version of the runtime.
        GET_VERSION = TVMFFIGetVersion(OUT_VERSION) -> VOID;
        /// `(object)`: adds a reference. The object must not be NULL.
        OBJECT_INC_REF = TVMFFIObjectIncRef(OBJECT) -> INT;
        /// `(object)`: releases a reference. The object may be NULL since 0.1.11; before, NULL crashes.
        OBJECT_DEC_REF = TVMFFIObjectDecRef(OBJECT) -> INT;
        /// `(handle, type index, deleter, out)`: an owned object around a `PyObject*`.
        OBJECT_CREATE_OPAQUE = TVMFFIObjectCreateOpaque(POINTER, INT, DELETER, OUT_OBJECT) -> INT;
        /// `(type key, out)`: the type index; an error for an unknown key.
        TYPE_KEY_TO_INDEX = TVMFFITypeKeyToIndex(BYTES, OUT_INT) -> INT;
        /// `(self, call, deleter, out)`: an owned function that passes `self` as the handle. Where
        /// `self` and the deleter are NULL the handle is the function object.
        FUNCTION_CREATE = TVMFFIFunctionCreate(POINTER, SAFE_CALL, DELETER, OUT_OBJECT) -> INT;
        /// `(name, out)`: an owned function; NULL for an unknown name, which is no error.
        FUNCTION_GET_GLOBAL = TVMFFIFunctionGetGlobal(BYTES, OUT_OBJECT) -> INT;
        /// `(name, function, override)`: registers a function; an error if the name is taken and
        /// `override` is 0.
        FUNCTION_SET_GLOBAL = TVMFFIFunctionSetGlobal(BYTES, OBJECT, INT) -> INT;
        /// `(method, override)`: registers a function with its documentation and metadata, likewise.
        FUNCTION_SET_GLOBAL_FROM_METHOD_INFO =
            TVMFFIFunctionSetGlobalFromMethodInfo(METHOD_INFO, INT) -> INT;
        /// `(view, out)`: an owned copy of a borrowed value. A `DLTensor*` stays borrowed.
        ANY_VIEW_TO_OWNED_ANY = TVMFFIAnyViewToOwnedAny(VALUE, OUT_VALUE) -> INT;
        /// `(function, args, count, result)`: calls a function. The type index of `result` must be below 64.
        FUNCTION_CALL = TVMFFIFunctionCall(OBJECT, OUT_VALUE, INT, OUT_VALUE) -> INT;
        /// `(out)`: takes the error out of the thread's slot, owned; NULL if there is none.
        ERROR_MOVE_FROM_RAISED = TVMFFIErrorMoveFromRaised(OUT_OBJECT) -> VOID;
        /// `(error)`: puts an error into the thread's slot, which takes a reference of its own.
        ERROR_SET_RAISED = TVMFFIErrorSetRaised(OBJECT) -> VOID;
        /// `(kind, message)`: raises with a native backtrace; copies the texts.
        ERROR_SET_RAISED_FROM_C_STR = TVMFFIErrorSetRaisedFromCStr(TEXT, TEXT) -> VOID;
        /// `(kind, parts, count)`: raises likewise; the message is the parts that are not NULL, joined.
        ERROR_SET_RAISED_FROM_C_STR_PARTS =
            TVMFFIErrorSetRaisedFromCStrParts(TEXT, TEXTS, INT) -> VOID;
        /// `(kind, message, backtrace, out)`: an owned error; copies the texts, none of them NULL.
        ERROR_CREATE = TVMFFIErrorCreate(BYTES, BYTES, BYTES, OUT_OBJECT) -> INT;
        /// `(tensor, alignment, contiguous, out)`: an owned tensor that takes over a managed one.
        TENSOR_FROM_DL_PACK = TVMFFITensorFromDLPack(MANAGED, INT, INT, OUT_OBJECT) -> INT;
        /// `(tensor, out)`: a managed tensor that holds a reference.
        TENSOR_TO_DL_PACK = TVMFFITensorToDLPack(OBJECT, OUT_MANAGED) -> INT;
        /// `(tensor, alignment, contiguous, out)`: an owned tensor that takes over a managed one.
        TENSOR_FROM_DL_PACK_VERSIONED =
            TVMFFITensorFromDLPackVersioned(VERSIONED, INT, INT, OUT_OBJECT) -> INT;
        /// `(tensor, out)`: a managed tensor that holds a reference.
        TENSOR_TO_DL_PACK_VERSIONED = TVMFFITensorToDLPackVersioned(OBJECT, OUT_VERSIONED) -> INT;
        /// `(text, out)`: an owned string, small if it fits.
        STRING_FROM_BYTE_ARRAY = TVMFFIStringFromByteArray(BYTES, OUT_VALUE) -> INT;
        /// `(bytes, out)`: owned bytes, small if they fit.
        BYTES_FROM_BYTE_ARRAY = TVMFFIBytesFromByteArray(BYTES, OUT_VALUE) -> INT;
        /// `(text, out)`: the data type of a name.
        DATA_TYPE_FROM_STRING = TVMFFIDataTypeFromString(BYTES, OUT_DATA_TYPE) -> INT;
        /// `(data type, out)`: its name, an owned string.
        DATA_TYPE_TO_STRING = TVMFFIDataTypeToString(DATA_TYPE, OUT_VALUE) -> INT;
        /// `(type index, field)`: adds a field to a type.
        TYPE_REGISTER_FIELD = TVMFFITypeRegisterField(INT, FIELD_INFO) -> INT;
        /// `(type index, method)`: adds a method to a type.
        TYPE_REGISTER_METHOD = TVMFFITypeRegisterMethod(INT, METHOD_INFO) -> INT;
        /// `(type index, metadata)`: describes a type.
        TYPE_REGISTER_METADATA = TVMFFITypeRegisterMetadata(INT, TYPE_METADATA) -> INT;
        /// `(type index, name, value)`: sets an attribute of a type.
        TYPE_REGISTER_ATTR = TVMFFITypeRegisterAttr(INT, BYTES, VALUE) -> INT;
        /// `(name)`: returns the attribute of all types, borrowed, or NULL.
        GET_TYPE_ATTR_COLUMN = TVMFFIGetTypeAttrColumn(BYTES) -> TYPE_COLUMN;
        /// `(file, line, function, across calls)`: returns a text that the thread's next call overwrites.
        BACKTRACE = TVMFFIBacktrace(TEXT, INT, TEXT, INT) -> BYTES;
        /// `(key, static index, depth, slots, overflow, parent)`: returns the type index of a class.
        TYPE_GET_OR_ALLOC_INDEX = TVMFFITypeGetOrAllocIndex(BYTES, INT, INT, INT, INT, INT) -> INT;
        /// `(type index)`: returns the record of a type. An unknown index ends the process.
        GET_TYPE_INFO = TVMFFIGetTypeInfo(INT) -> TYPE_INFO;
        /// `(device type, device index, stream, previous out)`: sets the thread's stream. A negative device
        /// type crashes.
        ENV_SET_STREAM = TVMFFIEnvSetStream(INT, INT, STREAM, OUT_STREAM) -> INT;
        /// `(device type, device index)`: returns the thread's stream, or NULL.
        ENV_GET_STREAM = TVMFFIEnvGetStream(INT, INT) -> STREAM;
        /// `(allocator, also global, previous out)`: sets the thread's tensor allocator.
        ENV_SET_TENSOR_ALLOCATOR =
            TVMFFIEnvSetDLPackManagedTensorAllocator(TENSOR_ALLOCATOR, INT, OUT_TENSOR_ALLOCATOR) -> INT;
        /// Returns the thread's tensor allocator, else the global one.
        ENV_GET_TENSOR_ALLOCATOR = TVMFFIEnvGetDLPackManagedTensorAllocator() -> TENSOR_ALLOCATOR;
        /// `(prototype, out)`: an owned tensor with the prototype's dtype, shape and device.
        ENV_TENSOR_ALLOC = TVMFFIEnvTensorAlloc(PROTOTYPE, OUT_OBJECT) -> INT;
        /// Returns non-zero if a signal handler has raised in Python.
        ENV_CHECK_SIGNALS = TVMFFIEnvCheckSignals() -> INT;
        /// `(name, address)`: gives the runtime a function of Python.
        ENV_REGISTER_C_API = TVMFFIEnvRegisterCAPI(TEXT, POINTER) -> INT;
        /// `(library context, name, out)`: a function of the imported modules or the global
        /// registry, borrowed.
        ENV_MOD_LOOKUP_FROM_IMPORTS = TVMFFIEnvModLookupFromImports(OBJECT, TEXT, OUT_OBJECT) -> INT;
        /// `(name, address)`: registers a pointer that is written into every library loaded later.
        ENV_MOD_REGISTER_CONTEXT_SYMBOL = TVMFFIEnvModRegisterContextSymbol(TEXT, POINTER) -> INT;
        /// `(symbol, address)`: registers a symbol of the system library. The registry has no lock.
        ENV_MOD_REGISTER_SYSTEM_LIB_SYMBOL = TVMFFIEnvModRegisterSystemLibSymbol(TEXT, POINTER) -> INT;
    }
    since 5 {
        /// `(slot, init)`: fills the slot once, under one lock for the process; `init` must not
        /// call this function.
        HANDLE_INIT_ONCE = TVMFFIHandleInitOnce(OUT_POINTER, INIT) -> INT;
        /// `(slot, deinit)`: empties the slot.
        HANDLE_DEINIT_ONCE = TVMFFIHandleDeinitOnce(OUT_POINTER, DEINIT) -> INT;
    }
    since 6 {
        /// `(source, prototype, out)`: an owned tensor that shares data, with the prototype's metadata.
        TENSOR_CREATE_UNSAFE_VIEW = TVMFFITensorCreateUnsafeView(OBJECT, TENSOR, OUT_OBJECT) -> INT;
    }
    since 8 {
        /// `(kind, message, backtrace, cause, context, out)`: an owned error with a cause and a context.
        ERROR_CREATE_WITH_CAUSE_AND_EXTRA_CONTEXT =
            TVMFFIErrorCreateWithCauseAndExtraContext(BYTES, BYTES, BYTES, OBJECT, OBJECT, OUT_OBJECT)
            -> INT;
    }
    since 13 {
        /// Returns the allocator of objects, never NULL.
        GET_CUSTOM_ALLOCATOR = TVMFFIGetCustomAllocator() -> OBJECT_ALLOCATOR;
        /// `(allocator)`: sets the allocator of objects, once, before any object is made.
        SET_CUSTOM_ALLOCATOR = TVMFFISetCustomAllocator(OBJECT_ALLOCATOR) -> INT;
    }
    since 14 {
        /// `(words, out)`: an integer from its 64-bit words, least significant first.
        BIG_INT_FROM_BYTE_ARRAY = TVMFFIBigIntFromByteArray(BYTES, OUT_VALUE) -> INT;
        /// `(value)`: returns the words of an integer, borrowed.
        BIG_INT_GET_CONTENT_BYTE_ARRAY = TVMFFIBigIntGetContentByteArray(VALUE) -> BYTES_BY_VALUE;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_release_has_42_functions() {
        let first = ALL.iter().filter(|function| function.since == Version::FIRST).count();
        assert_eq!((first, ALL.len()), (42, 50));
        assert!(ALL.is_sorted_by_key(|function| function.since));
    }

    #[test]
    fn versions_print_and_compare() {
        assert_eq!(HANDLE_INIT_ONCE.since.to_string(), "0.1.5");
        assert!(HANDLE_INIT_ONCE.since < GET_CUSTOM_ALLOCATOR.since);
    }
}
